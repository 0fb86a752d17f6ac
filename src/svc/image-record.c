/* Records of images and layers, see image-record.h. */
#include <unistd.h>

#include "svc/image-record.h"

#define IMAGE_HEAD "belljar-image 1"
#define LAYER_HEAD "belljar-layer 1"

void image_clear(struct image *i) {
        for (size_t k = 0; i->locks && k < i->n_locks; k++)
                if (i->locks[k] >= 0)
                        close(i->locks[k]);
        free(i->locks);
        free(i->name);
        free(i->digest);
        free(i->manifest);
        free(i->index);
        free(i->workdir);
        free(i->user);
        free(i->architecture);
        free(i->os);
        free(i->created);
        free(i->source);
        free(i->dirs);
        free(i->ids);
        strlist_clear(&i->entrypoint);
        strlist_clear(&i->cmd);
        strlist_clear(&i->env);
        strlist_clear(&i->ports);
        strlist_clear(&i->labels);
        strlist_clear(&i->keys);
        strlist_clear(&i->layers);
        *i = (struct image){};
}

/* One table for both directions. */
static const struct {
        const char *key;
        size_t offset;
        bool list;
        bool later; /* records of before it was added have none */
} fields[] = {
        {"name", offsetof(struct image, name), false, false},
        {"digest", offsetof(struct image, digest), false, false},
        {"manifest", offsetof(struct image, manifest), false, true},
        {"index", offsetof(struct image, index), false, true},
        {"workdir", offsetof(struct image, workdir), false, false},
        {"user", offsetof(struct image, user), false, false},
        {"architecture", offsetof(struct image, architecture), false, false},
        {"os", offsetof(struct image, os), false, false},
        {"created", offsetof(struct image, created), false, false},
        {"source", offsetof(struct image, source), false, false},
        {"dirs", offsetof(struct image, dirs), false, false},
        {"ids", offsetof(struct image, ids), false, false},
        {"layer", offsetof(struct image, keys), true, false},
        {"entrypoint", offsetof(struct image, entrypoint), true, false},
        {"cmd", offsetof(struct image, cmd), true, false},
        {"env", offsetof(struct image, env), true, false},
        {"port", offsetof(struct image, ports), true, false},
        {"label", offsetof(struct image, labels), true, false},
};

static void line(struct strbuf *b, const char *key, const char *value) {
        strbuf_printf(b, "%s ", key);
        for (const char *p = value; *p;) {
                size_t n = strcspn(p, "\n\\");
                strbuf_add(b, p, n);
                p += n;
                if (*p)
                        strbuf_puts(b, *p++ == '\n' ? "\\n" : "\\\\");
        }
        strbuf_puts(b, "\n");
}

void image_record_write(const struct image *i, struct strbuf *b) {
        strbuf_puts(b, IMAGE_HEAD "\n");
        for (size_t f = 0; f < ELEMENTSOF(fields); f++) {
                const void *at = (const char *)i + fields[f].offset;
                if (fields[f].list) {
                        const struct strlist *l = at;
                        for (size_t k = 0; k < l->n; k++)
                                line(b, fields[f].key, l->items[k]);
                } else {
                        char *const *s = at;
                        line(b, fields[f].key, *s ? *s : "");
                }
        }
        strbuf_printf(b, "size %llu\nend\n", (unsigned long long)i->size);
}

/* Takes the next line off *at: sets key and value, both within the text, which is changed. */
static bool next_line(char **at, char **ret_key, char **ret_value) {
        char *nl = strchr(*at, '\n');
        if (!nl)
                return false;
        *nl = 0;
        char *space = strchr(*at, ' ');
        *ret_key = *at;
        *ret_value = space ? space + 1 : nl;
        if (space)
                *space = 0;
        *at = nl + 1;
        char *to = *ret_value;
        for (const char *p = *ret_value; *p; p++) {
                if (*p != '\\')
                        *to++ = *p;
                else if (*++p == 'n')
                        *to++ = '\n';
                else if (*p == '\\')
                        *to++ = '\\';
                else
                        return false;
        }
        *to = 0;
        return true;
}

static int set_field(struct image *i, const char *key, const char *value) {
        for (size_t f = 0; f < ELEMENTSOF(fields); f++) {
                void *at = (char *)i + fields[f].offset;
                if (!streq(fields[f].key, key))
                        continue;
                if (fields[f].list)
                        return strlist_add(at, value);
                char **s = at;
                if (*s)
                        return -EBADMSG;
                *s = strdup(value);
                return *s ? 0 : -ENOMEM;
        }
        return streq(key, "size") && parse_u64(value, &i->size) == 0 ? 0 : -EBADMSG;
}

static int complete(struct image *i) {
        for (size_t f = 0; f < ELEMENTSOF(fields); f++) {
                char **s = (void *)((char *)i + fields[f].offset);
                if (fields[f].list || *s)
                        continue;
                if (!fields[f].later)
                        return -EBADMSG;
                if (!(*s = strdup("")))
                        return -ENOMEM;
        }
        return i->keys.n > 0 && i->keys.n <= IMAGE_LAYERS_MAX ? 0 : -EBADMSG;
}

/* A copy to write in, NUL-terminated; NULL where the text holds a NUL or memory is out. */
static char *copy(const char *text, size_t len, int *r) {
        *r = -EBADMSG;
        if (memchr(text, 0, len))
                return NULL;
        char *c = strndup(text, len);
        if (!c)
                *r = -ENOMEM;
        return c;
}

int image_record_parse(const char *text, size_t len, struct image *ret) {
        _cleanup_image_ struct image i = {};
        int r;
        _cleanup_free_ char *t = copy(text, len, &r);
        char *at = t, *key, *value;

        if (!t)
                return r;
        if (!next_line(&at, &key, &value) || !streq(key, "belljar-image") || !streq(value, "1"))
                return -EBADMSG;
        while (next_line(&at, &key, &value)) {
                if (streq(key, "end")) {
                        if (*at)
                                return -EBADMSG;
                        if ((r = complete(&i)) < 0)
                                return r;
                        *ret = i;
                        i = (struct image){};
                        return 0;
                }
                if ((r = set_field(&i, key, value)) < 0)
                        return r;
        }
        return -EBADMSG;
}

static const struct {
        const char *key;
        size_t offset;
} counts[] = {
        {"entries", offsetof(struct layer_counts, entries)},     {"bytes", offsetof(struct layer_counts, bytes)},
        {"devices", offsetof(struct layer_counts, devices)},     {"setid", offsetof(struct layer_counts, setid)},
        {"attributes", offsetof(struct layer_counts, attributes)}, {"ids", offsetof(struct layer_counts, ids)},
        {"whiteouts", offsetof(struct layer_counts, whiteouts)}, {"opaque", offsetof(struct layer_counts, opaque)},
};

void layer_record_write(const struct layer_counts *c, struct strbuf *b) {
        strbuf_puts(b, LAYER_HEAD "\n");
        for (size_t k = 0; k < ELEMENTSOF(counts); k++) {
                const uint64_t *v = (const void *)((const char *)c + counts[k].offset);
                strbuf_printf(b, "%s %llu\n", counts[k].key, (unsigned long long)*v);
        }
        strbuf_puts(b, "end\n");
}

int layer_record_parse(const char *text, size_t len, struct layer_counts *ret) {
        struct layer_counts c = {};
        int r;
        _cleanup_free_ char *t = copy(text, len, &r);
        char *at = t, *key, *value;

        if (!t)
                return r;
        if (!next_line(&at, &key, &value) || !streq(key, "belljar-layer") || !streq(value, "1"))
                return -EBADMSG;
        while (next_line(&at, &key, &value)) {
                if (streq(key, "end")) {
                        if (*at)
                                return -EBADMSG;
                        *ret = c;
                        return 0;
                }
                r = -EBADMSG;
                for (size_t k = 0; k < ELEMENTSOF(counts); k++)
                        if (streq(counts[k].key, key))
                                r = parse_u64(value, (uint64_t *)(void *)((char *)&c + counts[k].offset));
                if (r < 0)
                        return -EBADMSG;
        }
        return -EBADMSG;
}
