/* The keys of a policy that are about the inside of an image: its name, the user, the program, places and volumes. The
 * checks of their text, which the file's reader and the command line's options share. */
#include <string.h>

#include "model/image-name.h"
#include "model/policy-table.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define USER_NAME_MAX 32u /* bytes: what useradd(8) takes */

static int check_image(const struct policy_key *k, const char *text, struct error *e) {
        char brief[POLICY_BRIEF];
        const char *why = "";

        if (image_name_check(text, &why) == 0)
                return 0;
        error_set(e, EINVAL, "%s: \"%s\" is not the name of an image", k->name, policy_brief(brief, text));
        return error_fix(e, "%s", why);
}

/* A name as useradd(8) takes it, or a number: no leading zero, which some read as octal. */
static bool user_part_valid(const char *s, size_t n) {
        unsigned id = 0;

        if (n > 0 && strchr(DIGITS, s[0])) {
                for (size_t i = 0; i < n; i++) {
                        if (!strchr(DIGITS, s[i]) || i >= 5)
                                return false;
                        id = id * 10 + (unsigned)(s[i] - '0');
                }
                return id <= POLICY_ID_MAX && (n == 1 || s[0] != '0');
        }
        if (n == 0 || n > USER_NAME_MAX || !strchr(LETTERS "_", s[0]))
                return false;
        for (size_t i = 0; i < n; i++)
                if (!strchr(LETTERS DIGITS "_.-", s[i]))
                        return false;
        return true;
}

static int check_user(const struct policy_key *k, const char *text, struct error *e) {
        const char *colon = strchr(text, ':');
        char brief[POLICY_BRIEF];

        if (user_part_valid(text, colon ? (size_t)(colon - text) : strlen(text)) &&
            (!colon || user_part_valid(colon + 1, strlen(colon + 1))))
                return 0;
        error_set(e, EINVAL, "%s: \"%s\" is not a user", k->name, policy_brief(brief, text));
        return error_fix(e, "write NAME, UID, UID:GID or NAME:GROUP; numbers go from 0 to %u", POLICY_ID_MAX);
}

static int check_name(const struct policy_key *k, const char *text, struct error *e) {
        static const char first[] = "abcdefghijklmnopqrstuvwxyz" DIGITS;
        char brief[POLICY_BRIEF];
        size_t n = strlen(text);

        if (n > 0 && n <= POLICY_WORKSPACE_NAME_MAX && strchr(first, text[0]) &&
            strspn(text, "abcdefghijklmnopqrstuvwxyz" DIGITS "_.-") == n)
                return 0;
        error_set(e, EINVAL, "%s: \"%s\" is not a name for a workspace", k->name, policy_brief(brief, text));
        return error_fix(e,
                "names have small letters, digits, '_', '.' and '-', begin with a letter or digit, and have %u "
                "characters at most; a directory of the host is a path",
                POLICY_WORKSPACE_NAME_MAX);
}

static int check_workdir(const struct policy_key *k, const char *text, struct error *e) {
        if (text[0] == '~') {
                error_set(e, EINVAL, "%s: ~ is the home on the host, and this is a directory inside", k->name);
                return error_fix(
                        e, "write the directory as it is seen inside, and a name that begins with ~ as ./~...");
        }
        return policy_check_path(k, text, e);
}

/* A place inside at which something is mounted. */
static int check_inside(const struct policy_key *k, const char *text, struct error *e) {
        static const char *const taken[] = {"/proc", "/sys", "/dev"};
        char brief[POLICY_BRIEF];
        int r = policy_check_path(k, text, e);

        if (r < 0)
                return r;
        policy_brief(brief, text);
        if (text[0] != '/') {
                error_set(e, EINVAL, "%s: \"%s\" is not absolute", k->name, brief);
                return error_fix(e, "write where it stands inside, from / on");
        }
        if (path_has_dotdot(text)) {
                error_set(e, EINVAL, "%s: \"%s\" has a .. in it", k->name, brief);
                return error_fix(e, "write the path that is meant");
        }
        _cleanup_free_ char *clean = path_clean(text);
        if (!clean)
                return error_set(e, ENOMEM, "out of memory");
        if (streq(clean, "/")) {
                error_set(e, EINVAL, "%s cannot be /: it would take the place of the whole root", k->name);
                return error_fix(e, "write a directory beneath it");
        }
        if (!streq(clean, text)) {
                char fix[POLICY_BRIEF];
                error_set(e, EINVAL, "%s: \"%s\" has a part that says nothing: a doubled / or one at the end, or a .",
                        k->name, brief);
                return error_fix(e, "write it as %s", policy_brief(fix, clean));
        }
        for (size_t i = 0; i < ELEMENTSOF(taken); i++)
                if (path_beneath(text, taken[i])) {
                        error_set(e, EINVAL, "%s: \"%s\" is in %s, which is Belljar's own inside", k->name, brief,
                                taken[i]);
                        return error_fix(e, "write another place");
                }
        return 0;
}

static int check_word(const struct policy *p, const struct policy_key *k, const char *text, struct error *e) {
        if (p->entrypoint.n == 0 && text[0] == 0) {
                error_set(e, EINVAL, "%s: the program's name is empty", k->name);
                return error_fix(e, "write [] for no entrypoint");
        }
        if (strlen(text) >= POLICY_WORD_BYTES)
                return error_set(e, E2BIG, "%s: a word has more than the %u bytes that Linux hands to a program",
                        k->name, POLICY_WORD_BYTES);
        return 0;
}

int policy_check_text(const struct policy *p, const struct policy_key *k, const char *text, struct error *e) {
        switch (k->type) {
        case KEY_IMAGE:
                return check_image(k, text, e);
        case KEY_USER:
                return check_user(k, text, e);
        case KEY_WORKDIR:
                return check_workdir(k, text, e);
        case KEY_INSIDE:
                return check_inside(k, text, e);
        case KEY_WORDS:
                return check_word(p, k, text, e);
        case KEY_NAME:
                if (p->workspace.path) {
                        error_set(e, EINVAL, "%s beside a path of the workspace: it has one or the other", k->name);
                        return error_fix(e, "take path or name out");
                }
                return check_name(k, text, e);
        default:
                return error_set(e, EINVAL, "%s is no text", k->name);
        }
}

int policy_check_volume(const struct policy_key *k, const char *text, struct error *e) {
        char brief[POLICY_BRIEF];

        if (k->type == KEY_PATH)
                return policy_check_path(k, text, e);
        if (k->type == KEY_INSIDE)
                return check_inside(k, text, e);
        if (streq(text, "ro") || streq(text, "rw"))
                return 0;
        error_set(e, EINVAL, "%s cannot be \"%s\"", k->name, policy_brief(brief, text));
        return error_fix(e, "write ro or rw");
}

int policy_keep_volume(struct policy *p, const char *host, const char *inside, bool writable, struct policy_place place,
                       struct error *e) {
        char brief[POLICY_BRIEF];

        for (size_t i = 0; i < p->n_volumes; i++)
                if (streq(p->volumes[i].inside, inside)) {
                        const struct policy_place *first = &p->volumes[i].place;
                        error_set(e, EEXIST, "two volumes at %s", policy_brief(brief, inside));
                        if (first->line)
                                return error_fix(
                                        e, "give this one another place, or take out that of line %u", first->line);
                        return error_fix(e, "give one of them another place");
                }
        if (p->n_volumes >= POLICY_VOLUMES_MAX)
                return error_set(e, E2BIG, "more than %u volumes", POLICY_VOLUMES_MAX);
        _cleanup_free_ char *new_host = strdup(host), *new_inside = strdup(inside);
        struct volume *v = new_host && new_inside ? reallocarray(p->volumes, p->n_volumes + 1, sizeof(*v)) : NULL;
        if (!v)
                return error_set(e, ENOMEM, "out of memory");
        p->volumes = v;
        v[p->n_volumes++] = (struct volume){TAKE_PTR(new_host), TAKE_PTR(new_inside), writable, place};
        return 0;
}

int policy_add_volume(struct policy *p, const char *text, struct error *e) {
        const struct policy_key *volumes = policy_key_find(NULL, "volumes");
        char brief[POLICY_BRIEF], *inside, *mode, *end;
        _cleanup_free_ char *host = strdup(text);
        int r;

        if (!host)
                return error_set(e, ENOMEM, "out of memory");
        inside = strchr(host, ':');
        if (!inside) {
                error_set(
                        e, EINVAL, "the volume \"%s\" does not say where it stands inside", policy_brief(brief, text));
                return error_fix(e, "write HOST:INSIDE, or HOST:INSIDE:rw where the run may write to it");
        }
        *inside++ = 0;
        mode = strchr(inside, ':');
        if (mode)
                *mode++ = 0;
        end = mode ? strchr(mode, ':') : NULL;
        if (end || (mode && policy_check_volume(policy_key_find(volumes, "mode"), mode, NULL) < 0)) {
                error_set(e, EINVAL, "the volume \"%s\" has \"%s\" for its mode", policy_brief(brief, text), mode);
                if (end || strchr(mode, '/'))
                        return error_fix(
                                e, "a path with a colon in it goes into a policy: {host: \"a:b\", inside: /b}");
                return error_fix(e, "write HOST:INSIDE:ro or HOST:INSIDE:rw; there are no other modes");
        }
        if ((r = policy_check_volume(policy_key_find(volumes, "host"), host, e)) < 0 ||
            (r = policy_check_volume(policy_key_find(volumes, "inside"), inside, e)) < 0)
                return r;
        return policy_keep_volume(p, host, inside, mode && streq(mode, "rw"), (struct policy_place){}, e);
}
