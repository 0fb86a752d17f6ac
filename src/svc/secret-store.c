/* The store's file and what is sealed in it; see secret-store.h. Where its key comes from: secret-store-key.c. */
#include <sodium.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "model/secret.h"
#include "svc/host.h"
#include "svc/secret-store-internal.h"

#define FILE_NAME "secrets"
#define NEW_NAME ".secrets.new" /* written under the lock: what a crash leaves, the next change removes */
#define FIRST_LINE "belljar-secrets 1"
#define KIND_MAX 64u
/* Of a secret: twice its box and nonce in hexadecimal, its name and kind, and words. */
#define LINE_MAX_ (2 * (SECRET_KEY_MAX + STORE_TAG_SIZE + STORE_NONCE_SIZE) + SECRET_NAME_MAX + KIND_MAX + 64)
#define FILE_MAX (STORE_SECRETS_MAX * (size_t)LINE_MAX_ + 1024)

static void secret_free(struct store_secret *s) {
        free(s->name);
        free(s->kind);
        free(s->box);
        *s = (struct store_secret){};
}

static void forget_secrets(struct secret_store *s) {
        for (size_t i = 0; i < s->n; i++)
                secret_free(&s->secrets[i]);
        free(s->secrets);
        s->secrets = NULL;
        s->n = 0;
}

void secret_store_close(struct secret_store *s) {
        forget_secrets(s);
        vault_free(&s->key);
        free(s->path);
        if (s->path) /* a zeroed one has no descriptor */
                fd_close(s->dir);
        *s = (struct secret_store){};
}

static int out_of_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

static int damaged(const struct secret_store *s, size_t line, struct error *e) {
        error_set(e, EBADMSG, "%s is damaged, or was changed: line %zu is not as Belljar writes it", s->path, line);
        return error_fix(e, "put it aside (mv %s %s.bad), and set the secrets again", s->path, s->path);
}

/* The parts of a line, between single blanks; the last takes the rest. False where there are fewer. */
static bool split(char *line, char **parts, size_t n) {
        for (size_t i = 0; i < n; i++) {
                parts[i] = line;
                if (i + 1 == n)
                        break;
                line = strchr(line, ' ');
                if (!line)
                        return false;
                *line++ = 0;
        }
        return true;
}

static bool from_hex(const char *text, uint8_t *ret, size_t n) {
        size_t got;
        const char *end;

        return strlen(text) == 2 * n && sodium_hex2bin(ret, n, text, 2 * n, NULL, &got, &end) == 0 && got == n && *end == 0;
}

static bool good_kind(const char *kind) {
        size_t n = strlen(kind);

        for (size_t i = 0; i < n; i++)
                if (kind[i] < ' ' || kind[i] > '~')
                        return false;
        return n > 0 && n <= KIND_MAX && kind[0] != ' ' && kind[n - 1] != ' ';
}

static bool read_key_line(struct secret_store *s, char *line) {
        char *p[5];
        uint64_t ops, kib;

        if (streq(line, "key given"))
                return true;
        if (!split(line, p, 5) || !streq(p[0], "key") || !streq(p[1], "argon2id13") || parse_u64(p[2], &ops) < 0 || parse_u64(p[3], &kib) < 0 ||
            ops < STORE_OPS_MIN || ops > STORE_OPS_MAX || kib < STORE_KIB_MIN || kib > STORE_KIB_MAX || !from_hex(p[4], s->salt, STORE_SALT_SIZE))
                return false;
        s->passphrase = true;
        s->ops = ops;
        s->kib = kib;
        return true;
}

static bool read_check_line(struct secret_store *s, char *line) {
        char *p[3];
        return split(line, p, 3) && streq(p[0], "check") && from_hex(p[1], s->check_nonce, STORE_NONCE_SIZE) && from_hex(p[2], s->check_box, STORE_TAG_SIZE);
}

static bool read_secret_line(struct store_secret *s, char *line) {
        char *p[6];

        if (!split(line, p, 6) || !streq(p[0], "secret") || !secret_name_good(p[1]) || parse_u64(p[2], &s->time) < 0 ||
            !from_hex(p[3], s->nonce, STORE_NONCE_SIZE) || !good_kind(p[5]))
                return false;
        s->n_box = strlen(p[4]) / 2;
        size_t max = streq(p[5], STORE_KIND_KEY) ? SECRET_KEY_MAX : SECRET_VALUE_MAX;
        if (s->n_box < STORE_TAG_SIZE + SECRET_VALUE_MIN || s->n_box > STORE_TAG_SIZE + max || !(s->box = malloc(s->n_box)) ||
            !from_hex(p[4], s->box, s->n_box) || !(s->name = strdup(p[1])))
                return false;
        return streq(p[5], "-") || (s->kind = strdup(p[5]));
}

/* The text, line by line; names ascend, so that there is one of each. */
static int parse(struct secret_store *s, char *text, size_t len, struct error *e) {
        char *line = text;
        size_t number = 1;

        for (; line < text + len; number++) {
                char *end = memchr(line, '\n', (size_t)(text + len - line));
                if (!end || memchr(line, 0, (size_t)(end - line)))
                        return damaged(s, number, e);
                *end = 0;
                bool good = number == 1 ? streq(line, FIRST_LINE) : number == 2 ? read_key_line(s, line) : number == 3 ? read_check_line(s, line) : true;
                if (number > 3) {
                        struct store_secret *more = s->n < STORE_SECRETS_MAX ? reallocarray(s->secrets, s->n + 1, sizeof(*more)) : NULL;
                        if (!more)
                                return damaged(s, number, e);
                        s->secrets = more;
                        more[s->n] = (struct store_secret){};
                        good = read_secret_line(&more[s->n++], line) && (s->n == 1 || strcmp(more[s->n - 2].name, more[s->n - 1].name) < 0);
                }
                if (!good)
                        return damaged(s, number, e);
                line = end + 1;
        }
        return number > 3 ? 0 : damaged(s, number, e);
}

/* $XDG_DATA_HOME/belljar. */
static char *data_folder(void) {
        const char *xdg = getenv("XDG_DATA_HOME");

        if (xdg && xdg[0] == '/')
                return str_printf("%s/belljar", xdg);
        _cleanup_free_ char *home = host_home();
        return home ? str_printf("%s/.local/share/belljar", streq(home, "/") ? "" : home) : NULL;
}

/* What others can change is not believed, and what others can read was not kept. */
static int check_owner(int fd, const char *path, mode_t bad, const char *mode, struct error *e) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return error_errno(e, errno, "%s cannot be looked at", path);
        if (st.st_uid != geteuid()) {
                error_set(e, EACCES, "%s is another user's", path);
                return error_fix(e, "set XDG_DATA_HOME to a directory of yours");
        }
        if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
                return error_set(e, EINVAL, "%s is no regular file", path);
        if (st.st_mode & bad) {
                error_set(e, EACCES, "%s can be %s by others", path, st.st_mode & bad & 022 ? "changed" : "read");
                return error_fix(e, "chmod %s %s", mode, path);
        }
        return 0;
}

static int read_file(struct secret_store *s, struct error *e) {
        _cleanup_fd_ int fd = openat(s->dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        _cleanup_free_ char *text = NULL;
        size_t len;

        forget_secrets(s);
        s->exists = fd >= 0;
        if (fd < 0)
                return errno == ENOENT ? 0 : error_errno(e, errno, "%s cannot be read", s->path);
        int r = check_owner(fd, s->path, 077, "600", e);
        if (r < 0)
                return r;
        if ((r = fd_read_all(fd, FILE_MAX, &text, &len)) < 0)
                return error_errno(e, r, "%s cannot be read", s->path);
        return parse(s, text, len, e);
}

int secret_store_open(struct secret_store *ret, struct error *e) {
        _cleanup_secret_store_ struct secret_store s = {.dir = -1};
        _cleanup_free_ char *folder = data_folder();

        if (sodium_init() < 0)
                return error_set(e, ENOSYS, "libsodium cannot be used on this host");
        if (!folder || !(s.path = str_printf("%s/%s", folder, FILE_NAME)))
                return out_of_memory(e);
        s.dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = 0;
        if (s.dir < 0 && errno != ENOENT)
                return error_errno(e, errno, "%s cannot be opened", folder);
        if (s.dir >= 0 && ((r = check_owner(s.dir, folder, 022, "700", e)) < 0 || (r = read_file(&s, e)) < 0))
                return r;
        *ret = s;
        s = (struct secret_store){};
        return 0;
}

char *store_key_line(const struct secret_store *s) {
        char salt[2 * STORE_SALT_SIZE + 1];

        if (!s->passphrase)
                return strdup("key given");
        return str_printf("key argon2id13 %llu %llu %s", s->ops, s->kib, sodium_bin2hex(salt, sizeof(salt), s->salt, STORE_SALT_SIZE));
}

/* What is bound to a box without being in it. */
static char *bound_of(const struct store_secret *s) {
        return str_printf(FIRST_LINE "\nsecret %s %llu %s", s->name, (unsigned long long)s->time, s->kind ?: "-");
}

/* Where the name is, or would be: true where it is. */
static bool find(const struct secret_store *s, const char *name, size_t *ret) {
        size_t i = 0;

        while (i < s->n && strcmp(s->secrets[i].name, name) < 0)
                i++;
        *ret = i;
        return s->secrets && i < s->n && streq(s->secrets[i].name, name);
}

bool secret_store_has(const struct secret_store *s, const char *name) {
        size_t i;
        return find(s, name, &i);
}

bool secret_store_has_key(const struct secret_store *s, const char *name) {
        size_t i;
        return find(s, name, &i) && s->secrets[i].kind && streq(s->secrets[i].kind, STORE_KIND_KEY);
}

static int unseal(const struct secret_store *s, const struct store_secret *one, struct vault_text *ret, struct error *e) {
        _cleanup_free_ char *bound = bound_of(one);
        _cleanup_vault_ struct vault_text v = {};

        if (!bound)
                return out_of_memory(e);
        int r = vault_alloc(one->n_box - STORE_TAG_SIZE, &v, e);
        if (r < 0)
                return r;
        if (crypto_aead_xchacha20poly1305_ietf_decrypt((uint8_t *)v.p, NULL, NULL, one->box, one->n_box, (const uint8_t *)bound, strlen(bound), one->nonce,
                                                       (const uint8_t *)s->key.p) != 0) {
                error_set(e, EBADMSG, "the secret %s in %s is damaged, or was changed: it is not used", one->name, s->path);
                return error_fix(e, "belljar secret set %s writes it again", one->name);
        }
        *ret = v;
        v = (struct vault_text){};
        return 0;
}

int secret_store_get(const struct secret_store *s, const char *name, struct vault_text *ret, struct error *e) {
        size_t i;

        if (!find(s, name, &i)) {
                error_set(e, ENOENT, "the store has no secret %s", name);
                return error_fix(e, "belljar secret set %s adds it; belljar secret ls lists what there is", name);
        }
        return s->key.p ? unseal(s, &s->secrets[i], ret, e) : error_set(e, ENOKEY, "%s is locked", s->path);
}

static int seal(const struct secret_store *s, struct store_secret *one, const struct vault_text *value, struct error *e) {
        _cleanup_free_ char *bound = bound_of(one);

        if (!s->key.p)
                return error_set(e, ENOKEY, "%s is locked", s->path);
        one->n_box = value->n + STORE_TAG_SIZE;
        if (!bound || !(one->box = malloc(one->n_box)))
                return out_of_memory(e);
        randombytes_buf(one->nonce, sizeof(one->nonce));
        (void)crypto_aead_xchacha20poly1305_ietf_encrypt(one->box, NULL, (const uint8_t *)value->p, value->n, (const uint8_t *)bound, strlen(bound), NULL,
                                                         one->nonce, (const uint8_t *)s->key.p);
        return 0;
}

static void add_hex(struct strbuf *b, const uint8_t *data, size_t n) {
        for (size_t i = 0; i < n; i++)
                strbuf_printf(b, "%02x", data[i]);
}

static char *text_of(const struct secret_store *s) {
        struct strbuf b = {.max = FILE_MAX};
        _cleanup_free_ char *key = store_key_line(s);

        strbuf_printf(&b, FIRST_LINE "\n%s\ncheck ", key ?: "");
        add_hex(&b, s->check_nonce, STORE_NONCE_SIZE);
        strbuf_puts(&b, " ");
        add_hex(&b, s->check_box, STORE_TAG_SIZE);
        for (size_t i = 0; i < s->n; i++) {
                const struct store_secret *one = &s->secrets[i];
                strbuf_printf(&b, "\nsecret %s %llu ", one->name, (unsigned long long)one->time);
                add_hex(&b, one->nonce, STORE_NONCE_SIZE);
                strbuf_puts(&b, " ");
                add_hex(&b, one->box, one->n_box);
                strbuf_printf(&b, " %s", one->kind ?: "-");
        }
        strbuf_puts(&b, "\n");
        char *text = strbuf_take(&b);
        if (!key) {
                free(text);
                return NULL;
        }
        return text;
}

/* The old file or the new one, whole, also after a loss of power. */
static int save(struct secret_store *s, struct error *e) {
        _cleanup_free_ char *text = text_of(s);

        if (!text)
                return out_of_memory(e);
        (void)unlinkat(s->dir, NEW_NAME, 0);
        _cleanup_fd_ int fd = openat(s->dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
        if (r >= 0 && (fsync(fd) < 0 || renameat(s->dir, NEW_NAME, s->dir, FILE_NAME) < 0 || fsync(s->dir) < 0))
                r = -errno;
        if (r >= 0)
                return 0;
        (void)unlinkat(s->dir, NEW_NAME, 0);
        return error_errno(e, r, "%s cannot be written", s->path);
}

/* Makes the folder where there is none. */
static int make_folder(struct secret_store *s, struct error *e) {
        _cleanup_free_ char *folder = data_folder();

        if (s->dir >= 0)
                return 0;
        if (!folder)
                return out_of_memory(e);
        int r = mkdir_parents(folder, 0700);
        if (r >= 0 && (s->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                r = -errno;
        return r < 0 ? error_errno(e, r, "%s cannot be made", folder) : check_owner(s->dir, folder, 022, "700", e);
}

/* From here on nobody else changes the file, until it is closed. What others have written since it was read is read. */
static int lock(struct secret_store *s, struct error *e) {
        uint8_t check_box[STORE_TAG_SIZE];
        bool existed = s->exists;
        int r = make_folder(s, e);

        if (r < 0)
                return r;
        while ((r = flock(s->dir, LOCK_EX)) < 0 && errno == EINTR)
                ;
        if (r < 0)
                return error_errno(e, errno, "%s cannot be locked", s->path);
        memcpy(check_box, s->check_box, sizeof(check_box));
        if ((r = read_file(s, e)) < 0)
                return r;
        if (s->exists != existed || memcmp(check_box, s->check_box, sizeof(check_box)) != 0) {
                error_set(e, EAGAIN, "%s was made or removed meanwhile", s->path);
                return error_fix(e, "do it again");
        }
        return 0;
}

static void unlock(struct secret_store *s) { (void)flock(s->dir, LOCK_UN); }

static void drop(struct secret_store *s, size_t i) {
        if (!s->secrets)
                return;
        secret_free(&s->secrets[i]);
        memmove(&s->secrets[i], &s->secrets[i + 1], (s->n - i - 1) * sizeof(s->secrets[0]));
        s->n--;
}

static int put(struct secret_store *s, struct store_secret *one, struct error *e) {
        size_t i;

        if (find(s, one->name, &i))
                drop(s, i);
        if (s->n == STORE_SECRETS_MAX)
                return error_set(e, E2BIG, "the store has %u secrets: it takes no more", STORE_SECRETS_MAX);
        struct store_secret *more = reallocarray(s->secrets, s->n + 1, sizeof(*more));
        if (!more)
                return out_of_memory(e);
        s->secrets = more;
        memmove(&more[i + 1], &more[i], (s->n - i) * sizeof(*more));
        more[i] = *one;
        s->n++;
        *one = (struct store_secret){};
        return 0;
}

int secret_store_set(struct secret_store *s, const char *name, const char *kind, const struct vault_text *value, struct error *e) {
        struct store_secret one = {.name = strdup(name), .kind = kind ? strndup(kind, KIND_MAX) : NULL, .time = (uint64_t)time(NULL)};
        int r = one.name && (one.kind || !kind) ? seal(s, &one, value, e) : out_of_memory(e);

        if (r >= 0 && (r = lock(s, e)) >= 0) {
                if ((r = put(s, &one, e)) >= 0)
                        r = save(s, e);
                s->exists |= r >= 0;
                unlock(s);
        }
        secret_free(&one);
        return r;
}

int secret_store_remove(struct secret_store *s, char *const *names, size_t n, struct error *e) {
        int r = s->exists ? lock(s, e) : 0;

        if (r < 0)
                return r;
        for (size_t i = 0, at; r >= 0 && i < n; i++)
                if (find(s, names[i], &at))
                        drop(s, at);
                else
                        r = error_set(e, ENOENT, "the store has no secret %s", names[i]);
        if (r >= 0)
                r = save(s, e);
        if (s->exists)
                unlock(s);
        return r;
}
