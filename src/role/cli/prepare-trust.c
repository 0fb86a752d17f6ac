/* The sandbox's CA and what makes programs trust it: the files that are there, on the host's root or in the image, with
 * the CA added, as facts for the view; nothing on the host is changed. What an image holds is hostile text: it is
 * copied, decoded where a keystore is made of it, and read by nobody else. Without a rule that looks at requests within
 * TLS there is none of it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/environment.h"
#include "model/trust.h"
#include "role/cli/prepare.h"
#include "svc/image-files.h"
#include "svc/state.h"
#include "sys/beneath.h"

#define TOTAL_MAX (12u << 20) /* bytes of all files: they are in memory, and in the launcher's tmpfs of 16 MiB */
#define JVMS_MAX 64u

struct finder {
        struct prepared *x;
        const char *folder;       /* of the sandbox's own files, as seen inside */
        struct image_files image; /* its trees; n == 0: what is there is the host's */
        struct strlist seen, dirs;
        char *bundle;             /* what of certificates is there; NULL: nothing */
        size_t n_bundle, total;
        struct strbuf keystore;   /* the first that was made */
        struct error *e;
};

static bool reads_tls(const struct network *n) {
        for (size_t i = 0; i < n->n_rules; i++)
                if (!n->rules[i].deny && (n->rules[i].protocols & NETWORK_HTTPS))
                        return true;
        return false;
}

/* In an image, or in a root made for the run, each file goes into the layer; on the host's root it is a fact. */
static bool in_layer(const struct finder *f) { return f->x->plan->image; }

/* Of the host's root, in the view of every run. */
static bool is_shown(const char *path) {
        static const char *const trees[] = {"/etc", "/usr", "/opt", "/var/lib", "/nix", "/gnu"};
        for (size_t i = 0; i < ELEMENTSOF(trees); i++)
                if (path_beneath(path, trees[i]))
                        return true;
        return false;
}

/* The real path of what is there, absolute, and its type; -ENOENT where there is nothing that could be used. */
static int locate(const struct finder *f, const char *path, char real[PATH_MAX], mode_t *ret_mode) {
        struct stat st;
        size_t layer;

        if (f->image.n > 0) {
                char at[PATH_MAX];
                if (image_files_find(&f->image, path, at, ret_mode, &layer) < 0 || strlen(at) + 2 > PATH_MAX)
                        return -ENOENT;
                real[0] = '/';
                memcpy(real + 1, at, strlen(at) + 1);
                return 0;
        }
        if (!realpath(path, real) || !is_shown(real) || stat(real, &st) < 0 ||
                !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
                return -ENOENT;
        *ret_mode = st.st_mode;
        return 0;
}

static int read_there(const struct finder *f, const char *real, char **ret, size_t *ret_n) {
        return f->image.n > 0 ? image_files_read(&f->image, real, TRUST_FILE_MAX, ret, ret_n)
                              : file_read(AT_FDCWD, real, TRUST_FILE_MAX, ret, ret_n);
}

/* The directories above a path of the layer, with the modes that the image has for them. */
static int add_parents(struct finder *f, const char *path) {
        struct view_facts *v = &f->x->host.view;

        for (const char *s = path + 1; (s = strchr(s, '/')); s++) {
                char real[PATH_MAX];
                mode_t mode = 0755;
                _cleanup_free_ char *dir = strndup(path, (size_t)(s - path));
                if (!dir)
                        return -ENOMEM;
                if (strlist_has(&f->dirs, dir))
                        continue;
                if (f->image.n > 0 && locate(f, dir, real, &mode) < 0)
                        mode = 0755;
                struct view_file *more = reallocarray(v->files, v->n_files + 1, sizeof(*more));
                if (!more || strlist_add(&f->dirs, dir) < 0)
                        return -ENOMEM;
                v->files = more;
                more[v->n_files] = (struct view_file){.path = strdup(dir + 1), .mode = mode & 07777};
                if (!more[v->n_files++].path)
                        return -ENOMEM;
        }
        return 0;
}

/* Where a new file of this name comes to lie, links on the way followed: what of its directories is there, and the
 * rest. */
static char *new_place(const struct finder *f, const char *path) {
        char real[PATH_MAX];
        mode_t mode;

        for (size_t n = strlen(path); n > 1; n--) {
                if (path[n - 1] != '/')
                        continue;
                _cleanup_free_ char *dir = strndup(path, n - 1);
                if (!dir)
                        return NULL;
                if (n > 1 && locate(f, dir, real, &mode) == 0 && S_ISDIR(mode))
                        return str_printf("%s%s", streq(real, "/") ? "" : real, path + n - 1);
        }
        return strdup(path);
}

/* Takes the text over, on failure, too. */
static int add_file(struct finder *f, const char *name, struct strbuf *text, bool there) {
        struct view_facts *v = &f->x->host.view;
        size_t n = text->len;
        _cleanup_free_ char *data = strbuf_take(text),
                            *path = there || !in_layer(f) ? strdup(name) : new_place(f, name);
        _cleanup_free_ char *where = path ? strdup(in_layer(f) ? path + 1 : path) : NULL;

        if (!data || !where)
                return -ENOMEM;
        if (n > TOTAL_MAX - f->total)
                return -EFBIG;
        f->total += n;
        if (in_layer(f)) {
                int r = add_parents(f, path);
                struct view_file *more = r < 0 ? NULL : reallocarray(v->files, v->n_files + 1, sizeof(*more));
                if (!more)
                        return -ENOMEM;
                v->files = more;
                more[v->n_files++] = (struct view_file){TAKE_PTR(where), TAKE_PTR(data), n, 0644};
        } else {
                struct view_trust *more = reallocarray(v->trust, v->n_trust + 1, sizeof(*more));
                if (!more)
                        return -ENOMEM;
                v->trust = more;
                more[v->n_trust++] = (struct view_trust){TAKE_PTR(where), TAKE_PTR(data), n, there};
        }
        return 0;
}

/* True the first time. */
static bool is_new(struct finder *f, const char *real) {
        return !strlist_has(&f->seen, real) && strlist_add(&f->seen, real) == 0;
}

/* A file that is there, with the CA added. */
static int add_place(struct finder *f, enum trust_form form, const char *path) {
        _cleanup_strbuf_ struct strbuf text = {};
        _cleanup_free_ char *there = NULL;
        char real[PATH_MAX];
        mode_t mode;
        size_t n;
        int r;

        if (locate(f, path, real, &mode) < 0 || !S_ISREG(mode) || !is_new(f, real))
                return 0;
        r = read_there(f, real, &there, &n);
        if (r == -ENOMEM)
                return r;
        if (r < 0) /* closed to this user, or no such file as anybody would read */
                return 0;
        if (form == TRUST_JKS) {
                r = trust_add_keystore(&text, there, n, f->bundle ? f->bundle : "", f->n_bundle, f->x->ca.cert);
                if (r == 0 && f->keystore.len == 0)
                        strbuf_add(&f->keystore, text.data, text.len);
        } else
                trust_add_bundle(&text, there, n, f->x->ca.cert);
        return r < 0 ? r : add_file(f, real, &text, true);
}

/* A new file in a directory that is there. */
static int add_beside(struct finder *f, const char *dir, const char *name) {
        _cleanup_strbuf_ struct strbuf text = {};
        char real[PATH_MAX];
        mode_t mode;

        if (locate(f, dir, real, &mode) < 0 || !S_ISDIR(mode))
                return 0;
        _cleanup_free_ char *path = str_printf("%s/%s", streq(real, "/") ? "" : real, name);
        if (!path)
                return -ENOMEM;
        if (!is_new(f, path))
                return 0;
        strbuf_puts(&text, f->x->ca.cert);
        return add_file(f, path, &text, false);
}

/* Keystores of the JVMs in a directory of theirs. */
static int add_jvm(struct finder *f, const char *home) {
        int r = 0;

        for (size_t i = 0; r == 0 && trust_keystores_of_jvm[i]; i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", home, trust_keystores_of_jvm[i]);
                r = path ? add_place(f, TRUST_JKS, path) : -ENOMEM;
        }
        return r;
}

static int add_jvms_in(struct finder *f, int dirfd) {
        DIR *d = dirfd < 0 ? NULL : fdopendir(dirfd);
        unsigned n = 0;
        int r = 0;

        if (!d) {
                fd_close(dirfd);
                return 0;
        }
        for (struct dirent *entry; r == 0 && n < JVMS_MAX && (entry = readdir(d));) {
                if (entry->d_name[0] == '.')
                        continue;
                n++;
                _cleanup_free_ char *home = str_printf("%s/%s", TRUST_JVM_FOLDER, entry->d_name);
                r = home ? add_jvm(f, home) : -ENOMEM;
        }
        closedir(d);
        return r;
}

static int add_jvms(struct finder *f) {
        const char *home = environment_get(&f->x->plan->env, "JAVA_HOME");
        int r = home && home[0] == '/' ? add_jvm(f, home) : 0;

        if (f->image.n == 0)
                return r < 0 ? r : add_jvms_in(f, open(TRUST_JVM_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        for (size_t i = 0; r == 0 && i < f->image.n; i++)
                r = add_jvms_in(f, beneath_open(f->image.fds[i], &TRUST_JVM_FOLDER[1], O_RDONLY | O_DIRECTORY));
        return r;
}

/* What of certificates is there: what the image's own variables say, else the first of the system's; and what programs
 * are told to read. The system's own file, where there is one or will be: what is installed or collected anew inside
 * ends there. */
static int find_bundle(struct finder *f) {
        static const char *const names[] = {"SSL_CERT_FILE", "NIX_SSL_CERT_FILE"};
        char real[PATH_MAX], own[64];
        const char *told = NULL;
        mode_t mode;
        int r = -ENOENT;

        snprintf(own, sizeof(own), "%s/%s", f->folder, TRUST_BUNDLE);

        for (size_t i = 0; in_layer(f) && r == -ENOENT && i < ELEMENTSOF(names); i++) {
                const char *path = environment_get(&f->x->plan->env, names[i]);
                if (path && path[0] == '/' && locate(f, path, real, &mode) == 0 && S_ISREG(mode))
                        r = read_there(f, real, &f->bundle, &f->n_bundle);
                r = r == -ENOMEM || r == 0 ? r : -ENOENT;
                told = r == 0 ? own : NULL;
        }
        for (size_t i = 0; r == -ENOENT && i < trust_places_n; i++) {
                if (trust_places[i].form == TRUST_PEM && locate(f, trust_places[i].path, real, &mode) == 0 &&
                        S_ISREG(mode))
                        r = read_there(f, real, &f->bundle, &f->n_bundle);
                r = r == -ENOMEM || r == 0 ? r : -ENOENT;
                told = r == 0 ? trust_places[i].path : NULL;
        }
        f->x->ca_bundle = strdup(told ? told : in_layer(f) ? TRUST_PEM_DEFAULT : own);
        return r == -ENOMEM || !f->x->ca_bundle ? -ENOMEM : 0;
}

/* The sandbox's own, which the variables name, wherever the system has its. */
static int add_own(struct finder *f) {
        const char *bundle = f->bundle ? f->bundle : "", *cert = f->x->ca.cert;
        const char *const names[] = {TRUST_CA, TRUST_BUNDLE, TRUST_KEYSTORE};
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(names); i++) {
                _cleanup_strbuf_ struct strbuf text = {};
                _cleanup_free_ char *path = str_printf("%s/%s", f->folder, names[i]);
                if (!path)
                        return -ENOMEM;
                if (streq(names[i], TRUST_CA))
                        strbuf_puts(&text, cert);
                else if (streq(names[i], TRUST_BUNDLE))
                        trust_add_bundle(&text, bundle, f->n_bundle, cert);
                else if (f->keystore.len > 0)
                        strbuf_add(&text, f->keystore.data, f->keystore.len);
                else
                        r = trust_add_keystore(&text, NULL, 0, bundle, f->n_bundle, cert);
                r = r < 0 ? r : add_file(f, path, &text, false);
        }
        return r;
}

static int add_browsers(struct finder *f) {
        _cleanup_free_ char *ca = str_printf("%s/%s", f->folder, TRUST_CA);
        char real[PATH_MAX];
        mode_t mode;
        int r = ca ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < trust_browsers_n; i++) {
                _cleanup_strbuf_ struct strbuf text = {};
                if (locate(f, trust_browsers[i].path, real, &mode) == 0)
                        continue; /* somebody else's policies stay as they are */
                trust_add_browser(&text, trust_browsers[i].firefox, f->x->ca.cert, ca);
                r = add_file(f, trust_browsers[i].path, &text, false);
        }
        return r;
}

static int add_all(struct finder *f) {
        _cleanup_free_ char *hashed = str_printf("%s.0", f->x->ca.hash);
        bool files = false;
        char real[PATH_MAX];
        mode_t mode;
        int r = find_bundle(f);

        if (!hashed)
                return -ENOMEM;
        if (r < 0)
                return r;
        for (size_t i = 0; r == 0 && i < trust_places_n; i++) {
                const struct trust_place *t = &trust_places[i];
                if (t->form == TRUST_HASHED)
                        r = add_beside(f, t->path, hashed);
                else if (t->form == TRUST_ANCHOR)
                        r = add_beside(f, t->path, TRUST_ANCHOR_NAME);
                else
                        r = add_place(f, t->form, t->path);
                files = files || (t->form == TRUST_PEM && locate(f, t->path, real, &mode) == 0);
        }
        if (r == 0 && !files && in_layer(f)) {
                _cleanup_strbuf_ struct strbuf text = {};
                trust_add_bundle(&text, f->bundle ? f->bundle : "", f->n_bundle, f->x->ca.cert);
                r = add_file(f, TRUST_PEM_DEFAULT, &text, false);
        }
        /* So that the CA is still there once the image's ca-certificates was installed, or collected anew. */
        if (r == 0 && in_layer(f) && locate(f, TRUST_ANCHOR_DEFAULT, real, &mode) < 0) {
                _cleanup_strbuf_ struct strbuf text = {};
                strbuf_puts(&text, f->x->ca.cert);
                r = add_file(f, TRUST_ANCHOR_DEFAULT "/" TRUST_ANCHOR_NAME, &text, false);
        }
        if (r == 0)
                r = add_jvms(f);
        if (r == 0)
                r = add_own(f);
        return r < 0 ? r : add_browsers(f);
}

/* The directory that a file of /etc would lie in is there and closed: it is not opened by a new one of that name. */
static bool is_closed(const struct finder *f, const char *path) {
        _cleanup_free_ char *dir = strndup(path, (size_t)(strrchr(path, '/') - path));
        char real[PATH_MAX];
        mode_t mode;

        return !dir || (locate(f, dir, real, &mode) == 0 && (!S_ISDIR(mode) || (mode & 05) != 05));
}

/* Settings that a recipe puts in place (model/policy-use.c). What is there stays, and is said: the recipe counts on its own. */
static int add_recipes(struct finder *f, const struct policy *policy) {
        const bool able = in_layer(f) || view_has_own_etc(&f->x->host.view);
        int r = 0;

        for (size_t i = 0; r == 0 && i < policy->n_files; i++) {
                const struct policy_file *file = &policy->files[i];
                _cleanup_strbuf_ struct strbuf text = {};
                char real[PATH_MAX];
                mode_t mode;
                const char *why = locate(f, file->path, real, &mode) == 0 ? "there is one, which stays"
                                  : !able                                 ? "this host's /etc has mounts in it"
                                  : is_closed(f, file->path)              ? "its directory is closed"
                                                                          : NULL;
                strbuf_puts(&text, file->text);
                r = why ? strlist_addf(&f->x->plan->notes, "%s: its %s is not put in place: %s", file->recipe, file->path, why)
                        : add_file(f, file->path, &text, false);
        }
        return r;
}

static const char *folder(const struct prepared *x) {
        return x->plan->image || view_has_own_etc(&x->host.view) ? TRUST_FOLDER : TRUST_FOLDER_RUN;
}

/* What a broker will be given (net-start.c): said before the start, not at the first connection. */
static int check_callers(struct error *e) {
        static const char *const names[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const char *value = getenv(names[i]);
                if (!value || !*value || access(value, R_OK) == 0)
                        continue;
                error_errno(e, errno, "%s, which %s names, cannot be read", value, names[i]);
                return error_fix(e, "correct the variable, or unset it");
        }
        return 0;
}

int prepare_trust_begin(const struct run_options *o, struct prepared *x, struct error *e) {
        int r;

        if (!reads_tls(&o->policy->network))
                return 0;
        return (r = check_callers(e)) < 0 ? r : net_ca_begin(&x->ca, e);
}

int prepare_trust(const struct run_options *o, struct prepared *x, struct error *e) {
        struct finder f = {.x = x, .folder = folder(x), .e = e};
        int r;

        if (!x->plan->network.on)
                return 0;
        if (!reads_tls(&o->policy->network))
                return net_ca_empty(&x->ca, e);
        if ((r = net_ca_finish(&x->ca, e)) < 0)
                return r;
        if (x->plan->image && !o->root) {
                _cleanup_fd_ int root = -EBADF;
                if ((r = state_open_root(false, &root, e)) < 0)
                        return r;
                if ((r = image_files_open(root, &x->image, &f.image)) < 0)
                        error_errno(e, r, "the image's layers cannot be opened");
        }
        if (r == 0 && (r = add_all(&f)) < 0)
                error_errno(e, r, "the files that make programs trust the sandbox's CA cannot be made");
        if (r == 0 && (r = add_recipes(&f, o->policy)) < 0)
                error_errno(e, r, "the files of a recipe cannot be put in place");
        image_files_close(&f.image);
        strlist_clear(&f.seen);
        strlist_clear(&f.dirs);
        strbuf_clear(&f.keystore);
        free(f.bundle);
        return r;
}

int prepare_trust_environment(const struct run_options *o, struct prepared *x, struct error *e) {
        int r = 0;

        for (size_t i = 0; x->ca.cert && r == 0 && i < trust_variables_n; i++) {
                const struct trust_variable *v = &trust_variables[i];
                _cleanup_free_ char *path =
                        streq(v->file, TRUST_BUNDLE) ? strdup(x->ca_bundle) : str_printf("%s/%s", folder(x), v->file);
                r = path ? environment_set(&x->plan->env, o->policy, v->name, path) : -ENOMEM;
        }
        return r < 0 ? error_errno(e, r, "the environment cannot be made") : 0;
}
