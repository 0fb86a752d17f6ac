/* What is found in the bytes of a response, whole and in pieces. */
#include <stdbool.h>

#include "proto/url-scan.h"
#include "tap.h"

static char found[65536];
static size_t n_found;

static void keep(void *arg, const char *text, size_t n) {
        int k = snprintf(found + n_found, sizeof(found) - n_found, "%.*s\n", (int)n, text);
        n_found += k > 0 && (size_t)k < sizeof(found) - n_found ? (size_t)k : 0;
        ++*(unsigned *)arg;
}

/* In one piece, and in pieces of every small size: the same. */
static void scan(const char *text) {
        static struct url_scan s;
        char whole[sizeof(found)];
        unsigned n = 0;

        n_found = 0;
        found[0] = 0;
        url_scan_text(&s, text, strlen(text), keep, &n);
        memcpy(whole, found, sizeof(whole));
        for (size_t piece = 1; piece < 9; piece++) {
                n_found = 0;
                found[0] = 0;
                url_scan_begin(&s, keep, &n);
                for (size_t i = 0; i < strlen(text); i += piece)
                        url_scan_read(&s, text + i, strlen(text) - i < piece ? strlen(text) - i : piece);
                url_scan_end(&s);
                check_streq(found, whole);
        }
}

static bool has(const char *url) {
        char line[8192];
        snprintf(line, sizeof(line), "\n%s\n", url);
        return strncmp(found, line + 1, strlen(line) - 1) == 0 || strstr(found, line);
}

#define finds(text, url) do { scan(text); if (!has(url)) printf("# %s\n# gave:\n%s", text, found); check(has(url)); } while (0)
#define lacks(text, url) do { scan(text); if (has(url)) printf("# %s\n# gave:\n%s", text, found); check(!has(url)); } while (0)

TEST(absolute) {
        finds("see https://a.test/x for more", "https://a.test/x");
        finds("https://a.test/x", "https://a.test/x");
        finds("(see https://a.test/x).", "https://a.test/x");
        finds("https://en.test/Foo_(bar) is", "https://en.test/Foo_(bar)");
        finds("[text](https://a.test/x?a=1&b=2) and", "https://a.test/x?a=1&b=2");
        finds("<HTTP://A.test/x>", "http://A.test/x");
        finds("<loc>https://a.test/x</loc>", "https://a.test/x");
        finds("https://a.test/1,https://a.test/2", "https://a.test/1");
        finds("url(https://a.test/x.png)", "https://a.test/x.png");
        finds("var a='https://a.test/x';", "https://a.test/x");
        finds("var a=['https://a.test/1,2,3,4,5,6'];", "https://a.test/1,2,3,4,5,6");
        finds("wss://a.test/s", "wss://a.test/s");
        finds("https://a.test/{id}", "https://a.test/");
        lacks("https ://a.test/x", "https://a.test/x");
        lacks("xttps://a.test/x", "https://a.test/x");
}

TEST(escapes) {
        finds("{\"u\":\"https:\\/\\/a.test\\/x\"}", "https://a.test/x");
        finds("{\"u\":\"https://a.test/x?a=1\\u0026b=2\"}", "https://a.test/x?a=1&b=2");
        finds("{\"u\":\"https:\\u002F\\u002Fa.test\\u002Fx\"}", "https://a.test/x");
        finds("<a href=\"https://a.test/x?a=1&amp;b=2\">", "https://a.test/x?a=1&b=2");
        finds("<a href=\"/x?a=1&#38;b=2&#x26;c=3\">", "/x?a=1&b=2&c=3");
        finds("{\"h\":\"<a href=\\\"/x?a=1\\\">\"}", "/x?a=1");
        finds("{\"h\":\"<a href=\\\"x.html\\\">\"}", "x.html");
        finds("&quot;https://a.test/x&quot;", "https://a.test/x");
        finds("\"see https://a.test/x\\n\"", "https://a.test/x");
        finds("{\"next\":\"\\/api\\/x?page=2\"}", "/api/x?page=2");
        finds("\"/a\\u00e4\"", "/a");    /* up to there */
}

TEST(references) {
        finds("<a href=\"/x\">", "/x");
        finds("<a href='/x'>", "/x");
        finds("<a href=/x>", "/x");
        finds("<a href=x.html class=y>", "x.html");
        finds("<a HREF=\"../x.html\">", "../x.html");
        finds("<img src=\"a.png\"/>", "a.png");
        finds("<a href=\"?page=2\">", "?page=2");
        finds("<a href=\"//b.test/x\">", "//b.test/x");
        finds("{\"next\": \"/items?page=2\"}", "/items?page=2");
        finds("it doesn't matter <a href=\"/x\">don't</a>", "/x");
        finds("<a title=it's href='/x'>", "/x");
        finds("[\"a\",\"/b\"]", "/b");
        lacks("<a href=\"#top\">", "#top");
        lacks("\"plain\"", "plain");
        lacks("\"/a b\"", "/a");
        lacks("'/a\"", "/a");
        lacks("/a/b", "/a/b");
}

/* One that was cut is none; one that is too long neither, and what follows is found again. */
TEST(ends) {
        static struct url_scan s;
        static char text[3 * URL_SCAN_MAX];
        unsigned n = 0;

        url_scan_begin(&s, keep, &n);
        url_scan_read(&s, "https://a.test/x", 16);
        check(n == 0);
        url_scan_end(&s);
        check(n == 1);
        memset(text, 'a', sizeof(text));
        memcpy(text, "https://a.test/", 15);
        memcpy(text + URL_SCAN_MAX + 1000, " \"/b\" ", 6);
        text[URL_SCAN_MAX + 1006] = 0;
        finds(text, "/b");
        check(strlen(found) == 3);
        text[URL_SCAN_MAX] = ' ';
        scan(text);
        check(strlen(found) == URL_SCAN_MAX + 1 + 3);
}

TAP_MAIN
