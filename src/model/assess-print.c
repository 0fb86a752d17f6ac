/* What assess prints: for people, and as JSON; see assess.h. Names and values of the file went through proto/quote.h
 * where they were kept (keep_shown), those of containers go through it here. */
#include <stdio.h>

#include "base/utf8.h"
#include "model/assess-internal.h"
#include "proto/json.h"
#include "proto/quote.h"

#define PLACES_SHOWN 12
#define NAMES_SHOWN 4

static const char *const questions[] = {"where does it run", "what can it reach", "what can its credentials do"};
static const char *const question_keys[] = {"where", "reach", "credentials"};

static const char *format_name(enum format f) {
        static const char *const names[] = {"compose file", "docker inspect", "Kubernetes manifests",
                "devcontainer.json", "Claude Code settings", "sandbox-runtime settings"};
        return names[f];
}

static void coloured(struct strbuf *b, bool colour, const char *code, const char *s) {
        if (colour)
                strbuf_printf(b, "\x1b[%sm%s\x1b[0m", code, s);
        else
                strbuf_puts(b, s);
}

/* A name of the file, cut: it may be as long as the file. */
static void put_name(struct strbuf *b, const char *s) {
        char part[128];
        size_t n = utf8_cut(s, strlen(s), sizeof(part) - 1);

        memcpy(part, s, n);
        part[n] = 0;
        quote_name(b, "", part);
        if (s[n])
                strbuf_puts(b, "...");
}

/* Breaks the text at blanks, so that it is read in any window; every line but the first begins with `indent` blanks. */
static void wrapped(struct strbuf *b, const char *s, size_t indent, size_t at) {
        const size_t width = 110;
        bool first = true;

        while (*s) {
                size_t word = strcspn(s, " ");
                if (!first && at + 1 + word > width) {
                        strbuf_printf(b, "\n%*s", (int)indent, "");
                        at = indent;
                } else if (!first) {
                        strbuf_puts(b, " ");
                        at++;
                }
                strbuf_add(b, s, word);
                at += word;
                s += word;
                s += strspn(s, " ");
                first = false;
        }
        strbuf_puts(b, "\n");
}

/* The names of the units in a finding or an answer: each once, the first few. `last` stands before the last: " or ". */
static void names_of(struct strbuf *b, const char *const *names, size_t n, const char *last) {
        size_t shown = 0, distinct = 0;
        for (size_t i = 0; i < n; i++) {
                if (i > 0 && names[i] == names[i - 1])
                        continue;
                distinct++;
                if (shown >= NAMES_SHOWN && n > NAMES_SHOWN + 1)
                        continue;
                if (shown++)
                        strbuf_puts(b, i + 1 == n ? last : ", ");
                put_name(b, names[i]);
        }
        if (distinct > shown)
                strbuf_printf(b, " and %zu more", distinct - shown);
}

/* follows, with {} and {&} replaced. */
static void put_follows(struct strbuf *b, const struct finding *f, const struct rule *rule) {
        _cleanup_free_ const char **names = calloc(f->places.n + 1, sizeof(*names));
        size_t n = 0;

        if (!names) {
                b->failed = true;
                return;
        }
        for (size_t i = 0; i < f->places.n; i++)
                if (f->places.items[i].unit && (n == 0 || names[n - 1] != f->places.items[i].unit))
                        names[n++] = f->places.items[i].unit;
        for (const char *p = rule->follows; *p;) {
                bool and = strncmp(p, "{&}", 3) == 0;
                if (and || strncmp(p, "{}", 2) == 0) {
                        if (n > 0)
                                names_of(b, names, n, and ? " and " : " or ");
                        else
                                strbuf_puts(b, "it");
                        p += and ? 3 : 2;
                        continue;
                }
                strbuf_add(b, p++, 1);
        }
}

static const char *mend_of(const struct assessment *a, const struct rule *rule) {
        if (a->format == FORMAT_POD && rule->mend_pod)
                return rule->mend_pod;
        if ((a->format == FORMAT_INSPECT || a->format == FORMAT_DEVCONTAINER) && rule->mend_docker)
                return rule->mend_docker;
        return rule->mend;
}

static void print_answers(struct strbuf *b, const struct assessment *a, bool colour) {
        for (size_t q = 0; q < ELEMENTSOF(questions); q++) {
                const struct answer *items = q == 0 ? a->where.items : q == 1 ? a->reach.items : a->creds.items;
                size_t n = q == 0 ? a->where.n : q == 1 ? a->reach.n : a->creds.n;
                coloured(b, colour, "1", questions[q]);
                strbuf_puts(b, "\n");
                for (size_t i = 0; i < n; i++) {
                        size_t before = b->len;
                        strbuf_puts(b, "  ");
                        names_of(b, items[i].units.items, items[i].units.n, ", ");
                        strbuf_puts(b, ": ");
                        wrapped(b, items[i].text, 6, b->len - before);
                }
        }
}

static void print_finding(
        struct strbuf *b, const struct assessment *a, const struct finding *f, const char *file, bool colour) {
        static const char *const codes[] = {"36", "33", "31"};
        const struct rule *rule = &assess_rules[f->rule];
        _cleanup_strbuf_ struct strbuf follows = {};
        char word[16];
        size_t i;

        snprintf(word, sizeof(word), "%-7s", assess_severity_name(rule->severity));
        strbuf_puts(b, "\n");
        coloured(b, colour, codes[rule->severity], word);
        coloured(b, colour, "1", rule->title);
        strbuf_printf(b, "  [%s]\n", rule->id);
        for (i = 0; i < f->places.n && (i < PLACES_SHOWN || f->places.n == PLACES_SHOWN + 1); i++) {
                const struct place *p = &f->places.items[i];
                strbuf_puts(b, "       ");
                quote_name(b, "", file);
                strbuf_printf(b, ":%u", p->line);
                if (p->unit) {
                        strbuf_puts(b, " ");
                        put_name(b, p->unit);
                }
                if (p->detail)
                        strbuf_printf(b, "%s %s", p->unit ? ":" : "", p->detail);
                strbuf_puts(b, "\n");
        }
        if (i < f->places.n)
                strbuf_printf(b, "       and %zu more lines (--json has all)\n", f->places.n - i);
        put_follows(&follows, f, rule);
        b->failed |= follows.failed;
        strbuf_puts(b, "       ");
        wrapped(b, follows.data ? follows.data : "", 7, 7);
        strbuf_puts(b, "       mend: ");
        wrapped(b, mend_of(a, rule), 13, 13);
        if (rule->belljar) {
                strbuf_puts(b, "       belljar run: ");
                wrapped(b, rule->belljar, 13, 20);
        }
}

char *assess_text(const struct assessment *a, const char *name, bool colour) {
        _cleanup_strbuf_ struct strbuf b = {};
        size_t high = assess_count(a, ASSESS_HIGH), medium = assess_count(a, ASSESS_MEDIUM) - high,
               low = assess_count(a, ASSESS_LOW) - high - medium;

        quote_name(&b, "", name);
        strbuf_printf(&b, ": %s", format_name(a->format));
        if (a->units.n > 0)
                strbuf_printf(&b, ", %zu %s%s", a->units.n, a->format == FORMAT_COMPOSE ? "service" : "container",
                        a->units.n == 1 ? "" : "s");
        strbuf_puts(&b, "\n\n");
        print_answers(&b, a, colour);
        for (size_t i = 0; i < a->notes.n; i++) {
                strbuf_puts(&b, i ? "note: " : "\nnote: ");
                wrapped(&b, a->notes.items[i], 6, 6);
        }
        if (high + medium + low == 0)
                strbuf_puts(&b, "\nnothing found\n");
        else
                strbuf_printf(&b, "\n%zu high, %zu medium, %zu low\n", high, medium, low);
        for (int s = ASSESS_HIGH; s >= ASSESS_LOW; s--)
                for (size_t i = 0; i < RULE_N; i++)
                        if (a->findings[i].places.n > 0 && assess_rules[i].severity == (enum assess_severity)s)
                                print_finding(&b, a, &a->findings[i], name, colour);
        return strbuf_take(&b);
}

char *assess_json(const struct assessment *a, const char *name) {
        struct json j = {};

        json_begin(&j, NULL, '{');
        json_num(&j, "version", 1);
        json_str(&j, "file", name);
        json_str(&j, "format", format_name(a->format));
        json_begin(&j, "units", '[');
        for (size_t i = 0; i < a->units.n; i++)
                json_str(&j, NULL, a->units.items[i].name);
        json_end(&j, ']');
        json_begin(&j, "answers", '{');
        for (size_t q = 0; q < ELEMENTSOF(question_keys); q++) {
                const struct answer *items = q == 0 ? a->where.items : q == 1 ? a->reach.items : a->creds.items;
                size_t n = q == 0 ? a->where.n : q == 1 ? a->reach.n : a->creds.n;
                json_begin(&j, question_keys[q], '[');
                for (size_t i = 0; i < n; i++) {
                        json_begin(&j, NULL, '{');
                        json_str(&j, "answer", items[i].text);
                        json_begin(&j, "units", '[');
                        for (size_t k = 0; k < items[i].units.n; k++)
                                json_str(&j, NULL, items[i].units.items[k]);
                        json_end(&j, ']');
                        json_end(&j, '}');
                }
                json_end(&j, ']');
        }
        json_end(&j, '}');
        json_begin(&j, "notes", '[');
        for (size_t i = 0; i < a->notes.n; i++)
                json_str(&j, NULL, a->notes.items[i]);
        json_end(&j, ']');
        json_begin(&j, "findings", '[');
        for (int s = ASSESS_HIGH; s >= ASSESS_LOW; s--)
                for (size_t i = 0; i < RULE_N; i++) {
                        const struct finding *f = &a->findings[i];
                        const struct rule *rule = &assess_rules[i];
                        if (f->places.n == 0 || rule->severity != (enum assess_severity)s)
                                continue;
                        _cleanup_strbuf_ struct strbuf follows = {};
                        put_follows(&follows, f, rule);
                        j.text.failed |= follows.failed;
                        json_begin(&j, NULL, '{');
                        json_str(&j, "id", rule->id);
                        json_str(&j, "severity", assess_severity_name(rule->severity));
                        json_str(&j, "title", rule->title);
                        json_str(&j, "follows", follows.data ? follows.data : "");
                        json_str(&j, "mend", mend_of(a, rule));
                        json_str(&j, "belljar", rule->belljar);
                        json_begin(&j, "places", '[');
                        for (size_t k = 0; k < f->places.n; k++) {
                                json_begin(&j, NULL, '{');
                                json_num(&j, "line", f->places.items[k].line);
                                json_str(&j, "unit", f->places.items[k].unit);
                                json_str(&j, "detail", f->places.items[k].detail);
                                json_end(&j, '}');
                        }
                        json_end(&j, ']');
                        json_end(&j, '}');
                }
        json_end(&j, ']');
        json_end(&j, '}');
        char *s = strbuf_take(&j.text);
        strbuf_clear(&j.text);
        return s;
}
