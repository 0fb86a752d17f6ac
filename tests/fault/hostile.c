/* A gate or a broker that was taken over, as its attacker has it: in the real one's place, with its fds and its cage, it does
 * whatever call it is told to, over the connection of the sandbox's that reached it first. The tests beside it
 * (hostile-gate, hostile-broker) drive it. Started by svc/net-start.c under the name that says which of the two it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "generated/seccomp-broker.h"
#include "generated/seccomp-gate.h"
#include "proto/net-msg.h"
#include "svc/net-cage.h"

#define SPACE (256u << 10)
#define RELOCATIONS 8

/* What is asked for: `repeat` times the call, 0: without end, whatever it answers. The arguments in `pointers`, and the
 * words of data at the offsets `relocate`, are offsets into data. */
struct order {
        char call[24];
        int64_t arg[6];
        uint64_t repeat;
        uint32_t pointers;
        uint32_t n;      /* bytes of data that follow */
        uint32_t out;    /* bytes of data that are wanted back */
        uint32_t n_relocate;
        uint32_t relocate[RELOCATIONS];
};

struct answer {
        int64_t result; /* of the last, -errno */
        uint64_t good;  /* how many did not fail */
};

/* The first thing it says, and what a message of this build is. */
struct hello {
        uint32_t report, order, job, gate_sockets, gate_published;
        int32_t channel;
};

static const struct {
        const char *name;
        long number;
} calls[] = {
#define C(x) {#x, SYS_##x}
        C(accept4), C(bind), C(clone), C(close), C(connect), C(execve), C(exit_group), C(getpid), C(getsockopt), C(io_uring_setup),
        C(kill), C(listen), C(memfd_create), C(mmap), C(mount), C(openat), C(pidfd_getfd), C(pidfd_open), C(pidfd_send_signal),
        C(prctl), C(prlimit64), C(process_vm_readv), C(ptrace), C(read), C(recvfrom), C(recvmsg), C(sendmsg), C(sendto), C(setns),
        C(setsockopt), C(shutdown), C(socket), C(socketpair), C(tgkill), C(unshare), C(write),
#undef C
};

static char data[SPACE] __attribute__((aligned(16)));

static int read_whole(int fd, void *to, size_t n) {
        for (size_t at = 0; at < n;) {
                ssize_t k = read(fd, (char *)to + at, n - at);
                if (k == 0 || (k < 0 && errno != EINTR && errno != EAGAIN))
                        return -1;
                at += k > 0 ? (size_t)k : 0;
        }
        return 0;
}

/* Neither list has poll(2). */
static void wait_for(int fd) {
        struct epoll_event e = {.events = EPOLLIN};
        int epoll = epoll_create1(EPOLL_CLOEXEC);

        (void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
        (void)epoll_wait(epoll, &e, 1, -1);
        fd_close(epoll);
}

/* A connection of the sandbox's: the first that the gate's listener has, or that the gate hands to the broker. */
static int channel(bool gate) {
        const int from = gate ? GATE_FD_SOCKETS + NETNS_TCP4 : BROKER_FD_GATE;
        struct broker_job job;
        int fds[FD_PASS_MAX], fd = -1;
        size_t n = 0;

        while (fd < 0) {
                wait_for(from);
                if (gate)
                        fd = accept4(from, NULL, NULL, SOCK_CLOEXEC);
                else if (fd_receive(from, &job, sizeof(job), fds, &n, 0) == sizeof(job) && n == 1)
                        fd = fds[0];
        }
        (void)fcntl(fd, F_SETFL, O_RDWR);
        return fd;
}

static long number_of(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(calls); i++)
                if (strncmp(calls[i].name, name, sizeof(((struct order *)NULL)->call)) == 0)
                        return calls[i].number;
        return -1;
}

static void obey(const struct order *o, struct answer *a) {
        long number = number_of(o->call);
        int64_t arg[6];

        memcpy(arg, o->arg, sizeof(arg));
        for (unsigned i = 0; i < 6; i++)
                if (o->pointers & 1u << i)
                        arg[i] += (int64_t)(intptr_t)data;
        for (uint32_t i = 0; i < o->n_relocate && i < RELOCATIONS; i++) {
                uint64_t v;
                memcpy(&v, data + o->relocate[i], sizeof(v));
                v += (uint64_t)(uintptr_t)data;
                memcpy(data + o->relocate[i], &v, sizeof(v));
        }
        for (uint64_t i = 0; o->repeat == 0 || i < o->repeat; i++) {
                long r = syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
                a->result = r < 0 ? -errno : r;
                a->good += r >= 0;
        }
}

int main(int argc, char **argv) {
        const bool gate = strstr(argv[0], "gate") != NULL;
        struct error e = {};
        struct order o;

        if (net_cage(gate ? seccomp_gate : seccomp_broker, gate ? ELEMENTSOF(seccomp_gate) : ELEMENTSOF(seccomp_broker), &e) < 0)
                return 2;
        struct hello h = {sizeof(struct net_report), sizeof(struct net_order), sizeof(struct broker_job), GATE_FD_SOCKETS, GATE_FD_PUBLISHED, channel(gate)};
        if (write(h.channel, &h, sizeof(h)) != sizeof(h))
                return 3;
        while (read_whole(h.channel, &o, sizeof(o)) == 0 && o.n <= sizeof(data) && o.out <= sizeof(data) && read_whole(h.channel, data, o.n) == 0) {
                struct answer a = {};
                obey(&o, &a);
                if (fd_write_all(h.channel, &a, sizeof(a)) < 0 || fd_write_all(h.channel, data, o.out) < 0)
                        break;
        }
        int deaf[2]; /* to the end: nothing but a signal ends it */
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, deaf) < 0)
                return 4;
        for (;;)
                (void)!recv(deaf[0], &o, 1, 0);
}
