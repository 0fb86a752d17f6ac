/* Upper layer against workspace; see changes.h, and changes-internal.h for how it goes. */
#include "svc/changes-internal.h"

static const char *const kind_names[_CHANGE_KIND_MAX] = {
        [CHANGE_ADDED] = "added", [CHANGE_DELETED] = "deleted", [CHANGE_MODIFIED] = "modified",
        [CHANGE_LINK] = "link",   [CHANGE_TYPE] = "type",       [CHANGE_MODE] = "mode",
        [CHANGE_OWNER] = "owner",
};
const char *change_kind_name(enum change_kind k) { return k < _CHANGE_KIND_MAX ? kind_names[k] : "unknown"; }
char change_kind_letter(enum change_kind k) { return k < _CHANGE_KIND_MAX ? "ADMLTPO"[k] : '?'; }

const char *file_type_name(mode_t mode) {
        switch (mode & S_IFMT) {
        case S_IFREG: return "file";
        case S_IFDIR: return "directory";
        case S_IFLNK: return "link";
        case S_IFIFO: return "fifo";
        case S_IFSOCK: return "socket";
        case S_IFCHR: return "character device";
        case S_IFBLK: return "block device";
        case 0: return "nothing";
        }
        return "unknown";
}

void change_clear(struct change *c) {
        free(c->path);
        free(c->before.link);
        free(c->after.link);
}

void changes_clear(struct changes *c) {
        for (size_t i = 0; i < c->n; i++)
                change_clear(&c->items[i]);
        free(c->items);
        *c = (struct changes){};
}

static int by_path(const void *a, const void *b) {
        return strcmp(((const struct change *)a)->path, ((const struct change *)b)->path);
}

int changes_read(const struct changes_source *s, struct changes *ret, struct error *e) {
        static const struct change_caps def = {1000000, 4096, 512u << 20, 64ull << 30, 20000000};
        _cleanup_changes_ struct changes list = {};
        struct walk w = {.s = s, .list = &list, .e = e};

        if (s->upper_fd >= 0) {
                int r = walk_trees(&w, &def);
                if (r < 0)
                        return r;
        }
        if (list.n > 0)
                qsort(list.items, list.n, sizeof(*list.items), by_path);
        *ret = list;
        list = (struct changes){};
        return 0;
}
