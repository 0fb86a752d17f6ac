/* Which URLs a run may ask for (docs/policy.md, "Given URLs"): what a request would tell its origin that nobody gave, and what a
 * response gives. What is told is counted of every request, what is given only while the policy has a rule that asks. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/provenance.h"
#include "proto/url-scan.h"
#include "role/broker/broker.h"
#include "svc/http-fields.h"
#include "svc/net-account.h"
#include "svc/net-given.h"

static struct given *store;
static bool asked; /* some rule has provenance */

int given_init(int fd) { return given_map(fd, &store); }

void given_policy(const struct table *t) {
        const char *url;

        asked = table_asks_provenance(t);
        for (size_t i = 0; asked && (url = table_given(t, i)); i++)
                given_add(store, url, strlen(url));
}

/* --- requests --- */

static void refuse(struct verdict *v, uint64_t price) {
        v->allowed = false;
        v->reason = VERDICT_PROVENANCE;
        v->detail = (uint32_t)MIN(price, UINT32_MAX);
}

bool given_ask(struct given_exchange *x, const struct request *r, struct verdict *v, const char **ret_spent) {
        ssize_t n = provenance_text(r, x->url, sizeof(x->url));
        bool budgeted = false;

        /* Without a text, which never happens, nothing is let pass, and nothing that comes of it is taken. */
        x->n_url = n < 0 ? 0 : (size_t)n;
        /* While nobody asks, all of it counts as new: looking for what was given would only take memory. */
        uint64_t price = n < 0 ? UINT64_MAX : asked ? given_price(store, x->url, x->n_url) : provenance_bits(x->n_url, 0);
        if (v->provenance && price > 0 && !account_novel(v, price, &budgeted)) {
                refuse(v, price);
                *ret_spent = budgeted ? account_name(ACCOUNT_NOVEL) : NULL;
                return false;
        }
        /* Also of rules, and of policies, that do not ask: what the origin has heard it may say later. */
        given_tell(store, x->url, x->n_url, price);
        if (v->provenance && price > 0) /* paid for: to ask again tells it nothing more */
                given_add_by(store, x->url, x->n_url, x->url, x->n_url);
        return true;
}

bool given_still(const struct given_exchange *x, struct verdict *v) {
        uint64_t price = v->provenance ? given_price(store, x->url, x->n_url) : 0;

        if (price > 0)
                refuse(v, price);
        return price == 0;
}

void given_body(const struct given_exchange *x, size_t n) {
        if (x->n_url > 0)
                given_tell(store, x->url, x->n_url, 8 * (uint64_t)n);
}

/* --- what the request's own fields say, and a response may say after it --- */

/* Hashes of all pieces of GRAM bytes in their names and values; a power of two of slots, 0: free. */
#define GRAM 12u
struct given_words {
        size_t slots;
        uint32_t slot[];
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static uint32_t gram_hash(const char *p) {
        uint32_t h = 2166136261u; /* FNV-1a */
        for (size_t i = 0; i < GRAM; i++)
                h = (h ^ (uint8_t)lower(p[i])) * 16777619u;
        return h ? h : 1;
}

/* The slot of a hash, or a free one; there always is one. */
static uint32_t *gram_slot(struct given_words *w, uint32_t h) {
        size_t at = (h ^ h >> 15) & (w->slots - 1);
        while (w->slot[at] && w->slot[at] != h)
                at = (at + 1) & (w->slots - 1);
        return &w->slot[at];
}

static void add_grams(struct given_words *w, struct http_text t) {
        for (size_t i = 0; i + GRAM <= t.n; i++) {
                uint32_t h = gram_hash(t.p + i);
                *gram_slot(w, h) = h;
        }
}

static bool has_gram(struct given_words *w, const char *p, size_t n) {
        for (size_t i = 0; i + GRAM <= n; i++)
                if (*gram_slot(w, gram_hash(p + i)))
                        return true;
        return false;
}

/* Host is what was decided on, and not the sandbox's to say. */
static bool speaks(const struct http_field *f) { return !f->hop && f->id != HTTP_F_HOST; }

bool given_fields(struct given_exchange *x, const struct http_head *h) {
        size_t bytes = 0, slots = 64;

        free(TAKE_PTR(x->words));
        if (!asked)
                return true;
        for (size_t i = 0; i < h->n_fields; i++)
                bytes += speaks(&h->field[i]) ? h->field[i].name_n + h->field[i].value_n : 0;
        while (slots < 2 * bytes)
                slots *= 2;
        struct given_words *w = (struct given_words *)calloc(1, sizeof(*w) + slots * sizeof(*w->slot));
        if (!w)
                return false;
        w->slots = slots;
        for (size_t i = 0; i < h->n_fields; i++)
                if (speaks(&h->field[i])) {
                        add_grams(w, http_field_name(h, &h->field[i]));
                        add_grams(w, http_field_value(h, &h->field[i]));
                }
        x->words = w;
        return true;
}

/* --- responses --- */

static bool same_origin(const struct given_exchange *x, const char *url, size_t n) {
        size_t k = provenance_origin(url, n);
        return k == provenance_origin(x->url, x->n_url) && memcmp(url, x->url, k) == 0;
}

static void take(struct given_exchange *x, const char *ref, size_t n) {
        char url[PROVENANCE_TEXT_MAX];
        ssize_t k = provenance_resolve(x->url, x->n_url, ref, n, url, sizeof(url));

        if (k < 0)
                return;
        if (!same_origin(x, url, (size_t)k)) {
                size_t reach = given_reach(store, url, (size_t)k), from = reach - MIN(reach, (size_t)GRAM - 1); /* pieces with a byte that is new */
                if (reach < (size_t)k && (!x->words || has_gram(x->words, url + from, (size_t)k - from)))
                        return;
        }
        given_add_by(store, url, (size_t)k, x->url, x->n_url);
}

static void found(void *arg, const char *text, size_t n) { take((struct given_exchange *)arg, text, n); }

/* <url>; rel="next", <url>... (RFC 8288) */
static void take_links(struct given_exchange *x, struct http_text v) {
        for (const char *p = v.p, *end = v.p + v.n; p < end;) {
                const char *open = memchr(p, '<', (size_t)(end - p)), *close = open ? memchr(open, '>', (size_t)(end - open)) : NULL;
                if (!close)
                        return;
                take(x, open + 1, (size_t)(close - open - 1));
                p = close + 1;
        }
}

static bool is(struct http_text name, const char *text) { return name.n == strlen(text) && strncasecmp(name.p, text, name.n) == 0; }

static void take_fields(struct given_exchange *x, const struct http_head *h, bool *ret_plain) {
        *ret_plain = true;
        for (size_t i = 0; i < h->n_fields; i++) {
                const struct http_field *f = &h->field[i];
                struct http_text name = http_field_name(h, f), value = http_field_value(h, f);
                if (f->id == HTTP_F_LOCATION || (f->id == HTTP_F_OTHER && is(name, "content-location")))
                        take(x, value.p, value.n);
                else if (f->id == HTTP_F_OTHER && is(name, "link"))
                        take_links(x, value);
                else if (f->id == HTTP_F_CONTENT_ENCODING && !is(value, "identity"))
                        *ret_plain = false;
        }
}

void given_response(struct given_exchange *x, const struct http_head *h) {
        bool plain;

        free(TAKE_PTR(x->scan));
        if (!asked || x->n_url == 0)
                return;
        take_fields(x, h, &plain);
        /* A part of something may begin or end where the sandbox has chosen. */
        if (plain && h->status != 206 && h->framing != HTTP_TUNNEL && (x->scan = (struct url_scan *)malloc(sizeof(*x->scan))))
                url_scan_begin(x->scan, found, x);
}

void given_content(struct given_exchange *x, const char *p, size_t n) {
        if (x->scan)
                url_scan_read(x->scan, p, n);
}

void given_done(struct given_exchange *x, bool cut) {
        if (x->scan && !cut)
                url_scan_end(x->scan);
        free(TAKE_PTR(x->scan));
        free(TAKE_PTR(x->words));
}

bool given_keep(void *arg, const struct http_head *head, const struct http_field *field) {
        return field->id != HTTP_F_ACCEPT_ENCODING && http_fields_keep(arg, head, field);
}

bool given_asked(void) { return asked; }
