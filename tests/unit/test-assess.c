/* assess: how it reads, and what names, values and paths mean. That each rule finds what it should, and nothing in a
 * clean twin, is tested on files in tests/integration/assess. */
#include <errno.h>

#include "model/assess-internal.h"
#include "tap.h"

static struct assessment *assessed(const char *text) {
        struct assessment *a = NULL;
        struct error e = {};
        int r = assess_read(text, strlen(text), "f", &a, &e);
        if (r < 0)
                printf("# %s\n", e.msg);
        check(r == 0 && a);
        return a;
}

static void refused(const char *text, int errnum, const char *part) {
        struct assessment *a = (void *)1;
        struct error e = {};
        int r = assess_read(text, strlen(text), "f", &a, &e);
        if (r != -errnum || !strstr(e.msg, part))
                printf("# %d: %s\n", r, e.msg);
        check(r == -errnum && a == (void *)1 && strstr(e.msg, part));
}

/* The line of the nth place of a rule; 0: there is none. */
static unsigned line_of(const struct assessment *a, enum rule_id rule, size_t n) {
        return n < a->findings[rule].places.n ? a->findings[rule].places.items[n].line : 0;
}
static const char *detail_of(const struct assessment *a, enum rule_id rule, size_t n) {
        return n < a->findings[rule].places.n ? a->findings[rule].places.items[n].detail : NULL;
}

TEST(every_rule_is_complete) {
        for (size_t i = 0; i < RULE_N; i++) {
                const struct rule *r = &assess_rules[i];
                check(r->id && r->title && r->follows && r->mend);
                check(!strchr(r->title, '\n') && !strchr(r->follows, '\n'));
                for (size_t k = 0; k < i; k++)
                        check(!streq(assess_rules[k].id, r->id));
        }
}

TEST(secret_names) {
        static const char *const yes[] = {"TOKEN", "GITHUB_TOKEN", "githubToken", "API_KEY", "OPENAI_API_KEY", "apiKey",
                "POSTGRES_PASSWORD", "PGPASSWORD", "DB_PWD", "SECRET_KEY_BASE", "AWS_SECRET_ACCESS_KEY",
                "AWS_ACCESS_KEY_ID", "CLIENT_SECRET", "API_KEY_2", "SMTP_PASS", "APP_KEY", "passphrase",
                "GOOGLE_APPLICATION_CREDENTIALS", "MY-API-KEY", "GH_PAT", "JWT_SECRET"};
        static const char *const no[] = {"", "PWD", "KEY", "PATH", "TOKEN_EXPIRY", "POSTGRES_PASSWORD_FILE",
                "PASSWORD_MIN_LENGTH", "PUBLIC_KEY", "MAX_TOKENS", "KEYCLOAK_URL", "MYSQL_ALLOW_EMPTY_PASSWORD",
                "SECRET_NAME", "CACHE_KEY", "API_KEY_HEADER", "KEYBOARD", "MONKEY", "COMPASS", "BYPASS", "TOKENIZER",
                "NO_PASSWORD", "PARTITION_KEY"};
        for (size_t i = 0; i < ELEMENTSOF(yes); i++) {
                if (!secret_name(yes[i]))
                        printf("# %s\n", yes[i]);
                check(secret_name(yes[i]));
        }
        for (size_t i = 0; i < ELEMENTSOF(no); i++) {
                if (secret_name(no[i]))
                        printf("# %s\n", no[i]);
                check(!secret_name(no[i]));
        }
        _cleanup_free_ char *longest = malloc(100001);
        check(longest);
        memset(longest, 'a', 100000);
        longest[100000] = 0;
        check(!secret_name(longest));
}

/* The forms are put together here, so that no scanner takes this file for a leak. */
TEST(secret_forms) {
        static const struct { const char *prefix, *rest, *what;
        } yes[] = {{"ghp", "_0123456789abcdefghijABCDEFGHIJ012345", "a GitHub token"},
                {"github_", "pat_11ABCDEFG0123456789_abcdefghijklmnopqrstuvwxyz", "a GitHub token"},
                {"AKI", "A0123456789ABCDEF", "an AWS key"}, {"xai", "-0123456789abcdefghijABCDEFGHIJ0123456789", "an xAI key"},
                {"AGE-SECRET", "-KEY-1QQPQZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54K", "an age key"}, {"xox", "b-123456789012-abcdefghijkl", "a Slack token"},
                {"sk-", "ant-api03-abcdefghijklmnopqrst", "an Anthropic key"},
                {"sk-", "abcdefghijklmnopqrstuvwxyzABCDEF0123", "an API key (sk-)"},
                {"-----BEGIN ", "RSA PRIVATE KEY-----\nMII", "a private key"},
                {"-----BEGIN ", "PRIVATE KEY-----", "a private key"},
                {"postgres", "://u:pw1@db/x", "an address with a password"},
                {"x https", "://u:pw@h", "an address with a password"},
                {"--token=ghp", "_0123456789abcdefghijABCDEFGHIJ012345 x", "a GitHub token"}};
        static const char *const no[] = {"", "ghp_short", "sk-", "AKIA", "postgres://u@db/x", "postgres://u:${PW}@db",
                "postgres://u:@db", "http://h:80/x@y", "-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----",
                "task-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL0123", "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "://",
                "://:", "-----BEGIN ", "a://b:c", "ghp_", "sk_test_0123456789abcdefghij"};
        for (size_t i = 0; i < ELEMENTSOF(yes); i++) {
                char s[200];
                snprintf(s, sizeof(s), "%s%s", yes[i].prefix, yes[i].rest);
                check_streq(secret_form(s), yes[i].what);
        }
        for (size_t i = 0; i < ELEMENTSOF(no); i++) {
                if (secret_form(no[i]))
                        printf("# %s is %s\n", no[i], secret_form(no[i]));
                check(!secret_form(no[i]));
        }
}

TEST(placeholders) {
        static const char *const yes[] = {"", "true", "No", "<token>", "your-key-here", "YOUR_API_KEY", "xxxx", "****",
                "/run/secrets/x", "...", "{{ x }}"};
        static const char *const no[] = {"changeme", "hunter2", "password", "a/b", "nobody", "x1"};
        for (size_t i = 0; i < ELEMENTSOF(yes); i++)
                check(secret_placeholder(yes[i]));
        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                check(!secret_placeholder(no[i]));
}

TEST(paths) {
        static const struct { const char *path; enum path_kind kind;
        } t[] = {{"/", PATH_ROOT}, {"//", PATH_ROOT}, {"/var/run/docker.sock", PATH_SOCKET},
                {"/run/docker.sock", PATH_SOCKET}, {"/private/var/run/docker.sock", PATH_SOCKET},
                {"/run/containerd/containerd.sock", PATH_SOCKET},
                {"/run/user/1000/podman/podman.sock", PATH_SOCKET_USER},
                {"~/.docker/run/docker.sock", PATH_SOCKET_USER}, {"/run/podman/podman.sock", PATH_SOCKET},
                {"${XDG_RUNTIME_DIR}/docker.sock", PATH_SOCKET_USER}, {"\\\\.\\pipe\\docker_engine", PATH_SOCKET},
                {"/var/run/", PATH_HOST_SOCKET}, {"/run/dbus/system_bus_socket", PATH_HOST_SOCKET},
                {"/run/secrets/x", PATH_PLAIN}, {"${SSH_AUTH_SOCK}", PATH_AGENT_SOCKET},
                {"/tmp/.X11-unix", PATH_AGENT_SOCKET}, {"/etc", PATH_SYSTEM_SECRET}, {"/etc/", PATH_SYSTEM_SECRET},
                {"/etc/localtime", PATH_PLAIN}, {"/etc/passwd", PATH_SYSTEM}, {"/etc/shadow", PATH_SYSTEM_SECRET},
                {"/usr/bin", PATH_SYSTEM}, {"/usrx", PATH_PLAIN}, {"/lib/modules", PATH_SYSTEM}, {"/root", PATH_HOME},
                {"/home", PATH_HOME}, {"/home/u", PATH_HOME}, {"/home/u/project", PATH_PLAIN}, {"~", PATH_HOME},
                {"~/.ssh", PATH_SECRET}, {"${HOME}/.aws/credentials", PATH_SECRET}, {"~/.bashrc", PATH_SYSTEM},
                {"/Users/u/.kube/config", PATH_SECRET}, {"~/.sshx", PATH_PLAIN}, {"~x", PATH_DATA},
                {"${HOMEX}/.ssh", PATH_DATA}, {".", PATH_PROJECT}, {"./", PATH_PROJECT}, {"..", PATH_PROJECT},
                {"../..", PATH_PROJECT}, {"./data", PATH_DATA}, {"${PWD}", PATH_PROJECT}, {"/proc", PATH_PROC},
                {"/sys", PATH_SYSTEM}, {"/sys/fs/cgroup", PATH_CGROUP}, {"/dev", PATH_DEV},
                {"/var/lib/kubelet/pods", PATH_SYSTEM_SECRET}, {"/var/lib/docker", PATH_SYSTEM_SECRET},
                {"/srv/data", PATH_PLAIN}, {"", PATH_DATA}};
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                if (path_kind(t[i].path) != t[i].kind)
                        printf("# %s is %d\n", t[i].path, path_kind(t[i].path));
                check(path_kind(t[i].path) == t[i].kind);
        }
        char longest[5000];
        memset(longest, 'a', sizeof(longest) - 1);
        longest[0] = '~';
        longest[1] = '/';
        longest[sizeof(longest) - 1] = 0;
        check(path_kind(longest) == PATH_PLAIN);
        check(path_runs("~/.claude") && path_runs("/home/u/.ssh/") && !path_runs("~/.ssh/id_rsa") &&
                !path_runs("/srv/.ssh"));
}

TEST(interpolation) {
        static const struct { const char *in, *out; bool passed, by_default;
        } t[] = {{"plain", "plain", false, false}, {"${A}", "${A}", true, false}, {"$A", "${A}", true, false},
                {"x${A}y", "x${A}y", true, false}, {"${A:-d}", "d", true, true}, {"${A-d}", "d", true, true},
                {"${A:-${B:-e}}", "e", true, true}, {"${A:-${B}}/x", "${B}/x", true, true},
                {"${A:?must be set}", "${A}", true, false}, {"${A:+alt}", "${A}", true, false},
                {"$$A", "$A", false, false}, {"${", "${", false, false}, {"${A", "${A", false, false},
                {"$", "$", false, false}, {"a$", "a$", false, false}, {"${A:-}", "", true, true},
                {"$1", "$1", false, false}, {"${A:-a:b}:/c:ro", "a:b:/c:ro", true, true}};
        _cleanup_assessment_ struct assessment *a = assessed("services: {a: {image: b}}");
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct yaml_node n = {.kind = YAML_KIND_SCALAR, .text = (char *)t[i].in, .len = strlen(t[i].in)};
                bool passed = false, by_default = false;
                check_streq(node_expand(a, &n, &passed, &by_default), t[i].out);
                check(passed == t[i].passed && by_default == t[i].by_default);
        }
        /* A text full of openings takes no square of time. */
        _cleanup_strbuf_ struct strbuf b = {};
        for (int i = 0; i < 300000; i++)
                strbuf_puts(&b, "${a:-");
        struct yaml_node n = {.kind = YAML_KIND_SCALAR, .text = b.data, .len = b.len};
        check(node_expand(a, &n, NULL, NULL));
}

TEST(volumes) {
        _cleanup_assessment_ struct assessment *a =
                assessed("services:\n  a:\n    image: x:1\n    volumes:\n"
                         "      - /etc:/e\n      - /etc:/f:ro\n      - data:/d\n      - /anonymous\n      - "
                         "./src:/src:rw,z\n      - ${S:-/var/run/docker.sock}:/s:ro\n"
                         "      - {type: bind, source: /usr, target: /u, read_only: true}\n      - {type: volume, "
                         "source: v, target: /v}\n"
                         "      - {type: bind, source: /boot, target: /b}\n      - disguised:/z\n      - 'C:\\x:/x'\n  "
                         "    - ~/.ssh/id:/k:ro\n"
                         "volumes:\n  disguised:\n    driver_opts: {type: none, o: bind, device: /root}\n");
        check(line_of(a, RULE_HOST_WRITABLE, 0) == 5 && line_of(a, RULE_HOST_WRITABLE, 1) == 13 &&
                line_of(a, RULE_HOST_WRITABLE, 2) == 14);
        check(line_of(a, RULE_HOST_WRITABLE, 3) == 0);
        check(line_of(a, RULE_HOST_SECRET, 0) == 6 && line_of(a, RULE_HOST_SECRET, 1) == 16 &&
                line_of(a, RULE_HOST_SECRET, 2) == 0);
        check(line_of(a, RULE_SOCKET, 0) == 10);
        check_streq(detail_of(a, RULE_SOCKET, 0), "/var/run/docker.sock, read-only (by default)");
        check(line_of(a, RULE_DATA_WRITABLE, 0) == 9);
}

TEST(ports) {
        _cleanup_assessment_ struct assessment *a = assessed(
                "services:\n  a:\n    image: x:1\n    ports:\n      - '80:80'\n      - 127.0.0.1:81:81\n      - "
                "'[::1]:82:82'\n      - 83\n      - '0.0.0.0:84:84/udp'\n"
                "      - {target: 5432, published: 5432, host_ip: 127.0.0.1}\n      - {target: 6379, published: "
                "6379}\n      - '127.0.0.1::85'\n      - '${ADDR}:86:86'\n      - '9000-9010:9000-9010'\n"
                "      - ${P:-5433}:5432\n      - 2375:2375\n");
        static const unsigned all[] = {5, 8, 9, 14, 0};
        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                check(line_of(a, RULE_PORT_ALL, i) == all[i]);
        check(line_of(a, RULE_PORT_STORE, 0) == 11 && line_of(a, RULE_PORT_STORE, 1) == 15 &&
                !line_of(a, RULE_PORT_STORE, 2));
        check(line_of(a, RULE_API_PORT, 0) == 16);
        check_streq(detail_of(a, RULE_PORT_STORE, 1), "5433 to 5432");
}

TEST(extends_and_merges) {
        _cleanup_assessment_ struct assessment *a =
                assessed("x-base: &b\n  privileged: true\nservices:\n  base:\n    image: x:1\n    cap_add: "
                         "[SYS_ADMIN]\n    pid: host\n"
                         "  one:\n    extends: base\n    pid: service:base\n  two:\n    <<: *b\n    extends: {service: "
                         "one}\n    image: y\n"
                         "  loop:\n    extends: {service: loop}\n    image: z:1\n  other:\n    extends: {file: o.yaml, "
                         "service: q}\n    image: z:1\n");
        check(line_of(a, RULE_CAP_HOST, 0) == 6 && line_of(a, RULE_CAP_HOST, 1) == 6 && !line_of(a, RULE_CAP_HOST, 2));
        check(line_of(a, RULE_PRIVILEGED, 0) == 2 && !line_of(a, RULE_PRIVILEGED, 1));
        check(line_of(a, RULE_HOST_PID, 0) == 7 &&
                !line_of(a, RULE_HOST_PID, 1)); /* of base alone: one says otherwise */
        check(line_of(a, RULE_IMAGE, 0) == 14);
        check(a->notes.n == 1 && strstr(a->notes.items[0], "o.yaml"));
}

TEST(networks) {
        _cleanup_assessment_ struct assessment *a =
                assessed("services:\n  none: {image: x:1, network_mode: none, ports: ['1:1']}\n  inner: {image: x:1, "
                         "networks: [i]}\n  both: {image: x:1, networks: {i: {}, o: }}\n"
                         "  side: {image: x:1, network_mode: 'service:inner'}\n  host: {image: x:1, network_mode: "
                         "host}\n  bridge: {image: x:1, network_mode: bridge}\n  h2: {image: x:1, networks: [h]}\n"
                         "networks:\n  i: {internal: true}\n  o:\n  h: {external: true, name: host}\n");
        check(line_of(a, RULE_EGRESS, 0) == 4 && line_of(a, RULE_EGRESS, 1) == 6 && line_of(a, RULE_EGRESS, 2) == 7 &&
                line_of(a, RULE_EGRESS, 3) == 8);
        check(!line_of(a, RULE_EGRESS, 4) && !line_of(a, RULE_PORT_ALL, 0));
        check(line_of(a, RULE_HOST_NETWORK, 0) == 6 && line_of(a, RULE_HOST_NETWORK, 1) == 8 &&
                line_of(a, RULE_BRIDGE, 0) == 7);
        _cleanup_assessment_ struct assessment *d =
                assessed("services:\n  a: {image: x:1}\n  b: {image: x:1}\nnetworks: {default: {internal: true}}\n");
        check(!line_of(d, RULE_EGRESS, 0) && !line_of(d, RULE_SHARED_NETWORK, 0));
        _cleanup_assessment_ struct assessment *v1 = assessed("web:\n  image: x:1\n  net: host\ndb:\n  build: .\n");
        check(v1->units.n == 2 && line_of(v1, RULE_HOST_NETWORK, 0) == 3 && line_of(v1, RULE_BRIDGE, 0) == 4);
}

TEST(variables_and_values) {
        _cleanup_assessment_ struct assessment *a =
                assessed("services:\n  a:\n    image: x:1\n    environment:\n      A_TOKEN: abc\n      B_TOKEN: ${B}\n "
                         "     C_TOKEN:\n      D_TOKEN: ${D:-dflt}\n      E_TOKEN: ''\n      F_FILE: x\n"
                         "      URL: redis://:pw@h/0\n    command: [run, --api-key=k1, --password, '$P', "
                         "'--token=${T}']\n    labels: ['x.auth.password=p1']\n    build: {args: {NPM_TOKEN: }}\n");
        check(line_of(a, RULE_SECRET_LITERAL, 0) == 5 && line_of(a, RULE_SECRET_LITERAL, 1) == 8 &&
                !line_of(a, RULE_SECRET_LITERAL, 2));
        check_streq(detail_of(a, RULE_SECRET_LITERAL, 1), "D_TOKEN (by default)");
        check(line_of(a, RULE_SECRET_ENV, 0) == 6 && line_of(a, RULE_SECRET_ENV, 1) == 7 &&
                !line_of(a, RULE_SECRET_ENV, 2));
        check(line_of(a, RULE_SECRET_KNOWN, 0) == 11 && line_of(a, RULE_SECRET_ARG, 0) == 12 &&
                !line_of(a, RULE_SECRET_ARG, 1));
        check(line_of(a, RULE_SECRET_LABEL, 0) == 13 && line_of(a, RULE_SECRET_BUILD, 0) == 14);
        /* No value is shown. */
        _cleanup_free_ char *t = assess_text(a, "f", false), *j = assess_json(a, "f");
        check(t && j);
        static const char *const values[] = {"abc", "dflt", "pw@", "k1", "p1"};
        for (size_t i = 0; i < ELEMENTSOF(values); i++)
                check(!strstr(t, values[i]) && !strstr(j, values[i]));
}

TEST(names_cannot_steer_the_terminal) {
        _cleanup_assessment_ struct assessment *a =
                assessed("{\"services\": {\"\\u001b[2Jx\\n\\u202e\": {\"image\": \"\\u001b]0;y\\u0007\", \"devices\": "
                         "[\"/dev/\\u009b\"]}}}");
        _cleanup_free_ char *t = assess_text(a, "\x1b[31mf", false), *j = assess_json(a, "f");
        check(t && j);
        for (const char *p = t; *p; p++)
                check((unsigned char)*p >= 0x20 || *p == '\n');
        check(!strstr(t, "\xc2\x9b") && !strstr(t, "\xe2\x80\xae") && !strchr(j, '\x1b'));
}

TEST(formats) {
        static const struct { const char *text; enum format format;
        } t[] = {{"services: {a: {image: b}}", FORMAT_COMPOSE},
                {"[{\"Name\": \"/a\", \"HostConfig\": {}, \"Config\": {}}]", FORMAT_INSPECT},
                {"apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, image: b}]}", FORMAT_POD},
                {"{\"image\": \"a\", \"features\": {}}", FORMAT_DEVCONTAINER},
                {"{\"permissions\": {\"allow\": []}}", FORMAT_CLAUDE},
                {"{\"sandbox\": {\"enabled\": true}}", FORMAT_CLAUDE},
                {"{\"network\": {\"allowedDomains\": []}, \"filesystem\": {}}", FORMAT_SRT},
                {"// x\n{\"name\": \"a\", \"build\": {\"dockerfile\": \"D\"}}", FORMAT_DEVCONTAINER}};
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                _cleanup_assessment_ struct assessment *a = assessed(t[i].text);
                check(a->format == t[i].format);
        }
        refused("", EINVAL, "empty");
        refused("a: b", EINVAL, "none of what");
        refused("[1]", EINVAL, "none of what");
        refused("x", EINVAL, "none of what");
        refused("services: {}", EINVAL, "no service");
        refused("apiVersion: v1\nkind: Service\nspec: {}\n", EINVAL, "no pod");
        refused("a: [", EINVAL, "f:");
        refused("a:\n  {{ .Values.x }}\n", EINVAL, "f:2");
        refused("a: \xff", EINVAL, "f:1:4");
}

/* Shapes that are wrong everywhere: nothing is found, nothing breaks. */
TEST(wrong_shapes) {
        static const char *const t[] = {
                "services: {a: {image: [x], volumes: x, ports: {a: b}, environment: 1, cap_add: {}, networks: 1, "
                "security_opt: x, deploy: [], extends: [a], devices: 1, labels: [[a]], secrets: {}, env_file: [[], "
                "{}], build: [], healthcheck: 1, gpus: all, volumes_from: 1}}",
                "services: {a: {volumes: [[], {}, {source: []}, ~], ports: [[], {}, ~], environment: [[], {}, ~], "
                "networks: [[], ~]}, b: 1, c: ~}",
                "[{\"HostConfig\": [], \"Config\": 1, \"Name\": []}, 1, {\"HostConfig\": {\"Devices\": [1], "
                "\"PortBindings\": {\"1\": 1, \"2\": [1]}, \"SecurityOpt\": [[]], \"RestartPolicy\": 1}, \"Name\": "
                "\"/x\"}]",
                "apiVersion: v1\nkind: Pod\nmetadata: 1\nspec: {containers: [1, {}, {env: [1, {}], volumeMounts: [1, "
                "{name: v}], securityContext: 1, resources: 1, ports: [1]}], volumes: [1, {name: v}]}",
                "{\"image\": 1, \"runArgs\": [[], \"--privileged\", \"-v\"], \"mounts\": [1, {}], \"features\": [], "
                "\"containerEnv\": [1], \"appPort\": {}}",
                "{\"permissions\": {\"allow\": [1, [], \"Bash(\", \"Bash)\", \"Bash()\", \"(\"], \"deny\": 1}, "
                "\"sandbox\": {\"enabled\": [], \"network\": 1}, \"env\": [1]}",
                "{\"network\": {\"allowedDomains\": {}, \"allowUnixSockets\": [[]]}, \"filesystem\": {\"denyRead\": 1, "
                "\"allowWrite\": [[]]}}"};
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct assessment *a = NULL;
                struct error e = {};
                int r = assess_read(t[i], strlen(t[i]), "f", &a, &e);
                check(r == 0 || (r == -EINVAL && e.msg[0]));
                if (a) {
                        _cleanup_free_ char *text = assess_text(a, "f", true), *json = assess_json(a, "f");
                        check(text && json);
                }
                assess_free(a);
        }
}

TEST(caps) {
        _cleanup_strbuf_ struct strbuf b = {};
        strbuf_puts(&b, "services:\n");
        for (unsigned i = 0; i <= ASSESS_UNITS_MAX; i++)
                strbuf_printf(&b, "  s%u: {image: x:1}\n", i);
        refused(b.data, E2BIG, "more than");
        /* Many services that extend one with many variables. */
        _cleanup_strbuf_ struct strbuf x = {};
        strbuf_puts(&x, "services:\n  base:\n    image: x:1\n    environment:\n");
        for (unsigned i = 0; i < 1000; i++)
                strbuf_printf(&x, "      A%u_TOKEN: v\n", i);
        for (unsigned i = 0; i < 1000; i++)
                strbuf_printf(&x, "  s%u: {extends: base}\n", i);
        refused(x.data, E2BIG, "more than");
}

TEST(severities) {
        enum assess_severity s = ASSESS_LOW;
        check(assess_severity_parse("high", &s) == 0 && s == ASSESS_HIGH);
        check(assess_severity_parse("severe", &s) == -EINVAL && s == ASSESS_HIGH);
        _cleanup_assessment_ struct assessment *a = assessed("services: {a: {image: x:1, privileged: true}}");
        check(assess_count(a, ASSESS_HIGH) == 1 && assess_count(a, ASSESS_LOW) > assess_count(a, ASSESS_MEDIUM));
}

TAP_MAIN
