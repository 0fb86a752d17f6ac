/* System calls without a libc, x86_64 and aarch64, for belljar-init and belljar-call: belljar-init is a few KiB, because one stays resident in every
 * sandbox. Each returns the kernel's value: negative errnos as they are. */
#pragma once

#include <linux/types.h>
#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

static inline long sys6(long n, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
        long ret;
        register long r10 __asm__("r10") = d;
        register long r8 __asm__("r8") = e;
        register long r9 __asm__("r9") = f;
        __asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        return ret;
#elif defined(__aarch64__)
        register long x8 __asm__("x8") = n;
        register long x0 __asm__("x0") = a;
        register long x1 __asm__("x1") = b;
        register long x2 __asm__("x2") = c;
        register long x3 __asm__("x3") = d;
        register long x4 __asm__("x4") = e;
        register long x5 __asm__("x5") = f;
        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
        return x0;
#else
#error "belljar-init knows x86_64 and aarch64"
#endif
}

#define SYS_N(_1, _2, _3, _4, _5, _6, _7, N, ...) N
#define SYS_CALL7(n, a, b, c, d, e, f) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define SYS_CALL6(n, a, b, c, d, e) SYS_CALL7(n, a, b, c, d, e, 0)
#define SYS_CALL5(n, a, b, c, d) SYS_CALL6(n, a, b, c, d, 0)
#define SYS_CALL4(n, a, b, c) SYS_CALL5(n, a, b, c, 0)
#define SYS_CALL3(n, a, b) SYS_CALL4(n, a, b, 0)
#define SYS_CALL2(n, a) SYS_CALL3(n, a, 0)
#define SYS_CALL1(n) SYS_CALL2(n, 0)
#define SYS_PASTE(n) SYS_CALL##n
#define SYS_SELECT(n) SYS_PASTE(n)
/* sc(__NR_read, fd, buf, n) */
#define sc(...) SYS_SELECT(SYS_N(__VA_ARGS__, 7, 6, 5, 4, 3, 2, 1))(__VA_ARGS__)
