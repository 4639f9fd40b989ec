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

struct lines {
	size_t n, start[8], end[8];
};

static int line_hit(void *data, const struct bawn_match *m)
{
	struct lines *x = data;

	if (strcmp(bawn_rule_str(&bawn_rules_code, m->rule->id), "code.form-listener") != 0)
		return 0;
	ASSERT_EQ(m->rule->inner, BAWN_RULE_LINE);
	ASSERT_TRUE(x->n < 8);
	x->start[x->n] = m->whole_start;
	x->end[x->n++] = m->whole_end;
	return 0;
}

static struct lines in_lines(const char *text)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_scan s = {.a = a, .out = &f, .budget = UINT64_MAX};
	struct lines x = {0};

	ASSERT_TRUE(a != NULL);
	ASSERT_EQ(
		bawn_rules_match(&s, &bawn_rules_code, text, strlen(text), line_hit, &x, &err), 0);
	return x;
}

#define LISTENS "addEventListener \"submit\""

/* Looked for by the end of its line, found from the line's start, which has to be the rule's. */
TEST(an_event_is_found_by_the_end_of_its_line)
{
	struct lines x = in_lines("import a @module\ncall b." LISTENS ", f @func\n");

	ASSERT_EQ(x.n, 1);
	ASSERT_EQ(x.start[0], 17);
	ASSERT_EQ(x.end[0], 17 + 7 + strlen(LISTENS));
	x = in_lines("call " LISTENS);
	ASSERT_EQ(x.n, 1);
	ASSERT_EQ(x.start[0], 0);
	/* several, also in one line, where only the start counts */
	x = in_lines("call " LISTENS " " LISTENS "\ncall x." LISTENS "\ncall y." LISTENS "\n");
	ASSERT_EQ(x.n, 3);
	ASSERT_TRUE(x.start[0] < x.start[1] && x.start[1] < x.start[2]);
	/* another verb, no verb, a verb in the line before */
	ASSERT_EQ(in_lines("text " LISTENS).n, 0);
	ASSERT_EQ(in_lines(LISTENS "\n").n, 0);
	ASSERT_EQ(in_lines("call \n" LISTENS).n, 0);
	ASSERT_EQ(in_lines("text " LISTENS "\ncall " LISTENS).n, 1);
}
