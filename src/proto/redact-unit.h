/* How one byte may stand in a text: by itself or as an escape of URLs, of JSON and JavaScript, of HTML. Of redact.c only. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNIT_LENGTH_MAX 10u   /* bytes: &#0000097; */
#define UNIT_READINGS_MAX 8u
#define UNIT_LEVEL_ANY 255u

/* One reading of what begins at some place. */
struct unit {
        uint8_t length;       /* bytes; 0: the text ends before the unit does */
        uint8_t low, high;    /* its value; of one that is not whole what it may yet become */
        uint8_t level;        /* how often it was escaped, where its value is the byte that it begins with */
        uint8_t base;         /* 10, 16: it has the value as digits; else 0 */
        uint8_t digits, n_digits; /* where they are */
};

static inline bool unit_is_lead(uint8_t c) { return c == '%' || c == '\\' || c == '&'; }

/* Of a hexadecimal digit, or -1. */
static inline int unit_hex(uint8_t c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* All readings of what begins with one of the leads, the most escaped first, the byte by itself last. Returns how many. */
size_t unit_read(const uint8_t *p, size_t n, struct unit ret[UNIT_READINGS_MAX]);
/* Writes another value, a letter, digit or one of + - / _, in the same form. Where that has no room for it: X, or Y for X; two
 * characters where it was a backslash and one. */
void unit_write(uint8_t *p, const struct unit *u, uint8_t value);
