/* What proto/redact.h promises, slow and simple: a text at once, each form tried at each place by writing down every way that a
 * byte may stand there. Also writes those forms, for tests to look for. */
#pragma once

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/redact.h"

enum {
        SLOT_RAW, SLOT_PLUS, SLOT_PERCENT, SLOT_PERCENT2,
        SLOT_X,                      /* one to three backslashes each */
        SLOT_U = SLOT_X + 3,
        SLOT_SHORT = SLOT_U + 3,
        SLOT_BACKSLASH2 = SLOT_SHORT + 3,
        SLOT_BACKSLASH4,
        SLOT_DECIMAL,                /* 1 to 7 digits */
        SLOT_HEX = SLOT_DECIMAL + 7, /* 1 to 6 */
        SLOT_NAME = SLOT_HEX + 6,
        SLOTS,
        UNIT_MAX = 10,
};
enum { ORACLE_PLAIN, ORACLE_HEX, ORACLE_BASE64 };
enum { ORACLE_NO, ORACLE_MORE, ORACLE_SYMBOL, ORACLE_BREAK };

struct oracle_form {
        size_t pair;
        int kind;
        size_t offset;
        unsigned level[3]; /* of % \ & */
        size_t from, end;
        bool late;
};

/* How a byte stands in a slot; 0: it cannot. *level: how often escaped; *digits: from where on case does not matter. */
static size_t oracle_encode(int slot, unsigned v, char t[UNIT_MAX + 3], unsigned *level, size_t *digits) {
        static const char backslashes[] = "\\\\\\", from[] = "/\"'\n\r\t\b\f", to[] = "/\"'nrtbf";
        static const struct { char v; const char *t; } names[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
        int n = 0;

        *level = slot <= SLOT_PLUS ? 0 : 1;
        *digits = UNIT_MAX;
        if (slot == SLOT_RAW || (slot == SLOT_PLUS && v == ' ')) {
                t[0] = slot == SLOT_RAW ? (char)v : '+';
                return 1;
        }
        if (slot == SLOT_PERCENT || slot == SLOT_PERCENT2) {
                *digits = 1;
                *level = slot == SLOT_PERCENT ? 1 : 2;
                n = snprintf(t, UNIT_MAX + 3, slot == SLOT_PERCENT ? "%%%02x" : "%%25%02x", v);
        } else if (slot >= SLOT_X && slot < SLOT_BACKSLASH2) {
                int run = (slot - SLOT_X) % 3 + 1;
                const char *c = v ? strchr(from, (int)v) : NULL;
                *level = run == 1 ? 1 : 2;
                *digits = (size_t)run + 1;
                if (slot < SLOT_U)
                        n = snprintf(t, UNIT_MAX + 3, "%.*sx%02x", run, backslashes, v);
                else if (slot < SLOT_SHORT)
                        n = snprintf(t, UNIT_MAX + 3, "%.*su%04x", run, backslashes, v);
                else if (c)
                        n = snprintf(t, UNIT_MAX + 3, "%.*s%c", run, backslashes, to[c - from]);
        } else if (slot == SLOT_BACKSLASH2 || slot == SLOT_BACKSLASH4) {
                *level = slot == SLOT_BACKSLASH2 ? 1 : 2;
                if (v == '\\')
                        n = snprintf(t, UNIT_MAX + 3, slot == SLOT_BACKSLASH2 ? "\\\\" : "\\\\\\\\");
        } else if (slot >= SLOT_DECIMAL && slot < SLOT_NAME) {
                bool hex = slot >= SLOT_HEX;
                int width = slot - (hex ? SLOT_HEX : SLOT_DECIMAL) + 1;
                *digits = 2;
                n = snprintf(t, UNIT_MAX + 3, hex ? "&#x%0*x;" : "&#%0*u;", width, v);
                if (n != width + (hex ? 4 : 3))
                        n = 0;
        } else if (slot == SLOT_NAME)
                for (size_t i = 0; i < 5; i++)
                        if (v == (unsigned)names[i].v)
                                n = snprintf(t, UNIT_MAX + 3, "%s", names[i].t);
        return (size_t)n;
}

static bool oracle_bit(const char *text, size_t n, long bit, bool *inside) {
        *inside = bit >= 0 && (size_t)bit < 8 * n;
        return *inside && ((unsigned char)text[bit / 8] >> (7 - bit % 8) & 1);
}

static const char oracle_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int oracle_sextet(unsigned v, bool *url) {
        if (v == '-' || v == '_') {
                *url = true;
                v = v == '-' ? '+' : '/';
        }
        const char *c = v ? strchr(oracle_alphabet, (int)v) : NULL;
        return c ? (int)(c - oracle_alphabet) : -1;
}

static int oracle_digit(unsigned v) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *c = v ? strchr(digits, (int)v) : NULL;
        return !c ? -1 : c - digits < 16 ? (int)(c - digits) : (int)(c - digits) - 6;
}

static unsigned oracle_nibble(const char *text, size_t k) {
        return (unsigned char)text[k / 2] >> (k % 2 ? 0 : 4) & 15;
}

static bool oracle_allows(const struct oracle_form *f, const struct redact_pair *p, size_t k, unsigned v) {
        bool inside, url;

        if (f->kind == ORACLE_PLAIN)
                return (unsigned char)p->find[k] == v;
        if (f->kind == ORACLE_HEX)
                return oracle_digit(v) == (int)oracle_nibble(p->find, k);
        int six = oracle_sextet(v, &url);
        for (int i = 0; six >= 0 && i < 6; i++) {
                bool bit = oracle_bit(p->find, p->n, 6 * (long)k + i - 8 * (long)f->offset, &inside);
                if (inside && bit != (six >> (5 - i) & 1))
                        return false;
        }
        return six >= 0;
}

/* Whether all or some bits of the character are the text's; and those are the same in both texts. */
static void oracle_shared(const struct oracle_form *f, const struct redact_pair *p, size_t k, bool *all, bool *same) {
        *all = *same = true;
        for (int i = 0; i < 6; i++) {
                bool inside;
                long at = 6 * (long)k + i - 8 * (long)f->offset;
                bool a = oracle_bit(p->find, p->n, at, &inside), b = oracle_bit(p->put, p->n, at, &inside);
                *all &= inside;
                *same &= a == b;
        }
}

struct oracle_unit {
        size_t length;
        int slot;
        unsigned v;
};

/* One way to read the next unit as one of the values: MORE, or its length and slot. */
static int oracle_read(const char *t, size_t n, bool last, unsigned v, unsigned level, struct oracle_unit *ret) {
        int is = ORACLE_NO;

        static struct {
                char t[UNIT_MAX + 3];
                size_t length, digits;
                unsigned level;
        } all[256][SLOTS];

        if (all['a'][SLOT_RAW].length == 0)
                for (size_t i = 0; i < 256 * SLOTS; i++)
                        all[i / SLOTS][i % SLOTS].length = oracle_encode((int)(i % SLOTS), (unsigned)(i / SLOTS), all[i / SLOTS][i % SLOTS].t,
                                                                         &all[i / SLOTS][i % SLOTS].level, &all[i / SLOTS][i % SLOTS].digits);
        for (int slot = 0; slot < SLOTS; slot++) {
                const char *e = all[v][slot].t;
                size_t length = all[v][slot].length, digits = all[v][slot].digits;
                if (length == 0 || *e != *t || (level != all[v][slot].level && level <= 2))
                        continue;
                size_t have = length < n ? length : n, exact = digits < have ? digits : have;
                if (memcmp(e, t, exact) != 0 || strncasecmp(e + exact, t + exact, have - exact) != 0)
                        continue;
                if (have == length) {
                        *ret = (struct oracle_unit){length, slot, v};
                        return ORACLE_SYMBOL;
                }
                if (!last)
                        is = ORACLE_MORE;
        }
        return is;
}

static int oracle_next(const struct oracle_form *f, const struct redact_pair *p, size_t k, bool may_break, bool cr, const char *t, size_t n,
                       bool last, struct oracle_unit *ret) {
        const char *lead = *t ? strchr("%\\&", *t) : NULL;
        int is = ORACLE_NO;

        /* A byte of the text that escapes begin with: the most escaped first, as far as the form goes. */
        if (f->kind == ORACLE_PLAIN && lead && p->find[k] == *t) {
                for (unsigned level = f->level[*t == '%' ? 0 : *t == '\\' ? 1 : 2] + 1; level-- > 0;)
                        if ((is = oracle_read(t, n, last, (unsigned char)*t, level, ret)) != ORACLE_NO)
                                return is;
                return ORACLE_NO;
        }
        for (unsigned v = 0; v < 256; v++) {
                if (!lead && v != (unsigned char)*t && *t != '+')
                        continue;
                bool is_break = f->kind == ORACLE_BASE64 && ((may_break && (v == '\n' || v == '\r')) || (cr && v == '\n'));
                if (!is_break && !oracle_allows(f, p, k, v))
                        continue;
                int one = oracle_read(t, n, last, v, 9, ret);
                if (one == ORACLE_SYMBOL)
                        return is_break ? ORACLE_BREAK : ORACLE_SYMBOL;
                if (one == ORACLE_MORE)
                        is = ORACLE_MORE;
        }
        return is;
}

/* Goes through a form from t on; write: puts the other text in. MORE, or the bytes in *length, and where its last unit is. */
static int oracle_match(const struct oracle_form *f, const struct redact_pair *p, char *t, size_t n, bool last, bool write,
                        size_t *length, size_t *last_unit) {
        size_t at = 0, line = 0;
        bool broken = false, cr = false, url = false, upper = false, known = false;

        for (int pass = 0; pass < (write ? 2 : 1); pass++) {
                at = line = 0;
                broken = cr = false;
                for (size_t k = f->from; k < f->end;) {
                        struct oracle_unit u;
                        if (at == n)
                                return last ? ORACLE_NO : ORACLE_MORE;
                        int is = oracle_next(f, p, k, !broken && line >= 4, cr, t + at, n - at, last, &u);
                        if (is == ORACLE_NO || is == ORACLE_MORE)
                                return is;
                        if (is == ORACLE_BREAK) {
                                cr = !broken && u.v == '\r';
                                broken = true;
                                line = 0;
                                at += u.length;
                                continue;
                        }
                        unsigned put = u.v;
                        if (f->kind == ORACLE_PLAIN)
                                put = (unsigned char)p->put[k];
                        if (f->kind == ORACLE_HEX) {
                                if (!known && u.v > '9')
                                        upper = u.v < 'a', known = true;
                                unsigned d = oracle_nibble(p->put, k);
                                bool up = u.v > '9' ? u.v < 'a' : upper;
                                if ((int)d != oracle_digit(u.v))
                                        put = (unsigned char)(up ? "0123456789ABCDEF" : "0123456789abcdef")[d];
                        }
                        if (f->kind == ORACLE_BASE64) {
                                int old = oracle_sextet(u.v, &url), six = old;
                                for (int i = 0; i < 6; i++) {
                                        bool inside, bit = oracle_bit(p->put, p->n, 6 * (long)k + i - 8 * (long)f->offset, &inside);
                                        if (inside)
                                                six = (six & ~(32 >> i)) | (bit ? 32 >> i : 0);
                                }
                                if (six != old)
                                        put = six == 62 && url ? '-' : six == 63 && url ? '_' : (unsigned char)oracle_alphabet[six];
                        }
                        if (pass == 1 && put != u.v) {
                                char e[UNIT_MAX + 3];
                                unsigned level;
                                size_t digits;
                                bool big = false;
                                if (oracle_encode(u.slot, put, e, &level, &digits) != u.length)
                                        oracle_encode(u.slot, u.v == 'X' ? 'Y' : 'X', e, &level, &digits);
                                for (size_t i = digits; i < u.length; i++)
                                        big |= t[at + i] >= 'A' && t[at + i] <= 'F';
                                for (size_t i = 0; i < u.length; i++)
                                        if (u.slot >= SLOT_SHORT && u.slot < SLOT_SHORT + 3)
                                                t[at + i] = (char)put;
                                        else if (i >= digits && oracle_digit((unsigned char)t[at + i]) >= 0)
                                                t[at + i] = e[i] >= 'a' && big ? (char)(e[i] - 32) : e[i];
                                        else if (u.slot == SLOT_RAW)
                                                t[at + i] = e[i];
                        }
                        *last_unit = at;
                        at += u.length;
                        broken = cr = false;
                        line++;
                        k++;
                }
        }
        *length = at;
        return ORACLE_SYMBOL;
}

enum { ORACLE_FORMS_MAX = 32 * 31 };

struct oracle {
        const struct redact_pair *pairs;
        size_t n_forms;
        struct oracle_form forms[ORACLE_FORMS_MAX];
};

static void oracle_init(struct oracle *o, const struct redact_pair *pairs, size_t n_pairs) {
        o->pairs = pairs;
        o->n_forms = 0;
        for (size_t i = 0; i < n_pairs; i++) {
                for (unsigned l = 0; l < 18; l++) {
                        struct oracle_form f = {.pair = i, .end = pairs[i].n, .level = {l / 6, l / 2 % 3, l % 2}};
                        bool has = true;
                        for (int c = 0; c < 3; c++)
                                has &= f.level[c] == 0 || memchr(pairs[i].find, "%\\&"[c], pairs[i].n) != NULL;
                        if (has)
                                o->forms[o->n_forms++] = f;
                }
                o->forms[o->n_forms++] = (struct oracle_form){.pair = i, .kind = ORACLE_HEX, .end = 2 * pairs[i].n};
        }
        /* Those that begin after a line break last: of what is equally long the first counts. */
        for (size_t i = 0; i < 12 * n_pairs; i++) {
                size_t late = i < 3 * n_pairs ? 0 : (i - 3 * n_pairs) % 3 + 1, at = late ? (i - 3 * n_pairs) / 3 : i;
                const struct redact_pair *p = &pairs[at / 3];
                struct oracle_form f = {.pair = at / 3, .kind = ORACLE_BASE64, .offset = at % 3, .from = at % 3, .late = late > 0};
                bool all, same;
                f.end = (8 * (f.offset + p->n) + 5) / 6;
                oracle_shared(&f, p, f.from, &all, &same);
                f.from += !all && same;
                oracle_shared(&f, p, f.end - 1, &all, &same);
                f.end -= !all && same;
                f.from += late;
                o->forms[o->n_forms++] = f;
        }
}

struct oracle_place {
        bool more;                      /* what comes next may make it the beginning of something */
        size_t best;                    /* bytes of what begins here; 0: nothing */
        const struct oracle_form *form;
};

/* What begins at a place of a text of n bytes. */
static struct oracle_place oracle_at(const struct oracle *o, char *t, size_t at, size_t n, bool last) {
        bool line_begins = false;
        struct oracle_place place = {};

        for (size_t i = 0; i < 6; i++) {
                const char *line_end = (const char *[]){"\n", "\r", "\\n", "\\r", "%0a", "%0d"}[i];
                size_t length = strlen(line_end), digit = length == 3 ? 2 : length;
                line_begins |= at >= length && memcmp(t + at - length, line_end, digit) == 0 && strncasecmp(t + at - length, line_end, length) == 0;
        }
        for (size_t i = 0; i < o->n_forms; i++) {
                const struct oracle_form *f = &o->forms[i];
                size_t length, last_unit;
                if (f->late && !line_begins)
                        continue;
                int is = oracle_match(f, &o->pairs[f->pair], t + at, n - at, last, false, &length, &last_unit);
                place.more |= is == ORACLE_MORE;
                if (is == ORACLE_SYMBOL && length > place.best) {
                        place.best = length;
                        place.form = f;
                }
        }
        return place;
}

/* A whole text, in place. */
static void oracle_text(const struct oracle *o, char *t, size_t n, uint64_t *found) {
        for (size_t i = 0; i < n;) {
                struct oracle_place at = oracle_at(o, t, i, n, true);
                size_t length, last_unit = 0;
                bool all = true, same;
                if (at.best == 0) {
                        i++;
                        continue;
                }
                const struct redact_pair *p = &o->pairs[at.form->pair];
                found[at.form->pair]++;
                (void)oracle_match(at.form, p, t + i, at.best, true, true, &length, &last_unit);
                if (at.form->kind == ORACLE_BASE64)
                        oracle_shared(at.form, p, at.form->end - 1, &all, &same);
                i += all ? at.best : last_unit;
        }
}
