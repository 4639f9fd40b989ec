/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client and server for bench/egress.py: one process each, epoll, so that what is measured is what
 * stands between them.
 *
 *   netload serve ADDR PORT
 *       answers requests; what connects to PORT+1 gets bytes, what connects to PORT+2 may send
 * bytes and gets one at their end
 *
 *   netload http ADDR PORT TARGET CONNS SECONDS KEEP [AUTH]
 *       requests for TARGET one after the other on CONNS connections; prints "requests/s median-us
 *       p99-us failed"
 *
 *   netload bulk|pour ADDR PORT TARGET BYTES [AUTH]
 *       reads or sends BYTES through CONNECT TARGET ("-": directly); prints "MiB/s"
 *
 *   netload hold ADDR PORT N
 *       opens N connections, says so, waits for its input to end
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "load.h"

#define BUF 65536

enum kind {
	REQUESTS,
	SOURCE,
	SINK,
	KINDS
}; /* of a server's port */

struct conn {
	int fd;
	enum kind kind;
	bool connecting, listener;
	size_t got;
	uint64_t started;
	char buf[2048];
};

static void watch(int ep, struct conn *c, uint32_t what)
{
	watch_fd(ep, c->fd, c, what);
}

/* --- server --- */

static void serve_accept(int ep, const struct conn *l)
{
	int one = 1;
	int fd;

	while ((fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct conn *c = calloc(1, sizeof(*c));

		if (!c)
			fail("calloc");
		c->fd = fd;
		c->kind = l->kind;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		watch(ep, c, c->kind == SOURCE ? EPOLLOUT : EPOLLIN);
	}
}

static bool serve_bytes(struct conn *c)
{
	static char zeros[BUF * 4];
	ssize_t n = send(c->fd, zeros, sizeof(zeros), MSG_NOSIGNAL);

	return n >= 0 || errno == EAGAIN;
}

static bool serve_sink(struct conn *c)
{
	static char buf[BUF * 4];
	ssize_t n = recv(c->fd, buf, sizeof(buf), 0);

	if (n == 0)
		(void)send(c->fd, buf, 1, MSG_NOSIGNAL);
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static bool serve_requests(struct conn *c)
{
	static char answer[BODY_LEN + 128];
	static int len;
	ssize_t n = recv(c->fd, c->buf + c->got, sizeof(c->buf) - 1 - c->got, 0);
	char *at = c->buf;
	char *end;

	if (!len)
		len = make_answer(answer, sizeof(answer));
	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	c->got += (size_t)n;
	c->buf[c->got] = '\0';
	while ((end = strstr(at, "\r\n\r\n"))) {
		bool last = strcasestr(at, "connection: close") != NULL;

		if (send(c->fd, answer, (size_t)len, MSG_NOSIGNAL) != len || last)
			return false;
		at = end + 4;
	}
	c->got -= (size_t)(at - c->buf);
	memmove(c->buf, at, c->got);
	return c->got < sizeof(c->buf) - 1;
}

static int serve(char **argv)
{
	static bool (*const serve_kind[KINDS])(struct conn *) = {
		serve_requests, serve_bytes, serve_sink};
	struct conn listeners[KINDS];
	struct epoll_event ev[EVENTS];
	int ep = epoll_create1(EPOLL_CLOEXEC);
	int one = 1;

	for (int i = 0; i < KINDS; i++) {
		struct sockaddr_in a = address(argv[0], argv[1], i);
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 4096) < 0)
			fail("listen");
		listeners[i] = (struct conn){.fd = fd, .kind = (enum kind)i, .listener = true};
		watch(ep, &listeners[i], EPOLLIN);
	}
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;) {
		int n = epoll_wait(ep, ev, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;

			if (c->listener) {
				serve_accept(ep, c);
			} else if (!serve_kind[c->kind](c)) {
				(void)close(c->fd);
				free(c);
			}
		}
	}
	return 0;
}

/* --- requests --- */

struct load {
	struct sockaddr_in to;
	char request[1024];
	int len;
	bool keep;
	int ep;
	uint64_t done, failed;
	uint32_t *us;
};

static void begin(struct load *l, struct conn *c)
{
	c->got = 0;
	c->started = now_us();
	c->fd = dial_async(&l->to);
	c->connecting = true;
	watch(l->ep, c, EPOLLOUT);
}

static void again(struct load *l, struct conn *c)
{
	(void)close(c->fd);
	begin(l, c);
}

static void ask(struct load *l, struct conn *c)
{
	if (l->keep && !c->connecting)
		c->started = now_us();
	c->connecting = false;
	c->got = 0;
	if (send(c->fd, l->request, (size_t)l->len, MSG_NOSIGNAL) != l->len) {
		l->failed++;
		again(l, c);
		return;
	}
}

static void answered(struct load *l, struct conn *c)
{
	const char *end = strstr(c->buf, "\r\n\r\n");
	bool last;

	if (!end || c->got < (size_t)(end + 4 - c->buf) + BODY_LEN)
		return;
	if (strncmp(c->buf + 8, " 200", 4) != 0)
		l->failed++;
	l->us[l->done % SAMPLES] = (uint32_t)(now_us() - c->started);
	l->done++;
	last = !l->keep || strcasestr(c->buf, "connection: close");
	if (last)
		again(l, c);
	else
		ask(l, c);
}

static void step(struct load *l, struct conn *c)
{
	ssize_t n;

	if (c->connecting) {
		ask(l, c);
		watch(l->ep, c, EPOLLIN);
		return;
	}
	n = recv(c->fd, c->buf + c->got, sizeof(c->buf) - 1 - c->got, 0);
	if (n <= 0) {
		if (n < 0 && errno == EAGAIN)
			return;
		l->failed++;
		again(l, c);
		return;
	}
	c->got += (size_t)n;
	c->buf[c->got] = '\0';
	answered(l, c);
}

static void make_request(struct load *l, const char *target, const char *auth)
{
	const char *path = strstr(target, "://");
	const char *host = path ? path + 3 : target;
	int n = (int)strcspn(host, "/");

	l->len = snprintf(l->request, sizeof(l->request),
		"GET %s HTTP/1.1\r\nHost: %.*s\r\n%s%s%s%s\r\n",
		path ? target : strchr(target, '/'), n, host, auth ? "Proxy-Authorization: " : "",
		auth ? auth : "", auth ? "\r\n" : "", l->keep ? "" : "Connection: close\r\n");
}

static int http(int argc, char **argv)
{
	struct load l = {.to = address(argv[0], argv[1], 0),
		.keep = !strcmp(argv[5], "keep"),
		.ep = epoll_create1(EPOLL_CLOEXEC),
		.us = calloc(SAMPLES, sizeof(uint32_t))};
	long conns = strtol(argv[3], NULL, 10);
	uint64_t begun = now_us();
	uint64_t length = (uint64_t)(strtod(argv[4], NULL) * 1e6);
	struct epoll_event ev[EVENTS];

	make_request(&l, argv[2], argc > 6 ? argv[6] : NULL);
	for (long i = 0; i < conns; i++) {
		struct conn *c = calloc(1, sizeof(*c));

		if (!c || !l.us)
			fail("calloc");
		begin(&l, c);
	}
	while (now_us() - begun < length) {
		int got = epoll_wait(l.ep, ev, EVENTS, 100);

		for (int i = 0; i < got; i++)
			step(&l, ev[i].data.ptr);
	}
	print_load(l.us, l.done, l.failed, begun);
	return 0;
}

/* --- bytes --- */

static int dial(const struct sockaddr_in *a)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
		fail("connect");
	return fd;
}

static char bytes[BUF * 4];

/* Connected to the target, through a proxy or not. */
static int reach(int argc, char **argv)
{
	struct sockaddr_in a = address(argv[0], argv[1], 0);
	int fd = dial(&a);
	int n;

	if (!strcmp(argv[2], "-"))
		return fd;
	n = snprintf(bytes, sizeof(bytes), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", argv[2],
		argv[2], argc > 4 ? "Proxy-Authorization: " : "", argc > 4 ? argv[4] : "",
		argc > 4 ? "\r\n" : "");
	if (send(fd, bytes, (size_t)n, 0) != n || recv(fd, bytes, 12, MSG_WAITALL) != 12 ||
		memcmp(bytes + 8, " 200", 4) != 0)
		fail("CONNECT");
	return fd;
}

static void rate(uint64_t n, uint64_t begun)
{
	(void)printf("%.1f\n", (double)n / 1048576 * 1e6 / (double)(now_us() - begun));
}

static int bulk(int argc, char **argv)
{
	uint64_t want = strtoull(argv[3], NULL, 10), got = 0, begun;
	int fd = reach(argc, argv);

	begun = now_us();
	while (got < want) {
		ssize_t r = recv(fd, bytes, sizeof(bytes), 0);

		if (r <= 0)
			fail("recv");
		got += (uint64_t)r;
	}
	rate(got, begun);
	return 0;
}

/* What a proxy says before is dropped here: the server's one byte comes when it has everything. */
static int pour(int argc, char **argv)
{
	uint64_t want = strtoull(argv[3], NULL, 10), sent = 0, begun;
	int fd = reach(argc, argv);

	memset(bytes, 0, sizeof(bytes)); /* nothing that looks like a protocol */
	begun = now_us();
	while (sent < want) {
		ssize_t r = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);

		if (r <= 0)
			fail("send");
		sent += (uint64_t)r;
	}
	(void)shutdown(fd, SHUT_WR);
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
	rate(sent, begun);
	return 0;
}

static int hold(char **argv)
{
	struct sockaddr_in a = address(argv[0], argv[1], 0);
	struct rlimit files;
	char c;

	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
		(void)dial(&a);
	(void)printf("ready\n");
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv + 2);
	if (argc >= 8 && !strcmp(argv[1], "http"))
		return http(argc - 2, argv + 2);
	if (argc >= 6 && !strcmp(argv[1], "bulk"))
		return bulk(argc - 2, argv + 2);
	if (argc >= 6 && !strcmp(argv[1], "pour"))
		return pour(argc - 2, argv + 2);
	if (argc == 5 && !strcmp(argv[1], "hold"))
		return hold(argv + 2);
	(void)fprintf(stderr, "usage: netload serve|http|bulk|pour|hold ...\n");
	return 2;
}
