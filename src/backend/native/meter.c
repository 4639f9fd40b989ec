/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How often to look follows from how fast things can go: memory is filled at about 4 GB/s, files at
 * no more than that, processes are born at about 20 per millisecond. The next look comes before the
 * room that is left can be used up at such a rate, within 2 and 100 ms.
 *
 * Memory is what is resident and not backed by a file, which costs a second read per process and is
 * done only when the cheap sum, which has the files in it, comes near the limit. Shared memory is
 * not added up per process: what the whole machine has gained since the start bounds it.
 */
#include "backend/native/meter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include "backend/native/proctree.h"
#include "base/io.h"
#include "policy/policy.h"

#define RESERVED_FROM  ((uint64_t)1 << 30)
#define BYTES_PER_MS   ((uint64_t)4 << 20)
#define PROCS_PER_MS   20u
#define NEXT_MIN_MS    2u
#define NEXT_MAX_MS    100u
#define FILES_EVERY_MS 50
#define KILL_MS        10000
#define BURST_MS       100

struct disk {
	int fd;
	uint64_t reserve; /* bytes that must stay */
	uint64_t inodes;  /* inodes that must stay */
};

struct bawn_meter {
	struct bawn_limits limits;
	uint32_t todo;
	struct bawn_proctree tree;
	uint64_t page, tick_us;
	uint64_t shm_start;
	dev_t shm_dev; /* where memfds live */
	const char *
		scratch; /* a place on the private tmpfs, whose pages are memory as well; or NULL */
	struct disk *disks;
	size_t n_disks;
	int64_t files_ms; /* last look at open files */
	uint64_t peak;
	/* processor time: `lost` is that of processes which vanished unaccounted, `base` what our
	 * children had used before */
	uint64_t cpu_us, cpu_sum, cpu_lost, cpu_base;
	int64_t cpu_ms;    /* last look */
	int64_t budget_us; /* below zero: stopped until it has been paid back */
	bool stopped;
};

static uint64_t shm_total(void)
{
	struct sysinfo si = {0};

	return sysinfo(&si) < 0 ? 0 : (uint64_t)si.sharedram * si.mem_unit;
}

static dev_t shm_device(void)
{
	_cleanup_close_ int fd = memfd_create("bawn", MFD_CLOEXEC);
	struct stat st = {0};

	return fd < 0 || fstat(fd, &st) < 0 ? 0 : st.st_dev;
}

/* A disk that is below the reserve at the start keeps half of what it had. */
static void set_reserve(struct disk *d, const struct statvfs *s, uint64_t reserve)
{
	uint64_t avail = (uint64_t)s->f_bavail * s->f_frsize;
	uint64_t hundredth = (uint64_t)s->f_files / 100;

	d->reserve = reserve < avail ? reserve : avail / 2;
	d->inodes = hundredth < s->f_favail ? hundredth : (uint64_t)s->f_favail / 2;
}

static int open_disks(struct bawn_meter *m, const struct bawn_plan *plan)
{
	if (!(m->todo & BAWN_CTL_LIMIT_DISK) || !plan->n_writable)
		return 0;
	m->disks = calloc(plan->n_writable, sizeof(*m->disks));
	if (!m->disks)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_writable; i++) {
		_cleanup_close_ int fd = open(plan->writable[i], O_PATH | O_CLOEXEC);
		struct statvfs s;

		/* What cannot be reached from here cannot be filled from here either. */
		if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == ENOTDIR))
			continue;
		if (fd < 0 || fstatvfs(fd, &s) < 0)
			return -errno;
		set_reserve(&m->disks[m->n_disks], &s, plan->limits.disk_reserve);
		m->disks[m->n_disks++].fd = TAKE_FD(fd);
	}
	return 0;
}

static void count_cpu(struct bawn_meter *m)
{
	struct rusage ru = {0};
	uint64_t sum = 0;

	for (size_t i = 0; i < m->tree.n; i++)
		sum += m->tree.v[i].ticks * m->tick_us;
	(void)getrusage(RUSAGE_CHILDREN, &ru);
	sum += (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
	if (sum < m->cpu_sum)
		m->cpu_lost += m->cpu_sum - sum;
	m->cpu_sum = sum;
	if (sum + m->cpu_lost > m->cpu_us)
		m->cpu_us = sum + m->cpu_lost;
}

BAWN_DEFINE_CLEANUP(struct bawn_meter, meter, bawn_meter_free)

struct bawn_meter *bawn_meter_new(const struct bawn_plan *plan, uint32_t todo, bool whole_proc)
{
	_cleanup_(cleanup_meter_p) struct bawn_meter *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->limits = plan->limits;
	m->todo = todo;
	m->page = (uint64_t)sysconf(_SC_PAGESIZE);
	m->tick_us = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	m->shm_start = shm_total();
	m->shm_dev = shm_device();
	m->cpu_ms = bawn_now_ms();
	for (size_t i = 0; whole_proc && !m->scratch && i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_SCRATCH)
			m->scratch = plan->mounts[i].dst;
	if (bawn_proctree_init(&m->tree, whole_proc) < 0 || open_disks(m, plan) < 0)
		return NULL;
	count_cpu(m);
	m->cpu_base = m->cpu_us;
	return TAKE_PTR(m);
}

struct bawn_meter *bawn_meter_free(struct bawn_meter *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; i < m->tree.n; i++)
		if (m->tree.v[i].stopped)
			(void)bawn_proctree_signal(&m->tree, &m->tree.v[i], SIGCONT);
	bawn_proctree_done(&m->tree);
	for (size_t i = 0; i < m->n_disks; i++)
		(void)close(m->disks[i].fd);
	free(m->disks);
	free(m);
	return NULL;
}

/* rlimits */

static int lower_rlimit(__rlimit_resource_t what, uint64_t value)
{
	struct rlimit old;

	if (getrlimit(what, &old) < 0)
		return -errno;
	if (value > old.rlim_max)
		value = old.rlim_max;
	struct rlimit rl = {.rlim_cur = value, .rlim_max = value};
	return setrlimit(what, &rl) < 0 ? -errno : 0;
}

/* Threads of this user on the whole host, which RLIMIT_NPROC counts where there is no user
 * namespace. */
static uint64_t user_threads(void)
{
	_cleanup_(bawn_proctree_done) struct bawn_proctree t = {
		.proc = opendir("/proc"), .whole = true, .mine = true};
	uint64_t n = 0;

	if (!t.proc || bawn_proctree_scan(&t) < 0)
		return 0;
	for (size_t i = 0; i < t.n; i++)
		n += t.v[i].threads;
	return n;
}

static uint64_t others;
static bool others_counted;

void bawn_meter_count_others(void)
{
	/* root may have any number of them */
	others = geteuid() == 0 ? 0 : user_threads();
	others_counted = true;
}

/* Keep as many processors as the limit needs, of those we may use. */
static int narrow_affinity(uint64_t cpus_milli)
{
	cpu_set_t have;
	cpu_set_t keep;
	uint64_t want = cpus_milli / 1000 + (cpus_milli % 1000 != 0);

	CPU_ZERO(&keep);
	if (sched_getaffinity(0, sizeof(have), &have) < 0)
		return errno == EINVAL ? 0 : -errno; /* more processors than the set holds */
	if (want >= (uint64_t)CPU_COUNT(&have))
		return 0;
	/* Not always the same ones: several runs should not share a processor. */
	size_t first = (size_t)getppid() % CPU_SETSIZE;
	for (size_t i = 0; i < CPU_SETSIZE && (uint64_t)CPU_COUNT(&keep) < (want ? want : 1); i++) {
		size_t cpu = (first + i) % CPU_SETSIZE;

		if (CPU_ISSET(cpu, &have))
			CPU_SET(cpu, &keep);
	}
	return sched_setaffinity(0, sizeof(keep), &keep) < 0 ? -errno : 0;
}

static int rlimit_processes(const struct bawn_plan *plan)
{
	/* not counted for root; of another's the count would be that of the whole host */
	if (plan->tier == BAWN_TIER_CHROOT)
		return 0;
	if (plan->tier == BAWN_TIER_LANDLOCK && !others_counted)
		bawn_meter_count_others();
	/* Some more: our own processes, and the one too many by which the meter sees that it was
	 * hit. */
	return lower_rlimit(RLIMIT_NPROC, plan->limits.processes + others + 8);
}

int bawn_meter_rlimits(const struct bawn_plan *plan, uint32_t todo)
{
	const struct bawn_limits *l = &plan->limits;
	int r = lower_rlimit(RLIMIT_CORE, 0);

	if (r == 0 && l->files != BAWN_UNLIMITED)
		r = lower_rlimit(RLIMIT_NOFILE, l->files);
	if (r == 0)
		r = lower_rlimit(RLIMIT_MEMLOCK, (uint64_t)8 << 20);
	if (r == 0)
		r = lower_rlimit(RLIMIT_SIGPENDING, 16384); /* also bounds timers */
	/* not of every kernel; another one's is not ours to spare */
	if (r == -EPERM && plan->tier == BAWN_TIER_FAR)
		r = 0;
	if (r == 0 && todo & BAWN_CTL_LIMIT_PROCESSES && l->processes < INT32_MAX)
		r = rlimit_processes(plan);
		/* Counts what is reserved, so it must leave room for stacks and arenas never
		 * touched. */
#ifndef BAWN_SANITIZED /* whose shadow memory is far larger */
	/* far above the limit: what comes near it is to be seen and named by the meter, not to fail
	 * in malloc. With more room the meter is sooner by far, and programs that reserve all there
	 * is (sanitizers, some runtimes) would not start. */
	if (r == 0 && todo & BAWN_CTL_LIMIT_MEMORY && l->memory < RESERVED_FROM)
		r = lower_rlimit(RLIMIT_DATA, l->memory * 8);
#endif
	if (r == 0 && todo & BAWN_CTL_LIMIT_CPU && l->cpus_milli != BAWN_UNLIMITED)
		r = narrow_affinity(l->cpus_milli);
	return r;
}

/* memory */

static uint64_t status_value(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? strtoull(p + strlen(key), NULL, 10) * 1024 : 0;
}

/* Bytes of the memfds that a process has open; UINT64_MAX if it does not let us see. */
static uint64_t memfd_bytes(const struct bawn_meter *m, pid_t pid)
{
	char path[32];
	uint64_t sum = 0;

	(void)snprintf(path, sizeof(path), "%d/fd", (int)pid);
	int fd = openat(dirfd(m->tree.proc), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		int e = errno;

		if (fd >= 0)
			(void)close(fd);
		return e == ENOENT || e == ESRCH ? 0 : UINT64_MAX;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
	for (const struct dirent *e; (e = readdir(d));) {
		struct stat st;

		if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
			st.st_dev == m->shm_dev && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_blocks * 512;
	}
	(void)closedir(d);
	return sum;
}

/* Shared memory of the tree, at most what the machine has gained; all of that if we may not see. */
static uint64_t shm_used(const struct bawn_meter *m)
{
	uint64_t now = shm_total();
	uint64_t gained = now > m->shm_start ? now - m->shm_start : 0;
	uint64_t sum = 0;

	if (gained < m->limits.memory / 8)
		return 0;
	for (size_t i = 0; i < m->tree.n && sum < gained; i++) {
		char path[32];
		char text[4096];

		if (m->tree.v[i].state == 'Z')
			continue;
		(void)snprintf(path, sizeof(path), "%d/status", (int)m->tree.v[i].pid);
		if (bawn_read_small(dirfd(m->tree.proc), path, text, sizeof(text)) > 0)
			sum += status_value(text, "\nRssShmem:");
		uint64_t fds = memfd_bytes(m, m->tree.v[i].pid);
		sum = fds > gained ? gained : sum + fds;
	}
	return sum < gained ? sum : gained;
}

static uint64_t anon_pages(const struct bawn_meter *m, const struct bawn_proc *p)
{
	char path[32];
	char text[128];
	char *end = NULL;

	(void)snprintf(path, sizeof(path), "%d/statm", (int)p->pid);
	if (bawn_read_small(dirfd(m->tree.proc), path, text, sizeof(text)) <= 0)
		return 0;
	(void)strtoull(text, &end, 10);
	uint64_t resident = strtoull(end, &end, 10);
	uint64_t shared = strtoull(end, NULL, 10);
	return resident > shared ? resident - shared : 0;
}

static uint64_t scratch_used(const struct bawn_meter *m)
{
	struct statvfs v;

	if (!m->scratch || statvfs(m->scratch, &v) < 0 || v.f_bfree > v.f_blocks)
		return 0;
	return (uint64_t)(v.f_blocks - v.f_bfree) * v.f_bsize;
}

static uint64_t memory_used(const struct bawn_meter *m)
{
	uint64_t pages = 0;
	uint64_t shm = shm_used(m) + scratch_used(m);

	for (size_t i = 0; i < m->tree.n; i++)
		pages += m->tree.v[i].pages;
	if (pages * m->page + shm < m->limits.memory / 2)
		return pages * m->page + shm;
	pages = 0;
	for (size_t i = 0; i < m->tree.n; i++)
		pages += anon_pages(m, &m->tree.v[i]);
	return pages * m->page + shm;
}

static void sooner(uint64_t *next, uint64_t room, uint64_t per_ms)
{
	uint64_t ms = room / per_ms;

	if (ms < *next)
		*next = ms;
}

static bool look_memory(struct bawn_meter *m, uint64_t *next)
{
	uint64_t used = memory_used(m);

	if (used > m->peak)
		m->peak = used;
	if (!(m->todo & BAWN_CTL_LIMIT_MEMORY))
		return false;
	if (used > m->limits.memory)
		return true;
	sooner(next, m->limits.memory - used, BYTES_PER_MS);
	return false;
}

static bool look_processes(const struct bawn_meter *m, uint64_t *next)
{
	uint64_t count = 0;

	if (!(m->todo & BAWN_CTL_LIMIT_PROCESSES))
		return false;
	for (size_t i = 0; i < m->tree.n; i++)
		count += m->tree.v[i].threads;
	if (count > m->limits.processes)
		return true;
	sooner(next, m->limits.processes - count, PROCS_PER_MS);
	return false;
}

/* Since Linux 6.2 the size of /proc/PID/fd is the number of open files, before it was 0. */
static bool look_files(struct bawn_meter *m, int64_t now)
{
	if (!(m->todo & BAWN_CTL_LIMIT_FILES) || now - m->files_ms < FILES_EVERY_MS)
		return false;
	m->files_ms = now;
	for (size_t i = 0; i < m->tree.n; i++) {
		char path[32];
		struct stat st;

		(void)snprintf(path, sizeof(path), "%d/fd", (int)m->tree.v[i].pid);
		if (fstatat(dirfd(m->tree.proc), path, &st, 0) == 0 && st.st_size > 0 &&
			(uint64_t)st.st_size >= m->limits.files)
			return true;
	}
	return false;
}

static bool look_disk(const struct bawn_meter *m, uint64_t *next)
{
	for (size_t i = 0; i < m->n_disks; i++) {
		const struct disk *d = &m->disks[i];
		struct statvfs s;

		if (fstatvfs(d->fd, &s) < 0)
			continue;
		uint64_t avail = (uint64_t)s.f_bavail * s.f_frsize;
		if (avail < d->reserve || (s.f_files && s.f_favail < d->inodes))
			return true;
		/* The reserve itself is there to be fallen short of for one look. */
		sooner(next, avail - d->reserve / 2, BYTES_PER_MS);
	}
	return false;
}

/* processor time */

/* Only those are woken that we stopped: a process may have stopped itself. */
static void stop_or_go(struct bawn_meter *m)
{
	for (size_t i = 0; i < m->tree.n; i++) {
		struct bawn_proc *p = &m->tree.v[i];

		if (m->stopped && !p->stopped && !strchr("TtZX", p->state))
			p->stopped = bawn_proctree_signal(&m->tree, p, SIGSTOP) == 0;
		else if (!m->stopped && p->stopped) {
			(void)bawn_proctree_signal(&m->tree, p, SIGCONT);
			p->stopped = false;
		}
	}
}

static void throttle(struct bawn_meter *m, int64_t now, uint64_t used_us, uint64_t *next)
{
	uint64_t milli = m->limits.cpus_milli;

	if (!(m->todo & BAWN_CTL_LIMIT_CPU) || milli == BAWN_UNLIMITED || milli > 1000000)
		return;
	int64_t rate = milli ? (int64_t)milli : 1; /* µs of processor per ms */
	int64_t most = BURST_MS * rate;

	m->budget_us += (now - m->cpu_ms) * rate - (int64_t)used_us;
	if (m->budget_us > most)
		m->budget_us = most;
	m->stopped = m->stopped ? m->budget_us < most / 4 : m->budget_us < 0;
	stop_or_go(m);
	/* Stopped: until it is paid back. Running: on ceil(cpus) processors, but newcomers count.
	 */
	int64_t ms = m->stopped ? (most / 4 - m->budget_us) / rate
				: m->budget_us / (rate > 1000 ? rate : 1000);
	uint64_t wait = ms < 5 ? 5 : (uint64_t)ms;
	if (wait > BURST_MS / 2)
		wait = BURST_MS / 2;
	if (wait < *next)
		*next = wait;
}

uint32_t bawn_meter_look(struct bawn_meter *m, int *ret_next_ms)
{
	int64_t now = bawn_now_ms();
	uint64_t next = NEXT_MAX_MS;
	uint64_t before = m->cpu_us;
	uint32_t hit = 0;

	int r = bawn_proctree_scan(&m->tree);
	count_cpu(m);
	if (look_memory(m, &next))
		hit = BAWN_CTL_LIMIT_MEMORY;
	else if (r < 0 || look_processes(m, &next)) /* more than we can count */
		hit = BAWN_CTL_LIMIT_PROCESSES;
	else if (look_files(m, now))
		hit = BAWN_CTL_LIMIT_FILES;
	else if (look_disk(m, &next))
		hit = BAWN_CTL_LIMIT_DISK;
	throttle(m, now, m->cpu_us - before, &next);
	m->cpu_ms = now;
	/* Never more than a third of a processor for looking. */
	uint64_t cost = (uint64_t)(bawn_now_ms() - now) * 2;
	uint64_t least = cost > NEXT_MIN_MS ? cost : NEXT_MIN_MS;
	*ret_next_ms = (int)(next < least ? least : next);
	return hit;
}

void bawn_meter_kill_all(struct bawn_meter *m)
{
	count_cpu(m);
	(void)bawn_proctree_kill(&m->tree, KILL_MS);
	count_cpu(m);
}

void bawn_meter_usage(const struct bawn_meter *m, uint64_t *ret_cpu_us, uint64_t *ret_peak)
{
	*ret_cpu_us = m->cpu_us - m->cpu_base;
	*ret_peak = m->peak;
}
