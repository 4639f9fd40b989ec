/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "backend/native/cgroup-internal.h"
#include "base/io.h"
#include "harness.h"
#include "policy/policy.h"

#define MIB ((uint64_t)1 << 20)

static const struct bawn_limits none = {
	.memory = BAWN_UNLIMITED,
	.cpus_milli = BAWN_UNLIMITED,
	.cpu_shares = BAWN_UNLIMITED,
	.processes = BAWN_UNLIMITED,
};

static void nap(long ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void)nanosleep(&ts, NULL);
}

/* How many groups of `owner` (0: of anybody) there are. */
static int groups_of(pid_t owner)
{
	struct bawn_hiers hs;
	char prefix[32];
	int n = 0;

	(void)snprintf(prefix, sizeof(prefix), owner ? "bawn-%d-" : "bawn-", (int)owner);
	ASSERT_EQ(bawn_hier_find(&bawn_cgroup_real, &hs), 0);
	for (size_t i = 0; i < hs.n; i++) {
		DIR *d = opendir(hs.v[i].own);

		/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
		for (const struct dirent *e; d && (e = readdir(d));)
			n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
		if (d)
			(void)closedir(d);
	}
	return n;
}

static bool gone_soon(pid_t owner)
{
	for (int i = 0; i < 500; i++) {
		if (groups_of(owner) == 0)
			return true;
		nap(20);
	}
	return false;
}

static void need(uint32_t controls)
{
	char detail[80];
	char why[160];

	if ((bawn_cgroup_probe(detail, why) & controls) != controls)
		SKIP("no control groups for it here: run as root, or in a delegated group (systemd-run --user --scope -p Delegate=yes)");
}

/* A child that waits to be put in, then runs fn. */
static pid_t spawn_in(struct bawn_cgroup *cg, void (*fn)(void))
{
	int p[2];
	char c = 0;

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	pid_t pid = fork();
	ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		(void)close(p[1]);
		if (read(p[0], &c, 1) == 1)
			fn();
		_exit(0);
	}
	ASSERT_EQ(bawn_cgroup_attach(cg, pid, NULL), 0);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	(void)close(p[0]);
	(void)close(p[1]);
	return pid;
}

/* Some events only say that it is time to look. */
static bool wait_breach(struct bawn_cgroup *cg, uint32_t what)
{
	int fds[4];
	uint32_t events[4];
	struct pollfd p[4];
	int n = bawn_cgroup_fds(cg, fds, events);

	for (int i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = fds[i], .events = (short)events[i]};
	for (int i = 0; i < 100; i++)
		if (poll(p, (nfds_t)n, 10000) > 0 && bawn_cgroup_breach(cg) == what)
			return true;
	return false;
}

static void forever(void)
{
	for (;;)
		(void)pause();
}

static void touch_200m(void)
{
	size_t len = 200 * MIB;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(3);
	for (size_t i = 0; i < len; i += 4096)
		*(volatile char *)(p + i) = 1;
}

static void fork_40(void)
{
	for (int i = 0; i < 40; i++)
		if (fork() == 0)
			forever();
	forever();
}

TEST(probe_says_what)
{
	char detail[80] = "?";
	char why[160] = "?";
	uint32_t got = bawn_cgroup_probe(detail, why);

	ASSERT_TRUE(got ? detail[0] && !why[0] : !detail[0] && why[0]);
	ASSERT_EQ(groups_of(getpid()), 0);
}

TEST(nothing_to_limit_makes_nothing)
{
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 7;

	ASSERT_EQ(bawn_cgroup_new_at(&bawn_cgroup_real, &none, &cg, &enforced, NULL), 0);
	ASSERT_TRUE(!cg);
	ASSERT_EQ(enforced, 0);
	ASSERT_TRUE(!bawn_cgroup_free(NULL));
}

TEST(ordinary_user_gets_none_without_error)
{
	struct bawn_limits l = none;
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 7;
	char detail[80];
	char why[160];

	if (getuid() != 0)
		SKIP("needs root to become somebody else: run the suite as root");
	ASSERT_EQ(setresgid(65534, 65534, 65534), 0);
	ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
	l.memory = 64 * MIB;
	ASSERT_EQ(bawn_cgroup_probe(detail, why), 0);
	ASSERT_TRUE(why[0]);
	ASSERT_EQ(bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL), 0);
	ASSERT_TRUE(!cg);
	ASSERT_EQ(enforced, 0);
}

TEST(memory_bomb_is_a_breach)
{
	struct bawn_plan plan = {.limits = none};
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;
	uint64_t cpu = 0;
	uint64_t peak = 0;
	int st = 0;

	need(BAWN_CTL_LIMIT_MEMORY);
	plan.limits.memory = 64 * MIB;
	ASSERT_EQ(bawn_cgroup_new(&plan, &cg, &enforced, NULL), 0);
	ASSERT_EQ(enforced, BAWN_CTL_LIMIT_MEMORY);
	ASSERT_EQ(bawn_cgroup_breach(cg), 0);
	pid_t pid = spawn_in(cg, touch_200m);
	ASSERT_TRUE(wait_breach(cg, BAWN_CTL_LIMIT_MEMORY));
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_TRUE(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
	bawn_cgroup_usage(cg, &cpu, &peak);
	ASSERT_TRUE(peak <= 64 * MIB);
	(void)bawn_cgroup_free(cg);
	ASSERT_EQ(groups_of(getpid()), 0);
}

TEST(within_the_limit_is_no_breach)
{
	struct bawn_limits l = none;
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;
	int st = 0;

	need(BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES);
	l.memory = 400 * MIB;
	l.processes = 20;
	ASSERT_EQ(bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL), 0);
	pid_t pid = spawn_in(cg, touch_200m);
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_TRUE(WIFEXITED(st) && WEXITSTATUS(st) == 0);
	ASSERT_EQ(bawn_cgroup_breach(cg), 0);
	(void)bawn_cgroup_free(cg);
}

TEST(fork_bomb_is_capped_reported_and_killed)
{
	struct bawn_limits l = none;
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;
	int st = 0;

	need(BAWN_CTL_LIMIT_PROCESSES);
	l.processes = 20;
	ASSERT_EQ(bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL), 0);
	ASSERT_EQ(enforced, BAWN_CTL_LIMIT_PROCESSES);
	pid_t pid = spawn_in(cg, fork_40);
	ASSERT_TRUE(wait_breach(cg, BAWN_CTL_LIMIT_PROCESSES));
	(void)bawn_cgroup_free(cg);
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_TRUE(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
	ASSERT_EQ(groups_of(getpid()), 0);
}

TEST(cpu_limit_is_set)
{
	struct bawn_limits l = none;
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;

	need(BAWN_CTL_LIMIT_CPU);
	l.cpus_milli = 500;
	l.cpu_shares = 512;
	ASSERT_EQ(bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL), 0);
	ASSERT_EQ(enforced, BAWN_CTL_LIMIT_CPU);
	ASSERT_EQ(groups_of(getpid()), 1);
	(void)bawn_cgroup_free(cg);
	ASSERT_EQ(groups_of(getpid()), 0);
}

TEST(enter_by_oneself)
{
	struct bawn_limits l = none;
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;
	int st = 0;

	need(BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES);
	l.memory = 64 * MIB;
	l.processes = 20;
	ASSERT_EQ(bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL), 0);
	pid_t pid = fork();
	ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		/* The descriptors carry the right to do it. */
		if (setresuid(65534, 65534, 65534) < 0 || bawn_cgroup_enter(cg, false) < 0)
			_exit(4);
		touch_200m();
		_exit(5);
	}
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_TRUE(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
	ASSERT_EQ(bawn_cgroup_breach(cg), BAWN_CTL_LIMIT_MEMORY);
	(void)bawn_cgroup_free(cg);
}

/* Make groups, put a child in, say its id, and wait for the end. */
static _Noreturn void owner_main(int out)
{
	struct bawn_limits l = {64 * MIB, 500, 512, 20, 0, 0, 0, 0, 0};
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;

	if (bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL) < 0 || !cg)
		_exit(1);
	pid_t pid = fork();
	if (pid == 0) {
		if (bawn_cgroup_enter(cg, false) < 0)
			_exit(1);
		(void)setsid();
		if (write(out, "x", 1) == 1)
			forever();
		_exit(1);
	}
	for (;;)
		(void)pause();
}

TEST(owner_killed_at_any_time_leaves_nothing)
{
	need(BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES | BAWN_CTL_LIMIT_CPU);
	for (int round = 0; round < 20; round++) {
		struct timespec ts = {.tv_nsec = 10000L * round * round};
		int p[2];
		char c;

		ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
		pid_t pid = fork();
		ASSERT_TRUE(pid >= 0);
		if (pid == 0)
			owner_main(p[1]);
		(void)close(p[1]);
		(void)nanosleep(&ts, NULL);
		if (round % 5 == 0) /* and with a process inside for sure */
			ASSERT_EQ(read(p[0], &c, 1), 1);
		ASSERT_EQ(kill(pid, SIGKILL), 0);
		ASSERT_EQ(waitpid(pid, NULL, 0), pid);
		/* Only the processes inside hold the pipe: its end means that all are dead, unless
		 * the child was born but not yet in the group. Then it ends by itself. */
		struct pollfd pf = {.fd = p[0], .events = POLLIN};
		while (poll(&pf, 1, 10000) > 0 && read(p[0], &c, 1) == 1)
			;
		ASSERT_EQ(poll(&pf, 1, 0), 1);
		(void)close(p[0]);
		ASSERT_TRUE(gone_soon(pid));
	}
}

TEST(janitor_holds_no_descriptor_of_the_caller)
{
	struct bawn_limits l = none;
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;
	int p[2];
	char c;

	need(BAWN_CTL_LIMIT_PROCESSES);
	l.processes = 20;
	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	ASSERT_EQ(bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL), 0);
	(void)close(p[1]);
	struct pollfd pf = {.fd = p[0], .events = POLLIN};
	ASSERT_EQ(poll(&pf, 1, 10000), 1);
	ASSERT_EQ(read(p[0], &c, 1), 0);
	/* Not seen by a plain wait, and not left behind. */
	ASSERT_EQ(waitpid(-1, NULL, WNOHANG), -1);
	(void)bawn_cgroup_free(cg);
	/* it was sent away: at most its end is still to come */
	(void)waitpid(-1, NULL, __WALL);
	ASSERT_EQ(waitpid(-1, NULL, __WALL), -1);
	ASSERT_EQ(errno, ECHILD);
}

TEST(sixty_four_at_once)
{
	pid_t pids[64];

	need(BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES);
	for (int i = 0; i < 64; i++) {
		pids[i] = fork();
		ASSERT_TRUE(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		struct bawn_limits l = none;
		struct bawn_cgroup *cg = NULL;
		uint32_t enforced = 0;
		uint32_t events[4];
		int fds[4];

		l.memory = 64 * MIB;
		l.processes = 20;
		for (int k = 0; k < 3; k++) {
			if (bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL) < 0)
				_exit(1);
			if (enforced != (BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES))
				_exit(2);
			if (bawn_cgroup_fds(cg, fds, events) < 2)
				_exit(4);
			pid_t pid = spawn_in(cg, forever);
			nap(5);
			if (kill(pid, 0) < 0 || waitpid(pid, NULL, WNOHANG) != 0)
				_exit(3); /* somebody swept a live group */
			(void)bawn_cgroup_free(cg);
			(void)waitpid(pid, NULL, 0);
		}
		_exit(0);
	}
	for (int i = 0; i < 64; i++) {
		int st = 0;

		ASSERT_EQ(waitpid(pids[i], &st, 0), pids[i]);
		ASSERT_EQ(st, 0);
		ASSERT_EQ(groups_of(pids[i]), 0);
	}
}

TEST(next_run_sweeps_what_even_the_janitor_left)
{
	struct bawn_hiers hs;
	struct bawn_limits l = none;
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;
	char dead[BAWN_HIER_PATH_MAX + 64];
	char other[BAWN_HIER_PATH_MAX + 64];
	const char *own = NULL;
	uint32_t events[4];
	int fds[4];

	need(BAWN_CTL_LIMIT_PROCESSES);
	ASSERT_EQ(bawn_hier_find(&bawn_cgroup_real, &hs), 0);
	for (size_t i = 0; i < hs.n; i++)
		if (hs.v[i].controls & BAWN_CTL_LIMIT_PROCESSES && !hs.v[i].v2)
			own = hs.v[i].own;
	if (!own)
		SKIP("no v1 pids hierarchy: for hosts with control groups of the first kind");
	pid_t pid = fork();
	ASSERT_TRUE(pid >= 0);
	if (pid == 0)
		_exit(0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	(void)snprintf(dead, sizeof(dead), "%s/bawn-%d-00000000deadbeef", own, (int)pid);
	(void)snprintf(other, sizeof(other), "%s/bawn-%d-mine", own, (int)pid);
	ASSERT_EQ(mkdir(dead, 0755), 0);
	ASSERT_EQ(mkdir(other, 0755), 0);
	l.processes = 20;
	ASSERT_EQ(bawn_cgroup_new_at(&bawn_cgroup_real, &l, &cg, &enforced, NULL), 0);
	ASSERT_TRUE(cg && bawn_cgroup_fds(cg, fds, events) > 0);
	(void)bawn_cgroup_free(cg);
	int swept = access(dead, F_OK);
	ASSERT_EQ(rmdir(other), 0); /* a name that is not of our form is not touched */
	ASSERT_EQ(swept, -1);
}

/* A made-up v2 host: directories with plain files. */

static char root[64];

static void put(const char *dir, const char *file, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(bawn_write_all(fd, text, strlen(text)), 0);
	(void)close(fd);
}

static int fake_make(int parent, const char *name)
{
	static const char *const files[] = {"cgroup.procs", "cgroup.kill", "memory.max",
		"memory.swap.max", "memory.oom.group", "memory.events", "memory.peak", "pids.max",
		"pids.events", "cpu.max", "cpu.weight", "cpu.stat"};

	if (mkdirat(parent, name, 0755) < 0)
		return -errno;
	int dir = openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)close(openat(dir, files[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	(void)close(dir);
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int fake_remove(int parent, const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", parent, name);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
	return nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -errno;
}

static char fake_mounts[96];
static char fake_self[96];
static struct bawn_cgroup_host fake = {.any_fs = true, .make = fake_make, .remove = fake_remove};

static void fake_host(const char *group)
{
	char text[512];

	(void)snprintf(root, sizeof(root), "/tmp/bawn-cg-XXXXXX");
	ASSERT_TRUE(mkdtemp(root));
	(void)snprintf(fake_mounts, sizeof(fake_mounts), "%s/mountinfo", root);
	(void)snprintf(fake_self, sizeof(fake_self), "%s/self", root);
	fake.mountinfo = fake_mounts;
	fake.self = fake_self;
	(void)snprintf(text, sizeof(text),
		"1 0 8:1 / / rw - ext4 /dev/sda rw\nrubbish\n"
		"30 1 0:26 / %s/cg\\040root rw,nosuid shared:9 - cgroup2 cgroup2 rw\n",
		root);
	put(root, "mountinfo", text);
	(void)snprintf(text, sizeof(text), "1:name=systemd:/x\n0::%s\n", group);
	put(root, "self", text);
}

static void fake_group(const char *path, const char *controllers, const char *subtree)
{
	char dir[256];

	(void)snprintf(dir, sizeof(dir), "%s/cg root%s", root, path);
	ASSERT_EQ(mkdir(dir, 0755), 0);
	put(dir, "cgroup.controllers", controllers);
	put(dir, "cgroup.procs", "");
	if (subtree)
		put(dir, "cgroup.subtree_control", subtree);
}

static void expect(int dir, const char *file, const char *text)
{
	char got[128];

	ASSERT_TRUE(bawn_read_small(dir, file, got, sizeof(got)) >= 0);
	ASSERT_STREQ(got, text);
}

static void fake_done(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads here */
	ASSERT_EQ(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

TEST(v2_beside_our_own_group)
{
	struct bawn_limits l = {64 * MIB, 1500, 1024, 20, 0, 0, 0, 0, 0};
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;
	uint64_t cpu = 0;
	uint64_t peak = 0;
	char own[256];

	fake_host("/app.slice/me.scope");
	fake_group("", "cpu memory pids", "cpu memory pids");
	fake_group("/app.slice", "cpu memory pids", "memory pids cpu");
	/* No subtree_control that could be written: as with processes in it. */
	fake_group("/app.slice/me.scope", "cpu memory pids", NULL);
	(void)snprintf(own, sizeof(own), "%s/cg root/app.slice/me.scope", root);
	put(own, "memory.max", "33554432\n"); /* the caller's own limit is smaller */
	put(own, "pids.max", "max\n");
	put(own, "cpu.max", "max 100000\n");
	ASSERT_EQ(bawn_cgroup_new_at(&fake, &l, &cg, &enforced, NULL), 0);
	ASSERT_EQ(enforced, BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES | BAWN_CTL_LIMIT_CPU);
	int dir = bawn_cgroup_clone_fd(cg);
	expect(dir, "memory.max", "33554432");
	expect(dir, "memory.swap.max", "0");
	expect(dir, "memory.oom.group", "1");
	expect(dir, "pids.max", "21");
	expect(dir, "cpu.max", "150000 100000");
	expect(dir, "cpu.weight", "100");
	ASSERT_EQ(bawn_cgroup_attach(cg, 4242, NULL), 0);
	expect(dir, "cgroup.procs", "4242");
	ASSERT_EQ(bawn_cgroup_breach(cg), 0);
	ASSERT_EQ(bawn_write_small(dir, "memory.events", "low 0\nmax 3\noom 1\noom_kill 1\n"), 0);
	ASSERT_EQ(bawn_cgroup_breach(cg), BAWN_CTL_LIMIT_MEMORY);
	ASSERT_EQ(bawn_write_small(dir, "pids.events", "max 2\n"), 0);
	ASSERT_EQ(bawn_cgroup_breach(cg), BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES);
	ASSERT_EQ(bawn_write_small(dir, "cpu.stat", "usage_usec 77\nuser_usec 7\n"), 0);
	ASSERT_EQ(bawn_write_small(dir, "memory.peak", "12345\n"), 0);
	bawn_cgroup_usage(cg, &cpu, &peak);
	ASSERT_EQ(cpu, 77);
	ASSERT_EQ(peak, 12345);
	(void)bawn_cgroup_free(cg);
	fake_done();
}

TEST(v2_partly_given)
{
	struct bawn_limits l = {64 * MIB, 1500, 1024, 20, 0, 0, 0, 0, 0};
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;

	fake_host("/");
	fake_group("", "memory pids", "pids\n");
	ASSERT_EQ(bawn_cgroup_new_at(&fake, &l, &cg, &enforced, NULL), 0);
	/* memory was asked for by a write to subtree_control; cpu is not there at all. */
	ASSERT_EQ(enforced, BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES);
	(void)bawn_cgroup_free(cg);
	fake_done();
}

TEST(v2_outside_our_namespace_or_broken_tables)
{
	struct bawn_limits l = {64 * MIB, 1500, 1024, 20, 0, 0, 0, 0, 0};
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 7;
	static const char *const tables[] = {"0::/../x\n", "0::\n", "::::\n", "", "0:", "\n\n",
		"0::/nowhere\n", "99999999999:memory"};

	fake_host("/");
	fake_group("", "memory pids cpu", "memory pids cpu");
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		put(root, "self", tables[i]);
		ASSERT_EQ(bawn_cgroup_new_at(&fake, &l, &cg, &enforced, NULL), 0);
		ASSERT_TRUE(!cg);
		ASSERT_EQ(enforced, 0);
	}
	fake_done();
}

TEST(v1_mounts_are_told_apart)
{
	struct bawn_hiers hs;

	fake_host("/");
	put(root, "mountinfo",
		"31 1 0:1 /docker/abc /c/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		"32 1 0:2 / /c/mem rw - cgroup cgroup rw,memory\n"
		"33 1 0:2 / /again rw - cgroup cgroup rw,memory\n"
		"34 1 0:3 / /c/cpuset rw - cgroup cgroup rw,cpuset\n"
		"35 1 0:4 / /c/sd rw - cgroup cgroup rw,xattr,name=memory\n");
	put(root, "self",
		"5:cpuset:/\n4:name=memory:/z\n3:memory:/a/b\n2:cpu,cpuacct:/docker/abc\n");
	ASSERT_EQ(bawn_hier_find(&fake, &hs), 0);
	ASSERT_EQ(hs.n, 2);
	ASSERT_STREQ(hs.v[0].own, "/c/cpu,cpuacct");
	ASSERT_TRUE(hs.v[0].acct && !hs.v[0].v2);
	ASSERT_EQ(hs.v[0].controls, BAWN_CTL_LIMIT_CPU);
	ASSERT_STREQ(hs.v[1].own, "/c/mem/a/b");
	fake_done();
}

/* The v2 mount of a hybrid host has no controllers, but it is real: killing can be tried there. */
TEST(usual_places_are_those_of_the_table)
{
	struct bawn_cgroup_host slow = bawn_cgroup_real;
	struct bawn_hiers quick, table;
	size_t same = 0;

	slow.usual = NULL;
	ASSERT_EQ(bawn_hier_find(&bawn_cgroup_real, &quick), 0);
	ASSERT_EQ(bawn_hier_find(&slow, &table), 0);
	if (!table.n)
		SKIP("no control groups here: mount them at /sys/fs/cgroup");
	ASSERT_EQ(quick.n, table.n);
	for (size_t i = 0; i < quick.n; i++)
		for (size_t k = 0; k < table.n; k++)
			same += quick.v[i].controls == table.v[k].controls &&
				quick.v[i].v2 == table.v[k].v2 &&
				quick.v[i].acct == table.v[k].acct &&
				!strcmp(quick.v[i].own, table.v[k].own);
	ASSERT_EQ(same, quick.n);
	/* nothing there: the table is asked */
	slow.usual = "/nowhere";
	ASSERT_EQ(bawn_hier_find(&slow, &quick), 0);
	ASSERT_EQ(quick.n, table.n);
}

TEST(version_one_throughout_is_told_without_the_table)
{
	struct bawn_cgroup_host elsewhere = bawn_cgroup_real;
	char text[4096] = "";
	uint32_t have = 0;

	ASSERT_TRUE(bawn_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) >= 0);
	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		have |= bawn_hier_v1_controls(p);
	}
	if (bawn_hier_all_v1(&bawn_cgroup_real))
		ASSERT_EQ(have,
			BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES | BAWN_CTL_LIMIT_CPU);
	elsewhere.usual = "/nowhere";
	ASSERT_TRUE(!bawn_hier_all_v1(&elsewhere));
	elsewhere.usual = "/proc/self/root/tmp"; /* there, but no control groups */
	ASSERT_TRUE(!bawn_hier_all_v1(&elsewhere));
	elsewhere.usual = NULL;
	ASSERT_TRUE(!bawn_hier_all_v1(&elsewhere));
}

TEST(v2_group_is_cleared_by_its_kill_file)
{
	char name[48];
	char file[64];
	int st = 0;
	int top = open("/sys/fs/cgroup/unified", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (top < 0)
		top = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(name, sizeof(name), "bawn-%d-0123456789abcdef", (int)getpid());
	if (top < 0 || mkdirat(top, name, 0755) < 0)
		SKIP("no v2 tree to write to: run as root where /sys/fs/cgroup is cgroup2");
	pid_t pid = fork();
	if (pid == 0)
		forever();
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", name);
	char text[16];
	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	int r = bawn_write_small(top, file, text);
	struct bawn_group_ref ref = {top, name, bawn_cgroup_real.remove};
	int cleared = bawn_groups_clear(&ref, 1, 5000);
	if (r < 0) {
		(void)kill(pid, SIGKILL);
		SKIP("cannot move into a v2 group here: run as root where /sys/fs/cgroup is cgroup2");
	}
	ASSERT_EQ(cleared, 0);
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_TRUE(WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL);
}
