#include <stdio.h>

#include "sum.h"

int main(void) {
        const int numbers[] = {1, 2, 3, 4};

        if (sum(numbers, 4) != 10 || sum(numbers, 0) != 0)
                return 1;
        printf("sum: 2 passed\n");
        return 0;
}
