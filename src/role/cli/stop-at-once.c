/* See stop.h. Somebody waits for it while a run does what it should not: `belljar` does it by itself, without becoming belljar-tool, where it
 * is plain which sandbox is meant. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "role/cli/commands.h"
#include "role/cli/control-call.h"
#include "role/cli/stop.h"
#include "sys/process.h"

#define AT_ONCE_MAX 64u /* more are asked one batch after the other */

uint32_t stop_verb(const char *word) {
        static const struct { const char *word; uint32_t type; } verbs[] = {
                {"kill", CONTROL_KILL}, {"cut", CONTROL_CUT}, {"hold", CONTROL_HOLD},
                {"release", CONTROL_RELEASE}, {"pause", CONTROL_PAUSE}, {"resume", CONTROL_RESUME},
        };

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(word, verbs[i].word))
                        return verbs[i].type;
        return 0;
}

static int take_answer(uint32_t verb, int fd, const struct state *s, const struct control_request *q, struct error *e) {
        struct control_answer a = {};
        int r = control_end(fd, s, &a, e);

        if (r == -ECONNRESET) {
                a = (struct control_answer){};
                r = control_ask(s, q, NULL, 0, &a, e);
                if (verb == CONTROL_KILL && r == -ESRCH)
                        r = 0; /* nothing of the run is left that could have answered */
        }
        /* One that hangs keeps no deadline and hears no alarm either. */
        if (verb == CONTROL_KILL && r == -EAGAIN)
                r = control_end_supervisor(fd, s, e);
        if (r < 0)
                return r;
        printf("%s\n", verb == CONTROL_HOLD ? a.text : s->id);
        if (verb != CONTROL_HOLD && a.text[0])
                fprintf(stderr, "belljar: %s: %s\n", s->id, a.text);
        return 0;
}

static int ask_some(uint32_t verb, const struct state *const *of, size_t n, const char *hold, bool skip) {
        struct control_request q = {.type = verb};
        int fds[AT_ONCE_MAX], failed = 0;

        snprintf(q.name, sizeof(q.name), "%s", hold ? hold : "");
        for (size_t i = 0; i < n; i++) {
                struct error e = {};
                fds[i] = control_begin(of[i], &q, NULL, 0, &e);
                if (fds[i] >= 0 || (skip && e.errnum == ESRCH))
                        continue;
                error_print(&e);
                failed = -1;
        }
        for (size_t i = 0; i < n; i++) {
                struct error e = {};
                if (fds[i] >= 0 && take_answer(verb, fds[i], of[i], &q, &e) < 0) {
                        error_print(&e);
                        failed = -1;
                }
                fd_close(fds[i]);
        }
        return failed;
}

int stop_ask(uint32_t verb, const struct state *const *of, size_t n, const char *hold, bool skip) {
        int failed = 0;

        for (size_t i = 0; i < n; i += AT_ONCE_MAX)
                if (ask_some(verb, of + i, MIN(n - i, (size_t)AT_ONCE_MAX), hold, skip) < 0)
                        failed = -1;
        return failed;
}

/* Every sandbox whose directory somebody has. */
static int find_all(int root, struct state **ret, size_t *ret_n) {
        _cleanup_strlist_ struct strlist ids = {};
        struct state *all;
        size_t n = 0;

        if (state_list_at_once(root, &ids) < 0 || !(all = calloc(ids.n + 1, sizeof(*all))))
                return -ENOMEM;
        for (size_t i = 0; i < ids.n; i++) {
                all[n] = STATE_NONE;
                if (state_find_at_once(root, ids.items[i], &all[n]) < 0)
                        continue;
                if (state_is_locked(&all[n]))
                        n++;
                else
                        state_close(&all[n]);
        }
        *ret = all;
        *ret_n = n;
        return 0;
}

bool stop_sandbox_of(const char *hold, char *ret, size_t size) {
        size_t n = strcspn(hold, ".");

        if (hold[n] != '.' || n >= size)
                return false;
        memcpy(ret, hold, n);
        ret[n] = 0;
        return true;
}

bool stop_at_once(int argc, char **argv, int *ret) {
        const uint32_t verb = argc > 2 ? stop_verb(argv[1]) : 0;
        const char *hold = NULL;
        char which[64];
        _cleanup_fd_ int root = -EBADF;
        struct error ignored = {}; /* whoever does it in the other way says what is wrong */
        struct state *of = NULL;
        bool all, done = false;
        size_t n = 0;

        if (!verb)
                return false;
        all = argc == 3 && (streq(argv[2], "--all") || streq(argv[2], "-a"));
        if (verb == CONTROL_RELEASE) {
                hold = argc == 4 && streq(argv[2], "--hold") ? argv[3] : NULL;
                if (!hold || strlen(hold) >= sizeof(((struct control_request *)0)->name) || !stop_sandbox_of(hold, which, sizeof(which)))
                        return false;
        }
        for (int i = 2; i < argc && !all && !hold; i++)
                if (argv[i][0] == '-')
                        return false;
        process_short_turns();
        if (state_open_root(false, &root, &ignored) < 0)
                return false;
        if (all) {
                if (find_all(root, &of, &n) < 0)
                        return false;
        } else if ((of = calloc((size_t)argc, sizeof(*of)))) {
                for (int i = 2; i < (hold ? 3 : argc); i++, n++) {
                        of[n] = STATE_NONE;
                        if (state_find_at_once(root, hold ? which : argv[i], &of[n]) < 0)
                                goto end;
                }
        } else
                return false;
        const struct state **p = calloc(n + 1, sizeof(*p));
        for (size_t i = 0; p && i < n; i++)
                p[i] = &of[i];
        if (p) {
                *ret = stop_ask(verb, p, n, hold, all) < 0 ? EXIT_BELLJAR : 0;
                done = true;
        }
        free(p);
end:
        for (size_t i = 0; i < n; i++)
                state_close(&of[i]);
        free(of);
        return done;
}
