/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/tls.h"
#include "harness.h"

#define BYTES(s) (const uint8_t *)("" s), sizeof(s) - 1

/* A ClientHello: extensions as given, handshake and record headers around it. */
struct msg {
	uint8_t body[40000];
	size_t n;
};

static struct bawn_hello hello;

static int parse(const uint8_t *p, size_t n)
{
	struct bawn_error err = {0};
	int r = bawn_hello_parse(p, n, &hello, &err);

	if (r < 0 && !err.msg[0])
		FAIL("refused without a reason");
	return r;
}

static void add(struct msg *m, const void *p, size_t n)
{
	memcpy(m->body + m->n, p, n);
	m->n += n;
}

static void add16(struct msg *m, size_t v)
{
	uint8_t b[2] = {(uint8_t)(v >> 8), (uint8_t)v};

	add(m, b, 2);
}

/* The handshake message, without records. `ext` NULL: none at all. */
static void handshake(struct msg *m, const void *ext, size_t ext_len)
{
	static const uint8_t zeros[32];

	m->n = 0;
	add(m, "\x01\x00\x00\x00\x03\x03", 6);
	add(m, zeros, 32);
	add(m, "\x20", 1);
	add(m, zeros, 32);
	add(m, "\x00\x04\x13\x01\x13\x02\x01\x00", 8);
	if (ext) {
		add16(m, ext_len);
		add(m, ext, ext_len);
	}
	m->body[1] = (uint8_t)((m->n - 4) >> 16);
	m->body[2] = (uint8_t)((m->n - 4) >> 8);
	m->body[3] = (uint8_t)(m->n - 4);
}

/* Cut into records of at most `size`. */
static void records(const struct msg *m, size_t size, struct msg *out)
{
	out->n = 0;
	for (size_t at = 0; at < m->n; at += size) {
		size_t len = m->n - at < size ? m->n - at : size;

		add(out, "\x16\x03\x01", 3);
		add16(out, len);
		add(out, m->body + at, len);
	}
}

static int with_extensions(const void *ext, size_t len)
{
	static struct msg m, out;

	handshake(&m, ext, len);
	records(&m, 16384, &out);
	return parse(out.body, out.n);
}

#define SNI                                    \
	"\x00\x00\x00\x10\x00\x0e\x00\x00\x0b" \
	"Example.org"
#define ALPN "\x00\x10\x00\x05\x00\x03\x02h2"
#define ECH  "\xfe\x0d\x00\x02\x00\x00"

TEST(names)
{
	ASSERT_EQ(with_extensions(BYTES(SNI)), 1);
	ASSERT_TRUE(hello.has_sni && !hello.has_ech);
	ASSERT_STREQ(hello.sni.text, "example.org");
	ASSERT_EQ(with_extensions(BYTES(ALPN SNI ALPN)), 1);
	ASSERT_STREQ(hello.sni.text, "example.org");
	ASSERT_EQ(with_extensions(BYTES(ALPN)), 1);
	ASSERT_TRUE(!hello.has_sni);
	ASSERT_EQ(with_extensions(BYTES("")), 1);
	ASSERT_TRUE(!hello.has_sni);
	ASSERT_EQ(with_extensions(NULL, 0), 1);
	ASSERT_TRUE(!hello.has_sni && !hello.has_ech);
}

TEST(encrypted_hello)
{
	ASSERT_EQ(with_extensions(BYTES(SNI ECH)), 1);
	ASSERT_TRUE(hello.has_sni && hello.has_ech);
	ASSERT_EQ(with_extensions(BYTES(ECH)), 1);
	ASSERT_TRUE(!hello.has_sni && hello.has_ech);
	ASSERT_EQ(with_extensions(BYTES("\xff\xce\x00\x00")), 1);
	ASSERT_TRUE(hello.has_ech);
}

TEST(in_records_and_in_pieces)
{
	static struct msg m, out;

	handshake(&m, BYTES(ALPN SNI ALPN));
	for (size_t size = 1; size <= m.n; size++) {
		records(&m, size, &out);
		ASSERT_EQ(parse(out.body, out.n), 1);
		ASSERT_STREQ(hello.sni.text, "example.org");
		for (size_t n = 0; n < out.n; n++)
			ASSERT_EQ(parse(out.body, n), 0);
		/* What comes behind in records of its own is not looked at. */
		add(&out, "\x14\x03\x03\x00\x01\x01", 6);
		ASSERT_EQ(parse(out.body, out.n), 1);
	}
}

TEST(refused_names)
{
	/* two extensions, two names, other types, lengths that do not fit, nothing in it */
	ASSERT_TRUE(with_extensions(BYTES(SNI SNI)) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x0a\x00\x08\x00\x00\x01"
					  "a\x00\x00\x01"
					  "b")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x06\x00\x04\x01\x00\x01"
					  "a")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x06\x00\x05\x00\x00\x01"
					  "a")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x06\x00\x04\x00\x00\x02"
					  "a")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x07\x00\x05\x00\x00\x01"
					  "ab")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x02\x00\x00")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x00")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x05\x00\x03\x00\x00\x00")) < 0);
	/* bytes that no name has */
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x08\x00\x06\x00\x00\x03"
					  "a\0b")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x08\x00\x06\x00\x00\x03"
					  "a b")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x00\x00\x08\x00\x06\x00\x00\x03"
					  "a\xc3\xbc")) < 0);
	/* extensions that do not fit */
	ASSERT_TRUE(with_extensions(BYTES("\x00")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x10\x00")) < 0);
	ASSERT_TRUE(with_extensions(BYTES("\x00\x10\x00\x05x")) < 0);
}

TEST(long_names)
{
	static uint8_t ext[9 + 300] = {0, 0, 1, 49, 1, 47, 0, 1, 44};

	memset(ext + 9, 'a', 300);
	ASSERT_TRUE(with_extensions(ext, sizeof(ext)) < 0);
}

TEST(not_tls)
{
	ASSERT_TRUE(parse(BYTES("GET / HTTP/1.1\r\n")) < 0);
	ASSERT_TRUE(parse(BYTES("SSH-2.0-x\r\n")) < 0);
	ASSERT_TRUE(parse(BYTES("\x16\x02\x00")) < 0);
	ASSERT_TRUE(parse(BYTES("\x80\x2e\x01\x03\x01")) < 0);
	ASSERT_TRUE(parse(BYTES("\x16\x03\x01\x00\x00")) < 0);
	ASSERT_TRUE(parse(BYTES("\x16\x03\x01\x40\x01")) < 0);
	ASSERT_TRUE(parse(BYTES("\x16\x03\x01\x00\x04\x02\x00\x00\x00")) < 0);
	ASSERT_TRUE(parse(BYTES("\x16\x03\x01\x00\x04\x01\x01\x00\x00")) < 0);
	ASSERT_TRUE(parse(BYTES("\x17\x03\x03\x00\x04\x01\x00\x00\x00")) < 0);
	ASSERT_EQ(parse(BYTES("")), 0);
	ASSERT_EQ(parse(BYTES("\x16")), 0);
	ASSERT_EQ(parse(BYTES("\x16\x03\x01\x00\x04")), 0);
}

TEST(malformed_bodies)
{
	static struct msg m, cut, out;

	/* Cut the message short and say so: whatever is left must not be read past its end. */
	handshake(&m, BYTES(SNI));
	for (size_t n = 4; n < m.n; n++) {
		int r;

		cut = m;
		cut.n = n;
		cut.body[2] = (uint8_t)((n - 4) >> 8);
		cut.body[3] = (uint8_t)(n - 4);
		records(&cut, 16384, &out);
		r = parse(out.body, out.n);
		/* Without extensions, exactly at their place, it is a hello of old. */
		if (r >= 0 && !(r == 1 && n == m.n - sizeof(SNI) - 1 && !hello.has_sni))
			FAIL("%zu bytes gave %d", n, r);
	}
	/* Something behind it in the same record. */
	handshake(&m, BYTES(SNI));
	add(&m, "\x01\x00\x00\x00", 4);
	records(&m, 16384, &out);
	ASSERT_TRUE(parse(out.body, out.n) < 0);
	/* Another record in between. */
	handshake(&m, BYTES(SNI));
	records(&m, m.n / 2 + 1, &out);
	out.body[5 + m.n / 2 + 1] = 23;
	ASSERT_TRUE(parse(out.body, out.n) < 0);
}

TEST(sizes)
{
	static uint8_t ext[20000];
	static struct msg m, out;

	/* padding extension */
	memcpy(ext, (const uint8_t[]){0, 21, 0x3e, 0x80}, 4);
	handshake(&m, ext, 4 + 16000);
	records(&m, 16384, &out);
	ASSERT_EQ(parse(out.body, out.n), 1);
	/* Too many records for what it says. */
	records(&m, 64, &out);
	ASSERT_TRUE(out.n > BAWN_HELLO_MAX);
	ASSERT_TRUE(parse(out.body, out.n) < 0);
	ASSERT_EQ(parse(out.body, BAWN_HELLO_MAX - 1), 0);
	ASSERT_TRUE(parse(out.body, BAWN_HELLO_MAX) < 0);
	memcpy(ext, (const uint8_t[]){0, 21, 0x4a, 0x38}, 4);
	handshake(&m, ext, 4 + 19000);
	records(&m, 16384, &out);
	ASSERT_TRUE(parse(out.body, 100) < 0);
}
