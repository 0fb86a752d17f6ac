/* The socket beneath a connection of tls.c: as OpenSSL's own, but that a read which had less than it asked for is the
 * last of its turn, and that a write may tell the kernel that more follows at once. */
#include <sys/socket.h>

#include "svc/tls-internal.h"

static BIO_METHOD *method;

static int socket_read(BIO *b, char *data, int n) {
        struct tls_socket *s = (struct tls_socket *)BIO_get_data(b);
        ssize_t k = -1;

        BIO_clear_retry_flags(b);
        if (s->dry && s->once)
                errno = EAGAIN;
        else if ((k = recv(s->fd, data, (size_t)n, MSG_DONTWAIT)) < n)
                s->dry = true; /* an event comes for what comes later */
        if (k < 0 && (errno == EAGAIN || errno == EINTR))
                BIO_set_retry_read(b);
        s->eof = k == 0;
        return (int)k;
}

static int socket_write(BIO *b, const char *data, int n) {
        struct tls_socket *s = (struct tls_socket *)BIO_get_data(b);
        ssize_t k = send(s->fd, data, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL | (s->more ? MSG_MORE : 0));

        BIO_clear_retry_flags(b);
        if (k < 0 && (errno == EAGAIN || errno == EINTR))
                BIO_set_retry_write(b);
        return (int)k;
}

static long socket_control(BIO *b, int command, long n, void *arg) {
        (void)n;
        (void)arg;
        switch (command) {
        case BIO_CTRL_FLUSH:
                return 1;
        case BIO_CTRL_EOF:
                return ((struct tls_socket *)BIO_get_data(b))->eof;
        default:
                return 0;
        }
}

int tls_socket_init(void) {
        if (method)
                return 0;
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
        return method && BIO_meth_set_read(method, socket_read) == 1 && BIO_meth_set_write(method, socket_write) == 1 &&
                               BIO_meth_set_ctrl(method, socket_control) == 1
                       ? 0
                       : -ENOMEM;
}

int tls_socket_set(SSL *ssl, struct tls_socket *s) {
        BIO *b = BIO_new(method);

        if (!b)
                return -ENOMEM;
        BIO_set_data(b, s);
        BIO_set_init(b, 1);
        SSL_set_bio(ssl, b, b);
        return 0;
}
