#include "proto/dns.h"
#include "tap.h"

/* A message by hand. */
struct msg {
        uint8_t p[2048];
        size_t n;
};
static void add(struct msg *m, const void *p, size_t n) {
        memcpy(m->p + m->n, p, n);
        m->n += n;
}
#define ADD(m, s) add(m, s, sizeof(s) - 1)

static struct msg header(unsigned flags, unsigned qd, unsigned an, unsigned ns, unsigned ar) {
        struct msg m = {};
        unsigned v[6] = {0x1234, flags, qd, an, ns, ar};
        for (int i = 0; i < 6; i++) {
                m.p[m.n++] = (uint8_t)(v[i] >> 8);
                m.p[m.n++] = (uint8_t)v[i];
        }
        return m;
}
static void add_question(struct msg *m, const char *name, unsigned type) {
        for (const char *dot; *name; name = *dot ? dot + 1 : dot) {
                dot = strchrnul(name, '.');
                m->p[m->n++] = (uint8_t)(dot - name);
                add(m, name, (size_t)(dot - name));
        }
        m->p[m->n++] = 0;
        m->p[m->n++] = (uint8_t)(type >> 8);
        m->p[m->n++] = (uint8_t)type;
        ADD(m, "\0\1");
}
static struct msg query(const char *name, unsigned type) {
        struct msg m = header(0x0100, 1, 0, 0, 0);
        add_question(&m, name, type);
        return m;
}

TEST(question) {
        struct dns_question q;
        struct msg m = query("Api.Example.COM", DNS_TYPE_AAAA);

        check(dns_read(m.p, m.n, &q) == DNS_NOERROR);
        check(q.id == 0x1234 && q.recursion_desired && !q.checking_disabled && !q.edns && q.has_question);
        check(q.type == DNS_TYPE_AAAA && q.klass == 1 && q.is_hostname && q.n_name == 15);
        check_streq(q.name, "api.example.com");
        check(q.n_wire == 17 && memcmp(q.wire, "\3Api\7Example\3COM", 17) == 0);

        /* each piece of it is too short, and must not be read beyond (the sanitizers look) */
        for (size_t i = 0; i < m.n; i++) {
                uint8_t *p = malloc(i ? i : 1);
                check(p);
                memcpy(p, m.p, i);
                int r = dns_read(p, i, &q);
                check(i < 12 ? r == -EBADMSG : r == DNS_FORMERR && !q.has_question && q.n_name == 0);
                free(p);
        }
        ADD(&m, "\0");
        check(dns_read(m.p, m.n, &q) == DNS_FORMERR);
}

TEST(names) {
        struct dns_question q;
        struct msg m;
        char label[65], name[300];

        memset(label, 'a', 64);
        label[64] = 0;
        m = query(label, 1); /* a length of 64 is a reserved kind of label */
        check(dns_read(m.p, m.n, &q) == DNS_FORMERR);
        label[63] = 0;
        m = query(label, 1);
        check(dns_read(m.p, m.n, &q) == DNS_NOERROR && q.n_name == 63);

        snprintf(name, sizeof(name), "%s.%s.%s.%.61s", label, label, label, label); /* 253: as long as can be */
        m = query(name, 1);
        check(dns_read(m.p, m.n, &q) == DNS_NOERROR && q.n_name == 253 && q.n_wire == 255);
        check_streq(q.name, name);
        snprintf(name, sizeof(name), "%s.%s.%s.%.62s", label, label, label, label);
        m = query(name, 1);
        check(dns_read(m.p, m.n, &q) == DNS_FORMERR);

        m = query("_http._tcp.deb.example.org", 33);
        check(dns_read(m.p, m.n, &q) == DNS_NOERROR && q.is_hostname);
        check_streq(q.name, "_http._tcp.deb.example.org");

        /* text would lie about these */
        static const struct { const char *wire; size_t n; } odd[] = {
                {"\3a.b\3com", 9}, {"\3a b\3com", 9}, {"\3a\\b\3com", 9}, {"\3a\0b\3com", 9}, {"\3a*b\3com", 9},
                {"\3a\xc3\xa9\3com", 9}, {"\1*\3com", 7}, {"\3a/b\3com", 9}, {"\3a@b\3com", 9}, {"\3a:b\3com", 9}, {"", 1},
        };
        for (size_t i = 0; i < ELEMENTSOF(odd); i++) {
                m = header(0x0100, 1, 0, 0, 0);
                add(&m, odd[i].wire, odd[i].n);
                ADD(&m, "\0\1\0\1");
                check(dns_read(m.p, m.n, &q) == DNS_NOERROR);
                check(!q.is_hostname && q.n_name == 0 && q.name[0] == 0 && q.n_wire == odd[i].n);
        }
        m = header(0x0100, 1, 0, 0, 0); /* a pointer to itself, and one into the header */
        ADD(&m, "\3www\xc0\x0c\0\1\0\1");
        check(dns_read(m.p, m.n, &q) == DNS_FORMERR);
        m = header(0x0100, 1, 0, 0, 0);
        ADD(&m, "\xc0\x02\0\1\0\1");
        check(dns_read(m.p, m.n, &q) == DNS_FORMERR);
}

TEST(refused) {
        struct dns_question q;
        struct msg m;
        static const struct { unsigned flags, qd, an, ns, ar; int rcode; } heads[] = {
                {0x8100, 1, 0, 0, 0, -EBADMSG}, /* an answer */
                {0x2900, 1, 0, 0, 0, DNS_NOTIMP}, /* UPDATE */
                {0x1000, 1, 0, 0, 0, DNS_NOTIMP}, /* STATUS */
                {0x2000, 1, 0, 0, 0, DNS_NOTIMP}, /* NOTIFY */
                {0x7800, 1, 0, 0, 0, DNS_NOTIMP},
                {0x0300, 1, 0, 0, 0, DNS_FORMERR}, /* TC */
                {0x0100, 0, 0, 0, 0, DNS_FORMERR}, {0x0100, 2, 0, 0, 0, DNS_FORMERR}, {0x0100, 1, 1, 0, 0, DNS_FORMERR},
                {0x0100, 1, 0, 1, 0, DNS_FORMERR}, {0x0100, 1, 0, 0, 1, DNS_FORMERR}, {0x0100, 1, 0, 0, 2, DNS_FORMERR},
                {0x0100, 0xffff, 0xffff, 0xffff, 0xffff, DNS_FORMERR},
        };
        for (size_t i = 0; i < ELEMENTSOF(heads); i++) {
                m = header(heads[i].flags, heads[i].qd, heads[i].an, heads[i].ns, heads[i].ar);
                add_question(&m, "ok.test", 1);
                check(dns_read(m.p, m.n, &q) == heads[i].rcode);
        }
        /* two questions that are both there */
        m = header(0x0100, 2, 0, 0, 0);
        add_question(&m, "ok.test", 1);
        add_question(&m, "no.test", 1);
        check(dns_read(m.p, m.n, &q) == DNS_FORMERR);

        static const struct { unsigned type; int rcode; } types[] = {
                {1, 0}, {2, 0}, {5, 0}, {6, 0}, {10, 0}, {12, 0}, {15, 0}, {16, 0}, {28, 0}, {33, 0}, {64, 0}, {65, 0}, {257, 0},
                {0, DNS_REFUSED}, {41, DNS_REFUSED}, {249, DNS_REFUSED}, {250, DNS_REFUSED}, {DNS_TYPE_IXFR, DNS_REFUSED},
                {DNS_TYPE_AXFR, DNS_REFUSED}, {DNS_TYPE_ANY, DNS_REFUSED},
        };
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                m = query("ok.test", types[i].type);
                check(dns_read(m.p, m.n, &q) == types[i].rcode && q.has_question && q.type == types[i].type);
        }
        m = query("version.bind", 16);
        m.p[m.n - 1] = 3; /* CHAOS */
        check(dns_read(m.p, m.n, &q) == DNS_REFUSED && q.klass == 3);

        m = query("ok.test", 1);
        check(dns_read(m.p, DNS_QUERY_MAX + 1, &q) == -EMSGSIZE);
}

TEST(edns) {
        struct dns_question q;
        static const struct { const char *opt; size_t n; int rcode; } t[] = {
#define OPT(s, r) {s, sizeof(s) - 1, r}
                OPT("\0\0\x29\x04\xd0\0\0\x80\0\0\0", DNS_NOERROR), /* DO */
                OPT("\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08" "cookiexx", DNS_NOERROR),
                OPT("\0\0\x29\x04\xd0\0\0\0\0\0\x08\0\x0c\0\0\0\x0c\0\0", DNS_NOERROR), /* two options, empty */
                OPT("\0\0\x29\x04\xd0\0\1\0\0\0\0", DNS_BADVERS),
                OPT("\0\0\x29\x04\xd0\0\0\0\0\0\x03\0\x0a\0", DNS_FORMERR),
                OPT("\0\0\x29\x04\xd0\0\0\0\0\0\x04\0\x0a\0\x08", DNS_FORMERR),
                OPT("\0\0\x29\x04\xd0\0\0\0\0\0\x04\0\x0a", DNS_FORMERR),
                OPT("\0\0\x29\x04\xd0\0\0\0\0\0", DNS_FORMERR),
                OPT("\1a\0\0\x29\x04\xd0\0\0\0\0\0\0", DNS_FORMERR), /* not the root's */
                OPT("\0\0\xfa\x04\xd0\0\0\0\0\0\0", DNS_FORMERR),    /* TSIG */
                OPT("\0\0\x29\x04\xd0\0\0\0\0\0\0\0", DNS_FORMERR),  /* a byte behind it */
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct msg m = header(0x0110, 1, 0, 0, 1);
                add_question(&m, "ok.test", 1);
                add(&m, t[i].opt, t[i].n);
                check(dns_read(m.p, m.n, &q) == t[i].rcode);
                check(q.edns == (t[i].rcode != DNS_FORMERR) && q.checking_disabled);
        }
}

static ssize_t reply(const struct msg *m, struct dns_answer a, uint8_t *buf) {
        struct dns_question q;
        int r = dns_read(m->p, m->n, &q);
        check(r >= 0);
        if (r > 0)
                a = (struct dns_answer){.rcode = (enum dns_rcode)r};
        ssize_t n = dns_write(&q, &a, buf, DNS_REPLY_MAX);
        for (size_t size = 0; n > 0 && size < (size_t)n; size++) {
                uint8_t small[DNS_REPLY_MAX];
                check(dns_write(&q, &a, small, size) == -ENOBUFS);
        }
        return n;
}
static void check_bytes(const struct msg *m, const struct dns_answer *a, const void *wanted, size_t n) {
        uint8_t buf[DNS_REPLY_MAX];
        check(reply(m, *a, buf) == (ssize_t)n);
        check(memcmp(buf, wanted, n) == 0);
}
#define check_reply(m, a, s) check_bytes(m, &(a), s, sizeof(s) - 1)

TEST(answers) {
        struct dns_answer two = {.ttl = 30, .n_addresses = 2, .address = {{198, 18, 0, 1}, {198, 18, 0, 2}}};
        struct dns_answer six = {.ttl = 0x01020304, .n_addresses = 1, .address = {{0xfd, [15] = 9}}};
        struct dns_answer none = {.rcode = DNS_NXDOMAIN, .ttl = 5}, empty = {.ttl = 5};
        struct msg m = query("oK.test", 1);
        static const char soa[] = "\0\0\6\0\1\0\0\0\5\0\x16\0\0\0\0\0\1\0\0\x0e\x10\0\0\2\x58\0\1\x51\x80\0\0\0\5";

        check_reply(&m, two, "\x12\x34\x85\x80\0\1\0\2\0\0\0\0\2oK\4test\0\0\1\0\1"
                             "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\xc6\x12\0\1\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\xc6\x12\0\2");
        uint8_t buf[DNS_REPLY_MAX];
        ssize_t n = reply(&m, none, buf);
        check(n == 25 + (ssize_t)sizeof(soa) - 1);
        check(memcmp(buf, "\x12\x34\x85\x83\0\1\0\0\0\1\0\0\2oK\4test\0\0\1\0\1", 25) == 0);
        check(memcmp(buf + 25, soa, sizeof(soa) - 1) == 0);
        m = query("ok.test", DNS_TYPE_HTTPS);
        n = reply(&m, empty, buf);
        check(n == 25 + (ssize_t)sizeof(soa) - 1 && memcmp(buf + 2, "\x85\x80\0\1\0\0\0\1", 8) == 0);
        check(reply(&m, six, buf) == -EINVAL); /* an address for a type that has none */

        m = query("ok.test", DNS_TYPE_AAAA);
        check_reply(&m, six, "\x12\x34\x85\x80\0\1\0\1\0\0\0\0\2ok\4test\0\0\x1c\0\1\xc0\x0c\0\x1c\0\1\1\2\3\4\0\x10"
                             "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09");
        six.rcode = DNS_NXDOMAIN;
        check(reply(&m, six, buf) == -EINVAL);
        six.rcode = DNS_NOERROR;
        six.n_addresses = DNS_ADDRESSES_MAX + 1;
        check(reply(&m, six, buf) == -EINVAL);

        m = query("ok.test", DNS_TYPE_ANY);
        check_reply(&m, empty, "\x12\x34\x81\x85\0\1\0\0\0\0\0\0\2ok\4test\0\0\xff\0\1");
        m = header(0x2800, 1, 0, 0, 0); /* UPDATE: only the header comes back */
        check_reply(&m, empty, "\x12\x34\xa8\x84\0\0\0\0\0\0\0\0");
        m = header(0x0100, 1, 0, 0, 0);
        check_reply(&m, empty, "\x12\x34\x81\x81\0\0\0\0\0\0\0\0");
        m = header(0x0110, 1, 0, 0, 1);
        add_question(&m, "ok.test", 1);
        ADD(&m, "\0\0\x29\x04\xd0\0\1\0\0\0\0");
        check_reply(&m, empty, "\x12\x34\x81\x90\0\1\0\0\0\0\0\1\2ok\4test\0\0\1\0\1\0\0\x29\x04\xd0\1\0\0\0\0\0");

        /* the longest of all */
        char name[300];
        memset(name, 'a', sizeof(name));
        name[63] = name[127] = name[191] = '.';
        name[253] = 0;
        m = header(0x0100, 1, 0, 0, 1);
        add_question(&m, name, DNS_TYPE_AAAA);
        ADD(&m, "\0\0\x29\x04\xd0\0\0\0\0\0\0");
        six.n_addresses = DNS_ADDRESSES_MAX;
        check(reply(&m, six, buf) == 12 + 259 + 8 * 28 + 11);
}

TEST(frames) {
        uint8_t p[DNS_QUERY_MAX + 2] = {0, 12};
        size_t n = 7;

        check(dns_frame(p, 0, &n) == -EAGAIN && dns_frame(p, 1, &n) == -EAGAIN && dns_frame(p, 13, &n) == -EAGAIN && n == 7);
        check(dns_frame(p, 14, &n) == 0 && n == 12);
        check(dns_frame(p, sizeof(p), &n) == 0 && n == 12);
        p[1] = 11;
        check(dns_frame(p, 2, &n) == -EMSGSIZE);
        p[0] = DNS_QUERY_MAX >> 8, p[1] = DNS_QUERY_MAX & 0xff;
        check(dns_frame(p, sizeof(p) - 1, &n) == -EAGAIN && dns_frame(p, sizeof(p), &n) == 0 && n == DNS_QUERY_MAX);
        p[1]++;
        check(dns_frame(p, 2, &n) == -EMSGSIZE);
}

TAP_MAIN
