#include "model/address.h"
#include "tap.h"

static struct request_address parse(const char *s) {
        struct request_address a;
        printf("# %s\n", s);
        check(address_parse(s, strlen(s), &a) == 0);
        return a;
}
static const char *klass(const char *s) {
        struct request_address a = parse(s);
        check(address_is_public(&a) == (address_class(&a) == ADDRESS_PUBLIC));
        return address_class_name(address_class(&a));
}

/* The registries, written down a second time: of each range the first and the last address, and what lies beside them. */
TEST(registries) {
        static const char p[] = "public", r[] = "reserved", t[] = "IPv6 transition", doc[] = "documentation";
        static const struct {
                const char *klass, *before, *first, *last, *behind, *klass_before, *klass_behind;
        } e[] = {
                {"this host", NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0", NULL, p},
                {"private", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", p, p},
                {"carrier-grade NAT", "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", p, p},
                {"loopback", "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", p, p},
                {"link-local", "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", p, p},
                {"private", "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", p, p},
                {r, "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", p, p},
                {doc, "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", p, p},
                {t, "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", p, p},
                {"private", "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", p, p},
                {"benchmarking", "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", p, p},
                {doc, "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", p, p},
                {doc, "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", p, p},
                {"multicast", "223.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", p, r},
                {r, "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255", "multicast", "multicast"},
                {"metadata service", "169.254.169.253", "169.254.169.254", "169.254.169.254", "169.254.169.255", "metadata service", "link-local"},
                {"metadata service", "168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17", p, p},
                {"metadata service", "100.100.100.199", "100.100.100.200", "100.100.100.200", "100.100.100.201", "carrier-grade NAT", "carrier-grade NAT"},
                {"metadata service", "fd00:ec2::253", "fd00:ec2::254", "fd00:ec2::254", "fd00:ec2::255", "metadata service", "unique-local"},

                {"this host", NULL, "::", "::", "::1", NULL, "loopback"},
                {t, NULL, "::100:0", "::9ff:ffff", "::a00:0", NULL, "private"},
                {r, NULL, "::1:0:0", "::fffe:0:0:0", NULL, NULL, NULL},
                {t, NULL, "::ffff:0:8.8.8.8", "::ffff:0:9.9.9.9", "::ffff:1:8.8.8.8", NULL, r},
                {p, "64:ff9a:ffff::8.8.8.8", "64:ff9b::8.8.8.8", "64:ff9b::9.9.9.9", "64:ff9b::1:808:808", r, r},
                {r, NULL, "64:ff9b:0:ffff::", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", "64:ff9b:1::", NULL, t},
                {r, NULL, "64:ff9b:2::", "ff::", NULL, NULL, NULL},
                {r, NULL, "100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::", NULL, r},
                {r, NULL, "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "100:0:0:1::1", "2000::", NULL, p},
                {"benchmarking", "2001:1:ffff:ffff:ffff:ffff:ffff:ffff", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "2001:2:1::", r, r},
                {r, "2001:1::", "2001:3::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::", r, p},
                {doc, "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", p, p},
                {t, "2001:ffff::", "2002:808:808::", "2002:909:909:ffff:ffff:ffff:ffff:ffff", "2003::", p, p},
                {p, NULL, "2620:4f:8000::", "2a00:1450:4001:81b::200e", NULL, NULL, NULL},
                {doc, "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::", p, p},
                {r, "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "5f00::1", NULL, p, NULL},
                {"unique-local", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::", r, r},
                {"link-local", "fe7f::", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fec0::", r, "private"},
                {"private", NULL, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ff00::", NULL, "multicast"},
                {"multicast", NULL, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL, NULL},
        };
        for (size_t i = 0; i < ELEMENTSOF(e); i++) {
                check_streq(klass(e[i].first), e[i].klass);
                check_streq(klass(e[i].last), e[i].klass);
                if (e[i].klass_before)
                        check_streq(klass(e[i].before), e[i].klass_before);
                if (e[i].klass_behind)
                        check_streq(klass(e[i].behind), e[i].klass_behind);
        }
}

TEST(embedded) {
        static const struct {
                const char *address, *klass, *inner[4];
        } t[] = {
                {"8.8.8.8", "public", {NULL}},
                {"::ffff:8.8.8.8", "public", {NULL}}, /* it is the IPv4 address */
                {"::ffff:127.0.0.1", "loopback", {NULL}},
                {"::1", "loopback", {NULL}},
                {"::127.0.0.1", "loopback", {"127.0.0.1"}},
                {"::8.8.8.8", "IPv6 transition", {"8.8.8.8"}},
                {"::ffff:0:127.0.0.1", "loopback", {"127.0.0.1"}},
                {"64:ff9b::8.8.8.8", "public", {"8.8.8.8"}},
                {"64:ff9b::10.0.0.1", "private", {"10.0.0.1"}},
                {"64:ff9b::169.254.169.254", "metadata service", {"169.254.169.254"}},
                {"64:ff9b::", "this host", {"0.0.0.0"}},
                {"64:ff9b:1::10.0.0.1", "private", {"10.0.0.1"}},
                {"64:ff9b:1::8.8.8.8", "IPv6 transition", {"8.8.8.8"}},
                /* behind 48, 56 or 64 bits, of which an address does not say which */
                {"64:ff9b:1:a9fe:a9:fe00::", "metadata service", {"169.254.169.254", "254.169.254.0", "169.254.0.0"}},
                {"64:ff9b:1:a9:fe:a9fe::", "metadata service", {"169.254.169.254", "254.169.254.0"}},
                {"64:ff9b:1:0:a9:fea9:fe00::", "metadata service", {"169.254.169.254", "254.0.0.0"}},
                {"64:ff9b:1:0:a9:fea9:800:1", "IPv6 transition", {"8.0.0.1"}},
                {"64:ff9b:1:a9fe:1a9:fe00::", "IPv6 transition", {NULL}}, /* byte 8 is to be zero */
                {"2002:7f00:1::1", "loopback", {"127.0.0.1"}},
                {"2002:a9fe:a9fe::", "metadata service", {"169.254.169.254"}},
                {"2001:0:808:808:0:0:f5ff:fffe", "private", {"8.8.8.8", "10.0.0.1"}},
                {"2001:0:a9fe:a9fe:0:0:f7f7:f7f7", "metadata service", {"169.254.169.254", "8.8.8.8"}},
                {"2001:0:808:808:0:0:f7f7:f7f7", "IPv6 transition", {"8.8.8.8", "8.8.8.8"}},
                {"2a00:1::5efe:192.168.1.1", "private", {"192.168.1.1"}},
                {"2a00:1::200:5efe:169.254.169.254", "metadata service", {"169.254.169.254"}},
                {"2a00:1::200:5efe:8.8.8.8", "public", {"8.8.8.8"}},
                {"2a00:1::100:5efe:10.0.0.1", "public", {NULL}},
                {"2002:808:808::5efe:10.0.0.1", "private", {"8.8.8.8", "10.0.0.1"}},
                {"fe80::5efe:10.0.0.1", "link-local", {"10.0.0.1"}},
        };
        for (size_t i = 0; i < ELEMENTSOF(t); i++) {
                struct request_address inner[ADDRESS_EMBEDDED_MAX], a;
                check_streq(klass(t[i].address), t[i].klass);
                a = parse(t[i].address);
                size_t n = address_embedded(&a, inner), wanted = 0;
                while (wanted < 4 && t[i].inner[wanted])
                        wanted++;
                for (size_t k = 0; k < n; k++) {
                        char text[ADDRESS_TEXT_MAX];
                        printf("#   %s\n", address_format(&inner[k], text));
                        check(k < wanted);
                        check_streq(text, t[i].inner[k]);
                }
                check(n == wanted);
        }
}

TEST(text) {
        static const char *const good[][2] = {
                {"1.2.3.4", "1.2.3.4"}, {"::ffff:1.2.3.4", "1.2.3.4"}, {"::FFFF:102:304", "1.2.3.4"}, {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
                {"::", "::"}, {"0:0:0:0:0:0:0:1", "::1"}, {"1:0:0:2:0:0:0:3", "1:0:0:2::3"}, {"1:0:0:2:0:0:3:4", "1::2:0:0:3:4"}, {"1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"},
                {"0:1:2:3:4:5:6:7", "0:1:2:3:4:5:6:7"}, {"0:0:2:3:4:5:6:7", "::2:3:4:5:6:7"}, {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"}, {"1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7:0"},
                {"::1.2.3.4", "::102:304"}, {"ABCD:EF01:2345:6789:abcd:ef01:2345:6789", "abcd:ef01:2345:6789:abcd:ef01:2345:6789"},
                {"0:0:0:0:0:fffe:1:2", "::fffe:1:2"}, {"1::", "1::"}, {"0:0:1::", "0:0:1::"},
        };
        static const char *const bad[] = {
                "", "1", "1.2.3", "1.2.3.4.", "1.2.3.04", "1.2.3.256", " 1.2.3.4", "1.2.3.4 ", "0x1.2.3.4", "1.2.3.4.5", "[::1]", "::1%eth0", "::1%1",
                ":::", "1::2::3", "12345::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1.2.3", "::g", "::1/64", "fe80::1%", "::ffff:01.2.3.4",
                "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
        };
        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                char text[ADDRESS_TEXT_MAX];
                struct request_address a = parse(good[i][0]);
                check_streq(address_format(&a, text), good[i][1]);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                struct request_address a;
                printf("# %s\n", bad[i]);
                check(address_parse(bad[i], strlen(bad[i]), &a) == -EINVAL);
        }
        struct request_address a;
        check(address_parse("1.2.3.4\0x", 9, &a) == -EINVAL);
        check(address_parse("1.2.3.45", 7, &a) == 0 && a.byte[15] == 4); /* not beyond its end */
}

static struct address_range range(const char *s) {
        struct address_range r;
        printf("# %s\n", s);
        check(address_range_parse(s, strlen(s), &r) == 0);
        return r;
}
static bool has(const char *r, const char *a) {
        struct address_range x = range(r);
        struct request_address y = parse(a);
        return address_range_has(&x, &y);
}

TEST(ranges) {
        check(has("10.0.0.0/8", "10.1.2.3") && !has("10.0.0.0/8", "11.0.0.0") && !has("10.0.0.0/8", "::10.1.2.3"));
        check(has("10.1.2.3", "10.1.2.3") && !has("10.1.2.3", "10.1.2.2"));
        check(has("0.0.0.0/0", "255.1.2.3") && !has("0.0.0.0/0", "::1") && !has("0.0.0.0/0", "::1.2.3.4"));
        check(has("::/0", "ff::") && !has("::/0", "1.2.3.4"));
        check(has("::ffff:0:0/96", "1.2.3.4") && has("::ffff:10.0.0.0/104", "10.9.9.9"));
        check(has("192.168.4.0/22", "192.168.7.255") && !has("192.168.4.0/22", "192.168.8.0"));
        check(has("2001:db8::/33", "2001:db8:7fff::") && !has("2001:db8::/33", "2001:db8:8000::"));
        check(has("128.0.0.0/1", "200.0.0.1") && !has("128.0.0.0/1", "127.0.0.1"));
        static const char *const bad[] = {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/8 ", "10.0.0.0/+8", "10.0.0.0/-1", "10/8",
                                          "10.0.0/8", "::/129", "::/1000", "::1%1/128", "10.0.0.0/8/8", "::ffff:0:0/95", "10.0.0.0/0x8"};
        struct address_range r = {};
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                printf("# %s\n", bad[i]);
                check(address_range_parse(bad[i], strlen(bad[i]), &r) == -EINVAL);
        }
        check(address_range_parse("10.0.0.1/8", 10, &r) == -ERANGE && r.bits == 104 && r.byte[12] == 10 && r.byte[15] == 0);
        check(address_range_parse("2001:db8:1::/32", 15, &r) == -ERANGE && r.bits == 32 && r.byte[3] == 0xb8 && r.byte[5] == 0);
}

static bool allowed(const char *address, const char *ranges) {
        struct address_range r[8];
        struct request_address a = parse(address);
        char copy[200], *save = NULL;
        size_t n = 0;

        snprintf(copy, sizeof(copy), "%s", ranges);
        for (char *s = strtok_r(copy, " ", &save); s; s = strtok_r(NULL, " ", &save))
                r[n++] = range(s);
        return address_allowed(&a, r, n);
}

TEST(allowed) {
        check(allowed("8.8.8.8", "") && !allowed("10.0.0.1", "") && !allowed("::1", ""));
        check(allowed("10.0.0.1", "10.0.0.0/8") && !allowed("192.168.0.1", "10.0.0.0/8") && allowed("192.168.0.1", "10.0.0.0/8 192.168.0.0/16"));
        check(!allowed("64:ff9b::10.0.0.1", "10.0.0.0/8") && !allowed("64:ff9b::10.0.0.1", "64:ff9b::/96"));
        check(allowed("64:ff9b::10.0.0.1", "64:ff9b::/96 10.0.0.0/8") && allowed("64:ff9b::10.0.0.1", "64:ff9b::10.0.0.1"));
        check(allowed("64:ff9b:1::8.8.8.8", "64:ff9b:1::/48") && !allowed("64:ff9b:1::10.0.0.1", "64:ff9b:1::/48"));
        check(!allowed("169.254.169.254", "169.254.0.0/16") && !allowed("169.254.169.254", "0.0.0.0/0") && allowed("169.254.1.1", "169.254.0.0/16"));
        check(allowed("169.254.169.254", "10.0.0.0/8 169.254.169.254") && allowed("169.254.169.254", "169.254.169.254/32"));
        check(!allowed("64:ff9b::169.254.169.254", "64:ff9b::/96 169.254.0.0/16") && !allowed("168.63.129.16", ""));
        check(!allowed("fe80::5efe:169.254.169.254", "fe80::/10 169.254.0.0/16") && allowed("fe80::1", "fe80::/10"));
        check(!allowed("::1", "0.0.0.0/0") && allowed("::1", "::/0") && !allowed("127.0.0.1", "::/0"));
}

TAP_MAIN
