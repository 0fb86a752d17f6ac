/* Ranges as text, and 16 bytes as an address: text and bytes say the same, classes are whole, and what is public carries
 * nothing that is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/address.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static void check_address(const struct request_address *a, const struct address_range *r) {
        struct request_address inner[ADDRESS_EMBEDDED_MAX], again;
        char text[ADDRESS_TEXT_MAX];
        struct address_range exact = {.bits = 128};

        must(address_format(a, text) == text && text[0]);
        must(address_parse(text, strlen(text), &again) == 0 && memcmp(&again, a, sizeof(again)) == 0);
        must(address_class(a) < ADDRESS_CLASSES && address_is_public(a) == (address_class(a) == ADDRESS_PUBLIC));
        size_t n = address_embedded(a, inner);
        must(n <= ADDRESS_EMBEDDED_MAX);
        for (size_t i = 0; i < n; i++)
                must(address_is_ipv4(&inner[i]) && (address_is_public(&inner[i]) || !address_is_public(a)));
        memcpy(exact.byte, a->byte, 16);
        must(address_allowed(a, NULL, 0) == address_is_public(a) && address_allowed(a, &exact, 1));
        if (address_allowed(a, r, 1) && !address_is_public(a))
                must(address_range_has(r, a) && (address_class(a) != ADDRESS_METADATA || r->bits == 128));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        struct address_range r = {}, again;
        struct request_address a = {}, first = {};
        char *s = malloc(size ? size : 1), text[ADDRESS_TEXT_MAX + 5];

        must(s);
        memcpy(s, data, size);
        int x = address_range_parse(s, size, &r);
        free(s);
        if (x == 0 || x == -ERANGE) {
                must(r.bits <= 128);
                memcpy(first.byte, r.byte, 16);
                if (r.bits >= 96 || !address_is_ipv4(&first)) {
                        must(address_range_has(&r, &first));
                        address_format(&first, text);
                        snprintf(text + strlen(text), 5, "/%u", r.bits - (address_is_ipv4(&first) ? 96u : 0u));
                        must(address_range_parse(text, strlen(text), &again) == 0 && memcmp(&r, &again, sizeof(r)) == 0);
                }
                check_address(&first, &r);
        } else
                must(x == -EINVAL);
        if (size >= 16) {
                memcpy(a.byte, data, 16);
                check_address(&a, &r);
        }
        return 0;
}
