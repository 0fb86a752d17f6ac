/* See net-secret.h. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/net-secret.h"

/* Numbers as 8 bytes, texts as their length and their bytes with a NUL: both ends are of one build. */
struct pen {
        struct vault_text *block;
        size_t n;
        bool full;
};

static void put(struct pen *w, const void *data, size_t n) {
        w->full |= n > w->block->cap - w->n;
        if (w->full)
                return;
        memcpy(w->block->p + w->n, data, n);
        w->n += n;
}

static void put_number(struct pen *w, uint64_t v) { put(w, &v, sizeof(v)); }

static void put_text(struct pen *w, const char *text, size_t n) {
        put_number(w, n);
        put(w, text, n);
        put(w, "", 1);
}

static void put_own(struct pen *w, const struct secret *s, const struct vault_text *value, const char *cover) {
        const char *const texts[] = {s->header, s->before, s->after, s->user, s->query, s->body};

        put_number(w, s->place);
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                put_text(w, texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) : 0);
        put_number(w, s->uses);
        put_text(w, value->p, value->n);
        put_text(w, cover, strlen(cover));
}

static void put_parts(struct pen *w, const struct secret *secrets, size_t n, const struct vault_text *values, const struct secret *s) {
        const struct secret_sigv4 *v = s->sigv4;

        put_text(w, v->services ?: "", v->services ? strlen(v->services) : 0);
        put_text(w, v->regions ?: "", v->regions ? strlen(v->regions) : 0);
        put_number(w, v->mint);
        put_number(w, v->copy);
        for (int i = PART_KEY; i < PART_N; i++) {
                size_t at = secret_sigv4_part(secrets, n, s->name, (enum secret_part)i);
                bool has = at < n && values[at].p;
                put_number(w, has ? at + 1 : 0);
                put_text(w, has ? values[at].p : "", has ? values[at].n : 0);
        }
}

int net_secret_pipe(const struct secret *secrets, size_t n, const struct vault_text *values, char *const *placeholders, uint32_t identity, const char *cover) {
        struct vault_text block = {};
        int pair[2], r;

        if (identity > n || n > SECRETS_MAX)
                return -EINVAL;
        if ((r = vault_alloc(NET_SECRET_BYTES, &block, NULL)) < 0)
                return r;
        struct pen w = {.block = &block};
        put_number(&w, identity);
        put_number(&w, n);
        for (size_t i = 0; i < n; i++) {
                put_text(&w, secrets[i].name, strlen(secrets[i].name));
                put_text(&w, placeholders[i], strlen(placeholders[i]));
        }
        if (identity > 0)
                put_own(&w, &secrets[identity - 1], &values[identity - 1], cover ? cover : placeholders[identity - 1]);
        if (identity > 0 && secrets[identity - 1].place == SECRET_SIGV4)
                put_parts(&w, secrets, n, values, &secrets[identity - 1]);
        r = w.full ? -E2BIG : pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
        if (r == 0) {
                /* All at once, or it does not fit; nobody else has the pipe, and what is in it is never swapped. */
                if (write(pair[1], block.p, w.n) != (ssize_t)w.n)
                        r = -E2BIG;
                close(pair[1]);
                if (r < 0)
                        close(pair[0]);
        }
        vault_free(&block);
        return r < 0 ? r : pair[0];
}

struct reader {
        const char *p;
        size_t n;
        bool bad;
};

static uint64_t get_number(struct reader *r) {
        uint64_t v = 0;

        if (r->n < sizeof(v)) {
                r->bad = true;
                return 0;
        }
        memcpy(&v, r->p, sizeof(v));
        r->p += sizeof(v);
        r->n -= sizeof(v);
        return v;
}

static const char *get_text(struct reader *r, size_t *ret_n) {
        uint64_t n = get_number(r);

        if (r->bad || n >= r->n || r->p[n] != 0) {
                r->bad = true;
                return "";
        }
        const char *text = r->p;
        r->p += n + 1;
        r->n -= n + 1;
        if (ret_n)
                *ret_n = n;
        return text;
}

static void get_own(struct reader *r, struct net_secret_block *b) {
        size_t n_cover = 0;
        const char **const texts[] = {&b->header, &b->before, &b->after, &b->user, &b->query, &b->body};

        b->place = (enum secret_place)get_number(r);
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                *texts[i] = get_text(r, NULL);
        b->uses = get_number(r);
        b->value = get_text(r, &b->n_value);
        b->cover = get_text(r, &n_cover);
        r->bad |= n_cover != b->n_value;
}

static void get_parts(struct reader *r, struct net_secret_block *b) {
        b->services = get_text(r, NULL);
        b->regions = get_text(r, NULL);
        b->mint = get_number(r) != 0;
        b->copy = get_number(r) != 0;
        for (int i = PART_KEY; i < PART_N; i++) {
                struct net_secret_part *p = &b->part[i];
                uint64_t identity = get_number(r);
                p->value = get_text(r, &p->n);
                r->bad |= identity > b->n || (identity > 0 && p->n != b->all[identity - 1].n_placeholder) || (identity == 0 && i == PART_KEY);
                p->identity = r->bad ? 0 : (uint32_t)identity;
        }
        b->part[PART_SECRET] = (struct net_secret_part){b->identity, b->value, b->n_value};
}

int net_secret_read(int fd, struct vault_text *memory, struct net_secret_block *ret, struct error *e) {
        struct net_secret_block b = {};
        int r = vault_read(fd, -1, NET_SECRET_BYTES, -1, memory, e);

        if (r < 0)
                return r;
        struct reader d = {.p = memory->p, .n = memory->n};
        uint64_t identity = get_number(&d), n = get_number(&d);
        d.bad |= n > SECRETS_MAX || identity > n;
        for (uint64_t i = 0; !d.bad && i < n; i++) {
                b.all[i].name = get_text(&d, NULL);
                b.all[i].placeholder = get_text(&d, &b.all[i].n_placeholder);
        }
        b.identity = (uint32_t)identity;
        b.n = (uint32_t)n;
        if (!d.bad && identity > 0)
                get_own(&d, &b);
        if (!d.bad && b.place == SECRET_SIGV4)
                get_parts(&d, &b);
        /* Where the one is put in for the other, as it stands. */
        d.bad |= identity > 0 && (b.place == SECRET_ANY_FIELD || b.place == SECRET_BODY) && b.n_value != b.all[identity - 1].n_placeholder;
        if (d.bad || d.n > 0)
                return error_set(e, EBADMSG, "the block of secrets cannot be read");
        *ret = b;
        return 0;
}
