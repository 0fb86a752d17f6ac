/* The chain: what was written is read back as good, and whatever is done to it is found, at the record to which it was done. The
 * signature is a hash with a key in it: what is tested is what is signed, and when. */
#include <jansson.h>

#include "model/trail.h"
#include "tap.h"

static void mac(const void *key, const uint8_t *data, size_t n, uint8_t ret[TRAIL_SIG_SIZE]) {
        struct sha256_state s;

        sha256_begin(&s);
        sha256_add(&s, key, strlen((const char *)key));
        sha256_add(&s, data, n);
        sha256_end(&s, ret);
        memcpy(ret + SHA256_SIZE, ret, TRAIL_SIG_SIZE - SHA256_SIZE);
}

static bool mac_good(const void *key, const uint8_t *data, size_t n, const uint8_t sig[TRAIL_SIG_SIZE]) {
        uint8_t own[TRAIL_SIG_SIZE];
        mac(key, data, n, own);
        return memcmp(own, sig, sizeof(own)) == 0;
}

static uint64_t seed = 1;
static uint64_t draw(uint64_t below) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        return (seed >> 33) % below;
}

/* A whole trail of n records, checkpoints not counted. */
static size_t make(struct strbuf *out, unsigned n, bool sealed) {
        struct trail t = {.sign = mac, .key = "right"};
        uint64_t now = 1;

        for (unsigned i = 0; i < n; i++) {
                struct event ev = {.kind = i == 0 ? EVENT_START : i + 1 == n && sealed ? EVENT_END : EVENT_EXEC + (uint32_t)draw(EVENT_MARK - EVENT_EXEC + 1),
                                   .mono = now += 1 + draw(2000000), .wall = 1700000000000000000u + now, .rule = EVENT_NO_RULE};
                for (size_t k = 0, len = draw(40); k < len; k++)
                        ev.text[k] = (char)(1 + draw(255));
                check(trail_add(&t, &ev, out) == 0);
        }
        size_t records = t.seq;
        trail_clear(&t);
        return records;
}

static struct trail_check read_all(const char *p, size_t n, const char *key) {
        struct trail_check c = {.is_signed = mac_good, .key = key};
        const char *end = p + n, *line = p;

        for (const char *nl; (nl = memchr(line, '\n', (size_t)(end - line))); line = nl + 1)
                (void)trail_check_line(&c, line, (size_t)(nl - line));
        trail_check_end(&c, (size_t)(end - line));
        return c;
}

static size_t split(const struct strbuf *b, const char *lines[], size_t sizes[], size_t max) {
        size_t n = 0;
        for (const char *p = b->data, *end = b->data + b->len; p < end && n < max; n++) {
                const char *nl = memchr(p, '\n', (size_t)(end - p));
                lines[n] = p;
                sizes[n] = (size_t)(nl + 1 - p);
                p = nl + 1;
        }
        return n;
}

TEST(whole) {
        for (unsigned n = 2; n < 900; n = n * 2 + 1) {
                struct strbuf b = {};
                size_t records = make(&b, n, true);
                struct trail_check c = read_all(b.data, b.len, "right");
                check(c.fault == TRAIL_GOOD && c.ended && c.records == records && c.covered == records);
                check(c.signatures >= records / TRAIL_SIGN_EVERY && c.signatures <= 1 + records / (TRAIL_SIGN_EVERY - 1));
                c = read_all(b.data, b.len, "wrong");
                check(c.fault == TRAIL_SIGNATURE && !c.ended && c.covered == 0);
                strbuf_clear(&b);
        }
}

TEST(each_line_is_json) {
        struct strbuf b = {};
        const char *lines[400];
        size_t sizes[400];

        make(&b, 300, true);
        size_t n = split(&b, lines, sizes, ELEMENTSOF(lines));
        for (size_t i = 0; i < n; i++) {
                json_t *j = json_loadb(lines[i], sizes[i], JSON_REJECT_DUPLICATES, NULL);
                check(json_integer_value(json_object_get(j, "seq")) == (json_int_t)i + 1);
                for (size_t k = 0; k + 1 < sizes[i]; k++) /* nothing that steers a terminal, no line within */
                        check((unsigned char)lines[i][k] >= 0x20 && lines[i][k] != 0x7f);
                json_decref(j);
        }
        strbuf_clear(&b);
}

TEST(forgery_in_texts) {
        static const char *const texts[] = {"\n{\"seq\":3}", "\",\"kind\":\"end\",\"sig\":\"", "\x1b]52;c;aGk=\a\x1b[2J\r", "\xe2\x80\xae" "abc", "\xc2\x9b" "31m", "\xff\xfe", "\\", "\\xff",
                                            "\xf3\xa0\x80\x81"};
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                struct trail t = {.sign = mac, .key = "right"};
                struct strbuf b = {};
                struct event ev = {.kind = EVENT_START, .mono = 1, .rule = EVENT_NO_RULE};
                check(trail_add(&t, &ev, &b) == 0);
                ev = (struct event){.kind = EVENT_EXEC, .mono = 2, .rule = EVENT_NO_RULE, .n_argv = 1, .forgeable = EVENT_F_ARGV};
                event_set(&ev, EVENT_F_TEXT, text, texts[i]);
                event_set(&ev, EVENT_F_HOST, host, texts[i]);
                event_set(&ev, EVENT_F_PATH, path, texts[i]);
                snprintf(ev.argv, sizeof(ev.argv), "%s", texts[i]);
                size_t before = b.len;
                check(trail_add(&t, &ev, &b) == 0);
                check(memchr(b.data + before, '\n', b.len - before) == b.data + b.len - 1);
                for (const char *p = b.data + before; *p != '\n'; p++)
                        check((unsigned char)*p >= 0x20 && *p != 0x7f);
                check(!strstr(b.data, "\xe2\x80\xae") && !strstr(b.data, "\xc2\x9b") && !strstr(b.data, "\xf3\xa0\x80\x81"));
                json_t *j = json_loadb(b.data + before, b.len - before, JSON_REJECT_DUPLICATES, NULL);
                check(j && !json_object_get(j, "sig"));
                check_streq(json_string_value(json_object_get(j, "kind")), "exec");
                check_streq(json_string_value(json_array_get(json_object_get(j, "forgeable"), 0)), "argv");
                if (texts[i][0] == '\xff') { /* exactly, beside what can be read */
                        check_streq(json_string_value(json_object_get(j, "text_hex")), "fffe");
                        check_streq(json_string_value(json_object_get(j, "argv_hex")), "fffe00");
                } else {
                        check_streq(json_string_value(json_object_get(j, "text")), texts[i]);
                        check_streq(json_string_value(json_array_get(json_object_get(j, "argv"), 0)), texts[i]);
                        check(!json_object_get(j, "text_hex") && !json_object_get(j, "argv_hex"));
                }
                json_decref(j);
                check(trail_add(&t, &(struct event){.kind = EVENT_END, .mono = 3, .rule = EVENT_NO_RULE}, &b) == 0);
                struct trail_check c = read_all(b.data, b.len, "right");
                check(c.ended && c.records == 3);
                trail_clear(&t);
                strbuf_clear(&b);
        }
}

/* A byte of a record, changed into any other: found, and at that record. */
TEST(changed) {
        struct strbuf b = {};
        const char *lines[64];
        size_t sizes[64];

        make(&b, 9, true);
        size_t n = split(&b, lines, sizes, ELEMENTSOF(lines));
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k + 1 < sizes[i]; k++) {
                        char *at = (char *)lines[i] + k, was = *at;
                        do
                                *at = (char)(k % 3 ? '0' + draw(10) : 1 + draw(255));
                        while (*at == was);
                        struct trail_check c = read_all(b.data, b.len, "right");
                        if (c.fault == TRAIL_GOOD || c.at != i + 1 || c.records >= i + 1)
                                printf("# record %zu, byte %zu, %#x: %d at %llu\n", i + 1, k, (unsigned char)*at, c.fault, (unsigned long long)c.at);
                        check(c.fault != TRAIL_GOOD && c.at == i + 1 && !c.ended && c.records == i);
                        *at = was;
                }
        check(read_all(b.data, b.len, "right").ended);
        strbuf_clear(&b);
}

/* The whole chain made anew after a change, as whoever has not the key can: the next signature is not right. */
TEST(chained_anew) {
        struct strbuf b = {}, forged = {};
        struct trail t = {.sign = mac, .key = "another"};

        make(&b, 5, true);
        for (unsigned i = 0; i < 5; i++)
                check(trail_add(&t, &(struct event){.kind = i == 0 ? EVENT_START : i == 4 ? EVENT_END : EVENT_DNS, .mono = i + 1, .rule = EVENT_NO_RULE}, &forged) == 0);
        struct trail_check c = read_all(forged.data, forged.len, "right");
        check(c.fault == TRAIL_SIGNATURE && c.at == 5 && c.covered == 0 && !c.ended);
        trail_clear(&t);
        strbuf_clear(&b);
        strbuf_clear(&forged);
}

static struct trail_check with_order(const char *lines[], const size_t sizes[], const size_t order[], size_t n) {
        struct trail_check c = {.is_signed = mac_good, .key = "right"};
        for (size_t i = 0; i < n; i++)
                (void)trail_check_line(&c, lines[order[i]], sizes[order[i]] - 1);
        trail_check_end(&c, 0);
        return c;
}

TEST(dropped_reordered_repeated) {
        struct strbuf b = {};
        const char *lines[64];
        size_t sizes[64], order[65];

        make(&b, 12, true);
        const size_t n = split(&b, lines, sizes, ELEMENTSOF(lines));
        for (size_t first = 0; first < n; first++)
                for (size_t last = first; last < n; last++) { /* records first to last are not there */
                        size_t m = 0;
                        for (size_t i = 0; i < n; i++)
                                if (i < first || i > last)
                                        order[m++] = i;
                        struct trail_check c = with_order(lines, sizes, order, m);
                        if (last == n - 1) /* cut off: nothing is wrong with what is there, but it has no end */
                                check(c.fault == TRAIL_GOOD && !c.ended && c.records == first);
                        else
                                check(c.fault == TRAIL_MISSING && c.at == first + 1 && c.to == last + 1 && c.records == first && !c.ended);
                }
        for (size_t i = 0; i < n; i++)
                for (size_t k = i + 1; k < n; k++) { /* record k stands before record i */
                        size_t m = 0;
                        for (size_t a = 0; a < n; a++) {
                                if (a == i)
                                        order[m++] = k;
                                if (a != k)
                                        order[m++] = a;
                        }
                        struct trail_check c = with_order(lines, sizes, order, m);
                        check(c.fault == TRAIL_REORDERED && c.at == k + 1 && c.to == i + 1 && c.records == i && !c.ended);
                }
        for (size_t i = 0; i < n; i++)
                for (size_t k = i; k < n; k++) { /* record i stands once more after record k */
                        size_t m = 0;
                        for (size_t a = 0; a < n; a++) {
                                order[m++] = a;
                                if (a == k)
                                        order[m++] = i;
                        }
                        struct trail_check c = with_order(lines, sizes, order, m);
                        check(k == n - 1 ? c.fault == TRAIL_AFTER_END : c.fault == TRAIL_REPEATED && c.at == i + 1);
                }
        strbuf_clear(&b);
}

TEST(cut_at_every_byte) {
        struct strbuf b = {};

        size_t records = make(&b, 300, true);
        for (size_t n = 0; n < b.len; n++) {
                struct trail_check c = read_all(b.data, n, "right");
                size_t whole = 0;
                for (size_t i = 0; i < n; i++)
                        whole += b.data[i] == '\n';
                check(!c.ended && c.records == whole && c.covered <= whole && whole < records);
                check(n == 0 || b.data[n - 1] == '\n' ? c.fault == TRAIL_GOOD : c.fault == TRAIL_TORN && c.at == whole + 1);
                check(whole < TRAIL_SIGN_EVERY || c.covered == TRAIL_SIGN_EVERY);
                n += n % 7 == 0 ? 0 : draw(40); /* most of them */
        }
        strbuf_clear(&b);
}

TEST(a_flood_is_counted) {
        struct trail t = {.sign = mac, .key = "right"};
        struct strbuf b = {};
        uint64_t now = 1000000000;

        check(trail_add(&t, &(struct event){.kind = EVENT_START, .mono = now, .rule = EVENT_NO_RULE}, &b) == 0);
        for (unsigned i = 0; i < 4 * TRAIL_BURST; i++) /* all at once */
                check(trail_add(&t, &(struct event){.kind = EVENT_DNS, .mono = now, .rule = EVENT_NO_RULE}, &b) == 0);
        check(t.seq <= TRAIL_BURST + 1 + TRAIL_BURST / (TRAIL_SIGN_EVERY - 1) + 1);
        uint64_t lost = t.lost[EVENT_DNS];
        check(lost == 3 * TRAIL_BURST);
        /* An alarm has its record whatever was before it, and after what was lost. */
        size_t before = b.len;
        check(trail_add(&t, &(struct event){.kind = EVENT_TRIPWIRE, .mono = now, .rule = EVENT_NO_RULE}, &b) == 0);
        char *said = strstr(b.data + before, "\"kind\":\"lost\""), *alarm = strstr(b.data + before, "\"kind\":\"tripwire\"");
        check(said && alarm && said < alarm && strstr(said, "\"dns\":30000"));
        check(t.lost[EVENT_DNS] == 0 && !t.any_lost);
        /* Afterwards, so many a second; what was lost is said once a second, not once a record. */
        uint64_t seq = t.seq;
        for (unsigned i = 0; i < 10 * TRAIL_RATE * 4; i++)
                check(trail_add(&t, &(struct event){.kind = EVENT_EXEC, .mono = now += 1000000000 / TRAIL_RATE / 4, .rule = EVENT_NO_RULE}, &b) == 0);
        check(t.seq - seq >= 10 * TRAIL_RATE - 1 && t.seq - seq <= 10 * TRAIL_RATE + 12 + 10 * TRAIL_RATE / (TRAIL_SIGN_EVERY - 1));
        trail_count_lost(&t, 5);
        check(trail_add(&t, &(struct event){.kind = EVENT_END, .mono = now, .rule = EVENT_NO_RULE}, &b) == 0);
        check(strstr(b.data, "\"untold\":5"));
        struct trail_check c = read_all(b.data, b.len, "right");
        check(c.ended && c.records == t.seq);
        trail_clear(&t);
        strbuf_clear(&b);
}

TEST(no_more_bytes_than_the_bound) {
        struct trail t = {.sign = mac, .key = "right", .caused = TRAIL_BYTES_MAX};
        struct strbuf b = {};

        check(trail_add(&t, &(struct event){.kind = EVENT_DNS, .mono = 1, .rule = EVENT_NO_RULE}, &b) == 0 && b.len == 0 && t.lost[EVENT_DNS] == 1);
        check(trail_add(&t, &(struct event){.kind = EVENT_KILL, .mono = 2, .rule = EVENT_NO_RULE}, &b) == 0 && t.seq == 2);
        trail_clear(&t);
        strbuf_clear(&b);
}

/* No room for a record: the trail is as if it had not been tried. */
TEST(no_room) {
        struct trail t = {.sign = mac, .key = "right"};
        struct strbuf b = {.max = 700};
        struct event ev = {.kind = EVENT_START, .mono = 1, .rule = EVENT_NO_RULE};

        check(trail_add(&t, &ev, &b) == 0);
        ev.kind = EVENT_MARK;
        memset(ev.text, 'x', sizeof(ev.text) - 1);
        check(trail_add(&t, &ev, &b) == -ENOMEM && t.seq == 1);
        b.failed = false;
        b.max = 0;
        ev.kind = EVENT_END;
        check(trail_add(&t, &ev, &b) == 0);
        struct trail_check c = read_all(b.data, b.len, "right");
        check(c.ended && c.records == 2);
        trail_clear(&t);
        strbuf_clear(&b);
}

/* Room of a file that was longer: newlines, and nothing but them. */
TEST(room_behind_it) {
        struct strbuf b = {};
        size_t records = make(&b, 5, true), len = b.len;

        for (size_t i = 0; i < 3000; i++)
                strbuf_puts(&b, "\n");
        struct trail_check c = read_all(b.data, b.len, "right");
        check(c.fault == TRAIL_GOOD && c.ended && c.records == records);
        for (const char *p = b.data; p < b.data + len; p++) { /* not between records either */
                if (*p != '\n' || p == b.data + len - 1)
                        continue;
                struct strbuf d = {};
                strbuf_add(&d, b.data, (size_t)(p + 1 - b.data));
                strbuf_puts(&d, "\n");
                strbuf_add(&d, p + 1, (size_t)(b.data + len - (p + 1)));
                c = read_all(d.data, d.len, "right");
                check(c.fault == TRAIL_DAMAGED && !c.ended);
                strbuf_clear(&d);
        }
        strbuf_puts(&b, "x\n");
        c = read_all(b.data, b.len, "right");
        check(c.fault == TRAIL_AFTER_END);
        strbuf_clear(&b);
}

TEST(what_is_no_record) {
        static const char *const lines[] = {"", "{}", "{\"seq\":1}", "null", "{\"seq\":01,\"prev\":\"", "{\"seq\":99999999999999999999,"};
        struct trail_head h = {.seq = 7};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                check(trail_head_read(lines[i], strlen(lines[i]), &h) == -EBADMSG && h.seq == 7);
        struct strbuf b = {};
        make(&b, 2, true);
        size_t n = (size_t)((char *)memchr(b.data, '\n', b.len) - b.data);
        check(trail_head_read(b.data, n, &h) == 0 && h.seq == 1 && streq(h.kind, "start") && !h.is_signed);
        for (size_t k = 0; k < n; k++)
                (void)!trail_head_read(b.data, k, &h); /* nothing beyond it is read: sanitizers */
        strbuf_clear(&b);
}

TAP_MAIN
