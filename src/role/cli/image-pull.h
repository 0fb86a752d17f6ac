/* The options of `belljar image pull`, and what it shows while it waits. */
#pragma once

#include "svc/image-import.h"

/* -EINVAL; the ids are those of enum option_id. */
int image_pull_option(int id, const char *arg, struct import_options *import, struct pull_options *pull, struct error *e)
        _must_check_;
/* Shows how far it is, where standard error is a terminal; without a call of it nothing is shown. */
void image_pull_show(struct pull_options *pull);
/* Takes what is shown away. */
void image_pull_shown(void);
