/* What both other readers do with their callbacks, which have the same form. For one .c file each, which says what its
 * PARSER is. */
#pragma once

#include <strings.h>

#include "http1-oracle.h"

struct recorder {
        struct stream *s;
        struct stream_message *m; /* the one that is read; NULL: none */
        struct strbuf target, name, value, fields;
        bool in_value;
        char mode;
        bool paused; /* a message is complete */
};

static void recorder_clear(struct recorder *r) {
        strbuf_clear(&r->target);
        strbuf_clear(&r->name);
        strbuf_clear(&r->value);
        strbuf_clear(&r->fields);
}
static void recorder_flush(struct recorder *r) {
        if (r->in_value || r->name.len > 0)
                stream_field(&r->fields, r->name.data ? r->name.data : "", r->name.len,
                        r->value.data ? r->value.data : "", r->value.len);
        strbuf_clear(&r->name);
        strbuf_clear(&r->value);
        r->in_value = false;
}
static void recorder_begin(struct recorder *r) {
        r->m = NULL;
        recorder_clear(r);
        r->in_value = false;
}
static void recorder_name(struct recorder *r, const char *p, size_t n) {
        if (r->in_value)
                recorder_flush(r);
        strbuf_add(&r->name, p, n);
}
static void recorder_value(struct recorder *r, const char *p, size_t n) {
        r->in_value = true;
        strbuf_add(&r->value, p, n);
}
static bool recorder_asks_websocket(const struct recorder *r) {
        static const char line[] = "\nupgrade=websocket\n";
        return r->fields.data &&
               (strcasestr(r->fields.data, line) || strncasecmp(r->fields.data, line + 1, strlen(line + 1)) == 0);
}
/* The head is complete: status 0 is a request. */
static void recorder_head(struct recorder *r, const char *method, unsigned status, unsigned minor) {
        recorder_flush(r);
        if (r->s->n == STREAM_MESSAGES)
                return;
        r->m = &r->s->m[r->s->n++];
        r->m->has_head = true;
        if (status)
                strbuf_printf(&r->m->head, "%u 1.%u\n", status, minor);
        else {
                strbuf_printf(&r->m->head, "%s ", method);
                strbuf_add(&r->m->head, r->target.data ? r->target.data : "", r->target.len);
                strbuf_printf(&r->m->head, " 1.%u\n", minor);
        }
        strbuf_add(&r->m->head, r->fields.data ? r->fields.data : "", r->fields.len);
}
/* What their users tell both of a body. 0: as the fields say; 1: none; 2: what follows is no HTTP. */
static int recorder_body(const struct recorder *r, unsigned status) {
        if (status == 0 || status < 200)
                return 0;
        if (r->mode == 'C' && status < 300)
                return 2;
        return r->mode == 'H' || status == 304 || status == 204;
}

static int begin(PARSER *p) {
        recorder_begin(p->data);
        return 0;
}
static int url(PARSER *p, const char *at, size_t n) {
        strbuf_add(&((struct recorder *)p->data)->target, at, n);
        return 0;
}
static int name(PARSER *p, const char *at, size_t n) {
        recorder_name(p->data, at, n);
        return 0;
}
static int value(PARSER *p, const char *at, size_t n) {
        recorder_value(p->data, at, n);
        return 0;
}
static int body(PARSER *p, const char *at, size_t n) {
        struct recorder *r = p->data;

        if (r->m)
                strbuf_add(&r->m->body, at, n);
        return 0;
}
