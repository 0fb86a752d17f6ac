/* What a run may delegate from inside, as a part of its plan (delegates.c reads it, call-delegate.c serves it). */
#include "role/cli/prepare.h"

int prepare_delegates(const struct run_options *o, struct prepared *x, struct error *e) {
        struct plan *p = x->plan;

        p->delegates = o->delegates;
        p->n_delegates = o->n_delegates;
        int r = o->n_delegates ? strlist_add(&p->calls, "delegate") : 0;
        return r < 0 ? error_errno(e, r, "the calls of the run cannot be planned") : 0;
}
