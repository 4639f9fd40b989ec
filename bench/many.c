/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one command many times, a number of them at once, and says how many ended per second.
 * In C for the same reason as spawn.c.
 *
 * usage: many TOTAL AT_ONCE COMMAND...
 * Prints runs per second and the number of runs that did not exit with 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/wait.h>

static double now_s(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int start(char *argv[], const posix_spawn_file_actions_t *actions)
{
	pid_t pid;
	int r = posix_spawn(&pid, argv[0], actions, NULL, argv, environ);

	if (r != 0)
		(void)fprintf(stderr, "many: cannot start '%s': %s\n", argv[0], strerrordesc_np(r));
	return -r;
}

/* Waits for any one; 1 if it failed. */
static int end_one(void)
{
	int status = 0;

	while (waitpid(-1, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char *argv[])
{
	unsigned long total = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long at_once = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long started = 0, ended = 0, failed = 0;
	posix_spawn_file_actions_t actions;
	double begin = now_s();

	if (!total || !at_once) {
		(void)fprintf(stderr, "usage: many TOTAL AT_ONCE COMMAND...\n");
		return 2;
	}
	if (posix_spawn_file_actions_init(&actions) != 0 ||
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0)
		return 1;
	while (ended < total) {
		int r;

		if (started < total && started - ended < at_once) {
			if (start(argv + 3, &actions) < 0)
				return 1;
			started++;
			continue;
		}
		r = end_one();
		if (r < 0)
			return 1;
		failed += (unsigned long)r;
		ended++;
	}
	(void)printf("%.2f %lu\n", (double)total / (now_s() - begin), failed);
	(void)posix_spawn_file_actions_destroy(&actions);
	return 0;
}
