/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c-ares on the door's loop. Only names that a rule allows come here. It asks name servers and
 * nothing else (no /etc/hosts, no search list: the name that was decided is the name that is asked
 * for). Answers are kept for as long as they say, at most a minute, so that a page with fifty
 * requests asks once; each use is checked again all the same.
 */
#include <ares.h>
#include <errno.h>
#include <string.h>

#include <arpa/inet.h>

#include "egress/door.h"

#define SOCKS_MAX   32
#define CACHE_SIZE  256
#define CACHE_MAX_S 60
#define TRY_MS      1500
#define TRIES       3

struct door_query {
	struct door_conn *conn; /* NULL: nobody waits any more */
	struct door_resolver *resolver;
	char name[BAWN_HOST_MAX + 1];
	bool calling; /* inside resolver_ask(): the answer was there at once */
};

struct cached {
	char name[BAWN_HOST_MAX + 1];
	int64_t until;
	size_t n;
	struct sockaddr_storage v[DOOR_ADDRS_MAX];
};

struct door_resolver {
	struct door *door;
	ares_channel channel;
	bool ready;
	struct event timer;
	struct {
		int fd;
		struct event event;
	} socks[SOCKS_MAX];
	struct cached *cache[CACHE_SIZE];
};

static void arm_timer(struct door_resolver *r)
{
	struct timeval most = {.tv_sec = 1};
	struct timeval t;
	struct timeval *next = ares_timeout(r->channel, NULL, &t);

	(void)most;
	if (next)
		(void)event_add(&r->timer, next);
	else
		(void)event_del(&r->timer);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct door_resolver *r = arg;

	ares_process_fd(r->channel, what & EV_READ ? fd : ARES_SOCKET_BAD,
		what & EV_WRITE ? fd : ARES_SOCKET_BAD);
	arm_timer(r);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct door_resolver *r = arg;

	(void)fd;
	(void)what;
	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	arm_timer(r);
}

/* c-ares tells which of its sockets it wants to be told about. */
static void on_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct door_resolver *r = arg;
	int at = -1;

	for (int i = 0; i < SOCKS_MAX; i++)
		if (r->socks[i].fd == fd || (at < 0 && r->socks[i].fd < 0))
			at = i;
	if (at < 0)
		return; /* its questions time out */
	if (r->socks[at].fd >= 0)
		(void)event_del(&r->socks[at].event);
	r->socks[at].fd = -1;
	if (!readable && !writable)
		return;
	(void)event_assign(&r->socks[at].event, r->door->base, fd,
		(short)((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0) | EV_PERSIST),
		on_socket, r);
	if (event_add(&r->socks[at].event, NULL) == 0)
		r->socks[at].fd = fd;
}

int resolver_new(struct door *d, struct door_resolver **ret, struct bawn_error *err)
{
	struct door_resolver *r = calloc(1, sizeof(*r));
	char lookups[] = "b";
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TRY_MS,
		.tries = TRIES,
		.lookups = lookups,
		.sock_state_cb = on_state,
		.sock_state_cb_data = r,
	};
	int s;

	if (!r)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	r->door = d;
	for (int i = 0; i < SOCKS_MAX; i++)
		r->socks[i].fd = -1;
	(void)event_assign(&r->timer, d->base, -1, 0, on_timer, r);
	s = ares_init_options(&r->channel, &o,
		ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
			ARES_OPT_SOCK_STATE_CB | ARES_OPT_DOMAINS);
	if (s != ARES_SUCCESS) {
		free(r);
		return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "resolver: %s", ares_strerror(s));
	}
	*ret = r;
	return 0;
}

int resolver_configure(struct door_resolver *r, const struct door_config *c, struct bawn_error *err)
{
	int s;

	for (size_t i = 0; i < CACHE_SIZE; i++) {
		free(r->cache[i]);
		r->cache[i] = NULL;
	}
	if (!c->resolvers.len)
		return 0;
	s = ares_set_servers_ports_csv(r->channel, c->resolvers.data);
	if (s != ARES_SUCCESS)
		return bawn_fail(err, BAWN_ERR_POLICY, -EINVAL, "resolver '%s': %s",
			c->resolvers.data, ares_strerror(s));
	return 0;
}

struct door_resolver *resolver_free(struct door_resolver *r)
{
	if (!r)
		return NULL;
	ares_destroy(r->channel);
	(void)event_del(&r->timer);
	for (size_t i = 0; i < CACHE_SIZE; i++)
		free(r->cache[i]);
	free(r);
	return NULL;
}

static struct cached **slot_of(struct door_resolver *r, const char *name)
{
	uint32_t h = 2166136261U;

	for (const char *p = name; *p; p++)
		h = (h ^ (uint8_t)*p) * 16777619U;
	return &r->cache[h % CACHE_SIZE];
}

static void keep(struct door_resolver *r, const char *name, const struct sockaddr_storage *v,
	size_t n, int ttl)
{
	struct cached **at = slot_of(r, name);

	if (ttl <= 0)
		return;
	if (!*at)
		*at = malloc(sizeof(**at));
	if (!*at)
		return;
	(void)snprintf((*at)->name, sizeof((*at)->name), "%s", name);
	(*at)->until = door_now() + 1000LL * (ttl < CACHE_MAX_S ? ttl : CACHE_MAX_S);
	(*at)->n = n;
	memcpy((*at)->v, v, n * sizeof(*v));
}

static void fail(struct door_conn *c, int status)
{
	bool late = status == ARES_ETIMEOUT;
	const char *why = status == ARES_ENOTFOUND || status == ARES_ENODATA
				  ? "there is no such name"
			  : late ? "the resolver did not answer in time"
				 : ares_strerror(status);

	dial_resolved(c, NULL, 0, late ? 504 : 502, why);
}

/* More answers than can be dialled are no reason to check fewer: such a name is refused. */
static size_t collect(
	const struct ares_addrinfo *ai, struct sockaddr_storage *v, size_t max, int *ret_ttl)
{
	size_t n = 0;

	*ret_ttl = CACHE_MAX_S;
	for (const struct ares_addrinfo_node *node = ai->nodes; node; node = node->ai_next) {
		if (node->ai_family != AF_INET && node->ai_family != AF_INET6)
			continue;
		if (n < max) {
			memset(&v[n], 0, sizeof(v[n]));
			memcpy(&v[n], node->ai_addr, node->ai_addrlen);
		}
		n++;
		if (node->ai_ttl < *ret_ttl)
			*ret_ttl = node->ai_ttl;
	}
	return n;
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *ai)
{
	struct door_query *q = arg;
	struct door_conn *c = q->conn;
	struct sockaddr_storage v[DOOR_ADDRS_MAX];
	size_t n = 0;
	int ttl = 0;

	(void)timeouts;
	if (status == ARES_SUCCESS)
		n = collect(ai, v, DOOR_ADDRS_MAX, &ttl);
	if (ai)
		ares_freeaddrinfo(ai);
	if (n && n <= DOOR_ADDRS_MAX)
		keep(q->resolver, q->name, v, n, ttl);
	if (c) {
		bool inside = q->calling;

		c->query = NULL;
		if (n > DOOR_ADDRS_MAX)
			dial_resolved(c, NULL, 0, 502, "it has more addresses than are checked");
		else if (n)
			dial_resolved(c, v, n, 0, NULL);
		else
			fail(c, status == ARES_SUCCESS ? ARES_ENODATA : status);
		if (!inside && c->phase != DOOR_DEAD)
			conn_advance(c);
	}
	free(q);
}

void resolver_ask(struct door_resolver *r, struct door_conn *c)
{
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	const struct cached *hit = *slot_of(r, c->host.text);
	struct door_query *q;

	if (hit && hit->until > door_now() && !strcmp(hit->name, c->host.text)) {
		struct sockaddr_storage v[DOOR_ADDRS_MAX];
		size_t n = hit->n;

		memcpy(v, hit->v, n * sizeof(v[0]));
		dial_resolved(c, v, n, 0, NULL);
		return;
	}
	q = calloc(1, sizeof(*q));
	if (!q) {
		dial_resolved(c, NULL, 0, 502, "out of memory");
		return;
	}
	q->conn = c;
	q->resolver = r;
	q->calling = true;
	c->query = q;
	(void)snprintf(q->name, sizeof(q->name), "%s", c->host.text);
	ares_getaddrinfo(r->channel, c->host.text, NULL, &hints, on_answer, q);
	if (c->query == q)
		q->calling = false;
	arm_timer(r);
}

void resolver_cancel(struct door_query *q)
{
	q->conn = NULL;
}
