/* llhttp, node's reader, from the sources in Debian's package, strict. */
#include <llhttp.h>

#define PARSER llhttp_t
#include "http1-oracle-recorder.h"

static int head(llhttp_t *p) {
        struct recorder *r = p->data;
        unsigned status = p->type == HTTP_RESPONSE ? p->status_code : 0;

        if (p->http_major != 1)
                return -1;
        recorder_head(r, llhttp_method_name((llhttp_method_t)p->method), status, p->http_minor);
        if (!status && p->method != HTTP_CONNECT && !recorder_asks_websocket(r))
                p->upgrade = 0;
        return recorder_body(r, status);
}
static int complete(llhttp_t *p) {
        struct recorder *r = p->data;

        if (r->m) {
                r->m->complete = true;
                r->m->keep_alive = llhttp_should_keep_alive(p);
        }
        r->paused = true;
        return HPE_PAUSED;
}

void oracle_llhttp(struct stream *s, char mode, const char *data, size_t n) {
        struct recorder r = {.s = s, .mode = mode};
        llhttp_settings_t settings;
        llhttp_t p;
        size_t at = 0;

        llhttp_settings_init(&settings);
        settings.on_message_begin = begin;
        settings.on_url = url;
        settings.on_header_field = name;
        settings.on_header_value = value;
        settings.on_headers_complete = head;
        settings.on_body = body;
        settings.on_message_complete = complete;
        llhttp_init(&p, mode == 'Q' ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
        p.data = &r;
        for (;;) {
                r.paused = false;
                bool end = at == n;
                /* Stopped at the end of a message, it does not know yet that the end of the connection is safe there.
                 */
                if (end && s->n > 0 && s->m[s->n - 1].complete && s->m[s->n - 1].end == n)
                        break;
                llhttp_errno_t e = end ? llhttp_finish(&p) : llhttp_execute(&p, data + at, n - at);
                if (e == HPE_PAUSED || e == HPE_PAUSED_UPGRADE) {
                        if (!end)
                                at = (size_t)(llhttp_get_error_pos(&p) - data);
                        if (r.paused && r.m)
                                r.m->end = at;
                        if (e == HPE_PAUSED_UPGRADE || p.upgrade) {
                                s->switched = true;
                                break;
                        }
                        if (!r.m || end)
                                break;
                        llhttp_resume(&p);
                        continue;
                }
                if (e != HPE_OK) {
                        s->error = llhttp_errno_name(e);
                        break;
                }
                if (end)
                        break;
                at = n;
        }
        recorder_clear(&r);
}
