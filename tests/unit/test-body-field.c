/* One field of a body gets another text of the same length: there and nowhere else, however the body comes in pieces. */
#include <stdbool.h>
#include <stdlib.h>

#include "proto/body-field.h"
#include "tap.h"

#define FIND "Qx7-\"/Zt9" /* with what JSON and forms escape */
#define PUT "Ab1-\"/Cd2"
#define N (sizeof(FIND) - 1)
#define TEXT_MAX 65536u

static struct body_field *make(enum body_kind kind, const char *path) {
        struct body_field *b = malloc(body_field_size(N));
        check(b && body_field_begin(b, body_field_size(N), kind, path, FIND, PUT, N) == 0);
        return b;
}

struct result {
        char out[TEXT_MAX];
        size_t n;
        bool put, spoiled;
};

static void feed(struct result *r, enum body_kind kind, const char *path, const char *p, size_t n, size_t step) {
        struct body_field *b = make(kind, path);

        r->n = 0;
        for (size_t at = 0; at < n;) {
                const size_t k = step == 0 ? (size_t)(rand() % 9) + 1 : step, m = n - at < k ? n - at : k;
                char *piece = malloc(m), *out = malloc(m + BODY_FIELD_HELD_MAX);
                memcpy(piece, p + at, m);
                size_t o = body_field_feed(b, piece, m, at + m == n && step % 2 == 0, out);
                memcpy(r->out + r->n, out, o);
                r->n += o;
                at += m;
                free(piece);
                free(out);
        }
        if (n == 0 || step % 2 == 1)
                r->n += body_field_feed(b, "", 0, true, r->out + r->n);
        r->put = b->put;
        r->spoiled = b->spoiled;
        free(b);
}

static struct result whole, pieces;

static void read_all(enum body_kind kind, const char *path, const char *p, size_t n) {
        feed(&whole, kind, path, p, n, n + n % 2);
        for (size_t step = 0; step < 12; step++) {
                feed(&pieces, kind, path, p, n, step);
                check(pieces.n == whole.n && memcmp(pieces.out, whole.out, whole.n) == 0);
                check(pieces.put == whole.put && pieces.spoiled == whole.spoiled);
        }
        check(whole.n == n);
        whole.out[whole.n] = 0;
}

static void gives(enum body_kind kind, const char *path, const char *text, const char *wanted) {
        read_all(kind, path, text, strlen(text));
        if (!whole.put || whole.spoiled || strcmp(whole.out, wanted) != 0)
                printf("# %s\n# put %d spoiled %d gave %s\n", text, whole.put, whole.spoiled, whole.out);
        check(whole.put && !whole.spoiled);
        check_streq(whole.out, wanted);
}

static void leaves(enum body_kind kind, const char *path, const char *text, bool spoiled) {
        read_all(kind, path, text, strlen(text));
        if (whole.put || whole.spoiled != spoiled)
                printf("# %s\n# put %d spoiled %d gave %s\n", text, whole.put, whole.spoiled, whole.out);
        check(!whole.put && whole.spoiled == spoiled);
        check_streq(whole.out, text);
}

/* Put in before it turns out that the body is none. */
static void too_late(enum body_kind kind, const char *path, const char *text) {
        read_all(kind, path, text, strlen(text));
        if (!whole.put || !whole.spoiled)
                printf("# %s\n# put %d spoiled %d gave %s\n", text, whole.put, whole.spoiled, whole.out);
        check(whole.put && whole.spoiled);
}

#define IN "Qx7-\\\"/Zt9"
#define OUT "Ab1-\\\"/Cd2"

TEST(json) {
        gives(BODY_JSON, "a", "{\"a\":\"" IN "\"}", "{\"a\":\"" OUT "\"}");
        gives(BODY_JSON, "a", " {\n\"b\" : [1, {\"a\":2}, \"" IN "\"] ,\t\"a\" : \"" IN "\" , \"c\":null}\r\n", " {\n\"b\" : [1, {\"a\":2}, \"" IN "\"] ,\t\"a\" : \"" OUT "\" , \"c\":null}\r\n");
        gives(BODY_JSON, "a", "{\"a\":\"\\u0051x7\\u002d\\u0022\\/Zt\\u0039\"}", "{\"a\":\"\\u0041b1\\u002d\\u0022\\/Cd\\u0032\"}");
        gives(BODY_JSON, "a.b.c", "{\"a\":{\"c\":\"" IN "\",\"b\":{\"a\":\"" IN "\",\"c\":\"" IN "\"}}}", "{\"a\":{\"c\":\"" IN "\",\"b\":{\"a\":\"" IN "\",\"c\":\"" OUT "\"}}}");
        gives(BODY_JSON, "a", "{\"\\u0061\":\"" IN "\"}", "{\"\\u0061\":\"" OUT "\"}");
        gives(BODY_JSON, "a", "{\"x\":{\"a\":\"" IN "\"},\"a\":\"" IN "\",\"y\":[[\"a\",\"" IN "\"]]}", "{\"x\":{\"a\":\"" IN "\"},\"a\":\"" OUT "\",\"y\":[[\"a\",\"" IN "\"]]}");
        gives(BODY_JSON, "a", "{\"n\":[0,-0,1.5,-12e3,3E+4,0.1e-2,true,false,null,{},[]],\"a\":\"" IN "\"}", "{\"n\":[0,-0,1.5,-12e3,3E+4,0.1e-2,true,false,null,{},[]],\"a\":\"" OUT "\"}");
        gives(BODY_JSON, "a", "{\"\xc3\xa9\":\"\xe2\x82\xac \xf0\x9f\x98\x80 \\ud83d\\ude00\",\"a\":\"" IN "\"}", "{\"\xc3\xa9\":\"\xe2\x82\xac \xf0\x9f\x98\x80 \\ud83d\\ude00\",\"a\":\"" OUT "\"}");
}

TEST(json_elsewhere) {
        static const char *const texts[] = {
                "\"" IN "\"", "[\"" IN "\"]", "[{\"a\":\"" IN "\"}]", "{\"" IN "\":\"a\"}", "{\"b\":\"" IN "\"}", "{\"b\":{\"a\":\"" IN "\"}}", "{\"a\":[\"" IN "\"]}",
                "{\"a\":{\"a\":\"" IN "\"}}", "{\"a\":\" " IN "\"}", "{\"a\":\"" IN " \"}", "{\"a\":\"" IN IN "\"}", "{\"a\":\"Bearer " IN "\"}", "{\"a\":\"Qx7-\\\"/Zt\"}", "{\"A\":\"" IN "\"}",
                "{\"ab\":\"" IN "\"}", "{\"\":\"" IN "\"}", "{\"a\\u0000\":\"" IN "\"}", "{\"a\":\"Qx7-\\\"/Z\\u0174t9\"}", "{\"a\":\"\\u0151x7-\\\"/Zt9\"}", "{\"a\":1,\"b\":\"" IN "\"}", "{\"a\":\"x\",\"b\":\"" IN "\"}",
                "{\"a\":null,\"b\":[\"" IN "\"]}", "{\"a\":{},\"b\":\"" IN "\"}", "{\"\xc3\xa1\":\"" IN "\"}", "1", "null", "{}", "[]",
        };
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                leaves(BODY_JSON, "a", texts[i], false);
        leaves(BODY_JSON, "a.b", "{\"a\":[{\"b\":\"" IN "\"}]}", false);
        leaves(BODY_JSON, "a.b", "{\"b\":\"" IN "\",\"x\":{\"a\":{\"b\":\"" IN "\"}}}", false);
        leaves(BODY_JSON, "a.b", "{\"a.b\":\"" IN "\",\"a\":\"" IN "\"}", false);
        leaves(BODY_JSON, "a.b", "{\"a\":{\"x\":{\"b\":\"" IN "\"}}}", false);
}

TEST(json_none) {
        static const char *const bad[] = {
                "", " ", "{a:\"" IN "\"}", "{'a':\"" IN "\"}", "\xef\xbb\xbf{\"a\":\"" IN "\"}", "{\"x\":1,}", "{,\"a\":\"" IN "\"}", "{\"x\":01,\"a\":\"" IN "\"}", "{\"x\":+1,\"a\":\"" IN "\"}",
                "{\"x\":.5,\"a\":\"" IN "\"}", "{\"x\":1.,\"a\":\"" IN "\"}", "{\"x\":1e,\"a\":\"" IN "\"}", "{\"x\":-,\"a\":\"" IN "\"}", "{\"x\":NaN,\"a\":\"" IN "\"}", "{\"x\":tru,\"a\":\"" IN "\"}", "{\"x\":\"\\x41\",\"a\":\"" IN "\"}",
                "{\"x\":\"\\u00g1\",\"a\":\"" IN "\"}", "{\"x\":\"\t\",\"a\":\"" IN "\"}", "{\"x\":\"\xff\",\"a\":\"" IN "\"}", "{\"x\":\"\xc0\x80\",\"a\":\"" IN "\"}", "{\"x\":\"\xed\xa0\x80\",\"a\":\"" IN "\"}", "{\"x\":\"\xf4\x90\x80\x80\",\"a\":\"" IN "\"}",
                "{\"x\":\"\xe2\x82\",\"a\":\"" IN "\"}", "{\"x\":1}{\"a\":\"" IN "\"}", "1 {\"a\":\"" IN "\"}", "[1]{\"a\":\"" IN "\"}", "{\"x\":1 \"a\":\"" IN "\"}", "{\"x\" 1,\"a\":\"" IN "\"}", "{\"x\":[1},\"a\":\"" IN "\"}",
                "{/**/\"a\":\"" IN "\"}", "//\n{\"a\":\"" IN "\"}", "{\"a\":1,\"a\":\"" IN "\"}", "{\"a\":1,\"\\u0061\":\"" IN "\"}", "{\"a\":\"", "{\"a\":\"Qx7-", "{\"a\":\"Qx7-\\u00", "{\"a\":\"Qx7-\\u0\"", "-", "1e", "\"", "tru",
                "{\"a\":\"Qx7\n-\\\"/Zt9\"}", "{\"a\"}", "]", "}", "[}", "{]", "{\"a\":}", "[1,]", ",", ":",
        };
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                leaves(BODY_JSON, "a", bad[i], true);
        leaves(BODY_JSON, "a.b", "{\"a\":{},\"a\":{\"b\":\"" IN "\"}}", true);
        leaves(BODY_JSON, "a.b", "{\"a\":{\"b\":0,\"b\":\"" IN "\"}}", true);
        too_late(BODY_JSON, "a", "{\"a\":\"" IN "\",\"a\":1}");
        too_late(BODY_JSON, "a", "{\"a\":\"" IN "\"");
        too_late(BODY_JSON, "a", "{\"a\":\"" IN "\"}}");
        too_late(BODY_JSON, "a", "{\"a\":\"" IN "\"} {\"a\":\"" IN "\"}");
        too_late(BODY_JSON, "a.b", "{\"a\":{\"b\":\"" IN "\"},\"a\":{\"b\":\"" IN "\"}}");
        read_all(BODY_JSON, "a", "{\"a\":\"" IN "\"}\0", sizeof("{\"a\":\"" IN "\"}"));
        check(whole.put && whole.spoiled);
}

static void nested(size_t depth, bool arrays, bool spoiled) {
        static char text[1024], wanted[1024];
        size_t n = 0;

        n += (size_t)snprintf(text + n, sizeof(text) - n, "{\"x\":");
        for (size_t i = 0; i < depth; i++)
                n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", arrays ? "[" : "{\"a\":");
        n += (size_t)snprintf(text + n, sizeof(text) - n, "0");
        for (size_t i = 0; i < depth; i++)
                n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", arrays ? "]" : "}");
        strcpy(wanted, text);
        strcpy(text + n, ",\"a\":\"" IN "\"}");
        strcpy(wanted + n, ",\"a\":\"" OUT "\"}");
        if (spoiled)
                leaves(BODY_JSON, "a", text, true);
        else
                gives(BODY_JSON, "a", text, wanted);
}

TEST(json_depth) {
        for (size_t i = 0; i < 2; i++) {
                nested(BODY_FIELD_DEPTH_MAX - 1, i, false);
                nested(BODY_FIELD_DEPTH_MAX, i, true);
        }
}

TEST(forms) {
        gives(BODY_FORM, "a", "a=Qx7-%22%2fZt%39", "a=Ab1-%22%2fCd%32");
        gives(BODY_FORM, "a", "x=1&a=%51x7-%22/Zt%39&y=2", "x=1&a=%41b1-%22/Cd%32&y=2");
        gives(BODY_FORM, "a", "%61=Qx7-%22/Zt9&b=Qx7-%22/Zt9&&", "%61=Ab1-%22/Cd2&b=Qx7-%22/Zt9&&");
        gives(BODY_FORM, "a.b", "a.b=Qx7-%22/Zt9", "a.b=Ab1-%22/Cd2");
        leaves(BODY_FORM, "a.b", "a=Qx7-%22/Zt9&b=Qx7-%22/Zt9", false);
        leaves(BODY_FORM, "a", "b=Qx7-%22/Zt9&Qx7-%22/Zt9&Qx7-%22/Zt9=a&A=Qx7-%22/Zt9&aa=Qx7-%22/Zt9&=Qx7-%22/Zt9", false);
        leaves(BODY_FORM, "a", "a=xQx7-%22/Zt9", false);
        leaves(BODY_FORM, "a", "a=Qx7-%22/Zt9x", false);
        leaves(BODY_FORM, "a", "a==Qx7-%22/Zt9", false);
        leaves(BODY_FORM, "a", "a=Qx7-%22/Zt9;b=1", false);
        leaves(BODY_FORM, "a", "x=1;a=Qx7-%22/Zt9", false);
        leaves(BODY_FORM, "a", "a=Qx7-%2522/Zt9", false);
        leaves(BODY_FORM, "a", "a", false);
        leaves(BODY_FORM, "a", "", false);
        leaves(BODY_FORM, "a", "a&a=Qx7-%22/Zt9", true);
        leaves(BODY_FORM, "a", "a=1&a=Qx7-%22/Zt9", true);
        leaves(BODY_FORM, "a", "a=1&%61=Qx7-%22/Zt9", true);
        leaves(BODY_FORM, "a", "x y&a=Qx7-%22/Zt9", true);
        leaves(BODY_FORM, "a", "x\r\na=Qx7-%22/Zt9", true);
        leaves(BODY_FORM, "a", "x=%4&a=Qx7-%22/Zt9", true);
        leaves(BODY_FORM, "a", "x=%zz&a=Qx7-%22/Zt9", true);
        leaves(BODY_FORM, "a", "x=\xc3\xa9&a=Qx7-%22/Zt9", true);
        leaves(BODY_FORM, "a", "a=Qx7-%2", true);
        leaves(BODY_FORM, "a", "a=Qx7-%2&b=1", true);
        too_late(BODY_FORM, "a", "a=Qx7-%22/Zt9&a");
        too_late(BODY_FORM, "a", "a=Qx7-%22/Zt9&a=1");
        too_late(BODY_FORM, "a", "a=Qx7-%22/Zt9&x=%");
}

TEST(others) {
        leaves(BODY_OTHER, "a", "{\"a\":\"" IN "\"}", false);
        leaves(BODY_OTHER, "a", "a=Qx7-%22/Zt9", false);
}

/* JSON made at random, with the text strewn over it; what is to be there afterwards is known from how it was made. */
struct pen {
        char in[8192], out[8192];
        size_t n;
        bool put;
};

static void both(struct pen *w, const char *a, const char *b) {
        size_t n = strlen(a);
        check(strlen(b) == n && w->n + n < sizeof(w->in));
        memcpy(w->in + w->n, a, n + 1);
        memcpy(w->out + w->n, b, n + 1);
        w->n += n;
}

static void same(struct pen *w, const char *a) { both(w, a, a); }

static void write_as(char text[8], int form, char c) {
        if (form == 2)
                snprintf(text, 8, "\\u%04x", (unsigned char)c);
        else
                snprintf(text, 8, "%s%c", form ? "\\" : "", c);
}

static void string_of(struct pen *w, const char *in, const char *out, bool changed) {
        char c[8], d[8];

        same(w, "\"");
        for (size_t i = 0; in[i]; i++) {
                const bool must = in[i] == '"' || in[i] == '\\';
                const int form = rand() % 5 == 0 ? 2 : must || (in[i] == '/' && rand() % 2);
                write_as(c, form, in[i]);
                write_as(d, form, changed ? out[i] : in[i]);
                both(w, c, d);
        }
        same(w, "\"");
}

static void blank(struct pen *w) {
        static const char *const some[] = {"", "", "", " ", "\n", "\t \r"};
        same(w, some[rand() % 6]);
}

static void value(struct pen *w, int depth, int on_path);

static void object(struct pen *w, int depth, int on_path) {
        static const char *const keys[] = {"a", "b", "c", "x", "\"", FIND, "ab"};
        bool used[ELEMENTSOF(keys)] = {};
        bool first = true;

        same(w, "{");
        for (int n = rand() % 5; n > 0; n--) {
                size_t k = on_path >= 0 && rand() % 2 ? (size_t)on_path : (size_t)rand() % ELEMENTSOF(keys);
                if (used[k])
                        continue;
                used[k] = true;
                blank(w);
                same(w, first ? "" : ",");
                first = false;
                blank(w);
                string_of(w, keys[k], keys[k], false);
                blank(w);
                same(w, ":");
                /* The path is a.b.c; -1: not on it. */
                value(w, depth + 1, on_path >= 0 && k == (size_t)on_path ? on_path + 1 : -1);
        }
        blank(w);
        same(w, "}");
}

static void value(struct pen *w, int depth, int on_path) {
        static const char *const plain[] = {"0", "-1.5e3", "true", "false", "null", "\"\"", "{}", "[ ]"};
        static const char *const near[] = {"x" FIND, FIND "x", "Qx7-\"/Zt8", "Qx7"};

        blank(w);
        switch (depth > 6 ? rand() % 2 : on_path == 3 ? rand() % 4 : on_path > 0 && rand() % 3 ? 5 : rand() % 8) {
        case 0: same(w, plain[rand() % 8]); break;
        case 1: {
                const char *text = near[rand() % 4];
                string_of(w, text, text, false);
                break;
        }
        case 2:
        case 3:
                string_of(w, FIND, PUT, on_path == 3);
                w->put |= on_path == 3;
                break;
        case 4:
                same(w, "[");
                for (int n = rand() % 4; n > 0; n--) {
                        value(w, depth + 1, -1);
                        same(w, n > 1 ? "," : "");
                }
                same(w, "]");
                break;
        default: object(w, depth, on_path < 3 ? on_path : -1); break;
        }
        blank(w);
}

TEST(at_random) {
        static struct pen w;
        unsigned puts = 0;

        srand(7);
        for (int i = 0; i < 60000; i++) {
                w.n = 0;
                w.put = false;
                w.in[0] = w.out[0] = 0;
                object(&w, 0, 0);
                feed(&whole, BODY_JSON, "a.b.c", w.in, w.n, i % 3 == 0 ? 0 : (size_t)(i % 11) + 1);
                check(whole.n == w.n && !whole.spoiled && whole.put == w.put);
                check(memcmp(whole.out, w.out, w.n) == 0);
                puts += w.put;
                if (w.n > 2 && w.n < 400) { /* cut off, it is none */
                        feed(&whole, BODY_JSON, "a.b.c", w.in, (size_t)rand() % (w.n - 1) + 1, 3);
                        const bool blanks_only = strspn(w.in + whole.n, " \n\t\r") == w.n - whole.n;
                        check(whole.spoiled != blanks_only);
                }
        }
        printf("# %u with the field\n", puts);
        check(puts > 300);
}

TEST(types) {
        static const struct {
                const char *type;
                enum body_kind kind;
        } t[] = {
                {"application/json", BODY_JSON}, {"Application/JSON", BODY_JSON}, {"application/json; charset=utf-8", BODY_JSON}, {"application/json;charset=\"UTF-8\"", BODY_JSON},
                {"application/json ; odata=verbose ; charset=US-ASCII", BODY_JSON}, {"application/json;", BODY_JSON}, {"application/vnd.api+json", BODY_JSON}, {"image/x+JSON", BODY_JSON},
                {"application/x-www-form-urlencoded", BODY_FORM}, {"application/x-www-form-urlencoded; charset=UTF-8", BODY_FORM},
                {"application/json; charset=utf-16", BODY_OTHER}, {"application/json; charset=utf-7", BODY_OTHER}, {"application/json; charset=", BODY_OTHER}, {"application/json charset=utf-8", BODY_OTHER},
                {"application/json; charset=utf-8; charset=utf-16", BODY_OTHER}, {"application/json; charset=\"utf\\-16\"", BODY_OTHER}, {"application/json, text/plain", BODY_OTHER}, {"application/jsonl", BODY_OTHER}, {"application/json+x", BODY_OTHER},
                {"application/+json", BODY_OTHER}, {"text/json", BODY_OTHER}, {"text/plain", BODY_OTHER}, {"application/x-ndjson", BODY_OTHER}, {"multipart/form-data; boundary=x", BODY_OTHER}, {"", BODY_OTHER}, {"application", BODY_OTHER},
                {"application/", BODY_OTHER}, {"/json", BODY_OTHER}, {"json", BODY_OTHER}, {"application/json; =x", BODY_OTHER}, {"application/json; x", BODY_OTHER},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                if (body_kind_of(t[i].type, strlen(t[i].type)) != t[i].kind)
                        printf("# %s\n", t[i].type);
                check(body_kind_of(t[i].type, strlen(t[i].type)) == t[i].kind);
        }
}

TEST(arguments) {
        char memory[sizeof(struct body_field) + BODY_FIELD_HELD_MAX] __attribute__((aligned(16)));
        struct body_field *b = (struct body_field *)memory;
        static const char *const bad[] = {"", ".", "a.", ".a", "a..b", "a.b.c.d.e.f.g.h.i"};

        check(body_field_begin(b, sizeof(memory), BODY_JSON, "a.b.c.d.e.f.g.h", "abcdefgh", "ijklmnop", 8) == 0);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(body_field_begin(b, sizeof(memory), BODY_JSON, bad[i], "abcdefgh", "ijklmnop", 8) == -EINVAL);
        check(body_field_begin(b, sizeof(memory), BODY_JSON, "a", "abcdefg-", "ijklmnop", 8) == -EINVAL);
        check(body_field_begin(b, sizeof(memory), BODY_JSON, "a", "abcdefg-", "ijklmno/", 8) == -EINVAL);
        check(body_field_begin(b, body_field_size(8) - 1, BODY_JSON, "a", "abcdefgh", "ijklmnop", 8) == -ENOBUFS);
        check(body_field_size(SIZE_MAX / 8) == sizeof(memory));
}

/* The longest secrets: as they are they are found, and with every byte escaped only up to the limit. */
TEST(lengths) {
        static char find[4096], put[4096], in[8 * 4096], out[sizeof(in) + BODY_FIELD_HELD_MAX];

        for (size_t n = 8; n <= 4096; n = n * 2 - 3 > 2048 && n < 4096 ? 4096 : n * 2 - 3) {
                memset(find, 'a', n);
                memset(put, 'b', n);
                for (int escaped = 0; escaped < 2; escaped++) {
                        struct body_field *b = malloc(body_field_size(n));
                        check(b && body_field_begin(b, body_field_size(n), BODY_JSON, "k", find, put, n) == 0);
                        size_t m = (size_t)sprintf(in, "{\"k\":\"");
                        for (size_t i = 0; i < n; i++)
                                m += (size_t)sprintf(in + m, escaped ? "\\u0061" : "a");
                        m += (size_t)sprintf(in + m, "\"}");
                        check(body_field_feed(b, in, m, true, out) == m && !b->spoiled);
                        check(b->put == (!escaped || 6 * n <= BODY_FIELD_HELD_MAX));
                        if (!b->put)
                                check(memcmp(in, out, m) == 0);
                        free(b);
                }
                if (n == 4096)
                        break;
        }
}

TAP_MAIN
