/* Build tool: compiles a list of system calls (src/seccomp/NAME.list) into a C header with a seccomp filter in plain
 * BPF, so that the programs that load it need no library. Runs on the build machine, for any supported target.
 *
 *      seccomp-gen --arch x86_64|aarch64 [--dispatch ranges|linear|tree] NAME.list OUTPUT.h
 *
 * The list, one system call a line, '#' begins a comment:
 *
 *      unknown ERRNO                   what a call answers that the list does not name
 *      foreign ERRNO                   what 32-bit entry and x32 numbers answer
 *      allow CALL [CONDITION...]
 *      refuse CALL [CONDITION...] [-> ERRNO]           (EPERM where none is named)
 *
 * Lines of one call stand together and are tried in order; all conditions of a line must hold, and the last line of
 * a call has none. CONDITION is ARG=V,V or ARG!=V,V or ARG&MASK=V,V. ARG is int0..int5, the low 32 bits of the
 * argument, which is all that the kernel takes where the parameter is an int, or ptr0..ptr5, all 64 bits. A value is
 * a number or a constant of <linux/...>, joined by '|'. A call that libseccomp is too old to know is written
 * CALL@x86_64=N,aarch64=N.
 *
 * libseccomp knows the numbers. It cannot say "one of these, else that errno" (one comparison an argument and rule,
 * one default for all calls), so the conditions are compiled here; and the dispatch by number is a binary search over
 * ranges of equal answers, several times shorter than libseccomp's, which counts because the kernel translates and
 * dry-runs the whole filter at every start. libseccomp's own filter is still built from the same list and both are
 * run, in a model of the kernel's interpreter, against a direct reading of the list: any difference fails the build. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

#define ELEMENTSOF(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_ENTRIES 600
#define MAX_RULES 8
#define MAX_CONDS 4
#define MAX_VALUES 16
#define X32_BIT 0x40000000u

struct cond {
        unsigned arg;
        bool wide;              /* ptrN: compare 64 bits */
        bool negate;
        bool masked;
        uint32_t mask;
        uint64_t values[MAX_VALUES];
        unsigned n_values;
};

struct rule {
        uint32_t action;        /* SECCOMP_RET_* with its data */
        struct cond conds[MAX_CONDS];
        unsigned n_conds;
};

struct entry {
        char name[48];
        int nr;                 /* on the target; -1: does not exist there */
        bool unnamed;           /* libseccomp does not know the name; the list gives the number */
        unsigned line;
        struct rule rules[MAX_RULES];
        unsigned n_rules;
};

struct list {
        const char *path;
        uint32_t unknown, foreign;      /* actions; 0 (which is KILL_THREAD): not set */
        struct entry entries[MAX_ENTRIES];
        unsigned n;
        unsigned skipped;
};

struct prog {
        struct sock_filter f[BPF_MAXINSNS];
        unsigned n;
        bool overflow;
};

struct arch {
        const char *name;
        uint32_t audit, scmp;
        bool x32;
};

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
        C(S_IFMT), C(S_IFREG), C(S_IFIFO), C(S_IFSOCK),
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
};

static struct list list;
static unsigned errors;

static void complain(unsigned line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void complain(unsigned line, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        fprintf(stderr, "%s:%u: ", list.path, line);
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
        va_end(ap);
        errors++;
}

static uint32_t errno_action(int e) { return SECCOMP_RET_ERRNO | ((uint32_t)e & SECCOMP_RET_DATA); }

/* ---- reading the list ---- */

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
                if (!eq || !found || !parse_number(eq + 1, &v) || v >= 4096) {
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

static void read_list(FILE *f, const struct arch *arch) {
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
                } else if (strcmp(word, "unknown") == 0 || strcmp(word, "foreign") == 0) {
                        uint32_t *action = *word == 'u' ? &list.unknown : &list.foreign;

                        if (*action)
                                complain(line, "%s is said twice", word);
                        parse_errno(line, strtok_r(NULL, " \t\n", &save), action);
                        if (strtok_r(NULL, " \t\n", &save))
                                complain(line, "nothing may follow the errno");
                } else
                        complain(line, "%s: a line begins with allow, refuse, unknown or foreign", word);
        }
        if (!list.unknown || !list.foreign)
                complain(line, "the list does not say what `unknown` and `foreign` calls answer");
        for (unsigned i = 0; i < list.n; i++)
                if (list.entries[i].n_rules > 0 && list.entries[i].rules[list.entries[i].n_rules - 1].n_conds > 0)
                        complain(list.entries[i].line, "%s: the last line of a call has no conditions",
                                 list.entries[i].name);
}

/* ---- the list, read directly: what the filters are measured against ---- */

static bool cond_holds(const struct cond *c, const struct seccomp_data *d) {
        uint64_t v = d->args[c->arg];
        bool in = false;

        if (!c->wide)
                v = (uint32_t)v;
        if (c->masked)
                v &= c->mask;
        for (unsigned i = 0; i < c->n_values; i++)
                in = in || v == c->values[i];
        return in != c->negate;
}

static uint32_t list_decides(const struct arch *arch, const struct seccomp_data *d) {
        uint32_t nr = (uint32_t)d->nr;

        /* -1 is what a tracer writes to have a call skipped; it is not x32. */
        if (d->arch != arch->audit || (arch->x32 && nr >= X32_BIT && nr != UINT32_MAX))
                return list.foreign;
        for (unsigned i = 0; i < list.n; i++) {
                const struct entry *e = &list.entries[i];

                if (e->nr < 0 || (uint32_t)e->nr != nr)
                        continue;
                for (unsigned j = 0; j < e->n_rules; j++) {
                        bool all = true;

                        for (unsigned k = 0; k < e->rules[j].n_conds; k++)
                                all = all && cond_holds(&e->rules[j].conds[k], d);
                        if (all)
                                return e->rules[j].action;
                }
        }
        return list.unknown;
}

/* ---- writing BPF ---- */

static void emit(struct prog *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k) {
        if (p->n == BPF_MAXINSNS) {
                p->overflow = true;
                return;
        }
        p->f[p->n++] = (struct sock_filter){code, jt, jf, k};
}

static void emit_load(struct prog *p, size_t offset) { emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset); }
static void emit_ret(struct prog *p, uint32_t action) { emit(p, BPF_RET | BPF_K, 0, 0, action); }

/* Both targets are little-endian: the low half of an argument comes first. */
static size_t arg_low(unsigned arg) { return offsetof(struct seccomp_data, args) + 8 * arg; }

/* Falls through where the condition holds; otherwise jumps to a place that is not known yet: the instructions to be
 * patched are told apart by BPF_MISS in the jump that is open. Rules are short, so 8 bits are enough for it. */
#define BPF_MISS 255

static void emit_cond(struct prog *p, const struct cond *c) {
        if (c->wide) {
                /* One value: high half, then low half. With negate, a difference in either half is a match. */
                emit_load(p, arg_low(c->arg) + 4);
                emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, c->negate ? 2 : BPF_MISS, (uint32_t)(c->values[0] >> 32));
                emit_load(p, arg_low(c->arg));
                emit(p, BPF_JMP | BPF_JEQ | BPF_K, c->negate ? BPF_MISS : 0, c->negate ? 0 : BPF_MISS,
                     (uint32_t)c->values[0]);
                return;
        }
        emit_load(p, arg_low(c->arg));
        if (c->masked)
                emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, c->mask);
        for (unsigned i = 0; i < c->n_values; i++) {
                bool last = i + 1 == c->n_values;

                emit(p, BPF_JMP | BPF_JEQ | BPF_K, c->negate ? BPF_MISS : (uint8_t)(c->n_values - 1 - i),
                     !c->negate && last ? BPF_MISS : 0, (uint32_t)c->values[i]);
        }
}

static void emit_rules(struct prog *p, const struct entry *e) {
        for (unsigned i = 0; i < e->n_rules; i++) {
                unsigned start = p->n;

                for (unsigned j = 0; j < e->rules[i].n_conds; j++)
                        emit_cond(p, &e->rules[i].conds[j]);
                emit_ret(p, e->rules[i].action);
                for (unsigned at = start; at < p->n; at++) {
                        uint8_t to_next = (uint8_t)(p->n - at - 1);

                        if (BPF_CLASS(p->f[at].code) != BPF_JMP)
                                continue;
                        if (p->f[at].jt == BPF_MISS)
                                p->f[at].jt = to_next;
                        if (p->f[at].jf == BPF_MISS)
                                p->f[at].jf = to_next;
                }
        }
}

/* A run of numbers with the same answer: `entry` where arguments decide, else `action`. */
struct range {
        uint32_t first;
        uint32_t action;
        const struct entry *entry;
};

static void range_add(struct range *r, unsigned *n, uint32_t first, uint32_t action, const struct entry *entry) {
        if (*n > 0 && !entry && !r[*n - 1].entry && r[*n - 1].action == action)
                return;
        r[(*n)++] = (struct range){first, action, entry};
}

static int by_number(const void *a, const void *b) {
        const struct entry *const *x = a, *const *y = b;
        return ((*x)->nr > (*y)->nr) - ((*x)->nr < (*y)->nr);
}

static void emit_search(struct prog *p, const struct range *r, unsigned n) {
        unsigned half = n / 2, jump = p->n, left;

        if (n == 1) {
                if (r->entry)
                        emit_rules(p, r->entry);
                else
                        emit_ret(p, r->action);
                return;
        }
        emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 0, r[half].first);
        emit_search(p, r, half);
        left = p->n - jump - 1;
        if (left <= UINT8_MAX) {
                p->f[jump].jt = (uint8_t)left;
        } else {
                /* Too far for 8 bits: a long jump goes before the left half, whose own jumps are relative. */
                emit(p, 0, 0, 0, 0);
                if (p->overflow)
                        return;
                memmove(&p->f[jump + 2], &p->f[jump + 1], left * sizeof(p->f[0]));
                p->f[jump].jf = 1;
                p->f[jump + 1] = (struct sock_filter){BPF_JMP | BPF_JA, 0, 0, left};
        }
        emit_search(p, r + half, n - half);
}

static void compile_ranges(struct prog *p, const struct arch *arch) {
        static const struct entry *sorted[MAX_ENTRIES];
        static struct range ranges[2 * MAX_ENTRIES + 3];
        unsigned n = 0, n_ranges = 0;
        uint32_t next = 0;

        for (unsigned i = 0; i < list.n; i++)
                if (list.entries[i].nr >= 0)
                        sorted[n++] = &list.entries[i];
        qsort(sorted, n, sizeof(sorted[0]), by_number);
        for (unsigned i = 0; i < n; i++) {
                const struct entry *e = sorted[i];

                if ((uint32_t)e->nr > next)
                        range_add(ranges, &n_ranges, next, list.unknown, NULL);
                range_add(ranges, &n_ranges, (uint32_t)e->nr, e->rules[0].action, e->n_rules > 1 ? e : NULL);
                next = (uint32_t)e->nr + 1;
        }
        range_add(ranges, &n_ranges, next, list.unknown, NULL);
        if (arch->x32) {
                range_add(ranges, &n_ranges, X32_BIT, list.foreign, NULL);
                range_add(ranges, &n_ranges, UINT32_MAX, list.unknown, NULL);
        }
        emit_load(p, offsetof(struct seccomp_data, arch));
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, arch->audit);
        emit_ret(p, list.foreign);
        emit_load(p, offsetof(struct seccomp_data, nr));
        emit_search(p, ranges, n_ranges);
}

/* libseccomp takes the build machine's numbers and translates them by name, so in a filter for another architecture
 * calls that it has no name for are left out. */
static bool beyond_libseccomp(const struct arch *arch, const struct entry *e) {
        return e->unnamed && seccomp_arch_native() != arch->scmp;
}

/* The same filter with libseccomp's dispatch; its level 1 tests one number after the other, 2 makes a tree. Calls
 * with conditions get a TRACE action as a mark, which is then replaced by a jump to their code at the end. */
static void compile_libseccomp(struct prog *p, const struct arch *arch, unsigned level) {
        scmp_filter_ctx ctx = seccomp_init(list.unknown);
        FILE *f = tmpfile();
        unsigned dispatch;
        int r = ctx && f ? 0 : -ENOMEM;

        if (r == 0)
                r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, list.foreign);
        if (r == 0)
                r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, level);
        if (r == 0 && seccomp_arch_native() != arch->scmp) {
                r = seccomp_arch_add(ctx, arch->scmp);
                if (r == 0)
                        r = seccomp_arch_remove(ctx, seccomp_arch_native());
        }
        for (unsigned i = 0; r == 0 && i < list.n; i++) {
                const struct entry *e = &list.entries[i];
                uint32_t action = e->n_rules > 1 ? SCMP_ACT_TRACE(i) : e->rules[0].action;

                if (e->nr < 0 || action == list.unknown || beyond_libseccomp(arch, e))
                        continue;
                r = seccomp_rule_add_exact_array(ctx, action, e->unnamed ? e->nr : seccomp_syscall_resolve_name(e->name),
                                                 0, NULL);
                if (r < 0) {
                        complain(e->line, "libseccomp does not take %s: %s", e->name, strerror(-r));
                        r = 0;
                }
        }
        if (r == 0)
                r = seccomp_export_bpf(ctx, fileno(f));
        if (r == 0) {
                rewind(f);
                p->n = (unsigned)fread(p->f, sizeof(p->f[0]), BPF_MAXINSNS, f);
                p->overflow = p->n == BPF_MAXINSNS;
        }
        dispatch = p->n;
        for (unsigned i = 0; r == 0 && i < list.n; i++) {
                unsigned start = p->n;

                if (list.entries[i].nr < 0 || list.entries[i].n_rules < 2)
                        continue;
                emit_rules(p, &list.entries[i]);
                for (unsigned at = 0; at < dispatch; at++)
                        if (p->f[at].code == (BPF_RET | BPF_K) && p->f[at].k == SCMP_ACT_TRACE(i))
                                p->f[at] = (struct sock_filter){BPF_JMP | BPF_JA, 0, 0, start - at - 1};
        }
        if (r < 0)
                complain(0, "libseccomp: %s", strerror(-r));
        if (f)
                fclose(f);
        if (ctx)
                seccomp_release(ctx);
}

/* ---- checking BPF ---- */

/* The rules of the kernel's seccomp_check_filter(), for the instructions that are used here. */
static bool prog_valid(const struct prog *p, const char **ret_why) {
        if (p->overflow || p->n == 0 || p->n >= BPF_MAXINSNS) {
                *ret_why = "empty, or not under 4096 instructions";
                return false;
        }
        for (unsigned i = 0; i < p->n; i++) {
                const struct sock_filter *f = &p->f[i];
                bool ok;

                switch (f->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        ok = f->k % 4 == 0 && f->k < sizeof(struct seccomp_data);
                        break;
                case BPF_RET | BPF_K:
                        ok = f->k == SECCOMP_RET_ALLOW || (f->k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        ok = true;
                        break;
                case BPF_JMP | BPF_JA:
                        ok = f->k < p->n - i - 1;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                case BPF_JMP | BPF_JGE | BPF_K:
                case BPF_JMP | BPF_JGT | BPF_K:
                case BPF_JMP | BPF_JSET | BPF_K:
                        ok = i + f->jt + 1u < p->n && i + f->jf + 1u < p->n;
                        break;
                default:
                        ok = false;
                }
                if (!ok) {
                        *ret_why = "an instruction is not valid";
                        return false;
                }
        }
        if (BPF_CLASS(p->f[p->n - 1].code) != BPF_RET) {
                *ret_why = "the last instruction does not return";
                return false;
        }
        return true;
}

/* Runs a valid program as the kernel does. */
static uint32_t prog_run(const struct prog *p, const struct seccomp_data *d) {
        uint32_t a = 0;

        for (unsigned pc = 0;; pc++) {
                const struct sock_filter *f = &p->f[pc];
                bool taken = false;

                switch (f->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        memcpy(&a, (const char *)d + f->k, sizeof(a));
                        continue;
                case BPF_RET | BPF_K:
                        return f->k;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= f->k;
                        continue;
                case BPF_JMP | BPF_JA:
                        pc += f->k;
                        continue;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        taken = a == f->k;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        taken = a >= f->k;
                        break;
                case BPF_JMP | BPF_JGT | BPF_K:
                        taken = a > f->k;
                        break;
                case BPF_JMP | BPF_JSET | BPF_K:
                        taken = (a & f->k) != 0;
                        break;
                }
                pc += taken ? f->jt : f->jf;
        }
}

static uint64_t vectors;

static bool agree(const struct prog *p, const char *what, const struct arch *arch, const struct seccomp_data *d) {
        uint32_t want = list_decides(arch, d), got = prog_run(p, d);

        vectors++;
        if (want == got)
                return true;
        fprintf(stderr, "%s: %s filter for %s answers %#x, the list says %#x: arch %#x nr %d args %#llx %#llx %#llx\n",
                list.path, what, arch->name, got, want, d->arch, d->nr, (unsigned long long)d->args[0],
                (unsigned long long)d->args[1], (unsigned long long)d->args[2]);
        errors++;
        return false;
}

/* The values of one argument that tell rules apart: around each value that a condition names, each bit of its mask,
 * and the same with garbage in the high half. */
static unsigned interesting(const struct entry *e, unsigned arg, uint64_t *ret, unsigned max) {
        unsigned n = 0;
#define PUT(v)                                                                                 \
        do {                                                                                   \
                if (n < max)                                                                   \
                        ret[n++] = (v);                                                        \
        } while (0)
        PUT(0);
        for (unsigned i = 0; i < e->n_rules; i++)
                for (unsigned j = 0; j < e->rules[i].n_conds; j++) {
                        const struct cond *c = &e->rules[i].conds[j];

                        if (c->arg != arg)
                                continue;
                        PUT(UINT64_MAX);
                        PUT(UINT32_MAX);
                        for (unsigned k = 0; k < c->n_values; k++) {
                                PUT(c->values[k]);
                                PUT(c->values[k] | 1ull << 32);
                                PUT(c->values[k] | 0xffffffffull << 32);
                                PUT(c->values[k] + 1);
                                PUT(c->values[k] - 1);
                                if (c->masked)
                                        PUT(c->values[k] | (uint32_t)~c->mask);
                        }
                        for (unsigned b = 0; c->masked && b < 32; b++)
                                PUT(1ull << b);
                }
#undef PUT
        return n;
}

static void check_entry(const struct prog *p, const char *what, const struct arch *arch, const struct entry *e) {
        uint64_t v[6][128];
        unsigned n[6], at[6] = {0};

        for (unsigned i = 0; i < 6; i++)
                n[i] = interesting(e, i, v[i], 128);
        for (;;) {
                struct seccomp_data d = {.nr = e->nr, .arch = arch->audit};
                unsigned i = 0;

                for (unsigned j = 0; j < 6; j++)
                        d.args[j] = v[j][at[j]];
                if (!agree(p, what, arch, &d))
                        return;
                while (i < 6 && ++at[i] == n[i])
                        at[i++] = 0;
                if (i == 6)
                        return;
        }
}

static bool left_out(const struct arch *arch, uint32_t nr) {
        for (unsigned i = 0; i < list.n; i++)
                if ((uint32_t)list.entries[i].nr == nr && beyond_libseccomp(arch, &list.entries[i]))
                        return true;
        return false;
}

/* whole: the program holds every call of the list. */
static void check_prog(const struct prog *p, const char *what, const struct arch *arch, bool whole) {
        static const uint32_t far[] = {4095, 0x3fffffff, 0x40000000, 0x40000001, 0x40000027, 0x40000208, 0x7fffffff,
                                       0x80000000, 0xfffffffe, 0xffffffff};
        static const uint32_t other[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64, 0};
        const char *why;

        if (!prog_valid(p, &why)) {
                fprintf(stderr, "%s: %s filter for %s: %s\n", list.path, what, arch->name, why);
                errors++;
                return;
        }
        for (uint32_t nr = 0; nr < 1024 + ELEMENTSOF(far) && errors == 0; nr++)
                for (size_t i = 0; i < ELEMENTSOF(other) && errors == 0; i++) {
                        struct seccomp_data d = {.nr = (int)(nr < 1024 ? nr : far[nr - 1024]), .arch = other[i]};

                        if (whole || !left_out(arch, nr))
                                agree(p, what, arch, &d);
                }
        for (unsigned i = 0; i < list.n && errors == 0; i++)
                if (list.entries[i].nr >= 0 && (whole || !beyond_libseccomp(arch, &list.entries[i])))
                        check_entry(p, what, arch, &list.entries[i]);
}

/* ---- the header ---- */

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
