/* Headers of a tar, see image-tar.h. */
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "svc/image-tar.h"

/* ustar's header block (pax(1)). */
struct header {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, linkname[100], magic[6], version[2],
                uname[32], gname[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == 512, "a block");

/* A number that does not fit is in the extended header; the field is then 0. */
static void octal(char *field, size_t size, uint64_t v) {
        char digits[24];
        int n = snprintf(digits, sizeof(digits), "%0*llo", (int)size - 1, (unsigned long long)v);
        memcpy(field, n < (int)size ? digits : "00000000000", size - 1);
        field[size - 1] = 0;
}

static void put_header(struct strbuf *b, struct header *h) {
        unsigned sum = 0;

        memcpy(h->magic, "ustar", 6);
        memcpy(h->version, "00", 2);
        memset(h->checksum, ' ', sizeof(h->checksum));
        for (size_t i = 0; i < sizeof(*h); i++)
                sum += ((const unsigned char *)h)[i];
        snprintf(h->checksum, sizeof(h->checksum), "%06o", sum);
        strbuf_add(b, h, sizeof(*h));
}

/* "LENGTH key=value\n", where the length counts itself. */
void tar_record(struct strbuf *b, const char *key, const void *value, size_t n) {
        size_t rest = strlen(key) + n + 3, len = rest + 1;
        for (char digits[24];;) {
                size_t k = rest + (size_t)snprintf(digits, sizeof(digits), "%zu", len);
                if (k == len)
                        break;
                len = k;
        }
        strbuf_printf(b, "%zu %s=", len, key);
        strbuf_add(b, value, n);
        strbuf_puts(b, "\n");
}

static void put_extended(struct strbuf *b, const struct strbuf *records) {
        static const char zeros[512];
        struct header h = {.name = "pax", .type = 'x'};

        octal(h.mode, sizeof(h.mode), 0644);
        octal(h.uid, sizeof(h.uid), 0);
        octal(h.gid, sizeof(h.gid), 0);
        octal(h.size, sizeof(h.size), records->len);
        octal(h.mtime, sizeof(h.mtime), 0);
        put_header(b, &h);
        strbuf_add(b, records->data, records->len);
        if (records->len % 512)
                strbuf_add(b, zeros, 512 - records->len % 512);
}

static void record_number(struct strbuf *b, const char *key, uint64_t v) {
        char text[24];
        tar_record(b, key, text, (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)v));
}

void tar_header(struct strbuf *b, const char *path, char type, const struct stat *st, uint32_t uid, uint32_t gid, const char *link,
                const struct strbuf *extra) {
        _cleanup_strbuf_ struct strbuf x = {};
        struct header h = {.type = type};
        uint64_t size = type == '0' ? (uint64_t)st->st_size : 0;
        size_t n = strlen(path);
        char time[48];

        if (n > sizeof(h.name))
                tar_record(&x, "path", path, n);
        if (link && strlen(link) > sizeof(h.linkname))
                tar_record(&x, "linkpath", link, strlen(link));
        if (size >= 1ull << 33)
                record_number(&x, "size", size);
        if (uid >= 1u << 21)
                record_number(&x, "uid", uid);
        if (gid >= 1u << 21)
                record_number(&x, "gid", gid);
        if (st->st_mtim.tv_nsec || st->st_mtim.tv_sec < 0)
                tar_record(&x, "mtime", time, (size_t)snprintf(time, sizeof(time), "%lld.%09ld", (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec));
        if (extra && extra->len > 0)
                strbuf_add(&x, extra->data, extra->len);
        if (x.failed)
                b->failed = true;
        else if (x.len > 0)
                put_extended(b, &x);
        memcpy(h.name, path, MIN(n, sizeof(h.name)));
        if (link)
                memcpy(h.linkname, link, MIN(strlen(link), sizeof(h.linkname)));
        octal(h.mode, sizeof(h.mode), st->st_mode & 07777);
        octal(h.uid, sizeof(h.uid), uid);
        octal(h.gid, sizeof(h.gid), gid);
        octal(h.size, sizeof(h.size), size);
        octal(h.mtime, sizeof(h.mtime), st->st_mtim.tv_sec < 0 ? 0 : (uint64_t)st->st_mtim.tv_sec);
        octal(h.major, sizeof(h.major), major(st->st_rdev));
        octal(h.minor, sizeof(h.minor), minor(st->st_rdev));
        put_header(b, &h);
}
