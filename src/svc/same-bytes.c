/* Comparison of file contents; see same-bytes.h. */
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "svc/same-bytes.h"

static ssize_t read_full(int fd, char *buf, size_t n, off_t at) {
        size_t got = 0;
        while (got < n) {
                ssize_t k = pread(fd, buf + got, n - got, at + (off_t)got);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                got += (size_t)k;
        }
        return (ssize_t)got;
}

/* Where the file's next data begin, `size` where only a hole is left: a sparse file of a terabyte costs nothing. */
static off_t next_data(int fd, off_t at, off_t size) {
        off_t d = lseek(fd, at, SEEK_DATA);
        if (d < 0)
                return errno == ENXIO ? size : at;
        return MIN(d, size);
}

enum same same_bytes(int a, int b, off_t size, char *buf, uint64_t *budget) {
        for (off_t at = 0; at < size;) {
                at = MIN(next_data(a, at, size), next_data(b, at, size));
                size_t n = (size_t)MIN((off_t)SAME_CHUNK, size - at);
                if (n == 0)
                        break;
                if (*budget < n)
                        return SAME_CAPPED;
                *budget -= n;
                ssize_t x = read_full(a, buf, n, at), y = read_full(b, buf + SAME_CHUNK, n, at);
                if (x < 0 || y < 0)
                        return SAME_UNREAD;
                if (x != y || memcmp(buf, buf + SAME_CHUNK, (size_t)x) != 0)
                        return SAME_NO;
                if ((size_t)x < n) /* both were cut meanwhile */
                        break;
                at += (off_t)n;
        }
        return SAME_YES;
}
