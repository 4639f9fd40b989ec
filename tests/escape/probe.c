/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The escape suite's hands: `escape-probe WHAT ARG…` tries one forbidden thing with raw system
 * calls and says what the kernel answered. The same call is made outside and inside the sandbox;
 * run.py compares. Everything that uses up a resource is bounded, so that a missing wall costs a
 * test and not the machine.
 */

#include "probe.h"

#include <fcntl.h>
#include <limits.h>
#include <time.h>

#include <sys/wait.h>

static const struct probe *const tables[] = {
	probes_fs, probes_proc, probes_sys, probes_net, probes_bomb, probes_race};

long probe_num(const char *s)
{
	char *end = NULL;
	long v = 0;

	errno = 0;
	v = strtol(s, &end, 0);
	if (errno || !end || *end || end == s) {
		(void)fprintf(stderr, "escape-probe: '%s' is not a number\n", s);
		_exit(2);
	}
	return v;
}

long probe_word(const struct probe_word *w, const char *name)
{
	for (; w->name; w++)
		if (!strcmp(w->name, name))
			return w->value;
	(void)fprintf(stderr, "escape-probe: '%s' is unknown here\n", name);
	_exit(2);
}

void probe_nap(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

long probe_cat(int fd)
{
	char buf[4096];
	ssize_t n = 0;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(STDOUT_FILENO, buf, (size_t)n) != n)
			return -EIO;
	return rc(n);
}

long probe_forked(probe_fn *fn, char **arg)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		long r = fn(arg);

		_exit(r < 0 ? (int)-r : 0);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	if (WIFSIGNALED(status)) {
		(void)printf("killed %d\n", WTERMSIG(status));
		return -EINTR;
	}
	return -WEXITSTATUS(status);
}

static const struct probe *find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct probe *p = tables[i]; p->name; p++)
			if (!strcmp(p->name, name))
				return p;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct probe *p = argc > 1 ? find(argv[1]) : NULL;
	const char *name = NULL;
	long r = 0;

	if (!p || argc - 2 < p->args) {
		(void)fprintf(stderr, "usage: escape-probe WHAT ARG...\n");
		return 2;
	}
	r = p->fn(argv + 2);
	if (r >= 0) {
		(void)printf("ok\n");
		return fflush(stdout) ? 1 : 0;
	}
	name = strerrorname_np((int)-r);
	(void)printf("errno %s\n", name ? name : "?");
	(void)fflush(stdout);
	return 1;
}
