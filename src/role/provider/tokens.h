/* Memory of minted tokens (tokens.c): made before the cage. */
#pragma once

#include "base/error.h"

int tokens_init(struct error *e) _must_check_;
