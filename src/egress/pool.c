/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to servers that outlive the client connection they were made for: a client that asks
 * once per connection is common, and connecting costs more than asking. Only what ended cleanly
 * comes here, only for a few seconds, and new rules empty it: a reused connection leads to an
 * address that the rules in force permitted. All clients of a door are one sandbox.
 */
#include <errno.h>

#include "egress/door.h"

#define KEPT_MAX 64
#define KEPT_MS  5000

struct kept {
	int fd;
	uint16_t port;
	int64_t until;
	struct bawn_host host;
};

static struct kept kept[KEPT_MAX];
static size_t n_kept;

static void drop(size_t i)
{
	(void)close(kept[i].fd);
	kept[i] = kept[--n_kept];
}

bool pool_put(int fd, const struct bawn_host *host, uint16_t port)
{
	if (n_kept == KEPT_MAX)
		return false;
	kept[n_kept++] =
		(struct kept){.fd = fd, .port = port, .until = door_now() + KEPT_MS, .host = *host};
	return true;
}

/* It said nothing and is still there. */
static bool alive(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int pool_take(const struct bawn_host *host, uint16_t port)
{
	for (size_t i = n_kept; i > 0; i--) {
		struct kept *k = &kept[i - 1];
		int fd = k->fd;

		if (k->port != port || !bawn_host_equal(&k->host, host))
			continue;
		if (!alive(fd)) {
			drop(i - 1);
			continue;
		}
		*k = kept[--n_kept];
		return fd;
	}
	return -1;
}

void pool_sweep(int64_t now)
{
	for (size_t i = n_kept; i > 0; i--)
		if (kept[i - 1].until <= now)
			drop(i - 1);
}

bool pool_empty(void)
{
	return !n_kept;
}
