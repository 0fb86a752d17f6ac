/* Fetching by skopeo(1), see image-pull.h: which program, with which words, how far, and what its end means. */
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/image-name.h"
#include "svc/image-pull.h"
#include "svc/tree-size.h"
#include "sys/process.h"

#define PULL_ID (IDS_STORE_BASE - 1) /* run by root: an id that nothing else has */
#define WATCH_MS 200                 /* between looks at what has arrived */
#define SAID_MAX 4096u               /* bytes of its words that are kept, the last */
#define SLACK (1u << 20)             /* bytes of a fetch beyond what the manifest names: itself, names of files */
#define DEPTH_MAX 4                  /* of indexes within indexes */

struct fetch {
        const struct image_work *w;
        const struct pull_options *o;
        const struct stream_limits *l;
        struct registry_files files;
        struct ids ids;
        char program[4096];
        struct strlist env;
        char *repository; /* without tag and digest */
        int empty, dir;
        uint64_t begin, whole; /* ms; bytes of the image as it is sent, once they are known */
};

static void fetch_clear(struct fetch *f) {
        registry_files_clear(&f->files);
        strlist_clear(&f->env);
        free(f->repository);
        fd_close(f->dir);
}

static int no_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

static uint64_t now_ms(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Transports of skopeo that reach no registry. Each needs rights that a locked-in program has not (docker's socket is root's;
 * podman's store has other ids), or Belljar reads the thing itself. */
static const struct {
        const char *prefix, *instead;
} transports[] = {
        {"docker-daemon:", "docker save NAME | belljar image import -"},
        {"containers-storage:", "podman save NAME | belljar image import -"},
        {"docker-archive:", "belljar image import FILE"},
        {"oci-archive:", "belljar image import FILE"},
        {"oci:", "belljar image import DIRECTORY:NAME"},
        {"dir:", "skopeo copy dir:DIRECTORY oci:LAYOUT:NAME, then belljar image import LAYOUT:NAME"},
        {"ostree:", "belljar image import DIRECTORY, of what it is checked out to"},
        {"sif:", "belljar image import FILE, of a tar of it"},
};

int image_pull_name(const char *given, char **ret, struct error *e) {
        const char *name = str_after(given, "docker://");

        for (size_t i = 0; i < ELEMENTSOF(transports); i++)
                if (str_after(given, transports[i].prefix)) {
                        error_set(e, EINVAL, "pull fetches from registries; %s is another transport", transports[i].prefix);
                        return error_fix(e, "%s", transports[i].instead);
                }
        return image_name(name ? name : given, ret, e);
}

/* The file behind the name in PATH, as execvp(3) would have it. */
static int find_program(char *real, size_t size, struct error *e) {
        const char *path = getenv("PATH");

        for (const char *p = path ? path : ""; *p; p += strcspn(p, ":"), p += *p == ':') {
                struct stat st;
                size_t n = strcspn(p, ":");
                _cleanup_free_ char *file = n ? str_printf("%.*s/skopeo", (int)n, p) : NULL;
                _cleanup_free_ char *found = file && p[0] == '/' && access(file, X_OK) == 0 ? realpath(file, NULL) : NULL;
                if (!found || stat(found, &st) < 0 || !S_ISREG(st.st_mode) || strlen(found) >= size)
                        continue;
                snprintf(real, size, "%s", found);
                return 0;
        }
        error_set(e, ENOENT, "images are fetched by skopeo, which is not installed");
        return error_fix(e, "apt-get install skopeo, or import a file: belljar image import SOURCE");
}

static int make_environment(struct strlist *env, const struct registry_files *files) {
        static const char *const kept[] = {"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY",
                                           "NO_PROXY", "ALL_PROXY", "TZ"};
        /* Names are asked for in Go, not by libc's modules, some of which would want sockets; and few threads, as each takes 8
         * MiB of address space and more. */
        static const char *const fixed[] = {"HOME=/", "TMPDIR=/out", "LANG=C.UTF-8", "GODEBUG=netdns=go", "GOMEMLIMIT=512MiB", "GOMAXPROCS=4",
                                            "MALLOC_ARENA_MAX=2"};
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(fixed); i++)
                r = strlist_add(env, fixed[i]);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(kept); i++) {
                const char *v = getenv(kept[i]);
                if (v)
                        r = strlist_addf(env, "%s=%s", kept[i], v);
        }
        if (r == 0 && files->ca)
                r = strlist_add(env, "SSL_CERT_FILE=" REGISTRY_CA);
        return r;
}

/* A process at work, and what it has said. */
struct run {
        pid_t pid;
        int pidfd, out, err;
        struct strbuf text;     /* its standard output, */
        uint64_t max_text;
        char said[2 * SAID_MAX];/* and error: the end of it */
        size_t n_said;
        uint64_t max_bytes, seen, at; /* what it may write; what it had written, and when (ms) */
};

static void run_end(struct run *x) {
        if (x->pid > 0) {
                (void)!process_signal(x->pidfd, SIGKILL);
                while (waitpid(x->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        fd_close(x->pidfd);
        fd_close(x->out);
        fd_close(x->err);
        strbuf_clear(&x->text);
}

static int run_start(struct fetch *f, struct run *x, char **argv, bool result, struct error *e) {
        const uint64_t flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
        int out[2] = {-EBADF, -EBADF}, err[2] = {-EBADF, -EBADF}, r = 0;
        _cleanup_fd_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (here < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 || fcntl(out[0], F_SETFL, O_NONBLOCK) < 0 ||
            fcntl(err[0], F_SETFL, O_NONBLOCK) < 0 || fchdir(result ? f->dir : f->empty) < 0)
                r = error_errno(e, errno, "skopeo cannot be started");
        struct pull_child c = {.program = f->program, .argv = argv, .envp = f->env.items, .files = &f->files, .result = result,
                               .max_file = x->max_bytes, .out = out[1], .err = err[1]};
        if (r == 0)
                r = x->pid = ids_fork(&f->ids, flags, &x->pidfd, e);
        if (x->pid == 0 && r >= 0) {
                /* Without this end, it hears when nobody listens any more. */
                close(out[0]);
                close(err[0]);
                image_pull_child(&c);
        }
        if (here >= 0 && fchdir(here) < 0 && r >= 0)
                r = error_errno(e, errno, "the working directory is gone");
        fd_close(out[1]);
        fd_close(err[1]);
        x->out = out[0];
        x->err = err[0];
        x->at = now_ms();
        return MIN(r, 0);
}

/* 0: there may be more; 1: its end. */
static int take_text(struct run *x, struct error *e) {
        char buffer[65536];
        ssize_t n = read(x->out, buffer, sizeof(buffer));

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : error_errno(e, errno, "skopeo cannot be read from");
        if (x->text.len + (size_t)n > x->max_text)
                return error_set(e, EFBIG, "the image's manifest is larger than %u MiB", (unsigned)(x->max_text >> 20));
        strbuf_add(&x->text, buffer, (size_t)n);
        return x->text.failed ? no_memory(e) : n == 0;
}

static int take_said(struct run *x) {
        ssize_t n = read(x->err, x->said + x->n_said, sizeof(x->said) - 1 - x->n_said);

        if (n < 0)
                return errno != EAGAIN && errno != EINTR;
        x->n_said += (size_t)n;
        if (x->n_said > SAID_MAX) {
                memmove(x->said, x->said + x->n_said - SAID_MAX, SAID_MAX);
                x->n_said = SAID_MAX;
        }
        return n == 0;
}

static int too_much(const struct fetch *f, struct error *e) {
        char text[32];
        return error_set(e, EFBIG, "the registry sends more than the %s that the manifest names", format_size(text, sizeof(text), f->whole));
}

/* How much has arrived, and whether that is allowed, and goes on. */
static int watch(struct fetch *f, struct run *x, bool result, struct error *e) {
        uint64_t bytes = 0, now = now_ms(), idle = f->o->idle_ms ? f->o->idle_ms : PULL_IDLE_MS;
        struct statvfs vfs;
        char text[32];

        if (result)
                (void)!tree_size(f->w->dir, "pulled", &bytes); /* what vanished meanwhile needs no count */
        if (bytes > x->max_bytes)
                return too_much(f, e);
        if (fstatvfs(f->w->dir, &vfs) == 0 && (uint64_t)vfs.f_bavail * vfs.f_frsize < f->l->space_floor) {
                error_set(e, ENOSPC, "less than 5 %% of the store's file system are free");
                return error_fix(e, "make room (belljar image prune), or set XDG_STATE_HOME to another file system");
        }
        if (f->o->progress && result)
                f->o->progress(MIN(bytes, f->whole), f->whole);
        bytes += x->text.len;
        if (bytes >= x->seen + PULL_PROGRESS) {
                x->seen = bytes;
                x->at = now;
        }
        if (now - x->at > idle) {
                error_set(e, ETIMEDOUT, "the registry has sent nothing to speak of for %s", format_duration(text, sizeof(text), idle));
                return error_fix(e, "try again, or wait longer with --idle TIME");
        }
        if (f->o->time_ms && now - f->begin > f->o->time_ms)
                return error_set(e, ETIMEDOUT, "the image was not there after %s", format_duration(text, sizeof(text), f->o->time_ms));
        return 0;
}

static int run_watch(struct fetch *f, struct run *x, bool result, struct error *e) {
        uint64_t looked = 0;
        int out = 0, err = 0, r;

        /* Both streams end when the last process of its pid namespace has. */
        while (!out || !err) {
                struct pollfd p[2] = {{.fd = out ? -1 : x->out, .events = POLLIN}, {.fd = err ? -1 : x->err, .events = POLLIN}};
                if (poll(p, 2, WATCH_MS) < 0 && errno != EINTR)
                        return error_errno(e, errno, "skopeo cannot be waited for");
                if (p[0].revents && (r = out = take_text(x, e)) < 0)
                        return r;
                if (p[1].revents)
                        err = take_said(x);
                if (now_ms() - looked < WATCH_MS)
                        continue;
                looked = now_ms();
                if ((r = watch(f, x, result, e)) < 0)
                        return r;
        }
        return watch(f, x, result, e); /* what it was quick to write */
}

/* The reason in its last words, which logrus writes as: time="..." level=fatal msg="REASON". Its inner quotes have backslashes. */
static void last_words(struct run *x, char *dst, size_t size) {
        char *from = x->said, *to = dst;

        while (x->n_said > 0 && strchr("\n ", x->said[x->n_said - 1]))
                x->n_said--;
        x->said[x->n_said] = 0;
        char *line = strrchr(from, '\n'), *msg;
        from = line ? line + 1 : from;
        msg = strstr(from, "msg=\"");
        if (msg) {
                from = msg + 5;
                size_t n = strlen(from);
                if (n > 0 && from[n - 1] == '"')
                        from[n - 1] = 0;
        }
        for (; *from && to < dst + size - 1; from++) {
                if (msg && from[0] == '\\' && (from[1] == '"' || from[1] == '\\'))
                        from++;
                *to++ = *from;
        }
        *to = 0;
}

/* What may be done about it, by what skopeo has been saying for years. */
static int explain(struct fetch *f, const char *registry, const char *said, struct error *e) {
        static const char *const login[] = {"unauthorized", "authentication required", "denied", "401", "403"};

        if (strstr(said, "signed by unknown authority") || strstr(said, "x509:"))
                return error_fix(e, "put the certificate of its authority into /etc/containers/certs.d/%s/ca.crt", registry);
        if (strstr(said, "server gave HTTP response") || strstr(said, "not look like a TLS handshake"))
                return error_fix(e, "where it is meant to have no TLS: --tls-verify=false");
        if (!f->files.policy)
                return error_fix(e, "write /etc/containers/policy.json (package golang-github-containers-common has one; "
                                    "containers-policy.json(5))");
        for (size_t i = 0; i < ELEMENTSOF(login); i++)
                if (strstr(said, login[i])) {
                        if (f->files.login)
                                return error_fix(e, "the login for %s may be an old one: skopeo login %s", registry, registry);
                        if (f->files.helper[0])
                                return error_fix(e, "its login is kept by docker-credential-%.60s, which is not run here; log in with: "
                                                    "REGISTRY_AUTH_FILE=FILE skopeo login %s, and the same REGISTRY_AUTH_FILE for pull",
                                                 f->files.helper, registry);
                        return error_fix(e, "the name may be wrong; where it needs a login: skopeo login %s", registry);
                }
        return -EIO;
}

/* Runs `skopeo OPTIONS WHAT...` to its end. result: it writes to its directory. */
static int run(struct fetch *f, const char *const *words, const char *tls, const char *from, const char *to, uint64_t max_bytes, char **ret,
               size_t *ret_len, struct error *e) {
        _cleanup_(run_end) struct run x = {.pid = -1, .pidfd = -EBADF, .out = -EBADF, .err = -EBADF, .max_text = OCI_JSON_MAX,
                                           .text.max = OCI_JSON_MAX + 65536, .max_bytes = max_bytes};
        _cleanup_strlist_ struct strlist argv = {};
        char said[384];
        int status = 0, r = strlist_add(&argv, "skopeo");

        for (; r == 0 && *words; words++)
                r = strlist_add(&argv, *words);
        if (r == 0 && f->o->tls_verify)
                r = strlist_addf(&argv, "%s=%s", tls, f->o->tls_verify);
        if (r == 0 && f->files.login)
                r = strlist_add(&argv, "--authfile=" REGISTRY_AUTH);
        if (r == 0)
                r = strlist_addf(&argv, "docker://%s", from);
        if (r == 0 && to)
                r = strlist_add(&argv, to);
        if (r < 0)
                return no_memory(e);
        if ((r = run_start(f, &x, argv.items, to != NULL, e)) < 0 || (r = run_watch(f, &x, to != NULL, e)) < 0)
                return r;
        while (waitpid(x.pid, &status, 0) < 0)
                if (errno != EINTR)
                        return error_errno(e, errno, "skopeo cannot be waited for");
        x.pid = -1;
        if (status != 0) {
                size_t n = image_name_registry(from);
                _cleanup_free_ char *registry = n ? strndup(from, n) : strdup("docker.io");
                last_words(&x, said, sizeof(said));
                if (WIFEXITED(status) && WEXITSTATUS(status) == PULL_CAGE_FAILED)
                        return error_set(e, EPERM, "%s", said[0] ? said : "skopeo cannot be locked in");
                if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) || strstr(said, "file too large")) /* Go's word for EFBIG */
                        return too_much(f, e);
                if (WIFSIGNALED(status))
                        return error_set(e, EIO, "skopeo was ended by signal %d", WTERMSIG(status));
                error_set(e, EIO, "skopeo could not fetch %s: %s", from, said[0] ? said : "it does not say why");
                return explain(f, registry ? registry : "REGISTRY", said, e);
        }
        if (ret) {
                *ret_len = x.text.len;
                *ret = strbuf_take(&x.text);
                if (!*ret)
                        return no_memory(e);
        }
        return 0;
}

/* What the registry has under a name: its very bytes, and their digest, which must be the one that is asked for (hex, where it
 * is not ""). */
static int ask(struct fetch *f, const char *name, const char *hex, char **ret, size_t *ret_len, char found[65], struct error *e) {
        static const char *const words[] = {"inspect", "--raw", NULL};
        _cleanup_free_ char *text = NULL;
        size_t len = 0;
        int r = run(f, words, "--tls-verify", name, NULL, OCI_JSON_MAX, &text, &len, e);

        if (r < 0)
                return r;
        stream_digest(text, len, found);
        if (hex[0] && !streq(hex, found))
                return error_set(e, EBADMSG, "the registry sent another manifest than %s: its digest is %.16s...", name, found);
        *ret = TAKE_PTR(text);
        *ret_len = len;
        return 0;
}

/* From the name to one manifest, through indexes. */
static int find_manifest(struct fetch *f, const char *name, struct pulled *p, struct oci_manifest *ret, struct error *e) {
        const struct oci_wish wish = {.platform = f->o->platform, .best = true};
        const char *digest = image_name_digest(name);
        _cleanup_free_ char *at = strdup(name);
        char hex[65] = "", found[65];

        if (digest)
                snprintf(hex, sizeof(hex), "%s", digest);
        for (int depth = 0; at && depth < DEPTH_MAX; depth++) {
                _cleanup_free_ char *text = NULL, *called = NULL;
                struct oci_blob next = {};
                size_t len = 0;
                bool index, again;
                int r;
                if ((r = ask(f, at, hex, &text, &len, found, e)) < 0 || (r = oci_is_index(text, len, &index, e)) < 0)
                        return r;
                if (!index) {
                        memcpy(p->manifest.hex, found, sizeof(found));
                        p->manifest.size = len;
                        return oci_manifest_parse(text, len, ret, e);
                }
                if (!p->index.hex[0]) {
                        memcpy(p->index.hex, found, sizeof(found));
                        p->index.size = len;
                }
                if ((r = oci_index_parse(text, len, &wish, &next, &again, &called, e)) < 0)
                        return r;
                free(at);
                at = str_printf("%s@sha256:%s", f->repository, next.hex);
                memcpy(hex, next.hex, sizeof(hex));
        }
        return at ? error_set(e, EBADMSG, "the image's index nests too deep") : no_memory(e);
}

static int sum_sizes(struct fetch *f, const struct oci_manifest *m, struct error *e) {
        uint64_t sum = m->config.size;
        bool fits = m->config.size <= f->l->bytes;

        for (size_t i = 0; fits && i < m->n_layers; i++) {
                fits = m->layers[i].size <= f->l->bytes && sum <= f->l->bytes - m->layers[i].size;
                sum += fits ? m->layers[i].size : 0;
        }
        if (!fits) {
                error_set(e, EFBIG, "the image is larger than is allowed, or than there is room for");
                return error_fix(e, "where it is meant to be: --max-size SIZE");
        }
        f->whole = sum;
        return 0;
}

/* Who skopeo runs as: the user, without groups; or, run by root, an id without anything. */
static int choose_ids(struct fetch *f, struct error *e) {
        f->ids = (struct ids){.kind = IDS_ONE, .n = 1, .uid = geteuid(), .gid = getegid()};
        if (f->w->ids.kind != IDS_RANGE)
                return 0;
        f->ids.uid = f->ids.gid = PULL_ID;
        /* It would keep root's groups, as a user namespace of one id denies setgroups(2). This process needs none of them. */
        if (setgroups(0, NULL) < 0 || fchown(f->dir, PULL_ID, PULL_ID) < 0)
                return error_errno(e, errno, "skopeo cannot be started under an id of its own");
        return 0;
}

int image_pull(const struct image_work *w, int empty, const char *name, const struct pull_options *o, const struct stream_limits *l,
               struct pulled *ret, struct error *e) {
        static const char *const words[] = {"copy", "--quiet", NULL};
        _cleanup_(fetch_clear) struct fetch f = {.w = w, .o = o, .l = l, .empty = empty, .dir = -EBADF, .begin = now_ms()};
        _cleanup_oci_manifest_ struct oci_manifest m = {};
        struct pulled p = {.dir = -EBADF};
        size_t n = image_name_registry(name);
        _cleanup_free_ char *registry = n ? strndup(name, n) : strdup("docker.io");
        int r;

        f.repository = strndup(name, image_name_repository(name));
        if (!registry || !f.repository)
                return no_memory(e);
        if ((r = find_program(f.program, sizeof(f.program), e)) < 0 || (r = registry_files_find(registry, &f.files, e)) < 0)
                return r;
        if (make_environment(&f.env, &f.files) < 0)
                return no_memory(e);
        if (mkdirat(w->dir, "pulled", 0700) < 0 ||
            (f.dir = openat(w->dir, "pulled", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) < 0)
                return error_errno(e, errno, "a directory in the store of images cannot be made");
        if ((r = choose_ids(&f, e)) < 0 || (r = find_manifest(&f, name, &p, &m, e)) < 0 || (r = sum_sizes(&f, &m, e)) < 0)
                return r;
        _cleanup_free_ char *from = str_printf("%s@sha256:%s", f.repository, p.manifest.hex);
        if (!from)
                return no_memory(e);
        if ((r = run(&f, words, "--src-tls-verify", from, "dir:/out/image", f.whole + SLACK, NULL, NULL, e)) < 0)
                return r;
        p.dir = openat(f.dir, "image", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (p.dir < 0)
                return error_errno(e, errno, "skopeo has fetched nothing");
        *ret = p;
        return 0;
}
