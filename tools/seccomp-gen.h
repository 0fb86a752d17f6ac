/* What the parts of the list compiler share: the list as read, and the program that is made of it. seccomp-gen.c reads
 * the list and writes the header, seccomp-gen-bpf.c makes programs, seccomp-gen-check.c runs them against the list. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELEMENTSOF(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_ENTRIES 600
#define MAX_NUMBER 4095                 /* of a system call; the kernels' tables end below 500 */
#define MAX_RULES 8
#define MAX_CONDS 4
#define MAX_VALUES 16
#define X32_BIT 0x40000000u           /* set in the numbers of x32 calls */

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

extern struct list list;        /* the one list of this run */
extern unsigned errors;

/* Says what is wrong with the list's line (0: with the whole), and counts it. */
void complain(unsigned line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The filter that is loaded: a binary search over ranges of numbers. */
void compile_ranges(struct prog *p, const struct arch *arch);
/* The same with libseccomp's dispatch at its optimisation level 1 (a chain) or 2 (a tree). */
void compile_libseccomp(struct prog *p, const struct arch *arch, unsigned level);
/* libseccomp takes the build machine's numbers and translates them by name: in a filter for another architecture,
 * calls that it has no name for are left out. */
bool beyond_libseccomp(const struct arch *arch, const struct entry *e);

/* Complains where the program is not valid or does not do what the list says. whole: it holds every call. */
void check_prog(const struct prog *p, const char *what, const struct arch *arch, bool whole);
extern uint64_t vectors;        /* inputs tried so far */
