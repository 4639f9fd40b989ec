/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The C library knows what the processor can: asking the processor itself takes long in a virtual
 * machine. */
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#define BAWN_SHA256_X86 1
#else
#define BAWN_SHA256_X86 0
#endif

/* SHA-256 of `len` bytes; false, and nothing done, if this processor has no instructions for it. */
bool bawn_sha256_x86(const void *data, size_t len, unsigned char ret[32]);
