/* What was taken over, in the sandbox's directory: "applied/journal", a JSON object a line, and copies of what was there before,
 * "applied/N" for the entry N. Written by Belljar outside of any sandbox; a last line that a crash has cut counts as not written. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/fd.h"
#include "proto/json.h"
#include "svc/apply-internal.h"

enum { JOURNAL_MAX = 1 << 30 };

static const char *const stage_names[] = {"temp", "begun", "done", "not", "undone"};

void journal_copy_name(size_t i, char dst[32]) { snprintf(dst, 32, "%zu", i); }

static char *hex_of(const void *data, size_t n) {
        char *s = malloc(2 * n + 1);
        for (size_t i = 0; s && i < n; i++)
                snprintf(s + 2 * i, 3, "%02x", ((const uint8_t *)data)[i]);
        if (s)
                s[2 * n] = 0;
        return s;
}

/* Allocated, with a NUL behind it. NULL: none, or not one. */
static char *from_hex(const char *hex, size_t *ret_n) {
        size_t n = hex ? strlen(hex) : 1;
        char *s = n % 2 == 0 ? malloc(n / 2 + 1) : NULL;

        for (size_t i = 0; s && i < n; i += 2) {
                unsigned v;
                if (sscanf(hex + i, "%2x", &v) != 1) {
                        free(s);
                        return NULL;
                }
                s[i / 2] = (char)v;
        }
        if (s)
                s[*ret_n = n / 2] = 0;
        return s;
}

static void put_bytes(struct json *j, const char *key, const void *data, size_t n) {
        _cleanup_free_ char *hex = hex_of(data, n);
        if (!hex)
                j->text.failed = true;
        json_str(j, key, hex);
}

static void put_thing(struct json *j, const char *key, const struct thing *t) {
        json_begin(j, key, '{');
        json_num(j, "mode", t->mode);
        json_num(j, "uid", t->uid);
        json_num(j, "gid", t->gid);
        if (t->target)
                put_bytes(j, "target", t->target, strlen(t->target));
        if (t->hashed)
                put_bytes(j, "hash", t->hash, sizeof(t->hash));
        json_end(j, '}');
}

static int put_line(struct apply *a, size_t i, bool whole, bool sync, struct error *e) {
        const struct apply_entry *x = &a->entries[i];
        struct json j = {.compact = true};

        json_begin(&j, NULL, '{');
        json_num(&j, "n", (long long)i);
        json_str(&j, "stage", stage_names[x->stage]);
        if (whole) {
                json_bool(&j, "undo", x->undo);
                put_bytes(&j, "path", x->path, strlen(x->path));
                json_str(&j, "temp", x->temp);
                put_thing(&j, "old", &x->old);
                put_thing(&j, "new", &x->new);
        }
        json_end(&j, '}');
        if (j.text.len == 0 || j.text.data[j.text.len - 1] != '\n')
                strbuf_puts(&j.text, "\n");
        _cleanup_free_ char *line = strbuf_take(&j.text);
        if (!line)
                return error_set(e, ENOMEM, "out of memory");
        int r = fd_write_all(a->journal, line, strlen(line));
        if (r == 0 && sync && (fdatasync(a->journal) < 0 || fsync(a->dir) < 0))
                r = -errno;
        return r < 0 ? error_errno(e, -r, "what is taken over cannot be written down") : 0;
}

static int grow(struct apply *a) {
        if (a->n == a->cap) {
                size_t cap = MAX(a->cap * 2, 64u);
                struct apply_entry *p = reallocarray(a->entries, cap, sizeof(*p));
                if (!p)
                        return -ENOMEM;
                a->entries = p;
                a->cap = cap;
        }
        a->entries[a->n] = (struct apply_entry){.old = THING_NONE, .new = THING_NONE};
        return 0;
}

ssize_t journal_add(struct apply *a, const char *path, const char *temp, bool undo, struct error *e) {
        int r = grow(a);

        if (r < 0)
                return error_set(e, ENOMEM, "out of memory");
        struct apply_entry *x = &a->entries[a->n];
        x->undo = undo;
        x->path = strdup(path);
        x->temp = temp ? strdup(temp) : NULL;
        if (!x->path || (temp && !x->temp))
                return error_set(e, ENOMEM, "out of memory");
        a->n++;
        r = put_line(a, a->n - 1, true, false, e);
        return r < 0 ? r : (ssize_t)a->n - 1;
}

int journal_stage(struct apply *a, size_t i, enum apply_stage stage, bool sync, struct error *e) {
        a->entries[i].stage = stage;
        return put_line(a, i, stage == STAGE_BEGUN, sync, e);
}

const struct thing *journal_last(const struct apply *a, const char *path) {
        for (size_t i = a->n; i-- > 0;) {
                const struct apply_entry *x = &a->entries[i];
                if ((x->stage == STAGE_DONE || x->stage == STAGE_UNDONE) && streq(x->path, path))
                        return &x->new;
        }
        return NULL;
}

/* ---- reading ---- */

static int get_thing(const json_t *o, struct thing *ret) {
        const char *target = json_string_value(json_object_get(o, "target")), *hash = json_string_value(json_object_get(o, "hash"));
        size_t n = 0;

        thing_clear(ret);
        ret->mode = (mode_t)json_integer_value(json_object_get(o, "mode"));
        ret->uid = (uid_t)json_integer_value(json_object_get(o, "uid"));
        ret->gid = (gid_t)json_integer_value(json_object_get(o, "gid"));
        if (target && !(ret->target = from_hex(target, &n)))
                return -EBADMSG;
        if (!hash)
                return 0;
        _cleanup_free_ char *bytes = from_hex(hash, &n);
        if (!bytes || n != SHA256_SIZE)
                return -EBADMSG;
        memcpy(ret->hash, bytes, n);
        ret->hashed = true;
        return 0;
}

static int get_line(struct apply *a, const json_t *o) {
        const char *stage = json_string_value(json_object_get(o, "stage")) ?: "", *temp = json_string_value(json_object_get(o, "temp"));
        json_int_t i = json_is_integer(json_object_get(o, "n")) ? json_integer_value(json_object_get(o, "n")) : -1;
        size_t n, s = 0;

        while (s < ELEMENTSOF(stage_names) && !streq(stage, stage_names[s]))
                s++;
        if (i < 0 || (size_t)i > a->n || s == ELEMENTSOF(stage_names))
                return -EBADMSG;
        if ((size_t)i == a->n) {
                int r = grow(a);
                if (r < 0)
                        return r;
                struct apply_entry *x = &a->entries[i];
                x->path = from_hex(json_string_value(json_object_get(o, "path")), &n);
                x->temp = temp ? strdup(temp) : NULL;
                x->undo = json_is_true(json_object_get(o, "undo"));
                a->n++;
                if (!x->path || strlen(x->path) != n || (temp && (!x->temp || strchr(temp, '/'))))
                        return -EBADMSG;
        }
        struct apply_entry *x = &a->entries[i];
        x->stage = (enum apply_stage)s;
        int r = json_object_get(o, "old") ? get_thing(json_object_get(o, "old"), &x->old) : 0;
        return r == 0 && json_object_get(o, "new") ? get_thing(json_object_get(o, "new"), &x->new) : r;
}

static int load(struct apply *a, struct error *e) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r = file_read(a->dir, "journal", JOURNAL_MAX, &text, &size);

        if (r < 0)
                return error_errno(e, -r, "what was taken over cannot be read");
        char *p = text;
        for (char *nl; (nl = memchr(p, '\n', size - (size_t)(p - text))); p = nl + 1) {
                json_t *o = json_loadb(p, (size_t)(nl - p), JSON_REJECT_DUPLICATES, NULL);
                r = o ? get_line(a, o) : -EBADMSG;
                json_decref(o);
                if (r < 0)
                        return error_errno(e, -r, "line %zu of what was taken over cannot be read", a->n + 1);
        }
        /* A line that was cut is none: what comes next begins one of its own. */
        if (p < text + size && ftruncate(a->journal, (off_t)(p - text)) < 0)
                return error_errno(e, errno, "what was taken over cannot be mended");
        return 0;
}

int journal_open(struct apply *a, int state_fd, bool make, struct error *e) {
        if (make && mkdirat(state_fd, "applied", 0700) < 0 && errno != EEXIST)
                return error_errno(e, errno, "there is no place for what is taken over");
        a->dir = openat(state_fd, "applied", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (a->dir < 0)
                return errno == ENOENT && !make ? -ENOENT : error_errno(e, errno, "what was taken over cannot be opened");
        if (flock(a->dir, LOCK_EX | LOCK_NB) < 0)
                return error_set(e, EBUSY, "another belljar apply is at work on this sandbox");
        a->journal = openat(a->dir, "journal", O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (a->journal < 0)
                return error_errno(e, errno, "what was taken over cannot be opened");
        int r = load(a, e);
        for (size_t i = 0; r == 0 && i < a->n; i++)
                if (a->entries[i].stage == STAGE_TEMP || a->entries[i].stage == STAGE_BEGUN)
                        r = place_recover(a, i, e);
        return r;
}
