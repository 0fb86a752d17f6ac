/* Rules of the network as text and as JSON, for policy-print.c. */
#include <stdio.h>

#include "model/network.h"
#include "model/network-print.h"

static void size(struct strbuf *b, const char *name, uint64_t v, bool bytes) {
        char text[32];

        if (v == UINT64_MAX)
                return;
        if (bytes)
                strbuf_printf(b, "%s%s", name, format_size(text, sizeof(text), v));
        else
                strbuf_printf(b, "%s%llu", name, (unsigned long long)v);
}

static void budget_text(struct strbuf *b, const struct network_budget *g) {
        size(b, ", up ", g->up, true);
        size(b, ", down ", g->down, true);
        size(b, ", requests ", g->requests, false);
        size(b, ", url ", g->url, true);
        size(b, ", hosts ", g->hosts, false);
        size(b, ", subdomains ", g->subdomains, false);
        size(b, ", novel ", g->novel, false);
}

static void visible(struct strbuf *b, const char *s) {
        _cleanup_free_ char *v = str_visible_dup(s);

        if (!v)
                b->failed = true;
        else
                strbuf_puts(b, v);
}

static void list(struct strbuf *b, const char *name, const struct strlist *l) {
        for (size_t i = 0; i < l->n; i++) {
                strbuf_puts(b, i ? " " : name);
                visible(b, l->items[i]);
        }
}

static void protocols(struct strbuf *b, const struct network_rule *r) {
        if ((r->protocols & NETWORK_READ) == NETWORK_READ) {
                strbuf_puts(b, r->protocols & NETWORK_UNREAD ? "" : " http or https");
                return;
        }
        for (size_t i = 0; network_protocol_names[i]; i++)
                if (r->protocols >> i & 1)
                        strbuf_printf(b, " %s", network_protocol_names[i]);
        if (r->protocols & NETWORK_UNREAD)
                strbuf_puts(b, " (unread)");
}

static void rule_text(struct strbuf *b, const struct network_rule *r) {
        _cleanup_free_ char *host = network_host_text(r);

        strbuf_printf(b, "%-11s", r->quiet ? "quiet" : r->deny ? "deny" : "allow");
        visible(b, host ?: "");
        for (size_t i = 0; i < r->n_ports; i++)
                if (r->ports[i].first == r->ports[i].last)
                        strbuf_printf(b, "%c%u", i ? ',' : ':', r->ports[i].first);
                else
                        strbuf_printf(b, "%c%u-%u", i ? ',' : ':', r->ports[i].first, r->ports[i].last);
        protocols(b, r);
        list(b, ", ", &r->methods);
        list(b, ", ", &r->paths);
        if (r->any_query)
                strbuf_puts(b, ", any query");
        for (size_t i = 0; i < r->n_query; i++) {
                strbuf_puts(b, i ? " " : ", query ");
                visible(b, r->query[i].key);
                if (r->query[i].value) {
                        strbuf_puts(b, "=");
                        visible(b, r->query[i].value);
                }
        }
        if (r->body_written)
                size(b, ", body ", r->body, true);
        for (size_t i = 0, n = 0; network_shape_names[i]; i++)
                if (r->shapes >> i & 1)
                        strbuf_printf(b, "%s%s", n++ ? " " : r->deny ? ", with " : ", without ", network_shape_names[i]);
        strbuf_puts(b, r->websocket ? ", websocket" : "");
        strbuf_puts(b, r->provenance ? ", provenance" : "");
        for (size_t i = 0; i < r->n_addresses; i++) {
                _cleanup_free_ char *range = network_range_text(&r->addresses[i]);
                strbuf_printf(b, "%s%s", i ? " " : ", at ", range ?: "");
        }
        if (r->secret)
                strbuf_printf(b, ", secret %s", r->secret);
        list(b, ", models ", &r->models);
        if (r->to)
                strbuf_printf(b, ", to %s", r->to);
}

void network_text(struct strbuf *b, const struct network *n) {
        for (size_t i = 0; i < n->n_rules; i++) {
                const struct network_rule *r = &n->rules[i];
                rule_text(b, r);
                if (r->budget != SIZE_MAX)
                        budget_text(b, &n->budgets[r->budget]);
                if (r->preset)
                        strbuf_printf(b, " (%s)", r->preset);
                strbuf_puts(b, "\n");
        }
        if (n->has_run && memcmp(&n->run, &NETWORK_NO_BUDGET, sizeof(n->run)) != 0) {
                struct strbuf g = {};
                budget_text(&g, &n->run);
                _cleanup_free_ char *text = strbuf_take(&g);
                strbuf_printf(b, "%-11s%s\n", "budget", text && text[0] ? text + 2 : "");
        }
        for (size_t i = 0; i < n->given.n; i++) {
                strbuf_printf(b, "%-11s", "given");
                visible(b, n->given.items[i]);
                strbuf_puts(b, "\n");
        }
        for (size_t i = 0; i < n->n_secrets; i++) {
                _cleanup_free_ char *text = secret_text(&n->secrets[i]);
                strbuf_printf(b, "%-11s%s\n", "secret", text ? text : "?");
        }
}

static void amount(struct json *j, const char *key, uint64_t v) {
        if (v == UINT64_MAX)
                json_str(j, key, NULL);
        else
                json_num(j, key, (long long)v);
}

static void budget_json(struct json *j, const struct network_budget *g) {
        json_begin(j, "budget", '{');
        amount(j, "up", g->up);
        amount(j, "down", g->down);
        amount(j, "requests", g->requests);
        amount(j, "url", g->url);
        amount(j, "hosts", g->hosts);
        amount(j, "subdomains", g->subdomains);
        amount(j, "novel", g->novel);
        json_end(j, '}');
}

static void query_json(struct json *j, const struct network_rule *r) {
        if (r->any_query) {
                json_str(j, "query", "*");
                return;
        }
        json_begin(j, "query", '{');
        for (size_t i = 0; i < r->n_query; i++)
                json_str(j, r->query[i].key, r->query[i].value);
        json_end(j, '}');
}

static void rule_json(struct json *j, const struct network *n, const struct network_rule *r) {
        _cleanup_free_ char *host = network_host_text(r);
        const struct network_budget none = NETWORK_NO_BUDGET;
        char text[16];

        json_begin(j, NULL, '{');
        json_bool(j, "deny", r->deny);
        json_bool(j, "quiet", r->quiet);
        json_str(j, "host", host);
        json_begin(j, "port", '[');
        for (size_t i = 0; i < r->n_ports; i++) {
                snprintf(text, sizeof(text), r->ports[i].first == r->ports[i].last ? "%u" : "%u-%u", r->ports[i].first,
                         r->ports[i].last);
                json_str(j, NULL, text);
        }
        json_end(j, ']');
        json_begin(j, "protocol", '[');
        for (size_t i = 0; network_protocol_names[i]; i++)
                if (r->protocols >> i & 1)
                        json_str(j, NULL, network_protocol_names[i]);
        json_end(j, ']');
        json_list(j, "methods", &r->methods);
        json_list(j, "paths", &r->paths);
        query_json(j, r);
        json_begin(j, "headers", '{');
        json_num(j, "count", r->headers);
        json_num(j, "bytes", (long long)r->header_bytes);
        json_end(j, '}');
        amount(j, "body", r->body_written ? r->body : UINT64_MAX);
        json_begin(j, "shapes", '[');
        for (size_t i = 0; network_shape_names[i]; i++)
                if (r->shapes >> i & 1)
                        json_str(j, NULL, network_shape_names[i]);
        json_end(j, ']');
        json_bool(j, "websocket", r->websocket);
        budget_json(j, r->budget == SIZE_MAX ? &none : &n->budgets[r->budget]);
        json_bool(j, "provenance", r->provenance);
        json_begin(j, "addresses", '[');
        for (size_t i = 0; i < r->n_addresses; i++) {
                _cleanup_free_ char *range = network_range_text(&r->addresses[i]);
                json_str(j, NULL, range);
        }
        json_end(j, ']');
        json_str(j, "secret", r->secret);
        json_list(j, "models", &r->models);
        json_str(j, "to", r->to);
        json_str(j, "use", r->preset);
        json_num(j, "line", r->line);
        json_end(j, '}');
}

void network_json(struct json *j, const struct network *n) {
        const struct network_budget none = NETWORK_NO_BUDGET;

        json_begin(j, "network", '[');
        for (size_t i = 0; i < n->n_rules; i++)
                if (!n->rules[i].quiet || n->rules[i].paths.n || n->rules[i].methods.n)
                        rule_json(j, n, &n->rules[i]);
        json_end(j, ']');
        json_begin(j, "quiet", '[');
        for (size_t i = 0; i < n->n_rules; i++) {
                _cleanup_free_ char *host = n->rules[i].quiet ? network_host_text(&n->rules[i]) : NULL;
                if (host)
                        json_str(j, NULL, host);
        }
        json_end(j, ']');
        budget_json(j, n->has_run ? &n->run : &none);
        json_list(j, "given", &n->given);
        json_begin(j, "secrets", '[');
        for (size_t i = 0; i < n->n_secrets; i++)
                secret_json(j, &n->secrets[i]);
        json_end(j, ']');
}
