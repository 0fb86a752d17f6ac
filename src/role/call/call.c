/* belljar-call: stands in a sandbox under the names of what a run can call (CALL_FOLDER), connects to the endpoint, hands over its
 * words and relays its standard input, output and exit status. It decides nothing and knows nothing: it has no more rights than
 * whoever started it, and what a call may do is the courier's to say, outside (role/cli/courier.c).
 *
 * Under its own name, outside, it is a helper of ssh's: ProxyCommand with ProxyUseFdpass. It takes the connected socket that the
 * courier has left in standard error, and hands it on to ssh.
 *
 * Freestanding, as belljar-init: it has to run on any image. */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "proto/call-msg.h"
#include "sys/raw-syscall.h"

#define AF_UNIX_ 1
#define SOCK_STREAM_ 1
#define SOL_SOCKET_ 1
#define SCM_RIGHTS_ 1
#define O_CLOEXEC_ 02000000
#define MSG_DONTWAIT_ 0x40
#define MSG_NOSIGNAL_ 0x4000
#define MSG_CMSG_CLOEXEC_ 0x40000000
#define POLLIN_ 1
#define POLLOUT_ 4

/* Of a pipe that poll(2) calls writable, a write of this much does not block (pipe(7): PIPE_BUF). */
#define CHUNK 4096u
/* A call that came to no answer, as ssh ends for whatever is not the remote command's doing. */
#define EXIT_CUT 255

struct pollfd_ {
        int fd;
        short events, revents;
};

/* One frame, on its way: bytes have been read or written so far. */
struct frame {
        struct call_head head;
        char payload[CALL_PAYLOAD_MAX];
};

static struct frame up, down;
static size_t up_done, down_done; /* bytes of the frame; of `down` once it is whole, of its payload that are written */
static bool up_used, down_whole;
static bool want_input;
static int conn;
static char **words, **variables;

void *memcpy(void *d, const void *s, size_t n);
void *memset(void *d, int c, size_t n);
void *memcpy(void *d, const void *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                ((char *)d)[i] = ((const char *)s)[i];
        return d;
}
void *memset(void *d, int c, size_t n) {
        for (size_t i = 0; i < n; i++)
                ((char *)d)[i] = (char)c;
        return d;
}
static size_t len(const char *s) {
        size_t n = 0;
        while (s[n])
                n++;
        return n;
}

__attribute__((noreturn)) static void quit(int code) {
        for (;;)
                sc(__NR_exit_group, code);
}

__attribute__((noreturn)) static void fail(const char *what) {
        sc(__NR_write, 2, "belljar: ", 9);
        sc(__NR_write, 2, what, len(what));
        sc(__NR_write, 2, "\n", 1);
        quit(EXIT_CUT);
}

static const char *base(const char *path) {
        const char *name = path;
        for (const char *p = path; *p; p++)
                if (*p == '/')
                        name = p + 1;
        return name;
}

static bool same(const char *a, const char *b) {
        while (*a && *a == *b)
                a++, b++;
        return *a == *b;
}

/* A whole frame, whatever else there is to do. */
static void send_now(uint8_t type, const void *payload, size_t n) {
        size_t done = 0;

        up.head = (struct call_head){CALL_MAGIC, type, 0, (uint32_t)n};
        if (payload != up.payload)
                memcpy(up.payload, payload, n);
        while (done < sizeof(up.head) + n) {
                long r = sc(__NR_sendto, conn, (char *)&up + done, sizeof(up.head) + n - done, MSG_NOSIGNAL_, 0, 0);
                if (r < 0 && r != -EINTR)
                        fail("the call was cut off");
                done += r > 0 ? (size_t)r : 0;
        }
}

static void send_done(long status) {
        int32_t s = (int32_t)(status < 0 ? status : 0);
        send_now(CALL_DONE, &s, sizeof(s));
}

static void begin(const char *name) {
        size_t n = 0;

        for (long i = -2; i < 0 || words[i]; i++) {
                if (i == -1) {
                        long r = sc(__NR_getcwd, up.payload + n, sizeof(up.payload) - n);
                        if (r <= 0)
                                fail("the working directory cannot be told");
                        n += (size_t)r;
                        continue;
                }
                const char *word = i < 0 ? name : words[i];
                size_t k = len(word) + 1;
                if (k > sizeof(up.payload) - n)
                        fail("the command line is too long for a call");
                memcpy(up.payload + n, word, k);
                n += k;
        }
        send_now(CALL_BEGIN, up.payload, n);
}

static void read_file(const char *path) {
        long fd = sc(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC_), n = fd;

        while (n >= 0 && (n = sc(__NR_read, fd, up.payload, sizeof(up.payload))) > 0)
                send_now(CALL_CONTENT, up.payload, (size_t)n);
        if (fd >= 0)
                sc(__NR_close, fd);
        send_done(n);
}

static void write_file(const char *path, const char *data, size_t n) {
        long fd = sc(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC_, 0666), r = fd;

        while (n > 0 && r >= 0 && (r = sc(__NR_write, fd, data, n)) > 0) {
                data += r;
                n -= (size_t)r;
        }
        if (fd >= 0)
                sc(__NR_close, fd);
        send_done(n > 0 && r >= 0 ? -EIO : r);
}

/* The payload's path, which has to end in it; then what follows. */
static const char *path_of(size_t *ret_rest) {
        for (size_t i = 0; i < down.head.size; i++)
                if (down.payload[i] == 0) {
                        *ret_rest = down.head.size - i - 1;
                        return down.payload;
                }
        fail("the call was answered with what is no answer");
}

/* A frame from outside is whole. True: it is done with. */
static bool obey(void) {
        const char *path;
        size_t rest;
        int32_t status;

        switch (down.head.type) {
        case CALL_WANT_INPUT:
                want_input = true;
                return true;
        case CALL_OUTPUT:
        case CALL_ERROR:
                return down.head.size == 0;
        case CALL_READ:
                path = path_of(&rest);
                read_file(path);
                return true;
        case CALL_WRITE:
                path = path_of(&rest);
                write_file(path, path + len(path) + 1, rest);
                return true;
        case CALL_EXEC:
                path = path_of(&rest);
                words[-1] = (char *)path;
                sc(__NR_execve, path, words - 1, variables);
                fail("this sandbox has no program of its own for that");
        case CALL_EXIT:
                if (down.head.size != sizeof(status))
                        fail("the call was answered with what is no answer");
                memcpy(&status, down.payload, sizeof(status));
                quit(status & 0xff);
        }
        fail("the call was answered with what is no answer");
}

static void take(void) {
        size_t whole = sizeof(down.head) + (down_done < sizeof(down.head) ? 0 : down.head.size);
        long r = sc(__NR_recvfrom, conn, (char *)&down + down_done, whole - down_done, MSG_DONTWAIT_, 0, 0);

        if (r == -EAGAIN || r == -EINTR)
                return;
        if (r <= 0)
                fail("the call was cut off");
        down_done += (size_t)r;
        if (down_done < sizeof(down.head))
                return;
        if (!call_head_good(&down.head, false))
                fail("the call was answered with what is no answer");
        if (down_done < sizeof(down.head) + down.head.size)
                return;
        down_done = 0;
        down_whole = !obey();
}

static void give(void) {
        size_t n = down.head.size - down_done;
        long r = sc(__NR_write, down.head.type == CALL_OUTPUT ? 1 : 2, down.payload + down_done, n < CHUNK ? n : CHUNK);

        if (r == -EAGAIN || r == -EINTR)
                return;
        if (r < 0)
                quit(EXIT_CUT); /* its reader is gone */
        down_done += (size_t)r;
        if (down_done < down.head.size)
                return;
        down_done = 0;
        down_whole = false;
}

static void read_input(void) {
        long r = sc(__NR_read, 0, up.payload, sizeof(up.payload));

        if (r == -EAGAIN || r == -EINTR)
                return;
        want_input = r > 0;
        up.head = (struct call_head){CALL_MAGIC, r > 0 ? CALL_INPUT : CALL_INPUT_END, 0, r > 0 ? (uint32_t)r : 0};
        up_done = 0;
        up_used = true;
}

static void push(void) {
        size_t whole = sizeof(up.head) + up.head.size;
        long r = sc(__NR_sendto, conn, (char *)&up + up_done, whole - up_done, MSG_NOSIGNAL_ | MSG_DONTWAIT_, 0, 0);

        if (r == -EAGAIN || r == -EINTR)
                return;
        if (r < 0) { /* nobody wants it any more; what is still to be read says why */
                up_used = want_input = false;
                return;
        }
        up_done += (size_t)r;
        if (up_done == whole)
                up_used = false;
}

/* Input and output each go on while the other is stuck: whoever writes to this program may read from it only afterwards.
 * (Files go up in the buffer of the input: the courier asks for them before it wants any.) */
__attribute__((noreturn)) static void relay(void) {
        for (;;) {
                struct pollfd_ p[3] = {
                        {conn, (short)((down_whole ? 0 : POLLIN_) | (up_used ? POLLOUT_ : 0)), 0},
                        {want_input && !up_used ? 0 : -1, POLLIN_, 0},
                        {!down_whole ? -1 : down.head.type == CALL_OUTPUT ? 1 : 2, POLLOUT_, 0},
                };
                if (down_whole && !up_used)
                        p[0].fd = -1; /* that the other end has gone is of interest once this is written */
                long r = sc(__NR_ppoll, p, 3, 0, 0, 0);
                if (r < 0 && r != -EINTR)
                        quit(EXIT_CUT);
                if (r <= 0)
                        continue;
                if (p[2].revents)
                        give();
                if (up_used && p[0].revents & POLLOUT_)
                        push();
                else if (p[1].revents)
                        read_input();
                if (!down_whole && p[0].revents & ~POLLOUT_)
                        take();
        }
}

/* struct iovec, msghdr and cmsghdr of the kernel, for 64 bits. */
struct part {
        void *p;
        size_t n;
};
struct message {
        void *name;
        uint32_t n_name, pad;
        struct part *parts;
        size_t n_parts;
        void *control;
        size_t n_control;
        uint32_t flags, pad2;
};
struct rights {
        size_t n;
        int32_t level, type, fd, pad;
};

static int pass(void) {
        struct rights c = {};
        char byte = 0;
        struct part part = {&byte, 1};
        struct message m = {.parts = &part, .n_parts = 1, .control = &c, .n_control = sizeof(c)};

        long r = sc(__NR_recvmsg, 2, &m, MSG_CMSG_CLOEXEC_);
        if (r != 1 || c.level != SOL_SOCKET_ || c.type != SCM_RIGHTS_ || c.n != offsetof(struct rights, pad))
                return 1;
        m = (struct message){.parts = &part, .n_parts = 1, .control = &c, .n_control = sizeof(c)};
        return sc(__NR_sendmsg, 1, &m, MSG_NOSIGNAL_) != 1;
}

int call_main(long *stack);
int call_main(long *stack) {
        static struct {
                uint16_t family;
                char path[108];
        } address = {AF_UNIX_, CALL_SOCKET};
        long argc = stack[0];
        const char *name;

        if (argc < 1)
                quit(EXIT_CUT);
        words = (char **)(stack + 2);
        variables = (char **)(stack + 1) + argc + 1;
        name = base(words[-1]);
        if (same(name, "belljar-call"))
                quit(pass());
        conn = (int)sc(__NR_socket, AF_UNIX_, SOCK_STREAM_ | O_CLOEXEC_, 0);
        if (conn < 0 || sc(__NR_connect, conn, &address, sizeof(address)) < 0)
                fail("the sandbox's endpoint cannot be reached");
        begin(name);
        relay();
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall call_main\n\thlt\n");
#else
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x0, sp\n\tbl call_main\n\tbrk #1\n");
#endif
