/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Groups for one run. Two rules shape it: no moment in which a group exists and nobody would remove
 * it (the janitor is started first), and little work, because this stands in the way of every run.
 *
 * What was left behind even so is found by its name, bawn-<pid of the owner>-<random>, and by a
 * lock on the directory, which the kernel drops with the owner. The process id is only a hint that
 * saves the look at the lock: other pid namespaces may share the tree, and ids are reused.
 */
#include "backend/native/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "backend/native/cgroup-internal.h"
#include "base/io.h"
#include "base/sched.h"
#include "policy/policy.h"

#define PERIOD_US     100000u
#define FREE_MS       5000
#define SWEEP_MS      20
#define PIDS_LOOK_MS  100
#define JOIN_US       300
#define MAKE_TRIES    64 /* each waits a millisecond longer: two seconds in all */
#define SWEEP_ENTRIES 64
/* Our init is in the group as well and is not the command's. */
#define OWN_PROCESSES 1u

struct group {
	bool v2, acct;
	uint32_t want, got;
	struct bawn_hier_caps caps;
	int parent;
	int dir;
	int self; /* to be written by a process that puts itself in */
};

struct bawn_cgroup {
	const struct bawn_cgroup_host *host;
	char name[48];
	struct group g[BAWN_GROUPS_MAX];
	size_t n;
	struct bawn_janitor janitor;
	int oom_event;  /* v1 */
	int oom_count;  /* memory.events or memory.oom_control */
	int pids_count; /* pids.events */
	int pids_timer; /* v1 */
	int peak;       /* how much memory it was at the most */
	bool thorough;  /* sweeps groups of owners that live, or seem to */
	bool settled;
	uint32_t breach;
};

static void close_group(struct group *g)
{
	int *fds[] = {&g->parent, &g->dir, &g->self};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			(void)close(TAKE_FD(*fds[i]));
}

static int write_u64(int dir, const char *file, uint64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, v);
	return bawn_write_small(dir, file, text);
}

/* The number behind `key` in an open counter file; also makes it ready for the next event. */
static uint64_t read_counter(int fd, const char *key)
{
	char text[1024];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
	size_t len = strlen(key);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, key, len) == 0 && p[len] == ' ')
			return strtoull(p + len, NULL, 10);
	}
	return 0;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void watch_oom_v1(struct bawn_cgroup *cg, int dir)
{
	char text[32];

	cg->oom_count = openat(dir, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	cg->oom_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)snprintf(text, sizeof(text), "%d %d", cg->oom_event, cg->oom_count);
	if (cg->oom_event < 0)
		return;
	if (bawn_write_small(dir, "cgroup.event_control", text) < 0)
		(void)close(TAKE_FD(cg->oom_event));
	else if (read_counter(cg->oom_count, "oom_kill")) /* somebody was quicker */
		(void)eventfd_write(cg->oom_event, 1);
}

static void watch_memory(struct bawn_cgroup *cg, const struct group *g)
{
	cg->peak = openat(
		g->dir, g->v2 ? "memory.peak" : "memory.max_usage_in_bytes", O_RDONLY | O_CLOEXEC);
	if (!g->v2) {
		watch_oom_v1(cg, g->dir);
		return;
	}
	cg->oom_count = openat(g->dir, "memory.events", O_RDONLY | O_CLOEXEC);
	(void)read_counter(cg->oom_count, "oom_kill");
}

static int limit_memory(const struct group *g, uint64_t bytes)
{
	int r;

	if (!g->v2) {
		r = write_u64(g->dir, "memory.limit_in_bytes", bytes);
		if (r < 0)
			return r;
		/* Absent where the kernel does not count swap. */
		r = write_u64(g->dir, "memory.memsw.limit_in_bytes", bytes);
		return r == -ENOENT ? 0 : r;
	}
	r = write_u64(g->dir, "memory.max", bytes);
	if (r < 0)
		return r;
	r = write_u64(g->dir, "memory.swap.max", 0);
	if (r < 0 && r != -ENOENT)
		return r;
	r = write_u64(g->dir, "memory.oom.group", 1); /* since Linux 4.19 */
	return r == -ENOENT ? 0 : r;
}

static void watch_processes(struct bawn_cgroup *cg, const struct group *g)
{
	cg->pids_count = openat(g->dir, "pids.events", O_RDONLY | O_CLOEXEC);
	(void)read_counter(cg->pids_count, "max");
	if (g->v2 || cg->pids_count < 0)
		return;
	/* Kernels with both versions count here but wake nobody who polls the v1 file. */
	const struct timespec every = {.tv_nsec = PIDS_LOOK_MS * 1000000L};
	const struct itimerspec its = {.it_interval = every, .it_value = every};

	cg->pids_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (cg->pids_timer >= 0)
		(void)timerfd_settime(cg->pids_timer, 0, &its, NULL);
}

/* Version 1 refuses a quota above the parent's. Then the parent holds more than we ask. */
static int quota_v1(const struct group *g, uint64_t quota)
{
	char text[32];
	int r = write_u64(g->dir, "cpu.cfs_quota_us", quota);

	if (r != -EINVAL || bawn_read_small(g->parent, "cpu.cfs_quota_us", text, sizeof(text)) <= 0)
		return r;
	return text[0] != '-' ? 0 : r;
}

static int limit_cpu(const struct group *g, uint64_t milli, uint64_t shares)
{
	char text[48];
	int r = 0;

	if (milli != BAWN_UNLIMITED) {
		/* A quota is at least 1 ms in 100, and there are no machines with more. */
		uint64_t quota = lower(milli, 1000000) * PERIOD_US / 1000;

		quota = quota < 1000 ? 1000 : quota;
		(void)snprintf(text, sizeof(text), "%" PRIu64 " %u", quota, PERIOD_US);
		r = g->v2 ? bawn_write_small(g->dir, "cpu.max", text) : quota_v1(g, quota);
	}
	if (r < 0 || shares == BAWN_UNLIMITED)
		return r;
	shares = shares < 2 ? 2 : lower(shares, 262144);
	if (!g->v2)
		return write_u64(g->dir, "cpu.shares", shares);
	uint64_t weight = lower(shares * 100 / 1024, 10000);
	return write_u64(g->dir, "cpu.weight", weight ? weight : 1);
}

static uint32_t set_limits(const struct group *g, const struct bawn_limits *l)
{
	uint32_t got = 0;

	if (g->want & BAWN_CTL_LIMIT_MEMORY &&
		limit_memory(g, lower(l->memory, g->caps.memory)) == 0)
		got |= BAWN_CTL_LIMIT_MEMORY;
	if (g->want & BAWN_CTL_LIMIT_PROCESSES &&
		write_u64(g->dir, "pids.max",
			lower(l->processes + OWN_PROCESSES, g->caps.processes)) == 0)
		got |= BAWN_CTL_LIMIT_PROCESSES;
	if (g->want & BAWN_CTL_LIMIT_CPU &&
		limit_cpu(g, lower(l->cpus_milli, g->caps.cpus_milli), l->cpu_shares) == 0)
		got |= BAWN_CTL_LIMIT_CPU;
	return got;
}

/*
 * A sweeper may take a new group for an old one in the moment before it is locked. It removes it at
 * once, so another attempt a little later works, or much later where it does not get to run. Not a
 * lock that waits: anybody who can see the directory could hold it.
 */
static int make_group(const struct bawn_cgroup *cg, struct group *g)
{
	int r = -EAGAIN;

	for (long i = 0; i < MAKE_TRIES; i++) {
		const struct timespec ts = {.tv_nsec = i * 1000000};

		if (i)
			(void)nanosleep(&ts, NULL);
		r = cg->host->make(g->parent, cg->name);
		if (r < 0 && r != -EEXIST)
			return r;
		_cleanup_close_ int dir =
			openat(g->parent, cg->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
		if (r < 0)
			continue;
		g->self = openat(dir, g->v2 ? "cgroup.procs" : "tasks", O_WRONLY | O_CLOEXEC);
		if (g->self >= 0) {
			g->dir = TAKE_FD(dir);
			return 0;
		}
		r = -errno;
	}
	(void)cg->host->remove(g->parent, cg->name);
	return r;
}

/* The owner's id if this is the name of one of our groups, else 0. */
static pid_t name_owner(const char *name)
{
	char *end = NULL;

	if (strncmp(name, "bawn-", 5) != 0 || name[5] < '1' || name[5] > '9')
		return 0;
	long pid = strtol(name + 5, &end, 10);
	if (pid <= 0 || pid > INT32_MAX || *end != '-' || strlen(end + 1) != 16 ||
		strspn(end + 1, "0123456789abcdef") != 16)
		return 0;
	return (pid_t)pid;
}

static void sweep_one(const struct bawn_cgroup *cg, int parent, const char *name)
{
	struct stat locked;
	struct stat named;
	struct bawn_group_ref ref = {parent, name, cg->host->remove};
	_cleanup_close_ int dir =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0)
		return;
	/* Another sweeper may have removed it meanwhile, and its owner made it anew. */
	if (fstat(dir, &locked) < 0 || fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
		locked.st_ino != named.st_ino)
		return;
	(void)bawn_groups_clear(&ref, 1, SWEEP_MS);
}

/* The number of links tells at once whether there is any group but ours. */
static void sweep(const struct bawn_cgroup *cg, int parent, bool thorough)
{
	struct stat st;
	int looks = 0;

	if (fstat(parent, &st) == 0 && st.st_nlink == 3)
		return;
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
	for (const struct dirent *e; looks < SWEEP_ENTRIES && (e = readdir(d));) {
		pid_t owner = name_owner(e->d_name);

		if (!owner || strcmp(e->d_name, cg->name) == 0)
			continue;
		if (!thorough && (kill(owner, 0) == 0 || errno != ESRCH))
			continue;
		looks++;
		sweep_one(cg, parent, e->d_name);
	}
	(void)closedir(d);
}

/* Open the places where groups for `want` can be made. Those that cannot are left to the meter. */
static void open_parents(struct bawn_cgroup *cg, const struct bawn_hiers *hs, uint32_t want)
{
	for (size_t i = 0; i < hs->n; i++) {
		struct group g = {.v2 = hs->v[i].v2,
			.acct = hs->v[i].acct,
			.caps = {BAWN_UNLIMITED, BAWN_UNLIMITED, BAWN_UNLIMITED},
			.dir = -1,
			.self = -1};

		if (!(hs->v[i].controls & want))
			continue;
		g.parent = bawn_hier_open(cg->host, &hs->v[i], want, &g.want, &g.caps);
		if (g.parent >= 0 && faccessat(g.parent, ".", W_OK, AT_EACCESS) == 0)
			cg->g[cg->n++] = g;
		else
			close_group(&g);
	}
}

static uint32_t wanted(const struct bawn_limits *l)
{
	uint32_t want = 0;

	if (l->memory != BAWN_UNLIMITED)
		want |= BAWN_CTL_LIMIT_MEMORY;
	if (l->processes < UINT64_MAX - OWN_PROCESSES)
		want |= BAWN_CTL_LIMIT_PROCESSES;
	if (l->cpus_milli != BAWN_UNLIMITED || l->cpu_shares != BAWN_UNLIMITED)
		want |= BAWN_CTL_LIMIT_CPU;
	return want;
}

static size_t refs_of(const struct bawn_cgroup *cg, struct bawn_group_ref refs[BAWN_GROUPS_MAX])
{
	for (size_t i = 0; i < cg->n; i++)
		refs[i] = (struct bawn_group_ref){cg->g[i].parent, cg->name, cg->host->remove};
	return cg->n;
}

/* Make what can be made; drop what does not take its limit. Returns what is in force. */
static uint32_t make_groups(struct bawn_cgroup *cg, const struct bawn_limits *l)
{
	uint32_t enforced = 0;
	size_t kept = 0;

	for (size_t i = 0; i < cg->n; i++) {
		struct group *g = &cg->g[i];
		bool made = make_group(cg, g) == 0;

		g->got = made ? set_limits(g, l) : 0;
		enforced |= g->got;
		if (g->got) {
			cg->g[kept++] = *g;
			continue;
		}
		if (made)
			(void)cg->host->remove(g->parent, cg->name);
		close_group(g);
	}
	cg->n = kept;
	return enforced;
}

static struct bawn_cgroup *cgroup_alloc(const struct bawn_cgroup_host *host, uint64_t *ret_random)
{
	struct bawn_cgroup *cg = calloc(1, sizeof(*cg));

	if (!cg)
		return NULL;
	cg->host = host;
	cg->oom_event = cg->oom_count = cg->pids_count = cg->pids_timer = cg->peak = -1;
	if (getrandom(ret_random, sizeof(*ret_random), GRND_NONBLOCK) != sizeof(*ret_random))
		*ret_random = bawn_wall_us();
	(void)snprintf(
		cg->name, sizeof(cg->name), "bawn-%d-%016" PRIx64, (int)getpid(), *ret_random);
	return cg;
}

BAWN_DEFINE_CLEANUP(struct bawn_cgroup, cgroup, bawn_cgroup_free)

int bawn_cgroup_new_at(const struct bawn_cgroup_host *host, const struct bawn_limits *limits,
	struct bawn_cgroup **ret, uint32_t *ret_enforced, struct bawn_error *err)
{
	struct bawn_group_ref refs[BAWN_GROUPS_MAX];
	struct bawn_hiers hs;
	uint32_t want = wanted(limits);
	uint64_t random = 0;

	*ret = NULL;
	*ret_enforced = 0;
	if (!want || bawn_hier_find(host, &hs) < 0)
		return 0;
	_cleanup_(cleanup_cgroup_p) struct bawn_cgroup *cg = cgroup_alloc(host, &random);
	if (!cg)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	open_parents(cg, &hs, want);
	if (!cg->n)
		return 0;
	int r = bawn_janitor_start(&cg->janitor, refs, refs_of(cg, refs));
	if (r < 0) {
		cg->n = 0;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot start the janitor of '%s': %s",
			cg->name, strerrordesc_np(-r));
	}
	*ret_enforced = make_groups(cg, limits);
	if (!*ret_enforced)
		return 0;
	cg->thorough = (random & 7) == 0;
	*ret = TAKE_PTR(cg);
	return 0;
}

/* What has time until somebody is inside, who may be waiting for the groups. */
static void settle(struct bawn_cgroup *cg)
{
	for (size_t i = 0; !cg->settled && i < cg->n; i++) {
		const struct group *g = &cg->g[i];

		if (g->got & BAWN_CTL_LIMIT_MEMORY)
			watch_memory(cg, g);
		if (g->got & BAWN_CTL_LIMIT_PROCESSES)
			watch_processes(cg, g);
		sweep(cg, g->parent, cg->thorough);
	}
	cg->settled = true;
}

/* An ordinary user has control groups only where v2's tree was given to him: told by two looks, not
 * by reading all mounts. */
static bool is_delegated(void)
{
	char text[4096], path[4200];
	const char *own;

	if (bawn_read_small(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) < 0)
		return false;
	own = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
	if (!own)
		return false;
	own = strchr(own, '/');
	if (!own)
		return false;
	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s", (int)strcspn(own, "\n"), own);
	if (access(path, W_OK) == 0)
		return true;
	(void)snprintf(
		path, sizeof(path), "/sys/fs/cgroup/unified%.*s", (int)strcspn(own, "\n"), own);
	return access(path, W_OK) == 0;
}

int bawn_cgroup_new(const struct bawn_plan *plan, struct bawn_cgroup **ret, uint32_t *ret_enforced,
	struct bawn_error *err)
{
	*ret = NULL;
	*ret_enforced = 0;
	if (geteuid() != 0 && !is_delegated())
		return 0;
	return bawn_cgroup_new_at(&bawn_cgroup_real, &plan->limits, ret, ret_enforced, err);
}

int bawn_cgroup_attach(struct bawn_cgroup *cg, pid_t pid, struct bawn_error *err)
{
	for (size_t i = 0; i < cg->n; i++) {
		int r = write_u64(cg->g[i].dir, "cgroup.procs", (uint64_t)pid);

		if (r < 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, r,
				"cannot put process %d into control group '%s': %s", (int)pid,
				cg->name, strerrordesc_np(-r));
	}
	return 0;
}

int bawn_cgroup_clone_fd(const struct bawn_cgroup *cg)
{
	for (size_t i = 0; i < cg->n; i++)
		if (cg->g[i].v2)
			return cg->g[i].dir;
	return -1;
}

static int put_self(int fd)
{
	ssize_t n;

	do
		n = write(fd, "0", 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : n < 0 ? -errno : -EIO;
}

int bawn_cgroup_enter(const struct bawn_cgroup *cg, bool cloned_into)
{
	for (size_t i = 0; i < cg->n; i++) {
		int r = cg->g[i].v2 && cloned_into ? 0 : put_self(cg->g[i].self);

		if (r < 0)
			return r;
	}
	return 0;
}

bool bawn_cgroup_may_follow(void)
{
	char text[4096];
	uint32_t have = 0;

	if (bawn_hier_all_v1(&bawn_cgroup_real)) /* the kernel takes its time to write the file */
		return true;
	if (bawn_read_small(AT_FDCWD, bawn_cgroup_real.self, text, sizeof(text)) < 0)
		return false;
	for (char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		have |= bawn_hier_v1_controls(p);
	}
	return have == (BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES | BAWN_CTL_LIMIT_CPU);
}

int bawn_cgroup_hand(const struct bawn_cgroup *cg, uint32_t enforced, int sock)
{
	int fds[BAWN_GROUPS_MAX];
	size_t n = cg ? cg->n : 0;

	for (size_t i = 0; i < n; i++)
		fds[i] = cg->g[i].self;
	return bawn_send_fds(sock, &enforced, sizeof(enforced), fds, n);
}

/* They are being made: to wake up would take as long as what is left of that. */
static void stay_awake(int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int64_t left = bawn_sched_busy() ? 0 : JOIN_US;

	(void)bawn_poll_soon(&p, 1, 0, &left);
}

int bawn_cgroup_join(int sock, uint32_t *ret_enforced)
{
	struct bawn_received got;
	ssize_t len;
	int r;

	stay_awake(sock);
	len = bawn_receive_fds(sock, ret_enforced, sizeof(*ret_enforced), 0, &got);
	r = len == sizeof(*ret_enforced) ? 0 : len < 0 ? (int)len : -EPIPE;

	for (size_t i = 0; r == 0 && i < got.n; i++)
		r = put_self(got.fds[i]);
	bawn_received_close(&got);
	return r;
}

int bawn_cgroup_fds(struct bawn_cgroup *cg, int fds[4], uint32_t events[4])
{
	int n = 0;

	settle(cg);
	if (cg->oom_event >= 0) {
		fds[n] = cg->oom_event;
		events[n++] = EPOLLIN;
	} else if (cg->oom_count >= 0) {
		fds[n] = cg->oom_count;
		events[n++] = EPOLLPRI;
	}
	if (cg->pids_timer >= 0) {
		fds[n] = cg->pids_timer;
		events[n++] = EPOLLIN;
	} else if (cg->pids_count >= 0) {
		fds[n] = cg->pids_count;
		events[n++] = EPOLLPRI;
	}
	return n;
}

uint32_t bawn_cgroup_breach(struct bawn_cgroup *cg)
{
	uint64_t count = 0;
	bool woken;

	settle(cg);
	woken = cg->oom_event >= 0 && read(cg->oom_event, &count, sizeof(count)) > 0;
	/* The event comes before the kill that is counted. */
	if (woken || read_counter(cg->oom_count, "oom_kill"))
		cg->breach |= BAWN_CTL_LIMIT_MEMORY;
	if (cg->pids_timer >= 0 && read(cg->pids_timer, &count, sizeof(count)) < 0)
		count = 0;
	if (read_counter(cg->pids_count, "max"))
		cg->breach |= BAWN_CTL_LIMIT_PROCESSES;
	return cg->breach;
}

static uint64_t read_number(int fd)
{
	char text[32];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return strtoull(text, NULL, 10);
}

static uint64_t read_u64(int dir, const char *file)
{
	_cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);

	return read_number(fd);
}

void bawn_cgroup_usage(struct bawn_cgroup *cg, uint64_t *ret_cpu_us, uint64_t *ret_memory_peak)
{
	*ret_cpu_us = 0;
	*ret_memory_peak = 0;
	for (size_t i = 0; i < cg->n; i++) {
		const struct group *g = &cg->g[i];
		_cleanup_close_ int stat =
			g->v2 ? openat(g->dir, "cpu.stat", O_RDONLY | O_CLOEXEC) : -1;

		if (stat >= 0)
			*ret_cpu_us = read_counter(stat, "usage_usec");
		if (g->acct)
			*ret_cpu_us = read_u64(g->dir, "cpuacct.usage") / 1000;
	}
	settle(cg);
	*ret_memory_peak = read_number(cg->peak);
}

struct bawn_cgroup *bawn_cgroup_free(struct bawn_cgroup *cg)
{
	struct bawn_group_ref refs[BAWN_GROUPS_MAX];

	if (!cg)
		return NULL;
	const int fds[] = {cg->oom_event, cg->oom_count, cg->pids_count, cg->pids_timer, cg->peak};
	if (cg->n)
		(void)bawn_groups_clear(refs, refs_of(cg, refs), FREE_MS);
	bawn_janitor_dismiss(&cg->janitor);
	for (size_t i = 0; i < cg->n; i++)
		close_group(&cg->g[i]);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	free(cg);
	return NULL;
}

/* Make a group in one hierarchy and see whether the files of the limits are in it. */
static uint32_t probe_one(struct bawn_cgroup *cg, struct group *g, int *ret_error)
{
	static const struct {
		uint32_t control;
		const char *file[2];
	} files[] = {
		{BAWN_CTL_LIMIT_MEMORY, {"memory.limit_in_bytes", "memory.max"}},
		{BAWN_CTL_LIMIT_PROCESSES, {"pids.max", "pids.max"}},
		{BAWN_CTL_LIMIT_CPU, {"cpu.cfs_quota_us", "cpu.max"}},
	};
	uint32_t got = 0;
	int r = make_group(cg, g);

	if (r < 0) {
		*ret_error = r;
		return 0;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (g->want & files[i].control &&
			faccessat(g->dir, files[i].file[g->v2], W_OK, AT_EACCESS) == 0)
			got |= files[i].control;
	(void)cg->host->remove(g->parent, cg->name);
	return got;
}

static void describe(char detail[80], const uint32_t got[2])
{
	size_t n = 0;

	detail[0] = '\0';
	for (unsigned v2 = 0; v2 < 2; v2++) {
		if (!got[v2] || n >= 60)
			continue;
		int w = snprintf(detail + n, 80 - n, "%scgroup v%u:%s%s%s", n ? "; " : "", v2 + 1,
			got[v2] & BAWN_CTL_LIMIT_MEMORY ? " memory" : "",
			got[v2] & BAWN_CTL_LIMIT_PROCESSES ? " pids" : "",
			got[v2] & BAWN_CTL_LIMIT_CPU ? " cpu" : "");
		n += w > 0 ? (size_t)w : 0;
	}
}

uint32_t bawn_cgroup_probe_at(const struct bawn_cgroup_host *host, char detail[80], char why[160])
{
	const uint32_t all = BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES | BAWN_CTL_LIMIT_CPU;
	struct bawn_hiers hs = {.n = 0};
	uint32_t got[2] = {0, 0};
	uint64_t random = 0;
	int error = -EACCES;

	detail[0] = why[0] = '\0';
	(void)bawn_hier_find(host, &hs);
	struct bawn_cgroup *cg = cgroup_alloc(host, &random);
	if (!cg || !hs.n) {
		(void)snprintf(
			why, 160, "no control group hierarchy with memory, pids or cpu here");
		free(cg);
		return 0;
	}
	open_parents(cg, &hs, all);
	for (size_t i = 0; i < cg->n; i++) {
		got[cg->g[i].v2] |= probe_one(cg, &cg->g[i], &error);
		close_group(&cg->g[i]);
	}
	free(cg);
	if (!(got[0] | got[1]))
		(void)snprintf(why, 160, "control groups cannot be made below '%.90s': %s",
			hs.v[0].own, strerrordesc_np(-error));
	describe(detail, got);
	return got[0] | got[1];
}

uint32_t bawn_cgroup_probe(char detail[80], char why[160])
{
	return bawn_cgroup_probe_at(&bawn_cgroup_real, detail, why);
}
