/* Finding the images that a Containerfile names, see containerfile.h. The form is that of Docker's reference: a line an
 * instruction, continued by the escape character at its end; comment lines, also between continued ones; the escape character
 * may be changed by a directive on the first lines. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "model/containerfile.h"

struct reader {
        const char *at, *end;
        unsigned line;     /* of the instruction that was read last, from 1 */
        unsigned next;
        char escape;
        struct strlist args;      /* "NAME=VALUE", the later ones over the earlier */
        const struct strlist *given;
        struct strlist stages;    /* names; "" for one without */
        struct strlist *images;
        const char *target;
        bool past;                /* the target's stage is over */
        struct error *e;
};

static int no_memory(struct reader *r) { return error_set(r->e, ENOMEM, "out of memory"); }

static int bad(struct reader *r, const char *what) {
        return error_set(r->e, EINVAL, "line %u of the Containerfile: %s", r->line, what);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* One line of the text, without its end. */
static bool next_line(struct reader *r, const char **ret, size_t *ret_len) {
        if (r->at >= r->end)
                return false;
        const char *nl = memchr(r->at, '\n', (size_t)(r->end - r->at)), *stop = nl ? nl : r->end;
        *ret = r->at;
        *ret_len = (size_t)(stop - r->at);
        r->at = nl ? nl + 1 : r->end;
        r->next++;
        return true;
}

static void trim(const char **s, size_t *n) {
        while (*n > 0 && is_blank(**s))
                (*s)++, (*n)--;
        while (*n > 0 && is_blank((*s)[*n - 1]))
                (*n)--;
}

/* "# escape=`" among the directives, which end at the first line that is none. */
static void read_directives(struct reader *r) {
        const char *at = r->at, *s;
        unsigned next = r->next;
        size_t n;

        r->escape = '\\';
        while (next_line(r, &s, &n)) {
                trim(&s, &n);
                if (n == 0 || *s != '#')
                        break;
                s++, n--;
                trim(&s, &n);
                const char *eq = memchr(s, '=', n);
                if (!eq)
                        break;
                size_t name = (size_t)(eq - s);
                while (name > 0 && is_blank(s[name - 1]))
                        name--;
                if (name == 6 && strncasecmp(s, "escape", 6) == 0) {
                        size_t left = n - (size_t)(eq + 1 - s);
                        s = eq + 1;
                        trim(&s, &left);
                        if (left == 1 && (*s == '`' || *s == '\\'))
                                r->escape = *s;
                }
        }
        r->at = at;
        r->next = next;
}

/* The next instruction with its continued lines, joined. 0: the end. */
static int next_instruction(struct reader *r, struct strbuf *b) {
        bool begun = false;
        const char *s;
        size_t n;

        b->len = 0;
        while (next_line(r, &s, &n)) {
                trim(&s, &n);
                if (n == 0 || *s == '#')
                        continue; /* within a continued instruction, too */
                if (!begun)
                        r->line = r->next;
                begun = true;
                bool more = s[n - 1] == r->escape;
                strbuf_printf(b, "%.*s%s", (int)(n - more), s, more ? " " : "");
                if (b->failed)
                        return no_memory(r);
                if (!more)
                        break;
        }
        return begun;
}

static const char *value_in(const struct strlist *l, const char *name, size_t n) {
        for (size_t i = l->n; i-- > 0;)
                if (strncmp(l->items[i], name, n) == 0 && l->items[i][n] == '=')
                        return l->items[i] + n + 1;
        return NULL;
}

static const char *value_of(const struct reader *r, const char *name, size_t n) {
#if defined(__aarch64__)
#define ARCH "arm64"
#else
#define ARCH "amd64"
#endif
        static const char *const own[][2] = {
                {"TARGETPLATFORM", "linux/" ARCH}, {"TARGETOS", "linux"}, {"TARGETARCH", ARCH}, {"TARGETVARIANT", ""},
                {"BUILDPLATFORM", "linux/" ARCH}, {"BUILDOS", "linux"}, {"BUILDARCH", ARCH}, {"BUILDVARIANT", ""},
        };
        const char *v = value_in(&r->args, name, n);

        for (size_t i = 0; !v && i < ELEMENTSOF(own); i++)
                if (strlen(own[i][0]) == n && strncmp(own[i][0], name, n) == 0)
                        v = own[i][1];
        return v;
}

static size_t name_length(const char *s) {
        size_t n = 0;
        if (!isalpha((unsigned char)*s) && *s != '_')
                return 0;
        while (isalnum((unsigned char)s[n]) || s[n] == '_')
                n++;
        return n;
}

/* $NAME, ${NAME}, ${NAME:-word}, ${NAME:+word}; quotes are taken away. The word itself has no variables. */
static int expand(struct reader *r, const char *s, struct strbuf *b) {
        b->len = 0;
        strbuf_puts(b, "");
        while (*s && b->len <= CONTAINERFILE_NAME_MAX) {
                if (*s == '"' || *s == '\'') {
                        s++;
                        continue;
                }
                if (*s != '$') {
                        strbuf_printf(b, "%c", *s++);
                        continue;
                }
                bool brace = s[1] == '{';
                const char *name = s + 1 + brace;
                size_t n = name_length(name);
                const char *v = value_of(r, name, n), *after = name + n;
                if (n == 0)
                        return bad(r, "a variable without a name");
                if (brace && after[0] == ':' && (after[1] == '-' || after[1] == '+')) {
                        const char *word = after + 2, *close = strchr(word, '}');
                        if (!close)
                                return bad(r, "a brace that is not closed");
                        bool set = v && *v;
                        if (after[1] == '-' ? !set : set)
                                strbuf_printf(b, "%.*s", (int)(close - word), word);
                        else if (after[1] == '-')
                                strbuf_puts(b, v);
                        s = close + 1;
                        continue;
                }
                if (brace && *after != '}')
                        return bad(r, "a form of variable that is not known");
                strbuf_puts(b, v ? v : "");
                s = after + brace;
        }
        if (b->failed)
                return no_memory(r);
        return b->len > CONTAINERFILE_NAME_MAX ? bad(r, "a name that is too long") : 0;
}

static bool is_stage(const struct reader *r, const char *name) {
        char *end;
        unsigned long k = strtoul(name, &end, 10);

        for (size_t i = 0; i < r->stages.n; i++)
                if (r->stages.items[i][0] && strcasecmp(r->stages.items[i], name) == 0)
                        return true;
        return isdigit((unsigned char)*name) && !*end && k < r->stages.n;
}

static int add_image(struct reader *r, const char *name) {
        if (!name[0])
                return bad(r, "no image is named");
        if (r->past || strcasecmp(name, "scratch") == 0 || is_stage(r, name) || strlist_has(r->images, name))
                return 0;
        if (r->images->n >= CONTAINERFILE_IMAGES_MAX)
                return bad(r, "more images than can be laid ready");
        return strlist_add(r->images, name) < 0 ? no_memory(r) : 0;
}

/* Cuts off the next word. NULL: there is none. */
static char *word(char **s) {
        char *w = *s + strspn(*s, " \t");
        if (!*w)
                return NULL;
        *s = w + strcspn(w, " \t");
        if (**s)
                *(*s)++ = 0;
        return w;
}

static int read_from(struct reader *r, char *s, struct strbuf *b) {
        char *w, *name = NULL, *as = NULL, *stage = NULL;
        int k;

        while ((w = word(&s)) && strncmp(w, "--", 2) == 0)
                ;
        name = w;
        as = word(&s);
        if (as && strcasecmp(as, "as") == 0)
                stage = word(&s);
        if (!name || (as && !stage) || word(&s))
                return bad(r, "FROM takes an image, and a name after AS");
        /* The stage before was the one that was asked for. */
        if (r->target && r->stages.n > 0 && is_stage(r, r->target))
                r->past = true;
        if (r->stages.n >= CONTAINERFILE_STAGES_MAX)
                return bad(r, "more stages than are allowed");
        if ((k = expand(r, name, b)) < 0 || (k = add_image(r, b->data)) < 0)
                return k;
        return strlist_add(&r->stages, stage ? stage : "") < 0 ? no_memory(r) : 0;
}

/* ARG NAME[=VALUE] [NAME[=VALUE]...] before the first FROM. What is given from outside comes first. */
static int read_arg(struct reader *r, char *s, struct strbuf *b) {
        char *w;

        while ((w = word(&s))) {
                char *eq = strchr(w, '=');
                size_t n = eq ? (size_t)(eq - w) : strlen(w);
                const char *v = value_in(r->given, w, n);
                int k = 0;
                if (!v && eq && (k = expand(r, eq + 1, b)) == 0)
                        v = b->data;
                if (k < 0)
                        return k;
                if (r->args.n >= CONTAINERFILE_ARGS_MAX)
                        return bad(r, "more ARGs than are allowed");
                if (v && strlist_addf(&r->args, "%.*s=%s", (int)n, w, v) < 0)
                        return no_memory(r);
        }
        return 0;
}

/* --from=NAME, and from=NAME among the parts of --mount=, before anything that is no flag. */
static int read_flags(struct reader *r, char *s, struct strbuf *b) {
        char *w;

        while ((w = word(&s)) && strncmp(w, "--", 2) == 0) {
                const char *v = str_after(w, "--from="), *mount = str_after(w, "--mount=");
                for (const char *p = mount; p && *p && !v; p += strcspn(p, ","), p += *p == ',')
                        v = str_after(p, "from=");
                if (!v)
                        continue;
                _cleanup_free_ char *one = strndup(v, mount ? strcspn(v, ",") : strlen(v));
                if (!one)
                        return no_memory(r);
                int k = expand(r, one, b);
                if (k < 0 || (k = add_image(r, b->data)) < 0)
                        return k;
        }
        return 0;
}

static int read_all(struct reader *r) {
        _cleanup_strbuf_ struct strbuf line = {}, b = {};
        int k;

        read_directives(r);
        while ((k = next_instruction(r, &line)) > 0) {
                char *s = line.data, *what = word(&s);
                k = 0;
                if (!what)
                        continue;
                if (strcasecmp(what, "FROM") == 0)
                        k = read_from(r, s, &b);
                else if (strcasecmp(what, "ARG") == 0 && r->stages.n == 0)
                        k = read_arg(r, s, &b);
                else if (strcasecmp(what, "COPY") == 0 || strcasecmp(what, "ADD") == 0 || strcasecmp(what, "RUN") == 0)
                        k = read_flags(r, s, &b);
                if (k < 0)
                        return k;
        }
        if (k == 0 && r->stages.n == 0)
                return error_set(r->e, EINVAL, "the Containerfile has no FROM");
        if (k == 0 && r->target && !is_stage(r, r->target))
                return error_set(r->e, ENOENT, "the Containerfile has no stage %s", r->target);
        return k;
}

int containerfile_images(const char *text, size_t len, const struct strlist *args, const char *target, struct strlist *ret,
                         struct error *e) {
        _cleanup_strlist_ struct strlist found = {};
        struct reader r = {.at = text, .end = text + len, .given = args, .images = &found, .target = target, .e = e};

        if (len > CONTAINERFILE_MAX)
                return error_set(e, EFBIG, "the Containerfile is larger than %d bytes", CONTAINERFILE_MAX);
        if (memchr(text, 0, len))
                return error_set(e, EINVAL, "the Containerfile holds a NUL byte");
        if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
                r.at += 3;
        int k = read_all(&r);
        strlist_clear(&r.args);
        strlist_clear(&r.stages);
        if (k < 0)
                return k;
        *ret = found;
        found = (struct strlist){};
        return 0;
}
