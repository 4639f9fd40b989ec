/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operation on a file costs, run once inside and once outside.
 *
 * usage: files COUNT
 * Works in the current directory. Prints microseconds per: create+close+unlink, mkdir+rmdir,
 * open+close of an existing file for reading, stat.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

static double now_us(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int create(void)
{
	int fd = open("made.tmp", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	return fd < 0 || close(fd) < 0 ? -1 : unlink("made.tmp");
}

static int directory(void)
{
	return mkdir("made.dir", 0755) < 0 ? -1 : rmdir("made.dir");
}

static int read_open(void)
{
	int fd = open("existing", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : close(fd);
}

static int look(void)
{
	struct stat st;

	return stat("existing", &st);
}

int main(int argc, char *argv[])
{
	static int (*const operations[])(void) = {create, directory, read_open, look};
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	int fd = open("existing", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (!count || fd < 0 || close(fd) < 0) {
		(void)fprintf(stderr, "usage: files COUNT, in a writable directory\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		double start = now_us();

		for (unsigned long k = 0; k < count; k++)
			if (operations[i]() < 0) {
				perror("files");
				return 1;
			}
		(void)printf("%.3f ", (now_us() - start) / (double)count);
	}
	(void)printf("\n");
	return 0;
}
