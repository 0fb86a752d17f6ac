/* `belljar diff` and `belljar discard`; see diff.h. */
#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/fd.h"
#include "proto/quote.h"
#include "role/cli/diff.h"
#include "role/cli/layers.h"
#include "svc/remove-tree.h"
#include "svc/textdiff.h"

/* ---- the forms ---- */

static int put(FILE *out, struct strbuf *b, struct error *e) {
        if (b->failed)
                return error_set(e, ENOMEM, "out of memory while printing changes");
        if (b->len > 0 && fwrite(b->data, 1, b->len, out) != b->len)
                return error_errno(e, errno ?: EIO, "cannot write the changes");
        return 0;
}

static int print_names(const struct changes *c, bool status, FILE *out, struct error *e) {
        for (size_t i = 0; i < c->n; i++) {
                _cleanup_strbuf_ struct strbuf b = {};
                const struct change *x = &c->items[i];

                if (status && x->peer >= 0) {
                        if (x->kind == CHANGE_DELETED)
                                continue; /* shown with its new name */
                        strbuf_puts(&b, "R\t");
                        quote_name(&b, "", c->items[x->peer].path);
                        strbuf_puts(&b, "\t");
                } else if (status)
                        strbuf_printf(&b, "%c\t", change_kind_letter(x->kind));
                quote_name(&b, "", x->path);
                if (S_ISDIR(x->after.mode ?: x->before.mode))
                        strbuf_puts(&b, "/");
                strbuf_puts(&b, "\n");
                int r = put(out, &b, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Lines that begin with + or - in a change's patch. */
static void count_lines(const char *text, size_t n, uint64_t *plus, uint64_t *minus) {
        bool in_hunk = false;
        for (size_t i = 0; i < n;) {
                const char *nl = memchr(text + i, '\n', n - i);
                if (text[i] == '@')
                        in_hunk = true;
                else if (in_hunk && text[i] == '+')
                        (*plus)++;
                else if (in_hunk && text[i] == '-')
                        (*minus)++;
                if (!nl)
                        break;
                i = (size_t)(nl - text) + 1;
        }
}

static void add_what(struct strbuf *b, const struct change *x) {
        char a[32], z[32];
        mode_t mode = x->after.mode ?: x->before.mode;

        if (x->kind == CHANGE_TYPE)
                strbuf_printf(b, "%s -> %s", file_type_name(x->before.mode), file_type_name(x->after.mode));
        else if (x->kind == CHANGE_MODE)
                strbuf_printf(b, "mode %04o -> %04o", (unsigned)x->before.mode & 07777, (unsigned)x->after.mode & 07777);
        else if (x->kind == CHANGE_OWNER)
                strbuf_puts(b, "owner");
        else if (x->kind == CHANGE_MODIFIED)
                strbuf_printf(b, "%s -> %s", format_size(a, sizeof(a), x->before.size),
                              format_size(z, sizeof(z), x->after.size));
        else if (S_ISREG(mode))
                strbuf_puts(b, format_size(a, sizeof(a), x->after.mode ? x->after.size : x->before.size));
        else
                strbuf_puts(b, file_type_name(mode));
        if (x->beneath > 0)
                strbuf_printf(b, ", with %s%llu %s", x->flags & CHANGE_BENEATH_CUT ? "at least " : "",
                              (unsigned long long)x->beneath, x->beneath == 1 ? "entry" : "entries");
        if (x->flags & CHANGE_UNREAD)
                strbuf_puts(b, ", cannot be read");
        if (x->flags & CHANGE_UNCOMPARED)
                strbuf_puts(b, ", too large to compare");
        if (x->flags & (CHANGE_OVER_HIDDEN | CHANGE_HOLDS_HIDDEN))
                strbuf_puts(b, x->flags & CHANGE_OVER_HIDDEN ? ", was hidden from the run" : ", holds hidden files");
}

static int print_stat(const struct changes_source *s, const struct changes *c, FILE *out, struct error *e) {
        static const struct textdiff_options plain = {};
        uint64_t n[_CHANGE_KIND_MAX] = {}, plus = 0, minus = 0;

        for (size_t i = 0; i < c->n; i++) {
                _cleanup_strbuf_ struct strbuf b = {};
                const struct change *x = &c->items[i];

                n[x->kind]++;
                if (x->peer >= 0 && x->kind == CHANGE_DELETED)
                        continue;
                strbuf_printf(&b, " %c ", x->peer >= 0 ? 'R' : change_kind_letter(x->kind));
                if (x->peer >= 0) {
                        quote_name(&b, "", c->items[x->peer].path);
                        strbuf_puts(&b, " => ");
                }
                quote_name(&b, "", x->path);
                if (S_ISDIR(x->after.mode ?: x->before.mode))
                        strbuf_puts(&b, "/");
                strbuf_puts(&b, " | ");
                add_what(&b, x);
                if (x->peer < 0 && (x->kind == CHANGE_MODIFIED || x->kind == CHANGE_ADDED || x->kind == CHANGE_DELETED)) {
                        _cleanup_free_ char *text = NULL;
                        size_t len = 0;
                        uint64_t p = 0, m = 0;
                        FILE *f = open_memstream(&text, &len);
                        if (!f)
                                return error_errno(e, errno, "cannot count lines");
                        int r = textdiff_change(s, x, &plain, true, true, f, e);
                        fclose(f);
                        if (r < 0)
                                return r;
                        count_lines(text, len, &p, &m);
                        if (p || m)
                                strbuf_printf(&b, ", +%llu -%llu", (unsigned long long)p, (unsigned long long)m);
                        plus += p;
                        minus += m;
                }
                strbuf_puts(&b, "\n");
                int r = put(out, &b, e);
                if (r < 0)
                        return r;
        }
        if (c->n > 0)
                fprintf(out, " %llu added, %llu changed, %llu deleted, +%llu -%llu lines\n",
                        (unsigned long long)n[CHANGE_ADDED],
                        (unsigned long long)(c->n - n[CHANGE_ADDED] - n[CHANGE_DELETED]),
                        (unsigned long long)n[CHANGE_DELETED], (unsigned long long)plus, (unsigned long long)minus);
        return 0;
}

static char *base64(const char *s) {
        size_t n = strlen(s);
        char *d = malloc(BASE64_LENGTH(n) + 1);

        if (d)
                d[base64_encode(s, n, d)] = 0;
        return d;
}

/* NAME as it is where it is UTF-8; otherwise shown with \xHH, and exactly in NAME_base64. */
static void set_bytes(json_t *o, const char *name, const char *value) {
        json_t *j = json_string(value);
        if (!j) {
                char key[64];
                _cleanup_free_ char *shown = str_visible_dup(value), *exact = base64(value);
                snprintf(key, sizeof(key), "%s_base64", name);
                json_object_set_new(o, key, json_string(exact ?: ""));
                j = json_string(shown ?: "");
        }
        json_object_set_new(o, name, j);
}

static json_t *side_json(const struct change_side *s) {
        char mode[16];

        if (!s->mode)
                return json_null();
        snprintf(mode, sizeof(mode), "%04o", (unsigned)s->mode & 07777);
        json_t *o = json_pack("{s:s, s:s}", "type", file_type_name(s->mode), "mode", mode);
        if (S_ISREG(s->mode)) {
                json_object_set_new(o, "size", json_integer((json_int_t)s->size));
                json_object_set_new(o, "links", json_integer(s->nlink));
        }
        if (s->link)
                set_bytes(o, "target", s->link);
        json_object_set_new(o, "uid", s->uid == CHANGE_ID_UNMAPPED ? json_null() : json_integer(s->uid));
        json_object_set_new(o, "gid", s->gid == CHANGE_ID_UNMAPPED ? json_null() : json_integer(s->gid));
        return o;
}

static json_t *change_json(const struct changes *c, const struct change *x) {
        static const struct { unsigned flag; const char *name; } flags[] = {
                {CHANGE_OVER_HIDDEN, "over_hidden"}, {CHANGE_HOLDS_HIDDEN, "holds_hidden"},
                {CHANGE_UNREAD, "unread"}, {CHANGE_UNCOMPARED, "uncompared"}, {CHANGE_BENEATH_CUT, "beneath_at_least"},
        };
        json_t *o = json_object();

        set_bytes(o, "path", x->path);
        json_object_set_new(o, "kind", json_string(change_kind_name(x->kind)));
        json_object_set_new(o, "before", side_json(&x->before));
        json_object_set_new(o, "after", side_json(&x->after));
        if (x->beneath > 0)
                json_object_set_new(o, "beneath", json_integer((json_int_t)x->beneath));
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (x->flags & flags[i].flag)
                        json_object_set_new(o, flags[i].name, json_true());
        if (x->peer >= 0)
                set_bytes(o, x->kind == CHANGE_ADDED ? "renamed_from" : "renamed_to", c->items[x->peer].path);
        return o;
}

/* Change by change, so that a million of them do not stand in memory as JSON as well. */
static int print_json(const struct changes *c, FILE *out, struct error *e) {
        uint64_t added = 0, deleted = 0;

        fputs("{\"changes\": [", out);
        for (size_t i = 0; i < c->n; i++) {
                json_t *o = change_json(c, &c->items[i]);
                added += c->items[i].kind == CHANGE_ADDED;
                deleted += c->items[i].kind == CHANGE_DELETED;
                fputs(i > 0 ? ",\n " : "\n ", out);
                int r = o ? json_dumpf(o, out, JSON_ENSURE_ASCII) : -1;
                json_decref(o);
                if (r < 0)
                        return error_set(e, EIO, "cannot write the changes");
        }
        fprintf(out, "%s], \"counts\": {\"added\": %llu, \"changed\": %llu, \"deleted\": %llu}}\n", c->n > 0 ? "\n" : "",
                (unsigned long long)added, (unsigned long long)(c->n - added - deleted), (unsigned long long)deleted);
        return 0;
}

static int print_all(const struct layers *l, const struct diff_options *o, FILE *out, struct error *e) {
        struct changes_source s = {
                .upper_fd = l->upper, .lower_fd = l->lower, .hide_fd = -1, .hidden = &l->hidden, .trusted = o->trusted, .ids = o->ids,
                .caps = o->caps, .expand = o->form == DIFF_UNIFIED,
        };
        _cleanup_changes_ struct changes c = {};
        int r = changes_read(&s, &c, e);
        if (r < 0)
                return r;
        if (o->form != DIFF_UNIFIED && o->form != DIFF_NAME_ONLY)
                changes_find_renames(&s, &c);
        switch (o->form) {
        case DIFF_UNIFIED:
                r = textdiff_list(&s, &c, &(struct textdiff_options){.escape = o->tty}, out, e);
                break;
        case DIFF_NAME_ONLY:
        case DIFF_NAME_STATUS:
                r = print_names(&c, o->form == DIFF_NAME_STATUS, out, e);
                break;
        case DIFF_STAT:
                r = print_stat(&s, &c, out, e);
                break;
        case DIFF_JSON:
                r = print_json(&c, out, e);
                break;
        }
        if (r >= 0 && (fflush(out) != 0 || ferror(out)))
                r = error_errno(e, errno ?: EIO, "cannot write the changes");
        return r;
}

/* ---- the commands ---- */

struct print {
        const struct layers *layers;
        const struct diff_options *options;
        FILE *out;
};

static int print_in_child(void *data, struct error *e) {
        const struct print *p = data;
        return print_all(p->layers, p->options, p->out, e);
}

int diff_print(int state_fd, const char *workspace, const struct diff_options *o, FILE *out, struct error *e) {
        _cleanup_layers_ struct layers l = LAYERS_NONE;
        int r = layers_open(state_fd, workspace, &l, e);

        if (r < 0)
                return r;
        if (fflush(out) != 0)
                return error_errno(e, errno, "cannot write the changes");
        r = layers_in_child(print_in_child, &(struct print){&l, o, out}, e);
        return MIN(r, 0);
}

int diff_json(int state_fd, const char *workspace, const struct diff_options *o, FILE *out, struct error *e) {
        struct diff_options j = *o;
        j.form = DIFF_JSON;
        return diff_print(state_fd, workspace, &j, out, e);
}

int diff_discard(int state_fd, uint64_t *ret_removed, struct error *e) {
        static const char *const names[] = {"upper.discarded", "work"};
        struct remove_tree_stats stats = {};
        uint64_t removed = 0;
        int r, first = 0;

        /* What an earlier discard left half done. */
        r = remove_tree(state_fd, names[0], &stats, e);
        removed += stats.removed;
        if (r < 0)
                return r;
        /* A directory can only be renamed by one who may write to it: its ".." changes. */
        struct stat st;
        if (fstatat(state_fd, "upper", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
                _cleanup_fd_ int fd = openat(state_fd, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                char proc[64];
                snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
                if (fd >= 0 && (st.st_mode & 0700) != 0700)
                        (void)chmod(proc, 0700);
        }
        if (renameat(state_fd, "upper", state_fd, names[0]) < 0 && errno != ENOENT)
                return error_errno(e, errno, "cannot set the changes aside");
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                r = remove_tree(state_fd, names[i], &stats, first == 0 ? e : NULL);
                removed += stats.removed;
                stats = (struct remove_tree_stats){};
                if (r < 0 && first == 0)
                        first = r;
        }
        if (ret_removed)
                *ret_removed = removed;
        return first;
}
