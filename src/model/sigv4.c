/* See sigv4.h. */
#include <string.h>
#include <strings.h>

#include "model/sigv4.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define TERMINATOR "aws4_request"

static int refuse(const char **ret_reason, int error, const char *reason) {
        if (ret_reason)
                *ret_reason = reason;
        return error;
}

static struct request_text text(const char *s) { return (struct request_text){s, strlen(s)}; }
static bool same(struct request_text a, struct request_text b) { return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); }
static bool is(struct request_text a, const char *b) { return same(a, text(b)); }

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alnum(char c) { return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }
/* RFC 3986 section 2.3: all that is never encoded. */
static bool is_unreserved(char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

/* --- The parts --- */

static bool all_of(struct request_text t, bool (*ok)(char)) {
        for (size_t i = 0; i < t.n; i++)
                if (!ok(t.p[i]))
                        return false;
        return t.n > 0;
}
static bool of_access(char c) { return is_alnum(c) || c == '_'; }
static bool of_name(char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_'; }
static bool of_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
static bool of_key(char c) { return c > ' ' && c <= '~'; }
/* RFC 9110 section 5.6.2, in lower case. */
static bool of_field(char c) { return is_lower(c) || is_digit(c) || (c && strchr("!#$%&'*+-.^_`|~", c)); }
static bool of_value(char c) { return ((unsigned char)c >= ' ' && c != 0x7f) || c == '\t'; }

static unsigned number(const char *p, size_t n) {
        unsigned v = 0;

        for (size_t i = 0; i < n; i++)
                v = 10 * v + (unsigned)(p[i] - '0');
        return v;
}

/* "20150830", a day that there is. */
static bool is_date(struct request_text t) {
        static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

        if (t.n != 8 || !all_of(t, is_digit))
                return false;
        unsigned year = number(t.p, 4), month = number(t.p + 4, 2), day = number(t.p + 6, 2);
        if (month < 1 || month > 12)
                return false;
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        return day >= 1 && day <= days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* "20150830T123600Z". */
static bool is_time(struct request_text t) {
        if (t.n != SIGV4_TIME || !is_date((struct request_text){t.p, 8}) || t.p[8] != 'T' || t.p[15] != 'Z')
                return false;
        if (!all_of((struct request_text){t.p + 9, 6}, is_digit))
                return false;
        return number(t.p + 9, 2) < 24 && number(t.p + 11, 2) < 60 && number(t.p + 13, 2) < 61;
}

static int check_scope(struct request_text access, struct request_text region, struct request_text service, const char **ret_reason) {
        if (access.n > SIGV4_ACCESS_MAX || region.n > SIGV4_NAME_MAX || service.n > SIGV4_NAME_MAX)
                return refuse(ret_reason, -E2BIG, "the access key id, the region or the service is too long");
        if (!all_of(access, of_access))
                return refuse(ret_reason, -EINVAL, "the access key id is none: letters, digits and '_'");
        if (!all_of(region, of_name) || !all_of(service, of_name))
                return refuse(ret_reason, -EINVAL, "the region or the service has no name of letters, digits, '-', '.' and '_'");
        return 0;
}

static int compare_names(struct request_text a, struct request_text b) {
        int x = memcmp(a.p, b.p, MIN(a.n, b.n));
        return x != 0 ? x : (a.n > b.n) - (a.n < b.n);
}

/* --- Reading --- */

static bool take(struct request_text *t, const char *word) {
        size_t n = strlen(word);

        if (t->n < n || memcmp(t->p, word, n) != 0)
                return false;
        t->p += n;
        t->n -= n;
        return true;
}

/* Up to the byte, which is taken too. */
static bool take_until(struct request_text *t, char end, struct request_text *ret) {
        const char *at = t->n > 0 ? memchr(t->p, end, t->n) : NULL;

        if (!at)
                return false;
        *ret = (struct request_text){t->p, (size_t)(at - t->p)};
        t->n -= ret->n + 1;
        t->p = at + 1;
        return true;
}

static int read_names(struct request_text names, struct sigv4_authorization *a, const char **ret_reason) {
        bool host = false;

        for (bool more = true; more;) {
                struct request_text name = names;
                more = take_until(&names, ';', &name);
                if (a->n_names == SIGV4_FIELDS_MAX || name.n > SIGV4_FIELD_NAME_MAX)
                        return refuse(ret_reason, -E2BIG, "the SignedHeaders are too many or too long");
                if (!all_of(name, of_field))
                        return refuse(ret_reason, -EINVAL, "the SignedHeaders have something that is no field's name in lower case");
                if (a->n_names > 0 && compare_names(a->name[a->n_names - 1], name) >= 0)
                        return refuse(ret_reason, -EINVAL, "the SignedHeaders are not in ascending order, each once");
                host |= is(name, "host");
                a->name[a->n_names++] = name;
        }
        return host ? 0 : refuse(ret_reason, -EINVAL, "the SignedHeaders have no host");
}

int sigv4_read(const char *s, size_t n, struct sigv4_authorization *ret, const char **ret_reason) {
        struct sigv4_authorization a = {};
        struct request_text t = {s, n}, names = {};

        if (!take(&t, ALGORITHM " Credential="))
                return refuse(ret_reason, -EINVAL, "the Authorization does not begin with \"" ALGORITHM " Credential=\"");
        if (!take_until(&t, '/', &a.access) || !take_until(&t, '/', &a.date) || !take_until(&t, '/', &a.region) || !take_until(&t, '/', &a.service) ||
            !take(&t, TERMINATOR ","))
                return refuse(ret_reason, -EINVAL, "the Credential is not of the form KEY/DATE/REGION/SERVICE/" TERMINATOR);
        int x = check_scope(a.access, a.region, a.service, ret_reason);
        if (x < 0)
                return x;
        if (!is_date(a.date))
                return refuse(ret_reason, -EINVAL, "the Credential has no date");
        take(&t, " ");
        if (!take(&t, "SignedHeaders=") || !take_until(&t, ',', &names))
                return refuse(ret_reason, -EINVAL, "the SignedHeaders do not follow the Credential");
        x = read_names(names, &a, ret_reason);
        if (x < 0)
                return x;
        take(&t, " ");
        if (!take(&t, "Signature=") || t.n != 64 || !all_of(t, of_hex))
                return refuse(ret_reason, -EINVAL, "the Authorization does not end with a Signature of 64 lower-case hexadecimal digits");
        a.signature = t;
        *ret = a;
        return 0;
}

static bool is_any_case(struct request_text t, const char *name) { return t.n == strlen(name) && strncasecmp(t.p, name, t.n) == 0; }

bool sigv4_in_query(const struct request *r) {
        static const char *const keys[] = {"X-Amz-Signature", "X-Amz-Credential", "X-Amz-Algorithm", "X-Amz-Security-Token", "AWSAccessKeyId"};

        for (size_t i = 0; i < r->n_query; i++)
                for (size_t k = 0; k < ELEMENTSOF(keys); k++)
                        if (is_any_case(r->query[i].key, keys[k]))
                                return true;
        return false;
}

bool sigv4_encodes_once(struct request_text service) {
        return is(service, "s3") || is(service, "s3express") || is(service, "s3-object-lambda") || is(service, "s3-outposts");
}

/* --- Path and query --- */

/* The bytes of c when it is encoded; returns how many. */
static size_t encode(char c, unsigned times, char ret[5]) {
        static const char digits[] = "0123456789ABCDEF";
        size_t n = 0;

        ret[n++] = is_unreserved(c) ? c : '%';
        if (is_unreserved(c))
                return n;
        if (times > 1) { /* the percent sign, again */
                ret[n++] = '2';
                ret[n++] = '5';
        }
        ret[n++] = digits[(unsigned char)c >> 4];
        ret[n++] = digits[(unsigned char)c & 15];
        return n;
}

/* Where text goes: a hash, or a buffer, whose fill is counted beyond its end. */
struct sink {
        bool hashed;
        struct sha256_state *hash;
        char *buf;
        size_t size, at;
};
static void put(struct sink *s, const char *p, size_t n) {
        if (s->hashed)
                sha256_add(s->hash, p, n);
        else if (s->at < s->size)
                memcpy(s->buf + s->at, p, MIN(n, s->size - s->at));
        s->at += n;
}
static void puts_to(struct sink *s, const char *p) { put(s, p, strlen(p)); }
static void put_text(struct sink *s, struct request_text t) {
        if (t.n > 0)
                put(s, t.p, t.n);
}
static void put_encoded(struct sink *s, struct request_text t, unsigned times) {
        char bytes[5];

        for (size_t i = 0; i < t.n; i++)
                put(s, bytes, encode(t.p[i], times, bytes));
}

static void put_path(struct sink *s, const struct request *r, unsigned times) {
        for (size_t i = 0; i < r->n_segments; i++) {
                puts_to(s, "/");
                put_encoded(s, r->segment[i], times);
        }
}

ssize_t sigv4_write_target(const struct request *r, char *buf, size_t size) {
        struct sink s = {.buf = buf, .size = size};

        if (r->n_segments == 0)
                puts_to(&s, "*");
        put_path(&s, r, 1);
        for (size_t i = 0; i < r->n_query; i++) {
                puts_to(&s, i == 0 ? "?" : "&");
                put_encoded(&s, r->query[i].key, 1);
                if (r->query[i].has_value) {
                        puts_to(&s, "=");
                        put_encoded(&s, r->query[i].value, 1);
                }
        }
        return s.at > size ? -ENOBUFS : (ssize_t)s.at;
}

/* As their encoded forms compare: what is encoded begins with '%', which comes before all that is not, and upper-case
 * hexadecimal digits ascend. */
static int compare_encoded(struct request_text a, struct request_text b) {
        for (size_t i = 0; i < a.n && i < b.n; i++) {
                if (a.p[i] == b.p[i])
                        continue;
                bool plain_a = is_unreserved(a.p[i]), plain_b = is_unreserved(b.p[i]);
                if (plain_a != plain_b)
                        return plain_a ? 1 : -1;
                return (unsigned char)a.p[i] > (unsigned char)b.p[i] ? 1 : -1;
        }
        return (a.n > b.n) - (a.n < b.n);
}

/* Puts the indices 0 to n - 1 in ascending order, equal ones as they come. Few comparisons, since each may read long texts. */
static void sort(uint8_t *order, size_t n, int (*compare)(const void *things, size_t a, size_t b), const void *things) {
        for (size_t i = 0; i < n; i++) {
                size_t low = 0, high = i;
                while (low < high) {
                        size_t middle = (low + high) / 2;
                        if (compare(things, i, order[middle]) < 0)
                                high = middle;
                        else
                                low = middle + 1;
                }
                memmove(order + low + 1, order + low, i - low);
                order[low] = (uint8_t)i;
        }
}

static int compare_query(const void *things, size_t a, size_t b) {
        const struct request_query *q = things;
        int x = compare_encoded(q[a].key, q[b].key);

        return x != 0 ? x : compare_encoded(q[a].value, q[b].value);
}

static void put_query(struct sink *s, const struct request *r) {
        uint8_t order[REQUEST_QUERY_MAX];

        sort(order, r->n_query, compare_query, r->query);
        for (size_t i = 0; i < r->n_query; i++) {
                const struct request_query *q = r->query + order[i];
                if (i > 0)
                        puts_to(s, "&");
                put_encoded(s, q->key, 1);
                puts_to(s, "=");
                if (q->has_value)
                        put_encoded(s, q->value, 1);
        }
}

/* --- Fields --- */

/* The caller's, and the session token's. */
struct fields {
        struct sigv4_field f[SIGV4_FIELDS_MAX + 1];
        uint8_t order[SIGV4_FIELDS_MAX + 1];
        size_t n;
};

static int compare_fields(const void *things, size_t a, size_t b) {
        const struct sigv4_field *f = things;
        return compare_names(f[a].name, f[b].name);
}

static int check_field(const struct sigv4_request *q, const struct sigv4_field *f, bool *host, bool *date, const char **ret_reason) {
        if (f->name.n > SIGV4_FIELD_NAME_MAX)
                return refuse(ret_reason, -E2BIG, "the name of a signed field is too long");
        if (!all_of(f->name, of_field))
                return refuse(ret_reason, -EINVAL, "a signed field has no name in lower case");
        if (f->value.n > 0 && !all_of(f->value, of_value))
                return refuse(ret_reason, -EINVAL, "a signed field has a control character");
        if (is(f->name, "authorization") || is(f->name, "x-amz-security-token"))
                return refuse(ret_reason, -EINVAL, "a signed field is one that the signature brings");
        if (is(f->name, "x-amz-content-sha256") && !same(f->value, q->payload))
                return refuse(ret_reason, -EINVAL, "the x-amz-content-sha256 is not the payload's");
        if (is(f->name, "x-amz-date")) {
                if (*date || !same(f->value, q->time))
                        return refuse(ret_reason, -EINVAL, "the x-amz-date is not the signature's");
                *date = true;
        }
        if (is(f->name, "host")) {
                if (*host)
                        return refuse(ret_reason, -EINVAL, "there are two hosts");
                *host = true;
        }
        return 0;
}

static int get_fields(const struct sigv4_request *q, const struct sigv4_credentials *c, struct fields *ret, const char **ret_reason) {
        bool host = false, date = false;

        if (q->n_fields > SIGV4_FIELDS_MAX)
                return refuse(ret_reason, -E2BIG, "too many fields are to be signed");
        for (size_t i = 0; i < q->n_fields; i++) {
                int x = check_field(q, q->field + i, &host, &date, ret_reason);
                if (x < 0)
                        return x;
                ret->f[ret->n++] = q->field[i];
        }
        if (!host || !date)
                return refuse(ret_reason, -EINVAL, "a signature needs the fields host and x-amz-date");
        if (c->token.n > 0)
                ret->f[ret->n++] = (struct sigv4_field){text("x-amz-security-token"), c->token};
        sort(ret->order, ret->n, compare_fields, ret->f);
        return 0;
}

/* The blanks at its ends go, those within become one. */
static void put_value(struct sink *s, struct request_text t) {
        bool begun = false;

        for (size_t i = 0, end; i < t.n; i = end) {
                end = i;
                if (t.p[i] == ' ' || t.p[i] == '\t') {
                        end++;
                        continue;
                }
                while (end < t.n && t.p[end] != ' ' && t.p[end] != '\t')
                        end++;
                if (begun)
                        puts_to(s, " ");
                put(s, t.p + i, end - i);
                begun = true;
        }
}

static void put_fields(struct sink *s, const struct fields *f) {
        for (size_t i = 0; i < f->n; i++) {
                const struct sigv4_field *field = f->f + f->order[i];
                bool again = i > 0 && same(f->f[f->order[i - 1]].name, field->name);
                if (again)
                        puts_to(s, ",");
                else {
                        puts_to(s, i > 0 ? "\n" : "");
                        put_text(s, field->name);
                        puts_to(s, ":");
                }
                put_value(s, field->value);
        }
        puts_to(s, "\n");
}

static void put_names(struct sink *s, const struct fields *f) {
        for (size_t i = 0; i < f->n; i++) {
                struct request_text name = f->f[f->order[i]].name;
                if (i > 0 && same(f->f[f->order[i - 1]].name, name))
                        continue;
                puts_to(s, i > 0 ? ";" : "");
                put_text(s, name);
        }
}

/* --- The signature --- */

static void put_hex(struct sink *s, const uint8_t hash[SHA256_SIZE]) {
        char all[SHA256_TEXT];

        put(s, sha256_text(hash, all) + 7, 2 * (size_t)SHA256_SIZE);
}

static void put_scope(struct sink *s, const struct sigv4_request *q) {
        put(s, q->time.p, 8);
        puts_to(s, "/");
        put_text(s, q->region);
        puts_to(s, "/");
        put_text(s, q->service);
        puts_to(s, "/" TERMINATOR);
}

static void hash_request(const struct sigv4_request *q, const struct fields *f, struct sha256_state *work, uint8_t ret[SHA256_SIZE]) {
        struct sink s = {.hashed = true, .hash = work};

        sha256_begin(work);
        put_text(&s, q->request->method);
        puts_to(&s, "\n");
        put_path(&s, q->request, q->once ? 1 : 2);
        puts_to(&s, "\n");
        put_query(&s, q->request);
        puts_to(&s, "\n");
        put_fields(&s, f);
        puts_to(&s, "\n");
        put_names(&s, f);
        puts_to(&s, "\n");
        put_text(&s, q->payload);
        sha256_end(work, ret);
}

/* work->key becomes the code of the text under itself. */
static void derive(struct sigv4_work *work, const void *p, size_t n) {
        hmac_sha256_begin(&work->mac, work->key, sizeof(work->key));
        hmac_sha256_add(&work->mac, p, n);
        hmac_sha256_end(&work->mac, work->key);
}

/* Leaves the key of the day, region and service in work->key. */
static void derive_key(const struct sigv4_request *q, struct request_text secret, struct sigv4_work *work) {
        memcpy(work->secret, "AWS4", 4);
        memcpy(work->secret + 4, secret.p, secret.n);
        hmac_sha256_begin(&work->mac, work->secret, 4 + secret.n);
        hmac_sha256_add(&work->mac, q->time.p, 8);
        hmac_sha256_end(&work->mac, work->key);
        derive(work, q->region.p, q->region.n);
        derive(work, q->service.p, q->service.n);
        derive(work, TERMINATOR, strlen(TERMINATOR));
}

/* Leaves the signature in work->key. */
static void sign(const struct sigv4_request *q, const struct fields *f, struct request_text secret, struct sigv4_work *work) {
        char string[sizeof(ALGORITHM) + SIGV4_TIME + 8 + 2 * SIGV4_NAME_MAX + sizeof(TERMINATOR) + 8 + 2 * SHA256_SIZE];
        struct sink s = {.buf = string, .size = sizeof(string)};
        uint8_t hash[SHA256_SIZE];

        hash_request(q, f, &work->hash, hash);
        puts_to(&s, ALGORITHM "\n");
        put_text(&s, q->time);
        puts_to(&s, "\n");
        put_scope(&s, q);
        puts_to(&s, "\n");
        put_hex(&s, hash);
        derive_key(q, secret, work);
        derive(work, string, s.at);
}

static bool is_payload(struct request_text t) {
        return (t.n == 64 && all_of(t, of_hex)) || is(t, "UNSIGNED-PAYLOAD") || is(t, "STREAMING-UNSIGNED-PAYLOAD-TRAILER");
}

static int check(const struct sigv4_request *q, const struct sigv4_credentials *c, const char **ret_reason) {
        int x = check_scope(c->access, q->region, q->service, ret_reason);
        if (x < 0)
                return x;
        if (c->secret.n > SIGV4_SECRET_MAX || c->token.n > SIGV4_TOKEN_MAX)
                return refuse(ret_reason, -E2BIG, "the secret key or the session token is too long");
        if (!all_of(c->secret, of_key) || (c->token.n > 0 && !all_of(c->token, of_key)))
                return refuse(ret_reason, -EINVAL, "the secret key or the session token has a byte that is no printable ASCII character");
        if (!is_time(q->time))
                return refuse(ret_reason, -EINVAL, "the time is not of the form 20150830T123600Z");
        if (!is_payload(q->payload))
                return refuse(ret_reason, -EINVAL, "the payload is signed in another way than by its SHA-256, or not at all: signatures of pieces are not "
                                                   "supported");
        if (q->request->n_segments == 0 || q->request->method.n == 0)
                return refuse(ret_reason, -EINVAL, "there is no path or no method to be signed");
        return 0;
}

static ssize_t write_authorization(const struct sigv4_request *q, const struct sigv4_credentials *c, const struct fields *f,
                                   const uint8_t signature[SHA256_SIZE], char *buf, size_t size) {
        struct sink s = {.buf = buf, .size = size};

        puts_to(&s, ALGORITHM " Credential=");
        put_text(&s, c->access);
        puts_to(&s, "/");
        put_scope(&s, q);
        puts_to(&s, ", SignedHeaders=");
        put_names(&s, f);
        puts_to(&s, ", Signature=");
        put_hex(&s, signature);
        put(&s, "", 1);
        return s.at > size ? -ENOBUFS : (ssize_t)s.at - 1;
}

ssize_t sigv4_sign(const struct sigv4_request *q, const struct sigv4_credentials *c, struct sigv4_work *work, char *buf, size_t size,
                   const char **ret_reason) {
        struct fields f = {};

        ssize_t x = check(q, c, ret_reason);
        if (x == 0)
                x = get_fields(q, c, &f, ret_reason);
        if (x == 0) {
                sign(q, &f, c->secret, work);
                x = write_authorization(q, c, &f, work->key, buf, size);
                if (x == -ENOBUFS)
                        refuse(ret_reason, -ENOBUFS, "the Authorization does not fit");
        }
        explicit_bzero(work, sizeof(*work));
        return x;
}
