/* Trees that must appear under other owners (run by root): opened and id-mapped by the supervisor, which has the right to,
 * before the launcher builds the view of them. What the policy shows is seen as the command's own where it is its
 * directory's owner's; every owner of a volume has a map of its own, the layers of an image have one together. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/supervisor/supervisor.h"
#include "svc/plan-ids.h"
#include "sys/mount.h"
#include "sys/process.h"

/* A user namespace that is nothing but a map. */
struct owner_map {
        bool store; /* of the layers; else of what uid and gid own */
        bool writes_through;
        uid_t uid;
        gid_t gid;
        int fd;
};

static int make_map(const struct plan *p, struct owner_map *m, struct error *e) {
        _cleanup_free_ char *uid_map = NULL, *gid_map = NULL;
        int r;

        if (m->store)
                m->fd = process_userns(p->ids.store_map, p->ids.store_map);
        else if ((r = plan_ids_owner_maps(p, m->uid, m->gid, m->writes_through, &uid_map, &gid_map)) < 0)
                m->fd = r;
        else
                m->fd = process_userns(uid_map, gid_map);
        return m->fd < 0 ? error_errno(e, m->fd, "a map of owners cannot be made") : 0;
}

/* Whose files op's tree shows: the workspace's owner's, but for a volume. */
static int owner_of(const struct plan *p, const struct plan_op *op, int tree, struct owner_map *ret) {
        struct stat st = {.st_uid = p->ids.owner_uid, .st_gid = p->ids.owner_gid};

        if ((op->flags & PLAN_VOLUME) && fstat(tree, &st) < 0)
                return -errno;
        *ret = (struct owner_map){.store = op->flags & PLAN_STORE, .uid = st.st_uid, .gid = st.st_gid,
                                  .writes_through = op->kind == OP_BIND && !(op->flags & PLAN_READONLY)};
        if (ret->store)
                ret->uid = ret->gid = 0;
        return 0;
}

int trees_open(struct supervisor *x, struct error *e) {
        const struct plan *p = x->plan;
        int r;

        x->s->launch.trees = calloc(p->n_ops, sizeof(int));
        x->maps = calloc(p->n_ops, sizeof(*x->maps));
        x->map_of = calloc(p->n_ops, sizeof(*x->map_of));
        if (!x->s->launch.trees || !x->maps || !x->map_of)
                return error_set(e, ENOMEM, "out of memory");
        for (size_t i = 0; i < p->n_ops; i++)
                x->s->launch.trees[i] = -1;
        for (size_t i = 0; i < p->n_ops; i++) {
                const struct plan_op *op = &p->ops[i];
                struct owner_map m = {};
                size_t k = 0;
                if (!(op->flags & (PLAN_IDMAP | PLAN_STORE)))
                        continue;
                int fd = mount_clone(AT_FDCWD, op->source, op->flags & PLAN_RECURSIVE);
                if (fd < 0)
                        return error_errno(e, fd, "%s cannot be opened for the sandbox", op->source);
                x->s->launch.trees[i] = fd;
                if ((r = owner_of(p, op, fd, &m)) < 0)
                        return error_errno(e, r, "%s cannot be read", op->source);
                while (k < x->n_maps && (x->maps[k].store != m.store || x->maps[k].writes_through != m.writes_through || x->maps[k].uid != m.uid || x->maps[k].gid != m.gid))
                        k++;
                if (k == x->n_maps) {
                        if ((r = make_map(p, &m, e)) < 0)
                                return r;
                        x->maps[x->n_maps++] = m;
                }
                x->map_of[i] = k;
        }
        return 0;
}

int trees_map(struct supervisor *x, struct error *e) {
        for (size_t i = 0; i < x->plan->n_ops; i++) {
                int tree = x->s->launch.trees[i];
                int r = tree < 0 ? 0 : mount_idmap(tree, false, x->maps[x->map_of[i]].fd);
                if (r < 0) {
                        error_errno(e, r, "%s cannot be shown under other owners: its file system has no id-mapped mounts",
                                    x->plan->ops[i].source);
                        return error_fix(e, "run belljar as the owner of the files instead of root");
                }
        }
        return 0;
}

void trees_close(struct supervisor *x) {
        for (size_t i = 0; x->s->launch.trees && i < x->plan->n_ops; i++)
                fd_close(x->s->launch.trees[i]);
        for (size_t i = 0; i < x->n_maps; i++)
                fd_close(x->maps[i].fd);
        x->n_maps = 0;
}
