/* Denials and failures of the network, said to the caller; see net-log.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/denial.h"
#include "role/cli/net-log.h"

static uint64_t hash(uint64_t h, const void *data, size_t n) { /* FNV-1a */
        for (size_t i = 0; i < n; i++)
                h = (h ^ ((const uint8_t *)data)[i]) * 1099511628211u;
        return h;
}

/* True when something like it was said already, or enough was. */
static bool said(struct net_log *l, uint64_t key) {
        for (size_t i = 0; i < l->n_keys; i++)
                if (l->keys[i] == key)
                        return true;
        if (l->n_keys == NET_LOG_LINES) {
                l->more++;
                return true;
        }
        l->keys[l->n_keys++] = key;
        return false;
}

static void say(struct net_log *l, const char *line) {
        if (l->silent)
                return;
        if (!l->later)
                fprintf(stderr, "belljar: %s\n", line);
        else if (l->n_lines < NET_LOG_LINES && (l->lines[l->n_lines] = strdup(line)))
                l->n_lines++;
}

/* What is said of it comes from the sandbox: shown, never written as it is. */
static void describe(const struct net_report *r, char *dst, size_t size) {
        char host[4 * NET_HOST_MAX], address[INET6_ADDRSTRLEN] = "";

        str_visible(host, sizeof(host), r->host);
        if (!host[0]) {
                bool v4 = net_is_mapped(r->address);
                inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? r->address + 12 : r->address, address, sizeof(address));
                snprintf(host, sizeof(host), "%s", address);
        }
        if (r->what == NET_DNS)
                snprintf(dst, size, "%s", host);
        else
                snprintf(dst, size, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, r->port);
}

void net_log_report(struct net_log *l, const struct net_report *r) {
        char target[4 * NET_HOST_MAX + 16], text[4 * NET_TEXT_MAX], why[4 * NET_WHY_MAX], fix[4 * NET_WHY_MAX], line[12288];

        if (r->type == NET_ENDED) {
                l->connections++;
                l->up += r->up;
                l->down += r->down;
                return;
        }
        if (r->type == NET_DENIED || r->type == NET_SPENT) {
                if (r->quiet)
                        return;
                l->denied++;
        }
        uint64_t key = hash(14695981039346656037u, r->host, strnlen(r->host, sizeof(r->host)));
        key = hash(hash(key, r->address, sizeof(r->address)), &r->port, sizeof(r->port));
        key = hash(hash(key, &r->what, sizeof(r->what)), &r->reason, sizeof(r->reason));
        if (r->what == NET_HTTP || r->type == NET_SPENT)
                key = hash(key, r->text, strnlen(r->text, sizeof(r->text)));
        key = hash(key, r->why, strnlen(r->why, sizeof(r->why)));
        if (said(l, key))
                return;
        describe(r, target, sizeof(target));
        str_visible(text, sizeof(text), r->text);
        str_visible(why, sizeof(why), r->why);
        str_visible(fix, sizeof(fix), r->fix);
        if (r->type == NET_UPSTREAM)
                snprintf(line, sizeof(line), "%s could not be reached: %s", target, why);
        else if (r->type == NET_SPENT)
                snprintf(line, sizeof(line), "refused: %s (%s)", target, denial_spent(r->text));
        else
                snprintf(line, sizeof(line), "refused: %s%s%s%s (%s)%s%s", r->what == NET_UDP ? "UDP to " : r->what == NET_DNS ? "the name " : "",
                         target, text[0] ? ": " : "", text, why, fix[0] ? "; to allow it: " : "", fix);
        say(l, line);
}

void net_log_failed(struct net_log *l, int err, const char *text) {
        char visible[4 * NET_TEXT_MAX], line[4 * NET_TEXT_MAX + 128];

        str_visible(visible, sizeof(visible), text);
        snprintf(line, sizeof(line), "network: %s%s%s", visible, err ? ": " : "", err ? strerror(err < 0 ? -err : err) : "");
        say(l, line);
}

void net_log_end(struct net_log *l) {
        for (size_t i = 0; i < l->n_lines; i++) {
                fprintf(stderr, "belljar: %s\n", l->lines[i]);
                free(l->lines[i]);
        }
        l->n_lines = 0;
        if (l->more && !l->silent)
                fprintf(stderr, "belljar: and %llu more refusals of the network\n", (unsigned long long)l->more);
}
