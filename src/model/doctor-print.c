/* What doctor prints: a table for people, JSON for programs; see doctor.h. */
#include <jansson.h>
#include <stdio.h>

#include "model/doctor.h"

#define GREEN "32"
#define YELLOW "33"
#define RED "31"
#define BOLD "1"
#define DIM "2"

/* Padded to `width` columns, the colour around the word only. */
static void word(struct strbuf *b, bool colour, const char *code, int width, const char *s) {
        int pad = width - (int)strlen(s);
        if (colour)
                strbuf_printf(b, "\x1b[%sm%s\x1b[0m", code, s);
        else
                strbuf_puts(b, s);
        if (pad > 0)
                strbuf_printf(b, "%*s", pad, "");
}

/* Facts hold names that others chose (paths, users): shown so that they cannot steer the terminal, and cut. */
static void plain(struct strbuf *b, const char *s, size_t max) {
        char shown[1024];
        str_visible(shown, MIN(sizeof(shown), max + 1), s);
        strbuf_puts(b, shown);
}

static const char *tier_words(enum doctor_tier_state s) {
        static const char *const words[] = {"ready", "ready with substitutes", "not possible", "not in this version"};
        return words[s];
}

static void print_tiers(struct strbuf *b, const struct doctor_report *r, bool colour) {
        static const char *const codes[] = {GREEN, YELLOW, RED, DIM};
        for (size_t i = 0; i < DOCTOR_TIERS; i++) {
                const struct doctor_tier *t = &r->tiers[i];
                word(b, colour, BOLD, 11, tier_name(t->tier));
                word(b, colour, codes[t->state], t->detail[0] ? 24 : 0, tier_words(t->state));
                plain(b, t->detail, 65);
                strbuf_puts(b, "\n");
        }
}

static void print_controls(struct strbuf *b, const struct doctor_report *r, bool colour) {
        static const char *const codes[] = {GREEN, YELLOW, RED, DIM};
        for (size_t i = 0; i < CONTROL_N; i++) {
                const struct doctor_finding *x = &r->findings[i];
                bool lost = x->state == DOCTOR_SUBSTITUTE || x->state == DOCTOR_NO;
                char fix[16] = "";
                if (x->fix >= 0)
                        snprintf(fix, sizeof(fix), "fix %d", x->fix + 1);
                strbuf_printf(b, "%-22s", x->control->name);
                word(b, colour, codes[x->state], lost || x->detail[0] ? 12 : 0, doctor_state_name(x->state));
                if (lost && fix[0])
                        strbuf_printf(b, "lost: %-53s %s", x->control->loss, fix);
                else if (lost)
                        strbuf_printf(b, "lost: %s", x->control->loss);
                else
                        plain(b, x->detail, 66);
                if (x->state == DOCTOR_SUBSTITUTE && x->control->substitute)
                        strbuf_printf(b, "\n%34sinstead: %s", "", x->control->substitute);
                strbuf_puts(b, "\n");
        }
}

/* The controls that a fix serves; for a fix of a tier only, that tier's name. */
static void print_served(struct strbuf *b, const struct doctor_report *r, int fix) {
        size_t n = 0, k = 0;
        for (size_t i = 0; i < CONTROL_N; i++)
                n += r->findings[i].fix == fix;
        for (size_t i = 0; i < CONTROL_N; i++) {
                if (r->findings[i].fix != fix)
                        continue;
                if (k == 3 && n > 4) {
                        strbuf_printf(b, " and %zu more", n - k);
                        break;
                }
                strbuf_printf(b, "%s%s", k++ ? ", " : "for ", r->findings[i].control->name);
        }
        for (size_t i = 0; i < DOCTOR_TIERS && n == 0; i++)
                for (size_t j = 0; j < ELEMENTSOF(r->tiers[i].fixes); j++)
                        if (r->tiers[i].fixes[j] == fix)
                                strbuf_printf(b, "%s%s", k++ ? ", " : "for the tier ", tier_name(r->tiers[i].tier));
}

static void print_fixes(struct strbuf *b, const struct doctor_report *r, bool colour) {
        for (size_t i = 0; i < r->n_fixes; i++) {
                const struct doctor_fix *x = &r->fixes[i];
                char title[192];
                snprintf(title, sizeof(title), "fix %zu: %s", i + 1, x->title);
                strbuf_puts(b, "\n");
                word(b, colour, BOLD, 0, title);
                strbuf_puts(b, "\n       ");
                print_served(b, r, (int)i);
                strbuf_puts(b, "\n");
                for (const char *s = x->text; *s;) {
                        size_t n = strcspn(s, "\n");
                        if (n > 0)
                                strbuf_printf(b, "    %.*s", (int)n, s);
                        strbuf_puts(b, "\n");
                        s += n + (s[n] == '\n');
                }
        }
}

char *doctor_text(const struct host_facts *f, const struct doctor_report *r, bool colour) {
        _cleanup_strbuf_ struct strbuf b = {.max = 1u << 20};

        strbuf_puts(&b, "Linux ");
        plain(&b, f->release, 44);
        if (f->os_id[0]) {
                strbuf_puts(&b, ", ");
                plain(&b, f->os_id, 12);
                strbuf_puts(&b, " ");
                plain(&b, f->os_version, 8);
        }
        if (f->wsl1 || f->wsl2)
                strbuf_puts(&b, f->wsl1 ? ", WSL 1" : ", WSL 2");
        if (f->container != CONTAINER_NONE)
                strbuf_printf(&b, ", in a container (%s)", host_container_name(f->container));
        strbuf_printf(&b, ", uid %u\n\n", f->uid);
        print_tiers(&b, r, colour);
        strbuf_puts(&b, "\n");
        print_controls(&b, r, colour);
        if (r->n_notes)
                strbuf_puts(&b, "\n");
        for (size_t i = 0; i < r->n_notes; i++) {
                strbuf_printf(&b, "%-22s", r->notes[i].name);
                plain(&b, r->notes[i].text, 78);
                strbuf_puts(&b, "\n");
        }
        print_fixes(&b, r, colour);
        return strbuf_take(&b);
}

static json_t *text(const char *s) {
        /* A path need not be UTF-8. */
        char shown[1024];
        json_t *j = json_string(s);
        if (j)
                return j;
        str_visible(shown, sizeof(shown), s);
        return json_string(shown);
}

static json_t *probe_json(struct probe_result r) {
        if (!r.tried)
                return json_null();
        if (r.err == 0)
                return json_true();
        return json_pack("{s:s, s:s}", "step", probe_step_name(r.step), "error", strerrorname_np(r.err) ?: "unknown");
}

static json_t *host_json(const struct host_facts *f) {
        json_t *host =
                json_pack("{s:o, s:o, s:o, s:I, s:s, s:b, s:b, s:b, s:i, s:s, s:o, s:o, s:o, s:o}", "kernel",
                          text(f->release), "os", text(f->os_id), "os_version", text(f->os_version), "uid",
                          (json_int_t)f->uid, "container", host_container_name(f->container), "wsl", f->wsl1 || f->wsl2,
                          "gvisor", f->gvisor, "chroot", f->chrooted, "landlock_abi", f->landlock_abi, "cgroup",
                          host_cgroup_name(f->cgroup), "cgroup_base", text(f->cgroup_base), "state_dir",
                          text(f->state_dir), "state_fs", text(f->state_fs), "qemu", text(f->qemu));
        json_t *probes = json_object();
        const struct {
                const char *name;
                struct probe_result r;
        } all[] = {
                {"user_namespace", f->userns},
                {"inner_user_namespace", f->inner_userns},
                {"mount_namespace", f->mount_ns},
                {"pid_namespace", f->pid_ns},
                {"ipc_namespace", f->ipc_ns},
                {"uts_namespace", f->uts_ns},
                {"net_namespace", f->net_ns},
                {"cgroup_namespace", f->cgroup_ns},
                {"proc_mount", f->proc_mount},
                {"sysfs_mount", f->sysfs_mount},
                {"nftables", f->nft},
                {"overlay", f->overlay},
                {"overlay_state", f->overlay_state},
                {"idmapped_mount", f->idmap},
                {"seccomp", f->seccomp},
                {"seccomp_notify", f->seccomp_notify},
                {"no_new_privs", f->no_new_privs},
                {"pidfd", f->pidfd},
                {"clone3", f->clone3},
                {"close_range", f->close_range},
                {"openat2", f->openat2},
                {"kvm", f->kvm},
        };
        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                json_object_set_new(probes, all[i].name, probe_json(all[i].r));
        json_object_set_new(host, "probes", probes);
        json_object_set_new(host, "subuid", json_integer((json_int_t)f->subuid));
        json_object_set_new(host, "subgid", json_integer((json_int_t)f->subgid));
        return host;
}

static const char *fix_id(const struct doctor_report *r, int fix) { return fix >= 0 ? r->fixes[fix].id : NULL; }

static json_t *tiers_json(const struct doctor_report *r) {
        json_t *a = json_array();
        for (size_t i = 0; i < DOCTOR_TIERS; i++) {
                const struct doctor_tier *t = &r->tiers[i];
                json_t *fixes = json_array();
                for (size_t j = 0; j < ELEMENTSOF(t->fixes); j++)
                        if (t->fixes[j] >= 0)
                                json_array_append_new(fixes, json_string(fix_id(r, t->fixes[j])));
                json_array_append_new(a,
                                      json_pack("{s:s, s:s, s:b, s:o, s:o}", "name", tier_name(t->tier), "state",
                                                doctor_tier_state_name(t->state), "built", control_tier_built(t->tier),
                                                "detail", text(t->detail), "fixes", fixes));
        }
        return a;
}

static json_t *controls_json(const struct doctor_report *r) {
        json_t *a = json_array();
        for (size_t i = 0; i < CONTROL_N; i++) {
                const struct doctor_finding *x = &r->findings[i];
                const struct control *c = x->control;
                json_array_append_new(a, json_pack("{s:s, s:s, s:s, s:b, s:o, s:s, s:s, s:s*, s:s, s:s*}", "name",
                                                   c->name, "state", doctor_state_name(x->state), "severity",
                                                   doctor_severity_name(x->severity), "required",
                                                   control_required(c, TIER_PROCESS), "detail", text(x->detail),
                                                   "meaning", c->meaning, "loss", c->loss, "substitute", c->substitute,
                                                   "kernel", c->kernel, "fix", fix_id(r, x->fix)));
        }
        return a;
}

char *doctor_json(const struct host_facts *f, const struct doctor_report *r) {
        json_t *fixes = json_array(), *notes = json_array();
        for (size_t i = 0; i < r->n_fixes; i++)
                json_array_append_new(fixes, json_pack("{s:s, s:o, s:o}", "id", r->fixes[i].id, "cause",
                                                       text(r->fixes[i].title), "fix", text(r->fixes[i].text)));
        for (size_t i = 0; i < r->n_notes; i++)
                json_array_append_new(
                        notes, json_pack("{s:s, s:o}", "name", r->notes[i].name, "text", text(r->notes[i].text)));
        json_t *root = json_pack("{s:i, s:b, s:o, s:o, s:o, s:o, s:o}", "version", 1, "ok", r->ok, "host", host_json(f),
                                 "tiers", tiers_json(r), "controls", controls_json(r), "fixes", fixes, "notes", notes);
        if (!root)
                return NULL;
        char *s = json_dumps(root, JSON_INDENT(2));
        json_decref(root);
        if (!s)
                return NULL;
        char *line = str_printf("%s\n", s);
        free(s);
        return line;
}
