/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses the library for many runs, one after another, and looks at what it has
 * become: resident memory and open descriptors after a tenth of the runs and at the end.
 *
 * usage: loop RUNS
 * Prints: failed runs, KiB early, KiB late, descriptors early, descriptors late, runs per second.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bawn/bawn.h"

struct look {
	long rss_kib;
	int descriptors;
};

static double now_s(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct look look(void)
{
	struct look l = {.rss_kib = -1};
	FILE *f = fopen("/proc/self/statm", "re");
	DIR *d = opendir("/proc/self/fd");
	char line[128];

	/* the second number, in pages */
	if (f && fgets(line, sizeof(line), f) && strchr(line, ' '))
		l.rss_kib = strtol(strchr(line, ' '), NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
	while (d && readdir(d)) /* NOLINT(concurrency-mt-unsafe): no threads */
		l.descriptors++;
	if (f)
		(void)fclose(f);
	if (d)
		(void)closedir(d);
	return l;
}

int main(int argc, char *argv[])
{
	static const char *const command[] = {"/bin/true", NULL};
	struct bawn_options o = {.size = sizeof(o), .argv = command};
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct look early = {0}, late;
	unsigned long failed = 0;
	double begin = now_s();

	if (runs < 10) {
		(void)fprintf(stderr, "usage: loop RUNS (at least 10)\n");
		return 2;
	}
	for (unsigned long i = 0; i < runs; i++) {
		struct bawn_report *report = NULL;

		if (bawn_run(&o, &report) < 0 || bawn_report_exit(report) != 0)
			failed++;
		bawn_report_free(report);
		if (i == runs / 10)
			early = look();
	}
	late = look();
	(void)printf("%lu %ld %ld %d %d %.2f\n", failed, early.rss_kib, late.rss_kib,
		early.descriptors, late.descriptors, (double)runs / (now_s() - begin));
	return 0;
}
