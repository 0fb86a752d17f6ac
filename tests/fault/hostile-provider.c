/* A belljar-provider that was taken over: it hands the two descriptors that it was started with to the test beside it
 * (hostile-provider), which answers in its place, and ends when it is told to, or when the test does. Started by svc/net-start.c. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/provider.h"

/* The first thing it says: what an answer of this build is. */
struct hello {
        uint32_t size, seconds, host, why, value, next;
};

int main(void) {
        const struct hello h = {sizeof(struct provider_reply), offsetof(struct provider_reply, seconds), offsetof(struct provider_reply, host),
                                offsetof(struct provider_reply, why), offsetof(struct provider_reply, value), offsetof(struct provider_reply, next)};
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        char path[4096] = "", status;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        /* Of no file: it may have the ids of nobody. */
        if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
                return 2;
        const size_t n = strlen(path), cut = n > 90 ? n - 90 : 0;
        memcpy(a.sun_path + 1, path + cut, n - cut);
        if (connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n - cut)) < 0 ||
            fd_send(fd, &h, sizeof(h), (const int[]){PROVIDER_FD_CONTROL, PROVIDER_FD_JOB}, 2, 0) < 0)
                return 3;
        close(PROVIDER_FD_CONTROL);
        close(PROVIDER_FD_JOB);
        return read(fd, &status, 1) == 1 ? status : 1;
}
