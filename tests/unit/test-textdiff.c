/* Changes as text: patch(1) and git apply take what is printed and arrive at what the run saw; hostile names and
 * contents come out inert; the commands' other forms. */
#include <jansson.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "overlay-fixture.h"
#include "role/cli/diff.h"
#include "svc/textdiff.h"

static char *printed(const struct fixture *f, struct diff_options o) {
        struct error e = {};
        char *text = NULL;
        size_t len = 0;
        FILE *out = tmpfile();
        check(out);
        o.trusted = f->trusted;
        int r = diff_print(f->fd, "lower", &o, out, &e);
        if (r < 0)
                printf("# %s\n", e.msg);
        check(r == 0);
        rewind(out);
        check(fd_read_all(fileno(out), 64u << 20, &text, &len) == 0);
        fclose(out);
        return text;
}

static int memfd_of(const char *data, size_t n) {
        int fd = memfd_create("t", MFD_CLOEXEC);
        check(fd >= 0 && fd_write_all(fd, data, n) == 0);
        return fd;
}

static char *hunks_of(const char *a, const char *b, const struct textdiff_options *o, enum textdiff_result want) {
        struct strbuf out = {};
        struct error e = {};
        enum textdiff_result got;
        int x = a ? memfd_of(a, strlen(a)) : -1, y = b ? memfd_of(b, strlen(b)) : -1;
        check(textdiff_hunks(x, y, o, &out, &got, &e) == 0);
        check(got == want);
        fd_close(x);
        fd_close(y);
        return strbuf_take(&out);
}

static void expect(const char *a, const char *b, const struct textdiff_options *o, const char *want) {
        char *got = hunks_of(a, b, o, TEXTDIFF_SHOWN);
        check_streq(got, want);
        free(got);
}

TEST(hunks) {
        static const struct textdiff_options o = {};
        expect("1\n2\n3\n", "1\nX\n3\n", &o, "@@ -1,3 +1,3 @@\n 1\n-2\n+X\n 3\n");
        expect("1\n2", "1\n2\n", &o, "@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n");
        expect(NULL, "1\n2", &o, "@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n");
        expect("", "\n", &o, "@@ -0,0 +1,1 @@\n+\n");
        expect("gone\n", NULL, &o, "@@ -1,1 +0,0 @@\n-gone\n");
        char *s = hunks_of("same\n", "same\n", &o, TEXTDIFF_SAME);
        check_streq(s, "");
        free(s);
        s = hunks_of(NULL, "", &o, TEXTDIFF_SAME);
        free(s);
        s = hunks_of("12345\n", "1\n", &(struct textdiff_options){.max_file = 5}, TEXTDIFF_TOO_LARGE);
        free(s);
}

TEST(binary) {
        struct strbuf out = {};
        struct error e = {};
        enum textdiff_result got;
        int a = memfd_of("a\n", 2), b = memfd_of("a\0b\n", 4);
        check(textdiff_hunks(a, b, &(struct textdiff_options){}, &out, &got, &e) == 0 && got == TEXTDIFF_BINARY);
        check(out.len == 0);
        /* not UTF-8 is text all the same, and stays exact */
        char *s = hunks_of("a\xff\n", "b\xfe\n", &(struct textdiff_options){}, TEXTDIFF_SHOWN);
        check_streq(s, "@@ -1 +1 @@\n-a\xff\n+b\xfe\n");
        free(s);
}

/* No diff, one that fails and one that hangs: the whole file is replaced, and in time. */
TEST(without_diff) {
        static const char want[] = "@@ -1,2 +1,2 @@\n-1\n-2\n+1\n+3\n";
        char script[] = "/tmp/test-diff-XXXXXX";
        struct timespec t0, t1;
        expect("1\n2\n", "1\n3\n", &(struct textdiff_options){.diff = "/nonexistent"}, want);
        expect("1\n2\n", "1\n3\n", &(struct textdiff_options){.diff = "/bin/false"}, want);
        expect("1\n2\n", "1\n3\n", &(struct textdiff_options){.diff = "/bin/true"}, want);
        int fd = mkstemp(script);
        check(fd >= 0 && fd_write_all(fd, "#!/bin/sh\nexec sleep 60\n", 24) == 0 && fchmod(fd, 0755) == 0);
        close(fd);
        clock_gettime(CLOCK_MONOTONIC, &t0);
        expect("1\n2\n", "1\n3\n", &(struct textdiff_options){.diff = script, .timeout_ms = 200}, want);
        clock_gettime(CLOCK_MONOTONIC, &t1);
        check(t1.tv_sec - t0.tv_sec < 10);
        /* what the program is given: no environment of ours, no fds beyond its own, no way to gain privileges */
        fd = open(script, O_WRONLY | O_TRUNC);
        static const char probe[] = "#!/bin/sh\n{ echo 'env:'; env | grep -v ^PWD= | sort; echo 'fds:'; ls /proc/$$/fd; "
                                    "grep NoNewPrivs /proc/$$/status; pwd; } >&1 | sed '1s/^/--- a\\n+++ b\\n@@ -1 +1 @@\\n/'; exit 1\n";
        check(fd >= 0 && fd_write_all(fd, probe, strlen(probe)) == 0);
        close(fd);
        setenv("SECRET_TOKEN", "x", 1);
        int extra = open("/etc/passwd", O_RDONLY); /* without O_CLOEXEC */
        char *s = hunks_of("1\n", "2\n", &(struct textdiff_options){.diff = script}, TEXTDIFF_SHOWN);
        check(extra >= 0);
        check(strstr(s, "NoNewPrivs:\t1\n/\n") && !strstr(s, "SECRET") && strstr(s, "LC_ALL=C\n"));
        check(strstr(s, "fds:\n0\n1\n10\n2\n3\n4\n") || strstr(s, "fds:\n0\n1\n2\n3\n4\n")); /* 10: the shell's script */
        free(s);
        unlink(script);
}

TEST(visible) {
        static const char text[] = "+\tok \\x \xc3\xa9\x1b]52;c;aGk=\x07\r\n+\xff\xe2\x80\xae" "\0x\n";
        struct strbuf b = {};
        textdiff_visible(&b, text, sizeof(text) - 1);
        check_streq(b.data, "+\tok \\x \xc3\xa9\\x1b]52;c;aGk=\\x07\\x0d\n+\\xff\\xe2\\x80\\xae\\x00x\n");
        strbuf_clear(&b);
        for (size_t shift = 0; shift < 5; shift++) { /* no character is cut where pieces meet */
                char *s = malloc(5000);
                check(s);
                memset(s, 'x', shift);
                size_t n = shift;
                for (; n < 4900; n += 4)
                        memcpy(s + n, "\xf0\x9f\x94\x94", 4);
                char *exact = memcpy(malloc(n), s, n);
                textdiff_visible(&b, exact, n);
                check(b.len == n && memcmp(b.data, s, n) == 0);
                strbuf_clear(&b);
                free(s);
                free(exact);
        }
}

/* ---- through a real overlay, onto a copy ---- */

static void fill_text(void) {
        sh("cd lower && seq 1 200 >numbers && printf 'no newline' >noeol && printf 'eol\\n' >eol && echo run >tool && echo x >'with space' && "
           "mkdir -p d/e gone/sub dirtofile && echo e >d/e/f && echo 1 >gone/1 && echo 2 >gone/sub/2 && echo f >filetodir && "
           "echo p >dirtofile/p && : >empty && : >emptygone && echo full >tobeempty && echo moved >ren && echo m >both && "
           "printf 'latin \\351\\n' >latin && printf 'cr\\r\\nlf\\r\\n' >crlf && echo u >\"$(printf 'u\\303\\251')\" && "
           "echo q >\"$(printf 'q\\\"\\\\\\n')\" && echo t >trail\\ ");
}

static void edit_text(void) {
        sh("sed -i 's/^50$/fifty/; 150d' numbers && printf 'still none' >noeol && printf 'eol' >eol && chmod 755 tool && echo y >>'with space' && "
           "echo g >d/e/g && rm -r gone && rm emptygone && : >newempty && : >tobeempty && echo now >empty && mkdir moved && mv ren moved/ren && "
           "echo more >>both && chmod 755 both && printf 'latin \\350\\n' >latin && printf 'cr\\r\\nLF\\r\\n' >crlf && "
           "echo v >>\"$(printf 'u\\303\\251')\" && echo r >>\"$(printf 'q\\\"\\\\\\n')\" && echo n >./-new && echo n >'new file' && "
           "echo '#!/bin/sh' >new.sh && chmod 755 new.sh && echo b >\"$(printf 'bad\\377\\033')\" && echo t >>trail\\ && "
           "ln -s /etc/passwd ln && mkfifo ff && printf '\\000bin' >bin && "
           "printf -- '--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\ndiff --git a/numbers b/numbers\\ndeleted file mode 100644\\n' >confusing");
}

/* Files of both trees are equal in bytes and in what a patch carries of their modes; what is no regular file and what
 * is binary is left out. */
static void check_same_files(const char *how) {
        struct items want = items_read("copy"), got = items_read("applied");
        size_t j = 0;
        for (size_t i = 0; i < want.n; i++) {
                const struct item *w = &want.i[i];
                if (!S_ISREG(w->mode) || streq(w->path, "bin"))
                        continue;
                while (j < got.n && !S_ISREG(got.i[j].mode))
                        j++;
                if (j == got.n || !streq(got.i[j].path, w->path)) {
                        printf("# %s: %s is next, not %s\n", how, j < got.n ? got.i[j].path : "nothing", w->path);
                        check(false);
                }
                if (got.i[j].len != w->len || memcmp(got.i[j].content, w->content, w->len) != 0 ||
                    (got.i[j].mode & 0100) != (w->mode & 0100)) {
                        printf("# %s: %s differs (mode %o, %o)\n", how, w->path, (unsigned)got.i[j].mode, (unsigned)w->mode);
                        check(false);
                }
                j++;
        }
        while (j < got.n && !S_ISREG(got.i[j].mode))
                j++;
        check(j == got.n);
        items_clear(&want);
        items_clear(&got);
}

static void edit_text_and_swap(void) {
        edit_text();
        sh("rm filetodir && mkdir filetodir && echo in >filetodir/in && rm -r dirtofile && echo file >dirtofile");
}

static void apply(bool as_root, bool with_git) {
        struct fixture f;
        fixture_enter(&f, as_root);
        fill_text();
        fixture_session(&f, NULL, with_git ? edit_text_and_swap : edit_text);
        char *text = printed(&f, (struct diff_options){.form = DIFF_UNIFIED});
        int fd = open("patch", O_WRONLY | O_CREAT, 0644);
        check(fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0);
        close(fd);
        check(strstr(text, "\n* link added: ln -> /etc/passwd\n") && strstr(text, "\n* fifo added: ff (mode 0644)\n"));
        check(strstr(text, "* file added: bin is binary (4 B)\n"));
        check(strstr(text, "old mode 100644\nnew mode 100755\n"));
        check(!strchr(text, '\x1b')); /* the name with ESC is quoted although this is no terminal */
        sh("cp -a lower applied");
        sh(with_git ? "cd applied && HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 git apply --whitespace=nowarn ../patch"
                    : "cd applied && patch -p1 -s --no-backup-if-mismatch <../patch");
        check_same_files(with_git ? "git apply" : "patch");
        free(text);
        fixture_leave(&f);
}
TEST(git_apply_user) { apply(false, true); }
TEST(patch_user) { apply(false, false); }
TEST(git_apply_root) {
        if (geteuid() != 0)
                skip("not root: no trusted.overlay.* here");
        apply(true, true);
}
TEST(patch_root) {
        if (geteuid() != 0)
                skip("not root: no trusted.overlay.* here");
        apply(true, false);
}

TEST(terminal) {
        struct fixture f;
        fixture_enter(&f, false);
        sh("printf 'a\\n' >lower/x && printf 'a\\n\\033]0;evil\\007\\r\\n\\377\\n' >upper/x && ln -s \"$(printf '\\033[8m')\" upper/l");
        char *plain = printed(&f, (struct diff_options){.form = DIFF_UNIFIED});
        char *tty = printed(&f, (struct diff_options){.form = DIFF_UNIFIED, .tty = true});
        check(strstr(plain, "+\033]0;evil\007\r\n+\377\n"));
        check(strstr(tty, "+\\x1b]0;evil\\x07\\x0d\n+\\xff\n"));
        check(strstr(plain, "* link added: l -> \"\\033[8m\"\n") && strstr(tty, "* link added: l -> \"\\033[8m\"\n"));
        free(plain);
        free(tty);
        fixture_leave(&f);
}

static void edit_forms(void) {
        sh("printf '1\\n3\\n4\\n' >m && mv ren ren2 && rm -r gone && rm t && mkdir t && chmod 600 p && "
           "printf x >\"$(printf 'n\\nl')\" && mkdir new && ln -s m \"$(printf 'bad\\377')\"");
}

TEST(forms) {
        struct fixture f;
        fixture_enter(&f, false);
        sh("cd lower && printf '1\\n2\\n' >m && echo old >ren && mkdir gone && echo 1 >gone/1 && echo 2 >gone/2 && echo t >t && cp m p");
        fixture_session(&f, NULL, edit_forms);
        char *s = printed(&f, (struct diff_options){.form = DIFF_NAME_ONLY});
        check_streq(s, "\"bad\\377\"\ngone/\nm\n\"n\\nl\"\nnew/\np\nren\nren2\nt/\n");
        free(s);
        s = printed(&f, (struct diff_options){.form = DIFF_NAME_STATUS});
        check_streq(s, "A\t\"bad\\377\"\nD\tgone/\nM\tm\nA\t\"n\\nl\"\nA\tnew/\nP\tp\nR\tren\tren2\nT\tt/\n");
        free(s);
        s = printed(&f, (struct diff_options){.form = DIFF_STAT});
        check_streq(s, " A \"bad\\377\" | link\n D gone/ | directory, with 2 entries\n M m | 4 B -> 6 B, +2 -1\n"
                       " A \"n\\nl\" | 1 B, +1 -0\n A new/ | directory\n P p | mode 0644 -> 0600\n R ren => ren2 | 4 B\n"
                       " T t/ | file -> directory\n 4 added, 3 changed, 2 deleted, +3 -1 lines\n");
        free(s);

        struct error e = {};
        FILE *out = tmpfile();
        check(out && diff_json(f.fd, "lower", &(struct diff_options){}, out, &e) == 0);
        rewind(out);
        json_error_t je;
        json_t *j = json_loadf(out, JSON_REJECT_DUPLICATES, &je);
        fclose(out);
        check(j);
        json_t *list = json_object_get(j, "changes"), *bad = json_array_get(list, 0), *gone = json_array_get(list, 1);
        check(json_array_size(list) == 9);
        check_streq(json_string_value(json_object_get(bad, "path")), "bad\\xff");
        check_streq(json_string_value(json_object_get(bad, "path_base64")), "YmFk/w==");
        check_streq(json_string_value(json_object_get(json_object_get(bad, "after"), "target")), "m");
        check(json_is_null(json_object_get(bad, "before")));
        check_streq(json_string_value(json_object_get(gone, "kind")), "deleted");
        check(json_integer_value(json_object_get(gone, "beneath")) == 2);
        json_t *nl = json_array_get(list, 3), *ren = json_array_get(list, 7), *counts = json_object_get(j, "counts");
        check_streq(json_string_value(json_object_get(nl, "path")), "n\nl");
        check(!json_object_get(nl, "path_base64"));
        check_streq(json_string_value(json_object_get(ren, "renamed_from")), "ren");
        check(json_integer_value(json_object_get(counts, "added")) == 4 && json_integer_value(json_object_get(counts, "deleted")) == 2);
        json_decref(j);
        fixture_leave(&f);
}

static void hide_env(void) {
        check(mknod(".env", S_IFCHR, 0) == 0 && mkdir("sub", 0755) == 0 && mknod("sub/.env", S_IFCHR, 0) == 0);
}
static void edit_hidden(void) { sh("echo mine >.env && rm -r sub"); }

/* Written over what the run could not see: said so, and the host's secret is not in the patch. */
TEST(hidden) {
        struct fixture f;
        fixture_enter(&f, false);
        sh("echo SECRET >lower/.env && mkdir lower/sub && echo o >lower/sub/o && echo SECRET >lower/sub/.env");
        struct strlist hidden = {};
        check(strlist_add(&hidden, ".env") == 0 && strlist_add(&hidden, "sub/.env") == 0);
        check(changes_hidden_write(f.fd, &hidden) == 0);
        strlist_clear(&hidden);
        fixture_session(&f, hide_env, edit_hidden);
        char *s = printed(&f, (struct diff_options){.form = DIFF_UNIFIED});
        check(strstr(s, "* hidden from the run, and written by it: .env\n") && strstr(s, "+mine\n"));
        check(strstr(s, "* holds something that was hidden from the run: sub\n") && strstr(s, "-o\n"));
        check(!strstr(s, "SECRET"));
        free(s);
        s = printed(&f, (struct diff_options){.form = DIFF_STAT});
        check(strstr(s, " A .env | 5 B, was hidden from the run, +1 -0\n"));
        check(strstr(s, " D sub/ | directory, with 1 entry, holds hidden files\n"));
        free(s);
        check(unlink("hidden") == 0);
        fixture_leave(&f);
}

TEST(nothing_changed) {
        struct fixture f;
        fixture_enter(&f, false);
        static const enum diff_form forms[] = {DIFF_UNIFIED, DIFF_NAME_ONLY, DIFF_NAME_STATUS, DIFF_STAT};
        for (size_t i = 0; i < ELEMENTSOF(forms); i++) {
                char *s = printed(&f, (struct diff_options){.form = forms[i]});
                check_streq(s, "");
                free(s);
        }
        char *s = printed(&f, (struct diff_options){.form = DIFF_JSON});
        check_streq(s, "{\"changes\": [], \"counts\": {\"added\": 0, \"changed\": 0, \"deleted\": 0}}\n");
        free(s);
        struct error e = {};
        check(diff_print(f.fd, "nowhere", &(struct diff_options){}, stdout, &e) == -ENOENT && e.fix[0]);
        fixture_leave(&f);
}

/* What mode 000 hides from the owner is shown all the same, and the tree stays as it was. */
TEST(mode_000) {
        struct fixture f;
        struct stat st;
        fixture_enter(&f, false);
        sh("mkdir upper/d && echo payload >upper/d/f && chmod 000 upper/d/f upper/d");
        char *s = printed(&f, (struct diff_options){.form = DIFF_UNIFIED});
        check(strstr(s, "* directory added: d (mode 0000)\n") && strstr(s, "new file mode 100000\n") && strstr(s, "+payload\n"));
        check(fstatat(f.upper, "d", &st, 0) == 0 && (st.st_mode & 07777) == 0);
        free(s);
        fixture_leave(&f);
}

TEST(errors_come_through) {
        struct fixture f;
        struct error e = {};
        fixture_enter(&f, false);
        sh("touch upper/1 upper/2 upper/3");
        struct diff_options o = {.form = DIFF_NAME_ONLY, .caps.entries = 2};
        check(diff_print(f.fd, "lower", &o, stdout, &e) == -E2BIG && strstr(e.msg, "2 changes"));
        int p[2];
        check(pipe(p) == 0);
        close(p[0]);
        FILE *out = fdopen(p[1], "w");
        o.caps.entries = 0;
        signal(SIGPIPE, SIG_IGN);
        check(diff_print(f.fd, "lower", &o, out, &e) == 0); /* a reader that went away */
        fclose(out);
        fixture_leave(&f);
}

TEST(discard) {
        struct fixture f;
        struct error e = {};
        uint64_t n = 0;
        fixture_enter(&f, false);
        fill_text();
        fixture_session(&f, NULL, edit_text);
        sh("mkdir upper/dark && echo 1 >upper/dark/1 && chmod 000 upper/dark && mkdir upper.discarded && touch upper.discarded/half && "
           "ls -lR lower >applied && chmod 500 upper");
        int r = diff_discard(f.fd, &n, &e);
        if (r < 0)
                printf("# %s\n", e.msg);
        check(r == 0 && n > 20);
        check(access("upper", F_OK) < 0 && access("work", F_OK) < 0 && access("upper.discarded", F_OK) < 0);
        sh("ls -lR lower | cmp - applied"); /* the workspace is what it was */
        char *s = printed(&f, (struct diff_options){.form = DIFF_UNIFIED});
        check_streq(s, "");
        free(s);
        check(diff_discard(f.fd, &n, &e) == 0 && n == 0);
        fixture_leave(&f);
}

TEST(summary_line) {
        char s[128];
        changes_summary_line(&(struct changes_summary){}, s, sizeof(s));
        check_streq(s, "no changes");
        changes_summary_line(&(struct changes_summary){.added = 3, .changed = 1, .bytes = 1536}, s, sizeof(s));
        check_streq(s, "3 added, 1 changed, 0 deleted (1.5 KiB)");
        changes_summary_line(&(struct changes_summary){.at_least = true}, s, sizeof(s));
        check_streq(s, "at least 0 added, 0 changed, 0 deleted (0 B)");
}

TAP_MAIN
