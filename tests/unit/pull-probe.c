/* In place of skopeo, for tests/integration/image-pull: what a program that a hostile registry has taken over can see and do.
 * Called as Belljar calls skopeo, with docker://HOST:PORT/... as one of its words, it sends the test a line a finding and then
 * does what the test answers: "print BYTES", "fill N", "files N", "links TARGET", "fifo", "closed", "fail TEXT", "wait". */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;
static FILE *out;
static int known; /* the socket that it stands on */

static void say(const char *what, long r) { fprintf(out, "%s %s\n", what, r < 0 ? strerrorname_np(errno) : "ok"); }

static void list(const char *path) {
        DIR *d = opendir(path);
        fprintf(out, "list %s", path);
        for (struct dirent *x; d && (x = readdir(d));)
                if (x->d_name[0] != '.' || strlen(x->d_name) > 2)
                        fprintf(out, " %s", x->d_name);
        fprintf(out, "%s\n", d ? "" : " -");
        if (d)
                closedir(d);
}

static void files(void) {
        static const char *const to_read[] = {"/etc/shadow", "/etc/passwd", "/root", "/home", "/proc/self/status", "/sys", "/dev/null",
                                              "/var", "/run", "/tmp", "/etc/ssl/private", "/usr/bin/env", "/etc/resolv.conf"},
                                *const to_write[] = {"/x", "/usr/x", "/etc/x", "/etc/containers/x", "/out/x", "/etc/resolv.conf", "/auth.json"};
        char word[256];
        for (int fd = 3; fd < 256; fd++)
                if (fd != fileno(out) && fd != known && fcntl(fd, F_GETFD) >= 0)
                        fprintf(out, "fd %d\n", fd);
        for (size_t i = 0; i < sizeof(to_read) / sizeof(*to_read); i++) {
                snprintf(word, sizeof(word), "read %s", to_read[i]);
                say(word, open(to_read[i], O_RDONLY));
        }
        for (size_t i = 0; i < sizeof(to_write) / sizeof(*to_write); i++) {
                snprintf(word, sizeof(word), "write %s", to_write[i]);
                say(word, open(to_write[i], O_WRONLY | O_CREAT, 0600));
        }
        list("/");
        list("/etc");
        list("/out");
        list("/.config/containers/certs.d");
        FILE *f = fopen("/auth.json", "r");
        for (char line[4096]; f && fgets(line, sizeof(line), f);)
                fprintf(out, "auth %s\n", line);
        if (f)
                fclose(f);
        for (char **e = environ; *e; e++)
                fprintf(out, "env %s\n", *e);
}

static void calls(void) {
        struct sockaddr_un u = {.sun_family = AF_UNIX, .sun_path = "\0belljar-pull-probe"};
        char *argv[] = {"true", NULL}, *none[] = {NULL};
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        say("unix", s);
        if (s >= 0)
                say("abstract", connect(s, (void *)&u, offsetof(struct sockaddr_un, sun_path) + 19));
        say("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
        say("packet", socket(AF_PACKET, SOCK_RAW, 0));
        say("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
        say("vsock", socket(40, SOCK_STREAM, 0));
        s = socket(AF_INET, SOCK_STREAM, 0);
        say("tcp", s);
        struct sockaddr_in any = {.sin_family = AF_INET};
        say("bind", bind(s, (void *)&any, sizeof(any)));
        say("listen", listen(s, 1));
        say("exec", execve("/usr/bin/true", argv, none));
        say("unshare", unshare(CLONE_NEWUSER));
        say("clone-newuser", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
        say("clone3", syscall(SYS_clone3, NULL, 0));
        say("mount", mount("none", "/out", "tmpfs", 0, NULL));
        say("umount", umount2("/usr", MNT_DETACH));
        say("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
        say("keyctl", syscall(SYS_keyctl, 0, -3, 0, 0, 0));
        say("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
        say("bpf", syscall(SYS_bpf, 0, NULL, 0));
        say("kill", kill(-1, 0));
        say("ioctl", syscall(SYS_ioctl, 0, 0x5412, ""));
        say("symlink", symlink("/", "/out/link-of-probe"));
        say("mknod", mknod("/out/fifo-of-probe", S_IFIFO | 0600, 0));
        say("chmod-setuid", syscall(SYS_setuid, 0));
}

static void make(const char *name, size_t n) {
        static char block[1 << 20];
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        for (; fd >= 0 && n > 0; n -= n < sizeof(block) ? n : sizeof(block))
                if (write(fd, block, n < sizeof(block) ? n : sizeof(block)) < 0)
                        break;
        close(fd);
}

static int obey(int s) {
        static char text[1 << 20], path[128];
        size_t n = 0;
        for (ssize_t r; n < sizeof(text) - 1 && (r = read(s, text + n, sizeof(text) - 1 - n)) > 0;)
                n += (size_t)r;
        text[n] = 0;
        char *arg = strchr(text, ' ');
        if (arg)
                *arg++ = 0;
        mkdirat(AT_FDCWD, "/out/image", 0700);
        if (strcmp(text, "print") == 0 && arg)
                return write(1, arg, n - (size_t)(arg - text)) < 0;
        if (strcmp(text, "fill") == 0 && arg)
                for (int i = 0; i < 64; i++) {
                        snprintf(path, sizeof(path), "/out/image/%d", i);
                        make(path, (size_t)atoll(arg));
                }
        if (strcmp(text, "files") == 0 && arg)
                for (long i = 0; i < atol(arg); i++) {
                        snprintf(path, sizeof(path), "/out/image/%ld", i);
                        make(path, 1);
                }
        if (strcmp(text, "closed") == 0) {
                mkdirat(AT_FDCWD, "/out/image/a", 0700);
                make("/out/image/a/b", 9);
                (void)!syscall(SYS_fchmod, open("/out/image/a", O_RDONLY), 0);
                (void)!syscall(SYS_fchmod, open("/out/image", O_RDONLY), 0);
        }
        if (strcmp(text, "fail") == 0 && arg) {
                fprintf(stderr, "time=\"x\" level=fatal msg=\"%s\"\n", arg);
                return 1;
        }
        if (strcmp(text, "wait") == 0)
                pause();
        return 0;
}

int main(int argc, char **argv) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        char *port = NULL;
        for (int i = 1; i < argc; i++)
                if (strncmp(argv[i], "docker://", 9) == 0 && (port = strchr(argv[i] + 9, ':')))
                        a.sin_port = htons((uint16_t)atoi(port + 1));
        int s = socket(AF_INET, SOCK_STREAM, 0);
        known = s;
        if (connect(s, (void *)&a, sizeof(a)) < 0)
                return 1;
        out = fdopen(fcntl(s, F_DUPFD, 3), "w");
        if (!out)
                return 1;
        for (int i = 0; i < argc; i++)
                fprintf(out, "arg %s\n", argv[i]);
        fprintf(out, "pid %d\nuid %d %d\n", getpid(), getuid(), getgid());
        files();
        calls();
        fprintf(out, "end\n");
        fflush(out);
        return obey(s);
}
