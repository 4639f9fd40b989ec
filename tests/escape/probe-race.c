/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races against whoever checks a path before it is used: a second thread changes the path in
 * memory, or a directory on disk, while the first makes the call over and over.
 */

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <sys/stat.h>

#include "probe.h"

static atomic_bool over;
static char shared_path[4096];
static char *const *flip_args;

static void *flip_memory(void *unused)
{
	(void)unused;
	while (!over) {
		memcpy(shared_path, flip_args[0], strlen(flip_args[0]) + 1);
		memcpy(shared_path, flip_args[1], strlen(flip_args[1]) + 1);
	}
	return NULL;
}

static void *flip_link(void *unused)
{
	char tmp[4096];

	(void)unused;
	(void)snprintf(tmp, sizeof(tmp), "%s.new", flip_args[0]);
	for (unsigned i = 0; !over; i++) {
		(void)unlink(tmp);
		if (!symlink(flip_args[1 + i % 2], tmp))
			(void)rename(tmp, flip_args[0]);
	}
	return NULL;
}

static long race(void *(*other)(void *), const char *path, const char *bad, long rounds)
{
	pthread_t th;
	struct stat st;
	long hit = 0;

	if (pthread_create(&th, NULL, other, NULL))
		return -EAGAIN;
	for (long i = 0; i < rounds && !hit; i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (fd >= 0)
			(void)close(fd);
		if (i % 3 == 0)
			(void)mkdir(path, 0755);
		hit = !lstat(bad, &st);
		if (!hit && i % 64 == 63)
			(void)remove(path);
	}
	over = true;
	(void)pthread_join(th, NULL);
	return hit ? 0 : -EACCES;
}

/* GOOD BAD ROUNDS: the path in memory flips between both; ok if BAD came into being. */
static long do_race_memory(char **a)
{
	flip_args = a;
	memcpy(shared_path, a[0], strlen(a[0]) + 1);
	return race(flip_memory, shared_path, a[1], probe_num(a[2]));
}

/* LINK DIR1 DIR2 NAME ROUNDS: LINK flips between both; ok if DIR2/NAME came into being. */
static long do_race_link(char **a)
{
	char bad[4096];

	flip_args = a;
	(void)snprintf(shared_path, sizeof(shared_path), "%s/%s", a[0], a[3]);
	(void)snprintf(bad, sizeof(bad), "%s/%s", a[2], a[3]);
	return race(flip_link, shared_path, bad, probe_num(a[4]));
}

/* DIR LINKTARGET MS: swap directory DIR and a symlink to LINKTARGET until time is up. */
static long do_swap(char **a)
{
	char other[4096];
	long ms = probe_num(a[2]);

	(void)snprintf(other, sizeof(other), "%s.swap", a[0]);
	(void)unlink(other);
	if (symlink(a[1], other))
		return -errno;
	for (long t = 0; t < ms; t++) {
		for (int i = 0; i < 64; i++)
			(void)renameat2(AT_FDCWD, a[0], AT_FDCWD, other, RENAME_EXCHANGE);
		probe_nap(1);
	}
	return 0;
}

const struct probe probes_race[] = {
	{"race-memory", 3, do_race_memory},
	{"race-link", 5, do_race_link},
	{"swap", 3, do_swap},
	{0},
};
