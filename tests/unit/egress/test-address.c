/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>

#include "egress/address.h"
#include "harness.h"

static enum bawn_address_class class_of(const char *s)
{
	uint8_t a[16];
	int family = strchr(s, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(family, s, a) != 1)
		FAIL("'%s' is no address", s);
	return bawn_address_classify(family, a);
}

struct row {
	const char *addr;
	enum bawn_address_class class;
};

static void check(const struct row *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (class_of(t[i].addr) != t[i].class)
			FAIL("%s is %s, expected %s", t[i].addr,
				bawn_address_class_name(class_of(t[i].addr)),
				bawn_address_class_name(t[i].class));
}
#define CHECK(t) check(t, sizeof(t) / sizeof((t)[0]))

TEST(v4)
{
	static const struct row t[] = {
		{"0.0.0.0", BAWN_ADDR_UNSPECIFIED},
		{"0.0.0.1", BAWN_ADDR_RESERVED},
		{"0.255.255.255", BAWN_ADDR_RESERVED},
		{"1.0.0.0", BAWN_ADDR_PUBLIC},
		{"9.255.255.255", BAWN_ADDR_PUBLIC},
		{"10.0.0.0", BAWN_ADDR_PRIVATE},
		{"10.255.255.255", BAWN_ADDR_PRIVATE},
		{"11.0.0.0", BAWN_ADDR_PUBLIC},
		{"100.63.255.255", BAWN_ADDR_PUBLIC},
		{"100.64.0.0", BAWN_ADDR_CGNAT},
		{"100.127.255.255", BAWN_ADDR_CGNAT},
		{"100.128.0.0", BAWN_ADDR_PUBLIC},
		{"100.100.100.200", BAWN_ADDR_METADATA},
		{"126.255.255.255", BAWN_ADDR_PUBLIC},
		{"127.0.0.0", BAWN_ADDR_LOOPBACK},
		{"127.255.255.255", BAWN_ADDR_LOOPBACK},
		{"128.0.0.0", BAWN_ADDR_PUBLIC},
		{"168.63.129.16", BAWN_ADDR_METADATA},
		{"168.63.129.17", BAWN_ADDR_PUBLIC},
		{"169.253.255.255", BAWN_ADDR_PUBLIC},
		{"169.254.0.0", BAWN_ADDR_LINK_LOCAL},
		{"169.254.169.254", BAWN_ADDR_METADATA},
		{"169.254.170.2", BAWN_ADDR_METADATA},
		{"169.254.255.255", BAWN_ADDR_LINK_LOCAL},
		{"169.255.0.0", BAWN_ADDR_PUBLIC},
		{"172.15.255.255", BAWN_ADDR_PUBLIC},
		{"172.16.0.0", BAWN_ADDR_PRIVATE},
		{"172.31.255.255", BAWN_ADDR_PRIVATE},
		{"172.32.0.0", BAWN_ADDR_PUBLIC},
		{"192.0.0.0", BAWN_ADDR_RESERVED},
		{"192.0.0.192", BAWN_ADDR_METADATA},
		{"192.0.1.0", BAWN_ADDR_PUBLIC},
		{"192.0.2.1", BAWN_ADDR_TEST},
		{"192.88.99.1", BAWN_ADDR_RESERVED},
		{"192.167.255.255", BAWN_ADDR_PUBLIC},
		{"192.168.0.0", BAWN_ADDR_PRIVATE},
		{"192.169.0.0", BAWN_ADDR_PUBLIC},
		{"198.17.255.255", BAWN_ADDR_PUBLIC},
		{"198.18.0.0", BAWN_ADDR_TEST},
		{"198.19.255.255", BAWN_ADDR_TEST},
		{"198.20.0.0", BAWN_ADDR_PUBLIC},
		{"198.51.100.9", BAWN_ADDR_TEST},
		{"203.0.113.9", BAWN_ADDR_TEST},
		{"223.255.255.255", BAWN_ADDR_PUBLIC},
		{"224.0.0.0", BAWN_ADDR_MULTICAST},
		{"239.255.255.255", BAWN_ADDR_MULTICAST},
		{"240.0.0.0", BAWN_ADDR_RESERVED},
		{"255.255.255.255", BAWN_ADDR_RESERVED},
		{"8.8.8.8", BAWN_ADDR_PUBLIC},
	};

	CHECK(t);
}

TEST(v6)
{
	static const struct row t[] = {
		{"::", BAWN_ADDR_UNSPECIFIED},
		{"::1", BAWN_ADDR_LOOPBACK},
		{"::2", BAWN_ADDR_RESERVED},
		{"100::1", BAWN_ADDR_RESERVED},
		{"1fff:ffff::1", BAWN_ADDR_RESERVED},
		{"2000::1", BAWN_ADDR_PUBLIC},
		{"2001:2::1", BAWN_ADDR_TEST},
		{"2001:10::1", BAWN_ADDR_RESERVED},
		{"2001:200::1", BAWN_ADDR_PUBLIC},
		{"2001:db8::1", BAWN_ADDR_TEST},
		{"2001:4860:4860::8888", BAWN_ADDR_PUBLIC},
		{"3ffe::1", BAWN_ADDR_PUBLIC},
		{"3fff::1", BAWN_ADDR_TEST},
		{"3fff:fff:ffff::1", BAWN_ADDR_TEST},
		{"3fff:1000::1", BAWN_ADDR_PUBLIC},
		{"4000::1", BAWN_ADDR_RESERVED},
		{"5f00::1", BAWN_ADDR_RESERVED},
		{"fbff::1", BAWN_ADDR_RESERVED},
		{"fc00::1", BAWN_ADDR_PRIVATE},
		{"fdff:ffff::1", BAWN_ADDR_PRIVATE},
		{"fd00:ec2::254", BAWN_ADDR_METADATA},
		{"fd00:ec2::23", BAWN_ADDR_METADATA},
		{"fd20:ce::254", BAWN_ADDR_METADATA},
		{"fd00:42::42", BAWN_ADDR_METADATA},
		{"fe00::1", BAWN_ADDR_RESERVED},
		{"fe80::1", BAWN_ADDR_LINK_LOCAL},
		{"febf:ffff::1", BAWN_ADDR_LINK_LOCAL},
		{"fec0::1", BAWN_ADDR_PRIVATE},
		{"ff02::1", BAWN_ADDR_MULTICAST},
	};

	CHECK(t);
}

TEST(v4_inside_v6)
{
	static const struct row t[] = {
		/* Mapped: exactly what IPv4 says. */
		{"::ffff:127.0.0.1", BAWN_ADDR_LOOPBACK},
		{"::ffff:8.8.8.8", BAWN_ADDR_PUBLIC},
		{"::ffff:169.254.169.254", BAWN_ADDR_METADATA},
		/* NAT64. */
		{"64:ff9b::7f00:1", BAWN_ADDR_LOOPBACK},
		{"64:ff9b::a9fe:a9fe", BAWN_ADDR_METADATA},
		{"64:ff9b::10.1.2.3", BAWN_ADDR_PRIVATE},
		{"64:ff9b::8.8.8.8", BAWN_ADDR_PUBLIC},
		{"64:ff9b:0:1::8.8.8.8", BAWN_ADDR_RESERVED},
		{"64:ff9b:1::8.8.8.8", BAWN_ADDR_RESERVED},
		{"64:ff9b:1::127.0.0.1", BAWN_ADDR_LOOPBACK},
		/* 6to4. */
		{"2002:7f00:1::", BAWN_ADDR_LOOPBACK},
		{"2002:a9fe:a9fe::1", BAWN_ADDR_METADATA},
		{"2002:808:808::1", BAWN_ADDR_PUBLIC},
		/* Teredo: never public; server, then client. */
		{"2001:0:808:808::f7f7:f7f7", BAWN_ADDR_RESERVED},
		{"2001:0:7f00:1::f7f7:f7f7", BAWN_ADDR_LOOPBACK},
		{"2001:0:808:808::80ff:fffe", BAWN_ADDR_LOOPBACK},
		/* Compatible and translated. */
		{"::127.0.0.1", BAWN_ADDR_LOOPBACK},
		{"::8.8.8.8", BAWN_ADDR_RESERVED},
		{"::ffff:0:127.0.0.1", BAWN_ADDR_LOOPBACK},
		{"::ffff:0:8.8.8.8", BAWN_ADDR_RESERVED},
		/* ISATAP, with either value of the universal bit. */
		{"2600::5efe:10.0.0.1", BAWN_ADDR_PRIVATE},
		{"2600::200:5efe:127.0.0.1", BAWN_ADDR_LOOPBACK},
		{"2600::5efe:8.8.8.8", BAWN_ADDR_PUBLIC},
		{"fe80::5efe:8.8.8.8", BAWN_ADDR_LINK_LOCAL},
	};

	CHECK(t);
}

TEST(unknown_family_is_refused)
{
	static const uint8_t a[16] = {8, 8, 8, 8};

	ASSERT_EQ(bawn_address_classify(AF_UNIX, a), BAWN_ADDR_RESERVED);
	ASSERT_EQ(bawn_address_classify(0, a), BAWN_ADDR_RESERVED);
}

TEST(own_addresses)
{
	struct bawn_own_addresses own = {0};
	uint8_t a[16];
	bool loopback = false;

	ASSERT_EQ(bawn_own_addresses_read(&own), 0);
	for (size_t i = 0; i < own.n; i++) {
		ASSERT_TRUE(bawn_own_addresses_has(&own, own.v[i].family, own.v[i].addr));
		loopback |=
			bawn_address_classify(own.v[i].family, own.v[i].addr) == BAWN_ADDR_LOOPBACK;
	}
	ASSERT_TRUE(loopback || own.n == 0);
	ASSERT_EQ(inet_pton(AF_INET, "192.0.2.77", a), 1);
	ASSERT_TRUE(!bawn_own_addresses_has(&own, AF_INET, a));
	bawn_own_addresses_free(&own);
	ASSERT_EQ(own.n, 0);
}

TEST(own_addresses_wrapped)
{
	struct bawn_own_addresses own = {calloc(1, sizeof(*own.v)), 1};
	static const char *const wrapped[] = {
		"::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::1"};
	uint8_t a[16];

	ASSERT_TRUE(own.v);
	own.v[0].family = AF_INET;
	ASSERT_EQ(inet_pton(AF_INET, "93.184.216.34", own.v[0].addr), 1);
	for (size_t i = 0; i < sizeof(wrapped) / sizeof(wrapped[0]); i++) {
		ASSERT_EQ(inet_pton(AF_INET6, wrapped[i], a), 1);
		ASSERT_TRUE(bawn_own_addresses_has(&own, AF_INET6, a));
	}
	bawn_own_addresses_free(&own);
}
