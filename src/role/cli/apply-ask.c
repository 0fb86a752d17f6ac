/* `belljar apply --interactive`: change by change and hunk by hunk, with plain lines as `git add -p` has them. What is shown is
 * escaped, and what is taken over is what was shown: texts are put together from the bytes on the screen, everything else is bound
 * to its hash. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/guarded.h"
#include "model/hunks.h"
#include "proto/quote.h"
#include "role/cli/apply.h"
#include "svc/textdiff.h"
#include "sys/beneath.h"

enum { TEXT_MAX = 8 << 20 };

static char *quoted(const char *path) {
        struct strbuf b = {};
        quote_name(&b, "", path);
        return strbuf_take(&b);
}

int apply_show_guarded(struct applying *x, const struct change *c, const char *runs, struct error *e) {
        static const struct textdiff_options shown = {.escape = true};
        _cleanup_free_ char *name = quoted(c->path);
        char digest[APPLY_DIGEST];
        int r = apply_digest(&x->a, c, digest, NULL, e);

        if (r == 0)
                r = textdiff_change(&x->source, c, &shown, true, true, stdout, e);
        if (r < 0)
                return r;
        printf("guarded   %s: run by %s\n", name ? name : "?", runs);
        if (!x->o->ask)
                printf("          to take over exactly this: --yes-to %s=%s\n", name ? name : "?", digest);
        return 0;
}

/* The first letter of the answer, 0 at the end of the input. */
static int answer(const char *question, const char *letters, const char *help) {
        _cleanup_free_ char *line = NULL;
        size_t cap = 0;

        for (;;) {
                printf("%s [%s,?] ", question, letters);
                if (fflush(stdout) != 0 || getline(&line, &cap, stdin) < 0)
                        return 0;
                if (line[0] && line[0] != ',' && line[0] != '\n' && (line[1] == '\n' || !line[1]) && strchr(letters, line[0]))
                        return line[0];
                printf("%s", help);
        }
}

static bool answer_yes(const char *question) {
        _cleanup_free_ char *line = NULL;
        size_t cap = 0;

        printf("%s", question);
        return fflush(stdout) == 0 && getline(&line, &cap, stdin) > 0 && (streq(line, "yes\n") || streq(line, "yes"));
}

/* A regular file's text; none for -1. */
static int read_text(int root, const char *path, mode_t mode, char **ret, size_t *ret_n) {
        if (!mode) {
                *ret = strdup("");
                *ret_n = 0;
                return *ret ? 0 : -ENOMEM;
        }
        _cleanup_fd_ int fd = beneath_open_regular(root, path, NULL);
        return fd < 0 ? fd : fd_read_all(fd, TEXT_MAX, ret, ret_n);
}

struct asking {
        bool all, quit;
};

static int ask_hunks(struct applying *x, const struct change *c, const char *name, const struct strbuf *diff, const struct hunk *hunks, size_t n,
                     struct decision *d, struct asking *q, struct error *e) {
        static const char help[] = "y: take this hunk  n: leave it  a: this and the rest of the file  d: leave the rest of the file  q: leave all the rest\n";
        _cleanup_free_ bool *take = calloc(n, sizeof(*take));
        _cleanup_free_ char *old = NULL;
        size_t old_n = 0, chosen = 0;
        char verdict = 0;

        if (!take)
                return error_set(e, ENOMEM, "out of memory");
        printf("--- %s\n", name);
        for (size_t i = 0; i < n; i++) {
                char question[80];
                if (!verdict) {
                        _cleanup_strbuf_ struct strbuf shown = {};
                        textdiff_visible(&shown, diff->data + hunks[i].at, hunks[i].size);
                        if (shown.failed)
                                return error_set(e, ENOMEM, "out of memory");
                        fputs(shown.data, stdout);
                        snprintf(question, sizeof(question), "(%zu/%zu) take over this hunk?", i + 1, n);
                        int k = answer(question, "y,n,a,d,q", help);
                        if (k == 'q' || k == 0)
                                q->quit = true;
                        verdict = k == 'a' ? 'a' : k == 'd' || q->quit ? 'd' : 0;
                        take[i] = k == 'y' || k == 'a';
                } else
                        take[i] = verdict == 'a';
                chosen += take[i];
        }
        if (chosen == 0)
                return 0;
        int r = read_text(x->source.lower_fd, c->path, c->before.mode, &old, &old_n);
        if (r < 0)
                return error_errno(e, -r, "%s cannot be read", name);
        struct strbuf text = {.max = 4 * (size_t)TEXT_MAX};
        r = hunks_apply(old, old_n, diff->data, hunks, n, take, &text);
        if (r < 0) {
                strbuf_clear(&text);
                return error_errno(e, -r, "%s changed while it was shown", name);
        }
        sha256(old, old_n, d->old);
        d->old_set = c->before.mode != 0;
        d->text_size = text.len;
        d->text = strbuf_take(&text);
        d->take = d->text_set = d->text != NULL;
        d->keep_mode = chosen < n && c->before.mode != 0;
        return d->text ? 0 : error_set(e, ENOMEM, "out of memory");
}

static int ask_whole(struct applying *x, const struct change *c, const char *name, const char *runs, struct decision *d, struct asking *q, struct error *e) {
        static const struct textdiff_options shown = {.escape = true};
        static const char help[] = "y: take it over  n: leave it  a: this and all the rest that is not guarded  q: leave all the rest\n";
        char digest[APPLY_DIGEST], question[APPLY_DIGEST + 64];
        int r = apply_digest(&x->a, c, digest, d->content, e);

        if (r < 0)
                return r;
        d->content_set = S_ISREG(c->after.mode);
        if (runs) {
                if ((r = apply_show_guarded(x, c, runs, e)) < 0)
                        return r;
                snprintf(question, sizeof(question), "type yes to take over exactly this (%.16s): ", digest);
                d->take = answer_yes(question);
                return 0;
        }
        if (!q->all) {
                if ((r = textdiff_change(&x->source, c, &shown, true, true, stdout, e)) < 0)
                        return r;
                _cleanup_free_ char *text = str_printf("take over %s?", name);
                int k = answer(text ? text : "take it over?", "y,n,a,q", help);
                q->all = k == 'a';
                q->quit = k == 'q' || k == 0;
                d->take = k == 'y' || k == 'a';
        } else
                d->take = true;
        return 0;
}

/* Hunks of a text that is changed in several places. */
static int ask_one(struct applying *x, const struct change *c, struct decision *d, struct asking *q, struct error *e) {
        static const struct textdiff_options plain = {.max_file = TEXT_MAX};
        _cleanup_strbuf_ struct strbuf diff = {.max = 16 * (size_t)TEXT_MAX};
        _cleanup_free_ struct hunk *hunks = NULL;
        _cleanup_free_ char *name = quoted(c->path);
        enum textdiff_result what = TEXTDIFF_SAME;
        struct guarded g = {};
        size_t n = 0;

        if (!name)
                return error_set(e, ENOMEM, "out of memory");
        bool guarded = guarded_find(c->path, x->guarded, &g) && (g.never || !S_ISDIR(c->after.mode ?: c->before.mode));
        if (g.never) {
                printf("refused   %s: files of git do not come out\n", name);
                x->left++;
                return 0;
        }
        if (!guarded && !q->all && c->kind == CHANGE_MODIFIED) {
                _cleanup_fd_ int old = beneath_open_regular(x->source.lower_fd, c->path, NULL);
                _cleanup_fd_ int new = beneath_open_regular(x->source.upper_fd, c->path, NULL);
                int r = old < 0 || new < 0 ? 0 : textdiff_hunks(old, new, &plain, &diff, &what, e);
                if (r < 0)
                        return r;
                if (what == TEXTDIFF_SHOWN && hunks_parse(diff.data, diff.len, &hunks, &n) == 0 && n > 1)
                        return ask_hunks(x, c, name, &diff, hunks, n, d, q, e);
        }
        return ask_whole(x, c, name, guarded ? g.runs : NULL, d, q, e);
}

int apply_ask(struct applying *x, const bool *selected, struct error *e) {
        struct asking q = {};

        for (size_t i = 0; i < x->changes.n && !q.quit; i++) {
                const struct change *c = &x->changes.items[i];
                /* A directory comes with what is taken over of it. */
                if (!selected[i] || (c->kind == CHANGE_ADDED && S_ISDIR(c->after.mode)))
                        continue;
                int r = ask_one(x, c, &x->decisions[i], &q, e);
                if (r < 0)
                        return r;
        }
        return 0;
}
