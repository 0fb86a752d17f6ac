/* The trail (model/trail.h). Input: a letter, and
 *   r  a text, as `belljar trail verify` reads it: what is called good follows on each other, is signed by the key and numbered without
 *      a gap; cut off anywhere it is not sealed
 *   w  bytes that say what happens: whatever it is, what is written is read back as good, a line for a record, and one changed byte is
 *      found. */
#include <stdlib.h>
#include <string.h>

#include "model/trail.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void mac(const void *key, const uint8_t *data, size_t n, uint8_t ret[TRAIL_SIG_SIZE]) {
        struct sha256_state s;

        sha256_begin(&s);
        sha256_add(&s, key, 3);
        sha256_add(&s, data, n);
        sha256_end(&s, ret);
        memcpy(ret + SHA256_SIZE, ret, TRAIL_SIG_SIZE - SHA256_SIZE);
}

static bool mac_good(const void *key, const uint8_t *data, size_t n, const uint8_t sig[TRAIL_SIG_SIZE]) {
        uint8_t own[TRAIL_SIG_SIZE];
        mac(key, data, n, own);
        return memcmp(own, sig, sizeof(own)) == 0;
}

static struct trail_check read_text(const char *p, size_t n) {
        struct trail_check c = {.is_signed = mac_good, .key = "key"};
        const char *end = p + n, *line = p;
        uint64_t lines = 0;
        char text[160];

        for (const char *nl; line < end && (nl = memchr(line, '\n', (size_t)(end - line))); line = nl + 1) {
                const struct trail_check before = c;
                bool good = trail_check_line(&c, line, (size_t)(nl - line));
                must(good == (c.fault == TRAIL_GOOD) && c.records == before.records + good - (c.records < before.records) && c.covered >= before.covered);
                must(!before.ended || !good);
                lines++;
        }
        trail_check_end(&c, (size_t)(end - line));
        must(c.records <= lines && c.covered <= c.records + 1 && (!c.ended || c.fault || c.covered == c.records));
        must(strlen(trail_fault_text(&c, text)) < sizeof(text) && (c.fault == TRAIL_GOOD) == (text[0] == 0));
        return c;
}

static void a_text(const char *p, size_t n) {
        struct trail_check c = read_text(p, n);

        if (!c.ended || c.fault || n == 0)
                return;
        must(p[n - 1] == '\n');
        must(!read_text(p, n - 1).ended && !read_text(p, n / 2).ended);
}

static void what_happens(const unsigned char *p, size_t n) {
        struct trail t = {.sign = mac, .key = "key"};
        struct strbuf b = {};
        uint64_t now = 1;

        for (size_t at = 0; at + 4 <= n || t.seq == 0;) {
                struct event ev = {.kind = EVENT_START, .mono = now, .wall = now, .rule = EVENT_NO_RULE};
                if (t.seq > 0) {
                        ev.kind = 1 + p[at] % (EVENT_MARK);
                        ev.source = p[at + 1] % 8;
                        ev.forgeable = ev.cut = p[at + 2] * 5u;
                        size_t len = p[at + 3];
                        at += 4;
                        len = len < n - at ? len : n - at;
                        memcpy(ev.text, p + at, len);
                        memcpy(ev.host, p + at, len < NET_HOST_MAX ? len : NET_HOST_MAX - 1);
                        memcpy(ev.argv, p + at, len);
                        memcpy(ev.address, p + at, len < 16 ? len : 16);
                        ev.n_argv = len ? p[at] : 0;
                        ev.up = UINT64_MAX - len;
                        at += len;
                        now += len * len * 100000;
                        ev.mono = ev.wall = now;
                        if (len == 0)
                                trail_count_lost(&t, 1);
                }
                must(trail_add(&t, &ev, &b) == 0);
        }
        must(trail_add(&t, &(struct event){.kind = EVENT_END, .mono = now, .rule = EVENT_NO_RULE}, &b) == 0);
        uint64_t lines = 0;
        for (size_t i = 0; i < b.len; i++) {
                lines += b.data[i] == '\n';
                must(b.data[i] == '\n' || ((unsigned char)b.data[i] >= 0x20 && b.data[i] != 0x7f));
        }
        struct trail_check c = read_text(b.data, b.len);
        must(c.fault == TRAIL_GOOD && c.ended && c.records == lines && lines == t.seq && c.covered == lines);
        const size_t at = n > 1 ? (p[0] * 256u + p[1]) * 97u % b.len : 0;
        b.data[at] ^= 1;
        c = read_text(b.data, b.len);
        must(c.fault != TRAIL_GOOD);
        trail_clear(&t);
        strbuf_clear(&b);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        if (size < 1)
                return 0;
        if (data[0] == 'r')
                a_text((const char *)data + 1, size - 1);
        else if (data[0] == 'w')
                what_happens(data + 1, size - 1);
        return 0;
}
