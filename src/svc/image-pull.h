/* Fetching an image from a registry by skopeo(1), which reads what a hostile registry sends and is locked in for that
 * (role/pull). What it brings is believed nothing: the manifest is asked for first and its digest taken here, the layers'
 * sizes are known from it before they are fetched, and what lies in the directory at the end is compared with it by the
 * import. Caller: image-import.c. */
#pragma once

#include "svc/image-oci.h"
#include "svc/image-stream.h"
#include "svc/registry-files.h"

#define PULL_IDLE_MS (120 * 1000u)
#define PULL_PROGRESS (16u << 10) /* bytes that count as progress */

struct pull_options {
        const char *platform; /* see struct oci_wish; NULL: this machine's */
        const char *tls_verify; /* "false": certificates are not checked, and HTTP will do; "true"; NULL: as registries.conf(5) has it */
        uint64_t time_ms;     /* for all of it; 0: any */
        uint64_t idle_ms;     /* with less than PULL_PROGRESS arriving; 0: PULL_IDLE_MS */
        /* Told now and then, where it is not NULL; whole: 0 while that is not known. */
        void (*progress)(uint64_t have, uint64_t whole);
};
struct pulled {
        struct oci_blob manifest, index; /* index.hex "": the manifest was not chosen from one */
        int dir;                         /* manifest.json, and each blob as HEX: skopeo's "dir:" */
};

/* The name of an image at a registry as image_name has it, of one with a transport ("docker://NAME") too; others are refused
 * with what to do instead. */
int image_pull_name(const char *given, char **ret, struct error *e) _must_check_;
/* Into a directory `pulled` of w. empty: as for stream_file. l: bounds of what is unpacked; no more than that is fetched. */
int image_pull(const struct image_work *w, int empty, const char *name, const struct pull_options *o,
               const struct stream_limits *l, struct pulled *ret, struct error *e) _must_check_;

/* What the locked-in process is to do (role/pull/pull.c). */
struct pull_child {
        const char *program;  /* skopeo's file, absolute and without links */
        char **argv, **envp;
        const struct registry_files *files; /* to be seen in its root */
        bool result;          /* its working directory is seen as /out, and may be written to */
        uint64_t max_file;    /* bytes of one file */
        int out, err;         /* its standard streams; what goes wrong before the program runs is said on err: */
};
#define PULL_CAGE_FAILED 120 /* the exit status then */
/* In the new process, in user, mount, pid, IPC and UTS namespaces of its own, as root of a user namespace with one id. */
_noreturn_ void image_pull_child(const struct pull_child *c);
