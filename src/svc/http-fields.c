/* See http-fields.h. */
#include <string.h>
#include <strings.h>

#include "svc/http-fields.h"

/* Names without a number of their own that mean the same. */
static bool overrides(const struct http_head *head, const struct http_field *field) {
        static const char *const names[] = {"x-method-override", "x-http-method"};
        const struct http_text name = http_field_name(head, field);

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strlen(names[i]) == name.n && strncasecmp(names[i], name.p, name.n) == 0)
                        return true;
        return false;
}

bool http_fields_keep(void *arg, const struct http_head *head, const struct http_field *field) {
        switch (field->id) {
        /* Requests: some frameworks take the method or the path from these. */
        case HTTP_F_X_HTTP_METHOD_OVERRIDE:
        case HTTP_F_X_ORIGINAL_URL:
        case HTTP_F_X_REWRITE_URL:
        case HTTP_F_FORWARDED:
        case HTTP_F_X_FORWARDED_HOST:
        case HTTP_F_X_FORWARDED_PROTO:
                return head->response;
        /* Responses: to another host or port, by a protocol that is not carried (RFC 7838). */
        case HTTP_F_ALT_SVC:
                return !head->response;
        case HTTP_F_OTHER:
                return head->response || !overrides(head, field);
        default:
                return true;
        }
}

void http_fields_measure(const struct http_head *head, struct request *r) {
        r->n_headers = r->header_bytes = 0;
        for (size_t i = 0; i < head->n_fields; i++) {
                const struct http_field *f = &head->field[i];
                bool handshake = f->id >= HTTP_F_SEC_WEBSOCKET_KEY && f->id <= HTTP_F_SEC_WEBSOCKET_EXTENSIONS;
                if (f->hop || (f->id != HTTP_F_OTHER && f->id <= HTTP_F_LAST_HOP) || (handshake && !head->websocket) ||
                    !http_fields_keep(NULL, head, f))
                        continue;
                r->n_headers++;
                r->header_bytes += f->name_n + f->value_n;
        }
        r->websocket = head->websocket;
        r->has_body = head->framing != HTTP_NO_BODY;
        r->body_bytes = head->framing == HTTP_LENGTH ? head->length : r->has_body ? UINT64_MAX : 0;
}
