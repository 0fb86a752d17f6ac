#include <ctype.h>

#include "base/str.h"
#include "model/placeholder.h"
#include "tap.h"

/* Nothing here may look like somebody's token: values are put together when the test runs. */
static uint32_t state = 20261130;
static uint32_t chance(void) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        return state;
}
static void chances(uint8_t *p, size_t n) {
        for (size_t i = 0; i < n; i++)
                p[i] = (uint8_t)(chance() >> 11);
}

static const char mixed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
static const char hex[] = "0123456789abcdef";

/* prefix and n characters of the alphabet. */
static const char *made(const char *prefix, size_t n, const char *alphabet) {
        static char all[8][SECRET_VALUE_MAX + 128];
        static unsigned next;
        char *s = all[next++ % 8];
        size_t at = strlen(prefix);

        memcpy(s, prefix, at);
        for (size_t i = 0; i < n; i++)
                s[at++] = alphabet[chance() % strlen(alphabet)];
        s[at] = 0;
        return s;
}

/* Without the NUL, so that what is read beyond the end is seen. */
static char *exact(const char *s, size_t n) { return memcpy(malloc(n + (n == 0)), s, n); }

static int make(const char *value, char *ret, struct error *e) {
        static uint8_t random[PLACEHOLDER_RANDOM(SECRET_VALUE_MAX)];
        size_t n = strlen(value);
        char *copy = exact(value, n);

        chances(random, PLACEHOLDER_RANDOM(n));
        int r = placeholder_make(copy, n, random, PLACEHOLDER_RANDOM(n), ret, e);
        free(copy);
        return r;
}

static const struct secret_kind *kind_of(const char *value) {
        char *copy = exact(value, strlen(value));
        const struct secret_kind *k = secret_kind_of(copy, strlen(value));

        free(copy);
        return k;
}

static bool same_class(char a, char b) {
        if (isupper((unsigned char)a) || islower((unsigned char)a) || isdigit((unsigned char)a))
                return !isupper((unsigned char)a) == !isupper((unsigned char)b) && !islower((unsigned char)a) == !islower((unsigned char)b) &&
                       !isdigit((unsigned char)a) == !isdigit((unsigned char)b);
        return a == b;
}

/* What holds for each. */
static const char *placeholder(const char *value) {
        static char ret[SECRET_VALUE_MAX + 1];
        struct error e = {};

        check(make(value, ret, &e) == 0);
        check(strlen(ret) == strlen(value));
        check(strcmp(ret, value) != 0);
        for (size_t i = 0; value[i]; i++)
                check(same_class(value[i], ret[i]));
        return ret;
}

static const struct {
        const char *prefix;
        size_t n;
        const char *alphabet, *name;
} kinds[] = {
        {"ghp_", 36, mixed, "GitHub personal access token"}, {"gho_", 36, mixed, "GitHub OAuth token"},
        {"ghu_", 36, mixed, "GitHub App user token"}, {"ghs_", 36, mixed, "GitHub App installation token"},
        {"ghr_", 76, mixed, "GitHub App refresh token"}, {"github_pat_", 82, mixed, "GitHub fine-grained token"},
        {"glpat-", 20, mixed, "GitLab personal access token"}, {"npm_", 36, mixed, "npm token"}, {"pypi-", 170, mixed, "PyPI token"},
        {"sk-ant-" "api03-", 95, mixed, "Anthropic API key"}, {"sk-ant-" "oat01-", 95, mixed, "Anthropic OAuth token"},
        {"sk-ant-" "xyz99-", 95, mixed, "Anthropic key"}, {"sk-proj-", 140, mixed, "OpenAI project key"}, {"sk-", 48, mixed, "API key of OpenAI's form"},
        {"sk-or-v1-", 64, hex, "OpenRouter key"}, {"AI" "za", 35, mixed, "Google API key"}, {"ya29" ".", 120, mixed, "Google OAuth token"},
        {"AK" "IA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "AWS access key id"}, {"AS" "IA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "AWS temporary access key id"},
        {"xoxb-", 50, mixed, "Slack bot token"}, {"xoxp-", 50, mixed, "Slack user token"}, {"sk_" "live_", 24, mixed, "Stripe live key"},
        {"sk_" "test_", 24, mixed, "Stripe test key"}, {"rk_" "live_", 24, mixed, "Stripe restricted live key"}, {"hf_", 34, mixed, "Hugging Face token"},
        {"dop_v1_", 64, hex, "DigitalOcean token"}, {"SG" ".", 66, mixed, "SendGrid key"},
};

TEST(known_kinds) {
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                for (unsigned round = 0; round < 50; round++) {
                        const char *value = made(kinds[i].prefix, kinds[i].n, kinds[i].alphabet);
                        const struct secret_kind *kind = kind_of(value);
                        check(kind != NULL);
                        check_streq(kind->name, kinds[i].name);
                        const char *p = placeholder(value);
                        check(str_after(p, kinds[i].prefix) || str_after(p, kind->prefix));
                        check(kind_of(p) == kind);
                        for (const char *c = p + strlen(kinds[i].prefix); *c; c++)
                                check(strchr(kinds[i].alphabet, *c));
                        check(secret_foreign("X-Anything", value, strlen(value)));
                }
}

/* The fields of the table that others build on. */
TEST(how_kinds_are_sent) {
        const char *github = made("ghp_", 36, mixed), *pypi = made("pypi-", 170, mixed), *google = made("AI" "za", 35, mixed), *npm = made("npm_", 36, mixed);
        const struct secret_kind *k = kind_of(github);

        check(strstr(k->hosts, "api.github.com") && k->place == SECRET_HEADER);
        check_streq(k->form, "Authorization: Bearer {}");
        k = kind_of(pypi);
        check(k->place == SECRET_BASIC && !k->hosts);
        check_streq(k->form, "__token__");
        check_streq(k->preset, "pip-install");
        k = kind_of(google);
        check_streq(k->form, "x-goog-api-key: {}");
        k = kind_of(npm);
        check_streq(k->preset, "npm-install");
}

TEST(unknown_kinds) {
        static const char *const values[] = {"", "x", "ghp_", "ghp_short", "sk-learn", "sk-ant-", "hello world", "eyJ", "eyJhbGciOiJIUzI1NiJ9", "eyJhbGci.eyJ.x"};

        for (size_t i = 0; i < ELEMENTSOF(values); i++)
                check(!kind_of(values[i]));
        const char *more = made("ghp_", 36, mixed);
        char behind[64];
        snprintf(behind, sizeof(behind), "%s!", more);
        check(!kind_of(behind));
        snprintf(behind, sizeof(behind), " %s", more);
        check(!kind_of(behind));
}

/* CRC-32 and base 62 once more, by division. */
static bool checksum_right(const char *token) {
        uint64_t value = 0;
        uint32_t crc = 0xffffffff;

        for (unsigned i = 4; i < 34; i++)
                for (unsigned bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (((crc ^ (unsigned)token[i] >> bit) & 1) ? 0xedb88320 : 0);
        for (unsigned i = 34; i < 40; i++) {
                const char *at = strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", token[i]);
                value = value * 62 + (uint64_t)(at - "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
        }
        return value == (crc ^ 0xffffffff);
}

/* The six characters that are right behind 30 others. */
static void set_checksum(char *token) {
        uint32_t crc = 0xffffffff;

        for (unsigned i = 4; i < 34; i++)
                for (unsigned bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (((crc ^ (unsigned)token[i] >> bit) & 1) ? 0xedb88320 : 0);
        crc ^= 0xffffffff;
        for (unsigned i = 40; i-- > 34; crc /= 62)
                token[i] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[crc % 62];
}

/* A byte that makes `c` out of its class. */
static uint8_t byte_for(char c) { return (uint8_t)(isupper((unsigned char)c) ? c - 'A' : islower((unsigned char)c) ? c - 'a' : c - '0'); }

/* Random bytes that would make a token with a right checksum: it becomes a wrong one, and no other one is touched. */
TEST(checksum_is_wrong) {
        for (unsigned round = 0; round < 200; round++) {
                char wanted[41], value[41], ret[41];
                uint8_t random[36];
                struct error e = {};
                snprintf(wanted, sizeof(wanted), "%s", made(round % 2 ? "ghp_" : "npm_", 36, mixed));
                set_checksum(wanted);
                check(checksum_right(wanted));
                for (unsigned i = 0; i < 40; i++)
                        value[i] = i < 4 ? wanted[i] : isupper((unsigned char)wanted[i]) ? 'Q' : islower((unsigned char)wanted[i]) ? 'q' : '5';
                value[40] = 0;
                for (unsigned i = 4; i < 40; i++)
                        random[i - 4] = byte_for(wanted[i]);
                check(placeholder_make(value, 40, random, sizeof(random), ret, &e) == 0);
                check(memcmp(ret, wanted, 39) == 0 && ret[39] != wanted[39] && same_class(ret[39], wanted[39]));
                check(!checksum_right(ret));
                /* What only looks so without the prefix has none. */
                check(placeholder_make(value + 4, 36, random, sizeof(random), ret, &e) == 0);
                check_streq(ret, wanted + 4);
                /* One that is wrong already stays. */
                random[0] = (uint8_t)((random[0] + 1) % 10);
                check(placeholder_make(value, 40, random, sizeof(random), ret, &e) == 0);
                check(ret[39] == wanted[39] && ret[5] == wanted[5]);
        }
}

/* A published example (of a token without rights, long gone), without its prefix. */
TEST(checksum_example) {
        char token[41] = "....zQWBuTSOoRi4A9" "spHcVY5ncnsDkxkJ......";

        set_checksum(token);
        check_streq(token + 34, "0mLq17");
        check(checksum_right(token));
}

TEST(generic) {
        const char *p = placeholder("Tr0ub4dor&3 horse/battery+staple==");
        check(p[9] == '&' && p[11] == ' ' && p[17] == '/' && p[25] == '+');
        check(str_after(strchr(p, 0) - 2, "=="));
        placeholder("aaaaaaaaa");
        placeholder("0123456789012"); /* as an error says, thirteen are enough */
        placeholder("2222222222222222");
        placeholder("ffffffffffffffff");
        for (unsigned round = 0; round < 200; round++) {
                size_t n = 20 + chance() % 300;
                char value[512];
                for (size_t i = 0; i < n; i++)
                        value[i] = (char)('!' + chance() % 94);
                value[n] = 0;
                placeholder(value);
        }
        placeholder(made("", SECRET_VALUE_MAX, mixed));
}

/* What is hexadecimal stays so, in its case, and a UUID keeps its version and variant. */
TEST(hexadecimal) {
        for (unsigned round = 0; round < 100; round++) {
                const char *p = placeholder(made("", 40, hex));
                check(strspn(p, hex) == 40);
                p = placeholder(made("", 32, "0123456789ABCDEF"));
                check(strspn(p, "0123456789ABCDEF") == 32);
                char uuid[40];
                snprintf(uuid, sizeof(uuid), "%.8s-%.4s-4%.3s-b%.3s-%.12s", made("", 8, hex), made("", 4, hex), made("", 3, hex), made("", 3, hex), made("", 12, hex));
                p = placeholder(uuid);
                check(strlen(p) == 36 && p[8] == '-' && p[14] == '4' && p[19] == 'b' && strspn(p, "0123456789abcdef-") == 36);
        }
        for (unsigned round = 0; round < 20; round++)
                check(strspn(placeholder("0123456789abcdef"), hex) == 16);
}

/* With a prefix before it too. */
TEST(uuid_of_a_kind) {
        for (unsigned round = 0; round < 20; round++) {
                const char *p = placeholder("sk-ant-" "01234567-89ab-4cde-8f01-23456789abcd");
                check(str_after(p, "sk-ant-") && p[7 + 14] == '4' && p[7 + 19] == '8');
        }
}

static bool goes_beyond(const char *value, size_t at, const char *alphabet) {
        for (unsigned round = 0; round < 60; round++)
                if (!strchr(alphabet, placeholder(value)[at]))
                        return true;
        return false;
}

/* A word that happens to be of these letters is no number, nor is one with others, or in both cases. */
TEST(not_hexadecimal) {
        check(goes_beyond("deadbeefcafe", 0, hex));
        check(goes_beyond("deadbeefcafe012", 0, hex));
        check(!goes_beyond("deadbeefcafe0123", 0, hex));
        check(goes_beyond("gggggggggggggggggggggggg", 0, hex));
        check(goes_beyond("deadbeefcafe0123.", 0, hex));
        check(goes_beyond("deadbeefCAFE0123", 0, hex));
        check(goes_beyond("deadbeefCAFE0123", 8, "0123456789ABCDEF"));
        check(goes_beyond("g1234567-89ab-4cde-8f01-23456789abcd", 14, "4")); /* no UUID */
        check(goes_beyond("01234567-89ab-4cde-8f01-23456789abc", 14, "4"));
        check(goes_beyond("0123456789ab-74cde-8f01-2345-6789abc", 14, "4"));
        check(!goes_beyond("01234567-89ab-4cde-8f01-23456789abcd", 19, "8"));
}

static void base64url(const char *s, char *ret) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        size_t n = strlen(s), at = 0;

        for (size_t i = 0; i < n; i += 3) {
                uint32_t v = (uint32_t)(unsigned char)s[i] << 16 | (i + 1 < n ? (uint32_t)(unsigned char)s[i + 1] << 8 : 0) | (i + 2 < n ? (unsigned char)s[i + 2] : 0);
                for (unsigned k = 0; k < MIN(n - i, 3u) + 1; k++)
                        ret[at++] = digits[v >> (18 - 6 * k) & 63];
        }
        ret[at] = 0;
}

TEST(jwt) {
        char header[128], payload[128], token[512];

        base64url("{\"alg\":\"RS256\",\"typ\":\"JWT\"}", header);
        base64url("{\"sub\":\"somebody\",\"exp\":4102444800}", payload);
        snprintf(token, sizeof(token), "%s.%s.%s", header, payload, made("", 86, mixed));
        const struct secret_kind *k = kind_of(token);
        check(k != NULL);
        check_streq(k->name, "JSON Web Token");
        const char *p = placeholder(token);
        check(strncmp(p, token, strlen(header) + 1) == 0);
        check(strncmp(p + strlen(header) + 1, payload, strlen(payload)) != 0);
        check(p[strlen(header) + 1 + strlen(payload)] == '.');
        check(secret_foreign("cookie", token, strlen(token)));
        bool first = false;
        for (unsigned round = 0; round < 20; round++)
                first |= placeholder(token)[strlen(header) + 1] != payload[0];
        check(first);
        token[strlen(header)] = '!';
        check(!kind_of(token));
        /* The shortest. */
        check(kind_of("eyJh.bcde.fghijklmnopqrst"));
        check(!kind_of("eyJh.bcde.fghijklmnopqrs"));
        check(!kind_of("eyJ.bcde.fghijklmnopqrstu"));
        check(!kind_of("eyJh.bcd.fghijklmnopqrstu"));
        check(!kind_of("eyJhbcdefghijk.fghijklmnopqrstu"));
}

static void refused(const char *value, size_t n, const char *why) {
        static uint8_t random[PLACEHOLDER_RANDOM(SECRET_VALUE_MAX + 1)];
        char ret[SECRET_VALUE_MAX + 2] = "untouched";
        struct error e = {};

        chances(random, sizeof(random));
        check(placeholder_make(value, n, random, sizeof(random), ret, &e) == -EINVAL);
        check_streq(ret, "untouched");
        if (!strstr(e.msg, why))
                printf("# %s\n", e.msg);
        check(strstr(e.msg, why));
        check(n < 4 || (!memmem(e.msg, strlen(e.msg), value, 4) && !memmem(e.fix, strlen(e.fix), value, 4)));
        check(placeholder_make(value, n, random, sizeof(random), ret, NULL) == -EINVAL);
}

TEST(refused) {
        char big[SECRET_VALUE_MAX + 2];

        refused("", 0, "too short");
        refused("Abcdef7", 7, "too short");
        memset(big, 'x', sizeof(big));
        refused(big, SECRET_VALUE_MAX + 1, "more than 4096");
        refused(" Abcdefgh12345", 14, "blank at its beginning");
        refused("Abcdefgh12345 ", 14, "blank at its end");
        refused("Abcdefgh\n12345", 14, "the 9. of 14 (a line's end)");
        refused("Abcdefgh\t12345", 14, "printable");
        refused("Abcdefgh\0k12345", 15, "printable");
        refused("Abcdefgh\177x12345", 15, "printable");
        for (unsigned i = 0; i < 14; i++) {
                char one[] = "Abcdefgh123456";
                one[i] = '\n';
                refused(one, 14, "printable");
        }
        refused("Abcd\xc3\xbc" "fgh12345", 14, "printable");
        refused("12345678", 8, "too few letters and digits");
        refused("abcdefgh", 8, "too few letters and digits");
        refused("--------------------------------", 32, "too few letters and digits");
        refused("0123456789ab0123", 8, "too few letters and digits");
        refused("xoxb---------------------------1", 32, "too few letters and digits");
}

TEST(too_little_randomness) {
        const char *value = made("ghp_", 36, mixed);
        char ret[64] = "untouched";
        uint8_t random[36], high[4096];
        struct error e = {};

        memset(random, 1, sizeof(random));
        check(placeholder_make(value, 40, NULL, 0, ret, &e) == -ENOBUFS && e.errnum == ENOBUFS);
        check(placeholder_make(value, 40, random, 35, ret, &e) == -ENOBUFS);
        check_streq(ret, "untouched");
        memset(high, 255, sizeof(high)); /* none of them counts, with any class */
        check(placeholder_make(value, 40, high, sizeof(high), ret, &e) == -ENOBUFS);
}

/* Bytes that make the value itself are used up, and the next are taken. */
TEST(never_the_value) {
        const char *value = "aaaaaaaaaaaa";
        uint8_t random[24] = {};
        char ret[16] = "untouched";

        memset(random + 12, 1, 12);
        check(placeholder_make(value, 12, random, 12, ret, NULL) == -ENOBUFS);
        check_streq(ret, "untouched");
        check(placeholder_make(value, 12, random, 24, ret, NULL) == 0);
        check_streq(ret, "bbbbbbbbbbbb");
}

/* Every byte value once: each letter and digit comes as often as each other. */
TEST(uniform) {
        unsigned letters[26] = {}, digits[10] = {}, hexes[6] = {};
        uint8_t random[64];
        char ret[64];

        for (unsigned b = 0; b < 256; b++) {
                memset(random, 1, sizeof(random));
                random[0] = (uint8_t)b;
                check(placeholder_make("zaaaaaaaaaaaaaa", 15, random, sizeof(random), ret, NULL) == 0);
                if (b < 234)
                        letters[ret[0] - 'a']++;
                else
                        check(ret[0] == 'b'); /* passed over */
                check(placeholder_make("9aaaaaaaaaaaaaa", 15, random, sizeof(random), ret, NULL) == 0);
                if (b < 250)
                        digits[ret[0] - '0']++;
                check(placeholder_make("faaaaaaaaaaaaaaaaaaa0123", 24, random, sizeof(random), ret, NULL) == 0);
                if (b < 252)
                        hexes[ret[0] - 'a']++;
        }
        for (unsigned i = 0; i < 26; i++)
                check(letters[i] == 9);
        for (unsigned i = 0; i < 10; i++)
                check(digits[i] == 25);
        for (unsigned i = 0; i < 6; i++)
                check(hexes[i] == 42);
}

static bool foreign(const char *name, const char *value) {
        char *copy = exact(value, strlen(value));
        bool r = secret_foreign(name, copy, strlen(value));

        free(copy);
        return r;
}

TEST(foreign_authorization) {
        check(foreign("Authorization", "Bearer abcdef"));
        check(foreign("authorization", "token 0123456789"));
        check(foreign("AUTHORIZATION", "  Bearer\tabcdef "));
        check(foreign("Proxy-Authorization", "Bearer abcdef"));
        check(foreign("x_forwarded_authorization", "Bearer abcdef"));
        check(foreign("Authorization", "Digest username=\"u\", response=\"0\""));
        check(foreign("Authorization", "AWS4-HMAC-SHA256 Credential=a/20150830/r/s/aws4_request, SignedHeaders=host, Signature=0"));
        check(foreign("Authorization", "key-without-a-scheme"));
        check(foreign("Authorization", "Basic dXNlcjpwYXNz"));    /* user:pass */
        check(foreign("Authorization", "basic OnBhc3M="));        /* :pass */
        check(foreign("Authorization", "Basic ****"));            /* who knows */
        check(foreign("Authorization", "Basic dXNlcjpwYXNz dXNlcjo="));
        check(foreign("Authorization", "Basic dXNlcjo6")); /* user:: */
        check(!foreign("Authorization", ""));
        check(!foreign("Authorization", "   "));
        check(!foreign("Authorization", "Bearer"));
        check(!foreign("Authorization", "bearer "));
        check(!foreign("Authorization", "\tbearer \t"));
        check(!foreign("Authorization", "Basic YT4/Og==")); /* a>?: */
        check(!foreign("Authorization", "Basic YT4_Og"));
        check(!foreign("Authorization", "Basic YX5+Og==")); /* a~~: */
        check(!foreign("Authorization", "Basic YX5-Og"));
        check(!foreign("Authorization", "Basic"));
        check(!foreign("Authorization", "Basic =="));
        check(!foreign("Authorization", "Basic dXNlcjo="));  /* user: */
        check(!foreign("Authorization", "Basic dXNlcjo"));
        check(!foreign("Authorization", "Basic dXNlcjo= "));
        check(!foreign("Authorization", "Digest"));
        check(foreign("Authorization", "abcdef")); /* no scheme, of a scheme's length */
        check(!foreign("Authorization", "Basic dXNlcg=="));  /* user */
        check(!foreign("Authorization", "Basic Og=="));      /* : */
        check(!foreign("Authorization", "Basic c29tZWJvZHlAZXhhbXBsZS50ZXN0Og==")); /* somebody@example.test: */
}

/* A secret as the user of Basic. */
TEST(foreign_user) {
        char user[256], field[512] = "Basic ";

        snprintf(user, sizeof(user), "%s:", made("sk_" "live_", 24, mixed));
        base64url(user, field + 6);
        check(foreign("Authorization", field));
        snprintf(user, sizeof(user), "%s:", made("a1", 38, hex));
        base64url(user, field + 6);
        check(foreign("Authorization", field));
        snprintf(user, sizeof(user), "%s", made("ghp_", 36, mixed));
        base64url(user, field + 6);
        check(foreign("Authorization", field));
        static const struct {
                const char *user;
                bool secret;
        } users[] = {{"build-agent-of-some-department-2", false}, {"abcdefghijklmnopqrstuvwxyzabcdef", false}, {"12345678901234567890123456789012", false},
                {"a234567890123456789012345678901", false}, {"a2345678901234567890123456789012", true}, {"1bcdefghijklmnopqrstuvwxyzABCDEF", true},
                {"a234567890123456789012345678901-", false}, {"a23456789012345678901234567890-2", false}, {"a1", false}};
        for (size_t i = 0; i < ELEMENTSOF(users); i++) {
                snprintf(user, sizeof(user), "%s:", users[i].user);
                base64url(user, field + 6);
                check(foreign("Authorization", field) == users[i].secret);
        }
        char *big = malloc(2 * SECRET_VALUE_MAX);
        check(big != NULL);
        memcpy(big, "Basic ", 6);
        memset(big + 6, 'A', 2 * SECRET_VALUE_MAX - 6);
        check(secret_foreign("Authorization", big, 2 * SECRET_VALUE_MAX));
        free(big);
}

TEST(foreign_fields) {
        static const char *const keys[] = {"x-api-key", "X-Goog-Api-Key", "api-key", "Private-Token", "x-auth-token", "X-Amz-Security-Token", "DD-API-KEY",
                "Ocp-Apim-Subscription-Key", "X-Vault-Token", "apikey", "JOB-TOKEN", "x_api_key", "X_Auth-Token", "Token"};
        static const char *const others[] = {"X-CSRF-Token", "If-Match", "Accept", "X-Request-Id", "Cookie", "Idempotency-Key", "User-Agent", "Sec-WebSocket-Key",
                "x-continuation-token", "tokens", "csrf-token", ""};
        char text[512];

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                check(foreign(keys[i], "x"));
                check(!foreign(keys[i], ""));
                check(!foreign(keys[i], " \t "));
        }
        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                check(!foreign(others[i], "dGhlIHNhbXBsZSBub25jZQ=="));
                check(!foreign(others[i], "a=b; session=0123456789abcdef0123456789abcdef; sk-learn=1; ghp_=x"));
                check(foreign(others[i], made("ghp_", 36, mixed)));
        }
        snprintf(text, sizeof(text), "a=b; token=%s; c=d", made("glpat-", 20, mixed));
        check(foreign("Cookie", text));
        snprintf(text, sizeof(text), "a=%%7B%%22t%%22%%3A%%22%s%%22%%7D", made("ghp_", 36, mixed));
        check(foreign("Cookie", text));
        snprintf(text, sizeof(text), "%%22%s", made("ghp_", 36, mixed));
        check(foreign("Cookie", text));
        static const char *const within[] = {"x", "-", "_", "a22", "%2g", "%g2", "222", "2%2"};
        for (size_t i = 0; i < ELEMENTSOF(within); i++) {
                snprintf(text, sizeof(text), "%s%s", within[i], made("ghp_", 36, mixed));
                check(!foreign("Cookie", text));
        }
        snprintf(text, sizeof(text), "\"%s\"", made("sk-ant-" "api03-", 90, mixed));
        check(foreign("X-Note", text));
}

TAP_MAIN
