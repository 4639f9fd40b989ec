/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network through the door: where it listens inside, what it is told, and what makes programs
 * find it: a resolver file and the proxy variables. Programs that look at neither are redirected.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/build.h"

#define FIRST_PORT  63128 /* above what the kernel gives out by itself */
#define RESOLV_CONF "/etc/resolv.conf"

bool plan_needs_door(const struct bawn_policy *p)
{
	return p->net_mode < BAWN_NET_DENY && p->level != BAWN_LEVEL_NONE &&
	       p->isolation != BAWN_ISO_OFF;
}

static bool is_relayed(const struct bawn_policy *p, uint16_t port)
{
	for (size_t i = 0; i < p->net_loopback.n; i++)
		if (strtoul(p->net_loopback.v[i].text, NULL, 10) == port)
			return true;
	return false;
}

/* A port of the host's loopback has the same number inside: ours make room for it. */
static uint16_t free_port(const struct bawn_policy *p, uint16_t port)
{
	while (is_relayed(p, port))
		port++;
	return port;
}

static const char *const *texts_of(struct bawn_arena *a, const struct bawn_items *items)
{
	const char **v = bawn_new(a, const char *, items->n + 1);

	for (size_t i = 0; v && i < items->n; i++)
		v[i] = items->v[i].text;
	return v;
}

/*
 * Where the file is a link (systemd-resolved), what it leads to is made. Where it is missing
 * nothing can be made in the host's /etc, and nothing needs to: resolvers then ask 127.0.0.1.
 */
static int add_resolver(struct plan_builder *b, struct bawn_error *err)
{
	const char *real = RESOLV_CONF;

	if (plan_cover(b, RESOLV_CONF) && bawn_path_resolve(b->a, RESOLV_CONF, &real) < 0)
		return 0;
	return plan_add_mount(b,
		(struct bawn_mount){.kind = BAWN_MNT_FILE,
			.src = "nameserver 127.0.0.1\n",
			.dst = real,
			.rule = "network.mode"},
		err);
}

int bawn_plan_egress(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_egress_plan **ret, struct bawn_error *err)
{
	struct bawn_egress_plan *e;

	*ret = NULL;
	if (!plan_needs_door(p))
		return 0;
	if (is_relayed(p, BAWN_DNS_PORT))
		return bawn_fail(err, BAWN_ERR_PLAN, -EADDRINUSE,
			"network.loopback_ports: %d is the resolver's inside; it cannot be passed through in network.mode '%s'",
			BAWN_DNS_PORT, bawn_enum_name("netmode", p->net_mode));
	e = bawn_new(a, struct bawn_egress_plan, 1);
	if (!e)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	*e = (struct bawn_egress_plan){
		.mode = p->net_mode,
		.allow = texts_of(a, &p->net_allow_hosts),
		.block = texts_of(a, &p->net_block_hosts),
		.development = p->net_development,
		.ssrf = p->ssrf_enabled,
		.block_private = p->ssrf_private,
		.host_bytes = p->net_host_bytes,
		.host_rate_milli = p->net_host_rate,
	};
	e->proxy_port = free_port(p, FIRST_PORT);
	e->capture_port = free_port(p, (uint16_t)(e->proxy_port + 1));
	if (!e->allow || !e->block)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	*ret = e;
	return 0;
}

int plan_make_egress(struct plan_builder *b, struct bawn_error *err)
{
	int r = bawn_plan_egress(b->a, b->p, &b->plan->egress, err);

	return r == 0 && b->plan->egress ? add_resolver(b, err) : r;
}

int plan_proxy_env(
	const struct plan_builder *b, void (*put)(void *, const char *, const char *), void *data)
{
	static const char *const names[] = {
		"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"};
	static const char *const local[] = {"NO_PROXY", "no_proxy"};
	const struct bawn_egress_plan *e = b->plan->egress;
	const char *url;

	if (!e)
		return 0;
	/* http and not socks5h for all: some libraries fail at once on a scheme they do not know */
	url = bawn_arena_printf(b->a, "http://127.0.0.1:%u", e->proxy_port);
	if (!url)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put(data, names[i], url);
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		put(data, local[i], "localhost,127.0.0.1,::1");
	put(data, "NODE_USE_ENV_PROXY", "1");
	return 0;
}
