#include <string.h>

#include "base/hmac.h"
#include "tap.h"

static const char *mac(const void *key, size_t n_key, const void *data, size_t n) {
        static char text[SHA256_TEXT];
        struct hmac_sha256 h;
        uint8_t ret[SHA256_SIZE];

        memset(&h, 0xff, sizeof(h));
        hmac_sha256_begin(&h, key, n_key);
        hmac_sha256_add(&h, data, n);
        hmac_sha256_end(&h, ret);
        for (unsigned i = 0; i < sizeof(h); i++)
                check(((const uint8_t *)&h)[i] == 0);
        return sha256_text(ret, text) + 7;
}

/* RFC 4231, section 4. */
TEST(vectors) {
        uint8_t key[131], data[50];

        memset(key, 0x0b, 20);
        check_streq(mac(key, 20, "Hi There", 8), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        check_streq(mac("Jefe", 4, "what do ya want for nothing?", 28), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        memset(key, 0xaa, 20);
        memset(data, 0xdd, 50);
        check_streq(mac(key, 20, data, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
        for (uint8_t i = 0; i < 25; i++)
                key[i] = i + 1;
        memset(data, 0xcd, 50);
        check_streq(mac(key, 25, data, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
        memset(key, 0x0c, 20);
        char short_one[33];
        snprintf(short_one, sizeof(short_one), "%.32s", mac(key, 20, "Test With Truncation", 20));
        check_streq(short_one, "a3b6167473100ee06e0c796c2955552b");
        memset(key, 0xaa, 131);
        check_streq(mac(key, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
        const char *text = "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used "
                           "by the HMAC algorithm.";
        check_streq(mac(key, 131, text, strlen(text)), "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

/* A key of no bytes, and one of a block, just under and just over; hashed together, as Python's hmac has it. */
TEST(key_lengths) {
        uint8_t key[66], all[67 * 64];

        for (unsigned i = 0; i < sizeof(key); i++)
                key[i] = (uint8_t)(i + 1);
        for (unsigned n = 0; n <= sizeof(key); n++)
                memcpy(all + 64 * n, mac(key, n, "data", 4), 64);
        char text[SHA256_TEXT];
        uint8_t hash[SHA256_SIZE];
        sha256(all, sizeof(all), hash);
        check_streq(sha256_text(hash, text), "sha256:76a7f9c0e4ae99c285a41359ab37c33f76e47d75bd88d7366bb2d09151dabba8");
}

/* A chain of keys, each in the place of the one before. */
TEST(in_place) {
        struct hmac_sha256 h;
        uint8_t key[SHA256_SIZE] = {1, 2, 3}, other[SHA256_SIZE];

        hmac_sha256_begin(&h, key, sizeof(key));
        hmac_sha256_add(&h, "ab", 2);
        hmac_sha256_add(&h, "c", 1);
        hmac_sha256_end(&h, other);
        hmac_sha256_begin(&h, key, sizeof(key));
        hmac_sha256_add(&h, "abc", 3);
        hmac_sha256_end(&h, key);
        check(memcmp(key, other, sizeof(key)) == 0);
}

TAP_MAIN
