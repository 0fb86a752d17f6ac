/* What rang in a run and what stops it, for `belljar inspect`; see inspect-stop.h. */
#include <stdio.h>

#include "base/str.h"
#include "role/cli/inspect-stop.h"

json_t *inspect_stop(const struct state *s, bool alive) {
        json_t *j = NULL;

        if (state_read(s, "stop.json", &j) < 0)
                return json_null();
        json_object_del(j, "id");
        if (!alive) { /* what was is in the record of its end */
                json_object_set_new(j, "paused", json_false());
                json_object_set_new(j, "holds", json_array());
        }
        return j;
}

static const char *text(const json_t *j, const char *key) {
        const char *t = json_string_value(json_object_get(j, key));
        return t ? t : "?";
}

void inspect_stop_print(const json_t *plan, const json_t *stop) {
        const json_t *wires = json_object_get(plan, "tripwires"), *w;
        size_t i;

        printf("\ntripwires\n");
        json_array_foreach(wires, i, w) {
                char within[32];
                printf("     %-12s at %lld%s within %s: %s%s\n", text(w, "on"), (long long)json_integer_value(json_object_get(w, "count")),
                       json_is_true(json_object_get(w, "distinct")) ? " different" : "",
                       format_duration(within, sizeof(within), (uint64_t)json_integer_value(json_object_get(w, "within"))), text(w, "do"),
                       json_is_true(json_object_get(w, "default")) ? " (default)" : "");
        }
        if (json_array_size(wires) == 0)
                printf("     none\n");
        json_array_foreach(json_object_get(stop, "alarms"), i, w) {
                _cleanup_free_ char *why = str_visible_dup(text(w, "why"));
                printf("     ALARM: %s; done: %s\n", why ? why : "?", text(w, "do"));
        }
        if (json_is_true(json_object_get(stop, "cut")))
                printf("     CUT: no network and no credentials any more\n");
        json_array_foreach(json_object_get(stop, "holds"), i, w)
                printf("     HELD: belljar release --hold %s\n", json_string_value(w) ? json_string_value(w) : "?");
        if (json_is_true(json_object_get(stop, "paused")))
                printf("     frozen\n");
}
