/* Reading the trail, which may be anything by then; see trail.h. */
#include <stdio.h>
#include <string.h>

#include "model/trail.h"

/* ,"sig":"..."} */
#define SIG_TEXT (sizeof(",\"sig\":\"") - 1 + 2 * TRAIL_SIG_SIZE + sizeof("\"}") - 1)

struct cursor {
        const char *p, *end;
};

static bool take(struct cursor *c, const char *text) {
        size_t n = strlen(text);

        if ((size_t)(c->end - c->p) < n || memcmp(c->p, text, n) != 0)
                return false;
        c->p += n;
        return true;
}

static bool take_number(struct cursor *c, uint64_t *ret) {
        const char *begin = c->p;
        uint64_t v = 0;

        for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
                const uint64_t digit = (uint64_t)(*c->p - '0');
                if (v > (INT64_MAX - digit) / 10)
                        return false;
                v = v * 10 + digit;
        }
        if (c->p == begin || (*begin == '0' && c->p > begin + 1)) /* as JSON has them */
                return false;
        *ret = v;
        return true;
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool take_hex(struct cursor *c, uint8_t *dst, size_t n) {
        if ((size_t)(c->end - c->p) < 2 * n)
                return false;
        for (size_t i = 0; i < n; i++, c->p += 2) {
                int high = digit(c->p[0]), low = digit(c->p[1]);
                if (high < 0 || low < 0)
                        return false;
                dst[i] = (uint8_t)(high << 4 | low);
        }
        return true;
}

/* A word without anything to escape. */
static bool take_word(struct cursor *c, const char *allowed, char *dst, size_t size) {
        size_t n = 0;

        while (c->p + n < c->end && strchr(allowed, c->p[n]) && c->p[n])
                n++;
        if (n == 0 || n >= size)
                return false;
        memcpy(dst, c->p, n);
        dst[n] = 0;
        c->p += n;
        return true;
}

int trail_head_read(const char *line, size_t n, struct trail_head *ret) {
        struct trail_head h = {};
        struct cursor c = {line, line + n};

        if (n >= TRAIL_LINE_MAX || !take(&c, "{\"seq\":") || !take_number(&c, &h.seq) || !take(&c, ",\"prev\":\"") || !take_hex(&c, h.prev, sizeof(h.prev)) ||
            !take(&c, "\",\"mono\":") || !take_number(&c, &h.mono) || !take(&c, ",\"time\":\"") || !take_word(&c, "0123456789-:.TZ", h.time, sizeof(h.time)) ||
            !take(&c, "\",\"kind\":\"") || !take_word(&c, "abcdefghijklmnopqrstuvwxyz", h.kind, sizeof(h.kind)) || !take(&c, "\",") || line[n - 1] != '}')
                return -EBADMSG;
        if ((size_t)(c.end - c.p) >= SIG_TEXT) {
                struct cursor s = {c.end - SIG_TEXT, c.end};
                h.is_signed = take(&s, ",\"sig\":\"") && take_hex(&s, h.sig, sizeof(h.sig)) && take(&s, "\"}");
                h.n_signed = n - SIG_TEXT;
        }
        *ret = h;
        return 0;
}

static bool signature_good(const struct trail_check *c, const struct trail_head *h, const char *line) {
        uint8_t message[sizeof(TRAIL_SIGNED_AS) - 1 + SHA256_SIZE];

        memcpy(message, TRAIL_SIGNED_AS, sizeof(TRAIL_SIGNED_AS) - 1);
        sha256(line, h->n_signed, message + sizeof(TRAIL_SIGNED_AS) - 1);
        return c->is_signed(c->key, message, sizeof(message), h->sig);
}

static bool fail(struct trail_check *c, enum trail_fault fault, uint64_t at, uint64_t to) {
        c->fault = fault;
        c->at = at;
        c->to = to;
        return false;
}

/* After the first fault: which one it was. */
static void look_back(struct trail_check *c, const struct trail_head *h) {
        if (c->undecided && h->seq == c->at + 1) {
                /* The record that did not follow is as the next one knows it: so the one before it is another. */
                const bool same = memcmp(h->prev, c->prev, sizeof(c->prev)) == 0;
                c->fault = TRAIL_CHANGED;
                c->at -= same;
                c->records += !same;
        }
        c->undecided = false;
        if (c->fault == TRAIL_MISSING && h->seq >= c->at && h->seq <= c->to) {
                /* It is there after all, further down: the one that came in its place came too early. */
                const uint64_t early = c->to + 1;
                (void)fail(c, TRAIL_REORDERED, early, c->at);
        }
}

bool trail_check_line(struct trail_check *c, const char *line, size_t n) {
        static const uint8_t none[SHA256_SIZE];
        const uint64_t next = c->records + 1;
        struct trail_head h;

        if (n == 0) {
                c->blank = true;
                return !c->fault;
        }
        if (c->fault) {
                if (trail_head_read(line, n, &h) == 0)
                        look_back(c, &h);
                return false;
        }
        if (c->ended)
                return fail(c, TRAIL_AFTER_END, c->records, 0);
        if (c->blank || trail_head_read(line, n, &h) < 0)
                return fail(c, TRAIL_DAMAGED, next, 0);
        const bool follows = memcmp(h.prev, next == 1 ? none : c->prev, sizeof(h.prev)) == 0;
        if (h.seq != next && follows) /* the one that belongs here, but for its number */
                return fail(c, TRAIL_CHANGED, next, 0);
        if (h.seq > next)
                return fail(c, TRAIL_MISSING, next, h.seq - 1);
        if (h.seq < next)
                return fail(c, TRAIL_REPEATED, h.seq, next);
        if (next == 1 && !streq(h.kind, "start"))
                return fail(c, TRAIL_NO_START, 1, 0);
        const bool ends = streq(h.kind, "end");
        bool good = h.is_signed ? !c->is_signed || signature_good(c, &h, line) : !ends && !streq(h.kind, "checkpoint");
        if (!follows) {
                if (next == 1)
                        return fail(c, TRAIL_CHANGED, 1, 0);
                c->undecided = !h.is_signed || !c->is_signed; /* else its signature tells */
                c->records -= c->undecided || good;
                sha256(line, n, c->prev);
                return c->undecided ? fail(c, TRAIL_CHANGED_OR, next, 0) : fail(c, TRAIL_CHANGED, good ? next - 1 : next, 0);
        }
        if (!good)
                return fail(c, TRAIL_SIGNATURE, next, 0);
        c->records = next;
        sha256(line, n, c->prev);
        if (h.is_signed && c->is_signed) {
                c->signatures++;
                c->covered = next;
        }
        c->ended = ends;
        return true;
}

void trail_check_end(struct trail_check *c, size_t rest) {
        if (rest > 0 && !c->fault)
                (void)(c->ended ? fail(c, TRAIL_AFTER_END, c->records, 0) : fail(c, TRAIL_TORN, c->records + 1, 0));
}

const char *trail_fault_text(const struct trail_check *c, char dst[160]) {
        const unsigned long long at = c->at, to = c->to;

        switch (c->fault) {
        case TRAIL_GOOD: dst[0] = 0; break;
        case TRAIL_DAMAGED: snprintf(dst, 160, "record %llu is damaged", at); break;
        case TRAIL_TORN: snprintf(dst, 160, "the text ends within record %llu", at); break;
        case TRAIL_CHANGED: snprintf(dst, 160, "record %llu was changed", at); break;
        case TRAIL_CHANGED_OR: snprintf(dst, 160, "record %llu or record %llu was changed", at - 1, at); break;
        case TRAIL_MISSING:
                if (at == to)
                        snprintf(dst, 160, "record %llu is missing", at);
                else
                        snprintf(dst, 160, "records %llu to %llu are missing", at, to);
                break;
        case TRAIL_REORDERED: snprintf(dst, 160, "record %llu stands where record %llu belongs", at, to); break;
        case TRAIL_REPEATED: snprintf(dst, 160, "record %llu stands where record %llu belongs, once more", at, to); break;
        case TRAIL_SIGNATURE: snprintf(dst, 160, "the signature of record %llu is not this key's, or the record was changed", at); break;
        case TRAIL_AFTER_END: snprintf(dst, 160, "something stands after record %llu, the end", at); break;
        case TRAIL_NO_START: snprintf(dst, 160, "record %llu is no start", at); break;
        }
        return dst;
}
