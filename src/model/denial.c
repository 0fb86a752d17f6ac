/* See denial.h. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "model/denial.h"

const char *denial_spent(const char *budget) {
        static const struct {
                const char *name, *text;
        } texts[] = {
                {"up", "the budget of bytes sent is used up"},
                {"down", "the budget of bytes received is used up"},
                {"requests", "the budget of requests is used up"},
                {"url", "the budget of bytes in paths and queries is used up"},
                {"hosts", "the budget of distinct hosts is used up"},
                {"subdomains", "the budget of distinct names under a wildcard is used up"},
                {"novel", "the budget of new bits in URLs is used up"},
        };
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (strcmp(texts[i].name, budget) == 0)
                        return texts[i].text;
        return "a budget is used up";
}

struct pen {
        char *p;
        size_t n, size;
};

static void put(struct pen *w, char c) {
        if (w->n + 1 < w->size)
                w->p[w->n++] = c;
}

static void put_text(struct pen *w, const char *s) {
        while (*s)
                put(w, *s++);
}

/* Room is left for what has to follow. Bytes that are not printable ASCII are written as escapes. */
static void put_string(struct pen *w, const char *s, size_t leave) {
        static const char hex[] = "0123456789abcdef";

        put(w, '"');
        for (; *s && w->n + 8 + leave < w->size; s++) {
                unsigned char c = (unsigned char)*s;
                if (c == '"' || c == '\\') {
                        put(w, '\\');
                        put(w, (char)c);
                } else if (c >= 0x20 && c < 0x7f)
                        put(w, (char)c);
                else {
                        put_text(w, "\\u00");
                        put(w, hex[c >> 4]);
                        put(w, hex[c & 15]);
                }
        }
        put(w, '"');
}

size_t denial_json(char *buf, size_t size, const char *rule, const char *reason, const char *fix) {
        struct pen w = {buf, 0, size};

        put_text(&w, "{\"denied_by\":");
        if (rule && rule[0])
                put_string(&w, rule, size / 2);
        else
                put_text(&w, "null");
        put_text(&w, ",\"reason\":");
        put_string(&w, reason, size / 4);
        put_text(&w, ",\"fix\":");
        put_string(&w, fix, 4);
        put_text(&w, "}\n");
        buf[w.n] = 0;
        return w.n;
}
