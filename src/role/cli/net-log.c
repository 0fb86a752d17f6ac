/* Denials and failures of the network, said to the caller; see net-log.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "model/denial.h"
#include "model/why.h"
#include "role/cli/net-log.h"
#include "role/cli/net-record.h"

static uint64_t hash(uint64_t h, const void *data, size_t n) { /* FNV-1a */
        for (size_t i = 0; i < n; i++)
                h = (h ^ ((const uint8_t *)data)[i]) * 1099511628211u;
        return h;
}

static uint64_t key_of(const struct net_report *r) {
        uint64_t key = hash(14695981039346656037u, r->host, strnlen(r->host, sizeof(r->host)));

        key = hash(hash(key, r->address, sizeof(r->address)), &r->port, sizeof(r->port));
        key = hash(hash(hash(key, &r->type, sizeof(r->type)), &r->what, sizeof(r->what)), &r->reason, sizeof(r->reason));
        key = hash(key, &r->quiet, sizeof(r->quiet));
        if (r->what == NET_HTTP || r->type == NET_SPENT)
                key = hash(key, r->text, strnlen(r->text, sizeof(r->text)));
        return hash(key, r->why, strnlen(r->why, sizeof(r->why)));
}

static int64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The hash is no secret: one thing must not be made to hide behind another. */
static bool is_same(const struct net_entry *x, uint64_t key, const struct net_report *r) {
        return x->key == key && x->type == r->type && x->what == r->what && x->reason == r->reason && x->quiet == (r->quiet != 0) && x->port == r->port &&
               memcmp(x->address, r->address, sizeof(x->address)) == 0 && streq(x->host, r->host) && streq(x->why, r->why) &&
               ((r->what != NET_HTTP && r->type != NET_SPENT) || streq(x->text, r->text));
}

static struct net_entry *find(struct net_log *l, uint64_t key, const struct net_report *r) {
        for (size_t i = 0; i < l->n_entries; i++)
                if (is_same(&l->entries[i], key, r))
                        return &l->entries[i];
        return NULL;
}

/* NULL where there is no room for another. */
static struct net_entry *keep(struct net_log *l, uint64_t key, const struct net_report *r) {
        char place[WHY_TEXT] = "";

        if (l->n_entries == NET_LOG_ENTRIES || (r->quiet && l->n_quiet_entries == NET_LOG_QUIET))
                return NULL;
        if (!l->entries && !(l->entries = (struct net_entry *)calloc(NET_LOG_ENTRIES, sizeof(*l->entries))))
                return NULL;
        /* The number is the gate's or broker's word: table_rule knows it, or there is no rule. */
        if (l->table.header && r->rule != TABLE_NONE)
                why_place(&l->table, r->rule, place);
        struct net_entry *x = &l->entries[l->n_entries];
        *x = (struct net_entry){.key = key, .type = r->type, .what = r->what, .reason = r->reason, .port = (uint16_t)r->port,
                                .quiet = r->quiet, .host = strdup(r->host), .text = strdup(r->text), .why = strdup(r->why),
                                .fix = strdup(r->fix), .rule = place[0] ? strdup(place) : NULL};
        memcpy(x->address, r->address, sizeof(x->address));
        x->first = x->last = now_ms();
        if (!x->host || !x->text || !x->why || !x->fix) {
                free(x->host);
                free(x->text);
                free(x->why);
                free(x->fix);
                free(x->rule);
                return NULL;
        }
        l->n_entries++;
        l->n_quiet_entries += x->quiet;
        return x;
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
        if (r->what == NET_DNS || r->what == NET_CALL)
                snprintf(dst, size, "%s", host);
        else
                snprintf(dst, size, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, r->port);
}

static void say_report(struct net_log *l, const struct net_report *r) {
        char target[4 * NET_HOST_MAX + 16], text[4 * NET_TEXT_MAX], why[4 * NET_WHY_MAX], fix[4 * NET_WHY_MAX], line[12288];

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

static void count(struct net_log *l, const struct net_report *r) {
        if (r->type == NET_UPSTREAM)
                l->unreachable++;
        else if (r->quiet)
                l->quiet++;
        else {
                l->denied++;
                l->spent += r->type == NET_SPENT;
        }
}

static void ended(struct net_log *l, const struct net_report *r) {
        l->connections++;
        l->up += r->up;
        l->down += r->down;
        if (r->rule < l->n_rules) {
                l->rules[r->rule].requests++;
                l->rules[r->rule].up += r->up;
                l->rules[r->rule].down += r->down;
        }
        l->dirty = true;
}

void net_log_policy(struct net_log *l, const struct table *t, const struct account *account) {
        free(l->rules);
        l->table = t ? *t : (struct table){};
        l->account = account;
        l->digest[0] = 0;
        l->n_rules = t ? table_rules(t) : 0;
        l->rules = l->n_rules ? (struct net_use *)calloc(l->n_rules, sizeof(*l->rules)) : NULL;
        if (!l->rules)
                l->n_rules = 0;
}

void net_log_report(struct net_log *l, const struct net_report *r) {
        if (r->type == NET_ENDED) {
                ended(l, r);
                return;
        }
        if (r->type != NET_DENIED && r->type != NET_SPENT && r->type != NET_UPSTREAM)
                return;
        count(l, r);
        l->dirty = true;
        uint64_t key = key_of(r);
        struct net_entry *x = find(l, key, r);
        bool is_new = !x;

        if (!x && !(x = keep(l, key, r)))
                l->left_out++;
        if (x) {
                x->count++;
                x->last = now_ms();
        }
        if (is_new && x && !r->quiet && l->n_said < NET_LOG_LINES) {
                x->is_said = true;
                l->n_said++;
                say_report(l, r);
        } else if (!r->quiet && (!x || !x->is_said))
                l->more++;
        if (is_new && x)
                net_record_event(l, x);
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
