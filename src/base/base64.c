/* See base64.h. */
#include "base/base64.h"
#include "base/macros.h"

size_t base64_encode(const void *data, size_t n, char *ret) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const uint8_t *p = (const uint8_t *)data;
        char *o = ret;

        for (size_t i = 0; i < n; i += 3) {
                const bool two = i + 1 < n, three = i + 2 < n;
                const uint32_t v = (uint32_t)p[i] << 16 | (two ? (uint32_t)p[i + 1] << 8 : 0) | (three ? p[i + 2] : 0);
                *o++ = digits[v >> 18];
                *o++ = digits[v >> 12 & 63];
                *o++ = two ? digits[v >> 6 & 63] : '=';
                *o++ = three ? digits[v & 63] : '=';
        }
        return (size_t)(o - ret);
}
