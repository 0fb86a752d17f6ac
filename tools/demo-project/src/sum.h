#pragma once

/* The sum of n numbers; 0 for none. */
long sum(const int *numbers, unsigned n);
