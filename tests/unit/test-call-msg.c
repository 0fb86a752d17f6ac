#include <errno.h>
#include <string.h>

#include "proto/call-msg.h"
#include "tap.h"

#define READ(text, w) call_words_read(text, sizeof(text) - 1, w)

TEST(words) {
        struct call_words w;

        check(READ("ssh\0/work\0git@a.test\0git-upload-pack 'x'\0", &w) == 0);
        check(strcmp(w.name, "ssh") == 0 && strcmp(w.cwd, "/work") == 0 && w.argc == 2);
        check(strcmp(w.argv[0], "git@a.test") == 0 && strcmp(w.argv[1], "git-upload-pack 'x'") == 0 && !w.argv[2]);
        check(READ("ssh-keygen\0/\0", &w) == 0 && w.argc == 0 && !w.argv[0]);
        check(READ("a\0/\0\0\0", &w) == 0 && w.argc == 2 && w.argv[1][0] == 0);
}

TEST(what_is_no_call) {
        struct call_words w = {.argc = 7};

        check(READ("", &w) == -EBADMSG && READ("ssh", &w) == -EBADMSG && READ("ssh\0", &w) == -EBADMSG);
        check(READ("ssh\0/work", &w) == -EBADMSG && READ("ssh\0/work\0x", &w) == -EBADMSG);
        check(READ("\0/\0", &w) == -EBADMSG && READ("../ssh\0/\0", &w) == -EBADMSG && READ("SSH\0/\0", &w) == -EBADMSG);
        check(READ("ssh\0work\0", &w) == -EBADMSG && READ("ssh\0\0", &w) == -EBADMSG);
        check(READ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\0/\0", &w) == -EBADMSG);
        check(w.argc == 7);
}

TEST(many_words) {
        static char text[4 + 2 + CALL_WORDS_MAX + 1];
        struct call_words w;

        memcpy(text, "ssh\0/", 6);
        check(call_words_read(text, 6 + CALL_WORDS_MAX, &w) == 0 && w.argc == CALL_WORDS_MAX);
        check(call_words_read(text, 6 + CALL_WORDS_MAX + 1, &w) == -E2BIG);
}

TEST(heads) {
        struct call_head h = {.magic = CALL_MAGIC, .size = CALL_PAYLOAD_MAX};

        for (unsigned type = 0; type < 256; type++) {
                h.type = (uint8_t)type;
                check(call_head_good(&h, true) == (type >= CALL_BEGIN && type <= CALL_DONE));
                check(call_head_good(&h, false) == (type >= CALL_WANT_INPUT && type <= CALL_EXIT));
        }
        h.type = CALL_BEGIN;
        h.size++;
        check(!call_head_good(&h, true));
        h.size = 0;
        h.zero = 1;
        check(!call_head_good(&h, true));
        h.zero = 0;
        h.magic = 0;
        check(!call_head_good(&h, true));
}

TAP_MAIN
