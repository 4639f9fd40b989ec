/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>

#include "harness.h"
#include "verdict/verdict.h"

static const struct {
	const char *category[3];
	double confidence[3];
	enum bawn_verdict_kind kind;
	double result;
	bool blocked;
	const char *reason;
} rows[] = {
	{{NULL}, {0}, BAWN_SAFE, 0.0, false, NULL},
	{{"injection"}, {0.29}, BAWN_SAFE, 0.29, false, NULL},
	{{"injection"}, {0.30}, BAWN_SUSPICIOUS, 0.30, false, "m0"},
	{{"a", "b"}, {0.1, 0.69}, BAWN_SUSPICIOUS, 0.69, false, "m1"},
	{{"a", "b"}, {0.6, 0.5}, BAWN_MALICIOUS, 0.70, false, "m0"},
	{{"a", "b"}, {0.25, 0.25}, BAWN_SUSPICIOUS, 0.34375, false, "m0"},
	{{"a", "b", "c"}, {0.29, 0.29, 0.29}, BAWN_SUSPICIOUS, 0.436961125, false, "m0"},
	{{"a", "policy"}, {0.9, 0.1}, BAWN_MALICIOUS, 1.0, true, "m1"},
	{{"policy"}, {0.0}, BAWN_MALICIOUS, 1.0, true, "m0"},
	{{"a", "b", "c"}, {1.0, 1.0, 0.0}, BAWN_MALICIOUS, 1.0, false, "m0"},
};

TEST(table)
{
	static const char *const messages[] = {"m0", "m1", "m2"};
	struct bawn_policy p = {.thr_suspicious = 0.30, .thr_malicious = 0.70};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_finding v[3];
		struct bawn_findings f = {.v = v};
		struct bawn_verdict got;

		for (; f.n < 3 && rows[i].category[f.n]; f.n++)
			v[f.n] = (struct bawn_finding){.detector = "d",
				.rule = messages[f.n],
				.category = rows[i].category[f.n],
				.confidence = rows[i].confidence[f.n],
				.message = messages[f.n]};
		ASSERT_EQ(bawn_verdict_make(&p, NULL, &f, &got, NULL), 0);
		if (got.kind != rows[i].kind || fabs(got.confidence - rows[i].result) > 1e-6 ||
			got.blocked != rows[i].blocked)
			FAIL("row %zu gives %s %f", i, bawn_verdict_name(got.kind), got.confidence);
		ASSERT_EQ(got.reason == NULL, rows[i].reason == NULL);
		if (got.reason)
			ASSERT_STREQ(got.reason, rows[i].reason);
		ASSERT_EQ(got.findings.n, f.n);
	}
}

TEST(nonsense_confidence_is_an_error)
{
	static const double wrong[] = {-0.1, 1.1, INFINITY, NAN};
	struct bawn_policy p = {.thr_suspicious = 0.30, .thr_malicious = 0.70};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct bawn_finding v = {.detector = "d", .category = "a", .confidence = wrong[i]};
		struct bawn_findings f = {.v = &v, .n = 1};
		struct bawn_verdict got;
		struct bawn_error err = {0};

		ASSERT_EQ(bawn_verdict_make(&p, NULL, &f, &got, &err), -ERANGE);
		ASSERT_EQ(err.kind, BAWN_ERR_INSPECT);
	}
}

TEST(names)
{
	ASSERT_STREQ(bawn_verdict_name(BAWN_SAFE), "SAFE");
	ASSERT_STREQ(bawn_verdict_name(BAWN_SUSPICIOUS), "SUSPICIOUS");
	ASSERT_STREQ(bawn_verdict_name(BAWN_MALICIOUS), "MALICIOUS");
}

static double fused(enum bawn_mode mode, const struct bawn_finding *v, size_t n)
{
	struct bawn_finding copy[8];
	struct bawn_findings f = {.v = copy, .n = n};

	memcpy(copy, v, n * sizeof(*v));
	return bawn_fuse(&f, mode);
}

#define F(d, r, s, c)                                                                  \
	{                                                                              \
		.detector = (d), .rule = (r), .category = "x", .level = BAWN_SEV_HIGH, \
		.signal = BAWN_SIGNAL_##s, .confidence = (c)                           \
	}

TEST(fusion)
{
	static const struct bawn_finding same[] = {
		F("inject", "a", PATTERN, 0.5), F("inject", "a", PATTERN, 0.5)};
	static const struct bawn_finding other[] = {
		F("inject", "a", PATTERN, 0.5), F("secret", "b", PATTERN, 0.5)};
	static const struct bawn_finding two[] = {
		F("inject", "a", PATTERN, 0.28), F("inject", "b", SEMANTIC, 0.25)};
	static const struct bawn_finding seq[] = {
		F("shell", "a", PATTERN, 0.28), F("sequence", "b", SEQUENCE, 0.5)};

	/* one rule counts once, another detector is another matter */
	ASSERT_TRUE(fabs(fused(BAWN_MODE_STANDARD, same, 2) - 0.5) < 1e-9);
	ASSERT_TRUE(fabs(fused(BAWN_MODE_STANDARD, other, 2) - 0.5) < 1e-9);
	/* pattern and classifier agree */
	ASSERT_TRUE(fabs(fused(BAWN_MODE_STANDARD, two, 2) - (1 - 0.72 * 0.9)) < 1e-9);
	ASSERT_TRUE(fabs(fused(BAWN_MODE_STANDARD, seq, 2) - (1 - 0.5 * (1 - 0.4 * 0.28))) < 1e-9);
	/* modes */
	ASSERT_TRUE(fabs(fused(BAWN_MODE_STRICT, same, 1) - 0.6) < 1e-9);
	ASSERT_TRUE(fabs(fused(BAWN_MODE_LENIENT, same, 1) - 0.35) < 1e-9);
	ASSERT_TRUE(fused(BAWN_MODE_STANDARD, same, 0) == 0.0);
}

TEST(hints_alone_are_never_malicious)
{
	struct bawn_finding v[8];
	static const char *const rules[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

	for (size_t i = 0; i < 8; i++)
		v[i] = (struct bawn_finding)F("d", rules[i], PATTERN, 0.29);
	ASSERT_TRUE(fused(BAWN_MODE_STANDARD, v, 8) <= 0.5);
}

TEST(lenient_mode_softens)
{
	struct bawn_finding v[] = {F("d", "a", PATTERN, 0.9), F("d", "b", PATTERN, 0.9),
		F("d", "c", PATTERN, 0.9), F("d", "e", PATTERN, 0.5)};
	struct bawn_findings f = {.v = v, .n = 4};
	struct bawn_policy p = {.thr_suspicious = 0.30, .thr_malicious = 0.70};
	struct bawn_verdict_place place = {.mode = BAWN_MODE_LENIENT};
	struct bawn_verdict got;

	v[0].level = BAWN_SEV_LOW;
	v[1].level = BAWN_SEV_CRITICAL;
	v[3].category = "budget";
	ASSERT_EQ(bawn_verdict_make(&p, &place, &f, &got, NULL), 0);
	ASSERT_EQ(got.findings.n, 3);
	ASSERT_EQ(got.findings.v[0].level, BAWN_SEV_CRITICAL);
	ASSERT_EQ(got.findings.v[1].level, BAWN_SEV_MEDIUM);
	ASSERT_EQ(got.findings.v[2].level, BAWN_SEV_HIGH);
	ASSERT_EQ(got.kind, BAWN_MALICIOUS);
}

TEST(a_tool_and_an_agent_have_thresholds_of_their_own)
{
	struct bawn_pair pairs[] = {
		{.key = "tools.Bash.suspicious_threshold", .value = "0.6"},
		{.key = "tools.Bash.malicious_threshold", .value = "0.95"},
		{.key = "agents.x.malicious_threshold", .value = "0.4"},
	};
	struct bawn_policy p = {
		.thr_suspicious = 0.30, .thr_malicious = 0.70, .named = {.v = pairs, .n = 3}};
	struct bawn_finding v = F("d", "a", PATTERN, 0.5);
	struct bawn_findings f = {.v = &v, .n = 1};
	struct bawn_verdict got;

	ASSERT_EQ(
		bawn_verdict_make(&p, &(struct bawn_verdict_place){.tool = "Bash"}, &f, &got, NULL),
		0);
	ASSERT_EQ(got.kind, BAWN_SAFE);
	ASSERT_EQ(
		bawn_verdict_make(&p, &(struct bawn_verdict_place){.tool = "Read"}, &f, &got, NULL),
		0);
	ASSERT_EQ(got.kind, BAWN_SUSPICIOUS);
	ASSERT_EQ(bawn_verdict_make(&p, &(struct bawn_verdict_place){.tool = "Bash", .agent = "x"},
			  &f, &got, NULL),
		0);
	ASSERT_EQ(got.kind, BAWN_MALICIOUS);
}
