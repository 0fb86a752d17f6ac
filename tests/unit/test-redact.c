/* Redaction: by hand, and with random texts in random forms cut in every way, against the oracle of the fuzz target and by
 * decoding what comes out. */
#include "proto/redact.h"
#include "base/base64.h"
#include "base/macros.h"
#include "../fuzz/redact-oracle.h"
#include "tap.h"

static uint64_t seed = 88172645463325252u;

static unsigned below(unsigned n) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (unsigned)((seed >> 16) % n);
}

static struct redactor *r;
static struct redact_stream *s;

static void prepare(const struct redact_pair *pairs, size_t n_pairs) {
        static void *memory, *stream;

        free(memory);
        free(stream);
        size_t n = redact_size(pairs, n_pairs);
        check(n > 0 && n <= REDACT_MEMORY_MAX);
        memory = malloc(n);
        check(memory && redact_init(memory, n, pairs, n_pairs, &r) == 0);
        n = redact_stream_size(r);
        check(n <= REDACT_STREAM_MAX);
        stream = malloc(n);
        check(stream && redact_begin(r, stream, n, &s) == 0);
}

static void again(void) { check(redact_begin(r, s, REDACT_STREAM_MAX, &s) == 0); }

/* In place, whole; the result is static. */
static const char *whole(const char *text) {
        static char out[512];

        strcpy(out, text);
        again();
        redact_text(r, s, out, strlen(out));
        return out;
}

/* The text in two pieces, at every point, gives what it gives at once, as often found. */
static void check_cuts(const char *text, size_t n, const char *expect) {
        char *out = malloc(n + 1);

        check(out);
        again();
        memcpy(out, text, n);
        redact_text(r, s, out, n);
        check(memcmp(out, expect, n) == 0);
        uint64_t found = redact_found(s, 0);

        for (size_t cut = 0; cut <= n; cut++) {
                again();
                ssize_t a = redact_feed(r, s, text, cut, false, out, n);
                check(a >= 0 && (size_t)a + redact_held(s) == cut);
                ssize_t b = redact_feed(r, s, text + cut, n - cut, true, out + a, n - (size_t)a);
                check(b >= 0 && (size_t)(a + b) == n && redact_held(s) == 0);
                check(memcmp(out, expect, n) == 0);
                check(redact_found(s, 0) == found);
        }
        free(out);
}

#define FIND "tok-Ab9zQxk7"
#define PUT "tok-Zq1aBcd2"
static const struct redact_pair one = {FIND, PUT, sizeof(FIND) - 1};

TEST(refused) {
        static char memory[REDACT_MEMORY_MAX], texts[2][REDACT_VALUE_MAX + 1];
        const struct {
                const char *find, *put;
                size_t n;
                int is;
        } t[] = {
                {"abcdefgh", "zbcdefgh", 8, 0},
                {"abcdefg", "zbcdefg", 7, -EINVAL},             /* too short */
                {texts[0], texts[1], REDACT_VALUE_MAX, 0},
                {texts[0], texts[1], REDACT_VALUE_MAX + 1, -EINVAL},
                {"abcdefgh", "abcdefgh", 8, -EINVAL},           /* nothing would be replaced */
                {"abcdefg/", "abcdefgz", 8, -EINVAL},           /* / may stand as \/, z may not */
                {"abcdefgh", "abcdefg\"", 8, -EINVAL},
                {"--------", "--------", 8, -EINVAL},
                {"a\0cdefgh", "b\0cdefgh", 8, 0},
        };
        memset(texts[0], 'a', sizeof(texts[0]));
        memset(texts[1], 'b', sizeof(texts[1]));
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct redact_pair p = {t[i].find, t[i].put, t[i].n};
                struct redactor *ret;
                check(redact_init(memory, sizeof(memory), &p, 1, &ret) == t[i].is);
                if (t[i].is == 0)
                        check(redact_init(memory, redact_size(&p, 1) - 1, &p, 1, &ret) == -ENOBUFS);
        }
        struct redact_pair many[REDACT_PAIRS_MAX + 1];
        for (size_t i = 0; i <= REDACT_PAIRS_MAX; i++)
                many[i] = one;
        check(redact_size(many, REDACT_PAIRS_MAX) > 0 && redact_size(many, REDACT_PAIRS_MAX + 1) == 0);
        prepare(&one, 1);
        char out[4];
        struct redact_stream *ret;
        check(redact_feed(r, s, "!!!!", 4, false, out, 3) == -ENOBUFS);
        check(redact_feed(r, s, "!!!!", 4, false, out, 4) == 4);
        check(redact_begin(r, memory, redact_stream_size(r) - 1, &ret) == -ENOBUFS);
}

TEST(largest) {
        static char find[REDACT_PAIRS_MAX][REDACT_VALUE_MAX], put[REDACT_PAIRS_MAX][REDACT_VALUE_MAX];
        struct redact_pair pairs[REDACT_PAIRS_MAX];

        for (size_t i = 0; i < REDACT_PAIRS_MAX; i++) {
                for (size_t k = 0; k < REDACT_VALUE_MAX; k++) {
                        find[i][k] = k % 64 == 0 ? "%\\&"[k / 64 % 3] : (char)('a' + (int)below(13));
                        put[i][k] = k % 64 == 0 ? find[i][k] : (char)(find[i][k] + 13);
                }
                pairs[i] = (struct redact_pair){find[i], put[i], REDACT_VALUE_MAX};
        }
        prepare(pairs, REDACT_PAIRS_MAX);
        /* Nearly as long as a form may be, and longer, byte by byte: its base64, each character a reference with zeros, with line breaks. */
        static char text[1 << 17], out[1 << 17];
        const struct oracle_form f = {.pair = 7, .kind = ORACLE_BASE64, .offset = 2, .from = 2, .end = (8 * (2 + REDACT_VALUE_MAX) + 5) / 6};
        for (int width = 5; width <= 7; width++) {
                size_t n = 0, done = 0, held = 0;
                for (size_t k = f.from; k < f.end; k++) {
                        unsigned v = 0;
                        while (!oracle_allows(&f, &pairs[7], k, v))
                                v++;
                        n += (size_t)sprintf(text + n, "&#%0*u;%s", width, v, k % 4 == 2 ? "\r\n" : "");
                }
                again();
                for (size_t i = 0; i < n; i++) {
                        ssize_t k = redact_feed(r, s, text + i, 1, false, out + done, n - done);
                        check(k >= 0);
                        done += (size_t)k;
                        held = MAX(held, redact_held(s));
                }
                ssize_t k = redact_feed(r, s, NULL, 0, true, out + done, n - done);
                check(k >= 0 && done + (size_t)k == n && redact_found(s, 6) == 0);
                check(redact_found(s, 7) == (width == 5) && held > 45000 && held <= REDACT_FORM_MAX + UNIT_MAX);
                check((memcmp(text, out, n) == 0) == (width > 5));
                const struct redact_pair p = {put[7], find[7], REDACT_VALUE_MAX};
                size_t symbol = f.from;
                for (char *c = out; width == 5 && (c = strchr(c, '#')); c++)
                        check(oracle_allows(&f, &p, symbol++, (unsigned)strtoul(c + 1, NULL, 10)));
                check(width > 5 || symbol == f.end);
                memcpy(out, text, n);
                again();
                redact_text(r, s, out, n);
                check(redact_found(s, 7) == (width == 5) && (memcmp(text, out, n) == 0) == (width > 5));
        }
}

TEST(forms) {
        static const char dots[] = "........................................";
        static const char *const t[][2] = {
                {FIND, PUT},
                {"", ""},
                {"a " FIND " b " FIND FIND, "a " PUT " b " PUT PUT},
                {"tok-tok-Ab9zQxk7", "tok-tok-Zq1aBcd2"},
                {"%74%6f%6B-%41%62%39%7a%51%78%6b%37", "%74%6f%6B-%5a%71%31%61%42%63%64%32"},
                {"%74%6F%6B%2D%41b9%7AQxk7", "%74%6F%6B%2D%5aq1%61Bcd2"},
                {"tok%252D%2541b9zQxk7", "tok%252D%255aq1aBcd2"},
                {"tok\\u002d\\u0041b9\\u007A\\x51xk7", "tok\\u002d\\u005aq1\\u0061\\x42cd2"},
                {"tok-\\\\u0041b9z\\\\x51xk7", "tok-\\\\u005aq1a\\\\x42cd2"},
                {"tok-&#65;b9zQ&#x78;k&#00055;", "tok-&#90;q1aB&#x63;d&#00050;"},
                /* no room for three digits; nor may the secret's byte stay */
                {"tok-Ab9zQxk&#55;", "tok-Zq1aBcd&#50;"},
                {"746f6b2d416239 7a5178", "746f6b2d416239 7a5178"},
                {"746f6b2d4162397a51786b37", "746f6b2d5a71316142636432"},
                {"746F6B2D4162397A51786B37", "746F6B2D5A71316142636432"},
                {"746f6B2d4162397A51786b37", "746f6B2d5a71316142636432"},
                {"dG9rLUFiOXpReGs3", "dG9rLVpxMWFCY2Qy"},
                {"eHRvay1BYjl6UXhrN3g=", "eHRvay1acTFhQmNkMng="},
                {"eHh0b2stQWI5elF4azd4", "eHh0b2stWnExYUJjZDJ4"},
                {"eHRvay1BY\njl6UXhrN3g=", "eHRvay1ac\nTFhQmNkMng="},
                {"eHRvay1BY\\r\\njl6UXhrN3g=", "eHRvay1ac\\r\\nTFhQmNkMng="},
                {"eHRv\r\nay1BYjl6\r\nUXhrN3g=", "eHRv\r\nay1acTFh\r\nQmNkMng="},
                {"dG9rLUFiOX%70ReGs3", "dG9rLVpxMW%46CY2Qy"},
                /* an empty line is no line break within base64 */
                {"dG9rLUFi\n\nOXpReGs3", "dG9rLUFi\n\nOXpReGs3"},
                /* the first three characters are on the line before */
                {"xxdG9\nrLUFiOXpReGs3", "xxdG9\nrLVpxMWFCY2Qy"},
                {"xxdG9\\nrLUFiOXpReGs3", "xxdG9\\nrLVpxMWFCY2Qy"},
                {"xxdG9%0D%0ArLUFiOXpReGs3", "xxdG9%0D%0ArLVpxMWFCY2Qy"},
                {"xxdG9rLUFiOXpReGs", "xxdG9rLUFiOXpReGs"},
                {"xx rLUFiOXpReGs3", "xx rLUFiOXpReGs3"},
                /* two in a row share a character */
                {"dG9rLUFiOXpReGs3dG9rLUFiOXpReGs3", "dG9rLVpxMWFCY2QydG9rLVpxMWFCY2Qy"},
                {"tok-Ab9zQxk", "tok-Ab9zQxk"},
                {"tok-ab9zqxk7", "tok-ab9zqxk7"},
                {"TOK-Ab9zQxk7", "TOK-Ab9zQxk7"},
        };
        prepare(&one, 1);
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                check_streq(whole(t[i][0]), t[i][1]);
                check((redact_found(s, 0) > 0) == (strcmp(t[i][0], t[i][1]) != 0));
                check_cuts(t[i][0], strlen(t[i][0]), t[i][1]);
                /* wherever it stands, with text around it that is skipped */
                for (int before = 16; before < 34; before++) {
                        char text[256], expect[256];
                        snprintf(text, sizeof(text), "%.*s%s%s", before, dots, t[i][0], dots);
                        snprintf(expect, sizeof(expect), "%.*s%s%s", before, dots, t[i][1], dots);
                        check_streq(whole(text), expect);
                }
        }
        check_streq(whole(FIND FIND), PUT PUT);
        check(redact_found(s, 0) == 2);
}

TEST(no_room) {
        /* &#97; has two digits, k has three */
        static const struct redact_pair p = {"aaaa1234", "kkkk5678", 8};

        prepare(&p, 1);
        check_streq(whole("&#97;aa&#097;1234"), "&#88;kk&#107;5678");
        check_streq(whole("&#97;a&#x61;a1234"), "&#88;k&#x6b;k5678");
        static const struct redact_pair x = {"XXXX1234", "kkkk5678", 8};
        prepare(&x, 1);
        check_streq(whole("&#88;XX&#088;1234"), "&#89;kk&#107;5678");
}

TEST(escapes_of_the_text_itself) {
        static const struct {
                const char *find, *put, *texts[10][2];
        } t[] = {
                {"a%41b%25c", "b%41c%25d", {
                        {"a%41b%25c", "b%41c%25d"},
                        {"a%2541b%2525c", "b%2541c%2525d"},
                        {"%61%2541%62%2525%63", "%62%2541%63%2525%64"},
                        {"a%252541b%252525c", "b%252541c%252525d"},
                }},
                {"a\\b\\nc/\"d\n", "e\\f\\ng/\"h\n", {
                        {"a\\b\\nc/\"d\n", "e\\f\\ng/\"h\n"},
                        {"a\\\\b\\\\nc\\/\\\"d\\n", "e\\\\f\\\\ng\\/\\\"h\\n"},
                        {"a\\\\\\\\b\\\\\\\\nc\\\\/\\\\\\\"d\\\\n", "e\\\\\\\\f\\\\\\\\ng\\\\/\\\\\\\"h\\\\n"},
                        {"a%5Cb%5Cnc%2F%22d%0A", "e%5Cf%5Cng%2F%22h%0A"},
                }},
                {"p&q&amp;<r>", "s&t&zmp;<u>", {
                        {"p&q&amp;<r>", "s&t&zmp;<u>"},
                        {"p&amp;q&amp;amp;&lt;r&gt;", "s&amp;t&amp;zmp;&lt;u&gt;"},
                        {"p&#38;q&#x26;amp;<r&#62;", "s&#38;t&#x26;zmp;<u&#62;"},
                        {"p\\u0026q\\u0026amp;\\u003cr\\u003e", "s\\u0026t\\u0026zmp;\\u003cu\\u003e"},
                }},
                {"a b c d e", "b c d e f", {
                        {"a b c d e", "b c d e f"},
                        {"a+b+c+d+e", "b+c+d+e+f"},
                        {"a%20b+c d%20e", "b%20c+d e%20f"},
                }},
                {"caf\xc3\xa9 1234", "ddg\xc3\xa9 5678", {
                        {"caf\xc3\xa9 1234", "ddg\xc3\xa9 5678"},
                        {"caf%C3%A9%201234", "ddg%C3%A9%205678"},
                }},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct redact_pair p = {t[i].find, t[i].put, strlen(t[i].find)};
                prepare(&p, 1);
                for (size_t k = 0; k < ELEMENTSOF(t[i].texts) && t[i].texts[k][0]; k++) {
                        check_streq(whole(t[i].texts[k][0]), t[i].texts[k][1]);
                        check(redact_found(s, 0) == 1);
                        check_cuts(t[i].texts[k][0], strlen(t[i].texts[k][0]), t[i].texts[k][1]);
                }
        }
}

TEST(overlaps) {
        static const struct redact_pair aab = {"aabaabaac", "zzyzzyzzx", 9};
        prepare(&aab, 1);
        check_streq(whole("aaabaabaac aabaabaabaac aabaabaa"), "azzyzzyzzx aabzzyzzyzzx aabaabaa");
        static const struct redact_pair a = {"aaaaaaaa1", "bbbbbbbb2", 9};
        prepare(&a, 1);
        check_streq(whole("aaaaaaaaaaaaaaaaaaaa1aaaaaaaa1"), "aaaaaaaaaaaabbbbbbbb2bbbbbbbb2");
        check_cuts("aaaaaaaaaaaaaaaaaaaa1aaaaaaaa1", 30, "aaaaaaaaaaaabbbbbbbb2bbbbbbbb2");
        /* 13 bytes: each of three in a row begins at another offset, in a character that has the end of the one before */
        static const struct redact_pair thirteen = {"Aecret-123456", "Zfdsfu-234567", 13};
        prepare(&thirteen, 1);
        check_streq(whole("QWVjcmV0LTEyMzQ1NkFlY3JldC0xMjM0NTZBZWNyZXQtMTIzNDU2"), "WmZkc2Z1LTIzNDU2N1pmZHNmdS0yMzQ1NjdaZmRzZnUtMjM0NTY3");
        check(redact_found(s, 0) == 3);
}

TEST(several) {
        static const struct redact_pair pairs[] = {
                {"secret-12", "tfdsfu-34", 9}, {"secret-12345", "ugetgv-56789", 12}, {"t-123456", "w-789012", 8},
        };
        static const struct {
                const char *text, *expect;
                uint64_t found[3];
        } t[] = {
                {"secret-12", "tfdsfu-34", {1, 0, 0}},
                {"secret-1234!", "tfdsfu-3434!", {1, 0, 0}},
                {"secret-12345", "ugetgv-56789", {0, 1, 0}},         /* the longest */
                {"secret-123456", "ugetgv-567896", {0, 1, 0}},       /* the first */
                {"secre\nt-123456", "secre\nw-789012", {0, 0, 1}},
                {"secret-12secret-12345t-123456", "tfdsfu-34ugetgv-56789w-789012", {1, 1, 1}},
        };
        prepare(pairs, ELEMENTSOF(pairs));
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                check_streq(whole(t[i].text), t[i].expect);
                for (size_t k = 0; k < 3; k++)
                        check(redact_found(s, k) == t[i].found[k]);
                check_cuts(t[i].text, strlen(t[i].text), t[i].expect);
        }
}

/* How much of the text is held back, with more to come. */
static size_t held(const char *text) {
        char out[256];

        again();
        check(redact_feed(r, s, text, strlen(text), false, out, sizeof(out)) + (ssize_t)redact_held(s) == (ssize_t)strlen(text));
        return redact_held(s);
}

TEST(held_back) {
        static const struct {
                const char *text;
                size_t held;
        } t[] = {
                {"", 0},
                {"data: {\"a\": \"b\"}\n\n", 0},
                {"data: {\"t\": \"tok-Ab9zQxk", 11},
                {"data: tok-Ab9zQxk\n\n", 0},
                {"data: tok-Ab9zQxk7", 0},          /* complete */
                {"data: t\n\n", 0},
                {"data: d\n", 0},                   /* one character of base64 is not waited for beyond its line */
                {"data: dG9\r\n", 0},
                {"dG9rLUFiOXp\r\n", 13},            /* but these are */
                {"dG9rLUFiOXp\r", 12},
                {"dG9rLUFiOXp\r\n\r", 0},
                {"ok", 0},
                {"x t", 1},
                {"x tok-", 4},
                {"x to%", 3},
                {"x to%6", 4},
                {"x to%4", 0},                      /* k is %6b */
                {"x %", 1},
                {"x %2", 2},                        /* %2574 */
                {"x %7", 2},
                {"x %3", 2},                        /* the 0 of base64 */
                {"x %1", 0},
                {"x \\", 1},
                {"x \\u0", 3},
                {"x \\u01", 0},
                {"x \\u007", 5},
                {"x \\u006", 5},                    /* the d of base64 */
                {"x \\u002", 0},
                {"x \\n", 0},
                {"x \\\\\\\\", 3},
                {"x &", 1},
                {"x &#1", 3},
                {"x &#2", 0},
                {"x &q", 0},
                {"x &#x0074", 7},
                {"7", 1},
                {"74", 2},
                {"746", 3},
                {"745", 0},
        };
        prepare(&one, 1);
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                if (held(t[i].text) != t[i].held)
                        printf("# %s: %zu are held\n", t[i].text, redact_held(s));
                check(held(t[i].text) == t[i].held);
                /* and come out as they are */
                char out[64];
                ssize_t k = redact_feed(r, s, NULL, 0, true, out, sizeof(out));
                check(k == (ssize_t)t[i].held && memcmp(out, t[i].text + strlen(t[i].text) - k, (size_t)k) == 0);
        }
}

/* text, all of it or cut off anywhere, with a line break anywhere or none, and then an event's end (text/event-stream). */
static void check_events(const char *text) {
        static const char *const ends[] = {"\n\n", "\r\n\r\n", "\r\r", "\"}\n\n"};
        const size_t n = strlen(text);
        char event[1024];

        for (size_t cut = 1; cut <= n; cut++)
                for (size_t broken = 0; broken < cut; broken++)
                        for (size_t i = 0; i < ELEMENTSOF(ends); i++) {
                                snprintf(event, sizeof(event), "data: %.*s%s%.*s%s", (int)broken, text, broken ? "\n" : "", (int)(cut - broken), text + broken, ends[i]);
                                if (held(event) > 0)
                                        printf("# %s: %zu are held\n", event, redact_held(s));
                                check(held(event) == 0);
                        }
}

/* Whatever an event ends in that may begin the text in whichever form: nothing of it waits for the next. */
/* A text whose redactor is followed by another at every point: what the first looks for is found wherever it is cut, and what only the
 * second does from there on. */
TEST(followed) {
        static const struct redact_pair pairs[] = {{"bD7-new-value/9q", "xxx-xxx-xxxxx/xx", 16}, {"aC5-old/value", "yyy-yyy/yyyyy", 13}};
        static const char text[] = "a aC5-old/value,aC5-old\\/value %61C5%2Dold%2Fvalue bD7-new-value/9q bD7-new-value/9q aC5-old/value.";
        const size_t n = strlen(text), first = (size_t)(strstr(text, "bD7") - text), second = (size_t)(strstr(text + first + 1, "bD7") - text);
        char expect[sizeof(text)], out[sizeof(text)];
        void *memory[2], *stream[2];
        struct redactor *how[2];

        for (size_t i = 0; i < 2; i++) {
                size_t size = redact_size(pairs + 1 - i, 1 + i);
                memory[i] = malloc(size);
                check(memory[i] && redact_init(memory[i], size, pairs + 1 - i, 1 + i, &how[i]) == 0);
                stream[i] = malloc(redact_stream_size(how[i]));
                check(stream[i]);
        }
        struct redact_stream *a, *b;
        memcpy(expect, text, sizeof(text));
        check(redact_begin(how[1], stream[1], REDACT_STREAM_MAX, &b) == 0);
        redact_text(how[1], b, expect, n);
        check(!strstr(expect, "old") && !strstr(expect, "new"));
        for (size_t cut = 0; cut <= n; cut++) {
                check(redact_begin(how[0], stream[0], REDACT_STREAM_MAX, &a) == 0);
                ssize_t k = redact_feed(how[0], a, text, cut, false, out, sizeof(out));
                check(k >= 0 && redact_follow(how[1], a, stream[1], redact_stream_size(how[1]) - 1, &b) == -ENOBUFS);
                check(redact_follow(how[1], a, stream[1], REDACT_STREAM_MAX, &b) == 0 && redact_held(b) == redact_held(a));
                ssize_t m = redact_feed(how[1], b, text + cut, n - cut, true, out + k, sizeof(out) - (size_t)k);
                check((size_t)(k + m) == n);
                out[n] = 0;
                check(!strstr(out, "old"));
                check(cut > first ? cut > second || memcmp(out + second, expect + second, n - second) == 0 : memcmp(out, expect, n) == 0);
        }
        for (size_t i = 0; i < 2; i++) {
                free(memory[i]);
                free(stream[i]);
        }
}

TEST(events_are_not_held_back) {
        char text[256];

        prepare(&one, 1);
        check_events(FIND);
        for (size_t offset = 0; offset < 3; offset++) {
                char bytes[64];
                size_t n = (size_t)snprintf(bytes, sizeof(bytes), "%.*s%s", (int)offset, "xy", FIND);
                text[base64_encode(bytes, n, text)] = 0;
                check_events(text);
        }
        for (size_t k = 0; k < 5; k++) {
                size_t n = 0;
                for (const char *p = FIND; *p; p++)
                        switch (k) {
                        case 0: n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", *p); break;
                        case 1: n += (size_t)snprintf(text + n, sizeof(text) - n, "%%%02X", *p); break;
                        case 2: n += (size_t)snprintf(text + n, sizeof(text) - n, "\\u%04x", *p); break;
                        case 3: n += (size_t)snprintf(text + n, sizeof(text) - n, "\\x%02x", *p); break;
                        default: n += (size_t)snprintf(text + n, sizeof(text) - n, "&#%d;", *p);
                        }
                check_events(text);
        }
}

TEST(shared_ends_that_stay_are_not_waited_for) {
        static const struct redact_pair p = {"tok-Ab9zQxk-", "tok-Zq1aBcd-", 12};

        prepare(&p, 1);
        check_streq(whole("eHRvay1BYjl6UXhrLQ=="), "eHRvay1acTFhQmNkLQ==");
        check(held("eHRvay1BYjl6UXhr") == 14 && held("eHRvay1BYjl6UXhrL") == 0 && redact_found(s, 0) == 1);
}

/* --- Random texts. */

static const char plain_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static char letter(void) { return plain_letters[below(sizeof(plain_letters) - 1)]; }

static char of_same_class(char c) {
        if (c >= '0' && c <= '9')
                return (char)('0' + (int)below(10));
        if (c >= 'a' && c <= 'z')
                return (char)('a' + (int)below(26));
        return c >= 'A' && c <= 'Z' ? (char)('A' + (int)below(26)) : c;
}

static void random_pair(char *find, char *put, size_t n, bool punctuation) {
        static const char others[] = "-_.~/+=%\\&<>\"' :;\n\t\xc3\xa9";

        for (size_t i = 0; i < n; i++) {
                find[i] = punctuation && below(3) == 0 ? others[below(sizeof(others) - 1)] : letter();
                put[i] = of_same_class(find[i]);
        }
        find[3] = 'q';
        put[3] = 'w';
}

/* Bytes that look like what a form could be a part of. */
static size_t noise(char *t, size_t n) {
        static const char pieces[] = "%%\\\\&&u0x25#;nr\n\r\"/+= {}:,dGAa7";

        for (size_t i = 0; i < n; i++)
                t[i] = below(4) == 0 ? pieces[below(sizeof(pieces) - 1)] : below(3) == 0 ? (char)below(256) : letter();
        return n;
}

/* An occurrence in some form. simple: one whose escapes leave no doubt, so that decoders find it. */
static size_t emit(char *t, const struct redact_pair *p, bool *simple) {
        struct oracle_form f = {.kind = (int)below(3), .end = p->n};
        unsigned mixed = below(3), slot = below(SLOTS), line = f.kind == ORACLE_BASE64 && below(2) ? 4 + below(20) : 0, level[3];
        size_t n = 0;

        if (f.kind == ORACLE_HEX)
                f.end *= 2;
        if (f.kind == ORACLE_BASE64) {
                f.from = f.offset = below(3);
                f.end = (8 * (f.offset + p->n) + 5) / 6;
        }
        for (int i = 0; i < 3; i++) {
                level[i] = below(i == 2 ? 2 : 3);
                if (f.kind == ORACLE_PLAIN && memchr(p->find, "%\\&"[i], p->n))
                        *simple = false;
        }
        for (size_t k = f.from; k < f.end; k++) {
                char e[UNIT_MAX + 3];
                unsigned its, v = below(256);
                size_t digits, length = 0;
                while (!oracle_allows(&f, p, k, v))
                        v = (v + 1) % 256;
                const char *lead = f.kind == ORACLE_PLAIN && v ? strchr("%\\&", (int)v) : NULL;
                int use = lead ? (level[lead - "%\\&"] == 0 ? SLOT_RAW : *lead == '%' ? SLOT_PERCENT + (int)level[0] - 1
                                  : *lead == '\\' ? SLOT_BACKSLASH2 + (int)level[1] - 1 : SLOT_NAME)
                        : mixed == 0 ? SLOT_RAW : mixed == 1 ? (int)slot : below(2) ? SLOT_RAW : (int)below(SLOTS);
                length = oracle_encode(use, v, e, &its, &digits);
                if (length == 0)
                        length = oracle_encode(SLOT_RAW, v, e, &its, &digits);
                for (size_t i = digits; i < length && below(2); i++) /* of either case */
                        if (e[i] >= 'a' && e[i] <= 'f')
                                e[i] = (char)(e[i] - 32);
                memcpy(t + n, e, length);
                n += length;
                if (line && (k + 1 - f.from) % line == 0 && k + 1 < f.end)
                        n += (size_t)sprintf(t + n, "%s", (const char *[]){"\n", "\r\n", "\\n", "\\r\\n", "%0d%0A"}[below(5)]);
        }
        return n;
}

/* Decodes whatever looks like an escape; kinds: 1 percent, 2 backslash, 4 HTML. */
static size_t decode(const char *t, size_t n, char *out, unsigned kinds) {
        size_t m = 0;

        for (size_t i = 0; i < n;) {
                struct oracle_unit u = {.length = 1, .v = (unsigned char)t[i]}, best = u;
                unsigned kind = t[i] == '%' ? 1 : t[i] == '\\' ? 2 : t[i] == '&' ? 4 : 0;
                for (unsigned level = 1; level <= 2; level++)
                        for (unsigned v = 0; v < 256 && kind & kinds; v++)
                                if (oracle_read(t + i, n - i, true, v, level, &u) == ORACLE_SYMBOL && u.length > best.length)
                                        best = u;
                out[m++] = (char)best.v;
                i += best.length;
        }
        return m;
}

/* Whether hex digits are the text's. */
static bool has_hex(const char *t, size_t n, const struct redact_pair *p) {
        char *bytes = malloc(n);
        bool has = false;

        for (size_t phase = 0; phase < 2; phase++) {
                size_t m = 0;
                for (size_t i = phase; i + 1 < n; i += 2) {
                        int a = oracle_digit((unsigned char)t[i]), b = oracle_digit((unsigned char)t[i + 1]);
                        bytes[m++] = a < 0 || b < 0 ? '\0' : (char)(a << 4 | b);
                }
                has |= memmem(bytes, m, p->find, p->n) != NULL;
        }
        free(bytes);
        return has;
}

/* Whether what is base64 has the text in it, wherever a group begins. */
static bool has_base64(const char *t, size_t n, const struct redact_pair *p) {
        char *bytes = malloc(n + 8), *run = malloc(n + 8);
        bool has = false, url;

        for (size_t i = 0; i < n; i++) {
                size_t m = 3;
                memcpy(run, "AAA", m);
                for (; i < n && (t[i] == '\n' || t[i] == '\r' || oracle_sextet((unsigned char)t[i], &url) >= 0); i++)
                        if (t[i] != '\n' && t[i] != '\r')
                                run[m++] = t[i];
                for (size_t phase = 0; phase < 4; phase++) {
                        unsigned bits = 0, k = 0;
                        size_t out = 0;
                        for (size_t j = phase; j < m; j++) {
                                bits = bits << 6 | (unsigned)oracle_sextet((unsigned char)run[j], &url);
                                if (k++ % 4 > 0)
                                        bytes[out++] = (char)(bits >> (6 - 2 * ((k - 1) % 4)));
                        }
                        has |= memmem(bytes, out, p->find, p->n) != NULL;
                }
        }
        free(bytes);
        free(run);
        return has;
}

/* Whether any decoder finds the text. */
static bool leaks(const char *t, size_t n, const struct redact_pair *p) {
        char *once = malloc(n + 1), *twice = malloc(n + 1);
        bool has = false;

        for (unsigned kinds = 0; kinds < 8; kinds++) {
                size_t m = decode(t, n, once, kinds), k = decode(once, m, twice, kinds);
                has |= memmem(once, m, p->find, p->n) || has_hex(once, m, p) || has_base64(once, m, p);
                has |= memmem(twice, k, p->find, p->n) || has_hex(twice, k, p) || has_base64(twice, k, p);
        }
        free(once);
        free(twice);
        return has;
}

/* In random pieces, some of them empty. */
static void in_many_pieces(const char *text, size_t n, const char *expect) {
        char *out = malloc(n + 1);
        size_t done = 0;

        again();
        for (size_t i = 0, piece; i < n; i += piece) {
                piece = below(4) ? below(12) : below(100);
                piece = MIN(piece, n - i);
                ssize_t k = redact_feed(r, s, text + i, piece, false, out + done, n - done);
                check(k >= 0);
                done += (size_t)k;
                check(done + redact_held(s) == i + piece);
        }
        ssize_t k = redact_feed(r, s, NULL, 0, true, out + done, n - done);
        check(k >= 0 && done + (size_t)k == n && memcmp(out, expect, n) == 0);
        free(out);
}

static void random_texts(bool punctuation, unsigned rounds) {
        static struct oracle o;
        static char text[1 << 14], expect[1 << 14], out[1 << 14];
        unsigned decoded = 0;

        for (unsigned round = 0; round < rounds; round++) {
                char find[64], put[64];
                struct redact_pair p = {find, put, REDACT_VALUE_MIN + below(round % 8 ? 12 : 50)};
                size_t n = 0, occurrences = 1 + below(2);
                uint64_t found = 0;
                bool simple = true;
                random_pair(find, put, p.n, punctuation);
                prepare(&p, 1);
                oracle_init(&o, &p, 1);
                n += noise(text, below(30));
                for (size_t i = 0; i < occurrences; i++) {
                        n += emit(text + n, &p, &simple);
                        n += noise(text + n, i + 1 < occurrences ? below(8) : below(30));
                }
                memcpy(expect, text, n);
                oracle_text(&o, expect, n, &found);
                memcpy(out, text, n);
                redact_text(r, s, out, n);
                check(found >= 1 && redact_found(s, 0) == found);
                check(memcmp(out, expect, n) == 0);
                in_many_pieces(text, n, expect);
                check_cuts(text, n, expect);
                if (round % 4 == 0) {
                        check(!leaks(expect, n, &p));
                        decoded += simple && leaks(text, n, &p);
                }
        }
        /* What decodes to the text did so before: most do, where noise does not come between. */
        printf("# decoded before: %u of %u\n", decoded, rounds / 4);
        check(punctuation || decoded > rounds / 4 / 2);
}

TEST(random_tokens) { random_texts(false, 200); }

TEST(random_passwords) { random_texts(true, 200); }

/* More forms than are told apart before they are followed. */
TEST(random_pairs) {
        static struct oracle o;
        static char find[REDACT_PAIRS_MAX][32], put[REDACT_PAIRS_MAX][32], text[1 << 14], expect[1 << 14], out[1 << 14];

        for (unsigned round = 0; round < 30; round++) {
                struct redact_pair pairs[REDACT_PAIRS_MAX];
                size_t n_pairs = round % 5 == 0 ? REDACT_PAIRS_MAX : 2 + below(8), n = noise(text, below(40));
                uint64_t found[REDACT_PAIRS_MAX] = {}, sum = 0;
                bool simple = true;
                for (size_t i = 0; i < n_pairs; i++) {
                        pairs[i] = (struct redact_pair){find[i], put[i], REDACT_VALUE_MIN + below(20)};
                        random_pair(find[i], put[i], pairs[i].n, round % 2);
                }
                prepare(pairs, n_pairs);
                oracle_init(&o, pairs, n_pairs);
                for (size_t i = 0; i < 6; i++) {
                        n += emit(text + n, &pairs[below((unsigned)n_pairs)], &simple);
                        n += noise(text + n, below(12));
                }
                memcpy(expect, text, n);
                oracle_text(&o, expect, n, found);
                memcpy(out, text, n);
                redact_text(r, s, out, n);
                check(memcmp(out, expect, n) == 0);
                for (size_t i = 0; i < n_pairs; i++) {
                        check(redact_found(s, i) == found[i]);
                        sum += found[i];
                }
                check(sum >= 6);
                for (size_t i = 0; i < 3; i++)
                        in_many_pieces(text, n, expect);
        }
}

TEST(nothing_there) {
        static char text[1 << 14], out[1 << 14];

        for (unsigned round = 0; round < 200; round++) {
                char find[64], put[64];
                struct redact_pair p = {find, put, REDACT_VALUE_MIN + below(50)};
                random_pair(find, put, p.n, round % 2);
                prepare(&p, 1);
                size_t n = noise(text, below(4000));
                /* and parts of it */
                for (unsigned i = 0; i < 8 && n > p.n; i++)
                        memcpy(text + below((unsigned)(n - p.n)), find, p.n - 3 - below(3)); /* not what one byte of noise completes */
                if (memmem(text, n, find, p.n))
                        continue;
                memcpy(out, text, n);
                redact_text(r, s, out, n);
                check(memcmp(out, text, n) == 0 && redact_found(s, 0) == 0);
                in_many_pieces(text, n, text);
        }
}

TAP_MAIN
