/* Quoted names of patches; see quote.h. The escapes are those of gitformat "core.quotePath": \a \b \t \n \v \f \r,
 * \" \\ and three octal digits. */
#include "proto/quote.h"

static const char letters[] = "abtnvfr"; /* for bytes 7 to 13, in an order of their own below */
static const char letter_bytes[] = "\a\b\t\n\v\f\r";

bool quote_needed(const char *name) {
        /* A space at the end is invisible, and GNU patch takes it for the end of the name. */
        if (!*name || strpbrk(name, "\"\\") || name[strlen(name) - 1] == ' ')
                return true;
        /* What str_visible leaves alone is printable, valid and honest. Piece by piece, so that no length of name
         * needs memory; a cut must not fall into a character. */
        for (const char *p = name; *p;) {
                char piece[200], shown[sizeof(piece) * 4];
                size_t n = strnlen(p, sizeof(piece) - 1);
                while (n > sizeof(piece) - 5 && ((unsigned char)p[n] & 0xc0) == 0x80)
                        n--;
                memcpy(piece, p, n);
                piece[n] = 0;
                str_visible(shown, sizeof(shown), piece);
                if (!streq(piece, shown))
                        return true;
                p += n;
        }
        return false;
}

static void add_escaped(struct strbuf *b, const char *s) {
        for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
                const char *l = *p < 0x20 ? strchr(letter_bytes, *p) : NULL;
                if (l)
                        strbuf_printf(b, "\\%c", letters[l - letter_bytes]);
                else if (*p == '"' || *p == '\\')
                        strbuf_printf(b, "\\%c", *p);
                else if (*p < 0x20 || *p >= 0x7f)
                        strbuf_printf(b, "\\%03o", *p);
                else
                        strbuf_add(b, p, 1);
        }
}

void quote_name(struct strbuf *b, const char *prefix, const char *name) {
        bool q = quote_needed(name) || (*prefix && quote_needed(prefix));

        if (!q) {
                strbuf_puts(b, prefix);
                strbuf_puts(b, name);
                return;
        }
        strbuf_puts(b, "\"");
        add_escaped(b, prefix);
        add_escaped(b, name);
        strbuf_puts(b, "\"");
}

int quote_parse(const char *s, char **ret) {
        _cleanup_strbuf_ struct strbuf b = {};

        if (*s != '"') {
                if (quote_needed(s))
                        return -EINVAL;
                char *copy = strdup(s);
                if (!copy)
                        return -ENOMEM;
                *ret = copy;
                return 0;
        }
        for (s++; *s != '"'; s++) {
                char c = *s;
                if (c == 0 || c == '\n')
                        return -EINVAL;
                if (c == '\\') {
                        const char *l;
                        c = *++s;
                        if (c == 0)
                                return -EINVAL;
                        l = strchr(letters, c);
                        if (l)
                                c = letter_bytes[l - letters];
                        else if (c >= '0' && c <= '3') {
                                int v = c - '0';
                                for (int i = 0; i < 2; i++) {
                                        c = *++s;
                                        if (c < '0' || c > '7')
                                                return -EINVAL;
                                        v = v * 8 + (c - '0');
                                }
                                if (v == 0)
                                        return -EINVAL;
                                c = (char)v;
                        } else if (c != '"' && c != '\\')
                                return -EINVAL;
                }
                strbuf_add(&b, &c, 1);
        }
        if (s[1])
                return -EINVAL;
        char *out = strbuf_take(&b);
        if (!out)
                return -ENOMEM;
        *ret = out;
        return 0;
}
