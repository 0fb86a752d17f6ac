/* What a tree of files may be used for: planned by the model, put in force by Landlock. */
#pragma once

enum tree_use {
        USE_READ = 1,    /* read files, list directories */
        USE_EXEC = 2,    /* execute files */
        USE_WRITE = 4,   /* write and truncate files that exist */
        USE_CHANGE = 8,  /* make, remove, rename and link entries; never devices */
        USE_DEVICE = 16, /* ioctl on devices (terminals) */
};
