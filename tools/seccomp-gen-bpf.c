/* Part of the build tool seccomp-gen: makes BPF programs of a list that has been read and found right. */
#include <errno.h>
#include <linux/bpf_common.h>
#include <stdio.h>
#include <string.h>

#include "seccomp-gen.h"

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

static bool is_jump(const struct sock_filter *f) {
        return BPF_CLASS(f->code) == BPF_JMP && BPF_OP(f->code) != BPF_JA;
}

/* Of equal returns that a jump at `from` can reach, the last. */
static uint8_t last_return(const struct prog *p, unsigned from, uint8_t offset) {
        unsigned target = from + 1 + offset;

        if (p->f[target].code != (BPF_RET | BPF_K))
                return offset;
        for (unsigned at = from + 1 + UINT8_MAX; at > target; at--)
                if (at < p->n && p->f[at].code == (BPF_RET | BPF_K) && p->f[at].k == p->f[target].k)
                        return (uint8_t)(at - from - 1);
        return offset;
}

/* Takes out what no jump reaches any more. Distances only shrink, so they still fit. */
static void drop_unreached(struct prog *p) {
        static bool reached[BPF_MAXINSNS];
        static unsigned place[BPF_MAXINSNS];
        unsigned n = 0;

        memset(reached, 0, sizeof(reached));
        reached[0] = true;
        for (unsigned i = 0; i < p->n; i++) {
                const struct sock_filter *f = &p->f[i];

                place[i] = n;
                if (!reached[i])
                        continue;
                n++;
                if (is_jump(f))
                        reached[i + 1 + f->jt] = reached[i + 1 + f->jf] = true;
                else if (BPF_CLASS(f->code) == BPF_JMP)
                        reached[i + 1 + f->k] = true;
                else if (BPF_CLASS(f->code) != BPF_RET)
                        reached[i + 1] = true;
        }
        for (unsigned i = 0; i < p->n; i++) {
                struct sock_filter f = p->f[i];

                if (!reached[i])
                        continue;
                if (is_jump(&f)) {
                        f.jt = (uint8_t)(place[i + 1 + f.jt] - place[i] - 1);
                        f.jf = (uint8_t)(place[i + 1 + f.jf] - place[i] - 1);
                } else if (BPF_CLASS(f.code) == BPF_JMP)
                        f.k = place[i + 1 + f.k] - place[i] - 1;
                p->f[place[i]] = f;
        }
        p->n = n;
}

/* The search ends in hundreds of returns of few kinds: jumps share the last one that they can reach, and each round
 * brings more of them within reach. */
static void share_returns(struct prog *p) {
        unsigned before;

        if (p->overflow)
                return;
        do {
                before = p->n;
                for (unsigned i = 0; i < p->n; i++)
                        if (is_jump(&p->f[i])) {
                                p->f[i].jt = last_return(p, i, p->f[i].jt);
                                p->f[i].jf = last_return(p, i, p->f[i].jf);
                        }
                drop_unreached(p);
        } while (p->n < before);
}

void compile_ranges(struct prog *p, const struct arch *arch) {
        static const struct entry *by_number[MAX_NUMBER + 1];
        static struct range ranges[2 * MAX_ENTRIES + 3];
        unsigned n_ranges = 0;

        for (unsigned i = 0; i < list.n; i++)
                if (list.entries[i].nr >= 0)
                        by_number[list.entries[i].nr] = &list.entries[i];
        for (uint32_t nr = 0; nr <= MAX_NUMBER; nr++) {
                const struct entry *e = by_number[nr];

                if (e)
                        range_add(ranges, &n_ranges, nr, e->rules[0].action, e->n_rules > 1 ? e : NULL);
                else
                        range_add(ranges, &n_ranges, nr, list.unknown, NULL);
        }
        range_add(ranges, &n_ranges, MAX_NUMBER + 1, list.unknown, NULL);
        if (arch->x32) {
                range_add(ranges, &n_ranges, X32_BIT, list.foreign, NULL);
                range_add(ranges, &n_ranges, UINT32_MAX, list.unknown, NULL);
        }
        emit_load(p, offsetof(struct seccomp_data, arch));
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, arch->audit);
        emit_ret(p, list.foreign);
        emit_load(p, offsetof(struct seccomp_data, nr));
        emit_search(p, ranges, n_ranges);
        share_returns(p);
}

bool beyond_libseccomp(const struct arch *arch, const struct entry *e) {
        return e->unnamed && seccomp_arch_native() != arch->scmp;
}

/* The same filter with libseccomp's dispatch; its level 1 tests one number after the other, 2 makes a tree. Calls
 * with conditions get a TRACE action as a mark, which is then replaced by a jump to their code at the end. */
void compile_libseccomp(struct prog *p, const struct arch *arch, unsigned level) {
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
                int nr;

                if (e->nr < 0 || action == list.unknown || beyond_libseccomp(arch, e))
                        continue;
                nr = e->unnamed ? e->nr : seccomp_syscall_resolve_name(e->name);
                r = seccomp_rule_add_exact_array(ctx, action, nr, 0, NULL);
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
