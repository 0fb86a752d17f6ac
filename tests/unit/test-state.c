#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "svc/state-read.h"
#include "tap.h"

/* A state directory of the test's own. */
static int open_root(void) {
        static char dir[] = "/tmp/test-state-XXXXXX";
        struct error e = {};
        int root = -1;
        check(mkdtemp(dir));
        setenv("XDG_STATE_HOME", dir, 1);
        check(state_open_root(true, &root, &e) == 0);
        return root;
}

static struct state make(int root) {
        struct state s = STATE_NONE;
        struct error e = {};
        check(state_create(root, 0755, getuid(), getgid(), &s, &e) == 0);
        return s;
}

static void write_plan(const struct state *s, const char *name, const char *cwd) {
        struct json j;
        state_json_begin(s, &j);
        json_str(&j, "name", name);
        json_str(&j, "started_in", cwd);
        json_end(&j, '}');
        check(state_write(s, "plan.json", &j) == 0);
}

static void write_end(const struct state *s) {
        struct json j;
        state_json_begin(s, &j);
        json_str(&j, "end", "exit");
        json_end(&j, '}');
        check(state_write(s, "ended.json", &j) == 0);
}

TEST(find) {
        int root = open_root();
        struct error e = {};
        struct state a = make(root), b = make(root), f = STATE_NONE;
        write_plan(&a, "one", "/x");
        usleep(20000);
        write_plan(&b, "two", "/y");
        check(state_find(root, a.id, NULL, false, &f, &e) == 0 && streq(f.id, a.id));
        state_close(&f);
        check(state_find(root, "two", NULL, false, &f, &e) == 0 && streq(f.id, b.id));
        state_close(&f);
        check(state_find(root, NULL, "/x", false, &f, &e) == 0 && streq(f.id, a.id));
        state_close(&f);
        check(state_find(root, NULL, "/x", true, &f, &e) == 0 && streq(f.id, b.id));
        state_close(&f);
        check(state_find(root, NULL, "/z", false, &f, &e) < 0 && e.fix[0]);
        check(state_find(root, "nothing", NULL, false, &f, &e) == -ENOENT);
        check(state_find(root, "../../etc", NULL, false, &f, &e) == -ENOENT);
        state_close(&a);
        state_close(&b);
        close(root);
}

TEST(find_at_once) {
        int root = open_root();
        struct state a = make(root), b = make(root), c = make(root), f = STATE_NONE;
        struct json j;

        write_plan(&a, "one", "/x");
        write_plan(&b, "o", "/x\n \"name\": \"three\",");
        check(state_find_at_once(root, a.id, &f) == 0 && streq(f.id, a.id));
        state_close(&f);
        check(state_find_at_once(root, "one", &f) == 0 && streq(f.id, a.id));
        state_close(&f);
        check(state_find_at_once(root, "o", &f) == 0 && streq(f.id, b.id));
        state_close(&f);
        check(state_find_at_once(root, "three", &f) == -ENOENT); /* within another string */
        check(state_find_at_once(root, "", &f) == -ENOENT && state_find_at_once(root, "on", &f) == -ENOENT);
        check(state_find_at_once(root, "../../etc", &f) == -ENOENT && state_find_at_once(root, "o\",\n", &f) == -ENOENT);
        check(state_find_at_once(root, "00000000000", &f) == -ENOENT && state_find_at_once(root, "000000000000", &f) == -ENOENT);
        /* The name of a secret is none of the sandbox's; and a plan that the directory's former use has left is none. */
        state_json_begin(&c, &j);
        json_begin(&j, "secrets", '[');
        json_begin(&j, NULL, '{');
        json_str(&j, "name", "github");
        json_str(&j, "from", "env");
        json_end(&j, '}');
        json_end(&j, ']');
        json_end(&j, '}');
        check(state_write(&c, "plan.json", &j) == 0);
        check(state_find_at_once(root, "github", &f) == -ENOENT);
        char *id = c.id;
        c.id = a.id;
        write_plan(&c, "former", "/x");
        c.id = id;
        check(state_find_at_once(root, "former", &f) == -ENOENT);
        write_plan(&c, "one", "/x"); /* two of a name */
        check(state_find_at_once(root, "one", &f) == -ENOTUNIQ && !f.id);
        state_close(&a);
        state_close(&b);
        state_close(&c);
        close(root);
}

TEST(half_made_state_directory) {
        int root = open_root();
        check(unlinkat(root, "sandboxes", AT_REMOVEDIR) == 0 && unlinkat(root, "unchanged", AT_REMOVEDIR) == 0);
        struct state s = make(root);
        check(s.dir >= 0);
        state_close(&s);
        close(root);
}

TEST(lock_and_end) {
        int root = open_root();
        struct error e = {};
        struct state a = make(root), f = STATE_NONE;
        write_plan(&a, NULL, "/x");
        check(state_find(root, a.id, NULL, false, &f, &e) == 0);
        check(state_alive(&f) && state_reclaim(&f) == -EBUSY && state_remove(&f, &e) == -EBUSY);
        write_end(&a);
        check(!state_alive(&f)); /* although the lock is still held */
        state_close(&a);
        check(!state_alive(&f) && state_remove(&f, &e) == 0);
        state_close(&f);
        struct strlist l = {};
        check(state_list(root, &l) == 0 && l.n == 0);
        strlist_clear(&l);
        close(root);
}

TEST(crash_is_marked) {
        int root = open_root();
        struct error e = {};
        struct state a = make(root), f = STATE_NONE;
        char *id = strdup(a.id);
        write_plan(&a, NULL, "/x");
        check(state_write_groups(&a, "/nonexistent/belljar-test\n") == 0);
        state_close(&a); /* the supervisor is gone */
        check(state_find(root, id, NULL, false, &f, &e) == 0 && !state_alive(&f));
        check(state_has_groups(&f) && state_reclaim(&f) == 0 && !state_has_groups(&f));
        json_t *st = state_status(&f);
        check_streq(json_string_value(json_object_get(st, "end")), "crashed");
        json_decref(st);
        state_close(&f);
        free(id);
        close(root);
}

TEST(take_over) {
        int root = open_root();
        struct strlist ids = {};
        struct stat before, after;
        /* Fill the records; the oldest is taken over next. */
        char *oldest = NULL;
        for (int i = 0; i < 12; i++) {
                struct state s = make(root);
                write_plan(&s, i ? "later" : "first", "/x");
                write_end(&s);
                if (!oldest) {
                        oldest = strdup(s.id);
                        check(fstat(s.dir, &before) == 0);
                }
                state_release(&s, false, false);
                state_close(&s);
                usleep(3000);
        }
        struct state n = make(root), f = STATE_NONE;
        struct error e = {};
        check(fstat(n.dir, &after) == 0 && after.st_ino == before.st_ino && !streq(n.id, oldest));
        check(state_find(root, oldest, NULL, false, &f, &e) == -ENOENT); /* it goes by the new id only */
        json_t *j = NULL;
        check(state_read(&n, "plan.json", &j) == -ENOENT); /* what it was before counts as missing */
        check(state_alive(&n) || true);
        write_plan(&n, "x", "/y"); /* shorter than before: filled up */
        check(state_read(&n, "plan.json", &j) == 0);
        json_decref(j);
        check(state_list(root, &ids) == 0 && ids.n == 12);
        strlist_clear(&ids);
        state_close(&n);
        free(oldest);
        close(root);
}

TEST(changed_is_kept) {
        int root = open_root();
        struct state s = make(root);
        write_plan(&s, NULL, "/x");
        check(!state_changed(&s));
        check(mkdirat(s.dir, "upper/d", 0700) == 0 && state_changed(&s));
        char *id = strdup(s.id);
        struct strlist ids = {};
        struct error e = {};
        struct state f = STATE_NONE;
        write_end(&s);
        state_close(&s);
        check(state_list(root, &ids) == 0 && ids.n == 1 && state_find(root, id, NULL, false, &f, &e) == 0 && state_changed(&f));
        strlist_clear(&ids);
        check(state_remove(&f, &e) == 0);
        state_close(&f);
        free(id);
        close(root);
}

static size_t count(int root, const char *place) {
        struct strlist ids = {};
        size_t n = 0;
        check(state_list(root, &ids) == 0);
        for (size_t i = 0; i < ids.n; i++) {
                char path[64];
                snprintf(path, sizeof(path), "%s/%s", place, ids.items[i]);
                n += faccessat(root, path, F_OK, 0) == 0;
        }
        strlist_clear(&ids);
        return n;
}

/* A layer that a run has marked is not for the next one. */
TEST(marked_is_not_handed_on) {
        int root = open_root();
        size_t plain = 0;
        for (int mark = 0; mark < 3; mark++) {
                struct state s = make(root);
                write_plan(&s, NULL, "/x");
                write_end(&s);
                int fd = openat(s.dir, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                /* In a file system without attributes nothing can be left in them. */
                const char *name = mark == 1 ? "user.mark" : "user.overlay.overlay.opaque";
                bool marked = mark > 0 && fd >= 0 && fsetxattr(fd, name, "y", 1, 0) == 0;
                close(fd);
                plain += !marked;
                state_release(&s, false, false);
                check(count(root, "unchanged") == plain && count(root, "sandboxes") == 0);
                state_close(&s);
        }
        close(root);
}

/* What a run on an image changed of the root goes when its supervisor is gone, however closed it is. */
TEST(crashed_root) {
        int root = open_root();
        struct state s = make(root), f = STATE_NONE;
        struct error e = {};
        char *id = strdup(s.id);
        write_plan(&s, NULL, "/x");
        check(state_make_root(&s, getuid(), getgid(), &e) == 0);
        check(mkdirat(s.dir, "root/d", 0700) == 0 && mkdirat(s.dir, "root/d/e", 0) == 0 && mkdirat(s.dir, "root.work/work", 0) == 0);
        state_close(&s);
        check(state_find(root, id, NULL, false, &f, &e) == 0 && state_reclaim(&f) == 0);
        check(faccessat(f.dir, "root", F_OK, 0) < 0 && faccessat(f.dir, "root.work", F_OK, 0) < 0);
        check(faccessat(f.dir, "plan.json", F_OK, 0) == 0);
        state_close(&f);
        free(id);
        close(root);
}

TEST(half_written) {
        int root = open_root();
        struct state s = make(root);
        json_t *j = NULL;
        static const char *const bad[] = {"", "{", "{\"id\": \"000000000000\"}", "[]", "{\"id\": 3}", "null"};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                int fd = openat(s.dir, "plan.json", O_WRONLY | O_CREAT | O_TRUNC, 0600);
                check(fd >= 0 && fd_write_all(fd, bad[i], strlen(bad[i])) == 0);
                close(fd);
                check(state_read(&s, "plan.json", &j) == -ENOENT);
        }
        state_close(&s);
        close(root);
}

TAP_MAIN
