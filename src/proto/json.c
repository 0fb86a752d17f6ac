/* Writing JSON, see json.h. */
#include <string.h>

#include "base/utf8.h"
#include "proto/json.h"

/* Runs of plain characters are added as one: most text has nothing else. */
static void quoted(struct json *j, const char *s) {
        const char *end = s + strlen(s), *run = s;

        strbuf_add(&j->text, "\"", 1);
        for (const char *p = s; p < end;) {
                uint32_t cp = (unsigned char)*p;
                size_t n = cp < 0x80 ? 1 : utf8_decode(p, (size_t)(end - p), &cp);
                if (n > 0 && cp != '"' && cp != '\\' && (cp < 0x7f ? cp >= 0x20 : !str_deceptive(cp))) {
                        p += n;
                        continue;
                }
                strbuf_add(&j->text, run, (size_t)(p - run));
                if (n == 0)
                        strbuf_printf(&j->text, "\\\\x%02x", (unsigned char)*p);
                else if (cp < 0x10000)
                        strbuf_printf(&j->text, "\\u%04x", (unsigned)cp);
                else /* RFC 8259 section 7: a pair of surrogates */
                        strbuf_printf(&j->text, "\\u%04x\\u%04x", 0xd800 + (unsigned)((cp - 0x10000) >> 10), 0xdc00 + (unsigned)(cp & 0x3ff));
                p += n ? n : 1;
                run = p;
        }
        strbuf_add(&j->text, run, (size_t)(end - run));
        strbuf_add(&j->text, "\"", 1);
}

static void new_line(struct json *j) {
        static const char blank[] = "\n                ";
        if (j->compact)
                return;
        strbuf_add(&j->text, blank, MIN(1 + (size_t)j->depth, sizeof(blank) - 1));
}

static void item(struct json *j, const char *key) {
        if (!j->first)
                strbuf_add(&j->text, ",", 1);
        if (j->depth > 0)
                new_line(j);
        j->first = false;
        if (key) {
                quoted(j, key);
                strbuf_add(&j->text, ": ", j->compact ? 1 : 2);
        }
}

void json_begin(struct json *j, const char *key, char bracket) {
        if (j->depth == 0)
                j->first = true;
        item(j, key);
        strbuf_add(&j->text, &bracket, 1);
        j->depth++;
        j->first = true;
}

void json_end(struct json *j, char bracket) {
        j->depth--;
        if (!j->first)
                new_line(j);
        strbuf_add(&j->text, &bracket, 1);
        j->first = false;
        if (j->depth == 0)
                strbuf_puts(&j->text, "\n");
}

void json_str(struct json *j, const char *key, const char *value) {
        item(j, key);
        if (value)
                quoted(j, value);
        else
                strbuf_puts(&j->text, "null");
}

void json_hex_if_needed(struct json *j, const char *key, const char *value) {
        bool good = true;
        for (const char *p = value, *end = value + strlen(value); good && p < end;) {
                uint32_t cp;
                size_t n = utf8_decode(p, (size_t)(end - p), &cp);
                good = n > 0;
                p += n;
        }
        if (good)
                return;
        item(j, key);
        strbuf_add(&j->text, "\"", 1);
        for (const char *p = value; *p; p++)
                strbuf_printf(&j->text, "%02x", (unsigned char)*p);
        strbuf_add(&j->text, "\"", 1);
}

void json_num(struct json *j, const char *key, long long value) {
        item(j, key);
        strbuf_printf(&j->text, "%lld", value);
}

void json_bool(struct json *j, const char *key, bool value) {
        item(j, key);
        strbuf_puts(&j->text, value ? "true" : "false");
}

void json_list(struct json *j, const char *key, const struct strlist *l) {
        json_begin(j, key, '[');
        for (size_t i = 0; i < l->n; i++)
                json_str(j, NULL, l->items[i]);
        json_end(j, ']');
}
