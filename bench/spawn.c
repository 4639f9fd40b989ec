/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times commands side by side: runs each once per round, in turn, so that whatever else the
 * machine does falls on all of them alike. posix_spawn and wait4 here and not in Python, whose
 * own cost per child would be larger than what is measured.
 *
 * usage: spawn ROUNDS SECONDS ::: COMMAND... [::: COMMAND...]...
 * Prints one line per command: median and 90th percentile in microseconds, the number of runs
 * that did not exit with 0, the largest resident set in KiB. Stops after SECONDS.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/resource.h>
#include <sys/wait.h>

#define COMMANDS_MAX 32

struct command {
	char **argv;
	double *us;
	size_t runs;
	size_t failed;
	long rss_kib;
};

static double now_us(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static int run_once(struct command *c, const posix_spawn_file_actions_t *actions)
{
	struct rusage use = {0};
	double start = now_us();
	int status = 0;
	pid_t pid;
	int r;

	r = posix_spawn(&pid, c->argv[0], actions, NULL, c->argv, environ);
	if (r != 0) {
		(void)fprintf(
			stderr, "spawn: cannot start '%s': %s\n", c->argv[0], strerrordesc_np(r));
		return -r;
	}
	while (wait4(pid, &status, 0, &use) < 0)
		if (errno != EINTR)
			return -errno;
	c->us[c->runs++] = now_us() - start;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		c->failed++;
	if (use.ru_maxrss > c->rss_kib)
		c->rss_kib = use.ru_maxrss;
	return 0;
}

/* Cuts ARGV at each ":::"; returns how many commands there are. */
static size_t split(char *argv[], struct command *commands, size_t rounds)
{
	size_t n = 0;

	for (; *argv; argv++) {
		if (strcmp(*argv, ":::") != 0)
			continue;
		*argv = NULL;
		if (!argv[1] || n == COMMANDS_MAX)
			return 0;
		commands[n].argv = argv + 1;
		commands[n].us = calloc(rounds, sizeof(double));
		if (!commands[n++].us)
			return 0;
	}
	return n;
}

static void print(struct command *c)
{
	qsort(c->us, c->runs, sizeof(double), compare);
	(void)printf("%.1f %.1f %zu %zu %ld\n", c->us[c->runs / 2], c->us[c->runs * 9 / 10],
		c->failed, c->runs, c->rss_kib);
}

int main(int argc, char *argv[])
{
	size_t rounds = argc > 4 ? strtoul(argv[1], NULL, 10) : 0;
	double limit_us = argc > 4 ? strtod(argv[2], NULL) * 1e6 : 0;
	struct command commands[COMMANDS_MAX] = {0};
	posix_spawn_file_actions_t actions;
	double start = now_us();
	size_t n;

	n = rounds > 0 && rounds < 1000000 ? split(argv + 3, commands, rounds) : 0;
	if (n == 0) {
		(void)fprintf(
			stderr, "usage: spawn ROUNDS SECONDS ::: COMMAND... [::: COMMAND...]...\n");
		return 2;
	}
	if (posix_spawn_file_actions_init(&actions) != 0 ||
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0)
		return 1;
	for (size_t round = 0; round < rounds; round++) {
		if (round > 0 && now_us() - start > limit_us)
			break;
		for (size_t i = 0; i < n; i++)
			if (run_once(&commands[i], &actions) < 0)
				return 1;
	}
	for (size_t i = 0; i < n; i++) {
		print(&commands[i]);
		free(commands[i].us);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return 0;
}
