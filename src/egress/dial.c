/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an allowed host to a connection: resolve once, check every address, connect to one of
 * exactly those. One bad address among the answers refuses all of them, since whoever answers with
 * an internal address does not deserve a second look. Addresses are tried in turn.
 */
#include <errno.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "egress/door.h"

#define TRY_MS 4000 /* for one address, while others are left */

static void address_text(const struct sockaddr_storage *sa, char *dst, socklen_t size)
{
	const void *addr = sa->ss_family == AF_INET
				   ? (const void *)&((const struct sockaddr_in *)sa)->sin_addr
				   : (const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr;

	if (!inet_ntop(sa->ss_family, addr, dst, size))
		dst[0] = '\0';
}

static struct bawn_egress_ask ask_of(const struct door_conn *c)
{
	return (struct bawn_egress_ask){
		.way = door_way(c->entry),
		.host = &c->host,
		.port = c->port,
		.method = c->trial->method[0] ? c->trial->method : NULL,
	};
}

static void dial_failed(struct door_conn *c, int status, const char *what, const char *why)
{
	struct bawn_egress_ask ask = ask_of(c);
	char text[sizeof(c->trial->answer.reason)];

	(void)snprintf(text, sizeof(text), "%s '%s' port %u: %s", what, c->host.text, c->port, why);
	(void)snprintf(c->trial->answer.reason, sizeof(c->trial->answer.reason), "%s", text);
	if (c->entry != DOOR_BY_LOOPBACK)
		report_decision(c->door, &ask, &c->trial->answer, NULL);
	conn_refuse(c, status, text);
}

static int try_connect(struct door_conn *c, const struct sockaddr_storage *sa)
{
	socklen_t len =
		sa->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int fd = socket(sa->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (c->entry == DOOR_BY_LOOPBACK)
		conn_is_local(fd);
	if (connect(fd, (const struct sockaddr *)sa, len) < 0 && errno != EINPROGRESS) {
		int e = errno;

		(void)close(fd);
		return -e;
	}
	conn_attach_upstream(c, fd);
	return 0;
}

/* Connected to an address that was checked. */
static void dial_done(struct door_conn *c)
{
	struct door_trial *t = c->trial;
	struct bawn_egress_ask ask = ask_of(c);
	char text[INET6_ADDRSTRLEN];

	address_text(&t->addrs[t->next - 1], text, sizeof(text));
	if (c->entry != DOOR_BY_LOOPBACK)
		report_decision(c->door, &ask, &t->answer, text);
	c->up_host = c->host;
	c->up_port = c->port;
	dial_cancel(c);
	if (c->ended) {
		conn_wait(c, c->door->config.timeouts.dial);
		if (!door_tls->connect(c))
			conn_refuse(c, 503, "too many TLS connections");
		return;
	}
	conn_wait(c, c->door->config.timeouts.idle);
	conn_dialled(c);
}

void dial_secured(struct door_conn *c, int fd, const char *why)
{
	struct ending *end = TAKE_PTR(c->upstream.end);

	if (fd < 0) {
		c->upstream.end = end;
		conn_deny(c, 502, "secrets", why);
	} else {
		conn_attach_upstream(c, fd);
		c->upstream.end = end;
		conn_wait(c, c->door->config.timeouts.idle);
		conn_dialled(c);
	}
	if (c->phase != DOOR_DEAD)
		conn_advance(c);
}

/* Near servers have answered when connect() returns. */
static bool is_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

/* The next address that can be tried at all. */
static void dial_next(struct door_conn *c)
{
	struct door_trial *t = c->trial;
	int64_t left = t->total_deadline - door_now();

	while (t->next < t->n && left > 0) {
		int r = try_connect(c, &t->addrs[t->next++]);

		if (r == 0) {
			conn_wait(c, t->next < t->n && left > TRY_MS ? TRY_MS : left);
			if (is_connected(c->upstream.fd))
				dial_done(c);
			return;
		}
		t->last_errno = -r;
	}
	errno = t->last_errno ? t->last_errno : ETIMEDOUT;
	{
		char why[128];

		(void)snprintf(why, sizeof(why), "%m");
		dial_failed(c, errno == ETIMEDOUT ? 504 : 502, "cannot connect to", why);
	}
}

static struct door_trial *trial_new(struct door_conn *c)
{
	struct door_trial *t = calloc(1, sizeof(*t));

	if (!t) {
		conn_refuse(c, 503, "out of memory");
		return NULL;
	}
	dial_cancel(c);
	conn_close_upstream(c);
	c->trial = t;
	c->phase = DOOR_WAIT;
	t->total_deadline = door_now() + c->door->config.timeouts.dial;
	return t;
}

void dial_start(struct door_conn *c, const struct bawn_egress_answer *a, const char *method)
{
	struct door_trial *t = trial_new(c);
	struct sockaddr_storage sa = {0};

	if (!t)
		return;
	t->answer = *a;
	if (method)
		(void)snprintf(t->method, sizeof(t->method), "%s", method);
	if (c->host.kind == BAWN_HOST_NAME) {
		conn_wait(c, c->door->config.timeouts.resolve);
		resolver_ask(c->door->resolver, c);
		return;
	}
	if (c->host.kind == BAWN_HOST_V4) {
		struct sockaddr_in *in = (struct sockaddr_in *)&sa;

		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, c->host.addr, 4);
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&sa;

		in6->sin6_family = AF_INET6;
		memcpy(&in6->sin6_addr, c->host.addr, 16);
	}
	dial_resolved(c, &sa, 1, 0, NULL);
}

/* All of them, or none. */
static bool check_all(struct door_conn *c, const struct sockaddr_storage *v, size_t n)
{
	struct bawn_egress_ask ask = ask_of(c);

	for (size_t i = 0; i < n; i++) {
		struct bawn_egress_answer a = {0};
		const uint8_t *addr =
			v[i].ss_family == AF_INET
				? (const uint8_t *)&((const struct sockaddr_in *)&v[i])->sin_addr
				: (const uint8_t *)&((const struct sockaddr_in6 *)&v[i])->sin6_addr;

		bawn_egress_decide_address(
			c->door->config.rules, &ask, &c->door->own, v[i].ss_family, addr, &a);
		if (!a.allowed) {
			char text[INET6_ADDRSTRLEN];

			address_text(&v[i], text, sizeof(text));
			c->door->blocked++;
			budget_blocked(c->door, &c->host);
			report_decision(c->door, &ask, &a, text);
			conn_refuse(c, 403, a.reason);
			return false;
		}
	}
	return true;
}

void dial_resolved(struct door_conn *c, const struct sockaddr_storage *v, size_t n, int status,
	const char *why)
{
	struct door_trial *t = c->trial;

	c->query = NULL;
	if (!n) {
		dial_failed(c, status, "cannot resolve", why);
		return;
	}
	if (!check_all(c, v, n))
		return;
	t->n = n < DOOR_ADDRS_MAX ? n : DOOR_ADDRS_MAX;
	for (size_t i = 0; i < t->n; i++) {
		t->addrs[i] = v[i];
		if (v[i].ss_family == AF_INET)
			((struct sockaddr_in *)&t->addrs[i])->sin_port = htons(c->port);
		else
			((struct sockaddr_in6 *)&t->addrs[i])->sin6_port = htons(c->port);
	}
	t->total_deadline = door_now() + c->door->config.timeouts.dial;
	dial_next(c);
}

void dial_loopback(struct door_conn *c)
{
	struct door_trial *t = trial_new(c);
	struct sockaddr_in *in;

	if (!t)
		return;
	if (c->door->config.mode == BAWN_EGRESS_CLOSED) {
		conn_refuse(c, 403, "network.mode: closed");
		return;
	}
	(void)snprintf(c->host.text, sizeof(c->host.text), "127.0.0.1");
	in = (struct sockaddr_in *)&t->addrs[0];
	in->sin_family = AF_INET;
	in->sin_port = htons(c->port);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	t->n = 1;
	dial_next(c);
}

void dial_writable(struct door_conn *c)
{
	struct door_trial *t = c->trial;
	socklen_t len = sizeof(t->last_errno);

	if (getsockopt(c->upstream.fd, SOL_SOCKET, SO_ERROR, &t->last_errno, &len) < 0)
		t->last_errno = errno;
	if (t->last_errno)
		dial_next(c);
	else
		dial_done(c);
}

void dial_timeout(struct door_conn *c)
{
	if (c->query) {
		resolver_cancel(c->query);
		c->query = NULL;
		dial_failed(c, 504, "cannot resolve", "the resolver did not answer in time");
		return;
	}
	if (!c->trial) { /* connected, and not yet in TLS */
		conn_deny(c, 504, "secrets", "the server did not finish the TLS handshake in time");
		return;
	}
	c->trial->last_errno = ETIMEDOUT;
	dial_next(c);
}

void dial_cancel(struct door_conn *c)
{
	if (c->query)
		resolver_cancel(c->query);
	c->query = NULL;
	free(c->trial);
	c->trial = NULL;
}

void conn_dialled(struct door_conn *c)
{
	if (c->entry == DOOR_BY_HTTP || c->pinned)
		forward_start(c);
	else
		tunnel_start(c);
}
