/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>

#include "egress/rules.h"
#include "harness.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct bawn_egress_answer answer;

static struct bawn_egress_rules *compile(
	enum bawn_egress_mode mode, const char *const *allow, const char *const *block)
{
	struct bawn_egress_source src = {.mode = mode,
		.allow = allow,
		.block = block,
		.ssrf = true,
		.block_private = true,
		.host_bytes = UINT64_MAX};
	struct bawn_egress_rules *r = NULL;
	struct bawn_error err = {0};

	if (bawn_egress_rules_compile(&src, &r, &err) < 0)
		FAIL("%s", err.msg);
	return r;
}

static struct bawn_host host_of(const char *s)
{
	struct bawn_host h;
	struct bawn_error err = {0};

	if (bawn_host_parse(s, strlen(s), &h, &err) < 0)
		FAIL("%s", err.msg);
	return h;
}

static bool ask(const struct bawn_egress_rules *r, enum bawn_egress_way way, const char *host,
	uint16_t port, const char *method, const char *path)
{
	struct bawn_host h = host_of(host);
	struct bawn_egress_ask a = {way, &h, port, method, path};

	bawn_egress_decide(r, &a, &answer);
	if (!answer.rule[0] || (!answer.allowed && !answer.reason[0]))
		FAIL("no rule or no reason for '%s'", host);
	return answer.allowed;
}

static bool tunnel(const struct bawn_egress_rules *r, const char *host, uint16_t port)
{
	bool a = ask(r, BAWN_WAY_CONNECT, host, port, NULL, NULL);

	/* Every way in is decided alike. */
	ASSERT_EQ(a, ask(r, BAWN_WAY_SOCKS, host, port, NULL, NULL));
	ASSERT_EQ(a, ask(r, BAWN_WAY_CAPTURE, host, port, NULL, NULL));
	return a;
}

static bool matches(const char *rule, const char *host)
{
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_ALLOWLIST, LIST(rule), NULL);
	bool a = tunnel(r, host, 443);
	struct bawn_egress_rules *b = compile(BAWN_EGRESS_BLOCKLIST, NULL, LIST(rule));

	ASSERT_EQ(a, ask(r, BAWN_WAY_HTTP, host, 80, "GET", "/"));
	ASSERT_EQ(a, ask(r, BAWN_WAY_DNS, host, 0, NULL, NULL));
	ASSERT_EQ(a, !tunnel(b, host, 443));
	bawn_egress_rules_free(b);
	bawn_egress_rules_free(r);
	return a;
}

TEST(whole_labels)
{
	static const struct {
		const char *rule, *host;
		bool match;
	} t[] = {
		{"example.org", "example.org", true},
		{"example.org", "EXAMPLE.ORG.", true},
		{"Example.Org", "example.org", true},
		{"example.org.", "example.org", true},
		{"example.org", "api.example.org", false},
		{"example.org", "evil-example.org", false},
		{"example.org", "example.org.evil.net", false},
		{"example.org", "example.or", false},
		{"example.org", "xexample.org", false},
		{"*.example.org", "api.example.org", true},
		{"*.example.org", "a.b.c.example.org", true},
		{"*.example.org", "example.org", true},
		{"*.EXAMPLE.org", "api.example.org", true},
		{"*.example.org", "evil-example.org", false},
		{"*.example.org", "evilexample.org", false},
		{"*.example.org", "example.org.evil.net", false},
		{"*.example.org", "org", false},
		{".example.org", "api.example.org", true},
		{".example.org", "a.b.example.org", true},
		{".example.org", "example.org", false},
		{".example.org", "evilexample.org", false},
		{"*", "example.org", true},
		{"*", "192.0.2.1", true},
		{"*", "2001:db8::1", true},
		{"localhost", "localhost", true},
		/* Numbers: one address whatever its spelling; octets, not strings. */
		{"127.0.0.1", "0x7f000001", true},
		{"0177.1", "2130706433", true},
		{"127.0.0.1", "::ffff:127.0.0.1", true},
		{"::ffff:127.0.0.1", "127.1", true},
		{"10.*", "10.0.0.1", true},
		{"10.*", "110.0.0.1", false},
		{"10.*", "10.evil.example", false},
		{"169.254.*", "169.254.169.254", true},
		{"169.254.*", "10.0.0.1", false},
		{"192.168.*", "192.168.1.1", true},
		{"192.168.1.*", "192.168.1.255", true},
		{"192.168.1.*", "192.168.10.1", false},
		{"10.0.0.0/8", "10.255.255.255", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"10.0.0.0/9", "10.128.0.0", false},
		{"10.0.0.0/9", "10.127.255.255", true},
		{"0.0.0.0/0", "8.8.8.8", true},
		{"0.0.0.0/0", "2001:db8::1", false},
		{"0.0.0.0/0", "example.org", false},
		{"2001:db8::/32", "2001:db8:ffff::1", true},
		{"[2001:db8::]/33", "2001:db8:8000::1", false},
		{"[2001:DB8::1]", "2001:db8:0::1", true},
		{"2001:db8::1", "2001:db8::2", false},
		{"::/0", "8.8.8.8", false},
		{"192.0.2.1", "192.0.2.2", false},
		/* International names: the same name in any spelling, look-alikes are others. */
		{"bücher.example", "xn--bcher-kva.example", true},
		{"*.xn--bcher-kva.example", "a.BÜCHER.example", true},
		{"paypal.example", "раураl.example", false},
		{"*.example.org", "a.example。org", true},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (matches(t[i].rule, t[i].host) != t[i].match)
			FAIL("rule '%s' and host '%s'", t[i].rule, t[i].host);
}

TEST(bad_rules)
{
	static const char *const bad[] = {"", " ", "*.com", ".com", "*.xn--p1ai", "foo*.org",
		"a.*.org", "**.example.org", "*example.org", "*.*.org", "*.", ".",
		"http://example.org", "https://*.example.org/x", "example.org:", "example.org:0",
		"example.org:65536", "example.org:80:81", "example.org:http", "example.org:80x",
		"get example.org", "GET, example.org", ",GET example.org", "GET,,PUT example.org",
		"GET example.org x", "GET example.org /x", "example.org/a b", "10.0.0.1/8",
		"10.0.0.0/33", "10.0.0.0/999", "2001:db8::/129", "2001:db8::1/32",
		"::ffff:10.0.0.0/104", "::ffff:10.0.0.0/8", "*.10.0.0.1", ".::1", "1.2.3.*.*",
		"1.2.3.4.*", "256.*", "01.*", "example.1", "u@example.org", "exam\nple.org",
		"example.org/a?b", "example.org/a#b", "example.org/%61", "example.org/a/../b",
		"example.org/..", "example.org/./a", "example.org//a", "example.org/a;b", "[::1",
		"[::1]x", "fe80::1%eth0", "a..b", "example.org:*x", "-", "xn--a.org", "a\x7f"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bawn_egress_source src = {
			.mode = BAWN_EGRESS_ALLOWLIST, .allow = LIST("a.example", bad[i])};
		struct bawn_egress_rules *r = NULL;
		struct bawn_error err = {0};

		if (strcmp(bad[i], "-") == 0) /* odd but a name */
			continue;
		if (bawn_egress_rules_compile(&src, &r, &err) >= 0)
			FAIL("'%s' was accepted", bad[i]);
		ASSERT_TRUE(!r);
		ASSERT_EQ(err.kind, BAWN_ERR_POLICY);
		ASSERT_TRUE(strstr(err.msg, "rule"));
	}
}

TEST(rules_that_are_too_long)
{
	char text[400] = "example.org/";
	struct bawn_egress_source src = {.mode = BAWN_EGRESS_ALLOWLIST, .allow = LIST(text)};
	struct bawn_egress_rules *r = NULL;

	memset(text + 12, 'a', 299 - 12);
	ASSERT_EQ(bawn_egress_rules_compile(&src, &r, NULL), 0);
	r = bawn_egress_rules_free(r);
	text[299] = 'a';
	ASSERT_TRUE(bawn_egress_rules_compile(&src, &r, NULL) < 0);
}

TEST(empty_means_nothing)
{
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_ALLOWLIST, NULL, NULL);

	ASSERT_TRUE(!tunnel(r, "example.org", 443));
	ASSERT_TRUE(!ask(r, BAWN_WAY_DNS, "example.org", 0, NULL, NULL));
	bawn_egress_rules_free(r);
	r = compile(BAWN_EGRESS_ALLOWLIST, (const char *const[]){NULL}, NULL);
	ASSERT_TRUE(!tunnel(r, "example.org", 443));
	ASSERT_STREQ(answer.rule, "network.mode: allowlist");
	ASSERT_TRUE(strstr(answer.reason, "--allow-host 'example.org'"));
	bawn_egress_rules_free(r);
}

TEST(modes)
{
	static const struct {
		enum bawn_egress_mode mode;
		bool listed, blocked, other;
	} t[] = {
		{BAWN_EGRESS_DENY, false, false, false},
		{BAWN_EGRESS_ALLOWLIST, true, false, false},
		{BAWN_EGRESS_BLOCKLIST, true, false, true},
		{BAWN_EGRESS_OPEN, true, false, true},
		{BAWN_EGRESS_CLOSED, false, false, false},
		{(enum bawn_egress_mode)99, false, false, false},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bawn_egress_rules *r = compile(t[i].mode,
			LIST("*.example.org", "*.both.net"), LIST("*.both.net", "bad.net"));

		ASSERT_EQ(tunnel(r, "a.example.org", 443), t[i].listed);
		ASSERT_EQ(tunnel(r, "a.both.net", 443), t[i].blocked);
		ASSERT_EQ(tunnel(r, "bad.net", 443), t[i].blocked);
		ASSERT_EQ(tunnel(r, "other.net", 443), t[i].other);
		bawn_egress_rules_free(r);
	}
}

TEST(ports)
{
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_ALLOWLIST,
		LIST("plain.org", "ssh.org:22", "any.org:*", "[2001:db8::1]:8080",
			"10.0.0.0/8:5432"),
		LIST("*.any.org:25", "closed.any.org"));

	ASSERT_TRUE(tunnel(r, "plain.org", 443));
	ASSERT_TRUE(tunnel(r, "plain.org", 80));
	ASSERT_TRUE(!tunnel(r, "plain.org", 22));
	ASSERT_TRUE(strstr(answer.reason, "rule 'plain.org' does not cover the port"));
	ASSERT_TRUE(strstr(answer.reason, "add 'plain.org:22'"));
	ASSERT_TRUE(tunnel(r, "ssh.org", 22));
	ASSERT_TRUE(!tunnel(r, "ssh.org", 443));
	ASSERT_TRUE(tunnel(r, "any.org", 9418));
	ASSERT_TRUE(!tunnel(r, "any.org", 25));
	ASSERT_TRUE(!tunnel(r, "plain.org", 0));
	ASSERT_TRUE(tunnel(r, "2001:db8::1", 8080));
	ASSERT_TRUE(!tunnel(r, "2001:db8::1", 443));
	ASSERT_TRUE(tunnel(r, "10.9.8.7", 5432));
	ASSERT_TRUE(!tunnel(r, "10.9.8.7", 443));
	/* A block of one port leaves the name resolvable, a block of the host does not. */
	ASSERT_TRUE(ask(r, BAWN_WAY_DNS, "any.org", 0, NULL, NULL));
	ASSERT_TRUE(!ask(r, BAWN_WAY_DNS, "closed.any.org", 0, NULL, NULL));
	ASSERT_TRUE(ask(r, BAWN_WAY_DNS, "ssh.org", 0, NULL, NULL));
	bawn_egress_rules_free(r);
}

TEST(a_block_rule_without_port_blocks_every_port)
{
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_OPEN, NULL, LIST("bad.org", "*.zip"));

	ASSERT_TRUE(!tunnel(r, "bad.org", 443));
	ASSERT_TRUE(!tunnel(r, "bad.org", 8443));
	ASSERT_TRUE(!tunnel(r, "a.zip", 443));
	ASSERT_TRUE(tunnel(r, "good.org", 8443));
	bawn_egress_rules_free(r);
}

TEST(methods)
{
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_ALLOWLIST,
		LIST("GET,HEAD  read.org", "all.org"), LIST("POST,PUT all.org"));

	ASSERT_TRUE(ask(r, BAWN_WAY_HTTP, "read.org", 80, "GET", "/"));
	ASSERT_TRUE(ask(r, BAWN_WAY_HTTP, "read.org", 80, "HEAD", "/"));
	ASSERT_TRUE(!ask(r, BAWN_WAY_HTTP, "read.org", 80, "POST", "/"));
	ASSERT_TRUE(!ask(r, BAWN_WAY_HTTP, "read.org", 80, "GE", "/"));
	ASSERT_TRUE(!ask(r, BAWN_WAY_HTTP, "read.org", 80, "GET,HEAD", "/"));
	ASSERT_TRUE(!ask(r, BAWN_WAY_HTTP, "read.org", 80, "", "/"));
	ASSERT_TRUE(!ask(r, BAWN_WAY_HTTP, "read.org", 80, NULL, "/"));
	/* A tunnel hides the method: it is not allowed by such a rule, and blocked by one. */
	ASSERT_TRUE(!tunnel(r, "read.org", 443));
	ASSERT_TRUE(strstr(answer.reason, "which a tunnel hides"));
	ASSERT_TRUE(!tunnel(r, "all.org", 443));
	ASSERT_TRUE(ask(r, BAWN_WAY_HTTP, "all.org", 80, "GET", "/"));
	ASSERT_TRUE(!ask(r, BAWN_WAY_HTTP, "all.org", 80, "PUT", "/"));
	ASSERT_TRUE(ask(r, BAWN_WAY_DNS, "read.org", 0, NULL, NULL));
	ASSERT_TRUE(ask(r, BAWN_WAY_DNS, "all.org", 0, NULL, NULL));
	bawn_egress_rules_free(r);
}

TEST(paths)
{
	static const struct {
		const char *glob, *path;
		bool allowed, blocked;
	} t[] = {
		{"/a", "/a", true, true},
		{"/a", "/a?x=/b", true, true},
		{"/a", "/ab", false, false},
		{"/a", "/a/", false, false},
		{"/a", "/A", false, false},
		{"/a", "/%61", true, true},
		{"/a", "/b", false, false},
		{"/", "/", true, true},
		{"/", "/?q", true, true},
		{"/*", "/", true, true},
		{"/*", "/any/thing", true, true},
		{"/a/*", "/a/", true, true},
		{"/a/*", "/a", false, false},
		{"/a/*/c", "/a/b/c", true, true},
		{"/a/*/c", "/a/b/x/c", true, true},
		{"/a/*/c", "/a/c", false, false},
		{"/*.tgz", "/x/y.tgz", true, true},
		{"/*.tgz", "/x/y.tgz.sig", false, false},
		{"/*a*a*a*b", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false, false},
		/* What servers read differently is not allowed, and is blocked. */
		{"/a/*", "/a/../b", false, true},
		{"/a/*", "/a/%2e%2e/b", false, true},
		{"/a/*", "/a/.%2E/b", false, true},
		{"/a/*", "/a/..", false, true},
		{"/a/*", "/a/.", false, true},
		{"/a/*", "/a/./b", false, true},
		{"/a/*", "/a//b", false, true},
		{"/a/*", "//a/b", false, true},
		{"/a/*", "/a/..;/b", false, true},
		{"/a/*", "/a/x;y", false, true},
		{"/a/*", "/a/..%2fb", false, true},
		{"/a/*", "/a/..%5cb", false, true},
		{"/a/*", "/a/\\..\\b", false, true},
		{"/a/*", "/a/%252e%252e/b", false, true},
		{"/a/*", "/a/%00", false, true},
		{"/a/*", "/a/%zz", false, true},
		{"/a/*", "/a/%", false, true},
		{"/a/*", "/a/%2", false, true},
		{"/a/*", "", false, true},
		{"/a/*", "a/b", false, true},
		{"/a/*", "?/a/b", false, true},
		{"/a/*", "/a/...", true, true},
		{"/a/*", "/a/.git", true, true},
		{"/a/*", "/a/b/?../..", true, true},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char rule[64];

		(void)snprintf(rule, sizeof(rule), "x.org%s", t[i].glob);
		struct bawn_egress_rules *a = compile(BAWN_EGRESS_ALLOWLIST, LIST(rule), NULL);
		struct bawn_egress_rules *b = compile(BAWN_EGRESS_OPEN, NULL, LIST(rule));

		if (ask(a, BAWN_WAY_HTTP, "x.org", 80, "GET", t[i].path) != t[i].allowed)
			FAIL("allow '%s' and path '%s'", rule, t[i].path);
		if (ask(b, BAWN_WAY_HTTP, "x.org", 80, "GET", t[i].path) == t[i].blocked)
			FAIL("block '%s' and path '%s'", rule, t[i].path);
		ASSERT_TRUE(!tunnel(a, "x.org", 443));
		ASSERT_TRUE(!tunnel(b, "x.org", 443));
		bawn_egress_rules_free(a);
		bawn_egress_rules_free(b);
	}
}

TEST(a_path_that_is_too_long_is_odd)
{
	static char path[9000];
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_ALLOWLIST, LIST("x.org/*"), NULL);

	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	ASSERT_TRUE(!ask(r, BAWN_WAY_HTTP, "x.org", 80, "GET", path));
	path[8000] = '\0';
	ASSERT_TRUE(ask(r, BAWN_WAY_HTTP, "x.org", 80, "GET", path));
	bawn_egress_rules_free(r);
}

TEST(an_address_in_front_of_a_path_needs_a_port)
{
	struct bawn_egress_rules *r =
		compile(BAWN_EGRESS_ALLOWLIST, LIST("192.0.2.1:80/8", "192.0.2.2/x"), NULL);

	ASSERT_TRUE(ask(r, BAWN_WAY_HTTP, "192.0.2.1", 80, "GET", "/8"));
	ASSERT_TRUE(!ask(r, BAWN_WAY_HTTP, "192.0.2.1", 80, "GET", "/9"));
	ASSERT_TRUE(ask(r, BAWN_WAY_HTTP, "192.0.2.2", 80, "GET", "/x"));
	bawn_egress_rules_free(r);
}

TEST(a_v4_block_rule_sees_through_v6)
{
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_OPEN, NULL, LIST("203.0.113.0/24"));

	ASSERT_TRUE(!tunnel(r, "203.0.113.5", 443));
	ASSERT_TRUE(!tunnel(r, "::ffff:203.0.113.5", 443));
	ASSERT_TRUE(!tunnel(r, "64:ff9b::cb00:7105", 443));
	ASSERT_TRUE(!tunnel(r, "2002:cb00:7105::1", 443));
	ASSERT_TRUE(tunnel(r, "64:ff9b::cb00:7205", 443));
	bawn_egress_rules_free(r);
}

static bool dial(const struct bawn_egress_rules *r, const char *host, uint16_t port,
	const struct bawn_own_addresses *own, const char *addr)
{
	struct bawn_host h = host_of(host);
	struct bawn_egress_ask a = {BAWN_WAY_CONNECT, &h, port, NULL, NULL};
	int family = strchr(addr, ':') ? AF_INET6 : AF_INET;
	uint8_t bytes[16];

	ASSERT_EQ(inet_pton(family, addr, bytes), 1);
	bawn_egress_decide_address(r, &a, own, family, bytes, &answer);
	ASSERT_TRUE(answer.rule[0] && (answer.allowed || answer.reason[0]));
	return answer.allowed;
}

TEST(addresses)
{
	static const char *const never[] = {"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3",
		"169.254.169.254", "169.254.1.1", "192.0.0.1", "224.0.0.1", "240.0.0.1",
		"255.255.255.255", "168.63.129.16", "100.100.100.200", "::", "::1", "fe80::1",
		"ff02::1", "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
		"2002:7f00:1::", "64:ff9b::a9fe:a9fe", "100::1"};
	static const char *const private[] = {"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
		"198.18.0.1", "203.0.113.1", "fc00::1", "fd12::1", "fec0::1", "2001:db8::1"};
	struct bawn_egress_rules *r =
		compile(BAWN_EGRESS_ALLOWLIST, LIST("*", "0.0.0.0/0:*", "::/0:*", "a.org"), NULL);

	ASSERT_TRUE(dial(r, "a.org", 443, NULL, "8.8.8.8"));
	ASSERT_TRUE(dial(r, "a.org", 443, NULL, "2600::1"));
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (dial(r, "a.org", 443, NULL, never[i]))
			FAIL("%s can be dialled", never[i]);
	for (size_t i = 0; i < sizeof(private) / sizeof(private[0]); i++)
		if (dial(r, "a.org", 443, NULL, private[i]) ||
			!strstr(answer.reason, "to allow it, add '"))
			FAIL("%s can be dialled, or how is not said", private[i]);
	bawn_egress_rules_free(r);
	/* Naming them changes nothing for the first and opens the others. */
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		char rule[64];

		(void)snprintf(rule, sizeof(rule), "%s", never[i]);
		r = compile(BAWN_EGRESS_ALLOWLIST, LIST(rule), NULL);
		if (dial(r, never[i], 443, NULL, never[i]))
			FAIL("%s can be dialled by name", never[i]);
		bawn_egress_rules_free(r);
	}
	for (size_t i = 0; i < sizeof(private) / sizeof(private[0]); i++) {
		r = compile(BAWN_EGRESS_ALLOWLIST, LIST(private[i]), NULL);
		if (!dial(r, private[i], 443, NULL, private[i]) ||
			dial(r, private[i], 22, NULL, private[i]))
			FAIL("%s cannot be dialled by name, or on every port", private[i]);
		ASSERT_TRUE(!dial(r, "a.org", 443, NULL, "10.0.0.2"));
		bawn_egress_rules_free(r);
	}
}

TEST(named_addresses)
{
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_ALLOWLIST,
		LIST("10.1.2.3:5432", "192.168.0.0/16", "8.0.0.0/6", "fd12::/16", "GET 10.5.0.1"),
		NULL);

	ASSERT_TRUE(dial(r, "db.internal", 5432, NULL, "10.1.2.3"));
	ASSERT_STREQ(answer.rule, "10.1.2.3:5432");
	ASSERT_TRUE(dial(r, "db.internal", 5432, NULL, "::ffff:10.1.2.3"));
	ASSERT_TRUE(!dial(r, "db.internal", 443, NULL, "10.1.2.3"));
	ASSERT_TRUE(!dial(r, "db.internal", 5432, NULL, "64:ff9b::10.1.2.3"));
	ASSERT_TRUE(dial(r, "x.internal", 443, NULL, "192.168.9.9"));
	ASSERT_TRUE(dial(r, "x.internal", 443, NULL, "fd12:3::1"));
	/* 8.0.0.0/6 holds 10/8 but does not name it. */
	ASSERT_TRUE(!dial(r, "x.internal", 443, NULL, "10.0.0.1"));
	/* A tunnel hides the method. */
	ASSERT_TRUE(!dial(r, "x.internal", 443, NULL, "10.5.0.1"));
	bawn_egress_rules_free(r);
}

TEST(block_rules_hold_for_what_names_resolve_to)
{
	struct bawn_egress_rules *r =
		compile(BAWN_EGRESS_OPEN, NULL, LIST("8.8.8.0/24", "10.0.0.0/8:22", "2600::/16"));

	ASSERT_TRUE(!dial(r, "a.org", 443, NULL, "8.8.8.8"));
	ASSERT_STREQ(answer.rule, "8.8.8.0/24");
	ASSERT_TRUE(!dial(r, "a.org", 443, NULL, "64:ff9b::808:808"));
	ASSERT_TRUE(!dial(r, "a.org", 443, NULL, "2600::1"));
	ASSERT_TRUE(dial(r, "a.org", 443, NULL, "8.8.4.4"));
	bawn_egress_rules_free(r);
}

TEST(own_addresses)
{
	struct bawn_own_addresses own = {calloc(1, sizeof(*own.v)), 1};
	struct bawn_egress_rules *r =
		compile(BAWN_EGRESS_ALLOWLIST, LIST("10.7.7.7", "93.184.216.34", "a.org"), NULL);

	ASSERT_TRUE(own.v);
	own.v[0].family = AF_INET;
	ASSERT_EQ(inet_pton(AF_INET, "10.7.7.7", own.v[0].addr), 1);
	ASSERT_TRUE(!dial(r, "10.7.7.7", 443, &own, "10.7.7.7"));
	ASSERT_TRUE(strstr(answer.reason, "own"));
	ASSERT_TRUE(!dial(r, "a.org", 443, &own, "::ffff:10.7.7.7"));
	ASSERT_EQ(inet_pton(AF_INET, "93.184.216.34", own.v[0].addr), 1);
	ASSERT_TRUE(!dial(r, "a.org", 443, &own, "93.184.216.34"));
	ASSERT_TRUE(dial(r, "10.7.7.7", 443, &own, "10.7.7.7"));
	bawn_egress_rules_free(r);
	bawn_own_addresses_free(&own);
}

TEST(address_switches)
{
	struct bawn_egress_source src = {
		.mode = BAWN_EGRESS_OPEN, .ssrf = true, .block_private = false};
	struct bawn_egress_rules *r = NULL;

	ASSERT_EQ(bawn_egress_rules_compile(&src, &r, NULL), 0);
	ASSERT_TRUE(dial(r, "a.org", 443, NULL, "10.0.0.1"));
	ASSERT_TRUE(dial(r, "a.org", 443, NULL, "fd12::1"));
	ASSERT_TRUE(!dial(r, "a.org", 443, NULL, "127.0.0.1"));
	ASSERT_TRUE(strstr(answer.reason, "--loopback-port"));
	ASSERT_TRUE(!dial(r, "a.org", 443, NULL, "fd00:ec2::254"));
	r = bawn_egress_rules_free(r);
	src.ssrf = false;
	ASSERT_EQ(bawn_egress_rules_compile(&src, &r, NULL), 0);
	ASSERT_TRUE(dial(r, "a.org", 443, NULL, "127.0.0.1"));
	r = bawn_egress_rules_free(r);
	src.mode = BAWN_EGRESS_DENY;
	ASSERT_EQ(bawn_egress_rules_compile(&src, &r, NULL), 0);
	ASSERT_TRUE(!dial(r, "a.org", 443, NULL, "8.8.8.8"));
	bawn_egress_rules_free(r);
}

TEST(development)
{
	const char *const *list = bawn_egress_development_hosts();
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_ALLOWLIST, list, NULL);
	size_t n = 0;

	for (; list[n]; n++) {
		char host[80], evil[80];

		ASSERT_TRUE(strncmp(list[n], "*.", 2) == 0);
		(void)snprintf(host, sizeof(host), "some.host.%.40s", list[n] + 2);
		(void)snprintf(evil, sizeof(evil), "%.40s.evil.example", list[n] + 2);
		ASSERT_TRUE(tunnel(r, list[n] + 2, 443));
		ASSERT_TRUE(tunnel(r, host, 443));
		ASSERT_TRUE(!tunnel(r, host, 22));
		ASSERT_TRUE(!tunnel(r, evil, 443));
		ASSERT_TRUE(!dial(r, host, 443, NULL, "10.0.0.1"));
	}
	ASSERT_TRUE(n > 10);
	ASSERT_TRUE(!tunnel(r, "169.254.169.254", 80));
	bawn_egress_rules_free(r);
}

TEST(many_rules)
{
	enum {
		N = 20000
	};
	char(*text)[40] = calloc(N, sizeof(*text));
	const char **list = calloc(N + 1, sizeof(*list));
	struct bawn_egress_rules *r;

	ASSERT_TRUE(text && list);
	for (unsigned i = 0; i < N; i++) {
		static const char *const start[] = {"h", "*.d", ".s"};

		if (i % 4 == 3)
			(void)snprintf(
				text[i], sizeof(text[i]), "20.%u.%u.0/24", i >> 8 & 255, i & 255);
		else
			(void)snprintf(text[i], sizeof(text[i]), "%s%u.example", start[i % 4], i);
		list[i] = text[i];
	}
	r = compile(BAWN_EGRESS_ALLOWLIST, list, NULL);
	for (unsigned i = 0; i < N; i++) {
		static const char *const start[] = {"h", "x.d", "y.s"};
		char host[48];

		if (i % 4 == 3)
			(void)snprintf(host, sizeof(host), "20.%u.%u.9", i >> 8 & 255, i & 255);
		else
			(void)snprintf(host, sizeof(host), "%s%u.example", start[i % 4], i);
		if (!tunnel(r, host, 443))
			FAIL("%s", host);
		ASSERT_STREQ(answer.rule, text[i]);
	}
	ASSERT_TRUE(!tunnel(r, "h1.example", 443));
	ASSERT_TRUE(!tunnel(r, "x.h0.example", 443));
	ASSERT_TRUE(!tunnel(r, "s2.example", 443));
	ASSERT_TRUE(!tunnel(r, "example", 443));
	bawn_egress_rules_free(r);
	free(list);
	free(text);
}

TEST(several_rules_about_one_host)
{
	struct bawn_egress_rules *r = compile(BAWN_EGRESS_ALLOWLIST,
		LIST("a.org:22", " GET a.org/x ", "*.a.org:8080", ".a.org:9", "*:70",
			"10.0.0.0/8:1", "10.0.0.0/8:2", "*:71"),
		LIST("a.org:23", "a.org:24"));

	ASSERT_TRUE(tunnel(r, "a.org", 22));
	ASSERT_STREQ(answer.rule, "a.org:22");
	ASSERT_TRUE(ask(r, BAWN_WAY_HTTP, "a.org", 80, "GET", "/x"));
	ASSERT_STREQ(answer.rule, "GET a.org/x");
	ASSERT_TRUE(tunnel(r, "a.org", 8080));
	ASSERT_TRUE(tunnel(r, "b.a.org", 8080));
	ASSERT_TRUE(tunnel(r, "b.a.org", 9));
	ASSERT_TRUE(!tunnel(r, "a.org", 9));
	ASSERT_TRUE(!tunnel(r, "b.a.org", 22));
	ASSERT_TRUE(tunnel(r, "b.org", 70));
	ASSERT_TRUE(tunnel(r, "b.org", 71));
	ASSERT_TRUE(!tunnel(r, "b.org", 72));
	ASSERT_TRUE(tunnel(r, "10.1.1.1", 1));
	ASSERT_TRUE(tunnel(r, "10.1.1.1", 2));
	ASSERT_TRUE(!tunnel(r, "10.1.1.1", 3));
	ASSERT_TRUE(!tunnel(r, "a.org", 23));
	ASSERT_TRUE(!tunnel(r, "a.org", 24));
	bawn_egress_rules_free(r);
}

TEST(a_bad_rule_in_either_list)
{
	struct bawn_egress_source src = {
		.mode = BAWN_EGRESS_OPEN, .allow = LIST("a.org"), .block = LIST("b.org", "c..org")};
	struct bawn_egress_rules *r = NULL;
	struct bawn_error err = {0};

	ASSERT_TRUE(bawn_egress_rules_compile(&src, &r, &err) < 0);
	ASSERT_TRUE(!r && strstr(err.msg, "rule 'c..org'"));
}
