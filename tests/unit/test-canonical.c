#include <fcntl.h>

#include "base/fd.h"
#include "model/address.h"
#include "model/canonical.h"
#include "tap.h"

static struct request r;
static char buf[REQUEST_HOST_MAX + 1 + REQUEST_TARGET_MAX];

/* What a reader made of it: the canonical text, or "!" and the reason. The input stands in a block of just its size. */
enum reader { HOST, AUTHORITY, TARGET, URL };
static const char *read_as(enum reader reader, const char *s, size_t n) {
        static char out[REQUEST_HOST_MAX + REQUEST_TARGET_MAX + 100];
        const char *why = NULL;
        char *copy = malloc(n ? n : 1);
        ssize_t k = 0, m = 0;
        int x = -1;

        check(copy);
        memcpy(copy, s, n);
        r = (struct request){};
        switch (reader) {
        case HOST:
                x = canonical_host(copy, n, buf, &r, &why);
                break;
        case AUTHORITY:
                x = canonical_authority(copy, n, 443, buf, &r, &why);
                break;
        case TARGET:
                x = canonical_target(copy, n, buf, n, &r, &why); /* room for as much as came is enough */
                break;
        case URL:
                x = canonical_url(copy, n, buf, sizeof(buf), &r, &why);
                break;
        }
        free(copy); /* nothing may point into it */
        check((x < 0) == (why != NULL));
        if (x < 0) {
                check(x == -EINVAL || x == -E2BIG);
                check(r.host.n == 0 && r.n_segments == 0 && r.n_query == 0 && r.target_bytes == 0 && r.port == 0);
                snprintf(out, sizeof(out), "!%s", why);
                return out;
        }
        if (reader == HOST)
                r.port = 80;
        if (reader == URL)
                k = snprintf(out, sizeof(out), "%s", r.tls ? "https://" : "http://");
        if (reader != TARGET)
                m = canonical_write_authority(&r, out + k, sizeof(out) - (size_t)k);
        check(m >= 0);
        k += m;
        if (reader == TARGET || reader == URL) {
                m = canonical_write_target(&r, out + k, sizeof(out) - (size_t)k);
                check(m >= 0 && (size_t)m == r.target_bytes);
                for (size_t small = 0; small < (size_t)m; small++)
                        check(canonical_write_target(&r, out + k, small) == -ENOBUFS);
                m = canonical_write_target(&r, out + k, sizeof(out) - (size_t)k);
                k += m;
        }
        out[k] = 0;
        return out;
}

/* Expected: the text, or "!" and a part of the reason. */
static void check_as(enum reader reader, const char *s, size_t n, const char *wanted) {
        char start[50] = "", seen[200];

        memcpy(start, s, MIN(n, sizeof(start) - 1));
        str_visible(seen, sizeof(seen), start);
        printf("# %s\n", seen);
        const char *got = read_as(reader, s, n);
        if (wanted[0] == '!' && got[0] == '!' && wanted[1] && strstr(got, wanted + 1))
                return;
        check_streq(got, wanted);
}
#define check_all(reader, t)                                                                   \
        for (size_t i_ = 0; i_ < ELEMENTSOF(t); i_++)                                          \
                check_as(reader, (t)[i_][0], strlen((t)[i_][0]), (t)[i_][1])

TEST(names) {
        static const char *const t[][2] = {
                {"ok.test", "ok.test"}, {"OK.Test", "ok.test"}, {"ok.test.", "ok.test"}, {"localhost", "localhost"}, {"a_b.ok.test", "a_b.ok.test"},
                {"r3---sn-x.ok.test", "r3---sn-x.ok.test"}, {"1.ok", "1.ok"}, {"0x1.ok", "0x1.ok"}, {"127.0.0.1.ok", "127.0.0.1.ok"}, {"0xg", "0xg"},
                {"1a", "1a"}, {"a1", "a1"}, {"7f000001.x0", "7f000001.x0"}, {"xn--bcher-kva.test", "xn--bcher-kva.test"},
                {"XN--BCHER-KVA.test", "xn--bcher-kva.test"}, {"xn--p1ai", "xn--p1ai"}, {"xn--fiqs8s", "xn--fiqs8s"},
                {"xn--ihqwcrb4cv8a8dqg056pqjye", "xn--ihqwcrb4cv8a8dqg056pqjye"}, /* RFC 3492 section 7.1 (B) */
                {"xn--egbpdaj6bu4bxfgehfvwxn", "xn--egbpdaj6bu4bxfgehfvwxn"},     /* (A) */
                {"xn--3b-ww4c5e180e575a65lsy2b", "xn--3b-ww4c5e180e575a65lsy2b"}, /* (M) */
                {"xn--unp0-zwa", "xn--unp0-zwa"}, {"evilok.test", "evilok.test"}, {"ok.test.no.test", "ok.test.no.test"},
                {"", "!empty"}, {".", "!empty"}, {"..", "!empty label"}, {".ok.test", "!empty label"}, {"ok..test", "!empty label"}, {"ok.test..", "!empty label"},
                {"-ok.test", "!hyphen"}, {"ok-.test", "!hyphen"}, {"ok.-", "!hyphen"}, {"xn--", "!hyphen"}, {"xn--google-", "!hyphen"},
                {"xn--a", "!A-label"}, {"xn--ls8h", "xn--ls8h"}, {"xn--8g7ccp.0.0.xn--8g7c", "!A-label"}, {"xn--r6j326g", "!A-label"}, {"xn--abc-ifa", "!A-label"}, {"xn--99999999", "!A-label"}, {"xn--google-.test", "!hyphen"}, {"xn--0.test", "!A-label"},
                {"xn--a_b-_", "!A-label"}, {"xn--999999999999999999999999999999999999999999", "!A-label"},
                {"b\xc3\xbc" "cher.test", "!A-label (xn--"}, {"\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", "!ASCII digits"}, {"ok\xe3\x80\x82test", "!outside ASCII"},
                {"ok\xff.test", "!outside ASCII"}, {"\xd0\xbek.test", "!outside ASCII"}, /* Cyrillic o */
                {"ok%2etest", "!percent"}, {"%6fk.test", "!percent"}, {"ok.test%00", "!percent"}, {"user@ok.test", "!user name"}, {"u:p@ok.test", "!user name"},
                {"no.test\\@ok.test", "!user name"}, {"no.test\\.ok.test", "!backslash"}, {"ok.test\t", "!blank"}, {" ok.test", "!blank"}, {"ok.test\r", "!control"}, {"ok\ntest", "!control"},
                {"ok.test\x7f", "!control"}, {"*.ok.test", "!wildcard"}, {"ok.test/", "!character that no name has"}, {"ok.test#", "!character"},
                {"ok.test?", "!character"}, {"ok,test", "!character"}, {"ok!", "!character"}, {"ok.test]", "!IPv6"}, {"ok.test:80", "!no IPv6"},
        };
        check_all(HOST, t);
        check_as(HOST, "ok.test\0.no.test", 16, "!control");
        check_as(HOST, "ok.test\0", 8, "!control");

        char name[300], wanted[300];
        memset(name, 'a', sizeof(name));
        name[63] = name[127] = name[191] = '.';
        name[253] = '.';
        memcpy(wanted, name, 253);
        wanted[253] = 0;
        check_as(HOST, name, 253, wanted);
        check_as(HOST, name, 254, wanted);
        name[253] = 'a';
        check_as(HOST, name, 254, "!253 bytes");
        name[63] = 'a';
        check_as(HOST, name, 100, "!63 bytes");
        wanted[63] = 0;
        check_as(HOST, name, 63, wanted);
}

TEST(addresses) {
        static const char *const t[][2] = {
                {"127.0.0.1", "127.0.0.1"}, {"127.1", "127.0.0.1"}, {"127.0.1", "127.0.0.1"}, {"10.1.256", "10.1.1.0"}, {"10.65536", "10.1.0.0"},
                {"2130706433", "127.0.0.1"}, {"0", "0.0.0.0"}, {"1", "0.0.0.1"}, {"0x7f000001", "127.0.0.1"}, {"0X7F.0.0.1", "127.0.0.1"},
                {"0x7f.1", "127.0.0.1"}, {"0xa9fea9fe", "169.254.169.254"}, {"0xa9.254.0xa9fe", "169.254.169.254"}, {"4294967295", "255.255.255.255"},
                {"0x00000000000007f", "0.0.0.127"}, {"00", "0.0.0.0"}, {"127.00.00.01", "127.0.0.1"}, {"007", "0.0.0.7"}, {"255.255.255.255", "255.255.255.255"},
                {"0177.0.0.1", "!octal"}, {"010.0.0.1", "!octal"}, {"127.0.0.08", "!octal"}, {"017700000001", "!too large"}, {"0127.0.0.1", "!octal"},
                {"127.0.0.1.", "!dot at its end"}, {"0.", "!dot at its end"}, {"256.0.0.1", "!too large"}, {"1.2.3.256", "!too large"}, {"1.16777216", "!too large"},
                {"1.2.65536", "!too large"}, {"4294967296", "!too large"}, {"99999999999999999999999", "!too large"}, {"0x100000000", "!too large"},
                {"1.2.3.4.5", "!four parts"}, {"1.2.3.4.5.6", "!four parts"}, {"1..2", "!is empty"}, {".1", "!is empty"}, {"0x", "!is empty"}, {"1.0x", "!is empty"},
                {"ok.1", "!ends in a number"}, {"1.0x1g.2", "!ends in a number"}, {"a.b.0xff", "!ends in a number"}, {"0x7g.1", "!ends in a number"},
                {"[::1]", "[::1]"}, {"::1", "[::1]"}, {"::", "[::]"}, {"[2001:DB8:0:0::1]", "[2001:db8::1]"}, {"[::ffff:127.0.0.1]", "127.0.0.1"},
                {"::ffff:7f00:1", "127.0.0.1"}, {"[0:0:0:0:0:ffff:0a00:0001]", "10.0.0.1"}, {"64:ff9b::7f00:1", "[64:ff9b::7f00:1]"},
                {"::127.0.0.1", "[::7f00:1]"}, {"2002:7f00:1::", "[2002:7f00:1::]"}, {"::ffff:0:127.0.0.1", "[::ffff:0:7f00:1]"},
                {"[::1%25eth0]", "!zone"}, {"fe80::1%eth0", "!zone"}, {"[::1", "!not closed"}, {"[::1]x", "!not closed"}, {"[]", "!no IPv6"}, {"[", "!not closed"},
                {"[127.0.0.1]", "!no IPv6"}, {"[ok.test]", "!no IPv6"}, {"[v1.x]", "!no IPv6"}, {"[::ffff:0177.0.0.1]", "!no IPv6"}, {"[[::1]]", "!no IPv6"},
                {"1::2::3", "!no IPv6"}, {":", "!no IPv6"}, {"::1.", "!no IPv6"}, {"[::1].", "!not closed"}, {"[::1 ]", "!no IPv6"}, {"[:\xef\xbc\x9a" "1]", "!no IPv6"},
                {"[1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:1:2:3:4:5:6:7:8:9:a:b:c:d]", "!no IPv6"},
        };
        check_all(HOST, t);
        check_as(HOST, "[::1\0]", 6, "!no IPv6");
        struct request_address a;
        for (size_t i = 0; i < ELEMENTSOF(t); i++) { /* the bytes say what the text says */
                read_as(HOST, t[i][0], strlen(t[i][0]));
                check(r.is_address == (t[i][1][0] != '!'));
                check(!r.is_address || (address_parse(r.host.p, r.host.n, &a) == 0 && memcmp(&a, &r.address, 16) == 0));
        }
}

TEST(authorities) {
        static const char *const t[][2] = {
                {"OK.test", "ok.test:443"}, {"ok.test:80", "ok.test"}, {"ok.test:65535", "ok.test:65535"}, {"ok.test.:8080", "ok.test:8080"},
                {"127.1:1", "127.0.0.1:1"}, {"[::1]:80", "[::1]"}, {"[::1]", "[::1]:443"}, {"[::ffff:1.2.3.4]:9", "1.2.3.4:9"},
                {"ok.test:", "!port"}, {"ok.test:0", "!port"}, {"ok.test:080", "!port"}, {"ok.test:65536", "!port"}, {"ok.test:99999999999", "!port"},
                {"ok.test:+80", "!port"}, {"ok.test: 80", "!port"}, {"ok.test:80 ", "!port"}, {"ok.test:http", "!port"}, {"ok.test:8\xc2\xb2", "!port"},
                {"::1", "!brackets"}, {"ok.test:80:80", "!brackets"}, {"[::1]80", "!follows"}, {"[::1", "!not closed"}, {"[::1]:", "!port"}, {":80", "!empty"},
                {"", "!empty"}, {"u@ok.test", "!user name"}, {"u:80@ok.test", "!user name"}, {"ok.test:80@no.test", "!user name"}, {"ok.test@", "!user name"},
                {"[::1]@ok.test", "!user name"},
        };
        check_all(AUTHORITY, t);
        check_as(AUTHORITY, "ok.test:80\0", 11, "!port");
        const char *why = NULL;
        check(canonical_authority("ok.test", 7, 0, buf, &r, &why) == -EINVAL && strstr(why, "port is missing"));
        check(canonical_authority("ok.test:1", 9, 0, buf, &r, NULL) == 0 && r.port == 1);

        /* with TLS the other port is the scheme's own */
        char out[REQUEST_HOST_MAX + 9];
        r.tls = true;
        r.port = 443;
        check(canonical_write_authority(&r, out, sizeof(out)) == 7);
        check_streq(out, "ok.test");
        r.port = 80;
        check(canonical_write_authority(&r, out, 10) == -ENOBUFS && canonical_write_authority(&r, out, 11) == 10);
        check_streq(out, "ok.test:80");
}

TEST(methods) {
        static const char *const good[] = {"GET", "M-SEARCH", "X", "A_B", "P2P", "CONNECT"};
        static const char *const bad[] = {"", "get", "Get", "GET ", "-A", "1A", "G\xc3\x89T", "G.T", "GET,POST", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG"};
        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                check(canonical_method(good[i], strlen(good[i]), &r, NULL) == 0 && r.method.n == strlen(good[i]) && r.method.p == good[i]);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(canonical_method(bad[i], strlen(bad[i]), &r, NULL) == -EINVAL && r.method.n == 0);
}

TEST(paths) {
        static const char *const t[][2] = {
                {"/", "/"}, {"*", "*"}, {"/a", "/a"}, {"/a/", "/a/"}, {"/a/b", "/a/b"}, {"/A", "/A"}, {"/%41%7e", "/A~"}, {"/%7E", "/~"},
                {"/a%20b", "/a%20b"}, {"/a%2Bb+c", "/a+b+c"}, {"/a:b@c,d=e&f!g$h'i(j)k*l", "/a:b@c,d=e&f!g$h'i(j)k*l"},
                {"/%3F%23%5B", "/%3F%23%5B"}, {"/[a]", "/%5Ba%5D"}, {"/{a}|^`\"<>", "/%7Ba%7D%7C%5E%60%22%3C%3E"},
                {"/\xc3\xbc", "/%C3%BC"}, {"/%c3%bc", "/%C3%BC"}, {"/\xc3%bc", "/%C3%BC"}, {"/100%25", "/100%25"}, {"/%25zz", "/%25zz"}, {"/%25", "/%25"}, {"/%254", "/%254"},
                {"/.", "/"}, {"/./", "/"}, {"/a/.", "/a/"}, {"/a/./b", "/a/b"}, {"/a/..", "/"}, {"/a/../", "/"}, {"/a/b/../c", "/a/c"}, {"/a/%2e%2E/b", "/b"},
                {"/a/.%2e/b", "/b"}, {"/a/%2e/b", "/a/b"}, {"/public/../secret", "/secret"}, {"/...", "/..."}, {"/..a", "/..a"}, {"/.a", "/.a"}, {"/a/..b/c", "/a/..b/c"},
                {"/@scope%2fname", "/@scope/name"}, {"/npm/%40scope%2Fname/1.0.0", "/npm/@scope/name/1.0.0"}, {"/@s/n", "/@s/n"},
                {"", "!begin with a slash"}, {"a", "!begin with a slash"}, {"?a", "!begin with a slash"}, {"**", "!begin with a slash"}, {"http://ok.test/", "!begin with a slash"},
                {"//", "!empty part"}, {"//a", "!empty part"}, {"/a//b", "!empty part"}, {"/a//", "!empty part"}, {"/a//../b", "!empty part"}, {"/.//", "!empty part"},
                {"/..", "!above its root"}, {"/../a", "!above its root"}, {"/a/../../b", "!above its root"}, {"/%2e%2e/a", "!above its root"}, {"/./..", "!above its root"},
                {"/a%2fb", "!encoded slash"}, {"/a%2Fb", "!encoded slash"}, {"/%2f", "!encoded slash"}, {"/..%2fa", "!encoded slash"}, {"/@%2fa", "!encoded slash"},
                {"/@a%2f", "!encoded slash"}, {"/@a%2f..", "!encoded slash"}, {"/@a%2f.", "!encoded slash"}, {"/@a%2fb%2fc", "!encoded slash"}, {"/@a%2f%2fb", "!encoded slash"},
                {"/x@a%2fb", "!encoded slash"}, {"/@a%2f..%2fb", "!encoded slash"}, {"/%2f@a", "!encoded slash"},
                {"/a\\b", "!backslash"}, {"/a%5cb", "!backslash"}, {"/..\\", "!backslash"}, {"/..%5C..%5Ca", "!backslash"},
                {"/%252e", "!encoded twice"}, {"/%252e%252e/a", "!encoded twice"}, {"/%2541", "!encoded twice"}, {"/%25%34%31", "!encoded twice"}, {"/%25252e", "!encoded twice"},
                {"/%2%35", "!two hexadecimal"}, {"/%", "!two hexadecimal"}, {"/%4", "!two hexadecimal"}, {"/%g0", "!two hexadecimal"}, {"/%0g", "!two hexadecimal"}, {"/%u002e", "!two hexadecimal"}, {"/%-1", "!two hexadecimal"},
                {"/%/a", "!two hexadecimal"}, {"/a%2?0", "!two hexadecimal"}, {"/a%00", "!NUL"}, {"/%00", "!NUL"}, {"/%0a", "!control"}, {"/%0d%0aX", "!control"}, {"/%7f", "!control"}, {"/%09", "!control"},
                {"/a b", "!blank"}, {"/a\tb", "!blank"}, {"/a\r\nb", "!blank"}, {"/a\x7f", "!control"}, {"/a#b", "!fragment"}, {"/#@no.test", "!fragment"},
                {"/a;b", "!semicolon"}, {"/;", "!semicolon"}, {"/..;/a", "!semicolon"}, {"/a%3bb", "!semicolon"}, {"/a;jsessionid=1/b", "!semicolon"},
                {"/%ff", "!UTF-8"}, {"/\xff", "!UTF-8"}, {"/%c0%ae", "!UTF-8"}, {"/%c0%af", "!UTF-8"}, {"/%e0%80%ae", "!UTF-8"}, {"/%ed%a0%80", "!UTF-8"}, {"/%f4%90%80%80", "!UTF-8"},
                {"/%c3", "!UTF-8"}, {"/%c3/%bc", "!UTF-8"}, {"/%80", "!UTF-8"}, {"/\xc3", "!UTF-8"},
        };
        check_all(TARGET, t);
        check_as(TARGET, "/a\0b", 4, "!control");
        check(strcmp(read_as(TARGET, "/a/", 3), "/a/") == 0 && r.n_segments == 2 && r.segment[0].n == 1 && r.segment[1].n == 0);
        check(strcmp(read_as(TARGET, "/", 1), "/") == 0 && r.n_segments == 1 && r.segment[0].n == 0);
        check(strcmp(read_as(TARGET, "*", 1), "*") == 0 && r.n_segments == 0 && r.target_bytes == 1);
        check(strcmp(read_as(TARGET, "/@a%2fb", 7), "/@a/b") == 0 && r.n_segments == 2 && memcmp(r.segment[1].p, "b", 1) == 0);
}

TEST(queries) {
        static const char *const t[][2] = {
                {"/?a=b", "/?a=b"}, {"/?", "/"}, {"/?a", "/?a"}, {"/?a=", "/?a="}, {"/?&&", "/"}, {"/?&a&&b=1&", "/?a&b=1"}, {"/?=", "/?="}, {"/?=x", "/?=x"},
                {"/?a=1&a=2&A=3", "/?a=1&a=2&A=3"}, {"/?b=1&a=2", "/?b=1&a=2"}, {"/?a=b=c", "/?a=b=c"}, {"/?a%3Db=c", "/?a%3Db=c"}, {"/?a=%26b", "/?a=%26b"},
                {"/?a+b=c+d", "/?a%20b=c%20d"}, {"/?a=%2B", "/?a=%2B"}, {"/?a=%20", "/?a=%20"}, {"/?a=%3b", "/?a=%3B"}, {"/?a=/x?y:z@", "/?a=/x?y:z@"},
                {"/?u=https%3A%2F%2Fok.test%2F%3Fq%3D%2520", "/?u=https://ok.test/?q=%2520"}, {"/?a[]=1", "/?a%5B%5D=1"}, {"/?a=\\", "/?a=%5C"},
                {"/?a=%0d%0a", "/?a=%0D%0A"}, {"/?a=..%2f", "/?a=../"}, {"/?\xc3\xbc=%c3%bc", "/?%C3%BC=%C3%BC"}, {"/a?/../b", "/a?/../b"}, {"/?q='or(1)*$!", "/?q='or(1)*$!"},
                {"/?a=%25", "/?a=%25"}, {"/??", "/??"},
                {"/?a;b", "!semicolon"}, {"/?a=1;b=2", "!semicolon"}, {"/?a=%00", "!NUL"}, {"/?%00", "!NUL"}, {"/?%0a=1", "!key with an encoded control"},
                {"/?%2561=1", "!key that is encoded twice"}, {"/?a=%ff", "!UTF-8"}, {"/?%c0%ae", "!UTF-8"}, {"/?a=%4", "!two hexadecimal"}, {"/?%=1", "!two hexadecimal"}, {"/?a%=1", "!two hexadecimal"},
                {"/?a=b#c", "!fragment"}, {"/?a=b c", "!blank"}, {"/?a=\n", "!control"}, {"*?a", "!begin with a slash"},
        };
        check_all(TARGET, t);
        read_as(TARGET, "/?a+b=%2b&c&d=", 14);
        check(r.n_query == 3 && r.query[0].has_value && !r.query[1].has_value && r.query[2].has_value && r.query[2].value.n == 0);
        check(r.query[0].key.n == 3 && memcmp(r.query[0].key.p, "a b", 3) == 0 && r.query[0].value.n == 1 && r.query[0].value.p[0] == '+');
}

TEST(urls) {
        static const char *const t[][2] = {
                {"https://OK.test", "https://ok.test/"}, {"HTTPS://ok.test:443/", "https://ok.test/"}, {"http://ok.test:443/", "http://ok.test:443/"},
                {"wss://ok.test/x", "https://ok.test/x"}, {"ws://ok.test/x", "http://ok.test/x"}, {"http://ok.test?a", "http://ok.test/?a"},
                {"http://[::1]:8080/a", "http://[::1]:8080/a"}, {"http://0x7f.1/", "http://127.0.0.1/"}, {"http://ok.test./", "http://ok.test/"},
                {"ftp://ok.test/", "!http://"}, {"ok.test", "!http://"}, {"//ok.test/", "!http://"}, {"http:/ok.test/", "!http://"}, {"", "!http://"}, {"http:", "!http://"},
                {" http://ok.test/", "!http://"}, {"file:///etc/passwd", "!http://"}, {"javascript:x", "!http://"},
                {"http://", "!empty"}, {"http:///a", "!empty"}, {"http://?a", "!empty"}, {"http://u:p@ok.test/", "!user name"}, {"http://@ok.test/", "!user name"},
                {"http://no.test\\@ok.test/", "!backslash"}, {"http://no.test\\.ok.test/", "!backslash"}, {"http:\\\\ok.test/", "!http://"}, {"http://ok.test#@no.test/", "!fragment"},
                {"http://ok.test/#a", "!fragment"}, {"http://ok.test/?a#", "!fragment"}, {"http://ok.test\t/", "!blank"}, {"http://ok.test%2f@no.test/", "!user name"},
                {"http://ok.test%00.no.test/", "!percent"}, {"http://ok.test:80:80/", "!brackets"}, {"http://ok.test:/", "!port"}, {"http://ok.test:0/", "!port"},
                {"http://ok.test/..", "!above"}, {"http://ok.test//", "!empty part"}, {"http://\xe2\x93\x9ek.test/", "!outside ASCII"},
        };
        check_all(URL, t);
        check_as(URL, "http://ok.test\0.no.test/", 24, "!control");
        read_as(URL, "wss://ok.test/x", 15);
        check(r.layer == REQUEST_L7 && r.tls && r.websocket && r.port == 443);
        read_as(URL, "http://ok.test/x", 16);
        check(!r.tls && !r.websocket && r.port == 80);
        const char *why = NULL;
        check(canonical_url("http://ok.test/", 15, buf, 10, &r, &why) == -E2BIG && why);
        check(canonical_url("http://ok.test/aaaa", 19, buf, REQUEST_HOST_MAX + 1 + 3, &r, &why) == -E2BIG && r.host.n == 0);
}

TEST(limits) {
        static char s[3 * REQUEST_TARGET_MAX];

        memset(s, 'a', sizeof(s));
        s[0] = '/';
        s[REQUEST_TARGET_MAX] = 0;
        check_as(TARGET, s, REQUEST_TARGET_MAX, s);
        check_as(TARGET, s, REQUEST_TARGET_MAX + 1, "!too long");
        memset(s + 1, '"', REQUEST_TARGET_MAX); /* three bytes each when written */
        check_as(TARGET, s, REQUEST_TARGET_MAX / 3 + 2, "!too long when it is encoded");
        check(read_as(TARGET, s, REQUEST_TARGET_MAX / 3)[0] == '/');
        for (size_t i = 0; i < REQUEST_SEGMENTS_MAX + 1; i++)
                memcpy(s + 2 * i, "/a", 2);
        check(read_as(TARGET, s, 2 * REQUEST_SEGMENTS_MAX)[0] == '/' && r.n_segments == REQUEST_SEGMENTS_MAX);
        check_as(TARGET, s, 2 * REQUEST_SEGMENTS_MAX + 1, "!too many parts");
        check_as(TARGET, s, 2 * REQUEST_SEGMENTS_MAX + 2, "!too many parts");
        s[1] = '?';
        for (size_t i = 1; i < REQUEST_QUERY_MAX + 2; i++)
                memcpy(s + 2 * i, "a&", 2);
        check(read_as(TARGET, s, 2 * REQUEST_QUERY_MAX + 2)[0] == '/' && r.n_query == REQUEST_QUERY_MAX);
        check_as(TARGET, s, 2 * REQUEST_QUERY_MAX + 3, "!too many keys");
        const char *why = NULL;
        check(canonical_target("/abc", 4, buf, 2, &r, &why) == -E2BIG && why);
}

/* Names of one connection and of the request on it. */
struct names {
        bool tls;
        unsigned port;
        const char *dialled, *sni, *method, *target, *host;
};
static struct request_text text(const char *s) { return (struct request_text){s, s ? strlen(s) : 0}; }
/* A request outlives the head that it was read from. */
static bool is_within(const struct canonical_buffer *b, struct request_text t) {
        return t.n == 0 || (t.p >= (const char *)b && t.p + t.n <= (const char *)(b + 1));
}
static bool is_kept(const struct canonical_buffer *b) {
        bool kept = is_within(b, r.method) && is_within(b, r.host);

        for (size_t i = 0; i < r.n_segments; i++)
                kept &= is_within(b, r.segment[i]);
        for (size_t i = 0; i < r.n_query; i++)
                kept &= is_within(b, r.query[i].key) && is_within(b, r.query[i].value);
        return kept;
}

static int whole(const struct names *n, char *out, size_t size) {
        static struct canonical_buffer b;
        struct canonical_parts p = {n->tls, text(n->dialled), (uint16_t)n->port, text(n->sni), text(n->method), text(n->target), text(n->host)};
        const char *why = NULL;

        r = (struct request){};
        int x = canonical_request(&p, &b, &r, &why);
        check((x < 0) == (why != NULL));
        if (x < 0) {
                check(r.host.n == 0 && r.n_segments == 0 && r.method.n == 0 && r.port == 0);
                snprintf(out, size, "!%s", why);
                return x;
        }
        check(r.layer == REQUEST_L7 && r.tls == n->tls && r.port == n->port && is_kept(&b));
        int k = snprintf(out, size, "%.*s ", (int)r.method.n, r.method.p);
        ssize_t m = canonical_write_authority(&r, out + k, size - (size_t)k);
        check(m > 0);
        ssize_t t = canonical_write_target(&r, out + k + m, size - (size_t)(k + m) - 1);
        check(t > 0);
        out[k + m + t] = 0;
        return 0;
}

TEST(requests) {
        static const struct {
                struct names names;
                int error;
                const char *wanted;
        } t[] = {
                {{true, 443, "ok.test", "OK.test", "GET", "/a?b", "ok.test"}, 0, "GET ok.test/a?b"},
                {{true, 443, "ok.test", NULL, "GET", "/", "ok.test.:443"}, 0, "GET ok.test/"},
                {{false, 80, "ok.test", NULL, "GET", "/", "ok.test"}, 0, "GET ok.test/"},
                {{false, 8080, "ok.test", NULL, "POST", "/x/../y", "ok.test:8080"}, 0, "POST ok.test:8080/y"},
                {{true, 8443, "ok.test", "ok.test", "GET", "/", "OK.test."}, 0, "GET ok.test:8443/"}, /* the connection's port */
                {{false, 443, "ok.test", NULL, "GET", "/", "ok.test"}, 0, "GET ok.test:443/"},
                {{true, 80, "::1", NULL, "GET", "/", "[::1]"}, 0, "GET [::1]:80/"},
                {{false, 8080, "ok.test", NULL, "GET", "http://ok.test:8080/a", "ok.test"}, 0, "GET ok.test:8080/a"},
                {{false, 80, "ok.test", NULL, "GET", "http://OK.test:80/a", "ok.test"}, 0, "GET ok.test/a"},
                {{false, 80, "ok.test", NULL, "GET", "http://ok.test", "ok.test"}, 0, "GET ok.test/"},
                {{false, 80, "ok.test", NULL, "GET", "http://ok.test?a", "ok.test"}, 0, "GET ok.test/?a"},
                {{true, 443, "ok.test", NULL, "GET", "HTTPS://ok.test/a", "ok.test"}, 0, "GET ok.test/a"},
                {{true, 443, "ok.test", NULL, "OPTIONS", "*", "ok.test"}, 0, "OPTIONS ok.test*"},
                {{true, 443, "127.0.0.1", NULL, "GET", "/", "127.1"}, 0, "GET 127.0.0.1/"},
                {{false, 80, "::1", NULL, "GET", "/", "[::1]"}, 0, "GET [::1]/"},

                {{true, 443, "ok.test", "no.test", "GET", "/", "ok.test"}, -EXDEV, "SNI"},
                {{true, 443, "ok.test", "ok.test", "GET", "/", "no.test"}, -EXDEV, "Host"},
                {{true, 443, "ok.test", "no.test", "GET", "/", "no.test"}, -EXDEV, "SNI"},
                {{true, 443, "ok.test", "ok.test", "GET", "/", "ok.test:80"}, -EXDEV, "Host"},
                {{true, 8443, "ok.test", "ok.test", "GET", "/", "ok.test:443"}, -EXDEV, "Host"},
                {{true, 8443, "ok.test", "ok.test", "GET", "/", "no.test"}, -EXDEV, "Host"},
                {{false, 443, "ok.test", NULL, "GET", "/", "ok.test:80"}, -EXDEV, "Host"},
                {{false, 8080, "ok.test", NULL, "GET", "http://ok.test/", "ok.test"}, -EXDEV, "target names another"}, /* a URL has a port */
                {{false, 80, "127.0.0.1", NULL, "GET", "/", "ok.test"}, -EXDEV, "Host"},
                {{false, 80, "ok.test", NULL, "GET", "/", "127.0.0.1"}, -EXDEV, "Host"},
                {{false, 80, "ok.test", NULL, "GET", "http://no.test/", "ok.test"}, -EXDEV, "target names another"},
                {{false, 80, "ok.test", NULL, "GET", "http://ok.test/", "no.test"}, -EXDEV, "Host"},
                {{false, 80, "ok.test", NULL, "GET", "http://ok.test:81/", "ok.test"}, -EXDEV, "target names another"},
                {{false, 80, "ok.test", NULL, "GET", "https://ok.test/", "ok.test"}, -EXDEV, "scheme"},
                {{true, 443, "ok.test", NULL, "GET", "http://ok.test:443/", "ok.test"}, -EXDEV, "scheme"},
                {{true, 443, "ok.test", "", "GET", "/", "ok.test"}, -EINVAL, "empty"},
                {{true, 443, "ok.test", "ok.test:443", "GET", "/", "ok.test"}, -EINVAL, "IPv6"},
                {{true, 443, "ok.test", NULL, "GET", "/", NULL}, -EINVAL, "no host"},
                {{true, 443, "ok.test", NULL, "GET", "/", ""}, -EINVAL, "empty"},
                {{true, 443, "ok.test", NULL, "GET", "/", "ok.test, no.test"}, -EINVAL, "character"},
                {{true, 443, "", NULL, "GET", "/", "ok.test"}, -EINVAL, "empty"},
                {{true, 443, "ok.test", NULL, "get", "/", "ok.test"}, -EINVAL, "method"},
                {{true, 443, "ok.test", NULL, "CONNECT", "ok.test:443", "ok.test"}, -EINVAL, "proxy"},
                {{true, 443, "ok.test", NULL, "GET", "*", "ok.test"}, -EINVAL, "OPTIONS only"},
                {{true, 443, "ok.test", NULL, "GET", "", "ok.test"}, -EINVAL, "target is empty"},
                {{true, 443, "ok.test", NULL, "GET", "a", "ok.test"}, -EINVAL, "neither a slash"},
                {{true, 443, "ok.test", NULL, "GET", "ok.test:443", "ok.test"}, -EINVAL, "neither a slash"},
                {{true, 443, "ok.test", NULL, "GET", "wss://ok.test/", "ok.test"}, -EINVAL, "neither a slash"},
                {{false, 80, "ok.test", NULL, "GET", "http://u@ok.test/", "ok.test"}, -EINVAL, "user name"},
                {{false, 80, "ok.test", NULL, "GET", "//no.test/", "ok.test"}, -EINVAL, "empty part"},
                {{false, 80, "ok.test", NULL, "GET", "/\\no.test/", "ok.test"}, -EINVAL, "backslash"},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                char out[500];
                int x = whole(&t[i].names, out, sizeof(out));
                printf("# %s %s: %s\n", t[i].names.method, t[i].names.target, out);
                check(x == t[i].error);
                if (x == 0)
                        check_streq(out, t[i].wanted);
                else
                        check(strstr(out, t[i].wanted));
        }
}

TEST(same_place) {
        static char other[REQUEST_HOST_MAX + 1];
        static struct request q;
        static const struct { const char *a, *b; bool same; } t[] = {
                {"ok.test", "OK.test.", true}, {"ok.test", "no.test", false}, {"ok.test", "ok.test:1", false}, {"127.1", "[::ffff:127.0.0.1]", true},
                {"127.0.0.1", "[::127.0.0.1]", false}, {"ok.test", "k.test", false},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                check(canonical_authority(t[i].a, strlen(t[i].a), 9, buf, &r, NULL) == 0);
                check(canonical_authority(t[i].b, strlen(t[i].b), 9, other, &q, NULL) == 0);
                check(canonical_same_place(&r, &q) == t[i].same);
        }
}

/* What is written reads as the same request, and is then written just so again. */
TEST(idempotent) {
        static const char alphabet[] = "/%2e5cfF3bB40.?&=+;@ab\\#\xc3\xbc~ !";
        static char again[REQUEST_TARGET_MAX], first[REQUEST_TARGET_MAX];
        static struct request q;
        unsigned seed = 20261130, read = 0;

        for (int round = 0; round < 200000; round++) {
                char s[40] = "/";
                size_t n = 1 + (size_t)(round % 24);
                for (size_t i = 1; i < n; i++) {
                        seed = seed * 1103515245 + 12345;
                        s[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
                }
                if (canonical_target(s, n, buf, sizeof(buf), &r, NULL) < 0)
                        continue;
                read++;
                ssize_t a = canonical_write_target(&r, first, sizeof(first));
                check(a > 0 && (size_t)a == r.target_bytes);
                check(canonical_target(first, (size_t)a, again, sizeof(again), &q, NULL) == 0);
                check(q.n_segments == r.n_segments && q.n_query == r.n_query && q.target_bytes == r.target_bytes);
                for (size_t i = 0; i < q.n_segments; i++)
                        check(q.segment[i].n == r.segment[i].n && memcmp(q.segment[i].p, r.segment[i].p, q.segment[i].n) == 0);
                for (size_t i = 0; i < q.n_query; i++) {
                        check(q.query[i].has_value == r.query[i].has_value);
                        check(q.query[i].key.n == r.query[i].key.n && memcmp(q.query[i].key.p, r.query[i].key.p, q.query[i].key.n) == 0);
                        check(q.query[i].value.n == r.query[i].value.n && memcmp(q.query[i].value.p, r.query[i].value.p, q.query[i].value.n) == 0);
                }
        }
        printf("# %u were read\n", read);
        check(read > 20000);
}

/* The tables of docs/policy.md, "The canonical form": the first column is read by the reader that its head names, the second
 * is the result in quotes, or the reason. */
TEST(documentation) {
        _cleanup_free_ char *doc = NULL;
        size_t n, rows = 0;
        int dir = open(SOURCE_ROOT "/docs", O_PATH | O_DIRECTORY | O_CLOEXEC), reader = -1;

        check(dir >= 0 && file_read(dir, "policy.md", 1u << 20, &doc, &n) == 0);
        close(dir);
        char *line = strstr(doc, "\n## The canonical form\n"), *save = NULL;
        check(line);
        for (line = strtok_r(line + 4, "\n", &save); (line = strtok_r(NULL, "\n", &save)) && strncmp(line, "## ", 3) != 0;) {
                static const char *const heads[] = {[HOST] = "| Host |", [AUTHORITY] = "| Authority |", [TARGET] = "| Target |", [URL] = "| URL |"};
                if (line[0] != '|') {
                        reader = -1;
                        continue;
                }
                for (int i = 0; i < (int)ELEMENTSOF(heads); i++)
                        if (str_after(line, heads[i]))
                                reader = i;
                if (reader < 0 || !str_after(line, "| `"))
                        continue;
                char *first = line + 3, *middle = strstr(first, "` | ");
                check(middle);
                char *end = strrchr(middle, '|');
                check(end > middle + 4 && end[-1] == ' ');
                end[-1] = 0;
                *middle = 0;
                char *second = middle + 4, wanted[500];
                if (second[0] == '`')
                        snprintf(wanted, sizeof(wanted), "%.*s", (int)strlen(second) - 2, second + 1);
                else
                        snprintf(wanted, sizeof(wanted), "!%s", str_after(second, "refused: ") ?: "(not refused)");
                printf("# %s\n", first);
                check_streq(read_as((enum reader)reader, first, strlen(first)), wanted);
                rows++;
        }
        printf("# %zu examples\n", rows);
        check(rows >= 40);
}

TAP_MAIN
