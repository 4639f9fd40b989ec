/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netload.c with TLS: what it costs that the door ends it and puts a secret in. The server answers
 * only requests that carry the value, so a contender that does not put it in fails.
 *
 *   tlsload serve ADDR PORT CERT VALUE   CERT: certificate and key, one file
 *   tlsload http ADDR PORT TARGET HOST ROOTS TOKEN CONNS SECONDS KEEP
 *                                        as netload, through CONNECT TARGET ("-": directly);
 *                                        trusts ROOTS, sends TOKEN
 */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "load.h"

/* for the first answer: fifty handshakes take a while on a busy machine */
#define WAIT_US 20000000

struct conn {
	int fd;
	enum {
		LISTENER,
		CONNECTING,
		ASKED,
		SECURING,
		TALKING
	} state;
	SSL *ssl;
	size_t got;
	uint64_t started;
	char buf[4096];
};

static struct conn *conn_new(int fd)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		fail("calloc");
	c->fd = fd;
	return c;
}

static void conn_end(struct conn *c)
{
	SSL_free(c->ssl);
	c->ssl = NULL;
	(void)close(c->fd);
}

static void secure(struct conn *c, SSL_CTX *ctx)
{
	c->ssl = SSL_new(ctx);
	if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1)
		fail("SSL_new");
	c->state = SECURING;
}

/* 1: done; 0: later; -1: failed. */
static int outcome(const struct conn *c, int r)
{
	int e;

	if (r > 0)
		return 1;
	e = SSL_get_error(c->ssl, r);
	ERR_clear_error();
	return e == SSL_ERROR_WANT_READ ? 0 : -1;
}

/* Everything there is; false: the end. */
static bool receive(struct conn *c)
{
	for (;;) {
		int n = SSL_read(c->ssl, c->buf + c->got, (int)(sizeof(c->buf) - 1 - c->got));

		if (n <= 0)
			return outcome(c, n) == 0;
		c->got += (size_t)n;
		c->buf[c->got] = '\0';
		if (c->got == sizeof(c->buf) - 1)
			return false;
	}
}

/* --- server --- */

static bool serve_step(struct conn *c, const char *value)
{
	static char answer[BODY_LEN + 128];
	static int len;
	const char *end;

	if (!len)
		len = make_answer(answer, sizeof(answer));
	if (c->state == SECURING) {
		int r = outcome(c, SSL_accept(c->ssl));

		if (r <= 0)
			return r == 0;
		c->state = TALKING;
	}
	if (!receive(c))
		return false;
	end = strstr(c->buf, "\r\n\r\n");
	if (!c->got || !end)
		return true;
	c->got = 0;
	return strstr(c->buf, value) && SSL_write(c->ssl, answer, len) == len &&
	       !strcasestr(c->buf, "connection: close");
}

static void serve_accept(int ep, const struct conn *l, SSL_CTX *ctx)
{
	int one = 1;
	int fd;

	while ((fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct conn *c = conn_new(fd);

		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		secure(c, ctx);
		watch_fd(ep, fd, c, EPOLLIN);
	}
}

static int serve(char **argv)
{
	struct sockaddr_in a = address(argv[0], argv[1], 0);
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	struct conn l = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
	struct epoll_event ev[EVENTS];
	int ep = epoll_create1(EPOLL_CLOEXEC);
	int one = 1;

	if (!ctx || SSL_CTX_use_certificate_chain_file(ctx, argv[2]) != 1 ||
		SSL_CTX_use_PrivateKey_file(ctx, argv[2], SSL_FILETYPE_PEM) != 1)
		fail(argv[2]);
	(void)setsockopt(l.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(l.fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(l.fd, 4096) < 0)
		fail("listen");
	watch_fd(ep, l.fd, &l, EPOLLIN);
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;) {
		int n = epoll_wait(ep, ev, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;

			if (c->state == LISTENER) {
				serve_accept(ep, c, ctx);
			} else if (!serve_step(c, argv[3])) {
				conn_end(c);
				free(c);
			}
		}
	}
	return 0;
}

/* --- client --- */

struct load {
	struct sockaddr_in to;
	const char *target, *host;
	SSL_CTX *ctx;
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
	c->state = CONNECTING;
	c->started = now_us();
	c->fd = dial_async(&l->to);
	watch_fd(l->ep, c->fd, c, EPOLLOUT);
}

static bool ask(const struct load *l, struct conn *c)
{
	c->got = 0;
	return SSL_write(c->ssl, l->request, l->len) == l->len;
}

static bool begin_tls(const struct load *l, struct conn *c)
{
	secure(c, l->ctx);
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), l->host) != 1)
		fail(l->host);
	return outcome(c, SSL_connect(c->ssl)) >= 0;
}

static bool connected(const struct load *l, struct conn *c)
{
	char text[512];
	int n;

	watch_fd(l->ep, c->fd, c, EPOLLIN);
	if (!strcmp(l->target, "-"))
		return begin_tls(l, c);
	n = snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", l->target,
		l->target);
	c->state = ASKED;
	return send(c->fd, text, (size_t)n, MSG_NOSIGNAL) == n;
}

static bool tunnelled(const struct load *l, struct conn *c)
{
	ssize_t n = recv(c->fd, c->buf + c->got, sizeof(c->buf) - 1 - c->got, 0);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	c->got += (size_t)n;
	c->buf[c->got] = '\0';
	if (!strstr(c->buf, "\r\n\r\n"))
		return true;
	return !strncmp(c->buf + 8, " 200", 4) && begin_tls(l, c);
}

/* An answer that is complete is counted, and the next one asked for. */
static bool talk(struct load *l, struct conn *c)
{
	bool open = receive(c);
	const char *end = c->got ? strstr(c->buf, "\r\n\r\n") : NULL;

	if (!end || c->got < (size_t)(end + 4 - c->buf) + BODY_LEN)
		return open;
	if (strncmp(c->buf + 8, " 200", 4) != 0)
		return false;
	l->us[l->done++ % SAMPLES] = (uint32_t)(now_us() - c->started);
	if (!l->keep) {
		conn_end(c);
		begin(l, c);
		return true;
	}
	c->started = now_us();
	return ask(l, c);
}

static bool step(struct load *l, struct conn *c)
{
	int r;

	switch (c->state) {
	case CONNECTING:
		return connected(l, c);
	case ASKED:
		return tunnelled(l, c);
	case SECURING:
		r = outcome(c, SSL_connect(c->ssl));
		if (r <= 0)
			return r == 0;
		c->state = TALKING;
		return ask(l, c);
	case TALKING:
		return talk(l, c);
	case LISTENER:
		break;
	}
	return false;
}

static int http(char **argv)
{
	struct load l = {.to = address(argv[0], argv[1], 0),
		.target = argv[2],
		.host = argv[3],
		.ctx = SSL_CTX_new(TLS_client_method()),
		.keep = !strcmp(argv[8], "keep"),
		.ep = epoll_create1(EPOLL_CLOEXEC),
		.us = calloc(SAMPLES, sizeof(uint32_t))};
	uint64_t begun = now_us();
	uint64_t length = (uint64_t)(strtod(argv[7], NULL) * 1e6);
	struct epoll_event ev[EVENTS];

	if (!l.us || !l.ctx || SSL_CTX_load_verify_file(l.ctx, argv[4]) != 1)
		fail(argv[4]);
	SSL_CTX_set_verify(l.ctx, SSL_VERIFY_PEER, NULL);
	l.len = snprintf(l.request, sizeof(l.request),
		"GET /x HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s\r\n",
		l.target[0] == '-' ? l.host : l.target, argv[5],
		l.keep ? "" : "Connection: close\r\n");
	for (long i = strtol(argv[6], NULL, 10); i > 0; i--)
		begin(&l, conn_new(-1));
	while (now_us() - begun < (l.done ? length : WAIT_US)) {
		int got = epoll_wait(l.ep, ev, EVENTS, 100);

		for (int i = 0; i < got; i++) {
			struct conn *c = ev[i].data.ptr;

			if (!step(&l, c)) {
				l.failed++;
				conn_end(c);
				begin(&l, c);
			}
		}
	}
	print_load(l.us, l.done, l.failed, begun);
	return 0;
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc == 6 && !strcmp(argv[1], "serve"))
		return serve(argv + 2);
	if (argc == 11 && !strcmp(argv[1], "http"))
		return http(argv + 2);
	(void)fprintf(stderr, "usage: tlsload serve|http ...\n");
	return 2;
}
