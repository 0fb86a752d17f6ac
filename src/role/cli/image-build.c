/* `belljar image build`: an image of a Containerfile, made by buildah in a sandbox. Nothing of buildah's runs outside of one, its
 * reading of the Containerfile and the context included; what comes out is a stream of bytes, imported as any archive is.
 *
 * Before: the images that the Containerfile names are looked up in the store (model/containerfile.h) and laid ready as OCI
 * layouts. The run: a root of its own with the host's programs, `nesting: userns` for the chroots and mounts of buildah, no
 * network, the context read-only, buildah's storage among what the run changes in its root, which goes with its end. After:
 * the archive that it wrote to its standard output is imported; layers of the base images are recognised (image-export.h). */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/containerfile.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"
#include "role/cli/prepare.h"
#include "svc/image-import.h"
#include "sys/beneath.h"

#define ROOT_NAME "none (a root made for the build)"
#define INSIDE "/build"

struct build {
        struct policy *policy; /* takes the limits */
        struct import_options import;
        const char *file, *target;
        char *name;            /* of the image, with its tag */
        struct strlist args;   /* "NAME=VALUE" */
        bool quiet, dry_run;
        char *context;         /* real path */
        char *text;            /* the Containerfile */
        struct strlist names;  /* of base images, as the Containerfile has them */
        struct image *bases;   /* the same, opened */
        size_t n_bases;
        struct image_work work;
        struct image_aliases aliases;
        struct strlist trees;  /* see struct run_root */
        struct strlist argv;
};

static void build_clear(struct build *b) {
        policy_free(b->policy);
        free(b->name);
        strlist_clear(&b->args);
        free(b->context);
        free(b->text);
        strlist_clear(&b->names);
        for (size_t i = 0; i < b->n_bases; i++)
                image_clear(&b->bases[i]);
        free(b->bases);
        image_aliases_clear(&b->aliases);
        strlist_clear(&b->trees);
        strlist_clear(&b->argv);
        image_work_end(&b->work);
}

static int no_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

static int add_arg(struct build *b, const char *arg, struct error *e) {
        const char *value = strchr(arg, '=') ? NULL : getenv(arg);

        if (!arg[0] || arg[0] == '=')
                return error_set(e, EINVAL, "--build-arg takes NAME=VALUE, or NAME");
        if (!strchr(arg, '=') && !value)
                return 0; /* as docker has it: what is not set here is not given */
        return strlist_addf(&b->args, "%s%s%s", arg, value ? "=" : "", value ? value : "") < 0 ? no_memory(e) : 0;
}

static int on_option(int id, const char *arg, void *data, struct error *e) {
        static const struct { int id; const char *name; } limits[] = {
                {OPT_MEMORY, "memory"}, {OPT_CPU, "cpu"}, {OPT_PIDS, "pids"}, {OPT_DISK, "disk"}, {OPT_TIME, "time"}, {OPT_IDLE, "idle"},
        };
        struct build *b = data;

        for (size_t i = 0; i < ELEMENTSOF(limits); i++)
                if (limits[i].id == id)
                        return policy_set_limit(b->policy, limits[i].name, arg, e);
        switch (id) {
        case OPT_TAG:
                free(TAKE_PTR(b->name));
                return image_name(arg, &b->name, e);
        case OPT_FILE: b->file = arg; return 0;
        case OPT_TARGET: b->target = arg; return 0;
        case OPT_BUILD_ARG: return add_arg(b, arg, e);
        case OPT_QUIET: b->quiet = true; return 0;
        case OPT_DRY_RUN: b->dry_run = true; return 0;
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

static int find_context(struct build *b, const char *given, struct error *e) {
        struct stat st;

        b->context = realpath(given, NULL);
        if (!b->context)
                return error_errno(e, errno, "%s cannot be opened", given);
        if (stat(b->context, &st) < 0 || !S_ISDIR(st.st_mode)) {
                error_set(e, ENOTDIR, "%s is not a directory", given);
                return error_fix(e, "name the directory that holds the Containerfile; -f names the file");
        }
        if (b->name)
                return 0;
        const char *base = strrchr(b->context, '/') + 1;
        struct error why = {};
        if (image_name(base, &b->name, &why) == 0)
                return 0;
        error_set(e, EINVAL, "the image needs a name");
        return error_fix(e, "-t NAME");
}

/* One named by -f is the user's word. One of the directory may be anybody's: a link in it does not lead out. */
static int read_containerfile(struct build *b, struct error *e) {
        static const char *const usual[] = {"Containerfile", "Dockerfile"};
        _cleanup_fd_ int fd = -EBADF;
        struct stat st;
        size_t len = 0;
        int r;

        if (b->file && streq(b->file, "-"))
                fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
        else if (b->file)
                fd = open(b->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        else {
                _cleanup_fd_ int dir = open(b->context, O_PATH | O_DIRECTORY | O_CLOEXEC);
                r = -ENOENT;
                for (size_t i = 0; dir >= 0 && r == -ENOENT && i < ELEMENTSOF(usual); i++)
                        r = fd = beneath_open_regular(dir, usual[i], &st);
                if (r == -ENOENT) {
                        error_set(e, ENOENT, "there is no Containerfile and no Dockerfile in %s", b->context);
                        return error_fix(e, "name it: -f FILE");
                }
                if (r < 0) {
                        error_errno(e, r, "the Containerfile in %s cannot be read: it is no regular file of that directory", b->context);
                        return error_fix(e, "name it: -f FILE");
                }
        }
        if (fd < 0)
                return error_errno(e, errno, "%s cannot be read", b->file);
        if ((r = fd_read_all(fd, CONTAINERFILE_MAX, &b->text, &len)) < 0)
                return error_errno(e, r, "the Containerfile cannot be read");
        return containerfile_images(b->text, len, &b->args, b->target, &b->names, e);
}

/* As docker names them in full: a name without a registry is docker.io's, and one without a group is in "library". */
static int open_base(int root, const char *written, struct image *ret, struct error *e) {
        static const char *const prefixes[] = {"", "docker.io/library/", "docker.io/", "localhost/"};
        const char *rest = str_after(written, "docker.io/library/");
        struct error why = {};
        int r = -ENOENT;

        if (!rest)
                rest = str_after(written, "docker.io/");
        for (size_t i = 0; r == -ENOENT && i < ELEMENTSOF(prefixes); i++) {
                _cleanup_free_ char *name = str_printf("%s%s", prefixes[i], written);
                if (!name)
                        return no_memory(e);
                r = image_open(root, name, ret, &why);
        }
        if (r == -ENOENT && rest)
                r = image_open(root, rest, ret, &why);
        if (r == -ENOENT) {
                error_set(e, ENOENT, "the Containerfile builds on %s, which is not among your images", written);
                return error_fix(e, "belljar image pull %s", written);
        }
        if (r < 0)
                *e = why;
        return r;
}

static int open_bases(struct build *b, int root, struct error *e) {
        int r;

        b->bases = calloc(b->names.n + 1, sizeof(*b->bases));
        if (!b->bases)
                return no_memory(e);
        for (; b->n_bases < b->names.n; b->n_bases++) {
                const char *name = b->names.items[b->n_bases];
                _cleanup_free_ char *full = NULL;
                if (strchr(name, '@')) {
                        error_set(e, ENOTSUP, "the Containerfile builds on %s: a build takes images by name and tag", name);
                        return error_fix(e, "write the tag in place of the digest; belljar image inspect NAME says the digest");
                }
                if ((r = image_name(name, &full, e)) < 0)
                        return r;
                if ((r = open_base(root, name, &b->bases[b->n_bases], e)) < 0)
                        return r;
        }
        return 0;
}

static int lay_bases(struct build *b, int root, struct error *e) {
        struct ids ids;
        char here[4096], proc[40], name[32], inside[64];
        int r;

        if ((r = ids_find(&ids, e)) < 0 || (r = image_work_begin(root, &ids, &b->work, e)) < 0)
                return r;
        snprintf(proc, sizeof(proc), "/proc/self/fd/%d", b->work.dir);
        ssize_t n = readlink(proc, here, sizeof(here) - 1);
        if (n < 0)
                return error_errno(e, errno, "the store of images cannot be named");
        here[n] = 0;
        for (size_t i = 0; i < b->n_bases; i++) {
                snprintf(name, sizeof(name), "base-%zu", i);
                snprintf(inside, sizeof(inside), INSIDE "/base/%zu", i);
                if ((r = image_export(&b->work, &b->bases[i], name, &b->aliases, e)) < 0)
                        return r;
                if (strlist_addf(&b->trees, "%s/%s", here, name) < 0 || strlist_add(&b->trees, inside) < 0)
                        return no_memory(e);
        }
        return 0;
}

/* A limit that was not asked for: as an import's, and never the last 5 % of the file system. */
static int bound(struct build *b, int root, struct error *e) {
        struct statvfs vfs;

        if (fstatvfs(root, &vfs) < 0)
                return error_errno(e, errno, "the store's file system cannot be looked at");
        uint64_t room = (uint64_t)vfs.f_bavail * vfs.f_frsize, floor = (uint64_t)vfs.f_blocks / 20 * vfs.f_frsize;
        if (room <= floor) {
                error_set(e, ENOSPC, "less than 5 %% of the store's file system are free");
                return error_fix(e, "make room (belljar image prune), or set XDG_STATE_HOME to another file system");
        }
        struct limit most = {MIN(IMPORT_SIZE, room - floor), LIMIT_DEFAULT}, *disk = &b->policy->limits.disk;
        if (disk->origin == LIMIT_NONE)
                *disk = most;
        b->policy->limits.output = (struct limit){MIN(disk->value, most.value), LIMIT_DEFAULT};
        return 0;
}

/* What runs inside. All that buildah prints is for the user to see; the archive alone goes to standard output. /dev as buildah
 * wants it is read-only, and what it would do for that takes nodev away, which is locked. */
static const char steps[] =
        "set -eu\n"
        "exec 3>&1 4>&2 1>&2\n"
        "mount -o remount,bind,ro,nosuid,nodev /dev\n"
        "quiet=$1 bases=$2 i=0\n"
        "shift 2\n"
        "while [ \"$i\" -lt \"$bases\" ]; do\n"
        "\tid=$(buildah pull --quiet \"oci:" INSIDE "/base/$i\" 2>" INSIDE "/log) || { cat " INSIDE "/log >&2; exit 1; }\n"
        "\tbuildah tag \"$id\" \"$1\"\n"
        "\tshift\n"
        "\ti=$((i + 1))\n"
        "done\n"
        "[ -z \"$quiet\" ] || exec 2>" INSIDE "/log\n"
        "buildah bud --isolation chroot --pull-never --format oci --dns 127.0.0.1 --security-opt seccomp=unconfined \\\n"
        "\t--disable-compression --file " INSIDE "/Containerfile --tag oci-archive:" INSIDE "/image.tar \"$@\" " INSIDE "/context 1>&2 || {\n"
        "\tstatus=$?\n"
        "\t[ -z \"$quiet\" ] || cat " INSIDE "/log >&4\n"
        "\texit $status\n"
        "}\n"
        "exec cat " INSIDE "/image.tar >&3\n";

static int make_files(const struct build *b, bool one_id, struct run_root *ret, struct error *e) {
        const struct { const char *path, *text; mode_t mode; } files[] = {
                {"tmp", NULL, 01777}, {"var", NULL, 0755}, {"var/tmp", NULL, 01777}, {"var/lib", NULL, 0755}, {"run", NULL, 0755},
                {"root", NULL, 0700}, {"build", NULL, 0755}, {"etc/containers", NULL, 0755},
                {"etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", 0644}, {"etc/group", "root:x:0:\n", 0644},
                {"etc/containers/policy.json", "{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}\n", 0644},
                {"etc/containers/registries.conf", "unqualified-search-registries = []\nshort-name-mode = \"disabled\"\n", 0644},
                {"etc/containers/storage.conf", one_id ? "[storage]\ndriver = \"vfs\"\nrunroot = \"/run/containers\"\ngraphroot = \"/var/lib/containers\"\n"
                                                         "[storage.options]\nignore_chown_errors = \"true\"\n"
                                                         "[storage.options.vfs]\nignore_chown_errors = \"true\"\n"
                                                       : "[storage]\ndriver = \"vfs\"\nrunroot = \"/run/containers\"\ngraphroot = \"/var/lib/containers\"\n", 0644},
                {"build/steps", steps, 0644}, {"build/Containerfile", b->text, 0644},
        };

        ret->files = calloc(ELEMENTSOF(files), sizeof(*ret->files));
        if (!ret->files)
                return no_memory(e);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                struct view_file *f = &ret->files[ret->n_files++];
                *f = (struct view_file){.path = strdup(files[i].path), .text = files[i].text ? strdup(files[i].text) : NULL, .mode = files[i].mode};
                if (!f->path || (files[i].text && !f->text))
                        return no_memory(e);
        }
        return 0;
}

static int make_argv(struct build *b, struct error *e) {
        static const char *const head[] = {"unshare", "--mount", "sh", INSIDE "/steps"};
        struct strlist *l = &b->argv;
        int r = 0;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(head); i++)
                r = strlist_add(l, head[i]);
        if (r == 0 && (r = strlist_add(l, b->quiet ? "quiet" : "")) == 0)
                r = strlist_addf(l, "%zu", b->dry_run ? 0 : b->names.n);
        for (size_t i = 0; r == 0 && !b->dry_run && i < b->names.n; i++)
                r = strlist_add(l, b->names.items[i]);
        for (size_t i = 0; r == 0 && i < b->args.n; i++)
                if ((r = strlist_add(l, "--build-arg")) == 0)
                        r = strlist_add(l, b->args.items[i]);
        if (r == 0 && b->target && (r = strlist_add(l, "--target")) == 0)
                r = strlist_add(l, b->target);
        return r < 0 ? error_errno(e, r, "the build cannot be planned") : 0;
}

static int add_context(struct build *b, struct error *e) {
        struct policy *p = b->policy;

        p->volumes = calloc(1, sizeof(*p->volumes));
        if (!p->volumes)
                return no_memory(e);
        p->n_volumes = 1;
        p->volumes[0] = (struct volume){.host = strdup(b->context), .inside = strdup(INSIDE "/context")};
        return p->volumes[0].host && p->volumes[0].inside ? 0 : no_memory(e);
}

/* In a process of its own where it is not a dry run: it ends with the run. */
static int run_build(struct build *b, bool one_id) {
        struct run_root root = {.name = ROOT_NAME, .trees = &b->trees};
        struct policy *policy = TAKE_PTR(b->policy);
        struct run_options o = {.root = &root, .policy = policy, .no_workspace = true, .rm = true, .no_tty = true,
                                .quiet = b->quiet, .dry_run = b->dry_run, .argv = b->argv.items, .argc = (int)b->argv.n};
        struct prepared x = PREPARED_NONE;
        struct error e = {};

        if (make_files(b, one_id, &root, &e) == 0 && prepare(&o, &x, &e) == 0)
                return run_prepared(&o, &x);
        error_print(&e);
        return EXIT_BELLJAR;
}

/* Signals that are meant for the build go on to the process that guards it, and this one stays to clean up. */
static int wait_for(pid_t pid, const sigset_t *set) {
        int status = 0, sig;

        for (;;) {
                pid_t got = waitpid(pid, &status, WNOHANG);
                if (got == pid)
                        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                if (got < 0 && errno != EINTR)
                        return EXIT_BELLJAR;
                if (sigwait(set, &sig) == 0 && sig != SIGCHLD)
                        (void)kill(pid, sig);
        }
}

/* Runs it with the archive as its output. *ret_status: of the run. */
static int build_archive(struct build *b, bool one_id, int *ret_fd, int *ret_status, struct error *e) {
        sigset_t set, before;

        _cleanup_fd_ int fd = openat(b->work.dir, "archive.tar", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return error_errno(e, errno, "the store of images cannot be written");
        sigemptyset(&set);
        static const int passed[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
        for (size_t i = 0; i < ELEMENTSOF(passed); i++)
                sigaddset(&set, passed[i]);
        sigprocmask(SIG_BLOCK, &set, &before);
        fflush(NULL);
        pid_t parent = getpid(), pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
                sigprocmask(SIG_SETMASK, &before, NULL);
                if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(fd, 1) < 0)
                        _exit(EXIT_BELLJAR);
                exit(run_build(b, one_id));
        }
        if (pid > 0)
                *ret_status = wait_for(pid, &set);
        int err = errno;
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (pid < 0)
                return error_errno(e, err, "the build cannot be started");
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int import_archive(struct build *b, int root, int fd, struct error *e) {
        struct import_result result = {};
        _cleanup_free_ char *origin = str_printf("built of %s", b->context);
        char source[40], size[32];

        if (!origin)
                return no_memory(e);
        snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
        b->import.name = b->name;
        b->import.format = FORMAT_OCI_ARCHIVE;
        b->import.origin = origin;
        b->import.aliases = &b->aliases;
        int r = image_import(root, source, &b->import, &result, e);
        if (r < 0)
                return r;
        const struct image *i = &result.image;
        printf("%s: %zu layer%s, %zu new, %s\n", i->name, i->keys.n, i->keys.n == 1 ? "" : "s", result.layers_new,
               format_size(size, sizeof(size), i->size));
        image_clear(&result.image);
        return 0;
}

static int find_buildah(struct error *e) {
        static const char *const places[] = {"/usr/bin/buildah", "/usr/local/bin/buildah", "/bin/buildah"};

        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                if (access(places[i], X_OK) == 0)
                        return 0;
        error_set(e, ENOENT, "images are built by buildah, which is not installed");
        return error_fix(e, "apt-get install buildah");
}

static int build(struct build *b, const char *context, int *ret_status, struct error *e) {
        _cleanup_fd_ int root = -EBADF, fd = -EBADF;
        struct ids ids;
        int r;

        if ((r = find_context(b, context, e)) < 0 || (r = find_buildah(e)) < 0 || (r = read_containerfile(b, e)) < 0 ||
            (r = state_open_root(true, &root, e)) < 0 || (r = ids_find(&ids, e)) < 0 || (r = open_bases(b, root, e)) < 0 ||
            (r = bound(b, root, e)) < 0 || (r = add_context(b, e)) < 0)
                return r;
        bool one_id = ids.kind == IDS_ONE;
        if (b->dry_run) {
                if ((r = make_argv(b, e)) < 0)
                        return r;
                for (size_t i = 0; i < b->n_bases; i++)
                        printf("base       %s (%s)\n", b->bases[i].name, b->bases[i].digest);
                printf("builds     %s\n", b->name);
                *ret_status = run_build(b, one_id);
                return 0;
        }
        if ((r = lay_bases(b, root, e)) < 0 || (r = make_argv(b, e)) < 0 || (r = build_archive(b, one_id, &fd, ret_status, e)) < 0)
                return r;
        if (*ret_status != 0) {
                fprintf(stderr, "belljar: the build failed; no image was made\n");
                return 0;
        }
        return import_archive(b, root, fd, e);
}

int command_build(int argc, char **argv) {
        _cleanup_(build_clear) struct build b = {.policy = policy_new(), .work = IMAGE_WORK_NONE};
        struct error e = {};
        int first, status = 0, r;

        if (!b.policy) {
                (void)no_memory(&e);
                error_print(&e);
                return EXIT_BELLJAR;
        }
        b.policy->tier = TIER_CONTAINER;
        b.policy->nesting = NESTING_USERNS;
        r = options_parse(command_find("build"), argc, argv, on_option, &b, &first, &e);
        if (r == 0 && argc - first != 1) {
                r = error_set(&e, EINVAL, argc == first ? "belljar image build needs to be told of which directory" : "belljar image build takes one directory");
                error_fix(&e, "belljar image build [-t NAME] DIRECTORY");
        }
        if (r == 0)
                r = build(&b, argv[first], &status, &e);
        if (r == 0)
                return status;
        error_print(&e);
        return EXIT_BELLJAR;
}
