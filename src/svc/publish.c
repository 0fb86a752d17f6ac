/* See publish.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "model/address.h"
#include "model/canonical.h"
#include "svc/publish.h"

static int bad(const char *text, struct error *e) {
        error_set(e, EINVAL, "-p %s is no port to be published", text);
        return error_fix(e, "-p 8080:3000 publishes port 3000 of the sandbox at 127.0.0.1:8080; -p 0.0.0.0:8080:3000 at every address of this host");
}

/* Port 0 asks for any. */
static bool read_port(const char *s, size_t n, uint16_t *ret) {
        *ret = 0;
        return (n == 1 && s[0] == '0') || canonical_port(s, n, ret) == 0;
}

int publish_parse(const char *text, struct plan_publish *ret, struct error *e) {
        struct request_address a;
        size_t n = strlen(text);
        const char *inside, *host;

        if (n > 4 && strcmp(text + n - 4, "/tcp") == 0)
                n -= 4;
        inside = memrchr(text, ':', n);
        if (!inside || inside == text)
                return bad(text, e);
        host = memrchr(text, ':', (size_t)(inside - text));
        *ret = (struct plan_publish){.address = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}};
        const char *port = host ? host + 1 : text;
        if (!read_port(port, (size_t)(inside - port), &ret->port) || !read_port(inside + 1, n - (size_t)(inside + 1 - text), &ret->inside) ||
            ret->inside == 0)
                return bad(text, e);
        if (host) {
                const char *from = text;
                size_t len = (size_t)(host - text);
                if (len > 2 && from[0] == '[' && from[len - 1] == ']') {
                        from++;
                        len -= 2;
                }
                if (address_parse(from, len, &a) < 0)
                        return bad(text, e);
                memcpy(ret->address, a.byte, sizeof(ret->address));
        }
        return 0;
}

static int listener(struct plan_publish *p) {
        const int on = 1;
        struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(p->port)};
        struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(p->port)};
        bool v4 = net_is_mapped(p->address);
        struct sockaddr *a = v4 ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6;
        socklen_t n = v4 ? sizeof(a4) : sizeof(a6);

        memcpy(&a4.sin_addr, p->address + 12, 4);
        memcpy(&a6.sin6_addr, p->address, 16);
        _cleanup_fd_ int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
            (!v4 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) || bind(fd, a, n) < 0 || listen(fd, SOMAXCONN) < 0 ||
            getsockname(fd, a, &n) < 0)
                return -errno;
        p->port = ntohs(v4 ? a4.sin_port : a6.sin6_port);
        return TAKE_FD(fd);
}

int publish_open(struct plan_network *p, int *fds, struct error *e) {
        for (size_t i = 0; i < p->n_published; i++) {
                fds[i] = listener(&p->published[i]);
                if (fds[i] >= 0)
                        continue;
                struct request_address a;
                char text[ADDRESS_TEXT_MAX];
                memcpy(a.byte, p->published[i].address, sizeof(a.byte));
                error_errno(e, fds[i], "port %u of %s cannot be published", p->published[i].port, address_format(&a, text));
                while (i > 0)
                        close(fds[--i]);
                return -e->errnum;
        }
        return 0;
}
