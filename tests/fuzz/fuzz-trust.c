/* Keystores: whatever an image has for a store or a file of certificates, what is made of it has a head that says how
 * many entries there are, ends with the CA's, and makes a store again. The input up to the first NUL is a store, the
 * rest PEM. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/trust.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static const char ca[] = "-----BEGIN CERTIFICATE-----\nMAMBAgM=\n-----END CERTIFICATE-----\n";
static const unsigned char last[] = {0, 0, 0, 5, 0x30, 3, 1, 2, 3};

static unsigned count(const struct strbuf *b) {
        const unsigned char *p = (const unsigned char *)b->data;

        must(b->len >= 32 + sizeof(last) && p[0] == 0xfe && p[3] == 0xed && p[7] == 2);
        must(memcmp(p + b->len - 20 - sizeof(last), last, sizeof(last)) == 0);
        return (unsigned)p[8] << 24 | (unsigned)p[9] << 16 | (unsigned)p[10] << 8 | p[11];
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        const unsigned char *nul = size > 0 ? memchr(data, 0, size) : NULL;
        size_t n_store = nul ? (size_t)(nul - data) : 0;
        const char *pem = (const char *)data + n_store;
        _cleanup_strbuf_ struct strbuf one = {}, two = {}, all = {}, bundle = {};

        must(trust_add_keystore(&one, data, size, pem, size - n_store, ca) == 0);
        must(trust_add_keystore(&two, NULL, 0, pem, size - n_store, ca) == 0);
        unsigned n = count(&two);
        must(n >= 1 && count(&one) >= 1);
        must(trust_add_keystore(&all, two.data, two.len, "", 0, ca) == 0);
        must(count(&all) == (n < TRUST_CERTIFICATES_MAX ? n + 1 : 1));
        trust_add_bundle(&bundle, pem, size - n_store, ca);
        must(bundle.len >= size - n_store + sizeof(ca) - 1);
        /* The input itself as the CA. */
        char *text = strndup((const char *)data, size);
        must(text);
        int r = trust_add_keystore(&bundle, NULL, 0, "", 0, text);
        must(r == 0 || r == -EINVAL);
        free(text);
        return 0;
}
