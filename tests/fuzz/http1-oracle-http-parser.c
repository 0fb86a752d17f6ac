/* The reader of the library http-parser, as Debian has it (2.9.4), strict. */
#include <http_parser.h>

#define PARSER http_parser
#include "http1-oracle-recorder.h"

static int head(http_parser *p) {
        struct recorder *r = p->data;
        unsigned status = p->type == HTTP_RESPONSE ? p->status_code : 0;

        if (p->http_major != 1)
                return -1;
        recorder_head(r, http_method_str(p->method), status, p->http_minor);
        if (!status && p->method != HTTP_CONNECT && !recorder_asks_websocket(r))
                p->upgrade = 0; /* an upgrade that the server does not take up */
        return recorder_body(r, status);
}
static int complete(http_parser *p) {
        struct recorder *r = p->data;

        if (r->m) {
                r->m->complete = true;
                r->m->keep_alive = http_should_keep_alive(p);
        }
        r->paused = true;
        http_parser_pause(p, 1);
        return 0;
}

void oracle_http_parser(struct stream *s, char mode, const char *data, size_t n) {
        static const http_parser_settings settings = {
                .on_message_begin = begin, .on_url = url, .on_header_field = name, .on_header_value = value,
                .on_headers_complete = head, .on_body = body, .on_message_complete = complete,
        };
        struct recorder r = {.s = s, .mode = mode};
        http_parser p;
        size_t at = 0;

        http_parser_init(&p, mode == 'Q' ? HTTP_REQUEST : HTTP_RESPONSE);
        p.data = &r;
        for (;;) {
                r.paused = false;
                size_t k = http_parser_execute(&p, &settings, data + at, n - at); /* of 0 bytes: the end */
                bool end = at == n;
                at += k;
                if (r.paused && HTTP_PARSER_ERRNO(&p) == HPE_PAUSED) {
                        http_parser_pause(&p, 0);
                        if (r.m)
                                r.m->end = at;
                        if (p.upgrade) {
                                s->switched = true;
                                break;
                        }
                        if (!r.m || end)
                                break;
                        continue;
                }
                if (HTTP_PARSER_ERRNO(&p) != HPE_OK) {
                        s->error = http_errno_name(HTTP_PARSER_ERRNO(&p));
                        break;
                }
                if (end)
                        break;
        }
        recorder_clear(&r);
}
