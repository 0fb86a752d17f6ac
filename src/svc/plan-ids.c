/* The ids of one run, see plan-ids.h. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/plan-ids.h"
#include "sys/process.h"

/* Ids for sandboxes run by root: 4,096 ranges of 65,536 in 0x70000000-0x7fffffff, which systemd's list of uses
 * (UIDS-GIDS) leaves unassigned and no distribution's subuid default reaches. */
#define RANGE_BASE 0x70000000u
#define RANGE_SIZE 65536u
#define RANGE_COUNT 4096u
#define RANGE_FILE "/run/belljar/ids"
/* Of the range: the agent as it sees itself, and init. */
#define AGENT_UID 10001u
#define INIT_UID 65533u

/* A range of host ids that no other live sandbox has: a lock on one byte of a file, by an open file description that
 * the supervisor holds, so that it is free again when the supervisor is gone, however it went. */
static int take_range(uid_t *ret_base, int *ret_lock, struct error *e) {
        unsigned start;
        *ret_base = 0;
        int r = mkdir_parents("/run/belljar", 0700);

        if (r < 0)
                return error_errno(e, r, "/run/belljar cannot be made");
        if (getrandom(&start, sizeof(start), 0) != sizeof(start))
                return error_set(e, EIO, "no random number can be had");
        _cleanup_fd_ int fd = open(RANGE_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return error_errno(e, errno, "%s cannot be made", RANGE_FILE);
        for (unsigned i = 0; i < RANGE_COUNT; i++) {
                unsigned slot = (start + i) % RANGE_COUNT;
                struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};
                if (fcntl(fd, F_OFD_SETLK, &l) == 0) {
                        *ret_base = RANGE_BASE + slot * RANGE_SIZE;
                        *ret_lock = TAKE_FD(fd);
                        return 0;
                }
        }
        return error_set(e, EAGAIN, "all %u ranges of user ids are in use by sandboxes", RANGE_COUNT);
}

/* An id of an image stands one higher in the outer namespace, whose id 0 is init's: no process of the image may own
 * init's /proc files, which the kernel gives to that id. */
#define OUTER(id) ((id) + 1)

static void add_line(struct strbuf *m, bool spare_root, unsigned first, uid_t outside, unsigned count) {
        unsigned skip = spare_root && first == 0;
        if (count > skip)
                strbuf_printf(m, "%u %u %u\n", first + skip, outside + skip, count - skip);
}

/* Lines of a map "inside outside count" in which the inner ids a and b change places, all others up to n stay, and the
 * outer ones begin at base. Where b lies beyond n it takes a's place. a is below n. spare_root: the host's id 0 stands for
 * none, unless b, whose files these are, is 0. */
static char *swapped_map(uid_t base, unsigned n, unsigned a, unsigned b, bool spare_root) {
        _cleanup_strbuf_ struct strbuf m = {};
        unsigned lo = MIN(a, b), hi = MAX(a, b);
        bool spare = spare_root && b != 0;

        if (lo == hi)
                add_line(&m, spare, 0, base, n);
        else if (b >= n) {
                add_line(&m, spare, 0, base, a);
                add_line(&m, spare, a + 1, base + a + 1, n - a - 1);
                add_line(&m, spare, b, base + a, 1);
        } else {
                add_line(&m, spare, 0, base, lo);
                add_line(&m, spare, lo, base + hi, 1);
                add_line(&m, spare, lo + 1, base + lo + 1, hi - lo - 1);
                add_line(&m, spare, hi, base + lo, 1);
                add_line(&m, spare, hi + 1, base + hi + 1, n - hi - 1);
        }
        return strbuf_take(&m);
}

int plan_ids_owner_maps(const struct plan *p, uid_t uid, gid_t gid, bool writes_through, char **ret_uid_map, char **ret_gid_map) {
        const struct plan_ids *ids = &p->ids;
        /* The first host id and the number of those that the command can see, in the outer namespace and beyond init's. */
        uid_t base = ids->store_map ? ids->uid_base + OUTER(0) : ids->uid_base;
        unsigned n = ids->store_map ? RANGE_SIZE - OUTER(0) : RANGE_SIZE;
        /* Root of an image can become any id of it: none may be the host's root where it writes to the host's files. */
        bool spare_root = writes_through && ids->store_map;
        _cleanup_free_ char *u = swapped_map(base, n, ids->inner_uid, uid, spare_root);
        _cleanup_free_ char *g = swapped_map(base, n, ids->inner_gid, gid, spare_root);

        if (!u || !g)
                return -ENOMEM;
        *ret_uid_map = TAKE_PTR(u);
        *ret_gid_map = TAKE_PTR(g);
        return 0;
}

static int check_maps(const struct plan *p, struct error *e) {
        const struct plan_ids *ids = &p->ids;

        if (!ids->outer_uid_map || !ids->outer_gid_map || !ids->inner_uid_map || !ids->inner_gid_map ||
            (ids->root && p->image && !ids->store_map))
                return error_set(e, ENOMEM, "out of memory");
        return 0;
}

int plan_ids_of_host(struct plan *p, uid_t owner, gid_t owner_gid, int *ret_lock, struct error *e) {
        struct plan_ids *ids = &p->ids;
        uid_t uid = geteuid();
        gid_t gid = getegid();

        if (!process_is_root()) {
                /* Root of a container is not root inside, in neither namespace. */
                uid_t inner = uid ? uid : AGENT_UID;
                gid_t inner_gid = uid ? gid : AGENT_UID;
                *ids = (struct plan_ids){.single = true, .outer_uid = inner, .outer_gid = inner_gid, .inner_uid = inner,
                                         .inner_gid = inner_gid, .init_uid = inner, .view_uid = inner, .host_uid = uid,
                                         .host_gid = gid, .owner_uid = uid, .owner_gid = gid};
                ids->outer_uid_map = str_printf("%u %u 1\n", inner, uid);
                ids->outer_gid_map = str_printf("%u %u 1\n", inner_gid, gid);
                ids->inner_uid_map = str_printf("%u %u 1\n", inner, inner);
                ids->inner_gid_map = str_printf("%u %u 1\n", inner_gid, inner_gid);
                *ret_lock = -1;
        } else {
                uid_t base;
                int r = take_range(&base, ret_lock, e);
                if (r < 0)
                        return r;
                /* The agent has one id of the range, and the workspace's owner is shown as it by id-mapped mounts. Id 0
                 * of the range is nobody's: the kernel gives it the /proc files of processes that are not dumpable, as
                 * init is. Host uid 0 is mapped nowhere. */
                *ids = (struct plan_ids){.root = true, .uid_base = base, .outer_uid = AGENT_UID, .outer_gid = AGENT_UID,
                                         .inner_uid = AGENT_UID, .inner_gid = AGENT_UID, .init_uid = INIT_UID,
                                         .view_uid = AGENT_UID, .host_uid = base + AGENT_UID, .host_gid = base + AGENT_UID,
                                         .owner_uid = owner, .owner_gid = owner_gid};
                ids->outer_uid_map = str_printf("0 %u %u\n", base, RANGE_SIZE);
                ids->outer_gid_map = str_printf("0 %u %u\n", base, RANGE_SIZE);
                ids->inner_uid_map = str_printf("0 0 %u\n", RANGE_SIZE);
                ids->inner_gid_map = str_printf("0 0 %u\n", RANGE_SIZE);
        }
        return check_maps(p, e);
}

static char *outer_map_of_subids(const struct ids *have, uid_t own, uid_t first) {
        return str_printf("0 %u 1\n1 %u 1\n2 %u %u\n", first + have->n - 2, own, first, have->n - 2);
}

/* As docker and podman have it, the user's own group is the first: a file that denies it something by its group's mode denies
 * it also after a program changed its gid (CVE-2022-36109). */
static int plan_groups(struct plan *p, const struct image_user *user, uint32_t n, struct error *e) {
        struct plan_ids *ids = &p->ids;
        bool left_out = user->groups_left_out;
        int r;

        if (ids->single)
                return 0; /* the kernel lets nobody set groups there */
        ids->outer_groups[ids->n_groups++] = OUTER(user->gid);
        for (size_t i = 0; i < user->n_groups && ids->n_groups < PLAN_GROUPS_MAX; i++)
                if (user->groups[i] >= n)
                        left_out = true;
                else if (user->groups[i] != user->gid)
                        ids->outer_groups[ids->n_groups++] = OUTER(user->groups[i]);
        r = left_out ? strlist_addf(&p->notes, "the command has not all groups of its user: at most %u, with numbers up to %u",
                                    IMAGE_GROUPS_MAX, n - 1) : 0;
        return r < 0 ? error_errno(e, r, "a note cannot be kept") : 0;
}

int plan_ids_of_image(struct plan *p, const struct ids *have, const struct image_user *user, uid_t owner, gid_t owner_gid,
                      int *ret_lock, struct error *e) {
        struct plan_ids *ids = &p->ids;
        uid_t uid = user->uid;
        gid_t gid = user->gid;
        uint32_t n = have->kind == IDS_ONE ? 1 : have->n - 1; /* ids inside */
        int r;

        *ret_lock = -1;
        if (have->kind != IDS_ONE && (uid >= n || gid >= n)) {
                error_set(e, ERANGE, "the user %u:%u is beyond the ids that a sandbox has here, 0 to %u", uid, gid, n - 1);
                return error_fix(e, "choose another with --user");
        }
        *ids = (struct plan_ids){.outer_uid = OUTER(uid), .outer_gid = OUTER(gid), .inner_uid = uid, .inner_gid = gid,
                                 .view_uid = OUTER(0), .owner_uid = owner, .owner_gid = owner_gid};
        switch (have->kind) {
        case IDS_ONE:
                /* The one id is whoever the command is to be: root of the image, or the image's own user. */
                ids->single = true;
                ids->outer_uid = ids->outer_gid = ids->init_uid = ids->view_uid = OUTER(0);
                ids->host_uid = have->uid;
                ids->host_gid = have->gid;
                ids->outer_uid_map = str_printf("1 %u 1\n", have->uid);
                ids->outer_gid_map = str_printf("1 %u 1\n", have->gid);
                ids->inner_uid_map = str_printf("%u 1 1\n", uid);
                ids->inner_gid_map = str_printf("%u 1 1\n", gid);
                break;
        case IDS_SUBIDS:
                ids->subids = true;
                ids->host_uid = uid == 0 ? have->uid : have->subuid + uid - 1;
                ids->host_gid = gid == 0 ? have->gid : have->subgid + gid - 1;
                ids->outer_uid_map = outer_map_of_subids(have, have->uid, have->subuid);
                ids->outer_gid_map = outer_map_of_subids(have, have->gid, have->subgid);
                break;
        case IDS_RANGE: {
                uid_t base;
                if ((r = take_range(&base, ret_lock, e)) < 0)
                        return r;
                ids->root = true;
                ids->uid_base = base;
                ids->host_uid = base + OUTER(uid);
                ids->host_gid = base + OUTER(gid);
                ids->outer_uid_map = str_printf("0 %u %u\n", base, RANGE_SIZE);
                ids->outer_gid_map = str_printf("0 %u %u\n", base, RANGE_SIZE);
                ids->store_map = str_printf("%u %u %u\n", IDS_STORE_BASE, base + 1, n);
                break;
        }
        }
        if (!ids->single) {
                /* A line of the inner map must lie in one line of the outer (user_namespaces(7)). */
                ids->inner_uid_map = ids->subids ? str_printf("0 1 1\n1 2 %u\n", n - 1) : str_printf("0 1 %u\n", n);
                ids->inner_gid_map = ids->inner_uid_map ? strdup(ids->inner_uid_map) : NULL;
        }
        if ((r = plan_groups(p, user, n, e)) < 0)
                return r;
        return check_maps(p, e);
}
