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
} *kept;
static struct vault_text memory;
static size_t n_kept;

int tokens_init(struct error *e) {
        int r = vault_alloc(TOKENS_MAX * sizeof(*kept) + 16, &memory, e);
        if (r == 0)
                kept = (struct kept *)(void *)(memory.p + (16 - (uintptr_t)memory.p % 16) % 16);
        return r;
}

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
        kept[n_kept++].until = seconds ? now() + seconds + 1 : INT64_MAX; /* whole seconds: rather once too often */
        return 0;
}

const char *tokens_first(void) {
        while (n_kept > 0 && kept[0].until <= now())
                drop(0);
        return n_kept > 0 ? kept[0].text : NULL;
}

void tokens_drop(void) {
        if (n_kept > 0)
                drop(0);
}

/* Some servers repeat in their error what they were sent. */
static bool has_piece(const char *word, const char *secret) {
        const size_t piece = 6;

        for (size_t i = 0, n = strlen(word); secret && i + piece <= n; i++)
                if (memmem(secret, strlen(secret), word + i, piece))
                        return true;
        return false;
}

int answered_badly(const struct provider_job *job, const char *host, const struct client_answer *a, struct error *e) {
        char word[TOKEN_CODE_MAX + 1];
        int errnum = a->status == 401 || a->status == 403 ? EACCES : a->status == 404 ? ENOENT : EREMOTEIO;

        token_failure(a->body, a->n_body, word);
        bool leave_out = has_piece(word, job->text[PROVIDER_CREDENTIAL]) || has_piece(word, job->text[PROVIDER_CLIENT_SECRET]);
        for (size_t i = 0; i < n_kept; i++)
                leave_out = leave_out || has_piece(word, kept[i].text);
        if (leave_out || !word[0])
                return error_set(e, errnum, "%s answered %u", host, a->status);
        return error_set(e, errnum, "%s answered %u (%s)", host, a->status, word);
}
