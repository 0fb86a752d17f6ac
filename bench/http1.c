/* Time of the strict HTTP/1 reader for a typical request head, and of writing it anew; beside it http-parser, where its
 * header is there (-DHTTP_PARSER). Built and run by bench/http1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HTTP_PARSER
#include <http_parser.h>
void http1_bench(const char *head, size_t n, unsigned rounds);
#else
#include "proto/http1.h"
#endif

#ifndef HTTP_PARSER
static const char typical[] =
        "GET /repos/acme/tool/issues?page=2&per_page=50 HTTP/1.1\r\nHost: api.a.test\r\nConnection: keep-alive\r\n"
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n"
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n"
        "Accept-Encoding: gzip, deflate, br\r\nReferer: https://www.a.test/some/page\r\n"
        "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\nX-Request-Id: 8e3f7a52-2222\r\n\r\n";
#endif

static double now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void print(const char *what, double us, unsigned rounds, size_t n) {
        us /= rounds;
        printf("%-24s %7.3f us a head of %zu bytes, %6.0f bytes a us\n", what, us, n, (double)n / us);
}

#ifdef HTTP_PARSER
static unsigned long seen;
static int data(http_parser *p, const char *at, size_t n) {
        (void)p, (void)at;
        seen += n;
        return 0;
}
void http1_bench(const char *head, size_t n, unsigned rounds) {
        static const http_parser_settings s = {.on_url = data, .on_header_field = data, .on_header_value = data};
        double t = now();
        for (unsigned i = 0; i < rounds; i++) {
                http_parser p;
                http_parser_init(&p, HTTP_REQUEST);
                if (http_parser_execute(&p, &s, head, n) != n)
                        abort();
        }
        print("http-parser", now() - t, rounds, n);
}
#else
void http1_bench(const char *head, size_t n, unsigned rounds) __attribute__((weak));

int main(int argc, char **argv) {
        unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000000;
        size_t n = sizeof(typical) - 1;
        static char buf[2000];
        struct http_head h;
        struct http1_reader r;

        double t = now();
        for (unsigned i = 0; i < rounds; i++) {
                http1_request_begin(&r);
                if (http1_read_head(&r, &h, typical, n) != (int)n)
                        abort();
        }
        print("read", now() - t, rounds, n);
        struct http1_out o = {.method = http_span_text(&h, h.method), .target = http_span_text(&h, h.target),
                              .host = http_span_text(&h, h.host), .from = &h};
        int k = 0;
        t = now();
        for (unsigned i = 0; i < rounds; i++)
                k = http1_write_request(&o, buf, sizeof(buf), NULL);
        if (k <= 0)
                abort();
        print("write, and read back", now() - t, rounds, (size_t)k);
        if (http1_bench && argc < 3)
                http1_bench(typical, n, rounds);
        return 0;
}
#endif
