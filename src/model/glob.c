/* Matching of hide patterns; see glob.h. */
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "model/glob.h"

/* The character at s; a byte that begins none counts as one of its own, above all of Unicode. */
static size_t char_at(const char *s, const char *end, uint32_t *ret) {
        if (!(*s & 0x80)) {
                *ret = (unsigned char)*s;
                return 1;
        }
        size_t n = utf8_decode(s, (size_t)(end - s), ret);
        if (n > 0)
                return n;
        *ret = 0x110000u + (unsigned char)*s;
        return 1;
}

/* As char_at, for a pattern's character that may be escaped. 0 where the backslash is the last byte. */
static size_t pattern_char(const char *p, const char *end, uint32_t *ret) {
        if (*p != '\\')
                return char_at(p, end, ret);
        if (p + 1 == end)
                return 0;
        return 1 + char_at(p + 1, end, ret);
}

/* A class that begins at p with '['. Its length in bytes, or 0 where it has no end or a range runs backwards. */
static size_t class_match(const char *p, const char *end, uint32_t c, bool *ret_hit) {
        const char *q = p + 1;
        bool negated = false, hit = false;

        if (q < end && (*q == '!' || *q == '^')) {
                negated = true;
                q++;
        }
        for (bool first = true; q < end && (first || *q != ']'); first = false) {
                uint32_t low = 0, high;
                size_t n = pattern_char(q, end, &low);
                if (n == 0)
                        return 0;
                q += n;
                high = low;
                if (q + 1 < end && *q == '-' && q[1] != ']') {
                        n = pattern_char(q + 1, end, &high);
                        if (n == 0 || high < low)
                                return 0;
                        q += 1 + n;
                }
                hit = hit || (c >= low && c <= high);
        }
        if (q >= end)
                return 0;
        *ret_hit = hit != negated;
        return (size_t)(q + 1 - p);
}

/* What stands at p, other than '*', against the character c: its length in bytes, or 0 for no match. */
static size_t element_match(const char *p, const char *end, uint32_t c) {
        bool hit = false;
        uint32_t want = 0;
        size_t n;

        if (*p == '?')
                return 1;
        if (*p == '[') {
                n = class_match(p, end, c, &hit);
                return hit ? n : 0;
        }
        n = pattern_char(p, end, &want);
        return want == c ? n : 0;
}

/* One segment against one name. Only the last * is ever gone back to: what an earlier one could do otherwise, the
 * last one can do as well; so the work is at most the product of both lengths. */
static bool segment_match(const char *p, const char *pend, const char *s, const char *send) {
        const char *star = NULL, *retry = NULL;

        while (s < send) {
                uint32_t c;
                size_t n = char_at(s, send, &c), m;

                if (p < pend && *p == '*') {
                        star = ++p;
                        retry = s;
                        continue;
                }
                m = p < pend ? element_match(p, pend, c) : 0;
                if (m > 0) {
                        p += m;
                        s += n;
                        continue;
                }
                if (!star)
                        return false;
                retry += char_at(retry, send, &c);
                s = retry;
                p = star;
        }
        while (p < pend && *p == '*')
                p++;
        return p == pend;
}

/* The next segment that counts at *p; false at the end. */
static bool next_segment(const char **p, const char **ret, const char **ret_end) {
        for (;;) {
                const char *s = *p + strspn(*p, "/"), *end = s + strcspn(s, "/");
                *p = end;
                if (s == end)
                        return false;
                if (end - s == 1 && *s == '.')
                        continue;
                *ret = s;
                *ret_end = end;
                return true;
        }
}

static bool is_doublestar(const char *s, const char *end) { return end - s == 2 && s[0] == '*' && s[1] == '*'; }

static bool segment_is_literal(const char *s, const char *end) {
        for (; s < end; s++) {
                if (*s == '\\')
                        s++;
                else if (*s == '*' || *s == '?' || *s == '[')
                        return false;
        }
        return true;
}

static const char *check_segment(const char *s, const char *end) {
        if (is_doublestar(s, end))
                return NULL;
        while (s < end) {
                bool hit;
                uint32_t c;
                size_t n;

                if (*s == '*' && s + 1 < end && s[1] == '*')
                        return "** must be a whole segment, as in **/name or a/**/b";
                if (*s == '{')
                        return "{a,b} has no meaning here: write one pattern for each, or put a backslash before the {";
                if (*s == '[') {
                        const char *close = s + 1 + strcspn(s + 1, "]/");
                        for (const char *q = s + 1; q + 1 < close; q++)
                                if (*q == '[' && strchr(":.=", q[1]))
                                        return "[:alpha:] and the like are not known: write the range, as in [a-z]";
                        n = class_match(s, end, 0, &hit);
                        if (n == 0)
                                return "[ begins a class that has no ] in its segment or a range that runs backwards; "
                                       "for the character itself put a backslash before it";
                } else {
                        n = pattern_char(s, end, &c);
                        if (n == 0)
                                return "a backslash stands before no character; for the character itself it is doubled";
                }
                s += n;
        }
        return NULL;
}

static size_t unescape(char *dst, const char *s, const char *end) {
        char *o = dst;

        while (s < end) {
                if (*s == '\\' && s + 1 < end)
                        s++;
                *o++ = *s++;
        }
        return (size_t)(o - dst);
}

static bool is_dotdot(const char *s, const char *end) {
        char name[4];
        return end - s <= 4 && unescape(name, s, end) == 2 && name[0] == '.' && name[1] == '.';
}

/* whole: the pattern begins where the user's did. */
static int check(const char *pattern, bool whole, const char **ret_why) {
        const char *why = NULL, *p = pattern, *s, *end;
        bool dotdot = false;

        if (strlen(pattern) > GLOB_MAX) {
                if (ret_why)
                        *ret_why = "it is longer than 4096 bytes";
                return -E2BIG;
        }
        if (pattern[0] == 0)
                why = "it is empty";
        else if (whole && pattern[0] == '!')
                why = "! makes no exception here; a name that begins with it needs a backslash in front";
        while (!why && next_segment(&p, &s, &end)) {
                why = check_segment(s, end);
                dotdot = dotdot || is_dotdot(s, end);
        }
        if (!why && dotdot && !glob_is_literal(pattern))
                why = "a pattern with wildcards cannot hold \"..\"";
        if (!why)
                return 0;
        if (ret_why)
                *ret_why = why;
        return -EINVAL;
}

int glob_check(const char *pattern, const char **ret_why) { return check(pattern, true, ret_why); }

bool glob_is_literal(const char *pattern) { return segment_is_literal(pattern, pattern + strlen(pattern)); }

bool glob_is_absolute(const char *pattern) { return pattern[0] == '/' || pattern[0] == '~'; }

static char *unescape_dup(const char *s, const char *end) {
        char *d = malloc((size_t)(end - s) + 1);
        if (d)
                d[unescape(d, s, end)] = 0;
        return d;
}

char *glob_unescape(const char *pattern) { return unescape_dup(pattern, pattern + strlen(pattern)); }

char *glob_escape(const char *path) {
        char *d = malloc(2 * strlen(path) + 1), *out = d;

        for (const char *s = path; d && *s; s++) {
                if (strchr("\\*?[", *s))
                        *d++ = '\\';
                *d++ = *s;
        }
        if (d)
                *d = 0;
        return out;
}

int glob_split(const char *pattern, char **ret_base, const char **ret_rest) {
        const char *p = pattern, *s, *end, *base_end = pattern, *rest = pattern + strlen(pattern);

        while (next_segment(&p, &s, &end)) {
                if (!segment_is_literal(s, end)) {
                        rest = s;
                        break;
                }
                base_end = end;
        }
        _cleanup_free_ char *raw = unescape_dup(pattern, base_end);
        if (!raw)
                return -ENOMEM;
        /* No literal segment at all leaves nothing, and path_clean makes "." of it. */
        char *base = path_clean(raw[0] == 0 && pattern[0] == '/' ? "/" : raw);
        if (!base)
                return -ENOMEM;
        *ret_base = base;
        *ret_rest = rest;
        return 0;
}

bool glob_match(const char *pattern, const char *path) {
        const char *p = pattern, *s = path, *star = NULL, *retry = NULL;

        if ((pattern[0] == '/') != (path[0] == '/'))
                return false;
        /* As in segment_match, with ** for * and segments for characters. */
        for (;;) {
                const char *pp = p, *ss = s, *a = NULL, *aend = NULL, *b = NULL, *bend = NULL;
                bool more_p = next_segment(&pp, &a, &aend), more_s = next_segment(&ss, &b, &bend);

                if (more_p && is_doublestar(a, aend)) {
                        star = p = pp;
                        retry = s;
                        continue;
                }
                if (!more_p && !more_s)
                        return true;
                if (more_p && more_s && segment_match(a, aend, b, bend)) {
                        p = pp;
                        s = ss;
                        continue;
                }
                if (!star || !more_s)
                        return false;
                if (!next_segment(&retry, &b, &bend))
                        return false;
                s = retry;
                p = star;
        }
}

/* A set is one row of segments, pattern after pattern, each closed by an end. A state has a bit for each of them:
 * everything before it has matched. */
enum segment_kind {
        SEGMENT_LITERAL,    /* text is unescaped */
        SEGMENT_AFFIX,      /* begin*end: text is both, unescaped; `head` bytes of it come before the star */
        SEGMENT_WILD,       /* text is the pattern */
        SEGMENT_DOUBLESTAR,
        SEGMENT_END,
};
struct segment {
        enum segment_kind kind;
        bool first;     /* of its pattern */
        unsigned len, head;
        unsigned pattern;
        char *text;
};

struct globset {
        struct segment *segments;
        size_t n, cap;
        unsigned n_patterns;
};

int globset_new(struct globset **ret) {
        struct globset *g = calloc(1, sizeof(*g));
        if (!g)
                return -ENOMEM;
        *ret = g;
        return 0;
}

static void truncate_to(struct globset *g, size_t n) {
        while (g->n > n)
                free(g->segments[--g->n].text);
}

void globset_free(struct globset *g) {
        if (!g)
                return;
        truncate_to(g, 0);
        free(g->segments);
        free(g);
}

static int add_segment(struct globset *g, struct segment segment) {
        if (g->n >= GLOBSET_SEGMENTS_MAX)
                return -E2BIG;
        if (g->n == g->cap) {
                size_t cap = MAX(g->cap * 2, 16u);
                struct segment *p = reallocarray(g->segments, cap, sizeof(*p));
                if (!p)
                        return -ENOMEM;
                g->segments = p;
                g->cap = cap;
        }
        segment.pattern = g->n_patterns;
        g->segments[g->n++] = segment;
        return 0;
}

static bool is_utf8(const char *s, const char *end) {
        uint32_t c;
        for (size_t n; s < end; s += n)
                if ((n = utf8_decode(s, (size_t)(end - s), &c)) == 0)
                        return false;
        return true;
}

/* The one star of a segment that has no other wildcard, so that a name can be compared by its bytes: with whole
 * characters on both sides they begin and end where a name's characters do. NULL: not such a one. */
static const char *lone_star(const char *s, const char *end) {
        const char *star = s;

        while (star < end && *star != '*')
                star += *star == '\\' ? 2 : 1;
        if (star >= end || !segment_is_literal(s, star) || !segment_is_literal(star + 1, end) ||
            !is_utf8(s, star) || !is_utf8(star + 1, end))
                return NULL;
        return star;
}

static bool affix_match(const struct segment *s, const char *name, size_t len) {
        size_t tail = s->len - s->head;
        return len >= s->len && memcmp(name, s->text, s->head) == 0 &&
               memcmp(name + len - tail, s->text + s->head, tail) == 0;
}

static int add_text(struct globset *g, bool first, const char *s, const char *end) {
        _cleanup_free_ char *text = NULL;
        struct segment segment = {.first = first};

        if (segment_is_literal(s, end)) {
                segment.kind = SEGMENT_LITERAL;
                text = unescape_dup(s, end);
        } else {
                segment.kind = SEGMENT_WILD;
                text = strndup(s, (size_t)(end - s));
        }
        if (!text)
                return -ENOMEM;
        segment.len = (unsigned)strlen(text);
        const char *star = segment.kind == SEGMENT_WILD ? lone_star(s, end) : NULL;
        if (star) {
                segment.kind = SEGMENT_AFFIX;
                segment.head = (unsigned)unescape(text, s, star);
                segment.len = segment.head + (unsigned)unescape(text + segment.head, star + 1, end);
        }
        segment.text = text;
        int r = add_segment(g, segment);
        if (r < 0)
                return r;
        text = NULL;
        return 0;
}

int globset_add(struct globset *g, const char *pattern) {
        const char *p = pattern, *s, *end;
        size_t before = g->n;
        int r = check(pattern, false, NULL);

        if (r < 0)
                return r;
        if (pattern[0] == '/')
                return -EINVAL;
        while (r >= 0 && next_segment(&p, &s, &end)) {
                bool first = g->n == before;
                if (!is_doublestar(s, end))
                        r = add_text(g, first, s, end);
                else if (first || g->segments[g->n - 1].kind != SEGMENT_DOUBLESTAR)
                        r = add_segment(g, (struct segment){.kind = SEGMENT_DOUBLESTAR, .first = first});
        }
        if (r >= 0)
                r = add_segment(g, (struct segment){.kind = SEGMENT_END, .first = g->n == before});
        if (r < 0) {
                truncate_to(g, before);
                return r;
        }
        g->n_patterns++;
        return 0;
}

size_t globset_words(const struct globset *g) { return MAX((g->n + 63) / 64, 1u); }

/* Sets the bit of segment i and, since ** may stand for nothing, of the one after a **. */
static unsigned reach(const struct globset *g, size_t i, uint64_t *state, size_t *ret_pattern, unsigned flags) {
        for (;; i++) {
                state[i / 64] |= 1ull << (i % 64);
                if (g->segments[i].kind == SEGMENT_END) {
                        if (!(flags & GLOBSET_MATCH) && ret_pattern)
                                *ret_pattern = g->segments[i].pattern;
                        return flags | GLOBSET_MATCH;
                }
                flags |= GLOBSET_BELOW;
                if (g->segments[i].kind != SEGMENT_DOUBLESTAR)
                        return flags;
        }
}

unsigned globset_start(const struct globset *g, uint64_t *ret_state) {
        unsigned flags = 0;

        memset(ret_state, 0, globset_words(g) * sizeof(*ret_state));
        for (size_t i = 0; i < g->n; i++)
                if (g->segments[i].first)
                        flags = reach(g, i, ret_state, NULL, flags);
        return flags & GLOBSET_BELOW;
}

unsigned globset_step(const struct globset *g, const uint64_t *state, const char *name, uint64_t *ret_state,
                      size_t *ret_pattern) {
        size_t words = globset_words(g), len = strlen(name);
        unsigned flags = 0;

        memset(ret_state, 0, words * sizeof(*ret_state));
        for (size_t w = 0; w < words; w++) {
                for (uint64_t bits = state[w]; bits; bits &= bits - 1) {
                        size_t i = w * 64 + (size_t)__builtin_ctzll(bits);
                        const struct segment *s = &g->segments[i];
                        switch (s->kind) {
                        case SEGMENT_LITERAL:
                                if (s->len == len && memcmp(s->text, name, len) == 0)
                                        flags = reach(g, i + 1, ret_state, ret_pattern, flags);
                                break;
                        case SEGMENT_AFFIX:
                                if (affix_match(s, name, len))
                                        flags = reach(g, i + 1, ret_state, ret_pattern, flags);
                                break;
                        case SEGMENT_WILD:
                                if (segment_match(s->text, s->text + s->len, name, name + len))
                                        flags = reach(g, i + 1, ret_state, ret_pattern, flags);
                                break;
                        case SEGMENT_DOUBLESTAR:
                                flags = reach(g, i, ret_state, ret_pattern, flags);
                                break;
                        case SEGMENT_END:
                                break;
                        }
                }
        }
        return flags;
}
