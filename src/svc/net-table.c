/* See net-table.h. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "svc/net-table.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int net_table_seal(const void *data, size_t size) {
        _cleanup_fd_ int fd = memfd_create("belljar-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int r;

        if (fd < 0)
                return -errno;
        if ((r = fd_write_all(fd, data, size)) < 0)
                return r;
        if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int net_table_map(int fd, struct table *t) {
        struct table next;
        struct stat st;
        int r;

        if ((fcntl(fd, F_GET_SEALS) & SEALS) != SEALS)
                return -EPERM;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_size <= 0 || (size_t)st.st_size > TABLE_SIZE_MAX)
                return -EBADMSG;
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
                return -errno;
        if ((r = table_load(p, (size_t)st.st_size, &next)) < 0) {
                munmap(p, (size_t)st.st_size);
                return r;
        }
        if (t->header)
                munmap((void *)t->header, t->size);
        *t = next;
        return 0;
}
