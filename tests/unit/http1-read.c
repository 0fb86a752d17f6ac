/* Reads HTTP/1 messages from standard input with the strict reader and says what it makes of them, for
 * tests/integration/http1-clients. The argument is the kind of stream, as in tests/fuzz/http1-stream.h. */
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "../fuzz/http1-stream.h"

int main(int argc, char **argv) {
        struct http_head request;
        struct stream s = {};
        _cleanup_free_ char *data = NULL;
        size_t n;

        if (argc != 2 || !stream_mode(argv[1][0], &request) || fd_read_all(STDIN_FILENO, 16u << 20, &data, &n) < 0)
                return 2;
        stream_read(&s, argv[1][0], data, n, 0, NULL);
        for (size_t i = 0; i < s.n; i++) {
                struct stream_message *m = &s.m[i];
                if (m->has_head)
                        printf("%s: %.*s, %zu bytes of content\n", m->complete ? "complete" : "incomplete",
                               (int)strcspn(m->head.data, "\n"), m->head.data, m->body.len);
        }
        if (s.error)
                printf("refused: %s\n", s.error);
        stream_clear(&s);
        return s.error || s.n == 0 || !s.m[s.n - 1].complete;
}
