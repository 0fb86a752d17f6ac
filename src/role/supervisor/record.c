/* See record.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/supervisor/supervisor.h"
#include "svc/state.h"
#include "svc/trail-key.h"

#define FILE_NAME "trail.jsonl"
/* Bytes that are not written yet: a turn's events take less (64 messages of each peer). */
#define TEXT_MAX (16u << 20)
#define FORMER_MAX (64 << 10) /* bytes of a former file that are overwritten */
#define TEXT_KEPT (64u << 10) /* of its memory, for the next turn */
/* Room on the disk is taken so far ahead, from the first record that a program of the sandbox caused on: so that on a full disk the
 * last records have theirs. */
#define RESERVE (256u << 10)
/* A plan that makes a longer record is left out of it: it stands in plan.json. */
#define PLAN_MAX (TRAIL_LINE_MAX / 2)

/* What the directory's former use has left is another run's. It is overwritten in place, with newlines for what is longer: to truncate
 * it gives blocks back, which can take longer than all the rest of a run (svc/state.c). */
int record_open(struct supervisor *x, struct error *e) {
        struct record *k = &x->record;
        struct stat st;
        int r = trail_key_open(x->s->state->root, true, &k->key_fd, e);

        if (r < 0)
                return r;
        k->fd = openat(x->s->state->dir, FILE_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (k->fd < 0 || fstat(k->fd, &st) < 0 || (st.st_size > FORMER_MAX && ftruncate(k->fd, 0) < 0))
                return error_errno(e, errno, "the trail of the run cannot be made");
        k->former = st.st_size > FORMER_MAX ? 0 : (size_t)st.st_size;
        return 0;
}

void record_forget(struct supervisor *x) {
        fd_close(x->record.key_fd);
        fd_close(x->record.fd);
}

int record_ready(struct supervisor *x, struct error *e) {
        struct record *k = &x->record;
        int r = trail_key_read(k->key_fd, &k->key, e);

        fd_close(TAKE_FD(k->key_fd));
        if (r < 0)
                return r;
        k->text.max = TEXT_MAX;
        k->trail.key = k->key.p;
        k->trail.sign = trail_key_sign;
        return 0;
}

/* File systems that cannot do it go without. */
static int reserve(struct record *k, uint64_t size) {
        if (size <= k->reserved)
                return 0;
        if (fallocate(k->fd, FALLOC_FL_KEEP_SIZE, (off_t)k->size, (off_t)(size - k->size + RESERVE)) < 0 && (errno == ENOSPC || errno == EDQUOT))
                return -errno;
        k->reserved = size + RESERVE / 2;
        return 0;
}

static int write_text(struct record *k) {
        for (size_t at = 0; at < k->text.len;) {
                ssize_t n = pwrite(k->fd, k->text.data + at, k->text.len - at, (off_t)(k->size + at));
                if (n <= 0 && errno != EINTR)
                        return n < 0 ? -errno : -EIO;
                at += (size_t)MAX(n, 0);
        }
        return 0;
}

/* What could not be written whole is as if it had not been tried, but counted: whatever comes later follows on what is there. */
static int flush(struct record *k) {
        /* Where nothing more can be reserved, the text fits into what was. */
        const int full = k->trail.caused > 0 ? reserve(k, k->size + k->text.len) : 0;
        const size_t len = k->text.len;
        while (k->size == 0 && k->text.len < k->former && !k->text.failed)
                strbuf_puts(&k->text, "\n");
        int r = write_text(k);

        if (r < 0) {
                (void)!ftruncate(k->fd, (off_t)k->size);
                const uint64_t n = k->trail.seq - k->written.seq;
                k->trail.seq = k->written.seq;
                k->trail.since = k->written.since;
                memcpy(k->trail.prev, k->written.prev, sizeof(k->trail.prev));
                trail_count_lost(&k->trail, n);
        } else {
                k->size += len;
                k->written.seq = k->trail.seq;
                k->written.since = k->trail.since;
                memcpy(k->written.prev, k->trail.prev, sizeof(k->trail.prev));
        }
        if (k->text.cap > TEXT_KEPT)
                strbuf_clear(&k->text);
        else
                strbuf_reset(&k->text);
        return r < 0 ? r : full;
}

void record_flush(struct supervisor *x) {
        struct record *k = &x->record;

        if (k->fd < 0 || k->text.len == 0)
                return;
        int r = flush(k);
        if (r < 0)
                record_failed(x, r);
}

/* What nobody can read about must not go on. */
void record_failed(struct supervisor *x, int err) {
        struct error e = {};

        if (x->record.failed)
                return;
        x->record.failed = true;
        error_errno(&e, err, "what happens in the run cannot be recorded");
        if (err == -ENOSPC || err == -EDQUOT)
                error_fix(&e, "make room where Belljar's state directory is");
        supervisor_fail(x, &e);
}

static void json_hex(struct json *j, const char *key, const uint8_t *data, size_t n) {
        char text[2 * TRAIL_PUBLIC_SIZE + 1];

        for (size_t i = 0; i < n && 2 * i + 2 < sizeof(text); i++)
                snprintf(text + 2 * i, 3, "%02x", data[i]);
        json_str(j, key, text);
}

static void plan_member(struct json *j, const struct plan *p) {
        const size_t before = j->text.len;
        const bool first = j->first;

        json_begin(j, "plan", '{');
        plan_json(p, false, j);
        json_end(j, '}');
        if (j->text.failed || j->text.len - before > PLAN_MAX) {
                j->text.len = before;
                j->text.failed = false;
                j->first = first;
                j->depth = 1;
                json_str(j, "plan", NULL);
        }
}

/* With the state that is in force as it was read back, and the policy. */
void record_start(struct supervisor *x) {
        struct record *k = &x->record;
        struct event ev = {.kind = EVENT_START, .rule = EVENT_NO_RULE};
        const struct plan_network *n = &x->plan->network;

        event_now(&ev);
        if (n->on) {
                uint8_t hash[SHA256_SIZE];
                sha256(n->table, n->table_size, hash);
                (void)sha256_text(hash, ev.digest);
        }
        struct json *j = trail_begin(&k->trail, &ev, &k->text);
        json_num(j, "trail", 1);
        json_str(j, "id", x->s->state->id);
        json_hex(j, "key", trail_key_public(&k->key), TRAIL_PUBLIC_SIZE);
        json_num(j, "supervisor", getpid());
        json_num(j, "init", x->init_pid);
        supervisor_readback_json(j, x);
        plan_member(j, x->plan);
        int r = trail_finish(&k->trail, &ev, &k->text);
        k->started = true;
        if (r < 0)
                record_failed(x, r);
}

int record_end(struct supervisor *x) {
        struct record *k = &x->record;
        struct event ev = {.kind = EVENT_END, .rule = EVENT_NO_RULE};

        if (!k->started || k->ended)
                return 0;
        event_now(&ev);
        struct json *j = trail_begin(&k->trail, &ev, &k->text);
        json_str(j, "end", run_end_name(x->result.end));
        json_num(j, "status", x->result.status);
        json_num(j, "wall_ms", (long long)x->result.wall_ms);
        json_num(j, "cpu_ms", (long long)x->result.cpu_ms);
        json_num(j, "memory_peak", (long long)x->result.memory_peak);
        json_num(j, "processes_peak", x->result.processes_peak);
        json_bool(j, "changed", x->result.changed);
        int r = trail_finish(&k->trail, &ev, &k->text), w = flush(k);
        k->ended = r == 0 && k->written.seq == k->trail.seq; /* also where nothing more can be reserved */
        return k->ended ? 0 : MIN(r, w);
}
