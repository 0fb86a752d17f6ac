/* `belljar trail ls|show|tail|verify|export|key`. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/commands.h"
#include "role/cli/options.h"
#include "role/cli/trail.h"
#include "svc/state-read.h"
#include "svc/trail-key.h"

#define FILE_NAME "trail.jsonl"
#define FOLLOW_MS 100 /* so often is looked at a trail that grows */

enum { EXIT_FAULT = 1, EXIT_UNSEALED = 2 };

struct trail_options {
        bool json, last;
        const char *key, *format;
};

/* A trail of a sandbox, or of a file. */
struct source {
        struct state s;
        struct trail_reader r;
        bool is_file;
};
#define SOURCE_NONE (struct source){.s = STATE_NONE, .r = {.fd = -1}}

static void source_clear(struct source *x) {
        state_close(&x->s);
        trail_reader_clear(&x->r);
}

static int on_option(int id, const char *arg, void *data, struct error *e) {
        struct trail_options *o = (struct trail_options *)data;

        switch (id) {
        case OPT_JSON: o->json = true; return 0;
        case OPT_LAST: o->last = true; return 0;
        case OPT_KEY: o->key = arg; return 0;
        case OPT_FORMAT: o->format = arg; return 0;
        default: return error_set(e, EINVAL, "unexpected option");
        }
}

/* The sandbox that the first record names; "" where there is none. */
static void read_id(int fd, char dst[24]) {
        char text[512];
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

        dst[0] = 0;
        text[MAX(n, 0)] = 0;
        const char *id = strstr(text, "\"trail\":1,\"id\":\"");
        if (id)
                snprintf(dst, 24, "%.*s", (int)strspn(id + 16, "0123456789abcdef"), id + 16);
}

/* One of a former use of the directory is not this sandbox's. */
static int open_trail(const struct state *s) {
        int fd = openat(s->dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        char id[24];

        if (fd < 0)
                return -errno;
        read_id(fd, id);
        if (!streq(id, s->id)) {
                close(fd);
                return -ENOENT;
        }
        return fd;
}

/* What has a slash or a dot in it is a file: no sandbox is named so by itself, and one of such a name can be named by its id. */
static int find_source(const char *which, bool last, struct source *ret, struct error *e) {
        struct stat st;
        int r;

        ret->is_file = which && (strchr(which, '/') || (strchr(which, '.') && access(which, F_OK) == 0));
        if (ret->is_file) {
                ret->r.fd = open(which, O_RDONLY | O_CLOEXEC | O_NOCTTY);
                if (ret->r.fd < 0 || fstat(ret->r.fd, &st) < 0)
                        return error_errno(e, errno, "%s cannot be opened", which);
                return S_ISDIR(st.st_mode) ? error_set(e, EISDIR, "%s is a directory", which) : 0;
        }
        if ((r = find_sandbox(which, last, &ret->s, e)) < 0)
                return r;
        if ((ret->r.fd = open_trail(&ret->s)) < 0) {
                error_errno(e, ret->r.fd, "the sandbox %s has no trail", ret->s.id);
                return error_fix(e, "it ended before its command started, or an earlier version of belljar ran it");
        }
        return 0;
}

static bool from_hex(const char *text, uint8_t ret[TRAIL_PUBLIC_SIZE]) {
        static const char digits[] = "0123456789abcdef";

        if (strspn(text, digits) != 2 * TRAIL_PUBLIC_SIZE)
                return false;
        for (size_t i = 0; i < TRAIL_PUBLIC_SIZE; i++)
                ret[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 | (strchr(digits, text[2 * i + 1]) - digits));
        return !text[2 * TRAIL_PUBLIC_SIZE] || streq(text + 2 * TRAIL_PUBLIC_SIZE, "\n");
}

static void to_hex(const uint8_t key[TRAIL_PUBLIC_SIZE], char dst[2 * TRAIL_PUBLIC_SIZE + 1]) {
        for (size_t i = 0; i < TRAIL_PUBLIC_SIZE; i++)
                snprintf(dst + 2 * i, 3, "%02x", key[i]);
}

/* --key: the public key, or a file of it. Otherwise the user's own. */
static int get_key(const char *word, uint8_t ret[TRAIL_PUBLIC_SIZE], struct error *e) {
        _cleanup_free_ char *text = NULL;
        _cleanup_fd_ int root = -EBADF, fd = -EBADF;
        int r;

        if (word) {
                if (from_hex(word, ret))
                        return 0;
                if ((r = file_read(AT_FDCWD, word, 4096, &text, NULL)) < 0)
                        return error_errno(e, r, "--key: %s is no public key, and no file that can be read", word);
                return from_hex(text, ret) ? 0 : error_set(e, EINVAL, "--key: %s holds no public key", word);
        }
        if ((r = state_open_root(false, &root, e)) >= 0)
                r = trail_key_open(root, false, &fd, e);
        if (r >= 0 && pread(fd, ret, TRAIL_PUBLIC_SIZE, TRAIL_KEY_SIZE - TRAIL_PUBLIC_SIZE) != TRAIL_PUBLIC_SIZE)
                r = error_set(e, EIO, "the key that signs trails cannot be read");
        if (r < 0)
                return error_fix(e, "--key KEY: the public key of whoever ran the sandbox (belljar trail key)");
        return 0;
}

static int check_all(struct source *x, struct trail_check *c, struct error *e) {
        const char *line;
        size_t n;
        int r;

        while ((r = trail_reader_next(&x->r, &line, &n)) > 0)
                (void)trail_check_line(c, line, n);
        if (r < 0)
                return error_errno(e, r, "the trail cannot be read");
        /* A record of a run that goes on may just be on its way. */
        if (x->is_file || !state_alive(&x->s))
                trail_check_end(c, trail_reader_rest(&x->r));
        return 0;
}

static int verify(struct source *x, const struct trail_options *o, struct error *e) {
        uint8_t key[TRAIL_PUBLIC_SIZE] = {};
        char hex[2 * TRAIL_PUBLIC_SIZE + 1], id[24], text[160];
        struct trail_check c = {.is_signed = trail_key_signed, .key = key};
        int r = get_key(o->key, key, e);

        if (r < 0)
                return EXIT_BELLJAR;
        const bool running = !x->is_file && state_alive(&x->s);
        if (check_all(x, &c, e) < 0)
                return EXIT_BELLJAR;
        to_hex(key, hex);
        read_id(x->r.fd, id);
        trail_fault_text(&c, text);
        const bool sealed = !c.fault && c.ended;
        if (o->json) {
                struct json j = {};
                json_begin(&j, NULL, '{');
                json_str(&j, "id", id[0] ? id : NULL);
                json_str(&j, "key", hex);
                json_bool(&j, "sealed", sealed);
                json_bool(&j, "running", running);
                json_num(&j, "records", (long long)c.records);
                json_num(&j, "covered", (long long)c.covered);
                json_num(&j, "signatures", (long long)c.signatures);
                json_str(&j, "fault", c.fault ? text : NULL);
                json_num(&j, "at", (long long)c.at);
                json_end(&j, '}');
                _cleanup_free_ char *out = strbuf_take(&j.text);
                printf("%s", out ? out : "");
        } else if (c.fault)
                printf("not as it was written: %s\n%llu records before it follow on each other, of which a signature covers %llu\n", text, (unsigned long long)c.records,
                       (unsigned long long)c.covered);
        else if (sealed)
                printf("sealed: %llu records of sandbox %s, none changed, missing or moved, by %llu signatures of the key %s\n", (unsigned long long)c.records, id,
                       (unsigned long long)c.signatures, hex);
        else
                printf("not sealed: %s after record %llu; the %llu records follow on each other, and signatures cover the first %llu\n",
                       running ? "the run goes on" : "it ends", (unsigned long long)c.records, (unsigned long long)c.records, (unsigned long long)c.covered);
        return c.fault ? EXIT_FAULT : sealed ? 0 : EXIT_UNSEALED;
}

static void print_record(const char *line, size_t n) {
        json_t *record = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
        _cleanup_strbuf_ struct strbuf b = {};

        if (!json_is_object(record)) {
                printf("(no record)\n");
                json_decref(record);
                return;
        }
        char time[40];
        str_visible(time, sizeof(time), trail_text(record, "time"));
        trail_describe(record, &b);
        printf("%6lld  %.10s %.12s  %s\n", (long long)json_integer_value(json_object_get(record, "seq")), time, strlen(time) > 11 ? time + 11 : "", b.data ? b.data : "");
        json_decref(record);
}

static int say_fault(const struct source *x, struct trail_check *c) {
        char text[160];

        if (x->is_file || !state_alive(&x->s))
                trail_check_end(c, trail_reader_rest(&x->r));
        if (c->fault)
                fprintf(stderr, "belljar: the trail is not as it was written: %s\n", trail_fault_text(c, text));
        return c->fault ? EXIT_FAULT : 0;
}

/* What is there is printed also where the chain is broken, and that it is. */
static int show(struct source *x, const struct trail_options *o, bool follow, struct error *e) {
        struct trail_check c = {};
        const char *line;
        size_t n;
        int r;

        for (;;) {
                const bool alive = follow && !x->is_file && state_alive(&x->s); /* asked before the last look at the file */
                while ((r = trail_reader_next(&x->r, &line, &n)) > 0) {
                        (void)trail_check_line(&c, line, n);
                        if (n > 0 && o->json)
                                printf("%.*s\n", (int)n, line);
                        else if (n > 0)
                                print_record(line, n);
                }
                if (fflush(stdout) != 0)
                        return EXIT_BELLJAR;
                if (r < 0 || c.ended || !alive)
                        break;
                (void)nanosleep(&(struct timespec){.tv_nsec = FOLLOW_MS * 1000000l}, NULL);
        }
        if (r < 0) {
                error_errno(e, r, "the trail cannot be read");
                return EXIT_BELLJAR;
        }
        return say_fault(x, &c);
}

static int list(const struct trail_options *o, struct error *e) {
        _cleanup_strlist_ struct strlist ids = {};
        _cleanup_fd_ int root = -EBADF;
        uint8_t key[TRAIL_PUBLIC_SIZE] = {};
        struct error ignored = {};
        struct json j = {};
        int r;

        if (state_open_root(true, &root, e) < 0)
                return EXIT_BELLJAR;
        if ((r = state_list(root, &ids)) < 0) {
                error_errno(e, r, "the state directory cannot be read");
                return EXIT_BELLJAR;
        }
        const bool has_key = get_key(o->key, key, &ignored) == 0;
        if (o->json)
                json_begin(&j, NULL, '[');
        else
                printf("%-13s %-10s %9s %10s\n", "ID", "STATE", "RECORDS", "SIZE");
        for (size_t i = 0; i < ids.n; i++) {
                _cleanup_(source_clear) struct source x = SOURCE_NONE;
                struct trail_check c = {.is_signed = has_key ? trail_key_signed : NULL, .key = key};
                struct stat st;
                char size[32];
                if (state_find(root, ids.items[i], NULL, true, &x.s, &ignored) < 0 || (x.r.fd = open_trail(&x.s)) < 0 || fstat(x.r.fd, &st) < 0 || check_all(&x, &c, &ignored) < 0)
                        continue;
                const char *state = c.fault ? "changed" : c.ended ? "sealed" : state_alive(&x.s) ? "running" : "unsealed";
                if (o->json) {
                        json_begin(&j, NULL, '{');
                        json_str(&j, "id", x.s.id);
                        json_str(&j, "state", state);
                        json_num(&j, "records", (long long)c.records);
                        json_num(&j, "bytes", (long long)st.st_size);
                        json_end(&j, '}');
                } else
                        printf("%-13s %-10s %9llu %10s\n", x.s.id, state, (unsigned long long)c.records, format_size(size, sizeof(size), (uint64_t)st.st_size));
        }
        if (o->json) {
                json_end(&j, ']');
                _cleanup_free_ char *out = strbuf_take(&j.text);
                printf("%s", out ? out : "");
        }
        return 0;
}

static int print_key(struct error *e) {
        uint8_t key[TRAIL_PUBLIC_SIZE] = {};
        char hex[2 * TRAIL_PUBLIC_SIZE + 1];

        if (get_key(NULL, key, e) < 0)
                return EXIT_BELLJAR;
        to_hex(key, hex);
        printf("%s\n", hex);
        return 0;
}

static int export(struct source *x, const char *format, struct error *e) {
        if (!format || !(streq(format, "jsonl") || streq(format, "ocsf") || streq(format, "otel"))) {
                error_set(e, EINVAL, "--format: jsonl, ocsf or otel");
                return EXIT_BELLJAR;
        }
        struct trail_check c = {};
        return trail_export(&x->r, format, &c, e) < 0 ? EXIT_BELLJAR : say_fault(x, &c);
}

int command_trail(int argc, char **argv) {
        static const char *const words[] = {"show", "tail", "verify", "export"};
        _cleanup_(source_clear) struct source x = SOURCE_NONE;
        struct trail_options o = {};
        struct error e = {};
        int first, status = EXIT_BELLJAR;

        if (options_parse(command_find("trail"), argc, argv, on_option, &o, &first, &e) < 0)
                goto end;
        argc -= first;
        argv += first;
        const char *word = argc > 0 ? argv[0] : "";
        size_t which = 0;
        while (which < ELEMENTSOF(words) && !streq(words[which], word))
                which++;
        if (argc == 1 && (streq(word, "ls") || streq(word, "list")))
                status = list(&o, &e);
        else if (argc == 1 && streq(word, "key"))
                status = print_key(&e);
        else if (argc < 1 || argc > 2 || which == ELEMENTSOF(words))
                error_set(&e, EINVAL, "belljar trail takes: ls, show, tail, verify, export, key");
        else if (find_source(argv[1], o.last, &x, &e) >= 0)
                status = which == 2 ? verify(&x, &o, &e) : which == 3 ? export(&x, o.format, &e) : show(&x, &o, which == 1, &e);
end:
        if (e.errnum)
                error_print(&e);
        return status;
}
