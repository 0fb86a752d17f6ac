/* What a reader made of a stream of HTTP/1 messages, written down so that several readers can be compared. Without
 * proto/http1.h: the names of other readers' headers collide with ours. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define must(cond) do { if (!(cond)) abort(); } while (0)

#define STREAM_MESSAGES 24

struct stream_message {
        struct strbuf head; /* method or status, target, version; the fields, trimmed */
        struct strbuf body;
        size_t end;         /* offset behind it, once complete */
        bool complete, has_head;
        bool keep_alive;
};
struct stream {
        struct stream_message m[STREAM_MESSAGES];
        size_t n;
        const char *error; /* static; NULL: none */
        bool switched;     /* a tunnel, or a WebSocket was asked for: what follows is not for this reader */
        bool other_method; /* ours: one that is in no list */
};

static inline void stream_clear(struct stream *s) {
        for (size_t i = 0; i < STREAM_MESSAGES; i++) {
                strbuf_clear(&s->m[i].head);
                strbuf_clear(&s->m[i].body);
        }
}
static inline bool stream_same_buf(const struct strbuf *a, const struct strbuf *b) {
        return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static inline void stream_text(struct strbuf *b, const char *p, size_t n, bool lower) {
        for (size_t i = 0; i < n; i++) {
                char c = p[i];
                if (lower && c >= 'A' && c <= 'Z')
                        c = (char)(c | 0x20);
                strbuf_add(b, &c, 1);
        }
}
/* One field, with the white space around the value gone. */
static inline void stream_field(struct strbuf *b, const char *name, size_t name_n, const char *value, size_t n) {
        while (n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'))
                n--;
        while (n > 0 && (value[0] == ' ' || value[0] == '\t')) {
                value++;
                n--;
        }
        stream_text(b, name, name_n, true);
        strbuf_puts(b, "=");
        stream_text(b, value, n, false);
        strbuf_puts(b, "\n");
}

/* The readers that ours is compared with: each fills s from the same bytes. */
void oracle_http_parser(struct stream *s, char mode, const char *data, size_t n);
void oracle_llhttp(struct stream *s, char mode, const char *data, size_t n);
