/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "fixture.h"

static const char everything[] =
	"level: container\nbackend: docker\nallow_missing: [limit.disk]\n"
	"filesystem:\n  read: [../extra]\n  deny: [.env, 'a b', '*.pem']\n  deny_exec: [sub]\n"
	"network: {mode: allowlist, allow_hosts: ['*.example.org', '[::1]:80'], loopback_ports: [8080]}\n"
	"limits: {memory: 2000001, cpus: 1.25, time: 1500}\n"
	"environment: {set: {A: 'true', B: \"x: # y\\n\"}, pass: [PATH, X_*]}\n"
	"shell: {blocked_patterns: ['rm\\s+-rf'], blocked_commands: ['curl * | bash']}\n"
	"syscalls: {allow: [ptrace], deny: [bpf]}\n"
	"detection: {suspicious_threshold: 0.123}\n"
	"tools: {Bash: {suspicious_threshold: 0.1, enforcement: {adapter: native}}, a.b: {malicious_threshold: 1}}\n"
	"actions: {SAFE: log}\nscan_modes: {'**/*.md': strict}\nsequences: {SEQ-004: {mode: advisory}}\n"
	"sandbox: {fallback: [native, noop]}\n"
	"enforcement:\n  enabled: true\n  suspicious: {Bash: {filesystem_readable: [sub, ../extra], network_allow: false}}\n"
	"  docker: {mounts: [{source: sub, target: /x, read_only: false}]}\n";

TEST(round_trip)
{
	_cleanup_buf_ struct bawn_buf out = {0}, again = {0};
	const struct bawn_policy *p = OPERATOR(everything), *q;

	ASSERT_EQ(bawn_policy_show(p, false, &out), 0);
	q = OPERATOR(out.data);
	ASSERT_STREQ(q->digest, p->digest);
	ASSERT_EQ(q->named.n, p->named.n);
	ASSERT_EQ(q->n_mounts, 1);
	ASSERT_EQ(q->mounts[0].read_only, 0);
	ASSERT_EQ(bawn_policy_show(q, false, &again), 0);
}

TEST(round_trip_of_defaults)
{
	_cleanup_buf_ struct bawn_buf out = {0};
	const struct bawn_policy *p = load_ok(&(struct layers){0});

	ASSERT_EQ(bawn_policy_show(p, false, &out), 0);
	ASSERT_STREQ(OPERATOR(out.data)->digest, p->digest);
	ASSERT_TRUE(strstr(out.data, "  memory: 4g ") != NULL);
	ASSERT_TRUE(strstr(out.data, " # default\n") != NULL);
}

TEST(comments_name_layer_and_line)
{
	_cleanup_buf_ struct bawn_buf out = {0};
	const struct bawn_policy *p = load_ok(&(struct layers){.user = "limits:\n  memory: 1g\n",
		.workspace = "limits: {time: 1s}\n",
		.settings = &(struct bawn_setting){"limits.files", "7", "--files"},
		.n_settings = 1});

	ASSERT_EQ(bawn_policy_show(p, false, &out), 0);
	ASSERT_TRUE(strstr(out.data, " # user, user.yaml:2\n") != NULL);
	ASSERT_TRUE(strstr(out.data, " # operator, --files\n") != NULL);
	ASSERT_TRUE(strstr(out.data, "/.bawn.yaml:1\n") != NULL);
}

TEST(digest_is_of_values_not_of_origins)
{
	const char *a = OPERATOR("limits: {memory: 1g}\n")->digest;
	const char *b = load_ok(&(struct layers){.user = "limits:\n  memory: 1024m\n"})->digest;
	const char *c = OPERATOR("limits: {memory: 2g}\n")->digest;
	const char *d = OPERATOR("shell: {blocked_commands: [a, b]}\n")->digest;
	const char *e = OPERATOR("shell: {blocked_commands: [b, a]}\n")->digest;

	ASSERT_STREQ(a, b);
	ASSERT_TRUE(strcmp(a, c) != 0);
	ASSERT_STREQ(d, e);
}

TEST(every_setting_changes_the_digest)
{
	const char *base = load_ok(&(struct layers){0})->digest;
	static const char *const texts[] = {"level: vm", "backend: bwrap", "isolation: maximum",
		"prefer: strongest", "allow_missing: [ipc]", "filesystem: {mode: deny}",
		"network: {ssrf: {enabled: false}}", "environment: {set: {A: b}}",
		"limits: {cpus: 1}", "secrets: {encryption: aes-256-gcm}", "secrets: {use: [A]}",
		"secrets: {key_file: /k}", "actions: {SAFE: block}",
		"detection: {malicious_threshold: 0.71}", "audit: {sync: true}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(OPERATOR(texts[i])->digest, base))
			FAIL("'%s' is not in the digest", texts[i]);
}

TEST(json)
{
	_cleanup_buf_ struct bawn_buf out = {0};
	const struct bawn_policy *p = OPERATOR(everything);
	json_error_t why;
	json_t *root, *memory;

	ASSERT_EQ(bawn_policy_show(p, true, &out), 0);
	root = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		FAIL("not JSON: %s", why.text);
	ASSERT_STREQ(json_string_value(json_object_get(root, "schema")), "bawn/policy/v1");
	ASSERT_STREQ(json_string_value(json_object_get(root, "digest")), p->digest);
	root = json_object_get(root, "settings");
	memory = json_object_get(root, "limits.memory");
	ASSERT_EQ(json_integer_value(json_object_get(memory, "value")), 2000001);
	ASSERT_STREQ(json_string_value(json_object_get(memory, "layer")), "operator");
	ASSERT_STREQ(json_string_value(json_object_get(memory, "file")), "policy.yaml");
	ASSERT_EQ(json_integer_value(json_object_get(memory, "line")), 9);
	ASSERT_EQ(json_integer_value(json_object_get(memory, "column")), 18);
	for (size_t i = 0; bawn_field_at(i); i++)
		ASSERT_TRUE(json_object_get(root, bawn_field_at(i)->key) != NULL);
	ASSERT_TRUE(json_object_get(root, "tools.a.b.malicious_threshold") != NULL);
}

TEST(template_is_the_defaults)
{
	_cleanup_buf_ struct bawn_buf out = {0};
	const struct bawn_policy *p = load_ok(&(struct layers){0});

	ASSERT_EQ(bawn_policy_template(&out), 0);
	ASSERT_STREQ(OPERATOR(out.data)->digest, p->digest);
	for (size_t i = 0; bawn_field_at(i); i++)
		ASSERT_TRUE(strstr(out.data, bawn_field_at(i)->help) != NULL);
}

/* Each line of the template, uncommented alone, must be accepted. */
TEST(template_lines_can_be_used)
{
	_cleanup_buf_ struct bawn_buf out = {0};
	const struct bawn_policy *p = load_ok(&(struct layers){0});

	ASSERT_EQ(bawn_policy_template(&out), 0);
	for (char *line = out.data; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		char *end = strchr(line, '\n'), *hash = strchr(line, '#');
		char *colon = strchr(line, ':');

		if (!hash || !colon || !end || hash > end || colon > end || hash[2] < 'a')
			continue;
		/* take "# " away and keep the length of the line */
		for (char *c = hash; c < end; c++)
			*c = (char)(c + 2 < end ? c[2] : ' ');
		ASSERT_STREQ(OPERATOR(out.data)->digest, p->digest);
	}
}

TEST(field_info)
{
	const struct bawn_field_info *memory = NULL;
	size_t n = 0;

	for (; bawn_field_at(n); n++)
		if (!strcmp(bawn_field_at(n)->key, "limits.memory"))
			memory = bawn_field_at(n);
	ASSERT_TRUE(n > 40);
	ASSERT_TRUE(memory != NULL);
	ASSERT_STREQ(memory->def, "4g");
	ASSERT_STREQ(memory->unit, "SIZE");
	ASSERT_STREQ(memory->tighter, "LOWER");
	ASSERT_STREQ(bawn_enum_name("netmode", 3), "deny");
	ASSERT_TRUE(bawn_enum_name("netmode", 9) == NULL);
}
