/* Hosts, authorities, targets, URLs and whole requests, by the first byte: what is read keeps the promises of request.h, is
 * written, and reads as the same again. An IPv4 address is what inet_aton(3) reads, and a name is none to it. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "model/address.h"
#include "model/canonical.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static bool equal(struct request_text a, struct request_text b) { return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); }

static void check_text(struct request_text t) {
        uint32_t cp;
        for (size_t i = 0, n; i < t.n; i += n)
                must((n = utf8_decode(t.p + i, t.n - i, &cp)) > 0 && cp != 0);
}

static void check_request(const struct request *r) {
        for (size_t i = 0; i < r->n_segments; i++) {
                struct request_text t = r->segment[i];
                check_text(t);
                must(t.n > 0 || i + 1 == r->n_segments);
                must(!(t.n == 1 && t.p[0] == '.') && !(t.n == 2 && memcmp(t.p, "..", 2) == 0));
                for (size_t k = 0; k < t.n; k++)
                        must((unsigned char)t.p[k] >= 0x20 && t.p[k] != 0x7f && !strchr("/\\;", t.p[k]));
        }
        for (size_t i = 0; i < r->n_query; i++) {
                check_text(r->query[i].key);
                check_text(r->query[i].value);
                must(r->query[i].has_value || (r->query[i].value.n == 0 && r->query[i].key.n > 0));
        }
}

static void target_again(const struct request *r) {
        static char first[REQUEST_TARGET_MAX], second[REQUEST_TARGET_MAX], decoded[REQUEST_TARGET_MAX];
        static struct request q;

        check_request(r);
        ssize_t n = canonical_write_target(r, first, sizeof(first));
        must(n > 0 && (size_t)n == r->target_bytes);
        for (ssize_t i = 0; i < n; i++)
                must(first[i] > 0x20 && first[i] < 0x7f && !strchr("#\\;\"<>", first[i]));
        must(canonical_target(first, (size_t)n, decoded, (size_t)n, &q, NULL) == 0);
        must(q.n_segments == r->n_segments && q.n_query == r->n_query && q.target_bytes == r->target_bytes);
        for (size_t i = 0; i < q.n_segments; i++)
                must(equal(q.segment[i], r->segment[i]));
        for (size_t i = 0; i < q.n_query; i++)
                must(equal(q.query[i].key, r->query[i].key) && equal(q.query[i].value, r->query[i].value) &&
                     q.query[i].has_value == r->query[i].has_value);
        must(canonical_write_target(&q, second, sizeof(second)) == n && memcmp(first, second, (size_t)n) == 0);
}

static void place_again(const struct request *r) {
        char text[REQUEST_HOST_MAX + 9], buf[REQUEST_HOST_MAX + 1], plain[REQUEST_HOST_MAX + 1];
        static struct request q;
        struct in_addr v4;

        must(r->host.n > 0 && r->host.n <= REQUEST_HOST_MAX);
        for (size_t i = 0; i < r->host.n; i++)
                must(strchr(r->is_address ? "abcdef0123456789.:" : "abcdefghijklmnopqrstuvwxyz0123456789-_.", r->host.p[i]) && r->host.p[i]);
        memcpy(plain, r->host.p, r->host.n);
        plain[r->host.n] = 0;
        must(r->is_address == (inet_aton(plain, &v4) == 1 || strchr(plain, ':')));
        if (r->is_address) {
                struct request_address a;
                must(address_parse(plain, r->host.n, &a) == 0 && memcmp(&a, &r->address, sizeof(a)) == 0);
                must(address_class(&a) < ADDRESS_CLASSES);
        }
        ssize_t n = canonical_write_authority(r, text, sizeof(text));
        must(n > 0);
        must(canonical_authority(text, (size_t)n, r->tls ? 443 : 80, buf, &q, NULL) == 0);
        must(canonical_same_place(r, &q) && memcmp(&r->address, &q.address, sizeof(q.address)) == 0);
}

static void check_host(const char *s, size_t n) {
        static struct request r;
        char buf[REQUEST_HOST_MAX + 1], copy[300];
        struct in_addr v4;
        const char *why = NULL;

        r = (struct request){.port = 80};
        if (canonical_host(s, n, buf, &r, &why) < 0) {
                must(why && r.host.n == 0);
                return;
        }
        place_again(&r);
        if (n < sizeof(copy)) {
                memcpy(copy, s, n);
                copy[n] = 0;
                if (inet_aton(copy, &v4) == 1)
                        must(r.is_address && memcmp(r.address.byte + 12, &v4, 4) == 0);
        }
}

/* Lines: dialled, sni, host, method, target. */
static void check_whole(const char *s, size_t n) {
        static struct canonical_buffer b;
        static struct request r;
        struct request_text line[5] = {};
        const char *why = NULL;

        for (size_t i = 0; i < 5; i++) {
                const char *end = n > 0 ? memchr(s, '\n', n) : NULL;
                line[i] = (struct request_text){s, end ? (size_t)(end - s) : n};
                s += line[i].n + (end != NULL);
                n -= line[i].n + (end != NULL);
        }
        struct canonical_parts p = {.dialled = line[0], .host = line[2], .method = line[3], .target = line[4], .port = 443, .tls = true};
        if (line[1].n > 0)
                p.sni = line[1];
        int x = canonical_request(&p, &b, &r, &why);
        if (x < 0) {
                must(why && (x == -EINVAL || x == -EXDEV || x == -E2BIG) && r.host.n == 0 && r.n_segments == 0 && r.method.n == 0);
                return;
        }
        must(r.port == 443 && r.tls && r.layer == REQUEST_L7);
        place_again(&r);
        target_again(&r);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static struct request r;
        static char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
        const char *why = NULL;

        if (size < 1 || size > 2 * REQUEST_TARGET_MAX)
                return 0;
        size_t n = size - 1;
        char *s = malloc(n ? n : 1); /* a block of just that size, for the sanitizer */
        must(s);
        memcpy(s, data + 1, n);
        switch (data[0]) {
        case 'h':
                check_host(s, n);
                break;
        case 'a':
                if (canonical_authority(s, n, 443, buf, &r, &why) == 0)
                        place_again(&r);
                else
                        must(why && r.host.n == 0 && r.port == 0);
                break;
        case 'u':
                if (canonical_url(s, n, buf, sizeof(buf), &r, &why) == 0) {
                        place_again(&r);
                        target_again(&r);
                } else
                        must(why && r.host.n == 0 && r.n_segments == 0);
                break;
        case 'r':
                check_whole(s, n);
                break;
        default:
                if (canonical_target(s, n, buf, n, &r, &why) == 0)
                        target_again(&r);
                else
                        must(why && r.n_segments == 0 && r.n_query == 0);
                break;
        }
        free(s);
        return 0;
}
