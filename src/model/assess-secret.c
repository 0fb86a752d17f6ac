/* Which names and values are credentials; see assess-internal.h. Names are judged by their last words, because
 * POSTGRES_PASSWORD holds one and PASSWORD_MIN_LENGTH does not; values by the published forms of their issuers. */
#include "model/assess-internal.h"
#include "model/placeholder.h"

#define NAME_WORDS 16
#define EXAMPLE_RUN 12u

/* Upper case, split at everything that is no letter or digit and where lower case turns to upper. */
static size_t words_of(const char *name, char words[NAME_WORDS][24]) {
        size_t n = 0, len = 0;

        for (const char *p = name; *p && n < NAME_WORDS; p++) {
                bool upper = *p >= 'A' && *p <= 'Z', lower = *p >= 'a' && *p <= 'z', digit = *p >= '0' && *p <= '9';
                bool turn = upper && p > name && p[-1] >= 'a' && p[-1] <= 'z';
                if (len > 0 && (turn || !(upper || lower || digit))) {
                        words[n++][len] = 0;
                        len = 0;
                        if (n == NAME_WORDS)
                                break;
                }
                if ((upper || lower || digit) && len < sizeof(words[0]) - 1)
                        words[n][len++] = (char)(lower ? *p - 32 : *p);
        }
        if (len > 0 && n < NAME_WORDS)
                words[n++][len] = 0;
        return n;
}

static bool ends_with(const char *s, const char *end) {
        size_t n = strlen(s), m = strlen(end);
        return n >= m && streq(s + n - m, end);
}

bool secret_name(const char *name) {
        static const char *const ends[] = {"SECRET", "SECRETS", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PAT", "PSK",
                "TOKEN", "APIKEY", "PASS"};
        static const char *const not_keys[] = {"PUBLIC", "CACHE", "PARTITION", "SORT", "PRIMARY", "FOREIGN", "PUB",
                "HOST", "ROUTING", "IDEMPOTENCY", "OBJECT", "ROOT", "STATE", "LABEL", "PUBLISHABLE", "SITE", "NO"};
        char words[NAME_WORDS][24];
        size_t n = words_of(name, words);

        if (n == 0)
                return false;
        const char *last = words[n - 1], *before = n > 1 ? words[n - 2] : "";
        /* A number at the end counts for nothing: API_KEY_2, TOKEN1. */
        if (n > 1 && strspn(last, "0123456789") == strlen(last)) {
                last = words[n - 2];
                before = n > 2 ? words[n - 3] : "";
        }
        if (ends_with(last, "PASSWORD") || ends_with(last, "PASSWD") || (streq(last, "PWD") && n > 1))
                return !streq(before, "EMPTY") && !streq(before, "NO");
        if (one_of(last, ends, ELEMENTSOF(ends)))
                return !streq(before, "PUBLIC") && !streq(before, "NO") && !streq(before, "MAX") &&
                       !streq(before, "CSRF");
        if (streq(last, "KEY") || streq(last, "KEYS"))
                return n > 1 && !one_of(before, not_keys, ELEMENTSOF(not_keys));
        if (streq(last, "ID") && streq(before, "KEY") && n > 2 && streq(words[n - 3], "ACCESS"))
                return true;
        return streq(last, "BASE") && streq(before, "KEY");
}

static size_t run_of(const char *s, const char *more) {
        size_t n = 0;
        while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || (s[n] >= '0' && s[n] <= '9') ||
                (s[n] && strchr(more, s[n])))
                n++;
        return n;
}

/* scheme://user:password@host at s, which stands at "://". The password must be no variable. */
static bool url_password(const char *s) {
        const char *user = s + 3;
        size_t n = strcspn(user, ":/@?# \t\n\"'");
        if (user[n] != ':')
                return false;
        const char *password = user + n + 1;
        size_t m = strcspn(password, "/@?# \t\n\"'");
        return m > 0 && password[m] == '@' && password[0] != '$' && password[0] != '<' && password[0] != '{' &&
               password[0] != '%';
}

/* What no request carries as it stands: placeholder.c knows the rest. */
static const struct {
        const char *prefix;
        size_t at_least; /* characters after it */
        const char *more, *what;
} others[] = {{"AGE-SECRET-KEY-1", 50, "", "an age key"}, {"hooks.slack.com/services/T", 20, "/", "a Slack webhook"},
        {"discord.com/api/webhooks/", 40, "-_/", "a Discord webhook"}};

/* What p begins with, and the bytes of its prefix. */
static const char *form_at(const char *p, size_t n, size_t *ret_prefix) {
        size_t all;
        const struct secret_kind *kind = secret_kind_at(p, n, &all);

        *ret_prefix = kind ? strlen(kind->prefix) : 0;
        for (size_t i = 0; !kind && i < ELEMENTSOF(others); i++) {
                const char *rest = *p == others[i].prefix[0] ? str_after(p, others[i].prefix) : NULL;
                *ret_prefix = strlen(others[i].prefix);
                if (rest && run_of(rest, others[i].more) >= others[i].at_least)
                        return others[i].what;
        }
        return kind ? kind->found : NULL;
}

/* A run of one letter is an example of the form. */
static bool is_example(const char *rest) { return strspn(rest, (char[]){rest[0], 0}) >= EXAMPLE_RUN; }

const char *secret_form(const char *value) {
        const char *end_of_value = value + strlen(value);
        char before = 0;

        for (const char *p = value; *p; before = *p++) {
                if (p[0] == ':' && p[1] == '/' && p[2] == '/' && url_password(p))
                        return "an address with a password";
                if (p[0] == '-' && str_after(p, "-----BEGIN ")) {
                        const char *end = strstr(p + 11, "-----");
                        if (end && end - p < 60 && end - p > 11 && end[-1] == 'Y' && strncmp(end - 3, "KEY", 3) == 0 &&
                                memmem(p, (size_t)(end - p), "PRIVATE", 7))
                                return "a private key";
                }
                /* At the beginning of a word only. */
                if ((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
                        (before >= '0' && before <= '9') || before == '_' || before == '-')
                        continue;
                size_t prefix;
                const char *what = form_at(p, (size_t)(end_of_value - p), &prefix);
                if (what && !is_example(p + prefix))
                        return what;
        }
        return NULL;
}

bool secret_placeholder(const char *value) {
        static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "none", "null", "0", "1",
                "disabled", "enabled", "file", "auto"};
        char first[32] = "";

        for (size_t i = 0; i < sizeof(first) - 1 && value[i]; i++)
                first[i] = (char)(value[i] >= 'A' && value[i] <= 'Z' ? value[i] + 32 : value[i]);
        if (!*value || one_of(first, words, ELEMENTSOF(words)))
                return true;
        if (value[0] == '<' || value[0] == '[' || strstr(value, "{{") || str_after(value, "/") ||
                str_after(value, "./"))
                return true;
        if (str_after(first, "your") || str_after(first, "insert") || str_after(first, "replace") ||
                str_after(first, "example") || str_after(first, "dummy") || str_after(first, "placeholder"))
                return true;
        return strspn(first, "x") == strlen(first) || strspn(value, "*.") == strlen(value);
}
