/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host is told. Lines are collected during a round of the loop and sent as one message, so
 * that a busy door makes one system call for many decisions. A host that does not read never stops
 * the door: what does not fit is counted instead.
 */
#include <errno.h>
#include <poll.h>

#include "egress/door.h"

#define LINE_MAX_LEN 4096 /* the longest line there is, with everything escaped */
#define QUEUE_MAX    (4U << 20)

static const char *const way_names[] = {
	[BAWN_WAY_HTTP] = "http",
	[BAWN_WAY_CONNECT] = "connect",
	[BAWN_WAY_SOCKS] = "socks",
	[BAWN_WAY_CAPTURE] = "capture",
	[BAWN_WAY_DNS] = "dns",
};

static void put_text(struct bawn_buf *b, const char *key, const char *text)
{
	bawn_buf_printf(b, ",\"%s\":", key);
	(void)bawn_buf_json(b, text, strlen(text));
}

/* Room for one more line? */
static bool room(struct door *d)
{
	if (d->report.len + LINE_MAX_LEN <= QUEUE_MAX && !d->report.failed)
		return true;
	d->dropped++;
	return false;
}

void report_word(struct door *d, const char *word)
{
	bawn_buf_printf(&d->report, "{\"%s\":true}\n", word);
}

static void report_text(struct door *d, const char *key, const char *text)
{
	bawn_buf_printf(&d->report, "{\"%s\":", key);
	(void)bawn_buf_json(&d->report, text, strlen(text));
	bawn_buf_puts(&d->report, "}\n");
}

void report_error(struct door *d, const char *text)
{
	report_text(d, "error", text);
}

void report_ca(struct door *d, const char *pem)
{
	report_text(d, "ca", pem);
}

void report_injected(struct door *d, const struct door_conn *c, const char *name)
{
	struct bawn_buf *b = &d->report;

	if (!room(d))
		return;
	bawn_buf_printf(b, "{\"port\":%u", c->port);
	put_text(b, "injected", c->host.text);
	put_text(b, "rule", name);
	bawn_buf_puts(b, "}\n");
}

void report_decision(struct door *d, const struct bawn_egress_ask *ask,
	const struct bawn_egress_answer *a, const char *address)
{
	struct bawn_buf *b = &d->report;

	if (!room(d))
		return;
	bawn_buf_printf(b, "{\"decision\":\"%s\",\"way\":\"%s\",\"port\":%u",
		a->allowed ? "allow" : "deny", way_names[ask->way], ask->port);
	put_text(b, "host", ask->host->text);
	put_text(b, "rule", a->rule);
	if (a->reason[0])
		put_text(b, "reason", a->reason);
	if (ask->method)
		put_text(b, "method", ask->method);
	if (address)
		put_text(b, "address", address);
	bawn_buf_puts(b, "}\n");
}

void report_closed(struct door *d, const struct door_conn *c)
{
	struct bawn_buf *b = &d->report;

	if (!room(d))
		return;
	bawn_buf_puts(b, "{\"closed\":");
	(void)bawn_buf_json(b, c->up_host.text, strlen(c->up_host.text));
	bawn_buf_printf(b, ",\"port\":%u,\"sent\":%llu,\"received\":%llu,\"ms\":%lld}\n",
		c->up_port, (unsigned long long)c->up.total, (unsigned long long)c->down.total,
		(long long)(door_now() - c->started));
}

static void put_host(struct bawn_buf *b, const char *name, const struct door_host *h)
{
	bawn_buf_puts(b, "{\"host\":");
	(void)bawn_buf_json(b, name, strlen(name));
	bawn_buf_printf(b, ",\"allowed\":%llu,\"blocked\":%llu,\"sent\":%llu,\"received\":%llu}\n",
		(unsigned long long)h->allowed, (unsigned long long)h->blocked,
		(unsigned long long)h->sent, (unsigned long long)h->received);
}

void report_stats(struct door *d)
{
	struct bawn_buf *b = &d->report;

	for (size_t i = 0; i < sizeof(d->hosts) / sizeof(d->hosts[0]); i++)
		for (const struct door_host *h = d->hosts[i]; h; h = h->next)
			put_host(b, h->name, h);
	if (d->others->allowed || d->others->blocked)
		put_host(b, "(others)", d->others);
	bawn_buf_printf(b,
		"{\"stats\":{\"allowed\":%llu,\"blocked\":%llu,\"sent\":%llu,\"received\":%llu,"
		"\"connections\":%llu}}\n",
		(unsigned long long)d->allowed, (unsigned long long)d->blocked,
		(unsigned long long)d->sent, (unsigned long long)d->received,
		(unsigned long long)d->served);
}

/* Whole lines that fit into one message. */
static size_t message_len(const struct bawn_buf *b)
{
	size_t n = b->len;

	if (n <= BAWN_EGRESS_MSG_MAX)
		return n;
	n = BAWN_EGRESS_MSG_MAX;
	while (n && b->data[n - 1] != '\n')
		n--;
	return n;
}

void report_flush(struct door *d)
{
	struct bawn_buf *b = &d->report;

	if (d->dropped && b->len + LINE_MAX_LEN <= QUEUE_MAX / 2) {
		bawn_buf_printf(b, "{\"dropped\":%llu}\n", (unsigned long long)d->dropped);
		d->dropped = 0;
	}
	while (b->len) {
		size_t n = message_len(b);
		ssize_t sent = send(d->control, b->data, n - 1, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) /* the next round tries again; a host that is gone ends us */
			return;
		memmove(b->data, b->data + n, b->len - n);
		b->len -= n;
	}
	b->failed = 0;
}

void report_drain(struct door *d)
{
	for (int i = 0; i < 10 && d->report.len; i++) {
		struct pollfd p = {.fd = d->control, .events = POLLOUT};

		report_flush(d);
		if (d->report.len)
			(void)poll(&p, 1, 100);
	}
}
