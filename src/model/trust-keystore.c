/* A keystore for the JVM, see trust.h: JKS, which every JVM reads whatever its name says (keystore.type.compat), as
 * Debian's own cacerts is. The form is that of OpenJDK's sun.security.provider.JavaKeyStore: big-endian numbers,
 * strings with 16 bits of length, and a SHA-1 digest, keyed with the password, against accidents. */
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/sha1.h"
#include "model/trust.h"

#define MAGIC 0xfeedfeedu
#define FORM 2u
#define ENTRY_CERTIFICATE 2u
#define HEAD 12u /* magic, version, number of entries */
#define CERTIFICATE_MAX 65536u

/* --- PEM --- */

/* The certificate's own bytes: OpenSSL's "TRUSTED CERTIFICATE" has more behind it. 0: it is none. */
static size_t certificate_size(const uint8_t *p, size_t n) {
        size_t at = 2, len;

        if (n < 4 || p[0] != 0x30) /* SEQUENCE */
                return 0;
        if (p[1] == 0x82) {
                len = (size_t)p[2] << 8 | p[3];
                at = 4;
        } else if (p[1] == 0x81) {
                len = p[2];
                at = 3;
        } else if (p[1] < 0x80)
                len = p[1];
        else
                return 0;
        return len > 0 && len <= n - at ? at + len : 0;
}

/* The next certificate of a PEM text; *at goes on behind it. 0: there is none any more. */
static size_t next_certificate(const char **at, const char *end, uint8_t *out) {
        static const char begin[] = "-----BEGIN ", kind[] = "CERTIFICATE-----", stop[] = "-----END ";

        for (const char *p; (p = memmem(*at, (size_t)(end - *at), begin, sizeof(begin) - 1));) {
                const char *line = memchr(p, '\n', (size_t)(end - p));
                const char *last = line ? memmem(line, (size_t)(end - line), stop, sizeof(stop) - 1) : NULL;
                if (!last) {
                        *at = end;
                        return 0;
                }
                *at = last + sizeof(stop) - 1;
                if (!memmem(p, (size_t)(line - p), kind, sizeof(kind) - 1))
                        continue;
                ssize_t got = base64_decode_lines(line, (size_t)(last - line), (char *)out, CERTIFICATE_MAX);
                size_t n = got < 0 ? 0 : certificate_size(out, (size_t)got);
                if (n > 0)
                        return n;
        }
        *at = end;
        return 0;
}

/* --- the store --- */

static void put(struct strbuf *b, uint64_t v, unsigned bytes) {
        for (unsigned i = bytes; i-- > 0;)
                strbuf_add(b, &(uint8_t){(uint8_t)(v >> (8 * i))}, 1);
}

static void put_text(struct strbuf *b, const char *s) {
        put(b, strlen(s), 2);
        strbuf_puts(b, s);
}

static void put_certificate(struct strbuf *b, const char *alias, const uint8_t *der, size_t n) {
        put(b, ENTRY_CERTIFICATE, 4);
        put_text(b, alias);
        put(b, 1577836800000, 8); /* when it was added; nobody asks */
        put_text(b, "X.509");
        put(b, n, 4);
        strbuf_add(b, der, n);
}

static uint32_t get(const uint8_t *p) {
        return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The password that each JVM's own has. */
static void put_digest(struct strbuf *b) {
        static const char password[] = "changeit", salt[] = "Mighty Aphrodite";
        _cleanup_strbuf_ struct strbuf all = {};
        uint8_t digest[SHA1_SIZE];

        for (const char *p = password; *p; p++)
                put(&all, (uint8_t)*p, 2);
        strbuf_puts(&all, salt);
        strbuf_add(&all, b->data, b->len);
        if (all.failed || b->failed) {
                b->failed = true;
                return;
        }
        sha1(all.data, all.len, digest);
        strbuf_add(b, digest, sizeof(digest));
}

int trust_add_keystore(
        struct strbuf *ret, const void *store, size_t n_store, const char *bundle, size_t n_bundle, const char *ca) {
        _cleanup_free_ uint8_t *own = malloc(CERTIFICATE_MAX), *der = malloc(CERTIFICATE_MAX);
        _cleanup_strbuf_ struct strbuf entries = {}, all = {};
        const uint8_t *p = store;
        const char *at = ca;
        uint32_t n = 0;

        if (!own || !der)
                return -ENOMEM;
        size_t n_own = next_certificate(&at, ca + strlen(ca), own);
        if (n_own == 0)
                return -EINVAL;
        /* With all that is there, keys included, where it is one of these. */
        if (n_store >= HEAD + SHA1_SIZE && get(p) == MAGIC && get(p + 4) == FORM &&
                get(p + 8) < TRUST_CERTIFICATES_MAX) {
                n = get(p + 8);
                strbuf_add(&entries, p + HEAD, n_store - HEAD - SHA1_SIZE);
        } else {
                at = bundle;
                for (size_t k; n < TRUST_CERTIFICATES_MAX && (k = next_certificate(&at, bundle + n_bundle, der)) > 0;
                        n++) {
                        char alias[24];
                        snprintf(alias, sizeof(alias), "system-%u", n);
                        put_certificate(&entries, alias, der, k);
                }
        }
        put_certificate(&entries, "belljar", own, n_own);
        put(&all, MAGIC, 4);
        put(&all, FORM, 4);
        put(&all, n + 1, 4);
        strbuf_add(&all, entries.data, entries.len);
        all.failed = all.failed || entries.failed;
        put_digest(&all);
        strbuf_add(ret, all.data, all.len);
        ret->failed = ret->failed || all.failed;
        return ret->failed ? -ENOMEM : 0;
}
