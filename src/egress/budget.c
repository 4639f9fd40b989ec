/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics and budgets per host. The table has a fixed maximum: hosts beyond it share one entry,
 * unless a budget is set, since then sharing or forgetting would be a way around it.
 */
#include "egress/door.h"

#define BUCKETS (sizeof(((struct door *)0)->hosts) / sizeof(((struct door *)0)->hosts[0]))
#define BURST_S 2 /* seconds of the rate that may come at once */

static struct door_host *find(struct door *d, const char *name, struct door_host ***ret_bucket)
{
	uint32_t h = 2166136261U;

	for (const char *p = name; *p; p++)
		h = (h ^ (uint8_t)*p) * 16777619U;
	*ret_bucket = &d->hosts[h % BUCKETS];
	for (struct door_host *e = **ret_bucket; e; e = e->next)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

static struct door_host *add(struct door *d, const char *name, size_t max)
{
	struct door_host **bucket;
	struct door_host *e = find(d, name, &bucket);
	size_t len = strlen(name) + 1;

	if (e || d->n_hosts >= max)
		return e;
	e = calloc(1, sizeof(*e) + len);
	if (!e)
		return NULL;
	memcpy(e->name, name, len);
	e->tokens = -1; /* full, whatever full is when it is first asked */
	e->next = *bucket;
	*bucket = e;
	d->n_hosts++;
	return e;
}

static bool limited(const struct door *d)
{
	return d->config.host_bytes != UINT64_MAX || d->config.host_rate > 0;
}

struct door_host *budget_host(struct door *d, const struct bawn_host *host)
{
	struct door_host *e = add(d, host->text, DOOR_HOSTS_MAX);

	return e || limited(d) ? e : d->others;
}

void budget_blocked(struct door *d, const struct bawn_host *host)
{
	/* names that are refused may be anything: they never take all the room */
	struct door_host *e = add(d, host->text, DOOR_HOSTS_MAX / 4);

	(e ? e : d->others)->blocked++;
}

bool budget_request(struct door *d, struct door_host *h)
{
	double rate = d->config.host_rate;
	double full = rate * BURST_S > 1 ? rate * BURST_S : 1;
	int64_t now = door_now();

	if (rate > 0) {
		if (h->tokens < 0)
			h->tokens = full;
		else
			h->tokens += (double)(now - h->refilled) * rate / 1000;
		h->refilled = now;
		if (h->tokens > full)
			h->tokens = full;
		if (h->tokens < 1)
			return false;
		h->tokens -= 1;
	}
	h->allowed++;
	d->allowed++;
	return true;
}

uint64_t budget_left(const struct door *d, const struct door_host *h)
{
	uint64_t used = h->sent + h->received;

	if (d->config.host_bytes == UINT64_MAX)
		return UINT64_MAX;
	return used < d->config.host_bytes ? d->config.host_bytes - used : 0;
}

void budget_bytes(struct door_conn *c, const struct door_lane *l, size_t n)
{
	bool up = l == &c->up;

	if (c->upstream.fd < 0) /* our own words */
		return;
	if (up)
		c->door->sent += n;
	else
		c->door->received += n;
	if (!c->stats)
		return;
	if (up)
		c->stats->sent += n;
	else
		c->stats->received += n;
}

void budget_free(struct door *d)
{
	free(d->others);
	for (size_t i = 0; i < BUCKETS; i++)
		while (d->hosts[i]) {
			struct door_host *e = d->hosts[i];

			d->hosts[i] = e->next;
			free(e);
		}
}
