/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "backend/native/cgroup.h"
#include "backend/native/meter.h"
#include "backend/native/proctree.h"
#include "base/io.h"
#include "harness.h"
#include "policy/policy.h"

#define MIB ((uint64_t)1 << 20)

static struct bawn_plan plan = {
	.limits =
		{
			.memory = BAWN_UNLIMITED,
			.cpus_milli = BAWN_UNLIMITED,
			.cpu_shares = BAWN_UNLIMITED,
			.processes = BAWN_UNLIMITED,
			.files = BAWN_UNLIMITED,
		},
};

static void nap(long ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void)nanosleep(&ts, NULL);
}

static pid_t spawn(void (*fn)(void))
{
	pid_t pid = fork();

	ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		fn();
		_exit(0);
	}
	return pid;
}

/* Look until something is hit or `looks` have been made. */
static uint32_t watch(struct bawn_meter *m, int looks)
{
	for (int i = 0; i < looks; i++) {
		int next = 0;
		uint32_t hit = bawn_meter_look(m, &next);

		if (hit)
			return hit;
		ASSERT_TRUE(next >= 1);
		nap(next);
	}
	return 0;
}

/* Run fn as pid 1 of a new pid namespace with its own /proc, in a user namespace; its exit status.
 */
static int as_init(void (*fn)(void))
{
	int st = 0;
	pid_t outer = fork();

	ASSERT_TRUE(outer >= 0);
	if (outer == 0) {
		char uids[32];
		char gids[32];

		(void)snprintf(uids, sizeof(uids), "0 %u 1", (unsigned)geteuid());
		(void)snprintf(gids, sizeof(gids), "0 %u 1", (unsigned)getegid());
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0 ||
			bawn_write_small(AT_FDCWD, "/proc/self/setgroups", "deny") < 0 ||
			bawn_write_small(AT_FDCWD, "/proc/self/uid_map", uids) < 0 ||
			bawn_write_small(AT_FDCWD, "/proc/self/gid_map", gids) < 0)
			_exit(TEST_SKIP);
		pid_t pid = fork();
		if (pid == 0) {
			if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
				mount("proc", "/proc", "proc", 0, NULL) < 0)
				_exit(TEST_SKIP);
			fn();
			_exit(0);
		}
		if (waitpid(pid, &st, 0) != pid)
			_exit(1);
		_exit(WIFEXITED(st) ? WEXITSTATUS(st) : 1);
	}
	ASSERT_EQ(waitpid(outer, &st, 0), outer);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1;
}

static void in_namespace(void (*fn)(void))
{
	int r = as_init(fn);

	if (r == TEST_SKIP)
		SKIP("no user namespace with its own /proc here: needs one that is not in a container with a masked /proc");
	ASSERT_EQ(r, 0);
}

static void forever(void)
{
	for (;;)
		(void)pause();
}

static void spin(void)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
}

TEST(whole_proc_only_as_pid_1)
{
	ASSERT_TRUE(getpid() != 1);
	ASSERT_TRUE(!bawn_meter_new(&plan, BAWN_CTL_LIMIT_MEMORY, true));
	ASSERT_TRUE(!bawn_meter_free(NULL));
}

static void touch_200m(void)
{
	size_t len = 200 * MIB;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; p != MAP_FAILED && i < len; i += 4096)
		*(volatile char *)(p + i) = 1;
	forever();
}

/* Two processes with 80 MB each: none alone is over the limit. */
static void touch_shared_out(void)
{
	size_t len = 80 * MIB;

	(void)fork();
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; p != MAP_FAILED && i < len; i += 4096)
		*(volatile char *)(p + i) = 1;
	forever();
}

static void fill_memfd(void)
{
	static char block[1 << 20];
	int fd = memfd_create("x", MFD_CLOEXEC);

	memset(block, 1, sizeof(block));
	for (int i = 0; i < 200; i++)
		if (write(fd, block, sizeof(block)) < 0)
			break;
	forever();
}

static void memory_breach(void (*fn)(void), bool whole)
{
	uint64_t cpu = 0;
	uint64_t peak = 0;

	plan.limits.memory = 100 * MIB;
	/* who looks may not get a processor for a while: there are five times to show it */
	for (int i = 0; i < 5 && (i == 0 || peak >= 150 * MIB); i++) {
		struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_MEMORY, whole);

		ASSERT_TRUE(m);
		(void)spawn(fn);
		ASSERT_EQ(watch(m, 3000), BAWN_CTL_LIMIT_MEMORY);
		bawn_meter_kill_all(m);
		bawn_meter_usage(m, &cpu, &peak);
		ASSERT_TRUE(peak > 100 * MIB);
		ASSERT_EQ(waitpid(-1, NULL, 0), -1);
		(void)bawn_meter_free(m);
	}
	if (peak >= 150 * MIB)
		FAIL("seen only at %llu bytes", (unsigned long long)peak);
}

TEST(memory_of_one_process)
{
	memory_breach(touch_200m, false);
}

TEST(memory_of_two_together)
{
	uint64_t cpu = 0;
	uint64_t peak = 0;

	plan.limits.memory = 100 * MIB;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_MEMORY, false);
	(void)spawn(touch_shared_out);
	ASSERT_EQ(watch(m, 3000), BAWN_CTL_LIMIT_MEMORY);
	bawn_meter_kill_all(m);
	bawn_meter_usage(m, &cpu, &peak);
	ASSERT_TRUE(peak > 100 * MIB);
}

TEST(memory_in_a_memfd)
{
	plan.limits.memory = 100 * MIB;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_MEMORY, false);
	(void)spawn(fill_memfd);
	ASSERT_EQ(watch(m, 3000), BAWN_CTL_LIMIT_MEMORY);
	bawn_meter_kill_all(m);
}

TEST(memory_within_the_limit)
{
	plan.limits.memory = 400 * MIB;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_MEMORY, false);
	(void)spawn(touch_200m);
	ASSERT_EQ(watch(m, 10), 0);
	bawn_meter_kill_all(m);
}

static void memory_as_init(void)
{
	memory_breach(touch_200m, true);
}

TEST(memory_in_a_pid_namespace)
{
	in_namespace(memory_as_init);
}

static void become_ordinary(void)
{
	if (getuid() != 0)
		return;
	ASSERT_EQ(setresgid(65534, 65534, 65534), 0);
	ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
	ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
}

TEST(memory_as_an_ordinary_user)
{
	become_ordinary();
	memory_breach(touch_200m, false);
}

TEST(memory_in_a_pid_namespace_as_an_ordinary_user)
{
	become_ordinary();
	in_namespace(memory_as_init);
}

static void *thread_main(void *arg)
{
	forever();
	return arg;
}

static void threads_30(void)
{
	pthread_t t;

	for (int i = 0; i < 30; i++)
		(void)pthread_create(&t, NULL, thread_main, NULL);
	forever();
}

TEST(threads_count_as_processes)
{
	plan.limits.processes = 20;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_PROCESSES, false);
	(void)spawn(threads_30);
	ASSERT_EQ(watch(m, 3000), BAWN_CTL_LIMIT_PROCESSES);
	bawn_meter_kill_all(m);
	plan.limits.processes = 31;
	m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_PROCESSES, false);
	(void)spawn(threads_30);
	ASSERT_EQ(watch(m, 5), 0);
	bawn_meter_kill_all(m);
}

static void fork_bomb(void)
{
	for (;;) {
		if (fork() < 0)
			nap(1);
	}
}

/* In a user namespace the rlimit holds the bomb while the meter looks for it. */
static void bomb_as_init(void)
{
	plan.limits.processes = 20;
	plan.tier = BAWN_TIER_FULL;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_PROCESSES, true);
	ASSERT_TRUE(m);
	ASSERT_EQ(bawn_meter_rlimits(&plan, BAWN_CTL_LIMIT_PROCESSES), 0);
	(void)spawn(fork_bomb);
	ASSERT_EQ(watch(m, 3000), BAWN_CTL_LIMIT_PROCESSES);
	bawn_meter_kill_all(m);
	ASSERT_EQ(waitpid(-1, NULL, 0), -1);
}

TEST(fork_bomb_in_a_pid_namespace)
{
	become_ordinary();
	in_namespace(bomb_as_init);
}

static void open_many(void)
{
	while (fcntl(0, F_DUPFD_CLOEXEC, 0) >= 0)
		;
	forever();
}

TEST(open_files)
{
	struct stat st;

	if (stat("/proc/self/fd", &st) < 0 || st.st_size == 0)
		SKIP("the size of /proc/self/fd is not told: needs Linux 6.2");
	plan.limits.files = 40;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_FILES, false);
	(void)spawn(forever);
	nap(60);
	ASSERT_EQ(watch(m, 3), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (bawn_meter_rlimits(&plan, BAWN_CTL_LIMIT_FILES) < 0)
			_exit(1);
		open_many();
	}
	ASSERT_EQ(watch(m, 3000), BAWN_CTL_LIMIT_FILES);
	bawn_meter_kill_all(m);
}

static void fill_disk(void)
{
	static char block[1 << 20];
	int fd = open("/tmp/fill", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (int i = 0; i < 12; i++)
		if (write(fd, block, sizeof(block)) < 0)
			break;
	forever();
}

static void many_inodes(void)
{
	for (int i = 0; i < 2000; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "/tmp/f%d", i);
		int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			(void)close(fd);
	}
	forever();
}

static void disk_with(void (*fn)(void), uint64_t reserve, uint32_t expected)
{
	static const char *const roots[] = {"/tmp", "/does/not/exist"};

	if (mount("tmpfs", "/tmp", "tmpfs", 0, "size=16m,nr_inodes=1000") < 0)
		_exit(TEST_SKIP);
	plan.writable = roots;
	plan.n_writable = 2;
	plan.limits.disk_reserve = reserve;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_DISK, true);
	ASSERT_TRUE(m);
	ASSERT_EQ(watch(m, 2), 0);
	(void)spawn(fn);
	ASSERT_EQ(watch(m, expected ? 3000 : 10), expected);
	bawn_meter_kill_all(m);
}

static void disk_reserve(void)
{
	disk_with(fill_disk, 8 * MIB, BAWN_CTL_LIMIT_DISK);
}

static void disk_room(void)
{
	disk_with(fill_disk, 2 * MIB, 0);
}

/* Less is free than the reserve: half of it must stay. */
static void disk_low(void)
{
	disk_with(fill_disk, 256 * MIB, BAWN_CTL_LIMIT_DISK);
}

static void disk_inodes(void)
{
	disk_with(many_inodes, 2 * MIB, BAWN_CTL_LIMIT_DISK);
}

TEST(room_on_disk)
{
	in_namespace(disk_reserve);
	in_namespace(disk_room);
}

TEST(room_on_disk_that_is_low_already)
{
	in_namespace(disk_low);
}

TEST(inodes_on_disk)
{
	in_namespace(disk_inodes);
}

/* Processors that a few that never rest had together, in thousandths. */
static uint64_t cpus_used(uint64_t milli)
{
	struct rusage before;
	struct rusage after;
	int64_t began, took;

	plan.limits.cpus_milli = milli;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_CPU, false);
	ASSERT_TRUE(m);
	ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &before), 0);
	for (int i = 0; i < 4; i++)
		(void)spawn(spin);
	began = bawn_now_ms();
	do {
		int next = 0;

		ASSERT_EQ(bawn_meter_look(m, &next), 0);
		nap(next);
		took = bawn_now_ms() - began;
	} while (took < 1000);
	bawn_meter_kill_all(m);
	(void)bawn_meter_free(m);
	ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &after), 0);
	return ((uint64_t)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000u +
		       (uint64_t)(after.ru_utime.tv_usec - before.ru_utime.tv_usec)) /
	       (uint64_t)took;
}

/* A quarter of what they get here without a limit, which on a busy machine is not much. What they
 * get is taken before and after: where it differs much, the load has changed and nothing is told.
 */
TEST(cpu_is_throttled)
{
	uint64_t before = 0, after = 0, limited = 0;
	int told = 0;

	for (int i = 0; i < 20 && told < 5; i++) {
		before = cpus_used(BAWN_UNLIMITED);
		limited = cpus_used(before / 4 > 20 ? before / 4 : 20);
		after = cpus_used(BAWN_UNLIMITED);
		ASSERT_TRUE(limited > 0);
		if (before < 80 || after * 3 < before * 2 || before * 3 < after * 2)
			continue;
		told++;
		/* bursts and looks that come late are allowed for */
		if (limited * 100 <= (before < after ? before : after) * 65)
			return;
	}
	if (!told)
		SKIP("the load of this machine changes too much: run it on an idle one");
	FAIL("%llu of %llu and %llu thousandths of a processor", (unsigned long long)limited,
		(unsigned long long)before, (unsigned long long)after);
}

TEST(affinity_goes_with_it)
{
	cpu_set_t set;

	plan.limits.cpus_milli = 500;
	ASSERT_EQ(bawn_meter_rlimits(&plan, BAWN_CTL_LIMIT_CPU), 0);
	ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	ASSERT_EQ(CPU_COUNT(&set), 1);
}

/* Who stopped itself is not woken by the throttle. */
TEST(throttle_leaves_the_stopped_stopped)
{
	siginfo_t si = {0};

	plan.limits.cpus_milli = 250;
	struct bawn_meter *m = bawn_meter_new(&plan, BAWN_CTL_LIMIT_CPU, false);
	pid_t pid = spawn(forever);
	(void)spawn(spin);
	ASSERT_EQ(kill(pid, SIGSTOP), 0);
	ASSERT_EQ(waitid(P_PID, (id_t)pid, &si, WSTOPPED), 0);
	ASSERT_EQ(watch(m, 20), 0);
	si.si_pid = 0;
	ASSERT_EQ(waitid(P_PID, (id_t)pid, &si, WCONTINUED | WNOHANG), 0);
	ASSERT_EQ(si.si_pid, 0);
	bawn_meter_kill_all(m);
}

/* Everything that makes a process hard to kill: sessions, orphans, ignored signals, new ids. */
static void hard_to_kill(void)
{
	for (int i = 1; i < 32; i++)
		if (i != SIGKILL && i != SIGSTOP)
			(void)signal(i, SIG_IGN);
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			break;
	for (int n = 0;; n++) {
		pid_t pid = fork();

		if (pid > 0 && n % 2)
			_exit(0); /* the child goes on with another id, orphaned */
		if (pid == 0)
			(void)setsid();
		if (pid > 0)
			(void)waitpid(pid, NULL, WNOHANG);
		if (pid < 0 || n > 8)
			n = 0;
		nap(1);
		if (n > 6)
			spin();
	}
}

static void kill_all_with(bool whole)
{
	int p[2];
	char c;

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	struct bawn_meter *m = bawn_meter_new(&plan, 0, whole);
	ASSERT_TRUE(m);
	(void)spawn(hard_to_kill);
	(void)close(p[1]);
	nap(7);
	bawn_meter_kill_all(m);
	/* All of them held the other end. */
	ASSERT_EQ(fcntl(p[0], F_SETFL, O_NONBLOCK), 0);
	ASSERT_EQ(read(p[0], &c, 1), 0);
	ASSERT_EQ(waitpid(-1, NULL, WNOHANG), -1);
	ASSERT_EQ(errno, ECHILD);
	(void)bawn_meter_free(m);
}

static void kill_all_as_init(void)
{
	kill_all_with(true);
}

TEST(kill_all_in_a_pid_namespace)
{
	in_namespace(kill_all_as_init);
}

/* A bystander that is no descendant of the meter lives on. */
TEST(kill_all_descendants_only)
{
	int st = 0;
	pid_t bystander = spawn(forever);

	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		ASSERT_TRUE(pid >= 0);
		if (pid == 0) {
			become_ordinary();
			kill_all_with(false);
			_exit(0);
		}
		ASSERT_EQ(waitpid(pid, &st, 0), pid);
		ASSERT_EQ(st, 0);
	}
	ASSERT_EQ(waitpid(bystander, &st, WNOHANG), 0);
	ASSERT_EQ(kill(bystander, SIGKILL), 0);
	ASSERT_EQ(waitpid(bystander, &st, 0), bystander);
}

static void bomb(void)
{
	for (;;)
		(void)fork();
}

/* The plainest of them, held by a control group so that a failure hurts nobody else. */
TEST(kill_all_against_an_endless_fork_bomb)
{
	struct bawn_cgroup *cg = NULL;
	uint32_t enforced = 0;
	int st = 0;

	plan.limits.processes = 200;
	ASSERT_EQ(bawn_cgroup_new(&plan, &cg, &enforced, NULL), 0);
	if (!(enforced & BAWN_CTL_LIMIT_PROCESSES))
		SKIP("no control group to hold it: run as root, or in a delegated group");
	pid_t pid = fork();
	ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		struct bawn_meter *m = bawn_meter_new(&plan, 0, false);

		ASSERT_EQ(bawn_cgroup_enter(cg, false), 0);
		(void)spawn(bomb);
		nap(30);
		bawn_meter_kill_all(m);
		ASSERT_EQ(waitpid(-1, NULL, WNOHANG), -1);
		ASSERT_EQ(errno, ECHILD);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	(void)bawn_cgroup_free(cg);
	ASSERT_EQ(st, 0);
}

TEST(rlimits)
{
	struct rlimit rl;

	plan.limits.files = 128;
	plan.limits.memory = 64 * MIB;
	ASSERT_EQ(bawn_meter_rlimits(&plan, BAWN_CTL_LIMIT_MEMORY), 0);
	ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
	ASSERT_EQ(rl.rlim_max, 128);
	ASSERT_EQ(getrlimit(RLIMIT_CORE, &rl), 0);
	ASSERT_EQ(rl.rlim_max, 0);
#ifndef BAWN_SANITIZED
	ASSERT_EQ(getrlimit(RLIMIT_DATA, &rl), 0);
	ASSERT_EQ(rl.rlim_max, 8 * 64 * MIB);
#endif
}

/* Sanitizers reserve terabytes that they never touch. */
TEST(much_memory_may_be_reserved)
{
	struct rlimit rl, before;

	plan.limits.memory = 4096 * MIB;
	ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
	ASSERT_EQ(bawn_meter_rlimits(&plan, BAWN_CTL_LIMIT_MEMORY), 0);
	ASSERT_EQ(getrlimit(RLIMIT_DATA, &rl), 0);
	ASSERT_EQ(rl.rlim_max, before.rlim_max);
}

static uint64_t host_threads(void)
{
	struct bawn_proctree t = {.proc = opendir("/proc"), .whole = true};
	uint64_t n = 0;

	ASSERT_TRUE(t.proc && bawn_proctree_scan(&t) == 0);
	for (size_t i = 0; i < t.n; i++)
		n += t.v[i].threads;
	bawn_proctree_done(&t);
	return n;
}

static void await_threads(pid_t pid, nlink_t n)
{
	char path[64];
	struct stat st = {0};

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	for (int i = 0; i < 6000 && stat(path, &st) == 0 && st.st_nlink != n + 2; i++)
		nap(10);
	ASSERT_EQ(st.st_nlink, n + 2);
}

/* Without a user namespace the rlimit counts all that the user has running. */
TEST(rlimit_processes_without_namespace)
{
	struct rlimit rl;
	pid_t pid;

	become_ordinary();
	pid = spawn(threads_30);
	await_threads(pid, 31);
	plan.tier = BAWN_TIER_LANDLOCK;
	plan.limits.processes = 20;
	ASSERT_EQ(bawn_meter_rlimits(&plan, BAWN_CTL_LIMIT_PROCESSES), 0);
	ASSERT_EQ(getrlimit(RLIMIT_NPROC, &rl), 0);
	(void)kill(pid, SIGKILL);
	ASSERT_TRUE(rl.rlim_max > 20 + 31);
	ASSERT_TRUE(rl.rlim_max < 20 + host_threads()); /* the kernel's at the least are not ours */
}
