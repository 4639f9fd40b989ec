/* SPDX-License-Identifier: Apache-2.0 */
/* door-start N: start the egress proxy N times; prints the median and the ninth decile of the
 * microseconds from starting it until it is confined and accepts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "egress/control.h"

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int once(double *ret, struct bawn_error *err)
{
	static const char *const allow[] = {"*.example.org", "api.example.com:443", NULL};
	const struct bawn_egress_source src = {.mode = BAWN_EGRESS_ALLOWLIST,
		.allow = allow,
		.ssrf = true,
		.block_private = true,
		.host_bytes = UINT64_MAX};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct bawn_egress *e = NULL;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	double begun;
	int r;

	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 16) < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "listen: %m");
	begun = now_us();
	r = bawn_egress_spawn(&src, NULL, &e, err);
	if (r >= 0)
		r = bawn_egress_listen(e, "proxy", 0, fd, err);
	if (r >= 0)
		r = bawn_egress_go(e, err);
	*ret = now_us() - begun;
	(void)bawn_egress_free(e);
	(void)close(fd);
	return r;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double *us = n ? calloc(n, sizeof(*us)) : NULL;
	struct bawn_error err = {0};

	for (size_t i = 0; us && i < n; i++)
		if (once(&us[i], &err) < 0) {
			(void)fprintf(stderr, "door-start: %s\n", err.msg);
			return 1;
		}
	if (!us)
		return 2;
	qsort(us, n, sizeof(*us), by_size);
	(void)printf("%.0f %.0f\n", us[n / 2], us[n * 9 / 10]);
	free(us);
	return 0;
}
