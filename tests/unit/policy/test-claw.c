/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#define HEAD "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: box-1\nspec:\n"

TEST(everything)
{
	const struct bawn_policy *p = OPERATOR(
		"claw: \"0.3.0\"\nkind: Sandbox\n"
		"metadata: {name: box-1, version: 1.2.3-rc1, labels: {a: b}, annotations: {x: [1, {y: z}]}}\n"
		"spec:\n  level: container\n  runtime: gvisor\n  capabilities:\n"
		"    network: {mode: allowlist, allowed_hosts: ['*.x.test'], ssrf_protection: {enabled: true, block_private_ips: false, dns_pinning: true}}\n"
		"    filesystem:\n      mode: read-only\n      mount_paths: [{path: ../extra, permissions: ro}, {path: sub, permissions: rw}]\n"
		"      denied_paths: [~/.ssh, .env, credentials]\n"
		"    secrets: {injection: host-boundary, encryption: aes-256-gcm, leak_detection: {enabled: true, patterns: 22}}\n"
		"    shell: {mode: restricted, blocked_commands: ['curl * | bash'], blocked_patterns: ['rm\\s+-rf']}\n"
		"  resource_limits: {memory_mb: 512, cpu_shares: 256, max_processes: 9, max_open_files: 10, timeout_ms: 1500, max_output_bytes: 11}\n");

	ASSERT_STREQ(p->name, "box-1");
	ASSERT_EQ(p->level, BAWN_LEVEL_CONTAINER);
	ASSERT_STREQ(p->backend, "gvisor");
	ASSERT_EQ(p->net_mode, BAWN_NET_ALLOWLIST);
	ASSERT_TRUE(has(&p->net_allow_hosts, "*.x.test"));
	ASSERT_EQ(p->ssrf_private, false);
	ASSERT_EQ(p->fs_mode, BAWN_FS_READ_ONLY);
	ASSERT_TRUE(has(&p->fs_read, below("extra")));
	ASSERT_TRUE(has(&p->fs_write, below("ws/sub")));
	ASSERT_TRUE(has(&p->fs_deny, below("ws/**/credentials")));
	ASSERT_TRUE(has(&p->fs_deny, "/etc/shadow"));
	ASSERT_STREQ(p->sec_injection, "host-boundary");
	ASSERT_EQ(p->sec_patterns, 22);
	ASSERT_EQ(p->shell_mode, BAWN_SHELL_RESTRICTED);
	ASSERT_TRUE(has(&p->shell_patterns, "rm\\s+-rf"));
	ASSERT_EQ(p->lim_memory, 512ll << 20);
	ASSERT_EQ(p->lim_shares, 256);
	ASSERT_EQ(p->lim_processes, 9);
	ASSERT_EQ(p->lim_files, 10);
	ASSERT_EQ(p->lim_time, 1500);
	ASSERT_EQ(p->lim_output, 11);
}

TEST(runtimes)
{
	static const struct {
		const char *spec, *backend;
	} t[] = {
		{HEAD "  level: none\n", "noop"},
		{HEAD "  level: process\n", "auto"},
		{HEAD "  level: wasm\n", "wasm"},
		{HEAD "  level: container\n", "docker"},
		{HEAD "  level: vm\n", "auto"},
		{HEAD "  level: vm\n  runtime: firecracker\n", "firecracker"},
		{HEAD "  level: wasm\n  runtime: wasmtime\n", "wasm"},
		{HEAD "  level: process\n  runtime: native\n", "native"},
		{HEAD "  level: container\n  runtime: apple-container\n", "apple-container"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ASSERT_STREQ(OPERATOR(t[i].spec)->backend, t[i].backend);
}

/* A runtime that only follows from the level does not quarrel with one that was asked for. */
TEST(inferred_runtime_gives_way)
{
	const struct bawn_policy *p = load_ok(&(struct layers){
		.user = "backend: podman\n", .operator= HEAD "  level: container\n"});

	ASSERT_STREQ(p->backend, "podman");
	ASSERT_EQ(p->level, BAWN_LEVEL_CONTAINER);
	p = load_ok(&(struct layers){.workspace = HEAD "  level: container\n"});
	ASSERT_STREQ(p->backend, "auto");
	ASSERT_TRUE(load(&(struct layers){.workspace = HEAD "  level: vm\n  runtime: gvisor\n"},
			    &p) < 0);
}

TEST(modes)
{
	const struct bawn_policy *p = OPERATOR(HEAD
		"  level: process\n  capabilities: {network: {mode: allow-all}, filesystem: {mode: full}}\n");

	ASSERT_EQ(p->net_mode, BAWN_NET_OPEN);
	ASSERT_EQ(p->fs_mode, BAWN_FS_FULL);
}

TEST(refused)
{
	static const struct {
		const char *text, *message;
	} t[] = {
		{"claw: 0.3.0\nkind: Policy\nmetadata: {name: x}\nspec: {rules: []}\n",
			"policy.yaml:2:7: bad 'kind' value 'Policy', expected Sandbox, the one kind that is supported"},
		{"claw: 0.2.0\nkind: Sandbox\nmetadata: {name: x}\nspec: {level: vm}\n",
			"policy.yaml:1:7: bad 'claw' value '0.2.0', expected \"0.3.0\""},
		{"claw: 0.3.0\nmetadata: {name: x}\nspec: {level: vm}\n",
			"policy.yaml:1:1: 'kind' is missing"},
		{"kind: Sandbox\nmetadata: {name: x}\nspec: {level: vm}\n",
			"policy.yaml:1:1: 'claw' is missing"},
		{"claw: 0.3.0\nkind: Sandbox\nspec: {level: vm}\n",
			"policy.yaml:1:1: 'metadata' is missing"},
		{"claw: 0.3.0\nkind: Sandbox\nmetadata: {name: x}\n",
			"policy.yaml:1:1: 'spec' is missing"},
		{"claw: 0.3.0\nkind: Sandbox\nmetadata: {version: 1.0.0}\nspec: {level: vm}\n",
			"policy.yaml:3:11: 'name' is missing"},
		{"claw: 0.3.0\nkind: Sandbox\nmetadata: {name: -x}\nspec: {level: vm}\n",
			"policy.yaml:3:18: bad 'name' value '-x', expected 1 to 63 letters, digits and '-', not '-' first"},
		{"claw: 0.3.0\nkind: Sandbox\nmetadata: {name: x, version: 1.0}\nspec: {level: vm}\n",
			"policy.yaml:3:30: bad 'version' value '1.0', expected MAJOR.MINOR.PATCH"},
		{HEAD "  runtime: docker\n", "policy.yaml:6:3: 'level' is missing"},
		{HEAD "  level: strong\n",
			"policy.yaml:6:10: bad value 'strong' for 'level', expected one of none, process, wasm, container, vm"},
		{HEAD "  level: vm\n  runtime: podman\n",
			"policy.yaml:7:12: bad value 'podman' for 'spec.runtime', expected docker, …"},
		{HEAD "  level: vm\n  levle: vm\n",
			"policy.yaml:7:3: unknown key 'levle', did you mean 'level'?"},
		{HEAD "  level: vm\n  resource_limits: {memory_mb: \"512\"}\n",
			"policy.yaml:7:32: bad value '512', expected a whole number"},
		{HEAD "  level: vm\n  resource_limits: {memory_mb: 512m}\n",
			"policy.yaml:7:32: bad value '512m', expected a whole number"},
		{HEAD "  level: vm\n  resource_limits: {memory_mb: -1}\n",
			"policy.yaml:7:32: bad value '-1', expected a whole number"},
		{HEAD "  level: vm\n  resource_limits: {memory_mb: 99999999999999}\n",
			"policy.yaml:7:32: size '99999999999999m' is too large"},
		{HEAD "  level: vm\n  capabilities: {network: {ssrf_protection: {enabled: \"true\"}}}\n",
			"policy.yaml:7:55: bad value 'true', expected true or false"},
		{HEAD "  level: vm\n  capabilities: {network: {mode: open}}\n",
			"policy.yaml:7:34: bad value 'open' for 'spec.capabilities.network.mode', expected deny, …"},
		{HEAD "  level: vm\n  capabilities: {filesystem: {mount_paths: [{path: sub}]}}\n",
			"policy.yaml:7:45: a mount needs exactly 'path' and 'permissions' (ro or rw)"},
		{HEAD "  level: vm\n  capabilities: {filesystem: {mount_paths: [{path: sub, permissions: x}]}}\n",
			"policy.yaml:7:70: bad 'permissions' value 'x', expected ro or rw"},
		{HEAD "  level: vm\n  capabilities: {shell: {blocked_patterns: ['(']}}\n",
			"policy.yaml:7:45: bad regular expression '(' at character 2: missing closing parenthesis"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		refused(t[i].text, t[i].message);
}
