/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "fixture.h"

/* Put a text into one layer of a set. */
static void put_layer(struct layers *l, enum bawn_layer layer, const char *text)
{
	if (layer == BAWN_LAYER_ADMIN)
		l->admin = text;
	else if (layer == BAWN_LAYER_USER)
		l->user = text;
	else if (layer == BAWN_LAYER_OPERATOR)
		l->operator= text;
	else
		l->workspace = text;
}

static const struct pair {
	const char *strong, *tighter, *looser;
} pairs[] = {
	{"limits: {memory: 1g}", "limits: {memory: 1m}", "limits: {memory: 2g}"},
	{"limits: {disk_reserve: 1g}", "limits: {disk_reserve: 2g}", "limits: {disk_reserve: 1m}"},
	{"limits: {time: 5m}", "limits: {time: 5m}", "limits: {time: unlimited}"},
	{"level: container", "level: vm", "level: process"},
	{"network: {mode: allowlist}", "network: {mode: closed}", "network: {mode: open}"},
	{"audit: {sync: true}", "audit: {sync: true}", "audit: {sync: false}"},
	{"enforcement: {dry_run: false}", "dry_run: false", "dry_run: true"},
	{"backend: native", "backend: native", "backend: noop"},
	{"backend: native", "enforcement: {adapter: kernel}", "sandbox: {preferred: docker}"},
	{"detection: {malicious_threshold: 0.5}", "detection: {malicious_threshold: 0.4}",
		"verdicts: {thresholds: {malicious_floor: 0.6}}"},
	{"environment: {set: {A: b}}", "environment: {set: {A: b}}", "environment: {set: {A: c}}"},
	{"environment: {pass: [PATH, X_*]}", "environment: {pass: [X_Y, X_Z*]}",
		"environment: {pass: [Y]}"},
	{"filesystem: {write: [../extra]}", "filesystem: {write: [../extra/deep]}",
		"filesystem: {write: [../home]}"},
	{"filesystem: {read: [../extra]}", "filesystem: {read: [../extra/deep, sub, /usr]}",
		"filesystem: {read: [../extra, ..]}"},
	{"filesystem: {system: [/usr]}", "filesystem: {system: [/usr/bin]}",
		"filesystem: {system: [/usr, /etc]}"},
	{"filesystem: {unprotect: [.vscode]}", "filesystem: {unprotect: [.vscode/x]}",
		"filesystem: {unprotect: [.git/hooks]}"},
	{"network: {allow_hosts: ['*.a.test']}",
		"network: {allow_hosts: [x.a.test, '*.b.a.test', 'x.a.test:80', 'GET a.test/x']}",
		"network: {allow_hosts: ['x.a.test:1']}"},
	{"network: {allow_hosts: [.a.test, 10.0.0.0/8]}",
		"network: {allow_hosts: [x.a.test, 10.1.0.0/16]}",
		"network: {allow_hosts: [a.test]}"},
	{"network: {allow_hosts: [a.test]}", "network: {development: false}",
		"network: {development: true}"},
	{"network: {development: true}", "network: {development: true}",
		"network: {allow_hosts: [a.test]}"},
	{"network: {host_bytes: 10m}", "network: {host_bytes: 1m}", "network: {host_bytes: 11m}"},
	{"network: {host_rate: 10}", "network: {host_rate: 0.5}",
		"network: {host_rate: unlimited}"},
	{"network: {mode: blocklist}", "network: {mode: allowlist}", "network: {mode: allow-all}"},
	{"network: {allow_hosts: ['a.test:443']}", "network: {allow_hosts: ['a.test:443']}",
		"network: {allow_hosts: [a.test]}"},
	{"network: {loopback_ports: [80]}", "network: {loopback_ports: [80]}",
		"network: {loopback_ports: [8080]}"},
	{"allow_missing: [ipc]", "allow_missing: []", "allow_missing: [proc]"},
	{"syscalls: {allow: [bpf]}", "syscalls: {allow: [bpf]}", "syscalls: {allow: [ptrace]}"},
	{"actions: {SUSPICIOUS: constrain}", "actions: {SUSPICIOUS: block}",
		"actions: {SUSPICIOUS: log}"},
	{"detection: {suspicious_threshold: 0.2}", "tools: {Bash: {suspicious_threshold: 0.1}}",
		"tools: {Bash: {suspicious_threshold: 0.9}}"},
	{"tools: {Bash: {suspicious_threshold: 0.2}}", "tools: {Bash: {suspicious_threshold: 0.1}}",
		"verdicts: {overrides: {tool_name: {Bash: {suspicious_floor: 0.3}}}}"},
	{"secrets: {leak_detection: {action: redact}}",
		"secrets: {leak_detection: {actions: {secret.jwt: block}}}",
		"secrets: {leak_detection: {actions: {secret.jwt: warn}}}"},
	{"secrets: {leak_detection: {actions: {'*': warn, github-*: block}}}",
		"secrets: {leak_detection: {actions: {github-token: block}}}",
		"secrets: {leak_detection: {actions: {github-token: redact}}}"},
	{"scan_modes: {'*.md': standard}", "scan_modes: {'*.md': strict}",
		"scan_modes: {'docs/**': lenient}"},
	{"rules: [{id: a, pattern: x, confidence: 0.5, level: low}]",
		"rules: [{id: a, pattern: x, confidence: 0.6, level: high}, {id: b, pattern: y}]",
		"rules: [{id: a, pattern: y}]"},
	{"rules: {a: {pattern: x, level: high}}", "rules: {a: {pattern: x, level: critical}}",
		"rules: {a: {pattern: x, level: low}}"},
	{"rules: {a: {pattern: x, confidence: 0.9}}", "rules: {c: {pattern: x, confidence: 0.1}}",
		"rules: {a: {pattern: x, confidence: 0.1}}"},
	{"sequences: {SEQ-002: {mode: enforce}}", "sequences: {SEQ-002: {mode: enforce}}",
		"sequences: {SEQ-002: {mode: advisory}}"},
	{"enforcement: {suspicious: {Bash: {filesystem_writable: [../extra]}}}",
		"enforcement: {suspicious: {Bash: {filesystem_writable: [../extra/deep]}}}",
		"enforcement: {suspicious: {Bash: {filesystem_writable: [../home]}}}"},
	{"enforcement: {suspicious: {Bash: {network_allow: [a.test]}}}",
		"enforcement: {suspicious: {Bash: {network_allow: false}}}",
		"enforcement: {suspicious: {Bash: {network_allow: true}}}"},
	{"enforcement: {docker: {mounts: [{source: sub, target: /x}]}}",
		"enforcement: {docker: {mounts: []}}",
		"enforcement: {docker: {mounts: [{source: sub, target: /x, read_only: false}]}}"},
};

/* Every kind of value, every pair of layers: tighter is taken, looser is an error. */
TEST(each_kind_in_each_pair_of_layers)
{
	/* only root can make a file that counts as the administrator's */
	for (enum bawn_layer s = getuid() ? BAWN_LAYER_USER : BAWN_LAYER_ADMIN;
		s < BAWN_LAYER_WORKSPACE; s++)
		for (enum bawn_layer w = s + 1; w <= BAWN_LAYER_WORKSPACE; w++)
			for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
				const struct bawn_policy *p = NULL;
				struct layers l = {0};
				int r;

				put_layer(&l, s, pairs[i].strong);
				put_layer(&l, w, pairs[i].tighter);
				if (load(&l, &p) < 0)
					FAIL("%s then %s: %s", bawn_layer_name(s),
						bawn_layer_name(w), error.msg);
				put_layer(&l, w, pairs[i].looser);
				r = load(&l, &p);
				if (r != -EPERM)
					FAIL("%s then %s: '%s' after '%s' gives %d %s",
						bawn_layer_name(s), bawn_layer_name(w),
						pairs[i].looser, pairs[i].strong, r, error.msg);
				ASSERT_EQ(error.kind, BAWN_ERR_POLICY);
				ASSERT_TRUE(strstr(error.msg, "would widen") != NULL);
			}
}

TEST(message)
{
	const struct bawn_policy *p = NULL;

	ASSERT_EQ(load(&(struct layers){.user = "limits:\n  memory: 4g\n",
			       .operator= "limits:\n  memory: 8g\n"},
			  &p),
		-EPERM);
	ASSERT_STREQ(error.msg,
		"policy.yaml:2:11: 'limits.memory: 8g' would widen what user.yaml:2:11 allows (4g)");
	ASSERT_EQ(
		load(&(struct layers){.user = "limits:\n  memory: 4g\n",
			     .settings = &(struct bawn_setting){"limits.memory", "8g", "--memory"},
			     .n_settings = 1},
			&p),
		-EPERM);
	ASSERT_STREQ(error.msg,
		"--memory: 'limits.memory: 8g' would widen what user.yaml:2:11 allows (4g)");
}

/* A repository is compared with the defaults, too. */
TEST(workspace_never_widens)
{
	static const char *const wider[] = {"level: none", "backend: noop", "isolation: off",
		"allow_missing: [ipc]", "filesystem: {mode: full}", "filesystem: {read: [..]}",
		"filesystem: {write: [../extra]}", "filesystem: {read: [link]}",
		"filesystem: {unprotect: [.git/hooks]}", "network: {mode: open}",
		"filesystem: {system: [/]}", "filesystem: {system: [/root]}",
		"network: {allow_hosts: [a.test]}", "network: {development: true}",
		"network: {mode: allow-all}", "network: {loopback_ports: [1]}",
		"network: {unix_sockets: [sub]}", "network: {ssrf: {enabled: false}}",
		"devices: [/dev]", "syscalls: {allow: [ptrace]}", "environment: {pass: [TOKEN]}",
		"environment: {pass: ['*']}", "environment: {set: {A: b}}", "limits: {memory: 5g}",
		"limits: {memory: unlimited}", "limits: {processes: 513}",
		"limits: {disk_reserve: 1}", "audit: {path: /tmp/x}", "dry_run: true",
		"secrets: {injection: environment}", "detection: {suspicious_threshold: 0.31}",
		"tools: {Bash: {malicious_threshold: 0.71}}", "actions: {MALICIOUS: allow}",
		"tools: {Bash: {enforcement: {adapter: noop}}}", "scan_modes: {'*': lenient}",
		"secrets: {leak_detection: {action: warn}}",
		"secrets: {leak_detection: {actions: {secret.jwt: warn}}}",
		"sequences: {SEQ-002: {mode: advisory}}", "sandbox: {fallback: [noop]}",
		"enforcement: {suspicious: {Bash: {network_allow: true}}}",
		"enforcement: {suspicious: {Bash: {filesystem_writable: [..]}}}",
		"enforcement: {docker: {mounts: [{source: sub, target: /x}]}}",
		"enforcement: {docker: {image: evil}}",
		"claw: 0.3.0\nkind: Sandbox\nmetadata: {name: x}\nspec: {level: none}"};
	const struct bawn_policy *p = NULL;

	setup();
	ASSERT_EQ(symlink("/root", below("ws/link")), 0);
	for (size_t i = 0; i < sizeof(wider) / sizeof(wider[0]); i++)
		if (load(&(struct layers){.workspace = wider[i]}, &p) != -EPERM)
			FAIL("'%s' from the workspace: %s", wider[i], error.msg);
}

TEST(workspace_may_tighten)
{
	const struct bawn_policy *p = load_ok(&(struct layers){
		.workspace = "limits: {memory: 1g}\nnetwork: {mode: closed}\n"
			     "filesystem: {deny: [.env], protect: [Makefile], read: [sub]}\n"
			     "shell: {blocked_commands: ['git push*']}\nactions: {SAFE: log}\n"
			     "environment: {pass: [PATH, LC_ALL]}\nlevel: process\n"});

	ASSERT_EQ(p->lim_memory, 1ll << 30);
	ASSERT_EQ(p->net_mode, BAWN_NET_CLOSED);
	ASSERT_EQ(p->env_pass.n, 2);
	ASSERT_TRUE(has(&p->fs_protect, "Makefile"));
	ASSERT_TRUE(has(&p->fs_protect, ".git/hooks"));
	ASSERT_TRUE(has(&p->fs_deny, below("ws/**/.env")));
	ASSERT_EQ(p->shell_commands.v[0].from.layer, BAWN_LAYER_WORKSPACE);
}

/* filesystem.write inside a workspace that someone stronger made read-only would open it. */
TEST(workspace_cannot_undo_read_only)
{
	const struct bawn_policy *p = NULL;

	ASSERT_EQ(load(&(struct layers){.user = "filesystem: {mode: read-only}",
			       .workspace = "filesystem: {write: [sub]}"},
			  &p),
		-EPERM);
	(void)load_ok(&(struct layers){.workspace = "filesystem: {write: [sub]}"});
}

/* A protection that somebody stronger asked for is his to take away, also of a usual name. */
TEST(unprotect_is_for_who_protects)
{
	const struct bawn_policy *p = NULL;

	ASSERT_EQ(load(&(struct layers){.user = "filesystem: {protect: [deploy]}",
			       .operator= "filesystem: {unprotect: [deploy/x]}"},
			  &p),
		-EPERM);
	ASSERT_EQ(load(&(struct layers){.user = "filesystem: {protect: [.vscode/tasks.json]}",
			       .operator= "filesystem: {unprotect: [.vscode]}"},
			  &p),
		-EPERM);
	ASSERT_EQ(load(&(struct layers){.user = "filesystem: {protect: [.claude]}",
			       .operator= "filesystem: {unprotect: [.claude]}"},
			  &p),
		-EPERM);
	(void)load_ok(&(struct layers){.user = "filesystem: {protect: [deploy]}",
		.operator= "filesystem: {unprotect: [.vscode]}"});
	(void)load_ok(
		&(struct layers){.user = "filesystem: {protect: [.claude], unprotect: [.claude]}"});
}

/* What stands in for a backend that somebody stronger named would be another one than that. */
TEST(fallback_is_for_who_names_the_backend)
{
	static const struct bawn_setting flag = {"backend", "gvisor", "--backend"};
	const struct bawn_policy *p = NULL;

	ASSERT_EQ(load(&(struct layers){.user = "backend: gvisor",
			       .operator= "sandbox: {fallback: [native]}"},
			  &p),
		-EPERM);
	ASSERT_EQ(load(&(struct layers){.user = "tools: {Bash: {enforcement: {adapter: gvisor}}}",
			       .operator= "sandbox: {fallback: [native]}"},
			  &p),
		-EPERM);
	ASSERT_EQ(load(&(struct layers){.user = "backend: gvisor\nsandbox: {fallback: [docker]}",
			       .operator= "sandbox: {fallback: [native]}"},
			  &p),
		-EPERM);
	p = load_ok(
		&(struct layers){.user = "backend: gvisor\nsandbox: {fallback: [docker, native]}"});
	ASSERT_STREQ(bawn_policy_fallback(p), "docker\nnative");
	p = load_ok(&(struct layers){.user = "backend: gvisor\nsandbox: {fallback: [docker, native]}",
		.operator= "sandbox: {fallback: []}"});
	ASSERT_STREQ(bawn_policy_fallback(p), "");
	/* with the command itself: this one and no other */
	p = load_ok(&(struct layers){.operator= "backend: docker\nsandbox: {fallback: [native]}",
		.settings = &flag,
		.n_settings = 1});
	ASSERT_STREQ(bawn_policy_fallback(p), "");
}

TEST(flags_add_and_replace)
{
	static const struct bawn_setting flags[] = {
		{"environment.pass", "TOKEN", "--pass"},
		{"environment.set", "A=b=c", "--env"},
		{"environment.set", "B=", "--env"},
		{"filesystem.read", "../extra", "--read"},
		{"limits.memory", "1g", "--memory"},
		{"limits.memory", "2g", "--memory"},
		{"filesystem.deny", ".env", "--deny"},
	};
	const struct bawn_policy *p = load_ok(
		&(struct layers){.operator= "limits: {memory: 1m}\nfilesystem: {read: [../home]}\n",
			.settings = flags,
			.n_settings = sizeof(flags) / sizeof(flags[0])});

	ASSERT_TRUE(has(&p->env_pass, "TOKEN"));
	ASSERT_TRUE(has(&p->env_pass, "PATH"));
	ASSERT_EQ(p->env_set.n, 2);
	ASSERT_STREQ(p->env_set.v[0].value, "b=c");
	ASSERT_EQ(p->fs_read.n, 2);
	ASSERT_EQ(p->lim_memory, 2ll << 30);
	ASSERT_TRUE(has(&p->fs_deny, below("ws/**/.env")));
	ASSERT_EQ(OPERATOR("environment: {pass: [A]}")->env_pass.n, 1);
}

TEST(bad_flags)
{
	static const struct {
		struct bawn_setting s;
		const char *message;
	} bad[] = {
		{{"limits.memory", "x", "--memory"},
			"--memory: bad size 'x', expected a size such as 65536, 512m, 4g or unlimited"},
		{{"filesystem.read", "nowhere", "--read"},
			"--read: path 'nowhere': No such file or directory"},
		{{"environment.set", "1A=x", "--env"},
			"--env: bad variable name '1A', expected letters, digits and '_'"},
		{{"environment.set", "A", "--env"}, "--env: bad value 'A', expected NAME=VALUE"},
		{{"no.such", "A", "--x"}, "--x: unknown setting 'no.such'"},
	};
	const struct bawn_policy *p = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_TRUE(load(&(struct layers){.settings = &bad[i].s, .n_settings = 1}, &p) < 0);
		ASSERT_STREQ(error.msg, bad[i].message);
	}
}

TEST(second_policy_file)
{
	const struct bawn_policy *p = load_ok(
		&(struct layers){.operator= "limits: {memory: 1g}\nshell: {blocked_commands: [a]}",
			.operator2 = "limits: {memory: 2g}\nshell: {blocked_commands: [b]}"});

	ASSERT_EQ(p->lim_memory, 2ll << 30);
	ASSERT_EQ(p->shell_commands.n, 2);
}

TEST(owners_and_modes)
{
	struct bawn_policy_source src = {.no_user = true, .no_workspace = true};
	const struct bawn_policy *p = NULL;

	setup();
	src.workspace = workspace;
	src.admin_file = "a.yaml";
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), 0);
	put_file("a.yaml", "level: vm\n");
	if (getuid() == 0) {
		ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), 0);
		ASSERT_EQ(chmod("a.yaml", 0664), 0);
		ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -EACCES);
		ASSERT_STREQ(error.msg, "a.yaml: must not be writable by group or others");
		ASSERT_EQ(chown("a.yaml", 1000, 1000), 0);
	}
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -EACCES);
	ASSERT_STREQ(error.msg, "a.yaml: must be owned by root");
	src = (struct bawn_policy_source){.no_admin = true,
		.no_workspace = true,
		.workspace = workspace,
		.user_file = "u.yaml"};
	put_file("u.yaml", "level: vm\n");
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), 0);
	ASSERT_EQ(chmod("u.yaml", 0666), 0);
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -EACCES);
	ASSERT_STREQ(error.msg, "u.yaml: must not be writable by others");
}

TEST(missing_files)
{
	const char *files[] = {"nowhere.yaml", NULL};
	struct bawn_policy_source src = {.files = files, .no_admin = true};
	const struct bawn_policy *p = NULL;

	setup();
	src.workspace = workspace;
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -ENOENT);
	ASSERT_STREQ(error.msg, "nowhere.yaml: no such file");
	src.files = NULL;
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), 0);
}

TEST(users_file_is_in_the_xdg_place)
{
	struct bawn_policy_source src = {.no_admin = true};
	const struct bawn_policy *p = NULL;

	setup();
	src.workspace = workspace;
	make_dir("home/.config");
	make_dir("home/.config/bawn");
	put_file("home/.config/bawn/policy.yaml", "level: vm\n");
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), 0);
	ASSERT_EQ(p->level, BAWN_LEVEL_VM);
	ASSERT_EQ(p->origins[0].layer, BAWN_LAYER_USER);
	make_dir("xdg");
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(setenv("XDG_CONFIG_HOME", below("xdg"), 1), 0);
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), 0);
	ASSERT_EQ(p->level, BAWN_LEVEL_PROCESS);
}

TEST(workspace_file_must_not_be_a_link)
{
	struct bawn_policy_source src = {.no_admin = true, .no_user = true};
	const struct bawn_policy *p = NULL;

	setup();
	src.workspace = workspace;
	ASSERT_EQ(symlink("/etc/passwd", below("ws/.bawn.yaml")), 0);
	ASSERT_EQ(bawn_policy_load(arena, &src, &p, &error), -ELOOP);
	ASSERT_TRUE(strstr(error.msg, "must not be a symbolic link") != NULL);
}

/* A link inside a granted system directory must not lead out of it. */
TEST(system_link_that_leads_out)
{
	const struct bawn_policy *p = NULL;

	setup();
	ASSERT_EQ(symlink("../home", below("extra/out")), 0);
	ASSERT_EQ(symlink("deep", below("extra/in")), 0);
	ASSERT_EQ(load(&(struct layers){.operator= "filesystem: {system: [../extra]}",
			       .workspace = "filesystem: {system: [../extra/out]}"},
			  &p),
		-EPERM);
	p = load_ok(&(struct layers){.operator= "filesystem: {system: [../extra]}",
		.workspace = "filesystem: {system: [../extra/in]}"});
	ASSERT_STREQ(p->fs_system.v[0].text, below("extra/in"));
}
