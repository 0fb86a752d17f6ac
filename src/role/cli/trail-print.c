/* Records of the trail, read and in words; see trail.h. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/trail.h"

#define READ_SIZE (256u << 10)

/* From here on nothing but newlines: room that a record may yet fill, so that whoever goes on reading begins here again. */
static int only_blanks(struct trail_reader *r) {
        char more[4096];
        size_t ahead = 0;
        ssize_t n = 1;

        for (size_t i = r->at; i < r->n; i++)
                if (r->data[i] != '\n')
                        return 0;
        while (n > 0) {
                n = read(r->fd, more, sizeof(more));
                if (n < 0)
                        return -errno;
                ahead += (size_t)n;
                for (ssize_t i = 0; i < n; i++)
                        if (more[i] != '\n') {
                                (void)lseek(r->fd, -(off_t)ahead, SEEK_CUR);
                                return 0;
                        }
        }
        (void)lseek(r->fd, -(off_t)(ahead + r->n - r->at), SEEK_CUR);
        r->n = r->at;
        return 1;
}

int trail_reader_next(struct trail_reader *r, const char **ret, size_t *ret_n) {
        if (r->n > r->at && r->data[r->at] == '\n') {
                int blank = only_blanks(r);
                if (blank)
                        return MIN(blank, 0);
        }
        for (size_t seen = r->at;;) {
                const char *nl = r->n > seen ? memchr(r->data + seen, '\n', r->n - seen) : NULL;
                if (nl || r->n - r->at > TRAIL_LINE_MAX) {
                        *ret = r->data + r->at;
                        *ret_n = nl ? (size_t)(nl - *ret) : r->n - r->at;
                        r->at += *ret_n + (nl != NULL);
                        return 1;
                }
                seen = r->n;
                if (r->at > 0) {
                        memmove(r->data, r->data + r->at, r->n - r->at);
                        seen -= r->at;
                        r->n -= r->at;
                        r->at = 0;
                }
                if (r->cap < r->n + READ_SIZE) {
                        char *p = (char *)realloc(r->data, r->n + READ_SIZE);
                        if (!p)
                                return -ENOMEM;
                        r->data = p;
                        r->cap = r->n + READ_SIZE;
                }
                ssize_t n = read(r->fd, r->data + r->n, r->cap - r->n);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0)
                        return 0;
                r->n += (size_t)MAX(n, 0);
                int blank = r->n > r->at && r->data[r->at] == '\n' ? only_blanks(r) : 0;
                if (blank)
                        return MIN(blank, 0);
        }
}

void trail_reader_clear(struct trail_reader *r) {
        free(r->data);
        fd_close(r->fd);
        *r = (struct trail_reader){.fd = -1};
}

const char *trail_text(json_t *record, const char *key) {
        const char *s = json_string_value(json_object_get(record, key));
        return s ? s : "";
}

static bool is_listed(json_t *record, const char *list, const char *field) {
        size_t i;
        json_t *v;

        json_array_foreach(json_object_get(record, list), i, v)
                if (json_is_string(v) && streq(json_string_value(v), field))
                        return true;
        return false;
}

static void add_visible(struct strbuf *b, const char *s) {
        _cleanup_free_ char *v = str_visible_dup(s);
        strbuf_puts(b, v ? v : "?");
}

/* A member, where it is there; what the sandbox could have forged is marked. */
static void add_member(struct strbuf *b, json_t *record, const char *key, const char *before) {
        json_t *v = json_object_get(record, key);

        if (json_is_string(v)) {
                strbuf_puts(b, before);
                add_visible(b, json_string_value(v));
        } else if (json_is_integer(v))
                strbuf_printf(b, "%s%lld", before, (long long)json_integer_value(v));
        else
                return;
        if (is_listed(record, "cut", key))
                strbuf_puts(b, "...");
        if (is_listed(record, "forgeable", key))
                strbuf_puts(b, " (claimed)");
}

static void add_arguments(struct strbuf *b, json_t *record, json_t *argv) {
        size_t i;
        json_t *v;

        json_array_foreach(argv, i, v) {
                const char *s = json_is_string(v) ? json_string_value(v) : "?";
                bool plain = s[0] && !s[strcspn(s, " \t'\"")];
                strbuf_puts(b, plain ? " " : " '");
                add_visible(b, s);
                strbuf_puts(b, plain ? "" : "'");
        }
        if (is_listed(record, "cut", "argv"))
                strbuf_puts(b, " ...");
        if (is_listed(record, "forgeable", "argv"))
                strbuf_puts(b, " (claimed)");
}

static void add_place(struct strbuf *b, json_t *record) {
        add_member(b, record, trail_text(record, "host")[0] ? "host" : "address", " ");
        add_member(b, record, "port", ":");
}

static void add_status(struct strbuf *b, json_t *record) {
        const int status = (int)json_integer_value(json_object_get(record, "status"));

        if (WIFSIGNALED(status))
                strbuf_printf(b, " signal %d", WTERMSIG(status));
        else
                strbuf_printf(b, " status %d", WEXITSTATUS(status));
}

static void add_lost(struct strbuf *b, json_t *lost) {
        const char *key, *between = " ";
        json_t *v;

        json_object_foreach(lost, key, v) {
                strbuf_puts(b, between);
                add_visible(b, key);
                strbuf_printf(b, " %lld", (long long)json_integer_value(v));
                between = ", ";
        }
}

static void add_bytes(struct strbuf *b, json_t *record) {
        char up[32], down[32];

        if (json_is_integer(json_object_get(record, "up")))
                strbuf_printf(b, ", %s up, %s down", format_size(up, sizeof(up), (uint64_t)MAX(json_integer_value(json_object_get(record, "up")), 0)),
                              format_size(down, sizeof(down), (uint64_t)MAX(json_integer_value(json_object_get(record, "down")), 0)));
}

void trail_describe(json_t *record, struct strbuf *b) {
        const char *kind = trail_text(record, "kind");
        json_t *plan = json_object_get(record, "plan");

        add_visible(b, kind);
        if (streq(kind, "start")) {
                add_member(b, plan, "tier", " ");
                add_member(b, plan, "workspace", ", workspace ");
                strbuf_puts(b, ":");
                add_arguments(b, record, json_object_get(plan, "argv"));
                return;
        }
        if (streq(kind, "exec") || streq(kind, "exit") || streq(kind, "file")) {
                add_member(b, record, "pid", " ");
                add_member(b, record, "parent", " of ");
                add_member(b, record, "exe", " ");
                add_member(b, record, "path", json_object_get(record, "exe") ? " as " : " ");
                if (json_object_get(record, "argv")) {
                        strbuf_puts(b, ":");
                        add_arguments(b, record, json_object_get(record, "argv"));
                }
                if (streq(kind, "exit"))
                        add_status(b, record);
        }
        add_member(b, record, "name", " ");
        add_member(b, record, "what", " ");
        add_place(b, record);
        add_member(b, record, "text", " ");
        if (json_integer_value(json_object_get(record, "response")) > 0)
                add_member(b, record, "response", ": ");
        add_bytes(b, record);
        add_member(b, record, "why", ": ");
        add_member(b, record, "count", ", times ");
        if (json_is_true(json_object_get(record, "at_least")))
                strbuf_puts(b, " at least");
        add_member(b, record, "written", " written ");
        add_member(b, record, "deleted", ", deleted ");
        if (streq(kind, "end")) {
                add_member(b, record, "end", " ");
                if (streq(trail_text(record, "end"), "exit"))
                        add_status(b, record);
        }
        add_lost(b, json_object_get(record, "lost"));
        add_member(b, record, "user", ", by user ");
}
