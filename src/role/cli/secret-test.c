/* See secret-test.h. The value is read as a run reads it and goes to the process that asks (svc/provider.h), through a pipe; what
 * that says of the answers is of fixed size, and a stranger's word: every text of it is made visible before it is printed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "model/placeholder.h"
#include "model/scope-judge.h"
#include "model/secret-sigv4.h"
#include "proto/json.h"
#include "role/cli/secret-test.h"
#include "role/cli/tool.h"
#include "svc/provider.h"
#include "svc/secret-source.h"

#define POLICY_HERE "belljar.yaml"
#define HOST_TEXT (REQUEST_HOST_MAX + 8u)

/* Where a host of the user's own may be, which --host names: not this machine's neighbours by link, where clouds keep credentials. */
#define OWN_ADDRESSES "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 127.0.0.0/8 ::1/128"

struct test {
        const struct secret_test *asked;
        struct policy *policy;
        const char *file;      /* the policy that is compared with; NULL: the command line's words alone */
        bool implicit;         /* nobody named it */
        const struct secret *secret;
        enum scope_kind kind;
        const char *kind_name; /* of the value's form; NULL */
        char host[HOST_TEXT];  /* that was asked; "": nobody */
        struct scope_answer a;
        struct scope_verdict v;
        int64_t now;
};

void secret_test_clear(struct secret_test *t) { policy_words_clear(&t->words); }

/* --- which secret --- */

static int out_of_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

static int read_policy(struct test *t, struct error *e) {
        struct policy_words w = t->asked->words;

        if (!w.file && w.secret.n == 0 && access(POLICY_HERE, F_OK) == 0) {
                w.file = POLICY_HERE;
                t->implicit = true;
        }
        t->file = w.file;
        return policy_words_read(&w, &t->policy, e);
}

/* "NAME=SOURCE@HOST": the last that --secret says. */
static char *name_of_words(const struct secret_test *a) {
        const char *text = a->words.secret.n > 0 ? a->words.secret.items[a->words.secret.n - 1] : NULL;

        return text ? strndup(text, strcspn(text, "=@")) : NULL;
}

/* Of the policy, else of the store where no policy was named. */
static int find_secret(struct test *t, const char *name, struct error *e) {
        struct network *net = &t->policy->network;
        size_t at = secret_find(net->secrets, net->n_secrets, name);

        if (at == SIZE_MAX && t->asked->words.file) {
                error_set(e, ENOENT, "the policy %s has no secret %s", t->file, name);
                return error_fix(e, "leave -f out to test one of Belljar's own store");
        }
        if (at == SIZE_MAX) {
                _cleanup_free_ char *from = str_printf("store:%s", name);
                struct secret *s = from ? secret_add(&net->secrets, &net->n_secrets, name, e) : NULL;
                if (!from || !s)
                        return from ? -ENOMEM : out_of_memory(e);
                int r = secret_parse_source(from, s, e);
                if (r < 0)
                        return r;
                at = secret_find(net->secrets, net->n_secrets, name);
        }
        t->secret = &net->secrets[at];
        return 0;
}

/* As of a run (prepare.c): a policy that a run may have written names no command. */
static int check_source(const struct test *t, const struct secret *s, struct error *e) {
        _cleanup_free_ char *file = t->file ? realpath(t->file, NULL) : NULL, *here = realpath(".", NULL);

        if (s->source != SECRET_COMMAND || s->line == 0 || (file && here && !path_beneath(file, here)))
                return 0;
        error_set(e, EPERM, "%s lies in the current directory, where a run may have written it, and names a command for the secret %s", t->file ?: "?", s->name);
        return error_fix(e, "keep the policy elsewhere, or name the command yourself: --secret '%s=command:...'", s->name);
}

/* --- whom to ask --- */

static int take_host(struct test *t, const char *host, struct error *e) {
        size_t n = strlen(host);

        if (n == 0 || n >= sizeof(t->host) || host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]")] != 0)
                return error_set(e, EINVAL, "--host is the name of a host, with a port where it is not 443");
        memcpy(t->host, host, n + 1);
        return 0;
}

/* The provider's own; another only where the user said so, here or by a policy that was named: one that merely lies here could send
 * the credential to whoever wrote it. */
static int choose_host(struct test *t, struct error *e) {
        const char *own = t->asked->words.file || t->asked->words.secret.n > 0 ? scope_own_host(t->kind, &t->policy->network, t->secret->name) : NULL;

        return take_host(t, t->asked->host ? t->asked->host : own ? own : scope_host(t->kind), e);
}

static void add_range(struct strbuf *b, const struct address_range *r) {
        _cleanup_free_ char *text = network_range_text(r);
        strbuf_printf(b, "%s%s", b->len > 0 ? " " : "", text ? text : "");
}

/* Not public ones that the rules open for that very host. */
static char *addresses_of(const struct test *t) {
        const struct network *net = &t->policy->network;
        _cleanup_strbuf_ struct strbuf b = {};

        if (t->asked->host)
                return strdup(OWN_ADDRESSES);
        for (size_t i = 0; i < net->n_rules; i++) {
                const struct network_rule *r = &net->rules[i];
                if (t->implicit || r->deny || !r->secret || !streq(r->secret, t->secret->name) || (r->kind != NETWORK_EXACT && !r->to) || !streq(scope_rule_host(r) ?: "", t->host))
                        continue;
                for (size_t k = 0; k < r->n_addresses; k++)
                        add_range(&b, &r->addresses[k]);
        }
        return strbuf_take(&b);
}

/* The namespaces of a child are written to by its files in /proc, which are not the user's where the child is a fork of what cannot
 * be dumped. For as long as that takes, this process is as open to the user's others as the guard of a run always is. */
static int start(const struct provider_job *job, struct provider *p, struct error *e) {
        if (prctl(PR_SET_DUMPABLE, 1) < 0)
                return error_errno(e, errno, "this process cannot be opened");
        int r = provider_start(job, NULL, p, e);
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                abort(); /* it has been done before */
        return r;
}

static int ask_provider(struct test *t, const struct vault_text values[PART_N], struct error *e) {
        _cleanup_free_ char *addresses = addresses_of(t), *kind = str_printf("%u", t->kind);
        struct provider p = PROVIDER_NONE;
        const struct provider_reply *reply;
        struct provider_job job = {.kind = PROVIDER_SCOPES};
        int r;

        if (!addresses || !kind)
                return out_of_memory(e);
        job.text[PROVIDER_URL] = t->host;
        job.text[PROVIDER_SCOPE] = kind;
        job.text[PROVIDER_ADDRESSES] = addresses;
        job.text[PROVIDER_CREDENTIAL] = values[PART_SECRET].p;
        job.text[PROVIDER_CLIENT_ID] = values[PART_KEY].p;
        job.text[PROVIDER_CLIENT_SECRET] = values[PART_SESSION].p;
        if ((r = start(&job, &p, e)) < 0)
                return r;
        /* Each of its requests has a deadline of its own. */
        r = provider_ask(&p, PROVIDER_DO, (int)SCOPE_QUESTIONS_MAX * PROVIDER_MINT_MS, &reply, e);
        if (r == 0 && !scope_answer_good(&reply->scopes))
                r = error_set(e, EBADMSG, "the process that asks (belljar-provider) said what it never says");
        if (r == 0)
                t->a = reply->scopes;
        provider_end(&p);
        return r;
}

/* The value, and of one that is signed with the access key id and the session token, in the order of enum secret_part. All of them are
 * taken out of the environment before anything is started. */
static int read_values(const struct test *t, struct vault_text ret[PART_N], struct error *e) {
        const struct network *net = &t->policy->network;
        struct secret parts[PART_N];
        struct vault_text values[PART_N] = {};
        enum secret_part which[PART_N] = {};
        size_t n = 0;

        for (unsigned i = 0; i < PART_N; i++) {
                size_t at = i == PART_SECRET ? (size_t)(t->secret - net->secrets) : secret_sigv4_part(net->secrets, net->n_secrets, t->secret->name, (enum secret_part)i);
                if (at == SIZE_MAX)
                        continue;
                which[n] = (enum secret_part)i;
                parts[n] = net->secrets[at];
                int r = check_source(t, &parts[n], e);
                if (r < 0)
                        return r;
                n++;
        }
        int r = secret_sources_read(parts, n, NULL, values, e);
        for (size_t i = 0; i < n && r >= 0; i++)
                ret[which[i]] = values[i];
        return r;
}

static int find_kind(struct test *t, const struct vault_text *value, struct error *e) {
        const struct secret_kind *form = secret_kind_of(value->p, value->n);

        if (t->secret->place == SECRET_SIGV4) {
                t->kind = SCOPE_AWS;
                t->kind_name = "AWS secret access key";
                return 0;
        }
        t->kind_name = form ? form->name : NULL;
        t->kind = scope_kind_of(value->p, value->n, t->implicit ? NULL : &t->policy->network, t->secret->name);
        if (t->kind != SCOPE_UNKNOWN)
                return 0;
        error_set(e, ENOTSUP, "the secret %s is %s: there is nobody who could be asked what it may do", t->secret->name,
                  form          ? "of a kind whose provider tells nothing"
                  : t->implicit ? "of no form that is known, and no policy was named whose rules could say whose it is"
                                : "of no form that is known, and no rule sends it to a provider that is");
        return !form && t->implicit ? error_fix(e, "name it: -f " POLICY_HERE) : error_fix(e, "docs/credentials.md, \"What a credential can do\", lists those that are");
}

static int ask_with(struct test *t, const struct vault_text values[PART_N], struct error *e) {
        const struct vault_text *value = &values[PART_SECRET];
        const char *clear = t->implicit || t->asked->host ? NULL : scope_clear_route(&t->policy->network, t->secret->name);
        if (clear) {
                error_set(e, ENOTSUP, "the secret %s goes to %s, in place of a rule's host: who is not spoken to in TLS is not asked", t->secret->name, clear);
                return error_fix(e, "name whom to ask: --host");
        }
        int r = find_kind(t, value, e);

        if (r < 0)
                return r;
        if (!scope_host(t->kind)) {
                scope_read_local(t->kind, value->p, value->n, &t->a);
                return 0;
        }
        return (r = choose_host(t, e)) < 0 ? r : ask_provider(t, values, e);
}

static int ask(struct test *t, struct error *e) {
        struct vault_text values[PART_N] = {};

        if (t->secret->mint) {
                error_set(e, ENOTSUP, "the secret %s is asked for anew by each run: what such a token may do stands in the policy", t->secret->name);
                return error_fix(e, "a run refuses one that is wider than its policy says");
        }
        int r = read_values(t, values, e);
        if (r >= 0)
                r = ask_with(t, values, e);
        for (size_t i = 0; i < PART_N; i++)
                vault_free(&values[i]);
        return r;
}

/* --- what came of it --- */

static bool fits(const struct test *t) {
        return t->a.state == SCOPE_GOOD && !t->v.expired && t->v.exceeds.n == 0 && t->v.cannot.n == 0;
}

static const char *access_word(uint32_t access) { return access == SCOPE_ADMIN ? "manage" : access == SCOPE_WRITE ? "write" : "read"; }

static const char *expiry_text(const struct test *t, char dst[96]) {
        char day[32] = "?", left[32];
        time_t when = (time_t)t->a.expires;
        struct tm tm;

        if (t->a.expires <= 0)
                return t->a.expires < 0 ? "never" : "not told";
        if (gmtime_r(&when, &tm))
                (void)strftime(day, sizeof(day), "%F %R UTC", &tm);
        if (t->v.expired)
                snprintf(dst, 96, "%s: it has", day);
        else if (t->a.expires - t->now < 366 * 86400)
                snprintf(dst, 96, "%s, in %s", day, format_duration(left, sizeof(left), (uint64_t)(t->a.expires - t->now) / 60 * 60000));
        else
                snprintf(dst, 96, "%s", day);
        return dst;
}

static void print_line(const char *label, const char *text) {
        _cleanup_free_ char *visible = str_visible_dup(text);
        printf("%-10s%s\n", label, visible ? visible : "?");
}

static void print_list(const char *head, const struct strlist *l) {
        if (l->n > 0)
                printf("%s\n", head);
        for (size_t i = 0; i < l->n; i++) {
                _cleanup_free_ char *visible = str_visible_dup(l->items[i]);
                printf("  %s\n", visible ? visible : "?");
        }
}

static void print_grants(const struct test *t) {
        for (uint32_t i = 0; i < t->a.n_grants; i++) {
                const struct scope_grant *g = &t->a.grants[i];
                const struct scope_row *row = scope_row_of(t->kind, g->name);
                _cleanup_free_ char *name = str_visible_dup(g->name);
                printf("%-10s%-24s %-7s %s\n", i == 0 ? "may" : "", name ? name : "?", access_word(g->access), row ? row->means : g->guessed ? "(by its name)" : "");
        }
        if (t->a.more > 0)
                printf("%-10sand %u more\n", "", t->a.more);
        if (t->a.state == SCOPE_GOOD && t->a.n_grants == 0)
                print_line("may", t->a.complete ? "nothing but what is public" : "not told");
}

static void print_people(const struct test *t) {
        _cleanup_free_ char *from = str_visible_dup(t->secret->from ?: "");
        char expiry[96];

        printf("%s: %s, from %s:%s\n", t->secret->name, t->kind_name ? t->kind_name : scope_provider(t->kind), secret_source_name(t->secret->source), from ? from : "?");
        print_line("asked", *t->host ? t->host : "nobody");
        if (t->a.state == SCOPE_REFUSED)
                print_line("refused", t->a.why);
        if (*t->a.who)
                print_line("is", t->a.who);
        print_line("expires", expiry_text(t, expiry));
        print_grants(t);
        for (uint32_t i = 0; i < t->a.n_notes; i++)
                print_line("note", t->a.notes[i]);
        print_list("exceeds the rules:", &t->v.exceeds);
        print_list("cannot serve the rules:", &t->v.cannot);
        print_list("the rules want:", &t->v.wants);
        if (t->a.state == SCOPE_REFUSED || t->v.expired)
                printf("It is good for nothing any more.\n");
        else if (t->v.n_rules == 0)
                printf("No rule names it: there is nothing to hold it against%s.\n", t->file || t->asked->words.secret.n > 0 ? "" : " (-f POLICY)");
        else if (fits(t))
                printf("It %s.\n", t->a.complete ? "fits the rules" : "does not exceed the rules, as far as it is told");
}

static void json_grants(struct json *j, const struct test *t) {
        json_begin(j, "scopes", '[');
        for (uint32_t i = 0; i < t->a.n_grants; i++) {
                const struct scope_row *row = scope_row_of(t->kind, t->a.grants[i].name);
                json_begin(j, NULL, '{');
                json_str(j, "name", t->a.grants[i].name);
                json_str(j, "access", access_word(t->a.grants[i].access));
                json_bool(j, "guessed", t->a.grants[i].guessed);
                json_str(j, "means", row ? row->means : NULL);
                json_end(j, '}');
        }
        json_end(j, ']');
        json_num(j, "more", t->a.more);
        json_bool(j, "complete", t->a.complete);
}

static int print_json(const struct test *t, struct error *e) {
        static const char *const states[] = {[SCOPE_GOOD] = "good", [SCOPE_REFUSED] = "refused"};
        struct json j = {};

        json_begin(&j, NULL, '{');
        json_str(&j, "name", t->secret->name);
        json_str(&j, "from", secret_source_name(t->secret->source));
        json_str(&j, "kind", t->kind_name);
        json_str(&j, "provider", scope_provider(t->kind));
        json_str(&j, "asked", *t->host ? t->host : NULL);
        json_num(&j, "status", t->a.status);
        json_str(&j, "state", t->v.expired ? "expired" : states[t->a.state]);
        json_str(&j, "why", *t->a.why ? t->a.why : NULL);
        json_str(&j, "who", *t->a.who ? t->a.who : NULL);
        if (t->a.expires > 0)
                json_num(&j, "expires", t->a.expires);
        else
                json_str(&j, "expires", t->a.expires < 0 ? "never" : NULL);
        json_grants(&j, t);
        json_begin(&j, "notes", '[');
        for (uint32_t i = 0; i < t->a.n_notes; i++)
                json_str(&j, NULL, t->a.notes[i]);
        json_end(&j, ']');
        json_num(&j, "rules", (long long)t->v.n_rules);
        json_list(&j, "exceeds", &t->v.exceeds);
        json_list(&j, "cannot", &t->v.cannot);
        json_list(&j, "wants", &t->v.wants);
        json_bool(&j, "fits", fits(t));
        json_end(&j, '}');
        _cleanup_free_ char *text = strbuf_take(&j.text);
        return text && fputs(text, stdout) >= 0 ? 0 : out_of_memory(e);
}

static int run(struct test *t, const char *name, struct error *e) {
        int r;

        if ((r = read_policy(t, e)) < 0 || (r = find_secret(t, name, e)) < 0 || (r = ask(t, e)) < 0)
                return r;
        if (t->a.state == SCOPE_UNCLEAR) {
                char why[2 * SCOPE_TEXT];
                str_visible(why, sizeof(why), t->a.why);
                return error_set(e, EPROTO, "what the secret %s may do is not known: %s%s%s", name, t->host, *t->host ? " answered " : "", why);
        }
        t->now = (int64_t)time(NULL);
        if ((r = scope_judge(&t->a, &t->policy->network, t->secret->name, t->now, &t->v, e)) < 0)
                return r;
        if (t->asked->json)
                r = print_json(t, e);
        else
                print_people(t);
        if (r >= 0 && fflush(stdout) != 0)
                r = error_errno(e, errno, "the answer cannot be written");
        return r < 0 ? r : fits(t) ? 0 : 1;
}

int secret_test(const struct secret_test *asked, const char *name, struct error *e) {
        _cleanup_free_ char *own = name ? NULL : name_of_words(asked);
        struct test t = {.asked = asked};

        if (!name && !own)
                return error_set(e, EINVAL, "belljar secret test takes the name of a secret, or --secret");
        int r = run(&t, name ? name : own, e);
        scope_verdict_clear(&t.v);
        policy_free(t.policy);
        return r;
}
