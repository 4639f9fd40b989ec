/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What netload.c and tlsload.c share. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define EVENTS   256
#define SAMPLES  (1 << 20)
#define BODY_LEN 128

static inline uint64_t now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline void fail(const char *what)
{
	(void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerrorname_np(errno));
	exit(1); /* NOLINT(concurrency-mt-unsafe): one thread */
}

static inline struct sockaddr_in address(const char *host, const char *port, int add)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)(strtol(port, NULL, 10) + add))};

	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		fail(host);
	return a;
}

/* On its way to being connected. */
static inline int dial_async(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0 && errno != EINPROGRESS)
		fail("connect");
	return fd;
}

static inline void watch_fd(int ep, int fd, void *what_for, uint32_t what)
{
	struct epoll_event ev = {.events = what, .data.ptr = what_for};

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0 && epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev) < 0)
		fail("epoll_ctl");
}

/* A head and a body of BODY_LEN bytes; returns its length. */
static inline int make_answer(char *p, size_t size)
{
	int n = snprintf(p, size,
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n",
		BODY_LEN);

	memset(p + n, 'x', BODY_LEN);
	return n + BODY_LEN;
}

static inline int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* "requests/s median-us p99-us failed" */
static inline void print_load(uint32_t *us, uint64_t done, uint64_t failed, uint64_t begun)
{
	size_t n = done < SAMPLES ? (size_t)done : SAMPLES;

	if (!n)
		fail("no answer");
	qsort(us, n, sizeof(uint32_t), by_size);
	(void)printf("%.0f %u %u %llu\n", (double)done * 1e6 / (double)(now_us() - begun),
		us[n / 2], us[n * 99 / 100], (unsigned long long)failed);
}
