/* SPDX-License-Identifier: Apache-2.0 */
/* One run's door, see door.h. Its process, protocol and rules are in egress/. */
#include "pipeline/door.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "backend/native/hole.h"
#include "base/io.h"
#include "egress/control.h"
#include "pipeline/record.h"

#define RECORDS_MAX 10000 /* decisions of one run in the log; further ones are counted */
#define HOSTS_MAX   64    /* hosts with figures of their own */
#define END_MS      1000  /* how long its last words are waited for */

struct bawn_door {
	struct bawn_arena *a;
	struct bawn_egress *e;
	struct bawn_audit *audit;
	const struct bawn_result *r;
	struct bawn_watch watch;
	struct bawn_network seen;
	uint64_t recorded;
	bool ended; /* the figures are here, or never will be */
};

enum bawn_egress_mode bawn_door_mode(enum bawn_netmode mode)
{
	static const enum bawn_egress_mode modes[] = {
		[BAWN_NET_OPEN] = BAWN_EGRESS_OPEN,
		[BAWN_NET_BLOCKLIST] = BAWN_EGRESS_BLOCKLIST,
		[BAWN_NET_ALLOWLIST] = BAWN_EGRESS_ALLOWLIST,
		[BAWN_NET_DENY] = BAWN_EGRESS_DENY,
		[BAWN_NET_CLOSED] = BAWN_EGRESS_CLOSED,
	};

	return HOLE("rules") ? BAWN_EGRESS_OPEN : modes[mode];
}

int bawn_door_open(struct bawn_arena *a, const struct bawn_egress_plan *plan,
	const struct bawn_egress_secret *secrets, size_t n_secrets, struct bawn_door **ret,
	struct bawn_error *err)
{
	struct bawn_door *d = bawn_new(a, struct bawn_door, 1);
	struct bawn_egress_source src = {.mode = bawn_door_mode(plan->mode),
		.allow = plan->allow,
		.block = HOLE("rules") ? NULL : plan->block,
		.development = plan->development,
		.ssrf = plan->ssrf && !HOLE("ssrf"),
		.block_private = plan->block_private && !HOLE("ssrf"),
		.host_bytes = plan->host_bytes,
		.secrets = secrets,
		.n_secrets = n_secrets};

	if (!d)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	if (plan->host_rate_milli != BAWN_UNLIMITED)
		src.host_rate = (double)plan->host_rate_milli / 1000;
	d->a = a;
	d->seen.hosts = bawn_new(a, struct bawn_net_host, HOSTS_MAX);
	if (!d->seen.hosts)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	int r = bawn_egress_spawn(&src, NULL, &d->e, err);
	/* no other backend could do without it */
	if (r < 0 && err && err->kind == BAWN_ERR_UNSUPPORTED)
		err->kind = BAWN_ERR_BACKEND;
	if (r < 0)
		return r;
	*ret = d;
	return 0;
}

int bawn_door_ca(struct bawn_door *d, const char **ret, struct bawn_error *err)
{
	return bawn_egress_ca(d->e, ret, err);
}

int bawn_door_hand(struct bawn_door *d, struct bawn_instance *in, struct bawn_error *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < in->n_listeners; i++)
		r = bawn_egress_listen(d->e, in->listeners[i].kind, in->listeners[i].port,
			in->listeners[i].fd, err);
	bawn_instance_drop_listeners(in);
	if (r >= 0)
		r = bawn_egress_go(d->e, err);
	return r;
}

static void record(struct bawn_door *d, const struct bawn_egress_event *ev)
{
	if (d->recorded >= RECORDS_MAX || bawn_record_network(d->audit, d->r, ev, NULL) < 0) {
		d->seen.unrecorded++;
		return;
	}
	d->recorded++;
}

static void add_host(struct bawn_door *d, const struct bawn_egress_event *ev)
{
	struct bawn_network *n = &d->seen;
	const char *name = n->n_hosts < HOSTS_MAX ? bawn_arena_strdup(d->a, ev->host) : NULL;

	if (!name) {
		n->more_hosts++;
		return;
	}
	n->hosts[n->n_hosts++] = (struct bawn_net_host){.name = name,
		.allowed = ev->n_allowed,
		.blocked = ev->n_blocked,
		.sent = ev->sent,
		.received = ev->received};
}

static void deny(const struct bawn_egress_event *ev, struct bawn_event *ret)
{
	ret->kind = BAWN_EV_DENIED;
	ret->control = strncmp(ev->rule, "network.ssrf", 12) != 0 ? BAWN_CTL_NET_EGRESS
								  : BAWN_CTL_NET_SSRF;
	if (*ev->reason)
		(void)snprintf(ret->text, sizeof(ret->text), "%s", ev->reason);
	else
		(void)snprintf(ret->text, sizeof(ret->text), "connection to '%s:%u' (%.200s)",
			ev->host, ev->port, ev->rule);
}

/* One event of the door; *ret is of interest to the supervisor if it is a denial. */
static void take(struct bawn_door *d, const struct bawn_egress_event *ev, struct bawn_event *ret)
{
	struct bawn_network *n = &d->seen;

	switch (ev->kind) {
	case BAWN_EGRESS_DECISION:
		record(d, ev);
		n->allowed += ev->allowed;
		n->blocked += !ev->allowed;
		if (!ev->allowed)
			deny(ev, ret);
		break;
	case BAWN_EGRESS_CLOSED_CONN:
		n->sent += ev->sent;
		n->received += ev->received;
		break;
	case BAWN_EGRESS_HOST:
		add_host(d, ev);
		break;
	case BAWN_EGRESS_STATS: /* what it counted itself is more than what it told */
		n->allowed = ev->n_allowed;
		n->blocked = ev->n_blocked;
		n->sent = ev->sent;
		n->received = ev->received;
		d->ended = true;
		break;
	case BAWN_EGRESS_INJECTED:
		record(d, ev);
		break;
	case BAWN_EGRESS_DROPPED:
		n->unrecorded += ev->n_blocked;
		break;
	case BAWN_EGRESS_GONE:
		n->lost = !d->ended;
		d->ended = true;
		break;
	case BAWN_EGRESS_RELOADED:
	case BAWN_EGRESS_NOTHING:
		break;
	}
}

/* For the supervisor: what is of no interest to it is dealt with here. */
static void next(void *data, struct bawn_event *ret)
{
	struct bawn_door *d = data;
	struct bawn_egress_event ev;

	while (ret->kind == BAWN_EV_NONE && !d->ended) {
		if (bawn_egress_next(d->e, &ev, NULL) < 0)
			ev.kind = BAWN_EGRESS_GONE;
		if (ev.kind == BAWN_EGRESS_NOTHING)
			return;
		take(d, &ev, ret);
	}
	if (ret->kind == BAWN_EV_NONE)
		ret->kind = BAWN_EV_ENDED;
}

const struct bawn_watch *bawn_door_watch(
	struct bawn_door *d, struct bawn_audit *audit, const struct bawn_result *r)
{
	d->audit = audit;
	d->r = r;
	d->watch = (struct bawn_watch){.fd = bawn_egress_fd(d->e), .next = next, .data = d};
	return &d->watch;
}

void bawn_door_end(struct bawn_door *d, struct bawn_network *ret, struct bawn_outcome *outcome)
{
	int64_t stop = bawn_now_ms() + END_MS;
	struct pollfd p = {.fd = bawn_egress_fd(d->e), .events = POLLIN};

	if (!d->ended && bawn_egress_ask_stats(d->e, true, NULL) < 0)
		d->seen.lost = d->ended = true;
	while (!d->ended && bawn_now_ms() < stop) {
		struct bawn_event ev = {.kind = BAWN_EV_NONE};

		next(d, &ev);
		if (ev.kind == BAWN_EV_DENIED)
			(void)bawn_outcome_denied(d->a, outcome, &ev, NULL);
		else if (ev.kind == BAWN_EV_NONE)
			(void)poll(&p, 1, (int)(stop - bawn_now_ms()) + 1);
	}
	bawn_egress_kill(d->e);
	*ret = d->seen;
	ret->door = true;
}

struct bawn_door *bawn_door_free(struct bawn_door *d)
{
	if (d)
		d->e = bawn_egress_free(d->e);
	return NULL;
}
