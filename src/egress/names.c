/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic addresses. A confined program that asks for an allowed name gets an address of our own,
 * which means nothing anywhere else; when it connects there, the name comes back. Numbers are given
 * out once and never again, so an address that a program remembers never becomes another name.
 */
#include <errno.h>

#include <arpa/inet.h>

#include "egress/door.h"

#define BUCKETS 4096
#define V4_BASE 0xc6120100U /* 198.18.1.0; the first 256 are left to the host */

struct name {
	struct name *next;
	uint32_t number;
	char text[];
};

struct door_names {
	struct name *buckets[BUCKETS];
	struct name **by_number;
	uint32_t n, cap;
};

static const uint8_t v6_prefix[6] = {0xfd, 0x00, 0x62, 0x61, 0x77, 0x6e};

int names_new(struct door_names **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

struct door_names *names_free(struct door_names *n)
{
	if (!n)
		return NULL;
	for (uint32_t i = 0; i < n->n; i++)
		free(n->by_number[i]);
	free(n->by_number);
	free(n);
	return NULL;
}

static struct name **bucket_of(struct door_names *n, const char *text)
{
	uint32_t h = 2166136261U;

	for (const char *p = text; *p; p++)
		h = (h ^ (uint8_t)*p) * 16777619U;
	return &n->buckets[h % BUCKETS];
}

static int make_room(struct door_names *n)
{
	uint32_t cap = n->cap ? n->cap * 2 : 64;
	struct name **more;

	if (n->n < n->cap)
		return 0;
	if (n->n >= DOOR_NAMES_MAX)
		return -ENOSPC;
	more = reallocarray(n->by_number, cap, sizeof(struct name *));
	if (!more)
		return -ENOMEM;
	n->by_number = more;
	n->cap = cap;
	return 0;
}

int64_t names_number(struct door_names *n, const struct bawn_host *host, bool *ret_new)
{
	struct name **bucket = bucket_of(n, host->text);
	size_t len = strlen(host->text) + 1;
	struct name *e;
	int r;

	*ret_new = false;
	for (e = *bucket; e; e = e->next)
		if (!strcmp(e->text, host->text))
			return e->number;
	r = make_room(n);
	if (r < 0)
		return r;
	e = malloc(sizeof(*e) + len);
	if (!e)
		return -ENOMEM;
	memcpy(e->text, host->text, len);
	e->next = *bucket;
	e->number = n->n;
	*bucket = e;
	n->by_number[n->n++] = e;
	*ret_new = true;
	return e->number;
}

void names_address(uint32_t number, int family, uint8_t addr[16])
{
	uint32_t v = htonl(family == AF_INET ? V4_BASE + number : number + 1);

	memset(addr, 0, 16);
	if (family == AF_INET) {
		memcpy(addr, &v, 4);
		return;
	}
	memcpy(addr, v6_prefix, sizeof(v6_prefix));
	memcpy(addr + 12, &v, 4);
}

bool names_find(const struct door_names *n, int family, const uint8_t *addr, struct bawn_host *ret)
{
	uint8_t again[16];
	uint32_t v;

	memcpy(&v, family == AF_INET ? addr : addr + 12, 4);
	v = ntohl(v) - (family == AF_INET ? V4_BASE : 1);
	if (v >= n->n)
		return false;
	names_address(v, family, again);
	if (memcmp(again, addr, family == AF_INET ? 4 : 16) != 0)
		return false;
	return bawn_host_parse(n->by_number[v]->text, strlen(n->by_number[v]->text), ret, NULL) >=
	       0;
}

void names_undo(const struct door_names *n, struct bawn_host *host)
{
	uint8_t addr[16];

	if (host->kind == BAWN_HOST_NAME)
		return;
	memcpy(addr, host->addr, sizeof(addr));
	(void)names_find(n, host->kind == BAWN_HOST_V4 ? AF_INET : AF_INET6, addr, host);
}
