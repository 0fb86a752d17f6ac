/* `belljar secret`: Belljar's own store of secrets (revoke: of a run, secret-revoke.c). No value is ever an argument, printed,
 * or in an ordinary buffer. */
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/placeholder.h"
#include "proto/json.h"
#include "role/cli/ask.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"
#include "role/cli/secret-test.h"
#include "svc/secret-source.h"
#include "svc/secret-store.h"

#define PASSPHRASE_VARIABLE "BELLJAR_PASSPHRASE_FILE"

struct arguments {
        const char *from, *key_file, *passphrase_file;
        struct secret_test test;
        bool json, tests; /* tests: an option of test alone */
};

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct arguments *a = data;
        int r;

        if (policy_words_take(&a->test.words, id, arg, &r, e)) {
                a->tests = true;
                return r;
        }
        switch (id) {
        case OPT_FROM: a->from = arg; return 0;
        case OPT_KEY_FILE: a->key_file = arg; return 0;
        case OPT_HOST: a->test.host = arg; a->tests = true; return 0;
        case OPT_PASSPHRASE_FILE: a->passphrase_file = arg; return 0;
        case OPT_JSON: a->json = true; return 0;
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

static int ask_passphrase(bool again, unsigned attempt, void *data, struct vault_text *ret, struct error *e) {
        const struct arguments *a = data;
        _cleanup_vault_ struct vault_text second = {};

        if (a->passphrase_file)
                return secret_file_read(a->passphrase_file, a->passphrase_file, STORE_PASSPHRASE_MAX, ret, e);
        int r = ask_hidden(again          ? "A passphrase for Belljar's store of secrets, which is new: "
                           : attempt == 0 ? "Passphrase of Belljar's store of secrets: "
                                          : "That is not it. Passphrase of Belljar's store of secrets: ",
                           STORE_PASSPHRASE_MAX, ret, e);
        if (r == -ENOTTY) {
                error_set(e, ENOKEY, "the passphrase of Belljar's store of secrets is needed, and there is no terminal to ask at");
                return error_fix(e, "give --passphrase-file FILE, or set " PASSPHRASE_VARIABLE "; a service gets its key by LoadCredential=belljar.key");
        }
        if (r < 0 || !again)
                return r;
        if ((r = ask_hidden("The same again: ", STORE_PASSPHRASE_MAX, &second, e)) >= 0 && (second.n != ret->n || memcmp(second.p, ret->p, ret->n) != 0))
                r = error_set(e, EINVAL, "these are two passphrases");
        if (r < 0)
                vault_free(ret);
        return r;
}

static int unlock(struct secret_store *s, struct arguments *a, struct error *e) {
        return secret_store_unlock(s, ask_passphrase, a->passphrase_file ? 1 : 3, a, e);
}

static int read_from(const char *name, const char *from, struct vault_text *ret, struct error *e) {
        struct secret s = {.name = strdup(name)};
        int r = s.name ? secret_parse_source(from, &s, e) : error_set(e, ENOMEM, "out of memory");

        if (r >= 0 && s.source == SECRET_STORE)
                r = error_set(e, EINVAL, "the store does not take a secret from itself");
        if (r >= 0)
                r = secret_source_read(&s, NULL, ret, e);
        secret_clear(&s);
        return r;
}

/* From another source, from what stdin has, or typed. A private key is known by its form. */
static int read_value(const char *name, const struct arguments *a, struct vault_text *ret, bool *ret_key, struct error *e) {
        _cleanup_free_ char *what = str_printf("the value of %s", name), *prompt = str_printf("Value of %s (it is not shown): ", name);
        int r;

        if (!what || !prompt)
                return error_set(e, ENOMEM, "out of memory");
        if (a->from)
                return read_from(name, a->from, ret, e);
        if (a->key_file)
                r = secret_file_read(a->key_file, a->key_file, SECRET_KEY_MAX, ret, e);
        else if (isatty(0))
                r = ask_hidden(prompt, SECRET_VALUE_MAX, ret, e);
        else if ((r = vault_read(0, -1, SECRET_KEY_MAX + 1, -1, ret, e)) >= 0 && ret->n > 0 && ret->p[ret->n - 1] == '\n')
                ret->p[--ret->n] = 0;
        if (r < 0)
                return r;
        *ret_key = a->key_file || (secret_is_pem(ret) && !isatty(0));
        r = *ret_key ? secret_key_check(a->key_file ? a->key_file : what, ret, e) : secret_value_check(what, ret, e);
        if (r < 0)
                vault_free(ret);
        return r;
}

static void warn_unlocked(const struct vault_text *v) {
        if (v->unlocked)
                fprintf(stderr, "belljar: the secret may be swapped to disk: the limit of locked memory is used up (ulimit -l)\n");
}

static int set(char *name, struct arguments *a, struct error *e) {
        _cleanup_secret_store_ struct secret_store s = {};
        _cleanup_vault_ struct vault_text v = {};
        bool is_key = false;
        int r = secret_store_open(&s, e);

        if (r < 0 || (r = unlock(&s, a, e)) < 0 || (r = read_value(name, a, &v, &is_key, e)) < 0)
                return r;
        warn_unlocked(&v);
        const struct secret_kind *known = is_key ? NULL : secret_kind_of(v.p, v.n);
        const char *kind = is_key ? STORE_KIND_KEY : known ? known->name : NULL;
        if ((r = secret_store_set(&s, name, kind, &v, e)) < 0)
                return r;
        fprintf(stderr, "belljar: %s is in %s%s%s\n", name, s.path, kind ? ": " : "", kind ? kind : "");
        return 0;
}

static int list(const struct arguments *a, struct error *e) {
        _cleanup_secret_store_ struct secret_store s = {};
        struct json j = {};
        int r = secret_store_open(&s, e);

        if (r < 0)
                return r;
        if (a->json)
                json_begin(&j, NULL, '[');
        else if (s.n > 0)
                printf("%-24s %-32s %s\n", "NAME", "KIND", "SET");
        for (size_t i = 0; i < s.n; i++) {
                time_t when = (time_t)s.secrets[i].time;
                char text[32] = "?";
                struct tm tm;
                if (a->json ? gmtime_r(&when, &tm) : localtime_r(&when, &tm))
                        (void)strftime(text, sizeof(text), a->json ? "%FT%TZ" : "%F %R", &tm);
                if (!a->json) {
                        printf("%-24s %-32s %s\n", s.secrets[i].name, s.secrets[i].kind ?: "-", text);
                        continue;
                }
                json_begin(&j, NULL, '{');
                json_str(&j, "name", s.secrets[i].name);
                json_str(&j, "kind", s.secrets[i].kind);
                json_str(&j, "set", text);
                json_end(&j, '}');
        }
        if (!a->json)
                return 0;
        json_end(&j, ']');
        _cleanup_free_ char *text = strbuf_take(&j.text);
        return text && fputs(text, stdout) >= 0 ? 0 : error_set(e, ENOMEM, "out of memory");
}

static int drop(char **names, size_t n, struct error *e) {
        _cleanup_secret_store_ struct secret_store s = {};
        int r = secret_store_open(&s, e);

        return r < 0 ? r : secret_store_remove(&s, names, n, e);
}

/* The next one is asked for the passphrase again. */
static int lock(struct error *e) {
        _cleanup_secret_store_ struct secret_store s = {};
        int r = secret_store_open(&s, e);

        return r < 0 ? r : secret_store_forget(&s, e);
}

enum wanted { ANY, VALUE, KEY };

/* A key is never sent, and nothing else logs in or signs. */
static int check_kind(const struct secret_store *s, const char *name, enum wanted what, struct error *e) {
        bool is_key = secret_store_has_key(s, name);

        if (what == ANY || !secret_store_has(s, name) || is_key == (what == KEY))
                return 0;
        if (is_key) {
                error_set(e, EINVAL, "the store's %s is a private key, which no request carries", name);
                return error_fix(e, "git_ssh, sign and github_app take it; name a secret of another kind here (belljar secret ls)");
        }
        error_set(e, EINVAL, "the store's %s is no private key", name);
        return error_fix(e, "belljar secret set NAME --key-file FILE adds one; belljar secret ls lists what there is");
}

/* The value goes into the pipe that stdout is, and nowhere else. */
static int hand_over(const char *name, enum wanted what, struct arguments *a, struct error *e) {
        _cleanup_secret_store_ struct secret_store s = {};
        _cleanup_vault_ struct vault_text v = {};
        struct stat st;

        if (fstat(1, &st) < 0 || !S_ISFIFO(st.st_mode))
                return error_set(e, EPERM, "a value is written to a pipe only: neither a terminal nor a file gets it");
        int r = secret_store_open(&s, e);
        if (r < 0 || (r = check_kind(&s, name, what, e)) < 0)
                return r;
        /* Nobody is asked for a passphrase because of a name that is not there. */
        if ((secret_store_has(&s, name) && (r = unlock(&s, a, e)) < 0) || (r = secret_store_get(&s, name, &v, e)) < 0)
                return r;
        warn_unlocked(&v);
        r = fd_write_all(1, v.p, v.n);
        return r < 0 ? error_errno(e, r, "the value cannot be written") : 0;
}

/* For `store:` of a run (secret-source.c), which says what there is to say: why there is no value goes into the pipe as well. */
static int give(const char *name, enum wanted what, struct arguments *a) {
        struct error e = {};

        if (hand_over(name, what, a, &e) >= 0)
                return 0;
        (void)!fd_write_all(1, e.msg, strlen(e.msg));
        if (e.fix[0] && fd_write_all(1, "\n", 1) >= 0)
                (void)!fd_write_all(1, e.fix, strlen(e.fix));
        exit(SECRET_REFUSED_STATUS);
}

static int revoke_from(int n, char **words, struct error *e) {
        _cleanup_state_ struct state s = STATE_NONE;
        int r;

        if (n < 1 || n > 2)
                return error_set(e, EINVAL, "belljar secret revoke takes a sandbox and, where not all are meant, the name of one secret");
        if ((r = find_sandbox(words[0], false, &s, e)) < 0)
                return r;
        return secret_revoke_of(&s, n == 2 ? words[1] : NULL, e);
}

/* A secret of the store is opened by a process of its own, which is told by its environment. */
static int test(const char *name, struct arguments *a, struct error *e) {
        if (a->passphrase_file && setenv(PASSPHRASE_VARIABLE, a->passphrase_file, 1) < 0)
                return error_errno(e, errno, "the environment cannot be set");
        a->test.json = a->json;
        return secret_test(&a->test, name, e);
}

static int usage(struct error *e) {
        error_set(e, EINVAL, "belljar secret takes set NAME, ls, rm NAME..., lock, test NAME, or revoke SANDBOX [NAME]");
        return error_fix(e, "belljar secret --help says more; the value is read from standard input, or typed");
}

static int dispatch(const char *verb, char **names, int n, struct arguments *a, struct error *e) {
        bool is_set = streq(verb, "set"), is_rm = streq(verb, "rm") || streq(verb, "remove"), is_ls = streq(verb, "ls") || streq(verb, "list"),
             is_test = streq(verb, "test");

        if ((a->from && a->key_file) || ((a->from || a->key_file) && !is_set) || (a->json && !is_ls && !is_test) || (a->tests && !is_test))
                return usage(e);
        if (is_ls && n == 0)
                return list(a, e);
        if (streq(verb, "revoke"))
                return revoke_from(n, names, e);
        if (streq(verb, "lock") && n == 0)
                return lock(e);
        for (int i = 0; i < n; i++)
                if (!secret_name_good(names[i])) {
                        error_set(e, EINVAL, "%s", i == 0 ? "that is no name of a secret" : "a secret's value is no argument: others could read it there");
                        return error_fix(e, "a name has letters, digits, - and _, at most %u; the value is read from standard input, or typed", SECRET_NAME_MAX);
                }
        if (is_test && n <= 1)
                return test(n == 1 ? names[0] : NULL, a, e);
        if (is_set && n == 1)
                return set(names[0], a, e);
        if (is_rm && n > 0)
                return drop(names, (size_t)n, e);
        if ((streq(verb, "give") || streq(verb, "give-key")) && n == 1)
                return give(names[0], streq(verb, "give") ? VALUE : KEY, a);
        if (streq(verb, "open") && n == 1)
                return hand_over(names[0], ANY, a, e);
        return usage(e);
}

int command_secret(int argc, char **argv) {
        struct arguments a = {};
        struct error e = {};
        int first, r = options_parse(command_find("secret"), argc, argv, on_option, &a, &first, &e);

        if (!a.passphrase_file && getenv(PASSPHRASE_VARIABLE))
                a.passphrase_file = getenv(PASSPHRASE_VARIABLE);
        /* Not even another process of this user reads its memory. */
        if (r >= 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
                r = error_errno(&e, errno, "this process cannot be closed to others");
        if (r >= 0)
                r = first < argc ? dispatch(argv[first], argv + first + 1, argc - first - 1, &a, &e) : usage(&e);
        secret_test_clear(&a.test);
        if (r >= 0)
                return r; /* 1: of test */
        error_print(&e);
        return EXIT_BELLJAR;
}
