/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy and the door read rules with code of their own, for the policy has no IDN library.
 * What the policy takes the door must take too, and mean the same hosts and ports by it.
 */
#include <arpa/inet.h>

#include "base/netrule.h"
#include "egress/rules.h"
#include "harness.h"

static const char *const methods[] = {"", "GET ", "get,Head ", "M-SEARCH "};
static const char *const hosts[] = {"example.org", "Example.ORG.", "*.example.org", ".example.org",
	"*", "a_b.example.org", "xn--bcher-kva.example.org", "localhost", "*.com", ".org",
	"10.1.2.3", "10.0.0.0/8", "93.184.216.0/24", "0.0.0.0/0", "2606:2800:220::1",
	"[2606:2800:220::1]", "2606:2800::/32", "[2606:2800::]/32", "::ffff:10.1.2.3", "10.*",
	"1.2.3", "0x7f.1", "-a.org", "a..b", "x.test#", "[10.1.2.3]", "example.org.."};
static const char *const ports[] = {"", ":80", ":443", ":8443", ":*", ":0", ":65536", ":x", ":"};
static const char *const paths[] = {
	"", "/", "/a/*", "/a/**/b", "/a?b", "//a", "/..", "/a%2f", "/1"};
static const char *const asked[] = {"example.org", "a.example.org", "b.a.example.org",
	"aexample.org", "example.com", "org", "localhost", "10.1.2.3", "10.255.0.1",
	"93.184.216.34", "2606:2800:220::1", "2606:2800:1::1", "2001:db8::1"};
static const uint16_t to[] = {22, 80, 443, 8443};

#define N(a) (sizeof(a) / sizeof((a)[0]))

static bool policy_says(const struct bawn_netrule *r, const struct bawn_host *h, uint16_t port)
{
	bool host = h->kind == BAWN_HOST_NAME
			    ? bawn_netrule_has_name(r, h->text)
			    : bawn_netrule_has_address(
				      r, h->kind == BAWN_HOST_V4 ? AF_INET : AF_INET6, h->addr);

	return host && bawn_netrule_has_port(r, port);
}

static bool door_says(
	const struct bawn_egress_rules *rules, const struct bawn_host *h, uint16_t port)
{
	struct bawn_egress_ask ask = {.way = BAWN_WAY_CONNECT, .host = h, .port = port};
	struct bawn_egress_answer a = {0};

	bawn_egress_decide(rules, &ask, &a);
	return a.allowed;
}

static void compare(const char *text, const struct bawn_netrule *r)
{
	const char *const allow[] = {text, NULL};
	struct bawn_egress_source src = {.mode = BAWN_EGRESS_ALLOWLIST,
		.allow = allow,
		.ssrf = true,
		.block_private = true,
		.host_bytes = UINT64_MAX};
	struct bawn_egress_rules *rules = NULL;
	struct bawn_error err = {0};

	if (bawn_egress_rules_compile(&src, &rules, &err) < 0)
		FAIL("the door does not take '%s': %s", text, err.msg);
	for (size_t i = 0; !*r->methods && !*r->path && i < N(asked) * N(to); i++) {
		const char *name = asked[i / N(to)];
		struct bawn_host h;

		ASSERT_TRUE(bawn_host_parse(name, strlen(name), &h, NULL) >= 0);
		if (policy_says(r, &h, to[i % N(to)]) != door_says(rules, &h, to[i % N(to)]))
			FAIL("'%s' and %s:%u: they differ", text, name, to[i % N(to)]);
	}
	(void)bawn_egress_rules_free(rules);
}

static bool check(size_t n)
{
	char text[400], clean[BAWN_NETRULE_TEXT_MAX];
	struct bawn_netrule r;
	const char *why = NULL;

	(void)snprintf(text, sizeof(text), "%s%s%s%s", methods[n % N(methods)],
		hosts[n / N(methods) % N(hosts)], ports[n / N(methods) / N(hosts) % N(ports)],
		paths[n / N(methods) / N(hosts) / N(ports)]);
	if (bawn_netrule_parse(text, &r, &why) < 0 || bawn_netrule_is_wide(&r))
		return false;
	bawn_netrule_format(&r, clean);
	compare(clean, &r);
	return true;
}

TEST(what_the_policy_takes_the_door_takes)
{
	size_t taken = 0;

	for (size_t n = 0; n < N(methods) * N(hosts) * N(ports) * N(paths); n++)
		taken += check(n);
	ASSERT_TRUE(taken > 500);
}
