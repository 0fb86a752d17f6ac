/* The model that a body names: what is taken, what is refused, and that it does not depend on how the text is divided. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/json-model.h"
#include "tap.h"

/* In pieces of `size` bytes; NULL: refused, with *ret_why. "": none. */
static const char *read_in(const char *text, size_t n, size_t size, const char **ret_why) {
        static struct json_model m;
        static char name[JSON_MODEL_MAX + 1];
        int r = 0;

        json_model_begin(&m);
        for (size_t i = 0; i < n && r == 0; i += size)
                r = json_model_read(&m, text + i, MIN(size, n - i));
        if (r == 0)
                r = json_model_end(&m);
        *ret_why = m.why;
        if (r < 0)
                return NULL;
        memcpy(name, m.name, m.n_name);
        name[m.n_name] = 0;
        return name;
}

static void says_n(const char *text, size_t n, const char *want) {
        const char *why, *first = NULL;

        for (size_t size = 1; size <= n + 1; size += size < 9 ? 1 : n / 2 + 1) {
                const char *got = read_in(text, n, size, &why);
                if (!got != !want || (want && strcmp(got, want) != 0))
                        printf("# %.80s in pieces of %zu: %s (%s)\n", text, size, got ? got : "refused", why ? why : "-");
                check(!got == !want && (!want || strcmp(got, want) == 0));
                check(got || why);
                if (size == 1)
                        first = why;
                check(why == first);
        }
}

static void says(const char *text, const char *want) { says_n(text, strlen(text), want); }

TEST(what_is_taken) {
        says("{\"model\":\"a\"}", "a");
        says(" {\n\"model\"\t:\r\"gpt-5-mini\" } \n", "gpt-5-mini");
        says("{\"messages\":[{\"model\":\"x\"},[[]],{}],\"model\":\"a:8b\",\"x\":{\"model\":\"y\"}}", "a:8b");
        says("{\"a\":\"\\\"model\\\":\\\"x\\\"\",\"model\":\"org\\/name\"}", "org/name");
        says("{\"model\":\"\\u0061b\"}", "ab");
        says("{\"a\":-0.5e+10,\"b\":0,\"c\":1E2,\"d\":true,\"e\":false,\"f\":null,\"g\":10.25,\"model\":\"m\"}", "m");
        says("{\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\":\"\xed\x9f\xbf\xf4\x8f\xbf\xbf\",\"model\":\"m\"}", "m");
        says("{}", "");
        says("{\"a\":{\"model\":\"x\"},\"b\":[\"model\"],\"modelx\":\"y\",\"mode\":\"z\",\"amodel\":1}", "");
        says("{\"a\":{\"Model\":1,\"models\":2,\"model\":3,\"model\":4}}", "");
}

TEST(what_is_refused) {
        static const char *const texts[] = {
                "", " ", "[]", "\"model\"", "1", "null", "{", "{\"model\":\"a\"", "{\"model\":\"a\"}}", "{\"model\":\"a\"}{}", "{\"model\":\"a\"},", "{\"model\":\"a\",}",
                "{,}", "{\"model\" \"a\"}", "{\"model\":\"a\" \"b\":1}", "{model:\"a\"}", "{'model':'a'}", "{\"model\":\"a\"}//", "/**/{\"model\":\"a\"}", "\xef\xbb\xbf{\"model\":\"a\"}",
                "{\"model\":\"a\",\"model\":\"a\"}", "{\"model\":\"a\",\"b\":1,\"model\":\"c\"}", "{\"model\":\"a\",\"MODEL\":\"c\"}", "{\"Model\":\"a\"}", "{\"mod\\u0065l\":\"a\"}",
                "{\"model\":\"a\",\"\\u006dodel\":\"c\"}", "{\"model\":\"a\",\"model\\u0000\":\"c\"}", "{\"\\u0000\":1,\"model\":\"a\"}", "{\"model\":\"a\",\"models\":[\"c\"]}", "{\"Models\":1}",
                "{\"model\":1}", "{\"model\":null}", "{\"model\":[\"a\"]}", "{\"model\":{}}", "{\"model\":\"\"}", "{\"model\":\"a b\"}", "{\"model\":\"a\\n\"}", "{\"model\":\"a\\u0000\"}", "{\"model\":\"\xc3\xa9\"}", "{\"model\":\"\\u00e9\"}",
                "{\"a\":01,\"model\":\"a\"}", "{\"a\":1.,\"model\":\"a\"}", "{\"a\":.5}", "{\"a\":+1}", "{\"a\":-}", "{\"a\":1e}", "{\"a\":1e+}", "{\"a\":0x1}", "{\"a\":NaN}", "{\"a\":tru}", "{\"a\":truex}", "{\"a\":1 2}", "{\"a\":--1}",
                "{\"a\":\"\n\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":[1,]}", "{\"a\":[,1]}", "{\"a\":[1}", "{\"a\":{]}", "{\"a\":\"\\ud8\"}",
                "{\"a\":\"\xc1\xad\"}", "{\"\xc1\xadodel\":\"x\"}", "{\"a\":\"\x80\"}", "{\"a\":\"\xc3\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xf4\x90\x80\x80\"}", "{\"a\":\"\xe0\x9f\xbf\"}", "{\"a\":\"\xff\"}", "{\"a\":1}\xc2\xa0",
        };
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                says(texts[i], NULL);
        says_n("{\"a\":\"\0\"}", 9, NULL);
        says_n("{\"model\":\"a\"}\0", 14, NULL);
}

TEST(limits) {
        _cleanup_free_ char *text = (char *)malloc(4096);
        size_t n;

        for (size_t depth = JSON_MODEL_DEPTH - 2; depth <= JSON_MODEL_DEPTH; depth++) {
                n = (size_t)sprintf(text, "{\"a\":");
                memset(text + n, '[', depth);
                memset(text + n + depth, ']', depth);
                n += 2 * depth;
                n += (size_t)sprintf(text + n, ",\"model\":\"m\"}");
                says_n(text, n, depth < JSON_MODEL_DEPTH ? "m" : NULL);
        }
        for (size_t length = JSON_MODEL_MAX - 1; length <= JSON_MODEL_MAX + 1; length++) {
                _cleanup_free_ char *name = (char *)calloc(1, length + 1);
                memset(name, 'x', length);
                n = (size_t)sprintf(text, "{\"model\":\"%s\"}", name);
                says_n(text, n, length <= JSON_MODEL_MAX ? name : NULL);
        }
}

TEST(what_was_refused_stays_so) {
        struct json_model m;

        json_model_begin(&m);
        check(json_model_read(&m, "x", 1) < 0 && json_model_read(&m, "{\"model\":\"a\"}", 13) < 0 && json_model_end(&m) < 0 && m.why);
}

TAP_MAIN
