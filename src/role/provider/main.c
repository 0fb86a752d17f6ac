/* belljar-provider: asks the provider of one credential; see svc/provider.h. Locks itself in before it sends or reads a byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "generated/seccomp-provider.h"
#include "role/provider/client.h"
#include "role/provider/jobs.h"
#include "role/provider/tokens.h"
#include "svc/net-cage.h"

static provider_do *const kinds[PROVIDER_KINDS] = {
        [PROVIDER_OAUTH2] = oauth2_do,
        [PROVIDER_GITHUB_APP] = github_do,
        [PROVIDER_SCOPES] = scopes_do,
};

/* A token that was refused is none to be left behind; those before it are good, and in use. */
static void do_order(const struct provider_job *job, enum provider_order order, struct provider_reply *reply) {
        struct error e = {};
        tokens_mark();
        int r = kinds[job->kind](job, order == PROVIDER_DO ? STEP_DO : STEP_REVOKE, reply, &e);

        reply->order = order;
        reply->errnum = -r;
        if (r == 0)
                return;
        snprintf(reply->why, sizeof(reply->why), "%.299s", e.msg);
        if (order == PROVIDER_DO && tokens_next(true)) {
                static struct provider_reply other;
                other = (struct provider_reply){};
                (void)!kinds[job->kind](job, STEP_REVOKE_NEW, &other, &e);
        }
}

int main(void) {
        int next = PROVIDER_FD_TRUST, file = getenv("SSL_CERT_FILE") ? next++ : -1, directory = getenv("SSL_CERT_DIR") ? next : -1;
        struct vault_text memory = {}, answer = {};
        struct provider_job job;
        struct error e = {};
        uint32_t order;

        /* The filter has no calls for memory that is locked. */
        if (provider_job_read(PROVIDER_FD_JOB, &memory, &job, &e) < 0 || provider_reply_alloc(&answer, &e) < 0 || tokens_init(&e) < 0)
                return 4;
        close(PROVIDER_FD_JOB);
        if (client_init(file, directory, job.text[PROVIDER_ADDRESSES], &e) < 0)
                return 3;
        if (net_cage(seccomp_provider, ELEMENTSOF(seccomp_provider), &e) < 0)
                return 2;
        struct provider_reply *reply = provider_reply_in(&answer);
        while (recv(PROVIDER_FD_CONTROL, &order, sizeof(order), 0) == sizeof(order) && order <= PROVIDER_REVOKE) {
                explicit_bzero(reply, sizeof(*reply));
                do_order(&job, (enum provider_order)order, reply);
                if (send(PROVIDER_FD_CONTROL, reply, sizeof(*reply), MSG_NOSIGNAL) != sizeof(*reply))
                        return 1;
        }
        return 0;
}
