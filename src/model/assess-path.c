/* What a path of the host means to whoever may read or write it; see assess-internal.h. By name only: no disk is
 * looked at. Homes are known as ~, /root, /home/NAME, /Users/NAME and the variables that stand for them. */
#include "model/assess-internal.h"

static const char *base_name(const char *path) {
        const char *s = strrchr(path, '/');
        return s ? s + 1 : path;
}

/* What follows a home directory in the path: "" for the home itself; NULL: it is in none. */
static const char *in_home(const char *path) {
        static const char *const homes[] = {"~", "${HOME}", "$HOME", "${USERPROFILE}", "/root", "${localEnv:HOME}"};
        const char *rest = NULL;

        for (size_t i = 0; i < ELEMENTSOF(homes) && !rest; i++) {
                rest = str_after(path, homes[i]);
                if (rest && *rest && *rest != '/')
                        rest = NULL;
        }
        const char *user = str_after(path, "/home/") ?: str_after(path, "/Users/");
        if (user && *user)
                rest = user + strcspn(user, "/");
        else if (streq(path, "/home") || streq(path, "/Users"))
                rest = path + strlen(path);
        if (!rest)
                return NULL;
        return *rest == '/' ? rest + 1 : rest;
}

static bool beneath_any(const char *path, const char *const *roots, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (path_beneath(path, roots[i]))
                        return true;
        return false;
}

/* Beneath a home, without its slash. */
static enum path_kind home_kind(const char *rest) {
        static const char *const secrets[] = {"/.ssh", "/.aws", "/.azure", "/.config/gcloud", "/.config/gh",
                "/.config/rclone", "/.kube", "/.docker", "/.gnupg", "/.password-store", "/.netrc", "/.npmrc",
                "/.pypirc", "/.git-credentials", "/.config/git/credentials", "/.vault-token", "/.claude",
                "/.claude.json", "/.codex", "/.gemini", "/.config/op", "/.cargo/credentials",
                "/.cargo/credentials.toml", "/.terraform.d", "/.mozilla", "/.config/google-chrome", "/.pgpass",
                "/.my.cnf", "/.local/share/keyrings"};
        static const char *const runs[] = {"/.bashrc", "/.bash_profile", "/.profile", "/.zshrc", "/.zshenv",
                "/.config/fish", "/.config/systemd", "/.config/autostart", "/bin", "/.local/bin", "/.cargo/bin",
                "/.gitconfig", "/.config/git", "/.vimrc", "/.config/nvim", "/.vscode"};
        char path[512];
        size_t n = strlen(rest);

        if (n == 0 || streq(rest, ".config") || streq(rest, ".local"))
                return PATH_HOME;
        if (n > sizeof(path) - 2)
                return PATH_PLAIN;
        path[0] = '/';
        memcpy(path + 1, rest, n + 1);
        if (beneath_any(path, secrets, ELEMENTSOF(secrets)))
                return PATH_SECRET;
        if (beneath_any(path, runs, ELEMENTSOF(runs)))
                return PATH_SYSTEM;
        return PATH_PLAIN;
}

bool path_runs(const char *path) {
        static const char *const runs[] = {
                ".ssh", ".aws", ".kube", ".docker", ".claude", ".claude.json", ".codex", ".gemini", ".config/gh"};
        const char *rest = in_home(path);
        size_t n = rest ? strlen(rest) : 0;

        while (n > 0 && rest[n - 1] == '/')
                n--;
        for (size_t i = 0; i < ELEMENTSOF(runs); i++)
                if (strlen(runs[i]) == n && strncmp(runs[i], rest, n) == 0)
                        return true;
        return false;
}

static enum path_kind socket_kind(const char *path) {
        static const char *const engines[] = {"docker.sock", "docker.raw.sock", "containerd.sock",
                "containerd.sock.ttrpc", "podman.sock", "crio.sock", "cri-dockerd.sock", "dockershim.sock",
                "buildkitd.sock", "docker_engine"};
        static const char *const services[] = {
                "system_bus_socket", "libvirt-sock", "lxd", "unix.socket", "snapd.socket", "fleet.sock"};
        static const char *const directories[] = {"/run", "/run/systemd", "/run/systemd/private", "/run/containerd",
                "/run/docker", "/run/podman", "/run/crio", "/run/dbus", "/run/libvirt", "/run/k3s",
                "/run/k3s/containerd"};
        const char *name = base_name(path);

        if (one_of(name, engines, ELEMENTSOF(engines)))
                return str_after(path, "/run/user/") || in_home(path) || strstr(path, "XDG_RUNTIME_DIR")
                               ? PATH_SOCKET_USER
                               : PATH_SOCKET;
        if (one_of(name, services, ELEMENTSOF(services)) || one_of(path, directories, ELEMENTSOF(directories)))
                return PATH_HOST_SOCKET;
        if (strstr(path, "SSH_AUTH_SOCK") || path_beneath(path, "/run/host-services") ||
                path_beneath(path, "/tmp/.X11-unix") || strstr(name, "gpg-agent") || strstr(name, "ssh-agent"))
                return PATH_AGENT_SOCKET;
        return PATH_PLAIN;
}

enum path_kind path_kind(const char *given) {
        static const char *const system[] = {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64",
                "/usr/libexec", "/usr/src", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/lib", "/lib32",
                "/lib64", "/boot", "/etc/cron.d", "/etc/cron.daily", "/etc/cron.hourly", "/etc/crontab",
                "/var/spool/cron", "/etc/systemd", "/etc/init.d", "/etc/profile", "/etc/profile.d", "/etc/passwd",
                "/etc/group", "/etc/ld.so.preload", "/etc/ld.so.conf.d", "/etc/pam.d", "/etc/docker", "/opt/cni",
                "/etc/cni"};
        static const char *const secret[] = {"/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/sudoers",
                "/etc/sudoers.d", "/etc/kubernetes", "/var/lib/kubelet", "/var/lib/docker", "/var/lib/containerd",
                "/var/lib/containers", "/var/lib/rancher", "/etc/rancher", "/etc/ssl/private", "/var/lib/etcd"};
        char clean[1024] = "";
        const char *path = clean;
        size_t n = 0;

        /* Slashes made single, the last one dropped, /var/run as /run. */
        for (const char *p = given; *p && n < sizeof(clean) - 1; p++)
                if (!(*p == '/' && n > 0 && clean[n - 1] == '/'))
                        clean[n++] = *p == '\\' ? '/' : *p;
        while (n > 1 && clean[n - 1] == '/')
                n--;
        clean[n] = 0;
        if (path_beneath(path, "/var/run"))
                path += strlen("/var");
        if (str_after(path, "/private/var/run"))
                path += strlen("/private/var");
        if (streq(path, "/"))
                return PATH_ROOT;
        enum path_kind kind = socket_kind(path);
        if (kind != PATH_PLAIN)
                return kind;
        const char *rest = in_home(path);
        if (rest)
                return home_kind(rest);
        if (streq(path, ".") || streq(path, "..") || streq(path, "${PWD}") || streq(path, "${localWorkspaceFolder}") ||
            (str_after(path, "../") && path[strspn(path, "./")] == 0))
                return PATH_PROJECT;
        if (path[0] != '/')
                return PATH_DATA;
        if (streq(path, "/usr") || streq(path, "/usr/local"))
                return PATH_SYSTEM;
        if (streq(path, "/etc") || streq(path, "/var") || streq(path, "/var/lib") ||
                beneath_any(path, secret, ELEMENTSOF(secret)))
                return PATH_SYSTEM_SECRET;
        if (beneath_any(path, system, ELEMENTSOF(system)))
                return PATH_SYSTEM;
        if (path_beneath(path, "/sys/fs/cgroup"))
                return PATH_CGROUP;
        if (path_beneath(path, "/proc"))
                return PATH_PROC;
        if (streq(path, "/sys") || path_beneath(path, "/sys/kernel"))
                return PATH_SYSTEM;
        if (streq(path, "/dev") || path_beneath(path, "/dev/pts") || path_beneath(path, "/dev/shm"))
                return PATH_DEV;
        return PATH_PLAIN;
}
