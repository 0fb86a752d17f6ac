/* See provenance.h. */
#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "model/canonical.h"
#include "model/provenance.h"

#define RULE_PORTS_MAX 16u /* of a rule, for which its literal URLs are known */

/* --- SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), with a state that can be copied --- */

struct hash {
        uint64_t v[4], tail, n;
};

static uint64_t rotate(uint64_t x, unsigned k) { return x << k | x >> (64 - k); }

static void round_of(uint64_t v[4]) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
}

static struct hash hash_begin(const struct provenance_key *k) {
        return (struct hash){.v = {k->k[0] ^ 0x736f6d6570736575u, k->k[1] ^ 0x646f72616e646f6du, k->k[0] ^ 0x6c7967656e657261u,
                                   k->k[1] ^ 0x7465646279746573u}};
}

static void hash_word(struct hash *h, uint64_t m) {
        h->v[3] ^= m;
        round_of(h->v);
        round_of(h->v);
        h->v[0] ^= m;
}

static void hash_byte(struct hash *h, uint8_t c) {
        h->tail |= (uint64_t)c << 8 * (h->n++ & 7);
        if ((h->n & 7) == 0) {
                hash_word(h, h->tail);
                h->tail = 0;
        }
}

/* Of what was hashed so far and one byte that says what for. h stays as it is. */
static uint64_t hash_end(const struct hash *h, char kind) {
        struct hash e = *h;

        hash_byte(&e, (uint8_t)kind);
        hash_word(&e, e.tail | e.n << 56);
        e.v[2] ^= 0xff;
        for (int i = 0; i < 4; i++)
                round_of(e.v);
        uint64_t r = e.v[0] ^ e.v[1] ^ e.v[2] ^ e.v[3];
        return r ? r : 1;
}

/* --- texts and marks --- */

ssize_t provenance_text(const struct request *r, char *buf, size_t size) {
        const char *scheme = r->tls ? "https://" : "http://";
        size_t at = strlen(scheme);

        if (size < at)
                return -ENOBUFS;
        memcpy(buf, scheme, at);
        ssize_t n = canonical_write_authority(r, buf + at, size - at);
        if (n < 0)
                return n;
        at += (size_t)n;
        n = canonical_write_target(r, buf + at, size - at);
        return n < 0 ? n : (ssize_t)at + n;
}

size_t provenance_origin(const char *text, size_t n) {
        const char *host = n > 8 ? memchr(text, ':', n) : NULL, *slash;

        if (!host || (size_t)(host - text) + 3 > n)
                return n;
        host += 3;
        slash = memchr(host, '/', n - (size_t)(host - text));
        return slash ? (size_t)(slash - text) : n;
}

static bool divides(char c) { return c == '/' || c == '?' || c == '&' || c == '='; }

size_t provenance_marks(const struct provenance_key *k, const char *text, size_t n, struct provenance_mark ret[PROVENANCE_MARKS_MAX]) {
        size_t origin = provenance_origin(text, n), count = 0;
        struct hash h = hash_begin(k);

        for (size_t i = 0; i < n; i++) {
                hash_byte(&h, (uint8_t)text[i]);
                size_t at = i + 1;
                bool mark = at == origin || at == n || (at > origin && (divides(text[i]) || divides(text[at])));
                if (mark && count < PROVENANCE_MARKS_MAX - (at < n ? 2 : 1))
                        ret[count++] = (struct provenance_mark){.hash = hash_end(&h, 'p'), .at = (uint32_t)at};
        }
        if (origin < n)
                ret[count++] = (struct provenance_mark){.hash = hash_end(&h, 'w'), .at = (uint32_t)n, .whole = true};
        return count;
}

uint64_t provenance_origin_hash(const struct provenance_key *k, const char *text, size_t n) {
        struct hash h = hash_begin(k);

        n = provenance_origin(text, n);
        for (size_t i = 0; i < n; i++)
                hash_byte(&h, (uint8_t)text[i]);
        return hash_end(&h, 'o');
}

uint64_t provenance_bits(size_t n, size_t at) { return 8u * (uint64_t)(n - at + 1); }

uint64_t provenance_bits_beyond(const char *url, size_t n, const char *known, size_t n_known) {
        static const struct provenance_key any = {};
        struct provenance_mark a[PROVENANCE_MARKS_MAX], b[PROVENANCE_MARKS_MAX];
        size_t n_a = provenance_marks(&any, url, n, a), n_b = provenance_marks(&any, known, n_known, b);

        while (n_a-- > 0)
                for (size_t i = n_b; i-- > 0;)
                        if (a[n_a].hash == b[i].hash && a[n_a].at == b[i].at)
                                return a[n_a].whole ? 0 : provenance_bits(n, a[n_a].at);
        return provenance_bits(n, 0);
}

/* --- references --- */

static bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Length of "scheme:", 0 where there is none (RFC 3986 section 3.1). */
static size_t scheme_of(const char *s, size_t n) {
        if (n == 0 || !is_alpha(s[0]))
                return 0;
        for (size_t i = 1; i < n; i++) {
                if (s[i] == ':')
                        return i + 1;
                if (!is_alpha(s[i]) && !(s[i] >= '0' && s[i] <= '9') && s[i] != '+' && s[i] != '-' && s[i] != '.')
                        return 0;
        }
        return 0;
}

/* How much of the base stands in front of the reference (RFC 3986 section 5.2.2); -EINVAL: it means nothing that is asked for. */
static ssize_t kept_of_base(const char *base, size_t n_base, const char *ref, size_t n_ref) {
        size_t scheme = scheme_of(ref, n_ref);

        if (scheme)
                return scheme < n_ref && scheme + 1 < n_ref && ref[scheme] == '/' && ref[scheme + 1] == '/' ? 0 : -EINVAL;
        const char *mark = memchr(base, '?', n_base);
        size_t origin = provenance_origin(base, n_base), path = mark ? (size_t)(mark - base) : n_base;

        if (n_ref > 1 && ref[0] == '/' && ref[1] == '/')
                return (ssize_t)((const char *)memchr(base, ':', origin) - base) + 1;
        if (ref[0] == '/')
                return (ssize_t)origin;
        if (ref[0] == '?')
                return (ssize_t)path;
        while (path > origin && base[path - 1] != '/')
                path--;
        return (ssize_t)path;
}

/* As programs do it that fetch what they find: what has no place in a URL is encoded. */
static bool stands_raw(unsigned char c) { return c > ' ' && c < 0x7f && !strchr("\"<>\\^`{|}", c); }

ssize_t provenance_resolve(const char *base, size_t n_base, const char *ref, size_t n_ref, char *buf, size_t size) {
        static const char digits[] = "0123456789ABCDEF";
        char whole[PROVENANCE_TEXT_MAX], canonical[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
        size_t end = 0;
        struct request r = {};

        while (end < n_ref && ref[end] != '#') /* a fragment is never asked for */
                end++;
        n_ref = end;
        if (n_ref == 0 || (n_base > 0 ? !memchr(base, ':', n_base) : !scheme_of(ref, n_ref)))
                return -EINVAL;
        ssize_t kept = kept_of_base(base, n_base, ref, n_ref);
        if (kept < 0 || (size_t)kept > sizeof(whole))
                return -EINVAL;
        size_t n = (size_t)kept;
        if (n > 0)
                memcpy(whole, base, n);
        for (size_t i = 0; i < n_ref; i++) {
                unsigned char c = (unsigned char)ref[i];
                bool raw = stands_raw(c);
                if (sizeof(whole) - n < (raw ? 1 : 3))
                        return -EINVAL;
                if (raw)
                        whole[n++] = (char)c;
                else {
                        whole[n++] = '%';
                        whole[n++] = digits[c >> 4];
                        whole[n++] = digits[c & 15];
                }
        }
        if (canonical_url(whole, n, canonical, sizeof(canonical), &r, NULL) < 0)
                return -EINVAL;
        return provenance_text(&r, buf, size);
}

/* --- rules --- */

/* A pattern that is none, as a reference: what it has decoded and what divides a URL is encoded again. */
static size_t literal_path(const char *pattern, char *dst, size_t size) {
        size_t n = 0;

        for (; *pattern && n + 3 < size; pattern++) {
                bool divides_url = *pattern == '?' || *pattern == '#';
                dst[n++] = divides_url ? '%' : *pattern;
                if (divides_url) {
                        dst[n++] = *pattern == '?' ? '3' : '2';
                        dst[n++] = *pattern == '?' ? 'F' : '3';
                }
        }
        return *pattern ? 0 : n;
}

static int add_url(const char *origin, const char *path, struct strlist *ret) {
        char ref[3 * NETWORK_PATH_BYTES + 4], text[PROVENANCE_TEXT_MAX + 1];
        size_t k = literal_path(path, ref, sizeof(ref));
        ssize_t n = k > 0 ? provenance_resolve(origin, strlen(origin), ref, k, text, PROVENANCE_TEXT_MAX) : -EINVAL;

        if (n < 0)
                return 0;
        text[n] = 0;
        return strlist_add(ret, text);
}

static int add_origin(const struct network_rule *r, const char *host, bool tls, uint16_t port, struct strlist *ret) {
        char base[REQUEST_HOST_MAX + 40], text[PROVENANCE_TEXT_MAX + 1];
        int x = 0, k = snprintf(base, sizeof(base), "%s://%s:%u", tls ? "https" : "http", host, port);
        ssize_t n = k > 0 && (size_t)k < sizeof(base) ? provenance_resolve(base, (size_t)k, "/", 1, text, PROVENANCE_TEXT_MAX) : -EINVAL;

        if (n < 0)
                return 0;
        text[provenance_origin(text, (size_t)n)] = 0;
        if (strlist_add(ret, text) < 0)
                return -ENOMEM;
        if (r->paths.n == 0)
                return add_url(text, "/", ret);
        for (size_t i = 0; i < r->paths.n && x == 0; i++)
                if (!strchr(r->paths.items[i], '*'))
                        x = add_url(text, r->paths.items[i], ret);
        return x;
}

int provenance_of_rule(const struct network_rule *r, struct strlist *ret) {
        unsigned left = RULE_PORTS_MAX;
        int x = 0;

        if (r->deny || (r->kind != NETWORK_EXACT && (r->kind != NETWORK_ADDRESS || r->range.bits != 128)))
                return 0;
        _cleanup_free_ char *plain = network_host_text(r);
        if (!plain)
                return -ENOMEM;
        bool six = strchr(plain, ':');
        _cleanup_free_ char *host = str_printf(six ? "[%.*s]" : "%.*s", (int)strcspn(plain, "/"), plain);
        if (!host)
                return -ENOMEM;
        for (size_t i = 0; i < r->n_ports && x == 0; i++)
                for (unsigned port = r->ports[i].first; port <= r->ports[i].last && left > 0 && x == 0; port++, left--) {
                        if (r->protocols & NETWORK_HTTPS)
                                x = add_origin(r, host, true, (uint16_t)port, ret);
                        if (r->protocols & NETWORK_HTTP && x == 0)
                                x = add_origin(r, host, false, (uint16_t)port, ret);
                }
        return x;
}
