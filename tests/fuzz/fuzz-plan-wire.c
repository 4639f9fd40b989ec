/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as bytes: what is read is written in one form, which is the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/wire.h"

#define REQUIRE(e)               \
	do {                     \
		if (!(e))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_buf_ struct bawn_buf again = {0};
	const struct bawn_plan *plan = NULL;

	if (!a || bawn_plan_decode(a, data, size, &plan, NULL) < 0)
		return 0;
	bawn_plan_encode(plan, &again);
	REQUIRE(!again.failed);
	REQUIRE(again.len == size);
	REQUIRE(memcmp(again.data, data, size) == 0);
	return 0;
}
