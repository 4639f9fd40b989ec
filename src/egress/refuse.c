/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same refusal in the words of each way in: at once, well-formed, and where there is room for
 * words with a reason that says what to do. Never a hang.
 */
#include <errno.h>

#include "egress/door.h"

static const struct {
	int status;
	const char *phrase;
} phrases[] = {
	{400, "Bad Request"},
	{403, "Forbidden"},
	{405, "Method Not Allowed"},
	{407, "Proxy Authentication Required"},
	{408, "Request Timeout"},
	{414, "URI Too Long"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{501, "Not Implemented"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
};

static const char *phrase_of(int status)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Refused";
}

/* The connection ends after this: what the client still sends belongs to what was refused. */
static void refuse_http(struct door_conn *c, int status, const char *reason)
{
	char text[BAWN_ERROR_MSG_MAX + 320];
	int body = snprintf(NULL, 0, "bawn: %s\n", reason);
	int n = snprintf(text, sizeof(text),
		"HTTP/1.1 %d %s\r\n"
		"Content-Type: text/plain; charset=utf-8\r\n"
		"Content-Length: %d\r\n"
		"Cache-Control: no-store\r\n"
		"%s"
		"Connection: close\r\n"
		"\r\n"
		"bawn: %s\n",
		status, phrase_of(status), body,
		status == 407 ? "Proxy-Authenticate: Basic realm=\"bawn\"\r\n" : "", reason);

	if (n < 0 || (size_t)n >= sizeof(text) || !lane_say(&c->down, text, (size_t)n)) {
		conn_close(c);
		return;
	}
	conn_finish(c);
}

static void refuse_socks(struct door_conn *c, int status)
{
	int code = status == 403 || status == 407 || status == 429 ? 2
		   : status == 400                                 ? 1
		   : status == 502                                 ? 5
								   : 4;

	if (c->trial && c->trial->last_errno != ECONNREFUSED && code == 5)
		code = 4;
	if (socks_reply(c, code))
		conn_finish(c);
	else
		conn_close(c);
}

/* The client of a tunnel that was announced speaks TLS, or should have: it gets an alert. */
static void refuse_tls(struct door_conn *c)
{
	static const uint8_t alert[] = {21, 3, 1, 0, 2, 2, 49}; /* fatal, access denied */

	bool tls = c->up.len && c->up.in[0] == 22 && !c->down.ok && !c->down.piped;

	if (tls && !lane_say(&c->down, alert, sizeof(alert)))
		conn_close(c);
	else if (c->down.head)
		conn_finish(c);
	else
		conn_reset(c);
}

void conn_refuse(struct door_conn *c, int status, const char *reason)
{
	if (c->entry == DOOR_BY_HTTP || c->pinned) {
		if (c->phase == DOOR_TALK && c->x.down_started)
			conn_reset(c); /* half an answer must not look like a whole one */
		else
			refuse_http(c, status, reason);
	} else if (c->replied) {
		refuse_tls(c);
	} else if (c->entry == DOOR_BY_CONNECT) {
		refuse_http(c, status, reason);
	} else if (c->entry == DOOR_BY_SOCKS4 || c->entry == DOOR_BY_SOCKS5) {
		refuse_socks(c, status);
	} else {
		conn_reset(c);
	}
}

void conn_note_denial(
	struct door_conn *c, const char *rule, const char *why, struct bawn_egress_answer *ret)
{
	struct bawn_egress_ask ask = {.way = door_way(c->entry), .host = &c->host, .port = c->port};
	struct bawn_egress_answer a = {0};

	(void)snprintf(a.rule, sizeof(a.rule), "%s", rule);
	if (c->host.text[0])
		(void)snprintf(
			a.reason, sizeof(a.reason), "'%s' port %u: %s", c->host.text, c->port, why);
	else
		(void)snprintf(a.reason, sizeof(a.reason), "%s", why);
	c->door->blocked++;
	if (c->host.text[0])
		budget_blocked(c->door, &c->host);
	report_decision(c->door, &ask, &a, NULL);
	if (ret)
		*ret = a;
}

void conn_deny(struct door_conn *c, int status, const char *rule, const char *why)
{
	struct bawn_egress_answer a = {0};

	conn_note_denial(c, rule, why, &a);
	conn_refuse(c, status, a.reason);
}

bool conn_within_budget(struct door_conn *c, bool request)
{
	if (request || !c->stats)
		c->stats = budget_host(c->door, &c->host);
	if (!c->stats || !budget_left(c->door, c->stats))
		conn_deny(c, 403, "network.host_bytes",
			"the byte budget for this host is used up; more in 'network.host_bytes'");
	else if (request && !budget_request(c->door, c->stats))
		conn_deny(c, 429, "network.host_rate",
			"too many requests per second for this host; wait, or more in "
			"'network.host_rate'");
	else
		return true;
	return false;
}
