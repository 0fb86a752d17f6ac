/* The words that a sandbox gives to ssh and ssh-keygen, and what it wants signed (model/git.h). Input: a letter, and
 *   s  words of ssh, each with a newline behind it: what is allowed names a repository of the policy, in a command that is quoted whole
 *   k  words of ssh-keygen
 *   o  an object: one that is taken begins as a commit or a tag does, has no NUL, and its headers end */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "model/git.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define must(cond) do { if (!(cond)) abort(); } while (0)
#define WORDS_MAX 32u

static const struct git_policy *policy(void) {
        static struct git_host host;
        static struct git_policy g = {.hosts = &host, .n_hosts = 1, .sign = {.on = true, .commits = true, .tags = true}};
        struct error e = {};

        if (!host.host) {
                host = (struct git_host){.host = strdup("git.test"), .user = strdup("git"), .port = 22, .write = true};
                must(host.host && host.user && git_add_repository(&host, "acme/*", &e) == 0);
        }
        return &g;
}

static void ssh(const char *const *argv, size_t argc) {
        struct git_ask a;
        struct error e = {};
        static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+@";

        if (git_ssh_read(policy(), argv, argc, &a, &e) < 0) {
                must(e.msg[0] && strlen(a.subject) < sizeof(a.subject));
                return;
        }
        must(str_after(a.repository, "acme/") && a.host == 0);
        const char *open = strchr(a.command, '\''), *close = open ? strchr(open + 1, '\'') : NULL;
        must(str_after(a.command, git_service_name(a.service)) && close && close[1] == 0 && open[-1] == ' ');
        must(strspn(open + 1, signs) == (size_t)(close - open - 1) && open[1] != '-' && !strstr(open, "/-") && !strstr(open, "/../"));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
        const char *words[WORDS_MAX + 1] = {};
        size_t argc = 0;

        if (size < 1 || size > 65536)
                return 0;
        char *copy = strndup((const char *)data + 1, size - 1);
        must(copy);
        if (data[0] == 'o') {
                struct error e = {};
                bool tag;
                if (git_object_read(&policy()->sign, (const char *)data + 1, size - 1, &tag, &e) == 0)
                        must(!memchr(data + 1, 0, size - 1) && str_after(copy, tag ? "object " : "tree ") && strstr(copy, "\n\n"));
        } else {
                for (char *save = NULL, *w = strtok_r(copy, "\n", &save); w && argc < WORDS_MAX; w = strtok_r(NULL, "\n", &save))
                        words[argc++] = w;
                struct git_keygen_ask a;
                if (data[0] == 's')
                        ssh(words, argc);
                else if (git_keygen_read(words, argc, &a, NULL) == 0 && a.what == GIT_KEYGEN_SIGN)
                        must(a.buffer && *a.buffer && a.buffer[0] != '-');
        }
        free(copy);
        return 0;
}
