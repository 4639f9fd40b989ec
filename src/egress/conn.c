/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a connection: what it waits for, how long, and its end. Each event reads once, does
 * what can be done, writes what can be written, and only then asks the kernel for what is missing;
 * a request on a connection that keeps up costs two reads and two writes.
 */
#include <errno.h>

#include <netinet/tcp.h>

#include "egress/door.h"

#define LINGER_MS 2000

int64_t door_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void conn_wait(struct door_conn *c, int64_t ms)
{
	c->deadline = door_now() + ms;
}

/* Something moved. A head, though, has a time for all of it: bytes do not extend that. */
static void conn_active(struct door_conn *c)
{
	bool in_head = c->phase == DOOR_TALK && !c->x.down_started && c->down.len;

	if ((c->phase == DOOR_RAW || c->phase == DOOR_TALK) && !in_head)
		conn_wait(c, c->door->config.timeouts.idle);
	else if ((c->phase == DOOR_HEAD || c->phase == DOOR_HELLO) && !c->up.len)
		conn_wait(c, c->door->config.timeouts.head);
}

/*
 * Where nothing leaves the machine there is no network to be fair to. A host's choice for its own
 * network, such as BBR, would pace these bytes with a timer for each few segments, which costs more
 * than moving them. If the host forbids another choice, its own stays.
 */
void conn_is_local(int fd)
{
	static const char unpaced[] = "reno"; /* the one that every kernel has */

	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, unpaced, sizeof(unpaced) - 1);
}

static void watch(struct event *e, bool *on, bool want, const struct timeval *at_most)
{
	if (*on == want)
		return;
	/* an event that cannot be added leaves the connection to its deadline */
	if (want)
		(void)event_add(e, at_most);
	else
		(void)event_del(e);
	*on = want;
}

/* Is there anything the client may say now, and room for it? */
static bool wants_client(const struct door_conn *c)
{
	if (c->up.eof)
		return false;
	switch (c->phase) {
	case DOOR_RAW:
		return !lane_pending(&c->up);
	case DOOR_LINGER:
		return true;
	case DOOR_TALK:
		/* a pipelined request waits for its turn */
		return c->up.len < DOOR_BLOCK && (!c->x.up_done || !c->up.len);
	case DOOR_FIRST:
	case DOOR_HEAD:
	case DOOR_SOCKS:
	case DOOR_WAIT:
	case DOOR_HELLO:
	case DOOR_DNS:
		return c->up.len < DOOR_BLOCK;
	case DOOR_DEAD:
		break;
	}
	return false;
}

static bool wants_upstream(const struct door_conn *c)
{
	if (c->upstream.fd < 0 || c->down.eof)
		return false;
	switch (c->phase) {
	case DOOR_RAW:
	case DOOR_HELLO:
		return !lane_pending(&c->down);
	case DOOR_TALK:
		return c->down.len < DOOR_BLOCK;
	case DOOR_HEAD:
		return true; /* idle: it may only close */
	case DOOR_FIRST:
	case DOOR_SOCKS:
	case DOOR_WAIT:
	case DOOR_DNS:
	case DOOR_LINGER:
	case DOOR_DEAD:
		break;
	}
	return false;
}

/* The end of a flow must not wait for the much that does not come; one whose turn was over goes on
 * once others had theirs. */
static void watch_source(struct door_side *s, const struct door_lane *l, bool want)
{
	static const struct timeval moment = {.tv_usec = 1000}, now = {0};
	const struct timeval *at_most = l->more ? &now : l->patient ? &moment : NULL;

	if (want && s->reading && (l->more || s->again))
		(void)event_add(&s->rd, at_most); /* a time of 0 holds once */
	else
		watch(&s->rd, &s->reading, want, at_most);
	s->again = l->more;
}

void conn_unwatch_source(struct door_side *s)
{
	watch(&s->rd, &s->reading, false, NULL);
}

static void conn_watch(struct door_conn *c)
{
	watch_source(&c->client, &c->up, wants_client(c));
	watch(&c->client.wr, &c->client.writing, lane_pending(&c->down), NULL);
	if (c->upstream.fd < 0)
		return;
	watch_source(&c->upstream, &c->down, wants_upstream(c));
	watch(&c->upstream.wr, &c->upstream.writing, c->phase == DOOR_WAIT || lane_pending(&c->up),
		NULL);
}

/* One step of the phase at hand; it may change the phase. */
static void step(struct door_conn *c)
{
	switch (c->phase) {
	case DOOR_FIRST:
		if (c->up.len)
			c->phase = c->up.in[0] == 4 || c->up.in[0] == 5 ? DOOR_SOCKS : DOOR_HEAD;
		else if (c->up.eof)
			conn_close(c);
		break;
	case DOOR_HEAD:
		forward_head(c);
		break;
	case DOOR_SOCKS:
		socks_step(c);
		break;
	case DOOR_TALK:
		forward_talk(c);
		break;
	case DOOR_HELLO:
		tunnel_check(c);
		break;
	case DOOR_DNS:
		dnsd_tcp(c);
		break;
	case DOOR_LINGER:
		if (c->up.len)
			lane_consume(&c->up, c->up.len);
		if (c->up.eof && !lane_pending(&c->down))
			conn_close(c);
		break;
	case DOOR_WAIT:
	case DOOR_RAW:
	case DOOR_DEAD:
		break;
	}
}

static void flush(struct door_conn *c)
{
	if (!lane_flush(c, &c->down, c->client.fd)) {
		conn_close(c);
		return;
	}
	if (c->phase == DOOR_WAIT || c->upstream.fd < 0)
		return;
	/* a server may answer and close without reading everything; its answer still counts */
	if (!lane_flush(c, &c->up, c->upstream.fd) && c->phase != DOOR_TALK)
		conn_close(c);
}

void conn_advance(struct door_conn *c)
{
	enum door_phase before;

	do {
		before = c->phase;
		step(c);
		if (c->phase == DOOR_DEAD)
			return;
		flush(c);
	} while (c->phase != before && c->phase != DOOR_DEAD);
	if (c->phase == DOOR_RAW)
		tunnel_settle(c);
	if (c->phase == DOOR_LINGER && !lane_pending(&c->down) && !c->down.shut) {
		c->down.shut = true;
		(void)shutdown(c->client.fd, SHUT_WR);
	}
	if (c->phase != DOOR_DEAD)
		conn_watch(c);
}

static void on_client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct door_conn *c = arg;

	if (what & EV_READ || c->up.more)
		conn_active(c);
	if (c->phase == DOOR_RAW) {
		tunnel_pump(c, &c->up);
	} else if (!lane_fill(c, &c->up, fd)) {
		conn_close(c);
		return;
	}
	if (c->phase != DOOR_DEAD)
		conn_advance(c);
}

static void on_client_writable(evutil_socket_t fd, short what, void *arg)
{
	struct door_conn *c = arg;

	(void)what;
	(void)fd;
	if ((c->phase == DOOR_RAW || c->phase == DOOR_HELLO) && c->upstream.fd >= 0)
		tunnel_pump(c, &c->down);
	if (c->phase == DOOR_DEAD)
		return;
	flush(c);
	if (c->phase != DOOR_DEAD)
		conn_advance(c);
}

static void on_upstream_readable(evutil_socket_t fd, short what, void *arg)
{
	struct door_conn *c = arg;
	bool first = c->phase == DOOR_TALK && !c->x.down_started && !c->down.len;

	if (c->phase == DOOR_HEAD) { /* it talks unasked, or goes; the next request finds another */
		conn_close_upstream(c);
		conn_advance(c);
		return;
	}
	if (what & EV_READ || c->down.more)
		conn_active(c);
	if (c->phase == DOOR_RAW || c->phase == DOOR_HELLO)
		tunnel_pump(c, &c->down);
	else if (!lane_fill(c, &c->down, fd))
		c->down.eof = true;
	else if (first && c->down.len)
		conn_wait(c, c->door->config.timeouts.head);
	if (c->phase != DOOR_DEAD)
		conn_advance(c);
}

static void on_upstream_writable(evutil_socket_t fd, short what, void *arg)
{
	struct door_conn *c = arg;

	(void)what;
	(void)fd;
	if (c->phase == DOOR_WAIT)
		dial_writable(c);
	else if (c->phase == DOOR_RAW)
		tunnel_pump(c, &c->up);
	if (c->phase != DOOR_DEAD)
		conn_advance(c);
}

static void side_assign(struct door_conn *c, struct door_side *s, int fd, event_callback_fn rd,
	event_callback_fn wr)
{
	s->fd = fd;
	s->reading = s->writing = false;
	(void)event_assign(&s->rd, c->door->base, fd, EV_READ | EV_PERSIST, rd, c);
	(void)event_assign(&s->wr, c->door->base, fd, EV_WRITE | EV_PERSIST, wr, c);
}

static int side_detach(struct door_side *s)
{
	if (s->fd >= 0) {
		watch(&s->rd, &s->reading, false, NULL);
		watch(&s->wr, &s->writing, false, NULL);
	}
	return TAKE_FD(s->fd);
}

static void side_close(struct door_side *s)
{
	int fd = side_detach(s);

	if (fd >= 0)
		(void)close(fd);
	if (s->end)
		door_tls->release(TAKE_PTR(s->end), false);
}

void conn_swap_client(struct door_conn *c, int fd)
{
	(void)side_detach(&c->client);
	side_assign(c, &c->client, fd, on_client_readable, on_client_writable);
}

void conn_detach_upstream(struct door_conn *c)
{
	c->door->n_upstreams -= c->upstream.fd >= 0;
	(void)side_detach(&c->upstream);
}

static void drop_upstream(struct door_conn *c)
{
	c->door->n_upstreams -= c->upstream.fd >= 0;
	side_close(&c->upstream);
}

void conn_attach_upstream(struct door_conn *c, int fd)
{
	drop_upstream(c);
	c->door->n_upstreams++;
	side_assign(c, &c->upstream, fd, on_upstream_readable, on_upstream_writable);
}

/* What belonged to the other side goes with it. */
static void forget_upstream(struct door_conn *c)
{
	masked_done(c);
	lane_done(&c->down);
	block_free(c->up.head);
	c->up.head = NULL;
	c->up.broken = false;
	c->up.shut = false;
}

static void upstream_ended(struct door_conn *c)
{
	if (c->upstream.fd < 0 || c->phase == DOOR_WAIT)
		return;
	report_closed(c->door, c);
	c->up.total = c->down.total = 0;
}

void conn_close_upstream(struct door_conn *c)
{
	upstream_ended(c);
	drop_upstream(c);
	forget_upstream(c);
}

void conn_keep_upstream(struct door_conn *c)
{
	/* what a secret went through serves nobody else */
	if (c->upstream.end || c->x.bound)
		return;
	if (c->upstream.fd < 0 || c->phase == DOOR_WAIT || c->down.len || c->down.eof ||
		c->up.broken || lane_pending(&c->up))
		return;
	watch(&c->upstream.rd, &c->upstream.reading, false, NULL);
	watch(&c->upstream.wr, &c->upstream.writing, false, NULL);
	if (!pool_put(c->upstream.fd, &c->up_host, c->up_port))
		return;
	upstream_ended(c);
	c->upstream.fd = -1;
	c->door->n_upstreams--;
	forget_upstream(c);
}

void conn_new(struct door_listener *l, int fd)
{
	struct door *d = l->door;
	struct door_conn *c = calloc(1, sizeof(*c));
	int one = 1;

	if (!c) {
		(void)close(fd);
		return;
	}
	c->door = d;
	c->listener = l;
	c->upstream.fd = -1;
	c->up.pipe = c->down.pipe = (struct door_lane_pipe){{-1, -1}};
	c->started = door_now();
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	side_assign(c, &c->client, fd, on_client_readable, on_client_writable);
	LIST_INSERT_HEAD(&d->conns, c, link);
	l->conns++;
	d->n_conns++;
	conn_sweep_on(d);
	d->served++;
	conn_wait(c, d->config.timeouts.head);
	if (l->kind == DOOR_CAPTURE) {
		c->entry = DOOR_BY_CAPTURE;
		capture_start(c);
	} else if (l->kind == DOOR_LOOPBACK) {
		c->entry = DOOR_BY_LOOPBACK;
		c->port = l->port;
		dial_loopback(c);
	} else {
		c->phase = l->kind == DOOR_DNS_TCP ? DOOR_DNS : DOOR_FIRST;
	}
	/* what it wants is often here already */
	if (c->phase == DOOR_FIRST)
		on_client_readable(fd, EV_READ, c);
	else if (c->phase != DOOR_DEAD)
		conn_advance(c);
}

void conn_close(struct door_conn *c)
{
	struct door *d = c->door;

	if (c->phase == DOOR_DEAD)
		return;
	dial_cancel(c);
	if (c->phase == DOOR_HEAD)
		conn_keep_upstream(c);
	conn_close_upstream(c);
	side_close(&c->client);
	lane_done(&c->up);
	lane_done(&c->down);
	c->phase = DOOR_DEAD;
	LIST_REMOVE(c, link);
	LIST_INSERT_HEAD(&d->dead, c, link);
	c->listener->conns--;
	d->n_conns--;
}

void conn_reset(struct door_conn *c)
{
	struct linger now = {.l_onoff = 1};

	if (c->client.end)
		door_tls->release(TAKE_PTR(c->client.end), true);
	(void)setsockopt(c->client.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	conn_close(c);
}

void conn_finish(struct door_conn *c)
{
	char *head = TAKE_PTR(c->down.head); /* last words stay, the server's bytes do not */
	size_t at = c->down.head_at, len = c->down.head_len;

	dial_cancel(c);
	conn_close_upstream(c);
	c->down.head = head;
	c->down.head_at = at;
	c->down.head_len = len;
	c->down.shut = false;
	c->phase = DOOR_LINGER;
	conn_wait(c, LINGER_MS);
}

void conn_sweep_on(struct door *d)
{
	struct timeval tick = {.tv_usec = 250000};

	if (!d->sweeping)
		d->sweeping = event_add(&d->sweep_event, &tick) == 0;
}

void conn_sweep(struct door *d)
{
	int64_t now = door_now();
	struct door_conn *c, *next;

	pool_sweep(now);
	listener_resume(d);
	if (d->n_endings)
		door_tls->sweep(d, now);
	if (!d->n_conns && !d->n_endings && pool_empty()) {
		(void)event_del(&d->sweep_event);
		d->sweeping = false;
	}

	for (c = LIST_FIRST(&d->conns); c; c = next) {
		next = LIST_NEXT(c, link);
		if (now < c->deadline)
			continue;
		if (c->phase == DOOR_WAIT) {
			dial_timeout(c);
		} else if (c->phase == DOOR_HEAD && c->up.len) {
			conn_refuse(c, 408, "the request did not arrive in time");
		} else if (c->phase == DOOR_TALK && !c->x.down_started) {
			conn_refuse(c, 504, "the server did not answer in time");
		} else {
			conn_close(c);
		}
		if (c->phase != DOOR_DEAD)
			conn_advance(c);
	}
}

void conn_free_dead(struct door *d)
{
	struct door_conn *c;

	while ((c = LIST_FIRST(&d->dead))) {
		LIST_REMOVE(c, link);
		free(c);
	}
	if (d->secrets && door_tls)
		door_tls->collect(d);
}
