/* What a broker is told of a run's secrets: the placeholders of all of them, which are to be found where they do not belong, and
 * the value of its own. One block of bytes, written by the guard into a pipe that the broker reads once, at its start. */
#pragma once

#include "base/error.h"
#include "model/secret-sigv4.h"
#include "model/secret.h"
#include "svc/vault.h"

#define NET_SECRET_BYTES 65536u /* of a block: what a pipe holds */

/* A block as a broker has it: texts end with NUL, and lie in the block. */
struct net_secret_block {
        uint32_t identity; /* 0: it carries none */
        uint32_t n;
        struct net_secret_name {
                const char *name, *placeholder;
                size_t n_placeholder;
        } all[SECRETS_MAX]; /* identity i is all[i - 1] */
        /* Of its own: */
        enum secret_place place;
        const char *header, *before, *after, *user, *query, *body; /* "" where it has none */
        const char *value, *cover; /* cover: what stands for it in answers, of its length */
        size_t n_value;
        uint64_t uses;
        /* Of SECRET_SIGV4; [PART_SECRET] is its own, and a part that it has not is identity 0. */
        struct net_secret_part {
                uint32_t identity;
                const char *value;
                size_t n;
        } part[PART_N];
        const char *services, *regions; /* "": none are named */
        bool mint, copy;
};

/* The block for a broker of this identity, in a pipe whose reading end is returned; values[i] and placeholders[i] are those of
 * secrets[i]; cover is what stands for the broker's own value in answers (NULL: its placeholder). -E2BIG: they do not fit together. */
int net_secret_pipe(const struct secret *secrets, size_t n, const struct vault_text *values, char *const *placeholders, uint32_t identity, const char *cover) _must_check_;
/* Reads it, to the end of the pipe. ret points into *memory, which is the caller's to free. */
int net_secret_read(int fd, struct vault_text *memory, struct net_secret_block *ret, struct error *e) _must_check_;
