/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "inspect/inspect.h"

TEST(built_in)
{
	ASSERT_EQ(bawn_mode_for(NULL, "CLAUDE.md"), BAWN_MODE_STRICT);
	ASSERT_EQ(bawn_mode_for(NULL, "/a/b/.claude/commands/x.md"), BAWN_MODE_STRICT);
	ASSERT_EQ(bawn_mode_for(NULL, "sub/.cursorrules"), BAWN_MODE_STRICT);
	ASSERT_EQ(bawn_mode_for(NULL, "tests/AGENTS.md"), BAWN_MODE_STRICT);
	ASSERT_EQ(bawn_mode_for(NULL, "a/tests/x/y.txt"), BAWN_MODE_LENIENT);
	ASSERT_EQ(bawn_mode_for(NULL, "pkg/x_test.go"), BAWN_MODE_LENIENT);
	ASSERT_EQ(bawn_mode_for(NULL, "src/main.c"), BAWN_MODE_STANDARD);
	ASSERT_EQ(bawn_mode_for(NULL, "latests/main.c"), BAWN_MODE_STANDARD);
	ASSERT_EQ(bawn_mode_for(NULL, NULL), BAWN_MODE_STANDARD);
}

TEST(policy_comes_first_and_the_strictest_counts)
{
	struct bawn_pair pairs[] = {
		{.key = "scan_modes.docs/**", .value = "lenient"},
		{.key = "scan_modes.docs/api/*", .value = "strict"},
		{.key = "scan_modes.CLAUDE.md", .value = "standard"},
	};
	struct bawn_policy p = {.named = {.v = pairs, .n = 3}};

	ASSERT_EQ(bawn_mode_for(&p, "/w/docs/x.md"), BAWN_MODE_LENIENT);
	ASSERT_EQ(bawn_mode_for(&p, "docs/api/x.md"), BAWN_MODE_STRICT);
	ASSERT_EQ(bawn_mode_for(&p, "CLAUDE.md"), BAWN_MODE_STANDARD);
	ASSERT_EQ(bawn_mode_for(&p, "AGENTS.md"), BAWN_MODE_STRICT);
}
