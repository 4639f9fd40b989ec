/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tunnels: CONNECT, SOCKS and captured connections. What the client says first is looked at before
 * a byte of it goes out: on port 443, and wherever it looks like TLS, it must be a ClientHello for
 * the very host that was asked for; on port 80, and wherever it looks like HTTP, it is read as
 * HTTP, each request decided like any other. After that the kernel moves the bytes from socket to
 * socket through a pipe, without copying them here.
 */
#include <errno.h>
#include <fcntl.h>

#include "egress/door.h"
#include "egress/tls.h"

#define PIPE_SIZE  ((size_t)1024 * 1024)
#define PIPES_BIG  16 /* the kernel counts pipe memory by user: leave some to the others */
#define PIPES_KEPT 64
#define TURN_MAX   ((size_t)1024 * 1024) /* bytes of one connection before others get their turn */
#define TLS_RECORD 22
#define FLOW_LONG  ((size_t)4 * 1024 * 1024) /* without a pause: more is to come */
#define FLOW_LOT   (1024 * 1024)
#define FLOW_PAUSE ((size_t)16 * 1024) /* less than this at once is a pause */

/* Empty pipes. A lane has one only while it moves bytes or holds some. */
static struct door_lane_pipe pipes[PIPES_KEPT];
static size_t n_pipes;
static size_t n_made; /* pipes there are, in use or not */

static bool pipe_take(struct door_lane *l)
{
	if (l->pipe.fd[0] >= 0)
		return true;
	if (n_pipes) {
		l->pipe = pipes[--n_pipes];
		return true;
	}
	if (pipe2(l->pipe.fd, O_NONBLOCK | O_CLOEXEC) < 0) {
		l->pipe = (struct door_lane_pipe){{-1, -1}};
		return false;
	}
	if (n_made++ < PIPES_BIG)
		(void)fcntl(l->pipe.fd[1], F_SETPIPE_SZ, (int)PIPE_SIZE);
	return true;
}

void tunnel_drop_pipe(struct door_lane *l)
{
	if (l->pipe.fd[0] < 0)
		return;
	(void)close(l->pipe.fd[0]);
	(void)close(l->pipe.fd[1]);
	l->pipe = (struct door_lane_pipe){{-1, -1}};
	n_made--;
}

static void pipe_give(struct door_lane *l)
{
	if (l->pipe.fd[0] < 0 || l->piped)
		return;
	if (n_pipes == PIPES_KEPT) {
		tunnel_drop_pipe(l);
		return;
	}
	pipes[n_pipes++] = l->pipe;
	l->pipe = (struct door_lane_pipe){{-1, -1}};
}

static bool is_bound(const struct door_conn *c)
{
	return bawn_secrets_bound(c->door->secrets, &c->host, c->port, true);
}

/* Requests are decided one by one where they can be read; then a tunnel as such need not be
 * allowed, but the host must be in reach of some rule. */
static bool reads_http(const struct door_conn *c)
{
	return c->port == 80 || is_bound(c);
}

/* Does the rule name this very host, and not a pattern or a block that it lies in? */
static bool rule_is_exact(const struct door_conn *c, const char *rule)
{
	const char *at = strrchr(rule, ' ');
	struct bawn_host h;
	uint16_t port;
	size_t n;

	at = at ? at + 1 : rule;
	n = strlen(at);
	if (n > 2 && !memcmp(at + n - 2, ":*", 2))
		n -= 2;
	return bawn_host_parse_port(at, n, 1, &h, &port, NULL) >= 0 &&
	       bawn_host_equal(&h, &c->host);
}

void tunnel_ask(struct door_conn *c)
{
	struct bawn_egress_ask ask = {.way = door_way(c->entry), .host = &c->host, .port = c->port};
	struct bawn_egress_ask any = {.way = BAWN_WAY_DNS, .host = &c->host, .port = c->port};
	struct bawn_egress_answer a = {0};

	if (reads_http(c))
		bawn_egress_decide(c->door->config.rules, &any, &a);
	if (!a.allowed && !door_decide(c->door, &ask, false, &a)) {
		conn_refuse(c, 403, a.reason);
		return;
	}
	c->exact = rule_is_exact(c, a.rule);
	if (!conn_within_budget(c, !reads_http(c)))
		return;
	if (reads_http(c))
		tunnel_start(c);
	else
		dial_start(c, &a, NULL);
}

static bool announce(struct door_conn *c)
{
	static const char ok[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	switch (c->entry) {
	case DOOR_BY_CONNECT:
		return lane_say(&c->down, ok, sizeof(ok) - 1);
	case DOOR_BY_SOCKS4:
	case DOOR_BY_SOCKS5:
		return socks_reply(c, 0);
	case DOOR_BY_HTTP:
	case DOOR_BY_CAPTURE:
	case DOOR_BY_LOOPBACK:
		break;
	}
	return true;
}

void tunnel_start(struct door_conn *c)
{
	if (!announce(c)) {
		conn_close(c);
		return;
	}
	c->replied = true;
	conn_wait(c, c->up.len ? c->door->config.timeouts.head : c->door->config.timeouts.idle);
	if (c->entry == DOOR_BY_LOOPBACK) {
		c->up.ok = c->up.len;
		c->phase = DOOR_RAW;
	} else if (c->port == 80) {
		c->pinned = true;
		c->phase = DOOR_HEAD;
	} else {
		c->phase = DOOR_HELLO;
	}
}

/* Does it begin like an HTTP request? -1: too short to tell. */
static int looks_like_http(const char *p, size_t n)
{
	static const char *const methods[] = {"GET ", "HEAD ", "POST ", "PUT ", "DELETE ",
		"CONNECT ", "OPTIONS ", "TRACE ", "PATCH ", "PRI "};
	int best = 0;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		size_t len = strlen(methods[i]);

		if (!memcmp(p, methods[i], n < len ? n : len)) {
			if (n >= len)
				return 1;
			best = -1;
		}
	}
	return best;
}

/* NULL if the hello fits the host. */
static const char *hello_objection(const struct door_conn *c, const struct bawn_hello *h)
{
	if (h->has_ech)
		return "the TLS client hides the name it asks for (ECH), so the host cannot be "
		       "checked; turn ECH off";
	if (h->has_sni)
		return bawn_host_equal(&h->sni, &c->host)
			       ? NULL
			       : "the TLS client asks for another name (SNI) than the connection "
				 "is for";
	if (c->host.kind != BAWN_HOST_NAME &&
		(c->exact || c->door->config.mode == BAWN_EGRESS_OPEN ||
			c->door->config.mode == BAWN_EGRESS_BLOCKLIST))
		return NULL;
	return "the TLS client names no host (SNI), so the host cannot be checked";
}

/* Requests inside are read and decided like any other; the server is dialled for the first. */
static void end_tls(struct door_conn *c)
{
	if (!door_tls->accept(c)) {
		conn_deny(c, 503, "secrets", "too many TLS connections");
		return;
	}
	c->pinned = true;
	c->ended = true;
	c->phase = DOOR_HEAD;
	conn_wait(c, c->door->config.timeouts.head);
}

static void check_hello(struct door_conn *c)
{
	struct bawn_hello h = {0};
	struct bawn_error err = {0};
	int r = bawn_hello_parse((const uint8_t *)c->up.in, c->up.len, &h, &err);
	const char *why;

	if (r == 0 && !c->up.eof && c->up.len < DOOR_BLOCK)
		return;
	why = r <= 0 ? "only TLS may pass here, and this is no complete ClientHello"
		     : hello_objection(c, &h);
	if (why) {
		conn_deny(c, 403, "tls", why);
		return;
	}
	if (is_bound(c)) {
		end_tls(c);
		return;
	}
	c->up.ok = c->up.len;
	c->phase = DOOR_RAW;
	conn_wait(c, c->door->config.timeouts.idle);
}

void tunnel_check(struct door_conn *c)
{
	int http;

	if (lane_pending(&c->down) && c->upstream.fd < 0)
		return; /* the announcement goes out in the clear */
	if (!c->up.len) {
		if (c->up.eof) {
			if (c->port == 443 || is_bound(c))
				conn_close(c);
			else
				c->phase = DOOR_RAW; /* it only listens */
		}
		return;
	}
	if (c->port == 443 || c->up.in[0] == TLS_RECORD || is_bound(c)) {
		check_hello(c);
		return;
	}
	http = looks_like_http(c->up.in, c->up.len);
	if (http < 0 && !c->up.eof)
		return;
	if (http > 0) {
		c->pinned = true;
		c->phase = DOOR_HEAD;
		return;
	}
	c->up.ok = c->up.len;
	c->phase = DOOR_RAW;
	conn_wait(c, c->door->config.timeouts.idle);
}

/* The pipe's bytes to `fd`. False: the destination failed. */
static bool pipe_out(struct door_conn *c, struct door_lane *l, int fd)
{
	while (l->piped) {
		ssize_t n = splice(
			l->pipe.fd[0], NULL, fd, NULL, l->piped, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		l->piped -= (size_t)n;
		l->total += (size_t)n;
		budget_bytes(c, l, (size_t)n);
	}
	return true;
}

/* Bytes taken in; 0: none now or the end (then eof); negative: the source failed. */
static ssize_t pipe_in(struct door_lane *l, int fd, size_t most)
{
	ssize_t n;

	do
		n = splice(fd, NULL, l->pipe.fd[1], NULL, most, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		l->eof = true;
	l->piped += (size_t)n;
	return n;
}

/* Without a pipe (none to be had): through a block. */
static bool copy_once(struct door_conn *c, struct door_lane *l, int from, int to)
{
	if (!lane_fill(c, l, from))
		return false;
	l->ok = l->len;
	return lane_flush(c, l, to);
}

/*
 * In a long flow each wake-up costs as much as moving tens of kilobytes: its source is read until
 * it is empty, and then waited for until a lot has come. conn.c reads what there is after a moment
 * without, and that ends the flow.
 */
static void count_flow(struct door_lane *l, struct door_side *from, size_t n)
{
	bool patient;
	int least;

	l->burst += n;
	if (l->more)
		return;
	l->flow = l->burst < (l->patient ? (size_t)FLOW_LOT : FLOW_PAUSE) ? 0 : l->flow + l->burst;
	l->burst = 0;
	patient = l->flow >= FLOW_LONG;
	least = patient ? FLOW_LOT : 1;
	if (patient == l->patient ||
		setsockopt(from->fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) < 0)
		return;
	l->patient = patient;
	conn_unwatch_source(from);
}

static bool move(struct door_conn *c, struct door_lane *l, struct door_side *from, int to)
{
	size_t moved = 0;

	l->more = false;
	while (!l->eof && moved < TURN_MAX) {
		uint64_t left = c->stats ? budget_left(c->door, c->stats) : PIPE_SIZE;
		ssize_t n;

		if (!left)
			break; /* the next event finds it used up */
		if (!pipe_take(l))
			return copy_once(c, l, from->fd, to);
		n = pipe_in(l, from->fd, left < PIPE_SIZE ? (size_t)left : PIPE_SIZE);
		if (n < 0 || !pipe_out(c, l, to))
			return false;
		moved += (size_t)n;
		l->more = l->patient && n > 0;
		if (l->piped || (!l->more && (size_t)n < PIPE_SIZE / 16))
			break;
	}
	count_flow(l, from, moved);
	return true;
}

/* An end that was seen is passed on once everything before it was. */
void tunnel_settle(struct door_conn *c)
{
	struct {
		struct door_lane *lane;
		int to;
	} both[] = {{&c->up, c->upstream.fd}, {&c->down, c->client.fd}};

	for (size_t i = 0; i < 2; i++) {
		struct door_lane *l = both[i].lane;

		if (l->eof && !l->shut && !lane_pending(l) && !l->len) {
			l->shut = true;
			(void)shutdown(both[i].to, SHUT_WR);
		}
	}
	if (c->up.shut && c->down.shut)
		conn_close(c);
}

void tunnel_pump(struct door_conn *c, struct door_lane *l)
{
	struct door_side *from = l == &c->up ? &c->client : &c->upstream;
	int to = l == &c->up ? c->upstream.fd : c->client.fd;
	bool fine = lane_flush(c, l, to);

	if (fine && l->piped)
		fine = pipe_out(c, l, to);
	if (fine && !lane_pending(l) && c->stats && !conn_within_budget(c, false))
		return;
	if (fine && !lane_pending(l))
		fine = move(c, l, from, to);
	if (!fine) {
		conn_reset(c);
		return;
	}
	pipe_give(l);
	tunnel_settle(c);
}
