#include <jansson.h>

#include "proto/json.h"
#include "tap.h"

/* What is written must be what a strict reader reads. */
static json_t *read_back(struct json *j) {
        char *s = strbuf_take(&j->text);
        json_error_t e;
        json_t *v = s ? json_loads(s, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e) : NULL;
        if (!v)
                printf("# %s: %s\n", e.text, s ? s : "(null)");
        free(s);
        return v;
}

TEST(nested) {
        struct json j = {};
        json_begin(&j, NULL, '{');
        json_str(&j, "a", "b");
        json_begin(&j, "list", '[');
        json_num(&j, NULL, -3);
        json_begin(&j, NULL, '{');
        json_end(&j, '}');
        json_bool(&j, NULL, true);
        json_end(&j, ']');
        json_begin(&j, "empty", '[');
        json_end(&j, ']');
        json_str(&j, "none", NULL);
        json_end(&j, '}');
        json_t *v = read_back(&j);
        check(json_is_object(v) && json_object_size(v) == 4);
        check_streq(json_string_value(json_object_get(v, "a")), "b");
        json_t *l = json_object_get(v, "list");
        check(json_array_size(l) == 3 && json_integer_value(json_array_get(l, 0)) == -3);
        check(json_is_object(json_array_get(l, 1)) && json_is_true(json_array_get(l, 2)));
        check(json_is_null(json_object_get(v, "none")));
        json_decref(v);
}

TEST(strings) {
        static const struct { const char *in, *out; } t[] = {
                {"", ""}, {"a\"b\\c/", "a\"b\\c/"}, {"\n\t\x01\x7f", "\n\t\x01\x7f"}, {"\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80"},
                {"\xff", "\\xff"}, {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, {"\xc0\xaf", "\\xc0\\xaf"}, {"\",\"x\":\"", "\",\"x\":\""},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct json j = {};
                json_begin(&j, NULL, '{');
                json_str(&j, t[i].in, t[i].in);
                json_end(&j, '}');
                json_t *v = read_back(&j);
                check(v);
                check_streq(json_string_value(json_object_get(v, t[i].out)), t[i].out);
                json_decref(v);
        }
}

TEST(compact_and_plain_to_look_at) {
        struct json j = {.compact = true};
        json_begin(&j, NULL, '{');
        json_str(&j, "a", "\xc2\x9b" "1m\xe2\x80\xae\xf3\xa0\x80\x81 \xf0\x9f\x98\x80");
        json_begin(&j, "l", '[');
        json_num(&j, NULL, 1);
        json_num(&j, NULL, 2);
        json_end(&j, ']');
        json_end(&j, '}');
        check_streq(j.text.data, "{\"a\":\"\\u009b1m\\u202e\\udb40\\udc01 \xf0\x9f\x98\x80\",\"l\":[1,2]}\n");
        json_t *v = read_back(&j);
        check_streq(json_string_value(json_object_get(v, "a")), "\xc2\x9b" "1m\xe2\x80\xae\xf3\xa0\x80\x81 \xf0\x9f\x98\x80");
        json_decref(v);
}

TAP_MAIN
