/* The compiled policy as gate and broker hold it: a sealed memfd, mapped. */
#pragma once

#include "model/table.h"

/* A memfd with a copy of the block, sealed: nobody can change it any more. */
int net_table_seal(const void *data, size_t size) _must_check_;
/* Maps and checks it; the fd may be closed afterwards. What *t held before is unmapped. On failure *t is as it was. */
int net_table_map(int fd, struct table *t) _must_check_;
