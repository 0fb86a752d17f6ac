/* See secret.h. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/mint.h"
#include "model/secret-sigv4.h"
#include "model/secret.h"
#include "proto/body-field.h"

static const char *const sources[] = {
        [SECRET_ENV] = "env", [SECRET_FILE] = "file", [SECRET_COMMAND] = "command", [SECRET_KEYRING] = "keyring", [SECRET_STORE] = "store", [SECRET_LITERAL] = "literal",
};

const char *secret_source_name(enum secret_source s) { return (size_t)s < ELEMENTSOF(sources) ? sources[s] : "?"; }

void secret_clear(struct secret *s) {
        free(s->name);
        free(s->from);
        free(s->header);
        free(s->before);
        free(s->after);
        free(s->user);
        free(s->query);
        free(s->body);
        free(s->variable);
        mint_free(s->mint);
        strlist_clear(&s->addresses);
        secret_sigv4_free(s->sigv4);
        *s = (struct secret){};
}

static int out_of_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

static int keep(char **field, const char *text, size_t n, struct error *e) {
        char *copy = strndup(text, n);

        if (!copy)
                return out_of_memory(e);
        free(*field);
        *field = copy;
        return 0;
}

/* A text for a message: these are the user's own words, but for a value that was written where its source should stand. */
static bool printable(const char *s, size_t max) {
        size_t n = strlen(s);

        for (size_t i = 0; i < n; i++)
                if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
                        return false;
        return n > 0 && n <= max;
}

bool secret_name_good(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
        return n > 0 && n <= SECRET_NAME_MAX && name[n] == 0 && name[0] != '-';
}

bool secret_variable_good(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        return n > 0 && n <= SECRET_NAME_MAX && name[n] == 0 && !(name[0] >= '0' && name[0] <= '9');
}

int secret_parse_source(const char *text, struct secret *s, struct error *e) {
        const char *colon = strchr(text, ':');

        for (size_t i = 0; colon && i < SECRET_LITERAL; i++) {
                if (strlen(sources[i]) != (size_t)(colon - text) || strncmp(text, sources[i], (size_t)(colon - text)) != 0)
                        continue;
                if (!printable(colon + 1, SECRET_TEXT_MAX) || (i == SECRET_ENV && !secret_variable_good(colon + 1)) ||
                    (i == SECRET_STORE && !secret_name_good(colon + 1)))
                        return error_set(e, EINVAL, "what stands behind %s: names no %s", sources[i],
                                         i == SECRET_ENV ? "variable" : i == SECRET_STORE ? "secret of the store" : sources[i]);
                s->source = (enum secret_source)i;
                return keep(&s->from, colon + 1, strlen(colon + 1), e);
        }
        /* Not quoted: it may be the value itself. */
        error_set(e, EINVAL, "the source of the secret %s is none of env:NAME, file:PATH, command:WORDS, keyring:DESCRIPTION and store:NAME", s->name ?: "");
        return error_fix(e, "the value itself never stands in a policy or on a command line: belljar secret set NAME keeps it");
}

static bool is_token(const char *s, size_t n) { /* RFC 9110 section 5.6.2 */
        return n > 0 && n <= 64 &&
               strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") >= n;
}

/* Fields by which a message is framed and routed, which are Belljar's to write. */
static bool is_framing(const char *name) {
        static const char *const names[] = {"host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect",
                                            "accept-encoding", "range", "if-range", "keep-alive", "proxy-connection", "content-type"};
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(name, names[i]))
                        return true;
        return false;
}

int secret_set_header(struct secret *s, const char *text, struct error *e) {
        const char *colon = strchr(text, ':'), *value = colon ? colon + 1 + strspn(colon + 1, " ") : NULL, *hole = value ? strstr(value, "{}") : NULL;

        if (!colon || !is_token(text, (size_t)(colon - text)) || !hole || strstr(hole + 2, "{}") || !printable(value, SECRET_TEXT_MAX)) {
                error_set(e, EINVAL, "header is the field's name and its value, with {} where the secret goes");
                return error_fix(e, "write it like header: \"Authorization: Bearer {}\"");
        }
        _cleanup_free_ char *name = strndup(text, (size_t)(colon - text));
        if (!name)
                return out_of_memory(e);
        for (char *c = name; *c; c++)
                if (*c >= 'A' && *c <= 'Z')
                        *c = (char)(*c + 'a' - 'A');
        if (is_framing(name))
                return error_set(e, EINVAL, "header: %s is no field that a secret can be in", name);
        s->place = SECRET_HEADER;
        free(s->header);
        s->header = TAKE_PTR(name);
        int r = keep(&s->before, value, (size_t)(hole - value), e);
        return r < 0 ? r : keep(&s->after, hole + 2, strlen(hole + 2), e);
}

int secret_set_basic(struct secret *s, const char *user, struct error *e) {
        if (!printable(user, 256) || strchr(user, ':'))
                return error_set(e, EINVAL, "basic is the name of the user, which has no colon in it");
        s->place = SECRET_BASIC;
        return keep(&s->user, user, strlen(user), e);
}

int secret_set_query(struct secret *s, const char *query, struct error *e) {
        if (!is_token(query, strlen(query)) || strpbrk(query, "#%&+"))
                return error_set(e, EINVAL, "query is a key of the query, of letters, digits and punctuation that needs no encoding");
        s->place = SECRET_QUERY;
        return keep(&s->query, query, strlen(query), e);
}

int secret_set_body(struct secret *s, const char *path, struct error *e) {
        size_t keys = 1, n = strlen(path);
        bool good = n > 0 && n <= BODY_FIELD_PATH_MAX && path[n - 1] != '.';

        for (size_t i = 0; i < n; i++) {
                good = good && path[i] > ' ' && path[i] <= '~' && (path[i] != '.' || (i > 0 && path[i - 1] != '.'));
                keys += path[i] == '.';
        }
        if (!good || keys > BODY_FIELD_KEYS_MAX) {
                error_set(e, EINVAL, "body is the key of a form, or at most %u keys of JSON with a dot between each two, in printable ASCII", BODY_FIELD_KEYS_MAX);
                return error_fix(e, "write it like body: client_secret, or body: auth.token");
        }
        s->place = SECRET_BODY;
        return keep(&s->body, path, n, e);
}

const char *secret_variable(const struct secret *s) {
        return s->variable ?: s->sigv4 ? secret_sigv4_variable(s) : s->source == SECRET_ENV && !s->mint ? s->from : NULL;
}

static void place_text(struct strbuf *b, const struct secret *s) {
        _cleanup_free_ char *header = s->header ? str_visible_dup(s->header) : NULL, *user = s->user ? str_visible_dup(s->user) : NULL;

        switch (s->place) {
        case SECRET_HEADER:
                strbuf_printf(b, "in the field %s", header ? header : "?");
                break;
        case SECRET_BASIC:
                strbuf_printf(b, "in authorization, as %s", user ? user : "?");
                break;
        case SECRET_QUERY:
                strbuf_printf(b, "in the query, as %s", s->query);
                break;
        case SECRET_BODY:
                strbuf_printf(b, "in the body's field %s, where its placeholder stands", s->body);
                break;
        case SECRET_ANY_FIELD:
                strbuf_puts(b, "in whichever field has its placeholder");
                break;
        case SECRET_SIGV4:
        case SECRET_PART:
                secret_sigv4_text(b, s);
                break;
        }
}

char *secret_text(const struct secret *s) {
        _cleanup_free_ char *from = s->from ? str_visible_dup(s->from) : NULL;
        _cleanup_strbuf_ struct strbuf b = {};
        const char *variable = secret_variable(s);
        char ttl[40];

        strbuf_printf(&b, "%s ", s->name);
        if (s->mint)
                mint_text(&b, s->mint);
        strbuf_printf(&b, "from %s:%s, ", secret_source_name(s->source), from ? from : "?");
        place_text(&b, s);
        if (variable)
                strbuf_printf(&b, ", inside as %s", variable);
        if (s->ttl)
                strbuf_printf(&b, ", for %s", format_duration(ttl, sizeof(ttl), s->ttl));
        if (s->uses)
                strbuf_printf(&b, ", %llu uses", (unsigned long long)s->uses);
        return strbuf_take(&b);
}

void secret_json(struct json *j, const struct secret *s) {
        _cleanup_free_ char *from = str_printf("%s:%s", secret_source_name(s->source), s->from),
                            *header = s->header ? str_printf("%s: %s{}%s", s->header, s->before, s->after) : NULL;

        json_begin(j, NULL, '{');
        json_str(j, "name", s->name);
        json_str(j, "from", from);
        json_str(j, "header", header);
        json_str(j, "basic", s->user);
        json_str(j, "query", s->query);
        json_str(j, "body", s->body);
        if (s->sigv4)
                secret_sigv4_json(j, s);
        json_str(j, "env", secret_variable(s));
        if (s->ttl)
                json_num(j, "ttl", (long long)s->ttl);
        else
                json_str(j, "ttl", NULL);
        if (s->uses)
                json_num(j, "uses", (long long)s->uses);
        else
                json_str(j, "uses", NULL);
        json_list(j, "addresses", &s->addresses);
        mint_json(j, s->mint);
        json_end(j, '}');
}

size_t secret_find(const struct secret *secrets, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq(secrets[i].name, name))
                        return i;
        return SIZE_MAX;
}

struct secret *secret_add(struct secret **secrets, size_t *n, const char *name, struct error *e) {
        size_t at = secret_find(*secrets, *n, name);

        if (at != SIZE_MAX)
                return &(*secrets)[at];
        if (*n == SECRETS_MAX) {
                error_set(e, E2BIG, "more than %u secrets", SECRETS_MAX);
                return NULL;
        }
        struct secret *more = (struct secret *)realloc(*secrets, (*n + 1) * sizeof(**secrets));
        char *copy = strdup(name);
        if (more)
                *secrets = more;
        if (!more || !copy) {
                free(copy);
                (void)!out_of_memory(e);
                return NULL;
        }
        (*secrets)[*n] = (struct secret){.name = copy};
        return &(*secrets)[(*n)++];
}
