/* What may be signed (secret-sigv4.h): the region and the service are the sandbox's word, and new credentials are not for it. */
#include <string.h>
#include <strings.h>

#include "model/secret-sigv4.h"

static struct request_text text(const char *s) { return (struct request_text){s, strlen(s)}; }
static bool same(struct request_text a, struct request_text b) { return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); }
static bool is(struct request_text a, const char *b) { return same(a, text(b)); }
static bool is_any_case(struct request_text a, const char *b) { return a.n == strlen(b) && (a.n == 0 || strncasecmp(a.p, b, a.n) == 0); }

/* --- service and region --- */

static bool listed(const char *list, struct request_text name) {
        for (const char *p = list; *p;) {
                size_t n = strcspn(p, ",");
                if (n == name.n && memcmp(p, name.p, n) == 0)
                        return true;
                p += n + (p[n] == ',');
        }
        return false;
}

/* Drops ".suffix" from the end. */
static bool take_end(struct request_text *t, const char *suffix) {
        size_t n = strlen(suffix);

        if (t->n <= n || t->p[t->n - n - 1] != '.' || memcmp(t->p + t->n - n, suffix, n) != 0)
                return false;
        t->n -= n + 1;
        return true;
}

/* The last label of a name, which is taken off it. */
static struct request_text take_label(struct request_text *t) {
        size_t at = t->n;

        while (at > 0 && t->p[at - 1] != '.')
                at--;
        const struct request_text label = {t->p + at, t->n - at};
        t->n = at > 0 ? at - 1 : 0;
        return label;
}

/* "eu-central-1", "us-gov-west-1": two letters to four, more words, a number. */
static bool is_region(struct request_text t) {
        size_t letters = 0, dashes = 0, digits = 0;

        while (letters < t.n && t.p[letters] >= 'a' && t.p[letters] <= 'z')
                letters++;
        for (size_t i = 0; i < t.n; i++) {
                dashes += t.p[i] == '-';
                digits = t.p[i] >= '0' && t.p[i] <= '9' ? digits + 1 : 0;
        }
        return letters >= 2 && letters <= 4 && letters < t.n && t.p[letters] == '-' && dashes >= 2 && digits >= 1 && digits <= 2 && t.p[t.n - digits - 1] == '-';
}

/* What a host's name says; false: it is none of these. Where it has no region, *ret_region is empty. */
static bool read_host(struct request_text host, struct request_text *ret_service, struct request_text *ret_region) {
        struct request_text rest = host, service = {}, region = {};

        if (!take_end(&rest, "amazonaws.com") && !take_end(&rest, "amazonaws.com.cn") && !take_end(&rest, "api.aws") && !take_end(&rest, "on.aws"))
                return false;
        (void)take_end(&rest, "vpce");
        for (bool first = true; rest.n > 0 && !region.n; first = false) {
                struct request_text label = take_label(&rest);
                if (is_region(label))
                        region = label;
                else if (first)
                        service = label;
        }
        if (!service.n) { /* the region was the last */
                (void)take_end(&rest, "dualstack");
                service = take_label(&rest);
        }
        *ret_service = service;
        *ret_region = region;
        return true;
}

/* Hosts are mostly called as the service is, or as a part of it: "bedrock-runtime", "s3-accesspoint", "sts-fips". */
static bool service_fits(struct request_text label, struct request_text service) {
        static const char *const others[][2] = {
                {"email", "ses"}, {"queue", "sqs"}, {"git-codecommit", "codecommit"}, {"iot", "iotdata"}, {"marketplace", "aws-marketplace"},
        };

        if (label.n >= service.n && memcmp(label.p, service.p, service.n) == 0 && (label.n == service.n || label.p[service.n] == '-'))
                return true;
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (is(label, others[i][0]) && is(service, others[i][1]))
                        return true;
        return false;
}

bool sigv4_scope_fits(struct request_text host, struct request_text service, struct request_text region, const char *services,
                      const char *regions, const char **ret_reason) {
        struct request_text own = {}, there = {};
        const bool known = read_host(host, &own, &there);

        *ret_reason = "the request is signed for a service that is not among the secret's";
        if (services[0] && !listed(services, service))
                return false;
        *ret_reason = "the request is signed for a region that is not among the secret's";
        if (regions[0] && !listed(regions, region))
                return false;
        *ret_reason = "the request is signed for another service than its host is of, and the secret names none";
        if (known && !services[0] && !service_fits(own, service))
                return false;
        *ret_reason = "the request is signed for another region than its host is of, and the secret names none";
        return !(known && !regions[0] && there.n > 0 && !same(there, region));
}

/* --- new credentials --- */

/* Whose answer is a credential that Belljar does not know: of the services at large, whatever they are asked by. */
static bool hands_out(struct request_text action) {
        static const char *const actions[] = {
                "AssumeRole", "AssumeRoleWithSAML", "AssumeRoleWithWebIdentity", "AssumeRoot", "AssumeRoleForPodIdentity", "GetSessionToken",
                "GetFederationToken", "GetDelegatedAccessToken", "GetWebIdentityToken", "CreateAccessKey", "CreateLoginProfile", "UpdateLoginProfile",
                "CreateServiceSpecificCredential", "ResetServiceSpecificCredential", "CreateVirtualMFADevice", "GetAuthorizationToken", "GetCredentialsForIdentity",
                "GetOpenIdToken", "GetOpenIdTokenForDeveloperIdentity", "GetClusterCredentials", "GetClusterCredentialsWithIAM", "GetCredentials",
                "GetRoleCredentials", "CreateToken", "CreateTokenWithIAM", "CreateKeyPair", "GetPasswordData", "GetInstanceAccessDetails", "DownloadDefaultKeyPair",
        };
        for (size_t i = 0; i < ELEMENTSOF(actions); i++)
                if (is_any_case(action, actions[i]))
                        return true;
        return false;
}

/* The only ones of STS that hand nothing out. */
static bool only_tells(struct request_text action) { return is(action, "GetCallerIdentity") || is(action, "GetAccessKeyInfo") || is(action, "DecodeAuthorizationMessage"); }

static int digit(char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Of a form; what does not fit is cut, which makes it none of the names that are looked for. */
static struct request_text decode(struct request_text t, char *buf, size_t size) {
        size_t n = 0;

        for (size_t i = 0; i < t.n && n < size; i++) {
                if (t.p[i] == '%' && i + 2 < t.n && digit(t.p[i + 1]) >= 0 && digit(t.p[i + 2]) >= 0) {
                        buf[n++] = (char)(16 * digit(t.p[i + 1]) + digit(t.p[i + 2]));
                        i += 2;
                } else
                        buf[n++] = t.p[i] == '+' ? ' ' : t.p[i];
        }
        return (struct request_text){buf, n};
}

struct actions {
        unsigned n;       /* how many were named */
        bool mints, asks; /* one that hands out; each of them only tells */
};

static void count(struct actions *a, struct request_text action) {
        a->n++;
        a->mints |= hands_out(action);
        a->asks &= only_tells(action);
}

static void count_form(struct actions *a, struct request_text form) {
        char key_text[16], value_text[80];

        for (size_t at = 0; at < form.n;) {
                const char *end = memchr(form.p + at, '&', form.n - at);
                struct request_text pair = {form.p + at, end ? (size_t)(end - form.p) - at : form.n - at};
                const char *equals = pair.n > 0 ? memchr(pair.p, '=', pair.n) : NULL;
                size_t n = equals ? (size_t)(equals - pair.p) : pair.n;
                if (is_any_case(decode((struct request_text){pair.p, n}, key_text, sizeof(key_text)), "action"))
                        count(a, decode((struct request_text){pair.p + MIN(n + 1, pair.n), pair.n - MIN(n + 1, pair.n)}, value_text, sizeof(value_text)));
                at += pair.n + 1;
        }
}

static void count_request(struct actions *a, const struct request *r, struct request_text target) {
        for (size_t i = 0; i < r->n_query; i++)
                if (is_any_case(r->query[i].key, "action"))
                        count(a, r->query[i].value);
        if (target.n > 0) { /* "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken" */
                struct request_text rest = target;
                count(a, take_label(&rest));
        }
        if (r->n_segments >= 2 && is(r->segment[r->n_segments - 2], "operation")) /* /service/NAME/operation/NAME */
                count(a, r->segment[r->n_segments - 1]);
}

/* Those that have no action in their words. */
static bool mints_by_path(const struct request *r, struct request_text service) {
        if (is(service, "codeartifact"))
                return r->n_segments >= 2 && is(r->segment[1], "authorization-token");
        if (is(service, "rolesanywhere"))
                return r->n_segments >= 1 && is(r->segment[0], "sessions");
        if (is(service, "eks-auth"))
                return true;
        if (is(service, "s3express") || is(service, "s3"))
                for (size_t i = 0; i < r->n_query; i++)
                        if (is(r->query[i].key, "session"))
                                return true;
        return false;
}

bool sigv4_mints(const struct request *r, struct request_text service, struct request_text target, struct request_text body, bool is_form,
                 const char **ret_reason) {
        const bool of_identity = is(service, "sts") || is(service, "iam");
        struct actions a = {.asks = true};

        count_request(&a, r, target);
        count_form(&a, body); /* whatever its type: servers may take it for a form all the same */
        *ret_reason = "the request is answered with credentials that would stand in the sandbox: \"allow: [mint]\" of the secret lets it";
        if (a.mints || mints_by_path(r, service) || (is(service, "sts") && a.n > 0 && !a.asks))
                return true;
        *ret_reason = "it cannot be seen what the request does, which may be answered with credentials";
        if (of_identity && (a.n != 1 || (body.n > 0 && !is_form) || r->n_segments != 1 || r->segment[0].n > 0))
                return true;
        *ret_reason = NULL;
        return false;
}
