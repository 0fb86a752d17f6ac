/* Names to addresses: the host's servers and its hosts file, both read before the cage. One in a process. */
#pragma once

#include "svc/dial.h"

int resolver_init(struct loop *l) _must_check_;
/* Answers by dial_resolved, at once or later. */
void resolver_ask(struct dial *d);
/* ms until the next timeout; -1: none. */
int resolver_tick(void);
