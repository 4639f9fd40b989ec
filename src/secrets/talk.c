/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets/talk.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include <sys/socket.h>

#include "base/io.h"

#define HEAD 8

int talk_init(struct talk *t, int fd)
{
	*t = (struct talk){.fd = fd, .frame = bawn_locked_new(TALK_FRAME_MAX)};
	return t->frame ? 0 : -ENOMEM;
}

void talk_drop(struct talk *t)
{
	free(t->blob);
	t->blob = NULL;
	t->blob_len = 0;
}

void talk_done(struct talk *t)
{
	if (t->fd >= 0)
		(void)close(t->fd);
	t->fd = -1;
	t->frame = bawn_locked_free(t->frame);
	talk_drop(t);
}

static int await(int fd, short what, int64_t end)
{
	struct pollfd p = {.fd = fd, .events = what};
	int64_t left = end < 0 ? -1 : end - bawn_now_ms();
	int r;

	if (end >= 0 && left <= 0)
		return -ETIMEDOUT;
	do
		r = poll(&p, 1, (int)left);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : 0;
}

static int64_t end_of(int ms)
{
	return ms < 0 ? -1 : bawn_now_ms() + ms;
}

static int put(int fd, const char *data, size_t len, int64_t end)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = 0;

		if (n < 0 && errno == EAGAIN)
			r = await(fd, POLLOUT, end);
		else if (n < 0 && errno != EINTR)
			r = errno == ECONNRESET ? -EPIPE : -errno;
		if (r < 0)
			return r;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int get(int fd, char *dst, size_t len, int64_t end)
{
	while (len) {
		ssize_t n = recv(fd, dst, len, MSG_DONTWAIT);
		int r = 0;

		if (n == 0)
			return -EPIPE;
		if (n < 0 && errno == EAGAIN)
			r = await(fd, POLLIN, end);
		else if (n < 0 && errno != EINTR)
			r = errno == ECONNRESET ? -EPIPE : -errno;
		if (r < 0)
			return r;
		if (n > 0) {
			dst += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int talk_send(struct talk *t, int ms)
{
	int64_t end = end_of(ms);
	char head[HEAD];
	struct pack p = {head, sizeof(head), false};
	int r;

	pack_u32(&p, (uint32_t)t->frame->len);
	pack_u32(&p, (uint32_t)t->blob_len);
	r = put(t->fd, head, sizeof(head), end);
	if (r == 0)
		r = put(t->fd, t->frame->data, t->frame->len, end);
	if (r == 0)
		r = put(t->fd, t->blob, t->blob_len, end);
	explicit_bzero(t->frame->data, t->frame->size);
	t->frame->len = 0;
	talk_drop(t);
	return r;
}

int talk_receive(struct talk *t, int ms)
{
	int64_t end = end_of(ms);
	char head[HEAD];
	struct unpack u = {head, sizeof(head), false};
	size_t blob;
	int r;

	talk_drop(t);
	t->frame->len = 0;
	r = get(t->fd, head, sizeof(head), end);
	if (r < 0)
		return r;
	t->frame->len = unpack_u32(&u);
	blob = unpack_u32(&u);
	if (t->frame->len > TALK_FRAME_MAX || blob > TALK_BLOB_MAX) {
		t->frame->len = 0;
		return -EPROTO;
	}
	r = get(t->fd, t->frame->data, t->frame->len, end);
	if (r < 0 || !blob)
		return r;
	t->blob = malloc(blob);
	if (!t->blob)
		return -ENOMEM;
	t->blob_len = blob;
	return get(t->fd, t->blob, blob, end);
}

struct pack talk_pack(struct talk *t)
{
	talk_drop(t);
	explicit_bzero(t->frame->data, t->frame->size);
	t->frame->len = 0;
	return (struct pack){t->frame->data, t->frame->size, false};
}

int talk_packed(struct talk *t, const struct pack *p)
{
	if (p->failed)
		return -E2BIG;
	t->frame->len = (size_t)(p->at - t->frame->data);
	return 0;
}

struct unpack talk_unpack(const struct talk *t)
{
	return (struct unpack){t->frame->data, t->frame->len, false};
}
