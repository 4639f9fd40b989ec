/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads for the next hop. What is meant for this hop only stays here: Connection and what it names,
 * the Proxy-* headers with the token among them, Upgrade. Host is written from the canonical host
 * that was decided about, not copied.
 */
#include <string.h>
#include <strings.h>

#include "egress/door.h"

static const char *const hop_by_hop[] = {"Connection", "Proxy-Connection", "Keep-Alive",
	"Proxy-Authenticate", "Proxy-Authorization", "Proxy-Authentication-Info", "TE", "Trailer",
	"Transfer-Encoding", "Upgrade", "HTTP2-Settings"};

static bool same(struct bawn_slice s, const char *word, size_t n)
{
	return s.n == n && !strncasecmp(s.p, word, n);
}

/* Is `name` one of the words of a Connection header? */
static bool named(struct bawn_slice list, struct bawn_slice name)
{
	size_t at = 0;

	while (at < list.n) {
		size_t end = at;
		size_t from = at;

		while (end < list.n && list.p[end] != ',')
			end++;
		at = end + 1;
		while (from < end && (list.p[from] == ' ' || list.p[from] == '\t'))
			from++;
		while (end > from && (list.p[end - 1] == ' ' || list.p[end - 1] == '\t'))
			end--;
		if (same(name, list.p + from, end - from))
			return true;
	}
	return false;
}

static bool stays_here(
	const struct bawn_http_header *h, const struct bawn_http_header *all, size_t n)
{
	for (size_t i = 0; i < sizeof(hop_by_hop) / sizeof(hop_by_hop[0]); i++)
		if (same(h->name, hop_by_hop[i], strlen(hop_by_hop[i])))
			return true;
	/* framing and Host are never hop-by-hop, whatever Connection says */
	if (same(h->name, "Content-Length", 14) || same(h->name, "Host", 4))
		return false;
	for (size_t i = 0; i < n; i++)
		if (same(all[i].name, "Connection", 10) && named(all[i].value, h->name))
			return true;
	return false;
}

static bool say(struct door_lane *l, const char *text)
{
	return lane_say(l, text, strlen(text));
}

/* What the door decides itself where secrets are bound: an answer must be readable, and whole. */
static bool is_ours(const struct bawn_http_header *h)
{
	return same(h->name, "Accept-Encoding", 15) || same(h->name, "Accept-Charset", 14) ||
	       same(h->name, "Range", 5) || same(h->name, "If-Range", 8);
}

static bool say_value(struct door_conn *c, const struct bawn_http_header *h, uint32_t *used)
{
	const struct bawn_secrets_where where = {&c->host, c->port, c->ended};
	struct door_lane *l = &c->up;
	int64_t n;

	if (!c->x.bound)
		return lane_say(l, h->value.p, h->value.n);
	n = bawn_secrets_put(c->door->secrets, &where, h->name, h->value, l->head + l->head_len,
		DOOR_BLOCK - l->head_len, used);
	if (n < 0)
		return false;
	l->head_len += (size_t)n;
	return true;
}

static bool say_request_headers(
	struct door_conn *c, const struct bawn_http_request *r, uint32_t *used)
{
	struct door_lane *l = &c->up;

	for (size_t i = 0; i < r->n_headers; i++) {
		const struct bawn_http_header *h = &r->headers[i];

		if (stays_here(h, r->headers, r->n_headers) || same(h->name, "Host", 4) ||
			(c->x.bound && is_ours(h)))
			continue;
		if (!lane_say(l, h->name.p, h->name.n) || !say(l, ": ") || !say_value(c, h, used) ||
			!say(l, "\r\n"))
			return false;
	}
	return !c->x.bound || say(l, "Accept-Encoding: identity\r\n");
}

static bool say_host(struct door_conn *c, const struct bawn_http_request *r)
{
	char text[BAWN_HOST_MAX + 32];
	bool v6 = r->host.kind == BAWN_HOST_V6;
	/* behind TLS the connection says it, since a Host without a port means another one there */
	uint16_t port = c->ended ? c->port : r->port;
	int n = snprintf(
		text, sizeof(text), "Host: %s%s%s", v6 ? "[" : "", r->host.text, v6 ? "]" : "");

	if (n > 0 && port != (c->ended ? 443 : 80))
		n += snprintf(text + n, sizeof(text) - (size_t)n, ":%u", port);
	return n > 0 && lane_say(&c->up, text, (size_t)n) && say(&c->up, "\r\n");
}

bool rewrite_request(struct door_conn *c, const struct bawn_http_request *r)
{
	struct door_lane *l = &c->up;
	uint32_t used = 0;
	const char *connection = c->x.websocket  ? "Connection: Upgrade\r\nUpgrade: websocket\r\n"
				 : r->minor == 0 ? "Connection: close\r\n"
						 : "";

	if (!lane_say(l, r->method.p, r->method.n) || !say(l, " ") ||
		!lane_say(l, r->path.p, r->path.n) ||
		!say(l, r->minor == 0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n") || !say_host(c, r) ||
		!say_request_headers(c, r, &used) ||
		(r->body == BAWN_BODY_CHUNKED && !say(l, "Transfer-Encoding: chunked\r\n")) ||
		!say(l, connection) || !say(l, "\r\n"))
		return false;
	for (size_t i = 0; used >> i; i++)
		if (used >> i & 1)
			report_injected(c->door, c, c->door->secrets->v[i].name);
	return true;
}

/* A text of the server's; where secrets are bound it could have one in it. */
static bool say_theirs(struct door_conn *c, const char *p, size_t n)
{
	struct door_lane *l = &c->down;

	if (!lane_say(l, p, n))
		return false;
	if (c->x.bound)
		bawn_mask_text(c->door->secrets->mask, l->head + l->head_len - n, n);
	return true;
}

static bool say_response_headers(struct door_conn *c, const struct bawn_http_response *r)
{
	struct door_lane *l = &c->down;

	for (size_t i = 0; i < r->n_headers; i++) {
		const struct bawn_http_header *h = &r->headers[i];

		if (stays_here(h, r->headers, r->n_headers))
			continue;
		if (same(h->name, "Content-Length", 14)) { /* a number that was read as one */
			if (!lane_say(l, h->name.p, h->name.n) || !say(l, ": ") ||
				!lane_say(l, h->value.p, h->value.n) || !say(l, "\r\n"))
				return false;
		} else if (!say_theirs(c, h->name.p, h->name.n) || !say(l, ": ") ||
			   !say_theirs(c, h->value.p, h->value.n) || !say(l, "\r\n")) {
			return false;
		}
	}
	return true;
}

bool rewrite_response(struct door_conn *c, const struct bawn_http_response *r)
{
	struct door_lane *l = &c->down;
	const struct door_exchange *x = &c->x;
	const char *line = memchr(l->in, ' ', r->head_len);
	const char *end = memchr(l->in, '\r', r->head_len);
	const char *connection = r->status == 101  ? "Connection: Upgrade\r\nUpgrade: websocket\r\n"
				 : r->status < 200 ? ""
				 : !x->client_keep ? "Connection: close\r\n"
				 : x->minor == 0   ? "Connection: keep-alive\r\n"
						   : "";
	const size_t code = 4; /* the blank before it, too */

	if (!line || !end || line > end || (size_t)(end - line) < code)
		return false;
	return say(l, "HTTP/1.1") && lane_say(l, line, code) &&
	       say_theirs(c, line + code, (size_t)(end - line) - code) && say(l, "\r\n") &&
	       say_response_headers(c, r) &&
	       (r->body != BAWN_BODY_CHUNKED || say(l, "Transfer-Encoding: chunked\r\n")) &&
	       say(l, connection) && say(l, "\r\n");
}
