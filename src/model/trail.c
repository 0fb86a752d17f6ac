/* Writing the trail; see trail.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/net.h"
#include "base/utf8.h"
#include "model/trail.h"
#include "model/why.h"

#define SECOND 1000000000ull

static const char *const sources[EVENT_BY_N] = {"supervisor", "gate", "broker", "tracer", "user"};
static const char *const fields[EVENT_F_N] = {"pid", "parent", "path", "argv", "cwd", "exe", "host", "text", "why", "name"};

bool trail_floods(uint32_t kind) { return kind >= EVENT_EXEC && kind <= EVENT_SECRET; }

static void hex(char *dst, const uint8_t *data, size_t n) {
        static const char digits[] = "0123456789abcdef";

        for (size_t i = 0; i < n; i++) {
                dst[2 * i] = digits[data[i] >> 4];
                dst[2 * i + 1] = digits[data[i] & 15];
        }
        dst[2 * n] = 0;
}

/* RFC 3339, UTC, to the nanosecond: always as long. */
static void time_text(char dst[32], uint64_t ns) {
        time_t t = (time_t)(ns / SECOND);
        struct tm tm = {};

        (void)gmtime_r(&t, &tm);
        snprintf(dst, 32, "%04u-%02u-%02uT%02u:%02u:%02u.%09uZ", (unsigned)(tm.tm_year + 1900) % 10000u, (unsigned)(tm.tm_mon + 1) % 100u, (unsigned)tm.tm_mday % 100u,
                 (unsigned)tm.tm_hour % 100u, (unsigned)tm.tm_min % 100u, (unsigned)tm.tm_sec % 100u, (unsigned)(ns % SECOND));
}

/* As text, and where bytes of it are no text, these as well. */
static void exact(struct json *j, const char *key, const char *hex_key, const char *value) {
        if (!value[0])
                return;
        json_str(j, key, value);
        json_hex_if_needed(j, hex_key, value);
}

static void list_fields(struct json *j, const char *key, uint32_t bits) {
        if (!bits)
                return;
        json_begin(j, key, '[');
        for (unsigned i = 0; i < EVENT_F_N; i++)
                if (bits >> i & 1)
                        json_str(j, NULL, fields[i]);
        json_end(j, ']');
}

static void arguments(struct json *j, const struct event *ev) {
        const char *p = ev->argv, *end = ev->argv + sizeof(ev->argv);
        bool text = true;

        json_begin(j, "argv", '[');
        for (uint32_t i = 0; i < ev->n_argv && p < end; i++) {
                size_t n = strnlen(p, (size_t)(end - p));
                if (n == (size_t)(end - p))
                        break;
                json_str(j, NULL, p);
                for (size_t k = 0, m = 0; text && k < n; k += m) {
                        uint32_t cp;
                        m = utf8_decode(p + k, n - k, &cp);
                        text = m > 0;
                }
                p += n + 1;
        }
        json_end(j, ']');
        if (text)
                return;
        char bytes[2 * EVENT_ARGV_MAX + 1]; /* with the NULs between them */
        hex(bytes, (const uint8_t *)ev->argv, (size_t)(p - ev->argv));
        json_str(j, "argv_hex", bytes);
}

static void place(struct json *j, const struct event *ev) {
        static const uint8_t none[16];
        char text[INET6_ADDRSTRLEN];
        bool v4 = net_is_mapped(ev->address);

        exact(j, "host", "host_hex", ev->host);
        if (memcmp(ev->address, none, sizeof(none)) != 0)
                json_str(j, "address", inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? ev->address + 12 : ev->address, text, sizeof(text)));
        if (ev->port)
                json_num(j, "port", ev->port);
        if (ev->rule != EVENT_NO_RULE)
                json_num(j, "rule", ev->rule);
}

static void bytes(struct json *j, const struct event *ev) {
        json_num(j, "up", (long long)MIN(ev->up, INT64_MAX));
        json_num(j, "down", (long long)MIN(ev->down, INT64_MAX));
}

static const char *what_name(uint32_t what) {
        static const char *const names[] = {[NET_DNS] = "dns", [NET_TCP] = "tcp", [NET_UDP] = "udp", [NET_TLS] = "tls", [NET_HTTP] = "http", [NET_CALL] = "call"};
        return what < ELEMENTSOF(names) ? names[what] : "?";
}

static void members(struct json *j, const struct event *ev) {
        switch (ev->kind) {
        case EVENT_EXEC:
        case EVENT_EXIT:
        case EVENT_FILE:
                json_num(j, "pid", ev->pid);
                if (ev->kind == EVENT_EXIT) {
                        json_num(j, "status", ev->status);
                        break;
                }
                if (ev->kind == EVENT_EXEC)
                        json_num(j, "parent", ev->parent);
                exact(j, "path", "path_hex", ev->path);
                if (ev->kind == EVENT_EXEC)
                        arguments(j, ev);
                exact(j, "cwd", "cwd_hex", ev->cwd);
                exact(j, "exe", "exe_hex", ev->exe);
                if (ev->ino) {
                        json_num(j, "dev", (long long)MIN(ev->dev, INT64_MAX));
                        json_num(j, "ino", (long long)MIN(ev->ino, INT64_MAX));
                }
                break;
        case EVENT_CONNECTION:
        case EVENT_REQUEST:
                place(j, ev);
                if (ev->kind == EVENT_REQUEST)
                        json_num(j, "response", ev->response);
                bytes(j, ev);
                break;
        case EVENT_REFUSAL:
                json_str(j, "what", what_name(ev->what));
                json_str(j, "reason", why_word((enum verdict_reason)ev->reason));
                place(j, ev);
                json_bool(j, "quiet", ev->quiet);
                break;
        case EVENT_SECRET:
                place(j, ev);
                if (ev->host[0])
                        bytes(j, ev);
                break;
        case EVENT_DNS:
        case EVENT_FAILURE:
        case EVENT_LIMIT:
                place(j, ev);
                break;
        default:
                break;
        }
        exact(j, "name", "name_hex", ev->name);
        exact(j, "text", "text_hex", ev->text);
        exact(j, "why", "why_hex", ev->why);
        if (ev->count)
                json_num(j, "count", (long long)MIN(ev->count, INT64_MAX));
        if (ev->digest[0])
                json_str(j, "digest", ev->digest);
        if (ev->source == EVENT_BY_USER)
                json_num(j, "user", ev->user);
        list_fields(j, "forgeable", ev->forgeable);
        list_fields(j, "cut", ev->cut);
}

static struct json *begin(struct trail *t, const struct event *ev) {
        struct json *j = &t->json;
        char prev[2 * SHA256_SIZE + 1], time[32];

        strbuf_reset(&j->text);
        j->text.max = TRAIL_LINE_MAX;
        j->compact = true;
        j->depth = 0;
        hex(prev, t->prev, sizeof(t->prev));
        time_text(time, ev->wall);
        json_begin(j, NULL, '{');
        json_num(j, "seq", (long long)t->seq + 1);
        json_str(j, "prev", prev);
        json_num(j, "mono", (long long)MIN(ev->mono, INT64_MAX));
        json_str(j, "time", time);
        json_str(j, "kind", event_kind_name(ev->kind));
        json_str(j, "by", ev->source < EVENT_BY_N ? sources[ev->source] : "?");
        return j;
}

static void sign(struct trail *t) {
        struct json *j = &t->json;
        uint8_t message[sizeof(TRAIL_SIGNED_AS) - 1 + SHA256_SIZE], sig[TRAIL_SIG_SIZE];
        char text[2 * TRAIL_SIG_SIZE + 1];

        memcpy(message, TRAIL_SIGNED_AS, sizeof(TRAIL_SIGNED_AS) - 1);
        sha256(j->text.data, j->text.len, message + sizeof(TRAIL_SIGNED_AS) - 1);
        t->sign(t->key, message, sizeof(message), sig);
        hex(text, sig, sizeof(sig));
        json_str(j, "sig", text);
        t->since = 0;
}

/* The trail goes on only where the record is whole: one that did not find room is as if it had not been. */
static int finish(struct trail *t, const struct event *ev, struct strbuf *out) {
        struct json *j = &t->json;
        const size_t before = out->len;

        t->since++;
        if ((ev->kind == EVENT_CHECKPOINT || ev->kind == EVENT_END) && t->sign && !j->text.failed)
                sign(t);
        json_end(j, '}');
        if (j->text.failed)
                return -ENOMEM;
        strbuf_add(out, j->text.data, j->text.len);
        if (out->failed)
                return -ENOMEM;
        sha256(j->text.data, j->text.len - 1, t->prev);
        t->seq++;
        if (trail_floods(ev->kind))
                t->caused += out->len - before;
        return 0;
}

static int plain(struct trail *t, const struct event *ev, struct strbuf *out) {
        members(begin(t, ev), ev);
        return finish(t, ev, out);
}

static int say_lost(struct trail *t, const struct event *now, struct strbuf *out) {
        const struct event ev = {.kind = EVENT_LOST, .mono = now->mono, .wall = now->wall};
        struct json *j = begin(t, &ev);

        json_begin(j, "lost", '{');
        for (uint32_t i = 0; i < EVENT_N; i++)
                if (t->lost[i])
                        json_num(j, i ? event_kind_name(i) : "untold", (long long)MIN(t->lost[i], INT64_MAX));
        json_end(j, '}');
        int r = finish(t, &ev, out);
        if (r < 0)
                return r;
        memset(t->lost, 0, sizeof(t->lost));
        t->any_lost = false;
        t->lost_at = now->mono;
        return 0;
}

static bool has_room(struct trail *t, uint64_t now) {
        const uint64_t each = SECOND / TRAIL_RATE, most = each * TRAIL_BURST;

        if (t->refilled == 0)
                t->tokens = most;
        else if (now > t->refilled)
                t->tokens = MIN(t->tokens + MIN(now - t->refilled, most), most);
        t->refilled = MAX(now, t->refilled);
        if (t->tokens < each || t->caused >= TRAIL_BYTES_MAX)
                return false;
        t->tokens -= each;
        return true;
}

/* What is due before the event, and after it. */
static int before(struct trail *t, const struct event *ev, struct strbuf *out) {
        bool floods = trail_floods(ev->kind);
        return t->any_lost && (!floods || ev->mono >= t->lost_at + SECOND) ? say_lost(t, ev, out) : 0;
}

static int after(struct trail *t, const struct event *ev, struct strbuf *out) {
        const struct event checkpoint = {.kind = EVENT_CHECKPOINT, .mono = ev->mono, .wall = ev->wall};
        return t->since >= TRAIL_SIGN_EVERY - 1 && t->sign ? plain(t, &checkpoint, out) : 0;
}

int trail_add(struct trail *t, const struct event *ev, struct strbuf *out) {
        int r;

        if (trail_floods(ev->kind) && !has_room(t, ev->mono)) {
                t->lost[ev->kind]++;
                t->any_lost = true;
                return 0;
        }
        if ((r = before(t, ev, out)) < 0 || (r = plain(t, ev, out)) < 0)
                return r;
        return after(t, ev, out);
}

struct json *trail_begin(struct trail *t, const struct event *ev, struct strbuf *out) {
        (void)before(t, ev, out); /* what does not find room now is said later, or found out at the record itself */
        return begin(t, ev);
}

int trail_finish(struct trail *t, const struct event *ev, struct strbuf *out) {
        members(&t->json, ev);
        int r = finish(t, ev, out);
        return r < 0 ? r : after(t, ev, out);
}

void trail_count_lost(struct trail *t, uint64_t n) {
        t->lost[0] = n > UINT64_MAX - t->lost[0] ? UINT64_MAX : t->lost[0] + n; /* whoever says so may lie */
        t->any_lost |= n > 0;
}

void trail_clear(struct trail *t) { strbuf_clear(&t->json.text); }
