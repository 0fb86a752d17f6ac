/* See http-end.h. */
#include <stdlib.h>
#include <string.h>

#include "svc/http-end.h"

#define SPARES_MAX 16u /* buffers that are kept for whoever needs one next: the heap does not grow and shrink with each */

static char *spares[SPARES_MAX];
static unsigned n_spares;

void http_empty(struct http_buffer *b) {
        if (b->data && n_spares < SPARES_MAX)
                spares[n_spares++] = b->data;
        else
                free(b->data);
        *b = (struct http_buffer){};
}

bool http_make_room(struct http_buffer *b) {
        if (!b->data && !(b->data = n_spares > 0 ? spares[--n_spares] : (char *)malloc(HTTP_RELAY_BYTES)))
                return false;
        if (b->at > 0 && (b->at == b->n || HTTP_RELAY_BYTES - b->n < HTTP_ROOM_MIN)) {
                memmove(b->data, b->data + b->at, http_filled(b));
                b->n -= b->at;
                b->at = 0;
        }
        return b->n < HTTP_RELAY_BYTES;
}

bool http_append(struct http_buffer *b, const void *data, size_t n) {
        if (n == 0)
                return true;
        if (!http_make_room(b))
                return false;
        if (HTTP_RELAY_BYTES - b->n < n) {
                memmove(b->data, b->data + b->at, http_filled(b));
                b->n -= b->at;
                b->at = 0;
        }
        memcpy(b->data + b->n, data, n);
        b->n += n;
        return true;
}

void http_take(struct http_buffer *b, size_t n) {
        b->at += n;
        if (b->at == b->n)
                http_empty(b);
}

int http_end_fill_some(struct http_end *e, struct http_buffer *b, uint64_t n) {
        if (!http_end_usable(e) || e->eof || e->drained)
                return 0;
        if (!http_make_room(b))
                return b->data ? 0 : -ENOMEM;
        ssize_t k = stream_read(&e->s, b->data + b->n, (size_t)MIN(n, (uint64_t)(HTTP_RELAY_BYTES - b->n)));
        e->drained = e->s.drained;
        if (k > 0) {
                b->n += (size_t)k;
                return 1;
        }
        if (http_filled(b) == 0)
                http_empty(b);
        if (k == -EAGAIN)
                return 0;
        if (k < 0)
                return (int)k;
        e->eof = true;
        return 1;
}

int http_end_flush(struct http_end *e) {
        int moved = 0;

        while (http_end_usable(e) && http_filled(&e->out) > 0) {
                ssize_t k = stream_write(&e->s, e->out.data + e->out.at, http_filled(&e->out));
                if (k == -EAGAIN)
                        break;
                if (k < 0)
                        return (int)k;
                http_take(&e->out, (size_t)k);
                moved = 1;
        }
        return moved;
}
