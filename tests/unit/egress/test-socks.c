/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "egress/socks.h"
#include "harness.h"

#define BYTES(s) (const uint8_t *)("" s), sizeof(s) - 1

static struct bawn_socks_request rq;

/* Every prefix of a complete message wants more; bytes behind it are left alone. */
static int request(const uint8_t *p, size_t n)
{
	uint8_t more[600];
	int r;

	memset(&rq, 0, sizeof(rq));
	r = bawn_socks_request_parse(p, n, &rq, NULL);
	if (r != 1)
		return r;
	ASSERT_EQ(rq.len, n);
	for (size_t i = 0; i < n; i++)
		ASSERT_EQ(bawn_socks_request_parse(p, i, &rq, NULL), 0);
	memcpy(more, p, n);
	memset(more + n, 0xee, 16);
	ASSERT_EQ(bawn_socks_request_parse(more, n + 16, &rq, NULL), 1);
	ASSERT_EQ(rq.len, n);
	return 1;
}

TEST(hello)
{
	struct bawn_socks_hello h;

	ASSERT_EQ(bawn_socks5_hello_parse(BYTES("\x05\x01\x00"), &h), 1);
	ASSERT_TRUE(h.none && !h.password && h.len == 3);
	ASSERT_EQ(bawn_socks5_hello_parse(BYTES("\x05\x02\x01\x02zz"), &h), 1);
	ASSERT_TRUE(!h.none && h.password && h.len == 4);
	ASSERT_EQ(bawn_socks5_hello_parse(BYTES("\x05\x03\x00\x01\x02"), &h), 1);
	ASSERT_TRUE(h.none && h.password);
	ASSERT_EQ(bawn_socks5_hello_parse(BYTES("\x05\x01\x80"), &h), 1);
	ASSERT_TRUE(!h.none && !h.password);
	ASSERT_EQ(bawn_socks5_hello_parse(BYTES(""), &h), 0);
	ASSERT_EQ(bawn_socks5_hello_parse(BYTES("\x05"), &h), 0);
	ASSERT_EQ(bawn_socks5_hello_parse(BYTES("\x05\x02\x00"), &h), 0);
	ASSERT_TRUE(bawn_socks5_hello_parse(BYTES("\x05\x00"), &h) < 0);
	ASSERT_TRUE(bawn_socks5_hello_parse(BYTES("\x04"), &h) < 0);
	ASSERT_TRUE(bawn_socks5_hello_parse(BYTES("GET /"), &h) < 0);
}

TEST(auth)
{
	static const uint8_t msg[] = "\x01\x04user\x05token";

	for (size_t i = 0; i < sizeof(msg) - 1; i++)
		ASSERT_EQ(bawn_socks5_auth_parse(msg, i, &rq), 0);
	ASSERT_EQ(bawn_socks5_auth_parse(msg, sizeof(msg) - 1, &rq), 1);
	ASSERT_STREQ(rq.user, "user");
	ASSERT_STREQ(rq.password, "token");
	ASSERT_EQ(rq.len, sizeof(msg) - 1);
	ASSERT_EQ(bawn_socks5_auth_parse(BYTES("\x01\x00\x00"), &rq), 1);
	ASSERT_STREQ(rq.password, "");
	ASSERT_TRUE(bawn_socks5_auth_parse(BYTES("\x05\x04user\x05token"), &rq) < 0);
	/* A token that goes on behind a NUL must not compare as the short one. */
	ASSERT_TRUE(bawn_socks5_auth_parse(BYTES("\x01\x01u\x07token\0x"), &rq) < 0);
	ASSERT_TRUE(bawn_socks5_auth_parse(BYTES("\x01\x03u\0v\x01x"), &rq) < 0);
}

TEST(auth_of_every_length)
{
	uint8_t msg[520] = {1, 255};

	memset(msg + 2, 'u', 255);
	msg[257] = 255;
	memset(msg + 258, 'p', 255);
	ASSERT_EQ(bawn_socks5_auth_parse(msg, 513, &rq), 1);
	ASSERT_EQ(strlen(rq.user), 255);
	ASSERT_EQ(strlen(rq.password), 255);
}

TEST(version_5)
{
	ASSERT_EQ(request(BYTES("\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb")), 1);
	ASSERT_EQ(rq.version, 5);
	ASSERT_EQ(rq.command, 1);
	ASSERT_STREQ(rq.host.text, "127.0.0.1");
	ASSERT_EQ(rq.port, 443);
	ASSERT_EQ(request(BYTES("\x05\x01\x00\x03\x0b"
				"EXAMPLE.org\x00\x50")),
		1);
	ASSERT_STREQ(rq.host.text, "example.org");
	ASSERT_EQ(rq.port, 80);
	ASSERT_EQ(request(BYTES(
			  "\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50")),
		1);
	ASSERT_STREQ(rq.host.text, "2001:db8::1");
	ASSERT_EQ(
		request(BYTES("\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\x00\x50")),
		1);
	ASSERT_STREQ(rq.host.text, "127.0.0.1");
	ASSERT_EQ(rq.host.kind, BAWN_HOST_V4);
	/* An address as a name is the address. */
	ASSERT_EQ(request(BYTES("\x05\x01\x00\x03\x06"
				"0x7f.1\x00\x50")),
		1);
	ASSERT_STREQ(rq.host.text, "127.0.0.1");
	ASSERT_EQ(request(BYTES("\x05\x01\x00\x03\x03::1\x00\x50")), 1);
	ASSERT_EQ(rq.host.kind, BAWN_HOST_V6);
	/* Other commands come through with their number, to be answered. */
	ASSERT_EQ(request(BYTES("\x05\x03\x00\x01\0\0\0\0\0\0")), 1);
	ASSERT_EQ(rq.command, 3);
}

TEST(version_5_keeps_who_it_is)
{
	ASSERT_EQ(bawn_socks5_auth_parse(BYTES("\x01\x01u\x01p"), &rq), 1);
	ASSERT_EQ(bawn_socks_request_parse(
			  BYTES("\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb"), &rq, NULL),
		1);
	ASSERT_STREQ(rq.user, "u");
	ASSERT_STREQ(rq.password, "p");
}

TEST(version_5_refused)
{
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x03\x00\x00\x50")) < 0);
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x03\x03"
				  "a\0b\x00\x50")) < 0);
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x03\x03"
				  "a\rb\x00\x50")) < 0);
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x03\x03"
				  "a\nb\x00\x50")) < 0);
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x03\x03"
				  "a b\x00\x50")) < 0);
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x03\x03"
				  "u@b\x00\x50")) < 0);
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x03\x04"
				  "a%00\x00\x50")) < 0);
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x03\x04"
				  "a:80\x00\x50")) < 0);
	ASSERT_TRUE(request(BYTES("\x05\x01\x01\x01\x7f\x00\x00\x01\x01\xbb")) < 0);
	ASSERT_EQ(request(BYTES("\x05\x01\x00\x02\x7f\x00\x00\x01\x01\xbb")), -EAFNOSUPPORT);
	ASSERT_TRUE(request(BYTES("\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x00")) < 0);
	ASSERT_TRUE(request(BYTES("\x06\x01")) < 0);
}

TEST(version_5_longest_name)
{
	uint8_t msg[300] = {5, 1, 0, 3, 255};

	memset(msg + 5, 'a', 255);
	msg[261] = 80;
	ASSERT_EQ(bawn_socks_request_parse(msg, 261, &rq, NULL), 0);
	ASSERT_TRUE(bawn_socks_request_parse(msg, 262, &rq, NULL) < 0);
}

TEST(version_4)
{
	ASSERT_EQ(request(BYTES("\x04\x01\x00\x50\x08\x08\x08\x08me\0")), 1);
	ASSERT_EQ(rq.version, 4);
	ASSERT_STREQ(rq.host.text, "8.8.8.8");
	ASSERT_EQ(rq.port, 80);
	ASSERT_STREQ(rq.user, "me");
	ASSERT_EQ(request(BYTES("\x04\x01\x01\xbb\0\0\0\x01\0a.example\0")), 1);
	ASSERT_STREQ(rq.host.text, "a.example");
	ASSERT_EQ(rq.port, 443);
	ASSERT_STREQ(rq.user, "");
	/* 0.0.0.0 is an address, not the sign of a name. */
	ASSERT_EQ(request(BYTES("\x04\x01\x01\xbb\0\0\0\0\0")), 1);
	ASSERT_STREQ(rq.host.text, "0.0.0.0");
	ASSERT_TRUE(request(BYTES("\x04\x01\x01\xbb\0\0\0\x01\0\0")) < 0);
	ASSERT_TRUE(request(BYTES("\x04\x01\x01\xbb\0\0\0\x01\0a b\0")) < 0);
	ASSERT_TRUE(request(BYTES("\x04\x01\0\0\x08\x08\x08\x08\0")) < 0);
}

TEST(version_4_without_end)
{
	uint8_t msg[600] = {4, 1, 0, 80, 0, 0, 0, 1};

	memset(msg + 8, 'a', sizeof(msg) - 8);
	ASSERT_EQ(bawn_socks_request_parse(msg, 8 + 255, &rq, NULL), 0);
	ASSERT_TRUE(bawn_socks_request_parse(msg, 8 + 256, &rq, NULL) < 0);
	msg[8] = 0;
	ASSERT_EQ(bawn_socks_request_parse(msg, 9 + 255, &rq, NULL), 0);
	ASSERT_TRUE(bawn_socks_request_parse(msg, 9 + 256, &rq, NULL) < 0);
}
