/* Whether a request of the child's goes where the parent sends it, and may ask no model that the parent's may not; see contain.h. */
#include <stdio.h>

#include "model/contain-internal.h"

static const char *destination(const struct table *t, const struct verdict *v) {
        struct table_route route;
        return table_route(t, v->route, &route) ? route.to : NULL;
}

static bool same_text(const char *a, const char *b) { return a && b ? streq(a, b) : !a && !b; }

/* The pattern, as it stands, is one of those of a rule that matches. */
static bool has_model(const struct table *t, const struct verdict *v, const char *pattern) {
        const char *m;

        for (size_t i = 0; i < v->n_matched; i++)
                for (size_t k = 0; (m = table_model(t, v->matched[i], k)); k++)
                        if (streq(m, pattern))
                                return true;
        return false;
}

/* Some rule that matches says nothing of models. */
static bool has_any(const struct table *t, const struct verdict *v) {
        for (size_t i = 0; i < v->n_matched; i++)
                if (!table_model(t, v->matched[i], 0))
                        return true;
        return false;
}

/* Patterns are held against each other as texts: one that is narrower, and is another text, counts as another. Where rules with and
 * without models match the same request, what the second decision leaves is not followed up. */
static bool compare_models(struct contain *c, const struct verdict *vp, const struct verdict *vc) {
        const struct table *tp = c->t[PARENT], *tc = c->t[CHILD];
        const char *m = NULL;

        if (!vp->models)
                return true;
        bool within = vp->models && vc->models && !has_any(tp, vp) && !has_any(tc, vc) && vc->n_matched < TABLE_MATCHED_MAX && vp->n_matched < TABLE_MATCHED_MAX;
        for (size_t i = 0; i < vc->n_matched && within; i++)
                for (size_t k = 0; within && (m = table_model(tc, vc->matched[i], k)); k++)
                        within = has_model(tp, vp, m);
        if (within)
                return true;
        snprintf(c->ret->difference, sizeof(c->ret->difference), "for the model %.100s, which is not one of the parent's patterns", m ? m : "of any name");
        return contain_no(c, CONTAIN_MODEL, vp, vc);
}

bool contain_routes(struct contain *c, const struct verdict *vp, const struct verdict *vc) {
        const char *own = destination(c->t[CHILD], vc), *theirs = destination(c->t[PARENT], vp);

        if (!same_text(own, theirs)) {
                snprintf(c->ret->difference, sizeof(c->ret->difference), "to %.60s in the child, to %.60s in the parent", own ? own : "the host itself", theirs ? theirs : "the host itself");
                return contain_no(c, CONTAIN_DESTINATION, vp, vc);
        }
        return compare_models(c, vp, vc);
}
