/* See token.h. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "model/token.h"

/* --- requests --- */

ssize_t token_form_encode(char *buf, size_t size, const char *text) {
        static const char digits[] = "0123456789ABCDEF";
        size_t n = 0;

        for (const char *c = text; *c; c++) {
                bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("-._*", *c);
                if (n + 3 > size)
                        return -ENOBUFS;
                if (plain)
                        buf[n++] = *c;
                else if (*c == ' ')
                        buf[n++] = '+';
                else {
                        buf[n++] = '%';
                        buf[n++] = digits[(unsigned char)*c >> 4];
                        buf[n++] = digits[(unsigned char)*c & 15];
                }
        }
        return (ssize_t)n;
}

int token_form_add(char *buf, size_t size, size_t *n, const char *key, const char *value) {
        size_t at = *n, need = strlen(key) + 2;

        if (!value || !*value)
                return 0;
        if (size - at < need)
                return -ENOBUFS;
        at += (size_t)snprintf(buf + at, size - at, "%s%s=", at ? "&" : "", key);
        ssize_t k = token_form_encode(buf + at, size - at, value);
        if (k < 0)
                return (int)k;
        *n = at + (size_t)k;
        return 0;
}

/* The next word of a text of words, and its length; 0: there is none. */
static size_t next_word(const char **p, const char **ret) {
        *ret = *p + strspn(*p, " ");
        size_t n = strcspn(*ret, " ");
        *p = *ret + n;
        return n;
}

ssize_t token_github_body(char *buf, size_t size, const char *repositories, const char *permissions) {
        const char *word, *p = repositories;
        struct strbuf b = {.max = size - 1};
        size_t n;

        strbuf_puts(&b, "{\"repositories\":[");
        for (bool first = true; (n = next_word(&p, &word)) > 0; first = false)
                strbuf_printf(&b, "%s\"%.*s\"", first ? "" : ",", (int)n, word);
        strbuf_puts(&b, "],\"permissions\":{");
        p = permissions;
        for (bool first = true; (n = next_word(&p, &word)) > 0; first = false) {
                size_t name = strcspn(word, "=");
                if (name >= n) {
                        strbuf_clear(&b);
                        return -EINVAL;
                }
                strbuf_printf(&b, "%s\"%.*s\":\"%.*s\"", first ? "" : ",", (int)name, word, (int)(n - name - 1), word + name + 1);
        }
        strbuf_puts(&b, "}}");
        ssize_t r = b.failed ? -ENOBUFS : (ssize_t)b.len;
        if (!b.failed)
                memcpy(buf, b.data, b.len + 1);
        strbuf_clear(&b);
        return r;
}

ssize_t token_base64url(char *buf, size_t size, const void *data, size_t n) {
        if (BASE64_LENGTH(n) > size)
                return -ENOBUFS;
        size_t k = base64_encode(data, n, buf);
        while (k > 0 && buf[k - 1] == '=')
                k--;
        for (size_t i = 0; i < k; i++)
                buf[i] = (char)(buf[i] == '+' ? '-' : buf[i] == '/' ? '_' : buf[i]);
        return (ssize_t)k;
}

ssize_t token_jwt_head(char *buf, size_t size, const char *app_id, int64_t now) {
        static const char header[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
        char claims[200];
        int n = snprintf(claims, sizeof(claims), "{\"iat\":%lld,\"exp\":%lld,\"iss\":\"%.32s\"}", (long long)now - 60, (long long)now + TOKEN_JWT_SECONDS, app_id);
        ssize_t a = token_base64url(buf, size, header, sizeof(header) - 1);

        if (a < 0 || (size_t)a + 1 >= size)
                return -ENOBUFS;
        buf[a++] = '.';
        ssize_t b = token_base64url(buf + a, size - (size_t)a, claims, (size_t)n);
        return b < 0 ? b : a + b;
}

/* --- answers --- */

void token_answer_clear(struct token_answer *a) {
        char *texts[] = {a->token, a->refresh};

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (texts[i]) {
                        explicit_bzero(texts[i], strlen(texts[i]));
                        free(texts[i]);
                }
        *a = (struct token_answer){};
}

static json_t *read_object(const char *body, size_t n) {
        size_t depth = 0;
        bool quoted = false;

        if (n > TOKEN_BODY_MAX)
                return NULL;
        /* jansson's own cap is a few thousand, each of which takes stack. */
        for (size_t i = 0; i < n; i++) {
                if (quoted && body[i] == '\\')
                        i++;
                else if (body[i] == '"')
                        quoted = !quoted;
                else if (!quoted && (body[i] == '{' || body[i] == '['))
                        depth++;
                else if (!quoted && (body[i] == '}' || body[i] == ']'))
                        depth -= depth > 0;
                if (depth > TOKEN_DEPTH_MAX)
                        return NULL;
        }
        json_t *j = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
        if (j && !json_is_object(j)) {
                json_decref(j);
                return NULL;
        }
        return j;
}

static void json_drop(json_t **j) { json_decref(*j); }
#define _cleanup_json_ _cleanup_(json_drop)

static int not_an_answer(struct error *e) { return error_set(e, EBADMSG, "its answer is none that a token comes in"); }

/* A token as a secret's value may be. */
static int take_token(const json_t *v, char **ret, struct error *e) {
        const char *s = json_string_value(v);
        size_t n = s ? json_string_length(v) : 0;

        if (!s)
                return not_an_answer(e);
        if (n < SECRET_VALUE_MIN || n > SECRET_VALUE_MAX)
                return error_set(e, EBADMSG, "its token has %zu bytes, and one has %u to %u", n, SECRET_VALUE_MIN, SECRET_VALUE_MAX);
        for (size_t i = 0; i < n; i++)
                if (s[i] <= ' ' || s[i] > '~')
                        return error_set(e, EBADMSG, "its token has characters that no token has");
        *ret = strdup(s);
        return *ret ? 0 : error_set(e, ENOMEM, "out of memory");
}

static bool has_word(const char *words, const char *word, size_t n) {
        const char *w;
        size_t k;

        while ((k = next_word(&words, &w)) > 0)
                if (k == n && memcmp(w, word, n) == 0)
                        return true;
        return false;
}

/* What stands in an error about it: a name that the provider chose. */
static void show(char *dst, size_t size, const char *p, size_t n) {
        size_t k = 0;

        for (; k < MIN(n, size - 1); k++)
                dst[k] = (char)(p[k] > ' ' && p[k] <= '~' && p[k] != '\\' ? p[k] : '?');
        dst[k] = 0;
}

static int wider(const char *what, const char *p, size_t n, struct error *e) {
        char text[80];

        show(text, sizeof(text), p, n);
        return error_set(e, EPERM, "its token may do more than was asked for (%s %s)", what, text);
}

int token_oauth2_answer(const char *body, size_t n, const char *scope, struct token_answer *ret, struct error *e) {
        _cleanup_json_ json_t *j = read_object(body, n);
        _cleanup_token_ struct token_answer a = {};
        const json_t *refresh = json_object_get(j, "refresh_token"), *expires = json_object_get(j, "expires_in");
        const char *type = json_string_value(json_object_get(j, "token_type")), *got = json_string_value(json_object_get(j, "scope")), *word;
        size_t k;
        int r;

        if (!j || (r = take_token(json_object_get(j, "access_token"), &a.token, e)) < 0)
                return j ? r : not_an_answer(e);
        if (type && strcasecmp(type, "bearer") != 0 && strcasecmp(type, "token") != 0)
                return error_set(e, EBADMSG, "its token is of another type than bearer");
        if (refresh && !json_is_null(refresh) && (r = take_token(refresh, &a.refresh, e)) < 0)
                return r;
        /* Some send it as text. */
        double seconds = json_is_string(expires) ? strtod(json_string_value(expires), NULL) : json_number_value(expires);
        a.seconds = seconds > 0 && seconds < TOKEN_SECONDS_MAX ? (int64_t)seconds : seconds > 0 ? TOKEN_SECONDS_MAX : 0;
        *ret = a;
        a = (struct token_answer){};
        while (scope && got && (k = next_word(&got, &word)) > 0)
                if (!has_word(scope, word, k))
                        return wider("scope", word, k, e);
        return 0;
}

int token_time(const char *text, int64_t *ret) {
        struct tm tm = {};
        const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

        if (!end)
                return -EINVAL;
        if (*end == '.')
                end += 1 + strspn(end + 1, "0123456789");
        if (!streq(end, "Z"))
                return -EINVAL;
        *ret = (int64_t)timegm(&tm);
        return 0;
}

static int level_of(const char *s, size_t n) {
        static const char *const levels[] = {"none", "read", "write", "admin"};

        for (size_t i = 0; i < ELEMENTSOF(levels); i++)
                if (strlen(levels[i]) == n && strncmp(levels[i], s, n) == 0)
                        return (int)i;
        return (int)ELEMENTSOF(levels);
}

/* The level that was asked for, 0 where it was not. */
static int level_asked(const char *permissions, const char *name) {
        const char *w;
        size_t k, n = strlen(name);

        while ((k = next_word(&permissions, &w)) > 0)
                if (k > n && strncmp(w, name, n) == 0 && w[n] == '=')
                        return level_of(w + n + 1, k - n - 1);
        return streq(name, "metadata");
}

static int compare_github(json_t *j, const char *repositories, const char *permissions, struct error *e) {
        json_t *got = json_object_get(j, "permissions"), *list = json_object_get(j, "repositories"), *v;
        const char *name, *selection = json_string_value(json_object_get(j, "repository_selection"));
        size_t i;

        if (!json_is_object(got) || (selection && !streq(selection, "selected")))
                return wider("repositories", selection ?: "all", strlen(selection ?: "all"), e);
        json_object_foreach(got, name, v) {
                const char *level = json_string_value(v) ?: "";
                if (level_of(level, strlen(level)) > level_asked(permissions, name))
                        return wider("permission", name, strlen(name), e);
        }
        if (!json_is_array(list))
                return wider("repositories", "all", 3, e);
        json_array_foreach(list, i, v) {
                const char *repository = json_string_value(json_object_get(v, "name")) ?: "";
                if (!has_word(repositories, repository, strlen(repository)))
                        return wider("repository", repository, strlen(repository), e);
        }
        return 0;
}

int token_github_answer(const char *body, size_t n, const char *repositories, const char *permissions, int64_t now, struct token_answer *ret, struct error *e) {
        _cleanup_json_ json_t *j = read_object(body, n);
        _cleanup_token_ struct token_answer a = {};
        const char *expires = json_string_value(json_object_get(j, "expires_at"));
        int64_t at;
        int r;

        if (!j || (r = take_token(json_object_get(j, "token"), &a.token, e)) < 0)
                return j ? r : not_an_answer(e);
        if (expires && token_time(expires, &at) == 0)
                a.seconds = MIN(MAX(at - now, 1), (int64_t)TOKEN_SECONDS_MAX);
        *ret = a;
        a = (struct token_answer){};
        return compare_github(j, repositories, permissions, e);
}

void token_failure(const char *body, size_t n, char ret[TOKEN_CODE_MAX + 1]) {
        _cleanup_json_ json_t *j = read_object(body, n);
        const json_t *v = json_object_get(j, "error");
        const char *s = json_string_value(v ?: json_object_get(j, "message"));
        size_t k = 0;

        for (; s && s[k] && k < TOKEN_CODE_MAX; k++)
                ret[k] = (char)(s[k] >= ' ' && s[k] <= '~' ? s[k] : '?');
        ret[k] = 0;
}
