/* Compares our HTTP/1 reader with http-parser and llhttp. The law: what ours accepts, both accept, with the same
 * reading: method, target, version, fields, content and end of every message; so what any two of them read differently,
 * ours refuses. Built by tests/integration/http1-differential, which fetches the two; with clang's -fsanitize=fuzzer it
 * is a fuzz target (-DFUZZER).
 *
 *     http1-differential CORPUS N SEED [FILE]     each file of the folder, then N messages made from them; prints
 * counts. FILE gets what ours accepted and how it read it, for http1-node.js */
#include <dirent.h>
#include <stdio.h>

#include "base/fd.h"
#include "http1-stream.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct {
        unsigned long inputs, messages, refused, differ_and_refused, both_read_alike_and_refused, skipped;
} count;

static void show(const char *what, const char *p, size_t n) {
        fprintf(stderr, "# %s: ", what);
        for (size_t i = 0; i < n; i++)
                if (p[i] == '\n')
                        fprintf(stderr, "\\n\n#    ");
                else if (p[i] < ' ' || p[i] > '~' || p[i] == '\\')
                        fprintf(stderr, p[i] == '\r' ? "\\r" : "\\x%02x", (unsigned char)p[i]);
                else
                        fputc(p[i], stderr);
        fputc('\n', stderr);
}

/* What ours made of an input, each text behind its length. */
static FILE *accepted;
static void put(const void *p, size_t n) {
        uint32_t size = (uint32_t)n;

        must(fwrite(&size, 4, 1, accepted) == 1 && fwrite(n ? p : "", 1, n, accepted) == n);
}
static void put_accepted(char mode, const char *data, size_t n, const struct stream *ours) {
        size_t heads = 0;

        while (heads < ours->n && ours->m[heads].has_head)
                heads++;
        if (heads > 0 && ours->error && !ours->m[heads - 1].complete)
                heads--; /* its body is refused */
        if (heads == 0)
                return;
        put(&mode, 1);
        put(data, n);
        put(ours->switched ? "s" : "", ours->switched);
        put("................................", heads);
        for (size_t i = 0; i < heads; i++) {
                put(ours->m[i].head.data, ours->m[i].head.len);
                put(ours->m[i].body.data, ours->m[i].body.len);
                put(ours->m[i].complete ? "c" : "", ours->m[i].complete);
        }
}

static const char *difference(const struct stream_message *a, const struct stream_message *b) {
        if (!b->has_head)
                return "no head there";
        if (!stream_same_buf(&a->head, &b->head))
                return "the head";
        if (a->complete != b->complete)
                return "whether it is complete";
        if (!stream_same_buf(&a->body, &b->body))
                return "the content";
        if (a->complete && a->end != b->end)
                return "the end";
        if (a->complete && a->keep_alive && !b->keep_alive)
                return "whether another may follow";
        return NULL;
}

/* What ours accepted and the other reads differently: NULL where nothing. */
static const char *against(const struct stream *ours, const struct stream *other, size_t *which) {
        for (size_t i = 0; i < ours->n; i++) {
                *which = i;
                if (!ours->m[i].has_head)
                        return NULL;
                /* A body that ours refuses may be read further by others: the message is refused. */
                if (!ours->m[i].complete && ours->error)
                        return NULL;
                const char *d = difference(&ours->m[i], &other->m[i]);
                if (d)
                        return d;
        }
        if (ours->switched && !other->switched)
                return "whether HTTP ends";
        return NULL;
}

static bool alike(const struct stream *a, const struct stream *b) {
        if (a->n != b->n || !a->error != !b->error || a->switched != b->switched)
                return false;
        for (size_t i = 0; i < a->n; i++)
                if (difference(&a->m[i], &b->m[i]) || difference(&b->m[i], &a->m[i]))
                        return false;
        return true;
}

/* Both others know a list of methods: ours are put in place of theirs, of the same length. */
static bool put_known_methods(char *data, size_t n, const struct stream *ours) {
        static const char *const known[] = {
                [3] = "GET", [4] = "POST", [5] = "PATCH", [6] = "REPORT", [7] = "PROPFIN", [8] = "PROPFIND",
                [9] = "PROPPATCH", [10] = "MKACTIVITY", [11] = "UNSUBSCRIBE",
        };
        size_t at = 0;

        for (size_t i = 0; i < ours->n && ours->m[i].has_head; i++) {
                size_t k = 0;
                while (at + k < n && data[at + k] != ' ')
                        k++;
                bool common = false;
                for (size_t j = 0; j < 9; j++) {
                        static const char *const ours_too[] = {
                                "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
                        common |= strlen(ours_too[j]) == k && memcmp(ours_too[j], data + at, k) == 0;
                }
                if (!common) {
                        if (k >= ELEMENTSOF(known) || !known[k] || k == 7)
                                return false;
                        memcpy(data + at, known[k], k);
                }
                if (!ours->m[i].complete)
                        break;
                at = ours->m[i].end;
        }
        return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *input, size_t size) {
        struct http_head request;

        if (size < 1 || !stream_mode((char)input[0], &request))
                return 0;
        struct stream ours = {}, a = {}, b = {};
        char mode = (char)input[0], *data = malloc(size);
        size_t n = size - 1, which = 0;

        must(data);
        memcpy(data, input + 1, n);
        count.inputs++;
        stream_read(&ours, mode, data, n, 0, NULL);
        if (ours.other_method) {
                bool replaced = put_known_methods(data, n, &ours);
                stream_clear(&ours);
                ours = (struct stream){};
                if (!replaced) {
                        count.skipped++;
                        free(data);
                        return 0;
                }
                stream_read(&ours, mode, data, n, 0, NULL);
        }
        oracle_http_parser(&a, mode, data, n);
        oracle_llhttp(&b, mode, data, n);
        for (size_t i = 0; i < ours.n; i++)
                count.messages += ours.m[i].complete;
        const char *d = against(&ours, &a, &which), *name = "http-parser";
        const struct stream *other = &a;
        if (!d) {
                d = against(&ours, &b, &which);
                name = "llhttp";
                other = &b;
        }
        if (d) {
                fprintf(stderr, "# %s reads message %zu differently: %s\n", name, which, d);
                show("input", (const char *)input, size);
                show("our head", ours.m[which].head.data, ours.m[which].head.len);
                show("our content", ours.m[which].body.data, ours.m[which].body.len);
                fprintf(stderr, "# ours: complete %d, end %zu, error %s, next %d\n", ours.m[which].complete,
                        ours.m[which].end, ours.error ? ours.error : "none", ours.m[which].keep_alive);
                show("its head", other->m[which].head.data, other->m[which].head.len);
                show("its content", other->m[which].body.data, other->m[which].body.len);
                fprintf(stderr, "# its: complete %d, end %zu, error %s, next %d\n", other->m[which].complete,
                        other->m[which].end, other->error ? other->error : "none", other->m[which].keep_alive);
                abort();
        }
        if (accepted)
                put_accepted(mode, data, n, &ours);
        if (ours.error) {
                count.refused++;
                if (!alike(&a, &b))
                        count.differ_and_refused++;
                else if (!a.error) {
                        count.both_read_alike_and_refused++;
                        if (getenv("SHOW"))
                                fprintf(stderr, "strict: %s\n", ours.error);
                }
        } else if (!alike(&a, &b)) {
                /* They may differ in what lies behind the last message that ours reads: after a close or a tunnel, and
                 * in bytes that are no whole message yet. */
                const struct stream_message *last = ours.n ? &ours.m[ours.n - 1] : NULL;
                if (last && last->complete && last->keep_alive && !ours.switched && ours.n < STREAM_MESSAGES &&
                    last->end == n) {
                        fprintf(stderr, "# the others read this differently, ours accepts it\n");
                        show("input", (const char *)input, size);
                        fprintf(stderr, "# http-parser: %zu, %s, switched %d; llhttp: %zu, %s, switched %d; ours %zu\n",
                                a.n, a.error ? a.error : "ok", a.switched, b.n, b.error ? b.error : "ok", b.switched,
                                ours.n);
                        abort();
                }
        }
        stream_clear(&ours);
        stream_clear(&a);
        stream_clear(&b);
        free(data);
        return 0;
}

#ifndef FUZZER
static uint64_t state;
static unsigned draw(unsigned below) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (unsigned)((state >> 20) % below);
}

static struct {
        char *p;
        size_t n;
} corpus[1024];
static unsigned n_corpus, good[1024], n_good; /* of the good ones ours refuses nothing */

static const char *const words[] = {
        "\r\n",
        "\r",
        "\n",
        "\r\n\r\n",
        "\n\n",
        " ",
        "\t",
        ":",
        ",",
        ";",
        "\0",
        "\x0b",
        "\x7f",
        "\x80",
        "0",
        "5",
        "a",
        "-",
        "_",
        "#",
        "?",
        "/",
        "@",
        "[",
        "]",
        "*",
        "%00",
        "\"",
        "=",
        "Content-Length: 5\r\n",
        "Content-Length: 0\r\n",
        "content-length:7\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length:\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding:chunked \r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding\x20: chunked\r\n",
        "Transfer-Encoding: \x0b"
        "chunked\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "Connection: upgrade\r\n",
        "Connection: x-a, Upgrade\r\n",
        "Proxy-Connection: close\r\n",
        "Upgrade: websocket\r\n",
        "Upgrade: h2c\r\n",
        "Keep-Alive: 5\r\n",
        "Trailer: X\r\n",
        "TE: trailers\r\n",
        "Expect: 100-continue\r\n",
        "Host: b.test\r\n",
        "Host: a.test:80\r\n",
        "X: y\r\n",
        "X:\r\n",
        "X: a\r\n b\r\n",
        " folded\r\n",
        "0\r\n\r\n",
        "5\r\nhello\r\n",
        "5;x=y\r\nhello\r\n",
        "0\r\nX: y\r\n\r\n",
        "a\r\n0123456789\r\n",
        "fffffffffffffffe\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "HTTP/1.1",
        "HTTP/1.0",
        "HTTP/2.0",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "204",
        "304",
        "101",
        "http://a.test",
        "CONNECT a.test:443 ",
        "OPTIONS * ",
        "HEAD ",
        "POST ",
};

/* From one input, or the beginning of one and the end of another, with a few changes. */
static size_t make(char *out, size_t max) {
        unsigned i = draw(3) ? good[draw(n_good)] : draw(n_corpus);
        size_t n = MIN(corpus[i].n, max / 2);

        memcpy(out, corpus[i].p, n);
        if (draw(6) == 0) {
                unsigned j = draw(n_corpus);
                size_t cut = n > 1 ? 1 + draw((unsigned)n) : n, from = draw((unsigned)corpus[j].n + 1);
                size_t k = MIN(corpus[j].n - from, max / 2);
                cut = MIN(cut, n);
                memcpy(out + cut, corpus[j].p + from, k);
                n = cut + k;
        }
        for (unsigned changes = 1 + draw(4); changes > 0 && n > 1; changes--) {
                size_t at = 1 + draw((unsigned)n);
                at = MIN(at, n);
                if (draw(3) == 0) { /* lines are where it matters */
                        const char *lf = memchr(out + at, '\n', n - at);
                        if (lf)
                                at = (size_t)(lf + 1 - out);
                }
                switch (draw(6)) {
                case 0:
                        if (at < n)
                                out[at] = (char)draw(256);
                        break;
                case 1:
                        if (at < n)
                                out[at] = (char)(out[at] ^ (1 << draw(8)));
                        break;
                case 2: { /* cut */
                        size_t k = draw(draw(4) ? 3 : 40) + 1;
                        k = MIN(k, n - at);
                        memmove(out + at, out + at + k, n - at - k);
                        n -= k;
                        break;
                }
                case 3: { /* twice */
                        size_t k = draw(60) + 1;
                        k = MIN(k, n - at);
                        if (n + k <= max) {
                                memmove(out + at + k, out + at, n - at);
                                n += k;
                        }
                        break;
                }
                default: {
                        const char *w = words[draw(ELEMENTSOF(words))];
                        size_t k = MAX(strlen(w), (size_t)1); /* the empty one is a NUL */
                        if (n + k <= max) {
                                memmove(out + at + k, out + at, n - at);
                                memcpy(out + at, w, k);
                                n += k;
                        }
                }
                }
        }
        return n;
}

int main(int argc, char **argv) {
        if (argc != 4 && argc != 5)
                return 2;
        if (argc == 5) {
                accepted = fopen(argv[4], "we");
                must(accepted);
        }
        DIR *d = opendir(argv[1]);
        if (!d)
                return 2;
        for (struct dirent *e; (e = readdir(d)) && n_corpus < ELEMENTSOF(corpus);) {
                if (e->d_name[0] == '.')
                        continue;
                must(file_read(dirfd(d), e->d_name, 1u << 20, &corpus[n_corpus].p, &corpus[n_corpus].n) == 0);
                n_corpus++;
        }
        closedir(d);
        /* The order of a folder is no order; the same seed is to give the same messages. */
        for (unsigned i = 1; i < n_corpus; i++)
                for (unsigned j = i; j > 0; j--) {
                        size_t k = MIN(corpus[j].n, corpus[j - 1].n);
                        int c = memcmp(corpus[j - 1].p, corpus[j].p, k);
                        if (c < 0 || (c == 0 && corpus[j - 1].n <= corpus[j].n))
                                break;
                        __typeof__(corpus[0]) t = corpus[j];
                        corpus[j] = corpus[j - 1];
                        corpus[j - 1] = t;
                }
        for (unsigned i = 0; i < n_corpus; i++) {
                unsigned long before = count.refused;
                LLVMFuzzerTestOneInput((const unsigned char *)corpus[i].p, corpus[i].n);
                if (count.refused == before)
                        good[n_good++] = i;
        }
        must(n_good > 0);
        state = strtoull(argv[3], NULL, 10) * 2654435761u + 88172645463325252ull;
        unsigned long n = strtoul(argv[2], NULL, 10);
        static char out[1u << 17];
        for (unsigned long i = 0; i < n; i++) {
                size_t k = make(out, sizeof(out));
                LLVMFuzzerTestOneInput((const unsigned char *)out, k);
        }
        printf("inputs %lu messages-accepted %lu inputs-refused %lu refused-and-they-differ %lu refused-and-they-agree "
               "%lu "
               "skipped %lu\n",
                count.inputs, count.messages, count.refused, count.differ_and_refused,
                count.both_read_alike_and_refused, count.skipped);
        for (unsigned i = 0; i < n_corpus; i++)
                free(corpus[i].p);
        must(!accepted || fclose(accepted) == 0);
        return 0;
}
#endif
