/* Texts of URLs, their marks, and what references mean. */
#include "base/macros.h"
#include "model/canonical.h"
#include "model/provenance.h"
#include "tap.h"

static const struct provenance_key key = {{0x0706050403020100u, 0x0f0e0d0c0b0a0908u}};

/* As `openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:8 SIPHASH` has them, of the text and the kind. */
TEST(hash) {
        struct provenance_mark m[PROVENANCE_MARKS_MAX];
        size_t n = provenance_marks(&key, "https://a.test/a?b=c", 20, m);

        check(provenance_origin_hash(&key, "https://a.test/a?b=c", 20) == __builtin_bswap64(0x40AA91CE42597386u));
        check(n > 0 && m[n - 1].whole && m[n - 1].hash == __builtin_bswap64(0x421E0003BCE00421u));
}

TEST(marks) {
        static const size_t want[] = {14, 15, 16, 17, 18, 19, 20, 20};
        struct provenance_mark m[PROVENANCE_MARKS_MAX], other[PROVENANCE_MARKS_MAX];
        size_t n = provenance_marks(&key, "https://a.test/a?b=c", 20, m), k;

        check(n == ELEMENTSOF(want));
        for (size_t i = 0; i < n; i++)
                check(m[i].at == want[i] && m[i].whole == (i == n - 1) && m[i].hash);
        /* The beginning of another one is the same beginning, and not the whole. */
        k = provenance_marks(&key, "https://a.test/a?b=cd", 21, other);
        for (size_t i = 0; i < k; i++)
                check((other[i].hash == m[i].hash) == (i < 6));
        n = provenance_marks(&key, "https://a.test", 14, m);
        check(n == 1 && m[0].at == 14 && !m[0].whole && m[0].hash == other[0].hash);
        struct provenance_key second = key;
        second.k[0]++;
        check(provenance_marks(&second, "https://a.test", 14, other) == 1 && other[0].hash != m[0].hash);
        check(provenance_bits(20, 20) == 8 && provenance_bits(20, 0) == 168);
}

TEST(beyond) {
        static const struct {
                const char *url, *known;
                uint64_t bits;
        } rows[] = {
                {"https://a.test/x", "https://a.test/x", 0}, {"https://a.test/x?q", "https://a.test/x", 24}, {"https://a.test/xy", "https://a.test/x", 24},
                {"https://a.test/x", "https://a.test/x?q", 8}, {"https://a.test/", "https://a.test", 16}, {"https://a.test/list?q", "https://a.test/listing", 56},
                {"https://b.test/x", "https://a.test/x", 136},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                check(provenance_bits_beyond(rows[i].url, strlen(rows[i].url), rows[i].known, strlen(rows[i].known)) == rows[i].bits);
}

TEST(many_marks) {
        struct provenance_mark m[PROVENANCE_MARKS_MAX];
        char text[4096] = "https://a.test/";

        memset(text + 15, '/', sizeof(text) - 15);
        size_t n = provenance_marks(&key, text, sizeof(text), m);
        check(n == PROVENANCE_MARKS_MAX && m[n - 1].whole && m[n - 2].at == sizeof(text) && !m[n - 2].whole);
}

static const char *resolve(const char *base, const char *ref) {
        static char buf[PROVENANCE_TEXT_MAX + 1];
        ssize_t n = provenance_resolve(base, strlen(base), ref, strlen(ref), buf, PROVENANCE_TEXT_MAX);
        if (n < 0)
                return "-";
        buf[n] = 0;
        return buf;
}

TEST(references) {
        static const char base[] = "https://a.test:8443/b/c/d?q=1";
        static const struct {
                const char *ref, *url;
        } rows[] = {
                {"https://B.test/x", "https://b.test/x"}, {"http://b.test", "http://b.test/"}, {"https://b.test:443/x#y", "https://b.test/x"},
                {"//b.test/x", "https://b.test/x"}, {"/x", "https://a.test:8443/x"}, {"x", "https://a.test:8443/b/c/x"},
                {"./x", "https://a.test:8443/b/c/x"}, {"../x", "https://a.test:8443/b/x"}, {"?p=2", "https://a.test:8443/b/c/d?p=2"},
                {"x?y=/../z", "https://a.test:8443/b/c/x?y=/../z"}, {"/%7ex", "https://a.test:8443/~x"}, {"/a b", "https://a.test:8443/a%20b"},
                {"/\xc3\xa4", "https://a.test:8443/%C3%A4"}, {"wss://b.test/s", "https://b.test/s"}, {"/x:y", "https://a.test:8443/x:y"},
                /* What nobody asks for, or what has two readings. */
                {"#x", "-"}, {"", "-"}, {"mailto:a@b.test", "-"}, {"javascript:x", "-"}, {"https:x", "-"}, {"ftp://b.test/x", "-"},
                {"https://u@b.test/x", "-"}, {"/a%2fb", "-"}, {"/a//b", "-"}, {"../../../x", "-"}, {"//", "-"}, {"https://", "-"}, {"/\xc3", "-"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                check_streq(resolve(base, rows[i].ref), rows[i].url);
        check_streq(resolve("https://a.test", "/x"), "https://a.test/x");
        check_streq(resolve("", "https://a.test/x"), "https://a.test/x");
        check_streq(resolve("", "/x"), "-");
        check_streq(resolve("", "//a.test/x"), "-");
        check_streq(resolve("https://[::1]/a", "b"), "https://[::1]/b");
        char buf[8];
        check(provenance_resolve(base, sizeof(base) - 1, "/x", 2, buf, sizeof(buf)) < 0);
}

/* What is asked for has the text of what was given. */
TEST(texts) {
        static const char *const urls[] = {"https://a.test/", "http://a.test:8080/x?y", "https://[2001:db8::1]/x?y=%20z", "https://1.2.3.4:8443/%C3%A4"};
        char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX], text[PROVENANCE_TEXT_MAX + 1];
        struct request r = {};

        for (size_t i = 0; i < ELEMENTSOF(urls); i++) {
                check(canonical_url(urls[i], strlen(urls[i]), buf, sizeof(buf), &r, NULL) == 0);
                ssize_t n = provenance_text(&r, text, PROVENANCE_TEXT_MAX);
                check(n > 0);
                text[n] = 0;
                check_streq(text, urls[i]);
                check_streq(resolve("https://other.test/", urls[i]), urls[i]);
                for (size_t k = 0; k < (size_t)n; k++)
                        check(provenance_text(&r, text, k) < 0);
        }
}

static const char *of_rule(struct network_rule *r) {
        static char all[4096];
        struct strlist l = {};

        all[0] = 0;
        check(provenance_of_rule(r, &l) == 0);
        for (size_t i = 0; i < l.n; i++)
                snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ", l.items[i]);
        strlist_clear(&l);
        network_rule_clear(r);
        return all;
}

TEST(rules) {
        struct network_ports p[] = {{443, 443}, {8000, 8001}};
        struct network_rule r = {.protocols = NETWORK_HTTPS};
        struct error e = {};

        check(network_set_host(&r, "a.test", &e) == 0 && network_add_path(&r, "/x", &e) == 0 && network_add_path(&r, "/y/**", &e) == 0 &&
              network_add_path(&r, "/%2A%3F%23", &e) == 0 && network_add_port(&r, "443", &e) == 0 && network_add_port(&r, "8000-8001", &e) == 0);
        check(r.n_ports == ELEMENTSOF(p));
        check_streq(of_rule(&r), "https://a.test https://a.test/x https://a.test/*%3F%23 https://a.test:8000 https://a.test:8000/x "
                                 "https://a.test:8000/*%3F%23 https://a.test:8001 https://a.test:8001/x https://a.test:8001/*%3F%23 ");
        r = (struct network_rule){.protocols = NETWORK_HTTP};
        check(network_set_host(&r, "a.test", &e) == 0 && network_add_port(&r, "80", &e) == 0);
        check_streq(of_rule(&r), "http://a.test http://a.test/ ");
        r = (struct network_rule){.protocols = NETWORK_HTTPS};
        check(network_set_host(&r, "2001:db8::1", &e) == 0 && network_add_port(&r, "443", &e) == 0);
        check_streq(of_rule(&r), "https://[2001:db8::1] https://[2001:db8::1]/ ");
        static const char *const none[] = {"*.a.test", "**", "10.0.0.0/8"};
        for (size_t i = 0; i < ELEMENTSOF(none); i++) {
                r = (struct network_rule){.protocols = NETWORK_HTTPS};
                check(network_set_host(&r, none[i], &e) == 0 && network_add_port(&r, "443", &e) == 0);
                check_streq(of_rule(&r), "");
        }
        r = (struct network_rule){.protocols = NETWORK_HTTPS, .deny = true};
        check(network_set_host(&r, "a.test", &e) == 0 && network_add_port(&r, "443", &e) == 0);
        check_streq(of_rule(&r), "");
}

TAP_MAIN
