/* The first program in a guest: loads the modules that the disks and the output ports need, mounts the root disk,
 * brings the job's files into its /run and becomes the second stage.
 *
 * `run` compiles it static and packs it as /init of an initramfs with /boot/NN-*.ko in loading order, /job/ (copied to
 * /run/vm) and, for guests with systemd, /units/ (copied to /run/systemd/system). Any failure ends PID 1, which the
 * runner sees as a kernel panic with the reason on the console. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...) {
        int e = errno;
        va_list ap;
        va_start(ap, format);
        fprintf(stderr, "stage1: ");
        vfprintf(stderr, format, ap);
        fprintf(stderr, ": %s\n", strerror(e));
        va_end(ap);
        exit(1);
}

/* Calls one for each name in dir, sorted; an absent dir has none. */
static void each(const char *dir, void (*one)(const char *from, const char *name, const char *to), const char *to) {
        struct dirent **names;
        int n = scandir(dir, &names, NULL, alphasort);
        if (n < 0 && errno == ENOENT)
                return;
        if (n < 0)
                die("%s", dir);
        for (int i = 0; i < n; i++) {
                if (names[i]->d_name[0] != '.') {
                        char from[512];
                        snprintf(from, sizeof(from), "%s/%s", dir, names[i]->d_name);
                        one(from, names[i]->d_name, to);
                }
                free(names[i]);
        }
        free(names);
}

static void load(const char *from, const char *name, const char *to) {
        (void) name;
        (void) to;
        int fd = open(from, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST))
                die("%s", from);
        close(fd);
}

static void copy(const char *from, const char *name, const char *to) {
        char path[512], buffer[65536];
        struct stat st;
        snprintf(path, sizeof(path), "%s/%s", to, name);
        int in = open(from, O_RDONLY | O_CLOEXEC);
        if (in < 0 || fstat(in, &st) < 0)
                die("%s", from);
        int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777);
        if (out < 0)
                die("%s", path);
        ssize_t n;
        while ((n = read(in, buffer, sizeof(buffer))) > 0)
                if (write(out, buffer, (size_t) n) != n)
                        die("%s", path);
        if (n < 0)
                die("%s", from);
        close(in);
        close(out);
}

static void mount_at(const char *source, const char *target, const char *type, unsigned long flags, const char *data) {
        if (mount(source, target, type, flags, data) < 0)
                die("mounting %s at %s", source, target);
}

/* The disks of a guest come up in no particular order; each says which it is. Fills in /dev/NAME. */
static int find_disk(const char *serial, char *ret, size_t size) {
        DIR *d = opendir("/sys/block");
        if (!d)
                return -errno;
        struct dirent *e;
        int r = -ENOENT;
        while (r < 0 && (e = readdir(d))) {
                char path[512], line[64] = "";
                snprintf(path, sizeof(path), "/sys/block/%s/serial", e->d_name);
                int fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd < 0)
                        continue;
                if (read(fd, line, sizeof(line) - 1) < 0)
                        line[0] = 0;
                close(fd);
                line[strcspn(line, "\n")] = 0;
                if (!strcmp(line, serial)) {
                        snprintf(ret, size, "/dev/%s", e->d_name);
                        r = 0;
                }
        }
        closedir(d);
        return r;
}

int main(void) {
        char disk[300];
        (void) mkdir("/dev", 0755);
        (void) mkdir("/sys", 0755);
        (void) mkdir("/root", 0755);
        mount_at("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
        /* The kernel could not open a console in an empty initramfs. */
        int fd = open("/dev/console", O_RDWR);
        if (fd >= 0)
                for (int i = 0; i < 3; i++)
                        (void) dup2(fd, i);
        mount_at("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL);
        each("/boot", load, NULL);

        int tries = 0, r;
        while ((r = find_disk("root", disk, sizeof(disk))) < 0 && tries++ < 1000)
                (void) nanosleep(&(struct timespec) {.tv_nsec = 10000000}, NULL);
        errno = -r;
        if (r < 0)
                die("root disk");
        mount_at(disk, "/root", "ext4", 0, NULL);
        mount_at("tmpfs", "/root/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=20%");
        if (mkdir("/root/run/vm", 0755) < 0)
                die("/run/vm");
        each("/job", copy, "/root/run/vm");
        bool systemd = access("/units", F_OK) == 0;
        if (systemd) {
                if (mkdir("/root/run/systemd", 0755) < 0 || mkdir("/root/run/systemd/system", 0755) < 0)
                        die("/run/systemd/system");
                each("/units", copy, "/root/run/systemd/system");
        }
        mount_at("/dev", "/root/dev", NULL, MS_MOVE, NULL);
        mount_at("/sys", "/root/sys", NULL, MS_MOVE, NULL);
        if (chdir("/root") < 0)
                die("/root");
        mount_at(".", "/", NULL, MS_MOVE, NULL);
        if (chroot(".") < 0 || chdir("/") < 0)
                die("chroot");
        const char *next = systemd ? "/sbin/init" : "/run/vm/init";
        char *const argv[] = {(char *) next, NULL};
        char *const envp[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=dumb", NULL};
        execve(next, argv, envp);
        die("%s", next);
}
