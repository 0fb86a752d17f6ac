/* See grant.h. What cannot be compared is refused. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/contain.h"
#include "proto/control-msg.h"
#include "role/cli/commands.h"
#include "role/cli/prepare.h"
#include "role/cli/tool.h"
#include "svc/net-account.h"
#include "svc/net-table.h"
#include "svc/state-read.h"

#define ANSWER_SECONDS 10

struct taken { /* out of one of the parent's accounts */
        struct account *from;
        const struct contain_part *part; /* NULL: uses of a secret */
        size_t secret, own_secret;       /* their indices, in the parent's plan and in the child's */
        uint64_t amount;
};

struct parent {
        struct grant g; /* first */
        char *id;
        json_t *plan;
        struct control_grant said;
        struct table table;
        struct account *accounts;
        size_t n_accounts;
        struct table own; /* the child's; it is the plan's */
        struct containment held;
        struct taken *taken;
        size_t n_taken;
};

static struct parent *parent_of(struct grant *g) { return (struct parent *)g; }

static const char *text(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)) ?: ""; }

static bool lists(const json_t *list, const char *s) {
        const json_t *x;
        size_t i;

        json_array_foreach(list, i, x)
                if (json_is_string(x) && streq(json_string_value(x), s))
                        return true;
        return false;
}

/* Asking */

static int answered(struct parent *p, const union control_reply *a, ssize_t n, int *fds, size_t n_fds, struct error *e) {
        if (n == sizeof(a->no) && n_fds == 0) {
                struct control_answer no = a->no;
                no.text[sizeof(no.text) - 1] = 0;
                return error_set(e, no.result < 0 ? -no.result : EPROTO, "%s: %s", p->id, no.text);
        }
        if (n != sizeof(a->yes) || n_fds != (a->yes.network ? 2u : 0u) || a->yes.n_secrets > CONTROL_SECRETS_MAX)
                return error_set(e, n < 0 ? (int)-n : EPROTO, "%s does not answer, or was started by another version of belljar", p->id);
        p->said = a->yes;
        if (n_fds == 0)
                return 0;
        int r = net_table_map(fds[0], &p->table);
        if (r == 0)
                r = account_map(fds[1], &p->accounts, &p->n_accounts);
        if (r == 0 && p->n_accounts < table_budgets(&p->table) + 1)
                r = -EBADMSG;
        return r < 0 ? error_errno(e, r, "the policy of %s cannot be read", p->id) : 0;
}

static int call(struct parent *p, const struct state *s, struct error *e) {
        const struct control_request q = {.type = CONTROL_DELEGATE};
        const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        union control_reply reply;
        struct ucred who;
        socklen_t size = sizeof(who);
        int fds[FD_PASS_MAX], r;
        size_t n_fds = 0;

        snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET, s->dir);
        p->g.link = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (p->g.link < 0 || setsockopt(p->g.link, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
                return error_errno(e, errno, "a socket cannot be made");
        if (connect(p->g.link, (const struct sockaddr *)&a, sizeof(a)) < 0) {
                error_set(e, errno, errno == ENOENT || errno == ECONNREFUSED ? "%s does not run, or was started without a network" : "%s cannot be asked", s->id);
                return error_fix(e, "a sub-run is for a part of what a run may reach; where that is nothing, start a run of its own");
        }
        /* Who listens is the supervisor, for whom SO_PEERCRED stands. */
        if (getsockopt(p->g.link, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || (p->g.process = (int)syscall(SYS_pidfd_open, who.pid, 0)) < 0)
                return error_errno(e, errno, "the supervisor of %s cannot be watched", s->id);
        if ((r = fd_send(p->g.link, &q, sizeof(q), NULL, 0, 0)) < 0)
                return error_errno(e, r, "%s cannot be asked", s->id);
        ssize_t n = fd_receive(p->g.link, &reply, sizeof(reply), fds, &n_fds, 0);
        r = answered(p, &reply, n, fds, n > 0 ? n_fds : 0, e);
        for (size_t i = 0; n > 0 && i < n_fds; i++)
                close(fds[i]);
        return r;
}

/* What a child has of its parent without a word: the image, limits, what is hidden, lifetimes */

static struct limit *limit_of(struct limits *l, const char *name) {
        const struct {
                const char *name;
                struct limit *limit;
        } all[] = {{"memory", &l->memory}, {"cpu", &l->cpu}, {"pids", &l->pids}, {"disk", &l->disk}, {"output", &l->output}, {"time", &l->time}, {"idle", &l->idle}};

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (streq(all[i].name, name))
                        return all[i].limit;
        return NULL;
}

static int inherit_limits(struct parent *p, struct policy *policy, struct error *e) {
        const char *name;
        json_t *x;

        json_object_foreach(json_object_get(p->plan, "limits"), name, x) {
                struct limit *l = limit_of(&policy->limits, name);
                json_t *value = json_object_get(x, "value");
                if (!l || !json_is_integer(value))
                        return error_set(e, EBADMSG, "the plan of %s has a limit that cannot be read: %s", p->id, name);
                uint64_t most = (uint64_t)json_integer_value(value);
                bool written = !json_is_true(json_object_get(x, "default"));
                if (l->origin != LIMIT_NONE && l->value > most && (written || l->origin == LIMIT_USER)) {
                        error_set(e, EPERM, "the child's limit of %s is above the parent's", name);
                        return error_fix(e, "leave it out: a child has its parent's limits where it has none of its own");
                }
                if (l->origin != LIMIT_USER && written)
                        *l = (struct limit){most, LIMIT_USER};
        }
        if (p->said.time_left == 0)
                return error_set(e, ETIME, "the time of %s is over", p->id);
        if (p->said.time_left != UINT64_MAX && (policy->limits.time.origin == LIMIT_NONE || policy->limits.time.value > p->said.time_left))
                policy->limits.time = (struct limit){p->said.time_left, LIMIT_USER};
        return 0;
}

static json_t *secret_named(const struct parent *p, const char *name, size_t *ret) {
        json_t *x;
        size_t i;

        json_array_foreach(json_object_get(p->plan, "secrets"), i, x)
                if (streq(text(x, "name"), name)) {
                        *ret = i;
                        return x;
                }
        return NULL;
}

/* Lifetimes end with the parent's: it says so when one does. A clock of the child's own is the second hand on it. */
static int inherit_secrets(struct parent *p, struct policy *policy, struct error *e) {
        for (size_t i = 0; i < policy->network.n_secrets; i++) {
                struct secret *s = &policy->network.secrets[i];
                size_t k = 0;
                if (!secret_named(p, s->name, &k) || k >= p->said.n_secrets) {
                        error_set(e, EPERM, "the child has the secret %s, and the parent does not", s->name);
                        return error_fix(e, "a child's secrets are some of its parent's");
                }
                uint64_t left = p->said.secret_left[k];
                if (left == 0)
                        return error_set(e, EKEYREVOKED, "the secret %s of %s is over", s->name, p->id);
                if (left != UINT64_MAX && (s->ttl == 0 || s->ttl > left))
                        s->ttl = left;
        }
        return 0;
}

static int inherit(struct parent *p, struct policy *policy, struct error *e) {
        json_t *hide = json_object_get(p->plan, "hide"), *x;
        size_t i;
        int r;

        if ((r = inherit_limits(p, policy, e)) < 0 || (r = inherit_secrets(p, policy, e)) < 0)
                return r;
        if (!policy->image && text(p->plan, "image")[0] && (r = policy_set_image(policy, text(p->plan, "image"), e)) < 0)
                return r;
        if (!json_is_array(hide))
                return error_set(e, EBADMSG, "%s was started by another version of belljar", p->id);
        json_array_foreach(hide, i, x)
                if (!strlist_has(&policy->hide, json_string_value(x) ?: "") && (r = policy_add_hide(policy, json_string_value(x) ?: "", e)) < 0)
                        return r;
        return 0;
}

/* Holding the child's plan against the parent's */

/* What of the host the parent sees there; writable: and may write. Beneath what it sees there can be what is hidden from it: by its own
 * words, in the workspace and in volumes, or by Belljar's, in the host's directories, where only the whole is the same. */
static bool sees(const struct parent *p, const char *path, bool writable) {
        const bool hides = json_array_size(json_object_get(p->plan, "hide")) > 0;
        const char *workspace = text(p->plan, "workspace");
        json_t *volumes = json_object_get(p->plan, "volumes"), *x;
        size_t i;

        if (workspace[0] && (streq(path, workspace) || (!hides && path_beneath(path, workspace))) && (!writable || streq(text(p->plan, "mode"), "rw")))
                return true;
        json_array_foreach(volumes, i, x) {
                const char *host = text(x, "host");
                if (host[0] && (streq(path, host) || (!hides && path_beneath(path, host))) && (!writable || json_is_true(json_object_get(x, "writable"))))
                        return true;
        }
        return !writable && lists(json_object_get(p->plan, "shown"), path);
}

static int check_view(const struct parent *p, const struct plan *c, struct error *e) {
        if (c->workspace && !sees(p, c->workspace, c->mode == WORKSPACE_RW)) {
                error_set(e, EPERM, "the child's workspace %s is none that the parent sees%s", c->workspace, c->mode == WORKSPACE_RW ? " and may write" : "");
                return error_fix(e, "give the child the parent's workspace, or --no-workspace");
        }
        for (size_t i = 0; i < c->n_ops; i++) {
                const struct plan_op *op = &c->ops[i];
                const bool read_only = op->flags & PLAN_READONLY;
                if ((op->kind != OP_BIND && op->kind != OP_OVERLAY) || op->flags & (PLAN_DEVICE | PLAN_STORE))
                        continue;
                const char *path = op->source && op->source[0] == '/' ? op->source : op->target;
                if (!(op->flags & PLAN_VOLUME) && c->workspace && streq(path, c->workspace))
                        continue;
                if (op->flags & PLAN_UPPER || !sees(p, path, !read_only)) {
                        error_set(e, EPERM, "the child sees %s%s, and the parent does not", path, read_only ? "" : " and may write there");
                        return error_fix(e, "show it to the parent as well, or leave it out");
                }
        }
        return 0;
}

static int check_image(const struct parent *p, const struct plan *c, struct error *e) {
        const json_t *layers = json_object_get(p->plan, "layers");
        size_t n = 0;
        bool same = streq(c->image ?: "", text(p->plan, "image"));

        for (size_t i = 0; i < c->n_ops; i++)
                if (c->ops[i].kind == OP_IMAGE_LAYER) {
                        const char *layer = json_string_value(json_array_get(layers, n++));
                        same = same && layer && streq(layer, c->ops[i].source ?: "");
                }
        if (!same || n != json_array_size(layers)) {
                error_set(e, EPERM, "the child runs on %s, the parent on %s", c->image ?: "this host's own root", text(p->plan, "image")[0] ? text(p->plan, "image") : "this host's own root");
                return error_fix(e, "give both the same image; one that has been replaced since the parent started is another");
        }
        return 0;
}

static int check_tier(const struct parent *p, const struct plan *c, struct error *e) {
        const json_t *user = json_object_get(p->plan, "user");
        enum tier tier;
        json_int_t uid = json_integer_value(json_object_get(user, "uid"));
        uint64_t has = (uint64_t)json_integer_value(json_object_get(p->plan, "capabilities"));

        if (tier_parse(text(p->plan, "tier"), &tier) < 0 || c->tier < tier)
                return error_set(e, EPERM, "the child's tier is %s, below the parent's, %s", tier_name(c->tier), text(p->plan, "tier"));
        if (c->nesting && !streq(nesting_name(c->nesting), text(p->plan, "nesting")))
                return error_set(e, EPERM, "the child has nesting: %s, and the parent does not", nesting_name(c->nesting));
        if (c->trace == TRACE_OFF && !streq(text(p->plan, "trace"), trace_name(c->trace))) {
                error_set(e, EPERM, "the parent's processes are traced, and the child's are not");
                return error_fix(e, "write trace: %s in the child's policy", text(p->plan, "trace"));
        }
        if (c->capabilities & ~has)
                return error_set(e, EPERM, "the child has capabilities in its namespace that the parent has not");
        if (c->image && uid != 0 && c->ids.inner_uid != (uid_t)uid)
                return error_set(e, EPERM, "the child runs as another user of the image than the parent");
        for (size_t i = 0; i < c->without.n; i++)
                if (!lists(json_object_get(p->plan, "without"), c->without.items[i]))
                        return error_set(e, EPERM, "the child does without %s, and the parent does not", c->without.items[i]);
        for (size_t i = 0; i < c->calls.n; i++)
                if (!streq(c->calls.items[i], "delegate")) /* which is held against the child itself */
                        return error_set(e, EPERM, "a sub-run has no %s: what it may sign cannot be held against the parent's", c->calls.items[i]);
        if (c->network.n_published > 0) {
                error_set(e, EPERM, "a sub-run publishes no ports");
                return error_fix(e, "publish them with the parent, or start a run of its own");
        }
        return 0;
}

/* Values that the policy says are the user's words. What is taken over from here must be the parent's too. */
static int check_environment(const struct parent *p, const struct policy *policy, struct error *e) {
        for (size_t i = 0; i < policy->n_env; i++)
                if (!policy->env[i].value && getenv(policy->env[i].name) && !lists(json_object_get(p->plan, "environment"), policy->env[i].name)) {
                        error_set(e, EPERM, "the child takes over the variable %s, and the parent does not have it", policy->env[i].name);
                        return error_fix(e, "write its value, or give it to the parent as well");
                }
        return 0;
}

/* All that is said of a secret but how long and how often: source, place, whatever kinds there are. */
static int check_secrets(const struct parent *p, const struct plan *c, struct error *e) {
        static const char *const apart[] = {"ttl", "uses", "env"};

        for (size_t i = 0; i < c->network.n_secrets; i++) {
                const struct secret *s = &c->network.secrets[i];
                struct json j = {};
                size_t k = 0;
                json_begin(&j, NULL, '[');
                secret_json(&j, s);
                json_end(&j, ']');
                _cleanup_free_ char *said = strbuf_take(&j.text);
                json_t *all = said ? json_loads(said, 0, NULL) : NULL, *own = json_array_get(all, 0), *theirs = json_deep_copy(secret_named(p, s->name, &k));
                json_t *uses = json_object_get(theirs, "uses");
                uint64_t most = json_is_integer(uses) ? (uint64_t)json_integer_value(uses) : 0;
                for (size_t a = 0; a < ELEMENTSOF(apart); a++) {
                        (void)json_object_del(own, apart[a]);
                        (void)json_object_del(theirs, apart[a]);
                }
                bool same = own && theirs && json_equal(own, theirs);
                json_decref(all);
                json_decref(theirs);
                if (!same) {
                        error_set(e, EPERM, "the secret %s comes from elsewhere in the child than in the parent, or goes elsewhere", s->name);
                        return error_fix(e, "write it as in the parent's policy; belljar inspect %s shows it", p->id);
                }
                if (most && (s->uses == 0 || s->uses > most)) {
                        error_set(e, EPERM, "the secret %s may be used %llu times by the parent, and by the child %s", s->name, (unsigned long long)most, s->uses ? "more often" : "without a bound");
                        return error_fix(e, "give it uses in the child's policy; they are the parent's no more");
                }
        }
        return 0;
}

static int check_network(struct parent *p, const struct plan *c, struct error *e) {
        int r;

        if (!c->network.on)
                return 0;
        if (!p->said.network)
                return error_set(e, EPERM, "the child has rules for the network, and the parent has no network");
        if ((r = table_load(c->network.table, c->network.table_size, &p->own)) < 0)
                return error_errno(e, r, "the compiled policy cannot be read");
        containment_clear(&p->held);
        if ((r = contain_network(&p->table, &p->own, &p->held)) < 0)
                return error_errno(e, r, "the policies cannot be compared");
        return p->held.why == CONTAIN_YES ? 0 : contain_error(&p->held, e);
}

static int check(struct grant *g, const struct run_options *o, struct plan *c, struct error *e) {
        struct parent *p = parent_of(g);
        int r;

        if (!(c->parent = strdup(p->id)))
                return error_set(e, ENOMEM, "out of memory");
        c->depth = p->said.depth;
        if ((r = check_tier(p, c, e)) < 0 || (r = check_image(p, c, e)) < 0 || (r = check_view(p, c, e)) < 0 ||
            (r = check_environment(p, o->policy, e)) < 0 || (r = check_secrets(p, c, e)) < 0)
                return r;
        return check_network(p, c, e);
}

/* Budgets */

static int take_uses(struct parent *p, const struct plan *c, struct error *e) {
        for (size_t i = 0; i < c->network.n_secrets; i++) {
                const struct secret *s = &c->network.secrets[i];
                size_t k = 0;
                json_t *theirs = secret_named(p, s->name, &k);
                json_t *uses = json_object_get(theirs, "uses");
                if (!json_is_integer(uses) || !p->accounts)
                        continue;
                uint64_t most = (uint64_t)json_integer_value(uses), *used = &p->accounts[0].secrets[k].uses, had = __atomic_load_n(used, __ATOMIC_RELAXED);
                do
                        if (had > most || most - had < s->uses)
                                return error_set(e, EDQUOT, "the child is to use the secret %s %llu times, and the parent has %llu left", s->name, (unsigned long long)s->uses,
                                                 (unsigned long long)(most > had ? most - had : 0));
                while (!__atomic_compare_exchange_n(used, &had, had + s->uses, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
                p->taken[p->n_taken++] = (struct taken){.from = p->accounts, .secret = k, .own_secret = i, .amount = s->uses};
        }
        return 0;
}

static int take_budgets(struct parent *p, struct error *e) {
        for (size_t i = 0; i < p->held.n_parts; i++) {
                const struct contain_part *x = &p->held.parts[i];
                struct account *from = &p->accounts[x->charge.parent == TABLE_NONE ? 0 : x->charge.parent + 1];
                struct network_budget b;
                if (!table_budget(&p->table, x->charge.parent, &b) || !account_charge(from, &b, (enum account_of)x->charge.of, x->charge.amount)) {
                        error_set(e, EDQUOT, "the child's budget of %s, %llu, is more than the parent has left", contain_budget_name(x->charge.of), (unsigned long long)x->charge.amount);
                        return error_fix(e, "give it a smaller one; what the parent has used, or given to other children, is gone");
                }
                p->taken[p->n_taken++] = (struct taken){.from = from, .part = x, .amount = x->charge.amount};
        }
        return 0;
}

/* What is used of the child's budget that the part is. */
static uint64_t used_of(const struct account *own, size_t n, const struct taken *t) {
        if (!own)
                return 0;
        if (!t->part)
                return __atomic_load_n(&own[0].secrets[t->own_secret].uses, __ATOMIC_RELAXED);
        if (t->part->child == CONTAIN_ONE)
                return t->amount;
        size_t i = t->part->child == TABLE_NONE ? 0 : t->part->child + 1;
        if (i >= n)
                return t->amount;
        const uint64_t all[] = {own[i].up, own[i].down, own[i].requests, own[i].url, own[i].hosts, own[i].subdomains, own[i].novel};
        return t->part->charge.of < ELEMENTSOF(all) ? all[t->part->charge.of] : t->amount;
}

static void give_back(struct grant *g) {
        struct parent *p = parent_of(g);
        struct account *own = NULL;
        size_t n = 0;

        if (g->own >= 0 && account_map(g->own, &own, &n) < 0)
                return; /* nobody knows what was used: it counts as all */
        for (size_t i = 0; i < p->n_taken; i++) {
                const struct taken *t = &p->taken[i];
                uint64_t used = used_of(own, n, t);
                if (used >= t->amount)
                        continue;
                if (t->part)
                        account_return(t->from, (enum account_of)t->part->charge.of, t->amount - used);
                else
                        __atomic_fetch_sub(&t->from->secrets[t->secret].uses, t->amount - used, __ATOMIC_RELAXED);
        }
        p->n_taken = 0;
        if (own)
                account_unmap(own, n);
}

static void end(struct grant *g) {
        struct parent *p = parent_of(g);

        give_back(g); /* of a child that never ran */
        fd_close(g->link);
        fd_close(g->process);
        fd_close(g->own);
        json_decref(p->plan);
        containment_clear(&p->held);
        if (p->table.header)
                munmap((void *)p->table.header, p->table.size);
        if (p->accounts)
                account_unmap(p->accounts, p->n_accounts);
        free(p->taken);
        free(p->id);
        free(p);
}

static int take(struct grant *g, const struct plan *c, struct error *e) {
        struct parent *p = parent_of(g);

        p->taken = calloc(p->held.n_parts + SECRETS_MAX + 1, sizeof(*p->taken));
        if (!p->taken)
                return error_set(e, ENOMEM, "out of memory");
        int r = take_budgets(p, e);
        if (r >= 0)
                r = take_uses(p, c, e);
        if (r < 0)
                give_back(g);
        return r;
}

static struct parent *new_parent(struct run_options *o) {
        struct parent *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->g = (struct grant){.link = -1, .process = -1, .own = -1, .check = check, .take = take, .give_back = give_back, .end = end};
        o->grant = &p->g; /* run_options_clear ends it */
        return p;
}

int tool_grant_at_start(struct run_options *o, const struct prepared *x, struct error *e) {
        const struct plan *plan = x->plan;
        struct parent *p = new_parent(o);
        struct json j = {};

        if (!p || !(p->id = strdup("this run")))
                return error_set(e, ENOMEM, "out of memory");
        json_begin(&j, NULL, '{');
        plan_json(plan, false, &j);
        json_end(&j, '}');
        _cleanup_free_ char *said = strbuf_take(&j.text);
        if (!said || !(p->plan = json_loads(said, 0, NULL)))
                return error_set(e, EIO, "the plan cannot be held against another");
        p->said = (struct control_grant){.depth = plan->depth + 1, .network = plan->network.on, .n_secrets = (uint32_t)plan->network.n_secrets, .time_left = UINT64_MAX};
        for (size_t i = 0; i < plan->network.n_secrets; i++)
                p->said.secret_left[i] = plan->network.secrets[i].ttl ?: UINT64_MAX;
        if (plan->network.on) {
                _cleanup_fd_ int fd = net_table_seal(plan->network.table, plan->network.table_size);
                int r = fd < 0 ? fd : net_table_map(fd, &p->table);
                if (r < 0)
                        return error_errno(e, r, "the compiled policy cannot be read");
        }
        return inherit(p, o->policy, e);
}

int tool_grant(struct run_options *o, struct error *e) {
        _cleanup_state_ struct state s = STATE_NONE;
        struct parent *p = new_parent(o);
        int r;

        if (!p)
                return error_set(e, ENOMEM, "out of memory");
        if ((r = find_sandbox(o->parent, false, &s, e)) < 0)
                return r;
        if (!(p->id = strdup(s.id)))
                return error_set(e, ENOMEM, "out of memory");
        /* First the connection: from here on the parent's end is seen. */
        if ((r = call(p, &s, e)) < 0)
                return r;
        if ((r = state_read(&s, "plan.json", &p->plan)) < 0)
                return error_errno(e, r, "the plan of %s cannot be read", p->id);
        return inherit(p, o->policy, e);
}
