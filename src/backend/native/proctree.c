/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One open and one read per process, into memory that is kept between looks. Inside a pid namespace
 * everything in /proc is ours; elsewhere only what descends from us, and because ids are reused no
 * signal is sent there but through a descriptor whose process was identified again.
 */
#include "backend/native/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/io.h"

#define PROCS_MAX ((size_t)1 << 20)

enum {
	UNKNOWN,
	OURS,
	FOREIGN,
};

int bawn_proctree_init(struct bawn_proctree *t, bool whole)
{
	char self[16];

	*t = (struct bawn_proctree){.whole = whole, .self = getpid()};
	/* Outside a pid namespace of our own, "everything" would be the user's whole session. */
	if (whole && t->self != 1)
		return -EINVAL;
	/* Orphans must come to us, or they would be lost from sight. */
	if (!whole && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -errno;
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* It must be that of our own namespace, or the ids in it mean others. */
	char text[16] = "";
	(void)snprintf(self, sizeof(self), "%d", (int)t->self);
	if (readlinkat(fd, "self", text, sizeof(text) - 1) < 0 || strcmp(text, self) != 0) {
		(void)close(fd);
		return -ENOTSUP;
	}
	t->proc = fdopendir(fd);
	if (!t->proc) {
		(void)close(fd);
		return -ENOMEM;
	}
	return 0;
}

void bawn_proctree_done(struct bawn_proctree *t)
{
	if (t->proc)
		(void)closedir(t->proc);
	free(t->v);
	*t = (struct bawn_proctree){.proc = NULL};
}

/* The fields of /proc/PID/stat behind the name, which may hold anything and ends at the last ')'.
 */
static bool parse_stat(const char *text, struct bawn_proc *p)
{
	const char *s = strrchr(text, ')');
	uint64_t f[25] = {0};

	if (!s || s[1] != ' ' || !s[2])
		return false;
	p->state = s[2];
	s += 3;
	for (size_t i = 4; i < 25; i++) {
		char *end = NULL;

		f[i] = (uint64_t)strtoll(s, &end, 10);
		if (end == s)
			return false;
		s = end;
	}
	p->ppid = (pid_t)f[4];
	p->ticks = f[14] + f[15] + f[16] + f[17];
	p->threads = f[20] ? f[20] : 1;
	p->start = f[22];
	p->pages = f[24];
	return true;
}

static int read_proc(const struct bawn_proctree *t, pid_t pid, struct bawn_proc *ret)
{
	char path[32];
	char text[1024];

	(void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
	int r = bawn_read_small(dirfd(t->proc), path, text, sizeof(text));
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	*ret = (struct bawn_proc){.pid = pid};
	return parse_stat(text, ret) ? 0 : -ESRCH;
}

static struct bawn_proc *find(struct bawn_proc *v, size_t n, pid_t pid)
{
	size_t lo = 0;

	while (lo < n) {
		size_t mid = lo + (n - lo) / 2;

		if (v[mid].pid == pid)
			return &v[mid];
		if (v[mid].pid < pid)
			lo = mid + 1;
		else
			n = mid;
	}
	return NULL;
}

/* Climb until somebody is known, then tell everybody on the way. */
static void resolve(struct bawn_proctree *t, struct bawn_proc *p)
{
	uint8_t verdict = UNKNOWN;
	size_t steps = 0;

	for (struct bawn_proc *q = p; verdict == UNKNOWN; steps++) {
		if (q->ours != UNKNOWN)
			verdict = q->ours;
		else if (q->ppid == t->self)
			verdict = OURS;
		else if (q->ppid <= 1 || steps > t->n)
			verdict = FOREIGN;
		else {
			q = find(t->v, t->n, q->ppid);
			if (!q)
				verdict = FOREIGN;
		}
	}
	for (struct bawn_proc *q = p; q && q->ours == UNKNOWN; q = find(t->v, t->n, q->ppid))
		q->ours = verdict;
}

static void keep_ours(struct bawn_proctree *t)
{
	size_t n = 0;

	if (t->whole)
		return;
	for (size_t i = 0; i < t->n; i++)
		resolve(t, &t->v[i]);
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].ours == OURS)
			t->v[n++] = t->v[i];
	t->n = n;
}

static int add(struct bawn_proctree *t, const struct bawn_proc *p)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 256;
		struct bawn_proc *v = cap > PROCS_MAX ? NULL : realloc(t->v, cap * sizeof(*t->v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = *p;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct bawn_proc *x = a;
	const struct bawn_proc *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Entries of `old` that we stopped and that are still the same processes. */
static void carry_stopped(struct bawn_proctree *t, struct bawn_proc *old, size_t n_old)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct bawn_proc *o = find(old, n_old, t->v[i].pid);

		t->v[i].stopped = o && o->stopped && o->start == t->v[i].start;
	}
}

/* Told by a look at the directory, which costs a fraction of reading what is in it. */
static bool is_wanted(const struct bawn_proctree *t, const char *name)
{
	struct stat st;

	return !t->mine || (fstatat(dirfd(t->proc), name, &st, 0) == 0 && st.st_uid == getuid());
}

int bawn_proctree_scan(struct bawn_proctree *t)
{
	_cleanup_free_ struct bawn_proc *old = NULL;
	size_t n_old = 0;
	bool sorted = true;
	int r = 0;

	for (size_t i = 0; i < t->n; i++)
		n_old += t->v[i].stopped;
	if (n_old) {
		old = malloc(t->n * sizeof(*old));
		n_old = old ? t->n : 0;
		for (size_t i = 0; i < n_old; i++)
			old[i] = t->v[i];
	}
	t->n = 0;
	rewinddir(t->proc);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
	for (const struct dirent *e; r == 0 && (e = readdir(t->proc));) {
		struct bawn_proc p;
		char *end = NULL;
		long pid = strtol(e->d_name, &end, 10);

		if (*end || pid <= 0 || pid == t->self || !is_wanted(t, e->d_name) ||
			read_proc(t, (pid_t)pid, &p) < 0)
			continue;
		sorted = sorted && (!t->n || t->v[t->n - 1].pid < p.pid);
		r = add(t, &p);
	}
	if (!sorted)
		qsort(t->v, t->n, sizeof(*t->v), by_pid);
	keep_ours(t);
	if (n_old)
		carry_stopped(t, old, n_old);
	return r;
}

int bawn_proctree_signal(const struct bawn_proctree *t, const struct bawn_proc *p, int signo)
{
	struct bawn_proc now;

	if (t->whole)
		return kill(p->pid, signo) < 0 ? -errno : 0;
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (fd < 0)
		return -errno;
	int r = read_proc(t, p->pid, &now);
	if (r < 0)
		return r;
	if (now.start != p->start)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0) < 0 ? -errno : 0;
}

static bool reap_all(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid < 0; /* no child is left */
}

static size_t count_live(const struct bawn_proctree *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->v[i].state != 'Z' && t->v[i].state != 'X';
	return n;
}

/* Stop them until a scan finds nobody running: what is stopped does not fork. */
static void stop_all(struct bawn_proctree *t, int64_t end)
{
	size_t running;

	do {
		running = 0;
		(void)bawn_proctree_scan(t);
		for (size_t i = 0; i < t->n; i++)
			if (!strchr("TtZX", t->v[i].state) &&
				bawn_proctree_signal(t, &t->v[i], SIGSTOP) == 0)
				running++;
	} while (running && bawn_now_ms() < end);
}

static void kill_round(struct bawn_proctree *t, int64_t end)
{
	if (t->whole && getpid() == 1) {
		(void)kill(-1, SIGKILL);
		return;
	}
	/* Who stands in the kernel may take a while to stop; the killing must not wait for it. */
	int64_t soon = bawn_now_ms() + 100;

	stop_all(t, soon < end ? soon : end);
	for (size_t i = 0; i < t->n; i++)
		(void)bawn_proctree_signal(t, &t->v[i], SIGKILL);
}

size_t bawn_proctree_kill(struct bawn_proctree *t, int ms)
{
	int64_t end = bawn_now_ms() + ms;
	size_t clean = 0;

	for (;;) {
		kill_round(t, end);
		bool alone = reap_all();

		(void)bawn_proctree_scan(t);
		size_t left = count_live(t);
		/* A process whose parent died during the scan can be missed once. */
		clean = left ? 0 : clean + 1;
		if (alone || clean >= 3 || bawn_now_ms() >= end)
			return left;
		struct timespec ts = {.tv_nsec = 1000000};
		(void)nanosleep(&ts, NULL);
	}
}
