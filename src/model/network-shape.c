/* Forms of payload that rules refuse, looked for in what a request's path and query hold once they are decoded. They are
 * a net with known holes: an encoding that only the server undoes passes. They catch what a program in the sandbox tries
 * against a server that it may reach, not what a person who knows them does. Linear in the request's size. */
#include <strings.h>

#include "model/network.h"
#include "model/request.h"

static bool is_word(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '+'; }

static bool begins(const char *s, size_t n, const char *with) {
        size_t k = strlen(with);
        return n >= k && strncasecmp(s, with, k) == 0;
}

/* Blanks, and comments of SQL that stand for one. */
static size_t skip_blanks(const char *s, size_t n) {
        size_t i = 0;

        for (;;) {
                while (i < n && is_blank(s[i]))
                        i++;
                if (n - i < 2 || s[i] != '/' || s[i + 1] != '*')
                        return i;
                for (i += 2; i < n && !(s[i - 1] == '*' && s[i] == '/'); i++)
                        ;
                i += i < n;
        }
}

/* Two words with blanks or comments between: "union select". */
static bool two_words(const char *s, size_t n, const char *first, const char *second) {
        size_t k = strlen(first), blanks;

        if (!begins(s, n, first))
                return false;
        blanks = skip_blanks(s + k, n - k);
        if (blanks == 0 || !begins(s + k + blanks, n - k - blanks, second))
                return false;
        size_t end = k + blanks + strlen(second);
        return end == n || !is_word(s[end]);
}

/* What follows a quote, or a number, and turns a condition into one that always holds. */
static bool condition(const char *s, size_t n) {
        size_t i = skip_blanks(s, n), k;

        if (begins(s + i, n - i, "or") || begins(s + i, n - i, "||"))
                k = 2;
        else if (begins(s + i, n - i, "and") || begins(s + i, n - i, "xor"))
                k = 3;
        else
                return false;
        i += k;
        if (i >= n || (k != 2 && is_word(s[i])) || is_word(s[i]))
                return false;
        /* Something is compared before the text ends; a name such as O'Or is no condition. */
        for (size_t m = i; m < n && m < i + 64; m++)
                if (s[m] == '=' || s[m] == '<' || s[m] == '>' || begins(s + m, n - m, " like") || begins(s + m, n - m, " in("))
                        return true;
        return false;
}

static bool sql_at(const char *s, size_t n, bool word_begins) {
        if (*s == '\'' || *s == '"') {
                size_t i = 1;
                while (i < n && (s[i] == ')' || is_blank(s[i])))
                        i++;
                return condition(s + i, n - i) || begins(s + i, n - i, "--") || begins(s + i, n - i, "/*") || (begins(s + i, n - i, "#") && i + 1 == n) ||
                       begins(s + i, n - i, ";");
        }
        if (*s == ';') {
                static const char *const after[] = {"drop", "delete", "insert", "update", "alter", "create", "exec", "select",
                                                    "truncate", "shutdown"};
                size_t i = 1 + skip_blanks(s + 1, n - 1);
                for (size_t k = 0; k < ELEMENTSOF(after); k++)
                        if (begins(s + i, n - i, after[k]) &&
                            (n - i == strlen(after[k]) || !is_word(s[i + strlen(after[k])])))
                                return true;
                return false;
        }
        if (!word_begins)
                return false;
        return two_words(s, n, "union", "select") || two_words(s, n, "union", "all") ||
               two_words(s, n, "insert", "into") || two_words(s, n, "drop", "table") ||
               two_words(s, n, "delete", "from") || two_words(s, n, "order", "by") ||
               two_words(s, n, "into", "outfile") || begins(s, n, "information_schema") || begins(s, n, "sleep(") ||
               begins(s, n, "benchmark(") || begins(s, n, "pg_sleep(") || begins(s, n, "waitfor delay") ||
               begins(s, n, "load_file(") || begins(s, n, "xp_cmdshell") ||
               (*s >= '0' && *s <= '9' && n > 1 && is_blank(s[1]) && condition(s + 1, n - 1));
}

/* A dot in the spellings that a server may decode once more. */
static size_t dot(const char *s, size_t n) { return n && *s == '.' ? 1 : begins(s, n, "%2e") ? 3 : 0; }
static size_t slash(const char *s, size_t n) {
        if (n && (*s == '/' || *s == '\\'))
                return 1;
        return begins(s, n, "%2f") || begins(s, n, "%5c") ? 3 : begins(s, n, "%c0%af") ? 6 : 0;
}

static bool traversal_at(const char *s, size_t n, bool first) {
        size_t a = dot(s, n), b = a ? dot(s + a, n - a) : 0;

        if (b && (slash(s + a + b, n - a - b) || (first && a + b == n)))
                return true;
        if (first && slash(s, n) && dot(s + slash(s, n), n - slash(s, n)) && n > slash(s, n) + 1)
                return true;
        if (slash(s, n)) {
                size_t k = slash(s, n);
                static const char *const places[] = {"etc/passwd", "etc/shadow", "proc/self", "windows/win.ini"};
                for (size_t i = 0; i < ELEMENTSOF(places); i++)
                        if (begins(s + k, n - k, places[i]))
                                return true;
        }
        return first && (begins(s, n, "file:") || begins(s, n, "php://") || begins(s, n, "jar:"));
}

static bool command_at(const char *s, size_t n) {
        static const char *const programs[] = {"sh", "bash", "cat", "curl", "wget", "nc", "id", "ls", "rm", "python", "perl",
                                               "ping", "whoami", "uname", "chmod", "eval", "exec"};

        if (begins(s, n, "$(") || begins(s, n, "${IFS") || begins(s, n, "${jndi:"))
                return true;
        if (*s == '`')
                return memchr(s + 1, '`', n - 1);
        if (*s != ';' && *s != '|' && *s != '&' && *s != '\n')
                return false;
        size_t i = 1;
        while (i < n && (is_blank(s[i]) || s[i] == *s))
                i++;
        for (const char *bin = "/usr/bin/"; begins(s + i, n - i, bin); i += strlen(bin))
                ;
        i += begins(s + i, n - i, "/bin/") ? 5 : 0;
        for (size_t k = 0; k < ELEMENTSOF(programs); k++) {
                size_t p = strlen(programs[k]);
                if (begins(s + i, n - i, programs[k]) && (n - i == p || is_blank(s[i + p]) || s[i + p] == ';' || s[i + p] == '|'))
                        return true;
        }
        return false;
}

static bool script_at(const char *s, size_t n, bool word_begins) {
        static const char *const tags[] = {"<script", "<iframe", "<img", "<svg", "<object", "<embed", "<body", "</script"};
        size_t i;

        for (size_t k = 0; *s == '<' && k < ELEMENTSOF(tags); k++)
                if (begins(s, n, tags[k]) && (n == strlen(tags[k]) || !is_word(s[strlen(tags[k])])))
                        return true;
        if (!word_begins)
                return false;
        if (begins(s, n, "javascript:") || begins(s, n, "vbscript:") || begins(s, n, "data:text/html"))
                return true;
        if (!begins(s, n, "on"))
                return false;
        for (i = 2; i < n && i < 24 && is_word(s[i]); i++)
                ;
        while (i < n && is_blank(s[i]))
                i++;
        return i > 4 && i < n && s[i] == '=';
}

static unsigned shapes_in(struct request_text t) {
        unsigned found = 0;

        for (size_t i = 0; i < t.n; i++) {
                const char *s = t.p + i;
                bool begins_here = i == 0 || !is_word(s[-1]);
                if (sql_at(s, t.n - i, begins_here))
                        found |= NETWORK_SQL_INJECTION;
                if (traversal_at(s, t.n - i, i == 0))
                        found |= NETWORK_TRAVERSAL;
                if (command_at(s, t.n - i))
                        found |= NETWORK_COMMAND_INJECTION;
                if (script_at(s, t.n - i, begins_here))
                        found |= NETWORK_SCRIPT_INJECTION;
        }
        return found;
}

unsigned network_shapes(const struct request *r) {
        unsigned found = 0;

        for (size_t i = 0; i < r->n_segments; i++)
                found |= shapes_in(r->segment[i]);
        for (size_t i = 0; i < r->n_query; i++) {
                found |= shapes_in(r->query[i].key);
                if (r->query[i].has_value)
                        found |= shapes_in(r->query[i].value);
        }
        return found;
}
