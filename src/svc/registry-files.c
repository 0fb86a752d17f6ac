/* Settings for one registry, see registry-files.h. Read by the user's own process: they are the user's, or the host's. */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/registry-auth.h"
#include "svc/registry-files.h"

void registry_files_clear(struct registry_files *f) {
        for (size_t i = 0; i < f->n; i++) {
                free(f->items[i].path);
                if (f->items[i].data)
                        explicit_bzero(f->items[i].data, f->items[i].len); /* a login, or a key */
                free(f->items[i].data);
        }
        free(f->items);
        *f = (struct registry_files){};
}

static int no_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

/* Takes data over. */
static int add(struct registry_files *f, const char *path, char *data, size_t len, struct error *e) {
        struct registry_file *items = reallocarray(f->items, f->n + 1, sizeof(*items));
        char *copy = strdup(path);

        if (items)
                f->items = items;
        if (!items || !copy || len > REGISTRY_BYTES_MAX - f->bytes || f->n == REGISTRY_FILES_MAX) {
                free(data);
                free(copy);
                return !items || !copy ? no_memory(e) : error_set(e, E2BIG, "the settings for registries are too large: %s", path);
        }
        f->items[f->n++] = (struct registry_file){.path = copy, .data = data, .len = len};
        f->bytes += len;
        return 0;
}

/* from may be a link; what is no regular file, or cannot be read by this user, counts as not there, as for skopeo. 1: added. */
static int copy(struct registry_files *f, const char *from, const char *to, struct error *e) {
        struct stat st;
        char *data;
        size_t len;
        _cleanup_fd_ int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return 0;
        int r = fd_read_all(fd, REGISTRY_FILE_MAX, &data, &len);
        if (r < 0)
                return error_errno(e, r, "%s cannot be read", from);
        r = add(f, to, data, len, e);
        return r < 0 ? r : 1;
}

/* The regular files of a directory, with their names. */
static int copy_dir(struct registry_files *f, const char *from, const char *to, struct error *e) {
        DIR *d = opendir(from);
        int r = 0;

        for (struct dirent *x; d && r >= 0 && (x = readdir(d));) {
                _cleanup_free_ char *a = str_printf("%s/%s", from, x->d_name), *b = str_printf("%s/%s", to, x->d_name);
                if (x->d_name[0] != '.')
                        r = a && b ? copy(f, a, b, e) : no_memory(e);
        }
        if (d)
                closedir(d);
        return MIN(r, 0);
}

/* Directories of certificates are named after the registry that they are for. */
static int copy_certificates(struct registry_files *f, const char *from, const char *to, const struct strlist *hosts, struct error *e) {
        for (size_t i = 0; i < hosts->n; i++) {
                _cleanup_free_ char *a = str_printf("%s/%s", from, hosts->items[i]), *b = str_printf("%s/%s", to, hosts->items[i]);
                int r = a && b ? copy_dir(f, a, b, e) : no_memory(e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The logins are those of the first file that has one for a host, in the order of containers-auth.json(5). */
static int copy_logins(struct registry_files *f, const char *home, const struct strlist *hosts, const char *registry, struct error *e) {
        const char *given = getenv("REGISTRY_AUTH_FILE"), *runtime = getenv("XDG_RUNTIME_DIR"), *config = getenv("XDG_CONFIG_HOME");
        const char *docker = getenv("DOCKER_CONFIG");
        _cleanup_registry_auth_ struct registry_auth auth = {};
        _cleanup_strlist_ struct strlist paths = {};
        char *text;
        int r = 0;

        if (given && given[0])
                r = strlist_add(&paths, given);
        else {
                r = runtime && runtime[0] ? strlist_addf(&paths, "%s/containers/auth.json", runtime) :
                                            strlist_addf(&paths, "/run/containers/%u/auth.json", (unsigned)getuid());
                if (r == 0)
                        r = config && config[0] ? strlist_addf(&paths, "%s/containers/auth.json", config) :
                                                  strlist_addf(&paths, "%s/.config/containers/auth.json", home);
                if (r == 0)
                        r = docker && docker[0] ? strlist_addf(&paths, "%s/config.json", docker) :
                                                  strlist_addf(&paths, "%s/.docker/config.json", home);
        }
        if (r < 0)
                return no_memory(e);
        for (size_t i = 0; i < paths.n; i++) {
                _cleanup_free_ char *data = NULL;
                size_t len;
                r = file_read(AT_FDCWD, paths.items[i], REGISTRY_FILE_MAX, &data, &len);
                if (r == -ENOENT && !given)
                        continue;
                if (r < 0)
                        return error_errno(e, r, "the file of logins %s cannot be read", paths.items[i]);
                r = registry_auth_add(&auth, data, len, hosts, registry);
                explicit_bzero(data, len);
                if (r == -EBADMSG)
                        return error_set(e, EBADMSG, "the file of logins %s is not JSON", paths.items[i]);
                if (r < 0)
                        return no_memory(e);
        }
        snprintf(f->helper, sizeof(f->helper), "%s", auth.helper);
        if (registry_auth_text(&auth, &text) < 0)
                return no_memory(e);
        f->login = text != NULL;
        return text ? add(f, REGISTRY_AUTH, text, strlen(text), e) : 0;
}

int registry_files_find(const char *registry, struct registry_files *ret, struct error *e) {
        static const char *const system[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/localtime"};
        static const char *const containers[] = {"policy.json", "registries.conf"}, *const dirs[] = {"registries.conf.d", "registries.d"};
        _cleanup_registry_files_ struct registry_files f = {};
        _cleanup_strlist_ struct strlist hosts = {};
        const char *home = getenv("HOME"), *ca = getenv("SSL_CERT_FILE");
        int r = 0;

        home = home && home[0] == '/' ? home : "/nonexistent";
        _cleanup_free_ char *host = registry_host(registry), *own = str_printf("%s/.config/containers", home),
                            *certs = str_printf("%s/.config/containers/certs.d", home);
        if (!host || !own || !certs || strlist_add(&hosts, host) < 0)
                return no_memory(e);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(system); i++)
                r = copy(&f, system[i], system[i], e);
        /* HOME is / in there: what is the user's own stands beneath /.config, and goes before the host's. */
        const char *const from[] = {own, "/etc/containers"}, *const to[] = {"/.config/containers", "/etc/containers"};
        for (size_t k = 0; r >= 0 && k < ELEMENTSOF(from); k++) {
                for (size_t i = 0; r >= 0 && i < ELEMENTSOF(containers); i++) {
                        _cleanup_free_ char *a = str_printf("%s/%s", from[k], containers[i]), *b = str_printf("%s/%s", to[k], containers[i]);
                        r = a && b ? copy(&f, a, b, e) : no_memory(e);
                        f.policy |= r > 0 && i == 0;
                }
                for (size_t i = 0; r >= 0 && i < ELEMENTSOF(dirs); i++) {
                        _cleanup_free_ char *a = str_printf("%s/%s", from[k], dirs[i]), *b = str_printf("%s/%s", to[k], dirs[i]);
                        r = a && b ? copy_dir(&f, a, b, e) : no_memory(e);
                }
        }
        for (size_t i = 0; r >= 0 && i < f.n; i++) {
                _cleanup_free_ char *text = strstr(f.items[i].path, "/registries.conf") ? strndup(f.items[i].data, f.items[i].len) : NULL;
                if (text && registry_locations(text, &hosts) < 0)
                        r = no_memory(e);
        }
        if (r < 0 || (r = copy_certificates(&f, certs, "/.config/containers/certs.d", &hosts, e)) < 0 ||
            (r = copy_certificates(&f, "/etc/containers/certs.d", "/etc/containers/certs.d", &hosts, e)) < 0 ||
            (r = copy_certificates(&f, "/etc/docker/certs.d", "/etc/docker/certs.d", &hosts, e)) < 0 ||
            (r = copy_logins(&f, home, &hosts, host, e)) < 0)
                return r;
        if (ca && ca[0]) {
                if ((r = copy(&f, ca, REGISTRY_CA, e)) < 0)
                        return r;
                f.ca = r > 0;
        }
        *ret = f;
        f = (struct registry_files){};
        return 0;
}
