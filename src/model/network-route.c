/* See network-route.h. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/address.h"
#include "model/canonical.h"
#include "model/network-route.h"

#define BRIEF 72

static const char *brief(char dst[BRIEF], const char *s) {
        size_t len = strlen(s), n = utf8_cut(s, len, BRIEF - 4);

        memcpy(dst, s, n);
        memcpy(dst + n, n < len ? "..." : "", n < len ? 4 : 1);
        return dst;
}

int network_origin_read(const char *text, struct request *ret, char buf[REQUEST_HOST_MAX + 1], const char **ret_why) {
        bool tls = strncmp(text, "https://", 8) == 0;
        size_t skip = tls ? 8 : 7, n = strlen(text);
        int r;

        if (!tls && strncmp(text, "http://", 7) != 0) {
                *ret_why = "it begins with neither http:// nor https://";
                return -EINVAL;
        }
        if (n > skip && text[n - 1] == '/')
                n--;
        if (memchr(text + skip, '/', n - skip) || memchr(text + skip, '?', n - skip) || memchr(text + skip, '#', n - skip)) {
                *ret_why = "it has a path: requests go there with the path that they have";
                return -EINVAL;
        }
        if ((r = canonical_authority(text + skip, n - skip, tls ? 443 : 80, buf, ret, ret_why)) < 0)
                return r;
        ret->tls = tls;
        return 0;
}

static bool is_localhost(struct request_text host) {
        static const char name[] = "localhost";
        const size_t n = sizeof(name) - 1;

        return host.n >= n && memcmp(host.p + host.n - n, name, n) == 0 && (host.n == n || host.p[host.n - n - 1] == '.');
}

static bool is_unspecified(const struct request_address *a) {
        static const uint8_t none[16], none4[16] = {[10] = 0xff, [11] = 0xff};
        return memcmp(a->byte, none, sizeof(none)) == 0 || memcmp(a->byte, none4, sizeof(none4)) == 0;
}

int network_set_to(struct network_rule *r, const char *text, struct error *e) {
        char host[REQUEST_HOST_MAX + 1], authority[REQUEST_HOST_MAX + 9], b[BRIEF];
        struct request origin = {};
        const char *why = NULL;
        ssize_t n = -1;

        if (strlen(text) > NETWORK_ORIGIN_BYTES)
                why = "it is too long";
        else if (network_origin_read(text, &origin, host, &why) == 0)
                n = canonical_write_authority(&origin, authority, sizeof(authority));
        if (n < 0) {
                error_set(e, EINVAL, "network.to cannot be \"%s\": %s", brief(b, text), why ?: "it has no canonical form");
                return error_fix(e, "write it like http://127.0.0.1:11434 or https://models.example.com");
        }
        if (origin.is_address ? is_unspecified(&origin.address) : is_localhost(origin.host)) {
                error_set(e, EINVAL, "network.to cannot be \"%s\": %s", brief(b, text),
                          origin.is_address ? "it is no address that something can be reached at" : "which address that name has is not the policy's word");
                return error_fix(e, "for a service of this host write 127.0.0.1 or [::1]");
        }
        free(r->to);
        r->to = str_printf("http%s://%.*s", origin.tls ? "s" : "", (int)n, authority);
        return r->to ? 0 : error_set(e, ENOMEM, "out of memory");
}

int network_add_model(struct network_rule *r, const char *pattern, struct error *e) {
        size_t n = strlen(pattern), stars = 0;
        bool good = n > 0 && n <= NETWORK_MODEL_BYTES;
        char b[BRIEF];

        for (size_t i = 0; i < n && good; i++) {
                stars += pattern[i] == '*';
                good = pattern[i] > ' ' && pattern[i] < 0x7f && pattern[i] != '"' && pattern[i] != '\\' &&
                       (pattern[i] != '%' || strncmp(pattern + i, "%2A", 3) == 0 || strncmp(pattern + i, "%25", 3) == 0);
        }
        if (!good || stars > NETWORK_SEGMENT_STARS) {
                error_set(e, EINVAL, "network.models cannot have \"%s\"", brief(b, pattern));
                return error_fix(e, "a pattern has 1 to %u visible characters of ASCII, no quotes and no backslash, and at most %u stars; %%2A is a star and %%25 a percent sign",
                                 NETWORK_MODEL_BYTES, NETWORK_SEGMENT_STARS);
        }
        if (r->models.n >= NETWORK_MODELS_MAX)
                return error_set(e, E2BIG, "more than %u entries in models", NETWORK_MODELS_MAX);
        return strlist_add(&r->models, pattern) < 0 ? error_set(e, ENOMEM, "out of memory") : 0;
}

/* The place that `to` names is an address. */
static bool to_address(const struct network_rule *r) {
        char host[REQUEST_HOST_MAX + 1];
        struct request origin = {};
        const char *why;

        return r->to && network_origin_read(r->to, &origin, host, &why) == 0 && origin.is_address;
}

int network_check_route(const struct network_rule *r, unsigned written, struct error *e) {
        if (written & WROTE_ADDRESSES && to_address(r)) {
                error_set(e, EINVAL, "addresses beside a `to` that is an address itself");
                return error_fix(e, "take addresses out: only the address of `to` is connected to");
        }
        if (r->models.n == 0)
                return 0;
        if (r->websocket) {
                error_set(e, EINVAL, "models beside websocket, whose bytes pass unread");
                return error_fix(e, "write two rules, or take one of them out");
        }
        if (r->body_written && r->body == 0) {
                error_set(e, EINVAL, "models beside body: 0, with which no request could name one");
                return error_fix(e, "take one of them out");
        }
        return 0;
}
