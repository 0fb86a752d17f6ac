/* Where a layer's directories lead in an image, see image-through.h. */
#include <limits.h>
#include <string.h>

#include "base/fd.h"
#include "svc/image-through.h"

enum {
        LINKS_MAX = 40,          /* followed for one directory, as the kernel does */
        PATH_BYTES_MAX = 4000,   /* of a resolved path: as unpack.h has it */
        LOOKS_MAX = 1000000,     /* into one tree each */
        PAIRS_MAX = 1 << 20,     /* bytes */
};

int through_apply(const char *pairs, size_t n, char *path, size_t size) {
        const char *from = NULL, *to = NULL;

        for (size_t at = 0; at < n;) {
                const char *dir = pairs + at, *place = dir + strlen(dir) + 1, *rest = str_after(path, dir);
                at += (size_t)(place - dir) + strlen(place) + 1;
                if (rest && *rest == '/' && (!from || strlen(dir) > strlen(from))) {
                        from = dir;
                        to = place;
                }
        }
        if (!from)
                return 0;
        const char *rest = path + strlen(from) + (*to ? 0 : 1);
        size_t k = strlen(to), len = strlen(rest);
        if (k + len >= size)
                return -ENAMETOOLONG;
        memmove(path + k, rest, len + 1);
        memcpy(path, to, k);
        return 0;
}

struct question {
        const struct implied_layer *layers;
        size_t n;
        unsigned looks;
};

/* What the image has at a path whose directories are resolved. An own directory that no entry describes says nothing. */
static enum look seen(struct question *q, const char *path, char link[PATH_MAX]) {
        struct stat st;
        bool opaque;

        for (size_t k = q->n; k-- > 0; q->looks++) {
                enum look what = implied_look(q->layers[k].tree, path, &st, &opaque, link);
                if (what == LOOK_HIDDEN)
                        return LOOK_ABSENT;
                if (what == LOOK_OTHER)
                        return S_ISCHR(st.st_mode) ? LOOK_ABSENT : LOOK_OTHER; /* a whiteout; devices are left out */
                if (what == LOOK_LINK || (what == LOOK_DIR && (opaque || k + 1 < q->n || !implied_has(&q->layers[k].implied, path))))
                        return what;
                if (opaque)
                        return LOOK_ABSENT;
        }
        return LOOK_ABSENT;
}

/* Where a directory leads, with the image as the root. 1; 0: nowhere, as links go in a circle or to a file. */
static int resolve(struct question *q, const char *path, char ret[PATH_BYTES_MAX + 1]) {
        char rest[2 * PATH_MAX], link[PATH_MAX];
        size_t n = 0, len = strlen(path);
        int links = 0;

        if (len >= PATH_MAX)
                return 0;
        memcpy(rest, path, len + 1);
        ret[0] = 0;
        while (rest[0]) {
                char *p = rest + strspn(rest, "/");
                size_t k = strcspn(p, "/"), before = n;
                bool up = k == 2 && p[0] == '.' && p[1] == '.';

                if (up) { /* at the root it stays */
                        char *slash = strrchr(ret, '/');
                        n = slash ? (size_t)(slash - ret) : 0;
                        ret[n] = 0;
                } else if (k > 0 && !(k == 1 && p[0] == '.')) {
                        if (n + k + 1 > PATH_BYTES_MAX)
                                return 0;
                        if (n > 0)
                                ret[n++] = '/';
                        memcpy(ret + n, p, k);
                        ret[n += k] = 0;
                        enum look what = seen(q, ret, link);
                        if (what == LOOK_OTHER || (what == LOOK_LINK && ++links > LINKS_MAX))
                                return 0;
                        if (what == LOOK_LINK) {
                                size_t tail = strlen(p + k), head = strlen(link);
                                if (head + tail >= sizeof(rest))
                                        return 0;
                                n = link[0] == '/' ? 0 : before;
                                ret[n] = 0;
                                memmove(rest + head, p + k, tail + 1); /* it begins with a slash, or is empty */
                                memcpy(rest, link, head);
                                continue;
                        }
                }
                memmove(rest, p + k, strlen(p + k) + 1);
        }
        return 1;
}

static int write_pairs(void *arg, int out) {
        struct question *q = arg;
        const struct strlist *dirs = &q->layers[q->n - 1].implied;
        _cleanup_strbuf_ struct strbuf b = {.max = PAIRS_MAX};

        for (size_t i = 0; i < dirs->n; i++) {
                char place[PATH_BYTES_MAX + 1], by_parents[PATH_BYTES_MAX + 1];
                const char *dir = dirs->items[i];
                if (!*dir || strlen(dir) >= sizeof(by_parents) || resolve(q, dir, place) == 0)
                        continue;
                strcpy(by_parents, dir);
                int r = through_apply(b.data, b.len, by_parents, sizeof(by_parents));
                if (r < 0 || q->looks > LOOKS_MAX)
                        return r < 0 ? r : -E2BIG;
                if (streq(place, by_parents))
                        continue;
                strbuf_add(&b, dir, strlen(dir) + 1);
                strbuf_add(&b, place, strlen(place) + 1);
                if (b.failed)
                        return -E2BIG;
        }
        return fd_write_all(out, b.data ? b.data : "", b.len);
}

int through_find(const struct ids *ids, const struct implied_layer *layers, size_t n, char **ret, size_t *ret_len, struct error *e) {
        struct question q = {.layers = layers, .n = n};
        _cleanup_free_ char *text = NULL;
        _cleanup_strlist_ struct strlist checked = {};
        size_t len = 0;
        int r;

        *ret = NULL;
        *ret_len = 0;
        if (n < 2 || layers[n - 1].implied.n == (implied_has(&layers[n - 1].implied, "") ? 1 : 0))
                return 0;
        _cleanup_fd_ int fd = -EBADF;
        if ((r = implied_ask(ids, write_pairs, &q, &fd, e)) < 0)
                return r;
        r = fd_read_all(fd, PAIRS_MAX, &text, &len);
        if (r == 0)
                r = implied_read(text, len, &checked);
        if (r == 0 && checked.n % 2)
                r = -EBADMSG;
        if (r < 0)
                return error_errno(e, r, "where the links of an image lead cannot be told");
        *ret = TAKE_PTR(text);
        *ret_len = len;
        return 0;
}
