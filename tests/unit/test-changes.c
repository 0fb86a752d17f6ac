/* The reader of upper layers, against overlays that a kernel wrote and against uppers that no kernel would. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "overlay-fixture.h"
#include "svc/changes.h"
#include "sys/beneath.h"

static char *listing(const struct changes *c) {
        struct strbuf b = {};
        for (size_t i = 0; i < c->n; i++)
                strbuf_printf(&b, "%c %s\n", change_kind_letter(c->items[i].kind), c->items[i].path);
        return strbuf_take(&b);
}

static struct changes_source source(const struct fixture *f) {
        return (struct changes_source){.upper_fd = f->upper, .lower_fd = f->lower, .hide_fd = -1, .trusted = f->trusted};
}

static const struct change *find(const struct changes *c, const char *path) {
        for (size_t i = 0; i < c->n; i++)
                if (streq(c->items[i].path, path))
                        return &c->items[i];
        printf("# no change at %s\n", path);
        check(false);
        return NULL;
}

/* The listing with `expand` equals what plain reading of both trees says. The test's process ends in a user namespace
 * of its own, as the command's child does. */
static void check_against_oracle(const struct fixture *f, struct changes *ret) {
        struct changes_source s = source(f);
        struct error e = {};
        struct changes c = {};

        check(changes_unbind() == 0);
        s.expand = true;
        int r = changes_read(&s, &c, &e);
        if (r < 0)
                printf("# %s\n", e.msg);
        check(r == 0);
        struct items lower = items_read("lower"), copy = items_read("copy");
        char *want = items_compare(&lower, &copy), *got = listing(&c);
        check_streq(got, want);

        struct changes_summary sum;
        s.expand = false;
        check(changes_summary(&s, &sum, &e) == 0);
        check(!sum.at_least);
        struct changes brief = {};
        check(changes_read(&s, &brief, &e) == 0);
        check(sum.added + sum.changed + sum.deleted == brief.n);
        changes_clear(&brief);
        free(want);
        free(got);
        items_clear(&lower);
        items_clear(&copy);
        if (ret)
                *ret = c;
        else
                changes_clear(&c);
}

static void fill(void) {
        sh("cd lower && printf 'one\\ntwo\\nthree\\n' >a.txt && echo same >same.txt && echo run >mode.sh && mkdir -p dir gone/sub "
           "dirtofile copiedup opq/deep opq/keep && echo x >dir/x && echo y >dir/y && echo 1 >gone/1 && echo 2 >gone/2 && "
           "echo 3 >gone/sub/3 && echo f >filetodir && echo p >dirtofile/p && echo q >dirtofile/q && ln -s a.txt link && "
           "ln -s a.txt linksame && echo k >opq/k && echo l >opq/l && echo d >opq/deep/d && echo k >opq/keep/k && "
           "echo renamed content >ren.txt && : >empty && echo touched >touched && echo u >copiedup/u && "
           "printf 'abcd' >samesize && echo locked >locked && mkdir unread && echo in >unread/in && echo hl >h1 && ln h1 h2 && "
           "mkdir -p a/b && echo c >a/b/c && echo 'dot' >a.b");
}

static void edit_everything(void) {
        sh("echo four >>a.txt && chmod 755 mode.sh && rm dir/x && echo n >dir/new && rm -r gone && rm filetodir && "
           "mkdir filetodir && echo in >filetodir/in && rm -r dirtofile && echo file >dirtofile && ln -sfn dir link && "
           "chmod 700 copiedup && chmod 755 copiedup && rm -r opq && mkdir -p opq/keep opq/new && echo k >opq/k && "
           "echo m >opq/m && echo k >opq/keep/k && mv ren.txt ren2.txt && touch touched && printf 'abXd' >samesize && "
           "mkfifo fifo && mkdir newdir && echo z >newdir/z && ln newdir/z newdir/zz && "
           "printf x >\"$(printf 'we\\nird \\033[31m')\" && printf x >./-dash && printf x >\"$(printf 'bad\\377utf')\" && "
           "echo gone >temporary && rm temporary && chmod 000 locked unread && mkdir secret && echo s >secret/s && "
           "chmod 000 secret/s secret && echo hl2 >h1 && ln -s /etc/passwd out && ln -s / root && chmod 4755 a.b");
        int fd = open("same.txt", O_RDWR); /* copied up, not changed */
        check(fd >= 0);
        close(fd);
}

static void everything(bool as_root) {
        struct fixture f;
        struct changes c;
        fixture_enter(&f, as_root);
        fill();
        fixture_session(&f, NULL, edit_everything);
        check_against_oracle(&f, &c);

        struct stat st;
        check(fstatat(f.upper, "same.txt", &st, 0) == 0); /* it was copied up, and is no change */
        check(fstatat(f.upper, "copiedup", &st, 0) == 0);
        check(find(&c, "mode.sh")->kind == CHANGE_MODE && (find(&c, "mode.sh")->after.mode & 07777) == 0755);
        check(find(&c, "a.b")->kind == CHANGE_MODE && (find(&c, "a.b")->after.mode & 07777) == 04755);
        check_streq(find(&c, "link")->before.link, "a.txt");
        check_streq(find(&c, "link")->after.link, "dir");
        check(S_ISFIFO(find(&c, "fifo")->after.mode));
        check(find(&c, "newdir/z")->after.nlink == 2);
        check(find(&c, "secret/s")->kind == CHANGE_ADDED);
        changes_clear(&c);

        struct changes_source s = source(&f);
        struct error e = {};
        check(changes_read(&s, &c, &e) == 0);
        check(find(&c, "gone")->kind == CHANGE_DELETED && find(&c, "gone")->beneath == 4);
        check(find(&c, "dirtofile")->kind == CHANGE_TYPE && find(&c, "dirtofile")->beneath == 2);
        check(find(&c, "opq/deep")->beneath == 1);
        changes_find_renames(&s, &c);
        check(find(&c, "ren2.txt")->peer >= 0);
        check_streq(c.items[find(&c, "ren2.txt")->peer].path, "ren.txt");
        check_streq(c.items[find(&c, "ren.txt")->peer].path, "ren2.txt");
        check(find(&c, "a.txt")->peer == -1);
        changes_clear(&c);
        fixture_leave(&f);
}

TEST(everything_user) { everything(false); }
TEST(everything_root) {
        if (geteuid() != 0)
                skip("not root: no trusted.overlay.* here");
        everything(true);
}

/* Random edits by seed: the listing is compared with plain reading. */
static unsigned rng;
static unsigned pick(unsigned n) {
        rng = rng * 1103515245 + 12345;
        return (rng >> 16) % n;
}

static void random_path(char *dst, size_t size) {
        unsigned depth = 1 + pick(3);
        size_t n = 0;
        for (unsigned i = 0; i < depth; i++)
                n += (size_t)snprintf(dst + n, size - n, "%s%c", i ? "/" : "", 'a' + (char)pick(4));
}

static void random_op(bool quiet_rename) {
        char p[64], q[64], cmd[256];
        int fd;
        random_path(p, sizeof(p));
        random_path(q, sizeof(q));
        switch (pick(10)) {
        case 0: case 1:
                (void)!mkdir(p, pick(2) ? 0755 : 0700);
                break;
        case 2: case 3: case 4:
                fd = open(p, O_WRONLY | O_CREAT | (pick(2) ? O_TRUNC : O_APPEND), 0644);
                if (fd >= 0) {
                        if (pick(4))
                                (void)!write(fd, "text\n", pick(6));
                        close(fd);
                }
                break;
        case 5:
                (void)!unlink(p);
                break;
        case 6:
                snprintf(cmd, sizeof(cmd), "rm -rf %s 2>/dev/null", p);
                (void)!system(cmd);
                break;
        case 7:
                (void)!chmod(p, pick(2) ? 0755 : 0700);
                break;
        case 8:
                (void)!symlink(pick(2) ? "a" : "b", p);
                break;
        case 9:
                if (pick(2) || quiet_rename)
                        (void)!rename(p, q);
                else
                        (void)!link(p, q);
                break;
        }
}
static void random_edit(void) {
        for (int i = 0; i < 40; i++)
                random_op(false);
}

static void random_runs(bool as_root, unsigned first, unsigned n) {
        for (unsigned seed = first; seed < first + n; seed++) {
                fflush(stdout);
                pid_t pid = fork(); /* each changes its ids and enters a namespace */
                if (pid == 0) {
                        struct fixture f;
                        fixture_enter(&f, as_root);
                        rng = seed;
                        check(chdir("lower") == 0);
                        for (int i = 0; i < 60; i++)
                                random_op(true);
                        check(chdir("..") == 0);
                        fixture_session(&f, NULL, random_edit);
                        check_against_oracle(&f, NULL);
                        fixture_leave(&f);
                        exit(0);
                }
                int status;
                check(pid > 0 && waitpid(pid, &status, 0) == pid);
                if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                        _exit(77);
                if (status != 0)
                        printf("# seed %u\n", seed);
                check(status == 0);
        }
}
TEST(random_user) { random_runs(false, 1, 25); }
TEST(random_root) {
        if (geteuid() != 0)
                skip("not root: no trusted.overlay.* here");
        random_runs(true, 1000, 15);
}

static void hide_some(void) {
        check(mknod(".env", S_IFCHR, 0) == 0 && mknod("keys", S_IFCHR, 0) == 0);
        check(mkdir("sub", 0755) == 0 && mknod("sub/.env", S_IFCHR, 0) == 0 && mknod("sub/absent", S_IFCHR, 0) == 0);
        check(mkdir("quiet", 0755) == 0 && mknod("quiet/.env", S_IFCHR, 0) == 0);
        check(mkdir("again", 0755) == 0 && mknod("again/.env", S_IFCHR, 0) == 0);
}
static void edit_hidden(void) {
        check(access(".env", F_OK) < 0 && access("keys", F_OK) < 0);
        sh("echo mine >.env && mkdir keys && echo k >keys/id && rm -r sub && echo n >quiet/n && rm -r again && mkdir again");
}

TEST(hidden) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        fixture_enter(&f, false);
        sh("cd lower && echo S >.env && mkdir keys sub quiet again && echo K >keys/id && echo S >sub/.env && echo o >sub/o && "
           "echo S >quiet/.env && echo S >again/.env && echo o >again/o");
        fixture_session(&f, hide_some, edit_hidden);
        struct changes_source s = source(&f);
        s.hide_fd = open("hide", O_PATH | O_DIRECTORY);
        check(s.hide_fd >= 0);
        check(changes_read(&s, &c, &e) == 0);
        char *got = listing(&c);
        /* what the run never saw is neither deleted nor modified by it */
        check_streq(got, "A .env\nD again/o\nA keys\nA keys/id\nA quiet/n\nD sub\n");
        check(find(&c, ".env")->flags == CHANGE_OVER_HIDDEN && find(&c, "keys")->flags == CHANGE_OVER_HIDDEN);
        check(find(&c, "sub")->flags == CHANGE_HOLDS_HIDDEN && find(&c, "sub")->beneath == 1);
        check(find(&c, "quiet/n")->flags == 0);
        free(got);
        changes_clear(&c);

        /* the same from the list alone, when the layer is gone */
        struct strlist hidden = {}, back = {};
        static const char *const paths[] = {"sub/absent", "quiet/.env", ".env", "keys", "sub/.env", "again/.env", "no/such/x"};
        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                check(strlist_add(&hidden, paths[i]) == 0);
        check(changes_hidden_read(f.fd, &back) == 0 && back.n == 0);
        check(changes_hidden_write(f.fd, &hidden) == 0 && changes_hidden_read(f.fd, &back) == 0 && back.n == hidden.n);
        check_streq(back.items[6], "no/such/x");
        close(s.hide_fd);
        s.hide_fd = -1;
        s.hidden = &back;
        check(changes_read(&s, &c, &e) == 0);
        got = listing(&c);
        check_streq(got, "A .env\nD again/o\nA keys\nA keys/id\nA quiet/n\nD sub\n");
        check(find(&c, ".env")->flags == CHANGE_OVER_HIDDEN && find(&c, "keys")->flags == CHANGE_OVER_HIDDEN);
        check(find(&c, "sub")->flags == CHANGE_HOLDS_HIDDEN && find(&c, "sub")->beneath == 1);
        check(find(&c, "again/o")->flags == 0 && find(&c, "quiet/n")->flags == 0);
        free(got);
        changes_clear(&c);
        check(strlist_add(&hidden, "../up") == 0 && changes_hidden_write(f.fd, &hidden) == -EINVAL);
        sh("printf '/abs\\0' >hidden");
        check(changes_hidden_read(f.fd, &back) == -EINVAL);
        sh("printf 'no end' >hidden");
        check(changes_hidden_read(f.fd, &back) == -EINVAL && unlink("hidden") == 0);
        strlist_clear(&hidden);
        strlist_clear(&back);
        fixture_leave(&f);
}

/* ---- uppers made by hand ---- */

TEST(marks) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        fixture_enter(&f, false);
        sh("mkdir lower/d lower/x && echo 1 >lower/d/1 && echo 2 >lower/d/2 && echo 3 >lower/x/3 && echo 4 >lower/x/4 && "
           "mkdir upper/d upper/x && echo 1 >upper/d/1 && : >upper/x/3 && : >upper/x/5 && : >upper/top");
        struct changes_source s = source(&f);
        check(setxattr("upper/d", "user.overlay.opaque", "y", 1, 0) == 0);
        check(setxattr("upper/x", "user.overlay.opaque", "x", 1, 0) == 0);
        check(setxattr("upper/x/3", "user.overlay.whiteout", "y", 1, 0) == 0);
        check(setxattr("upper/top", "user.overlay.whiteout", "y", 1, 0) == 0); /* its directory has no mark: a file */
        check(setxattr("upper/x/5", "user.overlay.origin", "y", 1, 0) == 0);
        check(changes_read(&s, &c, &e) == 0);
        char *got = listing(&c);
        check_streq(got, "D d/2\nA top\nD x/3\nA x/5\n");
        free(got);
        changes_clear(&c);

        /* user.overlay.* in a layer that real root mounted was set by the run itself: it means nothing */
        s.trusted = true;
        check(changes_read(&s, &c, &e) == 0);
        got = listing(&c);
        check_streq(got, "A top\nM x/3\nA x/5\n");
        free(got);
        changes_clear(&c);
        s.trusted = false;

        check(setxattr("upper/d", "user.overlay.redirect", "/x", 2, 0) == 0);
        check(changes_read(&s, &c, &e) == -EOPNOTSUPP && strstr(e.msg, "redirect"));
        check(removexattr("upper/d", "user.overlay.redirect") == 0);
        check(setxattr("upper/d/1", "user.overlay.metacopy", "", 0, 0) == 0);
        check(changes_read(&s, &c, &e) == -EOPNOTSUPP && strstr(e.msg, "metacopy"));
        fixture_leave(&f);
}

TEST(whiteout_of_nothing) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        if (geteuid() != 0)
                skip("not root: mknod of a whiteout needs it outside a namespace");
        fixture_enter(&f, true);
        check(mknod("upper/none", S_IFCHR, 0) == 0 && mknod("upper/null", S_IFCHR | 0600, makedev(1, 3)) == 0);
        struct changes_source s = source(&f);
        check(changes_read(&s, &c, &e) == 0);
        char *got = listing(&c);
        check_streq(got, "A null\n"); /* a device is shown as one, and was not opened */
        check(S_ISCHR(c.items[0].after.mode));
        free(got);
        changes_clear(&c);
        fixture_leave(&f);
}

TEST(ids) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        if (geteuid() != 0)
                skip("not root: cannot give files away");
        fixture_enter(&f, true);
        sh("cd lower && echo a >a && echo b >b && echo c >c && chown 5:6 b && cd ../upper && echo a >a && echo b >b && echo c >c && "
           "chown 100000:100000 a && chown 100005:100006 b && chown 7:7 c");
        struct changes_source s = source(&f);
        check(changes_read(&s, &c, &e) == 0 && c.n == 0);
        s.ids = (struct change_ids){.base = 100000, .range = 65536, .host = 0};
        check(changes_read(&s, &c, &e) == 0);
        check(c.n == 1 && c.items[0].kind == CHANGE_OWNER && streq(c.items[0].path, "c"));
        check(c.items[0].after.uid == CHANGE_ID_UNMAPPED && c.items[0].before.uid == 0);
        changes_clear(&c);

        /* an id-mapped workspace of user 5 and group 6: the range's first id is theirs */
        sh("cd upper && chown 100000:100000 b && rm a c && echo n >n && chown 100000:100000 n");
        s.ids = (struct change_ids){.base = 100000, .range = 1, .host = 5, .host_gid = 6};
        check(changes_read(&s, &c, &e) == 0);
        check(c.n == 1 && streq(c.items[0].path, "n") && c.items[0].after.uid == 5 && c.items[0].after.gid == 6);
        changes_clear(&c);
        fixture_leave(&f);
}

/* Links in the way: nothing that they point at is read, listed or entered. */
TEST(links_are_not_followed) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        fixture_enter(&f, false);
        sh("mkdir outside && echo secret >outside/s && mkdir lower/d && echo 1 >lower/d/s && "
           "ln -s ../outside lower/l && ln -s ../outside upper/d && mkdir upper/l && echo new >upper/l/s && "
           "echo f >lower/f && ln -s ../outside/s upper/f");
        struct changes_source s = source(&f);
        check(changes_read(&s, &c, &e) == 0);
        char *got = listing(&c);
        check_streq(got, "T d\nT f\nT l\nA l/s\n");
        check(find(&c, "l/s")->before.mode == 0);
        free(got);
        changes_clear(&c);
        check(beneath_open(f.upper, "d/s", O_RDONLY) == -ELOOP || beneath_open(f.upper, "d/s", O_RDONLY) == -ENOTDIR);
        check(beneath_open_walk(f.upper, "d/s", O_RDONLY) == -ELOOP);
        check(beneath_open_regular(f.upper, "f", NULL) == -ELOOP);
        check(beneath_open(f.upper, "../outside/s", O_RDONLY) == -EXDEV);
        check(beneath_open(f.upper, "/etc/passwd", O_RDONLY) == -EXDEV);
        check(beneath_open_walk(f.upper, "l/../../outside", O_RDONLY) == -EXDEV);
        int a = beneath_open(f.upper, "l/s", O_RDONLY), b = beneath_open_walk(f.upper, "./l//./s", O_RDONLY);
        check(a >= 0 && b >= 0); /* the twin that works */
        close(a);
        close(b);
        sh("rm -r outside");
        fixture_leave(&f);
}

/* A FIFO or a socket where the other side has a file of any kind: no open, hence no hang. */
TEST(special_files) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        fixture_enter(&f, false);
        sh("mkfifo upper/p lower/p lower/q && echo 1 >upper/q && echo 1 >lower/r && mkfifo upper/r && chmod 600 upper/p");
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "upper/s"};
        check(fd >= 0 && bind(fd, (void *)&a, sizeof(a)) == 0);
        struct changes_source s = source(&f);
        alarm(10);
        check(changes_read(&s, &c, &e) == 0);
        char *got = listing(&c);
        check_streq(got, "P p\nT q\nT r\nA s\n");
        /* nobody who waits at the FIFO for a reader notices */
        pid_t writer = fork();
        if (writer == 0)
                _exit(open("upper/p", O_WRONLY) >= 0 ? 1 : 2);
        usleep(100000);
        for (int i = 0; i < 20; i++) {
                check(beneath_open_regular(f.upper, "p", NULL) == -EBADFD);
                usleep(1000);
        }
        int status;
        check(waitpid(writer, &status, WNOHANG) == 0);
        kill(writer, SIGKILL);
        check(waitpid(writer, &status, 0) == writer && WIFSIGNALED(status));
        free(got);
        close(fd);
        changes_clear(&c);
        fixture_leave(&f);
}

TEST(sparse_giants) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        fixture_enter(&f, false);
        sh("truncate -s 1T lower/a lower/b upper/a upper/b && printf x | dd of=upper/b bs=1 seek=900G conv=notrunc status=none && "
           "head -c 300000 /dev/zero >lower/c && cp lower/c upper/c && cp lower/c upper/d && cp lower/c lower/d && printf y >>upper/d");
        struct changes_source s = source(&f);
        alarm(20);
        check(changes_read(&s, &c, &e) == 0);
        char *got = listing(&c);
        check_streq(got, "M b\nM d\n");
        free(got);
        changes_clear(&c);
        s.caps.compare = 1000;
        check(changes_read(&s, &c, &e) == 0);
        check(find(&c, "c")->flags == CHANGE_UNCOMPARED);
        changes_clear(&c);
        fixture_leave(&f);
}

/* A forged time stamp hides nothing: contents are compared. */
TEST(forged_times) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        fixture_enter(&f, false);
        sh("echo good >lower/a && echo evil >upper/a && touch -r lower/a upper/a");
        struct changes_source s = source(&f);
        struct changes_summary sum;
        check(changes_read(&s, &c, &e) == 0 && c.n == 1 && c.items[0].kind == CHANGE_MODIFIED);
        check(changes_summary(&s, &sum, &e) == 0 && sum.changed == 1 && sum.added == 0 && sum.deleted == 0);
        check(sum.bytes > 0);
        changes_clear(&c);
        fixture_leave(&f);
}

static void make_deep(const char *root, int depth, const char *name) {
        int fd = open(root, O_RDONLY | O_DIRECTORY);
        for (int i = 0; i < depth; i++) {
                check(mkdirat(fd, name, 0755) == 0);
                int next = openat(fd, name, O_RDONLY | O_DIRECTORY);
                check(next >= 0);
                close(fd);
                fd = next;
        }
        int x = openat(fd, "leaf", O_WRONLY | O_CREAT, 0644);
        check(x >= 0 && write(x, "leaf", 4) == 4);
        close(x);
        close(fd);
}

TEST(caps) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        struct changes_summary sum;
        fixture_enter(&f, false);
        sh("mkdir upper/many && cd upper/many && seq 1 2000 | xargs touch");
        struct changes_source s = source(&f);
        check(changes_read(&s, &c, &e) == 0 && c.n == 2001);
        changes_clear(&c);
        s.caps.entries = 1000;
        check(changes_read(&s, &c, &e) == -E2BIG && strstr(e.msg, "1000 changes"));
        s.caps = (struct change_caps){.memory = 10000};
        check(changes_read(&s, &c, &e) == -E2BIG && strstr(e.msg, "10000 bytes"));
        s.caps = (struct change_caps){.visits = 500};
        check(changes_read(&s, &c, &e) == -E2BIG && strstr(e.msg, "500 entries"));
        check(changes_summary(&s, &sum, &e) == 0 && sum.at_least && sum.added == 500);
        s.caps = (struct change_caps){};
        make_deep("upper", 5000, "d");
        check(changes_read(&s, &c, &e) == -E2BIG && strstr(e.msg, "4096 levels"));
        check(changes_summary(&s, &sum, &e) == 0 && sum.at_least);
        fixture_leave(&f);
}

/* Deeper than fds are kept open and longer than PATH_MAX, with something to do on the way back at every level. */
TEST(deep) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        char name[200];
        fixture_enter(&f, false);
        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        make_deep("lower", 200, name);
        make_deep("upper", 200, name);
        sh("n=0; cd upper; for d in 1 2 3; do cd n*; done; mkdir zz; echo 1 >zz/1; mkdir -p a/b; : >a/b/c");
        int before = open("/dev/null", O_RDONLY);
        struct changes_source s = source(&f);
        check(changes_read(&s, &c, &e) == 0);
        check(c.n == 5);
        check(streq(strrchr(c.items[0].path, '/'), "/a") && streq(strrchr(c.items[4].path, '/'), "/1"));
        changes_clear(&c);
        int leaf = open("/dev/null", O_RDONLY); /* no fd was leaked */
        check(leaf == before + 1);
        fixture_leave(&f);
}

TEST(empty_and_absent) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        struct changes_summary sum;
        fixture_enter(&f, false);
        sh("echo a >lower/a");
        struct changes_source s = source(&f);
        check(changes_read(&s, &c, &e) == 0 && c.n == 0);
        check(changes_summary(&s, &sum, &e) == 0 && sum.added + sum.changed + sum.deleted == 0 && !sum.at_least);
        s.upper_fd = -1;
        check(changes_read(&s, &c, &e) == 0 && c.n == 0);
        check(changes_summary(&s, &sum, &e) == 0 && sum.added == 0);
        s.upper_fd = f.upper;
        sh("n=$(printf '%0255d' 0); : >upper/$n"); /* a name that fills is_empty's buffer */
        check(changes_summary(&s, &sum, &e) == 0 && sum.added == 1);
        fixture_leave(&f);
}

/* Mode 000 binds the owner: an error by name, until changes_unbind. */
TEST(unreadable) {
        struct fixture f;
        struct changes c;
        struct error e = {};
        struct changes_summary sum;
        fixture_enter(&f, false);
        sh("mkdir upper/d && echo 1 >upper/d/f && chmod 000 upper/d && echo 1 >lower/g && echo 2 >upper/g && chmod 000 upper/g");
        struct changes_source s = source(&f);
        check(changes_read(&s, &c, &e) == -EACCES && strstr(e.msg, "d") && e.fix[0]);
        check(changes_summary(&s, &sum, &e) == 0 && !sum.at_least && e.errnum == 0);
        check(sum.added == 2 && sum.changed == 1 && sum.deleted == 0); /* what is in mode 000 counts */
        check(chmod("upper", 0) == 0);
        check(changes_summary(&s, &sum, &e) == 0 && !sum.at_least && sum.added == 2 && sum.changed == 1);
        check(chmod("upper", 0755) == 0);
        check(changes_unbind() == 0);
        check(changes_read(&s, &c, &e) == 0);
        char *got = listing(&c);
        check_streq(got, "A d\nA d/f\nM g\n");
        check(find(&c, "g")->flags == 0);
        free(got);
        changes_clear(&c);
        fixture_leave(&f);
}

TAP_MAIN
