/* The helpers of an import: what each begins and ends with, decompression, and a look at what a tar holds. */
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fd.h"
#include "role/unpack/guard.h"
#include "role/unpack/unpack.h"

#define BLOCK (256u << 10)
#define LOOK_MAX 64u /* entries that are looked at to tell what an archive is */
#define LOOK_DATA (1 << 20) /* bytes of one of an image that need no look at others */

enum { FD_REPORT = 3, FD_IN = 4, FD_OUT = 5 };

int unpack_name(const char *given, char path[UNPACK_NAME_MAX + 1], struct error *e) {
        size_t n = 0;
        unsigned depth = 0;

        path[0] = 0;
        for (const char *p = given; *p;) {
                size_t len = strcspn(p, "/");
                if (len == 2 && p[0] == '.' && p[1] == '.')
                        return error_set(e, EXDEV, "the archive has a name with \"..\": %s", given);
                if (len > 255 || n + len + 1 > UNPACK_NAME_MAX)
                        return error_set(e, ENAMETOOLONG, "the archive has a name that is too long: %.80s...", given);
                if (len > 0 && !(len == 1 && p[0] == '.')) {
                        if (++depth > UNPACK_DEPTH_MAX)
                                return error_set(e, ENAMETOOLONG, "the archive nests deeper than %d: %.80s...", UNPACK_DEPTH_MAX, given);
                        if (n > 0)
                                path[n++] = '/';
                        memcpy(path + n, p, len);
                        n += len;
                        path[n] = 0;
                }
                p += len;
                p += *p == '/';
        }
        return 0;
}

static bool is_hex(const char *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!strchr("0123456789abcdef", s[i]))
                        return false;
        return true;
}

bool unpack_is_image_name(const char *path) {
        static const char *const names[] = {"blobs", "index.json", "oci-layout", "manifest.json", "repositories"};
        size_t n = strcspn(path, "/");

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strlen(names[i]) == n && memcmp(path, names[i], n) == 0)
                        return true;
        /* docker save: a folder a layer, a configuration; podman save: a file a layer. */
        return n >= 64 && is_hex(path, 64) && (n == 64 || (path[n] == 0 && (streq(path + 64, ".json") || streq(path + 64, ".tar"))));
}

struct source {
        int fd;
        bool tar;
        struct guard guard;
        char *ahead; /* read already */
        size_t n_ahead;
};
static struct source source; /* one a process */

static ssize_t read_some(int fd, void *buffer, size_t size) {
        ssize_t n;
        while ((n = read(fd, buffer, size)) < 0 && errno == EINTR)
                ;
        return n;
}

static ssize_t on_read(struct archive *a, void *data, const void **ret) {
        static char buffer[BLOCK];
        struct source *s = data;

        if (s->n_ahead > 0) {
                ssize_t ahead = (ssize_t)s->n_ahead;
                s->n_ahead = 0;
                *ret = s->ahead;
                return ahead;
        }
        ssize_t n = read_some(s->fd, buffer, sizeof(buffer));
        if (n < 0)
                archive_set_error(a, errno, "the stream cannot be read");
        else if (s->tar)
                guard_feed(&s->guard, buffer, (size_t)n);
        if (s->guard.nul) {
                archive_set_error(a, EINVAL, "a name with NUL");
                return -1;
        }
        *ret = buffer;
        return n;
}

int unpack_reader(int fd, bool raw, struct archive **ret, struct error *e) {
        struct archive *a = archive_read_new();
        int bad = !a;

        source.fd = fd;
        source.tar = !raw;
        if (a && raw) {
                bad |= archive_read_support_format_raw(a) != ARCHIVE_OK || archive_read_support_format_empty(a) != ARCHIVE_OK;
                /* Those that the library has built in; none that would start a program. */
                bad |= archive_read_support_filter_bzip2(a) != ARCHIVE_OK ||
                       archive_read_support_filter_xz(a) != ARCHIVE_OK || archive_read_support_filter_lzma(a) != ARCHIVE_OK ||
                       archive_read_support_filter_zstd(a) != ARCHIVE_OK || archive_read_support_filter_lz4(a) != ARCHIVE_OK;
        } else if (a)
                bad |= archive_read_support_format_tar(a) != ARCHIVE_OK || archive_read_support_format_empty(a) != ARCHIVE_OK;
        if (bad) {
                archive_read_free(a);
                return error_set(e, ENOMEM, "libarchive cannot be used");
        }
        if (archive_read_open(a, &source, NULL, on_read, NULL) != ARCHIVE_OK) {
                error_set(e, EBADMSG, "this is no tar archive: %s", archive_error_string(a));
                archive_read_free(a);
                return -EBADMSG;
        }
        *ret = a;
        return 0;
}

/* gzip (RFC 1952), one member or several: libarchive reads it without looking at its checksum. */
static int gunzip(const struct image_helper *h, struct image_report *report) {
        static unsigned char in[BLOCK], out[BLOCK];
        z_stream z = {.next_in = (unsigned char *)source.ahead, .avail_in = (unsigned)source.n_ahead};
        struct error *e = &report->error;
        bool ended = false, more = false; /* more: it holds output back for which there was no room */
        int k = inflateInit2(&z, 15 + 16), r = 0;

        if (k != Z_OK)
                return error_set(e, ENOMEM, "zlib cannot be used");
        for (;;) {
                if (z.avail_in == 0 && !more) {
                        ssize_t n = read_some(h->in, in, sizeof(in));
                        if (n < 0)
                                r = error_errno(e, errno, "the stream cannot be read");
                        if (n <= 0)
                                break;
                        z.next_in = in;
                        z.avail_in = (unsigned)n;
                }
                if (ended) {
                        /* After the last member there may be padding, which gzip(1) ignores; else another begins. */
                        if (*z.next_in == 0) {
                                z.next_in++;
                                z.avail_in--;
                                continue;
                        }
                        if (inflateReset(&z) != Z_OK)
                                break;
                        ended = false;
                }
                z.next_out = out;
                z.avail_out = sizeof(out);
                k = inflate(&z, Z_NO_FLUSH);
                ended = k == Z_STREAM_END;
                more = !ended && z.avail_out == 0;
                if (k != Z_OK && k != Z_STREAM_END && k != Z_BUF_ERROR) {
                        r = error_set(e, EBADMSG, "the compressed data are damaged: %s", z.msg ? z.msg : "gzip");
                        break;
                }
                if ((r = fd_write_all(h->out, out, sizeof(out) - z.avail_out)) < 0) {
                        r = r == -EPIPE ? r : error_errno(e, r, "the decompressed stream cannot be passed on");
                        break;
                }
        }
        if (r == 0 && !ended)
                r = error_set(e, EBADMSG, "the compressed data are damaged: they end too early");
        inflateEnd(&z);
        return r;
}

/* The first bytes, which say what it is. */
static int look_ahead(int fd, struct error *e) {
        static char first[4096];

        source.ahead = first;
        while (source.n_ahead < sizeof(first)) {
                ssize_t n = read_some(fd, first + source.n_ahead, sizeof(first) - source.n_ahead);
                if (n < 0)
                        return error_errno(e, errno, "the stream cannot be read");
                if (n == 0)
                        break;
                source.n_ahead += (size_t)n;
        }
        return 0;
}

int unpack_decompress(const struct image_helper *h, struct image_report *report) {
        struct archive *a = NULL;
        struct archive_entry *entry;
        const void *data;
        size_t n;
        la_int64_t offset, at = 0;
        int r = look_ahead(h->in, &report->error), w = 0;

        if (r == 0 && source.n_ahead >= 3 && memcmp(source.ahead, "\x1f\x8b\x08", 3) == 0)
                return gunzip(h, report);
        if (r < 0 || (r = unpack_reader(h->in, true, &a, &report->error)) < 0)
                return r;
        r = archive_read_next_header(a, &entry);
        while (r == ARCHIVE_OK && (r = archive_read_data_block(a, &data, &n, &offset)) == ARCHIVE_OK) {
                if (offset != at || (w = fd_write_all(h->out, data, n)) < 0)
                        break;
                at += (la_int64_t)n;
        }
        if (w < 0)
                w = w == -EPIPE ? w : error_errno(&report->error, w, "the decompressed stream cannot be passed on");
        else if (r != ARCHIVE_EOF)
                w = error_set(&report->error, EBADMSG, "the compressed data are damaged: %s",
                              archive_error_string(a) ? archive_error_string(a) : "out of order");
        archive_read_free(a);
        return w;
}

int unpack_look(const struct image_helper *h, struct image_report *report) {
        struct archive *a = NULL;
        struct archive_entry *entry;
        int r = unpack_reader(h->in, false, &a, &report->error), k = ARCHIVE_OK;

        if (r < 0)
                return r;
        report->archive = ARCHIVE_UNKNOWN;
        for (unsigned i = 0; i < LOOK_MAX && (k = archive_read_next_header(a, &entry)) >= ARCHIVE_WARN && k != ARCHIVE_EOF; i++) {
                char path[UNPACK_NAME_MAX + 1];
                const char *name = archive_entry_pathname(entry);
                if (!name || (r = unpack_name(name, path, &report->error)) < 0)
                        break;
                if (!path[0])
                        continue;
                report->archive = unpack_is_image_name(path) ? ARCHIVE_IMAGE : ARCHIVE_ROOTFS;
                if (report->archive == ARCHIVE_ROOTFS || archive_entry_size(entry) > LOOK_DATA)
                        break;
        }
        if (r == 0 && k != ARCHIVE_EOF && k < ARCHIVE_WARN)
                r = error_set(&report->error, EBADMSG, "this is no tar archive: %s", archive_error_string(a));
        archive_read_free(a);
        return r;
}

/* Only the streams stay open, under fixed numbers; what the libraries might print goes nowhere. */
static int arrange_fds(struct image_helper *h) {
        int from[3] = {h->report, h->in, h->out}, moved[3];

        for (int i = 0; i < 3; i++) {
                moved[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD, 64);
                if (from[i] >= 0 && moved[i] < 0)
                        return -errno;
        }
        for (int i = 0; i < 3; i++)
                if (moved[i] >= 0 && dup2(moved[i], FD_REPORT + i) < 0)
                        return -errno;
                else if (moved[i] < 0)
                        close(FD_REPORT + i);
        h->report = FD_REPORT;
        h->in = from[1] < 0 ? -1 : FD_IN;
        h->out = from[2] < 0 ? -1 : FD_OUT;
        if (syscall(SYS_close_range, FD_OUT + 1, ~0u, 0) < 0)
                return -errno;
        close(0);
        close(1);
#if !defined(__SANITIZE_ADDRESS__) /* it says there what it found */
        close(2);
#endif
        return 0;
}

void image_helper_main(const struct image_helper *spec) {
        struct image_helper h = *spec;
        static struct image_report report;
        int r = arrange_fds(&h);

        umask(0);
        if (r < 0)
                error_errno(&report.error, r, "the helper of an import cannot be started");
        else
                r = unpack_confine(&h, &report.error);
        if (r == 0)
                switch (h.job) {
                case JOB_DECOMPRESS: r = unpack_decompress(&h, &report); break;
                case JOB_LAYER:
                case JOB_ARCHIVE: r = unpack_tree(&h, &report); break;
                case JOB_LOOK: r = unpack_look(&h, &report); break;
                case JOB_PACK:
                case JOB_EXPORT: r = unpack_pack(&h, &report); break;
                }
        if (r < 0 && report.error.errnum == 0)
                error_errno(&report.error, r, "the helper of an import failed");
        report.implied = (uint32_t)unpack_implied.len;
        if (fd_write_all(h.report, &report, sizeof(report)) < 0 ||
            fd_write_all(h.report, unpack_implied.data, unpack_implied.len) < 0)
                r = -EIO;
        _exit(r < 0 ? 1 : 0);
}
