/* Signatures: the first line is an Authorization, the second a target, the others fields. What is read is written in one way
 * and reads as the same again; what is signed is read; and the target that is sent is the same request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/canonical.h"
#include "model/sigv4.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)
#define TEXT(t) (int)(t).n, (t).p

static bool same(struct request_text a, struct request_text b) { return a.n == b.n && memcmp(a.p, b.p, a.n) == 0; }

static void authorization(struct request_text t) {
        struct sigv4_authorization a, b;
        char names[SIGV4_AUTHORIZATION_MAX], all[SIGV4_AUTHORIZATION_MAX];
        const char *why = NULL;
        int n = 0;

        char *exact = memcpy(malloc(t.n + 1), t.p, t.n);
        if (sigv4_read(exact, t.n, &a, &why) < 0) {
                must(why != NULL);
                free(exact);
                return;
        }
        for (size_t i = 0; i < a.n_names; i++)
                n += snprintf(names + n, sizeof(names) - (size_t)n, "%s%.*s", i > 0 ? ";" : "", TEXT(a.name[i]));
        n = snprintf(all, sizeof(all), "AWS4-HMAC-SHA256 Credential=%.*s/%.*s/%.*s/%.*s/aws4_request, SignedHeaders=%s, Signature=%.*s", TEXT(a.access),
                     TEXT(a.date), TEXT(a.region), TEXT(a.service), names, TEXT(a.signature));
        must((size_t)n < sizeof(all) && (size_t)n >= t.n && (size_t)n <= t.n + 2);
        must(sigv4_read(all, (size_t)n, &b, &why) == 0 && a.n_names == b.n_names);
        must(same(a.access, b.access) && same(a.date, b.date) && same(a.region, b.region) && same(a.service, b.service) && same(a.signature, b.signature));
        for (size_t i = 0; i < a.n_names; i++)
                must(same(a.name[i], b.name[i]));
        free(exact);
}

/* Writes it as it is sent, and reads that. */
static void sent(const struct request *r) {
        static char out[3 * REQUEST_TARGET_MAX], buf[3 * REQUEST_TARGET_MAX], again[3 * REQUEST_TARGET_MAX];
        static struct request q;

        ssize_t n = sigv4_write_target(r, out, sizeof(out));
        must(n > 0);
        if (canonical_target(out, (size_t)n, buf, sizeof(buf), &q, NULL) < 0) {
                must((size_t)n > REQUEST_TARGET_MAX);
                return;
        }
        must(q.n_segments == r->n_segments && q.n_query == r->n_query);
        for (size_t i = 0; i < q.n_segments; i++)
                must(same(q.segment[i], r->segment[i]));
        for (size_t i = 0; i < q.n_query; i++)
                must(same(q.query[i].key, r->query[i].key) && same(q.query[i].value, r->query[i].value) && q.query[i].has_value == r->query[i].has_value);
        must(sigv4_write_target(&q, again, sizeof(again)) == n && memcmp(out, again, (size_t)n) == 0);
}

static void sign(const struct request *r, const struct sigv4_field *fields, size_t n_fields, bool once) {
        static char out[SIGV4_AUTHORIZATION_MAX];
        struct sigv4_work work;
        struct sigv4_authorization a;
        const char *why = NULL;
        const struct sigv4_request q = {r, fields, n_fields, {"UNSIGNED-PAYLOAD", 16}, {"20150830T123600Z", 16}, {"us-east-1", 9}, {"s3", 2}, once};
        const struct sigv4_credentials c = {{"AKID", 4}, {"secret", 6}, {"token", once ? 5 : 0}};

        memset(&work, 0xff, sizeof(work));
        ssize_t n = sigv4_sign(&q, &c, &work, out, sizeof(out), &why);
        for (size_t i = 0; i < sizeof(work); i++)
                must(((const char *)&work)[i] == 0);
        if (n < 0) {
                must(n != -ENOBUFS && why);
                return;
        }
        n = sigv4_read(out, (size_t)n, &a, &why);
        must(n == 0 || (n == -E2BIG && once && n_fields == SIGV4_FIELDS_MAX)); /* the token's is one more */
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static struct request r;
        static char buf[REQUEST_TARGET_MAX];
        struct request_text line[SIGV4_FIELDS_MAX + 4];
        struct sigv4_field fields[SIGV4_FIELDS_MAX + 2];
        size_t n = 0, n_fields = 0;
        const char *p = (const char *)data, *end = p + size;

        if (size == 0)
                return 0;
        while (p < end && n < SIGV4_FIELDS_MAX + 1) {
                const char *stop = memchr(p, '\n', (size_t)(end - p));
                line[n++] = (struct request_text){p, (size_t)((stop ? stop : end) - p)};
                p = stop ? stop + 1 : end;
        }
        authorization(line[0]);
        r = (struct request){.method = {"GET", 3}};
        if (n < 2 || canonical_target(line[1].p, line[1].n, buf, sizeof(buf), &r, NULL) < 0)
                return 0;
        sent(&r);
        (void)sigv4_in_query(&r);
        fields[n_fields++] = (struct sigv4_field){{"x-amz-date", 10}, {"20150830T123600Z", 16}};
        for (size_t i = 2; i < n; i++) {
                const char *colon = line[i].n > 0 ? memchr(line[i].p, ':', line[i].n) : NULL;
                size_t name = colon ? (size_t)(colon - line[i].p) : line[i].n;
                fields[n_fields++] = (struct sigv4_field){{line[i].p, name}, {line[i].p + name + (colon != NULL), line[i].n - name - (colon != NULL)}};
        }
        sign(&r, fields, n_fields, false);
        sign(&r, fields, n_fields, true);
        return 0;
}
