#include "base/str.h"
#include "model/image-name.h"
#include "tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "@sha256:" HEX

static void good(const char *name) {
        const char *why = NULL;
        int r = image_name_check(name, &why);
        if (r < 0)
                printf("# %s: %s\n", name, why);
        check(r == 0 && !why && strlen(name) <= IMAGE_NAME_MAX);
}

static void bad(const char *name, const char *reason) {
        const char *why = NULL;
        int r = image_name_check(name, &why);
        if (r == 0 || !why || !strstr(why, reason))
                printf("# %s: %s\n", name, r == 0 ? "accepted" : why);
        check(r == -EINVAL && why && strstr(why, reason) && image_name_check(name, NULL) == -EINVAL);
}

TEST(names) {
        static const char *const names[] = {"debian", "a", "0", "library/debian", "a/b/c/d", "a---b", "a_b", "a__b-c/d.e-f0"};
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                good(names[i]);
        static const char *const not_names[] = {
                "/x", "x/", "a//b", "X", "a/B", "x y", "x\n", "x\ty", "-x", "x-", ".x", "x.", "_x", "a..b", "a___b", "a._b", "a/-b",
                "../x", "./x", "a/../b", "a/./b", "x%20", "\xc3\xa4", "a b/c", "\\", "x$y", "a/b\x01",
        };
        for (size_t i = 0; i < ELEMENTSOF(not_names); i++)
                bad(not_names[i], "the name in small letters");
        bad("", "such as debian:12");
        bad("docker://x", "without a transport");
        bad("http://r.example/x", "without a transport");
}

TEST(tags) {
        good("debian:12");
        good("x:_");
        good("x:V1.0_x-");
        good("r.example/x:t");
        static const char *const tags[] = {"x:", "x:.t", "x:-t", "x:t:u", "x: t", "x:\xc3\xa4", "oci:x:z", ":", "r.example:80/x:"};
        for (size_t i = 0; i < ELEMENTSOF(tags); i++)
                bad(tags[i], "a tag has");
        bad("x:a/b:", "a tag has");
        bad(":tag", "the name in small letters");
}

TEST(registries) {
        static const char *const names[] = {
                "docker.io/library/x:tag", "localhost/x", "localhost:5000/x", "r:1/x", "Registry.Example/x", "192.0.2.1:5000/x",
                "r.example:65535/a-b_c.d/e__f--g:V1.0_x-", "a-b.c/x",
        };
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                good(names[i]);
        static const char *const not_names[] = {
                "A/b", "r:/x", "r:x/y", "r:123456/x", "-r.e/x", "r-.e/x", "r..e/x", ".e/x", "e./x", "[::1]:5000/x", "r.e:1:2/x", "r_.e/x",
                "r.example/", "r.example//x", "r.example/X", "a__b.c/d",
        };
        for (size_t i = 0; i < ELEMENTSOF(not_names); i++)
                bad(not_names[i], "the name in small letters");
}

TEST(digests) {
        good("x" DIGEST);
        good("r.example:5000/a/x:t" DIGEST);
        bad("x@", "64 hexadecimal digits");
        bad("x@sha256:", "64 hexadecimal digits");
        bad("x" DIGEST "0", "64 hexadecimal digits");
        bad("x@sha512:" HEX, "64 hexadecimal digits");
        bad("x@SHA256:" HEX, "64 hexadecimal digits");
        bad("x@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "small letters");
        bad("x" DIGEST DIGEST, "64 hexadecimal digits");
        bad("x" DIGEST ":t", "64 hexadecimal digits");
        bad(DIGEST, "the name in small letters");
}

TEST(parts) {
        static const struct {
                const char *name;
                size_t repository, registry;
                bool digest;
        } names[] = {
                {"debian", 6, 0, false}, {"debian:12", 6, 0, false}, {"a/b:t", 3, 0, false}, {"r.example/a/b:t", 13, 9, false},
                {"localhost:5000/x", 16, 14, false}, {"localhost/x:1" DIGEST, 11, 9, true}, {"r:80/x" DIGEST, 6, 4, true}, {"a" DIGEST, 1, 0, true},
        };
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const char *digest = image_name_digest(names[i].name);
                check(image_name_repository(names[i].name) == names[i].repository);
                check(image_name_registry(names[i].name) == names[i].registry);
                check(names[i].digest ? digest && streq(digest, HEX) : !digest);
        }
}

TEST(the_longest) {
        char name[IMAGE_NAME_MAX + 64];
        memset(name, 'a', sizeof(name));
        name[255] = 0;
        good(name);
        name[255] = 'a';
        name[256] = 0;
        bad(name, "at most 255 bytes");
        name[255] = ':';
        memset(name + 256, 'T', 128);
        strcpy(name + 384, DIGEST); /* the longest there is */
        good(name);
        strcpy(name + 384, "T" DIGEST);
        bad(name, "128 at most");
}

TAP_MAIN
