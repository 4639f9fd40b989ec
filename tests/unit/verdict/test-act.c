/* SPDX-License-Identifier: Apache-2.0 */
/* Verdict to action: defaults, the policy's own, and the dry run that lets everything through. */
#include "harness.h"
#include "verdict/act.h"

static struct bawn_decision decide(
	const struct bawn_policy *p, enum bawn_verdict_kind kind, bool blocked)
{
	struct bawn_verdict v = {.kind = kind, .blocked = blocked};
	struct bawn_decision d;

	bawn_decide(p, &v, &d);
	return d;
}

TEST(defaults)
{
	struct bawn_policy p = {.enf_enabled = true};
	struct bawn_decision d = decide(&p, BAWN_SAFE, false);

	ASSERT_EQ(bawn_decision_does(&d), BAWN_ACTION_ALLOW);
	ASSERT_STREQ(bawn_decision_name(&d), "ALLOW");
	d = decide(&p, BAWN_SUSPICIOUS, false);
	ASSERT_EQ(bawn_decision_does(&d), BAWN_ACTION_CONSTRAIN);
	ASSERT_STREQ(bawn_decision_name(&d), "CONSTRAIN");
	d = decide(&p, BAWN_MALICIOUS, false);
	ASSERT_EQ(bawn_decision_does(&d), BAWN_ACTION_BLOCK);
	ASSERT_STREQ(bawn_decision_name(&d), "BLOCK");
	/* a rule of the policy is no guess */
	d = decide(&p, BAWN_SAFE, true);
	ASSERT_EQ(bawn_decision_does(&d), BAWN_ACTION_BLOCK);
}

TEST(dry_run_lets_everything_through)
{
	const struct bawn_policy off = {.enf_enabled = false},
				 dry = {.enf_enabled = true, .enf_dry_run = true};
	const struct bawn_policy *const both[] = {&off, &dry};

	for (size_t i = 0; i < 2; i++)
		for (int k = BAWN_SAFE; k <= BAWN_MALICIOUS; k++) {
			struct bawn_decision d =
				decide(both[i], (enum bawn_verdict_kind)k, k == BAWN_MALICIOUS);

			ASSERT_EQ(bawn_decision_does(&d), BAWN_ACTION_ALLOW);
			ASSERT_STREQ(bawn_decision_name(&d), k == BAWN_SAFE ? "ALLOW" : "DRY_RUN");
		}
}

TEST(actions_of_the_policy)
{
	struct bawn_pair pairs[] = {{.key = "actions.SUSPICIOUS", .value = "block"},
		{.key = "actions.MALICIOUS", .value = "log"},
		{.key = "actions.SAFE", .value = "constrain"}};
	struct bawn_policy p = {.enf_enabled = true, .named = {pairs, 3, 3}};
	struct bawn_decision d = decide(&p, BAWN_SUSPICIOUS, false);

	ASSERT_EQ(d.would, BAWN_ACTION_BLOCK);
	d = decide(&p, BAWN_MALICIOUS, false);
	ASSERT_EQ(d.would, BAWN_ACTION_LOG);
	d = decide(&p, BAWN_SAFE, false);
	ASSERT_EQ(d.would, BAWN_ACTION_CONSTRAIN);
}
