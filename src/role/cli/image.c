/* `belljar image`: importing, listing, showing and removing images. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "proto/json.h"
#include "role/cli/commands.h"
#include "role/cli/image-pull.h"
#include "role/cli/options.h"
#include "svc/state.h"

struct image_options {
        struct import_options import;
        struct pull_options pull;
        bool json, quiet;
        unsigned used; /* bits of enum use */
};
enum use { USED_IMPORT = 1, USED_JSON = 2, USED_FORMAT = 4, USED_PULL = 8 };

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct image_options *o = data;

        switch (id) {
        case OPT_JSON: o->used |= USED_JSON; break;
        case OPT_QUIET: break;
        case OPT_FORMAT: o->used |= USED_FORMAT; break;
        case OPT_TLS_VERIFY:
        case OPT_TIME:
        case OPT_IDLE: o->used |= USED_PULL; break;
        default: o->used |= USED_IMPORT;
        }
        switch (id) {
        case OPT_ARCH:
        case OPT_TLS_VERIFY:
        case OPT_TIME:
        case OPT_IDLE: return image_pull_option(id, arg, &o->import, &o->pull, e);
        case OPT_NAME: o->import.name = arg; return 0;
        case OPT_JSON: o->json = true; return 0;
        case OPT_QUIET: o->quiet = true; return 0;
        case OPT_FORMAT:
                for (unsigned f = 0; f < FORMAT_N; f++)
                        if (streq(image_format_names[f], arg)) {
                                o->import.format = (enum image_format)f;
                                return 0;
                        }
                error_set(e, EINVAL, "there is no format of images called %s", arg);
                return error_fix(e, "one of auto, dir, tar, oci, oci-archive, docker-archive");
        case OPT_MAX_SIZE:
                if (parse_size(arg, &o->import.max_size) == 0 && o->import.max_size > 0)
                        return 0;
                return error_set(e, EINVAL, "--max-size takes a size, as 20GiB, not %s", arg);
        case OPT_MAX_ENTRIES:
                if (parse_u64(arg, &o->import.max_entries) == 0 && o->import.max_entries > 0)
                        return 0;
                return error_set(e, EINVAL, "--max-entries takes a number, not %s", arg);
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

/* What a tree does not have of what the archive had. */
static void print_counts(FILE *f, const char *indent, const struct layer_counts *c, bool one_id) {
        const struct {
                uint64_t n;
                const char *what;
        } lines[] = {
                {c->devices, "devices, FIFOs or sockets left out"},
                {c->setid, "files without the set-uid or set-gid bit that they had"},
                {c->attributes, "extended attributes left out, all but user.*"},
                {one_id ? 0 : c->ids, "owners that do not exist inside, now nobody or root"},
        };
        for (size_t i = 0; i < ELEMENTSOF(lines); i++)
                if (lines[i].n)
                        fprintf(f, "%s%" PRIu64 " %s\n", indent, lines[i].n, lines[i].what);
}

static int do_import(int root, const char *source, const struct image_options *o, struct error *e) {
        struct import_result result = {};
        struct ids ids;
        char size[32];
        int r = image_import(root, source, &o->import, &result, e);

        image_pull_shown();
        if (r < 0)
                return r;
        const struct image *i = &result.image;
        printf("%s: %zu layer%s, %zu new, %s\n", i->name, i->keys.n, i->keys.n == 1 ? "" : "s", result.layers_new,
               format_size(size, sizeof(size), i->size));
        if (!o->quiet && ids_find(&ids, NULL) == 0) {
                print_counts(stderr, "  ", &result.counts, ids.kind == IDS_ONE);
                if (ids.kind == IDS_ONE)
                        fprintf(stderr, "  all its files are root's inside, as there is one id: %s\n", ids.why);
        }
        image_clear(&result.image);
        return 0;
}

static void json_image(struct json *j, const struct image *i) {
        json_str(j, "name", i->name);
        json_str(j, "digest", i->digest);
        json_str(j, "created", i->created);
        json_str(j, "architecture", i->architecture);
        json_str(j, "os", i->os);
        json_num(j, "size", (long long)i->size);
}

static int finish_json(struct json *j, struct error *e) {
        char *text = strbuf_take(&j->text);
        if (!text)
                return error_set(e, ENOMEM, "out of memory");
        fputs(text, stdout);
        free(text);
        return 0;
}

static int do_list(int root, bool as_json, struct error *e) {
        _cleanup_strlist_ struct strlist names = {};
        struct json j = {};
        int r = image_list(root, &names, e);

        if (r < 0)
                return r;
        if (as_json)
                json_begin(&j, NULL, '[');
        else
                printf("%-32s %-14s %-7s %-10s %s\n", "NAME", "DIGEST", "LAYERS", "SIZE", "CREATED");
        for (size_t k = 0; k < names.n; k++) {
                _cleanup_image_ struct image i = {};
                struct error why = {};
                char size[32];
                r = image_read(root, names.items[k], &i, &why);
                if (r == -ENOENT)
                        continue; /* removed meanwhile */
                if (r < 0) {
                        error_print(&why);
                        continue;
                }
                if (as_json) {
                        json_begin(&j, NULL, '{');
                        json_image(&j, &i);
                        json_num(&j, "layers", (long long)i.keys.n);
                        json_end(&j, '}');
                } else
                        printf("%-32s %-14.12s %-7zu %-10s %.10s\n", i.name, i.digest + strcspn(i.digest, ":") + 1, i.keys.n,
                               format_size(size, sizeof(size), i.size), i.created[0] ? i.created : "-");
        }
        if (!as_json)
                return 0;
        json_end(&j, ']');
        return finish_json(&j, e);
}

/* The layers' own records, bottom first; one that cannot be read counts as empty. */
static void layer_counts_of(int root, const char *key, struct layer_counts *c) {
        int fd;
        *c = (struct layer_counts){};
        if (image_layer_lock(root, key, &fd) < 0)
                return;
        (void)!image_layer_counts(fd, c);
        close(fd);
}

static void print_list(const char *what, const struct strlist *l) {
        for (size_t i = 0; i < l->n; i++) {
                _cleanup_free_ char *shown = str_visible_dup(l->items[i]);
                printf("%-14s%s\n", i == 0 ? what : "", shown ? shown : "?");
        }
}

static void print_line(const char *what, const char *value) {
        _cleanup_free_ char *shown = str_visible_dup(value);
        printf("%-14s%s\n", what, shown && shown[0] ? shown : "-");
}

static void print_image(int root, const struct image *i) {
        char size[32];

        print_line("name", i->name);
        print_line("digest", i->digest);
        print_line("manifest", i->manifest);
        if (i->index[0])
                print_line("index", i->index);
        print_line("source", i->source);
        print_line("created", i->created);
        print_line("platform", i->architecture);
        print_list("entrypoint", &i->entrypoint);
        print_list("cmd", &i->cmd);
        print_line("workdir", i->workdir);
        print_line("user", i->user);
        print_list("env", &i->env);
        print_list("ports", &i->ports);
        print_list("labels", &i->labels);
        print_line("ids", i->ids);
        printf("%-14s%s; %zu layer%s, the lowest first:\n", "size", format_size(size, sizeof(size), i->size), i->keys.n,
               i->keys.n == 1 ? "" : "s");
        for (size_t k = 0; k < i->keys.n; k++) {
                struct layer_counts c;
                layer_counts_of(root, i->keys.items[k], &c);
                printf("  %.16s  %10s  %8" PRIu64 " entries", i->keys.items[k], format_size(size, sizeof(size), c.bytes), c.entries);
                if (c.whiteouts || c.opaque)
                        printf(", hides %" PRIu64 " below", c.whiteouts + c.opaque);
                printf("%s\n", streq(i->keys.items[k], i->dirs) ? ", only directories that the other layers leave out (made here)" : "");
                print_counts(stdout, "    ", &c, strncmp(i->ids, "one", 3) == 0);
        }
}

static int print_image_json(int root, const struct image *i, struct error *e) {
        struct json j = {};

        json_begin(&j, NULL, '{');
        json_image(&j, i);
        json_str(&j, "manifest", i->manifest);
        json_str(&j, "index", i->index);
        json_str(&j, "source", i->source);
        json_str(&j, "ids", i->ids);
        json_list(&j, "entrypoint", &i->entrypoint);
        json_list(&j, "cmd", &i->cmd);
        json_list(&j, "env", &i->env);
        json_str(&j, "workdir", i->workdir);
        json_str(&j, "user", i->user);
        json_list(&j, "ports", &i->ports);
        json_list(&j, "labels", &i->labels);
        json_begin(&j, "layers", '[');
        for (size_t k = 0; k < i->keys.n; k++) {
                struct layer_counts c;
                char hex[80];
                layer_counts_of(root, i->keys.items[k], &c);
                json_begin(&j, NULL, '{');
                snprintf(hex, sizeof(hex), "sha256:%.64s", i->keys.items[k]);
                json_str(&j, "digest", hex);
                json_bool(&j, "made_here", streq(i->keys.items[k], i->dirs));
                json_num(&j, "size", (long long)c.bytes);
                json_num(&j, "entries", (long long)c.entries);
                json_num(&j, "whiteouts", (long long)c.whiteouts);
                json_num(&j, "opaque", (long long)c.opaque);
                json_num(&j, "devices_left_out", (long long)c.devices);
                json_num(&j, "setid_removed", (long long)c.setid);
                json_num(&j, "attributes_left_out", (long long)c.attributes);
                json_num(&j, "owners_changed", (long long)c.ids);
                json_end(&j, '}');
        }
        json_end(&j, ']');
        json_end(&j, '}');
        return finish_json(&j, e);
}

static int do_inspect(int root, const char *name, bool as_json, struct error *e) {
        _cleanup_image_ struct image i = {};
        int r = image_read(root, name, &i, e);

        if (r < 0)
                return r;
        if (as_json)
                return print_image_json(root, &i, e);
        print_image(root, &i);
        return 0;
}

static int do_prune(int root, bool quiet, struct error *e) {
        struct prune_stats s = {};
        char size[32];
        int r = image_prune(root, &s, e);

        if (r == 0 && !quiet)
                printf("layers removed: %" PRIu64 ", %s; in no image but in use: %" PRIu64 "\n", s.layers,
                       format_size(size, sizeof(size), s.bytes), s.busy);
        return r;
}

enum verb { VERB_IMPORT, VERB_PULL, VERB_LIST, VERB_INSPECT, VERB_REMOVE, VERB_PRUNE };
static const struct {
        const char *word;
        enum verb verb;
        unsigned takes; /* enum use */
        int min, max;   /* operands */
} verbs[] = {
        {"import", VERB_IMPORT, USED_IMPORT | USED_FORMAT, 1, 1}, {"pull", VERB_PULL, USED_IMPORT | USED_PULL, 1, 1},
        {"ls", VERB_LIST, USED_JSON, 0, 0},         {"list", VERB_LIST, USED_JSON, 0, 0},
        {"inspect", VERB_INSPECT, USED_JSON, 1, 1}, {"rm", VERB_REMOVE, 0, 1, 1 << 20},
        {"remove", VERB_REMOVE, 0, 1, 1 << 20},     {"prune", VERB_PRUNE, 0, 0, 0},
};

static int dispatch(int root, enum verb verb, char **args, int n, struct image_options *o, struct error *e) {
        int failed = 0;

        switch (verb) {
        case VERB_PULL:
                o->import.pull = &o->pull;
                if (!o->quiet)
                        image_pull_show(&o->pull);
                return do_import(root, args[0], o, e);
        case VERB_IMPORT: return do_import(root, args[0], o, e);
        case VERB_LIST: return do_list(root, o->json, e);
        case VERB_INSPECT: return do_inspect(root, args[0], o->json, e);
        case VERB_PRUNE: return do_prune(root, o->quiet, e);
        case VERB_REMOVE:
                for (int i = 0; i < n; i++) {
                        struct error why = {};
                        int r = image_ref_remove(root, args[i], &why);
                        if (r < 0 && failed == 0)
                                *e = why;
                        else if (r < 0)
                                error_print(&why);
                        failed = failed ? failed : r;
                }
                return failed;
        }
        return -EINVAL;
}

int command_image(int argc, char **argv) {
        if (argc > 1 && streq(argv[1], "build"))
                return command_build(argc - 1, argv + 1);
        struct image_options o = {};
        _cleanup_fd_ int root = -EBADF;
        struct error e = {};
        int first, r = options_parse(command_find("image"), argc, argv, on_option, &o, &first, &e);
        const char *word = r == 0 && first < argc ? argv[first] : "";
        size_t v = 0;

        while (v < ELEMENTSOF(verbs) && !streq(verbs[v].word, word))
                v++;
        if (r == 0 && v == ELEMENTSOF(verbs)) {
                r = error_set(&e, EINVAL, word[0] ? "belljar image has no command %s" : "belljar image needs a command%s", word);
                error_fix(&e, "one of import, pull, build, ls, inspect, rm, prune");
        } else if (r == 0 && (argc - first - 1 < verbs[v].min || argc - first - 1 > verbs[v].max)) {
                r = error_set(&e, EINVAL, argc - first - 1 < verbs[v].min ? "belljar image %s needs to be told of what" :
                                                                             "belljar image %s takes fewer words", word);
                error_fix(&e, "belljar image --help");
        } else if (r == 0 && (o.used & ~verbs[v].takes)) {
                r = error_set(&e, EINVAL, "an option is given that belljar image %s does not take", word);
                error_fix(&e, "belljar image --help");
        }
        if (r == 0 && (r = state_open_root(true, &root, &e)) == 0)
                r = dispatch(root, verbs[v].verb, argv + first + 1, argc - first - 1, &o, &e);
        if (r == 0)
                return 0;
        error_print(&e);
        return EXIT_BELLJAR;
}
