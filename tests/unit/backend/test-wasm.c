/* SPDX-License-Identifier: Apache-2.0 */
/* What bawn-wasm is told, and what it can see: plans for the run of a module and for its compiler.
 */
#include <fcntl.h>

#include <sys/stat.h>

#include "backend/wasm/wasm.h"
#include "harness.h"
#include "plan/module.h"

static const char *const no_words[] = {NULL};
static const char *const command[] = {"./m.wasm", "-x", "--", NULL};
static const char *const env[] = {"HOME=/home/me", NULL};
static const struct bawn_egress_plan egress = {.mode = BAWN_NET_ALLOWLIST};
static struct bawn_guard guards[] = {{.dir = "/work", .name = ".mcp.json", .rule = "x"}};

/* Directories of every host, so that stat() says what they are. */
static struct bawn_mount mounts[] = {
	{.kind = BAWN_MNT_RO, .src = "/usr", .dst = "/usr", .rule = "filesystem.system"},
	{.kind = BAWN_MNT_SYMLINK, .src = "usr/bin", .dst = "/bin", .rule = "filesystem.system"},
	{.kind = BAWN_MNT_SCRATCH, .dst = "/tmp", .rule = "limits.disk"},
	{.kind = BAWN_MNT_RW, .src = "/var", .dst = "/work", .rule = "workspace"},
	{.kind = BAWN_MNT_SCRATCH, .dst = "/dev/shm", .rule = "limits.disk"},
	{.kind = BAWN_MNT_RO, .src = "/etc", .dst = "/work/ro", .rule = "filesystem.read"},
	{.kind = BAWN_MNT_RW, .src = "/var", .dst = "/work/pinned", .pin = true, .rule = "x"},
	{.kind = BAWN_MNT_RO, .src = "/etc", .dst = "/work/kept", .protect = true, .rule = "x"},
	{.kind = BAWN_MNT_RW, .src = "/var", .dst = "/usr/lib/cache", .rule = "filesystem.write"},
	{.kind = BAWN_MNT_RO,
		.src = "/etc/passwd",
		.dst = "/data/passwd",
		.rule = "filesystem.read"},
	{.kind = BAWN_MNT_HIDE, .dst = "/work/secret", .rule = "filesystem.deny"},
	{.kind = BAWN_MNT_SOCKET, .src = "/x.sock", .dst = "/x.sock", .rule = "x"},
};

static struct bawn_arena *arena;
static struct bawn_wasm_tools tools = {.runner = "/bin/sh", .library = "/etc/passwd"};

static struct bawn_plan make_plan(void)
{
	return (struct bawn_plan){.tier = BAWN_TIER_FULL,
		.demanded = BAWN_CTL_FS_READ | BAWN_CTL_NET_EGRESS | BAWN_CTL_NET_SSRF,
		.exe = "/work/m.wasm",
		.argv = command,
		.envp = env,
		.cwd = "/work/sub",
		.workspace = "/work",
		.mounts = mounts,
		.n_mounts = sizeof(mounts) / sizeof(mounts[0]),
		.guards = guards,
		.n_guards = 1,
		.egress = &egress,
		.sys_allow = no_words,
		.sys_deny = no_words,
		.pty = true,
		.limits = {.memory = UINT64_C(256) << 20,
			.processes = 5,
			.files = 10,
			.time_ms = 7000},
		.backend = {.wasm_fuel = 123, .wasm_library = ""}};
}

static bool has(const char *const *argv, const char *word)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, word))
			return true;
	return false;
}

static bool mounts_at(const struct bawn_plan *p, const char *dst)
{
	for (size_t i = 0; i < p->n_mounts; i++)
		if (!strcmp(p->mounts[i].dst, dst))
			return true;
	return false;
}

static struct bawn_plan run_plan(struct bawn_plan *base)
{
	struct bawn_error err = {0};
	struct bawn_plan p;

	arena = arena ? arena : bawn_arena_new();
	ASSERT_TRUE(arena);
	if (bawn_wasm_run_plan(arena, base, &tools, "/etc/hostname", &p, &err) < 0)
		FAIL("%s", err.msg);
	return p;
}

TEST(a_run_says_its_limits_and_keeps_the_command_apart)
{
	struct bawn_plan base = make_plan();
	struct bawn_plan p = run_plan(&base);
	size_t n = 0;

	ASSERT_STREQ(p.argv[0], "bawn-wasm");
	ASSERT_STREQ(p.argv[1], "run");
	ASSERT_TRUE(has(p.argv, "fuel=123"));
	ASSERT_TRUE(has(p.argv, "memory=234881024")); /* less the run time's own 32 MiB */
	ASSERT_TRUE(has(p.argv, "time=7000"));
	ASSERT_TRUE(has(p.argv, "name=./m.wasm"));
	while (strcmp(p.argv[n], "--") != 0)
		n++;
	ASSERT_STREQ(p.argv[n + 1], "./m.wasm");
	ASSERT_STREQ(p.argv[n + 2], "-x");
	ASSERT_STREQ(p.argv[n + 3], "--");
	ASSERT_TRUE(!p.argv[n + 4]);
	ASSERT_TRUE(p.envp == env);
	/* the wall is the plan's: nothing is taken from it */
	ASSERT_EQ(p.demanded, base.demanded);
	ASSERT_EQ(p.n_guards, 1);
	ASSERT_EQ(p.n_mounts, base.n_mounts + 3);
	ASSERT_TRUE(p.limits.processes > base.limits.processes);
	ASSERT_EQ(p.limits.memory, base.limits.memory);
}

TEST(no_limit_is_said_as_none)
{
	struct bawn_plan base = make_plan();
	struct bawn_plan p;

	base.backend.wasm_fuel = base.limits.memory = base.limits.time_ms = base.limits.processes =
		BAWN_UNLIMITED;
	p = run_plan(&base);
	ASSERT_TRUE(
		has(p.argv, "fuel=none") && has(p.argv, "memory=none") && has(p.argv, "time=none"));
	ASSERT_EQ(p.limits.processes, BAWN_UNLIMITED);
}

TEST(directories_are_granted_as_the_plan_does)
{
	struct bawn_plan base = make_plan();
	struct bawn_plan p = run_plan(&base);

	ASSERT_TRUE(has(p.argv, "rw=/work") && has(p.argv, "rw=/tmp"));
	ASSERT_TRUE(has(p.argv, "ro=/usr"));
	ASSERT_TRUE(has(p.argv, "rw=/usr/lib/cache")); /* writable in something that is not */
	ASSERT_TRUE(has(p.argv, "ro=/data"));          /* of a single file its directory */
	ASSERT_TRUE(has(p.argv, "here-rw=/work/sub"));
	/* reached through what it lies in, or not at all */
	for (const char *const *v = p.argv; *v; v++)
		if (strstr(*v, "=/work/") && strcmp(*v, "here-rw=/work/sub") != 0)
			FAIL("'%s' is granted", *v);
	ASSERT_TRUE(!has(p.argv, "rw=/dev/shm") && !has(p.argv, "ro=/x.sock"));
	base.cwd = "/work/ro/deep";
	p = run_plan(&base);
	ASSERT_TRUE(has(p.argv, "here-ro=/work/ro/deep"));
	base.cwd = "/work/secret";
	p = run_plan(&base);
	for (const char *const *v = p.argv; *v; v++)
		ASSERT_TRUE(strncmp(*v, "here-", 5) != 0);
}

TEST(the_compiler_sees_the_system_and_nothing_else)
{
	static const char *const args[] = {"bawn-wasm", "compile", NULL};
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_plan base = make_plan();
	struct bawn_error err = {0};
	struct bawn_plan p;

	ASSERT_TRUE(a);
	if (bawn_wasm_tool_plan(a, &base, &tools, args, &p, &err) < 0)
		FAIL("%s", err.msg);
	ASSERT_TRUE(mounts_at(&p, "/usr") && mounts_at(&p, "/bin") && mounts_at(&p, "/dev/shm"));
	ASSERT_TRUE(
		!mounts_at(&p, "/work") && !mounts_at(&p, "/work/ro") && !mounts_at(&p, "/x.sock"));
	ASSERT_TRUE(!mounts_at(&p, "/usr/lib/cache") && !mounts_at(&p, "/data/passwd"));
	for (size_t i = 0; i < p.n_mounts; i++)
		ASSERT_TRUE(p.mounts[i].kind != BAWN_MNT_RW);
	ASSERT_TRUE(!p.egress && p.net_closed && !p.pty && p.n_guards == 0);
	ASSERT_TRUE(!*p.envp);
	ASSERT_EQ(p.demanded, BAWN_CTL_FS_READ | BAWN_CTL_NET_NONE);
	(void)bawn_arena_free(a);
}

TEST(a_whole_file_system_is_only_seen_by_the_compiler)
{
	static const char *const args[] = {"bawn-wasm", NULL};
	struct bawn_mount whole = {
		.kind = BAWN_MNT_RW, .src = "/", .dst = "/", .rule = "filesystem.mode"};
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_plan base = make_plan();
	struct bawn_plan p;

	ASSERT_TRUE(a);
	base.mounts = &whole;
	base.n_mounts = 1;
	ASSERT_EQ(bawn_wasm_tool_plan(a, &base, &tools, args, &p, NULL), 0);
	ASSERT_EQ(p.mounts[0].kind, BAWN_MNT_RO);
	ASSERT_EQ(whole.kind, BAWN_MNT_RW);
	(void)bawn_arena_free(a);
}

static void expect_module(const char *path, const char *bytes, size_t len, bool is)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ASSERT_TRUE(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	(void)close(fd);
	ASSERT_EQ(bawn_is_module(path), is);
}

TEST(a_module_is_known_by_its_first_bytes)
{
	char dir[] = "/tmp/test-wasm-XXXXXX";
	char path[64];

	ASSERT_TRUE(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/m", dir);
	expect_module(path, "\0asm\1\0\0\0", 8, true);
	expect_module(path, "\0asm", 4, true);
	expect_module(path, "\0as", 3, false);
	expect_module(path, "", 0, false);
	expect_module(path, "#!/bin/sh", 9, false);
	(void)unlink(path);
	ASSERT_TRUE(!bawn_is_module(path) && !bawn_is_module(dir) && !bawn_is_module("/dev/zero"));
	ASSERT_EQ(mkfifo(path, 0600), 0);
	ASSERT_TRUE(!bawn_is_module(path)); /* and does not wait */
	(void)unlink(path);
	(void)rmdir(dir);
}
