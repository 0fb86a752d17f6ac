/* How programs in a sandbox come to trust its CA: which files they read, and which variables. Pure; prepare-trust.c
 * finds what is there, view.c and view-image.c put it into the view. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define TRUST_FILE_MAX (4u << 20)  /* bytes of a file of certificates that is read */
#define TRUST_CERTIFICATES_MAX 4096u

/* Of the sandbox's own, where its view has an /etc that is its own; else beneath /run. */
#define TRUST_FOLDER "/etc/belljar"
#define TRUST_FOLDER_RUN "/run/belljar"
#define TRUST_CA "ca.pem"                  /* the CA alone */
#define TRUST_BUNDLE "ca-certificates.pem" /* the system's certificates and the CA */
#define TRUST_KEYSTORE "cacerts.jks"       /* the same for a JVM; password "changeit" */

enum trust_form {
        TRUST_PEM,      /* certificates in PEM: the CA is added */
        TRUST_JKS,      /* a keystore: likewise */
        TRUST_ANCHOR,   /* a directory that a distribution's tool collects from: a file TRUST_ANCHOR_NAME with the CA */
        TRUST_HASHED,   /* a directory that OpenSSL looks up by hashes: a file HASH.0 */
};

/* Where systems have them; most are not there, or are links to others of them. */
struct trust_place {
        enum trust_form form;
        const char *path; /* absolute */
};
extern const struct trust_place trust_places[];
extern const size_t trust_places_n;
/* Where a file of certificates is made in an image that has none. */
#define TRUST_PEM_DEFAULT "/etc/ssl/certs/ca-certificates.crt"
/* And what Debian and Alpine collect from when the package of certificates is installed. */
#define TRUST_ANCHOR_DEFAULT "/usr/local/share/ca-certificates"
#define TRUST_ANCHOR_NAME "belljar.crt"
/* Directories whose own have a keystore at one of these. */
#define TRUST_JVM_FOLDER "/usr/lib/jvm"
extern const char *const trust_keystores_of_jvm[]; /* NULL-terminated */

/* Files of browsers, made where there are none. */
struct trust_browser {
        const char *path; /* absolute */
        bool firefox;
};
extern const struct trust_browser trust_browsers[];
extern const size_t trust_browsers_n;

/* Variables for programs that do not look where the system's are. */
struct trust_variable {
        const char *name;
        const char *file; /* of the sandbox's own: TRUST_CA or TRUST_BUNDLE */
        const char *who;  /* reads it, and why it is needed */
};
extern const struct trust_variable trust_variables[];
extern const size_t trust_variables_n;

/* Each adds to ret, whose `failed` tells of memory. ca: the CA's certificate in PEM, as it was made. */
void trust_add_bundle(struct strbuf *ret, const char *there, size_t n, const char *ca);
/* store: a JKS keystore that is there, or anything else; then the certificates are those of bundle (PEM). -EINVAL: ca
 * is no certificate. */
int trust_add_keystore(struct strbuf *ret, const void *store, size_t n_store, const char *bundle, size_t n_bundle,
        const char *ca) _must_check_;
/* A policy that makes a browser trust the CA; ca_path: the file's as seen inside. */
void trust_add_browser(struct strbuf *ret, bool firefox, const char *ca, const char *ca_path);
