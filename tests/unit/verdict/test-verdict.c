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
	{{"a", "b"}, {0.7, 0.5}, BAWN_MALICIOUS, 0.70, false, "m0"},
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
				.category = rows[i].category[f.n],
				.confidence = rows[i].confidence[f.n],
				.message = messages[f.n]};
		ASSERT_EQ(bawn_verdict_make(&p, &f, &got, NULL), 0);
		if (got.kind != rows[i].kind || got.confidence != rows[i].result ||
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

		ASSERT_EQ(bawn_verdict_make(&p, &f, &got, &err), -ERANGE);
		ASSERT_EQ(err.kind, BAWN_ERR_INSPECT);
	}
}

TEST(names)
{
	ASSERT_STREQ(bawn_verdict_name(BAWN_SAFE), "SAFE");
	ASSERT_STREQ(bawn_verdict_name(BAWN_SUSPICIOUS), "SUSPICIOUS");
	ASSERT_STREQ(bawn_verdict_name(BAWN_MALICIOUS), "MALICIOUS");
}
