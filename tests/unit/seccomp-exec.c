/* seccomp-exec COMMAND [ARGUMENT...]: runs a command under the process tier's system call list and nothing else of
 * Belljar, so that a test can tell what the list alone does to a program. Linked with nothing. */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "generated/seccomp-process.h"

int main(int argc, char **argv) {
        struct sock_fprog prog = {
                sizeof(seccomp_process) / sizeof(seccomp_process[0]), (struct sock_filter *)seccomp_process,
        };

        if (argc < 2) {
                fprintf(stderr, "usage: seccomp-exec COMMAND [ARGUMENT...]\n");
                return 125;
        }
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0) {
                fprintf(stderr, "seccomp-exec: cannot load the filter: %s\n", strerror(errno));
                return 125;
        }
        execvp(argv[1], argv + 1);
        fprintf(stderr, "seccomp-exec: %s: %s\n", argv[1], strerror(errno));
        return 127;
}
