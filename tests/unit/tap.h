/* A unit test program: TEST(name) { check(...); } ... TAP_MAIN. Each test runs in a process of its own, so that a
 * crash fails one test; the output is TAP and ends with the sentinel "# done", without which tests/run counts the
 * program as failed. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct tap_test {
        const char *name;
        void (*fn)(void);
        struct tap_test *next;
};
static struct tap_test *tap_first, **tap_last = &tap_first;

#define TEST(ident)                                                                            \
        static void test_##ident(void);                                                        \
        __attribute__((constructor)) static void tap_add_##ident(void) {                       \
                static struct tap_test t = {#ident, test_##ident, NULL};                       \
                *tap_last = &t;                                                                \
                tap_last = &t.next;                                                            \
        }                                                                                      \
        static void test_##ident(void)

#define check(cond)                                                                            \
        do {                                                                                   \
                if (!(cond)) {                                                                 \
                        printf("# %s:%d: failed: %s\n", __FILE__, __LINE__, #cond);            \
                        fflush(stdout);                                                        \
                        _exit(1);                                                              \
                }                                                                              \
        } while (0)
#define check_streq(a, b)                                                                      \
        do {                                                                                   \
                const char *_a = (a), *_b = (b);                                               \
                if (!_a || !_b || strcmp(_a, _b) != 0) {                                       \
                        printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #a, _a ? _a : "(null)", _b ? _b : "(null)"); \
                        fflush(stdout);                                                        \
                        _exit(1);                                                              \
                }                                                                              \
        } while (0)
/* Ends the test as skipped, with its reason: tests/run counts it. */
#define skip(reason)                                                                           \
        do {                                                                                   \
                printf("# skip: %s\n", reason);                                                \
                fflush(stdout);                                                                \
                _exit(77);                                                                     \
        } while (0)

static inline int tap_run(void) {
        int n = 0;

        for (struct tap_test *t = tap_first; t; t = t->next) {
                int status = 0;
                fflush(stdout);
                pid_t pid = fork();
                if (pid == 0) {
                        t->fn();
                        fflush(stdout);
                        exit(0); /* not _exit: leaks are looked for here */
                }
                n++;
                if (pid < 0 || waitpid(pid, &status, 0) != pid)
                        printf("not ok %d - %s # cannot fork\n", n, t->name);
                else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                        printf("ok %d - %s\n", n, t->name);
                else if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                        printf("ok %d - %s # SKIP\n", n, t->name);
                else
                        printf("not ok %d - %s (wait status %#x)\n", n, t->name, (unsigned)status);
        }
        printf("1..%d\n# done\n", n);
        return 0;
}
#define TAP_MAIN int main(void) { return tap_run(); }
