/* Who runs in an image: passwd(5) and group(5) of stacked layers, as overlayfs would show them, with links inside. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "svc/image-user.h"
#include "svc/remove-tree.h"
#include "tap.h"

static char dir[32];
static int root = -1;

static void begin(void) {
        strcpy(dir, "/tmp/test-image-user-XXXXXX");
        check(mkdtemp(dir));
        root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(root >= 0);
}

static void end(void) {
        int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(tmp >= 0 && remove_tree(tmp, dir + strlen("/tmp/"), NULL, NULL) == 0);
        close(tmp);
        close(root);
}

/* Makes the directories above path, which is "LAYER/etc/passwd". */
static void parents(const char *path) {
        char p[256];
        snprintf(p, sizeof(p), "%s", path);
        for (char *s = strchr(p, '/'); s; s = strchr(s + 1, '/')) {
                *s = 0;
                check(mkdirat(root, p, 0755) == 0 || errno == EEXIST);
                *s = '/';
        }
}

static void file(const char *path, const char *text) {
        parents(path);
        int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        check(fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0);
        close(fd);
}

static void link_to(const char *path, const char *target) {
        parents(path);
        check(symlinkat(target, root, path) == 0);
}

static void whiteout(const char *path) {
        parents(path);
        if (mknodat(root, path, S_IFCHR, makedev(0, 0)) < 0)
                skip("this kernel lets nobody but root make whiteouts");
}

static void opaque(const char *path) {
        int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(fd >= 0);
        if (fsetxattr(fd, "user.overlay.opaque", "y", 1, 0) < 0)
                skip("this file system has no user attributes");
        close(fd);
}

/* The user by spec in layers "a" (topmost), "b", "c", as many as there are. */
static int find(const char *spec, struct image_user *u) {
        static char *names[] = {(char *)"a", (char *)"b", (char *)"c"};
        struct image image = {.name = (char *)"test:latest", .layers = {.items = names}};
        struct error e = {};
        struct stat st;

        while (image.layers.n < 3 && fstatat(root, names[image.layers.n], &st, 0) == 0)
                image.layers.n++;
        int r = image_user_find(root, &image, spec, u, &e);
        check((r < 0) == (e.errnum != 0));
        return r;
}

#define PASSWD(name, uid) name ":x:" uid ":5:comment:/home/" name ":/bin/sh\n"

TEST(names_and_numbers) {
        struct image_user u;
        begin();
        file("a/etc/passwd", "root:x:0:0::/root:/bin/sh\nbroken\n:x:1\nshort:x:7:7\n" PASSWD("app", "1000")
                             "up:x:8:8::/../etc:/bin/sh\nrelative:x:9:9::home:/bin/sh\nbad:x:-1:4294967295::/:/\n");
        file("a/etc/group", "root:x:0:\nten:x:10:root,app\nno:x:11:apple,xapp,\nbad:x:y:app\nagain:x:10:app\n"
                            "twelve:x:12:x,app,y\nhalf:x:13\n");
        check(find("", &u) == 0 && u.uid == 0 && u.gid == 0 && streq(u.home, "/root"));
        check(u.n_groups == 1 && u.groups[0] == 10);
        check(find("app", &u) == 0 && u.uid == 1000 && u.gid == 5 && streq(u.home, "/home/app") && streq(u.name, "app"));
        check(u.n_groups == 2 && u.groups[0] == 10 && u.groups[1] == 12 && !u.groups_left_out);
        check(find("1000", &u) == 0 && u.gid == 5 && u.n_groups == 2);
        check(find("1000:ten", &u) == 0 && u.gid == 10 && u.n_groups == 0);
        check(find("app:77", &u) == 0 && u.gid == 77 && u.n_groups == 0);
        check(find("app:", &u) == 0 && u.gid == 5 && u.n_groups == 2);
        check(find(":12", &u) == 0 && u.uid == 0 && u.gid == 12);
        check(find("4242", &u) == 0 && u.uid == 4242 && u.gid == 0 && streq(u.home, "/"));
        check(u.n_groups == 0 && !u.name[0]);
        check(find("up", &u) == 0 && streq(u.home, "/") && find("relative", &u) == 0 && streq(u.home, "/"));
        check(find("none", &u) == -ENOENT && find("app:none", &u) == -ENOENT && find("short", &u) == -ENOENT);
        check(find("bad", &u) == -EINVAL && find("app:half", &u) == 0 && u.gid == 13);
        end();
}

TEST(no_files) {
        struct image_user u;
        begin();
        check(mkdirat(root, "a", 0755) == 0);
        check(find("", &u) == 0 && u.uid == 0 && streq(u.home, "/root"));
        check(find("1:2", &u) == 0 && u.uid == 1 && u.gid == 2 && find("app", &u) == -ENOENT);
        file("a/etc", "a file, where a directory is expected");
        check(find("", &u) == 0 && find("app", &u) == -ENOENT);
        end();
}

TEST(layers) {
        struct image_user u;
        begin();
        file("a/usr/x", "");
        file("b/etc/passwd", PASSWD("app", "2"));
        file("c/etc/passwd", PASSWD("app", "3") PASSWD("old", "4"));
        file("c/etc/group", "more:x:20:app\n");
        check(find("app", &u) == 0 && u.uid == 2 && u.n_groups == 1 && find("old", &u) == -ENOENT);
        whiteout("a/etc/passwd");
        check(find("app", &u) == -ENOENT);
        check(unlinkat(root, "a/etc/passwd", 0) == 0 && unlinkat(root, "b/etc/passwd", 0) == 0);
        check(find("app", &u) == 0 && u.uid == 3);
        opaque("b/etc");
        check(find("app", &u) == -ENOENT);
        end();
}

TEST(directory_whiteout) {
        struct image_user u;
        begin();
        whiteout("a/etc");
        file("b/etc/passwd", PASSWD("app", "2"));
        check(find("app", &u) == -ENOENT);
        end();
}

TEST(replaced_directory) {
        struct image_user u;
        begin();
        file("a/etc/passwd", PASSWD("app", "1"));
        file("b/etc", "a file");
        file("c/etc/group", "hidden:x:20:app\n");
        check(find("app", &u) == 0 && u.uid == 1 && u.n_groups == 0);
        end();
}

TEST(links_stay_inside) {
        struct image_user u;
        begin();
        link_to("a/etc/passwd", "../../../../store/deep/passwd"); /* above the root is the root */
        link_to("a/store/deep", "/data/./here");
        file("b/data/here/passwd", PASSWD("app", "1"));
        link_to("b/etc/group", "/etc/alternatives/../../data//groups");
        file("c/etc/alternatives/x", "");
        file("c/data/groups", "ten:x:10:app\n");
        check(find("app", &u) == 0 && u.uid == 1 && u.n_groups == 1 && u.groups[0] == 10);
        end();
        begin();
        link_to("a/etc/passwd", "passwd");
        check(find("app", &u) == -ELOOP);
        check(unlinkat(root, "a/etc/passwd", 0) == 0);
        link_to("a/etc/passwd", "/proc/self/environ"); /* of the image, which has none */
        check(find("app", &u) == -ENOENT);
        check(unlinkat(root, "a/etc/passwd", 0) == 0);
        link_to("a/etc/passwd", "/etc/");
        check(find("app", &u) == -ENOENT);
        end();
}

TEST(hostile) {
        struct image_user u;
        char *text;
        begin();
        parents("a/etc/x");
        check(mkfifoat(root, "a/etc/passwd", 0644) == 0); /* would be waited for, if it were opened */
        check(find("", &u) == 0);
        check(unlinkat(root, "a/etc/passwd", 0) == 0);
        file("a/etc/passwd", PASSWD("app", "1"));
        /* More groups than are taken, and a list without an end. */
        check((text = malloc(100000)));
        size_t n = 0;
        for (unsigned i = 0; i < 40; i++)
                n += (size_t)sprintf(text + n, "g%u:x:%u:app\n", i, 100 + i);
        memset(text + n, ',', 50000);
        text[n + 50000] = 0;
        file("a/etc/group", text);
        check(find("app", &u) == 0 && u.n_groups == IMAGE_GROUPS_MAX && u.groups_left_out);
        free(text);
        check((text = malloc(2u << 20)));
        memset(text, 'x', (2u << 20) - 1);
        text[(2u << 20) - 1] = 0;
        file("a/etc/passwd", text);
        check(find("app", &u) == -EFBIG);
        free(text);
        end();
}

TAP_MAIN
