/* The one credential of this broker, if it has one: put into requests that its rules allow, kept out of responses; and the
 * placeholders of all secrets of the run, which go nowhere. What redaction cannot find is in docs/threat-model.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "model/canonical.h"
#include "model/placeholder.h"
#include "proto/body-field.h"
#include "role/broker/broker.h"
#include "role/broker/sign.h"
#include "svc/http-fields.h"
#include "svc/http-relay.h"
#include "svc/net-secret.h"

#define LINES_MAX 32u            /* fields that a request may have the placeholder in */
#define WORK_BYTES (4u * 65536u) /* a head's fields, anew, and a target */

/* A body on its way, and what it is looked through with. */
struct credential_stream {
        struct redactor *how;
        struct redact_stream *s;
        uint64_t generation;
};

/* Of a value that was renewed. */
struct former {
        struct vault_text all[3];
        const char *value, *cover; /* in all[0]; NULL: none */
        size_t n;
};

static struct {
        struct vault_text memory, work;
        struct net_secret_block b; /* its texts are in memory */
        uint64_t generation;       /* how often it was renewed */
        struct former former[CREDENTIAL_GENERATIONS];
        struct rewriter {
                struct vault_text vault;
                struct redactor *how;
                size_t size;                   /* of a stream's memory */
                void *memory;                  /* of the stream of texts that come whole */
                struct redact_stream *whole;
        } inject, hide, /* its placeholder into its value, and back */
                mask;   /* every placeholder into what says nothing */
        size_t used; /* of work */
        struct http1_line line[LINES_MAX];
        size_t n_lines;
        bool drop[HTTP_FIELDS_MAX];
        char why[256];
        bool misplaced; /* what why says */
} c;

/* --- at the start --- */

static size_t aligned(size_t n) { return (n + 15) & ~(size_t)15; }

/* In memory of its own, which holds secrets: what is looked for, and what of a text is under way. */
static int make(struct rewriter *w, const struct redact_pair *pairs, size_t n, struct error *e) {
        size_t size = aligned(redact_size(pairs, n));
        struct vault_text memory;
        int r = size == 0 ? -EINVAL : vault_alloc(size + REDACT_STREAM_MAX, &memory, e);

        if (r < 0)
                return r;
        if ((r = redact_init(memory.p, size, pairs, n, &w->how)) < 0) {
                vault_free(&memory);
                return error_set(e, -r, "a secret cannot be looked for");
        }
        w->vault = memory;
        w->size = redact_stream_size(w->how);
        w->memory = memory.p + size;
        return redact_held_max(w->how) + BODY_FIELD_HELD_MAX > HTTP_REWRITE_HELD || w->size > REDACT_STREAM_MAX ? error_set(e, E2BIG, "a secret is too long to be looked for") : 0;
}

/* Says that something stood here, and nothing of it. */
static void fill_mask(char *dst, const char *placeholder, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char p = placeholder[i];
                bool is = (p >= 'a' && p <= 'z') || (p >= 'A' && p <= 'Z') || (p >= '0' && p <= '9');
                dst[i] = is ? 'x' : p;
        }
}

static bool is_among(const struct redact_pair *pairs, size_t n, const char *value) {
        for (size_t i = 0; i < n; i++)
                if (streq(pairs[i].find, value))
                        return true;
        return false;
}

/* What is looked for in answers: the value, and those before it, which requests that are under way were sent with. */
static int make_own(struct error *e) {
        const struct net_secret_name *own = &c.b.all[c.b.identity - 1];
        const struct redact_pair in = {own->placeholder, c.b.value, c.b.n_value};
        struct redact_pair out[1 + CREDENTIAL_GENERATIONS + PART_N] = {{c.b.value, c.b.cover, c.b.n_value}};
        size_t n = 1;
        int r = c.b.place == SECRET_ANY_FIELD ? make(&c.inject, &in, 1, e) : 0;

        for (size_t i = 0; i < ELEMENTSOF(c.former); i++)
                if (c.former[i].value && !is_among(out, n, c.former[i].value))
                        out[n++] = (struct redact_pair){c.former[i].value, c.former[i].cover, c.former[i].n};
        for (int i = PART_KEY; i < PART_N; i++) {
                const struct net_secret_part *p = &c.b.part[i];
                if (p->identity > 0)
                        out[n++] = (struct redact_pair){p->value, c.b.all[p->identity - 1].placeholder, p->n};
        }
        return r < 0 ? r : make(&c.hide, out, n, e);
}

int credential_init(int fd, struct error *e) {
        static char masks[SECRETS_MAX][SECRET_VALUE_MAX];
        struct redact_pair all[SECRETS_MAX];
        int r = net_secret_read(fd, &c.memory, &c.b, e);

        if (r < 0 || c.b.n == 0)
                return r;
        for (uint32_t i = 0; i < c.b.n; i++) {
                fill_mask(masks[i], c.b.all[i].placeholder, c.b.all[i].n_placeholder);
                all[i] = (struct redact_pair){c.b.all[i].placeholder, masks[i], c.b.all[i].n_placeholder};
        }
        if ((r = vault_alloc(WORK_BYTES, &c.work, e)) < 0 || (r = make(&c.mask, all, c.b.n, e)) < 0 || c.b.identity == 0)
                return r;
        if ((r = sign_init(&c.b, e)) < 0)
                return r;
        return make_own(e);
}

/* What is under way goes on with what it began with, which is kept for a few renewals. */
int credential_renew(int fd, struct error *e) {
        struct former *last = &c.former[c.generation++ % CREDENTIAL_GENERATIONS];
        struct net_secret_block before = c.b, b;
        struct vault_text memory = {};
        int r = net_secret_read(fd, &memory, &b, e);

        if (r < 0)
                return r;
        if (b.identity != before.identity || b.n != before.n || b.place != before.place) {
                vault_free(&memory);
                return error_set(e, EPROTO, "the new value is another secret's");
        }
        for (size_t i = 0; i < ELEMENTSOF(last->all); i++)
                vault_free(&last->all[i]);
        *last = (struct former){{c.memory, c.inject.vault, c.hide.vault}, before.value, before.cover, before.n_value};
        c.memory = memory;
        c.b = b;
        c.inject = c.hide = (struct rewriter){};
        return make_own(e);
}

uint64_t credential_generation(void) { return c.generation; }

/* A whole text, in place; how often something was found. */
static uint64_t rewrite_whole(struct rewriter *w, const char *p, size_t n) {
        uint64_t found = 0;

        if (n < SECRET_VALUE_MIN) /* most names of fields: in no form is a secret shorter than it is */
                return 0;
        if (redact_begin(w->how, w->memory, w->size, &w->whole) < 0)
                abort(); /* the size is what it asked for */
        redact_text(w->how, w->whole, (char *)p, n);
        for (size_t i = 0; i < (w == &c.mask ? c.b.n : 1); i++)
                found += redact_found(w->whole, i);
        return found;
}

uint32_t credential_identity(void) { return c.b.identity; }

const struct net_secret_block *credential_block(void) { return &c.b; }

/* --- requests --- */

static struct http_text keep(const char *text, size_t n) {
        if (n > c.work.cap - c.used)
                return (struct http_text){};
        char *p = c.work.p + c.used;
        memcpy(p, text, n);
        c.used += n;
        return (struct http_text){p, n};
}

static bool is_name(struct http_text name, const char *text) { return name.n == strlen(text) && strncasecmp(name.p, text, name.n) == 0; }

/* Which secret's placeholder is in the text, in any form; its identity, or 0. */
static uint32_t find_in(const char *text, size_t n) {
        size_t used = c.used;
        struct http_text copy = keep(text, n);
        uint32_t identity = 0;

        if (!copy.p)
                return 1; /* what cannot be looked at is taken for one; there is room for more than a head */
        if (rewrite_whole(&c.mask, copy.p, n) > 0)
                while (redact_found(c.mask.whole, identity++) == 0)
                        ;
        c.used = used;
        return identity;
}

/* In a field's name, which has been made lower case on its way. */
static uint32_t find_in_name(struct http_text name) {
        for (uint32_t i = 0; i < c.b.n; i++)
                for (size_t at = 0; at + c.b.all[i].n_placeholder <= name.n; at++)
                        if (strncasecmp(name.p + at, c.b.all[i].placeholder, c.b.all[i].n_placeholder) == 0)
                                return i + 1;
        return 0;
}

static bool misplaced(uint32_t identity, const char *where, const char **ret_why) {
        account_secret_refused(identity);
        snprintf(c.why, sizeof(c.why), "the placeholder of the secret %.64s stands in %.40s, where it does not belong", c.b.all[identity - 1].name, where);
        c.misplaced = true;
        *ret_why = c.why;
        return false;
}

bool credential_misplaced(const char *why) { return why && why == c.why && c.misplaced; }

static bool add_line(struct http_text name, struct http_text value) {
        if (!name.p || !value.p || c.n_lines == LINES_MAX)
                return false;
        c.line[c.n_lines++] = (struct http1_line){name, value};
        return true;
}

static bool too_much(const char **ret_why) {
        *ret_why = "the request's head is too long to be given its credential";
        return false;
}

/* Takes the pairs with this key out. */
static void drop_key(struct request *q, const char *key) {
        size_t kept = 0, n = strlen(key);

        for (size_t i = 0; i < q->n_query; i++)
                if (q->query[i].key.n != n || memcmp(q->query[i].key.p, key, n) != 0)
                        q->query[kept++] = q->query[i];
        q->n_query = kept;
}

/* In the target as it is written: a placeholder that has a '/', '=' or '&' itself, as base64 has, stands over several of its
 * parts. -ENOBUFS. */
static int find_across(const struct request *request, bool own_key, uint32_t *ret) {
        static struct request q;
        const size_t used = c.used;

        q = *request;
        if (own_key)
                drop_key(&q, c.b.query);
        ssize_t n = canonical_write_target(&q, c.work.p + used, (c.work.cap - used) / 2);
        if (n < 0)
                return (int)n;
        c.used += (size_t)n;
        *ret = find_in(c.work.p + used, (size_t)n);
        c.used = used;
        return 0;
}

/* Path and query, decoded, and both as they are written. */
static bool check_url(const struct request *q, const char **ret_why) {
        const bool own_key = c.b.identity > 0 && c.b.place == SECRET_QUERY;
        uint32_t found = 0;

        if (find_across(q, own_key, &found) < 0)
                return too_much(ret_why);
        for (size_t i = 0; i < q->n_segments && !found; i++)
                found = find_in(q->segment[i].p, q->segment[i].n);
        for (size_t i = 0; i < q->n_query && !found; i++) {
                const struct request_query *p = &q->query[i];
                if (own_key && p->key.n == strlen(c.b.query) && memcmp(p->key.p, c.b.query, p->key.n) == 0)
                        continue; /* its place */
                if (!(found = find_in(p->key.p, p->key.n)) && p->has_value)
                        found = find_in(p->value.p, p->value.n);
        }
        if (found)
                return misplaced(found, "the URL", ret_why);
        for (size_t i = 0; c.b.identity > 0 && i < q->n_query; i++) {
                const struct request_query *p = &q->query[i];
                if (p->has_value && secret_kind_of(p->value.p, p->value.n)) {
                        *ret_why = "the URL has a credential of the sandbox's own, and this host has one";
                        return false;
                }
        }
        return true;
}

/* A field that is written anew in any case, or not at all. */
static bool goes_anyhow(const struct http_head *head, const struct http_field *f) {
        return f->hop || (f->id != HTTP_F_OTHER && f->id <= HTTP_F_LAST_HOP) || !http_fields_keep(NULL, head, f);
}

/* What would have the response come in pieces or in a form that is not looked at. */
static bool asks_for_form(const struct http_field *f, struct http_text name) {
        return f->id == HTTP_F_ACCEPT_ENCODING || f->id == HTTP_F_SEC_WEBSOCKET_EXTENSIONS || is_name(name, "range") || is_name(name, "if-range");
}

static bool check_field(const struct http_head *head, size_t i, bool *ret_carries, const char **ret_why) {
        const struct http_field *f = &head->field[i];
        struct http_text name = http_field_name(head, f), value = http_field_value(head, f), copy;
        char field[64];
        uint32_t found;

        if (goes_anyhow(head, f))
                return true;
        snprintf(field, sizeof(field), "the field %.*s", (int)MIN(name.n, 32u), name.p);
        if (c.b.identity > 0) {
                if ((asks_for_form(f, name) && !(sign_takes_parts() && f->id != HTTP_F_ACCEPT_ENCODING)) || sign_drops(name, value) || (c.b.place == SECRET_HEADER && is_name(name, c.b.header)) ||
                    (c.b.place == SECRET_BASIC && is_name(name, "authorization"))) {
                        c.drop[i] = true;
                        return true;
                }
                if (!(copy = keep(value.p, value.n)).p && value.n > 0)
                        return too_much(ret_why);
                if (c.b.place == SECRET_ANY_FIELD && value.n > 0 && rewrite_whole(&c.inject, copy.p, copy.n) > 0) {
                        if (!add_line(keep(name.p, name.n), copy))
                                return too_much(ret_why);
                        c.drop[i] = *ret_carries = true;
                        value = copy; /* nor may another one stand beside it */
                }
        }
        if ((found = find_in_name(name)) || (found = find_in(value.p, value.n)))
                return misplaced(found, field, ret_why);
        _cleanup_free_ char *text = strndup(name.p, name.n);
        if (!text)
                return too_much(ret_why);
        if (c.b.identity > 0 && !c.drop[i] && secret_foreign(text, value.p, value.n)) {
                snprintf(c.why, sizeof(c.why), "%s has a credential of the sandbox's own, and this host has one", field);
                c.misplaced = false;
                *ret_why = c.why;
                return false;
        }
        return true;
}

/* Where the policy says the place, it is filled whatever the request has there. */
static bool put_in(struct request *q, struct http1_out *out, const char **ret_why) {
        char *p = c.work.p + c.used;
        size_t room = c.work.cap - c.used, n_before = strlen(c.b.before), n_after = strlen(c.b.after), n_user = strlen(c.b.user), n;

        switch (c.b.place) {
        case SECRET_HEADER:
                n = n_before + c.b.n_value + n_after;
                if (n > room)
                        return too_much(ret_why);
                memcpy(p, c.b.before, n_before);
                memcpy(p + n_before, c.b.value, c.b.n_value);
                memcpy(p + n_before + c.b.n_value, c.b.after, n_after);
                c.used += n;
                return add_line((struct http_text){c.b.header, strlen(c.b.header)}, (struct http_text){p, n}) || too_much(ret_why);
        case SECRET_BASIC:
                n = n_user + 1 + c.b.n_value; /* the pair, and behind it what it becomes */
                if (n + 6 + BASE64_LENGTH(n) > room)
                        return too_much(ret_why);
                memcpy(p, c.b.user, n_user);
                p[n_user] = ':';
                memcpy(p + n_user + 1, c.b.value, c.b.n_value);
                memcpy(p + n, "Basic ", 6);
                room = base64_encode(p, n, p + n + 6);
                c.used += n + 6 + room;
                return add_line((struct http_text){"authorization", 13}, (struct http_text){p + n, 6 + room}) || too_much(ret_why);
        case SECRET_QUERY: {
                drop_key(q, c.b.query);
                if (q->n_query == REQUEST_QUERY_MAX)
                        return too_much(ret_why);
                q->query[q->n_query++] = (struct request_query){{c.b.query, strlen(c.b.query)}, {c.b.value, c.b.n_value}, true};
                ssize_t k = canonical_write_target(q, p, room);
                if (k < 0)
                        return too_much(ret_why);
                c.used += (size_t)k;
                out->target = (struct http_text){p, (size_t)k};
                return true;
        }
        case SECRET_ANY_FIELD:
        case SECRET_BODY:
        case SECRET_SIGV4:
        case SECRET_PART:
        default:
                return true;
        }
}

/* Signed, in place of being put in. */
static bool put_signature(const struct http_head *head, const struct request *q, struct http1_out *out, struct credential_exchange *x, const char **ret_why) {
        struct sign_made made;

        if (!sign_make(head, q, out, c.drop, x, &made, ret_why))
                return false;
        for (size_t i = 0; i < made.n_lines; i++)
                if (!add_line(made.line[i].name, made.line[i].value))
                        return too_much(ret_why);
        if (!x->gather)
                out->target = made.target;
        return true;
}

static bool keep_field(void *arg, const struct http_head *head, const struct http_field *field) {
        http1_keep *also = (http1_keep *)arg;
        return !c.drop[field - head->field] && also(NULL, head, field);
}

bool credential_request(const struct http_head *head, const struct request *request, struct http1_out *out, struct credential_exchange *x, bool *ret_carries,
                        const char **ret_why) {
        static struct request q; /* with its query anew */
        bool carries = c.b.identity > 0 && c.b.place != SECRET_ANY_FIELD && c.b.place != SECRET_BODY;

        *ret_carries = x->gather = x->parts = false;
        x->generation = c.generation;
        if (c.b.n == 0)
                return true;
        c.used = c.n_lines = 0;
        memset(c.drop, 0, sizeof(c.drop));
        if (!sign_ask(head, request, ret_why) || !check_url(request, ret_why))
                return false;
        if (c.b.place == SECRET_SIGV4)
                carries = sign_asked();
        x->parts = sign_takes_parts();
        for (size_t i = 0; i < head->n_fields; i++)
                if (!check_field(head, i, &carries, ret_why))
                        return false;
        if (c.b.identity == 0)
                return true;
        if (carries) {
                q = *request;
                if (!(c.b.place == SECRET_SIGV4 ? put_signature(head, request, out, x, ret_why) : put_in(&q, out, ret_why)))
                        return false;
                if (x->gather)
                        return true;
                if (!account_secret_use(c.b.identity, c.b.uses)) {
                        snprintf(c.why, sizeof(c.why), "the secret %.64s has been used as often as its policy lets it be", c.b.all[c.b.identity - 1].name);
                        c.misplaced = false;
                        *ret_why = c.why;
                        return false;
                }
        }
        if (!add_line((struct http_text){"accept-encoding", 15}, (struct http_text){"identity", 8}))
                return too_much(ret_why);
        out->arg = (void *)out->keep;
        out->keep = keep_field;
        out->more = c.line;
        out->n_more = c.n_lines;
        *ret_carries = carries;
        return true;
}

/* --- bodies and responses --- */

size_t credential_reads_up(void) { return c.mask.how ? redact_held_max(c.mask.how) + credential_body_held() : 0; }

bool credential_response(const struct http_head *head, const struct credential_exchange *x, const char **ret_why) {
        if (c.b.identity == 0)
                return true;
        if (c.generation - x->generation >= CREDENTIAL_GENERATIONS) {
                *ret_why = "the answer comes so late that the secret which it was asked with is not known any more";
                return false;
        }
        if (head->status == 206 && !x->parts) {
                *ret_why = "the answer is a part that nobody asked for, and a secret at its edge could not be seen";
                return false;
        }
        for (size_t i = 0; i < head->n_fields; i++) {
                const struct http_field *f = &head->field[i];
                struct http_text name = http_field_name(head, f), value = http_field_value(head, f);
                if (f->id == HTTP_F_SEC_WEBSOCKET_EXTENSIONS && head->websocket) {
                        *ret_why = "the WebSocket is compressed though it was asked not to be, and a secret in it could not be seen";
                        return false;
                }
                if (is_name(name, "content-encoding") && !is_name(value, "identity") && value.n > 0) {
                        *ret_why = "the answer is encoded though it was asked not to be, and a secret in it could not be seen";
                        return false;
                }
                /* The head lies in the relay's own buffer, and is written anew from there. */
                (void)rewrite_whole(&c.hide, name.p, name.n);
                (void)rewrite_whole(&c.hide, value.p, value.n);
        }
        return true;
}

/* NULL: no memory, or it began too many renewals ago. */
static struct credential_stream *stream_of(struct rewriter *w, struct credential_stream **stream) {
        struct credential_stream *x = *stream;

        if (x)
                return x->how == c.mask.how || c.generation - x->generation < CREDENTIAL_GENERATIONS ? x : NULL;
        x = (struct credential_stream *)malloc(aligned(sizeof(*x)) + w->size);
        if (!x)
                return NULL;
        *x = (struct credential_stream){.how = w->how, .generation = c.generation};
        if (redact_begin(w->how, (char *)x + aligned(sizeof(*x)), w->size, &x->s) < 0) {
                free(x);
                return NULL;
        }
        return *stream = x;
}

bool credential_reads_down(struct credential_stream **stream, size_t *ret) {
        *ret = c.hide.how ? redact_held_max(c.hide.how) : 0;
        if (!c.hide.how)
                return true;
        struct credential_stream *x = stream_of(&c.hide, stream); /* now, so that it holds back no more than is said here */
        if (x)
                *ret = redact_held_max(x->how);
        return x != NULL;
}

size_t credential_rewrite(struct credential_stream **stream, bool up, const char *p, size_t n, bool last, char *out) {
        struct credential_stream *x = stream_of(up ? &c.mask : &c.hide, stream);
        ssize_t k = x ? redact_feed(x->how, x->s, p, n, last, out, n + HTTP_REWRITE_HELD) : -ENOMEM;
        bool any = false;

        if (k < 0)
                return SIZE_MAX;
        for (uint32_t i = 0; up && i < c.b.n; i++) {
                if (redact_found(x->s, i) == 0)
                        continue;
                any = true;
                if (last || c.b.identity == 0)
                        account_secret_refused(i + 1);
        }
        /* A host with a secret of its own may be told by a model's history what stood where; there it is masked. */
        return any && c.b.identity == 0 ? SIZE_MAX : (size_t)k;
}

/* A frame's payload is a text of its own: nothing of it is kept back beyond its end, since the other side may wait for an answer
 * to it; a text that goes over two frames is not found. */
size_t credential_rewrite_frames(struct credential_stream **stream, struct websocket_reader *w, const char *p, size_t n, char *out) {
        struct credential_stream *x = stream_of(&c.hide, stream);
        size_t sum = 0;

        while (n > 0) {
                struct websocket_piece piece;
                if (!x || websocket_read(w, p, n, &piece) < 0)
                        return SIZE_MAX;
                if (piece.is_payload) {
                        ssize_t k = redact_feed(x->how, x->s, p, piece.n, piece.last, out + sum, piece.n + HTTP_REWRITE_HELD);
                        if (k < 0)
                                return SIZE_MAX;
                        sum += (size_t)k;
                } else {
                        memcpy(out + sum, p, piece.n);
                        sum += piece.n;
                }
                p += piece.n;
                n -= piece.n;
        }
        return sum;
}
