/* SHA-1, for forms that ask for it (a WebSocket's handshake, a JVM's keystore); it guards nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA1_SIZE 20u

void sha1(const void *data, size_t n, uint8_t ret[SHA1_SIZE]);
