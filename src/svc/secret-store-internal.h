/* Between the parts of the store. */
#pragma once

#include "svc/secret-store.h"

/* Argon2id's cost, of a new store and what is believed of a file: it is read before anything is known to be right. */
#define STORE_OPS 3u
#define STORE_KIB (256u * 1024)
#define STORE_OPS_MIN 1u
#define STORE_OPS_MAX 16u
#define STORE_KIB_MIN (8u * 1024)
#define STORE_KIB_MAX (1024u * 1024)

/* The file's line on its key, which is bound to its check; NULL when memory is out. */
char *store_key_line(const struct secret_store *s);
