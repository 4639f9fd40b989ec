/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request heads: from a client that knows it talks to a proxy, or (pinned) from one inside a tunnel
 * to one host. Every request is decided on its own, also the second one of a connection, and goes
 * to the host it was decided for or nowhere.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "egress/door.h"

static bool is(struct bawn_slice s, const char *word)
{
	return s.n == strlen(word) && !strncasecmp(s.p, word, s.n);
}

bool token_equal(const struct door *d, const char *p, size_t n)
{
	const char *token = d->config.token;
	size_t len = strlen(token);
	unsigned diff = n != len;

	for (size_t i = 0; i < n; i++)
		diff |= (unsigned)(uint8_t)p[i] ^ (unsigned)(uint8_t)token[len ? i % len : 0];
	return !diff;
}

static int digit64(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Bytes decoded, or 0 for what is no base64 or too long. */
static size_t decode64(const char *p, size_t n, char *dst, size_t size)
{
	uint32_t bits = 0;
	size_t out = 0;

	while (n && p[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		int v = digit64(p[i]);

		if (v < 0 || out >= size)
			return 0;
		bits = bits << 6 | (uint32_t)v;
		if (i % 4)
			dst[out++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	return out;
}

/* "Basic base64(anyone:token)" or "Bearer token". */
static bool credentials_fit(const struct door *d, struct bawn_slice v)
{
	char text[512];
	size_t n;
	const char *colon;

	if (v.n > 7 && !strncasecmp(v.p, "Bearer ", 7))
		return token_equal(d, v.p + 7, v.n - 7);
	if (v.n <= 6 || strncasecmp(v.p, "Basic ", 6) != 0)
		return false;
	n = decode64(v.p + 6, v.n - 6, text, sizeof(text));
	colon = memchr(text, ':', n);
	return colon && token_equal(d, colon + 1, n - (size_t)(colon + 1 - text));
}

bool forward_authorized(const struct door *d, const struct bawn_http_request *r)
{
	if (!d->config.token[0])
		return true;
	for (size_t i = 0; i < r->n_headers; i++)
		if (is(r->headers[i].name, "Proxy-Authorization"))
			return credentials_fit(d, r->headers[i].value);
	return false;
}

/* What keeps this request from being looked at at all; 0 if nothing does. */
static int objection(const struct door_conn *c, const struct bawn_http_request *r, const char **why)
{
	if (!c->pinned && !forward_authorized(c->door, r)) {
		*why = "this proxy wants its token as password (HTTP_PROXY has it)";
		return 407;
	}
	if (r->form == BAWN_FORM_AUTHORITY) {
		*why = "a tunnel inside a tunnel is not allowed";
		return c->pinned ? 403 : 0;
	}
	if (r->form == BAWN_FORM_ASTERISK || (r->form == BAWN_FORM_ORIGIN && !c->pinned)) {
		*why = "this is a proxy: the request must name the whole http:// address";
		return 400;
	}
	if (c->pinned && !bawn_host_equal(&r->host, &c->host)) {
		*why = "Host is another one than the connection is for";
		return 403;
	}
	return 0;
}

/* A slice as a string, cut at `size`; a decision about a cut path could be wrong, so false then. */
static bool copy(char *dst, size_t size, struct bawn_slice s)
{
	if (s.n >= size)
		return false;
	memcpy(dst, s.p, s.n);
	dst[s.n] = '\0';
	return true;
}

static bool same_upstream(const struct door_conn *c)
{
	return c->upstream.fd >= 0 && c->up_port == c->port &&
	       bawn_host_equal(&c->up_host, &c->host);
}

/* Only for a request that can be sent again if the server closes meanwhile. */
static bool take_pooled(struct door_conn *c)
{
	int fd = -1;

	/* what is pooled is not encrypted and not bound */
	if (c->door->request.body == BAWN_BODY_NONE && !c->ended)
		fd = pool_take(&c->host, c->port);
	if (fd < 0)
		return false;
	conn_keep_upstream(c);
	conn_close_upstream(c);
	conn_attach_upstream(c, fd);
	c->up_host = c->host;
	c->up_port = c->port;
	return true;
}

/* Decided: allowed. To the open connection if it leads there, else to a new one. */
static void forward_to(
	struct door_conn *c, const struct bawn_egress_ask *ask, const struct bawn_egress_answer *a)
{
	if (!conn_within_budget(c, true))
		return;
	if (same_upstream(c) || take_pooled(c)) {
		report_decision(c->door, ask, a, NULL);
		c->x.reused = true;
		forward_start(c);
		return;
	}
	c->x.reused = false;
	dial_start(c, a, ask->method);
}

/* What the request at hand asks for. False: it cannot be decided about. */
static bool make_ask(struct door_conn *c, struct bawn_egress_ask *ret)
{
	static char path[BAWN_HTTP_HEAD_MAX + 1];
	static char method[24];
	const struct bawn_http_request *r = &c->door->request;

	*ret = (struct bawn_egress_ask){.way = BAWN_WAY_HTTP,
		.host = &c->host,
		.port = c->port,
		.method = method,
		.path = path};
	return copy(method, sizeof(method), r->method) && copy(path, sizeof(path), r->path);
}

static void decide_request(struct door_conn *c, const struct bawn_http_request *r)
{
	struct bawn_egress_answer a = {0};
	struct bawn_egress_ask ask;

	if (!c->pinned) {
		c->host = r->host;
		c->port = r->port;
		c->entry = DOOR_BY_HTTP;
	}
	if (!make_ask(c, &ask))
		conn_deny(c, 400, "http", "method or path is too long");
	else if (!door_decide(c->door, &ask, false, &a))
		conn_refuse(c, 403, a.reason);
	else
		forward_to(c, &ask, &a);
}

void forward_again(struct door_conn *c)
{
	struct bawn_egress_answer a = {0};
	struct bawn_egress_ask ask;
	int status;

	c->x.reused = false;
	if (bawn_http_request_parse(c->up.in, c->up.len, &c->door->request, &status, NULL) <= 0 ||
		!make_ask(c, &ask) || !door_decide(c->door, &ask, false, &a))
		conn_close(c);
	else
		dial_start(c, &a, ask.method);
}

static void start_connect(struct door_conn *c, const struct bawn_http_request *r)
{
	c->entry = DOOR_BY_CONNECT;
	c->host = r->host;
	names_undo(c->door->names, &c->host);
	c->port = r->port;
	lane_consume(&c->up, r->head_len);
	conn_close_upstream(c); /* of an earlier request */
	tunnel_ask(c);
}

void forward_head(struct door_conn *c)
{
	struct bawn_http_request *r = &c->door->request;
	struct bawn_error err = {0};
	const char *why = "";
	int status = 400;
	int got;

	if (!c->up.len) {
		if (c->up.eof)
			conn_close(c);
		return;
	}
	if (!c->pinned)
		c->entry = DOOR_BY_HTTP;
	got = bawn_http_request_parse(c->up.in, c->up.len, r, &status, &err);
	if (got == 0 && c->up.eof) {
		conn_close(c);
		return;
	}
	if (got == 0)
		return;
	if (got < 0) {
		conn_deny(c, status, "http", err.msg);
		return;
	}
	status = objection(c, r, &why);
	if (status)
		conn_deny(c, status, status == 407 ? "token" : "http", why);
	else if (r->form == BAWN_FORM_AUTHORITY)
		start_connect(c, r);
	else
		decide_request(c, r);
}
