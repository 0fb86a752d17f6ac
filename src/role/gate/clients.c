/* Connections of the sandbox: where each was meant to go, whether the policy lets it, and over to the broker. What may pass
 * as TLS only is looked at until its ClientHello is there, without taking a byte of it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "model/canonical.h"
#include "role/gate/gate.h"

#define ACCEPTS 64 /* in a turn */
#define IDENTITY 0u /* of the broker: no credential */

static void end_client(struct gate *g, struct client *c, bool reset) {
        const struct linger now = {.l_onoff = 1};

        if (reset && c->w.fd >= 0)
                (void)setsockopt(c->w.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        loop_close(&g->loop, &c->w);
        *c->prev = c->next;
        if (c->next)
                c->next->prev = c->prev;
        g->n_clients--;
        free(c);
}

static void refuse(struct gate *g, struct client *c, const char *text) {
        struct net_report report;

        net_report_refusal(&report, NET_TLS, &c->request, text);
        net_control_report(&g->control, &report);
        end_client(g, c, true);
}

static void decide(struct gate *g, struct client *c, struct verdict *ret) {
        struct net_report report;

        table_decide(&g->table, &c->request, ret);
        if (!ret->allowed) {
                net_report_denial(&report, NET_TCP, &g->table, &c->request, ret);
                net_control_report(&g->control, &report);
                end_client(g, c, true);
        }
}

struct watch *gate_broker(struct gate *g, uint32_t identity) {
        if (g->brokers[identity].fd >= 0)
                return &g->brokers[identity];
        if (!g->wanted[identity]) {
                g->wanted[identity] = true;
                net_control_say(&g->control, NET_BROKER_WANTED, identity);
        }
        return NULL;
}

static void client_ready(struct watch *w, uint32_t events);

/* May end it. */
static void wait_for(struct gate *g, struct client *c, uint32_t events) {
        if (c->w.events != 0)
                loop_want(&g->loop, &c->w, events);
        else if (loop_add(&g->loop, &c->w, c->w.fd, events, client_ready) < 0)
                end_client(g, c, true);
}

/* To the broker, or in wait for it. */
static void hand_over(struct gate *g, struct client *c) {
        struct watch *broker = gate_broker(g, IDENTITY);
        struct broker_job job = {.type = BROKER_CONNECT, .port = c->request.port};
        int r = -EAGAIN;

        if (broker) {
                memcpy(job.host, c->request.host.p, MIN(c->request.host.n, sizeof(job.host) - 1));
                r = fd_send(broker->fd, &job, sizeof(job), &c->w.fd, 1, MSG_DONTWAIT);
                if (r == 0) {
                        end_client(g, c, false);
                        return;
                }
                loop_want(&g->loop, broker, EPOLLIN | (r == -EAGAIN ? EPOLLOUT : 0));
        }
        c->waits = true;
        wait_for(g, c, 0); /* EPOLLHUP comes all the same */
}

void clients_resume(struct gate *g) {
        for (struct client *c = g->clients, *next; c && g->brokers[IDENTITY].fd >= 0; c = next) {
                next = c->next;
                if (c->waits)
                        hand_over(g, c);
        }
}

/* Its rules look at requests. */
static void read_requests(struct gate *g, struct client *c, bool tls) {
        int fd = loop_release(&g->loop, &c->w);

        web_start(g, &c->request, fd, tls);
        end_client(g, c, false);
}

static void look_at_hello(struct gate *g, struct client *c) {
        static uint8_t buf[CLIENT_HELLO_STREAM_MAX];
        struct client_hello hello;
        struct request named = {};
        char name[REQUEST_HOST_MAX + 1];
        const char *why = NULL;

        ssize_t n = recv(c->w.fd, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                end_client(g, c, n < 0);
                return;
        }
        switch (client_hello_read(&c->hello, buf, (size_t)n, &hello)) {
        case CLIENT_HELLO_MORE: {
                /* The next event is for more than what was seen. */
                int more = (int)n + 1;
                if ((size_t)n >= sizeof(buf) || setsockopt(c->w.fd, SOL_SOCKET, SO_RCVLOWAT, &more, sizeof(more)) < 0)
                        refuse(g, c, "the ClientHello is too long");
                return;
        }
        case CLIENT_HELLO_DONE:
                break;
        case CLIENT_HELLO_NOT_TLS:
                if (c->access == TABLE_READ) {
                        read_requests(g, c, false);
                        return;
                }
                refuse(g, c, "this is not TLS");
                return;
        case CLIENT_HELLO_MALFORMED:
        default:
                refuse(g, c, c->hello.why ? c->hello.why : "the ClientHello cannot be read");
                return;
        }
        if (hello.n_sni == 0) {
                if (!c->request.is_address) {
                        refuse(g, c, "the ClientHello names no host");
                        return;
                }
        } else if (canonical_host(hello.sni, hello.n_sni, name, &named, &why) < 0) {
                refuse(g, c, why);
                return;
        } else if (!c->request.is_address && (named.host.n != c->request.host.n || memcmp(named.host.p, c->request.host.p, named.host.n) != 0)) {
                refuse(g, c, "the ClientHello names another host than the one that was looked up");
                return;
        }
        int one = 1;
        (void)setsockopt(c->w.fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
        if (c->access == TABLE_READ)
                read_requests(g, c, true);
        else
                hand_over(g, c);
}

static void client_ready(struct watch *w, uint32_t events) {
        struct client *c = loop_container(w, struct client, w);

        if (c->waits) {
                if (events & (EPOLLHUP | EPOLLERR))
                        end_client(&gate, c, true);
        } else
                look_at_hello(&gate, c);
}

/* Where it was meant to go, and what it is called. False: nowhere. */
static bool name_destination(struct gate *g, struct client *c, const struct sockaddr_in6 *to) {
        uint8_t address[16] = {[10] = 0xff, [11] = 0xff};
        bool pool = false;

        c->request.layer = REQUEST_L4;
        if (to->sin6_family == AF_INET) {
                struct sockaddr_in v4;
                memcpy(&v4, to, sizeof(v4));
                memcpy(address + 12, &v4.sin_addr, 4);
                c->request.port = ntohs(v4.sin_port);
                const char *name = names_find(&g->names, address + 12, &pool);
                if (name) {
                        snprintf(c->host, sizeof(c->host), "%s", name);
                        c->request.host = (struct request_text){c->host, strlen(c->host)};
                        return true;
                }
                if (pool || address[12] == 127 || memcmp(address + 12, g->own, 4) == 0)
                        return false;
        } else {
                memcpy(address, &to->sin6_addr, 16);
                c->request.port = ntohs(to->sin6_port);
                if (IN6_IS_ADDR_LOOPBACK(&to->sin6_addr) || IN6_IS_ADDR_V4MAPPED(&to->sin6_addr))
                        return false;
        }
        char text[INET6_ADDRSTRLEN];
        bool v4 = net_is_mapped(address);
        if (!inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? address + 12 : address, text, sizeof(text)))
                return false;
        return canonical_host(text, strlen(text), c->host, &c->request, NULL) == 0;
}

static void accept_client(struct gate *g, int fd) {
        struct sockaddr_in6 to = {};
        socklen_t len = sizeof(to);
        struct verdict v;
        struct client *c = g->n_clients < GATE_CLIENTS_MAX ? (struct client *)calloc(1, sizeof(*c)) : NULL;

        if (!c || getsockname(fd, (struct sockaddr *)&to, &len) < 0) {
                const struct linger now = {.l_onoff = 1};
                (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
                close(fd);
                free(c);
                return;
        }
        c->w.fd = fd; /* in the loop only when it has to wait: most do not, where nothing is read */
        c->deadline = g->loop.now + GATE_HELLO_MS;
        c->next = g->clients;
        c->prev = &g->clients;
        if (c->next)
                c->next->prev = &c->next;
        g->clients = c;
        g->n_clients++;
        if (!name_destination(g, c, &to)) {
                end_client(g, c, true);
                return;
        }
        c->access = table_port_access(&g->table, &c->request);
        switch (c->access) {
        case TABLE_PASS_TCP:
                decide(g, c, &v);
                if (v.allowed)
                        hand_over(g, c);
                break;
        case TABLE_PASS_TLS:
                decide(g, c, &v);
                if (v.allowed)
                        wait_for(g, c, EPOLLIN);
                break;
        case TABLE_READ:
                wait_for(g, c, EPOLLIN);
                break;
        case TABLE_REFUSE:
        default:
                decide(g, c, &v);
                if (v.allowed) /* not by what was just said */
                        end_client(g, c, true);
        }
}

int gate_accept(struct watch *listener) {
        static int spare = -1;
        const struct linger now = {.l_onoff = 1};

        if (spare < 0)
                spare = fcntl(listener->fd, F_DUPFD_CLOEXEC, 0);
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
                return fd;
        if (spare < 0) { /* something else has taken its place; the event would come again at once */
                loop_want(&gate.loop, listener, 0);
                gate.deaf = true;
                return -1;
        }
        close(TAKE_FD(spare));
        fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
                (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
                close(fd);
        }
        return -1;
}

void clients_ready(struct watch *w, uint32_t events) {
        (void)events;
        for (int i = 0; i < ACCEPTS; i++) {
                int fd = gate_accept(w);
                if (fd < 0)
                        return;
                accept_client(&gate, fd);
        }
}

void clients_tick(struct gate *g) {
        for (struct client *c = g->clients, *next; c; c = next) {
                next = c->next;
                if (g->loop.now < c->deadline)
                        continue;
                if (c->waits)
                        end_client(g, c, true);
                else
                        refuse(g, c, "no ClientHello came");
        }
}
