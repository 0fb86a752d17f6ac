#include <arpa/inet.h>
#include <sys/socket.h>

#include "svc/publish.h"
#include "tap.h"

TEST(what_is_published) {
        static const struct {
                const char *text, *address;
                unsigned port, inside;
        } good[] = {
                {"8080:3000", "127.0.0.1", 8080, 3000},       {"8080:3000/tcp", "127.0.0.1", 8080, 3000},
                {"0:80", "127.0.0.1", 0, 80},                 {"0.0.0.0:8080:3000", "0.0.0.0", 8080, 3000},
                {"10.1.2.3:65535:1", "10.1.2.3", 65535, 1},   {"[::1]:8080:3000", "::1", 8080, 3000},
        };
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                struct plan_publish p;
                struct error e = {};
                uint8_t want[16] = {[10] = 0xff, [11] = 0xff};
                check(publish_parse(good[i].text, &p, &e) == 0);
                if (!inet_pton(AF_INET, good[i].address, want + 12))
                        check(inet_pton(AF_INET6, good[i].address, want) == 1);
                check(memcmp(want, p.address, 16) == 0 && p.port == good[i].port && p.inside == good[i].inside);
        }
}

TEST(what_is_not) {
        static const char *const bad[] = {"", ":", "80", "8080:", ":80", "8080:0", "65536:80", "80:65536", "080:80", "80:-1", "80:80/udp", "x:80",
                                          "localhost:80:80", "127.1:80:80", "1.2.3.4.5:80:80", "1:2:3:4", "80:80 ", " 80:80", "80:80/tcp/tcp"};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                struct plan_publish p;
                struct error e = {};
                if (publish_parse(bad[i], &p, &e) == 0)
                        printf("# %s\n", bad[i]);
                check(publish_parse(bad[i], &p, &e) == -EINVAL && strstr(e.fix, "-p 8080:3000"));
        }
}

TEST(a_port_that_is_taken) {
        struct plan_network n = {.n_published = 2};
        struct error e = {};
        int fds[PUBLISH_MAX];

        check(publish_parse("0:80", &n.published[0], &e) == 0);
        n.published[1] = n.published[0];
        check(publish_open(&n, fds, &e) == 0 && n.published[0].port > 0 && n.published[0].port != n.published[1].port);
        struct plan_network again = {.n_published = 1, .published = {n.published[0]}};
        check(publish_open(&again, fds, &e) == -EADDRINUSE && strstr(e.msg, "cannot be published"));
}

TAP_MAIN
