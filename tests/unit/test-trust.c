/* What makes programs trust the sandbox's CA: bundles and keystores with it added, where they are looked for, and the
 * view's operations for them. */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "model/environment.h"
#include "model/plan.h"
#include "model/trust.h"
#include "tap.h"

/* DER of a SEQUENCE of three bytes each; what is in it is nobody's concern here. */
#define PEM(body) "-----BEGIN CERTIFICATE-----\n" body "\n-----END CERTIFICATE-----\n"
static const char ca[] = PEM("MAMBAgM="), one[] = PEM("MAMEBQY="), two[] = PEM("MAMHCAk=");

TEST(bundle) {
        _cleanup_strbuf_ struct strbuf a = {}, b = {}, c = {};

        trust_add_bundle(&a, one, strlen(one), ca);
        check(a.len == strlen(one) + strlen(ca) && memcmp(a.data + strlen(one), ca, strlen(ca)) == 0);
        trust_add_bundle(&b, "no newline", 10, ca);
        check(strncmp(b.data, "no newline\n-----BEGIN", 21) == 0);
        trust_add_bundle(&c, "", 0, ca);
        check_streq(c.data, ca);
}

struct entry {
        char alias[32];
        uint8_t der[8];
        size_t n;
};

static uint32_t get(const uint8_t *p) {
        return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads a store as a JVM does; how many entries there are. */
static size_t read_store(const struct strbuf *b, struct entry *ret, size_t max) {
        const uint8_t *p = (const uint8_t *)b->data, *end = p + b->len - 20;
        size_t n = 0;

        check(b->len > 32 && get(p) == 0xfeedfeed && get(p + 4) == 2);
        size_t count = get(p + 8);
        for (p += 12; p < end; n++) {
                check(n < max && get(p) == 2);
                size_t k = (size_t)p[4] << 8 | p[5];
                check(k < sizeof(ret->alias));
                memcpy(ret[n].alias, p + 6, k);
                ret[n].alias[k] = 0;
                p += 6 + k + 8;
                check(memcmp(p, "\0\5X.509", 7) == 0);
                ret[n].n = get(p + 7);
                check(ret[n].n <= sizeof(ret->der));
                memcpy(ret[n].der, p + 11, ret[n].n);
                p += 11 + ret[n].n;
        }
        check(p == end && n == count);
        return n;
}

TEST(keystore) {
        struct entry e[8];
        _cleanup_strbuf_ struct strbuf bundle = {}, a = {}, b = {}, c = {}, d = {};

        strbuf_puts(&bundle, "# comment\n");
        strbuf_puts(&bundle, one);
        strbuf_puts(&bundle, "-----BEGIN PRIVATE KEY-----\nMAMKCww=\n-----END PRIVATE KEY-----\n"); /* none */
        strbuf_puts(&bundle, "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n");         /* no base64 */
        strbuf_puts(&bundle, "-----BEGIN CERTIFICATE-----\nMAMB_gM-\n-----END CERTIFICATE-----\n");    /* the other alphabet */
        strbuf_puts(&bundle, PEM("BAMBAgM="));                                                        /* no SEQUENCE */
        strbuf_puts(&bundle, PEM("MH8BAgM="));                                                        /* cut short */
        strbuf_puts(&bundle,
                "-----BEGIN TRUSTED CERTIFICATE-----\r\nMAMH\r\nCAkwAA==\r\n-----END TRUSTED CERTIFICATE-----\r\n");
        strbuf_puts(&bundle, "-----BEGIN CERTIFICATE-----\nMAMBAg");                                 /* no end */
        check(trust_add_keystore(&a, NULL, 0, bundle.data, bundle.len, ca) == 0);
        check(read_store(&a, e, ELEMENTSOF(e)) == 3);
        check(e[0].n == 5 && memcmp(e[0].der, "\x30\3\4\5\6", 5) == 0);
        check(e[1].n == 5 && memcmp(e[1].der, "\x30\3\7\x8\x9", 5) == 0);
        check_streq(e[2].alias, "belljar");
        check(e[2].n == 5 && memcmp(e[2].der, "\x30\3\1\2\3", 5) == 0);
        /* A store that is there: its entries and ours, whatever the bundle has. */
        check(trust_add_keystore(&b, a.data, a.len, two, strlen(two), ca) == 0);
        check(read_store(&b, e, ELEMENTSOF(e)) == 4);
        check_streq(e[0].alias, "system-0");
        check(memcmp(e[3].der, "\x30\3\1\2\3", 5) == 0);
        /* Something else in its place (PKCS#12, garbage): the bundle's. */
        check(trust_add_keystore(
                      &c, "\x30\x82\1\2 not one of these, and long enough to be", 44, two, strlen(two), ca) == 0);
        check(read_store(&c, e, ELEMENTSOF(e)) == 2 && memcmp(e[0].der, "\x30\3\7\x8\x9", 5) == 0);
        /* Each cut of a store, and a certificate that is none. */
        for (size_t n = 0; n < a.len; n++) {
                _cleanup_strbuf_ struct strbuf cut = {};
                check(trust_add_keystore(&cut, a.data, n, "", 0, ca) == 0 && cut.len >= 32);
        }
        check(trust_add_keystore(&d, NULL, 0, one, strlen(one), "-----BEGIN CERTIFICATE-----\n") == -EINVAL &&
                d.len == 0);
        check(trust_add_keystore(&d, NULL, 0, one, strlen(one), "") == -EINVAL);
}

TEST(keystore_digest) {
        _cleanup_strbuf_ struct strbuf a = {};

        check(trust_add_keystore(&a, NULL, 0, "", 0, ca) == 0);
        /* Of the password in UTF-16, the salt and the store, by Python's hashlib. */
        static const uint8_t want[20] = {0x6f, 0x1e, 0x95, 0xac, 0x50, 0xb3, 0x35, 0xa3, 0x2d, 0x84, 0x5d, 0x85, 0xc8,
                0xb4, 0xc1, 0x99, 0xe9, 0x7c, 0xab, 0x47};
        check(memcmp(a.data + a.len - 20, want, 20) == 0);
}

TEST(browsers) {
        _cleanup_strbuf_ struct strbuf a = {}, b = {};

        trust_add_browser(&a, false, ca, "/etc/belljar/ca.pem");
        check_streq(a.data, "{\"CACertificates\": [\"MAMBAgM=\"]}\n");
        trust_add_browser(&b, true, ca, "/etc/belljar/ca.pem");
        check(strstr(b.data, "\"Install\": [\"/etc/belljar/ca.pem\"]"));
}

TEST(tables) {
        for (size_t i = 0; i < trust_places_n; i++)
                check(trust_places[i].path[0] == '/');
        for (size_t i = 0; i < trust_variables_n; i++) {
                check(trust_variables[i].who[0] &&
                        (streq(trust_variables[i].file, TRUST_CA) || streq(trust_variables[i].file, TRUST_BUNDLE)));
                for (size_t k = 0; k < i; k++)
                        check(!streq(trust_variables[i].name, trust_variables[k].name));
        }
}

TEST(variables) {
        _cleanup_strlist_ struct strlist env = {};
        struct env_rule own[] = {{.name = (char *)"PIP_CERT", .value = (char *)"/mine"}};
        struct policy policy = {.env = own, .n_env = 1};

        check(strlist_add(&env, "SSL_CERT_FILE=/image/own") == 0 && strlist_add(&env, "PIP_CERT=/mine") == 0);
        check(environment_set(&env, &policy, "SSL_CERT_FILE", "/a") == 0 &&
                environment_set(&env, &policy, "PIP_CERT", "/a") == 0 &&
                environment_set(&env, &policy, "DENO_CERT", "/b") == 0);
        check(env.n == 3);
        check_streq(env.items[0], "SSL_CERT_FILE=/a"); /* over the image's */
        check_streq(env.items[1], "PIP_CERT=/mine");   /* the user's stands */
        check_streq(env.items[2], "DENO_CERT=/b");
}

static const struct plan_op *find(const struct plan *p, enum plan_op_kind kind, const char *target) {
        for (size_t i = 0; i < p->n_ops; i++)
                if (p->ops[i].kind == kind && streq(p->ops[i].target, target))
                        return &p->ops[i];
        return NULL;
}

static struct plan *make_view(const char *mount) {
        struct view_trust files[] = {
                {(char *)"/etc/belljar/ca.pem", (char *)"a\0b", 3, false},
                {(char *)"/etc/ssl/certs/x.crt", (char *)"there", 5, true},
                {(char *)"/usr/lib/jvm/j/cacerts", (char *)"jks", 3, true},
                {(char *)"/usr/local/share/new", (char *)"new", 3, false},
                {(char *)"/run/belljar/ca.pem", (char *)"run", 3, false},
        };
        struct view_facts f = {.trust = files, .n_trust = ELEMENTSOF(files), .machine_id = "0123"};
        struct policy policy = {};
        struct error e = {};
        struct plan *p = plan_new();

        p->home = strdup("/home/u");
        p->cwd = strdup("/tmp");
        p->hostname = strdup("belljar");
        check(strlist_add(&f.mounts, "/") == 0 && (!mount || strlist_add(&f.mounts, mount) == 0));
        check(view_plan(p, &policy, &f, &e) == 0);
        strlist_clear(&f.mounts);
        return p;
}

TEST(view_with_an_etc_of_its_own) {
        _cleanup_plan_ struct plan *p = make_view(NULL);
        const struct plan_op *op = find(p, OP_LAYER_FILE, "belljar/ca.pem"), *etc = find(p, OP_OVERLAY, "/etc");

        check(op && op->size == 3 && memcmp(op->source, "a\0b", 3) == 0 && etc && op->layer == etc->layer && op < etc);
        check(find(p, OP_LAYER_DIR, "belljar") < op && find(p, OP_LAYER_DIR, "ssl") &&
                find(p, OP_LAYER_DIR, "ssl/certs"));
        check(find(p, OP_LAYER_FILE, "ssl/certs/x.crt") && !find(p, OP_FILE, "/etc/ssl/certs/x.crt"));
        check(find(p, OP_FILE, "/usr/lib/jvm/j/cacerts") && find(p, OP_FILE, "/run/belljar/ca.pem"));
        check(!find(p, OP_FILE, "/usr/local/share/new")); /* nothing is made on the host's own trees */
        _cleanup_free_ char *text = plan_format(p);
        check(strstr(text, "layer-file belljar/ca.pem <- 3 bytes\n"));
}

TEST(view_with_the_hosts_etc) {
        _cleanup_plan_ struct plan *p = make_view("/etc/hosts");

        check(find(p, OP_BIND, "/etc") && !find(p, OP_LAYER_FILE, "belljar/ca.pem"));
        check(find(p, OP_FILE, "/etc/ssl/certs/x.crt") > find(p, OP_BIND, "/etc") &&
                !find(p, OP_FILE, "/etc/belljar/ca.pem"));
        check(find(p, OP_FILE, "/run/belljar/ca.pem") > find(p, OP_SCRATCH, "/run"));
}

TAP_MAIN
