/* Signs requests for tests/integration/sigv4-botocore: of standard input a line each, of fields separated by tabs: method,
 * target, time, region, service, payload, access key id, secret key, session token, a client's Authorization, and the fields to
 * be signed, each "name:value" and the value in hexadecimal. The answer to each: "ok", the Authorization, the target as it is
 * sent, and what was read from the client's Authorization; or "refused" and the reason. */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "model/canonical.h"
#include "model/sigv4.h"

enum { METHOD, TARGET, TIME, REGION, SERVICE, PAYLOAD, ACCESS, SECRET, TOKEN, CLIENT, FIELDS, WORDS_MAX = FIELDS + SIGV4_FIELDS_MAX };

static struct request_text text(char *s) { return (struct request_text){s, strlen(s)}; }

/* In place. */
static struct sigv4_field field(char *s) {
        char *value = strchr(s, ':') + 1;
        size_t n = 0;

        for (unsigned byte; sscanf(value + 2 * n, "%2x", &byte) == 1; n++)
                value[n] = (char)byte;
        return (struct sigv4_field){{s, (size_t)(value - 1 - s)}, {value, n}};
}

static const char *sign(char **word, size_t n_fields) {
        static char target[REQUEST_TARGET_MAX], sent[3 * REQUEST_TARGET_MAX], buf[SIGV4_AUTHORIZATION_MAX];
        static struct sigv4_field fields[SIGV4_FIELDS_MAX];
        static struct request r;
        struct sigv4_authorization a;
        struct sigv4_work work;
        const char *why = NULL;

        r = (struct request){.method = text(word[METHOD])};
        if (canonical_target(word[TARGET], strlen(word[TARGET]), target, sizeof(target), &r, &why) < 0)
                return why;
        if (sigv4_read(word[CLIENT], strlen(word[CLIENT]), &a, &why) < 0)
                return why;
        for (size_t i = 0; i < n_fields; i++)
                fields[i] = field(word[FIELDS + i]);
        const struct sigv4_request q = {&r, fields, n_fields, text(word[PAYLOAD]), text(word[TIME]), text(word[REGION]), text(word[SERVICE]),
                                        sigv4_encodes_once(text(word[SERVICE]))};
        const struct sigv4_credentials c = {text(word[ACCESS]), text(word[SECRET]), text(word[TOKEN])};
        if (sigv4_sign(&q, &c, &work, buf, sizeof(buf), &why) < 0)
                return why;
        ssize_t n = sigv4_write_target(&r, sent, sizeof(sent));
        if (n < 0)
                return "the target is too long";
        printf("ok\t%s\t%.*s\t%.*s/%.*s/%.*s/%.*s", buf, (int)n, sent, (int)a.access.n, a.access.p, (int)a.date.n, a.date.p, (int)a.region.n,
               a.region.p, (int)a.service.n, a.service.p);
        for (size_t i = 0; i < a.n_names; i++)
                printf("%c%.*s", i == 0 ? '\t' : ';', (int)a.name[i].n, a.name[i].p);
        printf("\t%.*s\n", (int)a.signature.n, a.signature.p);
        return NULL;
}

int main(void) {
        char *line = NULL;
        size_t size = 0;

        for (ssize_t n; (n = getline(&line, &size, stdin)) > 0;) {
                char *word[WORDS_MAX], *rest = line;
                size_t n_words = 0;

                line[n - (line[n - 1] == '\n')] = 0;
                while (rest && n_words < WORDS_MAX)
                        word[n_words++] = strsep(&rest, "\t");
                const char *why = n_words < FIELDS ? "too few words" : sign(word, n_words - FIELDS);
                if (why)
                        printf("refused\t%s\n", why);
        }
        free(line);
        return ferror(stdin) || fflush(stdout) != 0;
}
