/* Answers of providers of tokens: whatever comes, a token is one that can be sent, what is said of a failure is one honest line, and
 * an answer that is taken has nothing that was not asked for. */
#include <stdlib.h>
#include <string.h>

#include "model/token.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void good(const char *s) {
        must(strlen(s) >= SECRET_VALUE_MIN && strlen(s) <= SECRET_VALUE_MAX);
        for (; *s; s++)
                must(*s > ' ' && *s <= '~');
}

static void honest(const char *s, size_t max) {
        must(strlen(s) <= max);
        for (; *s; s++)
                must(*s >= ' ' && *s <= '~');
}

static void check_answer(int r, struct token_answer *a, const struct error *e) {
        must(r == 0 || r == -EPERM || r == -EBADMSG || r == -ENOMEM);
        must((a->token != NULL) == (r == 0 || r == -EPERM));
        must(a->seconds >= 0);
        if (a->token)
                good(a->token);
        if (a->refresh)
                good(a->refresh);
        if (r < 0)
                honest(e->msg, sizeof(e->msg) - 1);
        token_answer_clear(a);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        const char *text = (const char *)data;
        char word[TOKEN_CODE_MAX + 1];
        struct token_answer a = {};
        struct error e = {};

        check_answer(token_oauth2_answer(text, size, "read list", &a, &e), &a, &e);
        check_answer(token_oauth2_answer(text, size, NULL, &a, &e), &a, &e);
        check_answer(token_github_answer(text, size, "tool site", "contents=read issues=write", 1796069220, &a, &e), &a, &e);
        token_failure(text, size, word);
        honest(word, TOKEN_CODE_MAX);
        return 0;
}
