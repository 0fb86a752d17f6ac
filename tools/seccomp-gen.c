/* Build tool: compiles a list of system calls (src/seccomp/NAME.list) into a C header with a seccomp filter in plain
 * BPF, so that the programs that load it need no library. Runs on the build machine, for any supported target.
 *
 *      seccomp-gen --arch x86_64|aarch64 [--dispatch ranges|linear|tree] NAME.list OUTPUT.h
 *
 * The list, one system call a line, '#' begins a comment:
 *
 *      unknown ERRNO|ALLOW             what a call answers that the list does not name; ALLOW where another filter judges
 *      foreign ERRNO                   what 32-bit entry and x32 numbers answer
 *      allow CALL [CONDITION...]
 *      refuse CALL [CONDITION...] [-> ERRNO]           (EPERM where none is named)
 *      include NAME.list               all that another list of the same folder says
 *      replace CALL                    forgets what was said of it so far; its new lines follow
 *
 * Lines of one call stand together and are tried in order; all conditions of a line must hold, and the last line of
 * a call has none. CONDITION is ARG=V,V or ARG!=V,V or ARG&MASK=V,V. ARG is int0..int5, the low 32 bits of the
 * argument, which is all that the kernel takes where the parameter is an int, or ptr0..ptr5, all 64 bits. A value is
 * a number or a constant of <linux/...>, joined by '|'. A call that libseccomp is too old to know is written
 * CALL@x86_64=N,aarch64=N.
 *
 * libseccomp knows the numbers. It cannot say "one of these, else that errno" (one comparison an argument and rule,
 * one default for all calls), so the conditions are compiled here; and the dispatch by number is a binary search over
 * ranges of equal answers. The kernel translates and dry-runs the whole filter at every start: the process list is
 * about 200 instructions and 40 us to load, 615 and 89 us with libseccomp's tree, 523 and 338 us with its chain.
 * libseccomp's own filters are still built from the same list, and all are run, in a model of the kernel's
 * interpreter, against a direct reading of the list: any difference fails the build. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "seccomp-gen.h"

static const struct arch archs[] = {
        {"x86_64", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64, true},
        {"aarch64", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64, false},
};

/* Values that are the same on every supported target. */
static const struct {
        const char *name;
        uint32_t value;
} constants[] = {
#define C(x) {#x, (uint32_t)(x)}
        C(AF_UNIX), C(AF_INET), C(AF_INET6), C(AF_NETLINK),
        C(SOCK_STREAM), C(SOCK_DGRAM), C(SOCK_RAW), C(SOCK_SEQPACKET),
        C(IPPROTO_IP), C(IPPROTO_TCP), C(IPPROTO_UDP), C(NETLINK_ROUTE),
        C(CLONE_NEWUSER), C(CLONE_NEWNS), C(CLONE_NEWNET), C(CLONE_NEWPID), C(CLONE_NEWIPC), C(CLONE_NEWUTS),
        C(CLONE_NEWCGROUP),
#ifdef CLONE_NEWTIME
        C(CLONE_NEWTIME),
#else
        {"CLONE_NEWTIME", 0x80},
#endif
        C(TIOCSTI), C(TIOCLINUX), C(TIOCSETD), C(TIOCCONS), C(TIOCSSERIAL),
        {"USERFAULTFD_IOC_NEW", 0xaa00},
        C(PRIO_PROCESS), C(IOPRIO_WHO_PROCESS),
        C(S_IFMT), C(S_IFREG), C(S_IFIFO), C(S_IFSOCK), C(S_IFCHR), C(S_ISUID), C(S_ISGID),
        C(O_CREAT), {"__O_TMPFILE", 0x400000},
        C(PER_LINUX), C(PER_LINUX32), C(ADDR_NO_RANDOMIZE),
#undef C
};

static const struct {
        const char *name;
        int value;
} errnos[] = {
#define E(x) {#x, x}
        E(EPERM), E(ENOSYS), E(EACCES), E(EINVAL), E(EAFNOSUPPORT), E(EPROTONOSUPPORT), E(ESOCKTNOSUPPORT),
        E(EOPNOTSUPP),
#undef E
        {"0", 0}, /* the call seems to have been done */
};

struct list list;
unsigned errors;

void complain(unsigned line, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        fprintf(stderr, "%s:%u: ", list.path, line);
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
        va_end(ap);
        errors++;
}

static uint32_t errno_action(int e) { return SECCOMP_RET_ERRNO | ((uint32_t)e & SECCOMP_RET_DATA); }

static bool parse_errno(unsigned line, const char *word, uint32_t *ret_action) {
        for (size_t i = 0; word && i < ELEMENTSOF(errnos); i++)
                if (strcmp(word, errnos[i].name) == 0) {
                        *ret_action = errno_action(errnos[i].value);
                        return true;
                }
        complain(line, "%s is not an errno that this tool knows", word ? word : "(nothing)");
        return false;
}

static bool parse_number(const char *s, uint64_t *ret) {
        char *end;

        if (*s < '0' || *s > '9')
                return false;
        errno = 0;
        *ret = strtoull(s, &end, 0);
        return errno == 0 && *end == '\0';
}

/* A number or constant, or several joined by '|'. Changes the text. */
static bool parse_value(unsigned line, char *text, uint64_t *ret) {
        char *save = NULL;
        uint64_t v = 0;

        if (*text == '\0') {
                complain(line, "a value is missing");
                return false;
        }
        for (char *w = strtok_r(text, "|", &save); w; w = strtok_r(NULL, "|", &save)) {
                uint64_t one;
                bool found = parse_number(w, &one);

                for (size_t i = 0; !found && i < ELEMENTSOF(constants); i++)
                        if (strcmp(w, constants[i].name) == 0) {
                                one = constants[i].value;
                                found = true;
                        }
                if (!found) {
                        complain(line, "%s is neither a number nor a constant that this tool knows", w);
                        return false;
                }
                v |= one;
        }
        *ret = v;
        return true;
}

static bool parse_cond(unsigned line, char *word, struct cond *ret) {
        struct cond c = {0};
        char *save = NULL, *eq = strchr(word, '='), *amp;

        c.wide = strncmp(word, "ptr", 3) == 0;
        if ((!c.wide && strncmp(word, "int", 3) != 0) || word[3] < '0' || word[3] > '5' || !eq) {
                complain(line, "%s is not a condition (int0&MASK=VALUE,VALUE)", word);
                return false;
        }
        c.arg = (unsigned)(word[3] - '0');
        *eq = '\0';
        if (eq[-1] == '!') {
                c.negate = true;
                eq[-1] = '\0';
        }
        amp = word + 4;
        if (*amp == '&') {
                uint64_t mask;

                if (!parse_value(line, amp + 1, &mask))
                        return false;
                if (mask == 0 || mask > UINT32_MAX || c.wide) {
                        complain(line, "a mask has 32 bits, is not zero, and goes with int");
                        return false;
                }
                c.masked = true;
                c.mask = (uint32_t)mask;
        } else if (*amp != '\0') {
                complain(line, "%s: expected '=', '!=' or '&' after the argument", word);
                return false;
        }
        for (char *w = strtok_r(eq + 1, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
                uint64_t v;
                char copy[128];

                if (c.n_values == MAX_VALUES || strlen(w) >= sizeof(copy)) {
                        complain(line, "too many or too long values");
                        return false;
                }
                strcpy(copy, w);
                if (!parse_value(line, copy, &v))
                        return false;
                if (!c.wide && v > UINT32_MAX) {
                        complain(line, "%s does not fit an int", w);
                        return false;
                }
                if (c.masked && (v & ~(uint64_t)c.mask)) {
                        complain(line, "%s has bits outside the mask: it never matches", w);
                        return false;
                }
                c.values[c.n_values++] = v;
        }
        if (c.n_values == 0 || (c.wide && c.n_values > 1)) {
                complain(line, "%s needs %s", word, c.wide ? "exactly one value" : "a value");
                return false;
        }
        *ret = c;
        return true;
}

/* The call's number on the target, by libseccomp or by the numbers in the list; -1: not there; -2: reported. */
static int resolve(unsigned line, const char *name, char *numbers, const struct arch *arch) {
        int known = seccomp_syscall_resolve_name_arch(arch->scmp, name), given = -1;
        char *save = NULL;

        if (known > MAX_NUMBER) {
                complain(line, "%s is %d on %s: beyond what this tool expects", name, known, arch->name);
                return -2;
        }
        if (!numbers) {
                if (known == __NR_SCMP_ERROR) {
                        complain(line, "%s: unknown to libseccomp on every architecture; "
                                       "misspelt, or give its numbers as %s@x86_64=N,aarch64=N", name, name);
                        return -2;
                }
                return known < 0 ? -1 : known;
        }
        for (char *w = strtok_r(numbers, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
                char *eq = strchr(w, '=');
                uint64_t v;
                bool found = false;

                if (eq)
                        *eq = '\0';
                for (size_t i = 0; i < ELEMENTSOF(archs); i++)
                        found = found || strcmp(w, archs[i].name) == 0;
                if (!eq || !found || !parse_number(eq + 1, &v) || v > MAX_NUMBER) {
                        complain(line, "%s: numbers are written @x86_64=N,aarch64=N", name);
                        return -2;
                }
                if (strcmp(w, arch->name) == 0)
                        given = (int)v;
        }
        if (known >= 0 && known != given) {
                complain(line, "%s is %d on %s, not %d", name, known, arch->name, given);
                return -2;
        }
        return given;
}

static struct entry *entry_for(unsigned line, char *name, const struct arch *arch) {
        struct entry *last = list.n > 0 ? &list.entries[list.n - 1] : NULL;
        char *at = strchr(name, '@');
        int nr;

        if (at)
                *at = '\0';
        if (last && strcmp(last->name, name) == 0) {
                if (last->n_rules > 0 && last->rules[last->n_rules - 1].n_conds == 0) {
                        complain(line, "%s: never reached, line %u decides already", name, last->line);
                        return NULL;
                }
                return last;
        }
        for (unsigned i = 0; i < list.n; i++)
                if (strcmp(list.entries[i].name, name) == 0) {
                        complain(line, "%s stands at line %u already; lines of one call belong together", name,
                                 list.entries[i].line);
                        return NULL;
                }
        nr = resolve(line, name, at ? at + 1 : NULL, arch);
        if (nr == -2)
                return NULL;
        for (unsigned i = 0; i < list.n; i++)
                if (nr >= 0 && list.entries[i].nr == nr) {
                        complain(line, "%s has the number of %s (line %u)", name, list.entries[i].name,
                                 list.entries[i].line);
                        return NULL;
                }
        if (list.n == MAX_ENTRIES || strlen(name) >= sizeof(last->name)) {
                complain(line, "too many calls, or too long a name");
                return NULL;
        }
        last = &list.entries[list.n++];
        strcpy(last->name, name);
        last->nr = nr;
        last->unnamed = seccomp_syscall_resolve_name(name) == __NR_SCMP_ERROR;
        if (nr < 0)
                list.skipped++;
        return last;
}

static void parse_call(unsigned line, bool allow, char **save, const struct arch *arch) {
        char *name = strtok_r(NULL, " \t\n", save);
        struct rule r = {.action = allow ? SECCOMP_RET_ALLOW : errno_action(EPERM)};
        struct entry *e;

        if (!name) {
                complain(line, "the call's name is missing");
                return;
        }
        for (char *w = strtok_r(NULL, " \t\n", save); w; w = strtok_r(NULL, " \t\n", save)) {
                if (strcmp(w, "->") == 0) {
                        if (allow)
                                complain(line, "an allowed call has no errno");
                        else if (!parse_errno(line, strtok_r(NULL, " \t\n", save), &r.action))
                                return;
                        if (strtok_r(NULL, " \t\n", save))
                                complain(line, "nothing may follow the errno");
                        break;
                }
                if (r.n_conds == MAX_CONDS) {
                        complain(line, "more than %d conditions", MAX_CONDS);
                        return;
                }
                if (!parse_cond(line, w, &r.conds[r.n_conds]))
                        return;
                r.n_conds++;
        }
        e = entry_for(line, name, arch);
        if (!e)
                return;
        if (e->n_rules == MAX_RULES) {
                complain(line, "%s: more than %d lines", e->name, MAX_RULES);
                return;
        }
        e->line = line;
        e->rules[e->n_rules++] = r;
}

static void forget_call(unsigned line, const char *name) {
        for (unsigned i = 0; name && i < list.n; i++)
                if (strcmp(list.entries[i].name, name) == 0) {
                        list.skipped -= list.entries[i].nr < 0;
                        memmove(&list.entries[i], &list.entries[i + 1], (--list.n - i) * sizeof(list.entries[0]));
                        memset(&list.entries[list.n], 0, sizeof(list.entries[0])); /* the next new one begins empty */
                        return;
                }
        complain(line, "%s: nothing was said of it that could be replaced", name ? name : "(nothing)");
}

static void read_lines(FILE *f, const struct arch *arch, bool included);

static void include(unsigned line, const char *name, const struct arch *arch, bool included) {
        const char *outer = list.path, *slash = strrchr(outer, '/');
        char path[4096];
        FILE *f;

        if (!name || included || strchr(name, '/')) {
                complain(line, "include takes the name of a list of the same folder, and stands in no included one");
                return;
        }
        snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - outer) : 0, outer, name);
        f = fopen(path, "re");
        if (!f) {
                complain(line, "%s: %s", path, strerror(errno));
                return;
        }
        list.path = path;
        read_lines(f, arch, true);
        list.path = outer;
        fclose(f);
}

static void read_lines(FILE *f, const struct arch *arch, bool included) {
        char text[512];
        unsigned line = 0;

        while (fgets(text, sizeof(text), f)) {
                char *save = NULL, *hash = strchr(text, '#'), *word;

                line++;
                if (!strchr(text, '\n') && !feof(f)) {
                        complain(line, "the line is too long");
                        return;
                }
                if (hash)
                        *hash = '\0';
                word = strtok_r(text, " \t\n", &save);
                if (!word)
                        continue;
                if (strcmp(word, "allow") == 0 || strcmp(word, "refuse") == 0) {
                        parse_call(line, *word == 'a', &save, arch);
                } else if (strcmp(word, "include") == 0) {
                        include(line, strtok_r(NULL, " \t\n", &save), arch, included);
                } else if (strcmp(word, "replace") == 0) {
                        forget_call(line, strtok_r(NULL, " \t\n", &save));
                } else if (strcmp(word, "unknown") == 0 || strcmp(word, "foreign") == 0) {
                        uint32_t *action = *word == 'u' ? &list.unknown : &list.foreign;

                        if (*action)
                                complain(line, "%s is said twice", word);
                        word = strtok_r(NULL, " \t\n", &save);
                        if (word && strcmp(word, "ALLOW") == 0 && action == &list.unknown)
                                *action = SCMP_ACT_ALLOW;
                        else
                                parse_errno(line, word, action);
                        if (strtok_r(NULL, " \t\n", &save))
                                complain(line, "nothing may follow the errno");
                } else
                        complain(line, "%s: a line begins with allow, refuse, unknown, foreign, include or replace", word);
        }
}

static void read_list(FILE *f, const struct arch *arch) {
        read_lines(f, arch, false);
        if (!list.unknown || !list.foreign)
                complain(0, "the list does not say what `unknown` and `foreign` calls answer");
        for (unsigned i = 0; i < list.n; i++)
                if (list.entries[i].n_rules > 0 && list.entries[i].rules[list.entries[i].n_rules - 1].n_conds > 0)
                        complain(list.entries[i].line, "%s: the last line of a call has no conditions",
                                 list.entries[i].name);
}

static void write_header(FILE *f, const struct prog *p, const char *name, const struct arch *arch) {
        unsigned allowed = 0, refused = 0, by_args = 0;

        for (unsigned i = 0; i < list.n; i++) {
                const struct entry *e = &list.entries[i];

                if (e->nr < 0)
                        continue;
                if (e->n_rules > 1)
                        by_args++;
                else if (e->rules[0].action == SECCOMP_RET_ALLOW)
                        allowed++;
                else
                        refused++;
        }
        fprintf(f, "/* Made by seccomp-gen from %s.list for %s: %u instructions. %u calls allowed, %u refused, %u by "
                   "their arguments,\n * %u do not exist here. Checked with %llu inputs. */\n",
                name, arch->name, p->n, allowed, refused, by_args, list.skipped, (unsigned long long)vectors);
        fprintf(f, "#pragma once\n\n#include <linux/filter.h>\n\nstatic const struct sock_filter seccomp_%s[] = {\n",
                name);
        for (unsigned i = 0; i < p->n; i++)
                fprintf(f, "%s{0x%02x, %u, %u, 0x%08x},%s", i % 4 ? " " : "        ", p->f[i].code, p->f[i].jt,
                        p->f[i].jf, p->f[i].k, i % 4 == 3 || i + 1 == p->n ? "\n" : "");
        fprintf(f, "};\n");
}

/* "process" of "/a/b/process.list", as a part of a C name. */
static bool list_name(const char *path, char *ret, size_t size) {
        const char *base = strrchr(path, '/'), *dot;

        base = base ? base + 1 : path;
        dot = strrchr(base, '.');
        if (!dot || strcmp(dot, ".list") != 0 || dot == base || (size_t)(dot - base) >= size)
                return false;
        for (size_t i = 0; base + i < dot; i++)
                ret[i] = base[i] == '-' ? '_' : base[i];
        ret[dot - base] = '\0';
        return true;
}

int main(int argc, char **argv) {
        static struct prog own, linear, tree;
        const char *dispatch = "ranges";
        const struct arch *arch = NULL;
        const struct prog *chosen;
        char name[64];
        FILE *in, *out;
        int i = 1;

        for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2)
                if (strcmp(argv[i], "--arch") == 0) {
                        for (size_t a = 0; a < ELEMENTSOF(archs); a++)
                                if (strcmp(archs[a].name, argv[i + 1]) == 0)
                                        arch = &archs[a];
                        if (!arch) {
                                fprintf(stderr, "seccomp-gen: no such target: %s\n", argv[i + 1]);
                                return 2;
                        }
                } else if (strcmp(argv[i], "--dispatch") == 0)
                        dispatch = argv[i + 1];
                else
                        break;
        chosen = strcmp(dispatch, "ranges") == 0 ? &own
               : strcmp(dispatch, "linear") == 0 ? &linear
               : strcmp(dispatch, "tree") == 0   ? &tree
                                                 : NULL;
        if (!arch || !chosen || argc - i != 2 || !list_name(argv[i], name, sizeof(name))) {
                fprintf(stderr, "usage: seccomp-gen --arch x86_64|aarch64 [--dispatch ranges|linear|tree] NAME.list "
                                "OUTPUT.h\n");
                return 2;
        }
        list.path = argv[i];
        in = fopen(argv[i], "re");
        if (!in) {
                fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
                return 1;
        }
        read_list(in, arch);
        fclose(in);
        if (errors == 0) {
                compile_ranges(&own, arch);
                compile_libseccomp(&linear, arch, 1);
                compile_libseccomp(&tree, arch, 2);
        }
        if (errors == 0)
                check_prog(&own, "ranges", arch, true);
        if (errors == 0)
                check_prog(&linear, "linear", arch, false);
        if (errors == 0)
                check_prog(&tree, "tree", arch, false);
        if (errors == 0 && chosen != &own && seccomp_arch_native() != arch->scmp)
                complain(0, "libseccomp's dispatch is written for the build machine only");
        if (errors > 0)
                return 1;
        out = fopen(argv[i + 1], "we");
        if (!out) {
                fprintf(stderr, "%s: %s\n", argv[i + 1], strerror(errno));
                return 1;
        }
        write_header(out, chosen, name, arch);
        if (ferror(out) || fclose(out) != 0) {
                fprintf(stderr, "%s: %s\n", argv[i + 1], strerror(errno));
                unlink(argv[i + 1]);
                return 1;
        }
        return 0;
}
