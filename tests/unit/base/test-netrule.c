/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <arpa/inet.h>

#include "base/netrule.h"
#include "harness.h"

static struct bawn_netrule parse(const char *text)
{
	struct bawn_netrule r;
	const char *why = NULL;

	if (bawn_netrule_parse(text, &r, &why) < 0)
		FAIL("'%s': %s", text, why ? why : "?");
	return r;
}

TEST(one_form)
{
	static const struct {
		const char *raw, *clean;
	} t[] = {
		{"Example.ORG", "example.org"},
		{"example.org.", "example.org"},
		{"*.Example.org", "*.example.org"},
		{".example.org:443", ".example.org:443"},
		{"*", "*"},
		{"*:22", "*:22"},
		{"x.test:*", "x.test:*"},
		{"10.0.0.1", "10.0.0.1"},
		{"10.0.0.1/32", "10.0.0.1"},
		{"10.0.0.0/8", "10.0.0.0/8"},
		{"10.0.0.0/8:5432", "10.0.0.0/8:5432"},
		{"0.0.0.0/0:*", "0.0.0.0/0:*"},
		{"0:0:0:0:0:0:0:1", "::1"},
		{"[::1]", "::1"},
		{"[::1]:8080", "[::1]:8080"},
		{"[::1]/a", "[::1]/a"},
		{"::ffff:10.1.2.3", "10.1.2.3"},
		{"[::ffff:a01:203]:80", "10.1.2.3:80"},
		{"fd00::/8", "fd00::/8"},
		{"[fd00::]/8:443", "[fd00::]/8:443"},
		{"get,HEAD x.test/api/*", "GET,HEAD x.test/api/*"},
		{"x.test:8080/a/**", "x.test:8080/a/**"},
		{"10.0.0.1/v1", "10.0.0.1/v1"},
		{"10.0.0.0/8/v1", "10.0.0.0/8/v1"},
		{"localhost", "localhost"},
		{"a_b.x-y.test", "a_b.x-y.test"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bawn_netrule r = parse(t[i].raw);
		char text[BAWN_NETRULE_TEXT_MAX];

		bawn_netrule_format(&r, text);
		ASSERT_STREQ(text, t[i].clean);
		r = parse(text);
		bawn_netrule_format(&r, text);
		ASSERT_STREQ(text, t[i].clean);
	}
}

TEST(refused)
{
	static const char *const t[] = {"", ".", "*.", " ", "GET ", " x.test", "GET  x.test",
		"**.x.test", "a.*.test", "*x.test", "http://x.test", "x.test//a", "u@x.test",
		"a b c", "a..b", "-a.test", "a-.test", "x.test:", "x.test:0", "x.test:65536",
		"x.test:8a", "x.test:**", "127.1", "0x7f.0.0.1", "1.2.3.0x4", "256.1.1.1",
		"2130706433", "[::1", "[x.test]", "[::1]x", "[10.0.0.1]", "fe80::1%eth0",
		"10.0.0.1/8", "10.0.0.0/33", "fd00::1/8", "::/129", "::ffff:10.0.0.0/104",
		"x\xc3\xbc.test", "x.test/a b", "x.test/a#b", "x.test/\x01", "x\ty.test",
		"x.test\n", "GE/T x.test", "x.test/a?b", "x.test/a//b", "x.test/../b", "x.test/b/.",
		"x.test/a%2fb", ",GET x.test", "GET, x.test", "GET,,PUT x.test"};
	char longest[400];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bawn_netrule r;
		const char *why = NULL;

		if (bawn_netrule_parse(t[i], &r, &why) != -EINVAL || !why)
			FAIL("'%s' is accepted", t[i]);
	}
	for (size_t n = 254; n < sizeof(longest); n++) {
		struct bawn_netrule r;
		const char *why = NULL;

		memset(longest, 'a', n);
		for (size_t i = 50; i < n - 1; i += 51)
			longest[i] = '.';
		longest[n] = '\0';
		ASSERT_EQ(bawn_netrule_parse(longest, &r, &why), -EINVAL);
	}
}

TEST(within)
{
	static const struct {
		const char *in, *out;
		bool yes;
	} t[] = {
		{"a.test", "a.test", true},
		{"a.test", "b.test", false},
		{"x.a.test", "*.a.test", true},
		{"a.test", "*.a.test", true},
		{"a.test", ".a.test", false},
		{"x.a.test", ".a.test", true},
		{"*.a.test", ".a.test", false},
		{".a.test", "*.a.test", true},
		{".a.test", ".a.test", true},
		{"*.a.test", "*.a.test", true},
		{"*.b.a.test", ".a.test", true},
		{".b.a.test", "*.a.test", true},
		{"*.a.test", "a.test", false},
		{".a.test", "a.test", false},
		{"evila.test", ".a.test", false},
		{"evila.test", "*.a.test", false},
		{"*.x.test", "*.a.x.test", false},
		{"a.test:443", "a.test", true},
		{"a.test:80", "a.test", true},
		{"a.test:1", "a.test", false},
		{"a.test", "a.test:443", false},
		{"a.test", "a.test:*", true},
		{"a.test:*", "a.test", false},
		{"a.test:9", "a.test:*", true},
		{"a.test:2", "a.test:1", false},
		{"anything.test", "*", true},
		{"*", "a.test", false},
		{"*", "*", true},
		{"10.1.2.3", "*", true},
		{"10.1.2.3", "10.0.0.0/8", true},
		{"10.1.0.0/16", "10.0.0.0/8", true},
		{"10.0.0.0/8", "10.0.0.0/16", false},
		{"11.0.0.1", "10.0.0.0/8", false},
		{"::1", "10.0.0.0/8", false},
		{"10.0.0.1", "::/0", false},
		{"[::1]:80", "::1", true},
		{"::1", "[::1]:80", false},
		{"a.test", "0.0.0.0/0", false},
		{"GET a.test", "a.test", true},
		{"a.test", "GET a.test", false},
		{"GET a.test", "GET,HEAD a.test", true},
		{"GET,PUT a.test", "GET,HEAD a.test", false},
		{"a.test/x", "a.test", true},
		{"a.test", "a.test/x", false},
		{"a.test/x/y", "a.test/x/*", true},
		{"a.test/**", "a.test/x/*", false},
		{"a.test/x/*", "a.test/**", true},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct bawn_netrule in = parse(t[i].in), out = parse(t[i].out);

		if (bawn_netrule_within(&in, &out) != t[i].yes)
			FAIL("'%s' in '%s' is not %d", t[i].in, t[i].out, t[i].yes);
	}
}

TEST(whole_domains)
{
	struct bawn_netrule r = parse("*.com");

	ASSERT_TRUE(bawn_netrule_is_wide(&r));
	r = parse(".com.");
	ASSERT_TRUE(bawn_netrule_is_wide(&r));
	r = parse("*.example.com");
	ASSERT_TRUE(!bawn_netrule_is_wide(&r));
	r = parse("localhost");
	ASSERT_TRUE(!bawn_netrule_is_wide(&r));
}

TEST(parts)
{
	struct bawn_netrule r = parse("GET,HEAD 10.0.0.0/9:*");
	uint8_t a[4] = {10, 127, 0, 1}, b[4] = {10, 128, 0, 1};

	ASSERT_TRUE(bawn_netrule_has_address(&r, AF_INET, a));
	ASSERT_TRUE(!bawn_netrule_has_address(&r, AF_INET, b));
	ASSERT_TRUE(!bawn_netrule_has_name(&r, "x.test"));
	ASSERT_TRUE(bawn_netrule_has_port(&r, 1) && bawn_netrule_has_port(&r, 65535));
	ASSERT_TRUE(bawn_netrule_has_method(&r, "HEAD") && !bawn_netrule_has_method(&r, "HEA"));
	r = parse("x.test");
	ASSERT_TRUE(bawn_netrule_has_port(&r, 80) && bawn_netrule_has_port(&r, 443));
	ASSERT_TRUE(!bawn_netrule_has_port(&r, 8080) && bawn_netrule_has_method(&r, "PUT"));
}
