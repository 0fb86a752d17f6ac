/* Hosts, ports, methods, URLs and whole requests in their canonical form; see canonical.h. Paths and queries are
 * canonical-target.c's. */
#include "model/canonical.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/address.h"
#include "model/canonical-internal.h"

/* Where a request goes. */
struct place {
        struct request_text host;
        bool is_address;
        struct request_address address;
        uint16_t port;
};

int canonical_refuse(const char **ret_reason, int error, const char *reason) {
        if (ret_reason)
                *ret_reason = reason;
        return error;
}
#define refuse(why) canonical_refuse(ret_reason, -EINVAL, why)

static const char user_name[] = "a user name stands in front of the host: leave it out";

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

static bool equal_text(struct request_text a, struct request_text b) { return a.n == b.n && memcmp(a.p, b.p, a.n) == 0; }

/* What IDNA maps to ASCII or drops, so that no A-label holds it: controls, the no-break space, the soft hyphen, full-width
 * letters and digits, the ideographic full stop; and halves of pairs. Not the whole of UTS 46: only what could make another
 * spelling of a name or of an address. */
static bool never_in_label(uint32_t cp) {
        return cp <= 0xa0 || cp == 0xad || cp == 0x3002 || (cp >= 0xff00 && cp <= 0xffef) || (cp >= 0xd800 && cp <= 0xdfff);
}

/* RFC 3492 section 6.2, for what stands behind "xn--" in lower case: true where it decodes and to something that ASCII does
 * not have. "xn--google-" would be another spelling of "google". */
static bool is_punycode(const char *s, size_t n) {
        const uint32_t base = 36, tmin = 1, tmax = 26, skew = 38, damp = 700;
        uint32_t cp = 128, i = 0, bias = 72, count = 0;
        size_t at = 0;

        for (size_t k = 0; k < n; k++)
                if (s[k] == '-') {
                        count = (uint32_t)k;
                        at = k + 1;
                }
        if (at == n)
                return false;
        while (at < n) {
                uint32_t old = i, weight = 1;
                for (uint32_t k = base;; k += base) {
                        if (at == n)
                                return false;
                        uint32_t digit = is_digit(s[at]) ? (uint32_t)(s[at] - '0') + 26 : (uint32_t)(s[at] - 'a');
                        at++;
                        if (digit >= base || digit > (UINT32_MAX - i) / weight)
                                return false;
                        i += digit * weight;
                        uint32_t t = k <= bias + tmin ? tmin : k >= bias + tmax ? tmax : k - bias;
                        if (digit < t)
                                break;
                        if (weight > UINT32_MAX / (base - t))
                                return false;
                        weight *= base - t;
                }
                count++;
                uint32_t delta = (i - old) / (old == 0 ? damp : 2);
                delta += delta / count;
                uint32_t k = 0;
                for (; delta > (base - tmin) * tmax / 2; k += base)
                        delta /= base - tmin;
                bias = k + (base - tmin + 1) * delta / (delta + skew);
                if (i / count > 0x10ffff - cp)
                        return false;
                cp += i / count;
                if (never_in_label(cp))
                        return false;
                i = i % count + 1;
        }
        return true;
}

/* A number of an IPv4 address as inet_aton(3) and the URL standard read it. One with a leading zero is octal to them and
 * decimal to others, so it has to be the same in both. */
static int read_number(const char *s, size_t n, uint64_t *ret, const char **ret_reason) {
        bool hex = n > 1 && s[0] == '0' && s[1] == 'x';
        unsigned base = hex ? 16 : 10;
        uint64_t v = 0;

        if (hex)
                s += 2, n -= 2;
        if (n == 0)
                return refuse("the host ends in a number, so it is an IPv4 address, and one of its parts is empty");
        for (size_t i = 0; i < n; i++) {
                unsigned digit = is_digit(s[i]) ? (unsigned)(s[i] - '0') : s[i] >= 'a' && s[i] <= 'f' ? (unsigned)(s[i] - 'a') + 10 : 99;
                if (digit >= base)
                        return refuse("the host ends in a number and is no IPv4 address");
                v = v * base + digit;
                if (v > UINT32_MAX)
                        return refuse("the host is an IPv4 address with a number that is too large");
        }
        if (!hex && n > 1 && s[0] == '0' && v > 7)
                return refuse("the host is an IPv4 address with a leading zero, which some read as octal: write it without");
        *ret = v;
        return 0;
}

/* One to four numbers, of which the last fills the rest. Lower case, no final dot. */
static int read_ipv4(const char *s, size_t n, struct request_address *ret, const char **ret_reason) {
        uint64_t number[4] = {}, v = 0;
        size_t count = 0;

        for (size_t at = 0; at <= n; count++) {
                const char *dot = memchr(s + at, '.', n - at);
                size_t length = dot ? (size_t)(dot - s) - at : n - at;
                if (count == 4)
                        return refuse("the host ends in a number, so it is an IPv4 address, and has more than four parts");
                int r = read_number(s + at, length, &number[count], ret_reason);
                if (r < 0)
                        return r;
                at += length + 1;
        }
        for (size_t i = 0; i < count; i++) {
                bool last = i + 1 == count;
                if (number[i] > (last ? UINT32_MAX >> 8 * i : 255u))
                        return refuse("the host is an IPv4 address with a number that is too large");
                v |= last ? number[i] : number[i] << 8 * (3 - i);
        }
        *ret = (struct request_address){{[10] = 0xff, [11] = 0xff, [12] = (uint8_t)(v >> 24), [13] = (uint8_t)(v >> 16),
                                         [14] = (uint8_t)(v >> 8), [15] = (uint8_t)v}};
        return 0;
}

static void set_address(struct place *p, char *buf) {
        char text[ADDRESS_TEXT_MAX];

        p->is_address = true;
        p->host = (struct request_text){buf, strlen(address_format(&p->address, text))};
        memcpy(buf, text, p->host.n + 1);
}

static int read_ipv6(const char *s, size_t n, char *buf, struct place *ret, const char **ret_reason) {
        if (memchr(s, '%', n))
                return refuse("the host is an IPv6 address with a zone, which means nothing outside the machine");
        if (!memchr(s, ':', n) || address_parse(s, n, &ret->address) < 0)
                return refuse("the host is no IPv6 address");
        set_address(ret, buf);
        return 0;
}

/* Why a byte may not stand in a name; NULL where it may. */
static const char *bad_byte(unsigned char c) {
        if (is_letter((char)c) || is_digit((char)c) || c == '-' || c == '_' || c == '.')
                return NULL;
        if (c >= 0x80)
                return "the host has characters outside ASCII: write the name as its A-label (xn--...), an address in ASCII digits";
        switch (c) {
        case '%':
                return "the host has a percent sign: write it decoded";
        case '\\':
                return "the host has a backslash, which some read as a slash";
        case '*':
                return "the host has a wildcard, which no request has";
        case ':':
        case '[':
        case ']':
                return "the host is no IPv6 address";
        default:
                return c <= 0x20 || c == 0x7f ? "the host has a blank or a control character" : "the host has a character that no name has";
        }
}

/* True where the URL standard takes the host for an IPv4 address: the last label is a number. */
static bool ends_in_number(const char *s, size_t n) {
        size_t at = n;

        while (at > 0 && s[at - 1] != '.')
                at--;
        s += at;
        n -= at;
        size_t i = n > 1 && s[0] == '0' && s[1] == 'x' ? 2 : 0;
        bool hex = i > 0;
        for (; i < n; i++)
                if (!is_digit(s[i]) && !(hex && s[i] >= 'a' && s[i] <= 'f'))
                        return false;
        return n > 0;
}

static int check_labels(const char *s, size_t n, const char **ret_reason) {
        for (size_t at = 0; at <= n;) {
                const char *dot = memchr(s + at, '.', n - at), *label = s + at;
                size_t length = dot ? (size_t)(dot - label) : n - at;
                if (length == 0)
                        return refuse("the host has an empty label: two dots, or one in front");
                if (length > 63)
                        return refuse("the host has a label of more than 63 bytes");
                if (label[0] == '-' || label[length - 1] == '-')
                        return refuse("the host has a label that begins or ends with a hyphen");
                if (length >= 4 && memcmp(label, "xn--", 4) == 0 && !is_punycode(label + 4, length - 4))
                        return refuse("the host has a label with xn-- that is no A-label");
                at += length + 1;
        }
        return 0;
}

static int read_host(const char *s, size_t n, char *buf, struct place *ret, const char **ret_reason) {
        if (n == 0)
                return refuse("the host is empty");
        if (s[0] == '[') {
                if (n < 2 || s[n - 1] != ']')
                        return refuse("the host begins with a bracket that is not closed");
                return read_ipv6(s + 1, n - 2, buf, ret, ret_reason);
        }
        if (memchr(s, '@', n))
                return refuse(user_name);
        if (memchr(s, ':', n))
                return read_ipv6(s, n, buf, ret, ret_reason);
        for (size_t i = 0; i < n; i++) {
                const char *why = bad_byte((unsigned char)s[i]);
                if (why)
                        return refuse(why);
        }
        bool dot = s[n - 1] == '.';
        n -= dot;
        if (n == 0)
                return refuse("the host is empty");
        if (n > REQUEST_HOST_MAX)
                return refuse("the host has more than 253 bytes");
        for (size_t i = 0; i < n; i++)
                buf[i] = lower(s[i]);
        buf[n] = 0;
        if (ends_in_number(buf, n)) {
                if (dot)
                        return refuse("the host is an IPv4 address with a dot at its end, which some take for a name: leave the dot out");
                int r = read_ipv4(buf, n, &ret->address, ret_reason);
                if (r == 0)
                        set_address(ret, buf);
                return r;
        }
        ret->host = (struct request_text){buf, n};
        ret->is_address = false;
        ret->address = (struct request_address){};
        return check_labels(buf, n, ret_reason);
}

static int read_authority(const char *s, size_t n, uint16_t default_port, char *buf, struct place *ret, const char **ret_reason) {
        const char *colon = memchr(s, ':', n);

        if (memchr(s, '@', n))
                return refuse(user_name);
        if (n > 0 && s[0] == '[') {
                const char *end = memchr(s, ']', n);
                if (!end)
                        return refuse("the host begins with a bracket that is not closed");
                colon = end + 1 < s + n ? end + 1 : NULL;
                if (colon && *colon != ':')
                        return refuse("something other than a port follows the host");
        } else if (colon && memchr(colon + 1, ':', n - (size_t)(colon + 1 - s)))
                return refuse("an IPv6 address stands in brackets where a port may follow");
        ret->port = default_port;
        if (colon && canonical_port(colon + 1, n - (size_t)(colon + 1 - s), &ret->port) < 0)
                return refuse("the port is no number from 1 to 65535 without a leading zero");
        if (ret->port == 0)
                return refuse("the port is missing");
        return read_host(s, colon ? (size_t)(colon - s) : n, buf, ret, ret_reason);
}

static void set_place(struct request *r, const struct place *p) {
        r->host = p->host;
        r->is_address = p->is_address;
        r->address = p->address;
}

static void clear_place(struct request *r) { set_place(r, &(struct place){}); }

int canonical_host(const char *s, size_t n, char buf[REQUEST_HOST_MAX + 1], struct request *r, const char **ret_reason) {
        struct place p = {};
        int x = read_host(s, n, buf, &p, ret_reason);

        clear_place(r);
        if (x == 0)
                set_place(r, &p);
        return x;
}

int canonical_authority(const char *s, size_t n, uint16_t default_port, char buf[REQUEST_HOST_MAX + 1], struct request *r,
                        const char **ret_reason) {
        struct place p = {};
        int x = read_authority(s, n, default_port, buf, &p, ret_reason);

        clear_place(r);
        r->port = 0;
        if (x == 0) {
                set_place(r, &p);
                r->port = p.port;
        }
        return x;
}

int canonical_port(const char *s, size_t n, uint16_t *ret) {
        unsigned v = 0;

        if (n == 0 || n > 5 || s[0] == '0')
                return -EINVAL;
        for (size_t i = 0; i < n; i++) {
                if (!is_digit(s[i]))
                        return -EINVAL;
                v = v * 10 + (unsigned)(s[i] - '0');
        }
        if (v > UINT16_MAX)
                return -EINVAL;
        *ret = (uint16_t)v;
        return 0;
}

/* Lower case would be another method by RFC 9110 section 9.1 and the same one to some servers. */
int canonical_method(const char *s, size_t n, struct request *r, const char **ret_reason) {
        r->method = (struct request_text){};
        if (n == 0 || n > REQUEST_METHOD_MAX)
                return refuse("the method is empty or too long");
        if (s[0] < 'A' || s[0] > 'Z')
                return refuse("the method does not begin with an upper-case letter");
        for (size_t i = 0; i < n; i++)
                if (!(s[i] >= 'A' && s[i] <= 'Z') && !is_digit(s[i]) && s[i] != '-' && s[i] != '_')
                        return refuse("the method has something other than upper-case letters, digits, hyphens and underscores");
        r->method = (struct request_text){s, n};
        return 0;
}

/* The schemes that lead to HTTP. */
static const struct scheme {
        const char *name;
        bool tls, websocket;
} schemes[] = {{"http://", false, false}, {"https://", true, false}, {"ws://", false, true}, {"wss://", true, true}};

static const struct scheme *find_scheme(const char *s, size_t n) {
        for (size_t i = 0; i < ELEMENTSOF(schemes); i++) {
                size_t length = strlen(schemes[i].name), k = 0;
                while (k < length && k < n && lower(s[k]) == schemes[i].name[k])
                        k++;
                if (k == length)
                        return &schemes[i];
        }
        return NULL;
}

static uint16_t default_port(bool tls) { return tls ? 443 : 80; }

/* What follows the scheme: host and port, then the target, which is left to the caller. */
static int split_url(const char *s, size_t n, const struct scheme *scheme, char *buf, struct place *ret, struct request_text *ret_target,
                     const char **ret_reason) {
        size_t end = 0;

        while (end < n && !memchr("/?#\\", s[end], 4))
                end++;
        if (end < n && s[end] == '\\')
                return refuse("the URL has a backslash, which some read as a slash");
        if (memchr(s + end, '#', n - end))
                return refuse("the URL has a fragment, which is never sent: leave it out");
        *ret_target = (struct request_text){s + end, n - end};
        return read_authority(s, end, default_port(scheme->tls), buf, ret, ret_reason);
}

int canonical_url(const char *s, size_t n, char *buf, size_t size, struct request *r, const char **ret_reason) {
        const struct scheme *scheme = find_scheme(s, n);
        struct request_text target;
        struct place p = {};
        int x;

        clear_place(r);
        canonical_clear_target(r);
        r->port = 0;
        if (!scheme)
                return refuse("the URL does not begin with http://, https://, ws:// or wss://");
        if (size < REQUEST_HOST_MAX + 1)
                return canonical_refuse(ret_reason, -E2BIG, "the URL is too long");
        size_t skip = strlen(scheme->name);
        x = split_url(s + skip, n - skip, scheme, buf, &p, &target, ret_reason);
        if (x == 0)
                x = canonical_read_target(target, buf + REQUEST_HOST_MAX + 1, size - REQUEST_HOST_MAX - 1, r, ret_reason);
        if (x < 0)
                return x;
        set_place(r, &p);
        r->layer = REQUEST_L7;
        r->port = p.port;
        r->tls = scheme->tls;
        r->websocket = scheme->websocket;
        return 0;
}

static bool same_place(const struct place *a, const struct place *b) {
        return a->is_address == b->is_address && a->port == b->port && equal_text(a->host, b->host);
}

bool canonical_same_place(const struct request *a, const struct request *b) {
        return a->is_address == b->is_address && a->port == b->port && equal_text(a->host, b->host);
}

/* The target in absolute form names the place once more. */
static int check_absolute(const struct canonical_parts *parts, const struct place *p, char *buf, struct request_text *target,
                          const char **ret_reason) {
        const struct scheme *scheme = find_scheme(target->p, target->n);
        struct place other = {};

        if (!scheme || scheme->websocket)
                return refuse("the target begins with neither a slash nor http:// nor https://");
        size_t skip = strlen(scheme->name);
        int x = split_url(target->p + skip, target->n - skip, scheme, buf, &other, target, ret_reason);
        if (x < 0)
                return x;
        if (scheme->tls != parts->tls)
                return canonical_refuse(ret_reason, -EXDEV, "the target's scheme is not the connection's");
        if (!same_place(p, &other))
                return canonical_refuse(ret_reason, -EXDEV, "the target names another host than the connection was made to");
        return 0;
}

/* Everything that names a place names this one. */
static int check_places(const struct canonical_parts *parts, const struct place *p, char *buf, const char **ret_reason) {
        struct place other = {};
        int x;

        if (parts->sni.p) {
                other.port = p->port;
                x = read_host(parts->sni.p, parts->sni.n, buf, &other, ret_reason);
                if (x < 0)
                        return x;
                if (!same_place(p, &other))
                        return canonical_refuse(ret_reason, -EXDEV, "TLS asks for another name (SNI) than the connection was made to");
        }
        if (!parts->host.p)
                return refuse("the request names no host");
        /* Without a port it should mean the scheme's own (RFC 9110 section 7.2), and libgit2, so cargo, leaves out any. Only the
         * connection's can be meant: no other is ever connected to, and what leaves names it (canonical_write_authority), so that
         * the server has one reading, and it is the one that was decided on. */
        x = read_authority(parts->host.p, parts->host.n, p->port, buf, &other, ret_reason);
        if (x < 0)
                return x;
        if (!same_place(p, &other))
                return canonical_refuse(ret_reason, -EXDEV, "the request names another host or port (Host) than the connection was made to");
        return 0;
}

static int read_request(const struct canonical_parts *parts, struct canonical_buffer *b, struct request *r, const char **ret_reason) {
        struct request_text target = parts->target;
        struct place p = {.port = parts->port};

        int x = read_host(parts->dialled.p, parts->dialled.n, b->host, &p, ret_reason);
        if (x == 0)
                x = canonical_method(parts->method.p, parts->method.n, r, ret_reason);
        if (x < 0)
                return x;
        memcpy(b->method, r->method.p, r->method.n);
        r->method.p = b->method;
        if (r->method.n == 7 && memcmp(r->method.p, "CONNECT", 7) == 0)
                return refuse("CONNECT asks for a proxy, and there is none: connect to the host itself");
        x = check_places(parts, &p, b->other, ret_reason);
        if (x < 0)
                return x;
        bool asterisk = target.n == 1 && target.p[0] == '*';
        if (asterisk && !(r->method.n == 7 && memcmp(r->method.p, "OPTIONS", 7) == 0))
                return refuse("the target * belongs to OPTIONS only");
        if (target.n == 0)
                return refuse("the target is empty");
        if (!asterisk && target.p[0] != '/') {
                x = check_absolute(parts, &p, b->other, &target, ret_reason);
                if (x < 0)
                        return x;
        }
        x = asterisk ? canonical_target(target.p, target.n, b->target, sizeof(b->target), r, ret_reason)
                     : canonical_read_target(target, b->target, sizeof(b->target), r, ret_reason);
        if (x < 0)
                return x;
        set_place(r, &p);
        r->layer = REQUEST_L7;
        r->port = p.port;
        r->tls = parts->tls;
        return 0;
}

int canonical_request(const struct canonical_parts *parts, struct canonical_buffer *b, struct request *r, const char **ret_reason) {
        clear_place(r);
        canonical_clear_target(r);
        r->port = 0;
        int x = read_request(parts, b, r, ret_reason);
        if (x < 0)
                r->method = (struct request_text){};
        return x;
}

ssize_t canonical_write_authority(const struct request *r, char *buf, size_t size) {
        bool bracket = r->is_address && !address_is_ipv4(&r->address);
        char port[8] = "";

        if (r->port != default_port(r->tls))
                snprintf(port, sizeof(port), ":%u", r->port);
        int n = snprintf(buf, size, "%s%.*s%s%s", bracket ? "[" : "", (int)r->host.n, r->host.p, bracket ? "]" : "", port);
        return n < 0 || (size_t)n >= size ? -ENOBUFS : n;
}
