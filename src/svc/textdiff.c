/* Changes as unified text; see textdiff.h. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "proto/quote.h"
#include "svc/textdiff.h"
#include "sys/beneath.h"

enum { MAX_FILE = 8 << 20, TIMEOUT_MS = 10000, OUTPUT_MAX = 64 << 20 };

void textdiff_visible(struct strbuf *out, const char *text, size_t n) {
        /* str_visible would double backslashes, which code is full of: they are passed as they are, and so is what
         * separates the pieces. A piece is cut to fit, never inside a character that UTF-8 allows. */
        while (n > 0) {
                char piece[512], shown[sizeof(piece) * 4];
                size_t k = 0;

                if (*text == '\t' || *text == '\n' || *text == '\\') {
                        strbuf_add(out, text, 1);
                        text++, n--;
                        continue;
                }
                if (*text == 0) {
                        strbuf_puts(out, "\\x00");
                        text++, n--;
                        continue;
                }
                while (k < n && k < sizeof(piece) - 1 && text[k] && !strchr("\t\n\\", text[k]))
                        k++;
                if (k == sizeof(piece) - 1)
                        for (int i = 0; i < 3 && k < n && ((unsigned char)text[k] & 0xc0) == 0x80; i++)
                                k--;
                memcpy(piece, text, k);
                piece[k] = 0;
                str_visible(shown, sizeof(shown), piece);
                strbuf_puts(out, shown);
                text += k;
                n -= k;
        }
}

/* ---- the comparison ---- */

struct text {
        char *data;
        size_t len;
};
static void text_clear(struct text *t) { free(t->data); }

/* Reads a file of at most max bytes: -EFBIG. */
static int read_text(int fd, uint64_t max, struct text *ret) {
        struct stat st;
        if (fd < 0)
                return 0;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADFD;
        if ((uint64_t)st.st_size > max)
                return -EFBIG;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        return fd_read_all(fd, max, &ret->data, &ret->len);
}

static size_t count_lines(const struct text *t) {
        size_t n = 0;
        for (size_t i = 0; i < t->len;) {
                const char *nl = memchr(t->data + i, '\n', t->len - i);
                n++;
                if (!nl)
                        break;
                i = (size_t)(nl - t->data) + 1;
        }
        return n;
}

static void add_lines(struct strbuf *out, char sign, const struct text *t) {
        for (size_t i = 0; i < t->len;) {
                const char *nl = memchr(t->data + i, '\n', t->len - i);
                size_t n = nl ? (size_t)(nl - t->data) + 1 - i : t->len - i;
                strbuf_add(out, &sign, 1);
                strbuf_add(out, t->data + i, n);
                if (!nl)
                        strbuf_puts(out, "\n\\ No newline at end of file\n");
                i += n;
        }
}

/* One hunk that replaces all by all. */
static void add_whole(struct strbuf *out, const struct text *a, const struct text *b) {
        size_t na = count_lines(a), nb = count_lines(b);
        strbuf_printf(out, "@@ -%d,%zu +%d,%zu @@\n", na > 0, na, nb > 0, nb);
        add_lines(out, '-', a);
        add_lines(out, '+', b);
}

/* A sealed copy in memory: diff gets nothing that leads to the tree, and the bytes are those that were looked at. */
static int copy_in_memory(const char *name, const struct text *t) {
        _cleanup_fd_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        int r = t->len > 0 ? fd_write_all(fd, t->data, t->len) : 0;
        if (r < 0)
                return r;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* The child: becomes diff(1) with fds 0 to 4 and nothing else of ours. */
static _noreturn_ void exec_diff(const char *program, int a, int b, int out, pid_t parent) {
        static const struct { int what; rlim_t max; } limits[] = {
                {RLIMIT_CPU, 20}, {RLIMIT_AS, 2ull << 30}, {RLIMIT_NOFILE, 16}, {RLIMIT_FSIZE, 0}, {RLIMIT_CORE, 0},
        };
        char *const argv[] = {(char *)program, (char *)"-u", (char *)"--text", (char *)"--label", (char *)"a",
                              (char *)"--label", (char *)"b", (char *)"/proc/self/fd/3", (char *)"/proc/self/fd/4", NULL};
        char *const envp[] = {(char *)"LC_ALL=C", (char *)"PATH=/usr/bin:/bin", NULL};
        sigset_t none;

        /* Out of the way of the numbers that they go to. */
        a = fcntl(a, F_DUPFD, 10);
        b = fcntl(b, F_DUPFD, 10);
        out = fcntl(out, F_DUPFD, 10);
        int null = open("/dev/null", O_RDWR);
        if (a < 0 || b < 0 || out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0 ||
            dup2(a, 3) < 0 || dup2(b, 4) < 0)
                _exit(125);
        if (syscall(SYS_close_range, 5u, ~0u, 0u) < 0)
                for (int i = 5; i < 1024; i++)
                        close(i);
        for (size_t i = 0; i < ELEMENTSOF(limits); i++) {
                struct rlimit l = {limits[i].max, limits[i].max};
                (void)setrlimit((__rlimit_resource_t)limits[i].what, &l);
        }
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
            getppid() != parent || chdir("/") < 0)
                _exit(125);
        execve(program, argv, envp);
        _exit(125);
}

static int64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads all that the child writes until the deadline. */
static int collect(int fd, int64_t deadline, struct strbuf *b) {
        for (;;) {
                char buf[65536];
                struct pollfd p = {.fd = fd, .events = POLLIN};
                int64_t left = deadline - now_ms();
                if (left <= 0)
                        return -ETIMEDOUT;
                int k = poll(&p, 1, (int)left);
                if (k < 0 && errno != EINTR)
                        return -errno;
                if (k <= 0)
                        continue;
                ssize_t n = read(fd, buf, sizeof(buf));
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0)
                        return 0;
                if (n > 0)
                        strbuf_add(b, buf, (size_t)n);
                if (b->failed)
                        return -EFBIG;
        }
}

/* 1: different, *out has the hunks; 0: equal; negative: no answer. */
static int run_diff(const struct text *a, const struct text *b, const struct textdiff_options *o, struct strbuf *out) {
        _cleanup_strbuf_ struct strbuf raw = {.max = OUTPUT_MAX};
        const char *program = o->diff ?: "/usr/bin/diff";
        int p[2], status;

        _cleanup_fd_ int ma = copy_in_memory("old", a);
        if (ma < 0)
                return ma;
        _cleanup_fd_ int mb = copy_in_memory("new", b);
        if (mb < 0)
                return mb;
        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        _cleanup_fd_ int rd = p[0];
        pid_t parent = getpid(), pid = fork();
        if (pid == 0)
                exec_diff(program, ma, mb, p[1], parent);
        int r = pid < 0 ? -errno : 0;
        close(p[1]);
        if (r < 0)
                return r;
        r = collect(rd, now_ms() + (o->timeout_ms ?: TIMEOUT_MS), &raw);
        if (r < 0)
                kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        if (r < 0)
                return r;
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
                return -EIO;
        if (WEXITSTATUS(status) == 0)
                return raw.len == 0 ? 0 : -EIO;
        /* "--- a", "+++ b", then the hunks; the caller writes the two itself, with the names. */
        const char *h = raw.data ? str_after(raw.data, "--- a\n") : NULL;
        h = h ? str_after(h, "+++ b\n") : NULL;
        if (!h || strncmp(h, "@@ -", 4) != 0)
                return -EIO;
        strbuf_add(out, h, raw.len - (size_t)(h - raw.data));
        return 1;
}

int textdiff_hunks(int old_fd, int new_fd, const struct textdiff_options *o, struct strbuf *out,
                   enum textdiff_result *ret, struct error *e) {
        _cleanup_(text_clear) struct text a = {}, b = {};
        uint64_t max = o->max_file ?: MAX_FILE;

        int r = read_text(old_fd, max, &a);
        if (r >= 0)
                r = read_text(new_fd, max, &b);
        if (r == -EFBIG) {
                *ret = TEXTDIFF_TOO_LARGE;
                return 0;
        }
        if (r < 0)
                return error_errno(e, -r, "cannot read a file to compare");
        if (a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0)) {
                *ret = TEXTDIFF_SAME;
                return 0;
        }
        if ((a.len > 0 && memchr(a.data, 0, a.len)) || (b.len > 0 && memchr(b.data, 0, b.len))) {
                *ret = TEXTDIFF_BINARY;
                return 0;
        }
        if (a.len == 0 || b.len == 0 || run_diff(&a, &b, o, out) <= 0)
                add_whole(out, &a, &b);
        if (out->failed)
                return error_set(e, ENOMEM, "out of memory while comparing files");
        *ret = TEXTDIFF_SHOWN;
        return 0;
}

/* ---- one change ---- */

static void add_label(struct strbuf *b, const char *mark, const char *prefix, const char *path) {
        strbuf_puts(b, mark);
        if (!prefix)
                strbuf_puts(b, "/dev/null");
        else {
                quote_name(b, prefix, path);
                /* GNU patch takes a name with spaces only where a tab ends it, as git writes it. */
                if (strchr(path, ' ') && !quote_needed(path))
                        strbuf_puts(b, "\t");
        }
        strbuf_puts(b, "\n");
}

static void add_mode(struct strbuf *b, const char *what, mode_t mode) {
        strbuf_printf(b, "%s mode %06o\n", what, (unsigned)mode);
}

/* "* WHAT: NAME" without a newline. */
static void add_note(struct strbuf *b, const char *type, const char *what, const char *path) {
        strbuf_printf(b, "* %s %s: ", type, what);
        quote_name(b, "", path);
}

static void add_sizes(struct strbuf *b, const struct change_side *before, const struct change_side *after) {
        char s[32];
        strbuf_puts(b, " (");
        if (before->mode)
                strbuf_puts(b, format_size(s, sizeof(s), before->size));
        if (before->mode && after->mode)
                strbuf_puts(b, " -> ");
        if (after->mode)
                strbuf_puts(b, format_size(s, sizeof(s), after->size));
        strbuf_puts(b, ")\n");
}

static const char *verb(const struct change_side *before, const struct change_side *after) {
        return !before->mode ? "added" : !after->mode ? "deleted" : "changed";
}

/* A regular file on either side or both. */
static int show_file(const struct changes_source *s, const struct change *c, const struct change_side *before,
                     const struct change_side *after, const struct textdiff_options *o, struct strbuf *b,
                     struct error *e) {
        _cleanup_strbuf_ struct strbuf hunks = {.max = 2 * (size_t)OUTPUT_MAX};
        _cleanup_fd_ int old_fd = -EBADF, new_fd = -EBADF;
        enum textdiff_result result = TEXTDIFF_SAME;
        const char *trouble = NULL;
        int r = 0;

        if (c->kind != CHANGE_MODE && c->kind != CHANGE_OWNER) {
                if (before->mode)
                        r = old_fd = beneath_open_regular(s->lower_fd, c->path, NULL);
                if (r >= 0 && after->mode)
                        r = new_fd = beneath_open_regular(s->upper_fd, c->path, NULL);
                if (r >= 0)
                        r = textdiff_hunks(old_fd, new_fd, o, &hunks, &result, e);
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        trouble = "cannot be read";
                else if (result == TEXTDIFF_BINARY)
                        trouble = "is binary";
                else if (result == TEXTDIFF_TOO_LARGE)
                        trouble = "is too large to show";
        }
        bool modes = before->mode && after->mode && before->mode != after->mode;
        if (!trouble || modes) {
                strbuf_puts(b, "diff --git ");
                quote_name(b, "a/", c->path);
                strbuf_puts(b, " ");
                quote_name(b, "b/", c->path);
                strbuf_puts(b, "\n");
                if (modes) {
                        add_mode(b, "old", before->mode);
                        add_mode(b, "new", after->mode);
                } else if (!before->mode)
                        add_mode(b, "new file", after->mode);
                else if (!after->mode) {
                        /* The hash of no bytes: without it GNU patch asks whether the patch is the wrong way round. */
                        add_mode(b, "deleted file", before->mode);
                        strbuf_printf(b, "index e69de29bb2d1d6434b8b29ae775ad8c2e48c5391..%040d\n", 0);
                }
        }
        if (trouble) {
                add_note(b, "file", verb(before, after), c->path);
                strbuf_printf(b, " %s", trouble);
                add_sizes(b, before, after);
        } else if (result == TEXTDIFF_SHOWN) {
                add_label(b, "--- ", before->mode ? "a/" : NULL, c->path);
                add_label(b, "+++ ", after->mode ? "b/" : NULL, c->path);
                if (o->escape)
                        textdiff_visible(b, hunks.data, hunks.len);
                else
                        strbuf_add(b, hunks.data, hunks.len);
        }
        return 0;
}

/* Anything but a regular file. */
static void show_other(const struct change *c, const struct change_side *before, const struct change_side *after,
                       struct strbuf *b) {
        mode_t mode = after->mode ?: before->mode;

        add_note(b, file_type_name(mode), verb(before, after), c->path);
        if (S_ISLNK(mode)) {
                strbuf_puts(b, " -> ");
                if (before->link)
                        quote_name(b, "", before->link);
                if (before->link && after->link)
                        strbuf_puts(b, " => ");
                if (after->link)
                        quote_name(b, "", after->link);
        } else if (before->mode && after->mode)
                strbuf_printf(b, " (mode %04o -> %04o)", (unsigned)before->mode & 07777, (unsigned)after->mode & 07777);
        else
                strbuf_printf(b, " (mode %04o)", (unsigned)mode & 07777);
        if (c->beneath > 0 && !after->mode)
                strbuf_printf(b, " with %s%llu %s", c->flags & CHANGE_BENEATH_CUT ? "at least " : "",
                              (unsigned long long)c->beneath, c->beneath == 1 ? "entry" : "entries");
        strbuf_puts(b, "\n");
}

static int show(const struct changes_source *s, const struct change *c, const struct change_side *before,
                const struct change_side *after, const struct textdiff_options *o, struct strbuf *b, struct error *e) {
        if (S_ISREG(after->mode ?: before->mode))
                return show_file(s, c, before, after, o, b, e);
        show_other(c, before, after, b);
        return 0;
}

static void show_id(struct strbuf *b, uint32_t id) {
        if (id == CHANGE_ID_UNMAPPED)
                strbuf_puts(b, "unmapped");
        else
                strbuf_printf(b, "%u", id);
}

int textdiff_change(const struct changes_source *s, const struct change *c, const struct textdiff_options *o,
                    bool old_half, bool new_half, FILE *out, struct error *e) {
        static const struct change_side none = {};
        _cleanup_strbuf_ struct strbuf b = {.max = 3 * (size_t)OUTPUT_MAX};
        int r = 0;

        if (c->flags & (CHANGE_OVER_HIDDEN | CHANGE_HOLDS_HIDDEN)) {
                strbuf_puts(&b, c->flags & CHANGE_OVER_HIDDEN ? "* hidden from the run, and written by it: "
                                                              : "* holds something that was hidden from the run: ");
                quote_name(&b, "", c->path);
                strbuf_puts(&b, "\n");
        }
        if (c->kind == CHANGE_TYPE) {
                if (old_half)
                        r = show(s, c, &c->before, &none, o, &b, e);
                if (r >= 0 && new_half)
                        r = show(s, c, &none, &c->after, o, &b, e);
        } else
                r = show(s, c, &c->before, &c->after, o, &b, e);
        if (r < 0)
                return r;
        if (c->kind == CHANGE_OWNER) {
                strbuf_puts(&b, "* owner changed: ");
                quote_name(&b, "", c->path);
                strbuf_printf(&b, " (%u:%u -> ", c->before.uid, c->before.gid);
                show_id(&b, c->after.uid);
                strbuf_puts(&b, ":");
                show_id(&b, c->after.gid);
                strbuf_puts(&b, ")\n");
        }
        if (b.failed)
                return error_set(e, ENOMEM, "out of memory while showing changes");
        if (b.len > 0 && fwrite(b.data, 1, b.len, out) != b.len)
                return error_errno(e, errno ?: EIO, "cannot write the changes");
        return 0;
}

int textdiff_list(const struct changes_source *s, const struct changes *c, const struct textdiff_options *o, FILE *out,
                  struct error *e) {
        bool later = false;
        int r = 0;

        for (size_t i = 0; i < c->n && r >= 0; i++) {
                const struct change *x = &c->items[i];
                bool from_dir = x->kind == CHANGE_TYPE && S_ISDIR(x->before.mode);
                later = later || from_dir;
                r = textdiff_change(s, x, o, true, !from_dir, out, e);
        }
        for (size_t i = 0; later && i < c->n && r >= 0; i++) {
                const struct change *x = &c->items[i];
                if (x->kind == CHANGE_TYPE && S_ISDIR(x->before.mode))
                        r = textdiff_change(s, x, o, false, true, out, e);
        }
        return r;
}
