/* Part of the build tool seccomp-gen: proves a program valid by the kernel's rules, runs it as the kernel does, and
 * compares it with a direct reading of the list, which shares no code with what made the program. */
#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <stdio.h>
#include <string.h>

#include "seccomp-gen.h"

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

uint64_t vectors;

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

void check_prog(const struct prog *p, const char *what, const struct arch *arch, bool whole) {
        static const uint32_t far[] = {4094, 4095, 4096, 0x3fffffff, 0x40000000, 0x40000001, 0x40000027, 0x40000208, 0x7fffffff,
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

                        if (whole || !left_out(arch, (uint32_t)d.nr))
                                agree(p, what, arch, &d);
                }
        for (unsigned i = 0; i < list.n && errors == 0; i++)
                if (list.entries[i].nr >= 0 && (whole || !beyond_libseccomp(arch, &list.entries[i])))
                        check_entry(p, what, arch, &list.entries[i]);
}
