/* Places, variables and texts, see trust.h. */
#include <string.h>

#include "model/trust.h"

const struct trust_place trust_places[] = {
        {TRUST_PEM, "/etc/ssl/certs/ca-certificates.crt"},                /* Debian, Ubuntu, Alpine, Arch, Gentoo, Void */
        {TRUST_PEM, "/etc/ssl/cert.pem"},                                 /* Alpine, Arch */
        {TRUST_PEM, "/etc/pki/tls/certs/ca-bundle.crt"},                  /* Fedora, RHEL */
        {TRUST_PEM, "/etc/pki/tls/cert.pem"},                             /* the same: OpenSSL's own */
        {TRUST_PEM, "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"}, /* where these lead */
        {TRUST_PEM, "/etc/ca-certificates/extracted/tls-ca-bundle.pem"},  /* Arch: likewise */
        {TRUST_PEM, "/etc/ssl/ca-bundle.pem"},                            /* SUSE */
        {TRUST_PEM, "/var/lib/ca-certificates/ca-bundle.pem"},            /* where it leads */
        {TRUST_PEM, "/usr/lib/ssl/cert.pem"},                             /* OpenSSL's own: Debian */
        {TRUST_PEM, "/usr/local/ssl/cert.pem"},                           /* built from source */
        {TRUST_PEM, "/opt/conda/ssl/cacert.pem"},                         /* conda's images */
        {TRUST_JKS, "/etc/ssl/certs/java/cacerts"},                       /* Debian, Alpine, Arch */
        {TRUST_JKS, "/etc/pki/ca-trust/extracted/java/cacerts"},          /* Fedora */
        {TRUST_JKS, "/etc/pki/java/cacerts"},
        {TRUST_JKS, "/etc/ca-certificates/extracted/java-cacerts.jks"},   /* Arch */
        {TRUST_JKS, "/var/lib/ca-certificates/java-cacerts"},             /* SUSE */
        {TRUST_JKS, "/opt/java/openjdk/lib/security/cacerts"},            /* Temurin's images */
        {TRUST_HASHED, "/etc/ssl/certs"},
        {TRUST_HASHED, "/etc/pki/tls/certs"},
        {TRUST_HASHED, "/var/lib/ca-certificates/openssl"},
        {TRUST_HASHED, "/etc/ca-certificates/extracted/cadir"},
        /* So that what is collected anew inside (update-ca-certificates, update-ca-trust) has it again; p11-kit reads the ones
         * of Fedora, Arch and SUSE itself, for GnuTLS and NSS. */
        {TRUST_ANCHOR, TRUST_ANCHOR_DEFAULT},
        {TRUST_ANCHOR, "/etc/pki/ca-trust/source/anchors"},
        {TRUST_ANCHOR, "/etc/ca-certificates/trust-source/anchors"},
        {TRUST_ANCHOR, "/etc/pki/trust/anchors"},
};
const size_t trust_places_n = ELEMENTSOF(trust_places);

const char *const trust_keystores_of_jvm[] = {"lib/security/cacerts", "jre/lib/security/cacerts", NULL};

const struct trust_browser trust_browsers[] = {
        {"/etc/chromium/policies/managed/belljar.json", false},
        {"/etc/opt/chrome/policies/managed/belljar.json", false},
        {"/etc/opt/edge/policies/managed/belljar.json", false},
        {"/etc/firefox/policies/policies.json", true},
};
const size_t trust_browsers_n = ELEMENTSOF(trust_browsers);

const struct trust_variable trust_variables[] = {
        {"SSL_CERT_FILE", TRUST_BUNDLE, "OpenSSL's default, Go, Ruby, PHP, Rust (rustls-native-certs, openssl-probe), uv, .NET, httpx: programs with an OpenSSL of "
                                        "their own, and images without certificates"},
        {"NODE_EXTRA_CA_CERTS", TRUST_CA, "node, npm, yarn, pnpm, Bun, Electron's main process: node has certificates of its own, and adds these"},
        {"REQUESTS_CA_BUNDLE", TRUST_BUNDLE, "Python's requests, the Azure command line: certifi's otherwise"},
        {"CURL_CA_BUNDLE", TRUST_BUNDLE, "curl programs of other builds (conda, static), R, also requests"},
        {"GIT_SSL_CAINFO", TRUST_BUNDLE, "git of other builds"},
        {"PIP_CERT", TRUST_BUNDLE, "pip: certifi's otherwise"},
        {"CARGO_HTTP_CAINFO", TRUST_BUNDLE, "cargo: its libcurl is linked in"},
        {"DENO_CERT", TRUST_CA, "deno: has Mozilla's certificates within, and adds these"},
        {"AWS_CA_BUNDLE", TRUST_BUNDLE, "the AWS command line and SDKs: botocore's otherwise"},
        {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", TRUST_BUNDLE, "gcloud: its own otherwise"},
        {"NIX_SSL_CERT_FILE", TRUST_BUNDLE, "nix, and programs built by it"},
        {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", TRUST_BUNDLE, "gRPC's C core, for Python, Ruby, PHP, C++: its own otherwise"},
        {"PERL_LWP_SSL_CA_FILE", TRUST_BUNDLE, "Perl's LWP: Mozilla::CA otherwise"},
        {"HEX_CACERTS_PATH", TRUST_BUNDLE, "mix and hex: their own otherwise"},
        {"BUNDLE_SSL_CA_CERT", TRUST_BUNDLE, "Ruby's bundler: its own for rubygems.org otherwise"},
        {"SYSTEM_CERTIFICATE_PATH", TRUST_BUNDLE, "Haskell's tls: cabal and stack"},
        {"JULIA_SSL_CA_ROOTS_PATH", TRUST_BUNDLE, "Julia: its own otherwise"},
};
const size_t trust_variables_n = ELEMENTSOF(trust_variables);

void trust_add_bundle(struct strbuf *ret, const char *there, size_t n, const char *ca) {
        strbuf_add(ret, there, n);
        if (n > 0 && there[n - 1] != '\n')
                strbuf_puts(ret, "\n");
        strbuf_puts(ret, ca);
}

/* The base64 of a PEM text, on one line. */
static char *pem_base64(const char *pem) {
        _cleanup_strbuf_ struct strbuf b = {};
        const char *p = strchr(pem, '\n'), *end = p ? strstr(p, "-----END") : NULL;

        for (; end && p < end; p++)
                if (*p != '\n' && *p != '\r')
                        strbuf_add(&b, p, 1);
        return strbuf_take(&b);
}

void trust_add_browser(struct strbuf *ret, bool firefox, const char *ca, const char *ca_path) {
        if (firefox)
                strbuf_printf(ret, "{\"policies\": {\"Certificates\": {\"ImportEnterpriseRoots\": true, \"Install\": [\"%s\"]}}}\n", ca_path);
        else {
                _cleanup_free_ char *base64 = pem_base64(ca);
                strbuf_printf(ret, "{\"CACertificates\": [\"%s\"]}\n", base64 ? base64 : "");
                ret->failed = ret->failed || !base64;
        }
}
