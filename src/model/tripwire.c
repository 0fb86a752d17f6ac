/* See tripwire.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/sha256.h"
#include "base/str.h"
#include "model/tripwire.h"

const char *const trip_on_names[TRIP_NAMES + 1] = {"denied", "rerouted", "placeholder", "budget", "payload", "exec", "guarded", "canary", "limit", "lost", NULL};
const char *const trip_do_names[TRIP_DO_N + 2] = {"warn", "cut", "hold", "kill", "off", NULL};

#define MINUTE 60000u

/* Chosen so that ordinary work does not ring: tests/integration/tripwire-quiet. Tools try one or two hosts of their own telemetry, over and
 * over; nothing tries twenty different places within a minute but what is looking for a way out. Placeholders get into requests by
 * accident where an agent prints its environment; the same agent says it again to its model a few times. */
const struct trip_wire trip_defaults[] = {
        {.on = TRIP_REROUTED, .count = 1, .within = 5 * MINUTE, .act = TRIP_KILL, .is_default = true},
        {.on = TRIP_DENIED, .count = 20, .within = MINUTE, .act = TRIP_KILL, .distinct = true, .is_default = true},
        {.on = TRIP_PLACEHOLDER, .count = 10, .within = MINUTE, .act = TRIP_KILL, .is_default = true},
        {.on = TRIP_PAYLOAD, .count = 5, .within = MINUTE, .act = TRIP_KILL, .is_default = true},
};
const size_t trip_n_defaults = ELEMENTSOF(trip_defaults);

char *trip_wire_text(const struct trip_wire *w, char text[TRIP_TEXT_MAX]) {
        char within[32];

        snprintf(text, TRIP_TEXT_MAX, "%s, %u %swithin %s: %s%s", trip_on_names[w->on], w->count, w->distinct ? "different " : "",
                 format_duration(within, sizeof(within), w->within), trip_do_names[w->act], w->is_default ? " (default)" : "");
        return text;
}

void trip_json(struct json *j, const struct trip_wire *wires, size_t n) {
        json_begin(j, "tripwires", '[');
        for (size_t i = 0; i < n; i++) {
                json_begin(j, NULL, '{');
                json_str(j, "on", trip_on_names[wires[i].on]);
                json_num(j, "count", wires[i].count);
                json_num(j, "within", (long long)wires[i].within);
                json_bool(j, "distinct", wires[i].distinct);
                json_str(j, "do", trip_do_names[wires[i].act]);
                json_bool(j, "default", wires[i].is_default);
                json_end(j, '}');
        }
        json_end(j, ']');
}

void tripwires_init(struct tripwires *t, const struct trip_wire *wires, size_t n) {
        t->wires = wires;
        t->n = MIN(n, (size_t)TRIP_WIRES_MAX);
}

bool tripwires_look_at(const struct tripwires *t, enum trip_on on) {
        for (size_t i = 0; i < t->n; i++)
                if (t->wires[i].on == on)
                        return true;
        return false;
}

/* Names come from the sandbox: with a hash that it can make collide, twenty of them could count as one. */
static uint64_t key_of(const char *goal) {
        uint8_t hash[SHA256_SIZE];
        uint64_t key;

        sha256(goal, strlen(goal), hash);
        memcpy(&key, hash, sizeof(key));
        return key;
}

/* Takes the oldest place, or that of the same goal where it counts once; how many lie within the time then. */
static uint32_t mark(struct trip_mark *marks, const struct trip_wire *w, uint64_t key, uint64_t now) {
        const uint32_t size = MIN(w->count, (uint32_t)TRIP_COUNT_MAX);
        uint32_t oldest = 0, n = 0;

        for (uint32_t i = 0; i < size; i++) {
                if (w->distinct && marks[i].at && marks[i].key == key) {
                        oldest = i;
                        break;
                }
                if (marks[i].at < marks[oldest].at)
                        oldest = i;
        }
        marks[oldest] = (struct trip_mark){now, key};
        for (uint32_t i = 0; i < size; i++)
                n += marks[i].at && now - marks[i].at < w->within;
        return n;
}

const struct trip_wire *tripwires_note(struct tripwires *t, enum trip_on on, const char *goal, uint64_t now) {
        const struct trip_wire *rings = NULL;
        const uint64_t key = key_of(goal);
        struct trip_mark *last = &t->last[on];

        if (last->at && last->key == key && now - last->at < TRIP_SAME_MS)
                return NULL;
        *last = (struct trip_mark){now, key};
        for (size_t i = 0; i < t->n; i++) {
                const struct trip_wire *w = &t->wires[i];
                if (w->on != on)
                        continue;
                if (mark(t->marks[i], w, key, now) < MIN(w->count, (uint32_t)TRIP_COUNT_MAX))
                        continue;
                memset(t->marks[i], 0, sizeof(t->marks[i]));
                if (!rings || w->act > rings->act)
                        rings = w;
        }
        return rings;
}

/* How long a refused goal is remembered: as the most patient wire asks; 0: no wire does. */
static uint64_t memory_of(const struct tripwires *t) {
        uint64_t within = 0;

        for (size_t i = 0; i < t->n; i++)
                if (t->wires[i].on == TRIP_REROUTED)
                        within = MAX(within, t->wires[i].within);
        return within;
}

void tripwires_refused(struct tripwires *t, const char *goal, bool address, uint64_t now) {
        struct trip_goal *to = &t->goals[0];
        size_t n = strlen(goal);

        if (n == 0 || n >= sizeof(to->text) || memory_of(t) == 0)
                return;
        for (size_t i = 0; i < ELEMENTSOF(t->goals); i++) {
                struct trip_goal *g = &t->goals[i];
                if (g->at && strcasecmp(g->text, goal) == 0) {
                        g->at = now;
                        return;
                }
                if (g->at < to->at)
                        to = g;
        }
        to->at = now;
        to->address = address;
        for (size_t i = 0; i <= n; i++)
                to->text[i] = goal[i] >= 'A' && goal[i] <= 'Z' ? (char)(goal[i] + 32) : goal[i];
}

static bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.'; }

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1; }

/* Undoes percent-encoding once; dst has room for n. */
static size_t decode(char *dst, const char *text, size_t n) {
        size_t k = 0;

        for (size_t i = 0; i < n; i++) {
                if (text[i] == '%' && i + 2 < n && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
                        dst[k++] = (char)(hex(text[i + 1]) << 4 | hex(text[i + 2]));
                        i += 2;
                } else
                        dst[k++] = text[i];
        }
        return k;
}

/* What stands before `at` says that a place to be reached follows: "//", a query's value, or a name and password. */
static bool is_introduced(const char *text, size_t at, enum trip_proof proof) {
        const char c = at > 0 ? text[at - 1] : 0;

        if (c == '/' && at > 1 && text[at - 2] == '/')
                return true;
        return proof >= TRIP_AS_PLACE && (at == 0 || c == '=' || c == '@' || (proof == TRIP_AS_WORD && !is_word(c)));
}

static bool names(const char *text, size_t n, const char *goal, enum trip_proof proof) {
        const size_t len = strlen(goal);

        for (size_t i = 0; len > 0 && i + len <= n; i++) {
                if (strncasecmp(text + i, goal, len) != 0 || !is_introduced(text, i, proof))
                        continue;
                const char *after = text + i + len;
                /* A full stop may end a name; more of a name behind it makes it another one. */
                const size_t left = n - i - len;
                if (left == 0 || !is_word(*after) || (*after == '.' && (left == 1 || !is_word(after[1]))))
                        return true;
        }
        return false;
}

bool trip_leads_to(const char *text, size_t n, const char *goal, enum trip_proof proof) {
        char plain[1024];

        n = MIN(n, sizeof(plain));
        if (names(text, n, goal, proof))
                return true;
        for (int times = 0; times < 2; times++) {
                if (!memchr(text, '%', n))
                        return false;
                n = decode(plain, text, n);
                text = plain;
                if (names(text, n, goal, proof))
                        return true;
        }
        return false;
}

/* "evil-com.relay.example" and "evil.com.relay.example": the goal is a label of the relay's, or several. */
static bool is_label_of(const char *host, const char *goal) {
        const size_t len = strlen(goal);

        if (strlen(host) <= len || host[len] != '.')
                return false;
        for (size_t i = 0; i < len; i++) {
                const char h = host[i] >= 'A' && host[i] <= 'Z' ? (char)(host[i] + 32) : host[i];
                if (h != goal[i] && !(h == '-' && goal[i] == '.'))
                        return false;
        }
        return true;
}

const char *tripwires_way(const struct tripwires *t, const char *host, bool address, const char *target, bool fetches, bool allowed, uint64_t now) {
        const uint64_t within = memory_of(t);
        const char *url = strchr(target, ' ');
        const char *way = NULL;

        url = url ? url + 1 : target;
        for (size_t i = 0; i < ELEMENTSOF(t->goals); i++) {
                const struct trip_goal *g = &t->goals[i];
                if (!g->at || now - g->at >= within)
                        continue;
                if (strcasecmp(g->text, host) == 0)
                        return NULL; /* the same once more, whatever its URL says */
                /* By a literal address, after a name was refused, for which none was ever given out; by a host that fetches; by what the request itself says. */
                if (trip_leads_to(url, strlen(url), g->text, fetches ? TRIP_AS_WORD : allowed ? TRIP_AS_URL : TRIP_AS_PLACE) ||
                    (!allowed && ((address && !g->address) || fetches || (!address && is_label_of(host, g->text)))))
                        way = g->text;
        }
        return way;
}

bool trip_fetches(const char *host) {
        for (const char *p = host; p; p = strchr(p, '.'), p += p != NULL) {
                for (size_t i = 0; trip_fetchers[i]; i++)
                        if (strcasecmp(p, trip_fetchers[i]) == 0)
                                return true;
        }
        return false;
}
