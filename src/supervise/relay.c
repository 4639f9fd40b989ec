/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loopback ports of the host for a command that has a network of its own. Each listener stands
 * inside the sandbox; the connection onwards is made from here, to the same port of the host's
 * loopback and to nothing else, whatever the client says.
 */
#include <errno.h>
#include <fcntl.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "supervise/loop.h"

size_t relay_slots(const struct bawn_plan *plan)
{
	size_t n = plan->n_loopback_ports;

	return n ? n + (size_t)2 * RELAY_CONNS_MAX : 0;
}

int relay_open(struct loop *l, struct bawn_error *err)
{
	struct relay *r = &l->relay;

	if (!l->in->relay_fds)
		return 0;
	r->listeners = l->in->relay_fds;
	r->ports = l->plan->loopback_ports;
	r->n = l->plan->n_loopback_ports;
	for (size_t i = 0; i < r->n; i++) {
		int flags = fcntl(r->listeners[i], F_GETFL);

		/* A client may be gone again before accept(): that must not block us. */
		if (flags < 0 || fcntl(r->listeners[i], F_SETFL, flags | O_NONBLOCK) < 0)
			return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno,
				"cannot relay loopback port %u: %m", (unsigned)r->ports[i]);
	}
	return 0;
}

static void conn_close(struct conn *c, bool reset)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};
	const int fds[2] = {c->inside, c->outside};

	for (int i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		if (reset)
			(void)setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		(void)close(fds[i]);
	}
	free(c);
}

/* What comes in pieces goes on in pieces: waiting to fill packets is the ends' choice, not ours. */
static void no_delay(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int dial(struct conn *c)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(c->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(c->port)};
	const struct sockaddr *sa = c->v6 ? (const void *)&v6 : (const void *)&v4;
	socklen_t len = c->v6 ? sizeof(v6) : sizeof(v4);

	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	v6.sin6_addr = in6addr_loopback;
	c->outside =
		socket(c->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->outside < 0)
		return -errno;
	no_delay(c->outside);
	c->connecting = true;
	if (connect(c->outside, sa, len) < 0 && errno != EINPROGRESS)
		return -errno;
	return 0;
}

/* IPv4 first, then IPv6. */
static int dial_next(struct conn *c, int r)
{
	if (r >= 0 || c->v6)
		return r;
	if (c->outside >= 0)
		(void)close(c->outside);
	c->v6 = true;
	return dial(c);
}

static void relay_accept(struct loop *l, size_t i)
{
	struct relay *r = &l->relay;
	/* cppcheck-suppress nullPointer ; the peer's address is not asked for */
	int fd = accept4(r->listeners[i], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct conn *c;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			r->retry_at = l->now + PAUSE_MS;
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		(void)close(fd);
		return;
	}
	no_delay(fd);
	c->inside = fd;
	c->port = r->ports[i];
	if (dial_next(c, dial(c)) < 0)
		conn_close(c, true);
	else
		r->conns[r->n_conns++] = c;
}

/* One direction: what is read here is written there, and so is the end. */
static int way_move(struct way *w, int from, int to)
{
	ssize_t n;

	if (!w->len && !w->eof) {
		n = recv(from, w->buf, sizeof(w->buf), MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		w->off = 0;
		w->len = (size_t)n;
		w->eof = n == 0;
	}
	if (w->len) {
		n = send(to, w->buf + w->off, w->len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		w->off += (size_t)n;
		w->len -= (size_t)n;
	}
	if (w->eof && !w->shut) {
		w->shut = true;
		if (shutdown(to, SHUT_WR) < 0)
			return -errno;
	}
	return 0;
}

static int conn_dialled(struct conn *c)
{
	int e = 0;
	socklen_t len = sizeof(e);

	if (getsockopt(c->outside, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
		return -errno;
	c->connecting = false;
	return e ? dial_next(c, -e) : 0;
}

/* Negative when the connection broke, 1 when both sides are done. */
static int conn_step(struct conn *c, short inside, short outside)
{
	int r = 0;

	if (c->connecting)
		return outside ? conn_dialled(c) : 0;
	if (!inside && !outside)
		return 0;
	/* Seen here or never: a side that is neither read nor written would not notice. */
	if ((inside | outside) & POLLERR)
		return -ECONNRESET;
	r = way_move(&c->up, c->inside, c->outside);
	if (r >= 0)
		r = way_move(&c->down, c->outside, c->inside);
	return r < 0 ? r : c->up.shut && c->down.shut;
}

static short way_events(const struct way *in, const struct way *out)
{
	short e = 0;

	if (!in->len && !in->eof)
		e |= POLLIN;
	if (out->len)
		e |= POLLOUT;
	return e;
}

void relay_arm(struct loop *l, int64_t *wake)
{
	struct relay *r = &l->relay;
	bool waiting = r->retry_at > l->now;
	bool open = r->n_conns < RELAY_CONNS_MAX && !waiting;
	size_t slot = SLOT_RELAY;

	for (size_t i = 0; i < r->n; i++)
		loop_want(l, slot++, r->listeners[i], open ? POLLIN : 0);
	for (size_t i = 0; i < r->n_conns; i++) {
		const struct conn *c = r->conns[i];
		short in = 0, out = POLLOUT;

		if (!c->connecting) {
			in = way_events(&c->up, &c->down);
			out = way_events(&c->down, &c->up);
		}
		/* Also with no events, for POLLERR. */
		l->p[slot++] = (struct pollfd){.fd = c->inside, .events = in};
		l->p[slot++] = (struct pollfd){.fd = c->outside, .events = out};
	}
	l->n_p = slot;
	if (waiting && r->n)
		loop_sooner(wake, r->retry_at);
}

void relay_step(struct loop *l)
{
	struct relay *r = &l->relay;
	size_t old = r->n_conns;
	size_t kept = 0;

	for (size_t i = 0; i < old; i++) {
		const struct pollfd *p = &l->p[SLOT_RELAY + r->n + 2 * i];
		int s = conn_step(r->conns[i], p[0].revents, p[1].revents);

		if (s)
			conn_close(r->conns[i], s < 0);
		else
			r->conns[kept++] = r->conns[i];
	}
	r->n_conns = kept;
	for (size_t i = 0; i < r->n && r->n_conns < RELAY_CONNS_MAX; i++)
		if (l->p[SLOT_RELAY + i].revents)
			relay_accept(l, i);
}

void relay_done(struct loop *l)
{
	for (size_t i = 0; i < l->relay.n_conns; i++)
		conn_close(l->relay.conns[i], true);
	l->relay.n_conns = 0;
	l->relay.n = 0;
}
