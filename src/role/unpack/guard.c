/* Names with NUL in a tar, see guard.h. */
#include <stdlib.h>
#include <string.h>

#include "role/unpack/guard.h"

#define TEXT_MAX (1u << 20) /* bytes of an extended header that is looked at; names are refused from 4,000 on */

/* Octal, or base 256 where the first byte's highest bit is set (GNU). */
static uint64_t number(const unsigned char *p, size_t n) {
        uint64_t v = 0;
        size_t i = 0;

        if (p[0] & 0x80) {
                for (v = p[0] & 0x3f, i = 1; i < n; i++)
                        v = v << 8 | p[i];
                return v;
        }
        while (i < n && p[i] == ' ')
                i++;
        for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
                v = v << 3 | (uint64_t)(p[i] - '0');
        return v;
}

static bool is_header(const unsigned char *b) {
        uint64_t sum = 0, said = number(b + 148, 8);
        for (size_t i = 0; i < 512; i++)
                sum += i >= 148 && i < 156 ? ' ' : b[i];
        return sum == said;
}

/* "LENGTH key=value\n"... */
static void read_pax(struct guard *g) {
        for (size_t at = 0; at < g->text_len;) {
                size_t len = 0, p = at;
                for (; p < g->text_len && g->text[p] >= '0' && g->text[p] <= '9' && len < TEXT_MAX; p++)
                        len = len * 10 + (size_t)(g->text[p] - '0');
                if (p >= g->text_len || g->text[p] != ' ' || len <= p + 1 - at || len > g->text_len - at)
                        return;
                const char *key = g->text + p + 1, *end = g->text + at + len;
                const char *value = memchr(key, '=', (size_t)(end - key));
                if (value) {
                        size_t k = (size_t)(value - key), n = (size_t)(end - value) - 1;
                        value++;
                        n -= n > 0 && end[-1] == '\n';
                        if (((k == 4 && memcmp(key, "path", 4) == 0) || (k == 8 && memcmp(key, "linkpath", 8) == 0)) && memchr(value, 0, n))
                                g->nul = true;
                        if (k == 4 && memcmp(key, "size", 4) == 0) {
                                g->has_next_size = true;
                                g->next_size = 0;
                                for (size_t i = 0; i < n && value[i] >= '0' && value[i] <= '9'; i++)
                                        g->next_size = g->next_size * 10 + (uint64_t)(value[i] - '0');
                        }
                }
                at += len;
        }
}

static void end_text(struct guard *g) {
        if (g->kind == 'x' || g->kind == 'X')
                read_pax(g);
        else if (g->kind == 'L' || g->kind == 'K') { /* ends in NULs */
                const char *nul = memchr(g->text, 0, g->text_len);
                for (const char *p = nul; p && p < g->text + g->text_len; p++)
                        g->nul |= *p != 0;
        }
        free(g->text);
        g->text = NULL;
        g->text_len = g->text_size = 0;
}

static void begin_entry(struct guard *g) {
        static const unsigned char zeros[512];

        if (memcmp(g->block, zeros, 512) == 0)
                return;
        if (!is_header(g->block)) {
                g->lost = true;
                return;
        }
        g->kind = (char)g->block[156];
        bool text = strchr("xXLK", g->kind) && g->kind;
        uint64_t size = number(g->block + 124, 12);
        if (!text && g->kind != 'g') {
                if (g->has_next_size)
                        size = g->next_size;
                g->has_next_size = false;
                if (g->kind && strchr("123456", g->kind)) /* links, devices, directories have no body, whatever they claim */
                        size = 0;
        }
        if (size > UINT64_MAX - 511) {
                g->lost = true;
                return;
        }
        g->body = (size + 511) / 512 * 512;
        if (text && size > 0 && size <= TEXT_MAX) {
                g->text = malloc((size_t)size);
                g->text_size = g->text ? (size_t)size : 0;
        }
}

void guard_feed(struct guard *g, const void *data, size_t n) {
        const char *p = data;

        while (n > 0 && !g->lost && !g->nul) {
                if (g->body > 0) {
                        size_t take = g->body < n ? (size_t)g->body : n;
                        if (g->text) {
                                size_t keep = g->text_size - g->text_len < take ? g->text_size - g->text_len : take;
                                memcpy(g->text + g->text_len, p, keep);
                                g->text_len += keep;
                        }
                        g->body -= take;
                        p += take;
                        n -= take;
                        if (g->body == 0 && g->text)
                                end_text(g);
                        continue;
                }
                size_t take = sizeof(g->block) - g->have < n ? sizeof(g->block) - g->have : n;
                memcpy(g->block + g->have, p, take);
                g->have += take;
                p += take;
                n -= take;
                if (g->have == sizeof(g->block)) {
                        g->have = 0;
                        begin_entry(g);
                }
        }
}

void guard_clear(struct guard *g) {
        free(g->text);
        *g = (struct guard){};
}
