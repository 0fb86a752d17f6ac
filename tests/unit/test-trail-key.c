#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "svc/trail-key.h"
#include "tap.h"

static int folder(char path[32]) {
        snprintf(path, 32, "/tmp/test-trail-key-XXXXXX");
        check(mkdtemp(path));
        int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        check(fd >= 0);
        check(unsetenv("CREDENTIALS_DIRECTORY") == 0);
        return fd;
}

static void remove_folder(const char *path, int root) {
        static const char *const names[] = {"trail.key", "trail.pub", "belljar.trail"};
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                (void)unlinkat(root, names[i], 0);
        check(rmdir(path) == 0); /* and nothing else was left there */
        close(root);
}

TEST(made_once_and_signs) {
        _cleanup_vault_ struct vault_text key = {}, again = {};
        struct error e = {};
        char path[32], *text = NULL;
        struct stat st;
        int root = folder(path), fd = -1;

        check(trail_key_open(root, false, &fd, &e) == -ENOENT && fd == -1);
        check(trail_key_open(root, true, &fd, &e) == 0 && fd >= 0);
        check(fstatat(root, "trail.key", &st, 0) == 0 && (st.st_mode & 07777) == 0600 && st.st_size == TRAIL_KEY_SIZE);
        check(trail_key_read(fd, &key, &e) == 0);
        close(fd);
        check(trail_key_open(root, true, &fd, &e) == 0 && trail_key_read(fd, &again, &e) == 0);
        check(memcmp(key.p, again.p, TRAIL_KEY_SIZE) == 0);
        close(fd);
        size_t n;
        check(file_read(root, "trail.pub", 100, &text, &n) == 0 && n == 2 * TRAIL_PUBLIC_SIZE + 1);
        for (size_t i = 0; i < TRAIL_PUBLIC_SIZE; i++) {
                char hex[3];
                snprintf(hex, sizeof(hex), "%02x", trail_key_public(&key)[i]);
                check(memcmp(hex, text + 2 * i, 2) == 0);
        }
        free(text);

        uint8_t sig[TRAIL_SIG_SIZE], message[] = "message";
        trail_key_sign(key.p, message, sizeof(message), sig);
        check(trail_key_signed(trail_key_public(&key), message, sizeof(message), sig));
        for (size_t i = 0; i < sizeof(sig); i++) {
                sig[i] ^= 1;
                check(!trail_key_signed(trail_key_public(&key), message, sizeof(message), sig));
                sig[i] ^= 1;
        }
        message[0] ^= 1;
        check(!trail_key_signed(trail_key_public(&key), message, sizeof(message), sig));
        remove_folder(path, root);
}

/* RFC 8032, section 7.1, test 2. */
TEST(ed25519) {
        static const uint8_t key[] = {0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3, 0x46, 0xec, 0x11, 0x4e, 0x0f, 0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab,
                                      0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb, 0x3d, 0x40, 0x17, 0xc3, 0xe8, 0x43, 0x89, 0x5a, 0x92, 0xb7, 0x0a, 0xa7,
                                      0x4d, 0x1b, 0x7e, 0xbc, 0x9c, 0x98, 0x2c, 0xcf, 0x2e, 0xc4, 0x96, 0x8c, 0xc0, 0xcd, 0x55, 0xf1, 0x2a, 0xf4, 0x66, 0x0c};
        static const uint8_t begins[] = {0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f, 0x64, 0x25, 0x40};
        uint8_t sig[TRAIL_SIG_SIZE], message = 0x72;

        trail_key_sign(key, &message, 1, sig);
        check(memcmp(sig, begins, sizeof(begins)) == 0 && trail_key_signed(key + 32, &message, 1, sig));
}

TEST(what_is_no_key) {
        struct error e = {};
        char path[32];
        int root = folder(path), fd = -1;

        check(trail_key_open(root, true, &fd, &e) == 0);
        close(fd);
        fd = -1;
        check(fchmodat(root, "trail.key", 0640, 0) == 0); /* others could sign */
        check(trail_key_open(root, true, &fd, &e) == -EKEYREJECTED && fd == -1 && e.fix[0]);
        check(unlinkat(root, "trail.key", 0) == 0 && file_replace(root, "trail.key", "short", 5, 0600) == 0);
        check(trail_key_open(root, true, &fd, &e) == -EKEYREJECTED && fd == -1);
        check(unlinkat(root, "trail.key", 0) == 0 && symlinkat("/etc/passwd", root, "trail.key") == 0);
        check(trail_key_open(root, true, &fd, &e) < 0 && fd == -1);
        check(unlinkat(root, "trail.key", 0) == 0 && mkfifoat(root, "trail.key", 0600) == 0);
        check(trail_key_open(root, true, &fd, &e) == -EKEYREJECTED && fd == -1); /* and does not wait for a writer */
        remove_folder(path, root);
}

TEST(credential_of_systemd) {
        _cleanup_vault_ struct vault_text key = {};
        char path[32], data[TRAIL_KEY_SIZE];
        struct error e = {};
        struct stat st;
        int root = folder(path), fd = -1;

        memset(data, 7, sizeof(data));
        check(setenv("CREDENTIALS_DIRECTORY", path, 1) == 0);
        check(file_replace(root, "belljar.trail", data, sizeof(data), 0440) == 0);
        check(trail_key_open(root, true, &fd, &e) == 0 && trail_key_read(fd, &key, &e) == 0 && memcmp(key.p, data, sizeof(data)) == 0);
        check(fstatat(root, "trail.key", &st, 0) < 0);
        close(fd);
        check(file_replace(root, "belljar.trail", data, 63, 0440) == 0);
        check(trail_key_open(root, true, &fd, &e) == -EKEYREJECTED);
        check(unsetenv("CREDENTIALS_DIRECTORY") == 0);
        remove_folder(path, root);
}

TAP_MAIN
