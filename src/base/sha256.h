/* SHA-256, where a start has to name something by its content: the start program links no library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32u

void sha256(const void *data, size_t n, uint8_t ret[SHA256_SIZE]);
