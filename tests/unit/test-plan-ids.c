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
        check(strncmp(p->ids.idmap_uid_map, "0 ", 2) == 0 && sscanf(p->ids.idmap_uid_map, "%lu %lu %lu", &a, &b, &c) == 3 && b == p->ids.host_uid && c == 1);
        check(plan_ids_of_image(q, &have, &root, 0, 0, &other, &e) == 0 && q->ids.uid_base != p->ids.uid_base);
        close(lock);
        close(other);
        plan_free(p);
        plan_free(q);
}

TAP_MAIN
