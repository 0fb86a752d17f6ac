#include <string.h>

#include "proto/net-msg.h"
#include "tap.h"

TEST(reports) {
        struct net_report r = {.type = NET_DENIED, .what = NET_HTTP, .port = 443, .host = "a.test"}, got = {};

        check(net_report_read(&r, sizeof(r), &got) == 0 && got.type == NET_DENIED && got.what == NET_HTTP && got.port == 443 && strcmp(got.host, "a.test") == 0);
        check(net_report_read(&r, sizeof(r) - 1, &got) < 0 && net_report_read(&r, sizeof(r) + 1, &got) < 0 && net_report_read(&r, 0, &got) < 0);
        for (r.type = 0; r.type < 12; r.type++)
                check((net_report_read(&r, sizeof(r), &got) == 0) == (r.type >= NET_DENIED && r.type <= NET_ASKED));
        r.type = NET_BROKER_WANTED;
        r.rule = NET_BROKERS_MAX - 1;
        check(net_report_read(&r, sizeof(r), &got) == 0);
        r.rule++;
        check(net_report_read(&r, sizeof(r), &got) < 0);
        r.type = NET_ENDED;
        check(net_report_read(&r, sizeof(r), &got) == 0);
        r.port = 65536;
        check(net_report_read(&r, sizeof(r), &got) < 0);
        r.port = 1;
        r.what = NET_HTTP + 1;
        check(net_report_read(&r, sizeof(r), &got) < 0);
        r.what = 0;
        r.quiet = 2;
        check(net_report_read(&r, sizeof(r), &got) < 0);
        r.quiet = 1;
        char *const texts[] = {r.host, r.text, r.why, r.fix};
        const size_t sizes[] = {sizeof(r.host), sizeof(r.text), sizeof(r.why), sizeof(r.fix)};
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                memset(texts[i], 'x', sizes[i] - 1);
                check(net_report_read(&r, sizeof(r), &got) == 0);
                texts[i][sizes[i] - 1] = 'x';
                check(net_report_read(&r, sizeof(r), &got) < 0);
                texts[i][sizes[i] - 1] = 0;
        }
}

TEST(what_is_refused_leaves_the_result_alone) {
        struct net_report r = {.type = 99}, got = {.port = 7};
        struct net_order o = {.type = 99}, order = {.n = 7};
        struct broker_job j = {.type = 99, .port = 1}, job = {.port = 7};

        check(net_report_read(&r, sizeof(r), &got) == -EBADMSG && got.port == 7);
        check(net_order_read(&o, sizeof(o), 0, &order) == -EBADMSG && order.n == 7);
        check(broker_job_read(&j, sizeof(j), 1, &job) == -EBADMSG && job.port == 7);
}

TEST(orders_have_their_descriptors) {
        static const struct { uint32_t type; size_t least, most; } kinds[] = {
                {NET_CONFIG, 0, 0}, {NET_BROKER, 1, 1}, {NET_LEASE, 0, 0}, {NET_FLUSH, 0, 0}, {NET_POLICY, 1, 2}, {NET_RENEWED, 1, 1},
        };
        struct net_order o = {}, got;

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                for (size_t n = 0; n < 5; n++) {
                        o.type = kinds[i].type;
                        check((net_order_read(&o, sizeof(o), n, &got) == 0) == (n >= kinds[i].least && n <= kinds[i].most));
                        check(net_order_read(&o, sizeof(o) - 1, n, &got) < 0 && net_order_read(&o, sizeof(o) + 1, n, &got) < 0);
                }
        o = (struct net_order){.type = NET_BROKER, .n = NET_BROKERS_MAX};
        check(net_order_read(&o, sizeof(o), 1, &got) < 0);
        o = (struct net_order){.type = NET_CONFIG, .pool_prefix = 33};
        check(net_order_read(&o, sizeof(o), 0, &got) < 0);
        o = (struct net_order){.type = NET_CONFIG, .n_published = NET_PUBLISHED_MAX + 1};
        check(net_order_read(&o, sizeof(o), 0, &got) < 0);
        o = (struct net_order){.type = NET_CONFIG, .sockets = 1u << NETNS_N};
        check(net_order_read(&o, sizeof(o), 0, &got) < 0);
        o = (struct net_order){.type = NET_CONFIG, .sockets = (1u << NETNS_N) - 1, .n_published = NET_PUBLISHED_MAX, .pool_prefix = 32};
        check(net_order_read(&o, sizeof(o), 0, &got) == 0);
}

TEST(jobs) {
        struct broker_job j = {.type = BROKER_CONNECT, .port = 443, .host = "a.test"}, got;

        check(broker_job_read(&j, sizeof(j), 1, &got) == 0 && got.type == BROKER_CONNECT && got.port == 443 && strcmp(got.host, "a.test") == 0);
        check(broker_job_read(&j, sizeof(j), 0, &got) == -EMFILE && broker_job_read(&j, sizeof(j), 2, &got) < 0);
        check(broker_job_read(&j, sizeof(j) - 1, 1, &got) < 0 && broker_job_read(&j, sizeof(j) + 1, 1, &got) < 0);
        j.tls = 1; /* of an exchange only */
        check(broker_job_read(&j, sizeof(j), 1, &got) < 0);
        j.type = BROKER_EXCHANGE;
        check(broker_job_read(&j, sizeof(j), 1, &got) == 0);
        j.tls = 2;
        check(broker_job_read(&j, sizeof(j), 1, &got) < 0);
        j.tls = 0;
        for (uint32_t port = 65534; port < 65540; port++) {
                j.port = port;
                check((broker_job_read(&j, sizeof(j), 1, &got) == 0) == (port <= 65535));
        }
        j.port = 0;
        check(broker_job_read(&j, sizeof(j), 1, &got) < 0);
        j.port = 1;
        memset(j.host, 'x', sizeof(j.host) - 1);
        check(broker_job_read(&j, sizeof(j), 1, &got) == 0);
        j.host[sizeof(j.host) - 1] = 'x';
        check(broker_job_read(&j, sizeof(j), 1, &got) < 0);
        memset(j.host, 0, sizeof(j.host));
        check(broker_job_read(&j, sizeof(j), 1, &got) < 0);
        j.type = BROKER_JOIN;
        for (size_t n = 0; n < 6; n++)
                check((broker_job_read(&j, sizeof(j), n, &got) == 0) == (n == 2 || n == 3));
        check(broker_job_read(&j, sizeof(j), 1, &got) == -EMFILE && broker_job_read(&j, sizeof(j), 4, &got) == -EBADMSG);
        j.host[0] = 'x';
        check(broker_job_read(&j, sizeof(j), 1, &got) == -EBADMSG && broker_job_read(&j, sizeof(j), 2, &got) == -EBADMSG);
}

TAP_MAIN
