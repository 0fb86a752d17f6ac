/* The three answers, for each container; see assess-internal.h. Each is one line, and containers with the same line are
 * printed together. */
#include <strings.h>

#include "model/assess-internal.h"

void answer_add(struct assessment *a, int question, const char *unit, const char *text) {
        /* The three lists are of one type, by the macro, only in name. */
        struct answer *items = question == 0 ? a->where.items : question == 1 ? a->reach.items : a->creds.items;
        size_t n = question == 0 ? a->where.n : question == 1 ? a->reach.n : a->creds.n;

        if (!charge(a, 0))
                return;
        for (size_t i = 0; i < n; i++)
                if (streq(items[i].text, text)) {
                        LIST_ADD(a, items[i].units, unit);
                        return;
                }
        struct answer new = {.text = text};
        LIST_ADD(a, new.units, unit);
        if (question == 0)
                LIST_ADD(a, a->where, new);
        else if (question == 1)
                LIST_ADD(a, a->reach, new);
        else
                LIST_ADD(a, a->creds, new);
        if (a->failed)
                free(new.units.items);
}

static bool contains(const char *s, const char *part) { return s && strcasestr(s, part); }

/* By the runtime's name: the file says no more of it. */
const char *unit_other_kernel(const struct unit *u) {
        if (contains(u->runtime.text, "runsc") || contains(u->runtime.text, "gvisor"))
                return "gVisor: a kernel in user space answers its system calls, so that few reach the host's";
        if (contains(u->runtime.text, "kata") || contains(u->runtime.text, "firecracker") ||
                contains(u->runtime.text, "krun"))
                return "a virtual machine of its own: its kernel is not the host's";
        return NULL;
}

static void answer_where(struct assessment *a, const struct unit *u) {
        _cleanup_strbuf_ struct strbuf b = {};
        const char *other = unit_other_kernel(u);
        bool socket = false;

        for (size_t i = 0; i < u->mounts.n; i++)
                socket |= path_kind(u->mounts.items[i].source) == PATH_SOCKET;
        if (u->privileged.is == YES && !other)
                strbuf_puts(&b, "on the host in all but name: a privileged container");
        else if ((socket || u->api_socket.is == YES) && !other)
                strbuf_puts(&b, "on the host in all but name: a container that holds the container engine's socket");
        else if (other)
                strbuf_puts(&b, other);
        else
                strbuf_puts(&b, "a container on the host's own kernel");
        if (u->runtime.text && !other)
                strbuf_printf(&b, " (runtime %s)", keep_shown(a, u->runtime.text));
        if (u->privileged.is != YES && !other) {
                if (u->own_userns.is == YES || u->rootless.is == YES || contains(u->runtime.text, "sysbox"))
                        strbuf_puts(&b, u->rootless.is == YES ? ", rootless" : ", in a user namespace of its own");
                if (u->seccomp_off.is == YES)
                        strbuf_puts(&b, ", without a filter of system calls");
                static const struct { size_t at; const char *what;
                } shared[] = {{offsetof(struct unit, host_pid), "processes"},
                        {offsetof(struct unit, host_ipc), "shared memory"},
                        {offsetof(struct unit, host_net), "network"}};
                bool first = true;
                for (size_t i = 0; i < ELEMENTSOF(shared); i++)
                        if (((const struct flag *)((const char *)u + shared[i].at))->is == YES) {
                                strbuf_printf(&b, "%s%s", first ? ", with the host's " : " and ", shared[i].what);
                                first = false;
                        }
        }
        answer_add(a, 0, u->name, keep(a, b.data ? b.data : ""));
}

static void answer_reach(struct assessment *a, const struct unit *u) {
        static const char *const networks[] = {
                [REACH_UNKNOWN] = "the file does not say which network",
                [REACH_NONE] = "no network",
                [REACH_INTERNAL] = "other services on internal networks, nothing outside",
                [REACH_OUT] = "any address: no rule of the file bounds it",
                [REACH_BRIDGE] =
                        "any address, and every container on the default bridge: no rule of the file bounds it",
                [REACH_HOST] = "any address, and what listens on the host itself",
                [REACH_OTHER] = "what the container reaches whose network it shares",
        };
        _cleanup_strbuf_ struct strbuf b = {};
        size_t shown = 0, more = 0;

        strbuf_puts(&b, u->egress_ruled ? "what its NetworkPolicy lets out" : networks[u->reach]);
        for (size_t i = 0; i < u->mounts.n; i++) {
                const struct mount *m = &u->mounts.items[i];
                if (shown == 4) {
                        more++;
                        continue;
                }
                strbuf_printf(&b, "%s%s%s", shown++ ? ", " : "; of the host: ", keep_shown(a, m->source),
                        m->read_only ? " (read)" : " (write)");
        }
        if (more)
                strbuf_printf(&b, " and %zu more", more);
        answer_add(a, 1, u->name, keep(a, b.data ? b.data : ""));
}

static void add_name(struct strbuf *b, size_t *shown, const char *what) {
        if (*shown < 6)
                strbuf_printf(b, "%s%s", *shown ? ", " : "", what);
        ++*shown;
}

static void answer_creds(struct assessment *a, const struct unit *u) {
        _cleanup_strbuf_ struct strbuf b = {};
        size_t n = 0;
        bool root = u->privileged.is == YES || u->api_socket.is == YES;

        for (size_t i = 0; i < u->mounts.n; i++) {
                enum path_kind k = path_kind(u->mounts.items[i].source);
                root |= k == PATH_SOCKET;
                if (k == PATH_SECRET || k == PATH_HOME || k == PATH_SYSTEM_SECRET || k == PATH_AGENT_SOCKET)
                        add_name(&b, &n, keepf(a, "what %s opens", keep_shown(a, u->mounts.items[i].source)));
        }
        if (u->admin.is == YES && u->token.is != NO)
                add_name(&b, &n, "anything in the cluster (service account)");
        else if (a->format == FORMAT_POD && u->token.is != NO)
                add_name(&b, &n,
                        u->default_account.is == YES
                                ? "the default service account's rights"
                                : keepf(a, "the rights of service account %s", keep_shown(a, u->account.text)));
        for (size_t i = 0; i < u->vars.n; i++) {
                const struct var *v = &u->vars.items[i];
                if (v->kind == VAR_ENV && secret_name(v->name) &&
                        !(v->value && !v->passed && secret_placeholder(v->value)))
                        add_name(&b, &n, keepf(a, "what %s opens", keep_shown(a, v->name)));
                else if (v->value && v->kind != VAR_BUILD && (!v->passed || v->by_default) &&
                         charge(a, strlen(v->value) * 4) && secret_form(v->value))
                        add_name(&b, &n,
                                v->name ? keepf(a, "what %s opens", keep_shown(a, v->name))
                                        : "what its arguments hold");
        }
        for (size_t i = 0; i < u->creds.n; i++)
                add_name(&b, &n,
                        u->creds.items[i].kind == CRED_ENV_FILE
                                ? keepf(a, "what is in %s (not read)", keep_shown(a, u->creds.items[i].name))
                                : keepf(a, "what the secret %s opens", keep_shown(a, u->creds.items[i].name)));
        if (n > 6)
                strbuf_printf(&b, " and %zu more", n - 6);
        const char *own = n > 0 && b.data ? b.data : "nothing that the file says";
        if (root)
                answer_add(a, 2, u->name,
                        n > 0 ? keepf(a, "everything that root of the host can, and %s", own)
                              : "everything that root of the host can");
        else
                answer_add(a, 2, u->name, keep(a, own));
}

void answer(struct assessment *a) {
        for (size_t i = 0; i < a->units.n && !a->failed; i++) {
                answer_where(a, &a->units.items[i]);
                answer_reach(a, &a->units.items[i]);
                answer_creds(a, &a->units.items[i]);
        }
}
