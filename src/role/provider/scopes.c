/* Asks a provider what the credential may do (model/scope.h), for `belljar secret test`: a request or two to the one host that the
 * job names. The answers are read here, where there is nothing to be had but that one credential, and what of them could be it
 * is masked before that. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/canonical.h"
#include "model/scope.h"
#include "model/sigv4.h"
#include "proto/redact.h"
#include "role/provider/client.h"
#include "role/provider/jobs.h"
#include "svc/vault.h"

#define FIELD_MAX 1024u /* bytes of a field of the answer that is looked at; what is longer is cut */
#define VALUE_MAX (CLIENT_REQUEST_MAX / SCOPE_FIELDS_MAX / 2)

/* --- what of an answer could be the credential --- */

static struct {
        struct vault_text memory;
        struct redactor *how;
        struct redact_stream *stream;
        size_t size;   /* of the redactor, behind which the stream is */
} mask;

static size_t aligned(size_t n) { return (n + 15) & ~(size_t)15; }

/* Same bytes but for letters and digits, as proto/redact.h wants it; and it is to be another text. */
static void fill_mask(char *dst, const char *value, size_t n) {
        const char fill = strspn(value, "x") == n ? 'y' : 'x';

        for (size_t i = 0; i < n; i++) {
                char v = value[i];
                dst[i] = (v >= 'a' && v <= 'z') || (v >= 'A' && v <= 'Z') || (v >= '0' && v <= '9') ? fill : v;
        }
}

static int mask_init(const struct provider_job *job, struct error *e) {
        static const enum provider_text which[] = {PROVIDER_CREDENTIAL, PROVIDER_CLIENT_SECRET, PROVIDER_CLIENT_ID};
        static char masks[ELEMENTSOF(which)][PROVIDER_VALUE_MAX];
        struct redact_pair pairs[ELEMENTSOF(which)];
        size_t n = 0;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(which); i++) {
                const char *value = job->text[which[i]];
                size_t len = strlen(value);
                if (len < REDACT_VALUE_MIN || len > PROVIDER_VALUE_MAX)
                        continue;
                fill_mask(masks[n], value, len);
                pairs[n] = (struct redact_pair){value, masks[n], len};
                n++;
        }
        mask.size = aligned(redact_size(pairs, n));
        if (n == 0 || mask.size == 0)
                return error_set(e, EINVAL, "the credential is too short or too long");
        if ((r = vault_alloc(mask.size + REDACT_STREAM_MAX, &mask.memory, e)) < 0)
                return r;
        r = redact_init(mask.memory.p, mask.size, pairs, n, &mask.how);
        return r < 0 ? error_errno(e, r, "the credential cannot be looked for") : 0;
}

static void hide(char *p, size_t n) {
        if (redact_begin(mask.how, mask.memory.p + mask.size, REDACT_STREAM_MAX, &mask.stream) == 0)
                redact_text(mask.how, mask.stream, p, n);
        else
                memset(p, 'x', n); /* never with the memory that it has */
}

/* --- the request --- */

/* "Bearer {}" */
static ssize_t fill_in(const char *form, const char *value, char *dst, size_t size) {
        const char *hole = strstr(form, "{}");
        int n = hole ? snprintf(dst, size, "%.*s%s%s", (int)(hole - form), form, value, hole + 2) : snprintf(dst, size, "%s", form);

        return n < 0 || (size_t)n >= size ? -ENOBUFS : n;
}

static struct http_text text(const char *s) { return (struct http_text){s, strlen(s)}; }

struct signing {
        struct http1_line *more;
        size_t n;
        char url[REQUEST_HOST_MAX + REQUEST_TARGET_MAX], place[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX], host[REQUEST_HOST_MAX + 9], time[SIGV4_TIME + 1],
                digest[SHA256_TEXT], region[SIGV4_NAME_MAX + 1], authorization[SIGV4_AUTHORIZATION_MAX + 1];
};

/* "sts.eu-west-1.amazonaws.com"; the one without a region is us-east-1's (AWS, "Signature Version 4 signing process"). */
static void region_of(const char *host, char dst[SIGV4_NAME_MAX + 1]) {
        const char *p = str_after(host, "sts.");
        size_t n = p ? strcspn(p, ".") : 0;

        if (p && n > 0 && n <= SIGV4_NAME_MAX && str_after(p + n, ".amazonaws.com"))
                snprintf(dst, SIGV4_NAME_MAX + 1, "%.*s", (int)n, p);
        else
                snprintf(dst, SIGV4_NAME_MAX + 1, "us-east-1");
}

/* Adds x-amz-date, the session token and Authorization to what s->more has. */
static int sign(const struct provider_job *job, const struct scope_question *q, struct signing *s, struct error *e) {
        static struct sigv4_work work;
        static struct request place;
        struct sigv4_field field[SCOPE_FIELDS_MAX + 2];
        const char *why = "", *session = job->text[PROVIDER_CLIENT_SECRET];
        const time_t now = time(NULL);
        uint8_t hash[SHA256_SIZE];
        struct tm tm;
        size_t n = 0;

        if (canonical_url(s->url, strlen(s->url), s->place, sizeof(s->place), &place, &why) < 0)
                return error_set(e, EINVAL, "%s", why);
        ssize_t n_host = canonical_write_authority(&place, s->host, sizeof(s->host));
        if (n_host < 0 || !gmtime_r(&now, &tm) || strftime(s->time, sizeof(s->time), "%Y%m%dT%H%M%SZ", &tm) != SIGV4_TIME)
                return error_set(e, EINVAL, "the request cannot be signed");
        place.method = (struct request_text){q->method, strlen(q->method)};
        sha256(q->body ? q->body : "", q->body ? strlen(q->body) : 0, hash);
        const char *digits = str_after(sha256_text(hash, s->digest), "sha256:");
        region_of(s->host, s->region);
        field[n++] = (struct sigv4_field){{"host", 4}, {s->host, (size_t)n_host}};
        field[n++] = (struct sigv4_field){{"x-amz-date", 10}, {s->time, SIGV4_TIME}};
        const struct sigv4_request r = {.request = &place, .field = field, .n_fields = n, .payload = {digits, 2 * SHA256_SIZE}, .time = {s->time, SIGV4_TIME},
                                        .region = {s->region, strlen(s->region)}, .service = {q->service, strlen(q->service)}};
        const struct sigv4_credentials c = {.access = {job->text[PROVIDER_CLIENT_ID], strlen(job->text[PROVIDER_CLIENT_ID])},
                                            .secret = {job->text[PROVIDER_CREDENTIAL], strlen(job->text[PROVIDER_CREDENTIAL])}, .token = {session, strlen(session)}};
        ssize_t k = sigv4_sign(&r, &c, &work, s->authorization, sizeof(s->authorization), &why);
        if (k < 0)
                return error_set(e, (int)-k, "the request cannot be signed: %s", why);
        s->more[s->n++] = (struct http1_line){text("x-amz-date"), {s->time, SIGV4_TIME}};
        if (*session)
                s->more[s->n++] = (struct http1_line){text("x-amz-security-token"), text(session)};
        s->more[s->n++] = (struct http1_line){text("authorization"), {s->authorization, (size_t)k}};
        return 0;
}

static int ask(const struct provider_job *job, const struct scope_question *q, struct provider_reply *reply, struct client_answer *ret, struct error *e) {
        struct http1_line more[SCOPE_FIELDS_MAX + 3];
        struct signing s = {.more = more};
        char *scratch = client_scratch();
        int r = 0;

        snprintf(s.url, sizeof(s.url), "https://%s%s", job->text[PROVIDER_URL], q->target);
        for (size_t i = 0; i < q->n_fields; i++, s.n++) {
                char *value = scratch + i * VALUE_MAX;
                ssize_t n = fill_in(q->field[i].value, job->text[PROVIDER_CREDENTIAL], value, VALUE_MAX);
                if (n < 0)
                        return error_set(e, E2BIG, "the credential is too long for a field");
                more[i] = (struct http1_line){text(q->field[i].name), {value, (size_t)n}};
        }
        if (q->service && (r = sign(job, q, &s, e)) < 0)
                return r;
        const struct client_ask a = {.method = q->method, .url = s.url, .more = more, .n_more = s.n, .body = q->body, .n_body = q->body ? strlen(q->body) : 0,
                                     .timeout_ms = PROVIDER_ASK_MS};
        r = client_call(&a, reply->host, ret, e);
        explicit_bzero(scratch, CLIENT_REQUEST_MAX);
        explicit_bzero(s.authorization, sizeof(s.authorization));
        return r;
}

/* --- the answer --- */

static bool read_answer(const struct provider_job *job, enum scope_kind k, size_t i, const struct client_answer *a, struct scope_answer *ret) {
        static char body[CLIENT_BODY_MAX + 1], values[HTTP_FIELDS_MAX][FIELD_MAX];
        static struct scope_reply_field fields[HTTP_FIELDS_MAX];
        const char *value = job->text[PROVIDER_CREDENTIAL];
        struct scope_reply r = {.status = a->status, .fields = fields, .body = body, .n_body = MIN(a->n_body, CLIENT_BODY_MAX)};

        if (a->n_body > 0)
                memcpy(body, a->body, r.n_body);
        hide(body, r.n_body);
        for (; a->head && r.n_fields < a->head->n_fields; r.n_fields++) {
                const struct http_field *f = &a->head->field[r.n_fields];
                struct http_text name = http_field_name(a->head, f), v = http_field_value(a->head, f);
                size_t n = MIN(v.n, FIELD_MAX);
                memcpy(values[r.n_fields], v.p, n);
                hide(values[r.n_fields], n);
                fields[r.n_fields] = (struct scope_reply_field){{name.p, name.n}, {values[r.n_fields], n}};
        }
        bool more = scope_read(k, i, &r, value, strlen(value), ret);
        explicit_bzero(body, r.n_body);
        return more;
}

int scopes_do(const struct provider_job *job, enum provider_step step, struct provider_reply *reply, struct error *e) {
        const enum scope_kind k = (enum scope_kind)atoi(job->text[PROVIDER_SCOPE]);
        struct client_answer a = {};
        struct scope_question q;
        int r;

        if (step != STEP_DO)
                return 0; /* nothing is minted */
        if (!mask.how && (r = mask_init(job, e)) < 0)
                return r;
        reply->scopes = (struct scope_answer){};
        for (size_t i = 0; scope_ask(k, job->text[PROVIDER_URL], i, &q); i++) {
                r = ask(job, &q, reply, &a, e);
                if (r < 0 && i == 0)
                        return r;
                if (r < 0) { /* what the first said stands */
                        scope_note(&reply->scopes, "the second request for what it may do came to nothing: %.150s", e->msg);
                        break;
                }
                reply->status = (int32_t)a.status;
                if (!read_answer(job, k, i, &a, &reply->scopes))
                        break;
        }
        return reply->scopes.state == 0 ? error_set(e, EINVAL, "nothing is known that could be asked") : 0;
}
