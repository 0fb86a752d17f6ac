/* JSON of images: what is read, what is refused. The whole documents of hostile images are tests/containment/archives'. */
#include "svc/image-oci.h"
#include "tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX2 "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BLOB(m, h) "{\"mediaType\":\"" m "\",\"digest\":\"sha256:" h "\",\"size\":7"
#define MANIFEST "application/vnd.oci.image.manifest.v1+json"

TEST(digests) {
        char hex[65] = "";
        check(oci_digest_parse("sha256:" HEX, hex) == 0);
        check_streq(hex, HEX);
        static const char *const bad[] = {"", HEX, "sha256:", "sha256:" HEX "0", "sha512:" HEX, "SHA256:" HEX, "sha256:../" HEX,
                                          "sha256:F123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(oci_digest_parse(bad[i], hex) == -EINVAL);
}

static int index_of(const char *text, const char *ref, char **name, bool *again, char hex[65], struct error *e) {
        struct oci_blob b = {};
        *e = (struct error){};
        *name = NULL;
        int r = oci_index_parse(text, strlen(text), &(struct oci_wish){.ref = ref}, &b, again, name, e);
        memcpy(hex, b.hex, 65);
        return r;
}

TEST(index) {
        struct error e;
        char *name, hex[65];
        bool again;
        check(index_of("{\"manifests\":[" BLOB(MANIFEST, HEX) "}]}", NULL, &name, &again, hex, &e) == 0 && !again && !name);
        check_streq(hex, HEX);
        const char *two = "{\"manifests\":[" BLOB(MANIFEST, HEX) ",\"annotations\":{\"org.opencontainers.image.ref.name\":\"a\"}},"
                          BLOB(MANIFEST, HEX2) ",\"annotations\":{\"org.opencontainers.image.ref.name\":\"b\"}}]}";
        check(index_of(two, NULL, &name, &again, hex, &e) == -E2BIG && e.fix[0]);
        check(index_of(two, "b", &name, &again, hex, &e) == 0);
        check_streq(hex, HEX2);
        check_streq(name, "b");
        free(name);
        check(index_of(two, "c", &name, &again, hex, &e) == -ENOENT);
        const char *platforms = "{\"manifests\":[" BLOB(MANIFEST, HEX) ",\"platform\":{\"os\":\"linux\",\"architecture\":\"s390x\"}},"
                                BLOB("application/vnd.oci.image.index.v1+json", HEX2) ",\"platform\":{\"os\":\"linux\"}}]}";
        check(index_of(platforms, NULL, &name, &again, hex, &e) == 0 && again);
        check_streq(hex, HEX2);
        check(index_of("{\"manifests\":[" BLOB(MANIFEST, HEX) ",\"platform\":{\"os\":\"linux\",\"architecture\":\"s390x\"}}]}", NULL, &name, &again,
                       hex, &e) == -ENOENT);
        check(index_of("{}", NULL, &name, &again, hex, &e) == -EBADMSG);
        check(index_of("{\"manifests\":[{}]}", NULL, &name, &again, hex, &e) == -EBADMSG);
}

static int config_of(const char *inner, struct image *i, struct error *e) {
        _cleanup_strlist_ struct strlist ids = {};
        char text[2048];
        snprintf(text, sizeof(text), "{\"os\":\"linux\",\"rootfs\":{\"diff_ids\":[\"sha256:" HEX "\"]},\"config\":{%s}}", inner);
        *e = (struct error){};
        int r = oci_config_parse(text, strlen(text), i, &ids, e);
        check(r < 0 || (ids.n == 1 && streq(ids.items[0], HEX)));
        return r;
}

TEST(config) {
        _cleanup_image_ struct image i = {};
        struct error e;
        check(config_of("\"Env\":[\"A=1\",\"B=2\",\"A=3=4\"],\"Cmd\":null,\"Entrypoint\":[\"a\"],\"WorkingDir\":\"/x/./y//\",\"Labels\":null,"
                        "\"ExposedPorts\":{\"80\":{},\"5000-5010/udp\":{}},\"Unknown\":{\"x\":[1]}", &i, &e) == 0);
        check(i.env.n == 2);
        check_streq(i.env.items[0], "B=2");
        check_streq(i.env.items[1], "A=3=4");
        check_streq(i.workdir, "/x/y");
        check_streq(i.user, "");
        check(strlist_has(&i.ports, "80/tcp") && strlist_has(&i.ports, "5000-5010/udp"));
        static const char *const bad[][2] = {
                {"\"Env\":[\"A\"]", "Env"}, {"\"Env\":[\"=\"]", "Env"}, {"\"Env\":[\"A B=1\"]", "Env"}, {"\"Env\":\"A=1\"", "Env"},
                {"\"Env\":[1]", "Env"}, {"\"Cmd\":\"x\"", "Cmd"}, {"\"WorkingDir\":\"x\"", "WorkingDir"}, {"\"WorkingDir\":\"/..\"", "WorkingDir"},
                {"\"WorkingDir\":\"/a\\nb\"", "WorkingDir"}, {"\"WorkingDir\":[]", "WorkingDir"}, {"\"User\":\"a b\"", "User"}, {"\"User\":5", "User"},
                {"\"ExposedPorts\":{\"0\":{}}", "ExposedPorts"}, {"\"ExposedPorts\":{\"65536\":{}}", "ExposedPorts"},
                {"\"ExposedPorts\":{\"80/icmp\":{}}", "ExposedPorts"}, {"\"ExposedPorts\":{\"9-8\":{}}", "ExposedPorts"},
                {"\"ExposedPorts\":[80]", "ExposedPorts"}, {"\"Labels\":{\"a=b\":\"c\"}", "Labels"}, {"\"Labels\":{\"\":\"c\"}", "Labels"},
                {"\"Labels\":{\"a\":1}", "Labels"},
        };
        for (size_t k = 0; k < ELEMENTSOF(bad); k++) {
                struct image none = {};
                int r = config_of(bad[k][0], &none, &e);
                if (r != -EBADMSG || !strstr(e.msg, bad[k][1]))
                        printf("# %s: %d %s\n", bad[k][0], r, e.msg);
                check(r == -EBADMSG && strstr(e.msg, bad[k][1]) && !none.env.items);
        }
}

/* Depth is counted outside of strings only. */
TEST(depth) {
        _cleanup_image_ struct image i = {};
        struct error e;
        check(config_of("\"Cmd\":[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[\"]", &i, &e) == 0);
        struct image none;
        check(config_of("\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", &none, &e) == -EBADMSG &&
              strstr(e.msg, "deeper"));
}

TEST(docker) {
        _cleanup_strlist_ struct strlist layers = {};
        char *config = NULL, *name = NULL;
        struct error e = {};
        const char *text = "[{\"Config\":\"c.json\",\"RepoTags\":[\"a/b:1\"],\"Layers\":[\"x/layer.tar\",\"y\"]}]";
        check(docker_manifest_parse(text, strlen(text), NULL, &config, &layers, &name, &e) == 0);
        check_streq(config, "c.json");
        check_streq(name, "a/b:1");
        check(layers.n == 2);
        free(config);
        free(name);
        static const char *const bad[] = {"{}", "[]", "[{}]", "[{\"Config\":\"\",\"Layers\":[\"x\"]}]", "[{\"Config\":\"x\",\"Layers\":[]}]",
                                          "[{\"Config\":\"x\",\"Layers\":[1]}]", "[1]", "null", "[{\"Config\":\"x\",\"Layers\":[\"l\"]},{\"Config\":\"y\",\"Layers\":[\"l\"]}]"};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                e = (struct error){};
                check(docker_manifest_parse(bad[i], strlen(bad[i]), NULL, &config, &layers, &name, &e) < 0 && e.msg[0]);
        }
}

#define FOR(arch, more) ",\"platform\":{\"os\":\"linux\",\"architecture\":\"" arch "\"" more "}}"

static const char *chosen_of(const char *text, const char *platform) {
        static char hex[65];
        struct oci_blob b = {};
        struct error e = {};
        char *name = NULL;
        bool again;
        int r = oci_index_parse(text, strlen(text), &(struct oci_wish){.platform = platform, .best = true}, &b, &again, &name, &e);
        free(name);
        memcpy(hex, b.hex, 65);
        return r == -ENOENT ? "none" : r < 0 ? "error" : streq(hex, HEX) ? "1" : streq(hex, HEX2) ? "2" : "?";
}

TEST(platforms) {
        static const char *const good[] = {"amd64", "arm64", "linux/arm64", "linux/arm/v7", "arm/v7", "ppc64le"},
                                *const bad[] = {"", "/", "arm/", "/v7", "linux/", "linux/arm/v7/x", "windows/amd64/x", "Arm", "a b", "a=b",
                                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                check(oci_platform_valid(good[i]));
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(!oci_platform_valid(bad[i]));
        check(oci_platform_has("linux/arm/v7", "arm") && !oci_platform_has("arm", "arm64") && !oci_platform_has("arm64", "arm"));
        const char *two = "{\"manifests\":[" BLOB(MANIFEST, HEX) FOR("arm", ",\"variant\":\"v5\"") ","
                          BLOB(MANIFEST, HEX2) FOR("arm", ",\"variant\":\"v7\"") "]}";
        check_streq(chosen_of(two, "arm/v7"), "2");
        check_streq(chosen_of(two, "linux/arm/v7"), "2");
        check_streq(chosen_of(two, "arm"), "1");
        check_streq(chosen_of(two, "arm/v6"), "none");
        check_streq(chosen_of(two, "riscv64"), "none");
        const char *plain = "{\"manifests\":[" BLOB(MANIFEST, HEX) FOR("amd64", ",\"variant\":\"v3\"") "," BLOB(MANIFEST, HEX2) FOR("amd64", "") "]}";
        check_streq(chosen_of(plain, "amd64"), "2");
        check_streq(chosen_of(plain, "amd64/v3"), "1");
        check_streq(chosen_of("{\"manifests\":[" BLOB(MANIFEST, HEX) ",\"platform\":{\"os\":\"windows\",\"architecture\":\"amd64\"}}]}", "amd64"), "none");
        const char *v8 = "{\"manifests\":[" BLOB(MANIFEST, HEX) FOR("arm64", ",\"variant\":\"v9\"") "," BLOB(MANIFEST, HEX2) FOR("arm64", ",\"variant\":\"v8\"") "]}";
        check_streq(chosen_of(v8, "arm64"), "2");
}

TEST(kinds) {
        struct error e = {};
        bool index;
        const char *i = "{\"schemaVersion\":2,\"manifests\":[]}", *m = "{\"config\":{},\"layers\":[]}";
        check(oci_is_index(i, strlen(i), &index, &e) == 0 && index);
        check(oci_is_index(m, strlen(m), &index, &e) == 0 && !index);
        static const char *const bad[] = {"", "[]", "{}", "null", "{\"manifests\":[],\"layers\":[]}", "{\"manifests\":[],\"config\":{}}",
                                          "{\"schemaVersion\":1,\"fsLayers\":[]}", "{\"layers\":[],\"layers\":[]}"};
        for (size_t k = 0; k < ELEMENTSOF(bad); k++) {
                e = (struct error){};
                check(oci_is_index(bad[k], strlen(bad[k]), &index, &e) == -EBADMSG && e.msg[0]);
        }
}

TEST(manifest) {
        struct oci_manifest m = {};
        struct error e = {};
        const char *text = "{\"config\":" BLOB("application/vnd.oci.image.config.v1+json", HEX) "},\"layers\":["
                           BLOB("application/vnd.oci.image.layer.v1.tar+gzip", HEX2) "}]}";
        check(oci_manifest_parse(text, strlen(text), &m, &e) == 0 && m.n_layers == 1 && m.layers[0].size == 7);
        oci_manifest_clear(&m);
        static const char *const bad[] = {
                "{}", "[]", "{\"config\":" BLOB("application/vnd.oci.image.config.v1+json", HEX) "},\"layers\":[]}",
                "{\"config\":" BLOB("application/vnd.oci.image.config.v1+json", HEX) "},\"layers\":[" BLOB("text/plain", HEX) "}]}",
                "{\"config\":" BLOB("application/vnd.example", HEX) "},\"layers\":[" BLOB("application/vnd.oci.image.layer.v1.tar", HEX) "}]}",
                "{\"config\":{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\"sha256:" HEX "\",\"size\":-1},\"layers\":[]}",
        };
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                check(oci_manifest_parse(bad[i], strlen(bad[i]), &m, &e) == -EBADMSG);
}

TAP_MAIN
