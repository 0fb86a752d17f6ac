/* What objects that were compiled against glibc with _FORTIFY_SOURCE ask for, and musl has not. Linked into `belljar` alone, for
 * libsodium's. */
#include <string.h>

void __explicit_bzero_chk(void *dst, size_t n, size_t size);
void __explicit_bzero_chk(void *dst, size_t n, size_t size) {
        if (n > size)
                __builtin_trap();
        explicit_bzero(dst, n);
}
