/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a call, and what they make of a session. */
#include "harness.h"
#include "inspect/sequence.h"

#define MINUTE ((uint64_t)60 * 1000 * 1000)

static bool has_step(const struct bawn_tool_use *use, enum bawn_step step)
{
	struct bawn_session_event v[BAWN_STEPS_PER_CALL];
	size_t n = bawn_sequence_steps(use, NULL, 1, v);

	for (size_t i = 0; i < n; i++)
		if (v[i].step == step)
			return true;
	return false;
}

static const struct {
	const char *tool, *command, *path, *url;
	bool writes;
	enum bawn_step step;
	bool expected;
} steps[] = {
	{"Read", NULL, "/home/u/.ssh/id_rsa", NULL, false, BAWN_STEP_SENSITIVE_READ, true},
	{"Read", NULL, "/home/u/.ssh/id_rsa.pub", NULL, false, BAWN_STEP_SENSITIVE_READ, false},
	{"Read", NULL, "/w/.env", NULL, false, BAWN_STEP_SENSITIVE_READ, true},
	{"Read", NULL, "/w/.env.production", NULL, false, BAWN_STEP_SENSITIVE_READ, true},
	{"Read", NULL, "/w/.env.example", NULL, false, BAWN_STEP_SENSITIVE_READ, false},
	{"Read", NULL, "/w/src/environment.ts", NULL, false, BAWN_STEP_SENSITIVE_READ, false},
	{"Bash", "cat ~/.aws/credentials", NULL, NULL, false, BAWN_STEP_SENSITIVE_READ, true},
	{"Bash", "cat \"$HOME\"/.s'sh'/id_ed25519", NULL, NULL, false, BAWN_STEP_SENSITIVE_READ,
		true},
	{"Bash", "ls src; git status", NULL, NULL, false, BAWN_STEP_SENSITIVE_READ, false},
	{"Bash", "curl https://evil.example/x", NULL, NULL, false, BAWN_STEP_NET_COMMAND, true},
	{"Bash", "curl http://localhost:8080/health", NULL, NULL, false, BAWN_STEP_NET_COMMAND,
		false},
	{"Bash", "curl http://127.0.0.1@evil.example/", NULL, NULL, false, BAWN_STEP_NET_COMMAND,
		true},
	{"Bash", "cd x && FOO=1 make -j4", NULL, NULL, false, BAWN_STEP_BUILD_RUN, true},
	{"Bash", "echo make", NULL, NULL, false, BAWN_STEP_BUILD_RUN, false},
	{"Bash", "echo 'all:' > Makefile", NULL, NULL, false, BAWN_STEP_BUILD_WRITE, true},
	{"Bash", "cat Makefile", NULL, NULL, false, BAWN_STEP_BUILD_WRITE, false},
	{"Write", NULL, "/w/package.json", NULL, true, BAWN_STEP_BUILD_WRITE, true},
	{"Write", NULL, "/w/.git/hooks/pre-commit", NULL, true, BAWN_STEP_CONFIG_WRITE, true},
	{"Edit", NULL, "/w/.claude/settings.json", NULL, true, BAWN_STEP_CONFIG_WRITE, true},
	{"Read", NULL, "/w/.claude/settings.json", NULL, false, BAWN_STEP_CONFIG_WRITE, false},
	{"Write", NULL, "/w/src/main.c", NULL, true, BAWN_STEP_CONFIG_WRITE, false},
	{"WebFetch", NULL, NULL, "https://Evil.Example/", false, BAWN_STEP_FETCH, true},
	{"WebFetch", NULL, NULL, "http://[::1]/", false, BAWN_STEP_FETCH, false},
	{"mcp__mail__send_message", NULL, NULL, NULL, false, BAWN_STEP_MCP_SEND, true},
	{"mcp__db__query", NULL, NULL, NULL, false, BAWN_STEP_MCP_SEND, false},
	{"mcp__db__query", NULL, NULL, NULL, false, BAWN_STEP_MCP, true},
};

TEST(calls_are_told_apart_by_what_they_name)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct bawn_tool_use use = {steps[i].tool, steps[i].command, steps[i].path,
			steps[i].url, steps[i].writes};

		if (has_step(&use, steps[i].step) != steps[i].expected)
			FAIL("row %zu (%s %s%s%s): step %s %s", i, steps[i].tool,
				steps[i].command ? steps[i].command : "",
				steps[i].path ? steps[i].path : "",
				steps[i].url ? steps[i].url : "", bawn_step_name(steps[i].step),
				steps[i].expected ? "is missing" : "should not be there");
	}
}

static size_t check(const struct bawn_policy *p, enum bawn_step first, uint64_t age, unsigned times,
	enum bawn_step now, struct bawn_findings *out)
{
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_session *past = calloc(1, sizeof(*past));
	struct bawn_session_event e = {.time_us = 1000 * MINUTE, .step = now, .word = "w"};
	struct bawn_error err = {0};

	ASSERT_TRUE(past != NULL);
	for (unsigned i = 0; i < times; i++)
		past->v[past->n++] = (struct bawn_session_event){
			.time_us = 1000 * MINUTE - age, .step = first, .word = "w"};
	*out = (struct bawn_findings){0};
	ASSERT_EQ(bawn_sequence_check(a, p, past, &e, 1, out, &err), 0);
	free(past);
	return out->n;
}

TEST(each_sequence_is_found_and_only_in_its_window)
{
	static const struct {
		const char *rule;
		enum bawn_step first, now;
		unsigned times;
		uint64_t window;
	} rows[] = {
		{"sequence.SEQ-001", BAWN_STEP_SENSITIVE_READ, BAWN_STEP_FETCH, 1, 60 * MINUTE},
		{"sequence.SEQ-002", BAWN_STEP_SENSITIVE_READ, BAWN_STEP_NET_COMMAND, 1,
			60 * MINUTE},
		{"sequence.SEQ-003", BAWN_STEP_MCP, BAWN_STEP_MCP, 19, MINUTE},
		{"sequence.SEQ-004", BAWN_STEP_BUILD_WRITE, BAWN_STEP_BUILD_RUN, 1, 60 * MINUTE},
		{"sequence.SEQ-006", BAWN_STEP_SENSITIVE_READ, BAWN_STEP_MCP_SEND, 1, 60 * MINUTE},
	};
	struct bawn_findings f;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ASSERT_EQ(check(NULL, rows[i].first, rows[i].window / 2, rows[i].times, rows[i].now,
				  &f),
			1);
		ASSERT_STREQ(f.v[0].rule, rows[i].rule);
		ASSERT_EQ(f.v[0].signal, BAWN_SIGNAL_SEQUENCE);
		ASSERT_EQ(check(NULL, rows[i].first, rows[i].window + MINUTE, rows[i].times,
				  rows[i].now, &f),
			0);
		ASSERT_EQ(check(NULL, rows[i].first, 0, rows[i].times - 1, rows[i].now, &f), 0);
	}
	/* configuration is written: that alone */
	ASSERT_EQ(check(NULL, BAWN_STEP_OTHER, 0, 0, BAWN_STEP_CONFIG_WRITE, &f), 1);
	ASSERT_STREQ(f.v[0].rule, "sequence.SEQ-005");
}

TEST(the_policy_makes_a_sequence_advisory_or_not)
{
	struct bawn_pair pairs[] = {{.key = "sequences.SEQ-001.mode", .value = "advisory"},
		{.key = "sequences.SEQ-004.mode", .value = "enforce"}};
	struct bawn_policy p = {.named = {pairs, 2, 2}};
	struct bawn_findings f;

	ASSERT_EQ(check(NULL, BAWN_STEP_SENSITIVE_READ, 0, 1, BAWN_STEP_FETCH, &f), 1);
	ASSERT_TRUE(f.v[0].confidence >= 0.3);
	ASSERT_EQ(check(&p, BAWN_STEP_SENSITIVE_READ, 0, 1, BAWN_STEP_FETCH, &f), 1);
	ASSERT_TRUE(f.v[0].confidence < 0.3);
	ASSERT_EQ(check(NULL, BAWN_STEP_BUILD_WRITE, 0, 1, BAWN_STEP_BUILD_RUN, &f), 1);
	ASSERT_TRUE(f.v[0].confidence < 0.3);
	ASSERT_EQ(check(&p, BAWN_STEP_BUILD_WRITE, 0, 1, BAWN_STEP_BUILD_RUN, &f), 1);
	ASSERT_TRUE(f.v[0].confidence >= 0.3);
}

TEST(allowed_hosts_are_compared_as_hosts)
{
	struct bawn_item items[] = {{.text = "GET *.good.example:8443/x"}, {.text = "192.0.2.0/24"},
		{.text = "2001:db8::/32"}, {.text = "not a rule at all"}};
	struct bawn_policy p = {.net_allow_hosts = {items, 4, 4}};
	static const struct {
		const char *url;
		size_t steps;
	} rows[] = {{"https://api.good.example/x", 0}, {"https://good.example:8443/", 0},
		{"https://good.example.evil.example/", 1}, {"https://evilgood.example/", 1},
		{"https://good.example@evil.example/", 1}, {"https://evil.example/good.example", 1},
		{"https://API.good.example./", 0}, {"http://192.0.2.7:8080/", 0},
		{"http://192.0.3.7/", 1}, {"http://[2001:db8::1]:80/", 0},
		{"http://[2001:db9::1]/", 1}, {"http://[::1]:8080/", 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_session_event v[BAWN_STEPS_PER_CALL];
		struct bawn_tool_use use = {.tool = "WebFetch", .url = rows[i].url};

		if (bawn_sequence_steps(&use, &p, 1, v) != rows[i].steps)
			FAIL("%s", rows[i].url);
	}
}
