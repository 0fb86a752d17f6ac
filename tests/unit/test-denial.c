#include <jansson.h>

#include "base/macros.h"
#include "model/denial.h"
#include "tap.h"

static json_t *read_json(const char *text, size_t n) {
        json_error_t e;
        json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
        if (!j)
                printf("# %s: %.*s\n", e.text, (int)n, text);
        check(j && json_object_size(j) == 3);
        return j;
}

TEST(members) {
        char buf[DENIAL_JSON_MAX];
        json_t *j = read_json(buf, denial_json(buf, sizeof(buf), "belljar.yaml:3", "no \"rule\" \\ names it", "--allow x:443"));

        check_streq(json_string_value(json_object_get(j, "denied_by")), "belljar.yaml:3");
        check_streq(json_string_value(json_object_get(j, "reason")), "no \"rule\" \\ names it");
        check_streq(json_string_value(json_object_get(j, "fix")), "--allow x:443");
        json_decref(j);
        j = read_json(buf, denial_json(buf, sizeof(buf), NULL, "x", ""));
        check(json_is_null(json_object_get(j, "denied_by")));
        json_decref(j);
}

/* Whatever the texts are, the answer is JSON, on one line, and fits. */
TEST(hostile_texts) {
        char buf[DENIAL_JSON_MAX], text[4096];

        for (unsigned seed = 1; seed < 400; seed++) {
                unsigned x = seed;
                size_t n = seed * 10 % (sizeof(text) - 1);
                for (size_t i = 0; i < n; i++) {
                        x = x * 1103515245u + 12345u;
                        text[i] = (char)(x >> 16 & 0xff ?: 1);
                }
                text[n] = 0;
                size_t len = denial_json(buf, sizeof(buf), seed % 2 ? text : NULL, text, text);
                check(len < sizeof(buf) && buf[len] == 0 && strchr(buf, '\n') == buf + len - 1);
                json_decref(read_json(buf, len));
        }
}

TEST(budgets_have_words) {
        static const char *const names[] = {"up", "down", "requests", "url", "hosts", "subdomains", "novel"};
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                check(strncmp(denial_spent(names[i]), "the budget of ", 14) == 0);
        check_streq(denial_spent("\x1b[2J"), "a budget is used up");
}

TAP_MAIN
