/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "inspect/inspect.h"

static struct bawn_findings scan(
	struct bawn_arena *a, const struct bawn_policy *p, const char *text)
{
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_subject sub = {
		.kind = BAWN_KIND_TEXT,
		.detect = BAWN_DETECT_POLICY,
		.text = text,
		.len = strlen(text),
		.last = true,
	};

	if (bawn_scan_subject(a, p, &sub, &f, &err) < 0)
		FAIL("%s", err.msg);
	return f;
}

TEST(a_rule_of_the_policy)
{
	struct bawn_pair pairs[] = {
		{.key = "rules.internal.pattern", .value = "corp-[0-9]+"},
		{.key = "rules.internal.level", .value = "low"},
		{.key = "rules.internal.confidence", .value = "0.4"},
		{.key = "rules.internal.message", .value = "an internal name"},
		{.key = "rules.other.pattern", .value = "(?i)zebra"},
	};
	struct bawn_policy p = {.named = {.v = pairs, .n = 5}, .digest = "1"};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = scan(a, &p, "x corp-12 corp-3 y\xff ZEBRA");

	ASSERT_EQ(f.n, 3);
	ASSERT_STREQ(f.v[0].rule, "policy.internal");
	ASSERT_STREQ(f.v[0].message, "an internal name");
	ASSERT_EQ(f.v[0].level, BAWN_SEV_LOW);
	ASSERT_TRUE(f.v[0].confidence > 0.39 && f.v[0].confidence < 0.41);
	ASSERT_EQ(f.v[0].start, 2);
	ASSERT_EQ(f.v[0].end, 9);
	ASSERT_EQ(f.v[1].start, 10);
	ASSERT_STREQ(f.v[2].rule, "policy.other");
	ASSERT_EQ(scan(a, &p, "nothing").n, 0);
	/* another policy at the same place */
	pairs[0].value = "nothing";
	memcpy(p.digest, "2", 2);
	ASSERT_EQ(scan(a, &p, "nothing").n, 1);
}

TEST(a_limit_counts_as_a_match)
{
	struct bawn_pair pair = {.key = "rules.evil.pattern", .value = "(a+)+(b|c)+$"};
	struct bawn_policy p = {.named = {.v = &pair, .n = 1}, .digest = "3"};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	char text[64];
	struct bawn_findings f;

	memset(text, 'a', sizeof(text));
	text[62] = 'd';
	text[63] = '\0';
	f = scan(a, &p, text);
	ASSERT_EQ(f.n, 1);
	ASSERT_STREQ(f.v[0].rule, "policy.evil");
}
