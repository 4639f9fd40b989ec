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

static bool say_headers(struct door_lane *l, const struct bawn_http_header *v, size_t n, bool host)
{
	for (size_t i = 0; i < n; i++) {
		if (stays_here(&v[i], v, n) || (!host && same(v[i].name, "Host", 4)))
			continue;
		if (!lane_say(l, v[i].name.p, v[i].name.n) || !say(l, ": ") ||
			!lane_say(l, v[i].value.p, v[i].value.n) || !say(l, "\r\n"))
			return false;
	}
	return true;
}

static bool say_host(struct door_lane *l, const struct bawn_http_request *r)
{
	char text[BAWN_HOST_MAX + 32];
	bool v6 = r->host.kind == BAWN_HOST_V6;
	int n = r->port == 80 ? snprintf(text, sizeof(text), "Host: %s%s%s\r\n", v6 ? "[" : "",
					r->host.text, v6 ? "]" : "")
			      : snprintf(text, sizeof(text), "Host: %s%s%s:%u\r\n", v6 ? "[" : "",
					r->host.text, v6 ? "]" : "", r->port);

	return n > 0 && lane_say(l, text, (size_t)n);
}

bool rewrite_request(struct door_lane *l, const struct bawn_http_request *r, bool upgrade)
{
	const char *connection = upgrade         ? "Connection: Upgrade\r\nUpgrade: websocket\r\n"
				 : r->minor == 0 ? "Connection: close\r\n"
						 : "";

	return lane_say(l, r->method.p, r->method.n) && say(l, " ") &&
	       lane_say(l, r->path.p, r->path.n) &&
	       say(l, r->minor == 0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n") && say_host(l, r) &&
	       say_headers(l, r->headers, r->n_headers, false) &&
	       (r->body != BAWN_BODY_CHUNKED || say(l, "Transfer-Encoding: chunked\r\n")) &&
	       say(l, connection) && say(l, "\r\n");
}

bool rewrite_response(struct door_lane *l, const char *raw, const struct bawn_http_response *r,
	const struct door_exchange *x)
{
	const char *line = memchr(raw, ' ', r->head_len);
	const char *end = memchr(raw, '\r', r->head_len);
	const char *connection = r->status == 101  ? "Connection: Upgrade\r\nUpgrade: websocket\r\n"
				 : r->status < 200 ? ""
				 : !x->client_keep ? "Connection: close\r\n"
				 : x->minor == 0   ? "Connection: keep-alive\r\n"
						   : "";

	if (!line || !end || line > end)
		return false;
	return say(l, "HTTP/1.1") && lane_say(l, line, (size_t)(end - line)) && say(l, "\r\n") &&
	       say_headers(l, r->headers, r->n_headers, true) &&
	       (r->body != BAWN_BODY_CHUNKED || say(l, "Transfer-Encoding: chunked\r\n")) &&
	       say(l, connection) && say(l, "\r\n");
}
