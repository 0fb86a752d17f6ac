/* Replays a corpus through a fuzz target as an ordinary TAP test: one test per file of the folder given. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int main(int argc, char **argv) {
        int n = 0;

        if (argc != 2) {
                fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
                return 2;
        }
        DIR *d = opendir(argv[1]);
        if (!d) {
                perror(argv[1]);
                return 2;
        }
        for (struct dirent *e; (e = readdir(d));) {
                _cleanup_free_ char *data = NULL;
                size_t size;
                if (e->d_name[0] == '.')
                        continue;
                if (file_read(dirfd(d), e->d_name, 16u << 20, &data, &size) < 0) {
                        printf("not ok %d - %s cannot be read\n", ++n, e->d_name);
                        continue;
                }
                LLVMFuzzerTestOneInput((const unsigned char *)data, size);
                printf("ok %d - %s\n", ++n, e->d_name);
        }
        closedir(d);
        if (n == 0)
                printf("not ok %d - the corpus is empty\n", ++n);
        printf("1..%d\n# done\n", n);
        return 0;
}
