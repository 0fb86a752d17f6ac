/* What comes from the process that asks a provider, towards the command line: the first byte is the order that it is to answer, the
 * rest a message as it came. One that is taken answers that order, has texts that end and that a terminal does not obey, a value and a
 * refresh token that a secret may have or none, and numbers that can be reckoned with. */
#include <stdlib.h>
#include <string.h>

#include "model/secret.h"
#include "model/token.h"
#include "svc/provider.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void plain(const char *s, size_t size) {
        must(strnlen(s, size) < size);
        for (; *s; s++)
                must(*s >= ' ' && *s <= '~');
}

static void value(const char *s, size_t size) {
        plain(s, size);
        must(!strchr(s, ' ') && (!*s || (strlen(s) >= SECRET_VALUE_MIN && strlen(s) <= SECRET_VALUE_MAX)));
}

static void check(struct provider_reply *a, size_t n, enum provider_order order) {
        int r = provider_reply_check(a, n, order);

        must(r == 0 || r == -EBADMSG);
        if (r < 0)
                return;
        must(n == sizeof(*a) && a->order == order && a->errnum >= 0 && a->seconds >= 0 && a->seconds <= TOKEN_SECONDS_MAX);
        plain(a->host, sizeof(a->host));
        plain(a->why, sizeof(a->why));
        value(a->value, sizeof(a->value));
        value(a->next, sizeof(a->next));
        must(provider_reply_check(a, n, order) == 0);
}

/* What is shorter than a message is one whose end is zeros, too: inputs stay small. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        static struct provider_reply a;

        if (size < 1)
                return 0;
        const enum provider_order order = data[0] & 1 ? PROVIDER_REVOKE : PROVIDER_DO;
        const size_t n = size - 1 < sizeof(a) ? size - 1 : sizeof(a);
        memset(&a, 0, sizeof(a));
        memcpy(&a, data + 1, n);
        check(&a, size - 1, order);
        memset(&a, 0, sizeof(a));
        memcpy(&a, data + 1, n);
        check(&a, sizeof(a), order);
        return 0;
}
