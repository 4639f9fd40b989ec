/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to the questions of confined programs. No question is ever passed on: an allowed name
 * gets its synthetic address whether it exists or not, any other name does not exist, and there is
 * no record of another kind to carry anything out or in.
 */
#include <errno.h>

#include "egress/dns.h"
#include "egress/door.h"

#define TTL       30
#define ROUND_MAX 64 /* datagrams before others get their turn */

static enum bawn_dns_code answer_for(
	struct door *d, const struct bawn_dns_question *q, uint8_t addr[16], size_t *ret_len)
{
	struct bawn_egress_ask ask = {.way = BAWN_WAY_DNS, .host = &q->name};
	struct bawn_egress_answer a = {0};
	int family = q->type == BAWN_DNS_A ? AF_INET : AF_INET6;
	bool fresh = false;
	int64_t number;

	*ret_len = 0;
	if (q->name.kind != BAWN_HOST_NAME || q->type == BAWN_DNS_PTR)
		return BAWN_DNS_NXDOMAIN;
	if (!door_decide(d, &ask, false, &a))
		return BAWN_DNS_NXDOMAIN;
	if (q->type != BAWN_DNS_A && q->type != BAWN_DNS_AAAA)
		return BAWN_DNS_OK; /* it exists, but has nothing of that kind */
	number = names_number(d->names, &q->name, &fresh);
	if (number < 0)
		return BAWN_DNS_SERVFAIL;
	if (fresh)
		report_decision(d, &ask, &a, NULL);
	names_address((uint32_t)number, family, addr);
	*ret_len = family == AF_INET ? 4 : 16;
	return BAWN_DNS_OK;
}

/* Length of the answer; 0: none. */
static size_t dnsd_answer(struct door *d, const uint8_t *p, size_t n, uint8_t *dst, size_t size)
{
	struct bawn_dns_question q = {0};
	uint8_t addr[16];
	size_t len = 0;
	enum bawn_dns_code code = BAWN_DNS_FORMERR;
	int r;

	if (n < 12 || p[2] & 0x80) /* too short to have an id, or an answer itself */
		return 0;
	if (bawn_dns_question_parse(p, n, &q, NULL) < 0) {
		q = (struct bawn_dns_question){.id = (uint16_t)(p[0] << 8 | p[1])};
		code = BAWN_DNS_FORMERR;
	} else {
		code = answer_for(d, &q, addr, &len);
	}
	r = bawn_dns_answer(p, n, &q, code, addr, len, TTL, dst, size);
	return r > 0 ? (size_t)r : 0;
}

void dnsd_udp(struct door_listener *l)
{
	for (int i = 0; i < ROUND_MAX; i++) {
		uint8_t ask[BAWN_DNS_MAX], answer[BAWN_DNS_MAX];
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(l->fd, ask, sizeof(ask), MSG_DONTWAIT | MSG_TRUNC,
			(struct sockaddr *)&from, &len);
		size_t m;

		if (n < 0)
			return;
		if ((size_t)n > sizeof(ask))
			continue;
		m = dnsd_answer(l->door, ask, (size_t)n, answer, sizeof(answer));
		if (m)
			(void)sendto(l->fd, answer, m, MSG_DONTWAIT | MSG_NOSIGNAL,
				(struct sockaddr *)&from, len);
	}
}

void dnsd_tcp(struct door_conn *c)
{
	while (c->up.len >= 2 && !c->down.head) {
		const uint8_t *p = (const uint8_t *)c->up.in;
		size_t n = (size_t)(p[0] << 8 | p[1]);
		uint8_t answer[BAWN_DNS_MAX + 2];
		size_t m;

		if (n > BAWN_DNS_MAX) {
			conn_close(c);
			return;
		}
		if (c->up.len < n + 2)
			break;
		m = dnsd_answer(c->door, p + 2, n, answer + 2, BAWN_DNS_MAX);
		answer[0] = (uint8_t)(m >> 8);
		answer[1] = (uint8_t)m;
		lane_consume(&c->up, n + 2);
		if (!m || !lane_say(&c->down, answer, m + 2) ||
			!lane_flush(c, &c->down, c->client.fd)) {
			conn_close(c);
			return;
		}
		conn_wait(c, c->door->config.timeouts.head);
	}
	if (c->up.eof && !c->down.head)
		conn_close(c);
}
