/* The key of the store: from systemd, the kernel's keyring or a passphrase. See secret-store.h. */
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "svc/secret-store-internal.h"

#define CREDENTIAL "belljar.key"
#define KEYRING_KEY "belljar:store"

static int check_box(const struct secret_store *s, const struct vault_text *key, uint8_t box[STORE_TAG_SIZE], struct error *e) {
        _cleanup_free_ char *line = store_key_line(s);

        if (!line)
                return error_set(e, ENOMEM, "out of memory");
        (void)crypto_aead_xchacha20poly1305_ietf_encrypt(box, NULL, NULL, 0, (const uint8_t *)line, strlen(line), NULL, s->check_nonce, (const uint8_t *)key->p);
        return 0;
}

/* 1 where it is this store's key, or the store is new, whose key it becomes; 0 where it is not. Takes it over, or frees it. */
static int try_key(struct secret_store *s, struct vault_text *key, struct error *e) {
        uint8_t box[STORE_TAG_SIZE];

        if (!s->exists)
                randombytes_buf(s->check_nonce, sizeof(s->check_nonce));
        int r = check_box(s, key, box, e);
        if (r >= 0 && !s->exists)
                memcpy(s->check_box, box, sizeof(box));
        else if (r >= 0 && sodium_memcmp(box, s->check_box, sizeof(box)) != 0) {
                vault_free(key);
                return 0;
        }
        if (r < 0) {
                vault_free(key);
                return r;
        }
        s->key = *key;
        *key = (struct vault_text){};
        return 1;
}

/* 32 bytes, or as many in hexadecimal, with or without a newline. */
static bool normal_key(struct vault_text *key) {
        size_t n = key->n, got;

        if (n == STORE_KEY_SIZE)
                return true;
        if (n > 0 && key->p[n - 1] == '\n')
                n--;
        if (n != 2 * STORE_KEY_SIZE)
                return false;
        /* Each byte is written after the two digits that it is made of were read. */
        if (sodium_hex2bin((uint8_t *)key->p, STORE_KEY_SIZE, key->p, n, NULL, &got, NULL) != 0 || got != STORE_KEY_SIZE)
                return false;
        key->n = STORE_KEY_SIZE;
        return true;
}

static int wrong_key(const struct secret_store *s, const char *what, struct error *e) {
        error_set(e, EKEYREJECTED, "%s is not the key of %s", what, s->path);
        return error_fix(e, "give the key that the store was made with, or put the store aside: mv %s %s.old", s->path, s->path);
}

static int no_key(const char *what, struct error *e) {
        error_set(e, EINVAL, "%s is no key: it must be %u bytes, or %u hexadecimal digits", what, STORE_KEY_SIZE, 2 * STORE_KEY_SIZE);
        return error_fix(e, "head -c32 /dev/urandom makes one");
}

/* What systemd has given to this service, in memory that only it reads. 0: nothing. */
static int from_systemd(struct secret_store *s, struct error *e) {
        const char *folder = getenv("CREDENTIALS_DIRECTORY");
        _cleanup_free_ char *path = folder && folder[0] == '/' ? str_printf("%s/" CREDENTIAL, folder) : NULL;
        _cleanup_vault_ struct vault_text key = {};

        if (!path)
                return 0;
        _cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return errno == ENOENT ? 0 : error_errno(e, errno, "%s cannot be read", path);
        int r = vault_read(fd, -1, 2 * STORE_KEY_SIZE + 1, 0, &key, e);
        if (r < 0)
                return r == -EFBIG ? no_key(path, e) : r;
        if (!normal_key(&key))
                return no_key(path, e);
        r = try_key(s, &key, e);
        return r == 0 ? wrong_key(s, path, e) : r;
}

/* 0: nothing, or (kept) not this store's. */
static int from_keyring(struct secret_store *s, const char *description, bool kept, struct error *e) {
        _cleanup_vault_ struct vault_text key = {};
        /* Linked into this thread's own keyring for as long: secret-source.c says why. */
        long id = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", description, KEY_SPEC_THREAD_KEYRING);

        if (id < 0)
                return 0; /* also where there are no keyrings */
        int r = vault_alloc(2 * STORE_KEY_SIZE + 1, &key, e);
        if (r < 0)
                return r;
        long n = syscall(SYS_keyctl, KEYCTL_READ, id, key.p, key.cap);
        (void)syscall(SYS_keyctl, KEYCTL_UNLINK, id, KEY_SPEC_THREAD_KEYRING);
        key.n = n < 0 ? 0 : (size_t)n;
        if (key.n > key.cap || !normal_key(&key))
                return kept ? 0 : no_key("\"" KEYRING_KEY "\" of the user's keyring", e);
        r = try_key(s, &key, e);
        /* A passphrase may still open it: then the keyring's is another store's. */
        return r == 0 && !kept && !s->passphrase ? wrong_key(s, "\"" KEYRING_KEY "\" of the user's keyring", e) : r;
}

/* Each store's own, by its salt: no other store's is replaced. */
static char *kept_name(const struct secret_store *s) {
        char salt[2 * STORE_SALT_SIZE + 1];
        return str_printf(KEYRING_KEY ":%s", sodium_bin2hex(salt, sizeof(salt), s->salt, STORE_SALT_SIZE));
}

/* For the next ones. Without keyrings, each asks. */
static void keep(const struct secret_store *s) {
        _cleanup_free_ char *name = kept_name(s);

        if (!name)
                return;
        /* Its time is set before it is in the user's keyring: in between it would be there for good. */
        long id = syscall(SYS_add_key, "user", name, s->key.p, (size_t)STORE_KEY_SIZE, KEY_SPEC_THREAD_KEYRING);
        if (id < 0)
                return;
        if (syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, id, STORE_KEY_KEPT) == 0)
                (void)syscall(SYS_keyctl, KEYCTL_LINK, id, KEY_SPEC_USER_KEYRING);
        (void)syscall(SYS_keyctl, KEYCTL_UNLINK, id, KEY_SPEC_THREAD_KEYRING);
}

int secret_store_forget(const struct secret_store *s, struct error *e) {
        _cleanup_free_ char *name = kept_name(s);

        if (!name)
                return error_set(e, ENOMEM, "out of memory");
        if (!s->exists || !s->passphrase)
                return 0;
        long id = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, 0);
        if (id >= 0 && syscall(SYS_keyctl, KEYCTL_UNLINK, id, KEY_SPEC_USER_KEYRING) < 0)
                return error_errno(e, errno, "the keyring keeps the key of %s", s->path);
        return 0; /* also where it has none, or one that is over */
}

static int derive(const struct secret_store *s, const struct vault_text *passphrase, struct vault_text *ret, struct error *e) {
        int r = vault_alloc(STORE_KEY_SIZE, ret, e);

        if (r < 0)
                return r;
        if (crypto_pwhash((uint8_t *)ret->p, STORE_KEY_SIZE, passphrase->p, passphrase->n, s->salt, s->ops, s->kib * 1024, crypto_pwhash_ALG_ARGON2ID13) == 0)
                return 0;
        vault_free(ret);
        return error_set(e, ENOMEM, "the key cannot be made of the passphrase: that takes %llu MiB of memory", s->kib / 1024);
}

static int from_passphrase(struct secret_store *s, store_ask_fn ask, unsigned attempts, void *data, struct error *e) {
        if (!s->exists) {
                s->passphrase = true;
                s->ops = STORE_OPS;
                s->kib = STORE_KIB;
                randombytes_buf(s->salt, sizeof(s->salt));
        }
        for (unsigned i = 0; i < attempts; i++) {
                _cleanup_vault_ struct vault_text passphrase = {}, key = {};
                int r = ask(!s->exists, i, data, &passphrase, e);
                if (r < 0)
                        return r;
                if (!s->exists && passphrase.n < STORE_PASSPHRASE_MIN)
                        return error_set(e, EINVAL, "a passphrase has at least %u characters", STORE_PASSPHRASE_MIN);
                if ((r = derive(s, &passphrase, &key, e)) < 0 || (r = try_key(s, &key, e)) < 0)
                        return r;
                if (r == 1) {
                        keep(s);
                        return 0;
                }
        }
        return error_set(e, EKEYREJECTED, "that is not the passphrase of %s", s->path);
}

int secret_store_unlock(struct secret_store *s, store_ask_fn ask, unsigned attempts, void *data, struct error *e) {
        int r = from_systemd(s, e);

        if (r == 0)
                r = from_keyring(s, KEYRING_KEY, false, e);
        if (r == 0 && s->exists && s->passphrase) {
                _cleanup_free_ char *name = kept_name(s);
                r = name ? from_keyring(s, name, true, e) : error_set(e, ENOMEM, "out of memory");
        }
        if (r != 0)
                return r < 0 ? r : 0;
        if (s->exists && !s->passphrase) {
                error_set(e, ENOKEY, "the key of %s is not here: it was made with one that systemd or the keyring had", s->path);
                return error_fix(e, "start it as that service does (LoadCredential=" CREDENTIAL "), or put the key back: keyctl padd user " KEYRING_KEY " @u");
        }
        return from_passphrase(s, ask, attempts, data, e);
}
