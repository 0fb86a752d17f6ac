/* See net-record.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "model/denial.h"
#include "model/table.h"
#include "model/why.h"
#include "role/cli/minted.h"
#include "role/cli/model-routes.h"
#include "role/cli/call.h"
#include "role/cli/net-record.h"
#include "svc/entry.h"
#include "svc/net-account.h"
#include "svc/state.h"

/* So often at most, while a run goes on; and what takes long is done more rarely: a twentieth of the time is for it. */
#define WRITE_EVERY_MS 250u
#define WRITE_SHARE 20u
/* Rules that the record lists, of those that were used. */
#define RULES_MAX 256u
#define FILE_NAME "network.json"

static uint64_t monotonic_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* RFC 3339, UTC. */
static void json_time(struct json *j, const char *key, int64_t ms) {
        time_t t = (time_t)(ms / 1000);
        char text[64];
        struct tm tm;

        if (!gmtime_r(&t, &tm)) {
                json_str(j, key, NULL);
                return;
        }
        size_t n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(text + n, sizeof(text) - n, ".%03dZ", (int)(ms % 1000));
        json_str(j, key, text);
}

static void json_address(struct json *j, const uint8_t address[16]) {
        static const uint8_t none[16];
        char text[INET6_ADDRSTRLEN];
        bool v4 = net_is_mapped(address);

        if (memcmp(address, none, sizeof(none)) == 0)
                json_str(j, "address", NULL);
        else
                json_str(j, "address", inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? address + 12 : address, text, sizeof(text)));
}

/* A refusal for the form of what was sent, which no rule is about, has no verdict of its own. */
static const char *reason_of(const struct net_entry *x) {
        if (x->type == NET_SPENT)
                return "budget";
        if (x->type == NET_UPSTREAM)
                return "upstream";
        if (x->what == NET_UDP)
                return "udp";
        if (x->what == NET_CALL)
                return "call";
        return x->reason == VERDICT_PROTOCOL && !x->rule && !x->fix[0] ? "form" : why_word((enum verdict_reason)x->reason);
}

/* "GET /path": method and target, as far as they are known. */
static void json_request(struct json *j, const struct net_entry *x) {
        bool http = x->what == NET_HTTP && x->type != NET_SPENT;
        const char *blank = http ? strchr(x->text, ' ') : NULL;
        _cleanup_free_ char *method = blank ? strndup(x->text, (size_t)(blank - x->text)) : NULL;

        json_str(j, "method", method && method[0] ? method : NULL);
        json_str(j, "path", blank && blank[1] ? blank + 1 : NULL);
}

static void json_entry(struct json *j, const struct net_entry *x, bool counts) {
        static const char *const kinds[] = {[NET_DNS] = "name", [NET_TCP] = "tcp", [NET_UDP] = "udp", [NET_TLS] = "tls", [NET_HTTP] = "http", [NET_CALL] = "call"};

        json_str(j, "kind", x->what < ELEMENTSOF(kinds) ? kinds[x->what] : "unknown");
        json_str(j, "host", x->host[0] ? x->host : NULL);
        json_address(j, x->address);
        if (x->what == NET_DNS || x->what == NET_CALL)
                json_str(j, "port", NULL); /* a question for a name has none */
        else
                json_num(j, "port", x->port);
        json_request(j, x);
        json_str(j, "reason", reason_of(x));
        json_str(j, "why", x->type == NET_SPENT ? denial_spent(x->text) : x->why);
        if (x->type != NET_UPSTREAM) {
                json_str(j, "budget", x->type == NET_SPENT ? x->text : NULL);
                json_str(j, "rule", x->rule);
                json_str(j, "fix", x->fix[0] ? x->fix : NULL);
                json_bool(j, "quiet", x->quiet);
        }
        if (!counts)
                return;
        json_num(j, "count", (long long)x->count);
        json_time(j, "first", x->first);
        json_time(j, "last", x->last);
}

static void json_entries(struct json *j, const char *key, const struct net_log *l, bool failures) {
        json_begin(j, key, '[');
        for (size_t i = 0; i < l->n_entries; i++) {
                if ((l->entries[i].type == NET_UPSTREAM) != failures)
                        continue;
                json_begin(j, NULL, '{');
                json_entry(j, &l->entries[i], true);
                json_end(j, '}');
        }
        json_end(j, ']');
}

static void json_policy(struct json *j, struct net_log *l) {
        uint8_t hash[SHA256_SIZE];

        if (!l->table.header) {
                json_str(j, "policy", NULL);
                return;
        }
        if (!l->digest[0]) {
                sha256(l->table.header, l->table.size, hash);
                sha256_text(hash, l->digest);
        }
        json_begin(j, "policy", '{');
        json_str(j, "digest", l->digest);
        json_num(j, "bytes", (long long)l->table.size);
        json_num(j, "rules", (long long)table_rules(&l->table));
        json_num(j, "updates", l->updates);
        json_end(j, '}');
}

/* What the brokers charged is exact; what a report said can be missing, since these are bounded. */
static void json_use(struct json *j, const struct net_log *l) {
        const struct account *a = l->account;
        size_t listed = 0;

        json_begin(j, "use", '{');
        json_num(j, "requests", (long long)(a ? __atomic_load_n(&a->requests, __ATOMIC_RELAXED) : l->connections));
        json_num(j, "up", (long long)(a ? __atomic_load_n(&a->up, __ATOMIC_RELAXED) : l->up));
        json_num(j, "down", (long long)(a ? __atomic_load_n(&a->down, __ATOMIC_RELAXED) : l->down));
        json_num(j, "carried", (long long)l->connections); /* that came to their end, as far as it was reported */
        json_end(j, '}');
        json_begin(j, "rules", '[');
        for (size_t i = 0; i < l->n_rules && listed < RULES_MAX; i++) {
                const struct net_use *u = &l->rules[i];
                struct table_rule_info info;
                char place[WHY_TEXT];
                if (u->requests == 0 || !table_rule(&l->table, (uint32_t)i, &info))
                        continue;
                listed++;
                json_begin(j, NULL, '{');
                json_str(j, "rule", why_place(&l->table, (uint32_t)i, place));
                json_str(j, "host", info.host);
                json_num(j, "requests", (long long)u->requests);
                json_num(j, "up", (long long)u->up);
                json_num(j, "down", (long long)u->down);
                json_end(j, '}');
        }
        json_end(j, ']');
}

/* What came of the token at its provider: null as long as it lives there. */
static void json_minted(struct json *j, const struct minted *m) {
        json_str(j, "origin", m->state == MINTED_NONE ? "borrowed" : "minted");
        if (m->state == MINTED_NONE)
                return;
        json_begin(j, "minted", '{');
        json_str(j, "at", m->host);
        if (m->expires)
                json_time(j, "expires", m->expires * 1000);
        else
                json_str(j, "expires", NULL);
        json_num(j, "renewed", m->renewed);
        if (m->state == MINTED_REVOKED || m->state == MINTED_LEFT)
                json_bool(j, "revoked", m->state == MINTED_REVOKED);
        else
                json_str(j, "revoked", NULL);
        json_str(j, "why", m->state == MINTED_LEFT ? m->why : NULL);
        json_end(j, '}');
}

/* As the secrets' brokers counted it. */
static void json_secrets(struct json *j, const struct net_log *l) {
        static const char *const ends[] = {[SECRET_LIVES] = NULL, [SECRET_EXPIRED] = "expired", [SECRET_REVOKED] = "revoked"};

        json_begin(j, "secrets", '[');
        for (size_t i = 0; i < l->n_secrets; i++) {
                const struct account_secret none = {}, *a = l->account ? &l->account->secrets[i] : &none;
                const uint32_t end = l->secrets_ended[i];
                json_begin(j, NULL, '{');
                json_str(j, "name", l->secrets[i].name);
                json_num(j, "uses", (long long)__atomic_load_n(&a->uses, __ATOMIC_RELAXED));
                json_num(j, "up", (long long)__atomic_load_n(&a->up, __ATOMIC_RELAXED));
                json_num(j, "down", (long long)__atomic_load_n(&a->down, __ATOMIC_RELAXED));
                json_num(j, "refused", (long long)__atomic_load_n(&a->refused, __ATOMIC_RELAXED));
                json_str(j, "ended", end < ELEMENTSOF(ends) ? ends[end] : "?");
                json_minted(j, &l->minted[i]);
                json_end(j, '}');
        }
        json_end(j, ']');
}

static void json_counts(struct json *j, const struct net_log *l) {
        json_num(j, "denied", (long long)l->denied);
        json_num(j, "quiet", (long long)l->quiet);
        json_num(j, "spent", (long long)l->spent);
        json_num(j, "unreachable", (long long)l->unreachable);
        json_num(j, "left_out", (long long)l->left_out);
}

/* One line. Within a string no newline stands as itself, so that what is left is the writer's own layout. */
static void put_line(struct net_log *l, struct json *j) {
        _cleanup_free_ char *text = strbuf_take(&j->text);
        size_t n = 0;

        if (!text || l->events < 0)
                return;
        for (const char *p = text; *p;) {
                if (*p != '\n') {
                        text[n++] = *p++;
                        continue;
                }
                p += 1 + strspn(p + 1, " ");
        }
        text[n++] = '\n'; /* there was one at the end */
        if (write(l->events, text, n) != (ssize_t)n)
                l->events_lost++;
}

static void event_begin(struct json *j, const char *event) {
        *j = (struct json){};
        json_begin(j, NULL, '{');
        json_str(j, "event", event);
        json_time(j, "time", now_ms());
}

void net_record_event(struct net_log *l, const struct net_entry *x) {
        struct json j;

        if (l->events < 0)
                return;
        event_begin(&j, x->type == NET_UPSTREAM ? "unreachable" : "denied");
        json_entry(&j, x, false);
        json_end(&j, '}');
        put_line(l, &j);
}

void net_record_started(struct net_log *l, const char *id) {
        struct json j;

        if (l->events < 0)
                return;
        event_begin(&j, "started");
        json_str(&j, "id", id);
        json_end(&j, '}');
        put_line(l, &j);
}

void net_record_ended(struct net_log *l, const char *id, const struct run_result *res) {
        struct json j;

        if (l->events < 0)
                return;
        event_begin(&j, "ended");
        json_str(&j, "id", id);
        json_str(&j, "end", run_end_name(res->end));
        json_num(&j, "status", res->status);
        json_num(&j, "wall_ms", (long long)res->wall_ms);
        json_begin(&j, "network", '{');
        json_secrets(&j, l);
        if (l->plan)
                call_git_json(&j, l->plan, l->calls);
        model_routes_json(&j, l);
        json_counts(&j, l);
        json_use(&j, l);
        json_end(&j, '}');
        json_num(&j, "events_lost", (long long)l->events_lost);
        json_end(&j, '}');
        put_line(l, &j);
}

int net_record_due(const struct net_log *l) {
        if (!l->dirty || !l->state)
                return -1;
        uint64_t now = monotonic_ms();
        return now >= l->next_write ? 0 : (int)(l->next_write - now);
}

/* The last time, what is not there any more is not made again: the directory may be on its way out. */
static void write_record(struct net_log *l, bool last) {
        uint64_t begin = monotonic_ms();
        struct json j;

        state_json_begin(l->state, &j);
        json_policy(&j, l);
        json_str(&j, "ca", l->ca);
        json_num(&j, "gates", l->gates);
        json_num(&j, "brokers", l->brokers);
        json_use(&j, l);
        json_secrets(&j, l);
        if (l->plan)
                call_git_json(&j, l->plan, l->calls);
        model_routes_json(&j, l);
        json_counts(&j, l);
        json_entries(&j, "denials", l, false);
        json_entries(&j, "failures", l, true);
        json_end(&j, '}');
        (void)!(last ? state_rewrite(l->state, FILE_NAME, &j) : state_write(l->state, FILE_NAME, &j));
        l->dirty = false;
        uint64_t end = monotonic_ms();
        l->next_write = end + MAX(WRITE_EVERY_MS, WRITE_SHARE * (end - begin));
}

void net_record_write(struct net_log *l) {
        if (net_record_due(l) == 0)
                write_record(l, false);
}

void net_record_close(struct net_log *l) {
        if (l->state && (l->dirty || l->gates > 0))
                write_record(l, true);
        fd_close(TAKE_FD(l->events));
}

static const char *slash_name(const char *path) {
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

int net_record_open(const char *path, const struct plan *p, struct error *e) {
        _cleanup_free_ char *copy = strdup(path), *dir = NULL;
        struct stat st;

        if (!copy)
                return error_set(e, ENOMEM, "out of memory");
        char *slash = strrchr(copy, '/');
        if (slash)
                slash[slash == copy] = 0;
        dir = realpath(slash ? copy : ".", NULL);
        if (!dir)
                return error_errno(e, errno, "the directory of %s cannot be found", path);
        if ((p->workspace && p->mode == WORKSPACE_RW && path_beneath(dir, p->workspace)) || plan_writes_volume(p, dir)) {
                error_set(e, EPERM, "%s lies where the run writes, and would not be Belljar's word alone", path);
                return error_fix(e, "name a file outside of the workspace and of what -v shows for writing");
        }
        /* O_NONBLOCK: what is no file must not hold up the run before it is refused. */
        _cleanup_fd_ int in = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC); /* the directory that was looked at */
        _cleanup_fd_ int fd = openat(in, slash_name(path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_errno(e, errno, "%s cannot be written", path);
        if (!S_ISREG(st.st_mode))
                return error_set(e, EINVAL, "%s is not a file", path);
        return TAKE_FD(fd);
}
