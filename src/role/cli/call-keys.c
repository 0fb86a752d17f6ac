/* See call-keys.h. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/call-keys.h"
#include "role/cli/credentials.h"
#include "svc/entry.h"
#include "svc/secret-source.h"

void call_keys_clear(struct call_keys *k) {
        for (size_t i = 0; i < k->n; i++)
                vault_free(&k->key[i].text);
        *k = (struct call_keys){};
}

static int read_key(struct plan *p, const struct git_key *key, const char *what, uint32_t of, struct call_keys *k, struct error *e) {
        struct secret s = {.name = (char *)what, .source = SECRET_STORE, .from = key->name, .is_key = true};
        size_t i = 0;
        int r;

        if (key->source != GIT_KEY_STORE)
                return 0;
        while (i < k->n && !streq(k->key[i].name, key->name))
                i++;
        k->key[i].of |= of;
        if (i < k->n)
                return 0;
        /* From before there is a value: no other process of this user reads this one's memory, or traces it. */
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return error_errno(e, errno, "the memory for keys cannot be kept from other processes");
        k->key[i].name = key->name;
        if ((r = secret_source_read(&s, NULL, &k->key[i].text, e)) < 0)
                return r;
        k->n++;
        if (k->key[i].text.unlocked && (r = strlist_addf(&p->notes, "the key of %s may be swapped: RLIMIT_MEMLOCK is used up", what)) < 0)
                return error_errno(e, r, "a note cannot be kept");
        return credentials_check_words(p, &s, &k->key[i].text, e);
}

int call_keys_read(struct plan *p, struct call_keys *ret, struct error *e) {
        const struct git_policy *g = p->git;
        struct call_keys k = {};
        int r = g && g->sign.on ? read_key(p, &g->sign.key, "sign", CALLS_SIGN, &k, e) : 0;

        for (size_t i = 0; g && r == 0 && i < g->n_hosts; i++)
                r = read_key(p, &g->hosts[i].key, "git_ssh", CALLS_GIT_SSH, &k, e);
        if (r < 0) {
                call_keys_clear(&k);
                return r;
        }
        *ret = k;
        return 0;
}

void call_keys_revoke(struct call_keys *k, uint32_t which) {
        for (size_t i = 0; i < k->n; i++) {
                k->key[i].of &= ~which;
                if (k->key[i].of == 0)
                        vault_free(&k->key[i].text);
        }
}

/* Whole, or not at all: where the host is sparing with pipes, one may have room for less. */
static int open_one(const struct vault_text *text) {
        int fds[2];

        if (!text->p || pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return -1;
        (void)!fcntl(fds[1], F_SETPIPE_SZ, SECRET_KEY_MAX);
        bool whole = write(fds[1], text->p, text->n) == (ssize_t)text->n;
        close(fds[1]);
        if (!whole)
                fd_close(TAKE_FD(fds[0]));
        return fds[0];
}

void call_keys_open(const struct call_keys *k, int ret[CALL_KEYS_MAX]) {
        for (size_t i = 0; i < CALL_KEYS_MAX; i++)
                ret[i] = i < k->n ? open_one(&k->key[i].text) : -1;
}

void call_keys_close(int fds[CALL_KEYS_MAX]) {
        for (size_t i = 0; i < CALL_KEYS_MAX; i++)
                fd_close(TAKE_FD(fds[i]));
}

int call_keys_find(const struct call_keys *k, const int fds[CALL_KEYS_MAX], const char *name) {
        for (size_t i = 0; i < k->n; i++)
                if (streq(k->key[i].name, name))
                        return fds[i];
        return -1;
}
