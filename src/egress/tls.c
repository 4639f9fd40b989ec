/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ClientHello: who the client says it wants to talk to. It may be cut into records anywhere, so
 * a cursor walks over record headers and nothing is copied but the name. What has two readings (two
 * names, trailing bytes, other records in between) is refused.
 */
#include "egress/tls.h"

#include <errno.h>

#define RECORD_HEADER 5
#define RECORD_MAX    16384
#define HANDSHAKE     22
#define CLIENT_HELLO  1
#define EXT_SNI       0
#define EXT_ECH       0xfe0d
#define EXT_ESNI      0xffce

/* Reads the handshake bytes of whole records; `left` of the present one are not read yet. */
struct cursor {
	const uint8_t *p, *end;
	size_t left;
};

static int refuse(struct bawn_error *err, const char *why)
{
	return bawn_fail(err, BAWN_ERR_CALL, -EBADMSG, "tls: %s", why);
}

/* At a record header. 1: entered, 0: not all of it is there, negative: no handshake record. */
static int record_enter(struct cursor *c)
{
	size_t n = (size_t)(c->end - c->p), len;

	if ((n > 0 && c->p[0] != HANDSHAKE) || (n > 1 && c->p[1] != 3) || (n > 2 && c->p[2] > 4))
		return -EBADMSG;
	if (n < RECORD_HEADER)
		return 0;
	len = (size_t)c->p[3] << 8 | c->p[4];
	if (!len || len > RECORD_MAX)
		return -EBADMSG;
	c->p += RECORD_HEADER;
	c->left = len;
	return 1;
}

/* So many bytes, to `dst` unless that is NULL. Same results as record_enter(). */
static int take(struct cursor *c, uint8_t *dst, size_t n)
{
	while (n) {
		size_t here = (size_t)(c->end - c->p) < c->left ? (size_t)(c->end - c->p) : c->left;
		int r;

		if (!c->left) {
			r = record_enter(c);
			if (r <= 0)
				return r;
			continue;
		}
		if (!here)
			return 0;
		if (here > n)
			here = n;
		if (dst) {
			memcpy(dst, c->p, here);
			dst += here;
		}
		c->p += here;
		c->left -= here;
		n -= here;
	}
	return 1;
}

/* The rest is known to be complete; what is left of a list is counted in *room. */
static bool sub(struct cursor *c, uint8_t *dst, size_t n, size_t *room)
{
	if (n > *room)
		return false;
	*room -= n;
	return take(c, dst, n) > 0;
}

static bool number(struct cursor *c, size_t bytes, size_t *room, size_t *ret)
{
	uint8_t b[2] = {0};

	if (!sub(c, b, bytes, room))
		return false;
	*ret = bytes == 1 ? b[0] : (size_t)b[0] << 8 | b[1];
	return true;
}

/* A vector whose length takes `bytes`, skipped. */
static bool skip_vector(struct cursor *c, size_t bytes, size_t min, size_t max, size_t *room)
{
	size_t n;

	return number(c, bytes, room, &n) && n >= min && n <= max && sub(c, NULL, n, room);
}

static int read_sni(struct cursor *c, size_t room, struct bawn_hello *h, struct bawn_error *err)
{
	uint8_t name[BAWN_HOST_MAX + 1];
	size_t list, type, len;

	if (h->has_sni)
		return refuse(err, "two server names");
	if (!number(c, 2, &room, &list) || list != room || !number(c, 1, &room, &type) || type ||
		!number(c, 2, &room, &len) || len != room)
		return refuse(err, "not exactly one server name");
	if (len > sizeof(name) || !sub(c, name, len, &room))
		return refuse(err, "the server name is too long");
	for (size_t i = 0; i < len; i++)
		if (name[i] >= 0x80)
			return refuse(err, "the server name is not ASCII");
	h->has_sni = true;
	return bawn_host_parse((const char *)name, len, &h->sni, err);
}

static int read_extensions(
	struct cursor *c, size_t room, struct bawn_hello *h, struct bawn_error *err)
{
	int r;

	while (room) {
		size_t type, len;

		if (!number(c, 2, &room, &type) || !number(c, 2, &room, &len) || len > room)
			return refuse(err, "extensions that do not fit");
		room -= len;
		if (type == EXT_SNI) {
			r = read_sni(c, len, h, err);
			if (r < 0)
				return r;
			continue;
		}
		h->has_ech |= type == EXT_ECH || type == EXT_ESNI;
		if (take(c, NULL, len) <= 0)
			return refuse(err, "extensions that do not fit");
	}
	return 0;
}

static int read_hello(struct cursor *c, size_t room, struct bawn_hello *h, struct bawn_error *err)
{
	uint8_t version[2];
	size_t len;

	if (!sub(c, version, 2, &room) || version[0] != 3 || !sub(c, NULL, 32, &room) ||
		!skip_vector(c, 1, 0, 32, &room) || !skip_vector(c, 2, 2, 0xfffe, &room) ||
		!skip_vector(c, 1, 1, 255, &room))
		return refuse(err, "a malformed ClientHello");
	if (!room)
		return 0;
	if (!number(c, 2, &room, &len) || len != room)
		return refuse(err, "extensions that do not fit");
	return read_extensions(c, room, h, err);
}

int bawn_hello_parse(const uint8_t *p, size_t n, struct bawn_hello *ret, struct bawn_error *err)
{
	struct cursor c = {p, p + (n < BAWN_HELLO_MAX ? n : BAWN_HELLO_MAX), 0}, body;
	struct bawn_hello h = {0};
	uint8_t head[4] = {0};
	size_t len;
	int r = take(&c, head, 1);

	if (r > 0 && head[0] != CLIENT_HELLO)
		return refuse(err, "a handshake that does not start with a ClientHello");
	if (r > 0)
		r = take(&c, head + 1, 3);
	len = (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	if (r > 0 && len > BAWN_HELLO_MAX)
		return refuse(err, "the ClientHello is too long");
	body = c;
	if (r > 0)
		r = take(&c, NULL, len);
	if (r < 0)
		return refuse(err, "not TLS");
	if (r == 0)
		return n < BAWN_HELLO_MAX ? 0 : refuse(err, "the ClientHello is too long");
	if (c.left)
		return refuse(err, "something behind the ClientHello in its record");
	r = read_hello(&body, len, &h, err);
	if (r < 0)
		return r;
	*ret = h;
	return 1;
}
