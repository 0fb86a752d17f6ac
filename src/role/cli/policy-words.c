/* See policy-words.h. */
#include "role/cli/options.h"
#include "role/cli/policy-words.h"
#include "role/cli/tool.h"

void policy_words_clear(struct policy_words *w) {
        strlist_clear(&w->use);
        strlist_clear(&w->allow);
        strlist_clear(&w->deny);
        strlist_clear(&w->given);
        strlist_clear(&w->secret);
}

bool policy_words_take(struct policy_words *w, int id, const char *arg, int *ret_r, struct error *e) {
        int r = 0;

        switch (id) {
        case OPT_POLICY: w->file = arg; break;
        case OPT_USE: r = strlist_add(&w->use, arg); break;
        case OPT_ALLOW: r = strlist_add(&w->allow, arg); break;
        case OPT_DENY: r = strlist_add(&w->deny, arg); break;
        case OPT_GIVEN: r = strlist_add(&w->given, arg); break;
        case OPT_SECRET: r = strlist_add(&w->secret, arg); break;
        default: return false;
        }
        *ret_r = r < 0 ? error_set(e, ENOMEM, "out of memory") : 0;
        return true;
}

int policy_words_read(const struct policy_words *w, struct policy **ret, struct error *e) {
        _cleanup_policy_ struct policy *p = NULL;
        int r;

        if (w->file) {
                if ((r = tool_policy(w->file, &p, e)) < 0)
                        return r;
        } else if (!(p = policy_new()))
                return error_set(e, ENOMEM, "out of memory");
        for (size_t i = 0; i < w->use.n; i++)
                if ((r = policy_add_use(p, w->use.items[i], e)) < 0)
                        return r;
        for (size_t i = 0; i < w->allow.n; i++)
                if ((r = policy_add_allow(p, w->allow.items[i], e)) < 0)
                        return r;
        for (size_t i = 0; i < w->deny.n; i++)
                if ((r = policy_add_deny(p, w->deny.items[i], e)) < 0)
                        return r;
        for (size_t i = 0; i < w->given.n; i++)
                if ((r = policy_add_given(p, w->given.items[i], e)) < 0)
                        return r;
        for (size_t i = 0; i < w->secret.n; i++)
                if ((r = tool_secret(p, w->secret.items[i], e)) < 0)
                        return r;
        *ret = TAKE_PTR(p);
        return 0;
}
