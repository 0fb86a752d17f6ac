/* `belljar run`: makes the plan, forks the supervisor, guards it, and says what came of it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/address.h"
#include "role/cli/call.h"
#include "role/cli/commands.h"
#include "role/cli/guard.h"
#include "role/cli/net-record.h"
#include "role/cli/options.h"
#include "role/cli/model-routes.h"
#include "role/cli/prepare.h"
#include "svc/changes.h"
#include "svc/entry.h"
#include "svc/net-account.h"
#include "svc/net-table.h"
#include "svc/publish.h"
#include "svc/shadow.h"
#include "svc/state.h"
#include "sys/cgroup.h"
#include "sys/process.h"

/* Executed by its fd, so that nothing is looked up once the namespaces are made. */
static int open_init(struct error *e) {
        _cleanup_free_ char *path = NULL;
        int r = host_own_program("belljar-init", &path, e), fd;

        if (r < 0)
                return r;
        fd = open(path, O_PATH | O_CLOEXEC);
        return fd < 0 ? error_errno(e, errno, "%s cannot be opened", path) : fd;
}

/* A directory handed in as stdin would be a way out of the view (openat(0, "..")). */
static int check_stdio(struct error *e) {
        for (int fd = 0; fd < 3; fd++) {
                struct stat st;
                if (fstat(fd, &st) < 0)
                        return error_errno(e, errno, "file descriptor %d cannot be looked at", fd);
                if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
                        return error_set(e, EINVAL, "file descriptor %d is a %s, which a sandbox must not get", fd,
                                         S_ISDIR(st.st_mode) ? "directory" : "block device");
        }
        return 0;
}

/* A pipe in the place of one of the command's outputs. It belongs to the command's user, so that it can be opened once
 * more as /dev/stdout. */
static int make_pipe(const struct plan *p, int fd, struct launch *l, struct guard *g, struct error *e) {
        int pair[2];

        if (pipe2(pair, O_CLOEXEC) < 0 || (p->ids.root && fchown(pair[1], p->ids.host_uid, p->ids.host_gid) < 0))
                return error_errno(e, errno, "a pipe cannot be made");
        g->out[fd - 1] = pair[0];
        l->stdio[fd] = pair[1];
        return 0;
}

/* What the command gets as its stdio. A terminal of the caller's is never handed in: its other end can be read and
 * written through any of the three. It is replaced by one of the sandbox's own, or by a pipe. Nor is a file or pipe
 * that it writes to: an append-only log could be truncated through it, a pipe that others write to be read from, flags
 * of the open file be changed for the caller, too. */
static int make_stdio(const struct run_options *o, const struct plan *p, struct launch *l, struct guard *g, struct error *e) {
        struct stat st[3];
        struct winsize w;
        int r;

        for (int fd = 0; fd < 3; fd++) {
                bool is_tty = isatty(fd);
                if (fstat(fd, &st[fd]) < 0)
                        return error_errno(e, errno, "file descriptor %d cannot be looked at", fd);
                l->stdio[fd] = fd;
                l->tty[fd] = g->tty[fd] = !o->no_tty && (is_tty || o->tty);
                if (l->tty[fd])
                        continue;
                if (fd == 0) {
                        const char *instead = is_tty ? "/dev/null" : /* a terminal that must not be one: nothing to read */
                                              S_ISREG(st[0].st_mode) && (fcntl(0, F_GETFL) & O_ACCMODE) == O_RDWR ? "/proc/self/fd/0" : NULL;
                        if (!instead)
                                continue;
                        off_t at = lseek(0, 0, SEEK_CUR);
                        l->stdio[0] = open(instead, O_RDONLY | O_CLOEXEC);
                        if (l->stdio[0] < 0)
                                return error_errno(e, errno, "standard input cannot be opened for reading only");
                        if (!is_tty && at > 0)
                                (void)lseek(l->stdio[0], at, SEEK_SET);
                } else if (S_ISCHR(st[fd].st_mode) && st[fd].st_rdev == makedev(1, 3) && p->limits.output != MEANS_RELAY)
                        ; /* /dev/null */
                else if (fd == 2 && g->out[0] >= 0 && st[1].st_dev == st[2].st_dev && st[1].st_ino == st[2].st_ino)
                        l->stdio[2] = l->stdio[1]; /* one file: one pipe keeps the order */
                else if ((r = make_pipe(p, fd, l, g, e)) < 0)
                        return r;
        }
        g->stdin_raw = l->tty[0] && isatty(0);
        if (guard_window(g, &w) == 0) {
                l->rows = w.ws_row;
                l->columns = w.ws_col;
        }
        g->output_limit = p->limits.output == MEANS_RELAY ? p->limits.want.output.value : 0;
        return 0;
}

static int make_cgroup(const struct prepared *x, const char *id, const struct state *s, struct cgroup *cg, bool *have,
                       struct error *e) {
        const struct plan_limits *l = &x->plan->limits;
        struct cgroup_limits want = {
                .memory = l->memory == MEANS_CGROUP2 || l->memory == MEANS_CGROUP1 ? l->want.memory.value : 0,
                .cpu_milli = l->cpu == MEANS_CGROUP2 || l->cpu == MEANS_CGROUP1 ? l->want.cpu.value : 0,
                .pids = l->pids == MEANS_CGROUP2 ? l->want.pids.value : 0,
        };
        unsigned v1 = (l->memory == MEANS_CGROUP1 ? CGROUP_BIT(CGROUP_MEMORY) : 0) |
                      (l->cpu == MEANS_CGROUP1 ? CGROUP_BIT(CGROUP_CPU) : 0);
        char name[64];

        *have = false;
        if (!x->layout.v2.base && !v1)
                return 0;
        snprintf(name, sizeof(name), "belljar-%s", id);
        _cleanup_free_ char *paths = cgroup_paths(&x->layout, name, v1);
        int r = paths ? state_write_groups(s, paths) : -ENOMEM;
        if (r < 0)
                return error_errno(e, r, "the sandbox's directory cannot be written");
        r = cgroup_create(&x->layout, name, &want, v1, cg);
        if (r < 0) {
                error_errno(e, r, "a control group cannot be made in %s", x->layout.v2.base ? x->layout.v2.base : "the v1 trees");
                return error_fix(e, "belljar doctor shows what this host can give");
        }
        *have = true;
        return 0;
}

static int write_plan(const struct state *s, const struct plan *p) {
        _cleanup_free_ char *cwd = getcwd(NULL, 0);
        struct timespec real, boot;
        struct json j;

        state_json_begin(s, &j);
        json_str(&j, "started_in", cwd);
        /* What belljar apply holds the times of the host's files against. Nothing of the run has read one yet. */
        clock_gettime(CLOCK_REALTIME, &real);
        clock_gettime(CLOCK_BOOTTIME, &boot);
        json_num(&j, "began", (long long)real.tv_sec * 1000000000 + real.tv_nsec);
        json_num(&j, "clock", (long long)(real.tv_sec - boot.tv_sec) * 1000000000 + real.tv_nsec - boot.tv_nsec);
        json_num(&j, "workspace_inode", (long long)p->workspace_ino);
        plan_json(p, false, &j);
        json_end(&j, '}');
        return state_write(s, "plan.json", &j);
}

static int status_of(const struct run_result *res, const struct plan *p, const struct error *e) {
        char v[40];

        switch (res->end) {
        case END_EXIT:
                return WIFSIGNALED(res->status) ? 128 + WTERMSIG(res->status) : WEXITSTATUS(res->status);
        case END_NOEXEC: {
                struct error x = {};
                if (res->status == ENOENT || res->status == ENOTDIR) {
                        error_set(&x, res->status, "%s: no such command in the sandbox", p->argv.items[0]);
                        error_print(&x);
                        return EXIT_NOT_FOUND;
                }
                error_errno(&x, res->status, "%s cannot be executed", p->argv.items[0]);
                error_print(&x);
                return EXIT_NOT_EXECUTABLE;
        }
        case END_TIME:
                fprintf(stderr, "belljar: ended: the time limit of %s was reached\n", format_duration(v, sizeof(v), p->limits.want.time.value));
                return EXIT_DEADLINE;
        case END_IDLE:
                fprintf(stderr, "belljar: ended: nothing happened for %s\n", format_duration(v, sizeof(v), p->limits.want.idle.value));
                return EXIT_DEADLINE;
        case END_MEMORY:
                fprintf(stderr, "belljar: ended: the memory limit of %s was reached\n", format_size(v, sizeof(v), p->limits.want.memory.value));
                return EXIT_TRIPWIRE;
        case END_DISK:
                fprintf(stderr, "belljar: ended: the disk limit of %s was reached\n", format_size(v, sizeof(v), p->limits.want.disk.value));
                return EXIT_TRIPWIRE;
        case END_OUTPUT:
                fprintf(stderr, "belljar: ended: the output limit of %s was reached\n", format_size(v, sizeof(v), p->limits.want.output.value));
                return EXIT_TRIPWIRE;
        case END_HOST:
                fprintf(stderr, "belljar: ended: this host ran short of memory\n");
                return EXIT_TRIPWIRE;
        case END_TRIPWIRE: /* its words have been said */
                return EXIT_TRIPWIRE;
        case END_LOST:
                fprintf(stderr, "belljar: ended: the sandbox's first process was killed from outside\n");
                return 128 + 9;
        case END_PARENT:
                fprintf(stderr, "belljar: ended with the run that it was a part of, %s\n", p->parent ? p->parent : "?");
                return 128 + 9;
        case END_CALLER:
                fprintf(stderr, "belljar: ended from outside\n");
                return 128 + 9;
        default:
                if (e->errnum)
                        error_print(e);
                else
                        fprintf(stderr, "belljar: the sandbox failed without a word\n");
                return EXIT_BELLJAR;
        }
}

/* What a cow run changed, in one line. */
static void report_changes(const struct prepared *x, const struct state *s, const struct strlist *hidden) {
        const struct plan *p = x->plan;
        struct error e = {};
        struct changes_summary sum = {};
        char line[256];

        _cleanup_fd_ int upper = openat(s->dir, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_fd_ int lower = open(p->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct changes_source src = {.upper_fd = upper, .lower_fd = lower, .hide_fd = -1, .hidden = hidden};
        if (p->ids.root)
                src.ids = (struct change_ids){.base = p->ids.host_uid, .range = 1, .host = p->ids.owner_uid,
                                              .host_gid = p->ids.owner_gid};
        if (upper < 0 || lower < 0)
                error_errno(&e, errno, "the changes cannot be read");
        else if (changes_summary(&src, &sum, &e) == 0) {
                if (!sum.at_least && sum.added + sum.changed + sum.deleted == 0)
                        return; /* opened for writing and left as it was */
                changes_summary_line(&sum, line, sizeof(line));
                fprintf(stderr, "belljar: %s, kept apart: belljar diff %s | belljar apply %s | belljar discard %s\n", line, s->id, s->id, s->id);
                return;
        }
        error_print(&e);
}

/* What is hidden in the workspace, for belljar diff: without it, a hidden file would look deleted. */
static int record_hidden(const struct prepared *x, const struct state *s, struct strlist *ret, struct error *e) {
        const struct view_facts *v = &x->host.view;
        int r = 0;

        for (size_t i = 0; r == 0 && i < v->n_hidden; i++)
                if (x->plan->workspace && streq(v->hidden[i].root, x->plan->workspace))
                        r = strlist_add(ret, v->hidden[i].path);
        if (r == 0 && ret->n > 0)
                r = changes_hidden_write(s->dir, ret);
        else if (r == 0)
                (void)unlinkat(s->dir, "hidden", 0); /* of the directory's former use */
        return r < 0 ? error_errno(e, r, "the hidden paths cannot be recorded") : 0;
}

static int make_shadow(struct plan *p, const struct state *s, const struct strlist *hidden, struct error *e) {
        if (p->mode != WORKSPACE_COW || !p->workspace || p->ids.root)
                return 0;
        int n = shadow_make(s->dir, p->workspace, hidden, e);
        p->shadow = n > 0;
        return MIN(n, 0);
}

/* Where a port that the kernel chose is reached, and whatever is open to others than this host. */
static void say_published(const struct plan_publish *p) {
        struct request_address a;
        char text[ADDRESS_TEXT_MAX];

        memcpy(a.byte, p->address, sizeof(a.byte));
        fprintf(stderr, net_is_mapped(p->address) ? "belljar: port %u of the sandbox is at %s:%u\n" : "belljar: port %u of the sandbox is at [%s]:%u\n",
                p->inside, address_format(&a, text), p->port);
}

static int start_and_guard(const struct run_options *o, struct prepared *x, struct state *s, struct strlist *hidden,
                           struct run_result *res, struct error *e) {
        struct plan *p = x->plan;
        struct guard g = {.supervisor = -1, .out = {-1, -1}, .plan = p, .credentials = &x->credentials, .table = -1, .budgets = -1, .log = {.events = o->events > 0 ? o->events : -1, .ca = x->ca.cert}};
        struct supervise sup = {.plan = p, .state = s, .remove = o->rm, .table = -1, .budgets = -1, .given = -1, .ca = x->ca.fd,
                                .parent = o->grant ? o->grant->link : -1, .parent_process = o->grant ? o->grant->process : -1};
        struct cgroup cg = {.v2 = -EBADF};
        bool have_cgroup = false;
        size_t published = 0;
        int pair[2], r;

        sup.launch = (struct launch){.control = -1, .go = -1, .init_exe = open_init(e)};
        if (sup.launch.init_exe < 0)
                return sup.launch.init_exe;
        if ((r = record_hidden(x, s, hidden, e)) < 0 || (r = make_shadow(p, s, hidden, e)) < 0 || (r = check_stdio(e)) < 0 || (r = make_stdio(o, p, &sup.launch, &g, e)) < 0)
                return r;
        if ((r = make_cgroup(x, s->id, s, &cg, &have_cgroup, e)) < 0)
                return r;
        if (p->network.on && (sup.table = net_table_seal(p->network.table, p->network.table_size)) < 0) {
                r = error_errno(e, sup.table, "the compiled policy cannot be handed over");
                goto no_run;
        }
        if (p->network.on && (sup.budgets = account_make(o->policy->network.n_budgets + 1)) < 0) {
                r = error_errno(e, sup.budgets, "the memory of the budgets cannot be made");
                goto no_run;
        }
        if (p->network.on && (sup.given = prepare_given(o->policy, o->argv, o->grant ? 0 : (size_t)o->argc)) < 0) {
                r = error_errno(e, sup.given, "the memory of given URLs cannot be made");
                goto no_run;
        }
        if (p->network.on && (r = publish_open(&p->network, sup.published, e)) < 0)
                goto no_run;
        if (o->grant && sup.budgets >= 0 && (o->grant->own = fcntl(sup.budgets, F_DUPFD_CLOEXEC, 0)) < 0) {
                r = error_errno(e, errno, "the memory of the budgets cannot be kept");
                goto no_run;
        }
        published = p->network.n_published;
        for (size_t i = 0; i < published && !o->quiet; i++)
                say_published(&p->network.published[i]);
        g.log.secrets = p->network.secrets;
        g.log.secrets_ended = x->credentials.ended;
        g.log.minted = x->credentials.minted;
        g.log.n_secrets = x->credentials.n;
        g.log.silent = o->quiet;
        g.log.later = g.tty[2];
        sup.cgroup = have_cgroup ? &cg : NULL;
        if (have_cgroup && cg.can_kill && cg.v2_path)
                p->cgroup = strdup(cg.v2_path); /* for inspect; nothing depends on it */
        /* A supervisor that is to remove the directory may do so before this process has another turn. */
        if (o->rm && (r = write_plan(s, p)) < 0)
                error_errno(e, r, "the sandbox's directory cannot be written");
        else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 || guard_prepare() < 0)
                r = error_errno(e, errno, "the supervisor's channel cannot be made");
        if (r < 0)
                goto no_run;
        sup.cli = pair[1];
        pid_t pid = fork();
        if (pid == 0) {
                close(pair[0]);
                credentials_forget(&x->credentials);
                for (int i = 0; i < 2; i++)
                        if (g.out[i] >= 0)
                                close(g.out[i]);
                supervisor_main(&sup);
        }
        close(pair[1]);
        close(sup.launch.init_exe);
        fd_close(TAKE_FD(x->id_lock)); /* the supervisor's from here on */
        fd_close(TAKE_FD(x->workspace_lock));
        for (int i = 0; i < 3; i++)
                if ((i < 2 || sup.launch.stdio[2] != sup.launch.stdio[1]) && sup.launch.stdio[i] > 2)
                        close(sup.launch.stdio[i]);
        if (pid < 0) {
                r = error_errno(e, errno, "the supervisor cannot be made");
                goto no_run;
        }
        g.table = sup.table;
        g.budgets = sup.budgets;
        fd_close(sup.given);
        for (size_t i = 0; i < published; i++)
                close(sup.published[i]);
        fd_close(TAKE_FD(x->ca.fd));
        g.log.state = o->rm ? NULL : s;
        g.log.dirty = p->network.on; /* there is a record of it from the start */
        net_record_started(&g.log, s->id);
        /* While the sandbox is being made. The lock on its directory stays with this process, too, until it ends: the
         * record must not be taken over before it was reported on. */
        if (!o->rm && (r = write_plan(s, p)) < 0) {
                kill(pid, SIGTERM);
                error_errno(e, r, "the sandbox's directory cannot be written");
        }
        g.supervisor = pair[0];
        g.supervisor_pid = pid;
        guard_run(&g, res, e);
        close(pair[0]);
        credentials_finish(&x->credentials);
        net_record_ended(&g.log, s->id, res);
        net_record_close(&g.log);
        net_log_end(&g.log);
        credentials_report(p, &x->credentials, &g.log);
        model_routes_report(&g.log);
        if (o->grant) /* no broker is left that could use what is returned */
                o->grant->give_back(o->grant);
        if (g.calls && !o->quiet)
                call_git_report(p, g.calls);
        if (have_cgroup && res->end == END_FAILED) {
                /* It may not have come to cleaning up. */
                (void)!cgroup_kill(&cg);
                if (cgroup_remove(&cg, 2000) >= 0)
                        (void)!state_write_groups(s, "");
        }
        cgroup_clear(&cg);
        return 0;
no_run:
        for (size_t i = 0; i < published; i++)
                close(sup.published[i]);
        fd_close(sup.given);
        fd_close(sup.table);
        fd_close(sup.budgets);
        if (have_cgroup)
                (void)!cgroup_remove(&cg, 0);
        cgroup_clear(&cg);
        return r;
}

/* What `tier: auto` chose is said where a person looks on, or where the run was told anything about it; the plain `belljar
 * run` of a script stays silent. */
static bool says_tier(const struct run_options *o, const struct plan *p) {
        const struct policy *policy = o->policy;
        return p->why_tier && !o->quiet && (isatty(2) || p->image || policy->trust != TRUST_UNKNOWN ||
                                            policy->min_tier > TIER_PROCESS || policy->places.tier.line > 0);
}

int run_prepared(struct run_options *options, struct prepared *prepared) {
        struct run_options o = *options;
        _cleanup_strlist_ struct strlist hidden = {};
        _cleanup_prepared_ struct prepared x = *prepared;
        _cleanup_state_ struct state s = STATE_NONE;
        _cleanup_fd_ int root = -EBADF;
        struct run_result res = {.end = END_FAILED};
        struct error e = {};
        int status = EXIT_BELLJAR;

        *options = (struct run_options){};
        *prepared = PREPARED_NONE;
        if (o.dry_run) {
                if (o.json) {
                        struct json j = {};
                        json_begin(&j, NULL, '{');
                        plan_json(x.plan, true, &j);
                        json_end(&j, '}');
                        _cleanup_free_ char *text = strbuf_take(&j.text);
                        printf("%s", text ? text : "");
                } else {
                        _cleanup_free_ char *text = plan_format(x.plan);
                        printf("%s", text ? text : "");
                }
                run_options_clear(&o);
                return 0;
        }
        if (state_open_root(true, &root, &e) < 0 ||
            state_create(root, x.workspace_mode, x.plan->ids.host_uid, x.plan->ids.host_gid, &s, &e) < 0)
                goto fail;
        if (x.plan->image && state_make_root(&s, x.plan->ids.uid_base + 1, x.plan->ids.uid_base + 1, &e) < 0) {
                state_release(&s, true, true);
                goto fail;
        }
        snprintf(x.plan->id, strlen(x.plan->id) + 1, "%s", s.id);
        if (o.grant && o.grant->take(o.grant, x.plan, &e) < 0) {
                state_release(&s, true, false);
                goto fail;
        }
        if (o.events_file && (o.events = net_record_open(o.events_file, x.plan, &e)) < 0) {
                state_release(&s, true, false);
                goto fail;
        }
        if (says_tier(&o, x.plan))
                fprintf(stderr, "belljar: %s\n", x.plan->why_tier);
        if (!o.quiet)
                for (size_t i = 0; i < x.plan->notes.n; i++) {
                        _cleanup_free_ char *v = str_visible_dup(x.plan->notes.items[i]);
                        fprintf(stderr, "belljar: note: %s\n", v ? v : "?");
                }
        if (start_and_guard(&o, &x, &s, &hidden, &res, &e) < 0) {
                state_release(&s, true, false);
                goto fail;
        }
        status = status_of(&res, x.plan, &e);
        if (res.changed && x.plan->mode == WORKSPACE_COW && x.plan->workspace && !o.rm && !o.quiet) {
                pid_t pid = x.plan->ids.subids ? ids_fork(&x.ids, 0, &(int){-1}, &e) : 0;
                if (pid == 0)
                        report_changes(&x, &s, &hidden);
                else if (pid > 0)
                        (void)!waitpid(pid, NULL, 0);
                else
                        error_print(&e);
        }
        exit(status); /* frees all at once */
fail:
        error_print(&e);
        run_options_clear(&o);
        return EXIT_BELLJAR;
}

int command_run(int argc, char **argv) {
        struct run_options o = {};
        _cleanup_prepared_ struct prepared x = PREPARED_NONE;
        struct error e = {};

        process_short_turns();
        if (run_options_parse(&o, argc, argv, &e) == 0 && prepare(&o, &x, &e) == 0)
                return run_prepared(&o, &x);
        error_print(&e);
        run_options_clear(&o);
        return EXIT_BELLJAR;
}
