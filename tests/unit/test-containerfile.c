#include "model/containerfile.h"
#include "tap.h"

static const char *list(const char *text, const char *target, const char *arg) {
        static char out[512];
        _cleanup_strlist_ struct strlist found = {}, args = {};
        struct error e = {};
        size_t n = 0;

        if (arg)
                check(strlist_add(&args, arg) == 0);
        int r = containerfile_images(text, strlen(text), &args, target, &found, &e);
        out[0] = 0;
        if (r < 0) {
                check(e.errnum == -r && e.msg[0] && found.n == 0);
                snprintf(out, sizeof(out), "%s", e.msg);
        }
        for (size_t i = 0; i < found.n; i++)
                n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s", i ? " " : "", found.items[i]);
        return out;
}

TEST(names) {
        check_streq(list("FROM debian:12\n", NULL, NULL), "debian:12");
        check_streq(list("from debian", NULL, NULL), "debian");
        check_streq(list("\xef\xbb\xbf# a comment\n\n  FROM  --platform=linux/amd64\tx/y:1  AS  b \r\nFROM b\nFROM scratch\n", NULL, NULL), "x/y:1");
        check_streq(list("FROM a\nFROM a\nFROM b", NULL, NULL), "a b");
        check_streq(list("FROM a AS One\nFROM one\nFROM ONE AS two\nCOPY --from=One /x /\nCOPY --from=0 /x /\nCOPY --from=3 /x /", NULL, NULL), "a 3");
        check_streq(list("FROM a\nCOPY --chown=1 --from=c:2 x y\nADD --from=d x y\nRUN --mount=type=bind,from=e,source=/ --mount=type=cache,target=/c ls\n",
                         NULL, NULL), "a c:2 d e");
        check_streq(list("FROM a\nRUN echo --from=b\nCOPY x --from=c\nENV FROM=x\n", NULL, NULL), "a");
}

TEST(continued) {
        check_streq(list("FROM \\\n# between\n\n  a \\\n AS b\nFROM b", NULL, NULL), "a");
        check_streq(list("# escape=`\nFROM a` \n AS b\nFROM b\nFROM c\\", NULL, NULL), "a c\\");
        check_streq(list("#syntax=x\n# ESCAPE = `\nFROM a`\n AS b\nFROM b\n", NULL, NULL), "a");
        /* A directive counts only before anything else. */
        check_streq(list("# a comment\n# escape=`\nFROM a\\\n AS b\nFROM b\n", NULL, NULL), "a");
        check_streq(list("RUN \\\nFROM a\nFROM b\n", NULL, NULL), "b");
        check_streq(list("FROM a\nRUN x \\\n FROM y\n", NULL, NULL), "a");
}

TEST(variables) {
        check_streq(list("ARG V=12\nFROM debian:$V\nFROM debian:${V}-slim\n", NULL, NULL), "debian:12 debian:12-slim");
        check_streq(list("ARG V=12\nFROM debian:$V\n", NULL, "V=13"), "debian:13");
        check_streq(list("ARG V\nFROM debian:${V:-11}\n", NULL, NULL), "debian:11");
        check_streq(list("ARG V\nFROM debian:${V:-11}\n", NULL, "V=9"), "debian:9");
        check_streq(list("ARG V=1\nFROM a${V:+-b}${W:+-c}\n", NULL, NULL), "a-b");
        check_streq(list("ARG A=x B=\"y\"\nARG C=$A/$B\nFROM $C\n", NULL, NULL), "x/y");
        check_streq(list("FROM a-$TARGETOS\nARG V=late\nFROM b$V\n", NULL, NULL), "a-linux b");
        /* Nobody's ARG takes what is given. */
        check_streq(list("FROM debian$V\n", NULL, "V=13"), "debian");
}

TEST(targets) {
        const char *text = "FROM a AS one\nFROM b AS two\nCOPY --from=c / /\nFROM d\n";
        check_streq(list(text, "one", NULL), "a");
        check_streq(list(text, "TWO", NULL), "a b c");
        check_streq(list(text, "1", NULL), "a b c");
        check_streq(list(text, "2", NULL), "a b c d");
        check_streq(list(text, "three", NULL), "the Containerfile has no stage three");
        check_streq(list(text, "3", NULL), "the Containerfile has no stage 3");
}

TEST(refused) {
        static const char *const bad[] = {
                "", "# nothing\n", "RUN x\n", "FROM\n", "FROM a b\n", "FROM a AS\n", "FROM a AS b c\n", "FROM --platform=x\n", "FROM ${a\n",
                "FROM $\n", "FROM ${V:?x}\n", "FROM $V\n", "FROM ${V:-x\n",
        };
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_strlist_ struct strlist found = {};
                struct error e = {};
                check(containerfile_images(bad[i], strlen(bad[i]), &(struct strlist){}, NULL, &found, &e) == -EINVAL);
        }
        _cleanup_strlist_ struct strlist found = {};
        struct error e = {};
        check(containerfile_images("FROM a\0b", 8, &(struct strlist){}, NULL, &found, &e) == -EINVAL);
        _cleanup_strbuf_ struct strbuf b = {};
        strbuf_puts(&b, "FROM ");
        for (int i = 0; i < CONTAINERFILE_NAME_MAX + 1; i++)
                strbuf_puts(&b, "a");
        check(containerfile_images(b.data, b.len, &(struct strlist){}, NULL, &found, &e) == -EINVAL);
        b.len = 0;
        for (int i = 0; i <= CONTAINERFILE_IMAGES_MAX; i++)
                strbuf_printf(&b, "FROM a%d\n", i);
        check(containerfile_images(b.data, b.len, &(struct strlist){}, NULL, &found, &e) == -EINVAL);
        b.len = 0;
        for (int i = 0; i <= CONTAINERFILE_STAGES_MAX; i++)
                strbuf_puts(&b, "FROM a\n");
        check(containerfile_images(b.data, b.len, &(struct strlist){}, NULL, &found, &e) == -EINVAL);
        check(found.n == 0);
}

TAP_MAIN
