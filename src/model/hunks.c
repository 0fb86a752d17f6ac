/* See hunks.h. The format is diff(1)'s, as POSIX has it under "Diff -u Output Format". */
#include "model/hunks.h"

static const char *line_end(const char *p, const char *end) {
        const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        return nl ? nl + 1 : end;
}

static int number(const char **p, const char *end, uint64_t *ret) {
        uint64_t v = 0;
        const char *q = *p;

        for (; q < end && *q >= '0' && *q <= '9'; q++) {
                if (v > UINT32_MAX)
                        return -EINVAL;
                v = v * 10 + (uint64_t)(*q - '0');
        }
        if (q == *p)
                return -EINVAL;
        *p = q;
        *ret = v;
        return 0;
}

/* "12" or "12,3", after a sign. */
static int range(const char **p, const char *end, char sign, uint64_t *ret_at, uint64_t *ret_n) {
        if (*p >= end || **p != sign)
                return -EINVAL;
        ++*p;
        *ret_n = 1;
        int r = number(p, end, ret_at);
        if (r == 0 && *p < end && **p == ',') {
                ++*p;
                r = number(p, end, ret_n);
        }
        return r;
}

static int heading(const char *p, const char *end, struct hunk *h, uint64_t *ret_new) {
        uint64_t at;

        if (end - p < 4 || memcmp(p, "@@ ", 3) != 0)
                return -EINVAL;
        p += 3;
        int r = range(&p, end, '-', &h->old_at, &h->old_n);
        if (r == 0 && (p >= end || *p++ != ' '))
                r = -EINVAL;
        if (r == 0)
                r = range(&p, end, '+', &at, ret_new);
        if (r == 0 && (end - p < 3 || memcmp(p, " @@", 3) != 0))
                r = -EINVAL;
        /* Of no lines, the number is that of the line before. */
        if (r == 0 && h->old_n > 0) {
                if (h->old_at == 0)
                        return -EINVAL;
                h->old_at--;
        }
        return r;
}

int hunks_parse(const char *diff, size_t n, struct hunk **ret, size_t *ret_n) {
        _cleanup_free_ struct hunk *list = NULL;
        const char *end = diff + n;
        size_t count = 0, cap = 0;

        for (const char *p = diff; p < end;) {
                struct hunk h = {.at = (size_t)(p - diff)};
                uint64_t old_left, new_left = 0;
                int r = heading(p, line_end(p, end), &h, &new_left);
                if (r < 0)
                        return r;
                old_left = h.old_n;
                p = line_end(p, end);
                while (p < end && (old_left > 0 || new_left > 0 || *p == '\\')) {
                        bool old = *p == ' ' || *p == '-', new = *p == ' ' || *p == '+';
                        if ((!old && !new && *p != '\\') || (old && old_left == 0) || (new && new_left == 0))
                                return -EINVAL;
                        old_left -= old;
                        new_left -= new;
                        p = line_end(p, end);
                }
                if (old_left > 0 || new_left > 0)
                        return -EINVAL;
                h.size = (size_t)(p - diff) - h.at;
                if (count >= HUNKS_MAX)
                        return -E2BIG;
                if (count == cap) {
                        struct hunk *grown = reallocarray(list, cap = MAX(cap * 2, 16u), sizeof(*list));
                        if (!grown)
                                return -ENOMEM;
                        list = grown;
                }
                list[count++] = h;
        }
        *ret = TAKE_PTR(list);
        *ret_n = count;
        return 0;
}

/* One line of a hunk as it stands in the file: without its mark, and without a newline where the next line says so. */
static size_t text_of(const char *p, const char *next, const char *end) {
        size_t n = (size_t)(next - p) - 1;
        return next < end && *next == '\\' && n > 0 && p[n] == '\n' ? n - 1 : n;
}

int hunks_apply(const char *old, size_t old_n, const char *diff, const struct hunk *hunks, size_t n, const bool *take,
                struct strbuf *out) {
        const char *at = old, *old_end = old + old_n;
        uint64_t line = 0;

        for (size_t i = 0; i < n; i++) {
                const char *p = diff + hunks[i].at, *end = p + hunks[i].size;
                if (hunks[i].old_at < line)
                        return -EINVAL;
                for (; line < hunks[i].old_at; line++) {
                        const char *next = line_end(at, old_end);
                        if (next == at)
                                return -EINVAL;
                        strbuf_add(out, at, (size_t)(next - at));
                        at = next;
                }
                for (p = line_end(p, end); p < end;) {
                        const char *next = line_end(p, end);
                        size_t k = *p == '\\' ? 0 : text_of(p, next, end);
                        bool was = *p == ' ' || *p == '-', becomes = *p == ' ' || *p == '+';
                        if (was) {
                                if (k > (size_t)(old_end - at) || memcmp(at, p + 1, k) != 0 || line_end(at, old_end) != at + k)
                                        return -EINVAL;
                                at += k;
                                line++;
                        }
                        if (*p != '\\' && (take[i] ? becomes : was))
                                strbuf_add(out, p + 1, k);
                        p = next;
                }
        }
        strbuf_add(out, at, (size_t)(old_end - at));
        return out->failed ? -ENOMEM : 0;
}
