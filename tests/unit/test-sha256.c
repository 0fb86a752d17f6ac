#include <string.h>

#include "base/sha256.h"
#include "tap.h"

static const char *digest(const void *data, size_t n) {
        static char text[SHA256_TEXT];
        uint8_t hash[SHA256_SIZE];

        sha256(data, n, hash);
        return sha256_text(hash, text);
}

/* FIPS 180-4's examples, NIST's long one. */
TEST(vectors) {
        static char million[1000000];

        check_streq(digest("", 0), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        check_streq(digest("abc", 3), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        check_streq(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
                    "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        memset(million, 'a', sizeof(million));
        check_streq(digest(million, sizeof(million)), "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths around the ends of blocks, where the padding goes on to another; the digests of all of them, hashed, as coreutils
 * has it. */
TEST(lengths) {
        char all[130][SHA256_TEXT - 1];
        uint8_t data[130];

        for (unsigned i = 0; i < sizeof(data); i++)
                data[i] = (uint8_t)i;
        for (unsigned n = 0; n < 130; n++)
                memcpy(all[n], digest(data, n), sizeof(all[n]));
        check_streq(digest(all, sizeof(all)), "sha256:59398962892ac0a0406d694ea2dbd8c02078b0b063f3d97ab1f5a3f601c52fdc");
}

/* In two and three pieces, cut everywhere around two blocks; and nothing is left of it. */
TEST(pieces) {
        uint8_t data[150], whole[SHA256_SIZE], hash[SHA256_SIZE];
        struct sha256_state s;

        for (unsigned i = 0; i < sizeof(data); i++)
                data[i] = (uint8_t)(i * 7 + 1);
        sha256(data, sizeof(data), whole);
        for (unsigned a = 0; a <= sizeof(data); a++)
                for (unsigned b = a; b <= sizeof(data); b++) {
                        memset(&s, 0xff, sizeof(s));
                        sha256_begin(&s);
                        sha256_add(&s, data, a);
                        sha256_add(&s, data + a, b - a);
                        sha256_add(&s, data + b, sizeof(data) - b);
                        sha256_end(&s, hash);
                        check(memcmp(hash, whole, sizeof(hash)) == 0);
                }
        for (unsigned i = 0; i < sizeof(s); i++)
                check(((const uint8_t *)&s)[i] == 0);
}

TAP_MAIN
