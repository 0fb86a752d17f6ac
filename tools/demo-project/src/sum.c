#include "sum.h"

long sum(const int *numbers, unsigned n) {
        long r = 0;

        for (unsigned i = 0; i < n; i++)
                r += numbers[i];
        return r;
}
