/* OAuth 2: tokens for client credentials (RFC 6749 section 4.4) or a refresh token (section 6), revoked by RFC 7009. */
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "model/token.h"
#include "role/provider/client.h"
#include "role/provider/jobs.h"

#define FORM_MAX (CLIENT_REQUEST_MAX / 2)
#define PARTS_MAX (CLIENT_REQUEST_MAX / 4)

static bool flag(const struct provider_job *job, enum provider_text which) { return streq(job->text[which], "1"); }

/* Who asks: in the form, or in Authorization, whose value is written behind the form. "" is a client without a secret. */
static int add_client(const struct provider_job *job, char *buf, size_t *n, char *basic, size_t *ret_basic) {
        const char *id = job->text[PROVIDER_CLIENT_ID];
        const char *secret = job->text[flag(job, PROVIDER_REFRESH) ? PROVIDER_CLIENT_SECRET : PROVIDER_CREDENTIAL];
        char *pair = basic + PARTS_MAX;
        int r;

        *ret_basic = 0;
        if (!*secret || flag(job, PROVIDER_IN_BODY))
                return (r = token_form_add(buf, FORM_MAX, n, "client_id", id)) < 0 ? r : token_form_add(buf, FORM_MAX, n, "client_secret", secret);
        ssize_t a = token_form_encode(pair, PARTS_MAX / 2, id);
        if (a < 0)
                return (int)a;
        pair[a++] = ':';
        ssize_t b = token_form_encode(pair + a, PARTS_MAX / 2, secret);
        if (b < 0)
                return (int)b;
        if (6 + BASE64_LENGTH((size_t)(a + b)) > PARTS_MAX)
                return -ENOBUFS;
        memcpy(basic, "Basic ", 6);
        *ret_basic = 6 + base64_encode(pair, (size_t)(a + b), basic + 6);
        return 0;
}

/* Sends the form that stands in the scratch. */
static int send_form(const struct provider_job *job, const char *url, size_t n, unsigned timeout, char host[256], struct client_answer *a, struct error *e) {
        char *form = client_scratch(), *basic = form + FORM_MAX;
        struct http1_line more[3] = {{{"content-type", 12}, {"application/x-www-form-urlencoded", 33}}, {{"accept", 6}, {"application/json", 16}}};
        size_t n_basic;

        if (add_client(job, form, &n, basic, &n_basic) < 0)
                return error_set(e, E2BIG, "what a token is asked with is too long");
        more[2] = (struct http1_line){{"authorization", 13}, {basic, n_basic}};
        const struct client_ask ask = {.method = "POST", .url = url, .more = more, .n_more = n_basic ? 3 : 2, .body = form, .n_body = n, .timeout_ms = timeout};
        int r = client_call(&ask, host, a, e);
        explicit_bzero(form, CLIENT_REQUEST_MAX);
        return r;
}

static int mint(const struct provider_job *job, struct provider_reply *reply, struct error *e) {
        const bool by_refresh = flag(job, PROVIDER_REFRESH);
        _cleanup_token_ struct token_answer t = {};
        char *form = client_scratch(), *refresh = tokens_refresh();
        struct client_answer a = {};
        size_t n = 0;
        int r = token_form_add(form, FORM_MAX, &n, "grant_type", by_refresh ? "refresh_token" : "client_credentials");

        if (r == 0 && by_refresh)
                r = token_form_add(form, FORM_MAX, &n, "refresh_token", refresh[0] ? refresh : job->text[PROVIDER_CREDENTIAL]);
        if (r == 0)
                r = token_form_add(form, FORM_MAX, &n, "scope", job->text[PROVIDER_SCOPE]);
        if (r == 0)
                r = token_form_add(form, FORM_MAX, &n, "audience", job->text[PROVIDER_AUDIENCE]);
        if (r < 0)
                return error_set(e, E2BIG, "what a token is asked with is too long");
        if ((r = send_form(job, job->text[PROVIDER_URL], n, PROVIDER_ASK_MS, reply->host, &a, e)) < 0)
                return r;
        reply->status = (int32_t)a.status;
        if (a.status != 200)
                return answered_badly(job, reply->host, &a, e);
        struct error inner = {};
        const char *scope = job->text[PROVIDER_SCOPE];
        r = token_oauth2_answer(a.body, a.n_body, *scope ? scope : NULL, &t, &inner);
        /* What it has of a token is kept even where it is refused: so that it can be revoked. */
        if (t.token && tokens_keep(t.token, t.seconds) < 0)
                return error_set(e, E2BIG, "%s: its token is too long", reply->host);
        /* One that was not asked with takes no other's place (RFC 6749 section 4.4.3), nor does the same. */
        if (t.refresh && by_refresh && !streq(t.refresh, refresh[0] ? refresh : job->text[PROVIDER_CREDENTIAL])) {
                snprintf(refresh, TOKENS_REFRESH, "%s", t.refresh);
                snprintf(reply->next, sizeof(reply->next), "%s", t.refresh);
        }
        if (r < 0 || (r = token_refused(job, t.token, &inner)) < 0)
                return answer_refused(job, reply->host, &inner, e);
        reply->seconds = t.seconds;
        snprintf(reply->value, sizeof(reply->value), "%s", t.token);
        return 0;
}

static int revoke(const struct provider_job *job, bool only_new, struct provider_reply *reply, struct error *e) {
        const char *token;

        while ((token = tokens_next(only_new))) {
                struct client_answer a = {};
                size_t n = 0;
                int r = 0;
                if (!*job->text[PROVIDER_REVOKE_URL])
                        return error_set(e, ENOTSUP, "the policy names no revoke_url");
                if (token_form_add(client_scratch(), FORM_MAX, &n, "token", token) < 0 ||
                    token_form_add(client_scratch(), FORM_MAX, &n, "token_type_hint", "access_token") < 0)
                        return error_set(e, E2BIG, "the token is too long");
                if ((r = send_form(job, job->text[PROVIDER_REVOKE_URL], n, PROVIDER_REVOKE_MS - 500, reply->host, &a, e)) < 0)
                        return r;
                reply->status = (int32_t)a.status;
                if (a.status != 200 && a.status != 204)
                        return answered_badly(job, reply->host, &a, e);
                tokens_drop();
        }
        return 0;
}

int oauth2_do(const struct provider_job *job, enum provider_step step, struct provider_reply *reply, struct error *e) {
        return step == STEP_DO ? mint(job, reply, e) : revoke(job, step == STEP_REVOKE_NEW, reply, e);
}
