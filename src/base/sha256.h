/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#define BAWN_HEX_LEN 64

/* SHA-256 of `len` bytes. */
void bawn_sha256(const void *data, size_t len, unsigned char ret[BAWN_HEX_LEN / 2]);
/* The same as 64 hex digits and a NUL. */
void bawn_sha256_hex(const void *data, size_t len, char ret[BAWN_HEX_LEN + 1]);
