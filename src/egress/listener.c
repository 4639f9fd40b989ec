/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets, made by the host inside a sandbox's network namespace and handed over. Each
 * has its own maximum of connections, so that one sandbox cannot take the others' place.
 */
#include <errno.h>
#include <fcntl.h>

#include <sys/resource.h>

#include "egress/door.h"

#define ROUND_MAX 64  /* connections accepted before others get their turn */
#define SPARE_FDS 512 /* pipes, the resolver's sockets, the other end of what is already here */

static const char *const kind_names[] = {
	[DOOR_PROXY] = "proxy",
	[DOOR_CAPTURE] = "capture",
	[DOOR_DNS_UDP] = "dns-udp",
	[DOOR_DNS_TCP] = "dns-tcp",
	[DOOR_LOOPBACK] = "loopback",
};

/* The system has no descriptor or memory to give: asking again at once would only burn time. */
static void pause_listener(struct door_listener *l)
{
	l->paused = event_del(&l->event) == 0;
	conn_sweep_on(l->door);
}

void listener_resume(struct door *d)
{
	for (size_t i = 0; i < d->n_listeners; i++) {
		struct door_listener *l = d->listeners[i];

		if (l->paused)
			l->paused = event_add(&l->event, NULL) < 0;
	}
}

static void accept_some(struct door_listener *l)
{
	for (int i = 0; i < ROUND_MAX; i++) {
		struct door *d = l->door;
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			pause_listener(l);
		if (fd < 0)
			return;
		if (l->conns >= DOOR_CONNS_MAX ||
			d->n_conns + d->n_upstreams + 2 * d->n_endings >= d->max_sockets) {
			struct linger now = {.l_onoff = 1};

			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
			(void)close(fd);
			continue;
		}
		conn_new(l, fd);
	}
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct door_listener *l = arg;

	(void)fd;
	(void)what;
	if (l->kind == DOOR_DNS_UDP)
		dnsd_udp(l);
	else
		accept_some(l);
}

int listener_add(struct door *d, const char *kind, uint16_t port, int fd, struct bawn_error *err)
{
	struct door_listener *l = NULL;
	size_t k = 0;

	while (k < sizeof(kind_names) / sizeof(kind_names[0]) && strcmp(kind_names[k], kind) != 0)
		k++;
	if (k < sizeof(kind_names) / sizeof(kind_names[0]) && d->n_listeners < DOOR_LISTENERS_MAX)
		l = calloc(1, sizeof(*l));
	if (!l || fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		(void)close(fd);
		free(l);
		return bawn_fail(
			err, BAWN_ERR_INTERNAL, -EINVAL, "listener '%s' is not possible", kind);
	}
	l->door = d;
	l->kind = (enum door_kind)k;
	l->port = port;
	l->fd = fd;
	if (l->kind != DOOR_DNS_UDP)
		conn_is_local(fd); /* and what it accepts */
	d->listeners[d->n_listeners++] = l;
	return 0;
}

int listener_start(struct door *d, struct bawn_error *err)
{
	struct rlimit files = {0};

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur <= SPARE_FDS)
		files.rlim_cur = SPARE_FDS + 64;
	d->max_sockets = (unsigned)(files.rlim_cur - SPARE_FDS);
	for (size_t i = 0; i < d->n_listeners; i++) {
		struct door_listener *l = d->listeners[i];

		(void)event_assign(&l->event, d->base, l->fd, EV_READ | EV_PERSIST, on_readable, l);
		if (event_add(&l->event, NULL) < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -EIO, "a listener cannot be watched");
	}
	return 0;
}

void listener_free(struct door_listener *l)
{
	if (event_initialized(&l->event))
		(void)event_del(&l->event);
	(void)close(l->fd);
	free(l);
}
