/* See why-probe.h. The sandbox runs one program, belljar-gate --try, and shows nothing of the caller's: no workspace. What comes
 * out of it is read as untrusted, since an upstream has a part in it. */
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "role/cli/commands.h"
#include "role/cli/prepare.h"
#include "role/cli/why-probe.h"

#define OUTPUT_MAX (64u << 10)
#define EVENTS_MAX (1u << 20)
/* The prober ends by itself before that. */
#define TIME_LIMIT "90s"
#define INSIDE "/belljar-probe"

void why_probe_clear(struct why_probe *p) {
        for (size_t i = 0; i < p->n_steps; i++)
                free(p->steps[i].text);
        free(p->reason);
        free(p->why);
        free(p->rule);
        free(p->fix);
        *p = (struct why_probe){};
}

/* How the attempt is made, by what was asked and by what the table would do with it. */
static const char *mode_of(const char *what, const struct table *t, const struct request *r) {
        if (strstr(what, "://"))
                return r->tls ? "https" : "http";
        switch (table_port_access(t, r)) {
        case TABLE_PASS_TLS: return "tls";
        case TABLE_READ: return "raw"; /* bytes that are no request: what such a connection is refused for */
        default: return "tcp";
        }
}

static int add_all(struct strlist *l, const char *const *words, size_t n) {
        int r = 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = strlist_add(l, words[i]);
        return r;
}

/* "run OPTIONS -- PROBER ..." */
static int make_argv(struct strlist *argv, const struct strlist *words, const char *what, const struct table *t, const struct request *q) {
        static const char *const fixed[] = {"run", "--quiet", "--rm", "--no-workspace", "--no-tty", "--time", TIME_LIMIT};
        char port[8], target[REQUEST_TARGET_MAX + 1] = "-";
        _cleanup_free_ char *host = strndup(q->host.p, q->host.n), *method = q->method.p ? strndup(q->method.p, q->method.n) : strdup("-");
        int r;

        if (!host || !method)
                return -ENOMEM;
        ssize_t n = strstr(what, "://") ? canonical_write_target(q, target, sizeof(target) - 1) : 1;
        if (n < 0)
                return (int)n;
        target[n] = 0;
        snprintf(port, sizeof(port), "%u", q->port);
        /* The URL as it was asked for stands at the end: a URL that the user gives is given (rules with provenance). */
        const char *const probe[] = {"--", INSIDE, "--try", mode_of(what, t, q), host, port, method, target, what};
        if ((r = add_all(argv, fixed, ELEMENTSOF(fixed))) < 0 || (r = add_all(argv, (const char *const *)words->items, words->n)) < 0)
                return r;
        return add_all(argv, probe, ELEMENTSOF(probe));
}

static int show_prober(struct policy *p, struct error *e) {
        struct volume *more = reallocarray(p->volumes, p->n_volumes + 1, sizeof(*more));
        int r;

        if (!more)
                return error_set(e, ENOMEM, "out of memory");
        p->volumes = more;
        more[p->n_volumes] = (struct volume){.inside = strdup(INSIDE)};
        if (!more[p->n_volumes].inside)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = host_own_program("belljar-gate", &more[p->n_volumes].host, e)) < 0) {
                free(more[p->n_volumes].inside);
                return r;
        }
        p->n_volumes++;
        return 0;
}

/* In a process of its own, which ends with the run. */
static int run_prober(struct strlist *argv, int events) {
        struct run_options o = {};
        _cleanup_prepared_ struct prepared x = PREPARED_NONE;
        struct error e = {};

        if (run_options_parse(&o, (int)argv->n, argv->items, &e) == 0 && show_prober(o.policy, &e) == 0) {
                o.events = events;
                /* The prober is the command, whatever the policy has before it. */
                strlist_clear(&o.policy->entrypoint);
                o.policy->has_entrypoint = o.policy->image != NULL;
                if (prepare(&o, &x, &e) == 0)
                        return run_prepared(&o, &x);
        }
        error_print(&e);
        run_options_clear(&o);
        return EXIT_BELLJAR;
}

/* Reads both to their ends, so that neither waits for the other. */
static int read_both(int out, int events, struct strbuf *ret_out, struct strbuf *ret_events) {
        struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = events, .events = POLLIN}};
        struct strbuf *const to[2] = {ret_out, ret_events};
        char buf[4096];

        while (p[0].fd >= 0 || p[1].fd >= 0) {
                if (poll(p, 2, -1) < 0 && errno != EINTR)
                        return -errno;
                for (size_t i = 0; i < 2; i++) {
                        if (p[i].fd < 0 || !p[i].revents)
                                continue;
                        ssize_t n = read(p[i].fd, buf, sizeof(buf));
                        if (n > 0)
                                strbuf_add(to[i], buf, (size_t)n);
                        else if (n == 0 || errno != EINTR)
                                p[i].fd = -1;
                }
        }
        return ret_out->failed || ret_events->failed ? -EFBIG : 0;
}

/* The child of run_and_read; out and events are its ends of pipes. */
_noreturn_ static void be_run(struct strlist *argv, pid_t parent, int out, int events) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0)
                _exit(EXIT_BELLJAR);
        close(out);
        exit(run_prober(argv, events));
}

static int run_and_read(struct strlist *argv, struct strbuf *out, struct strbuf *events, struct error *e) {
        int a[2], b[2], status = -1, r;

        if (pipe2(a, O_CLOEXEC) < 0)
                return error_errno(e, errno, "a pipe cannot be made");
        if (pipe2(b, O_CLOEXEC) < 0) {
                r = error_errno(e, errno, "a pipe cannot be made");
                close(a[0]);
                close(a[1]);
                return r;
        }
        fflush(NULL);
        pid_t parent = getpid(), pid = fork();
        if (pid == 0)
                be_run(argv, parent, a[1], b[1]);
        r = pid < 0 ? -errno : 0;
        close(a[1]);
        close(b[1]);
        if (pid > 0)
                r = read_both(a[0], b[0], out, events);
        close(a[0]);
        close(b[0]);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (r < 0)
                return error_errno(e, r, "the attempt cannot be made");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return error_set(e, ECHILD, "the attempt could not be made: the sandbox or the prober in it failed");
        return 0;
}

static void read_steps(struct why_probe *p, char *text) {
        for (char *line = text, *next; line && *line && p->n_steps < PROBE_STEPS_MAX; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                char *blank = strchr(line, ' ');
                struct probe_said *s = &p->steps[p->n_steps];
                if (!blank || (size_t)(blank - line) >= sizeof(s->word))
                        continue;
                snprintf(s->word, sizeof(s->word), "%.*s", (int)(blank - line), line);
                if ((s->text = strdup(blank + 1)))
                        p->n_steps++;
        }
}

static const char *step(const struct why_probe *p, const char *word) {
        for (size_t i = 0; i < p->n_steps; i++)
                if (streq(p->steps[i].word, word))
                        return p->steps[i].text;
        return NULL;
}

static char *member(const json_t *j, const char *key) {
        const char *s = json_string_value(json_object_get(j, key));
        return s ? strdup(s) : NULL;
}

/* The first refusal says most: one that follows from it may come behind. */
static void read_events(struct why_probe *p, char *text, bool *ret_denied, bool *ret_unreachable) {
        for (char *line = text, *next; line && *line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                json_t *j = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
                const char *event = json_string_value(json_object_get(j, "event")) ?: "";
                bool denied = streq(event, "denied"), unreachable = streq(event, "unreachable");
                if ((denied || unreachable) && !p->why) {
                        p->reason = member(j, "reason");
                        p->why = member(j, "why");
                        p->rule = member(j, "rule");
                        p->fix = member(j, "fix");
                }
                *ret_denied |= denied;
                *ret_unreachable |= unreachable;
                if (streq(event, "ended"))
                        p->requests = (long long)json_integer_value(json_object_get(json_object_get(json_object_get(j, "network"), "use"), "requests"));
                json_decref(j);
        }
}

/* What gate and broker said counts, and what they let pass: a server could send a body like theirs. */
static void judge(struct why_probe *p, const struct verdict *v, bool denied, bool unreachable) {
        const char *end = step(p, "end");
        bool answered = step(p, "status") || (step(p, "tls") && end) || (end && (streq(end, "data") || streq(end, "eof") || streq(end, "silent")));

        p->outcome = denied ? PROBE_REFUSED : unreachable ? PROBE_UNREACHABLE : answered && p->requests > 0 ? PROBE_PASSED : PROBE_UNCLEAR;
        p->agrees = v->allowed ? p->outcome == PROBE_PASSED || p->outcome == PROBE_UNREACHABLE : p->outcome == PROBE_REFUSED;
}

int why_probe(const struct strlist *words, const char *what, const struct table *t, const struct request *r, const struct verdict *v,
              struct why_probe *ret, struct error *e) {
        _cleanup_strbuf_ struct strbuf out = {.max = OUTPUT_MAX}, events = {.max = EVENTS_MAX};
        _cleanup_strlist_ struct strlist argv = {};
        bool denied = false, unreachable = false;
        int x = make_argv(&argv, words, what, t, r);

        if (x < 0)
                return error_errno(e, x, "the attempt cannot be planned");
        if ((x = run_and_read(&argv, &out, &events, e)) < 0)
                return x;
        read_steps(ret, out.data);
        read_events(ret, events.data, &denied, &unreachable);
        judge(ret, v, denied, unreachable);
        return 0;
}

static const char *outcome_text(enum probe_outcome o) {
        static const char *const texts[] = {
                [PROBE_REFUSED] = "it was refused",
                [PROBE_PASSED] = "it was let through",
                [PROBE_UNREACHABLE] = "it was let through, and the upstream could not be reached",
                [PROBE_UNCLEAR] = "it came to nothing, and neither gate nor broker has said why",
        };
        return texts[o];
}

static void print_visible(const char *head, const char *s) {
        _cleanup_free_ char *v = s ? str_visible_dup(s) : NULL;
        if (v)
                printf("%s%s\n", head, v);
}

static void print_step(const struct probe_said *s) {
        json_t *body = streq(s->word, "body") ? json_loads(s->text, JSON_REJECT_DUPLICATES, NULL) : NULL;
        char head[32];

        snprintf(head, sizeof(head), "  %-12s", s->word);
        if (body) {
                const char *by = json_string_value(json_object_get(body, "denied_by")), *reason = json_string_value(json_object_get(body, "reason"));
                _cleanup_free_ char *line = str_printf("denied by %s: %s", by ? by : "no rule", reason ? reason : "?");
                print_visible(head, line);
        } else
                print_visible(head, s->text);
        json_decref(body);
}

void why_probe_print(const struct why_probe *p, const struct verdict *v) {
        printf("attempt, in a sandbox with this policy: %s\n", outcome_text(p->outcome));
        for (size_t i = 0; i < p->n_steps; i++)
                print_step(&p->steps[i]);
        print_visible("  why:  ", p->why);
        print_visible("  rule: ", p->rule);
        if (v->allowed)
                print_visible("  fix:  ", p->fix);
        if (p->agrees)
                printf("proved: what the policy says is what happens\n");
        else
                printf("DIFFERS: the policy says that it is %s\n", v->allowed ? "allowed" : "denied");
}

void why_probe_json(struct json *j, const char *key, const struct why_probe *p) {
        static const char *const names[] = {"refused", "passed", "unreachable", "unclear"};

        json_begin(j, key, '{');
        json_bool(j, "agrees", p->agrees);
        json_str(j, "outcome", names[p->outcome]);
        json_begin(j, "steps", '[');
        for (size_t i = 0; i < p->n_steps; i++) {
                json_begin(j, NULL, '{');
                json_str(j, "step", p->steps[i].word);
                json_str(j, "result", p->steps[i].text);
                json_end(j, '}');
        }
        json_end(j, ']');
        json_str(j, "reason", p->reason);
        json_str(j, "why", p->why);
        json_str(j, "rule", p->rule);
        json_str(j, "fix", p->fix);
        json_end(j, '}');
}
