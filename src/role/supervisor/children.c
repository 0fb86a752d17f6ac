/* A run and the sub-runs that hold a part of its authority. Each child's supervisor has a connection to its parent's, from before it
 * started. The parent says over it what may not be done any more; that it ends, for whatever reason, ends the child. A parent whose
 * policy changes ends its children: what they were granted was held against the former one. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "role/supervisor/supervisor.h"

/* How long a child may take to do as it is told; its own children have a part of that. */
#define DONE_MS 1000u

void children_init(struct supervisor *x) {
        for (size_t i = 0; i < ELEMENTSOF(x->children); i++)
                x->children[i] = -1;
}

static void close_child(struct supervisor *x, size_t i) {
        if (x->children[i] >= 0) /* also where a child of this process has the socket too */
                (void)shutdown(x->children[i], SHUT_RDWR);
        fd_close(TAKE_FD(x->children[i]));
}

static uint64_t time_left(const struct supervisor *x) {
        uint64_t now = supervisor_now(), end = x->started + x->paused_total + x->plan->limits.want.time.value;

        if (x->plan->limits.time != MEANS_TIMER)
                return UINT64_MAX;
        return end > now ? end - now : 0;
}

void children_grant(struct supervisor *x) {
        const struct network_side *n = &x->network;
        struct control_grant g = {.depth = x->plan->depth + 1, .time_left = time_left(x), .n_secrets = (uint32_t)x->plan->network.n_secrets};
        const int fds[] = {n->table, x->s->budgets};
        size_t i = 0;

        while (i < ELEMENTSOF(x->children) && x->children[i] >= 0)
                i++;
        if (g.depth > CONTROL_DEPTH_MAX)
                return control_answer(x, -EMLINK, "sub-runs of sub-runs go no deeper");
        if (i == ELEMENTSOF(x->children))
                return control_answer(x, -EMFILE, "too many sub-runs at once");
        if (x->stop.cut || (x->plan->network.on && n->closed))
                return control_answer(x, -ESHUTDOWN, "the run has no network any more");
        if (n->former[0] >= 0)
                return control_answer(x, -EBUSY, "another policy is just being put in force");
        g.network = x->plan->network.on;
        for (uint32_t k = 0; k < g.n_secrets; k++)
                g.secret_left[k] = network_secret_left(x, k + 1);
        if (fd_send(x->asker, &g, sizeof(g), fds, g.network ? ELEMENTSOF(fds) : 0, MSG_DONTWAIT) < 0) {
                fd_close(TAKE_FD(x->asker));
                return;
        }
        x->children[i] = TAKE_FD(x->asker);
        events_simple(x, EVENT_APPROVAL, "sub-run", "within this run's authority");
        if (x->paused)
                children_say(x, CONTROL_WORD_PAUSE, NULL);
}

/* What was revoked is so in the children, too, when this returns. A child that does not say so in time is ended. */
static void wait_for_children(struct supervisor *x) {
        const uint64_t until = supervisor_now() + DONE_MS / (1 + x->plan->depth);
        bool waits[CONTROL_CHILDREN_MAX];

        for (size_t i = 0; i < ELEMENTSOF(waits); i++)
                waits[i] = x->children[i] >= 0;
        for (;;) {
                struct pollfd p[CONTROL_CHILDREN_MAX];
                const uint64_t now = supervisor_now();
                bool any = false;
                for (size_t i = 0; i < ELEMENTSOF(waits); i++) {
                        p[i] = (struct pollfd){.fd = waits[i] ? x->children[i] : -1, .events = POLLIN};
                        any |= waits[i];
                }
                if (!any)
                        return;
                int n = now < until ? poll(p, ELEMENTSOF(p), (int)(until - now)) : 0;
                if (n < 0 && errno == EINTR)
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(waits); i++) {
                        struct control_word w;
                        if (!waits[i] || (n > 0 && !p[i].revents))
                                continue;
                        if (n <= 0 || recv(x->children[i], &w, sizeof(w), MSG_DONTWAIT) != sizeof(w) || w.type != CONTROL_WORD_DONE)
                                close_child(x, i);
                        waits[i] = false;
                }
        }
}

/* One that does not take a word does not go on without it. */
void children_say(struct supervisor *x, enum control_word_type type, const char *name) {
        struct control_word w = {.type = type};

        snprintf(w.name, sizeof(w.name), "%s", name ? name : "");
        for (size_t i = 0; i < ELEMENTSOF(x->children); i++)
                if (x->children[i] >= 0 && send(x->children[i], &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(w))
                        close_child(x, i);
        if (type == CONTROL_WORD_REVOKED)
                wait_for_children(x);
}

void children_end(struct supervisor *x) {
        for (size_t i = 0; i < ELEMENTSOF(x->children); i++)
                close_child(x, i);
}

size_t children_poll(const struct supervisor *x, struct pollfd *p) {
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(x->children); i++)
                if (x->children[i] >= 0)
                        p[n++] = (struct pollfd){.fd = x->children[i], .events = POLLIN};
        if (x->s->parent >= 0 && !x->ended) {
                p[n++] = (struct pollfd){.fd = x->s->parent, .events = POLLIN};
                p[n++] = (struct pollfd){.fd = x->s->parent_process, .events = POLLIN};
        }
        return n;
}

static void end_with_parent(struct supervisor *x) {
        supervisor_end(x, END_PARENT, 0);
        supervisor_kill(x);
}

static void on_parent(struct supervisor *x) {
        struct control_word w;
        ssize_t n = recv(x->s->parent, &w, sizeof(w), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n != sizeof(w)) {
                end_with_parent(x);
                return;
        }
        w.name[sizeof(w.name) - 1] = 0;
        switch (w.type) {
        case CONTROL_WORD_REVOKED:
                (void)!network_revoke_named(x, w.name); /* it need not have that one */
                w.type = CONTROL_WORD_DONE;
                (void)!send(x->s->parent, &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT);
                break;
        case CONTROL_WORD_PAUSE:
        case CONTROL_WORD_RESUME:
                (void)!supervisor_pause(x, PAUSE_PARENT, w.type == CONTROL_WORD_PAUSE);
                break;
        case CONTROL_WORD_CUT:
                stop_cut(x);
                break;
        default:
                end_with_parent(x);
        }
}

void children_events(struct supervisor *x, const struct pollfd *p, size_t n) {
        for (size_t i = 0; i < n; i++) {
                if (!p[i].revents)
                        continue;
                if (p[i].fd == x->s->parent)
                        on_parent(x);
                else if (p[i].fd == x->s->parent_process)
                        end_with_parent(x);
                else /* a child has nothing to say unasked */
                        for (size_t k = 0; k < ELEMENTSOF(x->children); k++)
                                if (x->children[k] == p[i].fd)
                                        fd_close(TAKE_FD(x->children[k]));
        }
}
