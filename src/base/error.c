/* Filling and printing of struct error; see error.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"

int error_set(struct error *e, int errnum, const char *fmt, ...) {
        if (errnum == 0)
                errnum = EINVAL;
        if (!e)
                return -errnum;
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
        va_end(ap);
        e->errnum = errnum;
        e->fix[0] = 0;
        return -errnum;
}

int error_errno(struct error *e, int errnum, const char *fmt, ...) {
        if (errnum < 0)
                errnum = -errnum;
        if (errnum == 0)
                errnum = EINVAL;
        if (!e)
                return -errnum;
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
        va_end(ap);
        size_t n = strlen(e->msg);
        snprintf(e->msg + n, sizeof(e->msg) - n, ": %s", strerror(errnum));
        e->errnum = errnum;
        e->fix[0] = 0;
        return -errnum;
}

int error_fix(struct error *e, const char *fmt, ...) {
        if (!e)
                return -EINVAL; /* nobody asked why */
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(e->fix, sizeof(e->fix), fmt, ap);
        va_end(ap);
        return e->errnum ? -e->errnum : -EINVAL;
}

void error_print(const struct error *e) {
        char msg[sizeof(e->msg) * 4], fix[sizeof(e->fix) * 4];
        str_visible(msg, sizeof(msg), e->msg);
        str_visible(fix, sizeof(fix), e->fix);
        if (fix[0])
                fprintf(stderr, "belljar: %s\n  fix: %s\n", msg, fix);
        else
                fprintf(stderr, "belljar: %s\n", msg);
}
