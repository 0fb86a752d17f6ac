/* Placeholders, and the forms of known secrets; see placeholder.h. The forms are the published ones of their issuers. */
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "base/base64.h"
#include "base/str.h"
#include "model/placeholder.h"
#include "model/request.h"

#define CHECKSUM_WORD 30u   /* characters of a GitHub or npm token between its prefix and its checksum */
#define CHECKSUM_LENGTH 6u  /* of CRC-32 in base 62 */
#define HEX_MIN 16u         /* digits: a shorter word of a to f is no number by itself */

enum {
        CHECKSUM = 1 << 0, /* its last six characters are one, where it has the usual length */
        BASE32 = 1 << 1,   /* A to Z and 2 to 7 */
};

struct form {
        struct secret_kind kind;
        size_t at_least;  /* characters behind the prefix: letters, digits and those of `more` */
        const char *more;
        unsigned flags;
};
#define BEARER SECRET_HEADER, "Authorization: Bearer {}"
#define GITHUB "api.github.com github.com uploads.github.com"
/* A prefix that begins with another stands before it. */
static const struct form forms[] = {
        {{"GitHub personal access token", "ghp_", "a GitHub token", GITHUB, NULL, BEARER}, 30, "", CHECKSUM},
        {{"GitHub OAuth token", "gho_", "a GitHub token", GITHUB, NULL, BEARER}, 30, "", CHECKSUM},
        {{"GitHub App user token", "ghu_", "a GitHub token", GITHUB, NULL, BEARER}, 30, "", CHECKSUM},
        {{"GitHub App installation token", "ghs_", "a GitHub token", GITHUB, NULL, BEARER}, 30, "", CHECKSUM},
        {{"GitHub App refresh token", "ghr_", "a GitHub token", "github.com", NULL, SECRET_ANY_FIELD, NULL}, 30, "", CHECKSUM},
        {{"GitHub fine-grained token", "github_pat_", "a GitHub token", GITHUB, NULL, BEARER}, 40, "_", 0},
        {{"GitLab personal access token", "glpat-", "a GitLab token", "gitlab.com", NULL, SECRET_HEADER, "Private-Token: {}"}, 18, "-_.", 0},
        {{"npm token", "npm_", "an npm token", NULL, "npm-install", BEARER}, 36, "", CHECKSUM},
        {{"PyPI token", "pypi-", "a PyPI token", NULL, "pip-install", SECRET_BASIC, "__token__"}, 50, "-_", 0},
        {{"Anthropic OAuth token", "sk-ant-oat01-", "an Anthropic key", "api.anthropic.com", NULL, BEARER}, 20, "-_", 0},
        {{"Anthropic API key", "sk-ant-api03-", "an Anthropic key", "api.anthropic.com", NULL, SECRET_HEADER, "x-api-key: {}"}, 20, "-_", 0},
        {{"Anthropic admin key", "sk-ant-admin01-", "an Anthropic key", "api.anthropic.com", NULL, SECRET_HEADER, "x-api-key: {}"}, 20, "-_", 0},
        {{"Anthropic key", "sk-ant-", "an Anthropic key", "api.anthropic.com", NULL, SECRET_HEADER, "x-api-key: {}"}, 20, "-_", 0},
        {{"OpenAI project key", "sk-proj-", "an OpenAI key", "api.openai.com", NULL, BEARER}, 20, "-_", 0},
        {{"OpenAI service account key", "sk-svcacct-", "an OpenAI key", "api.openai.com", NULL, BEARER}, 20, "-_", 0},
        {{"OpenAI admin key", "sk-admin-", "an OpenAI key", "api.openai.com", NULL, BEARER}, 20, "-_", 0},
        {{"OpenRouter key", "sk-or-v1-", "an OpenRouter key", "openrouter.ai", NULL, BEARER}, 32, "", 0},
        {{"API key of OpenAI's form", "sk-", "an API key (sk-)", NULL, NULL, BEARER}, 32, "", 0}, /* DeepSeek and others have it too */
        {{"Groq key", "gsk_", "a Groq key", "api.groq.com", NULL, BEARER}, 40, "", 0},
        {{"xAI key", "xai-", "an xAI key", "api.x.ai", NULL, BEARER}, 40, "", 0},
        {{"Google API key", "AIza", "a Google key", "*.googleapis.com", NULL, SECRET_HEADER, "x-goog-api-key: {}"}, 35, "-_", 0},
        {{"Google OAuth token", "ya29.", "a Google token", "*.googleapis.com", NULL, BEARER}, 40, "-_.", 0},
        {{"AWS access key id", "AKIA", "an AWS key", "*.amazonaws.com", NULL, SECRET_ANY_FIELD, NULL}, 16, "", BASE32},
        {{"AWS temporary access key id", "ASIA", "an AWS key", "*.amazonaws.com", NULL, SECRET_ANY_FIELD, NULL}, 16, "", BASE32},
        {{"Slack bot token", "xoxb-", "a Slack token", "slack.com *.slack.com", NULL, BEARER}, 20, "-", 0},
        {{"Slack user token", "xoxp-", "a Slack token", "slack.com *.slack.com", NULL, BEARER}, 20, "-", 0},
        {{"Slack app token", "xapp-", "a Slack token", "slack.com *.slack.com", NULL, BEARER}, 20, "-", 0},
        {{"Stripe live key", "sk_live_", "a Stripe key", "api.stripe.com", NULL, BEARER}, 16, "", 0},
        {{"Stripe test key", "sk_test_", NULL, "api.stripe.com", NULL, BEARER}, 16, "", 0},
        {{"Stripe restricted live key", "rk_live_", "a Stripe key", "api.stripe.com", NULL, BEARER}, 16, "", 0},
        {{"Stripe restricted test key", "rk_test_", NULL, "api.stripe.com", NULL, BEARER}, 16, "", 0},
        {{"Hugging Face token", "hf_", "a Hugging Face token", "huggingface.co *.huggingface.co", NULL, BEARER}, 30, "", 0},
        {{"DigitalOcean token", "dop_v1_", "a DigitalOcean token", "api.digitalocean.com", NULL, BEARER}, 60, "", 0},
        {{"SendGrid key", "SG.", "a SendGrid key", "api.sendgrid.com", NULL, BEARER}, 60, "-_.", 0},
        {{"Docker Hub token", "dckr_pat_", "a Docker Hub token", "hub.docker.com auth.docker.io", NULL, SECRET_ANY_FIELD, NULL}, 20, "-_", 0},
};
static const struct form jwt = {{"JSON Web Token", "eyJ", NULL, NULL, NULL, BEARER}, 20, "-_", 0};

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_alnum(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }
static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

static size_t run_of(const char *s, size_t n, const char *more) {
        size_t i = 0;

        while (i < n && (is_alnum(s[i]) || (s[i] && strchr(more, s[i]))))
                i++;
        return i;
}

static bool begins(const char *s, size_t n, const char *prefix) {
        size_t m = strlen(prefix);
        return n >= m && memcmp(s, prefix, m) == 0;
}

/* Bytes of a JWT's header with its dot (RFC 7515 section 3.1: three parts of base64url, the first of which begins with '{"');
 * 0: it begins with none. */
static size_t jwt_header(const char *s, size_t n, size_t *ret_all) {
        size_t at = 0, header = 0;

        if (!begins(s, n, jwt.kind.prefix))
                return 0;
        for (unsigned part = 0; part < 3; part++) {
                size_t m = run_of(s + at, n - at, jwt.more);
                if (m < 4)
                        return 0;
                at += m;
                if (part == 2)
                        break;
                if (at == n || s[at] != '.')
                        return 0;
                at++;
                if (part == 0)
                        header = at;
        }
        if (at < header + jwt.at_least)
                return 0;
        *ret_all = at;
        return header;
}

/* The form of what s begins with, and of how many bytes that is. */
static const struct form *form_at(const char *s, size_t n, size_t *ret_n) {
        for (size_t i = 0; i < ELEMENTSOF(forms); i++) {
                const struct form *f = forms + i;
                if (n == 0 || *s != *f->kind.prefix || !begins(s, n, f->kind.prefix))
                        continue;
                size_t prefix = strlen(f->kind.prefix), run = run_of(s + prefix, n - prefix, f->more);
                if (run >= f->at_least) {
                        *ret_n = prefix + run;
                        return f;
                }
        }
        return jwt_header(s, n, ret_n) > 0 ? &jwt : NULL;
}

static const struct form *form_of(const char *value, size_t n) {
        size_t all = 0;
        const struct form *f = form_at(value, n, &all);

        return f && all == n ? f : NULL;
}

const struct secret_kind *secret_kind_at(const char *s, size_t n, size_t *ret_n) {
        const struct form *f = form_at(s, n, ret_n);
        return f ? &f->kind : NULL;
}

const struct secret_kind *secret_kind_of(const char *value, size_t n) {
        const struct form *f = form_of(value, n);
        return f ? &f->kind : NULL;
}

/* A value, and what of it is replaced by what. */
struct shape {
        const char *value;
        size_t n;
        size_t kept; /* bytes at its beginning */
        bool hex, base32, uuid;
        bool checksum;
};

/* In one case only. Dashes may divide it. */
static bool is_hex_word(const char *s, size_t n) {
        size_t digits = 0;
        bool lower = false, upper = false;

        for (size_t i = 0; i < n; i++) {
                if (s[i] != '-' && !is_hex(s[i]))
                        return false;
                digits += s[i] != '-';
                lower |= is_lower(s[i]);
                upper |= is_upper(s[i]);
        }
        return digits >= HEX_MIN && !(lower && upper);
}

/* 8-4-4-4-12. */
static bool is_uuid_shape(const char *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                if ((s[i] == '-') != (i == 8 || i == 13 || i == 18 || i == 23))
                        return false;
        return n == 36;
}

static struct shape shape_of(const char *value, size_t n) {
        const struct form *f = form_of(value, n);
        struct shape s = {value, n};
        size_t all = 0;

        if (f)
                s.kept = f == &jwt ? jwt_header(value, n, &all) : strlen(f->kind.prefix);
        const char *rest = value + s.kept;
        size_t left = n - s.kept;
        s.hex = is_hex_word(rest, left);
        s.uuid = s.hex && is_uuid_shape(rest, left);
        s.base32 = f && f->flags & BASE32;
        s.checksum = f && f->flags & CHECKSUM && left == CHECKSUM_WORD + CHECKSUM_LENGTH;
        return s;
}

/* What a byte is replaced by one of. n 0: it is kept. */
struct class {
        char first;
        uint8_t n;
        uint16_t bits; /* hundredths, rounded down */
};
static struct class class_at(const struct shape *s, size_t i) {
        char c = s->value[i];

        if (i < s->kept || (s->uuid && (i - s->kept == 14 || i - s->kept == 19))) /* RFC 9562 section 4: variant, version */
                return (struct class){};
        if (is_digit(c))
                return s->base32 && c >= '2' && c <= '7' ? (struct class){'2', 6, 258} : (struct class){'0', 10, 332};
        if (is_lower(c))
                return s->hex ? (struct class){'a', 6, 258} : (struct class){'a', 26, 470};
        if (is_upper(c))
                return s->hex ? (struct class){'A', 6, 258} : (struct class){'A', 26, 470};
        return (struct class){};
}

/* Random bytes, and how far they are used. */
struct source {
        const uint8_t *p;
        size_t n, at;
};

/* Each of n with the same chance: what is beyond the greatest multiple of n that a byte holds is passed over. */
static int choose(struct source *s, uint8_t n, uint8_t *ret) {
        while (s->at < s->n) {
                uint8_t byte = s->p[s->at++];
                if (byte < 256 / n * n) {
                        *ret = byte % n;
                        return 0;
                }
        }
        return -ENOBUFS;
}

static int fill(const struct shape *s, struct source *from, char *ret) {
        for (size_t i = 0; i < s->n; i++) {
                struct class c = class_at(s, i);
                uint8_t chosen = 0;
                if (c.n > 0 && choose(from, c.n, &chosen) < 0)
                        return -ENOBUFS;
                ret[i] = c.n > 0 ? (char)(c.first + chosen) : s->value[i];
        }
        return 0;
}

static uint32_t crc32_of(const char *s, size_t n) {
        uint32_t crc = UINT32_MAX;

        for (size_t i = 0; i < n; i++) {
                crc ^= (unsigned char)s[i];
                for (unsigned bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
        return ~crc;
}

/* As GitHub and npm have it: the CRC-32 of the word before, in base 62 (digits, upper case, lower case). */
static bool checksum_is_right(const char *word) {
        static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        uint32_t crc = crc32_of(word, CHECKSUM_WORD);

        for (size_t i = CHECKSUM_LENGTH; i-- > 0; crc /= 62)
                if (word[CHECKSUM_WORD + i] != digits[crc % 62])
                        return false;
        return true;
}

/* The checksum of a placeholder is wrong, always. Clients look at prefix, length and alphabet, and go on; who verifies the
 * checksum are scanners for leaked tokens, which then take a placeholder in a commit for what it is, no token of anybody. And
 * no service can ever have issued it. Were it right by chance, the last character becomes the next of its class. */
static void break_checksum(const struct shape *s, char *ret) {
        char *last = ret + s->n - 1;
        struct class c = class_at(s, s->n - 1);

        if (s->checksum && checksum_is_right(ret + s->kept))
                *last = (char)(c.first + (*last - c.first + 1) % c.n);
}

static int check_value(const char *value, size_t n, struct error *e) {
        if (n < SECRET_VALUE_MIN)
                return error_set(e, EINVAL, "the value has %zu bytes, and fewer than %u are too short for a secret", n, SECRET_VALUE_MIN);
        if (n > SECRET_VALUE_MAX)
                return error_set(e, EINVAL, "the value has more than %u bytes", SECRET_VALUE_MAX);
        for (size_t i = 0; i < n; i++)
                if (value[i] < ' ' || value[i] > '~')
                        return error_set(e, EINVAL, "the value has a byte that is no printable ASCII character, the %zu. of %zu%s", i + 1, n,
                                         value[i] == '\n' ? " (a line's end)" : "");
        if (value[0] == ' ' || value[n - 1] == ' ')
                return error_set(e, EINVAL, "the value has a blank at its %s", value[0] == ' ' ? "beginning" : "end");
        return 0;
}

static bool has_bits(const struct shape *s) {
        size_t bits = 0;

        for (size_t i = 0; i < s->n; i++)
                bits += class_at(s, i).bits;
        return bits >= PLACEHOLDER_BITS_MIN * 100;
}

int placeholder_make(const char *value, size_t n, const uint8_t *random, size_t n_random, char *ret, struct error *e) {
        struct source from = {random, n_random, 0};
        char made[SECRET_VALUE_MAX + 1];

        int r = check_value(value, n, e);
        if (r < 0)
                return r;
        struct shape s = shape_of(value, n);
        if (!has_bits(&s)) {
                error_set(e, EINVAL, "the value has too few letters and digits to have a placeholder that cannot be guessed");
                return error_fix(e, "take a longer one: thirteen letters and digits are enough");
        }
        do {
                if (fill(&s, &from, made) < 0)
                        return error_set(e, ENOBUFS, "%zu random bytes are too few for a placeholder of %zu bytes", n_random, n);
                break_checksum(&s, made);
        } while (memcmp(made, value, n) == 0);
        made[n] = 0;
        memcpy(ret, made, n + 1);
        return 0;
}

/* --- What a header field brings --- */

static struct request_text trim(const char *s, size_t n) {
        while (n > 0 && (*s == ' ' || *s == '\t'))
                s++, n--;
        while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
                n--;
        return (struct request_text){s, n};
}

/* A word of a known kind. Words begin behind what is no letter, digit, '-' or '_', and behind an encoded byte (%22). */
static bool has_known(const char *s, size_t n) {
        size_t length = 0;

        for (size_t i = 0; i < n; i++) {
                bool encoded = i >= 3 && s[i - 3] == '%' && is_hex(s[i - 2]) && is_hex(s[i - 1]);
                if (i > 0 && !encoded && (is_alnum(s[i - 1]) || s[i - 1] == '-' || s[i - 1] == '_'))
                        continue;
                if (form_at(s + i, n - i, &length))
                        return true;
        }
        return false;
}

/* A user without a password is none, unless the user is the secret itself, as with Stripe and `https://TOKEN@github.com`: of
 * a known kind, or a long word of letters and digits. */
static bool is_secret_user(const char *s, size_t n) {
        bool letter = false, digit = false;

        if (has_known(s, n))
                return true;
        for (size_t i = 0; i < n; i++) {
                if (!is_alnum(s[i]))
                        return false;
                letter |= !is_digit(s[i]);
                digit |= is_digit(s[i]);
        }
        return n >= 32 && letter && digit;
}

static bool basic_is_secret(struct request_text t) {
        char decoded[SECRET_VALUE_MAX] = {};

        if (t.n == 0)
                return false;
        ssize_t n = base64_decode(t.p, t.n, decoded, sizeof(decoded));
        if (n <= 0)
                return n < 0; /* nobody knows what a server makes of what cannot be decoded */
        const char *colon = memchr(decoded, ':', (size_t)n);
        if (colon && colon + 1 < decoded + n)
                return true;
        return is_secret_user(decoded, colon ? (size_t)(colon - decoded) : (size_t)n);
}

/* RFC 9110 section 11.6.2: a scheme and what belongs to it; or, as some servers have it, a key alone. */
static bool authorization_is_secret(struct request_text t) {
        static const char *const schemes[] = {"basic", "bearer", "digest", "negotiate", "ntlm", "token", "apikey", "aws4-hmac-sha256"};
        size_t n = 0;

        while (n < t.n && t.p[n] != ' ' && t.p[n] != '\t')
                n++;
        struct request_text rest = trim(t.p + n, t.n - n);
        if (n == 5 && strncasecmp(t.p, "basic", 5) == 0)
                return basic_is_secret(rest);
        if (rest.n > 0 || n == 0)
                return n > 0;
        for (size_t i = 0; i < ELEMENTSOF(schemes); i++)
                if (strlen(schemes[i]) == n && strncasecmp(t.p, schemes[i], n) == 0)
                        return false;
        return true;
}

/* In any case; '_' is '-', as it becomes for servers that hand fields on as variables (RFC 3875 section 4.1.18). */
static bool name_ends(const char *name, const char *end, bool whole) {
        size_t n = strlen(name), m = strlen(end);

        if (n < m || (whole && n > m))
                return false;
        for (name += n - m; *end; name++, end++) {
                char c = is_upper(*name) ? (char)(*name + 'a' - 'A') : *name;
                if ((c == '_' ? '-' : c) != *end)
                        return false;
        }
        return true;
}

/* Fields that are there to carry keys. Tokens against forged requests, of pages and the like are none. */
static bool is_key_field(const char *name) {
        static const char *const ends[] = {"api-key", "apikey", "api-token", "access-token", "auth-token", "auth-key", "private-token",
                "security-token", "session-token", "secret-key", "subscription-key", "functions-key", "vault-token", "job-token", "deploy-token",
                "gitlab-token", "github-token", "figma-token", "circle-token", "consul-token", "nomad-token", "application-key", "registry-auth"};
        static const char *const wholes[] = {"token", "x-token", "auth", "x-auth", "secret", "x-secret", "password", "x-password", "access-key", "x-access-key",
                "x-jfrog-art-api", "x-honeycomb-team"};

        for (size_t i = 0; i < ELEMENTSOF(ends); i++)
                if (name_ends(name, ends[i], false))
                        return true;
        for (size_t i = 0; i < ELEMENTSOF(wholes); i++)
                if (name_ends(name, wholes[i], true))
                        return true;
        return false;
}

bool secret_foreign(const char *field_name, const char *value, size_t n) {
        struct request_text t = trim(value, n);

        if (t.n == 0)
                return false;
        if (name_ends(field_name, "authorization", false) && authorization_is_secret(t))
                return true;
        return is_key_field(field_name) || has_known(t.p, t.n);
}
