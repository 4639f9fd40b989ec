/* SPDX-License-Identifier: Apache-2.0 */
/* Using things up: processes, memory, descriptors, disk, time, output. Every loop has an end. */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "probe.h"

#define MIB ((size_t)1 << 20)

/* N: so many sleeping children at once; all are ended again. */
static long do_forks(char **a)
{
	long n = probe_num(a[0]);
	pid_t *pids = calloc((size_t)n, sizeof(*pids));
	long made = 0, r = 0;

	if (!pids)
		return -ENOMEM;
	for (; made < n; made++) {
		pids[made] = fork();
		if (pids[made] < 0) {
			r = -errno;
			break;
		}
		if (!pids[made]) {
			probe_nap(20000);
			_exit(0);
		}
	}
	for (long i = 0; i < made; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	(void)printf("made %ld\n", made);
	free(pids);
	return r;
}

static void *idle(void *unused)
{
	(void)unused;
	probe_nap(20000);
	return NULL;
}

static long do_threads(char **a)
{
	long n = probe_num(a[0]);
	pthread_attr_t at;
	pthread_t th;

	(void)pthread_attr_init(&at);
	(void)pthread_attr_setstacksize(&at, 65536);
	for (long i = 0; i < n; i++) {
		int r = pthread_create(&th, &at, idle, NULL);

		if (r) {
			(void)printf("made %ld\n", i);
			return -r;
		}
	}
	return 0;
}

static long touch(char *p, size_t len)
{
	if (p == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < len; i += 4096)
		p[i] = 1;
	probe_nap(1000);
	return 0;
}

static char *anon(size_t len, int flags)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/* Bit by bit: a limit that looks at the tree from time to time must see it as well. */
static long do_memory(char **a)
{
	long n = probe_num(a[0]);

	for (long i = 0; i < n; i++) {
		char *p = anon(MIB, 0);

		if (p == MAP_FAILED)
			return -errno;
		for (size_t k = 0; k < MIB; k += 4096)
			p[k] = 1;
	}
	probe_nap(1000);
	return 0;
}

static long do_mlock(char **a)
{
	size_t len = (size_t)probe_num(a[0]) * MIB;
	char *p = anon(len, 0);

	if (p == MAP_FAILED || mlock(p, len))
		return -errno;
	return touch(p, len);
}

static long fill(int fd, long mib)
{
	static char block[1 << 20];

	for (long i = 0; i < mib; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return errno ? -errno : -ENOSPC;
	probe_nap(1000);
	return 0;
}

static long do_memfd(char **a)
{
	int fd = memfd_create("fill", MFD_CLOEXEC);

	return fd < 0 ? -errno : fill(fd, probe_num(a[0]));
}

/* Many processes, each small: only a limit on the whole tree sees it. */
static long do_memory_tree(char **a)
{
	long n = probe_num(a[0]);
	long bad = 0;

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (!pid) {
			long r = touch(anon(16 * MIB, 0), 16 * MIB);

			probe_nap(3000);
			_exit(r ? 1 : 0);
		}
	}
	for (long i = 0; i < n; i++) {
		int st = 0;

		if (wait(&st) < 0 || st)
			bad++;
	}
	return bad ? -ENOMEM : 0;
}

static long do_shm_fill(char **a)
{
	size_t len = (size_t)probe_num(a[0]) * MIB;
	int id = shmget(IPC_PRIVATE, len, IPC_CREAT | 0600);
	char *p = NULL;

	if (id < 0)
		return -errno;
	p = shmat(id, NULL, 0);
	(void)shmctl(id, IPC_RMID, NULL);
	return (intptr_t)p == -1 ? -errno : touch(p, len);
}

/* FILE MIB */
static long do_fill(char **a)
{
	int fd = open(a[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	long r = 0;

	if (fd < 0)
		return -errno;
	r = fill(fd, probe_num(a[1]));
	(void)close(fd);
	(void)unlink(a[0]);
	return r;
}

/* DIR N: so many empty directories and files; removed again. */
static long do_inodes(char **a)
{
	long n = probe_num(a[1]), made = 0, r = 0;
	char path[4096];

	for (; made < n; made++) {
		int fd = -1;

		(void)snprintf(path, sizeof(path), "%s/.inode-%d-%ld", a[0], (int)getpid(), made);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0) {
			r = -errno;
			break;
		}
		(void)close(fd);
	}
	(void)printf("made %ld\n", made);
	for (long i = 0; i < made; i++) {
		(void)snprintf(path, sizeof(path), "%s/.inode-%d-%ld", a[0], (int)getpid(), i);
		(void)unlink(path);
	}
	return r;
}

/* KIND N: descriptors, kept open; no kind may pass the limit on open files. */
static long do_fds(char **a)
{
	long n = probe_num(a[1]);

	for (long i = 0; i < n; i++) {
		int fd = -1;

		if (!strcmp(a[0], "epoll"))
			fd = epoll_create1(EPOLL_CLOEXEC);
		else if (!strcmp(a[0], "timer"))
			fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		else if (!strcmp(a[0], "inotify"))
			fd = inotify_init1(IN_CLOEXEC);
		else
			fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			long r = -errno;

			(void)printf("made %ld\n", i);
			return r;
		}
	}
	return 0;
}

/* SECONDS of full load, deaf to whatever can be ignored. */
static long do_burn(char **a)
{
	time_t end = time(NULL) + probe_num(a[0]);
	volatile unsigned x = 0;

	(void)signal(SIGXCPU, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGALRM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	while (time(NULL) < end)
		for (int i = 0; i < 100000; i++)
			x = x + 1;
	return 0;
}

static long do_sleep(char **a)
{
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGALRM, SIG_IGN);
	probe_nap(probe_num(a[0]) * 1000);
	return 0;
}

/* KIB LINES: to standard output; with 0 lines all of it is one line. */
static long do_spew(char **a)
{
	long n = probe_num(a[0]);
	char block[1024];

	memset(block, 'x', sizeof(block));
	if (probe_num(a[1]))
		block[sizeof(block) - 1] = '\n';
	for (long i = 0; i < n; i++)
		if (write(STDOUT_FILENO, block, sizeof(block)) < 0)
			return -errno;
	return 0;
}

const struct probe probes_bomb[] = {
	{"forks", 1, do_forks},
	{"threads", 1, do_threads},
	{"memory", 1, do_memory},
	{"memory-tree", 1, do_memory_tree},
	{"mlock", 1, do_mlock},
	{"memfd", 1, do_memfd},
	{"shm-fill", 1, do_shm_fill},
	{"fill", 2, do_fill},
	{"inodes", 2, do_inodes},
	{"fds", 2, do_fds},
	{"burn", 1, do_burn},
	{"sleep", 1, do_sleep},
	{"spew", 2, do_spew},
	{0},
};
