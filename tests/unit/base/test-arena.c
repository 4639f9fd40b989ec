/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "harness.h"

#define LARGE ((size_t)1 << 20)

static bool zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* What was in memory before comes back with large pieces that are given back and taken again. */
TEST(memory_is_zeroed_unless_it_is_raw)
{
	for (int i = 0; i < 8; i++) {
		_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
		char *raw, *small, *large;

		ASSERT_TRUE(a != NULL);
		raw = bawn_arena_raw(a, LARGE);
		small = bawn_arena_alloc(a, 100);
		large = bawn_arena_alloc(a, LARGE);
		ASSERT_TRUE(raw && small && large);
		ASSERT_TRUE(zero(small, 100) && zero(large, LARGE));
		memset(raw, 'x', LARGE);
		memset(small, 'x', 100);
		memset(large, 'x', LARGE);
		small = bawn_arena_raw(a, 100);
		ASSERT_TRUE(small != NULL);
		memset(small, 'x', 100);
		small = bawn_arena_alloc(a, 16000);
		ASSERT_TRUE(small && zero(small, 16000));
	}
}
