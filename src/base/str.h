/* Strings, growing buffers and lists of strings. libc only; sizes have caps given by the caller. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

static inline bool streq(const char *a, const char *b) { return strcmp(a, b) == 0; }
/* Returns what follows the prefix, or NULL. */
static inline const char *str_after(const char *s, const char *prefix) {
        size_t n = strlen(prefix);
        return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

/* Characters that move the cursor, hide text or turn its direction round, control characters included. */
bool str_deceptive(uint32_t cp);
/* Writes s into dst so that it is safe on a terminal and on one line: control bytes, DEL and bytes that are not
 * valid UTF-8 become \xHH, a backslash \\; C1 controls and bidirectional overrides count as control characters.
 * Truncates at whole characters. Always terminates. */
void str_visible(char *dst, size_t size, const char *s);
/* The same, allocated; NULL when memory is out. */
char *str_visible_dup(const char *s);

/* A growing byte buffer, always NUL-terminated once something was added. On failure (memory, or more than max
 * bytes) it stays as it was and `failed` is set: check once at the end with strbuf_take or the flag. */
struct strbuf {
        char *data;
        size_t len, cap;
        size_t max;     /* bytes; 0: 64 MiB */
        bool failed;
};
void strbuf_clear(struct strbuf *b);
void strbuf_reset(struct strbuf *b); /* empty, and no failure; its memory is kept */
void strbuf_add(struct strbuf *b, const void *data, size_t n);
void strbuf_puts(struct strbuf *b, const char *s);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) _printf_(2, 3);
/* The string, handed over; NULL where anything failed. An empty buffer gives "". */
char *strbuf_take(struct strbuf *b);
#define _cleanup_strbuf_ _cleanup_(strbuf_clear)

/* A NULL-terminated list of strings that owns them. */
struct strlist {
        char **items;   /* NULL when empty */
        size_t n, cap;
};
void strlist_clear(struct strlist *l);
/* Both copy s. -ENOMEM. */
int strlist_add(struct strlist *l, const char *s) _must_check_;
int strlist_addf(struct strlist *l, const char *fmt, ...) _printf_(2, 3) _must_check_;
bool strlist_has(const struct strlist *l, const char *s);
void strlist_sort(struct strlist *l); /* by bytes */
#define _cleanup_strlist_ _cleanup_(strlist_clear)

/* asprintf that returns NULL when memory is out. */
char *str_printf(const char *fmt, ...) _printf_(1, 2);

/* Path of absolute or relative form without doubled or trailing slashes and without "." parts; ".." is kept as it
 * stands (it cannot be resolved without looking). NULL when memory is out. */
char *path_clean(const char *path);
/* True when path is root or lies beneath it; both absolute and clean. */
bool path_beneath(const char *path, const char *root);
/* True when the path has a ".." part. */
bool path_has_dotdot(const char *path);

/* Parses a whole decimal number; -EINVAL, -ERANGE. */
int parse_u64(const char *s, uint64_t *ret) _must_check_;
/* "4096", "64KiB", "1.5GiB", "2G" (binary units; "KB" and the like are refused): bytes. -EINVAL, -ERANGE. */
int parse_size(const char *s, uint64_t *ret) _must_check_;
/* "90", "90s", "5m", "1h30m", "250ms", "2d": milliseconds (a bare number is seconds). -EINVAL, -ERANGE. */
int parse_duration(const char *s, uint64_t *ret_ms) _must_check_;
/* Shortest exact or rounded form, as "1.5 GiB", "312 B"; returns dst (at least 16 bytes). */
char *format_size(char *dst, size_t size, uint64_t bytes);
/* As "1h 30m", "250ms". */
char *format_duration(char *dst, size_t size, uint64_t ms);
