/* The pure parts of the helpers of an import: names, what an archive looks like, names with NUL. */
#include "role/unpack/guard.h"
#include "role/unpack/unpack.h"
#include "svc/image-through.h"
#include "tap.h"

TEST(names) {
        static const char *const good[][2] = {
                {"a", "a"}, {"/a", "a"}, {"//a//b/", "a/b"}, {"./a/./b/.", "a/b"}, {"", ""}, {"/", ""}, {".", ""}, {"./", ""}, {"a/...", "a/..."},
                {"..a/b..", "..a/b.."}, {".wh..wh..opq", ".wh..wh..opq"},
        };
        static const char *const bad[] = {"..", "../a", "a/..", "a/../b", "/..", "a/b/../..", "./.."};
        char path[UNPACK_NAME_MAX + 1];
        struct error e;
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                check(unpack_name(good[i][0], path, &e) == 0);
                check_streq(path, good[i][1]);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                e = (struct error){};
                check(unpack_name(bad[i], path, &e) == -EXDEV && e.msg[0]);
        }
}

TEST(long_names) {
        char path[UNPACK_NAME_MAX + 1], name[5001] = "";
        struct error e;
        memset(name, 'a', 255);
        check(unpack_name(name, path, &e) == 0);
        name[255] = 'a';
        check(unpack_name(name, path, &e) == -ENAMETOOLONG);
        for (size_t i = 0; i < 5000; i++)
                name[i] = i % 100 == 99 ? '/' : 'a';
        check(unpack_name(name, path, &e) == -ENAMETOOLONG);
        name[3999] = 0;
        check(unpack_name(name, path, &e) == 0 && strlen(path) == 3999);
        for (size_t i = 0; i < 2 * UNPACK_DEPTH_MAX; i += 2)
                memcpy(name + i, "a/", 3);
        check(unpack_name(name, path, &e) == 0);
        memcpy(name + 2 * UNPACK_DEPTH_MAX, "a", 2);
        check(unpack_name(name, path, &e) == -ENAMETOOLONG);
}

TEST(directories_that_lead_elsewhere) {
        static const char pairs[] = "bin\0usr/bin\0bin/sub\0opt\0root\0\0";
        static const char *const t[][2] = {
                {"bin/x", "usr/bin/x"}, {"bin/x/y", "usr/bin/x/y"}, {"bin/sub/x", "opt/x"}, {"bin/subx/y", "usr/bin/subx/y"},
                {"root/a/b", "a/b"}, /* to the image's root */
                {"bin", "bin"}, {"bin/sub", "usr/bin/sub"}, {"binx/y", "binx/y"}, {"x/bin/y", "x/bin/y"}, {"", ""},
        };
        char path[32], small[10] = "bin/abcde";
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                strcpy(path, t[i][0]);
                check(through_apply(pairs, sizeof(pairs) - 1, path, sizeof(path)) == 0);
                check_streq(path, t[i][1]);
        }
        check(through_apply(pairs, sizeof(pairs) - 1, small, sizeof(small)) == -ENAMETOOLONG);
        check_streq(small, "bin/abcde");
        check(through_apply(NULL, 0, small, sizeof(small)) == 0);
}

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
TEST(looks) {
        static const char *const yes[] = {"blobs", "blobs/sha256/x", "index.json", "oci-layout", "manifest.json", "repositories", HEX, HEX "/layer.tar",
                                          HEX ".json", HEX ".tar"};
        static const char *const no[] = {"blob", "blobsx", "bin", "etc/index.json", "index.json.x", HEX "x", HEX ".sh", "usr/blobs"};
        for (size_t i = 0; i < ELEMENTSOF(yes); i++)
                check(unpack_is_image_name(yes[i]));
        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                check(!unpack_is_image_name(no[i]));
}

/* A header as tar(5) has it. */
static void header(unsigned char b[512], char type, const char *size) {
        unsigned sum = 0;
        memset(b, 0, 512);
        strcpy((char *)b, "name");
        strcpy((char *)b + 124, size);
        b[156] = (unsigned char)type;
        memset(b + 148, ' ', 8);
        for (size_t i = 0; i < 512; i++)
                sum += b[i];
        snprintf((char *)b + 148, 8, "%06o", sum);
}

/* Fed in pieces of every size, the answer is the same. */
static bool sees(const unsigned char *data, size_t n, bool *ret_lost) {
        bool first = false;
        for (size_t piece = 1; piece <= 1024; piece = piece * 2 + 1) {
                struct guard g = {};
                for (size_t at = 0; at < n; at += piece)
                        guard_feed(&g, data + at, MIN(piece, n - at));
                bool nul = g.nul;
                *ret_lost = g.lost;
                guard_clear(&g);
                if (piece == 1)
                        first = nul;
                check(nul == first);
        }
        return first;
}

static bool pax(const char *records, size_t n, bool *ret_lost) {
        static unsigned char data[4 * 512];
        char size[12];
        memset(data, 0, sizeof(data));
        snprintf(size, sizeof(size), "%011o", (unsigned)n);
        header(data, 'x', size);
        memcpy(data + 512, records, n);
        header(data + 1024, '0', "0");
        return sees(data, sizeof(data), ret_lost);
}

TEST(nul_in_names) {
        bool lost;
        check(!pax("12 path=abc\n", 12, &lost) && !lost);
        check(pax("12 path=a\0c\n", 12, &lost));
        check(pax("16 linkpath=\0bc\n", 16, &lost));
        check(pax("10 foo=ab\n12 path=a\0c\n", 22, &lost));
        check(!pax("19 SCHILY.xattr.a=\0\n", 20, &lost)); /* values of attributes may */
        check(!pax("9999999999999999999 path=a\0b\n", 29, &lost) && !lost);
        check(!pax("x path=a\0b\n", 11, &lost));

        unsigned char data[3 * 512] = {};
        header(data, 'L', "00000000010");
        memcpy(data + 512, "abcdefg\0", 8);
        header(data + 1024, '0', "0");
        check(!sees(data, sizeof(data), &lost) && !lost);
        memcpy(data + 512, "abc\0efg\0", 8);
        check(sees(data, sizeof(data), &lost));
}

/* The body of a file is no header, also where it looks like one; a size in an extended header counts. */
TEST(bodies) {
        unsigned char data[6 * 512] = {};
        bool lost;
        header(data, '0', "00000002000");
        header(data + 512, 'x', "00000000014");
        memcpy(data + 1024, "12 path=a\0c\n", 12);
        check(!sees(data, 3 * 512, &lost) && !lost);
        memset(data, 0, sizeof(data));
        header(data, 'x', "00000000015");
        memcpy(data + 512, "13 size=1024\n", 13);
        header(data + 1024, '0', "0");
        header(data + 1536, 'x', "00000000014");
        memcpy(data + 2048, "12 path=a\0c\n", 12);
        check(!sees(data, 5 * 512, &lost) && !lost);
        memset(data, 'x', 512);
        check(!sees(data, 512, &lost) && lost);
}

TAP_MAIN
