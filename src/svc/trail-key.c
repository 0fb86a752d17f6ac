/* See trail-key.h. Of libsodium only Ed25519 is used, so that it can be linked into `belljar`, too. */
#include <fcntl.h>
#include <sodium/crypto_sign_ed25519.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/trail-key.h"

#define KEY "trail.key"
#define PUBLIC "trail.pub"
#define CREDENTIAL "belljar.trail"

static int open_credential(void) {
        const char *folder = getenv("CREDENTIALS_DIRECTORY");
        _cleanup_free_ char *path = folder && folder[0] == '/' ? str_printf("%s/" CREDENTIAL, folder) : NULL;

        if (!path)
                return -ENOENT;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

/* On the disk before it has its name: a key that is half there would have to be found out about by a person. A file without a name
 * until then, where the file system has such: a kill leaves nothing. The first of two who do so at once stands. */
static int make_file(int root, const char *name, const void *data, size_t n) {
        char beside[48], path[32];
        int r = 0;

        beside[0] = 0;
        _cleanup_fd_ int fd = openat(root, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
        if (fd < 0) {
                snprintf(beside, sizeof(beside), ".new-%d-%s", (int)getpid(), name);
                fd = openat(root, beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        }
        if (fd < 0)
                return -errno;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if ((r = fd_write_all(fd, data, n)) == 0 &&
            (fsync(fd) < 0 || linkat(beside[0] ? root : AT_FDCWD, beside[0] ? beside : path, root, name, beside[0] ? 0 : AT_SYMLINK_FOLLOW) < 0))
                r = -errno;
        if (beside[0])
                (void)unlinkat(root, beside, 0);
        return r == -EEXIST ? 0 : r;
}

static int make_key(int root) {
        _cleanup_vault_ struct vault_text key = {};
        uint8_t public[TRAIL_PUBLIC_SIZE], seed[crypto_sign_ed25519_SEEDBYTES];
        struct error ignored;
        int r = vault_alloc(TRAIL_KEY_SIZE, &key, &ignored);

        if (r < 0)
                return r;
        if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
                return -EIO;
        (void)crypto_sign_ed25519_seed_keypair(public, (uint8_t *)key.p, seed);
        explicit_bzero(seed, sizeof(seed));
        return make_file(root, KEY, key.p, TRAIL_KEY_SIZE);
}

/* For people and other programs; nothing depends on it. */
static void write_public(int root, int fd) {
        uint8_t public[TRAIL_PUBLIC_SIZE];
        char text[2 * TRAIL_PUBLIC_SIZE + 2];

        if (pread(fd, public, sizeof(public), TRAIL_KEY_SIZE - TRAIL_PUBLIC_SIZE) != sizeof(public))
                return;
        for (size_t i = 0; i < sizeof(public); i++)
                snprintf(text + 2 * i, 3, "%02x", public[i]);
        strcat(text, "\n");
        (void)!make_file(root, PUBLIC, text, strlen(text));
}

int trail_key_open(int root, bool create, int *ret, struct error *e) {
        int fd = open_credential(), r = 0;

        if (fd < 0 && fd != -ENOENT)
                return error_errno(e, fd, "the credential " CREDENTIAL ", which signs trails, cannot be opened");
        bool own = fd < 0;
        if (own)
                fd = openat(root, KEY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 && errno == ENOENT && create) {
                if ((r = make_key(root)) < 0)
                        return error_errno(e, r, "a key that signs trails cannot be made");
                if ((fd = openat(root, KEY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)) >= 0)
                        write_public(root, fd);
        }
        if (fd < 0)
                return error_errno(e, errno, "the key that signs trails cannot be opened");
        struct stat st;
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != TRAIL_KEY_SIZE || (own && st.st_mode & 077)) {
                close(fd);
                error_set(e, EKEYREJECTED, "what stands in the place of the key that signs trails (%s) is none, or others can read it", own ? KEY : CREDENTIAL);
                return error_fix(e, own ? "take " KEY " in Belljar's state directory out of the way: the next run makes another, which does not vouch for earlier trails"
                                        : "it is 64 bytes, as " KEY " in Belljar's state directory has them");
        }
        *ret = fd;
        return 0;
}

int trail_key_read(int fd, struct vault_text *ret, struct error *e) {
        _cleanup_vault_ struct vault_text key = {};
        int r = vault_alloc(TRAIL_KEY_SIZE, &key, e);

        if (r < 0)
                return r;
        if (pread(fd, key.p, TRAIL_KEY_SIZE, 0) != TRAIL_KEY_SIZE)
                return error_set(e, EIO, "the key that signs trails cannot be read");
        *ret = key;
        key = (struct vault_text){};
        return 0;
}

const uint8_t *trail_key_public(const struct vault_text *key) { return (const uint8_t *)key->p + TRAIL_KEY_SIZE - TRAIL_PUBLIC_SIZE; }

void trail_key_sign(const void *key, const uint8_t *data, size_t n, uint8_t ret[TRAIL_SIG_SIZE]) {
        (void)crypto_sign_ed25519_detached(ret, NULL, data, n, (const uint8_t *)key);
}

bool trail_key_signed(const void *key, const uint8_t *data, size_t n, const uint8_t sig[TRAIL_SIG_SIZE]) {
        return crypto_sign_ed25519_verify_detached(sig, data, n, (const uint8_t *)key) == 0;
}
