/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of programs that know nothing of proxies. The kernel redirected them; it still knows
 * where they wanted to go. A synthetic address stands for the name it was given out for; any other
 * address stands for itself and passes only where a rule names it.
 */
#include <errno.h>

#include <arpa/inet.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "egress/door.h"

/* Without a redirect (TPROXY, or an address that is local here) the socket's own address is it. */
static bool original(int fd, struct sockaddr_storage *ret)
{
	socklen_t len = sizeof(*ret);

	if (getsockname(fd, (struct sockaddr *)ret, &len) < 0)
		return false;
	len = sizeof(struct sockaddr_in6);
	if (ret->ss_family == AF_INET6 &&
		getsockopt(fd, IPPROTO_IPV6, IP6T_SO_ORIGINAL_DST, ret, &len) == 0)
		return true;
	len = sizeof(struct sockaddr_in);
	/* an IPv6 listener may take IPv4 too */
	(void)getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, ret, &len);
	return ret->ss_family == AF_INET || ret->ss_family == AF_INET6;
}

/* ::ffff:a.b.c.d is a.b.c.d. */
static int unmap(const struct sockaddr_storage *sa, const uint8_t **ret, uint16_t *ret_port)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	if (sa->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

		*ret = (const uint8_t *)&in->sin_addr;
		*ret_port = ntohs(in->sin_port);
		return AF_INET;
	}
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

	*ret = (const uint8_t *)&in6->sin6_addr;
	*ret_port = ntohs(in6->sin6_port);
	if (memcmp(*ret, mapped, sizeof(mapped)) != 0)
		return AF_INET6;
	*ret += sizeof(mapped);
	return AF_INET;
}

void capture_start(struct door_conn *c)
{
	struct sockaddr_storage sa = {0};
	const uint8_t *addr = NULL;
	char text[INET6_ADDRSTRLEN];
	int family;

	if (!original(c->client.fd, &sa)) {
		conn_reset(c);
		return;
	}
	family = unmap(&sa, &addr, &c->port);
	if (!names_find(c->door->names, family, addr, &c->host) &&
		(!inet_ntop(family, addr, text, sizeof(text)) ||
			bawn_host_parse(text, strlen(text), &c->host, NULL) < 0)) {
		conn_reset(c);
		return;
	}
	tunnel_ask(c);
}
