/* Names to addresses, by c-ares with the host's own servers. The hosts file is read before the cage, because c-ares would
 * open it at each question. */
#include <ares.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "svc/resolver.h"

#define HOSTS "/etc/hosts"
#define HOSTS_BYTES (4u << 20)
#define SOCKETS_MAX 64u /* of c-ares, at once */
#define KNOWN_MAX 64u     /* answers that are remembered */
#define KNOWN_S_MAX 60    /* and for how long, whatever longer time they give */

/* A question that is under way: whoever wants the same name meanwhile waits for its answer as well. */
struct lookup {
        struct lookup *next;
        struct dial *waiting;
        char host[REQUEST_HOST_MAX + 1];
};

/* An answer, for as long as it says itself. Its addresses are checked for each connection anew. */
struct known {
        char host[REQUEST_HOST_MAX + 1];
        struct sockaddr_in6 address[2 * DIAL_ADDRESSES_MAX];
        size_t n; /* 0: none */
        uint64_t until; /* ms */
};

static struct loop *loop;
static struct known *known; /* KNOWN_MAX of them, from the first answer on */
static struct lookup *lookups;
static ares_channel channel;
static struct watch sockets[SOCKETS_MAX];
static char *hosts; /* the file, lines ending in NUL */
static size_t n_hosts;

static void socket_ready(struct watch *w, uint32_t events) {
        bool error = events & (EPOLLHUP | EPOLLERR);
        ares_process_fd(channel, events & EPOLLIN || error ? w->fd : ARES_SOCKET_BAD,
                        events & EPOLLOUT || error ? w->fd : ARES_SOCKET_BAD);
}

/* c-ares tells what it waits for; both false: it is about to close the socket. */
static void socket_state(void *data, ares_socket_t fd, int readable, int writable) {
        struct watch *free_one = NULL;
        uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);

        (void)data;
        for (size_t i = 0; i < SOCKETS_MAX; i++) {
                if (sockets[i].fd == fd) {
                        if (events)
                                loop_want(loop, &sockets[i], events);
                        else
                                (void)loop_release(loop, &sockets[i]);
                        return;
                }
                if (sockets[i].fd < 0)
                        free_one = &sockets[i];
        }
        if (events && free_one)
                (void)!loop_add(loop, free_one, fd, events, socket_ready);
}

static void remember(const char *host, const struct sockaddr_in6 *a, size_t n, int seconds) {
        struct known *k;

        if (n == 0 || seconds <= 0 || (!known && !(known = (struct known *)calloc(KNOWN_MAX, sizeof(*known)))))
                return;
        k = known;
        for (size_t i = 0; i < KNOWN_MAX; i++) /* its own old one, or the one that is over first */
                if (streq(known[i].host, host)) {
                        k = &known[i];
                        break;
                } else if (known[i].until < k->until)
                        k = &known[i];
        snprintf(k->host, sizeof(k->host), "%s", host);
        memcpy(k->address, a, n * sizeof(*a));
        k->n = n;
        k->until = loop->now + 1000u * (uint64_t)MIN(seconds, KNOWN_S_MAX);
}

static struct known *find_known(const char *host) {
        for (size_t i = 0; known && i < KNOWN_MAX; i++)
                if (known[i].n > 0 && known[i].until > loop->now && streq(known[i].host, host))
                        return &known[i];
        return NULL;
}

static void tell(struct dial *d, const struct sockaddr_in6 *addresses, size_t n, const char *why) {
        struct sockaddr_in6 a[2 * DIAL_ADDRESSES_MAX];

        for (size_t i = 0; i < n; i++) {
                a[i] = addresses[i];
                a[i].sin6_port = htons(d->request.port); /* of a sockaddr_in it is in the same place */
        }
        dial_resolved(d, a, n, why);
}

static void answered(void *arg, int status, int timeouts, struct ares_addrinfo *result) {
        struct lookup *l = (struct lookup *)arg, **at = &lookups;
        struct sockaddr_in6 a[2 * DIAL_ADDRESSES_MAX] = {};
        int seconds = KNOWN_S_MAX;
        size_t n = 0;

        (void)timeouts;
        for (const struct ares_addrinfo_node *i = result ? result->nodes : NULL; i && n < ELEMENTSOF(a); i = i->ai_next)
                if ((i->ai_family == AF_INET && i->ai_addrlen == sizeof(struct sockaddr_in)) ||
                    (i->ai_family == AF_INET6 && i->ai_addrlen == sizeof(struct sockaddr_in6))) {
                        memcpy(&a[n++], i->ai_addr, (size_t)i->ai_addrlen);
                        seconds = MIN(seconds, i->ai_ttl);
                }
        if (result)
                ares_freeaddrinfo(result);
        remember(l->host, a, n, seconds);
        while (*at != l)
                at = &(*at)->next;
        *at = l->next; /* who asks from now on gets an answer of his own */
        for (struct dial *d = l->waiting, *next; d; d = next) {
                next = d->same;
                tell(d, a, n, status == ARES_SUCCESS ? "the name has no address" : ares_strerror(status));
        }
        free(l);
}

/* A line of hosts(5): an address, then names. */
static bool line_names(const char *line, struct request_text name, struct sockaddr_in6 *ret, uint16_t port) {
        char address[INET6_ADDRSTRLEN];
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        bool found = false;

        line += strspn(line, " \t");
        size_t n = strcspn(line, " \t#");
        if (n == 0 || n >= sizeof(address))
                return false;
        memcpy(address, line, n);
        address[n] = 0;
        for (line += n; !found && *(line += strspn(line, " \t")) && *line != '#'; line += n) {
                n = strcspn(line, " \t#");
                found = n == name.n && strncasecmp(line, name.p, n) == 0;
        }
        if (!found)
                return false;
        if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
                memcpy(ret, &v4, sizeof(v4));
        else if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1)
                *ret = v6;
        else
                return false;
        return true;
}

void resolver_ask(struct dial *d) {
        const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NUMERICSERV};
        struct sockaddr_in6 a[DIAL_ADDRESSES_MAX] = {};
        struct lookup *l = lookups;
        size_t n = 0;

        for (const char *line = hosts; line && line < hosts + n_hosts && n < ELEMENTSOF(a); line += strlen(line) + 1)
                n += line_names(line, d->request.host, &a[n], d->request.port);
        if (n > 0) {
                dial_resolved(d, a, n, NULL);
                return;
        }
        const struct known *k = find_known(d->host);
        if (k) {
                tell(d, k->address, k->n, NULL);
                return;
        }
        while (l && !streq(l->host, d->host))
                l = l->next;
        if (l) {
                d->same = l->waiting;
                l->waiting = d;
                return;
        }
        l = (struct lookup *)calloc(1, sizeof(*l));
        if (!l) {
                dial_resolved(d, NULL, 0, strerror(ENOMEM));
                return;
        }
        memcpy(l->host, d->host, sizeof(l->host));
        l->waiting = d;
        l->next = lookups;
        lookups = l;
        ares_getaddrinfo(channel, l->host, NULL, &hints, answered, l);
}

int resolver_tick(void) {
        struct timeval max = {.tv_sec = 3600}, tv, *t = ares_timeout(channel, &max, &tv);

        ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* only what has timed out */
        t = ares_timeout(channel, &max, &tv);
        return t == &max || !t ? -1 : (int)(t->tv_sec * 1000 + t->tv_usec / 1000 + 1);
}

int resolver_init(struct loop *l) {
        struct ares_options o = {.flags = ARES_FLAG_NOSEARCH, .timeout = 2000, .tries = 3, .sock_state_cb = socket_state,
                                 .lookups = (char *)"b"};
        int r;

        loop = l;
        for (size_t i = 0; i < SOCKETS_MAX; i++)
                sockets[i].fd = -1;
        r = file_read(AT_FDCWD, HOSTS, HOSTS_BYTES, &hosts, &n_hosts);
        if (r == 0)
                for (size_t i = 0; i < n_hosts; i++)
                        hosts[i] = (char)(hosts[i] == '\n' ? 0 : hosts[i]);
        if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
                return -ENOMEM;
        r = ares_init_options(&channel, &o, ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS);
        return r == ARES_SUCCESS ? 0 : -EIO;
}
