/* See minted.h. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/mint.h"
#include "role/cli/minted.h"
#include "svc/host.h"

/* Renewed when this much of a token's life is left: a fifth, but not sooner than a minute before its end, nor later than two seconds. */
#define RENEW_SHARE 5
#define RENEW_MAX_MS 60000u
#define RENEW_MIN_MS 2000u
/* After a renewal that failed: a third of what is left, within these; once nothing is, twice as long each time. */
#define AGAIN_MIN_MS 500u
#define AGAIN_MAX_MS 5000u
#define WRITE_BACK_MS 10000 /* for belljar secret set */

static uint64_t now_ms(void) {
        struct timespec t;
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- a refresh token that its provider replaced --- */

/* belljar-tool secret set NAME, with the value as its input; its exit status. */
static int run_set(const char *tool, const char *name, const char *value) {
        int pair[2], status = -1;

        if (pipe2(pair, O_CLOEXEC) < 0)
                return -1;
        pid_t pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR | O_CLOEXEC);
                sigset_t none;
                sigemptyset(&none);
                (void)sigprocmask(SIG_SETMASK, &none, NULL);
                (void)setsid(); /* the terminal is the command's: nothing is asked there */
                if (null >= 0 && dup2(pair[0], 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2)
                        execl(tool, "belljar-tool", "secret", "set", name, (char *)NULL);
                _exit(127);
        }
        close(pair[0]);
        size_t n = strlen(value);
        bool written = pid > 0 && write(pair[1], value, n) == (ssize_t)n; /* it fits into a pipe */
        close(pair[1]);
        /* A store's key may take a while to be made; the run waits meanwhile. */
        for (int i = 0; pid > 0; i++) {
                if (waitpid(pid, &status, WNOHANG) == pid)
                        break;
                if (i * 10 >= WRITE_BACK_MS)
                        (void)kill(pid, SIGKILL);
                (void)usleep(10000);
        }
        return written && status == 0 ? 0 : -1;
}

/* The one that its source names is of no use any more. */
static void rotated(const struct secret *s, const char *next) {
        _cleanup_free_ char *tool = NULL;
        struct error e = {};

        if (s->source == SECRET_STORE && host_own_program("belljar-tool", &tool, &e) == 0 && run_set(tool, s->from, next) == 0) {
                fprintf(stderr, "belljar: secret %s: its provider replaced the refresh token; store:%s has the new one\n", s->name, s->from);
                return;
        }
        fprintf(stderr, "belljar: secret %s: its provider replaced the refresh token: what %s:%s has is no longer valid, and the new one ends with this run\n", s->name,
                secret_source_name(s->source), s->from);
}

/* --- tokens --- */

/* The words of a list, with blanks between. NULL: no memory. */
static char *join(const struct strlist *l) {
        struct strbuf b = {};

        for (size_t i = 0; i < l->n; i++)
                strbuf_printf(&b, "%s%s", i ? " " : "", l->items[i]);
        return strbuf_take(&b);
}

static int keep_value(struct vault_text *value, const char *text, struct error *e) {
        struct vault_text v = {};
        size_t n = strlen(text);
        int r = vault_alloc(n, &v, e);

        if (r < 0)
                return r;
        memcpy(v.p, text, n);
        vault_free(value);
        *value = v;
        return 0;
}

/* When it comes to its end, and when another is asked for. */
static void set_times(struct minted *m, int64_t seconds) {
        uint64_t life = (uint64_t)seconds * 1000, before = MIN(MAX(life / RENEW_SHARE, RENEW_MIN_MS), RENEW_MAX_MS);

        m->expires = seconds ? (int64_t)time(NULL) + seconds : 0;
        m->renew_at = seconds ? now_ms() + (life > 2 * before ? life - before : life / 2) : 0;
}

static int start(const struct secret *s, const struct plan *p, const struct vault_text *value, const struct vault_text *client_secret, struct provider *ret, struct error *e) {
        const struct mint *m = s->mint;
        _cleanup_free_ char *repositories = join(&m->repositories), *permissions = join(&m->permissions), *addresses = join(&s->addresses);
        const struct provider_job job = {.kind = m->kind == MINT_OAUTH2 ? PROVIDER_OAUTH2 : PROVIDER_GITHUB_APP,
                                         .text = {[PROVIDER_URL] = m->url, [PROVIDER_REVOKE_URL] = m->revoke_url, [PROVIDER_CLIENT_ID] = m->client_id,
                                                  [PROVIDER_SCOPE] = m->scope, [PROVIDER_AUDIENCE] = m->audience, [PROVIDER_APP_ID] = m->app_id,
                                                  [PROVIDER_INSTALLATION] = m->installation_id, [PROVIDER_REPOSITORIES] = repositories,
                                                  [PROVIDER_PERMISSIONS] = permissions, [PROVIDER_ADDRESSES] = addresses,
                                                  [PROVIDER_REFRESH] = m->refresh ? "1" : "", [PROVIDER_IN_BODY] = m->in_body ? "1" : "",
                                                  [PROVIDER_CREDENTIAL] = value->p, [PROVIDER_CLIENT_SECRET] = client_secret->p}};
        if (!repositories || !permissions || !addresses)
                return error_set(e, ENOMEM, "out of memory");
        return provider_start(&job, p, ret, e);
}

/* It has the token, until the next overwrites it. */
static void forget_reply(struct minted *m) {
        if (m->provider.reply.p)
                explicit_bzero(m->provider.reply.p, m->provider.reply.n);
}

int minted_get(const struct secret *s, const struct plan *p, struct vault_text *value, struct vault_text *client_secret, struct minted *ret, struct error *e) {
        struct minted m = {.state = MINTED_LIVES, .provider = PROVIDER_NONE};
        const struct provider_reply *a = NULL;
        struct error inner = {};
        int r = start(s, p, value, client_secret, &m.provider, &inner);

        vault_free(client_secret);
        if (r == 0 && (r = provider_ask(&m.provider, PROVIDER_DO, PROVIDER_MINT_MS, &a, &inner)) == 0) {
                snprintf(m.host, sizeof(m.host), "%s", a->host);
                r = a->value[0] ? keep_value(value, a->value, &inner) : error_set(&inner, EBADMSG, "there is no token");
                set_times(&m, a->seconds);
        }
        if (a && a->next[0] && s->mint->refresh) /* also where its token was refused */
                rotated(s, a->next);
        if (r < 0) {
                provider_end(&m.provider);
                return error_set(e, -r, "the secret %s cannot be minted: %s", s->name, inner.msg);
        }
        forget_reply(&m);
        *ret = m;
        return 0;
}

static void left(struct minted *m, const char *why) {
        snprintf(m->why, sizeof(m->why), "%s", why);
        m->state = MINTED_LEFT;
        m->asked = m->then_revoke = false;
        provider_end(&m->provider);
}

/* Its process is of no use any more. */
static void lost(struct minted *m, const struct secret *s, int r) {
        if (m->state == MINTED_LIVES)
                fprintf(stderr, "belljar: secret %s: %s: its token is not renewed, and is not revoked\n", s->name, provider_why(r));
        left(m, provider_why(r));
}

void minted_revoke(struct minted *m) {
        if (m->state != MINTED_LIVES)
                return;
        m->state = MINTED_ENDING;
        m->renew_at = 0;
        m->give_up_at = now_ms() + PROVIDER_REVOKE_MS;
        if (m->asked) /* one order at a time: what it brings is revoked as well */
                m->then_revoke = true;
        else if (provider_send(&m->provider, PROVIDER_REVOKE) < 0)
                left(m, provider_why(-ECONNRESET));
        else
                m->asked = true;
}

int minted_fd(const struct minted *m) { return m->state == MINTED_LIVES || m->state == MINTED_ENDING ? m->provider.fd : -1; }

/* *ret_new: a token came. */
static bool take_new(struct minted *m, const struct secret *s, const struct provider_reply *a, struct vault_text *value) {
        struct error e = {};

        if (a->next[0] && s->mint->refresh)
                rotated(s, a->next);
        if (m->state != MINTED_LIVES)
                return false;
        if (a->errnum == 0 && a->value[0] && keep_value(value, a->value, &e) == 0) {
                set_times(m, a->seconds);
                m->renewed++;
                m->failing = false;
                return true;
        }
        const int64_t left = (m->expires - (int64_t)time(NULL)) * 1000 / 3;
        m->again = left > 0 ? (uint64_t)left : m->failing ? 2 * m->again : 0;
        m->again = MIN(MAX(m->again, AGAIN_MIN_MS), AGAIN_MAX_MS);
        m->renew_at = now_ms() + m->again;
        if (!m->failing)
                fprintf(stderr, "belljar: secret %s cannot be renewed: %s; it is tried again\n", s->name, a->errnum ? a->why : e.errnum ? e.msg : "there is no token");
        m->failing = true;
        return false;
}

bool minted_ready(struct minted *m, const struct secret *s, struct vault_text *value) {
        const struct provider_reply *a;
        int r = provider_receive(&m->provider, 0, &a);
        bool is_new = false;

        if (r == -EAGAIN)
                return false;
        if (r < 0 || !m->asked) {
                lost(m, s, r < 0 ? r : -EBADMSG);
                return false;
        }
        m->asked = false;
        if (a->order == PROVIDER_DO)
                is_new = take_new(m, s, a, value);
        else if (a->errnum == 0) {
                m->state = MINTED_REVOKED;
                provider_end(&m->provider);
        } else
                left(m, a->why);
        forget_reply(m);
        if (m->then_revoke && m->state == MINTED_ENDING) {
                m->then_revoke = false;
                m->state = MINTED_LIVES;
                minted_revoke(m);
        }
        return is_new;
}

uint64_t minted_due(const struct minted *m) {
        if (m->state == MINTED_ENDING || (m->state == MINTED_LIVES && m->asked))
                return m->give_up_at;
        return m->state == MINTED_LIVES && m->renew_at ? m->renew_at : UINT64_MAX;
}

void minted_tick(struct minted *m, const struct secret *s) {
        if (minted_due(m) > now_ms())
                return;
        if (m->state == MINTED_ENDING || m->asked)
                lost(m, s, -ETIMEDOUT);
        else if (provider_send(&m->provider, PROVIDER_DO) < 0)
                lost(m, s, -ECONNRESET);
        else {
                m->asked = true;
                m->give_up_at = now_ms() + PROVIDER_MINT_MS;
        }
}

void minted_finish(struct minted *m, size_t n, const struct secret *s) {
        struct vault_text none = {};

        for (size_t i = 0; i < n; i++)
                minted_revoke(&m[i]);
        for (size_t i = 0; i < n; i++)
                while (m[i].state == MINTED_ENDING) {
                        struct pollfd p = {minted_fd(&m[i]), POLLIN, 0};
                        const uint64_t now = now_ms();
                        if (now < m[i].give_up_at && poll(&p, 1, (int)(m[i].give_up_at - now)) > 0)
                                (void)minted_ready(&m[i], &s[i], &none);
                        minted_tick(&m[i], &s[i]);
                }
        vault_free(&none);
}

void minted_text(const struct minted *m, char *dst, size_t size) {
        struct tm tm;
        time_t t = (time_t)m->expires;
        char expires[40] = "at a time that it did not say";

        if (m->expires && gmtime_r(&t, &tm))
                (void)strftime(expires, sizeof(expires), "%Y-%m-%dT%H:%M:%SZ", &tm);
        switch (m->state) {
        case MINTED_NONE:
                snprintf(dst, size, "borrowed, cut here only");
                break;
        case MINTED_REVOKED:
                snprintf(dst, size, "minted, revoked at %s", m->host);
                break;
        case MINTED_LIVES:
        case MINTED_ENDING:
        case MINTED_LEFT:
                snprintf(dst, size, "minted, NOT revoked: %s, expires %s%s", m->why[0] ? m->why : "it was not asked for", m->expires ? "at " : "", expires);
                break;
        }
}
