/* Asking a person at the terminal for what nobody should see. */
#pragma once

#include "svc/vault.h"

/* Prompts on /dev/tty, whatever stdin and stdout are, and reads a line of at most max bytes that is not echoed, into a vault.
 * -ENOTTY where there is no terminal, -ECANCELED at its end (Ctrl-D), -EFBIG. A signal that ends this process ends it with the
 * terminal as it was. */
int ask_hidden(const char *prompt, size_t max, struct vault_text *ret, struct error *e) _must_check_;
