#include "proto/event.h"
#include "base/utf8.h"
#include "tap.h"

TEST(every_kind_has_a_name) {
        for (uint32_t i = 1; i < EVENT_N; i++) {
                check(strcmp(event_kind_name(i), "?") != 0 && strlen(event_kind_name(i)) < 16);
                for (uint32_t k = 1; k < i; k++)
                        check(strcmp(event_kind_name(i), event_kind_name(k)) != 0);
        }
        check_streq(event_kind_name(0), "?");
        check_streq(event_kind_name(EVENT_N), "?");
}

TEST(texts_are_cut_at_a_character) {
        struct event ev = {};
        char text[EVENT_NAME_MAX + 40];

        event_set(&ev, EVENT_F_NAME, name, "short");
        check_streq(ev.name, "short");
        check(ev.cut == 0);
        memset(text, 'a', sizeof(text));
        text[EVENT_NAME_MAX - 1] = 0;
        event_set(&ev, EVENT_F_NAME, name, text);
        check(strlen(ev.name) == EVENT_NAME_MAX - 1 && ev.cut == 0);
        snprintf(text + EVENT_NAME_MAX - 2, 20, "\xe2\x82\xac and more");
        event_set(&ev, EVENT_F_NAME, name, text);
        check(strlen(ev.name) == EVENT_NAME_MAX - 2 && ev.cut == EVENT_F_NAME);
        /* What is no UTF-8 must not make a text disappear. */
        ev.cut = 0;
        memset(text, 0x80, sizeof(text) - 1);
        text[sizeof(text) - 1] = 0;
        event_set(&ev, EVENT_F_NAME, name, text);
        check(strlen(ev.name) == EVENT_NAME_MAX - 1 && ev.cut == EVENT_F_NAME);
}

TAP_MAIN
