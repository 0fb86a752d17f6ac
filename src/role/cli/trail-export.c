/* Records of the trail in the forms that other programs take; see trail.h. Each keeps the record's own line beside what was made of
 * it: that can still be verified, by whoever has all of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "role/cli/trail.h"

/* OCSF 1.3.0: which class of event each kind is, and which activity. */
static const struct ocsf_class {
        const char *kind;
        int category, class, activity, severity;
} ocsf_classes[] = {
        {"start", 6, 6002, 3, 1}, /* Application Lifecycle: start, stop */
        {"end", 6, 6002, 4, 1},
        {"exec", 1, 1007, 1, 1},  /* Process Activity: launch, terminate */
        {"exit", 1, 1007, 2, 1},
        {"file", 1, 1001, 14, 1}, /* File System Activity: open */
        {"dns", 4, 4003, 1, 1},   /* DNS Activity: query */
        {"connection", 4, 4001, 2, 1}, /* Network Activity: close */
        {"refusal", 4, 4001, 5, 3},    /* refuse */
        {"failure", 4, 4001, 4, 2},    /* fail */
        {"request", 4, 4002, 99, 1},   /* HTTP Activity: by its method */
        {"limit", 2, 2004, 1, 3},      /* Detection Finding: create */
        {"tripwire", 2, 2004, 1, 4},
        {"hold", 2, 2004, 1, 4},
        {"cut", 2, 2004, 1, 4},
        {"kill", 2, 2004, 1, 3},
        {NULL, 0, 0, 99, 1}, /* Base Event: other */
};

/* HTTP Activity's, by method. */
static int ocsf_method(const char *text) {
        static const char *const methods[] = {"CONNECT ", "DELETE ", "GET ", "HEAD ", "OPTIONS ", "POST ", "PUT ", "TRACE "};

        for (size_t i = 0; i < ELEMENTSOF(methods); i++)
                if (str_after(text, methods[i]))
                        return (int)i + 1;
        return 99;
}

static uint64_t time_ns(const char *text) {
        unsigned year, month, day, hour, minute, second, ns;

        if (sscanf(text, "%4u-%2u-%2uT%2u:%2u:%2u.%9uZ", &year, &month, &day, &hour, &minute, &second, &ns) != 7 || month < 1 || month > 12 || year < 1970 || ns > 999999999u)
                return 0;
        /* Days since 1970 of a date of the Gregorian calendar, counted in years that begin with March. */
        const uint64_t y = year - (month < 3), m = (month + 9) % 12, days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000000000u + ns;
}

static void set(json_t *o, const char *key, json_t *value) {
        if (json_object_set_new(o, key, value) < 0)
                json_decref(value);
}

static void copy(json_t *o, const char *key, json_t *record, const char *from) {
        json_t *v = json_object_get(record, from);
        if (v)
                json_object_set(o, key, v);
}

static json_t *endpoint(json_t *record) {
        json_t *o = json_object();

        copy(o, "hostname", record, "host");
        copy(o, "ip", record, "address");
        copy(o, "port", record, "port");
        return o;
}

static json_t *command_line(json_t *argv) {
        _cleanup_strbuf_ struct strbuf b = {};
        size_t i;
        json_t *v;

        json_array_foreach(argv, i, v) {
                strbuf_puts(&b, i ? " " : "");
                strbuf_puts(&b, json_is_string(v) ? json_string_value(v) : "");
        }
        return json_string(b.data ? b.data : "");
}

static json_t *ocsf_file(json_t *record, const char *key) {
        const char *path = trail_text(record, key), *slash = strrchr(path, '/');
        json_t *o = json_object();

        set(o, "path", json_string(path));
        set(o, "name", json_string(slash ? slash + 1 : path));
        set(o, "type_id", json_integer(1));
        return o;
}

static void ocsf_details(json_t *o, json_t *record, const struct ocsf_class *c) {
        const char *text = trail_text(record, "text");

        switch (c->class) {
        case 1007: {
                json_t *p = json_object(), *parent = json_object();
                copy(p, "pid", record, "pid");
                set(p, "cmd_line", command_line(json_object_get(record, "argv")));
                set(p, "file", ocsf_file(record, json_object_get(record, "exe") ? "exe" : "path"));
                copy(parent, "pid", record, "parent");
                set(p, "parent_process", parent);
                set(o, "process", p);
                copy(o, "exit_code", record, "status");
                break;
        }
        case 1001:
                set(o, "file", ocsf_file(record, "path"));
                break;
        case 4003: {
                json_t *q = json_object();
                copy(q, "hostname", record, "host");
                set(q, "type", json_string(text));
                set(o, "query", q);
                break;
        }
        case 4002: {
                json_t *q = json_object(), *url = json_object(), *response = json_object();
                const char *blank = strchr(text, ' ');
                set(q, "http_method", json_stringn_nocheck(text, blank ? (size_t)(blank - text) : strlen(text)));
                copy(url, "hostname", record, "host");
                copy(url, "port", record, "port");
                set(url, "path", json_string(blank ? blank + 1 : ""));
                set(q, "url", url);
                set(o, "http_request", q);
                copy(response, "code", record, "response");
                set(o, "http_response", response);
                break;
        }
        case 2004: {
                json_t *info = json_object();
                copy(info, "uid", o, "uid");
                set(info, "title", json_string(trail_text(record, "name")[0] ? trail_text(record, "name") : c->kind));
                set(o, "finding_info", info);
                break;
        }
        case 6002: {
                json_t *app = json_object();
                set(app, "name", json_string("belljar"));
                set(o, "app", app);
                break;
        }
        }
        if (c->category == 4) {
                json_t *traffic = json_object();
                copy(traffic, "bytes_out", record, "up");
                copy(traffic, "bytes_in", record, "down");
                set(o, "traffic", traffic);
                set(o, "dst_endpoint", endpoint(record));
                const bool refused = streq(c->kind, "refusal");
                set(o, "action_id", json_integer(refused ? 2 : 1));      /* denied, allowed */
                set(o, "disposition_id", json_integer(refused ? 2 : 1)); /* blocked, allowed */
                copy(o, "status_detail", record, "why");
        }
}

static json_t *ocsf(json_t *record, const char *line, size_t n, const char *id) {
        const struct ocsf_class *c = ocsf_classes;
        json_t *o = json_object(), *meta = json_object(), *product = json_object(), *device = json_object();
        char uid[64];

        while (c->kind && !streq(c->kind, trail_text(record, "kind")))
                c++;
        const int activity = c->class == 4002 ? ocsf_method(trail_text(record, "text")) : c->activity;
        snprintf(uid, sizeof(uid), "%.20s:%lld", id, (long long)json_integer_value(json_object_get(record, "seq")));
        set(o, "class_uid", json_integer(c->class));
        set(o, "category_uid", json_integer(c->category));
        set(o, "activity_id", json_integer(activity));
        set(o, "type_uid", json_integer(c->class * 100 + activity));
        set(o, "severity_id", json_integer(c->severity));
        set(o, "time", json_integer((json_int_t)(time_ns(trail_text(record, "time")) / 1000000)));
        set(product, "name", json_string("Belljar"));
        set(product, "vendor_name", json_string("Belljar"));
        set(meta, "version", json_string("1.3.0"));
        set(meta, "product", product);
        set(meta, "uid", json_string(uid));
        copy(meta, "sequence", record, "seq");
        copy(meta, "original_time", record, "time");
        set(o, "metadata", meta);
        set(device, "type_id", json_integer(6)); /* virtual */
        set(device, "uid", json_string(id));
        set(o, "device", device);
        _cleanup_strbuf_ struct strbuf words = {};
        trail_describe(record, &words);
        set(o, "message", json_string(words.data ? words.data : ""));
        ocsf_details(o, record, c);
        set(o, "unmapped", json_incref(record));
        set(o, "raw_data", json_stringn(line, n));
        return o;
}

static void attribute(json_t *list, const char *key, json_t *v) {
        json_t *value = NULL;

        if (json_is_string(v))
                value = json_pack("{s:O}", "stringValue", v);
        else if (json_is_integer(v)) { /* 64 bits are text, in the JSON of protocol buffers */
                char text[32];
                snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(v));
                value = json_pack("{s:s}", "intValue", text);
        } else if (json_is_boolean(v))
                value = json_pack("{s:O}", "boolValue", v);
        else if (v) {
                _cleanup_free_ char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
                value = json_pack("{s:s}", "stringValue", text ? text : "");
        }
        if (value)
                json_array_append_new(list, json_pack("{s:s, s:o}", "key", key, "value", value));
}

static const char *otel_name(const char *kind, const char *key, char dst[80]) {
        static const struct {
                const char *key, *name;
        } names[] = {
                {"pid", "process.pid"}, {"parent", "process.parent_pid"}, {"exe", "process.executable.path"}, {"argv", "process.command_args"}, {"cwd", "process.working_directory"},
                {"address", "network.peer.address"}, {"port", "server.port"}, {"response", "http.response.status_code"}, {"up", "network.io.transmit"}, {"down", "network.io.receive"},
        };

        if (streq(key, "host"))
                return streq(kind, "dns") ? "dns.question.name" : "server.address";
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(names[i].key, key))
                        return names[i].name;
        snprintf(dst, 80, "belljar.%.60s", key);
        return dst;
}

static json_t *otel(json_t *record, const char *line, size_t n, const char *id) {
        const char *kind = trail_text(record, "kind"), *key;
        bool warns = streq(kind, "refusal") || streq(kind, "failure") || streq(kind, "limit") || streq(kind, "lost"), alarm = streq(kind, "tripwire") || streq(kind, "hold") || streq(kind, "cut");
        json_t *list = json_array(), *v;
        _cleanup_strbuf_ struct strbuf words = {};
        char ns[32], name[80];

        (void)id;
        json_object_foreach(record, key, v)
                attribute(list, otel_name(kind, key, name), v);
        json_t *raw = json_stringn(line, n);
        attribute(list, "belljar.record", raw);
        json_decref(raw);
        trail_describe(record, &words);
        snprintf(ns, sizeof(ns), "%" PRIu64, time_ns(trail_text(record, "time")));
        return json_pack("{s:s, s:i, s:s, s:{s:s}, s:o}", "timeUnixNano", ns, "severityNumber", alarm ? 17 : warns ? 13 : 9, "severityText", alarm ? "ERROR" : warns ? "WARN" : "INFO",
                         "body", "stringValue", words.data ? words.data : "", "attributes", list);
}

int trail_export(struct trail_reader *r, const char *format, struct trail_check *c, struct error *e) {
        const bool is_otel = streq(format, "otel"), is_ocsf = streq(format, "ocsf");
        const char *line, *between = "";
        char id[24] = "";
        size_t n;
        int k;

        while ((k = trail_reader_next(r, &line, &n)) > 0) {
                (void)trail_check_line(c, line, n);
                if (n == 0)
                        continue;
                json_t *record = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL), *out;
                if (!json_is_object(record)) {
                        json_decref(record);
                        return error_set(e, EBADMSG, "the trail holds what is no record: belljar trail verify says where");
                }
                if (!id[0]) {
                        snprintf(id, sizeof(id), "%s", trail_text(record, "id"));
                        if (is_otel)
                                printf("{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"belljar\"}},"
                                       "{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":\"%s\"}}]},\"scopeLogs\":[{\"scope\":{\"name\":\"belljar.trail\"},\"logRecords\":[",
                                       id[strspn(id, "0123456789abcdef")] ? "" : id);
                }
                if (!is_otel && !is_ocsf)
                        printf("%.*s\n", (int)n, line);
                else {
                        out = is_otel ? otel(record, line, n, id) : ocsf(record, line, n, id);
                        printf("%s", between);
                        json_dumpf(out, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
                        printf(is_otel ? "" : "\n");
                        between = is_otel ? ",\n" : "";
                        json_decref(out);
                }
                json_decref(record);
        }
        if (is_otel && id[0])
                printf("]}]}]}\n");
        return k < 0 ? error_errno(e, k, "the trail cannot be read") : fflush(stdout) == 0 ? 0 : error_errno(e, errno, "stdout cannot be written");
}
