/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

static const char *named(const struct bawn_policy *p, const char *key)
{
	for (size_t i = 0; i < p->named.n; i++)
		if (!strcmp(p->named.v[i].key, key))
			return p->named.v[i].value;
	FAIL("no '%s'", key);
}

TEST(documented)
{
	const struct bawn_policy *p;

	setup();
	make_dir("ws/.venv");
	p = OPERATOR(
		"enforcement:\n  enabled: true\n  adapter: landlock\n  dry_run: true\n"
		"  landlock: {allowed_read: [../extra, '${VENV_DIR}'], allowed_write: ['${PROJECT_DIR}/sub'], network: false}\n"
		"  seatbelt: {profile: moderate}\n"
		"  docker: {image: img, network: none, read_only: true, mounts: [{source: sub, target: /m, read_only: true}]}\n"
		"  wasm: {fuel_limit: 1000}\n"
		"detection: {suspicious_threshold: 0.2, malicious_threshold: 0.6}\n"
		"tools: {Bash: {suspicious_threshold: 0.1, enforcement: {adapter: docker}}}\n"
		"actions: {SAFE: allow, SUSPICIOUS: constrain, MALICIOUS: block}\n"
		"sequences: {SEQ-001: {mode: enforce}}\nscan_modes: {'docs/*.md': lenient}\n");
	ASSERT_EQ(p->enf_enabled, true);
	ASSERT_EQ(p->enf_dry_run, true);
	ASSERT_STREQ(p->backend, "landlock");
	ASSERT_TRUE(has(&p->fs_read, below("extra")));
	ASSERT_TRUE(has(&p->fs_read, below("ws/.venv")));
	ASSERT_TRUE(has(&p->fs_write, below("ws/sub")));
	ASSERT_EQ(p->net_mode, BAWN_NET_DENY);
	ASSERT_STREQ(p->seatbelt_profile, "moderate");
	ASSERT_STREQ(p->docker_image, "img");
	ASSERT_EQ(p->n_mounts, 1);
	ASSERT_STREQ(p->mounts[0].source, below("ws/sub"));
	ASSERT_EQ(p->wasm_fuel, 1000);
	ASSERT_STREQ(named(p, "tools.Bash.enforcement.adapter"), "docker");
	ASSERT_STREQ(named(p, "actions.SUSPICIOUS"), "constrain");
	ASSERT_STREQ(named(p, "sequences.SEQ-001.mode"), "enforce");
	ASSERT_STREQ(named(p, "scan_modes.docs/*.md"), "lenient");
}

TEST(of_the_code)
{
	const struct bawn_policy *p = OPERATOR(
		"dry_run: true\nsandbox: {preferred: bwrap, fallback: noop}\n"
		"verdicts:\n  thresholds: {suspicious_floor: 0.2, malicious_floor: 0.5}\n"
		"  overrides:\n    tool_name: {Write: {suspicious_floor: 0.1}}\n"
		"    agent_type: {sub: {malicious_floor: 0.4}}\n"
		"enforcement:\n  landlock: {network: true}\n  suspicious:\n    Bash:\n"
		"      filesystem_writable: ['${PROJECT_DIR}']\n      filesystem_readable: []\n      network_allow: [a.test, b.test]\n");

	ASSERT_EQ(p->enf_dry_run, true);
	ASSERT_STREQ(p->backend, "bwrap");
	ASSERT_EQ(p->net_mode, BAWN_NET_OPEN);
	ASSERT_TRUE(p->thr_suspicious == 0.2 && p->thr_malicious == 0.5);
	ASSERT_STREQ(named(p, "sandbox.fallback"), "noop");
	ASSERT_STREQ(named(p, "tools.Write.suspicious_threshold"), "0.1");
	ASSERT_STREQ(named(p, "agents.sub.malicious_threshold"), "0.4");
	ASSERT_STREQ(named(p, "enforcement.suspicious.Bash.filesystem_writable"), below("ws"));
	ASSERT_STREQ(named(p, "enforcement.suspicious.Bash.filesystem_readable"), "");
	ASSERT_STREQ(named(p, "enforcement.suspicious.Bash.network_allow"), "a.test\nb.test");
}

TEST(venv_from_the_environment)
{
	setup();
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(setenv("VIRTUAL_ENV", below("extra"), 1), 0);
	ASSERT_TRUE(has(&OPERATOR("filesystem: {read: ['${VENV_DIR}/deep']}")->fs_read,
		below("extra/deep")));
}
