/* SPDX-License-Identifier: Apache-2.0 */
/* The SOCKS conversation, versions 4, 4a and 5; only CONNECT exists. */
#include <errno.h>
#include <string.h>

#include "egress/door.h"
#include "egress/socks.h"

#define NO_METHOD       0xff
#define METHOD_NONE     0
#define METHOD_PASS     2
#define REP_GENERAL     1
#define REP_COMMAND     7
#define V4_GRANTED      0x5a
#define V4_REJECTED     0x5b
#define V4_BAD_USER     0x5d
#define COMMAND_CONNECT 1

bool socks_reply(struct door_conn *c, int code)
{
	const uint8_t v5[] = {5, (uint8_t)code, 0, 1, 0, 0, 0, 0, 0, 0};
	const uint8_t v4[] = {0, code == 0 ? V4_GRANTED : V4_REJECTED, 0, 0, 0, 0, 0, 0};

	return c->entry == DOOR_BY_SOCKS4 ? lane_say(&c->down, v4, sizeof(v4))
					  : lane_say(&c->down, v5, sizeof(v5));
}

static void end_with(struct door_conn *c, const uint8_t *p, size_t n)
{
	if (lane_say(&c->down, p, n))
		conn_finish(c);
	else
		conn_close(c);
}

/* Both negotiations return false while they cannot go on. */
static bool greet(struct door_conn *c)
{
	struct bawn_socks_hello h = {0};
	bool token = c->door->config.token[0];
	int r = bawn_socks5_hello_parse((const uint8_t *)c->up.in, c->up.len, &h);
	uint8_t say[] = {5, token ? METHOD_PASS : METHOD_NONE};

	if (r < 0) {
		conn_close(c);
		return false;
	}
	if (r == 0)
		return false;
	lane_consume(&c->up, h.len);
	if (token ? !h.password : !h.none) {
		/* a client that offers only a password without being asked for one may use it */
		if (token || !h.password) {
			say[1] = NO_METHOD;
			end_with(c, say, sizeof(say));
			return false;
		}
		say[1] = METHOD_PASS;
	}
	c->authorized = say[1] == METHOD_NONE;
	c->greeted = lane_say(&c->down, say, sizeof(say));
	if (!c->greeted)
		conn_close(c);
	return c->greeted;
}

static bool authorize(struct door_conn *c)
{
	static struct bawn_socks_request q; /* half a kilobyte, and a secret: wiped below */
	uint8_t say[] = {1, 0};
	bool token = c->door->config.token[0];
	int r;

	q = (struct bawn_socks_request){0};
	r = bawn_socks5_auth_parse((const uint8_t *)c->up.in, c->up.len, &q);
	if (r < 0)
		conn_close(c);
	if (r <= 0)
		return false;
	c->authorized = !token || token_equal(c->door, q.password, strlen(q.password));
	lane_consume(&c->up, q.len);
	explicit_bzero(&q, sizeof(q));
	if (!c->authorized) {
		say[1] = 1;
		end_with(c, say, sizeof(say));
		return false;
	}
	if (!lane_say(&c->down, say, sizeof(say)))
		conn_close(c);
	return c->phase != DOOR_DEAD;
}

static void request(struct door_conn *c)
{
	static struct bawn_socks_request q;
	struct bawn_error err = {0};
	const uint8_t bad_user[] = {0, V4_BAD_USER, 0, 0, 0, 0, 0, 0};
	int r;

	q = (struct bawn_socks_request){0};
	r = bawn_socks_request_parse((const uint8_t *)c->up.in, c->up.len, &q, &err);
	if (r == 0)
		return;
	if (r < 0) {
		conn_deny(c, 400, "socks", err.msg);
		return;
	}
	lane_consume(&c->up, q.len);
	if (q.version == 4 && c->door->config.token[0] &&
		!token_equal(c->door, q.user, strlen(q.user))) {
		end_with(c, bad_user, sizeof(bad_user));
		return;
	}
	if (q.command != COMMAND_CONNECT) {
		if (socks_reply(c, REP_COMMAND))
			conn_finish(c);
		else
			conn_close(c);
		return;
	}
	c->host = q.host;
	names_undo(c->door->names, &c->host);
	c->port = q.port;
	tunnel_ask(c);
}

void socks_step(struct door_conn *c)
{
	if (!c->up.len) {
		if (c->up.eof)
			conn_close(c);
		return;
	}
	if (!c->greeted && c->entry != DOOR_BY_SOCKS4)
		c->entry = c->up.in[0] == 4 ? DOOR_BY_SOCKS4 : DOOR_BY_SOCKS5;
	if (c->entry == DOOR_BY_SOCKS5) {
		if (!c->greeted && !greet(c))
			return;
		if (!c->authorized && (!c->up.len || !authorize(c)))
			return;
		if (!c->up.len)
			return;
	}
	request(c);
	if (c->phase == DOOR_SOCKS && c->up.eof)
		conn_close(c);
}
