#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "svc/secret-source.h"

/* The time that a command has is half a minute: too long for a test. */
#undef SECRET_COMMAND_TIME
#define SECRET_COMMAND_TIME 300
#include "svc/secret-source.c" // NOLINT(bugprone-suspicious-include)

#include "tap.h"

#define VALUE "correct-Horse 7/battery+staple="
#define OTHER_VALUE "another;one:of-them"

extern char **environ;
static char folder[] = "/tmp/test-secret-source-XXXXXX";

static const char *at(const char *name) {
        static char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        return path;
}

static void write_file(const char *name, const void *data, size_t n, mode_t mode) {
        int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        check(fd >= 0 && fd_write_all(fd, data, n) == 0 && fchmod(fd, mode) == 0);
        fd_close(fd);
}

static void remove_folder(void) {
        _cleanup_free_ char *command = str_printf("rm -rf '%s'", folder);
        check(command && system(command) == 0);
}

/* Reads one and gives the result of it, with the value where there is one. */
static int from(const char *source, char *value, struct error *e) {
        struct secret s = {};
        struct vault_text t = {};

        s.name = strdup("github");
        check(s.name && secret_parse_source(source, &s, e) == 0);
        int r = secret_source_read(&s, folder, &t, e);
        if (r == 0) {
                check(t.p && t.p[t.n] == 0 && strlen(t.p) == t.n && t.n <= SECRET_VALUE_MAX);
                strcpy(value, t.p);
        } else {
                check(!t.p && e->errnum == -r);
        }
        vault_free(&t);
        secret_clear(&s);
        return r;
}

static void good(const char *source, const char *want) {
        static char value[SECRET_VALUE_MAX + 1];
        struct error e = {};

        if (from(source, value, &e) != 0)
                printf("# %s: %s\n", source, e.msg);
        check_streq(value, want);
}

/* The error names the secret, says `why`, and holds nothing of the value. */
static void bad(const char *source, const char *why) {
        static char value[SECRET_VALUE_MAX + 1];
        struct error e = {};

        if (from(source, value, &e) == 0 || !strstr(e.msg, why) || !strstr(e.msg, "secret github"))
                printf("# %s: %s\n", source, e.msg);
        check(e.errnum && strstr(e.msg, why) && strstr(e.msg, "secret github") && !strstr(e.msg, "orse") && !strstr(e.fix, "orse"));
}

/* What this process's environment is for everyone of its user. */
static bool environ_has(const char *text) {
        _cleanup_free_ char *all = NULL;
        size_t n;

        check(file_read(AT_FDCWD, "/proc/self/environ", 1 << 20, &all, &n) == 0);
        return memmem(all, n, text, strlen(text)) != NULL;
}

static bool programs_have(const char *text) {
        FILE *f = popen("/usr/bin/env", "r");
        char line[4096];
        bool has = false;

        check(f != NULL);
        while (fgets(line, sizeof(line), f))
                has |= strstr(line, text) != NULL;
        check(pclose(f) == 0);
        return has;
}

/* In a process that was started with them: see main. */
static int in_the_environment(void) {
        char name[] = "one", first[] = "FIRST", second[] = "SECOND", command[] = "printenv FIRST";
        struct secret s[] = {
                {.name = name, .source = SECRET_ENV, .from = first},
                {.name = name, .source = SECRET_ENV, .from = first}, /* the same variable for two */
                {.name = name, .source = SECRET_COMMAND, .from = command}, /* which it is still there for */
                {.name = name, .source = SECRET_ENV, .from = second},
        };
        struct vault_text t[ELEMENTSOF(s)] = {};
        struct error e = {};

        check(environ_has(VALUE) && environ_has(OTHER_VALUE));
        check(secret_sources_read(s, ELEMENTSOF(s), NULL, t, &e) == 0);
        check_streq(t[0].p, VALUE);
        check_streq(t[1].p, VALUE);
        check_streq(t[2].p, VALUE);
        check_streq(t[3].p, OTHER_VALUE);
        check(!environ_has(VALUE) && !environ_has(OTHER_VALUE) && environ_has("PLAIN=kept"));
        check(!programs_have(VALUE) && !programs_have(OTHER_VALUE) && programs_have("PLAIN=kept"));
        check(!getenv("FIRST") && !getenv("SECOND") && !getenv("WITHIN") && !getenv("AGAIN"));
        check_streq(getenv("PLAIN"), "kept");
        check_streq(getenv("LAST"), "kept too");
        for (size_t i = 0; i < ELEMENTSOF(t); i++)
                vault_free(&t[i]);
        /* Gone is gone: another read does not find an empty one. */
        check(secret_source_read(&s[0], NULL, &t[0], &e) == -ENOENT && !t[0].p);
        return 0;
}

static int store_of_a_tool(void) {
        good("store:my-github", "give -- my-github " VALUE);
        bad("store:failing", "ended with status 3");
        return 0;
}

/* This program again, under another name or environment. */
static void again(const char *program, char **env) {
        int status = 0;
        pid_t pid;

        fflush(stdout);
        if ((pid = fork()) == 0) {
                char self[] = "test-secret-source";
                execve(program, (char *[]){self, NULL}, env);
                _exit(127);
        }
        check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

TEST(environment_is_left_without) {
        char part[] = "TEST_PART=environ", path[] = "PATH=/usr/bin:/bin", one[] = "FIRST=" VALUE, plain[] = "PLAIN=kept", two[] = "SECOND=" OTHER_VALUE,
             within[] = "WITHIN=//registry/:_authToken=" VALUE "&x", same[] = "AGAIN=" VALUE, twice[] = "SECOND=" OTHER_VALUE, last[] = "LAST=kept too";
        again("/proc/self/exe", (char *[]){part, path, one, plain, two, within, same, twice, last, NULL});
}

TEST(environment_without_it) {
        check(unsetenv("NO_SUCH_SECRET") == 0);
        bad("env:NO_SUCH_SECRET", "NO_SUCH_SECRET is not set");
}

TEST(values_that_are_none) {
        static const struct {
                const char *value, *why;
        } bad_values[] = {
                {"", "is empty"},
                {"orse567", "too short"},
                {"a-orse-\twith-a-tab", "no printable ASCII"},
                {"a-orse\nand-another", "no printable ASCII"},
                {"a-orse-\x7f", "no printable ASCII"},
                {"a-orse-\xc3\xa4", "no printable ASCII"},
                {" a-orse-and-blanks", "begins or ends with a blank"},
                {"a-orse-and-blanks ", "begins or ends with a blank"},
        };
        char most[SECRET_VALUE_MAX + 2];

        for (size_t i = 0; i < ELEMENTSOF(bad_values); i++) {
                check(setenv("A_SECRET", bad_values[i].value, 1) == 0);
                bad("env:A_SECRET", bad_values[i].why);
        }
        memset(most, 'x', sizeof(most));
        most[SECRET_VALUE_MAX + 1] = 0;
        check(setenv("A_SECRET", most, 1) == 0);
        bad("env:A_SECRET", "is too long");
        most[SECRET_VALUE_MAX] = 0;
        check(setenv("A_SECRET", most, 1) == 0);
        good("env:A_SECRET", most);
        check(setenv("A_SECRET", "orse-678", 1) == 0); /* the shortest */
        good("env:A_SECRET", "orse-678");
}

TEST(all_or_none) {
        char name[] = "one", variable[] = "A_SECRET", missing[] = "NO_SUCH_SECRET";
        struct secret s[] = {{.name = name, .source = SECRET_ENV, .from = variable}, {.name = name, .source = SECRET_ENV, .from = missing}};
        struct vault_text t[2] = {};
        struct error e = {};

        check(setenv("A_SECRET", VALUE, 1) == 0);
        check(secret_sources_read(s, 2, NULL, t, &e) == -ENOENT && !t[0].p && !t[1].p);
        check(!getenv("A_SECRET"));
}

TEST(files) {
        static char most[SECRET_VALUE_MAX + 2];

        check(mkdtemp(folder));
        memset(most, 'x', sizeof(most));
        most[SECRET_VALUE_MAX] = '\n';
        write_file("plain", VALUE, strlen(VALUE), 0600);
        write_file("line", VALUE "\n", strlen(VALUE) + 1, 0400);
        write_file("lines", VALUE "\n\n", strlen(VALUE) + 2, 0600);
        write_file("zero", "a-orse\0", 8, 0600);
        write_file("most", most, sizeof(most) - 1, 0600);
        most[SECRET_VALUE_MAX] = 'x';
        write_file("more", most, sizeof(most) - 1, 0600);
        write_file("group", VALUE, strlen(VALUE), 0640);
        write_file("others", VALUE, strlen(VALUE), 0604);
        write_file("empty", "", 0, 0600);
        check(symlink("line", at("link")) == 0 && mkfifo(at("fifo"), 0600) == 0);
        check(setenv("HOME", folder, 1) == 0);

        good("file:plain", VALUE);
        good("file:line", VALUE);
        good("file:./link", VALUE); /* secrets are often mounted by links */
        good("file:~/line", VALUE);
        _cleanup_free_ char *whole = str_printf("file:%s", at("line"));
        good(whole, VALUE);
        most[SECRET_VALUE_MAX] = 0;
        good("file:most", most);
        bad("file:lines", "more than one line");
        bad("file:zero", "no printable ASCII");
        bad("file:empty", "is empty");
        bad("file:more", "is too long");
        bad("file:missing", "cannot be read");
        bad("file:.", "no regular file");
        bad("file:fifo", "no regular file"); /* and does not wait */
        if (geteuid() == 0) /* what root lays down for others is for others */
                check(chown(at("group"), 1, 1) == 0 && chown(at("others"), 1, 1) == 0);
        bad("file:group", "can be read by others");
        bad("file:others", "can be read by others");
        remove_folder();
}

TEST(a_file_of_root_for_everyone) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        check(file_read(AT_FDCWD, "/proc/version", 4096, &text, &n) == 0 && n > 0 && text[n - 1] == '\n');
        text[n - 1] = 0;
        good("file:/proc/version", text);
}

static const char tool[] =
        "#!/bin/sh\n" /* what it does is up to its first word */
        "case $1 in\n"
        "words) shift; echo \"words: $# $*\" ;;\n"
        "stdin) cat; echo nothing before ;;\n"
        "fds) for n in 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$n ] || echo $n; done; echo no others ;;\n"
        "fails) echo a-Horse-that-fails; exit 3 ;;\n"
        "dies) echo a-Horse-that-dies; kill -9 $$ ;;\n"
        "leaves) sleep 60 & echo $! >$0.pid; echo a-Mule-that-left ;;\n"
        "hangs) echo $$ >$0.pid; echo a-Horse-that-hangs; exec sleep 60 ;;\n"
        "much) head -c 100000 /dev/zero | tr '\\0' x ;;\n"
        "endless) echo $$ >$0.pid; exec yes Horse ;;\n"
        "secret) [ $4 != failing ] || exit 3; shift; echo $* 'correct-Horse 7/battery+staple=' ;;\n"
        "esac\n";

/* The process whose number the program left is no more. */
static bool is_gone(void) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        check(file_read(AT_FDCWD, at("tool.pid"), 64, &text, &n) == 0 && atoi(text) > 1);
        int r = kill(atoi(text), 0);
        return r < 0 && errno == ESRCH;
}

TEST(commands) {
        check(mkdtemp(folder));
        write_file("tool", tool, sizeof(tool) - 1, 0700);
        _cleanup_free_ char *path = str_printf("%s:/usr/bin:/bin", folder), *whole = str_printf("command:%s words with its path", at("tool"));
        check(path && setenv("PATH", path, 1) == 0);

        good(whole, "words: 3 with its path");
        good("command:tool words $HOME '* a;b  >c |d", "words: 5 $HOME '* a;b >c |d"); /* no shell reads them */
        good("command:tool stdin", "nothing before");
        int open_here = dup(0); /* and not close-on-exec */
        check(open_here > 2 && open_here < 10);
        good("command:tool fds", "no others");
        remove_folder();
}

TEST(commands_that_fail) {
        check(mkdtemp(folder));
        write_file("tool", tool, sizeof(tool) - 1, 0700);
        write_file("no-program", "x", 1, 0600);
        check(setenv("PATH", folder, 1) == 0);
        bad("command:no-such-program at all", "there is no program no-such-program");
        bad("command:no-program", "ended with status 126");
        bad("command: ", "names no program");
        _cleanup_free_ char *path = str_printf("%s:/usr/bin:/bin", folder);
        check(path && setenv("PATH", path, 1) == 0);
        bad("command:tool fails", "tool ended with status 3");
        bad("command:tool dies", "tool was ended by signal 9");
        bad("command:tool nothing", "is empty");
        bad("command:tool much", "too many for a secret");
        bad("command:tool endless", "too many for a secret");
        check(is_gone());
        bad("command:tool hangs", "nothing came within");
        check(is_gone());
        char words[4 * COMMAND_WORDS_MAX] = "command:tool";
        for (size_t i = 0; i < COMMAND_WORDS_MAX; i++)
                strcat(words, " a");
        bad(words, "has more than 64 words");
        remove_folder();
}

TEST(commands_that_leave_somebody) {
        check(mkdtemp(folder));
        write_file("tool", tool, sizeof(tool) - 1, 0700);
        _cleanup_free_ char *path = str_printf("%s:/usr/bin:/bin", folder), *text = NULL;
        size_t n;
        check(path && setenv("PATH", path, 1) == 0);
        signal(SIGCHLD, SIG_IGN); /* as some parents leave it */
        good("command:tool leaves", "a-Mule-that-left"); /* whoever still has the pipe is not waited for */
        check(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
        check(file_read(AT_FDCWD, at("tool.pid"), 64, &text, &n) == 0 && atoi(text) > 1 && kill(atoi(text), SIGKILL) == 0);
        remove_folder();
}

TEST(store) {
        char part[] = "TEST_PART=store", path[] = "PATH=/usr/bin:/bin";
        _cleanup_free_ char *program = NULL, *self = NULL;
        size_t n;

        /* belljar-tool is looked for beside the program that runs. */
        check(mkdtemp(folder));
        check(file_read(AT_FDCWD, "/proc/self/exe", 256 << 20, &self, &n) == 0);
        write_file("program", self, n, 0700);
        write_file("belljar-tool", tool, sizeof(tool) - 1, 0700);
        program = strdup(at("program"));
        again(program, (char *[]){part, path, NULL});
        check(unlink(at("belljar-tool")) == 0);
        bad("store:my-github", "belljar-tool is not where");
        remove_folder();
}

static long add_key(const char *description, const char *value, size_t n, int keyring) {
        return syscall(SYS_add_key, "user", description, value, n, keyring);
}

/* What is asked with and never sent may have lines. */
TEST(keys) {
        static const struct { const char *text; bool good; } t[] = {
                {"-----BEGIN " "A PRIVATE KEY-----\nabc\r\n-----END", false}, {"-----BEGIN " "A PRIVATE KEY-----\nabc\r\n-----END A", true},
                {"-----BEGIN " "PRIVATE KEY-----\n-----END PRIVATE KEY-----", true}, {"-----BEGIN " "PRIVATE KEY----- -----END PRIVATE KEY-----", false},
                {"-----BEGIN " "PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----", false}, {"-----BEGIN " "A\nB PRIVATE KEY-----\n-----END A", false},
                {"-----BEGIN " "A PRIVATE KEY-----\n\x01\n-----END A", false}, {"BEGIN\nabc", false}, {"", false},
                {"-----BEGIN " "A PRIVATE KEY-----\n\xc3\xa9\n-----END A", false},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct vault_text v = {};
                size_t n = strlen(t[i].text);
                struct error e = {};
                check(vault_alloc(n, &v, &e) == 0);
                memcpy(v.p, t[i].text, n);
                check((secret_key_check("it", &v, &e) == 0) == t[i].good);
                check(secret_value_check("it", &v, &e) < 0);
                check(secret_is_pem(&v) == (strncmp(t[i].text, "-----BEGIN ", 11) == 0));
                vault_free(&v);
        }
        struct vault_text v = {};
        check(vault_alloc(SECRET_KEY_MAX + 1, &v, NULL) == 0);
        memset(v.p, 'x', v.n);
        memcpy(v.p, t[1].text, strlen(t[1].text));
        check(secret_key_check("it", &v, NULL) < 0);
        v.p[--v.n] = 0;
        check(secret_key_check("it", &v, NULL) == 0);
        vault_free(&v);
}

TEST(keyring) {
        long session = syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);

        if (session < 0 && (errno == ENOSYS || errno == EPERM))
                skip("this host gives no keyrings");
        check(session > 0);
        /* A session of its own, which does not lead to the user's keyring. */
        check(add_key("belljar-test:s", VALUE, strlen(VALUE), KEY_SESSION) > 0);
        long key = add_key("belljar-test:u", OTHER_VALUE "\n", strlen(OTHER_VALUE) + 1, KEY_USER);
        check(key > 0);
        good("keyring:belljar-test:s", VALUE);
        good("keyring:belljar-test:u", OTHER_VALUE);
        char much[SECRET_VALUE_MAX + 5];
        memset(much, 'x', sizeof(much));
        check(add_key("belljar-test:s", much, sizeof(much), KEY_SESSION) > 0);
        bad("keyring:belljar-test:s", "is too long");
        check(syscall(SYS_keyctl, KEYCTL_UNLINK_, key, KEY_USER) == 0);
        bad("keyring:belljar-test:u", "is not in the session's nor in the user's keyring");
}

int main(void) {
        const char *part = getenv("TEST_PART");

        if (part)
                return streq(part, "environ") ? in_the_environment() : store_of_a_tool();
        return tap_run();
}
