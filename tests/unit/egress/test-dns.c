/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "egress/dns.h"
#include "harness.h"

#define BYTES(s) (const uint8_t *)("" s), sizeof(s) - 1
#define HEAD     "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define HEAD_OPT "\x12\x34\x01\x20\x00\x01\x00\x00\x00\x00\x00\x01"
#define NAME          \
	"\x03wWw\x07" \
	"ExAmple\x03org\x00"
#define A   "\x00\x01\x00\x01"
#define OPT "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"

static struct bawn_dns_question q;

static int parse(const uint8_t *p, size_t n)
{
	struct bawn_error err = {0};

	memset(&q, 0xaa, sizeof(q));
	return bawn_dns_question_parse(p, n, &q, &err);
}

TEST(question)
{
	ASSERT_EQ(parse(BYTES(HEAD NAME A)), 0);
	ASSERT_EQ(q.id, 0x1234);
	ASSERT_EQ(q.type, BAWN_DNS_A);
	ASSERT_EQ(q.klass, 1);
	ASSERT_STREQ(q.name.text, "www.example.org");
	ASSERT_EQ(q.question_len, 17 + 4);
	ASSERT_TRUE(!q.edns);
	ASSERT_EQ(parse(BYTES(HEAD_OPT NAME "\x00\x1c\x00\x01" OPT)), 0);
	ASSERT_EQ(q.type, BAWN_DNS_AAAA);
	ASSERT_TRUE(q.edns);
	/* An option inside OPT. */
	ASSERT_EQ(parse(BYTES(HEAD_OPT NAME A
			  "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x04\x00\x0a\x00\x00")),
		0);
	ASSERT_EQ(parse(BYTES(HEAD "\x05_http\x04_tcp\x01"
				   "a\x07"
				   "example\x00\x00\x21\x00\x01")),
		0);
	ASSERT_STREQ(q.name.text, "_http._tcp.a.example");
}

TEST(prefixes_are_refused)
{
	static const uint8_t msg[] = HEAD_OPT NAME A OPT;

	for (size_t i = 0; i < sizeof(msg) - 1; i++) {
		int r = parse(msg, i);

		ASSERT_TRUE(r < 0);
		ASSERT_EQ(r == -ENODATA, i < 12);
		if (i >= 12)
			ASSERT_EQ(q.id, 0x1234);
	}
}

TEST(refused)
{
	/* answers, operations, counts, truncation */
	ASSERT_EQ(
		parse(BYTES("\x12\x34\x81\x00\x00\x01\x00\x00\x00\x00\x00\x00" NAME A)), -ENODATA);
	ASSERT_EQ(parse(BYTES("\x12\x34\x29\x00\x00\x01\x00\x00\x00\x00\x00\x00" NAME A)), -ENOSYS);
	ASSERT_EQ(q.question_len, 0);
	ASSERT_TRUE(parse(BYTES("\x12\x34\x03\x00\x00\x01\x00\x00\x00\x00\x00\x00" NAME A)) < 0);
	ASSERT_TRUE(
		parse(BYTES("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00" NAME A NAME A)) < 0);
	ASSERT_TRUE(parse(BYTES("\x12\x34\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")) < 0);
	ASSERT_TRUE(parse(BYTES("\x12\x34\x01\x00\x00\x01\x00\x01\x00\x00\x00\x00" NAME A)) < 0);
	ASSERT_TRUE(parse(BYTES("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x01\x00\x00" NAME A)) < 0);
	ASSERT_TRUE(
		parse(BYTES("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x02" NAME A OPT OPT)) <
		0);
	/* names: root, pointer, long label, dot in a label, address, binary */
	ASSERT_TRUE(parse(BYTES(HEAD "\x00" A)) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD "\xc0\x0c" A)) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD "\x03www\xc0\x0c" A)) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD "\x40" A)) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD "\x03"
				     "a.b\x03org\x00" A)) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD "\x03"
				     "127\x01"
				     "0\x01"
				     "0\x01"
				     "1\x00" A)) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD "\x02\xc3\xbc\x03org\x00" A)) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD "\x03"
				     "a\0b\x03org\x00" A)) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD "\x03"
				     "a b\x03org\x00" A)) < 0);
	/* class, bytes behind, records other than OPT */
	ASSERT_TRUE(parse(BYTES(HEAD NAME "\x00\x10\x00\x03")) < 0);
	ASSERT_EQ(q.id, 0x1234);
	ASSERT_TRUE(parse(BYTES(HEAD NAME A "x")) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD_OPT NAME A OPT "x")) < 0);
	ASSERT_TRUE(
		parse(BYTES(HEAD_OPT NAME A "\x00\x00\xfa\x04\xd0\x00\x00\x00\x00\x00\x00")) < 0);
	ASSERT_TRUE(parse(BYTES(HEAD_OPT NAME A)) < 0);
}

TEST(long_names)
{
	uint8_t msg[400] = HEAD;
	size_t at = 12;

	for (int i = 0; i < 4; i++) {
		msg[at] = 63;
		memset(msg + at + 1, 'a', 63);
		at += 64;
	}
	msg[at] = 0;
	msg[at + 2] = 1;
	msg[at + 4] = 1;
	ASSERT_TRUE(parse(msg, at + 5) < 0);
	/* 253 characters fit. */
	at = 12 + 3 * 64;
	msg[at] = 61;
	memset(msg + at, 0, 100);
	msg[at] = 61;
	memset(msg + at + 1, 'a', 61);
	at += 63;
	msg[at + 1] = 1;
	msg[at + 3] = 1;
	ASSERT_EQ(parse(msg, at + 4), 0);
	ASSERT_EQ(strlen(q.name.text), 253);
}

TEST(answer)
{
	static const uint8_t query[] = HEAD NAME A, addr[] = {198, 18, 0, 7};
	uint8_t dst[BAWN_DNS_MAX];
	int n;

	ASSERT_EQ(parse(query, sizeof(query) - 1), 0);
	n = bawn_dns_answer(
		query, sizeof(query) - 1, &q, BAWN_DNS_OK, addr, 4, 0x01020304, dst, sizeof(dst));
	static const uint8_t want[] =
		"\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" NAME A
		"\xc0\x0c\x00\x01\x00\x01\x01\x02\x03\x04\x00\x04\xc6\x12\x00\x07";
	ASSERT_EQ(n, sizeof(want) - 1);
	ASSERT_EQ(memcmp(dst, want, sizeof(want) - 1), 0);
	ASSERT_EQ(bawn_dns_answer(query, sizeof(query) - 1, &q, BAWN_DNS_OK, addr, 4, 1, dst,
			  (size_t)n - 1),
		-ENOBUFS);
	/* An address that does not answer the question. */
	ASSERT_EQ(bawn_dns_answer(
			  query, sizeof(query) - 1, &q, BAWN_DNS_OK, addr, 16, 1, dst, sizeof(dst)),
		-EINVAL);
	ASSERT_EQ(bawn_dns_answer(query, sizeof(query) - 1, &q, BAWN_DNS_NXDOMAIN, addr, 4, 1, dst,
			  sizeof(dst)),
		-EINVAL);
	ASSERT_EQ(
		bawn_dns_answer(query, 20, &q, BAWN_DNS_OK, NULL, 0, 1, dst, sizeof(dst)), -EINVAL);
	/* NODATA and NXDOMAIN. */
	n = bawn_dns_answer(
		query, sizeof(query) - 1, &q, BAWN_DNS_OK, NULL, 0, 0, dst, sizeof(dst));
	ASSERT_EQ(n, sizeof(query) - 1);
	ASSERT_EQ(dst[7], 0);
	n = bawn_dns_answer(
		query, sizeof(query) - 1, &q, BAWN_DNS_NXDOMAIN, NULL, 0, 0, dst, sizeof(dst));
	ASSERT_EQ(n, sizeof(query) - 1);
	ASSERT_EQ(dst[3], 0x83);
}

TEST(answer_with_edns)
{
	static const uint8_t query[] = HEAD_OPT NAME "\x00\x1c\x00\x01" OPT;
	static const uint8_t addr[16] = {0xfd, 0x00, 0x62, 0x61, [15] = 9};
	uint8_t dst[BAWN_DNS_MAX];
	int n;

	ASSERT_EQ(parse(query, sizeof(query) - 1), 0);
	n = bawn_dns_answer(
		query, sizeof(query) - 1, &q, BAWN_DNS_OK, addr, 16, 60, dst, sizeof(dst));
	ASSERT_EQ(n, 12 + 21 + 28 + 11);
	ASSERT_EQ(memcmp(dst + n - 11, "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00", 11), 0);
	ASSERT_EQ(dst[11], 1);
	ASSERT_EQ(memcmp(dst + 12 + 21 + 12, addr, 16), 0);
}

TEST(answer_to_what_was_refused)
{
	static const uint8_t query[] = "\x12\x34\x29\x00\x00\x01\x00\x00\x00\x00\x00\x00" NAME A;
	uint8_t dst[64];

	ASSERT_TRUE(parse(query, sizeof(query) - 1) < 0);
	ASSERT_EQ(bawn_dns_answer(query, sizeof(query) - 1, &q, BAWN_DNS_NOTIMP, NULL, 0, 0, dst,
			  sizeof(dst)),
		12);
	ASSERT_EQ(memcmp(dst, "\x12\x34\xa9\x84\0\0\0\0\0\0\0\0", 12), 0);
}
