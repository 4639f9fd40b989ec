/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/host.h"
#include "harness.h"

#define L(s) (s), sizeof(s) - 1

static const char *canon(const char *s, size_t len)
{
	static struct bawn_host h;
	struct bawn_error err = {0};

	if (bawn_host_parse(s, len, &h, &err) < 0) {
		if (!err.msg[0] || err.err >= 0)
			FAIL("refused without a reason");
		return "refused";
	}
	return h.text;
}

struct spelling {
	const char *in, *out;
};

static void check(const struct spelling *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *got = canon(t[i].in, strlen(t[i].in));

		if (strcmp(got, t[i].out) != 0)
			FAIL("'%s' became '%s', expected '%s'", t[i].in, got, t[i].out);
	}
}
#define CHECK(t) check(t, sizeof(t) / sizeof((t)[0]))

TEST(names)
{
	static const struct spelling t[] = {
		{"example.com", "example.com"},
		{"EXAMPLE.Com", "example.com"},
		{"example.com.", "example.com"},
		{"localhost", "localhost"},
		{"_dmarc.my_host.example", "_dmarc.my_host.example"},
		{"r3---sn-abc.example", "r3---sn-abc.example"},
		{"1.example", "1.example"},
		{"0xzz", "0xzz"},
		{"127.0.0.1.example", "127.0.0.1.example"},
	};

	CHECK(t);
}

TEST(numeric_spellings_are_addresses)
{
	static const struct spelling t[] = {
		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1.", "127.0.0.1"},
		{"127.1", "127.0.0.1"},
		{"127.0.1", "127.0.0.1"},
		{"127.65535", "127.0.255.255"},
		{"2130706433", "127.0.0.1"},
		{"0x7f000001", "127.0.0.1"},
		{"0X7F000001", "127.0.0.1"},
		{"0x7f.1", "127.0.0.1"},
		{"0177.0.0.1", "127.0.0.1"},
		{"017700000001", "127.0.0.1"},
		{"0000000000000000000000000177.1", "127.0.0.1"},
		{"0x00000000000000000000007f.1", "127.0.0.1"},
		{"0", "0.0.0.0"},
		{"00", "0.0.0.0"},
		{"4294967295", "255.255.255.255"},
		{"1.2.65535", "1.2.255.255"},
		{"１２７.0.0.1", "127.0.0.1"},
		{"127。0。0。1", "127.0.0.1"},
		{"①②⑦.⓪.⓪.①", "127.0.0.1"},
	};

	CHECK(t);
}

TEST(numbers_that_are_no_address)
{
	static const struct spelling t[] = {
		{"256.1.1.1", "refused"},
		{"1.2.3.256", "refused"},
		{"1.2.3.4.5", "refused"},
		{"1.2.65536", "refused"},
		{"1.16777216", "refused"},
		{"4294967296", "refused"},
		{"99999999999999999999999", "refused"},
		{"08", "refused"},
		{"1.2.3.08", "refused"},
		{"0x", "refused"},
		{"0xg.1", "refused"},
		{"0o177.0.0.1", "refused"},
		{"example.1", "refused"},
		{"example.0x1", "refused"},
		{"1..2", "refused"},
		{"-1", "-1"},
		{"+1", "refused"},
	};

	CHECK(t);
}

TEST(ipv6)
{
	static const struct spelling t[] = {
		{"::1", "::1"},
		{"[::1]", "::1"},
		{"[0:0:0:0:0:0:0:1]", "::1"},
		{"[2001:DB8:0::0:1]", "2001:db8::1"},
		{"[::ffff:127.0.0.1]", "127.0.0.1"},
		{"::ffff:7f00:1", "127.0.0.1"},
		{"0:0:0:0:0:FFFF:7F00:1", "127.0.0.1"},
		{"[64:ff9b::7f00:1]", "64:ff9b::7f00:1"},
		{"[fe80::1%eth0]", "refused"},
		{"fe80::1%25eth0", "refused"},
		{"[::1", "refused"},
		{"::1]", "refused"},
		{"[", "refused"},
		{"[]", "refused"},
		{"[127.0.0.1]", "refused"},
		{"[example.com]", "refused"},
		{"[[::1]]", "refused"},
		{"::ffff:0x7f.1", "refused"},
		{"::ffff:127.1", "refused"},
		{"1:2:3:4:5:6:7:8:9", "refused"},
		{"12345::", "refused"},
		{":", "refused"},
	};

	CHECK(t);
}

TEST(hostile_bytes)
{
	static const char *const bad[] = {"", ".", "..", ".a", "a..b", "a..", " a", "a ", "a b",
		"a\tb", "a\nb", "a\rb", "a%00", "a%2eb", "user@a", "a\\b", "a#b", "a/b", "a?b",
		"a[b", "a]b", "a:b", "*.a", "a,b", "a;b", "a\x7f", "\x01", "a\"b", "a'b", "a|b",
		"a<b"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strcmp(canon(bad[i], strlen(bad[i])), "refused") != 0)
			FAIL("'%s' was accepted", bad[i]);
	ASSERT_STREQ(canon(L("a\0b")), "refused");
	ASSERT_STREQ(canon(L("allowed.example\0.evil.example")), "refused");
	ASSERT_STREQ(canon(L("\0")), "refused");
	ASSERT_STREQ(canon(L("::1\0")), "refused");
}

TEST(messages_are_printable)
{
	struct bawn_host h;
	struct bawn_error err = {0};

	ASSERT_TRUE(bawn_host_parse(L("a\x1b[31m'\n\xff"), &h, &err) < 0);
	for (const char *p = err.msg; *p; p++)
		if (*p < ' ' || *p > '~')
			FAIL("byte %d in '%s'", *p, err.msg);
}

TEST(lengths)
{
	char name[300];

	memset(name, 'a', sizeof(name));
	ASSERT_STREQ(canon(name, 64), "refused");
	ASSERT_EQ(strlen(canon(name, 63)), 63);
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	ASSERT_EQ(strlen(canon(name, 253)), 253);
	ASSERT_STREQ(canon(name, 254), "refused");
	ASSERT_STREQ(canon(name, 300), "refused");
	name[253] = '.';
	ASSERT_EQ(strlen(canon(name, 254)), 253);
	/* A root dot of a name that needs mapping. */
	for (size_t i = 0; i < 13; i++)
		name[i] = "xn--bcher-kva"[i];
	ASSERT_EQ(strlen(canon(name, 254)), 253);
}

TEST(international_names)
{
	static const struct spelling t[] = {
		{"bücher.example", "xn--bcher-kva.example"},
		{"BÜCHER.example.", "xn--bcher-kva.example"},
		{"bu\xcc\x88"
		 "cher.example",
			"xn--bcher-kva.example"},
		{"XN--BCHER-KVA.example", "xn--bcher-kva.example"},
		{"example。com", "example.com"},
		{"ｅｘａｍｐｌｅ.com", "example.com"},
		/* Cyrillic letters that look Latin: another name, never the Latin one. */
		{"раураl.example", "xn--l-7sba6dbr.example"},
		{"faß.example", "xn--fa-hia.example"},
		{"xn--a.example", "refused"},
		{"xn--abc-.example", "refused"},
		{"xn--.example", "refused"},
		{"xn--zz--999999999.example", "refused"},
		{"b\xfc.example", "refused"},
		{"\xc0\xae.example", "refused"},
		/* Characters that mapping would turn into a separator or nothing. */
		{"℀.example", "refused"},
		{"a\xc2\xad", "a"},
		{"\xc2\xad.example", "refused"},
		{"example\xef\xbc\x8f.com", "refused"},
		{"example\xef\xbc\x85"
		 "00.com",
			"refused"},
	};

	CHECK(t);
}

TEST(canonical_form_is_stable)
{
	static const char *const in[] = {"EXAMPLE.com.", "0x7f.1", "::FFFF:1.2.3.4",
		"[2001:DB8::1]", "bücher.example", "64:ff9b::1"};

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		struct bawn_host a, b;

		ASSERT_EQ(bawn_host_parse(in[i], strlen(in[i]), &a, NULL), 0);
		ASSERT_EQ(bawn_host_parse(a.text, strlen(a.text), &b, NULL), 0);
		ASSERT_TRUE(bawn_host_equal(&a, &b));
		ASSERT_STREQ(a.text, b.text);
	}
}

TEST(equal_compares_kinds)
{
	struct bawn_host a, b;

	ASSERT_EQ(bawn_host_parse(L("::ffff:1.2.3.4"), &a, NULL), 0);
	ASSERT_EQ(bawn_host_parse(L("16909060"), &b, NULL), 0);
	ASSERT_TRUE(bawn_host_equal(&a, &b));
	ASSERT_EQ(bawn_host_parse(L("102:304::"), &b, NULL), 0);
	ASSERT_TRUE(!bawn_host_equal(&a, &b));
	ASSERT_EQ(bawn_host_parse(L("a.example"), &b, NULL), 0);
	ASSERT_TRUE(!bawn_host_equal(&a, &b));
}

TEST(ports)
{
	static const struct {
		const char *in;
		uint16_t def;
		const char *host;
		int port; /* 0: refused */
	} t[] = {
		{"example.com:443", 0, "example.com", 443},
		{"example.com", 80, "example.com", 80},
		{"example.com", 0, "", 0},
		{"[::1]:80", 0, "::1", 80},
		{"[::1]", 443, "::1", 443},
		{"127.1:1", 0, "127.0.0.1", 1},
		{"a:65535", 0, "a", 65535},
		{"a:65536", 0, "", 0},
		{"a:0", 80, "", 0},
		{"a:080", 80, "", 0},
		{"a:", 80, "", 0},
		{"a:+80", 80, "", 0},
		{"a: 80", 80, "", 0},
		{"a:80 ", 80, "", 0},
		{"a:8_0", 80, "", 0},
		{"a:99999999999", 80, "", 0},
		{":80", 80, "", 0},
		{"", 80, "", 0},
		{"::1", 80, "", 0},
		{"2001:db8::1:80", 80, "", 0},
		{"a:80:80", 80, "", 0},
		{"[::1]x:80", 80, "", 0},
		{"[::1]80", 80, "", 0},
		{"[::1", 80, "", 0},
		{"u:p@a:80", 80, "", 0},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bawn_host h;
		uint16_t port = 0;
		int r = bawn_host_parse_port(t[i].in, strlen(t[i].in), t[i].def, &h, &port, NULL);

		if ((r == 0) != (t[i].port != 0) || port != t[i].port)
			FAIL("'%s' gave %d, port %d", t[i].in, r, port);
		if (r == 0)
			ASSERT_STREQ(h.text, t[i].host);
	}
}
