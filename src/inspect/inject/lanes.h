/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* As many weights as fit a register, and their sums. */

#include <stdint.h>

#define LANES 8u
typedef int8_t weights __attribute__((vector_size(LANES)));
typedef int16_t sums __attribute__((vector_size(2 * LANES)));
