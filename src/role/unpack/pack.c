/* A directory as a tar (POSIX.1-2001 pax), in an order that depends on names alone, so that one tree gives one digest.
 * Whatever lies there is passed on as it is: what an image may hold is decided where it is unpacked. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/unpack/unpack.h"
#include "sys/beneath.h"

#define OVERFLOW 65534u /* what the kernel shows for an id that is not mapped (/proc/sys/kernel/overflowuid) */
#define LIST_MAX 65536u /* bytes of the names, and of the value, of extended attributes */

/* ustar's header block (pax(1)). */
struct header {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, linkname[100], magic[6], version[2],
                uname[32], gname[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == 512, "a block");

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

/* A directory that an ordinary user imports belongs to the user, who is root inside, to the user's range, or to somebody else
 * of the host: then it was most likely unpacked by the host's root, and is root's. */
static uint32_t owner(struct pack *p, uint32_t id) {
        if (p->h->keep_ids || id != OVERFLOW)
                return id;
        p->counts->ids++;
        return 0;
}

/* A number that does not fit is in the extended header; the field is then 0. */
static void octal(char *field, size_t size, uint64_t v) {
        char digits[24];
        int n = snprintf(digits, sizeof(digits), "%0*llo", (int)size - 1, (unsigned long long)v);
        memcpy(field, n < (int)size ? digits : "00000000000", size - 1);
        field[size - 1] = 0;
}

static int put_header(struct pack *p, struct header *h) {
        unsigned sum = 0;

        memcpy(h->magic, "ustar", 6);
        memcpy(h->version, "00", 2);
        memset(h->checksum, ' ', sizeof(h->checksum));
        for (size_t i = 0; i < sizeof(*h); i++)
                sum += ((const unsigned char *)h)[i];
        snprintf(h->checksum, sizeof(h->checksum), "%06o", sum);
        return put(p, h, sizeof(*h));
}

/* "LENGTH key=value\n", where the length counts itself. */
static void record(struct strbuf *b, const char *key, const void *value, size_t n) {
        size_t rest = strlen(key) + n + 3, len = rest + 1;
        for (char digits[24];;) {
                size_t k = rest + (size_t)snprintf(digits, sizeof(digits), "%zu", len);
                if (k == len)
                        break;
                len = k;
        }
        strbuf_printf(b, "%zu %s=", len, key);
        strbuf_add(b, value, n);
        strbuf_puts(b, "\n");
}

static int add_attributes(struct pack *p, int fd, struct strbuf *b, const char *path) {
        static char names[LIST_MAX], value[LIST_MAX];
        ssize_t len = flistxattr(fd, names, sizeof(names));

        if (len < 0)
                return errno == ENOTSUP ? 0 : failed(p, -errno, path);
        for (const char *name = names; name < names + len; name += strlen(name) + 1) {
                ssize_t n = fgetxattr(fd, name, value, sizeof(value));
                if (n < 0) {
                        p->counts->attributes++; /* not for us to read: the image's processes could not use it either */
                        continue;
                }
                _cleanup_free_ char *key = str_printf("SCHILY.xattr.%s", name);
                if (!key)
                        return failed(p, -ENOMEM, path);
                record(b, key, value, (size_t)n);
        }
        return 0;
}

static int put_extended(struct pack *p, const struct strbuf *b) {
        struct header h = {.name = "pax", .type = 'x'};
        int r;

        octal(h.mode, sizeof(h.mode), 0644);
        octal(h.uid, sizeof(h.uid), 0);
        octal(h.gid, sizeof(h.gid), 0);
        octal(h.size, sizeof(h.size), b->len);
        octal(h.mtime, sizeof(h.mtime), 0);
        if ((r = put_header(p, &h)) < 0 || (r = put(p, b->data, b->len)) < 0)
                return r;
        return pad(p, b->len);
}

/* Both headers of an entry. fd: of a file or directory, for its attributes; else -1. */
static int put_entry(struct pack *p, const char *path, char type, const struct stat *st, const char *link, int fd) {
        _cleanup_strbuf_ struct strbuf b = {};
        struct header h = {.type = type};
        char text[64];
        uint64_t size = type == '0' ? (uint64_t)st->st_size : 0;
        size_t n = strlen(path);
        uint32_t uid = owner(p, st->st_uid), gid = owner(p, st->st_gid);
        int r;

        if (++p->counts->entries > p->h->max_entries) {
                error_set(p->e, EFBIG, "the directory has more than %llu entries", (unsigned long long)p->h->max_entries);
                return error_fix(p->e, "where it is meant: --max-entries N");
        }
        if (n > sizeof(h.name))
                record(&b, "path", path, n);
        if (link && strlen(link) > sizeof(h.linkname))
                record(&b, "linkpath", link, strlen(link));
        int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
        if (size >= 1ull << 33)
                record(&b, "size", text, (size_t)len);
        len = snprintf(text, sizeof(text), "%u", (unsigned)uid);
        if (uid >= 1u << 21)
                record(&b, "uid", text, (size_t)len);
        len = snprintf(text, sizeof(text), "%u", (unsigned)gid);
        if (gid >= 1u << 21)
                record(&b, "gid", text, (size_t)len);
        len = snprintf(text, sizeof(text), "%lld.%09ld", (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
        if (st->st_mtim.tv_nsec || st->st_mtim.tv_sec < 0)
                record(&b, "mtime", text, (size_t)len);
        if (fd >= 0 && (r = add_attributes(p, fd, &b, path)) < 0)
                return r;
        if (b.failed)
                return failed(p, -ENOMEM, path);
        if (b.len > 0 && (r = put_extended(p, &b)) < 0)
                return r;
        memcpy(h.name, path, MIN(n, sizeof(h.name)));
        if (link)
                memcpy(h.linkname, link, MIN(strlen(link), sizeof(h.linkname)));
        octal(h.mode, sizeof(h.mode), st->st_mode & 07777);
        octal(h.uid, sizeof(h.uid), uid);
        octal(h.gid, sizeof(h.gid), gid);
        octal(h.size, sizeof(h.size), size);
        octal(h.mtime, sizeof(h.mtime), st->st_mtim.tv_sec < 0 ? 0 : (uint64_t)st->st_mtim.tv_sec);
        octal(h.major, sizeof(h.major), major(st->st_rdev));
        octal(h.minor, sizeof(h.minor), minor(st->st_rdev));
        return put_header(p, &h);
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

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

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
        if (names->n > 1)
                qsort(names->items, names->n, sizeof(*names->items), by_name);
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
        case S_IFCHR: return put_entry(p, path, '3', &st, NULL, -1);
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
        if ((r = put_entry(p, shown, '5', &st, NULL, fd)) < 0 || (r = read_names(p, fd, path, &names)) < 0)
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
