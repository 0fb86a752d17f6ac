#include <string.h>

#include "base/macros.h"
#include "proto/redact-unit.h"

enum { DECIMAL_DIGITS_MAX = 7, HEX_DIGITS_MAX = 6 }; /* of a character reference, with leading zeros */

struct readings {
        struct unit *units;
        size_t n;
};

static void add(struct readings *r, struct unit u) {
        if (r->n < UNIT_READINGS_MAX)
                r->units[r->n++] = u;
}

static void add_partial(struct readings *r, unsigned low, unsigned high, unsigned level) {
        add(r, (struct unit){.low = (uint8_t)low, .high = (uint8_t)MIN(high, 255u), .level = (uint8_t)level});
}

static void add_value(struct readings *r, size_t length, unsigned value, unsigned level) {
        add(r, (struct unit){.length = (uint8_t)length, .low = (uint8_t)value, .high = (uint8_t)value, .level = (uint8_t)level});
}

/* A fixed number of hexadecimal digits, of which the text may have some. */
static void read_hex(struct readings *r, const uint8_t *p, size_t at, size_t n_digits, size_t n, unsigned level) {
        unsigned value = 0;

        for (size_t i = 0; i < n_digits; i++) {
                unsigned missing = 4 * (unsigned)(n_digits - i);
                if (at + i >= n) {
                        if (value << missing <= 255)
                                add_partial(r, value << missing, (value << missing) + (1u << missing) - 1, level);
                        return;
                }
                int digit = unit_hex(p[at + i]);
                if (digit < 0)
                        return;
                value = value << 4 | (unsigned)digit;
        }
        if (value <= 255)
                add(r, (struct unit){.length = (uint8_t)(at + n_digits), .low = (uint8_t)value, .high = (uint8_t)value,
                                     .level = (uint8_t)level, .base = 16, .digits = (uint8_t)at, .n_digits = (uint8_t)n_digits});
}

/* %41, or %2541. */
static void read_percent(struct readings *r, const uint8_t *p, size_t n) {
        if (memcmp(p, "%25", MIN(n, 3u)) == 0)
                read_hex(r, p, 3, 2, n, 2);
        read_hex(r, p, 1, 2, n, 1);
}

static int short_escape(uint8_t c) {
        switch (c) {
        case '/': case '"': case '\'': return c;
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        case 'b': return '\b';
        case 'f': return '\f';
        default: return -1;
        }
}

/* One backslash and what it escapes, or up to three where it was escaped once more itself. */
static void read_backslash(struct readings *r, const uint8_t *p, size_t n) {
        size_t run = 1;

        while (run < n && run < 4 && p[run] == '\\')
                run++;
        if (run == 4)
                add_value(r, 4, '\\', 2);
        else if (run == n)
                add_partial(r, 0, 255, run == 1 ? 1 : 2);
        else {
                unsigned level = run == 1 ? 1 : 2;
                uint8_t c = p[run];
                if (c == 'u' || c == 'x')
                        read_hex(r, p, run + 1, c == 'u' ? 4 : 2, n, level);
                else if (short_escape(c) >= 0)
                        add_value(r, run + 1, (unsigned)short_escape(c), level);
        }
        if (run >= 2)
                add_value(r, 2, '\\', 1);
}

/* The digits that are there, and all that may yet follow them. */
static void add_references(struct readings *r, unsigned value, unsigned base, size_t more) {
        unsigned scale = 1;

        for (size_t i = 0; i <= more && i < 4 && value * scale <= 255; i++, scale *= base)
                add_partial(r, value * scale, value * scale + scale - 1, 1);
}

/* &#65; &#x41; with or without leading zeros. */
static void read_reference(struct readings *r, const uint8_t *p, size_t n) {
        bool hex = n > 2 && (p[2] | 0x20) == 'x';
        size_t from = hex ? 3 : 2, max = hex ? HEX_DIGITS_MAX : DECIMAL_DIGITS_MAX, i = from;
        unsigned value = 0, base = hex ? 16 : 10;

        for (; i < n && i - from < max; i++) {
                int digit = unit_hex(p[i]);
                if (digit < 0 || digit >= (int)base)
                        break;
                value = value * base + (unsigned)digit;
                if (value > 255)
                        return;
        }
        if (i == n && i == from)
                add_partial(r, 0, 255, 1);
        else if (i == n)
                add_references(r, value, base, max - (i - from));
        else if (p[i] == ';' && i > from)
                add(r, (struct unit){.length = (uint8_t)(i + 1), .low = (uint8_t)value, .high = (uint8_t)value, .level = 1,
                                     .base = (uint8_t)base, .digits = (uint8_t)from, .n_digits = (uint8_t)(i - from)});
}

static void read_name(struct readings *r, const uint8_t *p, size_t n) {
        static const struct {
                const char *text;
                char value;
        } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                size_t length = strlen(names[i].text);
                if (memcmp(p, names[i].text, MIN(n, length)) != 0)
                        continue;
                if (n >= length)
                        add_value(r, length, (uint8_t)names[i].value, 1);
                else
                        add_partial(r, (uint8_t)names[i].value, (uint8_t)names[i].value, 1);
        }
}

size_t unit_read(const uint8_t *p, size_t n, struct unit ret[UNIT_READINGS_MAX]) {
        struct readings r = {.units = ret};

        if (*p == '%')
                read_percent(&r, p, n);
        else if (*p == '\\')
                read_backslash(&r, p, n);
        else if (n == 1)
                add_partial(&r, 0, 255, 1);
        else if (p[1] == '#')
                read_reference(&r, p, n);
        else
                read_name(&r, p, n);
        add_value(&r, 1, *p, 0);
        return r.n;
}

static bool any_upper(const uint8_t *p, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (p[i] >= 'A' && p[i] <= 'F')
                        return true;
        return false;
}

void unit_write(uint8_t *p, const struct unit *u, uint8_t value) {
        if (value == u->low)
                return;
        if (u->base == 0) {
                memset(p, value, u->length);
                return;
        }
        uint8_t *digits = p + u->digits;
        const char *characters = any_upper(digits, u->n_digits) ? "0123456789ABCDEF" : "0123456789abcdef";
        if (u->base == 10 && u->n_digits < 3 && value > 99)
                value = u->low == 'X' ? 'Y' : 'X';
        for (size_t i = u->n_digits; i-- > 0; value /= u->base)
                digits[i] = (uint8_t)characters[value % u->base];
}
