/* See inspect-network.h. The record is Belljar's own file; what gate, broker and sandbox said stands in it and is shown so that
 * it cannot steer a terminal. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "role/cli/inspect-network.h"

/* Refusals that are shown to people; --json has all. */
#define SHOWN_MAX 20u

static const char *text(const json_t *j, const char *key) {
        const char *s = json_string_value(json_object_get(j, key));
        return s ? s : "";
}

static long long number(const json_t *j, const char *key) { return (long long)json_integer_value(json_object_get(j, key)); }

/* As openssl x509 -fingerprint -sha256 has it. */
static json_t *ca_json(const char *pem) {
        static const char head[] = "-----BEGIN CERTIFICATE-----", tail[] = "-----END CERTIFICATE-----";
        const char *begin = pem ? strstr(pem, head) : NULL, *end = begin ? strstr(begin, tail) : NULL;
        unsigned char der[4096], hash[crypto_hash_sha256_BYTES];
        char line[3 * sizeof(hash)];
        size_t n = 0;

        if (!end)
                return json_null();
        begin += sizeof(head) - 1;
        if (sodium_init() < 0 || sodium_base642bin(der, sizeof(der), begin, (size_t)(end - begin), "\r\n", &n, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
                return json_null();
        crypto_hash_sha256(hash, der, n);
        for (size_t i = 0; i < sizeof(hash); i++)
                snprintf(line + 3 * i, sizeof(line) - 3 * i, "%02X%s", hash[i], i + 1 < sizeof(hash) ? ":" : "");
        return json_pack("{s:s, s:s}", "sha256", line, "certificate", pem);
}

json_t *inspect_network(const struct state *s, const json_t *plan) {
        json_t *record = NULL, *out, *rules = json_object_get(plan, "network");

        if (state_read(s, "network.json", &record) < 0)
                record = json_object();
        out = json_object();
        if (!out || !record) {
                json_decref(out);
                json_decref(record);
                return NULL;
        }
        /* What the plan had; an update has put others in their place, which "policy" counts. */
        json_object_set_new(out, "allowed", rules ? json_incref(rules) : json_array());
        json_object_set_new(out, "ca", ca_json(json_string_value(json_object_get(record, "ca"))));
        json_object_del(record, "ca");
        json_object_del(record, "id");
        json_object_update_missing(out, record);
        json_decref(record);
        return out;
}

static void visible(const char *s) {
        _cleanup_free_ char *v = str_visible_dup(s);
        printf("%s", v ? v : "?");
}

static void print_models(const json_t *models) {
        char up[16], down[16];
        const json_t *x;
        size_t i;

        json_array_foreach(models, i, x) {
                printf("     models: ");
                visible(text(x, "host")[0] ? text(x, "host") : "by an earlier policy");
                if (text(x, "to")[0]) {
                        printf(" -> ");
                        visible(text(x, "to"));
                        printf("%s", json_is_true(json_object_get(x, "local")) ? " (local)" : "");
                }
                printf(": %lld requests, %s sent, %s received%s%s\n", number(x, "requests"), format_size(up, sizeof(up), (uint64_t)number(x, "up")),
                       format_size(down, sizeof(down), (uint64_t)number(x, "down")), text(x, "secret")[0] ? ", secret " : "", text(x, "secret"));
        }
}

void inspect_network_reach(const json_t *network) {
        const json_t *rules = json_object_get(network, "allowed"), *policy = json_object_get(network, "policy"), *use = json_object_get(network, "use"),
                     *ca = json_object_get(network, "ca");
        char up[16], down[16];
        const json_t *x;
        size_t i;

        if (json_array_size(rules) == 0 && !json_is_object(policy))
                printf("     network: nothing; its own loopback only\n");
        json_array_foreach(rules, i, x) {
                printf("     network: ");
                visible(json_string_value(x) ? json_string_value(x) : "?");
                printf("\n");
        }
        if (number(policy, "updates") > 0)
                printf("     network: THESE RULES were replaced while it ran, %lld times; the policy is now the one below\n", number(policy, "updates"));
        if (json_is_object(policy))
                printf("     policy: %s, %lld rules\n", text(policy, "digest"), number(policy, "rules"));
        if (json_is_object(ca))
                printf("     its CA, which reads what is within TLS: SHA-256 %s\n", text(ca, "sha256"));
        if (json_is_object(policy))
                printf("     used: %lld requests and connections, %s sent, %s received; %lld gates and %lld brokers were started\n", number(use, "requests"),
                       format_size(up, sizeof(up), (uint64_t)number(use, "up")), format_size(down, sizeof(down), (uint64_t)number(use, "down")),
                       number(network, "gates"), number(network, "brokers"));
        print_models(json_object_get(network, "models"));
}

static const json_t *used_of(const json_t *network, const char *name) {
        const json_t *x;
        size_t i;

        json_array_foreach(json_object_get(network, "secrets"), i, x)
                if (streq(text(x, "name"), name))
                        return x;
        return NULL;
}

/* What its provider has of it: a borrowed one goes on living there. */
static void inspect_minted(const json_t *used) {
        const json_t *minted = json_object_get(used, "minted"), *revoked = json_object_get(minted, "revoked");

        if (!json_is_object(minted)) {
                printf("        borrowed: what is cut here goes on at its provider\n");
                return;
        }
        printf("        minted at ");
        visible(text(minted, "at"));
        printf(", %s%s", text(minted, "expires")[0] ? "expires " : "it did not say until when", text(minted, "expires"));
        if (number(minted, "renewed"))
                printf(", renewed %lld times", number(minted, "renewed"));
        printf("%s", json_is_true(revoked) ? ", revoked" : json_is_false(revoked) ? ", NOT revoked: " : "");
        visible(text(minted, "why"));
        printf("\n");
}

/* Git over ssh and signatures: what the plan lets it do, and what came of it. */
static void print_git(const json_t *plan, const json_t *network) {
        const json_t *x, *sign = json_object_get(plan, "sign"), *path;
        char up[16], down[16];
        size_t i, k;

        json_array_foreach(json_object_get(plan, "git_ssh"), i, x) {
                printf("     git_ssh %s@%s:%lld:", text(x, "user"), text(x, "host"), number(x, "port"));
                json_array_foreach(json_object_get(x, "repositories"), k, path) {
                        printf(" ");
                        visible(json_string_value(path));
                }
                printf(streq(text(x, "access"), "write") ? ", read and write" : ", read");
                printf("; the sandbox has neither key nor agent\n");
        }
        if (json_is_object(sign))
                printf("     sign%s%s; the sandbox has neither key nor agent\n", json_is_true(json_object_get(sign, "commits")) ? " commits" : "",
                       json_is_true(json_object_get(sign, "tags")) ? " tags" : "");
        json_array_foreach(json_object_get(network, "calls"), i, x)
                if (number(x, "uses") > 0)
                        printf("        %s %s%s%s: %lld uses, %s sent, %s received\n", text(x, "call"), text(x, "host"), text(x, "host")[0] ? " " : "", text(x, "what"), number(x, "uses"),
                               format_size(up, sizeof(up), (uint64_t)number(x, "up")), format_size(down, sizeof(down), (uint64_t)number(x, "down")));
        json_array_foreach(json_object_get(network, "calls_revoked"), i, x)
                printf("        %s was revoked\n", json_string_value(x) ?: "?");
        if (number(network, "calls_refused") > 0)
                printf("        %lld calls were refused\n", number(network, "calls_refused"));
}

void inspect_credentials(const json_t *plan, const json_t *network) {
        const json_t *secrets = json_object_get(plan, "secrets"), *x;
        char up[16], down[16];
        size_t i;

        bool git = json_array_size(json_object_get(plan, "git_ssh")) > 0 || json_is_object(json_object_get(plan, "sign"));

        if (json_array_size(secrets) == 0 && !git)
                printf("     nothing: none were given to it\n");
        json_array_foreach(secrets, i, x) {
                const json_t *used = used_of(network, text(x, "name"));
                printf("     %s from ", text(x, "name"));
                visible(text(x, "from"));
                printf(": what the rules with this secret let pass; the sandbox has a placeholder%s%s\n", text(x, "env")[0] ? " in " : "", text(x, "env"));
                if (!used)
                        continue;
                inspect_minted(used);
                printf("        used %lld times, %s sent, %s received; its placeholder was refused %lld times%s%s\n", number(used, "uses"),
                       format_size(up, sizeof(up), (uint64_t)number(used, "up")), format_size(down, sizeof(down), (uint64_t)number(used, "down")),
                       number(used, "refused"), text(used, "ended")[0] ? "; " : "", text(used, "ended"));
        }
        if (json_array_size(secrets) > 0)
                printf("     what each may do at its provider, apart from the rules: belljar secret test NAME\n");
        print_git(plan, network);
}

static void print_target(const json_t *x) {
        const char *host = text(x, "host"), *where = host[0] ? host : text(x, "address");
        bool six = strchr(where, ':');

        if (text(x, "method")[0]) {
                visible(text(x, "method"));
                printf(" ");
        } else if (streq(text(x, "kind"), "udp"))
                printf("UDP to ");
        else if (streq(text(x, "kind"), "name"))
                printf("the name ");
        printf("%s", six ? "[" : "");
        visible(where);
        printf("%s", six ? "]" : "");
        if (!streq(text(x, "kind"), "name"))
                printf(":%lld", number(x, "port"));
        visible(text(x, "path"));
}

static void print_list(const json_t *list, bool fixes) {
        const json_t *x;
        size_t i;

        json_array_foreach(list, i, x) {
                if (i == SHOWN_MAX) {
                        printf("     and %zu more: --json has them\n", json_array_size(list) - SHOWN_MAX);
                        break;
                }
                printf("     %4lld x ", number(x, "count"));
                print_target(x);
                printf(" (");
                visible(text(x, "why"));
                printf(")%s\n", json_is_true(json_object_get(x, "quiet")) ? ", quietly" : "");
                if (fixes && text(x, "fix")[0]) {
                        printf("            to allow it: ");
                        visible(text(x, "fix"));
                        printf("\n");
                }
        }
}

void inspect_network_denials(const json_t *network) {
        const json_t *denials = json_object_get(network, "denials"), *failures = json_object_get(network, "failures");

        if (!denials && !failures)
                return;
        printf("\nrefused by the network: %lld, and %lld quietly\n", number(network, "denied"), number(network, "quiet"));
        print_list(denials, true);
        if (json_array_size(failures) > 0)
                printf("allowed, and could not be reached: %lld\n", number(network, "unreachable"));
        print_list(failures, false);
        if (number(network, "left_out") > 0)
                printf("     and %lld that were too many to keep\n", number(network, "left_out"));
}
