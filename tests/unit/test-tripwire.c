/* Tripwires: windows, counts, and what leads to a refused goal by another way. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "model/policy.h"
#include "model/tripwire.h"
#include "tap.h"

static struct tripwires set;

/* n of them, from goal "NAME" or, where it ends with '-', from "NAME0", "NAME1" and so on: none but the last may ring. */
static const struct trip_wire *many(enum trip_on on, unsigned n, const char *name, uint64_t from, uint64_t step) {
        const struct trip_wire *w = NULL;
        char goal[64];

        for (unsigned i = 0; i < n; i++) {
                if (name[strlen(name) - 1] == '-')
                        snprintf(goal, sizeof(goal), "%s%u", name, i);
                else
                        snprintf(goal, sizeof(goal), "%s", name);
                w = tripwires_note(&set, on, goal, from + i * step);
                if (i + 1 < n)
                        check(!w);
        }
        return w;
}

TEST(count_and_window) {
        static const struct trip_wire w[] = {{.on = TRIP_DENIED, .count = 5, .within = 60000, .act = TRIP_HOLD}};

        tripwires_init(&set, w, 1);
        check(many(TRIP_DENIED, 5, "a.test", 1000, 1000) == &w[0]);
        /* It begins anew. */
        check(!many(TRIP_DENIED, 4, "a.test", 10000, 1000));
        check(tripwires_note(&set, TRIP_DENIED, "a.test", 20000) == &w[0]);
        /* The fifth comes when the first has left the window: at its very end it has. */
        check(!many(TRIP_DENIED, 4, "a.test", 100000, 1000));
        check(!tripwires_note(&set, TRIP_DENIED, "a.test", 160000));
        /* Now the second to the fifth count, and one more rings. */
        check(tripwires_note(&set, TRIP_DENIED, "a.test", 160500) == &w[0]);
        /* Other events do not count. */
        check(!many(TRIP_BUDGET, 20, "a.test", 200000, 300));
}

TEST(one_try_is_one) {
        static const struct trip_wire w[] = {{.on = TRIP_DENIED, .count = 3, .within = 60000, .act = TRIP_KILL}};

        tripwires_init(&set, w, 1);
        check(!many(TRIP_DENIED, 40, "a.test", 1000, 1)); /* IPv4, IPv6, a search list: the same moment */
        check(!tripwires_note(&set, TRIP_DENIED, "b.test", 1041));
        check(tripwires_note(&set, TRIP_DENIED, "a.test", 1042) == &w[0]);
        /* A loop rings all the same. */
        const struct trip_wire *rang = NULL;
        for (uint64_t at = 5000; at < 6000 && !rang; at += 10)
                rang = tripwires_note(&set, TRIP_DENIED, "a.test", at);
        check(rang == &w[0]);
}

TEST(distinct_goals) {
        static const struct trip_wire w[] = {{.on = TRIP_DENIED, .count = 20, .within = 60000, .act = TRIP_KILL, .distinct = true}};

        tripwires_init(&set, w, 1);
        check(!many(TRIP_DENIED, 200, "a.test", 1000, 250));
        check(!many(TRIP_DENIED, 18, "h-", 51000, 10)); /* 19 with a.test */
        check(!many(TRIP_DENIED, 18, "h-", 52000, 10));
        check(tripwires_note(&set, TRIP_DENIED, "last.test", 53000) == &w[0]);
        /* Slowly enough, none rings. */
        for (unsigned i = 0; i < 100; i++) {
                char goal[32];
                snprintf(goal, sizeof(goal), "s%u.test", i);
                check(!tripwires_note(&set, TRIP_DENIED, goal, 200000 + i * 3200ull));
        }
}

TEST(the_strongest_does) {
        static const struct trip_wire w[] = {{.on = TRIP_BUDGET, .count = 1, .within = 1000, .act = TRIP_WARN},
                                             {.on = TRIP_BUDGET, .count = 2, .within = 1000, .act = TRIP_CUT},
                                             {.on = TRIP_BUDGET, .count = 2, .within = 1000, .act = TRIP_HOLD}};

        tripwires_init(&set, w, 3);
        check(tripwires_note(&set, TRIP_BUDGET, "a", 1000) == &w[0]);
        check(tripwires_note(&set, TRIP_BUDGET, "b", 1001) == &w[2]);
        check(tripwires_look_at(&set, TRIP_BUDGET) && !tripwires_look_at(&set, TRIP_DENIED));
}

TEST(largest_count) {
        static const struct trip_wire w[] = {{.on = TRIP_DENIED, .count = TRIP_COUNT_MAX, .within = 86400000, .act = TRIP_KILL}};

        tripwires_init(&set, w, 1);
        check(many(TRIP_DENIED, TRIP_COUNT_MAX, "h-", 1, 1000) == &w[0]);
}

static bool leads(const char *text, const char *goal, enum trip_proof proof) { return trip_leads_to(text, strlen(text), goal, proof); }

TEST(what_leads_to_a_goal) {
        static const char *const ways[] = {"/https://evil.test/x", "/?url=evil.test", "/?u=https%3A%2F%2Fevil.test", "/?u=https%253A%252F%252FEVIL.test%252Fx",
                                           "/?name=evil.test&type=A", "/fetch/http://evil.test", "//evil.test/", "/?x=a@evil.test", "/?u=//evil.test:8443/", "/?q=evil.test."};
        static const char *const none[] = {"/evil.test/@v/list", "/pkg/evil.test", "/?url=notevil.test", "/?url=evil.test.example", "/?url=evil.testing", "/?q=an-evil.test",
                                           "/?u=https://x.evil.test/", "", "/", "%", "/%2", "/?q=evil%2ftest"};

        for (size_t i = 0; i < ELEMENTSOF(ways); i++) {
                if (!leads(ways[i], "evil.test", TRIP_AS_PLACE))
                        printf("# %s\n", ways[i]);
                check(leads(ways[i], "evil.test", TRIP_AS_PLACE));
        }
        for (size_t i = 0; i < ELEMENTSOF(none); i++) {
                if (leads(none[i], "evil.test", TRIP_AS_PLACE))
                        printf("# %s\n", none[i]);
                check(!leads(none[i], "evil.test", TRIP_AS_PLACE));
        }
        check(leads("/web/2020/evil.test", "evil.test", TRIP_AS_WORD) && !leads("/web/notevil.test", "evil.test", TRIP_AS_WORD));
        check(leads("/?u=http://203.0.113.7/x", "203.0.113.7", TRIP_AS_PLACE) && !leads("/?u=http://203.0.113.77/x", "203.0.113.7", TRIP_AS_PLACE));
}

TEST(what_an_allowed_request_says) {
        check(leads("/?u=https://evil.test/", "evil.test", TRIP_AS_URL) && leads("/?u=https%3a%2f%2fevil.test", "evil.test", TRIP_AS_URL));
        check(!leads("/search?q=evil.test", "evil.test", TRIP_AS_URL) && !leads("/evil.test/@v/list", "evil.test", TRIP_AS_URL) && !leads("evil.test", "evil.test", TRIP_AS_URL));
}

TEST(other_ways) {
        static const struct trip_wire w[] = {{.on = TRIP_REROUTED, .count = 1, .within = 60000, .act = TRIP_KILL}};

        tripwires_init(&set, w, 1);
        check(!tripwires_way(&set, "relay.test", false, "GET /https://evil.test/", false, false, 1000)); /* nothing was refused so far */
        tripwires_refused(&set, "Evil.test", false, 1000);
        check(!tripwires_way(&set, "evil.test", false, "GET /?next=https://evil.test/", false, false, 1100)); /* the same again */
        check_streq(tripwires_way(&set, "relay.test", false, "GET /https://evil.test/", false, false, 1200), "evil.test");
        check_streq(tripwires_way(&set, "evil-test.relay.example", false, "", false, false, 1200), "evil.test");
        check_streq(tripwires_way(&set, "evil.test.relay.example", false, "", false, false, 1200), "evil.test");
        check(!tripwires_way(&set, "www.evil.test", false, "", false, false, 1200)); /* another of its names */
        check_streq(tripwires_way(&set, "203.0.113.7", true, "", false, false, 1200), "evil.test");
        check_streq(tripwires_way(&set, "fetcher.test", false, "", true, false, 1200), "evil.test");
        check(!tripwires_way(&set, "other.test", false, "GET /evil.test", false, false, 1200));
        check(!tripwires_way(&set, "other.test", false, "", false, false, 1200));
        check(!tripwires_way(&set, "relay.test", false, "GET /https://evil.test/", false, false, 61000)); /* long ago */
        /* What the policy allows. */
        check_streq(tripwires_way(&set, "ok.test", false, "GET /?u=https://evil.test/", false, true, 1200), "evil.test");
        check(!tripwires_way(&set, "ok.test", false, "GET /search?q=evil.test", false, true, 1200) && !tripwires_way(&set, "203.0.113.7", true, "", false, true, 1200));
        check_streq(tripwires_way(&set, "fetcher.test", false, "GET /2020/evil.test", true, true, 1200), "evil.test");
        check(!tripwires_way(&set, "fetcher.test", false, "GET /", true, true, 1200));
        /* A refused address: another one is not a way to it, its own in a URL is. */
        memset(&set, 0, sizeof(set));
        tripwires_init(&set, w, 1);
        tripwires_refused(&set, "203.0.113.7", true, 1000);
        check(!tripwires_way(&set, "203.0.113.8", true, "", false, false, 1001));
        check_streq(tripwires_way(&set, "relay.test", false, "GET /?u=203.0.113.7", false, false, 1001), "203.0.113.7");
}

TEST(goals_are_bounded) {
        static const struct trip_wire w[] = {{.on = TRIP_REROUTED, .count = 1, .within = 60000, .act = TRIP_KILL}};
        char name[300];

        tripwires_init(&set, w, 1);
        for (unsigned i = 0; i < 3 * TRIP_GOALS_MAX; i++) {
                snprintf(name, sizeof(name), "h%u.test", i);
                tripwires_refused(&set, name, false, 1000 + i);
        }
        check(!tripwires_way(&set, "relay.test", false, "GET /?u=h0.test", false, false, 2000));
        check_streq(tripwires_way(&set, "relay.test", false, "GET /?u=h95.test", false, false, 2000), "h95.test");
        memset(name, 'a', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        tripwires_refused(&set, name, false, 3000); /* longer than a name can be: not remembered */
        check(!tripwires_way(&set, "relay.test", false, "", false, false, 3000));
        /* Without a wire nothing is. */
        memset(&set, 0, sizeof(set));
        tripwires_refused(&set, "a.test", false, 1000);
        check(!tripwires_way(&set, "relay.test", false, "GET /?u=a.test", false, false, 1001));
}

TEST(fetchers) {
        check(trip_fetches("web.archive.org") && !trip_fetches("archive.org.example") && !trip_fetches("example.org"));
        check(!trip_fetches("httpbin.org")); /* of the list, but it only echoes */
}

static struct policy *read_policy(const char *text, int want, const char *msg) {
        struct policy *p = NULL;
        struct error e = {};
        int r = policy_parse(text, strlen(text), "p.yaml", &p, &e);

        if (r != want || (msg && !strstr(e.msg, msg)))
                printf("# %s: %d %s\n", text, r, e.msg);
        check(r == want && (!msg || strstr(e.msg, msg)));
        return p;
}

TEST(policy) {
        _cleanup_policy_ struct policy *none = read_policy("version: 1\n", 0, NULL), *empty = read_policy("version: 1\ntripwires: []\n", 0, NULL);
        _cleanup_policy_ struct policy *own = read_policy("version: 1\ntripwires:\n  - {on: denied, count: 5, within: 2m, do: hold}\n  - {on: denied, distinct: true, do: warn}\n", 0, NULL);
        size_t denied = 0;

        check(none->n_wires == trip_n_defaults && empty->n_wires == trip_n_defaults);
        check(own->n_wires == trip_n_defaults + 1); /* two in place of one */
        for (size_t i = 0; i < own->n_wires; i++) {
                const struct trip_wire *w = &own->wires[i];
                if (w->on != TRIP_DENIED) {
                        check(w->is_default);
                        continue;
                }
                check(!w->is_default);
                check(denied++ ? w->count == 1 && w->within == 60000 && w->distinct && w->act == TRIP_WARN
                               : w->count == 5 && w->within == 120000 && !w->distinct && w->act == TRIP_HOLD);
        }
        check(denied == 2);
        _cleanup_policy_ struct policy *off = read_policy("version: 1\ntripwires: [{on: denied, do: off}, {on: budget, do: cut}]\n", 0, NULL);
        check(off->n_wires == trip_n_defaults && off->wires[off->n_wires - 1].act == TRIP_CUT);
        struct error e = {};
        check(policy_set_tripwire(off, "denied=hold", &e) == 0 && off->n_wires == trip_n_defaults + 1);
        check(policy_set_tripwire(off, "budget=off", &e) == 0 && policy_set_tripwire(off, "rerouted=warn", &e) == 0 && off->n_wires == trip_n_defaults);
        check(policy_set_tripwire(off, "rerouted", &e) == -EINVAL && policy_set_tripwire(off, "x=kill", &e) == -EINVAL && policy_set_tripwire(off, "denied=x", &e) == -EINVAL && policy_set_tripwire(off, "exec=kill", &e) == -ENOTSUP);
        static const struct { const char *entry; int r; const char *msg; } bad[] = {
                {"{on: exec}", -ENOTSUP, "does not see the event exec"}, {"{on: guarded}", -ENOTSUP, "guarded"}, {"{on: canary}", -ENOTSUP, "canary"},
                {"{on: lost, do: warn}", -ENOTSUP, "in any case"}, {"{on: limit}", -ENOTSUP, "in any case"},
                {"{on: refused}", -EINVAL, "refused"}, {"{do: kill}", -EINVAL, "without the key on"}, {"{on: denied, do: snapshot}", -EINVAL, "snapshot"},
                {"{on: denied, count: 0}", -ERANGE, "count"}, {"{on: denied, count: 257}", -ERANGE, "count"}, {"{on: denied, within: 0}", -ERANGE, "within"},
                {"{on: denied, within: 25h}", -ERANGE, "within"}, {"{on: denied, distinct: 1}", -EINVAL, "true or false"}, {"denied", -EINVAL, "mapping"},
                {"{on: denied, window: 1m}", -EINVAL, "window"}, {"{on: [denied]}", -EINVAL, "single value"},
        };
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                char text[128];
                snprintf(text, sizeof(text), "version: 1\ntripwires: [%s]\n", bad[i].entry);
                check(!read_policy(text, bad[i].r, bad[i].msg));
        }
        check(!read_policy("version: 1\ntripwires: {on: denied}\n", -EINVAL, "list"));
}

TAP_MAIN
