/* The store of images: names, records, locks, publishing, pruning. The imports are tests/integration/images'. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "svc/image-store.h"
#include "tap.h"

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

TEST(names) {
        static const char *const good[][2] = {
                {"debian", "debian:latest"}, {"debian:12", "debian:12"}, {"registry.example/library/x:tag", "registry.example/library/x:tag"},
                {"localhost:5000/a/b", "localhost:5000/a/b:latest"}, {"a__b/c-d.e:V1.0-rc_1", "a__b/c-d.e:V1.0-rc_1"}, {"x:_", "x:_"},
                /* Of a tag and a digest the digest alone counts, as docker has it. */
                {"a@sha256:" HEX_A, "a@sha256:" HEX_A}, {"a:b@sha256:" HEX_A, "a@sha256:" HEX_A},
                {"r.example:80/a:b@sha256:" HEX_A, "r.example:80/a@sha256:" HEX_A},
        };
        /* The grammar is test-image-name's; a "+" stands for a slash in the names of files. */
        static const char *const bad[] = {"", "a:", "../a", "a+b", "a@sha256:", ("a@sha256:" HEX_A "a"), ("a@md5:" HEX_A)};
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                _cleanup_free_ char *name = NULL;
                struct error e = {};
                check(image_name(good[i][0], &name, &e) == 0);
                check_streq(name, good[i][1]);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                char *name = NULL;
                struct error e = {};
                if (image_name(bad[i], &name, &e) != -EINVAL)
                        printf("# %s\n", bad[i]);
                check(!name && e.errnum == EINVAL && e.msg[0] && e.fix[0]);
        }
        char long_name[400];
        char *name = NULL;
        memset(long_name, 'a', sizeof(long_name));
        long_name[sizeof(long_name) - 1] = 0;
        check(image_name(long_name, &name, NULL) < 0);
}

static void fill(struct image *i, const char *name, const char *hex) {
        struct ids ids;
        check(ids_find(&ids, NULL) == 0);
        _cleanup_free_ char *key = image_layer_key(&ids, hex);
        *i = (struct image){.name = strdup(name), .digest = strdup("sha256:" HEX_A), .workdir = strdup("/a\nb\\n"), .user = strdup(""),
                            .architecture = strdup("amd64"), .os = strdup("linux"), .created = strdup(""), .source = strdup("x y"), .dirs = strdup(""),
                            .ids = image_ids_text(&ids), .size = 12345678901234u};
        check(strlist_add(&i->keys, key) == 0 && strlist_add(&i->env, "A=line 1\nline 2\\") == 0 && strlist_add(&i->env, "B=") == 0);
        check(strlist_add(&i->cmd, "") == 0 && strlist_add(&i->entrypoint, " x ") == 0 && strlist_add(&i->labels, "a=\n\n") == 0);
}

TEST(record) {
        _cleanup_image_ struct image a = {}, b = {};
        _cleanup_strbuf_ struct strbuf text = {}, again = {};
        fill(&a, "x:1", HEX_A);
        image_record_write(&a, &text);
        check(!text.failed && image_record_parse(text.data, text.len, &b) == 0);
        check_streq(b.workdir, "/a\nb\\n");
        check_streq(b.env.items[0], "A=line 1\nline 2\\");
        check(b.env.n == 2 && b.cmd.n == 1 && b.size == a.size);
        image_record_write(&b, &again);
        check_streq(again.data, text.data);
        /* Cut anywhere, it is no record: also without its last newline. */
        for (size_t n = 0; n < text.len; n++) {
                struct image c = {};
                check(image_record_parse(text.data, n, &c) == -EBADMSG && !c.name);
        }
}

TEST(bad_records) {
        static const char *const bad[] = {
                "", "end\n", "belljar-image 1\nend\n", "belljar-image 2\nend\n", "belljar-layer 1\nentries x\nend\n",
                "belljar-layer 1\nentries 1\nend\nmore\n", "belljar-layer 1\nunknown 1\nend\n", "belljar-layer 1\nentries -1\nend\n",
                "belljar-layer 1\nentries 99999999999999999999999\nend\n", "belljar-layer 1\\\nend\n",
        };
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                struct image image;
                struct layer_counts c;
                check(image_record_parse(bad[i], strlen(bad[i]), &image) == -EBADMSG);
                check(layer_record_parse(bad[i], strlen(bad[i]), &c) == -EBADMSG);
        }
        struct layer_counts c = {1, 2, 3, 4, 5, 6, 7, 8}, d;
        _cleanup_strbuf_ struct strbuf text = {};
        layer_record_write(&c, &text);
        check(layer_record_parse(text.data, text.len, &d) == 0 && memcmp(&c, &d, sizeof(c)) == 0);
        check(layer_record_parse("belljar-layer 1\0\nend\n", 21, &d) == -EBADMSG);
}

/* A state directory of one's own. */
static int state_root;
static char state_dir[32];
static struct ids ids;
static void enter(void) {
        strcpy(state_dir, "/tmp/test-image-XXXXXX");
        check(mkdtemp(state_dir) && ids_find(&ids, NULL) == 0);
        state_root = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        check(state_root >= 0);
}
static void leave(void) {
        char cmd[64];
        close(state_root);
        snprintf(cmd, sizeof(cmd), "rm -rf %s", state_dir);
        check(system(cmd) == 0);
}
static bool there(const char *path) {
        struct stat st;
        return fstatat(state_root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A layer as an import leaves it; its lock. */
static int make_layer(struct image_work *w, const char *hex) {
        _cleanup_free_ char *key = image_layer_key(&ids, hex);
        struct error e = {};
        int lock = -1;
        check(mkdirat(w->dir, "l", 0700) == 0 && mkdirat(w->dir, "l/tree", 0755) == 0);
        _cleanup_fd_ int dir = openat(w->dir, "l", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_strbuf_ struct strbuf text = {};
        layer_record_write(&(struct layer_counts){.bytes = 7}, &text);
        check(file_replace(dir, "layer", text.data, text.len, 0600) == 0);
        check(image_layer_publish(w, state_root, "l", key, &lock, &e) == 0);
        return lock;
}

TEST(open_and_prune) {
        struct image_work w = IMAGE_WORK_NONE;
        struct error e = {};
        struct prune_stats s;
        enter();
        check(image_prune(state_root, &s, &e) == 0 && s.layers == 0 && !there("images"));
        check(image_work_begin(state_root, &ids, &w, &e) == 0);
        int a = make_layer(&w, HEX_A), again = make_layer(&w, HEX_A), b = make_layer(&w, HEX_B);
        check(a >= 0 && again >= 0 && b >= 0);
        {
                _cleanup_image_ struct image i = {};
                fill(&i, "x/y:1", HEX_A);
                check(image_ref_write(&w, &i, &e) == 0);
        }
        /* In use by the import: nothing goes. */
        check(image_prune(state_root, &s, &e) == 0 && s.layers == 0 && s.busy == 1);
        close(a);
        close(again);
        close(b);
        image_work_end(&w);
        check(image_prune(state_root, &s, &e) == 0 && s.layers == 1 && s.bytes == 7 && s.busy == 0);
        {
                _cleanup_image_ struct image i = {};
                _cleanup_strlist_ struct strlist l = {};
                check(image_list(state_root, &l, &e) == 0 && l.n == 1);
                check_streq(l.items[0], "x/y:1");
                check(image_open(state_root, "x/y:1", &i, &e) == 0);
                check(i.layers.n == 1 && there(i.layers.items[0]) && i.n_locks == 1);
                check(image_ref_remove(state_root, "x/y:1", &e) == 0);
                check(image_prune(state_root, &s, &e) == 0 && s.layers == 0 && s.busy == 1 && there(i.layers.items[0]));
        }
        check(image_prune(state_root, &s, &e) == 0 && s.layers == 1);
        struct image gone;
        check(image_open(state_root, "x/y:1", &gone, &e) == -ENOENT && e.fix[0]);
        check(image_ref_remove(state_root, "x/y:1", &e) == -ENOENT);
        leave();
}

static void write_image(struct image_work *w, const char *name, const char *manifest, const char *index) {
        _cleanup_image_ struct image i = {};
        struct error e = {};
        fill(&i, name, HEX_A);
        i.manifest = strdup(manifest);
        i.index = strdup(index);
        check(image_ref_write(w, &i, &e) == 0);
}

TEST(digests) {
        struct image_work w = IMAGE_WORK_NONE;
        struct error e = {};
        struct image none;
        enter();
        check(image_work_begin(state_root, &ids, &w, &e) == 0);
        close(make_layer(&w, HEX_A));
        write_image(&w, "r.example/x:1", "sha256:" HEX_A, "sha256:" HEX_B);
        write_image(&w, "r.example/xx:1", "sha256:" HEX_A, "");
        write_image(&w, "r.example/y@sha256:" HEX_A, "sha256:" HEX_A, "");
        write_image(&w, "r.example/z@sha256:" HEX_A, "sha256:" HEX_B, ""); /* not what its name says */
        static const char *const found[][2] = {
                {"r.example/x@sha256:" HEX_A, "r.example/x:1"}, {"r.example/x@sha256:" HEX_B, "r.example/x:1"},
                {"r.example/x:2@sha256:" HEX_B, "r.example/x:1"}, {"r.example/y@sha256:" HEX_A, "r.example/y@sha256:" HEX_A},
        };
        for (size_t k = 0; k < ELEMENTSOF(found); k++) {
                _cleanup_image_ struct image i = {};
                check(image_open(state_root, found[k][0], &i, &e) == 0);
                check_streq(i.name, found[k][1]);
        }
        check(image_read(state_root, "r.example/xx@sha256:" HEX_B, &none, &e) == -ENOENT && strstr(e.fix, "pull r.example/xx@"));
        check(image_read(state_root, "x@sha256:" HEX_A, &none, &e) == -ENOENT);
        check(image_read(state_root, "r.example/z@sha256:" HEX_A, &none, &e) == -EBADMSG);
        /* Removed by what it is, where that is one image. */
        write_image(&w, "r.example/x:2", "sha256:" HEX_A, "");
        check(image_ref_remove(state_root, "r.example/x@sha256:" HEX_A, &e) == -EEXIST && strstr(e.msg, "r.example/x:1"));
        check(there("images/refs/r.example+x:1") && there("images/refs/r.example+x:2"));
        check(image_ref_remove(state_root, "r.example/x@sha256:" HEX_B, &e) == 0 && !there("images/refs/r.example+x:1"));
        check(image_ref_remove(state_root, "r.example/x@sha256:" HEX_A, &e) == 0 && !there("images/refs/r.example+x:2"));
        check(image_ref_remove(state_root, "r.example/x@sha256:" HEX_A, &e) == -ENOENT && there("images/refs/r.example+xx:1"));
        image_work_end(&w);
        leave();
}

/* Of before manifests were written down. */
TEST(older_record) {
        _cleanup_image_ struct image a = {}, b = {};
        _cleanup_strbuf_ struct strbuf text = {};
        fill(&a, "x:1", HEX_A);
        image_record_write(&a, &text);
        char *from = strstr(text.data, "manifest \nindex \n");
        check(from);
        memmove(from, from + strlen("manifest \nindex \n"), strlen(from + strlen("manifest \nindex \n")) + 1);
        check(image_record_parse(text.data, strlen(text.data), &b) == 0);
        check_streq(b.manifest, "");
        check_streq(b.index, "");
}

/* A record that cannot be read may name any layer: then none is removed. */
TEST(damaged_record) {
        struct image_work w = IMAGE_WORK_NONE;
        struct error e = {};
        struct prune_stats s;
        struct image i;
        enter();
        check(image_work_begin(state_root, &ids, &w, &e) == 0);
        close(make_layer(&w, HEX_A));
        _cleanup_fd_ int refs = openat(state_root, "images/refs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(file_replace(refs, "x:1", "belljar-image 1\nname x", 22, 0600) == 0);
        image_work_end(&w);
        check(image_read(state_root, "x:1", &i, &e) == -EBADMSG && e.fix[0]);
        check(image_prune(state_root, &s, &e) < 0 && there("images/layers"));
        check(image_ref_remove(state_root, "x:1", &e) == 0);
        check(image_prune(state_root, &s, &e) == 0 && s.layers == 1);
        leave();
}

/* Keys of a record are names of directories: nothing else is opened. */
TEST(hostile_keys) {
        static const char *const bad[] = {"..", "../../etc", "", HEX_A, HEX_A "-", HEX_A "-../x", HEX_A "-a/b", HEX_A "-UP", "x" HEX_A "-one-0-0"};
        enter();
        check(mkdirat(state_root, "images", 0700) == 0 && mkdirat(state_root, "images/refs", 0700) == 0);
        _cleanup_fd_ int refs = openat(state_root, "images/refs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t k = 0; k < ELEMENTSOF(bad); k++) {
                _cleanup_image_ struct image i = {}, back = {};
                _cleanup_strbuf_ struct strbuf text = {};
                struct error e = {};
                fill(&i, "x:1", HEX_A);
                strlist_clear(&i.keys);
                check(strlist_add(&i.keys, bad[k]) == 0);
                image_record_write(&i, &text);
                check(file_replace(refs, "x:1", text.data, text.len, 0600) == 0);
                int r = image_read(state_root, "x:1", &back, &e);
                if (r == 0) /* a suffix may be empty */
                        check(streq(bad[k], HEX_A "-"));
                else
                        check(r == -EBADMSG);
        }
        leave();
}

/* What a killed import leaves has no lock, and goes with the next; what is locked stays. */
TEST(leftovers) {
        struct image_work a = IMAGE_WORK_NONE, b = IMAGE_WORK_NONE;
        struct error e = {};
        char path[64];
        enter();
        check(image_work_begin(state_root, &ids, &a, &e) == 0);
        check(mkdirat(state_root, "images/tmp/dead", 0700) == 0 && mkdirat(state_root, "images/tmp/dead/layer-0", 0) == 0);
        check(image_work_begin(state_root, &ids, &b, &e) == 0);
        snprintf(path, sizeof(path), "images/tmp/%s", a.name);
        check(there(path) && !there("images/tmp/dead"));
        image_work_end(&a);
        check(!there(path));
        image_work_end(&b);
        leave();
}

/* Stored under other ids than the caller has now. */
TEST(other_ids) {
        struct image_work w = IMAGE_WORK_NONE;
        _cleanup_image_ struct image i = {};
        struct image back;
        struct error e = {};
        enter();
        check(image_work_begin(state_root, &ids, &w, &e) == 0);
        close(make_layer(&w, HEX_A));
        fill(&i, "x:1", HEX_A);
        free(i.ids);
        i.ids = strdup("one 1 1");
        check(image_ref_write(&w, &i, &e) == 0);
        image_work_end(&w);
        check(image_open(state_root, "x:1", &back, &e) == -ESTALE && e.fix[0]);
        leave();
}

TAP_MAIN
