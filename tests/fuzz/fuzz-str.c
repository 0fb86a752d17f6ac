/* The small formats of policies and the escaping of what is shown: no crash, and what comes out holds to its word. */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        char *s = malloc(size + 1), small[24], text[32];
        uint64_t v, again;

        if (!s)
                abort();
        memcpy(s, data, size);
        s[size] = 0;
        if (parse_size(s, &v) == 0 && v > UINT64_MAX / 2)
                abort();
        if (parse_duration(s, &v) == 0) {
                format_duration(text, sizeof(text), v);
                if (!text[0])
                        abort();
        }
        if (parse_u64(s, &v) == 0) {
                snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
                if (parse_u64(text, &again) < 0 || again != v)
                        abort();
        }
        /* What is shown has no control character, is UTF-8, and is as long as it says. */
        char *shown = str_visible_dup(s);
        str_visible(small, sizeof(small), s);
        const char *both[] = {shown, small};
        for (size_t i = 0; i < 2; i++)
                for (const char *p = both[i] ? both[i] : "", *end = p + strlen(p); p < end;) {
                        uint32_t cp;
                        size_t n = utf8_decode(p, (size_t)(end - p), &cp);
                        if (n == 0 || cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
                                abort();
                        p += n;
                }
        if (shown && strncmp(shown, small, strlen(small)) != 0)
                abort();
        char *clean = path_clean(s);
        if (clean) {
                char *twice = path_clean(clean);
                if (!twice || !streq(clean, twice) || strstr(clean, "//") || (clean[0] == '/') != (s[0] == '/'))
                        abort();
                free(twice);
        }
        free(clean);
        free(shown);
        free(s);
        return 0;
}
