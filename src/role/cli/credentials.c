/* See credentials.h. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include "base/str.h"
#include "model/mint.h"
#include "model/placeholder.h"
#include "model/secret-sigv4.h"
#include "role/cli/credentials.h"
#include "svc/entry.h"
#include "svc/net-account.h"
#include "svc/net-secret.h"
#include "svc/secret-source.h"

void credentials_clear(struct credentials *c) {
        credentials_finish(c);
        for (size_t i = 0; i < c->n; i++) {
                vault_free(&c->values[i]);
                free(c->placeholders[i]);
                free(c->covers[i]);
        }
        *c = (struct credentials){};
}

static int make_placeholder(const struct secret *s, const struct vault_text *value, char **ret, struct error *e) {
        uint8_t random[4 * SECRET_VALUE_MAX];
        _cleanup_free_ char *text = (char *)malloc(value->n + 1);
        struct error inner = {};

        if (!text)
                return error_set(e, ENOMEM, "out of memory");
        for (size_t have = 0; have < sizeof(random);) { /* getrandom(2): up to 256 bytes come whole */
                if (getrandom(random + have, MIN(sizeof(random) - have, 256u), 0) < 0)
                        return error_errno(e, errno, "there are no random numbers");
                have += MIN(sizeof(random) - have, 256u);
        }
        int r = placeholder_make(value->p, value->n, random, sizeof(random), text, &inner);
        if (r < 0) {
                error_set(e, -r, "the secret %s: %s", s->name, inner.msg);
                return inner.fix[0] ? error_fix(e, "%s", inner.fix) : r;
        }
        *ret = TAKE_PTR(text);
        return 0;
}

/* NAME=VALUE, in place of what there is of that name. */
static int set_variable(struct plan *p, const char *name, const char *value, struct error *e) {
        size_t n = strlen(name);
        char *text = str_printf("%s=%s", name, value);

        if (!text)
                return error_set(e, ENOMEM, "out of memory");
        for (size_t i = 0; i < p->env.n; i++)
                if (strncmp(p->env.items[i], name, n) == 0 && p->env.items[i][n] == '=') {
                        explicit_bzero(p->env.items[i], strlen(p->env.items[i])); /* it may be the value, taken over */
                        free(p->env.items[i]);
                        p->env.items[i] = text;
                        return 0;
                }
        int r = strlist_add(&p->env, text);
        free(text);
        return r < 0 ? error_errno(e, r, "the environment cannot be kept") : 0;
}

int credentials_check_words(const struct plan *p, const struct secret *s, const struct vault_text *value, struct error *e) {
        if (!value->p)
                return 0;
        for (size_t i = 0; i < p->env.n; i++)
                if (strstr(p->env.items[i], value->p)) {
                        error_set(e, EPERM, "the variable %.*s has the value of the secret %s, which would stand in the sandbox",
                                  (int)MIN(strcspn(p->env.items[i], "="), 64u), p->env.items[i], s->name);
                        return error_fix(e, "leave the variable out (-e, env:), or say env: in the secret, so that it has the placeholder");
                }
        for (size_t i = 0; i < p->argv.n; i++)
                if (strstr(p->argv.items[i], value->p)) {
                        error_set(e, EPERM, "the command has the value of the secret %s in its words, which would stand in the sandbox", s->name);
                        return error_fix(e, "let the command read the secret's variable");
                }
        return 0;
}

/* One would stand beside the other's parts. */
static int check_variables(const struct secret *s, size_t n, struct error *e) {
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < i; k++)
                        if (s[i].sigv4 && s[k].sigv4 && streq(secret_variable(&s[i]), secret_variable(&s[k]))) {
                                error_set(e, EINVAL, "the secrets %s and %s have the same variable, %s", s[k].name, s[i].name, secret_variable(&s[i]));
                                return error_fix(e, "give one of them others: env: WORK_AWS_SECRET_ACCESS_KEY");
                        }
        return 0;
}

static bool ambiguous(const struct credentials *c, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (strstr(c->placeholders[i], c->placeholders[k]) || strstr(c->placeholders[k], c->placeholders[i]))
                        return true;
        return false;
}

/* What a run's sources name: the secrets of the policy, and behind them those beside refresh tokens, whose places are in of. */
static int read_sources(const struct secret *s, size_t n, const char *base_dir, struct vault_text *values, struct vault_text *beside, struct error *e) {
        struct secret all[2 * SECRETS_MAX] = {};
        struct vault_text texts[2 * SECRETS_MAX] = {};
        size_t of[SECRETS_MAX] = {}, k = n;
        int r = 0;

        /* From before there is a value: no other process of this user reads this one's memory, or traces it. */
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return error_errno(e, errno, "the memory for secrets cannot be kept from other processes");
        memcpy(all, s, n * sizeof(*s));
        for (size_t i = 0; r == 0 && i < n; i++)
                if (s[i].mint && s[i].mint->client_source) {
                        all[k].name = s[i].name;
                        of[k - n] = i;
                        r = secret_parse_source(s[i].mint->client_source, &all[k++], e);
                }
        if (r == 0)
                r = secret_sources_read(all, k, base_dir, texts, e);
        for (size_t i = 0; r == 0 && i < k; i++)
                *(i < n ? &values[i] : &beside[of[i - n]]) = texts[i];
        while (k > n)
                free(all[--k].from);
        return r;
}

static int take_value(struct plan *p, const struct secret *s, struct credentials *c, size_t i, struct error *e) {
        int r;

        if (c->values[i].unlocked && (r = strlist_addf(&p->notes, "the secret %s may be swapped: RLIMIT_MEMLOCK is used up", s->name)) < 0)
                return error_errno(e, r, "a note cannot be kept");
        if ((r = make_placeholder(s, &c->values[i], &c->placeholders[i], e)) < 0)
                return r;
        if (ambiguous(c, i))
                return error_set(e, EAGAIN, "the placeholder of the secret %s is a part of another's: values so short cannot be told apart", s->name);
        return 0;
}

static int mint_all(const struct plan *p, struct credentials *c, struct vault_text *beside, struct error *e) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < c->n; i++) {
                const struct secret *s = &c->secrets[i];
                if (!s->mint)
                        continue;
                if ((r = credentials_check_words(p, s, &c->values[i], e)) == 0 && (!beside[i].p || (r = credentials_check_words(p, s, &beside[i], e)) == 0))
                        r = minted_get(s, p, &c->values[i], &beside[i], &c->minted[i], e);
        }
        return r;
}

int credentials_read(struct plan *p, const char *base_dir, struct credentials *ret, struct error *e) {
        _cleanup_credentials_ struct credentials c = {.n = p->network.n_secrets, .secrets = p->network.secrets};
        const struct secret *s = p->network.secrets;
        struct vault_text beside[SECRETS_MAX] = {};
        int r;

        if (c.n == 0)
                return 0;
        if ((r = check_variables(s, c.n, e)) < 0 || (r = read_sources(s, c.n, base_dir, c.values, beside, e)) < 0)
                return r;
        r = mint_all(p, &c, beside, e);
        for (size_t i = 0; i < c.n; i++)
                vault_free(&beside[i]);
        for (size_t i = 0; r == 0 && i < c.n; i++)
                r = take_value(p, &s[i], &c, i, e);
        if (r < 0)
                return r;
        for (size_t i = 0; i < c.n; i++)
                if (secret_variable(&s[i]) && (r = set_variable(p, secret_variable(&s[i]), c.placeholders[i], e)) < 0)
                        return r;
        for (size_t i = 0; i < c.n; i++)
                if ((r = credentials_check_words(p, &s[i], &c.values[i], e)) < 0)
                        return r;
        *ret = c;
        c = (struct credentials){};
        return 0;
}

/* --- minted tokens, while the run goes on --- */

size_t credentials_poll(const struct credentials *c, struct pollfd *p) {
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++)
                if (minted_fd(&c->minted[i]) >= 0)
                        p[n++] = (struct pollfd){minted_fd(&c->minted[i]), POLLIN, 0};
        return n;
}

uint64_t credentials_due(const struct credentials *c) {
        uint64_t at = UINT64_MAX;

        for (size_t i = 0; i < c->n; i++)
                at = MIN(at, minted_due(&c->minted[i]));
        return at;
}

static bool is_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* The one can stand for the other in every form (proto/redact.h). */
static bool same_form(const char *a, const char *b) {
        while (*a && *b && (*a == *b || (is_alnum(*a) && is_alnum(*b)))) {
                a++;
                b++;
        }
        return *a == *b;
}

/* What is put in for its placeholder as it stands has to be of its form; a place that is written anew takes any. */
static bool take_renewed(struct credentials *c, size_t i, struct vault_text *value) {
        const struct secret *s = &c->secrets[i];
        struct error e = {};
        char *cover = NULL;

        if (!same_form(c->placeholders[i], value->p)) {
                if (s->place == SECRET_ANY_FIELD || s->place == SECRET_BODY)
                        error_set(&e, EINVAL, "it is of another form than the first, and goes where its placeholder stands; say header, basic or query in the policy");
                else if (make_placeholder(s, value, &cover, &e) == 0)
                        e.errnum = 0;
        }
        if (e.errnum) {
                fprintf(stderr, "belljar: secret %s: its new token cannot be used: %s\n", s->name, e.msg);
                vault_free(value);
                return false;
        }
        free(c->covers[i]);
        c->covers[i] = cover;
        vault_free(&c->values[i]);
        c->values[i] = *value;
        *value = (struct vault_text){};
        return true;
}

uint32_t credentials_work(struct credentials *c) {
        struct vault_text value = {};
        uint32_t changed = 0;

        for (size_t i = 0; i < c->n; i++) {
                if (minted_fd(&c->minted[i]) >= 0 && minted_ready(&c->minted[i], &c->secrets[i], &value) && take_renewed(c, i, &value))
                        changed |= 2u << i;
                minted_tick(&c->minted[i], &c->secrets[i]);
        }
        return changed;
}

void credentials_finish(struct credentials *c) { minted_finish(c->minted, c->n, c->secrets); }

void credentials_forget(struct credentials *c) {
        for (size_t i = 0; i < c->n; i++)
                if (c->minted[i].state != MINTED_NONE)
                        provider_forget(&c->minted[i].provider);
}

int credentials_pipe(const struct plan *p, const struct credentials *c, uint32_t identity) {
        if (identity > c->n || (identity > 0 && !c->values[identity - 1].p))
                return -EKEYREVOKED;
        return net_secret_pipe(p->network.secrets, c->n, c->values, c->placeholders, identity, identity > 0 ? c->covers[identity - 1] : NULL);
}

void credentials_end(struct credentials *c, uint32_t identity, uint32_t why) {
        if (identity == 0 || identity > c->n || c->ended[identity - 1])
                return;
        vault_free(&c->values[identity - 1]);
        c->values[identity - 1] = (struct vault_text){};
        c->ended[identity - 1] = why;
        minted_revoke(&c->minted[identity - 1]);
}

/* Where the rules let it go: hosts, each once. */
static void put_hosts(struct strbuf *b, const struct net_log *l, const char *secret) {
        size_t n = 0;

        for (uint32_t i = 0; l->table.header && i < table_rules(&l->table); i++) {
                struct table_rule_info info;
                bool said = false;
                if (!table_rule(&l->table, i, &info) || info.secret == TABLE_NONE || !streq(table_secret_name(&l->table, info.secret) ?: "", secret))
                        continue;
                for (uint32_t k = 0; k < i && !said; k++) {
                        struct table_rule_info before;
                        said = table_rule(&l->table, k, &before) && before.secret == info.secret && before.route == info.route && streq(before.host, info.host);
                }
                struct table_route route = {};
                bool elsewhere = table_route(&l->table, info.route, &route) && route.to;
                if (!said && n++ < 8)
                        strbuf_printf(b, "%s%s%s%s", n > 1 ? ", " : "", info.host, elsewhere ? " -> " : "", elsewhere ? route.to : "");
        }
        if (n > 8)
                strbuf_printf(b, " and %zu more", n - 8);
        if (n == 0)
                strbuf_puts(b, "nowhere");
}

void credentials_report(const struct plan *p, const struct credentials *c, const struct net_log *l) {
        static const char *const ends[] = {[SECRET_LIVES] = "with the run", [SECRET_EXPIRED] = "its time was over", [SECRET_REVOKED] = "revoked"};

        for (size_t i = 0; i < c->n && !l->silent; i++) {
                if (p->network.secrets[i].place == SECRET_PART)
                        continue; /* said with the secret that it is of */
                const struct account_secret none = {}, *a = l->account ? &l->account->secrets[i] : &none;
                _cleanup_strbuf_ struct strbuf b = {};
                char up[40], down[40];
                put_hosts(&b, l, p->network.secrets[i].name);
                _cleanup_free_ char *hosts = b.data ? str_visible_dup(b.data) : NULL;
                fprintf(stderr, "belljar: secret %s: could go to %s; used %llu times, %s up, %s down", p->network.secrets[i].name, hosts ? hosts : "?",
                        (unsigned long long)a->uses, format_size(up, sizeof(up), a->up), format_size(down, sizeof(down), a->down));
                unsigned long long refused = a->refused;
                for (size_t k = 0; k < c->n && l->account; k++)
                        if (secret_is_part_of(&p->network.secrets[k], p->network.secrets[i].name))
                                refused += l->account->secrets[k].refused;
                if (refused)
                        fprintf(stderr, "; its placeholder was refused %llu times elsewhere", refused);
                char minted[700];
                minted_text(&c->minted[i], minted, sizeof(minted));
                fprintf(stderr, "; %s: %s\n", minted, c->ended[i] < ELEMENTSOF(ends) ? ends[c->ended[i]] : "?");
        }
}
