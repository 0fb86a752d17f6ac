/* See body-field.h. A byte at a time: each state says which bytes may come. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "proto/body-field.h"

enum state {
        VALUE,        /* comes */
        FIRST_VALUE,  /* of an array, or its end */
        FIRST_KEY,    /* of an object, or its end */
        KEY,
        COLON,
        AFTER,        /* a value: a comma, or the end of what it is in */
        OVER,         /* the whole value was read */
        STRING, ESCAPE, DIGITS,
        LITERAL,
        MINUS, ZERO, INTEGER, DOT, FRACTION, EXPONENT, SIGN, POWER, /* of a number */
        FORM_KEY, FORM_VALUE,
};

struct sink {
        char *out;
        size_t n;
};

/* --- What type a body is. --- */

static bool is_token_byte(char c) { /* RFC 9110 section 5.6.2 */
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token(const char *p, size_t n) {
        size_t i = 0;

        while (i < n && is_token_byte(p[i]))
                i++;
        return i;
}

static bool is_text(const char *p, size_t n, const char *text) { return n == strlen(text) && strncasecmp(p, text, n) == 0; }

static size_t blanks(const char *p, size_t n) {
        size_t i = 0;

        while (i < n && (p[i] == ' ' || p[i] == '\t'))
                i++;
        return i;
}

/* ;name=value; one is of interest. 0: it is none that can be read, or another charset. */
static size_t parameter(const char *p, size_t n) {
        size_t at = blanks(p, n), name, value, k, end;

        if (at == n || p[at] != ';')
                return 0;
        at++;
        at += blanks(p + at, n - at);
        if (at == n) /* a semicolon at the end, which some write */
                return n;
        name = at;
        if ((k = token(p + at, n - at)) == 0 || at + k == n || p[at + k] != '=')
                return 0;
        at += k + 1;
        if (at < n && p[at] == '"') {
                value = at + 1;
                for (end = value; end < n && p[end] != '"'; end++)
                        if (p[end] == '\\' || (unsigned char)p[end] < ' ')
                                return 0;
                if (end == n)
                        return 0;
                at = end + 1;
        } else {
                value = at;
                end = at = value + token(p + at, n - at);
                if (end == value)
                        return 0;
        }
        if (is_text(p + name, k, "charset") && !is_text(p + value, end - value, "utf-8") && !is_text(p + value, end - value, "us-ascii"))
                return 0;
        return at;
}

enum body_kind body_kind_of(const char *type, size_t n) {
        enum body_kind kind = BODY_OTHER;
        size_t at = token(type, n), sub;

        if (at == 0 || at == n || type[at] != '/')
                return BODY_OTHER;
        sub = token(type + at + 1, n - at - 1);
        if (is_text(type, at, "application") && is_text(type + at + 1, sub, "x-www-form-urlencoded"))
                kind = BODY_FORM;
        else if ((is_text(type, at, "application") && is_text(type + at + 1, sub, "json")) ||
                 (sub > 5 && is_text(type + at + 1 + sub - 5, 5, "+json")))
                kind = BODY_JSON;
        for (at += 1 + sub; at + blanks(type + at, n - at) < n;) {
                size_t k = parameter(type + at, n - at);
                if (k == 0)
                        return BODY_OTHER;
                at += k;
        }
        return kind;
}

/* --- At the beginning. --- */

/* -EINVAL: a key is empty, or there are too many. */
static int split(struct body_field *b) {
        for (const char *p = b->path; b->n_keys < BODY_FIELD_KEYS_MAX; p++) {
                const size_t n = strcspn(p, ".");
                if (n == 0)
                        return -EINVAL;
                b->keys[b->n_keys].p = p;
                b->keys[b->n_keys++].n = n;
                p += n;
                if (*p == 0)
                        return 0;
        }
        return -EINVAL;
}

static size_t held_max(size_t n) { return MIN(6 * n + 6, (size_t)BODY_FIELD_HELD_MAX); }

size_t body_field_size(size_t n) { return sizeof(struct body_field) + held_max(n); }

static bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

int body_field_begin(struct body_field *b, size_t size, enum body_kind kind, const char *path, const char *find, const char *replace, size_t n) {
        if (size < body_field_size(n))
                return -ENOBUFS;
        if (n == 0)
                return -EINVAL;
        for (size_t i = 0; i < n; i++)
                if (find[i] != replace[i] && (!is_alphanumeric(find[i]) || !is_alphanumeric(replace[i])))
                        return -EINVAL;
        *b = (struct body_field){.kind = kind, .path = path, .find = find, .replace = replace, .n_find = n, .held_max = held_max(n)};
        b->state = kind == BODY_FORM ? FORM_KEY : VALUE;
        b->same = true;
        if (split(b) < 0)
                return -EINVAL;
        if (kind == BODY_FORM) { /* it has no objects */
                b->keys[0].n = strlen(path);
                b->n_keys = 1;
        }
        return 0;
}

/* --- The text that is looked for, as it is written. --- */

static void release(struct body_field *b, struct sink *s) {
        memcpy(s->out + s->n, b->held, b->n_held);
        s->n += b->n_held;
        b->n_held = 0;
        b->holds = false;
}

static void emit(struct body_field *b, struct sink *s, char c) {
        if (!b->holds) {
                s->out[s->n++] = c;
                return;
        }
        if (b->n_held == b->held_max) {
                release(b, s);
                b->same = false;
                s->out[s->n++] = c;
                return;
        }
        b->held[b->n_held++] = c;
}

/* As most write it: %2F, \u002f. */
static void put_hex(char *p, uint8_t v, bool upper) {
        const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";

        p[0] = digits[v >> 4];
        p[1] = digits[v & 15];
}

/* The other text in the same form: only letters and digits are others. */
static void exchange(struct body_field *b) {
        char *p = b->held;

        for (size_t i = 0; i < b->n_find; i++) {
                const bool escaped = *p == (b->kind == BODY_FORM ? '%' : '\\'), unicode = escaped && p[1] == 'u';
                const size_t n = !escaped ? 1 : b->kind == BODY_FORM ? 3 : unicode ? 6 : 2;
                if (b->find[i] != b->replace[i]) {
                        if (n == 1)
                                *p = b->replace[i];
                        else if (n > 2) /* no letter or digit is escaped in two */
                                put_hex(p + n - 2, (uint8_t)b->replace[i], n == 3);
                }
                p += n;
        }
        b->put = true;
}

static void begin_text(struct body_field *b, bool holds) {
        b->same = true;
        b->at = 0;
        b->holds = holds;
        b->n_held = 0;
}

/* One more byte of it, or of a key; anything beyond ASCII is neither. */
static void compare(struct body_field *b, struct sink *s, unsigned c, const char *text, size_t n) {
        b->same = b->same && b->at < n && c < 0x80 && (unsigned char)text[b->at] == c;
        b->at++;
        if (b->holds && !b->same)
                release(b, s);
}

/* It ends. */
static void end_value(struct body_field *b, struct sink *s) {
        if (!b->holds)
                return;
        if (b->same && b->at == b->n_find)
                exchange(b);
        release(b, s);
}

static void spoil(struct body_field *b, struct sink *s) {
        b->spoiled = true;
        if (b->holds)
                release(b, s);
}

/* --- JSON. --- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool in_object(const struct body_field *b) { return b->depth > 0 && b->objects >> (b->depth - 1) & 1; }

static void after_value(struct body_field *b) {
        b->state = b->depth > 0 ? AFTER : OVER;
        b->wanted = false;
}

static bool enter(struct body_field *b, bool object) {
        if (b->depth == BODY_FIELD_DEPTH_MAX)
                return false;
        const uint64_t bit = 1ull << b->depth;
        /* The outermost, or what the path's last key has led to. */
        if (object && b->on_path == b->depth && b->on_path < b->n_keys && (b->depth == 0 || b->wanted)) {
                b->seen[b->on_path] = false;
                b->on_path++;
        }
        b->objects = object ? b->objects | bit : b->objects & ~bit;
        b->depth++;
        b->wanted = false;
        b->state = object ? FIRST_KEY : FIRST_VALUE;
        return true;
}

static bool leave(struct body_field *b, bool object) {
        if (b->depth == 0 || in_object(b) != object)
                return false;
        b->depth--;
        b->on_path = MIN(b->on_path, b->depth);
        after_value(b);
        return true;
}

/* Its last key has led here. */
static bool is_field(const struct body_field *b) { return b->wanted && b->on_path == b->n_keys; }

static bool begin_value(struct body_field *b, char c) {
        switch (c) {
        case '{': return enter(b, true);
        case '[': return enter(b, false);
        case '"':
                b->state = STRING;
                b->then = AFTER;
                return true;
        case 't': b->literal = "rue"; break;
        case 'f': b->literal = "alse"; break;
        case 'n': b->literal = "ull"; break;
        case '-': b->state = MINUS; return true;
        case '0': b->state = ZERO; return true;
        default:
                b->state = INTEGER;
                return c >= '1' && c <= '9';
        }
        b->state = LITERAL;
        return true;
}

static bool key_ends(struct body_field *b) {
        b->state = COLON;
        if (b->on_path == 0 || b->on_path != b->depth)
                return true;
        const size_t i = b->on_path - 1u;
        if (!b->same || b->at != b->keys[i].n)
                return true;
        if (b->seen[i])
                return false;
        b->wanted = b->seen[i] = true;
        return true;
}

/* One character of a string, or a byte of it beyond ASCII. */
static void string_byte(struct body_field *b, struct sink *s, unsigned c) {
        if (b->then == AFTER) {
                if (b->holds)
                        compare(b, s, c, b->find, b->n_find);
        } else if (b->on_path > 0 && b->on_path == b->depth)
                compare(b, s, c, b->keys[b->on_path - 1].p, b->keys[b->on_path - 1].n);
}

/* RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF. */
static bool begin_character(struct body_field *b, unsigned char c) {
        b->low = 0x80;
        b->high = 0xbf;
        if (c >= 0xc2 && c <= 0xdf)
                b->more = 1;
        else if ((c & 0xf0) == 0xe0)
                b->more = 2;
        else if (c >= 0xf0 && c <= 0xf4)
                b->more = 3;
        else
                return false;
        if (c == 0xe0)
                b->low = 0xa0;
        else if (c == 0xed)
                b->high = 0x9f;
        else if (c == 0xf0)
                b->low = 0x90;
        else if (c == 0xf4)
                b->high = 0x8f;
        return true;
}

static bool in_string(struct body_field *b, struct sink *s, char ch) {
        const unsigned char c = (unsigned char)ch;

        if (b->more > 0) {
                if (c < b->low || c > b->high)
                        return false;
                b->low = 0x80;
                b->high = 0xbf;
                b->more--;
                return true;
        }
        if (c == '"') {
                if (b->then != AFTER)
                        return key_ends(b);
                after_value(b);
                return true;
        }
        if (c == '\\') {
                b->state = ESCAPE;
                return true;
        }
        if (c < ' ' || (c >= 0x80 && !begin_character(b, c)))
                return false;
        string_byte(b, s, c);
        return true;
}

static bool in_escape(struct body_field *b, struct sink *s, char c) {
        static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
        const char *k = c ? strchr(names, c) : NULL;

        if (c == 'u') {
                b->state = DIGITS;
                b->digits = 4;
                b->code = 0;
                return true;
        }
        if (!k)
                return false;
        b->state = STRING;
        string_byte(b, s, (unsigned char)means[k - names]);
        return true;
}

static int hex_digit(char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool in_digits(struct body_field *b, struct sink *s, char c) {
        int v = hex_digit(c);

        if (v < 0)
                return false;
        b->code = (uint16_t)(b->code << 4 | v);
        if (--b->digits > 0)
                return true;
        b->state = STRING;
        string_byte(b, s, b->code);
        return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* 1: it goes on; 0: it has ended before this byte; -1: it is none. */
static int in_number(struct body_field *b, char c) {
        const bool digit = is_digit(c);
        unsigned next = b->state;

        switch (b->state) {
        case MINUS: next = c == '0' ? ZERO : digit ? INTEGER : OVER; break;
        case ZERO:
        case INTEGER:
                if (digit && b->state == INTEGER)
                        break;
                if (c != '.' && c != 'e' && c != 'E')
                        return digit ? -1 : 0;
                next = c == '.' ? DOT : EXPONENT;
                break;
        case DOT: next = digit ? FRACTION : OVER; break;
        case FRACTION:
                if (!digit && c != 'e' && c != 'E')
                        return 0;
                next = digit ? FRACTION : EXPONENT;
                break;
        case EXPONENT: next = c == '+' || c == '-' ? SIGN : digit ? POWER : OVER; break;
        case SIGN: next = digit ? POWER : OVER; break;
        case POWER:
        default:
                if (!digit)
                        return 0;
                break;
        }
        b->state = (uint8_t)next;
        return next == OVER ? -1 : 1;
}

static bool between(struct body_field *b, char c) {
        switch (b->state) {
        case FIRST_VALUE:
                return c == ']' ? leave(b, false) : begin_value(b, c);
        case FIRST_KEY:
        case KEY:
                if (c == '}' && b->state == FIRST_KEY)
                        return leave(b, true);
                b->state = STRING;
                b->then = KEY;
                return c == '"';
        case COLON:
                b->state = VALUE;
                return c == ':';
        case AFTER:
                if (c == ',') {
                        b->state = in_object(b) ? KEY : VALUE;
                        return true;
                }
                return (c == '}' || c == ']') && leave(b, c == '}');
        case VALUE:
                return begin_value(b, c);
        case OVER:
        default:
                return false;
        }
}

static bool read_json(struct body_field *b, struct sink *s, char c) {
        int k;

        switch (b->state) {
        case STRING: return in_string(b, s, c);
        case ESCAPE: return in_escape(b, s, c);
        case DIGITS: return in_digits(b, s, c);
        case LITERAL:
                if (*b->literal++ != c)
                        return false;
                if (*b->literal == 0)
                        after_value(b);
                return true;
        case MINUS: case ZERO: case INTEGER: case DOT: case FRACTION: case EXPONENT: case SIGN: case POWER:
                if ((k = in_number(b, c)) != 0)
                        return k > 0;
                after_value(b);
                break;
        default:
                break;
        }
        return is_blank(c) || between(b, c);
}

/* A string's quotes belong to neither what is compared nor what is held. */
static bool feed_json(struct body_field *b, struct sink *s, char c) {
        if (c == '"' && b->state == STRING && b->then == AFTER && b->more == 0)
                end_value(b, s);
        else if (c == '"' && (b->state == VALUE || b->state == FIRST_VALUE || b->state == FIRST_KEY || b->state == KEY)) {
                const bool field = b->state == VALUE && is_field(b);
                emit(b, s, c);
                begin_text(b, field);
                return read_json(b, s, c);
        }
        emit(b, s, c);
        return read_json(b, s, c);
}

/* --- Forms. --- */

static bool form_key_ends(struct body_field *b) {
        const bool is = b->same && b->at == b->keys[0].n;

        if (is && b->seen[0])
                return false;
        b->wanted = is;
        b->seen[0] |= is;
        return true;
}

static void form_byte(struct body_field *b, struct sink *s, unsigned c) {
        if (b->state == FORM_KEY)
                compare(b, s, c, b->keys[0].p, b->keys[0].n);
        else if (b->holds)
                compare(b, s, c, b->find, b->n_find);
}

/* A pair's end, or the body's. */
static bool pair_ends(struct body_field *b, struct sink *s) {
        if (b->digits > 0)
                return false;
        if (b->state == FORM_VALUE)
                end_value(b, s);
        else if (!form_key_ends(b))
                return false;
        b->state = FORM_KEY;
        return true;
}

static bool feed_form(struct body_field *b, struct sink *s, char c) {
        int v;

        if (c == '&') {
                const bool good = pair_ends(b, s);
                emit(b, s, c);
                if (good)
                        begin_text(b, false);
                return good;
        }
        emit(b, s, c);
        if (b->digits > 0) {
                if ((v = hex_digit(c)) < 0)
                        return false;
                b->code = (uint16_t)(b->code << 4 | v);
                if (--b->digits == 0)
                        form_byte(b, s, b->code);
                return true;
        }
        if (c == '%') {
                b->digits = 2;
                b->code = 0;
                return true;
        }
        if (c == '=' && b->state == FORM_KEY) {
                const bool good = form_key_ends(b);
                b->state = FORM_VALUE;
                begin_text(b, good && b->wanted);
                return good;
        }
        if (c <= ' ' || c > '~')
                return false;
        form_byte(b, s, c == '+' ? ' ' : (unsigned char)c);
        return true;
}

/* --- All of it. --- */

static bool ends_well(struct body_field *b, struct sink *s) {
        if (b->kind == BODY_FORM)
                return pair_ends(b, s);
        const bool number = b->state == ZERO || b->state == INTEGER || b->state == FRACTION || b->state == POWER;
        return b->state == OVER || (number && b->depth == 0);
}

size_t body_field_feed(struct body_field *b, const char *p, size_t n, bool last, char *out) {
        struct sink s = {.out = out};
        size_t i = 0;

        for (; i < n && !b->spoiled && b->kind != BODY_OTHER; i++)
                if (!(b->kind == BODY_FORM ? feed_form(b, &s, p[i]) : feed_json(b, &s, p[i])))
                        spoil(b, &s);
        if (i < n)
                memcpy(s.out + s.n, p + i, n - i);
        s.n += n - i;
        if (last && !b->spoiled && b->kind != BODY_OTHER && !ends_well(b, &s))
                spoil(b, &s);
        return s.n;
}
