/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a connection. Memory is bounded: a lane has at most one block of read bytes and
 * one of our own words, and a connection that waits has neither. When the destination takes
 * nothing, nothing is read: the sender feels it through TCP.
 */
#include <errno.h>

#include <sys/uio.h>

#include "egress/door.h"

#define KEPT_MAX 256

/* Blocks that were given back, so that a busy door does not go through malloc for each read. */
static char *kept[KEPT_MAX];
static size_t n_kept;
static bool wipe; /* they may have had secrets in them */

char *block_new(void)
{
	/* what is wiped is what was written here; what the heap had before must not be left either
	 */
	return n_kept ? kept[--n_kept] : wipe ? calloc(1, DOOR_BLOCK) : malloc(DOOR_BLOCK);
}

void block_wipe_all(void)
{
	wipe = true;
}

void block_free_used(char *p, size_t used)
{
	if (p && wipe)
		explicit_bzero(p, used);
	if (p && n_kept < KEPT_MAX)
		kept[n_kept++] = p;
	else
		free(p);
}

void block_free(char *p)
{
	block_free_used(p, DOOR_BLOCK);
}

static void in_done(struct door_lane *l)
{
	block_free_used(l->in, l->top);
	l->in = NULL;
	l->top = 0;
}

bool lane_fill(struct door_conn *c, struct door_lane *l, int fd)
{
	ssize_t n;

	if (!l->in)
		l->in = block_new();
	if (!l->in)
		return false;
	if (l->len == DOOR_BLOCK)
		return true;
	do
		n = recv(fd, l->in + l->len, DOOR_BLOCK - l->len, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		l->len += (size_t)n;
	else if (n == 0)
		l->eof = true;
	else if (errno != EAGAIN)
		return false;
	if (l->len > l->top)
		l->top = l->len;
	if (!l->len)
		in_done(l);
	(void)c;
	return true;
}

void lane_consume(struct door_lane *l, size_t n)
{
	l->len -= n;
	l->ok -= n < l->ok ? n : l->ok;
	if (l->in && l->len)
		memmove(l->in, l->in + n, l->len);
	else
		in_done(l);
}

bool lane_say(struct door_lane *l, const void *p, size_t n)
{
	if (!l->head) {
		l->head = block_new();
		l->head_at = l->head_len = 0;
	}
	if (!l->head || n > DOOR_BLOCK - l->head_len)
		return false;
	memcpy(l->head + l->head_len, p, n);
	l->head_len += n;
	return true;
}

bool lane_pending(const struct door_lane *l)
{
	return l->head || l->ok || l->piped;
}

/* n bytes of head and in, in this order, are written. */
static void lane_wrote(struct door_lane *l, size_t n)
{
	size_t left = l->head ? l->head_len - l->head_at : 0;
	size_t of_head = n < left ? n : left;

	l->head_at += of_head;
	if (l->head && l->head_at == l->head_len) {
		block_free(l->head);
		l->head = NULL;
	}
	if (n > of_head)
		lane_consume(l, n - of_head);
}

bool lane_flush(struct door_conn *c, struct door_lane *l, int fd)
{
	while (l->head || l->ok) {
		struct iovec v[2];
		struct msghdr msg = {.msg_iov = v};
		ssize_t n;

		if (l->broken || fd < 0) {
			block_free(l->head);
			l->head = NULL;
			if (l->ok)
				lane_consume(l, l->ok);
			return true;
		}
		if (l->head)
			v[msg.msg_iovlen++] =
				(struct iovec){l->head + l->head_at, l->head_len - l->head_at};
		if (l->ok)
			v[msg.msg_iovlen++] = (struct iovec){l->in, l->ok};
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0) {
			l->broken = true;
			return false;
		}
		l->total += (size_t)n;
		budget_bytes(c, l, (size_t)n);
		lane_wrote(l, (size_t)n);
	}
	return true;
}

void lane_done(struct door_lane *l)
{
	in_done(l);
	block_free(l->head);
	tunnel_drop_pipe(l);
	*l = (struct door_lane){.pipe = {{-1, -1}}};
}
