/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect/secret: every way a registered value may be written that is looked for,
 * as symbols (squeeze.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORM_MAX 1100 /* symbols of one form */

struct form {
	uint8_t symbols[FORM_MAX];
	size_t n;
	size_t extent; /* of the value itself: bytes from its first to its last symbol; else 0 */
};

/* Calls `add` for each form of `value` (at most FORM_VALUE_MAX bytes); a negative return ends it.
 */
#define FORM_VALUE_MAX 128
int forms_each(
	const char *value, size_t len, int (*add)(void *data, const struct form *f), void *data);
