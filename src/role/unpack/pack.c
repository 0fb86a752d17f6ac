/* A directory as a tar (POSIX.1-2001 pax), in an order that depends on names alone, so that one tree gives one digest.
 * Whatever lies there is passed on as it is: what an image may hold is decided where it is unpacked. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/unpack/unpack.h"
#include "svc/image-tar.h"
#include "sys/beneath.h"

#define OVERFLOW 65534u /* what the kernel shows for an id that is not mapped (/proc/sys/kernel/overflowuid) */
#define LIST_MAX 65536u /* bytes of the names, and of the value, of extended attributes */

/* The first name of each file that has several. */
struct seen {
        dev_t dev;
        ino_t ino;
        char *path;
};
struct pack {
        const struct image_helper *h;
        struct layer_counts *counts;
        struct error *e;
        int root;
        struct seen *seen; /* open addressing; cap is a power of two */
        size_t n_seen, cap_seen;
};

static int failed(struct pack *p, int r, const char *path) {
        return error_errno(p->e, r, "the directory cannot be read: %s", path[0] ? path : ".");
}

static int put(struct pack *p, const void *data, size_t n) {
        int r = fd_write_all(p->h->out, data, n);
        return r < 0 ? error_errno(p->e, r, "the tar of the directory cannot be passed on") : 0;
}

static int pad(struct pack *p, uint64_t size) {
        static const char zeros[512];
        return size % 512 ? put(p, zeros, 512 - size % 512) : 0;
}

/* A stored layer: its own marks are said otherwise in a tar (OCI image-spec, layer.md, "Whiteouts"). */
static bool is_mark(const struct pack *p, const char *attribute) {
        return p->h->job == JOB_EXPORT && str_after(attribute, "user.overlay.");
}

/* An empty file of this name in the tar. */
static int put_mark(struct pack *p, const char *dir, size_t dir_len, const char *name) {
        const struct stat st = {.st_mode = S_IFREG | 0600};
        _cleanup_strbuf_ struct strbuf none = {}, b = {};
        _cleanup_free_ char *path = str_printf("%.*s%s%s", (int)dir_len, dir, dir_len ? "/" : "", name);

        if (!path)
                return failed(p, -ENOMEM, dir);
        tar_header(&b, path, '0', &st, 0, 0, NULL, &none);
        return b.failed ? failed(p, -ENOMEM, dir) : put(p, b.data, b.len);
}

static int put_whiteout(struct pack *p, const char *path) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *name = str_printf(".wh.%s", slash ? slash + 1 : path);

        return name ? put_mark(p, path, slash ? (size_t)(slash - path) : 0, name) : failed(p, -ENOMEM, path);
}

static int put_opaque(struct pack *p, const char *path, int fd) {
        char value[2];

        if (p->h->job != JOB_EXPORT || fgetxattr(fd, "user.overlay.opaque", value, sizeof(value)) < 1 || value[0] != 'y')
                return 0;
        return put_mark(p, path, strlen(path), ".wh..wh..opq");
}

/* A directory that an ordinary user imports belongs to the user, who is root inside, to the user's range, or to somebody else
 * of the host: then it was most likely unpacked by the host's root, and is root's. */
static uint32_t owner(struct pack *p, uint32_t id) {
        if (p->h->keep_ids || id != OVERFLOW)
                return id;
        p->counts->ids++;
        return 0;
}

static int add_attributes(struct pack *p, int fd, struct strbuf *b, const char *path) {
        static char names[LIST_MAX], value[LIST_MAX];
        ssize_t len = flistxattr(fd, names, sizeof(names));

        if (len < 0)
                return errno == ENOTSUP ? 0 : failed(p, -errno, path);
        for (const char *name = names; name < names + len; name += strlen(name) + 1) {
                if (is_mark(p, name))
                        continue;
                ssize_t n = fgetxattr(fd, name, value, sizeof(value));
                if (n < 0) {
                        p->counts->attributes++; /* not for us to read: the image's processes could not use it either */
                        continue;
                }
                _cleanup_free_ char *key = str_printf("SCHILY.xattr.%s", name);
                if (!key)
                        return failed(p, -ENOMEM, path);
                tar_record(b, key, value, (size_t)n);
        }
        return 0;
}

/* Both headers of an entry. fd: of a file or directory, for its attributes; else -1. */
static int put_entry(struct pack *p, const char *path, char type, const struct stat *st, const char *link, int fd) {
        _cleanup_strbuf_ struct strbuf extra = {}, b = {};
        int r;

        if (++p->counts->entries > p->h->max_entries) {
                error_set(p->e, EFBIG, "the directory has more than %llu entries", (unsigned long long)p->h->max_entries);
                return error_fix(p->e, "where it is meant: --max-entries N");
        }
        if (fd >= 0 && (r = add_attributes(p, fd, &extra, path)) < 0)
                return r;
        tar_header(&b, path, type, st, owner(p, st->st_uid), owner(p, st->st_gid), link, &extra);
        if (b.failed || extra.failed)
                return failed(p, -ENOMEM, path);
        return put(p, b.data, b.len);
}

static int put_contents(struct pack *p, int fd, const struct stat *st, const char *path) {
        static char buffer[256u << 10];

        for (uint64_t left = (uint64_t)st->st_size; left > 0;) {
                ssize_t n = read(fd, buffer, (size_t)MIN(left, sizeof(buffer)));
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return failed(p, -errno, path);
                if (n == 0)
                        return error_set(p->e, EBUSY, "a file became shorter while it was read: %s", path);
                int r = put(p, buffer, (size_t)n);
                if (r < 0)
                        return r;
                left -= (uint64_t)n;
        }
        return pad(p, (uint64_t)st->st_size);
}

static struct seen *slot_of(struct seen *table, size_t cap, const struct stat *st) {
        size_t i = (size_t)(((uint64_t)st->st_ino * 0x9e3779b97f4a7c15u) >> 20) & (cap - 1);
        while (table[i].path && (table[i].ino != st->st_ino || table[i].dev != st->st_dev))
                i = (i + 1) & (cap - 1);
        return &table[i];
}

/* *ret: the name that the file had before; NULL: this is its first. */
static int look_up(struct pack *p, const struct stat *st, const char *path, const char **ret) {
        if (p->n_seen * 2 >= p->cap_seen) {
                size_t cap = MAX(p->cap_seen * 2, 1024u);
                struct seen *bigger = calloc(cap, sizeof(*bigger));
                if (!bigger)
                        return failed(p, -ENOMEM, path);
                for (size_t i = 0; i < p->cap_seen; i++)
                        if (p->seen[i].path) {
                                struct stat old = {.st_dev = p->seen[i].dev, .st_ino = p->seen[i].ino};
                                *slot_of(bigger, cap, &old) = p->seen[i];
                        }
                free(p->seen);
                p->seen = bigger;
                p->cap_seen = cap;
        }
        struct seen *s = slot_of(p->seen, p->cap_seen, st);
        *ret = s->path;
        if (s->path)
                return 0;
        *s = (struct seen){st->st_dev, st->st_ino, strdup(path)};
        if (!s->path)
                return failed(p, -ENOMEM, path);
        p->n_seen++;
        return 0;
}

static int pack_file(struct pack *p, const char *path, const struct stat *st) {
        const char *before = NULL;
        struct stat now;
        int r;

        if (st->st_nlink > 1 && (r = look_up(p, st, path, &before)) < 0)
                return r;
        if (before)
                return put_entry(p, path, '1', st, before, -1);
        _cleanup_fd_ int fd = beneath_open_regular(p->root, path, &now);
        if (fd < 0)
                return failed(p, fd, path);
        if ((r = put_entry(p, path, '0', &now, NULL, fd)) < 0)
                return r;
        return put_contents(p, fd, &now, path);
}

static int pack_link(struct pack *p, int dir, const char *name, const char *path, const struct stat *st) {
        char target[4096];
        ssize_t n = readlinkat(dir, name, target, sizeof(target));

        if (n < 0 || n == sizeof(target))
                return failed(p, n < 0 ? -errno : -ENAMETOOLONG, path);
        target[n] = 0;
        return put_entry(p, path, '2', st, target, -1);
}

static int read_names(struct pack *p, int fd, const char *path, struct strlist *names) {
        _Alignas(8) char buffer[32768];
        long n;

        while ((n = getdents64(fd, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < n;) {
                        const char *d = buffer + at; /* struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name */
                        unsigned short len;
                        memcpy(&len, d + 16, sizeof(len));
                        at += len;
                        if (streq(d + 19, ".") || streq(d + 19, ".."))
                                continue;
                        if (names->n >= p->h->max_entries || strlist_add(names, d + 19) < 0)
                                return failed(p, -ENOMEM, path);
                }
        if (n < 0)
                return failed(p, -errno, path);
        strlist_sort(names);
        return 0;
}

static int pack_directory(struct pack *p, const char *path, unsigned depth);

static int pack_one(struct pack *p, int dir, const char *name, const char *path, unsigned depth) {
        struct stat st;

        if (strlen(path) > UNPACK_NAME_MAX || depth > UNPACK_DEPTH_MAX)
                return failed(p, -ENAMETOOLONG, path);
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return failed(p, -errno, path);
        switch (st.st_mode & S_IFMT) {
        case S_IFDIR: return pack_directory(p, path, depth);
        case S_IFREG: return pack_file(p, path, &st);
        case S_IFLNK: return pack_link(p, dir, name, path, &st);
        case S_IFCHR:
                if (p->h->job == JOB_EXPORT && st.st_rdev == 0)
                        return put_whiteout(p, path);
                return put_entry(p, path, '3', &st, NULL, -1);
        case S_IFBLK: return put_entry(p, path, '4', &st, NULL, -1);
        case S_IFIFO: return put_entry(p, path, '6', &st, NULL, -1);
        default: p->counts->devices++; return 0; /* a socket */
        }
}

static int pack_directory(struct pack *p, const char *path, unsigned depth) {
        _cleanup_strlist_ struct strlist names = {};
        struct stat st;
        int r;

        _cleanup_fd_ int fd = beneath_open(p->root, path[0] ? path : ".", O_RDONLY | O_DIRECTORY);
        if (fd < 0)
                return failed(p, fd, path);
        if (fstat(fd, &st) < 0)
                return failed(p, -errno, path);
        _cleanup_free_ char *shown = str_printf("%s/", path[0] ? path : ".");
        if (!shown)
                return failed(p, -ENOMEM, path);
        if ((r = put_entry(p, shown, '5', &st, NULL, fd)) < 0 || (r = put_opaque(p, path, fd)) < 0 || (r = read_names(p, fd, path, &names)) < 0)
                return r;
        for (size_t i = 0; i < names.n; i++) {
                _cleanup_free_ char *below = path[0] ? str_printf("%s/%s", path, names.items[i]) : strdup(names.items[i]);
                if (!below)
                        return failed(p, -ENOMEM, path);
                if ((r = pack_one(p, fd, names.items[i], below, depth + 1)) < 0)
                        return r;
        }
        return 0;
}

int unpack_pack(const struct image_helper *h, struct image_report *report) {
        struct pack p = {.h = h, .counts = &report->counts, .e = &report->error};
        static const char end[1024];
        int r;

        p.root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (p.root < 0)
                return error_errno(p.e, errno, "the directory cannot be opened");
        r = pack_directory(&p, "", 0);
        if (r == 0)
                r = put(&p, end, sizeof(end));
        for (size_t i = 0; i < p.cap_seen; i++)
                free(p.seen[i].path);
        free(p.seen);
        close(p.root);
        return r;
}
