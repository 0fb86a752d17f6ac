/* What was given, what it costs, and that it holds whoever writes at the same time. */
#include <sys/wait.h>

#include "base/macros.h"
#include "svc/net-given.h"
#include "tap.h"

static struct given *make(void) {
        struct given *g;
        int fd = given_make();
        check(fd >= 0 && given_map(fd, &g) == 0);
        close(fd);
        return g;
}

#define T(text) (text), strlen(text)

TEST(given) {
        struct given *g = make();

        check(given_price(g, T("https://a.test/x")) == 8 * 17);
        given_add(g, T("https://a.test/x"));
        check(given_price(g, T("https://a.test/x")) == 0);
        /* Where another one begins alike, the rest and its end are new. */
        check(given_price(g, T("https://a.test/x?q=K")) == 8 * 5);
        check(given_price(g, T("https://a.test/xy")) == 8 * 3);
        check(given_price(g, T("https://a.test/")) == 8);
        check(given_price(g, T("https://b.test/x")) == 8 * 17);
        check(given_price(g, T("http://a.test/x")) == 8 * 16);
        check(given_price(g, T("https://a.test:8443/x")) == 8 * 22);
        given_add(g, T("https://c.test"));
        check(given_price(g, T("https://c.test/ab")) == 8 * 4);
        given_unmap(g);
}

TEST(reach) {
        struct given *g = make();

        check(given_reach(g, T("https://a.test/x")) == 0);
        given_add(g, T("https://a.test/x"));
        check(given_reach(g, T("https://a.test/x")) == 16 && given_reach(g, T("https://a.test/y")) == 15 && given_reach(g, T("https://a.test/x?q")) == 16);
        given_tell(g, T("https://b.test/"), 8);
        given_add_by(g, T("https://a.test/y/z"), T("https://b.test/"));
        check(given_reach(g, T("https://a.test/y/z")) == 15);
        given_unmap(g);
}

TEST(givers) {
        struct given *g = make();
        static const char a[] = "https://a.test/1", b[] = "https://b.test/x?q=secret";

        /* One that was told nothing gives for nothing, and once given it stays. */
        given_add_by(g, T("https://b.test/early"), T(a));
        check(given_price(g, T("https://b.test/early")) == 0);
        given_tell(g, T(a), 40);
        given_add_by(g, T("https://b.test/early"), T(a));
        check(given_price(g, T("https://b.test/early")) == 0);
        /* What it gives then may carry on what it was told; its own URLs go back to where that is known. */
        given_add_by(g, T(b), T(a));
        check(given_price(g, T(b)) == 40);
        given_add_by(g, T("https://a.test/2?q=secret"), T(a));
        check(given_price(g, T("https://a.test/2?q=secret")) == 0);
        /* Paid for once: from then on it is known there, and what comes from there carries it on. */
        given_tell(g, T(b), 40);
        given_add_by(g, T(b), T(b));
        check(given_price(g, T(b)) == 0);
        given_add_by(g, T("https://c.test/something/long"), T(b));
        check(given_price(g, T("https://c.test/something/long")) == 40);
        given_tell(g, T(b), 8);
        given_add_by(g, T("https://c.test/something/longer"), T(b));
        check(given_price(g, T("https://c.test/something/longer")) == 48);
        check(given_price(g, T("https://c.test/something/lon")) == 40 + 8 * 4); /* behind what was given for less */
        /* It is never more than the URL itself says. */
        given_tell(g, T(a), UINT64_MAX);
        given_add_by(g, T("https://d.test/"), T(a));
        check(given_price(g, T("https://d.test/")) == 8 * 16);
        /* And less where somebody else gives it, too. */
        given_add(g, T("https://d.test/"));
        check(given_price(g, T("https://d.test/")) == 0);
        given_unmap(g);
}

/* Nothing is forgotten, and nothing more is taken; an origin for whose count there is no room gives nothing. */
TEST(full) {
        struct given *g = make();
        char url[64];
        size_t i;

        given_add(g, T("https://a.test/first"));
        for (i = 0; !given_full(g) && i < 2 * GIVEN_MAX; i++) {
                snprintf(url, sizeof(url), "https://b.test/%zu", i);
                given_add(g, T(url));
        }
        check(given_full(g) && i < GIVEN_MAX);
        check(given_price(g, T("https://a.test/first")) == 0);
        given_add(g, T("https://a.test/last"));
        check(given_price(g, T("https://a.test/last")) == 8 * 5);
        given_tell(g, T("https://c.test/"), 1);
        given_add_by(g, T("https://a.test/first"), T("https://c.test/"));
        given_add_by(g, T("https://b.test/0x"), T("https://c.test/"));
        check(given_price(g, T("https://b.test/0x")) > 0);
        given_unmap(g);
}

/* Brokers share it: each sees what the other has given, and counts are sums. */
TEST(shared) {
        struct given *g = make();
        char url[64];

        for (int p = 0; p < 4; p++)
                if (fork() == 0) {
                        for (int i = 0; i < 1000; i++) {
                                snprintf(url, sizeof(url), "https://a.test/%d", i);
                                given_add(g, T(url));
                                given_tell(g, T("https://e.test/"), 1);
                        }
                        _exit(0);
                }
        while (wait(NULL) > 0)
                ;
        for (int i = 0; i < 1000; i++) {
                snprintf(url, sizeof(url), "https://a.test/%d", i);
                check(given_price(g, T(url)) == 0);
        }
        static char far[1024] = "https://f.test/";
        memset(far + 15, 'x', 1000);
        given_add_by(g, T(far), T("https://e.test/"));
        check(given_price(g, T(far)) == 4000);
        given_unmap(g);
}

TEST(of_another_size) {
        FILE *f = tmpfile();
        struct given *g;

        check(f && ftruncate(fileno(f), 4096) == 0);
        check(given_map(fileno(f), &g) == -EBADMSG);
        fclose(f);
}

TAP_MAIN
