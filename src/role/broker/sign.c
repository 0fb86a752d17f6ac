/* AWS Signature Version 4 in the broker: a request that the client has signed with its placeholders loses that signature, and is
 * signed as it leaves, with the real key. credential.c asks; nothing here is done for a secret of another kind.
 *
 * The target is written as AWS has it signed, the fields that are signed are those that leave, the time is the host's. The region
 * and the service are the client's word (sigv4-scope.c says which are believed). The body of S3 and its like is signed by what
 * the client says of it, which the server checks; others' are read first, since their hash stands nowhere. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "role/broker/broker.h"
#include "role/broker/sign.h"
#include "svc/http-relay.h"

#define TEXTS_BYTES (3u * REQUEST_TARGET_MAX + SIGV4_AUTHORIZATION_MAX + 1 + (SIGV4_FIELDS_MAX + 1) * SIGV4_FIELD_NAME_MAX)

static struct {
        const struct net_secret_block *b;
        struct vault_text memory; /* struct sigv4_work, and behind it texts */
        /* Of the request at work: */
        bool is;                  /* signed with the placeholders */
        struct sigv4_authorization a;
        bool once;                /* S3 and its like */
        bool anew;                /* the hash of the body is ours */
        struct http_text payload; /* what the client says of its body, where that is kept */
        struct http_text target;  /* x-amz-target */
        char time[SIGV4_TIME + 1], hash[SHA256_TEXT];
} s;

int sign_init(const struct net_secret_block *b, struct error *e) {
        if (b->identity == 0 || b->place != SECRET_SIGV4)
                return 0;
        s.b = b;
        return vault_alloc(sizeof(struct sigv4_work) + TEXTS_BYTES, &s.memory, e);
}

bool sign_asked(void) { return s.is; }
bool sign_takes_parts(void) { return s.is && s.once; }

static struct request_text text_of(struct http_text t) { return (struct request_text){t.p, t.n}; }
static bool is_name(struct http_text name, const char *text) { return name.n == strlen(text) && strncasecmp(name.p, text, name.n) == 0; }
static bool begins(struct http_text t, const char *text) { return t.n >= strlen(text) && strncasecmp(t.p, text, strlen(text)) == 0; }
static bool is(struct http_text t, const char *text) { return t.n == strlen(text) && memcmp(t.p, text, t.n) == 0; }

/* The placeholder of a part. */
static struct http_text held(enum secret_part part) {
        const uint32_t identity = s.b->part[part].identity;
        struct http_text t = {};

        if (identity > 0)
                t = (struct http_text){s.b->all[identity - 1].placeholder, s.b->all[identity - 1].n_placeholder};
        return t;
}

static bool same(const char *p, size_t n, struct http_text b) { return b.n > 0 && n == b.n && memcmp(p, b.p, n) == 0; }

static bool refuse(const char **ret_why, const char *why) {
        *ret_why = why;
        return false;
}

/* The only field of that name, into *ret; false: there are two. */
static bool find_one(const struct http_head *head, const char *name, struct http_text *ret) {
        bool had = false;

        *ret = (struct http_text){};
        for (size_t i = 0; i < head->n_fields; i++) {
                if (!is_name(http_field_name(head, &head->field[i]), name))
                        continue;
                if (had)
                        return false;
                had = true;
                *ret = http_field_value(head, &head->field[i]);
        }
        return true;
}

/* --- what the client has signed --- */

static bool check_query(const struct request *q, const char **ret_why) {
        const struct http_text key = held(PART_KEY);

        if (!sigv4_in_query(q))
                return true;
        for (size_t i = 0; i < q->n_query; i++)
                if (key.n > 0 && q->query[i].value.n > key.n && memcmp(q->query[i].value.p, key.p, key.n) == 0)
                        return refuse(ret_why, "the URL is presigned, which is not signed anew: have the client sign its requests instead");
        return refuse(ret_why, "the URL is signed with a credential of the sandbox's own, and this host has one");
}

static bool check_copy(const struct http_head *head, const char **ret_why) {
        for (size_t i = 0; i < head->n_fields && !s.b->copy; i++) {
                struct http_text name = http_field_name(head, &head->field[i]);
                if (is_name(name, "x-amz-copy-source") || is_name(name, "x-amz-rename-source"))
                        return refuse(ret_why, "the request copies from another object, which no rule looks at: \"allow: [copy]\" of the secret lets it");
        }
        return true;
}

static bool is_hash(struct http_text t) {
        for (size_t i = 0; i < t.n; i++)
                if (!(t.p[i] >= '0' && t.p[i] <= '9') && !(t.p[i] >= 'a' && t.p[i] <= 'f'))
                        return false;
        return t.n == 2 * (size_t)SHA256_SIZE;
}

static bool check_payload(const struct http_head *head, const char **ret_why) {
        if (!find_one(head, "x-amz-content-sha256", &s.payload) || !find_one(head, "x-amz-target", &s.target))
                return refuse(ret_why, "the request has two of a field that says what is signed, or what it is for");
        if (begins(s.payload, "STREAMING-AWS4-"))
                return refuse(ret_why, "the body is signed piece by piece, which is not signed anew: switch off chunked encoding or payload signing in the client");
        s.anew = !s.once || !(is_hash(s.payload) || is(s.payload, "UNSIGNED-PAYLOAD") || is(s.payload, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"));
        return true;
}

bool sign_ask(const struct http_head *head, const struct request *q, const char **ret_why) {
        struct http_text value;

        s.is = false;
        if (!s.b)
                return true;
        if (!check_query(q, ret_why))
                return false;
        if (!find_one(head, "authorization", &value))
                return refuse(ret_why, "the request has two Authorization fields");
        if (begins(value, "AWS4-ECDSA-"))
                return refuse(ret_why, "the request is signed for several regions (SigV4A), which is not signed anew: have the client sign for one");
        if (begins(value, "AWS "))
                return refuse(ret_why, "the request is signed by version 2 of AWS's signatures, which is not signed anew: have the client use version 4");
        if (!begins(value, "AWS4-"))
                return true; /* whatever it is: credential.c looks at it as at any other */
        if (sigv4_read(value.p, value.n, &s.a, ret_why) < 0)
                return false;
        if (!same(s.a.access.p, s.a.access.n, held(PART_KEY)))
                return refuse(ret_why, "the request is signed with a credential of the sandbox's own, and this host has one");
        if (!sigv4_scope_fits(q->host, s.a.service, s.a.region, s.b->services, s.b->regions, ret_why) || !check_copy(head, ret_why))
                return false;
        s.once = sigv4_encodes_once(s.a.service);
        return s.is = check_payload(head, ret_why);
}

bool sign_drops(struct http_text name, struct http_text value) {
        if (!s.is)
                return false;
        return is_name(name, "authorization") || is_name(name, "x-amz-date") || (s.anew && is_name(name, "x-amz-content-sha256")) ||
               (is_name(name, "x-amz-security-token") && same(value.p, value.n, held(PART_SESSION)));
}

/* --- what leaves --- */

/* The calendar of days since 1970: no time zone's file is read here, and none could be. */
static void write_time(char dst[SIGV4_TIME + 1]) {
        struct timespec t = {};

        (void)clock_gettime(CLOCK_REALTIME, &t);
        const uint64_t seconds = (uint64_t)t.tv_sec % 86400, shifted = (uint64_t)t.tv_sec / 86400 + 719468; /* days since March 1st of the year 0 */
        const uint64_t era = shifted / 146097, day = shifted % 146097, year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
        const uint64_t of_year = day - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
        const uint64_t number = month < 10 ? month + 3 : month - 9;
        snprintf(dst, SIGV4_TIME + 1, "%04u%02u%02uT%02u%02u%02uZ", (unsigned)((year + era * 400 + (number <= 2)) % 10000), (unsigned)number % 100,
                 (unsigned)(of_year - (153 * month + 2) / 5 + 1) % 100, (unsigned)(seconds / 3600), (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
}

/* Names that Belljar writes itself, or that may change behind it. */
static bool never(struct http_text name) {
        static const char *const names[] = {"host", "connection", "accept-encoding", "user-agent", "te", "expect", "content-length", "transfer-encoding",
                                            "x-amz-date", "x-amz-security-token", "x-amzn-trace-id"};
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (is_name(name, names[i]))
                        return true;
        return false;
}

static bool is_signed(struct http_text name) {
        if (never(name))
                return false;
        if (begins(name, "x-amz-") || is_name(name, "content-type") || is_name(name, "content-md5"))
                return true;
        for (size_t i = 0; i < s.a.n_names; i++)
                if (name.n == s.a.name[i].n && strncasecmp(name.p, s.a.name[i].p, name.n) == 0)
                        return true;
        return false;
}

struct pen {
        char *p;
        size_t room;
};

static struct request_text lower(struct pen *w, struct http_text name) {
        char *p = w->p;

        if (name.n > w->room)
                return (struct request_text){};
        for (size_t i = 0; i < name.n; i++)
                p[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 'a' - 'A' : name.p[i]);
        w->p += name.n;
        w->room -= name.n;
        return (struct request_text){p, name.n};
}

struct fields {
        struct sigv4_field f[SIGV4_FIELDS_MAX];
        size_t n;
};

static bool add(struct fields *f, struct request_text name, struct request_text value) {
        if (f->n == SIGV4_FIELDS_MAX || !name.p)
                return false;
        f->f[f->n++] = (struct sigv4_field){name, value};
        return true;
}

static struct request_text text(const char *t) { return (struct request_text){t, strlen(t)}; }

static bool get_fields(const struct http_head *head, const struct http1_out *out, const bool *drop, struct pen *w, struct fields *f) {
        for (size_t i = 0; i < head->n_fields; i++) {
                const struct http_field *field = &head->field[i];
                struct http_text name = http_field_name(head, field);
                if (drop[i] || !http1_goes_along(out, field) || !is_signed(name))
                        continue;
                if (!add(f, lower(w, name), text_of(http_field_value(head, field))))
                        return false;
        }
        return add(f, text("host"), text_of(out->host)) && add(f, text("x-amz-date"), text(s.time)) &&
               (!(s.anew && (s.once || s.payload.n > 0)) || add(f, text("x-amz-content-sha256"), text(s.hash)));
}

static bool has_body(const struct http_head *head) { return head->framing == HTTP_CHUNKED || (head->framing == HTTP_LENGTH && head->length > 0); }

static bool check_mints(const struct http_head *head, const struct request *q, const struct credential_exchange *x, const char **ret_why) {
        struct http_text type, encoding;

        if (s.b->mint)
                return true;
        if (!find_one(head, "content-type", &type) || !find_one(head, "content-encoding", &encoding))
                return refuse(ret_why, "the request has two of a field that says what its body is");
        const bool form = begins(type, "application/x-www-form-urlencoded") && encoding.n == 0;
        return !sigv4_mints(q, s.a.service, text_of(s.target), (struct request_text){x->body, x->whole ? x->n_body : 0}, form, ret_why);
}

/* The hash of what leaves, where it is ours to say. */
static void hash_body(const struct credential_exchange *x) {
        struct sha256_state h;
        uint8_t hash[SHA256_SIZE];

        sha256_begin(&h);
        if (x->whole && x->n_body > 0)
                sha256_add(&h, x->body, x->n_body);
        sha256_end(&h, hash);
        memmove(s.hash, sha256_text(hash, s.hash) + 7, 2 * SHA256_SIZE + 1); /* without "sha256:" */
}

static void add_line(struct sign_made *m, const char *name, const char *p, size_t n) { m->line[m->n_lines++] = (struct http1_line){{name, strlen(name)}, {p, n}}; }

/* Signs it, into the memory for texts. */
static bool sign(const struct http_head *head, const struct request *q, const struct http1_out *out, const bool *drop, struct sign_made *ret,
                 const char **ret_why) {
        static struct fields f;
        struct sigv4_work *work = (struct sigv4_work *)(void *)s.memory.p;
        struct pen w = {s.memory.p + sizeof(*work), s.memory.cap - sizeof(*work)};
        const struct net_secret_part *part = s.b->part;

        f.n = 0;
        ssize_t n = sigv4_write_target(q, w.p, w.room);
        if (n < 0 || !(ret->target = (struct http_text){w.p, (size_t)n}).p)
                return refuse(ret_why, "the request's target is too long to be signed");
        w.p += n;
        w.room -= (size_t)n;
        if (!get_fields(head, out, drop, &w, &f))
                return refuse(ret_why, "the request has too many fields to be signed");
        const struct sigv4_request r = {
                .request = q, .field = f.f, .n_fields = f.n, .payload = s.anew ? text(s.hash) : text_of(s.payload), .time = text(s.time), .region = s.a.region,
                .service = s.a.service, .once = s.once,
        };
        const struct sigv4_credentials c = {
                .access = {part[PART_KEY].value, part[PART_KEY].n}, .secret = {part[PART_SECRET].value, part[PART_SECRET].n},
                .token = {part[PART_SESSION].value, part[PART_SESSION].n},
        };
        if ((n = sigv4_sign(&r, &c, work, w.p, w.room, ret_why)) < 0)
                return false;
        add_line(ret, "authorization", w.p, (size_t)n);
        add_line(ret, "x-amz-date", s.time, SIGV4_TIME);
        if (c.token.n > 0)
                add_line(ret, "x-amz-security-token", c.token.p, c.token.n);
        if (s.anew && (s.once || s.payload.n > 0))
                add_line(ret, "x-amz-content-sha256", s.hash, strlen(s.hash));
        return true;
}

bool sign_make(const struct http_head *head, const struct request *q, const struct http1_out *out, const bool *drop, struct credential_exchange *x,
               struct sign_made *ret, const char **ret_why) {
        *ret = (struct sign_made){};
        if (s.anew && has_body(head) && !x->whole) {
                if (head->framing == HTTP_LENGTH && head->length > HTTP_GATHER_MAX)
                        return refuse(ret_why, SIGN_TOO_LONG);
                x->gather = true;
                return true;
        }
        write_time(s.time);
        hash_body(x);
        return check_mints(head, q, x, ret_why) && sign(head, q, out, drop, ret, ret_why);
}
