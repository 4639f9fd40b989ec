/* SPDX-License-Identifier: Apache-2.0 */
/* The last words of a command that failed, read against the plan. */
#include "base/cleanup.h"
#include "harness.h"
#include "policy/policy.h"
#include "result/result.h"

static struct bawn_mount mounts[] = {
	{.kind = BAWN_MNT_RO, .dst = "/usr"},
	{.kind = BAWN_MNT_SCRATCH, .dst = "/tmp"},
	{.kind = BAWN_MNT_SCRATCH, .dst = "/home/ada"},
	{.kind = BAWN_MNT_RW, .dst = "/home/ada/work"},
};
static const char *const found[] = {"/home/ada/work/sub/.env"};
static struct bawn_item denied[] = {{.text = "/home/ada/.ssh"}, {.text = "**/.env"}};
static const char *argv[] = {"sh", "-c", NULL, NULL};
static struct bawn_plan plan = {
	.mounts = mounts, .n_mounts = 4, .cwd = "/home/ada/work", .deny = found, .n_deny = 1};
static struct bawn_policy policy = {.fs_deny = {.v = denied, .n = 2}};
static struct bawn_call call = {.argv = argv};
static const char *hints[BAWN_HINTS_MAX];
static uint32_t enforced = BAWN_CTL_FS_READ;

static size_t hear_all(const char *command, const char *words, size_t len, int status)
{
	static struct bawn_arena *a;
	static struct bawn_result r;

	a = a ? a : bawn_arena_new();
	argv[2] = command;
	r = (struct bawn_result){.plan = &plan,
		.policy = &policy,
		.call = &call,
		.enforced = enforced,
		.outcome = {.exited = true, .wait_status = status << 8, .n_last_words = len}};
	ASSERT_TRUE(len <= sizeof(r.outcome.last_words));
	memcpy(r.outcome.last_words, words, len);
	return bawn_result_hints(a, &r, hints);
}

static size_t hear(const char *command, const char *words)
{
	return hear_all(command, words, strlen(words), 1);
}

static void expect(const char *command, const char *words, const char *part)
{
	size_t n = hear(command, words);

	if (n != 1 || !strstr(hints[0], part))
		FAIL("'%s': %zu hints, '%s'", words, n, n ? hints[0] : "");
}

TEST(denied_in_many_tongues)
{
	static const char rule[] = "'/home/ada/.ssh/id' is denied to the command (rule "
				   "filesystem.deny: /home/ada/.ssh)";

	expect("x", "cat: /home/ada/.ssh/id: No such file or directory\n", rule);
	expect("x", "sh: 1: cannot open /home/ada/.ssh/id: Permission denied", rule);
	expect("x", "PermissionError: [Errno 13] Permission denied: '/home/ada/.ssh/id'\n", rule);
	expect("x", "Error: EACCES: permission denied, open '/home/ada/.ssh/id'\n", rule);
	expect("x", "open ../.ssh/id: no such file or directory\n", rule);
	expect("x", "rm: cannot remove \xe2\x80\x98../.ssh/id\xe2\x80\x99: Permission denied\n",
		rule);
	expect("x", "cat: sub/.env: Permission denied\n", "'/home/ada/work/sub/.env' is denied");
}

TEST(what_sandboxes_are_met_by)
{
	uint32_t all =
		BAWN_CTL_SYSCALLS | BAWN_CTL_LIMIT_DISK | BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_IPC;

	ASSERT_EQ(hear("x", "head: error writing 'x': No space left on device\n"), 0);
	enforced = all;
	plan.limits.disk = 10 << 20;
	plan.limits.memory = 256 << 20;
	expect("x", "head: error writing 'x': No space left on device\n", "at most 10 MiB");
	expect("x", "OSError: [Errno 28] No space left on device\nno space left on device\n",
		"--disk");
	expect("x", "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted\n",
		"--allow-syscall ptrace");
	expect("x", "==3==LeakSanitizer has encountered a fatal error.\n", "detect_leaks=0");
	expect("x", "==3==ReserveShadowMemoryRange failed while trying to map\n", "256 MiB");
	ASSERT_EQ(hear("x", "all is well with ptrace\n"), 0);
	plan.limits.disk = BAWN_UNLIMITED;
	ASSERT_EQ(hear("x", "No space left on device\n"), 0);
	enforced = BAWN_CTL_FS_READ;
}

TEST(outside_and_private_only_if_asked_for)
{
	expect("cat /srv/x", "cat: /srv/x: No such file or directory\n",
		"'/srv/x' is not part of this sandbox");
	expect("cat '/srv/a b'", "cat: '/srv/a b': No such file or directory\n", "--ro '/srv/a b'");
	expect("cat ~/n", "cat: /home/ada/n: No such file or directory\n",
		"'/home/ada' is private to this run");
	expect("cat ../../../tmp/n", "cat: ../../../tmp/n: No such file or directory\n",
		"'/tmp' is private");
	ASSERT_EQ(hear("make", "cc: /srv/x: No such file or directory\n"), 0);
	ASSERT_EQ(hear("make", "cc: /tmp/cc.o: No such file or directory\n"), 0);
}

TEST(nothing_to_say)
{
	static const char words[] = "cat: /home/ada/.ssh/id: Permission denied\n";

	ASSERT_EQ(hear_all("x", words, strlen(words), 0), 0); /* it did not fail */
	ASSERT_EQ(hear("cat a", "cat: a: No such file or directory\n"), 0);
	ASSERT_EQ(hear("cat /usr/x", "cat: /usr/x: No such file or directory\n"), 0);
	ASSERT_EQ(hear("cat /proc/x", "cat: /proc/x: No such file or directory\n"), 0);
	ASSERT_EQ(hear("cat /srv/x", "reading /srv/x\n"), 0);
	ASSERT_EQ(hear("ls /tmp", "ls: /tmp: Permission denied\n"), 0);
	ASSERT_EQ(hear("", ""), 0);
}

TEST(each_once_and_not_too_many)
{
	ASSERT_EQ(hear("x", "a: /home/ada/.ssh/1: Permission denied\n"
			    "a: /home/ada/.ssh/1: Permission denied\n"),
		1);
	ASSERT_EQ(hear("x", "/home/ada/.ssh/1 /home/ada/.ssh/2 /home/ada/.ssh/3 /home/ada/.ssh/4 "
			    "Permission denied\n"),
		BAWN_HINTS_MAX);
}
