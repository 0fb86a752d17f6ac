#include "svc/plan-ids.h"
#include "sys/process.h"
#include "tap.h"

static struct plan *with(const struct ids *have, uid_t uid, gid_t gid, int want) {
        struct plan *p = plan_new();
        const struct image_user user = {.uid = uid, .gid = gid, .home = "/"};
        struct error e = {};
        int lock;
        check(plan_ids_of_image(p, have, &user, 1000, 1000, &lock, &e) == want);
        check(lock == -1);
        return p;
}

/* Every line of the inner map lies in one line of the outer, and outer id 0 is in none. */
static void check_nested(const char *outer, const char *inner) {
        for (const char *line = inner; *line; line = strchr(line, '\n') + 1) {
                unsigned long in, at, n, o, h, k;
                bool found = false;
                check(sscanf(line, "%lu %lu %lu", &in, &at, &n) == 3 && at > 0 && n > 0);
                for (const char *x = outer; *x; x = strchr(x, '\n') + 1)
                        found |= sscanf(x, "%lu %lu %lu", &o, &h, &k) == 3 && at >= o && at + n <= o + k;
                check(found);
        }
}

TEST(one_id) {
        const struct ids have = {.kind = IDS_ONE, .n = 1, .uid = 1000, .gid = 1001};
        struct plan *p = with(&have, 0, 0, 0);
        check(p->ids.single && p->ids.host_uid == 1000 && p->ids.host_gid == 1001);
        check_streq(p->ids.outer_uid_map, "1 1000 1\n");
        check_streq(p->ids.outer_gid_map, "1 1001 1\n");
        check_streq(p->ids.inner_uid_map, "0 1 1\n");
        check_nested(p->ids.outer_uid_map, p->ids.inner_uid_map);
        plan_free(p);
        p = with(&have, 70000, 5, 0); /* the one id is whoever the image wants */
        check_streq(p->ids.inner_uid_map, "70000 1 1\n");
        check_streq(p->ids.inner_gid_map, "5 1 1\n");
        plan_free(p);
}

TEST(subids) {
        const struct ids have = {.kind = IDS_SUBIDS, .n = 65536, .uid = 1000, .gid = 1001, .subuid = 100000, .subgid = 200000};
        struct plan *p = with(&have, 0, 33, 0);
        check(p->ids.subids && !p->ids.single && !p->ids.root);
        check_streq(p->ids.outer_uid_map, "0 165534 1\n1 1000 1\n2 100000 65534\n");
        check_streq(p->ids.outer_gid_map, "0 265534 1\n1 1001 1\n2 200000 65534\n");
        check_streq(p->ids.inner_uid_map, "0 1 1\n1 2 65534\n");
        check_nested(p->ids.outer_uid_map, p->ids.inner_uid_map);
        check(p->ids.host_uid == 1000 && p->ids.host_gid == 200032 && p->ids.outer_gid == 34 && p->ids.init_uid == 0);
        plan_free(p);
        p = with(&have, 1, 1, 0);
        check(p->ids.host_uid == 100000); /* as the store has it: ids_store_maps */
        plan_free(p);
        plan_free(with(&have, 65534, 65534, 0));
        plan_free(with(&have, 65535, 0, -ERANGE));
        plan_free(with(&have, 0, 65535, -ERANGE));
}

TEST(range_of_root) {
        const struct ids have = {.kind = IDS_RANGE, .n = IDS_MAX};
        struct plan *p = plan_new(), *q = plan_new();
        struct error e = {};
        const struct image_user www = {.uid = 33, .gid = 33, .home = "/"}, root = {.home = "/root"};
        int lock = -1, other = -1;
        if (!process_is_root())
                skip("only root has ranges");
        check(plan_ids_of_image(p, &have, &www, 0, 0, &lock, &e) == 0 && lock >= 0);
        check(p->ids.root && p->ids.uid_base >= IDS_STORE_BASE + IDS_MAX && p->ids.host_uid == p->ids.uid_base + 34);
        check_nested(p->ids.outer_uid_map, p->ids.inner_uid_map);
        unsigned long a, b, c;
        check(sscanf(p->ids.store_map, "%lu %lu %lu", &a, &b, &c) == 3 && a == IDS_STORE_BASE && b == p->ids.uid_base + 1 && c == 65535);
        /* The workspace's owner, root of the host, is shown as the command's user, and that id in root's place. */
        char *u, *g;
        check(plan_ids_owner_maps(p, 0, 0, false, &u, &g) == 0 && sscanf(u, "%lu %lu %lu", &a, &b, &c) == 3 && a == 0 && b == p->ids.host_uid && c == 1);
        free(u);
        free(g);
        /* An owner beyond the range takes the user's place, and what is the user's by number on the host is nobody's. */
        check(plan_ids_owner_maps(p, 70000, 33, false, &u, &g) == 0);
        _cleanup_free_ char *wanted = str_printf("0 %u 33\n34 %u %u\n70000 %u 1\n", p->ids.uid_base + 1, p->ids.uid_base + 35, 65534 - 33,
                                                 p->ids.host_uid);
        check(wanted && streq(u, wanted));
        free(wanted);
        wanted = str_printf("0 %u 65535\n", p->ids.uid_base + 1);
        check(wanted && streq(g, wanted));
        free(u);
        free(g);
        check(plan_ids_of_image(q, &have, &root, 0, 0, &other, &e) == 0 && q->ids.uid_base != p->ids.uid_base);
        /* Root of the image writing to somebody's tree: the host's root is none of its ids. */
        check(plan_ids_owner_maps(q, 1000, 1000, true, &u, &g) == 0);
        for (const char *line = u; *line; line = strchr(line, '\n') + 1)
                check(sscanf(line, "%lu %lu %lu", &a, &b, &c) == 3 && a > 0);
        check(streq(u, g) && strstr(u, "1000 ") && !strstr(u, "\n0 "));
        free(u);
        free(g);
        check(plan_ids_owner_maps(q, 0, 0, true, &u, &g) == 0 && strncmp(u, "0 ", 2) == 0); /* its own tree */
        free(u);
        free(g);
        close(lock);
        close(other);
        plan_free(p);
        plan_free(q);
}

TEST(groups_of_image) {
        const struct ids range = {.kind = IDS_SUBIDS, .n = 1001, .uid = 1000, .gid = 1000, .subuid = 100000, .subgid = 100000};
        const struct ids one = {.kind = IDS_ONE, .n = 1, .uid = 1000, .gid = 1000};
        struct image_user u = {.uid = 5, .gid = 6, .home = "/", .groups = {7, 6, 1000, 0}, .n_groups = 4};
        struct plan *p = plan_new(), *q = plan_new(), *s = plan_new();
        struct error e = {};
        int lock;

        /* Its own first and once, in the outer namespace; 1000 does not exist. */
        check(plan_ids_of_image(p, &range, &u, 1000, 1000, &lock, &e) == 0 && p->ids.n_groups == 3);
        check(p->ids.outer_groups[0] == 7 && p->ids.outer_groups[1] == 8 && p->ids.outer_groups[2] == 1 && p->notes.n == 1);
        check(plan_ids_of_image(q, &one, &u, 1000, 1000, &lock, &e) == 0 && q->ids.n_groups == 0 && q->notes.n == 0);
        for (u.n_groups = 0; u.n_groups < IMAGE_GROUPS_MAX; u.n_groups++)
                u.groups[u.n_groups] = 100 + (gid_t)u.n_groups;
        check(plan_ids_of_image(s, &range, &u, 1000, 1000, &lock, &e) == 0 && s->ids.n_groups == PLAN_GROUPS_MAX && s->notes.n == 0);
        plan_free(p);
        plan_free(q);
        plan_free(s);
}

TAP_MAIN
