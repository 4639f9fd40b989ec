/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

TEST(defaults)
{
	const struct bawn_policy *p = load_ok(&(struct layers){0});

	ASSERT_EQ(p->lim_memory, 4ll << 30);
	ASSERT_EQ(p->net_mode, BAWN_NET_DENY);
	ASSERT_TRUE(has(&p->fs_deny, below("home/.ssh")));
	ASSERT_TRUE(has(&p->fs_system, "/usr"));
	ASSERT_TRUE(has(&p->env_pass, "LC_*"));
	ASSERT_TRUE(has(&p->fs_protect, ".git/hooks"));
	ASSERT_STREQ(p->backend, "auto");
	ASSERT_EQ(strlen(p->digest), 64);
}

/* Our own places are denied where they usually are and where the environment puts them. */
TEST(own_places_are_denied)
{
	static const char *const names[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"};
	static const char *const usual[] = {
		"home/.local/state/bawn", "home/.config/bawn", "home/.cache/bawn"};
	const struct bawn_policy *p = load_ok(&(struct layers){0});
	size_t before = p->fs_deny.n;

	make_dir("x[y");
	ASSERT_EQ(symlink("x[y", below("link")), 0);
	for (size_t i = 0; i < 3; i++) {
		ASSERT_TRUE(has(&p->fs_deny, below(usual[i])));
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
		ASSERT_EQ(setenv(names[i], below(i == 2 ? "absent" : "link"), 1), 0);
	}
	p = load_ok(&(struct layers){0});
	for (size_t i = 0; i < 3; i++)
		ASSERT_TRUE(has(&p->fs_deny, below(usual[i])));
	ASSERT_TRUE(has(&p->fs_deny, below("x[[]y/bawn")));
	ASSERT_TRUE(has(&p->fs_deny, below("absent/bawn")));
	ASSERT_EQ(p->fs_deny.n, before + 2);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(setenv("XDG_STATE_HOME", below("home/.local/state"), 1), 0);
	ASSERT_EQ(load_ok(&(struct layers){0})->fs_deny.n, before + 2);
}

TEST(native_values)
{
	const struct bawn_policy *p = OPERATOR(
		"version: 1\n"
		"level: container\n"
		"limits: {memory: 512m, time: 30s, cpus: 0.5, files: unlimited}\n"
		"network:\n  mode: allowlist\n  allow_hosts: [Example.ORG, '*.x.test:443']\n"
		"filesystem:\n  read: [../extra]\n  deny: [.env, '~/x', a/b, '/q/*.pem']\n"
		"environment:\n  set: {A: b, C: ''}\n");

	ASSERT_EQ(p->level, BAWN_LEVEL_CONTAINER);
	ASSERT_EQ(p->lim_memory, 512ll << 20);
	ASSERT_EQ(p->lim_time, 30000);
	ASSERT_EQ(p->lim_cpus, 500);
	ASSERT_TRUE(p->lim_files == BAWN_UNLIMITED);
	ASSERT_TRUE(has(&p->net_allow_hosts, "example.org"));
	ASSERT_TRUE(has(&p->net_allow_hosts, "*.x.test:443"));
	ASSERT_TRUE(has(&p->fs_read, below("extra")));
	ASSERT_TRUE(has(&p->fs_deny, below("ws/**/.env")));
	ASSERT_TRUE(has(&p->fs_deny, below("home/x")));
	ASSERT_TRUE(has(&p->fs_deny, below("ws/a/b")));
	ASSERT_TRUE(has(&p->fs_deny, "/q/*.pem"));
	ASSERT_TRUE(has(&p->fs_deny, below("home/.ssh")));
	ASSERT_EQ(p->env_set.n, 2);
	ASSERT_EQ(p->origins[0].line, 2);
	ASSERT_EQ(p->origins[0].column, 8);
}

TEST(positions)
{
	refused("limits:\n  memroy: 1g\n",
		"policy.yaml:2:3: unknown key 'memroy', did you mean 'memory'?");
	refused("actions:\n  suspicious: block\n",
		"policy.yaml:2:3: unknown key 'suspicious', did you mean 'SUSPICIOUS'?");
	refused("sequences:\n  SEQ-01: {mode: advisory}\n",
		"policy.yaml:2:3: unknown key 'SEQ-01', did you mean 'SEQ-001'?");
	refused("sequences: {whatever: {mode: enforce}}\n",
		"policy.yaml:1:13: unknown key 'whatever', no sequence has this name");
	refused("secrets:\n  leak_detection:\n    actions: {jtw: warn}\n",
		"policy.yaml:3:15: unknown key 'jtw', did you mean 'jwt'?");
	refused("secrets: {leak_detection: {actions: {no-such-provider-*: block}}}\n",
		"policy.yaml:1:38: unknown key 'no-such-provider-*', no rule for secrets has this name");
	(void)OPERATOR(
		"sequences: {SEQ-001: {mode: advisory}, SEQ-006: {mode: enforce}}\n"
		"secrets: {leak_detection: {actions: {'*': warn, secret.jwt: block, 'github-*': block, registered: block}}}\n");
	refused("memory: 1g\n",
		"policy.yaml:1:1: unknown key 'memory', did you mean 'limits.memory'?");
	refused("limits:\n  memory: x\n",
		"policy.yaml:2:11: bad size 'x', expected a size such as 65536, 512m, 4g or unlimited");
	refused("limits:\n  memory: -1\n",
		"policy.yaml:2:11: bad size '-1', expected a size such as 65536, 512m, 4g or unlimited");
	refused("limits:\n  memory: 99999999999t\n",
		"policy.yaml:2:11: size '99999999999t' is too large");
	refused("limits: {memory: 0}\n",
		"policy.yaml:1:18: 'limits.memory' must be more than 0, write 'unlimited' for no limit");
}
