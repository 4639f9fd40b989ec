/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files of this folder share. */

#include "result/result.h"

enum limit_unit {
	UNIT_BYTES,
	UNIT_MSEC,
	UNIT_MILLI,
	UNIT_COUNT,
};

/* One limit: how it is called, which setting and flag raise it, what to say when it was hit. */
struct limit_info {
	uint32_t control;
	const char *name; /* in JSON */
	const char *key;  /* in a policy */
	const char *flag;
	enum limit_unit unit;
	const char *said; /* %s is the value */
};

const struct limit_info *limit_find(uint32_t control); /* NULL if it is none */
/* The value in force; BAWN_UNLIMITED if there is no plan. */
uint64_t limit_value(const struct bawn_result *r, uint32_t control);
/* "512 MiB", "1.5 GiB", "30 s", "0.5", "512". Exact where it is short, else to one digit. */
void limit_print(enum limit_unit unit, uint64_t v, char *dst, size_t size);
