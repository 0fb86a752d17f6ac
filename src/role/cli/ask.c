/* A hidden line from the terminal; see ask.h. The terminal does not collect the line (ICANON): it would cut it at 4,095 bytes
 * without a word, which is less than some tokens have. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "role/cli/ask.h"

static const int caught_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
static volatile sig_atomic_t caught;

static void on_signal(int sig) { caught = sig; }

static int write_text(int tty, const char *text) { return fd_write_all(tty, text, strlen(text)); }

/* Backspace takes a whole character. */
static void take_back(struct vault_text *t) {
        while (t->n > 0) {
                char last = t->p[--t->n];
                t->p[t->n] = 0;
                if (((unsigned char)last & 0xc0) != 0x80)
                        return;
        }
}

/* 1: the line is whole. -EILSEQ: a key that is no character, such as an arrow. */
static int take(const struct termios *t, struct vault_text *ret, char c) {
        if (c == '\n' || c == '\r')
                return 1;
        if (c == (char)t->c_cc[VEOF])
                return ret->n > 0 ? 1 : -ECANCELED;
        if (c == 0x7f || c == '\b' || c == (char)t->c_cc[VERASE])
                take_back(ret);
        else if (c == (char)t->c_cc[VKILL])
                while (ret->n > 0)
                        take_back(ret);
        else if ((unsigned char)c < 0x20)
                return -EILSEQ;
        else if (ret->n == ret->cap)
                return -EFBIG;
        else
                ret->p[ret->n++] = c;
        return 0;
}

static int read_line(int tty, const struct termios *t, struct vault_text *ret) {
        for (;;) {
                char c = 0;
                ssize_t n = caught ? -1 : read(tty, &c, 1);
                if (caught || (n < 0 && errno == EINTR))
                        return -EINTR;
                if (n <= 0)
                        return n < 0 ? -errno : -ECANCELED;
                int r = take(t, ret, c);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
}

/* One attempt, with the terminal silent for as long. */
static int ask_once(int tty, const char *prompt, struct vault_text *ret) {
        struct sigaction before[ELEMENTSOF(caught_signals)], on = {.sa_handler = on_signal};
        struct termios was, silent;

        if (tcgetattr(tty, &was) < 0)
                return -errno;
        silent = was;
        silent.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL | ICANON);
        silent.c_cc[VMIN] = 1;
        silent.c_cc[VTIME] = 0;
        caught = 0;
        for (size_t i = 0; i < ELEMENTSOF(caught_signals); i++)
                (void)sigaction(caught_signals[i], &on, &before[i]);
        int r = tcsetattr(tty, TCSAFLUSH, &silent) < 0 ? -errno : write_text(tty, prompt);
        if (r >= 0)
                r = read_line(tty, &was, ret);
        (void)tcsetattr(tty, TCSAFLUSH, &was); /* what follows the line is for nobody */
        (void)!write_text(tty, "\n");
        for (size_t i = 0; i < ELEMENTSOF(caught_signals); i++)
                (void)sigaction(caught_signals[i], &before[i], NULL);
        return r;
}

int ask_hidden(const char *prompt, size_t max, struct vault_text *ret, struct error *e) {
        _cleanup_fd_ int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
        _cleanup_vault_ struct vault_text t = {};

        if (tty < 0)
                return error_set(e, ENOTTY, "there is no terminal to ask at");
        int r = vault_alloc(max, &t, e);
        if (r < 0)
                return r;
        do {
                t.n = 0;
                r = ask_once(tty, prompt, &t);
                if (r == -EINTR && caught)
                        (void)raise(caught); /* it ends, or stops and goes on here */
        } while (r == -EINTR);
        if (r == -ECANCELED)
                return error_set(e, ECANCELED, "nothing was typed");
        if (r == -EILSEQ)
                return error_set(e, EILSEQ, "that has a key in it that is no character");
        if (r == -EFBIG)
                return error_set(e, EFBIG, "that is too long: at most %zu characters", max);
        if (r < 0)
                return error_errno(e, r, "the terminal cannot be read");
        *ret = t;
        t = (struct vault_text){};
        return 0;
}
