/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Values as text: 512m, 30s, 0.5, 8080, and back. Parsers return 0, -EINVAL or -ERANGE. */

#include <stdbool.h>
#include <stdint.h>

#include "policy/model.h"

#define BAWN_VALUE_MAX 40

/* A number in a unit; "unlimited" is BAWN_UNLIMITED. */
int bawn_value_u64(enum bawn_unit unit, const char *text, uint64_t *ret);
/* A confidence: 0 to 1. */
int bawn_value_real(const char *text, double *ret);
int bawn_value_bool(const char *text, bool *ret);
/* What a number of the unit looks like, for messages: "a size such as 512m, 4g or unlimited". */
const char *bawn_unit_hint(enum bawn_unit unit);

/* The scalar member of a policy as a file would have it; "" for lists, maps and strings. */
void bawn_value_format(
	const struct bawn_field *f, const struct bawn_policy *p, char dst[BAWN_VALUE_MAX]);
