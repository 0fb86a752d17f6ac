#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "svc/vault.h"
#include "tap.h"

/* The VmFlags of the mapping that has the address (proc(5)). */
static void flags_of(const void *p, char dst[512]) {
        FILE *f = fopen("/proc/self/smaps", "re");
        char line[512];
        bool inside = false;

        check(f != NULL);
        dst[0] = 0;
        while (fgets(line, sizeof(line), f)) {
                unsigned long from, to;
                if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
                        inside = (unsigned long)p >= from && (unsigned long)p < to;
                else if (inside && strncmp(line, "VmFlags:", 8) == 0)
                        snprintf(dst, 512, "%s", line + 8);
        }
        fclose(f);
        if (!dst[0])
                skip("this kernel's smaps has no VmFlags");
}

/* How a child ends that reads there. */
static int reading(const volatile char *p) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0) {
                signal(SIGSEGV, SIG_DFL); /* not a sanitizer's report */
                _exit(*p);
        }
        check(pid > 0 && waitpid(pid, &status, 0) == pid);
        return status;
}

TEST(flags_of_its_pages) {
        struct vault_text t = {};
        struct error e = {};
        char flags[512];

        check(vault_alloc(40, &t, &e) == 0 && t.n == 40 && t.cap == 40 && t.p[40] == 0);
        flags_of(t.p, flags);
        check(strstr(flags, " dd") && strstr(flags, " wf"));
        check(t.unlocked == !strstr(flags, " lo"));
        check(!t.unlocked);
        vault_free(&t);
        check(!t.p && t.n == 0);
        vault_free(&t); /* nothing */
}

TEST(a_fork_reads_zeros) {
        struct vault_text t = {};
        struct error e = {};

        check(vault_alloc(3, &t, &e) == 0);
        memcpy(t.p, "abc", 3);
        check(reading(t.p) == 0 && reading(t.p + 2) == 0);
        check_streq(t.p, "abc");
        vault_free(&t);
}

TEST(what_stands_around_is_closed) {
        static const size_t sizes[] = {0, 1, 4094, 4095, 4096, 5000};

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                struct vault_text t = {};
                struct error e = {};
                check(vault_alloc(sizes[i], &t, &e) == 0);
                memset(t.p, 'x', t.n);
                size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (t.cap + page) / page * page;
                check(reading(t.p + t.cap) == 0); /* the NUL is within */
                int after = reading(t.p + t.cap + 1), before = reading(t.p + t.cap - size);
                check(WIFSIGNALED(after) && WTERMSIG(after) == SIGSEGV);
                check(WIFSIGNALED(before) && WTERMSIG(before) == SIGSEGV);
                vault_free(&t);
        }
}

TEST(freed_it_is_gone) {
        struct vault_text t = {};
        struct error e = {};

        check(vault_alloc(16, &t, &e) == 0);
        char *p = t.p;
        vault_free(&t);
        int status = reading(p);
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(a_length_made_smaller) {
        struct vault_text t = {};
        struct error e = {};

        check(vault_alloc(9000, &t, &e) == 0);
        char *p = t.p;
        t.n = 1;
        vault_free(&t); /* all of it: by its room, not by its length */
        int status = reading(p + 8999);
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        check(vault_alloc(VAULT_MAX + 1, &t, &e) == -E2BIG && !t.p);
}

TEST(no_room_to_lock) {
        struct vault_text t = {};
        struct error e = {};

        if (geteuid() == 0) /* root's is not limited */
                check(setresuid(65534, 65534, 65534) == 0);
        check(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0}) == 0);
        check(vault_alloc(8, &t, &e) == 0 && t.unlocked);
        memcpy(t.p, "12345678", 8);
        check(reading(t.p) == 0);
        vault_free(&t);
        struct rlimit before;
        check(getrlimit(RLIMIT_AS, &before) == 0 && setrlimit(RLIMIT_AS, &(struct rlimit){1, before.rlim_max}) == 0);
        check(vault_alloc(8, &t, &e) == -ENOMEM && !t.p);
        check(setrlimit(RLIMIT_AS, &before) == 0); /* a sanitizer needs memory to end */
}

TEST(read_from_a_pipe) {
        struct vault_text t = {};
        struct error e = {};
        char four[4] = "abcd";
        int p[2];

        check(pipe2(p, O_CLOEXEC) == 0 && fd_write_all(p[1], four, 4) == 0);
        check(vault_read(p[0], -1, 4, 0, &t, &e) == -ETIMEDOUT && !t.p); /* its end did not come */
        check(fd_write_all(p[1], four, 4) == 0 && fd_write_all(p[1], "e", 1) == 0);
        check(vault_read(p[0], -1, 4, -1, &t, &e) == -EFBIG && !t.p);
        check(fd_write_all(p[1], four, 4) == 0);
        fd_close(p[1]);
        check(vault_read(p[0], -1, 4, -1, &t, &e) == 0 && t.n == 4);
        check_streq(t.p, "abcd");
        vault_free(&t);
        check(vault_read(p[0], -1, 4, -1, &t, &e) == 0 && t.n == 0 && t.p);
        vault_free(&t);
        check(vault_read(-1, -1, 4, 1, &t, &e) == -ETIMEDOUT);
}

TEST(read_until_the_writer_has_ended) {
        struct vault_text t = {};
        struct error e = {};
        int p[2], ended[2];

        check(pipe2(p, O_CLOEXEC) == 0 && pipe2(ended, O_CLOEXEC) == 0);
        check(fd_write_all(p[1], "abc", 3) == 0 && fd_write_all(ended[1], "", 1) == 0);
        check(vault_read(p[0], ended[0], 64, 60000, &t, &e) == 0 && t.n == 3); /* p[1] is still open */
        check_streq(t.p, "abc");
        vault_free(&t);
}

TAP_MAIN
