/* Verdicts in words; see why.h. */
#include <stdio.h>

#include "model/canonical.h"
#include "model/provenance.h"
#include "model/why.h"

/* A buffer that is written to as far as it goes. */
struct out {
        char *p;
        size_t size, n;
        bool full; /* something did not fit */
};

static void put(struct out *o, const char *s, size_t n) {
        if (n >= o->size - o->n) {
                o->full = true;
                n = o->size - o->n - 1;
        }
        memcpy(o->p + o->n, s, n);
        o->n += n;
        o->p[o->n] = 0;
}
static void puts_to(struct out *o, const char *s) { put(o, s, strlen(s)); }

static void number(struct out *o, unsigned long long v) {
        char text[24];
        snprintf(text, sizeof(text), "%llu", v);
        puts_to(o, text);
}

static struct out begin(char *dst) {
        dst[0] = 0;
        return (struct out){dst, WHY_TEXT, 0, false};
}

/* A request's text in a sentence: cut where it is long. */
static void brief(struct out *o, struct request_text t) {
        put(o, t.p, MIN(t.n, 80u));
        puts_to(o, t.n > 80 ? "..." : "");
}

static void place(struct out *o, const struct request *r) { /* HOST:PORT */
        bool six = r->is_address && memchr(r->host.p, ':', r->host.n);

        puts_to(o, six ? "[" : "");
        put(o, r->host.p, r->host.n);
        puts_to(o, six ? "]:" : ":");
        number(o, r->port);
}

const char *why_word(enum verdict_reason reason) {
        static const char *const words[VERDICT_N] = {
                "allowed", "host", "relay", "port", "denied", "unread", "protocol", "path", "method", "websocket",
                "query-key", "query-value", "headers", "body", "shape", "model", "address", "budgets", "provenance",
        };
        return reason < VERDICT_N ? words[reason] : "?";
}

const char *why_place(const struct table *t, uint32_t rule, char dst[WHY_TEXT]) {
        struct out o = begin(dst);
        struct table_rule_info u;

        if (!table_rule(t, rule, &u))
                return dst;
        if (u.line == 0) {
                puts_to(&o, u.is_preset ? "--use " : u.deny ? "--deny " : "--allow ");
                puts_to(&o, u.is_preset ? u.source : u.host);
                return dst;
        }
        const char *file = u.file ?: "the policy";
        size_t n = strlen(file);
        puts_to(&o, n > 200 ? "..." : "");
        puts_to(&o, n > 200 ? file + n - 200 : file);
        puts_to(&o, ":");
        number(&o, u.line);
        if (u.is_preset) {
                puts_to(&o, " (");
                puts_to(&o, u.source);
                puts_to(&o, ")");
        }
        return dst;
}

const char *why_request(const struct request *r, char dst[WHY_TEXT]) {
        struct out o = begin(dst);
        char authority[REQUEST_HOST_MAX + 9], target[256];

        if (r->layer == REQUEST_L4) {
                place(&o, r);
                return dst;
        }
        brief(&o, r->method);
        puts_to(&o, r->websocket ? (r->tls ? " wss://" : " ws://") : r->tls ? " https://" : " http://");
        if (canonical_write_authority(r, authority, sizeof(authority)) >= 0)
                puts_to(&o, authority);
        ssize_t n = canonical_write_target(r, target, sizeof(target));
        if (n >= 0)
                put(&o, target, (size_t)n);
        else
                puts_to(&o, "/...");
        return dst;
}

static void rule_at(struct out *o, const struct table *t, uint32_t rule) {
        char text[WHY_TEXT];
        struct table_rule_info u;

        if (table_rule(t, rule, &u) && u.line)
                puts_to(o, "the rule at ");
        puts_to(o, why_place(t, rule, text));
}

static void key_of(struct out *o, const struct request *r, const struct verdict *v) {
        if (v->detail < r->n_query)
                brief(o, r->query[v->detail].key);
}

static const char *shape_name(uint32_t bit) {
        for (size_t i = 0; network_shape_names[i]; i++)
                if (bit >> i & 1)
                        return network_shape_names[i];
        return "?";
}

static void models_of(struct out *o, const struct table *t, uint32_t rule) {
        const char *m;

        for (size_t i = 0; (m = table_model(t, rule, i)); i++) {
                puts_to(o, i ? " " : "");
                puts_to(o, m);
        }
}

/* Where it goes instead of to its host; NULL: to that. */
static const char *destination(const struct table *t, const struct verdict *v) {
        struct table_route route;
        return table_route(t, v->route, &route) ? route.to : NULL;
}

static void allowed(struct out *o, const struct table *t, const struct request *r, const struct verdict *v) {
        rule_at(o, t, v->rule);
        puts_to(o, " allows it");
        if (v->n_matched > 1) {
                puts_to(o, ", and ");
                number(o, v->n_matched - 1);
                puts_to(o, v->n_matched > 2 ? " others do" : " other does");
        }
        if (v->access == TABLE_PASS_TCP)
                puts_to(o, "; what passes is not read");
        else if (v->access == TABLE_PASS_TLS) {
                puts_to(o, "; TLS whose server name is ");
                put(o, r->host.p, r->host.n);
                puts_to(o, " passes, and is not read");
        }
        if (destination(t, v)) {
                puts_to(o, "; it goes to ");
                puts_to(o, destination(t, v));
        }
}

const char *why_reason(const struct table *t, const struct request *r, const struct verdict *v, char dst[WHY_TEXT]) {
        struct out o = begin(dst);

        switch (v->reason) {
        case VERDICT_ALLOWED:
                allowed(&o, t, r, v);
                break;
        case VERDICT_HOST:
                puts_to(&o, "no rule names ");
                put(&o, r->host.p, r->host.n);
                break;
        case VERDICT_RELAY:
                put(&o, r->host.p, r->host.n);
                puts_to(&o, " hands on to others what it is sent, or fetches for whoever asks, and no wildcard opens it");
                break;
        case VERDICT_PORT:
                puts_to(&o, "rules name ");
                put(&o, r->host.p, r->host.n);
                puts_to(&o, ", but not with port ");
                number(&o, r->port);
                break;
        case VERDICT_DENIED:
                rule_at(&o, t, v->rule);
                puts_to(&o, " denies it");
                break;
        case VERDICT_UNREAD:
                puts_to(&o, "rules for ");
                place(&o, r);
                puts_to(&o, " look at requests, and this is nothing that can be read as one");
                break;
        case VERDICT_PROTOCOL:
                rule_at(&o, t, v->rule);
                puts_to(&o, r->tls ? " is not for https" : " is not for plain http");
                break;
        case VERDICT_PATH:
                puts_to(&o, "the path fits none of the rules for ");
                place(&o, r);
                break;
        case VERDICT_METHOD:
                puts_to(&o, "the method ");
                brief(&o, r->method);
                puts_to(&o, " is not one of those of ");
                rule_at(&o, t, v->rule);
                break;
        case VERDICT_WEBSOCKET:
                rule_at(&o, t, v->rule);
                puts_to(&o, " does not let a WebSocket be opened");
                break;
        case VERDICT_QUERY_KEY:
                puts_to(&o, "the query's key \"");
                key_of(&o, r, v);
                puts_to(&o, "\" is not one of those of ");
                rule_at(&o, t, v->rule);
                break;
        case VERDICT_QUERY_VALUE:
                puts_to(&o, "the value of the query's key \"");
                key_of(&o, r, v);
                puts_to(&o, "\" does not fit the pattern of ");
                rule_at(&o, t, v->rule);
                break;
        case VERDICT_HEADERS:
                number(&o, r->n_headers);
                puts_to(&o, " headers of ");
                number(&o, r->header_bytes);
                puts_to(&o, " bytes are more than ");
                rule_at(&o, t, v->rule);
                puts_to(&o, " lets pass");
                break;
        case VERDICT_BODY:
                if (r->body_bytes == UINT64_MAX)
                        puts_to(&o, "a body");
                else {
                        puts_to(&o, "a body of ");
                        number(&o, r->body_bytes);
                        puts_to(&o, " bytes");
                }
                puts_to(&o, " is more than ");
                rule_at(&o, t, v->rule);
                puts_to(&o, " lets pass");
                break;
        case VERDICT_SHAPE:
                puts_to(&o, "path or query look like ");
                puts_to(&o, shape_name(v->detail));
                puts_to(&o, ", which ");
                rule_at(&o, t, v->rule);
                puts_to(&o, " refuses");
                break;
        case VERDICT_MODEL:
                if (r->model.n > 0) {
                        puts_to(&o, "the model ");
                        brief(&o, r->model);
                        puts_to(&o, " is not one of those of ");
                } else {
                        puts_to(&o, r->no_model ? r->no_model : "the body names no model");
                        puts_to(&o, ", and a model is asked for by ");
                }
                rule_at(&o, t, v->rule);
                puts_to(&o, " (");
                models_of(&o, t, v->rule);
                puts_to(&o, ")");
                break;
        case VERDICT_ADDRESS:
                if (destination(t, v)) {
                        puts_to(&o, "the address of ");
                        puts_to(&o, destination(t, v));
                        puts_to(&o, " is not a public one, and ");
                        rule_at(&o, t, v->rule);
                        puts_to(&o, " does not open it");
                        break;
                }
                if (!r->is_address)
                        puts_to(&o, "the address of ");
                put(&o, r->host.p, r->host.n);
                puts_to(&o, r->is_address ? " is not a public address, and " : " is not a public one, and ");
                rule_at(&o, t, v->rule);
                puts_to(&o, r->is_address ? " does not mean it by itself" : " does not open it");
                break;
        case VERDICT_BUDGETS:
                puts_to(&o, "more rules with budgets match than can be charged at once");
                break;
        case VERDICT_PROVENANCE:
                puts_to(&o, "neither the user nor the policy nor an earlier response gave this URL (");
                number(&o, v->detail);
                puts_to(&o, " bits of it are new), and ");
                rule_at(&o, t, v->rule);
                puts_to(&o, " lets only such pass");
                break;
        case VERDICT_N:
                break;
        }
        return dst;
}

/* A pattern of just this text, within the double quotes of YAML. */
static void quoted(struct out *o, const char *p, size_t n) {
        for (size_t i = 0; i < n; i++) {
                /* Escapes of patterns, not of YAML: the text may be made visible, which doubles a backslash. */
                switch (p[i]) {
                case '*': puts_to(o, "%2A"); break;
                case '%': puts_to(o, "%25"); break;
                case '"': puts_to(o, "%22"); break;
                case '\\': puts_to(o, "%5C"); break;
                default: put(o, p + i, 1); break;
                }
        }
}

static void query_of(struct out *o, const struct request *r) {
        const char *between = "";

        puts_to(o, ", query: [");
        for (size_t i = 0; i < r->n_query; i++) {
                bool again = false;
                for (size_t k = 0; k < i; k++)
                        again |= r->query[k].key.n == r->query[i].key.n &&
                                 memcmp(r->query[k].key.p, r->query[i].key.p, r->query[i].key.n) == 0;
                if (again)
                        continue;
                puts_to(o, between);
                puts_to(o, "\"");
                quoted(o, r->query[i].key.p, r->query[i].key.n);
                puts_to(o, "\"");
                between = ", ";
        }
        puts_to(o, "]");
}

/* The rule that lets this request pass, as it stands in a policy. Beyond the buffer it is of no use: see full. */
static void line_of(struct out *o, const struct request *r) {
        uint16_t usual = r->tls ? 443 : 80;

        puts_to(o, "- {host: \"");
        put(o, r->host.p, r->host.n);
        puts_to(o, "\"");
        if (r->port != usual) {
                puts_to(o, ", port: ");
                number(o, r->port);
        }
        puts_to(o, !r->tls ? ", protocol: http" : r->port == 80 ? ", protocol: https" : "");
        puts_to(o, ", methods: [");
        put(o, r->method.p, r->method.n);
        puts_to(o, "], paths: [\"");
        for (size_t i = 0; i < r->n_segments; i++) {
                puts_to(o, "/");
                quoted(o, r->segment[i].p, r->segment[i].n);
        }
        puts_to(o, r->n_segments ? "\"]" : "/**\"]");
        if (r->n_query)
                query_of(o, r);
        if (r->websocket)
                puts_to(o, ", websocket: true");
        if (r->has_body && r->body_bytes) {
                puts_to(o, ", body: ");
                if (r->body_bytes == UINT64_MAX)
                        puts_to(o, "1GiB");
                else
                        number(o, r->body_bytes);
        }
        if (r->n_headers > 64 || r->header_bytes > 16384) {
                puts_to(o, ", headers: {count: ");
                number(o, MAX(r->n_headers, (size_t)64));
                puts_to(o, ", bytes: ");
                number(o, MAX(r->header_bytes, (size_t)16384));
                puts_to(o, "}");
        }
        puts_to(o, "}");
}

static void flag_of(struct out *o, const struct request *r) {
        puts_to(o, "--allow ");
        if (r->port == 443 && !r->is_address)
                put(o, r->host.p, r->host.n);
        else
                place(o, r);
}

static void take_out(struct out *o, const struct table *t, const struct verdict *v) {
        struct table_rule_info u;

        if (!table_rule(t, v->rule, &u))
                return;
        if (u.line == 0) {
                puts_to(o, "leave --deny ");
                puts_to(o, u.host);
                puts_to(o, " out");
                return;
        }
        puts_to(o, "take out ");
        rule_at(o, t, v->rule);
        puts_to(o, ": no rule that allows outweighs it");
}

/* The URL as --given takes it, or bits for it. */
static void given_of(struct out *o, const struct table *t, const struct request *r, const struct verdict *v) {
        char url[WHY_TEXT];
        ssize_t n = provenance_text(r, url, sizeof(url));

        if (n > 0 && (size_t)n < WHY_TEXT / 2) {
                puts_to(o, "--given '");
                for (ssize_t i = 0; i < n; i++) /* of a shell's own signs a URL has only this one */
                        if (url[i] == '\'')
                                puts_to(o, "%27");
                        else
                                put(o, url + i, 1);
                puts_to(o, "', or ");
        }
        puts_to(o, "budget: {novel: ");
        number(o, v->detail);
        puts_to(o, "} in ");
        rule_at(o, t, v->rule);
}

const char *why_fix(const struct table *t, const struct request *r, const struct verdict *v, char dst[WHY_TEXT]) {
        struct out o = begin(dst);

        switch (v->reason) {
        case VERDICT_ALLOWED:
        case VERDICT_N:
                return dst;
        case VERDICT_DENIED:
                take_out(&o, t, v);
                return dst;
        case VERDICT_UNREAD:
                puts_to(&o, "take the keys that look at requests out of the rules for ");
                place(&o, r);
                puts_to(&o, ", or have it speak HTTP");
                return dst;
        case VERDICT_SHAPE:
                puts_to(&o, "take ");
                puts_to(&o, shape_name(v->detail));
                puts_to(&o, " out of shapes of ");
                rule_at(&o, t, v->rule);
                return dst;
        case VERDICT_MODEL:
                if (r->model.n == 0) /* nothing in the policy makes up for that */
                        return dst;
                puts_to(&o, "add \"");
                quoted(&o, r->model.p, r->model.n);
                puts_to(&o, "\" to models of ");
                rule_at(&o, t, v->rule);
                return dst;
        case VERDICT_BUDGETS:
                puts_to(&o, "write fewer rules with budgets that match the same requests");
                return dst;
        case VERDICT_PROVENANCE:
                given_of(&o, t, r, v);
                return dst;
        case VERDICT_ADDRESS:
                if (!r->is_address) { /* a flag cannot say it */
                        puts_to(&o, "name the range that its address lies in under addresses: of a rule for ");
                        place(&o, r);
                        return dst;
                }
                __attribute__((fallthrough));
        case VERDICT_HOST:
        case VERDICT_RELAY:
        case VERDICT_PORT:
                flag_of(&o, r);
                if (r->layer == REQUEST_L4)
                        return dst;
                puts_to(&o, " (unread), or under network: ");
                break;
        default:
                puts_to(&o, "add under network: ");
                break;
        }
        size_t n = o.n;
        line_of(&o, r);
        if (!o.full)
                return dst;
        o.n = n;
        o.full = false;
        puts_to(&o, "a rule for ");
        place(&o, r);
        puts_to(&o, " with this method, path and query");
        return dst;
}

static void rule_json(struct json *j, const char *key, const struct table *t, uint32_t rule) {
        struct table_rule_info u;
        char text[WHY_TEXT];

        if (!table_rule(t, rule, &u)) {
                json_str(j, key, NULL);
                return;
        }
        json_begin(j, key, '{');
        json_num(j, "index", rule);
        json_bool(j, "deny", u.deny);
        json_str(j, "host", u.host);
        json_str(j, "place", why_place(t, rule, text));
        if (u.line)
                json_num(j, "line", u.line);
        else
                json_str(j, "line", NULL);
        json_str(j, "preset", u.is_preset ? u.source : NULL);
        json_end(j, '}');
}

uint64_t why_novel(const struct table *t, const struct request *r) {
        char url[PROVENANCE_TEXT_MAX];
        ssize_t n = provenance_text(r, url, sizeof(url));
        uint64_t least = n < 0 ? UINT64_MAX : provenance_bits((size_t)n, 0);
        const char *given;

        for (size_t i = 0; n >= 0 && (given = table_given(t, i)); i++) {
                uint64_t bits = provenance_bits_beyond(url, (size_t)n, given, strlen(given));
                least = MIN(least, bits);
        }
        return least;
}

void why_json(struct json *j, const char *key, const struct table *t, const struct request *r, const struct verdict *v) {
        static const char *const access[] = {"refused", "tcp", "tls", "read"};
        char text[WHY_TEXT];

        json_begin(j, key, '{');
        json_str(j, "request", why_request(r, text));
        json_bool(j, "allowed", v->allowed);
        json_str(j, "access", access[v->access]);
        json_str(j, "reason", why_word(v->reason));
        json_str(j, "why", why_reason(t, r, v, text));
        json_str(j, "fix", why_fix(t, r, v, text)[0] ? text : NULL);
        json_bool(j, "quiet", v->quiet);
        rule_json(j, "rule", t, v->rule);
        json_begin(j, "rules", '[');
        for (size_t i = 0; i < v->n_matched; i++)
                rule_json(j, NULL, t, v->matched[i]);
        json_end(j, ']');
        json_str(j, "secret", v->secret == TABLE_NONE ? NULL : table_secret_name(t, v->secret));
        json_str(j, "to", destination(t, v));
        json_begin(j, "models", '[');
        for (size_t i = 0; v->models && i < v->n_matched; i++) {
                const char *m;
                for (size_t k = 0; (m = table_model(t, v->matched[i], k)); k++)
                        json_str(j, NULL, m);
        }
        json_end(j, ']');
        json_bool(j, "provenance", v->provenance);
        if (v->provenance)
                json_num(j, "novel", (long long)MIN(why_novel(t, r), INT64_MAX));
        json_num(j, "budgets", (long long)v->n_budgets);
        json_end(j, '}');
}
