/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "fixture.h"

TEST(texts)
{
	static const struct {
		const char *text, *message;
	} t[] = {
		{"a: &x [1]\nb: *x\n",
			"policy.yaml:1:4: anchors are not supported, write the value out"},
		{"&x level: vm\n",
			"policy.yaml:1:1: anchors are not supported, write the value out"},
		{"level: *x\n", "policy.yaml:1:8: aliases are not supported, write the value out"},
		{"level: !!str vm\n", "policy.yaml:1:8: tags are not supported"},
		{"level: vm\nlevel: none\n",
			"policy.yaml:2:1: key 'level' is given twice, first in line 1"},
		{"level: vm\n---\nlevel: none\n",
			"policy.yaml:2:1: a second document, only one is allowed"},
		{"level: \"v\\0m\"\n", "policy.yaml:1:8: control character \\x00 in a value"},
		{"level: \"\\e[2J\"\n", "policy.yaml:1:8: control character \\x1b in a value"},
		{"\"a\\nb\": 1\n", "policy.yaml:1:1: control character \\x0a in a value"},
		{"level: vm\nx: \xff\n", "policy.yaml:2:4: invalid leading UTF-8 octet"},
		{"[1, 2]\n", "policy.yaml:1:1: expected keys and values"},
		{"level\n", "policy.yaml:1:1: expected keys and values"},
		{"limits: 5\n", "policy.yaml:1:9: expected keys and values below 'limits'"},
		{"limits: [a]\n", "policy.yaml:1:9: expected keys and values below 'limits'"},
		{"level: [vm]\n", "policy.yaml:1:8: expected one value for 'level'"},
		{"filesystem: {read: /usr}\n",
			"policy.yaml:1:20: expected a list for 'filesystem.read'"},
		{"filesystem: {read: [[/usr]]}\n",
			"policy.yaml:1:21: expected text in 'filesystem.read'"},
		{"filesystem:\n  read:\n",
			"policy.yaml:2:8: expected a list for 'filesystem.read', write [] for an empty one"},
		{"? {a: b}\n: c\n", "policy.yaml:1:3: a key must be a word"},
		{"<<: {level: none}\n", "policy.yaml:1:1: unknown key '<<'"},
		{"limits.memory: 1g\n",
			"policy.yaml:1:1: unknown key 'limits.memory', write its parts as sections, one below the other"},
		{"version: 2\n", "policy.yaml:1:10: unknown version, this program reads version 1"},
		{"backend: native\nenforcement: {adapter: docker}\n",
			"policy.yaml:2:24: 'backend' is given twice, first in line 1"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		refused(t[i].text, t[i].message);
}

TEST(entries)
{
	static const struct {
		const char *text, *message;
	} t[] = {
		{"filesystem:\n  read: [/usr, nowhere]\n",
			"policy.yaml:2:16: path 'nowhere': No such file or directory"},
		{"filesystem: {read: ['~bob/x']}\n",
			"policy.yaml:1:21: '~bob/x': only ~ and ~/ are known"},
		{"filesystem: {read: ['${HOME}/x']}\n",
			"policy.yaml:1:21: '${HOME}/x': only ${PROJECT_DIR} and ${VENV_DIR} are known"},
		{"filesystem: {deny: ['../x']}\n",
			"policy.yaml:1:21: '../x': write the path without '..'"},
		{"filesystem: {protect: [/x]}\n",
			"policy.yaml:1:24: bad name '/x', expected a path relative to the workspace"},
		{"filesystem: {protect: [a/../../x]}\n",
			"policy.yaml:1:24: bad name 'a/../../x', expected a path relative to the workspace"},
		{"filesystem: {protect: [.]}\n",
			"policy.yaml:1:24: '.' is the workspace itself, name something in it"},
		{"network: {allow_hosts: ['http://x.test']}\n",
			"policy.yaml:1:25: bad host 'http://x.test': a rule has no scheme: write the host; expected example.org, *.example.org:8080, 10.0.0.0/8 or GET example.org/path/*"},
		{"network: {allow_hosts: [a.test, '*.com']}\n",
			"policy.yaml:1:33: bad host '*.com': the wildcard covers a whole top-level domain; expected example.org, *.example.org:8080, 10.0.0.0/8 or GET example.org/path/*"},
		{"network: {host_rate: 0}\n",
			"policy.yaml:1:22: 'network.host_rate' must be more than 0, write 'unlimited' for no limit"},
		{"network: {mode: allow}\n",
			"policy.yaml:1:17: bad value 'allow' for 'network.mode', expected one of open, blocklist, allowlist, deny, closed"},
		{"network: {loopback_ports: [0]}\n",
			"policy.yaml:1:28: bad port '0', expected 1 to 65535"},
		{"network: {loopback_ports: [65536]}\n",
			"policy.yaml:1:28: bad port '65536', expected 1 to 65535"},
		{"syscalls: {deny: [nonesuch]}\n",
			"policy.yaml:1:19: unknown system call 'nonesuch'"},
		{"allow_missing: [walls]\n", "policy.yaml:1:17: unknown control 'walls'"},
		{"shell: {blocked_patterns: ['a[']}\n",
			"policy.yaml:1:28: bad regular expression 'a[' at character 3: missing terminating ] for character class"},
		{"environment: {pass: ['A=B']}\n",
			"policy.yaml:1:22: bad variable name 'A=B', expected letters, digits, '_' and '*'"},
		{"environment:\n  set:\n    A-B: c\n",
			"policy.yaml:3:5: bad variable name 'A-B', expected letters, digits and '_'"},
		{"audit: {sync: 'true'}\n",
			"policy.yaml:1:15: bad value 'true' for 'audit.sync', expected true or false"},
		{"network: {ssrf: {dns_pinning: false}}\n",
			"policy.yaml:1:31: 'network.ssrf.dns_pinning' cannot be turned off: no address is dialled but the one that was checked; leave it out"},
		{"enforcement: {gvisor: {engine: dokcer}}\n",
			"policy.yaml:1:32: bad value 'dokcer' for 'enforcement.gvisor.engine', expected one of auto, direct, docker"},
		{"enforcement: {docker: {network: bridge}}\n",
			"policy.yaml:1:33: bad value 'bridge' for 'enforcement.docker.network', expected none: any other would lead around every rule; what is to be reached is network.mode's business"},
		{"sandbox: {fallback: [native]}\n",
			"policy.yaml:1:21: 'sandbox.fallback' has no backend to stand in for: 'auto' takes whichever will do; name one (backend, sandbox.preferred)"},
		{"sandbox: {preferred: native, fallback: [auto]}\n",
			"policy.yaml:1:41: 'auto' is no backend to fall back to, name one"},
		{"sandbox: {preferred: native, fallback: [jail]}\n",
			"policy.yaml:1:41: unknown backend 'jail'"},
		{"actions: {SAFE: maybe}\n",
			"policy.yaml:1:17: bad value 'maybe' for 'actions.SAFE', expected one of allow,log,constrain,block"},
		{"detection: {suspicious_threshold: 1.5}\n",
			"policy.yaml:1:35: bad number '1.5', expected 0 to 1"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		refused(t[i].text, t[i].message);
}

TEST(system_directories)
{
	refused("filesystem: {system: [/usr, /nowhere]}\n",
		"policy.yaml:1:29: path '/nowhere': No such file or directory");
	ASSERT_TRUE(
		has(&OPERATOR("filesystem: {system: [/usr, /nix/store]}\n")->fs_system, "/usr"));
}

TEST(depth)
{
	char text[512] = "level: ";

	memset(text + 7, '[', 400);
	refused(text, "policy.yaml:1:39: nested deeper than 32");
}

TEST(nodes)
{
	char *text = malloc(200000);
	size_t n = 0;
	const struct bawn_policy *p = NULL;

	ASSERT_TRUE(text != NULL);
	n += (size_t)snprintf(text, 200000, "shell: {blocked_commands: [");
	for (int i = 0; i < 15000; i++)
		n += (size_t)snprintf(text + n, 200000 - n, "w%d,", i);
	(void)snprintf(text + n, 200000 - n, "]}\n");
	ASSERT_EQ(load(&(struct layers){.operator= text}, &p), -EINVAL);
	ASSERT_TRUE(strstr(error.msg, "more than 10000 entries") != NULL);
	free(text);
}

TEST(nul_byte)
{
	static const char bytes[] = "level: v\0m\n";
	const char *files[] = {"nul.yaml", NULL};
	struct bawn_policy_source src = {.files = files, .no_admin = true, .no_user = true};
	const struct bawn_policy *p = NULL;
	FILE *f;

	setup();
	src.workspace = workspace;
	f = fopen("nul.yaml", "we");
	ASSERT_TRUE(f != NULL);
	ASSERT_EQ(fwrite(bytes, 1, sizeof(bytes) - 1, f), sizeof(bytes) - 1);
	ASSERT_EQ(fclose(f), 0);
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -EINVAL);
	ASSERT_STREQ(error.msg, "nul.yaml:1:9: control characters are not allowed");
}

TEST(not_a_small_regular_file)
{
	const char *files[] = {"x", NULL};
	struct bawn_policy_source src = {.files = files, .no_admin = true, .no_user = true};
	const struct bawn_policy *p = NULL;

	setup();
	src.workspace = workspace;
	put_file("x", "level: vm\n");
	ASSERT_EQ(truncate("x", 100ll << 20), 0);
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -E2BIG);
	ASSERT_STREQ(error.msg, "x: larger than 1 MiB, not a policy");
	ASSERT_EQ(unlink("x"), 0);
	ASSERT_EQ(mkfifo("x", 0600), 0);
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -EINVAL);
	ASSERT_STREQ(error.msg, "x: not a regular file");
	files[0] = "ws";
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -EISDIR);
	ASSERT_STREQ(error.msg, "ws: not a regular file");
	files[0] = "/dev/zero";
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -EINVAL);
}

TEST(messages_are_fit_for_a_terminal)
{
	const struct bawn_policy *p = NULL;

	ASSERT_EQ(load(&(struct layers){.operator= "\xe2\x80\xae"
						   "evil: 1\n"},
			  &p),
		-EINVAL);
	ASSERT_TRUE(strstr(error.msg, "\xe2\x80\xae") == NULL);
}

TEST(empty_files)
{
	static const char *const texts[] = {
		"", "\n", "# nothing\n", "---\n", "null\n", "limits:\n"};
	const char *base = load_ok(&(struct layers){0})->digest;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ASSERT_STREQ(OPERATOR(texts[i])->digest, base);
}

/* The workspace's own name must not turn into a pattern. */
TEST(workspace_with_pattern_characters)
{
	struct bawn_policy_source src = {.no_admin = true, .no_user = true};
	const struct bawn_policy *p = NULL;
	struct bawn_setting flag = {"filesystem.deny", ".env", "--deny"};

	setup();
	make_dir("w[x]*");
	src.workspace = below("w[x]*");
	src.settings = &flag;
	src.n_settings = 1;
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), 0);
	ASSERT_TRUE(has(&p->fs_deny, below("w[[]x][*]/**/.env")));
}

TEST(home_with_pattern_characters)
{
	setup();
	make_dir("h*me");
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(setenv("HOME", below("h*me"), 1), 0);
	ASSERT_TRUE(has(&load_ok(&(struct layers){0})->fs_deny, below("h[*]me/.ssh")));
}
