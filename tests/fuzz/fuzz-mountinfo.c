/* /proc/self/mountinfo: what was read is written again as the kernel would, and must be read the same. */
#include <stdlib.h>
#include <string.h>

#include "base/mountinfo.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

/* As the kernel's seq_escape(m, s, " \t\n\\"). */
static void escape(struct strbuf *b, const char *s) {
        for (; *s; s++)
                if (strchr(" \t\n\\", *s))
                        strbuf_printf(b, "\\%03o", (unsigned)*s);
                else
                        strbuf_add(b, s, 1);
}

static void write_mount(struct strbuf *b, const struct mountinfo *m) {
        strbuf_printf(b, "%llu %llu %u:%u ", m->id, m->parent, m->major, m->minor);
        escape(b, m->root);
        strbuf_puts(b, " ");
        escape(b, m->target);
        strbuf_puts(b, " ");
        escape(b, m->options);
        if (m->fields[0])
                strbuf_printf(b, " %s", m->fields);
        strbuf_puts(b, " - ");
        escape(b, m->fstype);
        strbuf_puts(b, " ");
        escape(b, m->source);
        strbuf_puts(b, " ");
        escape(b, m->super);
        strbuf_puts(b, "\n");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        _cleanup_free_ char *text = strndup((const char *)data, size);
        _cleanup_free_ struct mountinfo *m = NULL, *again = NULL;
        _cleanup_strbuf_ struct strbuf b = {};
        size_t n, k;

        must(text);
        if (mountinfo_parse(text, &m, &n) < 0)
                return 0;
        for (size_t i = 0; i < n; i++) {
                must(m[i].target[0] == '/' && m[i].root[0] && m[i].fstype[0]);
                must(!strchr(m[i].fields, '\n'));
                write_mount(&b, &m[i]);
                if (path_beneath(m[i].target, "/"))
                        must(mountinfo_of_path(m, n, m[i].target));
                must(!m[i].super[0] || m[i].super[0] == ',' || strchr(m[i].super, ',') ||
                     mountinfo_has_option(m[i].super, m[i].super));
        }
        _cleanup_free_ char *written = strbuf_take(&b);
        must(written && mountinfo_parse(written, &again, &k) == 0 && k == n);
        for (size_t i = 0; i < n; i++) {
                must(m[i].id == again[i].id && m[i].parent == again[i].parent);
                must(m[i].major == again[i].major && m[i].minor == again[i].minor);
                must(streq(m[i].root, again[i].root) && streq(m[i].target, again[i].target));
                must(streq(m[i].options, again[i].options) && streq(m[i].fields, again[i].fields));
                must(streq(m[i].fstype, again[i].fstype) && streq(m[i].source, again[i].source));
                must(streq(m[i].super, again[i].super));
        }
        return 0;
}
