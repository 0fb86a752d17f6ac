/* What tokens say of themselves: the claims of a JSON Web Token (RFC 7519) and the caveats of a PyPI token, which is a macaroon.
 * Nobody is asked, and nothing is verified; see scope.h. The token is the user's own, and read as carefully as a stranger's. */
#include <jansson.h>
#include <stdio.h>

#include "base/base64.h"
#include "model/scope.h"

#define DECODED_MAX SECRET_VALUE_MAX

static void json_drop(json_t **j) { json_decref(*j); }
#define _cleanup_json_ _cleanup_(json_drop)

static json_t *json_of(const char *text, size_t n) {
        json_error_t je;
        return json_loadb(text, n, JSON_REJECT_DUPLICATES, &je);
}

static void unreadable(struct scope_answer *a, const char *what) {
        a->state = SCOPE_UNCLEAR;
        snprintf(a->why, sizeof(a->why), "%s", what);
}

/* --- JSON Web Tokens --- */

static void add_claim(struct scope_answer *a, const json_t *claim) {
        const char *p = json_string_value(claim);

        for (size_t m; p && *p; p += m, p += *p != 0) {
                m = strcspn(p, " ");
                scope_add(a, p, m, 0);
        }
        for (size_t i = 0; i < json_array_size(claim); i++) {
                const json_t *j = json_array_get(claim, i);
                if (json_is_string(j))
                        scope_add(a, json_string_value(j), json_string_length(j), 0);
        }
        a->complete |= json_is_string(claim) || json_is_array(claim);
}

static json_t *jwt_part(const char *value, size_t n, unsigned which) {
        char text[DECODED_MAX];
        const char *p = value, *end = value + n;

        for (unsigned i = 0; i < which && p; i++)
                if ((p = memchr(p, '.', (size_t)(end - p))))
                        p++;
        const char *dot = p ? memchr(p, '.', (size_t)(end - p)) : NULL;
        ssize_t len = dot ? base64_decode(p, (size_t)(dot - p), text, sizeof(text)) : -1;
        return len > 0 ? json_of(text, (size_t)len) : NULL;
}

static void read_audience(const json_t *j, struct scope_answer *a) {
        const json_t *aud = json_object_get(j, "aud");
        const char *one = json_is_array(aud) ? json_string_value(json_array_get(aud, 0)) : json_string_value(aud);

        if (one)
                scope_note(a, "it is for %.180s%s", one, json_array_size(aud) > 1 ? " and others" : "");
        else
                scope_note(a, "it does not say whom it is for (aud): whoever trusts its issuer may take it");
}

static void read_jwt(const char *value, size_t n, struct scope_answer *a) {
        static const char *const claims[] = {"scope", "scp", "scopes", "permissions", "roles"};
        _cleanup_json_ json_t *head = jwt_part(value, n, 0), *j = jwt_part(value, n, 1);
        const char *iss = json_string_value(json_object_get(j, "iss")), *sub = json_string_value(json_object_get(j, "sub")),
                   *alg = json_string_value(json_object_get(head, "alg"));

        if (!json_is_object(j))
                return unreadable(a, "its claims cannot be read: it may be encrypted");
        if (sub || iss)
                scope_who(a, "%.110s%s%.110s", sub ? sub : "", !iss ? "" : sub ? ", by " : "issued by ", iss ? iss : "");
        for (size_t i = 0; i < ELEMENTSOF(claims); i++)
                add_claim(a, json_object_get(j, claims[i]));
        double exp = json_number_value(json_object_get(j, "exp"));
        a->expires = !json_is_number(json_object_get(j, "exp")) ? -1 : exp >= 1 && exp < 1e15 ? (int64_t)exp : 1;
        scope_note(a, "this is what the token says of itself: nobody was asked, and its signature was not verified");
        read_audience(j, a);
        if (!a->complete)
                scope_note(a, "it names no scopes: what it may do is its audience's to know");
        if (alg && strcasecmp(alg, "none") == 0)
                scope_note(a, "it is not signed: anybody can make one like it");
}

/* --- PyPI --- */

/* libmacaroons' second format: a version, then fields of a type, a length and bytes; a type of 0 ends a section. */
enum { MACAROON_END = 0, MACAROON_LOCATION = 1, MACAROON_IDENTIFIER = 2, MACAROON_SIGNATURE = 6 };

struct bytes {
        const unsigned char *p;
        size_t n;
};

static bool varint(struct bytes *b, size_t *ret) {
        size_t v = 0;

        for (unsigned shift = 0; shift < 28; shift += 7) {
                if (b->n == 0)
                        return false;
                unsigned char c = *b->p++;
                b->n--;
                v |= (size_t)(c & 0x7f) << shift;
                if (!(c & 0x80)) {
                        *ret = v;
                        return true;
                }
        }
        return false;
}

static bool field(struct bytes *b, size_t *ret_type, struct bytes *ret) {
        size_t n = 0;

        *ret = (struct bytes){};
        if (!varint(b, ret_type))
                return false;
        if (*ret_type == MACAROON_END)
                return true;
        if (!varint(b, &n) || n > b->n)
                return false;
        *ret = (struct bytes){b->p, n};
        b->p += n;
        b->n -= n;
        return true;
}

static bool add_named(struct scope_answer *a, const char *what, const json_t *list) {
        for (size_t i = 0; i < json_array_size(list); i++) {
                char text[SCOPE_NAME];
                if (!json_is_string(json_array_get(list, i)))
                        return false;
                snprintf(text, sizeof(text), "%s %s", what, json_string_value(json_array_get(list, i)));
                scope_add(a, text, strlen(text), 0);
        }
        return json_is_array(list);
}

static void read_expiry(struct scope_answer *a, const json_t *exp) {
        int64_t t = json_is_integer(exp) && json_integer_value(exp) > 0 ? json_integer_value(exp) : 1;

        a->expires = a->expires > 0 ? MIN(a->expires, t) : t;
}

/* pypi/warehouse, warehouse/macaroons/caveats: [0, exp, nbf], [1, names], [2, ids], [3, user]; and the older objects. True where
 * it names projects. */
static bool read_caveat(struct scope_answer *a, const json_t *j) {
        const json_t *projects = json_object_get(json_object_get(j, "permissions"), "projects");

        if (json_is_array(projects))
                return add_named(a, "project", projects);
        if (json_is_object(j) && json_object_get(j, "exp")) {
                read_expiry(a, json_object_get(j, "exp"));
                return false;
        }
        if (json_is_object(j) && json_is_string(json_object_get(j, "permissions")))
                return false; /* "user": no bound */
        if (json_is_array(j) && json_is_integer(json_array_get(j, 0)))
                switch (json_integer_value(json_array_get(j, 0))) {
                case 0: read_expiry(a, json_array_get(j, 1)); return false;
                case 1: return add_named(a, "project", json_array_get(j, 1));
                case 2: return add_named(a, "project-id", json_array_get(j, 1));
                case 3: return false;
                default: break;
                }
        scope_note(a, "it has a restriction that is not known here");
        return false;
}

/* Location, identifier, and each caveat. False: it is no macaroon. */
static bool read_macaroon(struct bytes b, struct scope_answer *a) {
        size_t type, version;
        struct bytes f;
        bool named = false;

        if (!varint(&b, &version) || version != 2)
                return false;
        do {
                if (!field(&b, &type, &f))
                        return false;
                if (type == MACAROON_LOCATION)
                        scope_who(a, "a token of %.*s", (int)MIN(f.n, 100u), (const char *)f.p);
        } while (type != MACAROON_END);
        for (;;) { /* a caveat is a section; one without any field ends them */
                bool any = false;
                for (;;) {
                        if (!field(&b, &type, &f))
                                return false;
                        if (type == MACAROON_END)
                                break;
                        any = true;
                        if (type != MACAROON_IDENTIFIER)
                                continue;
                        _cleanup_json_ json_t *j = json_of((const char *)f.p, f.n);
                        named |= read_caveat(a, j);
                }
                if (!any)
                        break;
        }
        if (!field(&b, &type, &f) || type != MACAROON_SIGNATURE)
                return false;
        if (!named)
                scope_add(a, "upload", 6, 0);
        return true;
}

static void read_pypi(const char *value, size_t n, struct scope_answer *a) {
        char text[DECODED_MAX];
        ssize_t len = n > 5 ? base64_decode(value + 5, n - 5, text, sizeof(text)) : -1;

        if (len <= 0 || !read_macaroon((struct bytes){(const unsigned char *)text, (size_t)len}, a)) {
                explicit_bzero(text, sizeof(text));
                a->n_grants = 0;
                return unreadable(a, "it is not of the form that PyPI's tokens have");
        }
        explicit_bzero(text, sizeof(text)); /* all of it, the signature too */
        a->complete = 1;
        if (a->expires == 0)
                a->expires = -1;
        scope_note(a, "this is what the token says of itself: nobody was asked, and whether it was revoked is not known");
}

void scope_read_local(enum scope_kind k, const char *value, size_t n, struct scope_answer *a) {
        *a = (struct scope_answer){.kind = k, .state = SCOPE_GOOD};
        if (k == SCOPE_JWT)
                read_jwt(value, n, a);
        else if (k == SCOPE_PYPI)
                read_pypi(value, n, a);
        else
                unreadable(a, "such a credential says nothing of itself");
}
