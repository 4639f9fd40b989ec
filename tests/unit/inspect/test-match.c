/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "harness.h"
#include "inspect/rules.h"
#include "inspect/scan.h"

#define TOKEN "ghp_0123456789abcdefghijABCDEFGHIJ012345"

struct seen {
	size_t n;
	struct bawn_match first, last;
	int answer;
	struct bawn_scan *again; /* start another search from inside */
};

static int hit(void *data, const struct bawn_match *m)
{
	struct seen *x = data;

	if (strncmp(bawn_rule_str(&bawn_rules_secret, m->rule->id), "secret.", 7) != 0)
		FAIL("a match of no rule");
	if (!x->n++)
		x->first = *m;
	x->last = *m;
	if (x->again) {
		struct seen inner = {0};
		struct bawn_error err = {0};

		ASSERT_EQ(bawn_rules_match(x->again, &bawn_rules_secret, TOKEN, strlen(TOKEN), hit,
				  &inner, &err),
			0);
		ASSERT_TRUE(inner.n > 0);
	}
	return x->answer;
}

static int search(const char *text, size_t len, uint64_t budget, struct seen *x)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_scan s = {.a = a, .out = &f, .budget = budget};

	if (x->again)
		x->again = &s;
	ASSERT_TRUE(a != NULL);
	return bawn_rules_match(&s, &bawn_rules_secret, text, len, hit, x, &err);
}

TEST(finds_with_exact_span)
{
	static const char text[] = "a " TOKEN " b " TOKEN " c";
	struct seen x = {0};

	ASSERT_EQ(search(text, strlen(text), UINT64_MAX, &x), 0);
	ASSERT_TRUE(x.n >= 2);
	ASSERT_EQ(x.first.start, 2);
	ASSERT_EQ(x.first.end, 2 + strlen(TOKEN));
	ASSERT_EQ(x.last.end, strlen(text) - 2);
}

TEST(nothing_in_nothing)
{
	struct seen x = {0};

	ASSERT_EQ(search("", 0, UINT64_MAX, &x), 0);
	ASSERT_EQ(search("\0\0\0", 3, UINT64_MAX, &x), 0);
	ASSERT_EQ(search("plain text", 10, UINT64_MAX, &x), 0);
	ASSERT_EQ(x.n, 0);
}

TEST(a_hit_may_search_again_and_may_stop)
{
	static const char text[] = TOKEN " " TOKEN;
	struct bawn_scan any = {0};
	struct seen x = {.again = &any};

	ASSERT_EQ(search(text, strlen(text), UINT64_MAX, &x), 0);
	ASSERT_TRUE(x.n >= 2);
	x = (struct seen){.answer = -ECANCELED};
	ASSERT_EQ(search(text, strlen(text), UINT64_MAX, &x), -ECANCELED);
	ASSERT_EQ(x.n, 1);
}

TEST(stops_when_the_budget_is_used_up)
{
	struct seen x = {0};

	ASSERT_EQ(search(TOKEN, strlen(TOKEN), 10, &x), 0);
	ASSERT_EQ(x.n, 0);
}

TEST(a_megabyte_of_matches)
{
	size_t one = strlen(TOKEN) + 1;
	size_t n = 20000;
	char *text = malloc(n * one);
	struct seen x = {0};

	ASSERT_TRUE(text != NULL);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * one, TOKEN " ", one);
	ASSERT_EQ(search(text, n * one, UINT64_MAX, &x), 0);
	ASSERT_TRUE(x.n >= n);
	free(text);
}

TEST(arguments_of_a_rule)
{
	static const struct bawn_ruleset set = {.strings = "\0a\0"
							   "1\0b\0"
							   "2\0"};
	struct bawn_rule r = {.args = 1};

	ASSERT_STREQ(bawn_rule_arg(&set, &r, "a"), "1");
	ASSERT_STREQ(bawn_rule_arg(&set, &r, "b"), "2");
	ASSERT_TRUE(!bawn_rule_arg(&set, &r, "c"));
	r.args = 0;
	ASSERT_TRUE(!bawn_rule_arg(&set, &r, "a"));
}
