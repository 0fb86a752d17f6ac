/* A GitHub App's installation tokens: asked for with a JWT that the App's private key signs, for the repositories and permissions of
 * the policy, and revoked by the token itself. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/mint.h"
#include "model/token.h"
#include "role/provider/client.h"
#include "role/provider/jobs.h"
#include "svc/tls-sign.h"

#define PART_MAX (CLIENT_REQUEST_MAX / 4)

static const char *api(const struct provider_job *job) { return *job->text[PROVIDER_URL] ? job->text[PROVIDER_URL] : MINT_GITHUB_API; }

static int call(const struct provider_job *job, const char *method, const char *path, const char *authorization, size_t n_authorization, const char *body, size_t n_body,
                unsigned timeout, struct provider_reply *reply, struct client_answer *a, struct error *e) {
        const struct http1_line more[] = {{{"accept", 6}, {"application/vnd.github+json", 27}},
                                          {{"x-github-api-version", 20}, {"2022-11-28", 10}},
                                          {{"authorization", 13}, {authorization, n_authorization}},
                                          {{"content-type", 12}, {"application/json", 16}}};
        char url[MINT_URL_MAX + 100];
        size_t n = strlen(api(job));

        while (n > 0 && api(job)[n - 1] == '/')
                n--;
        if (snprintf(url, sizeof(url), "%.*s%s", (int)n, api(job), path) >= (int)sizeof(url))
                return error_set(e, E2BIG, "the address of the API is too long");
        const struct client_ask ask = {.method = method, .url = url, .more = more, .n_more = body ? 4 : 3, .body = body, .n_body = n_body, .timeout_ms = timeout};
        int r = client_call(&ask, reply->host, a, e);
        if (r == 0)
                reply->status = (int32_t)a->status;
        return r;
}

/* "Bearer HEAD.CLAIMS.SIGNATURE"; its length. */
static ssize_t write_jwt(const struct provider_job *job, char *buf, size_t size, struct error *e) {
        const char *key = job->text[PROVIDER_CREDENTIAL];
        uint8_t signature[TLS_SIGNATURE_MAX];
        size_t n_signature;

        memcpy(buf, "Bearer ", 7);
        ssize_t n = token_jwt_head(buf + 7, size - 7, job->text[PROVIDER_APP_ID], (int64_t)time(NULL));
        if (n < 0)
                return error_set(e, E2BIG, "the App's JWT is too long");
        int r = tls_sign_rs256(key, strlen(key), buf + 7, (size_t)n, signature, &n_signature, e);
        if (r < 0)
                return r;
        n += 7;
        buf[n++] = '.';
        ssize_t k = token_base64url(buf + n, size - (size_t)n, signature, n_signature);
        return k < 0 ? error_set(e, E2BIG, "the App's JWT is too long") : n + k;
}

static int revoke(const struct provider_job *job, bool only_new, struct provider_reply *reply, struct error *e) {
        const char *token;

        while ((token = tokens_next(only_new))) {
                struct client_answer a = {};
                char *bearer = client_scratch();
                int n = snprintf(bearer, PART_MAX, "Bearer %s", token);
                int r = call(job, "DELETE", "/installation/token", bearer, (size_t)n, NULL, 0, PROVIDER_REVOKE_MS - 500, reply, &a, e);
                if (r < 0)
                        return r;
                if (a.status != 204 && a.status != 401) /* 401: it is no token any more */
                        return answered_badly(job, reply->host, &a, e);
                tokens_drop();
        }
        return 0;
}

static int mint(const struct provider_job *job, struct provider_reply *reply, struct error *e) {
        _cleanup_token_ struct token_answer t = {};
        struct client_answer a = {};
        struct error inner = {};
        char *bearer = client_scratch(), *body = bearer + PART_MAX, path[80];
        ssize_t n = write_jwt(job, bearer, PART_MAX, e), k;
        int r;

        if (n < 0)
                return (int)n;
        if ((k = token_github_body(body, CLIENT_REQUEST_MAX - PART_MAX, job->text[PROVIDER_REPOSITORIES], job->text[PROVIDER_PERMISSIONS])) < 0)
                return error_set(e, E2BIG, "repositories and permissions are too long");
        snprintf(path, sizeof(path), "/app/installations/%.32s/access_tokens", job->text[PROVIDER_INSTALLATION]);
        if ((r = call(job, "POST", path, bearer, (size_t)n, body, (size_t)k, PROVIDER_ASK_MS, reply, &a, e)) < 0)
                return r;
        if (a.status != 201)
                return answered_badly(job, reply->host, &a, e);
        r = token_github_answer(a.body, a.n_body, job->text[PROVIDER_REPOSITORIES], job->text[PROVIDER_PERMISSIONS], (int64_t)time(NULL), &t, &inner);
        if (t.token && tokens_keep(t.token, t.seconds) < 0)
                return error_set(e, E2BIG, "%s: its token is too long", reply->host);
        if (r < 0)
                return answer_refused(job, reply->host, &inner, e);
        reply->seconds = t.seconds;
        snprintf(reply->value, sizeof(reply->value), "%s", t.token);
        return 0;
}

int github_do(const struct provider_job *job, enum provider_step step, struct provider_reply *reply, struct error *e) {
        return step == STEP_DO ? mint(job, reply, e) : revoke(job, step == STEP_REVOKE_NEW, reply, e);
}
