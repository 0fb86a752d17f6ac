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

bool given_ask(struct given_exchange *x, const struct request *r, struct verdict *v, const char **ret_spent) {
        ssize_t n = provenance_text(r, x->url, sizeof(x->url));
        bool budgeted = false;

        /* Without a text, which never happens, nothing is let pass, and nothing that comes of it is taken. */
        x->n_url = n < 0 ? 0 : (size_t)n;
        uint64_t price = n < 0 ? UINT64_MAX : given_price(store, x->url, x->n_url);
        if (v->provenance && price > 0 && !account_novel(v, price, &budgeted)) {
                v->allowed = false;
                v->reason = VERDICT_PROVENANCE;
                v->detail = (uint32_t)MIN(price, UINT32_MAX);
                *ret_spent = budgeted ? account_name(ACCOUNT_NOVEL) : NULL;
                return false;
        }
        /* Also of rules, and of policies, that do not ask: what the origin has heard it may say later. */
        given_tell(store, x->url, x->n_url, price);
        if (v->provenance && price > 0) /* paid for: to ask again tells it nothing more */
                given_add_by(store, x->url, x->n_url, x->url, x->n_url);
        return true;
}

bool given_still(const struct given_exchange *x, const struct verdict *v) {
        return !v->provenance || (x->n_url > 0 && given_price(store, x->url, x->n_url) == 0);
}

void given_body(const struct given_exchange *x, size_t n) {
        if (x->n_url > 0)
                given_tell(store, x->url, x->n_url, 8 * (uint64_t)n);
}

/* --- responses --- */

static void take(struct given_exchange *x, const char *ref, size_t n) {
        char url[PROVENANCE_TEXT_MAX];
        ssize_t k = provenance_resolve(x->url, x->n_url, ref, n, url, sizeof(url));

        if (k > 0)
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

        given_done(x, true);
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
}

bool given_keep(void *arg, const struct http_head *head, const struct http_field *field) {
        return field->id != HTTP_F_ACCEPT_ENCODING && http_fields_keep(arg, head, field);
}

bool given_asked(void) { return asked; }
