/* The tokens that this process has minted, until they are revoked or expire; see jobs.h. In locked memory, which is made before
 * the cage. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/token.h"
#include "role/provider/client.h"
#include "role/provider/jobs.h"
#include "role/provider/tokens.h"

static struct kept {
        char text[SECRET_VALUE_MAX + 1];
        int64_t until; /* s, CLOCK_BOOTTIME; INT64_MAX: not known */
        bool is_new;   /* since tokens_mark */
} *kept;
static struct vault_text memory;
static size_t n_kept, at; /* at: what tokens_next had */
static char *refresh;     /* see tokens_refresh */

int tokens_init(struct error *e) {
        int r = vault_alloc(TOKENS_MAX * sizeof(*kept) + TOKENS_REFRESH + 16, &memory, e);
        if (r < 0)
                return r;
        kept = (struct kept *)(void *)(memory.p + (16 - (uintptr_t)memory.p % 16) % 16);
        refresh = (char *)(kept + TOKENS_MAX);
        return 0;
}

char *tokens_refresh(void) { return refresh; }

static int64_t now(void) {
        struct timespec t;
        (void)clock_gettime(CLOCK_BOOTTIME, &t);
        return t.tv_sec;
}

static void wipe(struct kept *k) {
        explicit_bzero(k->text, sizeof(k->text));
        k->until = 0;
}

static void drop(size_t i) {
        wipe(&kept[i]);
        n_kept--;
        memmove(&kept[i], &kept[i + 1], (n_kept - i) * sizeof(*kept));
        wipe(&kept[n_kept]);
}

int tokens_keep(const char *token, int64_t seconds) {
        for (size_t i = n_kept; i-- > 0;)
                if (kept[i].until <= now())
                        drop(i);
        if (n_kept == TOKENS_MAX)
                drop(0); /* renewed so often within its life: it is the nearest to its end */
        if (strlen(token) > SECRET_VALUE_MAX)
                return -E2BIG;
        snprintf(kept[n_kept].text, sizeof(kept->text), "%s", token);
        kept[n_kept].is_new = true;
        kept[n_kept++].until = seconds ? now() + seconds + 1 : INT64_MAX; /* whole seconds: rather once too often */
        return 0;
}

void tokens_mark(void) {
        for (size_t i = 0; i < n_kept; i++)
                kept[i].is_new = false;
}

const char *tokens_next(bool only_new) {
        for (at = 0; at < n_kept;) {
                if (kept[at].until <= now())
                        drop(at);
                else if (only_new && !kept[at].is_new)
                        at++;
                else
                        return kept[at].text;
        }
        return NULL;
}

void tokens_drop(void) {
        if (at < n_kept)
                drop(at);
}

/* Some servers repeat in their error what they were sent. */
static bool has_piece(const char *word, const char *secret) {
        const size_t piece = 6;

        for (size_t i = 0, n = strlen(word); secret && i + piece <= n; i++)
                if (memmem(secret, strlen(secret), word + i, piece))
                        return true;
        return false;
}

/* Whether it has a piece of anything that this process keeps. */
static bool tells(const struct provider_job *job, const char *word) {
        bool found = has_piece(word, job->text[PROVIDER_CREDENTIAL]) || has_piece(word, job->text[PROVIDER_CLIENT_SECRET]) || has_piece(word, refresh);

        for (size_t i = 0; i < n_kept; i++)
                found = found || has_piece(word, kept[i].text);
        return found;
}

int answer_refused(const struct provider_job *job, const char *host, const struct error *why, struct error *e) {
        return error_set(e, why->errnum, "%s: %s", host, tells(job, why->msg) ? "its answer is refused, and has what is secret" : why->msg);
}

int token_refused(const struct provider_job *job, const char *token, struct error *e) {
        const char *const asked_with[] = {job->text[PROVIDER_CREDENTIAL], job->text[PROVIDER_CLIENT_SECRET], refresh};

        for (size_t i = 0; i < ELEMENTSOF(asked_with); i++)
                if (*asked_with[i] && strstr(token, asked_with[i]))
                        return error_set(e, EPERM, "its token is what it was asked with");
        return 0;
}

int answered_badly(const struct provider_job *job, const char *host, const struct client_answer *a, struct error *e) {
        char word[TOKEN_CODE_MAX + 1];
        int errnum = a->status == 401 || a->status == 403 ? EACCES : a->status == 404 ? ENOENT : EREMOTEIO;

        token_failure(a->body, a->n_body, word);
        if (!word[0] || tells(job, word))
                return error_set(e, errnum, "%s answered %u", host, a->status);
        return error_set(e, errnum, "%s answered %u (%s)", host, a->status, word);
}
