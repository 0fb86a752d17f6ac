/* Who runs in an image: its /etc/passwd and /etc/group, read from its layers as the hostile text they are. */
#pragma once

#include "svc/image.h"

#define IMAGE_GROUPS_MAX 32u

struct image_user {
        uid_t uid;
        gid_t gid;
        char name[64];   /* "" where the image has none for the uid */
        char home[1024]; /* absolute; "/" where the image says nothing */
        gid_t groups[IMAGE_GROUPS_MAX]; /* that name the user as a member, in the order of the file; gid may be among them */
        size_t n_groups;
        bool groups_left_out;           /* there are more */
};

/* spec: "", "USER", "USER:GROUP", each a name or a number, as docker has it: without a group it is that of the image's
 * passwd(5), with the groups that the user is a member of, or 0; a group that is named is the only one. state_root: as
 * for image_open; the image must be open. */
int image_user_find(int state_root, const struct image *image, const char *spec, struct image_user *ret,
                    struct error *e) _must_check_;
