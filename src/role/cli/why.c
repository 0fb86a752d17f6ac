/* `belljar why`: what becomes of a request under a policy, by the same table that gate and broker decide with; and `belljar
 * policy compile`. Nothing is resolved, connected to or run, but with --probe (why-probe.h). */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "model/canonical.h"
#include "model/policy.h"
#include "model/why.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"
#include "role/cli/policy-words.h"
#include "role/cli/tool.h"
#include "role/cli/why-probe.h"

/* Of --probe: table and attempt do not agree. */
#define EXIT_DIFFERS 2

struct asked {
        struct policy_words words;
        struct strlist passed; /* the same words as options of belljar run */
        const char *method;
        bool json, probe;
};

/* An option that makes the policy, as it was written. */
static int pass_on(struct asked *a, int id, const char *arg, struct error *e) {
        for (size_t i = 0; i < option_count; i++)
                if (option_table[i].id == id && (strlist_addf(&a->passed, "--%s", option_table[i].name) < 0 || strlist_add(&a->passed, arg) < 0))
                        return error_set(e, ENOMEM, "out of memory");
        return 0;
}

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct asked *a = data;
        int r;

        if (policy_words_take(&a->words, id, arg, &r, e))
                return r < 0 ? r : pass_on(a, id, arg, e);
        switch (id) {
        case OPT_METHOD: a->method = arg; break;
        case OPT_JSON: a->json = true; break;
        case OPT_PROBE: a->probe = true; break;
        default: return error_set(e, EINVAL, "unexpected option");
        }
        return 0;
}

/* A URL is a request, HOST:PORT a connection. */
static int read_request(const struct asked *a, const char *what, char *buf, size_t size, struct request *r, struct error *e) {
        const char *why = NULL, *method = a->method ?: "GET";
        int x;

        if (!strstr(what, "://")) {
                if (a->method) {
                        error_set(e, EINVAL, "--method is about a request, and %.200s is a connection", what);
                        return error_fix(e, "write a URL, such as https://%.200s/", what);
                }
                x = canonical_authority(what, strlen(what), 443, buf, r, &why);
                r->layer = REQUEST_L4;
        } else {
                x = canonical_url(what, strlen(what), buf, size, r, &why);
                if (x == 0)
                        x = canonical_method(method, strlen(method), r, &why);
        }
        if (x == 0)
                return 0;
        error_set(e, EINVAL, "\"%.200s\" is refused before any rule is looked at: %s", what, why ?: "it has no canonical form");
        return error_fix(e, "docs/policy.md, \"The canonical form\", says what is read how");
}

static void print_answer(const struct table *t, const struct request *r, const struct verdict *v) {
        char text[WHY_TEXT], visible[WHY_TEXT * 4];

        str_visible(visible, sizeof(visible), why_request(r, text));
        printf("%s %s\n", v->allowed ? "allowed:" : v->quiet ? "denied, quietly:" : "denied:", visible);
        str_visible(visible, sizeof(visible), why_reason(t, r, v, text));
        printf("  why:  %s\n", visible);
        for (size_t i = 0; v->allowed && i < v->n_matched; i++) {
                struct table_rule_info u;
                if (!table_rule(t, v->matched[i], &u))
                        continue;
                printf("  rule: %s, %s%s\n", why_place(t, v->matched[i], text), u.host, u.read ? "" : " (unread)");
        }
        if (v->allowed && v->secret != TABLE_NONE)
                printf("  secret: %s\n", table_secret_name(t, v->secret));
        for (size_t i = 0; v->models && i < v->n_matched; i++) {
                const char *m;
                for (size_t k = 0; (m = table_model(t, v->matched[i], k)); k++)
                        printf("%s%s", k ? " " : "  model: the body has to name one of ", m);
                if (table_model(t, v->matched[i], 0))
                        printf(" for %s\n", why_place(t, v->matched[i], text));
        }
        unsigned long long novel = v->allowed && v->provenance ? why_novel(t, r) : 0;
        if (novel > 0)
                printf("  provenance: only where the user or an earlier response of the run gives this URL; by the policy alone %llu bits of it are new\n", novel);
        else if (v->allowed && v->provenance)
                printf("  provenance: the policy gives this URL\n");
        str_visible(visible, sizeof(visible), why_fix(t, r, v, text));
        if (visible[0])
                printf("  fix:  %s\n", visible);
}

/* The answer; with --probe it and the attempt, side by side. */
static int print_json(const struct asked *a, const struct table *t, const struct request *r, const struct verdict *v, const struct why_probe *probe,
                      struct error *e) {
        struct json j = {};

        if (a->probe) {
                json_begin(&j, NULL, '{');
                why_json(&j, "answer", t, r, v);
                why_probe_json(&j, "attempt", probe);
                json_end(&j, '}');
        } else
                why_json(&j, NULL, t, r, v);
        _cleanup_free_ char *text = strbuf_take(&j.text);
        if (!text)
                return error_set(e, ENOMEM, "out of memory");
        fputs(text, stdout);
        return 0;
}

static int explain(const struct asked *a, const char *what, struct error *e) {
        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];
        _cleanup_policy_ struct policy *p = NULL;
        _cleanup_free_ void *block = NULL;
        struct request r = {};
        struct table t;
        struct verdict v;
        size_t size;
        int x;

        if ((x = read_request(a, what, buf, sizeof(buf), &r, e)) < 0 || (x = policy_words_read(&a->words, &p, e)) < 0 ||
            (x = table_compile(&p->network, &block, &size, e)) < 0)
                return x;
        if ((x = table_load(block, size, &t)) < 0)
                return error_errno(e, x, "the compiled rules are not sound");
        /* Where nobody reads requests, what counts is the connection. */
        enum table_access access = table_port_access(&t, &r);
        if (r.layer == REQUEST_L7 && (access == TABLE_PASS_TCP || (access == TABLE_PASS_TLS && r.tls)))
                r.layer = REQUEST_L4;
        table_decide(&t, &r, &v);
        _cleanup_(why_probe_clear) struct why_probe probe = {};
        if (a->probe && (x = why_probe(&a->passed, what, &t, &r, &v, &probe, e)) < 0)
                return x;
        if (a->json) {
                if ((x = print_json(a, &t, &r, &v, &probe, e)) < 0)
                        return x;
        } else {
                print_answer(&t, &r, &v);
                if (a->probe)
                        why_probe_print(&probe, &v);
        }
        if (fflush(stdout) != 0)
                return error_errno(e, errno, "the answer cannot be written");
        return a->probe && !probe.agrees ? EXIT_DIFFERS : v.allowed ? 0 : 1;
}

int command_why(int argc, char **argv) {
        struct asked a = {};
        struct error e = {};
        int first, r = options_parse(command_find("why"), argc, argv, on_option, &a, &first, &e);

        if (r >= 0 && argc - first != 1) {
                error_set(&e, EINVAL, "belljar why takes one URL or HOST:PORT");
                r = -EINVAL;
        }
        if (r >= 0)
                r = explain(&a, argv[first], &e);
        if (r < 0)
                error_print(&e);
        policy_words_clear(&a.words);
        strlist_clear(&a.passed);
        return r < 0 ? EXIT_BELLJAR : r;
}

static double ms_since(const struct timespec *begin) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)(now.tv_sec - begin->tv_sec) * 1e3 + (double)(now.tv_nsec - begin->tv_nsec) / 1e6;
}

static const char *digest_of(const struct table *t, char dst[SHA256_TEXT]) {
        uint8_t hash[SHA256_SIZE];

        sha256(t->header, t->size, hash);
        return sha256_text(hash, dst);
}

static void print_statistics(const char *file, const struct table *t, double ms) {
        struct table_statistics s;
        char size[32], digest[SHA256_TEXT];

        table_statistics(t, &s);
        printf("%s: %zu rules, %zu hosts and ranges\n", file, s.rules, s.groups);
        printf("%-12s%s, %zu relays among it\n", "size", format_size(size, sizeof(size), s.size), s.relays);
        printf("%-12s%zu words, %zu states, the largest; %zu literals in all\n", "automaton", s.words, s.states, s.literals);
        printf("%-12s%.2f ms\n", "compiled in", ms);
        printf("%-12s%s\n", "digest", digest_of(t, digest));
}

static void json_statistics(const char *file, const struct table *t, double ms) {
        struct table_statistics s;
        char digest[SHA256_TEXT];
        struct json j = {};

        table_statistics(t, &s);
        json_begin(&j, NULL, '{');
        json_str(&j, "file", file);
        json_num(&j, "rules", (long long)s.rules);
        json_num(&j, "hosts", (long long)s.groups);
        json_num(&j, "bytes", (long long)s.size);
        json_num(&j, "words", (long long)s.words);
        json_num(&j, "states", (long long)s.states);
        json_num(&j, "literals", (long long)s.literals);
        json_num(&j, "relays", (long long)s.relays);
        json_str(&j, "digest", digest_of(t, digest));
        json_num(&j, "microseconds", (long long)(ms * 1000));
        json_end(&j, '}');
        _cleanup_free_ char *text = strbuf_take(&j.text);
        fputs(text ?: "", stdout);
}

static int write_block(const char *to, const void *block, size_t size) {
        _cleanup_fd_ int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        return fd < 0 ? -errno : fd_write_all(fd, block, size);
}

int policy_compile_file(const char *file, const char *to, bool json) {
        _cleanup_policy_ struct policy *p = NULL;
        _cleanup_free_ void *block = NULL;
        struct timespec begin;
        struct error e = {};
        struct table t;
        size_t size;
        int r;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        if ((r = tool_policy(file, &p, &e)) >= 0 && (r = policy_check(p, &e)) >= 0) {
                /* As a run has it: by the file's name, wherever it lies. */
                struct network n = p->network;
                const char *slash = n.source ? strrchr(n.source, '/') : NULL;
                if (slash)
                        n.source += slash + 1 - n.source;
                r = table_compile(&n, &block, &size, &e);
        }
        if (r >= 0 && (r = table_load(block, size, &t)) < 0)
                error_errno(&e, r, "the compiled rules are not sound");
        double ms = ms_since(&begin);
        if (r >= 0 && to && (r = write_block(to, block, size)) < 0)
                error_errno(&e, r, "%s cannot be written", to);
        if (r < 0) {
                error_print(&e);
                return EXIT_BELLJAR;
        }
        if (json)
                json_statistics(file, &t, ms);
        else
                print_statistics(file, &t, ms);
        return fflush(stdout) == 0 ? 0 : EXIT_BELLJAR;
}
