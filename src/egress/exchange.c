/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request and its answer. Both bodies are followed byte by byte (length or chunks), so that
 * both sides and the door always agree where a message ends; what does not fit ends the connection.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "egress/door.h"

static bool is(struct bawn_slice s, const char *word)
{
	return s.n == strlen(word) && !strncasecmp(s.p, word, s.n);
}

static bool names_websocket(const struct bawn_http_request *r)
{
	for (size_t i = 0; i < r->n_headers; i++)
		if (is(r->headers[i].name, "Upgrade") && is(r->headers[i].value, "websocket"))
			return true;
	return false;
}

/* An upgrade makes the rest of the connection a tunnel: only to WebSocket, and only where a rule
 * allows a tunnel (one with a method or a path does not). Else the wish is left out. */
static bool wants_websocket(struct door_conn *c, const struct bawn_http_request *r)
{
	struct bawn_egress_ask ask = {.way = BAWN_WAY_CONNECT, .host = &c->host, .port = c->port};
	struct bawn_egress_answer a = {0};

	if (!r->upgrade || r->body != BAWN_BODY_NONE)
		return false;
	if (!names_websocket(r))
		return false;
	bawn_egress_decide(c->door->config.rules, &ask, &a);
	return a.allowed;
}

/* What cannot be done at a host that secrets are bound to. */
static const char *bound_objection(const struct bawn_http_request *r)
{
	if (is(r->method, "TRACE"))
		return "TRACE sends back what it is sent, and secrets are bound to this host";
	if (r->upgrade && names_websocket(r))
		return "secrets are bound to this host, and they cannot be looked for in a "
		       "WebSocket";
	return NULL;
}

/* The head is parsed a second time when a connection had to be made first: nothing of the first
 * time is kept meanwhile. */
void forward_start(struct door_conn *c)
{
	struct bawn_http_request *r = &c->door->request;
	struct door_exchange *x = &c->x;
	int status = 400;
	bool reused = x->reused;
	const char *why;

	if (bawn_http_request_parse(c->up.in, c->up.len, r, &status, NULL) <= 0) {
		conn_close(c);
		return;
	}
	*x = (struct door_exchange){
		.up_body = r->body,
		.up_left = r->length,
		.minor = r->minor,
		.head_only = is(r->method, "HEAD"),
		.up_done = r->body == BAWN_BODY_NONE,
		.client_keep = r->keep_alive,
		.reused = reused,
	};
	x->bound = bawn_secrets_bound(c->door->secrets, &c->host, c->port, c->ended);
	why = x->bound ? bound_objection(r) : NULL;
	if (why) {
		conn_deny(c, 403, "secrets", why);
		return;
	}
	x->websocket = wants_websocket(c, r);
	if (!rewrite_request(c, r)) {
		conn_refuse(c, 431, "the request head is too long");
		return;
	}
	if (x->up_done && reused)
		x->kept = r->head_len;
	else
		lane_consume(&c->up, r->head_len);
	c->phase = DOOR_TALK;
	conn_wait(c, c->door->config.timeouts.idle);
}

/* Let more of `l` pass as body. False: it is not well-formed. */
static bool pass_body(struct door_lane *l, enum bawn_http_body kind, uint64_t *left,
	struct bawn_http_chunks *chunks, bool *done)
{
	size_t have = l->len - l->ok;
	int64_t n = 0;

	switch (kind) {
	case BAWN_BODY_NONE:
		*done = true;
		break;
	case BAWN_BODY_LENGTH:
		n = (int64_t)(*left < have ? *left : have);
		*left -= (uint64_t)n;
		*done = !*left;
		break;
	case BAWN_BODY_CHUNKED:
		n = have ? bawn_http_chunks_feed(chunks, l->in + l->ok, have, done) : 0;
		break;
	case BAWN_BODY_UNTIL_CLOSE:
		n = (int64_t)have;
		*done = l->eof;
		break;
	}
	if (n < 0)
		return false;
	l->ok += (size_t)n;
	return true;
}

static void start_answer(struct door_conn *c, const struct bawn_http_response *r)
{
	struct door_exchange *x = &c->x;

	x->down_body = r->body;
	x->down_left = r->length;
	if (x->head_only || r->status == 204 || r->status == 304)
		x->down_body = BAWN_BODY_NONE;
	x->up_keep = r->keep_alive && x->down_body != BAWN_BODY_UNTIL_CLOSE;
	/* a body that was not taken whole leaves bytes that would be read as the next request */
	if (x->down_body == BAWN_BODY_UNTIL_CLOSE || !x->up_done || c->up.eof)
		x->client_keep = false;
	x->down_started = true;
	conn_wait(c, c->door->config.timeouts.idle);
}

/* 101 to the upgrade that was passed on: from here on both sides speak something else. */
static void switch_protocols(struct door_conn *c)
{
	c->up.ok = c->up.len;
	c->down.ok = c->down.len;
	c->replied = true;
	c->phase = DOOR_RAW;
}

/* False, after a refusal, for an answer that cannot be passed on; `got` is what the parser said. */
static bool answer_fits(
	struct door_conn *c, const struct bawn_http_response *r, int got, char *why_not)
{
	const char *why;

	if (got <= 0 || (r->status == 101 && !c->x.websocket) ||
		(c->x.minor == 0 && r->body == BAWN_BODY_CHUNKED && !c->x.head_only)) {
		if (c->x.bound) /* it may quote the server */
			bawn_mask_text(c->door->secrets->mask, why_not, strlen(why_not));
		conn_refuse(c, 502, got < 0 ? why_not : "the server's answer cannot be passed on");
		return false;
	}
	why = c->x.bound ? masked_objection(c, r) : NULL;
	if (why)
		conn_deny(c, 502, "secrets", why);
	return !why;
}

/* The head of the answer, if it is there. False: the connection ended or changed. */
static bool answer_head(struct door_conn *c)
{
	struct bawn_http_response *r = &c->door->response;
	struct bawn_error err = {0};
	int got = c->down.len ? bawn_http_response_parse(c->down.in, c->down.len, r, &err) : 0;

	if (got == 0 && c->down.eof) {
		if (c->x.kept && !c->down.len)
			forward_again(c);
		else if (c->x.reused && !c->down.len)
			conn_close(c); /* it closed while we asked: the client may ask again */
		else
			conn_refuse(c, 502, "the server closed without an answer");
		return false;
	}
	if (got == 0 && c->down.len < DOOR_BLOCK)
		return false;
	lane_consume(&c->up, c->x.kept);
	c->x.kept = 0;
	if (!answer_fits(c, r, got, err.msg))
		return false;
	if (r->status >= 200)
		start_answer(c, r);
	if (r->status < 200 && r->status != 101 && c->x.minor == 0) {
		lane_consume(&c->down, r->head_len);
		return true;
	}
	if (!rewrite_response(c, r) || (c->x.bound && !masked_start(c))) {
		conn_close(c);
		return false;
	}
	lane_consume(&c->down, r->head_len);
	if (r->status == 101) {
		switch_protocols(c);
		return false;
	}
	return true;
}

/* Both messages are through. */
static void talk_done(struct door_conn *c)
{
	struct door_exchange *x = &c->x;

	masked_done(c);
	if (!x->up_keep || !x->up_done || c->down.len || c->up.broken || c->down.eof)
		conn_close_upstream(c);
	if (!x->client_keep || !x->up_done) {
		conn_keep_upstream(c);
		/* bytes that nobody reads would turn the close into a reset */
		if (x->up_done && !c->up.len)
			conn_close(c);
		else
			conn_finish(c);
		return;
	}
	c->phase = DOOR_HEAD;
	conn_wait(c, c->up.len ? c->door->config.timeouts.head : c->door->config.timeouts.idle);
}

/* As much of the answer's body as there is and as the client takes. False: that was the end. */
static bool pass_answer(struct door_conn *c)
{
	struct door_exchange *x = &c->x;
	size_t before;
	uint64_t total;

	do {
		before = c->down.len;
		total = c->down.total;
		if (!x->down_done && !(x->bound ? masked_body(c)
						: pass_body(&c->down, x->down_body, &x->down_left,
							  &x->down_chunks, &x->down_done))) {
			conn_reset(c);
			return false;
		}
		if (!lane_flush(c, &c->down, c->client.fd)) {
			conn_close(c);
			return false;
		}
		/* what went out made room for what is still there */
	} while (x->bound && !x->down_done && !lane_pending(&c->down) &&
		 (c->down.len != before || c->down.total != total));
	return true;
}

void forward_talk(struct door_conn *c)
{
	struct door_exchange *x = &c->x;

	if (!conn_within_budget(c, false))
		return;

	if (!x->up_done &&
		!pass_body(&c->up, x->up_body, &x->up_left, &x->up_chunks, &x->up_done)) {
		conn_deny(c, 400, "http", "the chunks of the request body are malformed");
		return;
	}
	if (!x->up_done && c->up.eof && c->up.len == c->up.ok) {
		conn_close(c); /* half a request: the server must not take it for a whole one */
		return;
	}
	while (!x->down_started)
		if (!answer_head(c))
			return;
	if (!pass_answer(c) || lane_pending(&c->down))
		return;
	if (x->down_done)
		talk_done(c);
	else if (c->down.eof && !c->down.len)
		conn_reset(c); /* cut short: the client must see that */
}
