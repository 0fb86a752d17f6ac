/* See json-model.h. One byte after the other, with what is open kept as bits. */
#include <errno.h>
#include <string.h>

#include "proto/json-model.h"

enum state {
        BEFORE,       /* the object */
        VALUE,
        FIRST_VALUE,  /* of an array, or its end */
        FIRST_KEY,    /* of an object, or its end */
        KEY,
        COLON,
        AFTER,        /* a value: a comma, or the end of what it is in */
        STRING,
        ESCAPE,
        HEX,
        NUMBER,
        LITERAL,
        BEHIND,       /* the object: blanks */
        REFUSED,
};

/* Where in a number (RFC 8259 section 6). */
enum number { MINUS, ZERO, DIGITS, DOT, FRACTION, E, E_SIGN, EXPONENT };

static const char *const literals[] = {"true", "false", "null"};

void json_model_begin(struct json_model *m) { *m = (struct json_model){.state = BEFORE}; }

static int refuse(struct json_model *m, const char *why) {
        m->state = REFUSED;
        m->why = why;
        return -EBADMSG;
}

static int not_json(struct json_model *m) { return refuse(m, "the body is no JSON object"); }

static bool is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

static bool in_object(const struct json_model *m) { return m->is_object[(m->depth - 1) / 8] >> (m->depth - 1) % 8 & 1; }

static int enter(struct json_model *m, bool object) {
        if (m->depth == JSON_MODEL_DEPTH)
                return refuse(m, "the body has more objects and arrays within each other than are looked at");
        const uint8_t bit = (uint8_t)(1u << m->depth % 8);
        m->is_object[m->depth / 8] = (uint8_t)(object ? m->is_object[m->depth / 8] | bit : m->is_object[m->depth / 8] & ~bit);
        m->depth++;
        m->state = object ? FIRST_KEY : FIRST_VALUE;
        return 0;
}

static int leave(struct json_model *m, bool object) {
        if (in_object(m) != object)
                return not_json(m);
        m->depth--;
        m->state = m->depth > 0 ? AFTER : BEHIND;
        return 0;
}

/* Strings */

static void begin_string(struct json_model *m, bool key) {
        m->state = STRING;
        m->in_key = key;
        m->escaped = false;
        m->n_key = 0;
        m->take = !key && m->wanted;
        m->wanted = false;
        m->utf8_more = 0;
}

/* One byte of what the string says; in place of a character beyond ASCII any that no key and no name has. */
static int take(struct json_model *m, uint8_t c) {
        if (m->in_key && m->depth == 1) {
                if (c == 0)
                        return refuse(m, "a key of the body has a NUL, which some servers end it at");
                if (m->n_key < sizeof(m->key))
                        m->key[m->n_key++] = (char)c;
                return 0;
        }
        if (!m->take)
                return 0;
        if (c <= ' ' || c >= 0x7f)
                return refuse(m, "the model's name has something else than visible characters of ASCII");
        if (m->n_name == JSON_MODEL_MAX)
                return refuse(m, "the model's name is longer than any");
        m->name[m->n_name++] = (char)c;
        return 0;
}

static bool is_key(const struct json_model *m, const char *name, bool any_case) {
        size_t n = strlen(name);

        if (m->n_key != n)
                return false;
        for (size_t i = 0; i < n; i++) {
                char c = m->key[i];
                if (any_case && c >= 'A' && c <= 'Z')
                        c = (char)(c | 0x20);
                if (c != name[i])
                        return false;
        }
        return true;
}

/* A key of the object itself. */
static int end_key(struct json_model *m) {
        if (is_key(m, "models", true))
                return refuse(m, "the body has the key models, by which some servers take another than model says");
        if (!is_key(m, "model", true))
                return 0;
        if (!is_key(m, "model", false) || m->escaped)
                return refuse(m, "the body's key model is written in another way, which some servers take for it and some do not");
        if (m->found)
                return refuse(m, "the body has the key model twice");
        m->wanted = m->found = true;
        return 0;
}

static int end_string(struct json_model *m) {
        if (m->utf8_more > 0)
                return refuse(m, "the body is not UTF-8");
        m->state = m->in_key ? COLON : AFTER;
        if (m->in_key)
                return m->depth == 1 ? end_key(m) : 0;
        if (m->take && m->n_name == 0)
                return refuse(m, "the model's name is empty");
        m->take = false;
        return 0;
}

/* The first byte of a character beyond ASCII (RFC 3629 section 4). */
static int begin_utf8(struct json_model *m, uint8_t c) {
        m->utf8_low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
        m->utf8_high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
        m->utf8_more = c >= 0xc2 && c <= 0xdf ? 1 : c >= 0xe0 && c <= 0xef ? 2 : c >= 0xf0 && c <= 0xf4 ? 3 : 0;
        return m->utf8_more == 0 ? refuse(m, "the body is not UTF-8") : take(m, 0xff);
}

static int in_string(struct json_model *m, uint8_t c) {
        if (m->utf8_more > 0) {
                if (c < m->utf8_low || c > m->utf8_high)
                        return refuse(m, "the body is not UTF-8");
                m->utf8_more--;
                m->utf8_low = 0x80;
                m->utf8_high = 0xbf;
                return 0;
        }
        if (c == '"')
                return end_string(m);
        if (c == '\\') {
                m->state = ESCAPE;
                m->escaped = true;
                return 0;
        }
        if (c < ' ')
                return not_json(m);
        return c < 0x80 ? take(m, c) : begin_utf8(m, c);
}

static int in_escape(struct json_model *m, uint8_t c) {
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *at = c ? strchr(from, c) : NULL;

        m->state = STRING;
        if (at)
                return take(m, (uint8_t)to[at - from]);
        if (c != 'u')
                return not_json(m);
        m->state = HEX;
        m->hex = 0;
        m->unit = 0;
        return 0;
}

static int in_hex(struct json_model *m, uint8_t c) {
        unsigned digit = is_digit(c) ? c - (unsigned)'0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10u : 16;

        if (digit > 15)
                return not_json(m);
        m->unit = (uint16_t)(m->unit << 4 | digit);
        if (++m->hex < 4)
                return 0;
        m->state = STRING;
        return take(m, m->unit < 0x80 ? (uint8_t)m->unit : 0xff);
}

/* Values */

static int begin_value(struct json_model *m, uint8_t c) {
        if (m->wanted && c != '"')
                return refuse(m, "what the body has as model is no string");
        if (c == '{' || c == '[')
                return enter(m, c == '{');
        if (c == '"') {
                begin_string(m, false);
                return 0;
        }
        if (c == '-' || is_digit(c)) {
                m->state = NUMBER;
                m->number = c == '-' ? MINUS : c == '0' ? ZERO : DIGITS;
                return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(literals); i++)
                if (c == (uint8_t)literals[i][0]) {
                        m->state = LITERAL;
                        m->literal = (uint8_t)i;
                        m->hex = 1; /* of its letters */
                        return 0;
                }
        return not_json(m);
}

/* 1: the byte is behind the number. */
static int in_number(struct json_model *m, uint8_t c) {
        static const struct { uint8_t digit, dot, e; bool ends; } next[] = {
                /* by where it is: where a digit, a dot and an e lead (0xff: nowhere), and whether it may end here */
                [MINUS] = {DIGITS, 0xff, 0xff, false}, [ZERO] = {0xff, DOT, E, true}, [DIGITS] = {DIGITS, DOT, E, true},
                [DOT] = {FRACTION, 0xff, 0xff, false}, [FRACTION] = {FRACTION, 0xff, E, true}, [E] = {EXPONENT, 0xff, 0xff, false},
                [E_SIGN] = {EXPONENT, 0xff, 0xff, false}, [EXPONENT] = {EXPONENT, 0xff, 0xff, true},
        };
        uint8_t to = is_digit(c) ? next[m->number].digit : c == '.' ? next[m->number].dot : c == 'e' || c == 'E' ? next[m->number].e : 0xff;

        if (m->number == MINUS && c == '0')
                to = ZERO;
        if (m->number == E && (c == '+' || c == '-'))
                to = E_SIGN;
        if (to != 0xff) {
                m->number = to;
                return 0;
        }
        if (!next[m->number].ends || is_digit(c) || c == '.' || c == 'e' || c == 'E')
                return not_json(m);
        m->state = AFTER;
        return 1;
}

static int in_literal(struct json_model *m, uint8_t c) {
        if (c != (uint8_t)literals[m->literal][m->hex])
                return not_json(m);
        if (!literals[m->literal][++m->hex])
                m->state = AFTER;
        return 0;
}

static int between(struct json_model *m, uint8_t c) {
        if (is_blank(c))
                return 0;
        switch ((enum state)m->state) {
        case BEFORE:
                return c == '{' ? enter(m, true) : not_json(m);
        case FIRST_VALUE:
                return c == ']' ? leave(m, false) : begin_value(m, c);
        case VALUE:
                return begin_value(m, c);
        case FIRST_KEY:
                if (c == '}')
                        return leave(m, true);
                __attribute__((fallthrough));
        case KEY:
                if (c != '"')
                        return not_json(m);
                begin_string(m, true);
                return 0;
        case COLON:
                if (c != ':')
                        return not_json(m);
                m->state = VALUE;
                return 0;
        case AFTER:
                if (c != ',')
                        return c == '}' || c == ']' ? leave(m, c == '}') : not_json(m);
                m->state = in_object(m) ? KEY : VALUE;
                return 0;
        default:
                return not_json(m);
        }
}

static int one(struct json_model *m, uint8_t c) {
        int k;

        switch ((enum state)m->state) {
        case STRING:
                return in_string(m, c);
        case ESCAPE:
                return in_escape(m, c);
        case HEX:
                return in_hex(m, c);
        case NUMBER:
                k = in_number(m, c);
                return k == 1 ? between(m, c) : k;
        case LITERAL:
                return in_literal(m, c);
        case REFUSED:
                return -EBADMSG;
        default:
                return between(m, c);
        }
}

int json_model_read(struct json_model *m, const char *p, size_t n) {
        for (size_t i = 0; i < n; i++) {
                /* Most of a body is texts that are not looked at. */
                if (m->state == STRING && !m->take && !(m->in_key && m->depth == 1) && m->utf8_more == 0)
                        while (i < n && (uint8_t)p[i] >= ' ' && (uint8_t)p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
                                i++;
                if (i == n)
                        break;
                int k = one(m, (uint8_t)p[i]);
                if (k < 0)
                        return k;
        }
        return m->state == REFUSED ? -EBADMSG : 0;
}

int json_model_end(struct json_model *m) {
        if (m->state == REFUSED)
                return -EBADMSG;
        return m->state == BEHIND ? 0 : not_json(m);
}
