/* Where secrets come from; see secret-source.h. No value is ever in an ordinary buffer, an error text or an argument. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/host.h"
#include "svc/secret-source.h"

#define COMMAND_WORDS_MAX 64u
#define SECRET_END_TIME 5000 /* ms for a program to end after it has closed its output */

/* linux/keyctl.h, which musl does not ship. */
enum {
        KEY_THREAD = -1, KEY_SESSION = -3, KEY_USER = -4,
        KEYCTL_UNLINK_ = 9, KEYCTL_SEARCH_ = 10, KEYCTL_READ_ = 11,
};

extern char **environ;

/* Every error begins with the secret and where it should have come from. */
#define LABEL_MAX 256u
static const char *label(const struct secret *s, char dst[LABEL_MAX]) {
        snprintf(dst, LABEL_MAX, "secret %s (%s:%s)", s->name, secret_source_name(s->source), s->from);
        return dst;
}

/* What another function said of it, with the label before. */
static int say(const char *what, struct error *e) {
        if (!e)
                return -EINVAL;
        _cleanup_free_ char *msg = strdup(e->msg);
        snprintf(e->msg, sizeof(e->msg), "%s: %s", what, msg ? msg : "out of memory");
        return -e->errnum;
}

/* Bytes of what this source may have. */
static size_t value_max(const struct secret *s) { return s->is_key ? SECRET_KEY_MAX : SECRET_VALUE_MAX; }

bool secret_is_pem(const struct vault_text *v) { return v->n > 11 && memcmp(v->p, "-----BEGIN ", 11) == 0; }

int secret_key_check(const char *what, const struct vault_text *v, struct error *e) {
        bool good = v->n <= SECRET_KEY_MAX && secret_is_pem(v);
        const char *line = good ? memchr(v->p, '\n', v->n) : NULL, *kind = line ? memmem(v->p, (size_t)(line - v->p), " PRIVATE KEY-----", 17) : NULL;

        good = kind && memmem(line, (size_t)(v->p + v->n - line), "\n-----END ", 10);

        for (size_t i = 0; good && i < v->n; i++)
                good = (v->p[i] >= 0x20 && v->p[i] <= 0x7e) || v->p[i] == '\n' || v->p[i] == '\r';
        return good ? 0 : error_set(e, EINVAL, "%s is no private key in PEM form, of %u bytes at most", what, SECRET_KEY_MAX);
}

int secret_value_check(const char *what, const struct vault_text *v, struct error *e) {
        if (secret_is_pem(v)) {
                error_set(e, EINVAL, "%s is a key in PEM form, which no request carries", what);
                return error_fix(e, "git_ssh, sign and github_app take a private key: belljar secret set NAME --key-file FILE, and store:NAME there");
        }
        if (v->n < SECRET_VALUE_MIN || v->n > SECRET_VALUE_MAX) {
                error_set(e, EINVAL, v->n == 0 ? "%s is empty" : v->n < SECRET_VALUE_MIN ? "%s is too short" : "%s is too long", what);
                return error_fix(e, "a secret has %u to %u characters; what is shorter would be found everywhere", SECRET_VALUE_MIN, SECRET_VALUE_MAX);
        }
        for (size_t i = 0; i < v->n; i++)
                if (v->p[i] < 0x20 || v->p[i] > 0x7e) {
                        error_set(e, EINVAL, "%s has characters that are no printable ASCII, or more than one line", what);
                        return error_fix(e, "give the secret alone, as one line");
                }
        if (v->p[0] == ' ' || v->p[v->n - 1] == ' ') {
                error_set(e, EINVAL, "%s begins or ends with a blank, which no header field keeps", what);
                return error_fix(e, "give the secret alone, without blanks around it");
        }
        return 0;
}

static int read_env(const struct secret *s, struct vault_text *ret, struct error *e) {
        const char *value = getenv(s->from);

        if (!value) {
                error_set(e, ENOENT, "secret %s: the variable %s is not set", s->name, s->from);
                return error_fix(e, "export %s=..., or name another source: file:PATH, command:WORDS, keyring:DESCRIPTION, store:NAME", s->from);
        }
        size_t n = strlen(value);
        if (n > value_max(s)) {
                char l[LABEL_MAX];
                return error_set(e, EFBIG, "%s is too long", label(s, l));
        }
        int r = vault_alloc(n, ret, e);
        if (r < 0)
                return r;
        memcpy(ret->p, value, n);
        return 0;
}

static void drop_newline(struct vault_text *v) {
        if (v->n > 0 && v->p[v->n - 1] == '\n')
                v->p[--v->n] = 0;
}

int secret_file_read(const char *what, const char *path, size_t max, struct vault_text *ret, struct error *e) {
        /* Links are followed: a secret is often mounted as one. A FIFO or a device must not hold this up. */
        _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return error_errno(e, errno, "%s cannot be read", what);
        if (!S_ISREG(st.st_mode))
                return error_set(e, EINVAL, "%s is no regular file", what);
        /* What root lays down for everyone (/run/secrets of a container) is root's decision. */
        if (st.st_mode & (S_IRGRP | S_IROTH) && st.st_uid != 0) {
                error_set(e, EACCES, "%s can be read by others than its owner", what);
                return error_fix(e, "chmod 600 %s", path);
        }
        int r = vault_read(fd, -1, max + 1, -1, ret, e);
        if (r < 0)
                return say(what, e);
        drop_newline(ret);
        if (ret->n <= max)
                return 0;
        vault_free(ret);
        return error_set(e, EFBIG, "%s is too long", what);
}

static int read_file(const struct secret *s, const char *base_dir, struct vault_text *ret, struct error *e) {
        _cleanup_free_ char *home = host_home(), *path = NULL, *here = base_dir ? NULL : realpath(".", NULL);
        char l[LABEL_MAX];

        if (!home)
                return error_set(e, ENOMEM, "out of memory");
        int r = host_resolve(s->from, base_dir ?: here ?: "/", home, &path, e);
        return r < 0 ? say(label(s, l), e) : secret_file_read(label(s, l), path, value_max(s), ret, e);
}

/* Of a child: becomes the program, with its output in the pipe. */
static _noreturn_ void become(char **argv, int out, pid_t parent) {
        sigset_t none;

        sigemptyset(&none);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGCHLD, SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (getppid() == parent && in >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 && syscall(SYS_close_range, 3, ~0u, 0) == 0)
                execvp(argv[0], argv);
        _exit(errno == ENOENT ? 127 : 126);
}

/* Its exit status as waitpid(2) has it. Where its output was not what it should be, or it does not end within the time, it is
 * killed. Its children may go on: what they write is read by nobody. */
static int end_of(pid_t pid, int pidfd, int timeout_ms) {
        struct pollfd p = {pidfd, POLLIN, 0};
        int status = 0, r = 0;

        while (pidfd >= 0 && (r = poll(&p, 1, timeout_ms)) < 0 && errno == EINTR)
                ;
        if (r <= 0)
                (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return status;
}

static pid_t start_program(char **argv, int *ret_out, int *ret_pidfd) {
        pid_t self = getpid(), pid;
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        if ((pid = fork()) == 0)
                become(argv, fds[1], self);
        int r = -errno, pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
        if (pid > 0 && pidfd < 0) {
                r = -errno;
                (void)end_of(pid, -1, 0);
        }
        fd_close(fds[1]);
        if (pidfd < 0) {
                fd_close(fds[0]);
                return r;
        }
        *ret_out = fds[0];
        *ret_pidfd = pidfd;
        return pid;
}

static int report_end(const struct secret *s, const char *program, int status, struct error *e) {
        char l[LABEL_MAX];

        if (status < 0)
                return error_errno(e, status, "%s: its end cannot be seen", label(s, l));
        if (WIFSIGNALED(status))
                return error_set(e, ECANCELED, "%s: %s was ended by signal %d", label(s, l), program, WTERMSIG(status));
        if (WEXITSTATUS(status) == 127) {
                error_set(e, ENOENT, "%s: there is no program %s", label(s, l), program);
                return error_fix(e, "give its path, or put it on PATH; a shell's quotes and variables are not read");
        }
        return error_set(e, ECANCELED, "%s: %s ended with status %d", label(s, l), program, WEXITSTATUS(status));
}

/* The store's own program says in its output why it gives no value: one error, of whoever asked. */
static int report_refusal(const struct secret *s, struct vault_text *v, struct error *e) {
        char l[LABEL_MAX], *fix = memchr(v->p, '\n', v->n);

        if (fix)
                *fix++ = 0;
        int r = error_set(e, EACCES, "%s: %s", label(s, l), v->p);
        return fix && *fix ? error_fix(e, "%s", fix) : r;
}

/* Runs a program and takes what it prints. */
static int read_program(const struct secret *s, char **argv, int timeout_ms, struct vault_text *ret, struct error *e) {
        struct sigaction before, plain = {.sa_handler = SIG_DFL}; /* where SIGCHLD is ignored, the status would be lost */
        _cleanup_fd_ int out = -1, pidfd = -1;
        _cleanup_vault_ struct vault_text v = {};
        char l[LABEL_MAX];

        if (sigaction(SIGCHLD, &plain, &before) < 0)
                return error_errno(e, errno, "signals cannot be waited for");
        pid_t pid = start_program(argv, &out, &pidfd);
        int r = pid < 0 ? (int)pid : vault_read(out, pidfd, value_max(s) + 1, timeout_ms, &v, e);
        int status = pid < 0 ? 0 : end_of(pid, pidfd, r < 0 ? 0 : SECRET_END_TIME);
        (void)sigaction(SIGCHLD, &before, NULL);
        if (pid < 0)
                return error_errno(e, r, "%s: no program can be started", label(s, l));
        if (r == -ETIMEDOUT)
                return error_set(e, ETIMEDOUT, "%s: nothing came within %d seconds", label(s, l), timeout_ms / 1000);
        if (r < 0)
                return say(label(s, l), e);
        if (s->source == SECRET_STORE && WIFEXITED(status) && WEXITSTATUS(status) == SECRET_REFUSED_STATUS && v.n > 0)
                return report_refusal(s, &v, e);
        if (status != 0)
                return report_end(s, argv[0], status, e);
        drop_newline(&v);
        *ret = v;
        v = (struct vault_text){};
        return 0;
}

static int read_command(const struct secret *s, struct vault_text *ret, struct error *e) {
        char *argv[COMMAND_WORDS_MAX + 1] = {}, *rest = NULL, l[LABEL_MAX];
        _cleanup_free_ char *words = strdup(s->from);
        size_t n = 0;

        if (!words)
                return error_set(e, ENOMEM, "out of memory");
        for (char *w = strtok_r(words, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest)) {
                if (n == COMMAND_WORDS_MAX)
                        return error_set(e, E2BIG, "%s has more than %u words", label(s, l), COMMAND_WORDS_MAX);
                argv[n++] = w;
        }
        if (n == 0)
                return error_set(e, EINVAL, "%s names no program", label(s, l));
        return read_program(s, argv, SECRET_COMMAND_TIME, ret, e);
}

static int read_store(const struct secret *s, struct vault_text *ret, struct error *e) {
        _cleanup_free_ char *tool = NULL;
        char l[LABEL_MAX];
        int r = host_own_program("belljar-tool", &tool, e);

        if (r < 0)
                return say(label(s, l), e);
        char word[] = "secret", give_word[] = "give", key_word[] = "give-key", dashes[] = "--";
        return read_program(s, (char *[]){tool, word, s->is_key ? key_word : give_word, dashes, s->from, NULL}, SECRET_STORE_TIME, ret, e);
}

static int read_keyring(const struct secret *s, struct vault_text *ret, struct error *e) {
        char l[LABEL_MAX];
        long key = -1;

        /* Linked into this thread's own keyring, or reading would ask whether the session's leads to the key: a user keyring
         * that is linked from no session (su, cron, some display managers) has keys that can be found but not read. */
        for (int i = 0; key < 0 && i < 2; i++)
                key = syscall(SYS_keyctl, KEYCTL_SEARCH_, i == 0 ? KEY_SESSION : KEY_USER, "user", s->from, KEY_THREAD);
        if (key < 0) {
                error_errno(e, errno, "%s is not in the session's nor in the user's keyring", label(s, l));
                return error_fix(e, "keyctl padd user %s @u", s->from);
        }
        int r = vault_alloc(value_max(s) + 2, ret, e);
        if (r < 0)
                return r;
        long n = syscall(SYS_keyctl, KEYCTL_READ_, key, ret->p, ret->cap);
        int errnum = errno;
        (void)syscall(SYS_keyctl, KEYCTL_UNLINK_, key, KEY_THREAD);
        if (n < 0)
                return error_errno(e, errnum, "%s cannot be read", label(s, l));
        ret->n = MIN((size_t)n, ret->cap); /* longer ones are refused by their length */
        drop_newline(ret);
        return 0;
}

static int read_one(const struct secret *s, const char *base_dir, struct vault_text *ret, struct error *e) {
        _cleanup_vault_ struct vault_text v = {};
        char l[LABEL_MAX];
        int r = -EINVAL;

        switch (s->source) {
        case SECRET_ENV: r = read_env(s, &v, e); break;
        case SECRET_FILE: r = read_file(s, base_dir, &v, e); break;
        case SECRET_COMMAND: r = read_command(s, &v, e); break;
        case SECRET_KEYRING: r = read_keyring(s, &v, e); break;
        case SECRET_STORE: r = read_store(s, &v, e); break;
        case SECRET_LITERAL:
                if ((r = vault_alloc(strlen(s->from), &v, e)) == 0)
                        memcpy(v.p, s->from, v.n);
                break;
        }
        if (r < 0 || (r = s->is_key ? secret_key_check(label(s, l), &v, e) : secret_value_check(label(s, l), &v, e)) < 0)
                return r;
        *ret = v;
        v = (struct vault_text){};
        return 0;
}

/* Takes the variables out that have the value, in place: the strings that the process was started with are what
 * /proc/PID/environ shows. */
static void forget_value(const struct vault_text *v) {
        if (!environ)
                return;
        for (char **p = environ; *p;) {
                char *at = strstr(*p, v->p);
                if (!at) {
                        p++;
                        continue;
                }
                char *equals = strchr(*p, '=');
                explicit_bzero(equals && equals < at ? equals + 1 : at, strlen(equals && equals < at ? equals + 1 : at));
                for (char **q = p; *q; q++)
                        q[0] = q[1];
        }
}

int secret_sources_read(const struct secret *s, size_t n, const char *base_dir, struct vault_text *ret, struct error *e) {
        int r = 0;
        size_t have = 0;

        for (; have < n && (r = read_one(&s[have], base_dir, &ret[have], e)) >= 0; have++)
                ;
        for (size_t i = 0; i < have; i++)
                forget_value(&ret[i]);
        while (r < 0 && have > 0)
                vault_free(&ret[--have]);
        return r;
}

int secret_source_read(const struct secret *s, const char *base_dir, struct vault_text *ret, struct error *e) {
        return secret_sources_read(s, 1, base_dir, ret, e);
}
