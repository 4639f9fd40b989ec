/* SPDX-License-Identifier: Apache-2.0 */
/* SOCKS as clients speak it. Lengths are checked before anything behind them is looked at. */
#include "egress/socks.h"

#include <errno.h>

#include <sys/socket.h>

#define CONNECT 1

static int refuse(struct bawn_error *err, int neg_errno, const char *why)
{
	return bawn_fail(err, BAWN_ERR_CALL, neg_errno, "socks: %s", why);
}

int bawn_socks5_hello_parse(const uint8_t *p, size_t n, struct bawn_socks_hello *ret)
{
	struct bawn_socks_hello h = {0};

	if ((n > 0 && p[0] != 5) || (n > 1 && !p[1]))
		return -EBADMSG;
	if (n < 2 || n < 2U + p[1])
		return 0;
	h.len = 2U + p[1];
	for (size_t i = 2; i < h.len; i++) {
		h.none |= p[i] == 0;
		h.password |= p[i] == 2;
	}
	*ret = h;
	return 1;
}

/* A length and so many bytes, as a string. A NUL inside would make it compare as another one. */
static int take_string(const uint8_t *p, size_t n, size_t *at, char dst[static 256])
{
	size_t len;

	if (*at >= n)
		return 0;
	len = p[*at];
	if (n - *at - 1 < len)
		return 0;
	if (memchr(p + *at + 1, '\0', len))
		return -EBADMSG;
	memcpy(dst, p + *at + 1, len);
	dst[len] = '\0';
	*at += len + 1;
	return 1;
}

int bawn_socks5_auth_parse(const uint8_t *p, size_t n, struct bawn_socks_request *ret)
{
	size_t at = 1;
	int r;

	if (n > 0 && p[0] != 1)
		return -EBADMSG;
	r = take_string(p, n, &at, ret->user);
	if (r > 0)
		r = take_string(p, n, &at, ret->password);
	if (r > 0)
		ret->len = at;
	return r;
}

/* A string that ends in NUL, of at most 255 bytes. Its length, or 0 if the end is not there yet. */
static int find_end(const uint8_t *p, size_t n, size_t *ret_len)
{
	size_t max = n < 256 ? n : 256;
	const uint8_t *end = max ? memchr(p, '\0', max) : NULL;

	if (!end)
		return n < 256 ? 0 : -EBADMSG;
	*ret_len = (size_t)(end - p);
	return 1;
}

static int parse_v4(
	const uint8_t *p, size_t n, struct bawn_socks_request *ret, struct bawn_error *err)
{
	size_t user = 0, name = 0;
	bool named;
	int r;

	if (n < 9)
		return 0;
	/* 4a: an address 0.0.0.x that is no address says that a name follows. */
	named = !p[4] && !p[5] && !p[6] && p[7];
	r = find_end(p + 8, n - 8, &user);
	if (r < 0)
		return refuse(err, r, "the user id is too long");
	if (r == 0)
		return 0;
	ret->len = 8 + user + 1;
	if (named) {
		r = find_end(p + ret->len, n - ret->len, &name);
		if (r < 0)
			return refuse(err, r, "the host is too long");
		if (r == 0)
			return 0;
		r = bawn_host_parse((const char *)p + ret->len, name, &ret->host, err);
		if (r < 0)
			return r;
		ret->len += name + 1;
	} else {
		bawn_host_from_address(AF_INET, p + 4, &ret->host);
	}
	memcpy(ret->user, p + 8, user + 1);
	ret->password[0] = '\0';
	ret->port = (uint16_t)(p[2] << 8 | p[3]);
	return 1;
}

static int parse_v5(
	const uint8_t *p, size_t n, struct bawn_socks_request *ret, struct bawn_error *err)
{
	size_t at = 4, len;
	int r;

	if (n > 2 && p[2])
		return refuse(err, -EBADMSG, "the reserved byte is not 0");
	if (n > 3 && p[3] != 1 && p[3] != 3 && p[3] != 4)
		return refuse(err, -EAFNOSUPPORT, "an address type that does not exist");
	if (n < 5)
		return 0;
	if (p[3] == 3)
		at = 5;
	len = p[3] == 1 ? 4 : p[3] == 4 ? 16 : p[4];
	if (n < at + len + 2)
		return 0;
	if (p[3] == 3) {
		r = bawn_host_parse((const char *)p + at, len, &ret->host, err);
		if (r < 0)
			return r;
	} else {
		bawn_host_from_address(p[3] == 1 ? AF_INET : AF_INET6, p + at, &ret->host);
	}
	ret->port = (uint16_t)(p[at + len] << 8 | p[at + len + 1]);
	ret->len = at + len + 2;
	return 1;
}

int bawn_socks_request_parse(
	const uint8_t *p, size_t n, struct bawn_socks_request *ret, struct bawn_error *err)
{
	int r;

	if (n > 0 && p[0] != 4 && p[0] != 5)
		return refuse(err, -EBADMSG, "neither version 4 nor 5");
	if (n < 2)
		return 0;
	r = p[0] == 4 ? parse_v4(p, n, ret, err) : parse_v5(p, n, ret, err);
	if (r <= 0)
		return r;
	ret->version = p[0];
	ret->command = p[1];
	if (ret->command == CONNECT && !ret->port)
		return refuse(err, -EINVAL, "no port");
	return 1;
}
