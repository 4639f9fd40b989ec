/* SPDX-License-Identifier: Apache-2.0 */
/* The door itself: one loop, and the one place where all ways in are decided. */
#include "egress/door.h"

#include <errno.h>

static const enum bawn_egress_way ways[] = {
	[DOOR_BY_HTTP] = BAWN_WAY_HTTP,
	[DOOR_BY_CONNECT] = BAWN_WAY_CONNECT,
	[DOOR_BY_SOCKS4] = BAWN_WAY_SOCKS,
	[DOOR_BY_SOCKS5] = BAWN_WAY_SOCKS,
	[DOOR_BY_CAPTURE] = BAWN_WAY_CAPTURE,
	[DOOR_BY_LOOPBACK] = BAWN_WAY_CAPTURE,
};

enum bawn_egress_way door_way(enum door_entry entry)
{
	return ways[entry];
}

bool door_decide(struct door *d, const struct bawn_egress_ask *ask, bool tell,
	struct bawn_egress_answer *ret)
{
	bawn_egress_decide(d->config.rules, ask, ret);
	if (!ret->allowed) {
		d->blocked++;
		budget_blocked(d, ask->host);
	}
	if (!ret->allowed || tell)
		report_decision(d, ask, ret, NULL);
	return ret->allowed;
}

static void on_control(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	door_control_read(arg);
}

/* The host reads again: the loop's round does the rest. */
static void on_room(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;

	(void)fd;
	(void)what;
	d->wants_room = false;
}

/* A host that reads slowly is not tried again before it has made room. */
static void tell(struct door *d)
{
	if (d->wants_room)
		return;
	report_flush(d);
	if (d->report.len)
		d->wants_room = event_add(&d->control_room, NULL) == 0;
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	conn_sweep(arg);
}

/* No environment and no files: libevent would look into both for ways to change its mind. */
static struct event_base *base_new(void)
{
	struct event_config *c = event_config_new();
	struct event_base *base = NULL;

	if (!c)
		return NULL;
	if (event_config_set_flag(c, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV |
					     EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) == 0)
		base = event_base_new_with_config(c);
	event_config_free(c);
	return base;
}

int door_new(int control, struct door **ret, struct bawn_error *err)
{
	struct door *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	d->control = control;
	d->report.max = 8U << 20;
	LIST_INIT(&d->conns);
	LIST_INIT(&d->dead);
	d->base = base_new();
	d->others = calloc(1, sizeof(*d->others) + 1);
	if (!d->base || !d->others || names_new(&d->names) < 0) {
		(void)door_free(d);
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "no event loop");
	}
	(void)event_assign(
		&d->control_event, d->base, control, EV_READ | EV_PERSIST, on_control, d);
	(void)event_assign(&d->control_room, d->base, control, EV_WRITE, on_room, d);
	(void)event_assign(&d->sweep_event, d->base, -1, EV_PERSIST, on_sweep, d);
	r = bawn_own_addresses_read(&d->own);
	if (r < 0) {
		errno = -r;
		r = bawn_fail(err, BAWN_ERR_BACKEND, r, "reading the host's own addresses: %m");
	} else {
		r = resolver_new(d, &d->resolver, err);
	}
	if (r >= 0 && event_add(&d->control_event, NULL) < 0)
		r = bawn_fail(err, BAWN_ERR_INTERNAL, -EIO, "no event loop");
	if (r < 0) {
		(void)door_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

int door_run(struct door *d, struct bawn_error *err)
{
	while (!d->stopping) {
		if (event_base_loop(d->base, EVLOOP_ONCE) < 0)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -EIO, "the event loop failed");
		conn_free_dead(d);
		tell(d);
	}
	report_drain(d);
	return 0;
}

struct door *door_free(struct door *d)
{
	if (!d)
		return NULL;
	while (LIST_FIRST(&d->conns))
		conn_close(LIST_FIRST(&d->conns));
	conn_free_dead(d);
	for (size_t i = 0; i < d->n_listeners; i++)
		listener_free(d->listeners[i]);
	pool_sweep(INT64_MAX);
	d->resolver = resolver_free(d->resolver);
	d->names = names_free(d->names);
	budget_free(d);
	if (d->secrets)
		door_tls->stop(d);
	d->secrets = bawn_secrets_free(d->secrets);
	door_config_done(&d->config);
	bawn_own_addresses_free(&d->own);
	bawn_buf_done(&d->report);
	if (d->base) {
		if (event_initialized(&d->control_event))
			(void)event_del(&d->control_event);
		if (d->wants_room)
			(void)event_del(&d->control_room);
		event_base_free(d->base);
	}
	free(d);
	return NULL;
}
