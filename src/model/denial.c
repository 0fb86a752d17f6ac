/* See denial.h. */
#include <stdio.h>
#include <string.h>

#include "model/denial.h"

const char *denial_reason(enum verdict_reason reason) {
        static const char *const texts[VERDICT_N] = {
                [VERDICT_ALLOWED] = "allowed",
                [VERDICT_HOST] = "no rule names the host",
                [VERDICT_RELAY] = "the host carries data on to others, and no wildcard opens it",
                [VERDICT_PORT] = "no rule names this port of the host",
                [VERDICT_DENIED] = "a rule denies it",
                [VERDICT_UNREAD] = "the host's rules look at requests, and this is none that can be read",
                [VERDICT_PROTOCOL] = "the host's rules are for another protocol",
                [VERDICT_PATH] = "no rule of the host names this path",
                [VERDICT_METHOD] = "no rule names this method for the path",
                [VERDICT_WEBSOCKET] = "no rule allows a WebSocket here",
                [VERDICT_QUERY_KEY] = "a key of the query is on no rule's list",
                [VERDICT_QUERY_VALUE] = "a value of the query does not fit its rule",
                [VERDICT_HEADERS] = "it has more header fields than its rule allows",
                [VERDICT_BODY] = "it has a body, or a longer one, where its rule allows none",
                [VERDICT_SHAPE] = "it has the form of an attack that its rule refuses",
                [VERDICT_ADDRESS] = "the name stands for an address that is not public, and no rule opens it (addresses:)",
                [VERDICT_BUDGETS] = "more rules with budgets match than can be charged",
        };
        return reason < VERDICT_N && texts[reason] ? texts[reason] : "refused";
}

const char *denial_spent(const char *budget) {
        static const struct {
                const char *name, *text;
        } texts[] = {
                {"up", "the budget of bytes sent is used up"},
                {"down", "the budget of bytes received is used up"},
                {"requests", "the budget of requests is used up"},
                {"url", "the budget of bytes in paths and queries is used up"},
                {"hosts", "the budget of distinct hosts is used up"},
                {"subdomains", "the budget of distinct names under a wildcard is used up"},
        };
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (strcmp(texts[i].name, budget) == 0)
                        return texts[i].text;
        return "a budget is used up";
}

struct pen {
        char *p;
        size_t n, size;
};

static void put(struct pen *w, char c) {
        if (w->n + 1 < w->size)
                w->p[w->n++] = c;
}

static void put_text(struct pen *w, const char *s) {
        while (*s)
                put(w, *s++);
}

/* Room is left for what has to follow. Bytes that are not printable ASCII are written as escapes. */
static void put_string(struct pen *w, const char *s, size_t leave) {
        static const char hex[] = "0123456789abcdef";

        put(w, '"');
        for (; *s && w->n + 8 + leave < w->size; s++) {
                unsigned char c = (unsigned char)*s;
                if (c == '"' || c == '\\') {
                        put(w, '\\');
                        put(w, (char)c);
                } else if (c >= 0x20 && c < 0x7f)
                        put(w, (char)c);
                else {
                        put_text(w, "\\u00");
                        put(w, hex[c >> 4]);
                        put(w, hex[c & 15]);
                }
        }
        put(w, '"');
}

size_t denial_json(char *buf, size_t size, const char *rule, const char *reason, const char *fix) {
        struct pen w = {buf, 0, size};

        put_text(&w, "{\"denied_by\":");
        if (rule && rule[0])
                put_string(&w, rule, size / 2);
        else
                put_text(&w, "null");
        put_text(&w, ",\"reason\":");
        put_string(&w, reason, size / 4);
        put_text(&w, ",\"fix\":");
        put_string(&w, fix, 4);
        put_text(&w, "}\n");
        buf[w.n] = 0;
        return w.n;
}

void denial_rule(char *buf, size_t size, const struct table *t, uint32_t rule) {
        struct table_rule_info info;

        buf[0] = 0;
        if (rule == TABLE_NONE || !table_rule(t, rule, &info))
                return;
        if (!info.source)
                snprintf(buf, size, "%s %s", info.deny ? "--deny" : "--allow", info.host);
        else if (info.is_preset && info.line > 0)
                snprintf(buf, size, "%s (line %u)", info.source, info.line);
        else
                snprintf(buf, size, "%s:%u", info.source, info.line);
}

void denial_fix(char *buf, size_t size, const struct request *r, const struct verdict *v) {
        int host = (int)r->host.n;
        bool v6 = r->is_address && memchr(r->host.p, ':', r->host.n);

        buf[0] = 0;
        switch (v->reason) {
        case VERDICT_HOST:
        case VERDICT_RELAY:
        case VERDICT_PORT:
                snprintf(buf, size, "--allow %s%.*s%s:%u", v6 ? "[" : "", host, r->host.p, v6 ? "]" : "", r->port);
                break;
        case VERDICT_METHOD:
                snprintf(buf, size, "network: a rule for %.*s with methods: [%.*s]", host, r->host.p, (int)MIN(r->method.n, 32u), r->method.p);
                break;
        case VERDICT_PATH:
                snprintf(buf, size, "network: a rule for %.*s whose paths: name it", host, r->host.p);
                break;
        case VERDICT_QUERY_KEY:
        case VERDICT_QUERY_VALUE:
                if (v->detail < r->n_query)
                        snprintf(buf, size, "network: query: [%.*s] in the rule for %.*s", (int)MIN(r->query[v->detail].key.n, 64u),
                                 r->query[v->detail].key.p, host, r->host.p);
                break;
        case VERDICT_WEBSOCKET:
                snprintf(buf, size, "network: websocket: true in the rule for %.*s", host, r->host.p);
                break;
        case VERDICT_BODY:
                snprintf(buf, size, "network: body: in the rule for %.*s", host, r->host.p);
                break;
        case VERDICT_ADDRESS:
                snprintf(buf, size, "network: addresses: in the rule for %.*s", host, r->host.p);
                break;
        default:
                break;
        }
}
