/* What is signed has to be a commit or a tag as git writes them (gitformat, "git hash-object -t commit"): a key that signs whatever
 * it is given would sign a release, a login or somebody else's document. See git.h. */
#include <string.h>

#include "model/git.h"

struct cursor {
        const char *p, *end;
};

/* The line's rest behind "NAME ", without its newline; the cursor goes on behind it. NULL: the line is another. */
static const char *line(struct cursor *c, const char *name, size_t *ret_n) {
        size_t n = strlen(name), left = (size_t)(c->end - c->p);
        const char *newline = memchr(c->p, '\n', left);

        if (!newline || left <= n || memcmp(c->p, name, n) != 0 || c->p[n] != ' ' || newline < c->p + n + 1)
                return NULL;
        const char *rest = c->p + n + 1;
        *ret_n = (size_t)(newline - rest);
        c->p = newline + 1;
        return rest;
}

static bool is_id(const char *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!strchr("0123456789abcdef", s[i]))
                        return false;
        return n == 40 || n == 64;
}

static bool all(const char *s, size_t n, const char *set) {
        for (size_t i = 0; i < n; i++)
                if (!strchr(set, s[i]))
                        return false;
        return n > 0;
}

/* "NAME <MAIL> SECONDS +ZONE". *ret_n: bytes up to and with the '>'. */
static bool is_person(const char *s, size_t n, size_t *ret_n) {
        const char *open = memchr(s, '<', n), *close = memchr(s, '>', n);

        if (!open || !close || close < open || (open > s && open[-1] != ' '))
                return false;
        const char *time = close + 2, *end = s + n, *blank = time < end ? memchr(time, ' ', (size_t)(end - time)) : NULL;
        if (close + 1 >= end || close[1] != ' ' || !blank || memchr(open + 1, '<', (size_t)(end - open - 1)))
                return false;
        *ret_n = (size_t)(close + 1 - s);
        return all(time, (size_t)(blank - time), "0123456789") && end - blank == 6 && (blank[1] == '+' || blank[1] == '-') &&
               all(blank + 2, 4, "0123456789");
}

/* Whom the policy names: with a name both, else the mail alone. */
static bool is_as(const char *as, const char *person, size_t n) {
        const char *open = memchr(person, '<', n);
        size_t k = strlen(as);

        if (!open)
                return false;
        if (as[0] == '<') {
                n -= (size_t)(open - person);
                person = open;
        }
        return k == n && memcmp(as, person, n) == 0;
}

static int not_one(struct error *e) { return error_set(e, EPERM, "what is to be signed is no commit and no tag of git's"); }

/* A header of more than one line: those that go on begin with a blank. */
static void skip_more(struct cursor *c) {
        while (c->p < c->end && *c->p == ' ') {
                const char *newline = memchr(c->p, '\n', (size_t)(c->end - c->p));
                c->p = newline ? newline + 1 : c->end;
        }
}

static int read_commit(struct cursor *c, const char **ret_person, size_t *ret_n, struct error *e) {
        size_t n, person;
        const char *s = line(c, "tree", &n);

        if (!s || !is_id(s, n))
                return not_one(e);
        while ((s = line(c, "parent", &n)))
                if (!is_id(s, n))
                        return not_one(e);
        s = line(c, "author", &n);
        if (!s || !is_person(s, n, &person))
                return not_one(e);
        s = line(c, "committer", &n);
        if (!s || !is_person(s, n, &person))
                return not_one(e);
        *ret_person = s;
        *ret_n = person;
        if ((s = line(c, "encoding", &n)) && !all(s, n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"))
                return not_one(e);
        while (line(c, "mergetag", &n))
                skip_more(c);
        return 0;
}

static int read_tag(struct cursor *c, const char **ret_person, size_t *ret_n, struct error *e) {
        static const char *const types[] = {"commit", "tree", "blob", "tag"};
        size_t n, k = 0, person;
        const char *s = line(c, "object", &n);

        if (!s || !is_id(s, n) || !(s = line(c, "type", &n)))
                return not_one(e);
        while (k < ELEMENTSOF(types) && !(strlen(types[k]) == n && memcmp(types[k], s, n) == 0))
                k++;
        if (k == ELEMENTSOF(types) || !line(c, "tag", &n) || n == 0)
                return not_one(e);
        s = line(c, "tagger", &n);
        if (!s || !is_person(s, n, &person))
                return not_one(e);
        *ret_person = s;
        *ret_n = person;
        return 0;
}

int git_object_read(const struct git_sign *s, const char *text, size_t n, bool *ret_tag, struct error *e) {
        struct cursor c = {text, text + n};
        const bool tag = n >= 7 && memcmp(text, "object ", 7) == 0;
        const char *person = "";
        size_t n_person = 0;

        if (n > GIT_OBJECT_MAX)
                return error_set(e, EPERM, "what is to be signed is larger than %u bytes", GIT_OBJECT_MAX);
        if (memchr(text, 0, n))
                return not_one(e);
        int r = tag ? read_tag(&c, &person, &n_person, e) : read_commit(&c, &person, &n_person, e);
        if (r < 0)
                return r;
        /* An empty line, and whatever its author had to say. */
        if (c.p >= c.end || *c.p != '\n')
                return not_one(e);
        if (!(tag ? s->tags : s->commits)) {
                error_set(e, EPERM, "sign does not let %s be signed", tag ? "tags" : "commits");
                return error_fix(e, tag ? "sign: {tags: true}" : "sign: {commits: true}");
        }
        if (s->as && !is_as(s->as, person, n_person)) {
                error_set(e, EPERM, "it is made in another's name than the one that sign may be used for");
                return error_fix(e, "set user.name and user.email to what sign has in as:");
        }
        *ret_tag = tag;
        return 0;
}
