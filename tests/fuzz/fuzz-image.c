/* What an import reads itself: JSON of images, records of the store; and the guard of names in a tar. The first byte chooses.
 * What is accepted is within its caps, and a record survives being written and read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "role/unpack/guard.h"
#include "svc/image-oci.h"
#include "svc/image-record.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)

static bool is_hex(const char *s) { return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64; }

static void check_record(const char *text, size_t n) {
        struct image a = {}, b = {};
        struct strbuf one = {}, two = {};

        if (image_record_parse(text, n, &a) < 0)
                return;
        must(a.name && a.ids && a.keys.n > 0 && a.keys.n <= IMAGE_LAYERS_MAX);
        image_record_write(&a, &one);
        must(one.data && image_record_parse(one.data, one.len, &b) == 0);
        image_record_write(&b, &two);
        must(two.len == one.len && memcmp(one.data, two.data, one.len) == 0);
        strbuf_clear(&one);
        strbuf_clear(&two);
        image_clear(&a);
        image_clear(&b);
}

static void check_config(const char *text, size_t n) {
        struct image i = {};
        struct strlist ids = {};
        struct error e = {};

        int r = oci_config_parse(text, n, &i, &ids, &e);
        must(r == 0 || (e.errnum == -r && e.msg[0]));
        if (r < 0)
                return;
        must(i.workdir[0] == '/' && !path_has_dotdot(i.workdir) && ids.n > 0 && ids.n <= IMAGE_LAYERS_MAX);
        for (size_t k = 0; k < ids.n; k++)
                must(is_hex(ids.items[k]));
        for (size_t k = 0; k < i.env.n; k++) {
                size_t len = strcspn(i.env.items[k], "=");
                must(len > 0 && i.env.items[k][len] == '=');
                for (size_t other = 0; other < k; other++)
                        must(strncmp(i.env.items[other], i.env.items[k], len + 1) != 0);
        }
        must(!strpbrk(i.user, " \n\t"));
        strlist_clear(&ids);
        image_clear(&i);
}

static void check_manifests(const char *text, size_t n) {
        struct oci_manifest m = {};
        struct oci_blob b = {};
        struct strlist layers = {};
        struct error e = {};
        char *name = NULL, *config = NULL;
        bool again;

        if (oci_manifest_parse(text, n, &m, &e) == 0) {
                must(m.n_layers > 0 && m.n_layers <= IMAGE_LAYERS_MAX && is_hex(m.config.hex));
                for (size_t k = 0; k < m.n_layers; k++)
                        must(is_hex(m.layers[k].hex));
                oci_manifest_clear(&m);
        }
        if (oci_index_parse(text, n, &(struct oci_wish){}, &b, &again, &name, &e) == 0)
                must(is_hex(b.hex));
        if (oci_is_index(text, n, &again, &e) == 0 && !again)
                must(oci_index_parse(text, n, &(struct oci_wish){.best = true}, &b, &again, &name, &e) < 0);
        free(name);
        name = NULL;
        if (docker_manifest_parse(text, n, NULL, &config, &layers, &name, &e) == 0)
                must(config && layers.n > 0);
        free(name);
        free(config);
        strlist_clear(&layers);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        if (size == 0)
                return 0;
        char *text = malloc(size);
        must(text);
        memcpy(text, data + 1, size - 1);
        size_t n = size - 1;
        text[n] = 0;
        switch (data[0] % 5) {
        case 0: check_record(text, n); break;
        case 1: check_config(text, n); break;
        case 2: check_manifests(text, n); break;
        case 3: {
                struct layer_counts c;
                (void)!layer_record_parse(text, n, &c);
                break;
        }
        default: {
                struct guard whole = {}, split = {};
                guard_feed(&whole, text, n);
                for (size_t i = 0; i < n; i++)
                        guard_feed(&split, text + i, 1);
                must(whole.nul == split.nul && whole.lost == split.lost);
                guard_clear(&whole);
                guard_clear(&split);
        }
        }
        free(text);
        return 0;
}
