/* See secret-sigv4.h. What the broker decides is in sigv4-scope.c. */
#include <stdlib.h>
#include <string.h>

#include "model/secret-sigv4.h"

static const char *const part_names[] = {[PART_SECRET] = "secret", [PART_KEY] = "key", [PART_SESSION] = "session"};
static const char *const part_variables[] = {[PART_SECRET] = "AWS_SECRET_ACCESS_KEY", [PART_KEY] = "AWS_ACCESS_KEY_ID", [PART_SESSION] = "AWS_SESSION_TOKEN"};

void secret_sigv4_free(struct secret_sigv4 *s) {
        if (!s)
                return;
        free(s->whole);
        free(s->services);
        free(s->regions);
        free(s);
}

static int out_of_memory(struct error *e) { return error_set(e, ENOMEM, "out of memory"); }

int secret_set_sigv4(struct secret *s, struct error *e) {
        if (!s->sigv4 && !(s->sigv4 = (struct secret_sigv4 *)calloc(1, sizeof(*s->sigv4))))
                return out_of_memory(e);
        s->place = SECRET_SIGV4;
        return 0;
}

static int add_name(char **list, const char *what, const char *name, struct error *e) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");

        if (n == 0 || name[n] != 0 || n > SIGV4_NAME_MAX)
                return error_set(e, EINVAL, "%s: a name has letters, digits, dashes, dots and underscores, at most %u", what, SIGV4_NAME_MAX);
        size_t names = *list ? 2 : 1;
        for (const char *p = *list; p && *p; p++)
                names += *p == ',';
        if (names > SIGV4_LIST_MAX)
                return error_set(e, E2BIG, "%s: more than %u names", what, SIGV4_LIST_MAX);
        char *more = *list ? str_printf("%s,%s", *list, name) : strdup(name);
        if (!more)
                return out_of_memory(e);
        free(*list);
        *list = more;
        return 0;
}

int secret_sigv4_add_service(struct secret *s, const char *name, struct error *e) { return add_name(&s->sigv4->services, "services", name, e); }
int secret_sigv4_add_region(struct secret *s, const char *name, struct error *e) { return add_name(&s->sigv4->regions, "regions", name, e); }

int secret_sigv4_add_allow(struct secret *s, const char *word, struct error *e) {
        if (streq(word, "mint"))
                s->sigv4->mint = true;
        else if (streq(word, "copy"))
                s->sigv4->copy = true;
        else
                return error_set(e, EINVAL, "allow: there is mint and copy");
        return 0;
}

/* An access key id may stand in a policy: it says whose key it is, and is of no use alone. */
static bool is_key_id(const char *s) {
        size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
        return n >= 16 && n <= SIGV4_ACCESS_MAX && s[n] == 0;
}

static int set_part(struct secret *p, const struct secret *whole, const char *name, enum secret_part part, const char *from, struct error *e) {
        if (secret_set_sigv4(p, e) < 0)
                return -ENOMEM;
        p->place = SECRET_PART;
        p->sigv4->part = part;
        p->ttl = whole->ttl;
        p->line = whole->line;
        p->column = whole->column;
        if (!p->sigv4->whole && !(p->sigv4->whole = strdup(name)))
                return out_of_memory(e);
        /* "WORK_AWS_SECRET_ACCESS_KEY" has the others beside it. */
        const char *const own = part_variables[PART_SECRET];
        const size_t n_own = strlen(own), n_all = whole->variable ? strlen(whole->variable) : 0;
        if (n_all >= n_own && streq(whole->variable + n_all - n_own, own)) {
                free(p->variable);
                p->variable = str_printf("%.*s%s", (int)(n_all - n_own), whole->variable, part_variables[part]);
                if (!p->variable)
                        return out_of_memory(e);
        }
        if (part != PART_KEY || strchr(from, ':') || !is_key_id(from))
                return secret_parse_source(from, p, e);
        p->source = SECRET_LITERAL;
        free(p->from);
        return (p->from = strdup(from)) ? 0 : out_of_memory(e);
}

int secret_sigv4_add_part(struct secret **secrets, size_t *n, const char *name, enum secret_part part, const char *from, struct error *e) {
        _cleanup_free_ char *own = str_printf("%s.%s", name, part_names[part]);
        struct secret *p = own ? secret_add(secrets, n, own, e) : NULL;
        size_t at = secret_find(*secrets, *n, name);

        if (!own)
                return out_of_memory(e);
        if (!p)
                return -e->errnum;
        if (at == SIZE_MAX || !(*secrets)[at].sigv4)
                return error_set(e, ENOENT, "there is no secret %s that is signed with", name);
        (*secrets)[at].sigv4->temporary |= part == PART_SESSION;
        return set_part(p, &(*secrets)[at], name, part, from, e);
}

bool secret_is_part_of(const struct secret *s, const char *name) { return s->place == SECRET_PART && s->sigv4 && streq(s->sigv4->whole, name); }

size_t secret_sigv4_part(const struct secret *secrets, size_t n, const char *name, enum secret_part part) {
        for (size_t i = 0; i < n; i++)
                if (secret_is_part_of(&secrets[i], name) && secrets[i].sigv4->part == part)
                        return i;
        return SIZE_MAX;
}

const char *secret_sigv4_variable(const struct secret *s) { return s->sigv4->part < PART_N ? part_variables[s->sigv4->part] : NULL; }

void secret_sigv4_text(struct strbuf *b, const struct secret *s) {
        const struct secret_sigv4 *v = s->sigv4;

        if (s->place == SECRET_PART) {
                strbuf_printf(b, "with %s", v->whole);
                return;
        }
        strbuf_printf(b, "signs requests to %s in %s", v->services ?: "the services of their hosts", v->regions ?: "their hosts' regions");
        if (v->mint)
                strbuf_puts(b, ", also for new credentials");
        if (v->copy)
                strbuf_puts(b, ", also copies");
}

static void put_names(struct json *j, const char *key, const char *list) {
        json_begin(j, key, '[');
        for (const char *p = list; p && *p;) {
                size_t n = strcspn(p, ",");
                _cleanup_free_ char *name = strndup(p, n);
                json_str(j, NULL, name);
                p += n + (p[n] == ',');
        }
        json_end(j, ']');
}

void secret_sigv4_json(struct json *j, const struct secret *s) {
        const struct secret_sigv4 *v = s->sigv4;

        if (s->place == SECRET_PART) {
                json_str(j, "part_of", v->whole);
                return;
        }
        _cleanup_free_ char *key = str_printf("%s.%s", s->name, part_names[PART_KEY]), *session = str_printf("%s.%s", s->name, part_names[PART_SESSION]);
        json_begin(j, "sigv4", '{');
        json_str(j, "key", key);
        json_str(j, "session", v->temporary ? session : NULL);
        put_names(j, "services", v->services);
        put_names(j, "regions", v->regions);
        put_names(j, "allow", v->mint && v->copy ? "mint,copy" : v->mint ? "mint" : v->copy ? "copy" : NULL);
        json_end(j, '}');
}
