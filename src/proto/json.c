/* Writing JSON, see json.h. */
#include <stdio.h>

#include "base/utf8.h"
#include "proto/json.h"

static void quoted(struct json *j, const char *s) {
        strbuf_puts(&j->text, "\"");
        for (const char *p = s, *end = s + strlen(s); p < end;) {
                uint32_t cp;
                size_t n = utf8_decode(p, (size_t)(end - p), &cp);
                if (n == 0) {
                        strbuf_printf(&j->text, "\\\\x%02x", (unsigned char)*p);
                        n = 1;
                } else if (cp < 0x20 || cp == '"' || cp == '\\' || cp == 0x7f)
                        strbuf_printf(&j->text, "\\u%04x", (unsigned)cp);
                else
                        strbuf_add(&j->text, p, n);
                p += n;
        }
        strbuf_puts(&j->text, "\"");
}

static void item(struct json *j, const char *key) {
        if (!j->first)
                strbuf_puts(&j->text, ",");
        if (j->depth > 0)
                strbuf_printf(&j->text, "\n%*s", (int)j->depth, "");
        j->first = false;
        if (key) {
                quoted(j, key);
                strbuf_puts(&j->text, ": ");
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
                strbuf_printf(&j->text, "\n%*s", (int)j->depth, "");
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

void json_num(struct json *j, const char *key, long long value) {
        item(j, key);
        strbuf_printf(&j->text, "%lld", value);
}

void json_bool(struct json *j, const char *key, bool value) {
        item(j, key);
        strbuf_puts(&j->text, value ? "true" : "false");
}
