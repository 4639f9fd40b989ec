/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/http.h"
#include "harness.h"

#define H "Host: a.example\r\n"

static struct bawn_http_request rq;
static struct bawn_http_response rs;
static int status;

static int req(const char *s, size_t len)
{
	struct bawn_error err = {0};
	int r;

	status = 0;
	memset(&rq, 0xaa, sizeof(rq));
	r = bawn_http_request_parse(s, len, &rq, &status, &err);
	if (r < 0 && (!err.msg[0] || status < 400 || status > 505))
		FAIL("refused without reason or status");
	return r;
}
#define REQ(s) req("" s, sizeof(s) - 1)

static int res(const char *s, size_t len)
{
	memset(&rs, 0xaa, sizeof(rs));
	return bawn_http_response_parse(s, len, &rs, NULL);
}
#define RES(s) res("" s, sizeof(s) - 1)

TEST(origin_form)
{
	ASSERT_EQ(
		REQ("GET /x?y=1 HTTP/1.1\r\nHost: A.example:8080\r\nX-Y:  z \t\r\nE:\r\n\r\nrest"),
		1);
	ASSERT_EQ(rq.form, BAWN_FORM_ORIGIN);
	ASSERT_EQ(rq.minor, 1);
	ASSERT_STREQ(rq.host.text, "a.example");
	ASSERT_EQ(rq.port, 8080);
	ASSERT_TRUE(rq.path.n == 6 && memcmp(rq.path.p, "/x?y=1", 6) == 0);
	ASSERT_EQ(rq.n_headers, 3);
	ASSERT_TRUE(rq.headers[1].name.n == 3 && rq.headers[1].value.n == 1);
	ASSERT_EQ(rq.headers[1].value.p[0], 'z');
	ASSERT_EQ(rq.headers[2].value.n, 0);
	ASSERT_EQ(rq.body, BAWN_BODY_NONE);
	ASSERT_TRUE(rq.keep_alive && !rq.upgrade && !rq.expect_continue);
	ASSERT_EQ(rq.head_len,
		sizeof("GET /x?y=1 HTTP/1.1\r\nHost: A.example:8080\r\nX-Y:  z \t\r\nE:\r\n\r\n") -
			1);
}

TEST(absolute_form)
{
	ASSERT_EQ(REQ("GET http://A.Example./p HTTP/1.1\r\n" H "\r\n"), 1);
	ASSERT_EQ(rq.form, BAWN_FORM_ABSOLUTE);
	ASSERT_STREQ(rq.host.text, "a.example");
	ASSERT_EQ(rq.port, 80);
	ASSERT_TRUE(rq.path.n == 2 && memcmp(rq.path.p, "/p", 2) == 0);
	ASSERT_EQ(REQ("GET HTTP://a.example HTTP/1.1\r\n" H "\r\n"), 1);
	ASSERT_TRUE(rq.path.n == 1 && rq.path.p[0] == '/');
	ASSERT_EQ(REQ("GET http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81\r\n\r\n"), 1);
	ASSERT_STREQ(rq.host.text, "::1");
	ASSERT_EQ(rq.port, 81);
	/* HTTP/1.0 may leave Host away if the target names it. */
	ASSERT_EQ(REQ("GET http://a.example/ HTTP/1.0\r\n\r\n"), 1);
	ASSERT_TRUE(!rq.keep_alive);
	ASSERT_EQ(REQ("GET http://a.example/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), 1);
	ASSERT_TRUE(rq.keep_alive);
}

TEST(connect)
{
	ASSERT_EQ(REQ("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n\x16\x03"), 1);
	ASSERT_EQ(rq.form, BAWN_FORM_AUTHORITY);
	ASSERT_EQ(rq.port, 443);
	ASSERT_EQ(REQ("CONNECT a.example:443 HTTP/1.1\r\n" H "\r\n"), 1);
	ASSERT_EQ(rq.port, 443);
	ASSERT_EQ(REQ("CONNECT 0x7f.1:443 HTTP/1.0\r\n\r\n"), 1);
	ASSERT_STREQ(rq.host.text, "127.0.0.1");
	ASSERT_EQ(REQ("OPTIONS * HTTP/1.1\r\n" H "\r\n"), 1);
	ASSERT_EQ(rq.form, BAWN_FORM_ASTERISK);
}

TEST(framing)
{
	ASSERT_EQ(REQ("POST / HTTP/1.1\r\n" H "Content-Length: 12\r\n\r\n"), 1);
	ASSERT_EQ(rq.body, BAWN_BODY_LENGTH);
	ASSERT_EQ(rq.length, 12);
	ASSERT_EQ(REQ("POST / HTTP/1.1\r\n" H
		      "Transfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n"),
		1);
	ASSERT_EQ(rq.body, BAWN_BODY_CHUNKED);
	ASSERT_TRUE(rq.expect_continue);
	ASSERT_EQ(
		REQ("GET / HTTP/1.1\r\n" H "Connection: x, Upgrade\r\nUpgrade: websocket\r\n\r\n"),
		1);
	ASSERT_TRUE(rq.upgrade && rq.keep_alive);
	ASSERT_EQ(REQ("GET / HTTP/1.1\r\n" H "Connection: te , CLOSE\r\n\r\n"), 1);
	ASSERT_TRUE(!rq.keep_alive);
	ASSERT_EQ(REQ("GET / HTTP/1.1\r\n" H "Upgrade: h2c\r\n\r\n"), 1);
	ASSERT_TRUE(rq.upgrade);
}

static const struct {
	int status;
	const char *text;
} refused[] = {
	/* smuggling */
	{400, "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length: 0x1\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content-Length : 1\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Content_Length: 1\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked;x\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: \"chunked\"\r\n\r\n"},
	{501, "POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H
	      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Transfer_Encoding: chunked\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding\t: chunked\r\n\r\n"},
	{400, "POST / HTTP/1.1\r\n" H "Transfer-Encoding:\x0b"
	      "chunked\r\n\r\n"},
	{400, "POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n X: a\r\n" H "\r\n"},
	{400, "GET / HTTP/1.1\n" H "\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "X: a\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "\r\r\n"},
	{400, "GET / HTTP/1.1\r\n" H ": a\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "X\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "X y: a\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "X(: a\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "Connection: close, Host\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "Connection: content-length\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "Expect: 200-ok\r\n\r\n"},
	{400, "CONNECT a.example:443 HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\n"},
	{400, "CONNECT a.example:443 HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "Upgrade: x\r\nContent-Length: 5\r\n\r\n"},
	/* hosts */
	{400, "GET / HTTP/1.1\r\n\r\n"},
	{400, "GET / HTTP/1.0\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost:\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\n" H H "\r\n"},
	{400, "GET / HTTP/1.1\r\n" H "Host: b.example\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost : a.example\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: u@a.example\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: a.example:\r\n\r\n"},
	{400, "GET / HTTP/1.1\r\nHost: a.example%00\r\n\r\n"},
	{400, "GET http://b.example/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET http://a.example:81/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET http://a.example/ HTTP/1.1\r\n\r\n"},
	{400, "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n"},
	{400, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n\r\n"},
	{400, "CONNECT a.example:443 HTTP/1.1\r\n\r\n"},
	{400, "CONNECT a.example HTTP/1.1\r\n" H "\r\n"},
	{400, "CONNECT a.example:0 HTTP/1.1\r\n" H "\r\n"},
	{400, "CONNECT http://a.example:443 HTTP/1.1\r\n" H "\r\n"},
	{400, "CONNECT u:p@a.example:443 HTTP/1.1\r\n" H "\r\n"},
	{400, "CONNECT / HTTP/1.1\r\n" H "\r\n"},
	/* targets */
	{400, "GET http://u@a.example/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET http://a.example\\@b.example/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET http://a.example#@b.example/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET http://a.example?x HTTP/1.1\r\n" H "\r\n"},
	{400, "GET http:/a.example/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET http:///x HTTP/1.1\r\n" H "\r\n"},
	{400, "GET https://a.example/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET ftp://a.example/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET x HTTP/1.1\r\n" H "\r\n"},
	{400, "GET * HTTP/1.1\r\n" H "\r\n"},
	{400, "GET  HTTP/1.1\r\n" H "\r\n"},
	{400, "GET  / HTTP/1.1\r\n" H "\r\n"},
	{400, "GET / x HTTP/1.1\r\n" H "\r\n"},
	{400, "GET\t/ HTTP/1.1\r\n" H "\r\n"},
	{400, "GET /\t HTTP/1.1\r\n" H "\r\n"},
	{400, "GET /#x HTTP/1.1\r\n" H "\r\n"},
	{400, "GET / HTTP/1.1 \r\n" H "\r\n"},
	{400, " GET / HTTP/1.1\r\n" H "\r\n"},
	{400, "\r\nGET / HTTP/1.1\r\n" H "\r\n"},
	/* methods, versions */
	{501, "get / HTTP/1.1\r\n" H "\r\n"},
	{501, "G\"T / HTTP/1.1\r\n" H "\r\n"},
	{501, "-GET / HTTP/1.1\r\n" H "\r\n"},
	{405, "TRACE / HTTP/1.1\r\n" H "\r\n"},
	{400, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n" H "\r\n"},
	{400, "GET /\r\n" H "\r\n"},
	{400, "GET / HTTP/1.10\r\n" H "\r\n"},
	{400, "GET / http/1.1\r\n" H "\r\n"},
	{505, "GET / HTTP/2.0\r\n" H "\r\n"},
	{505, "GET / HTTP/0.9\r\n" H "\r\n"},
	{505, "GET / HTTP/1.2\r\n" H "\r\n"},
	{505, "PRI * HTTP/2.0\r\n\r\n"},
	/* not HTTP at all, known at once */
	{400, "\x16\x03\x01\x02"},
	{400, "\x05\x01"},
};

TEST(refused_requests)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		int r = req(refused[i].text, strlen(refused[i].text));

		if (r >= 0 || status != refused[i].status)
			FAIL("'%s' gave %d, status %d", refused[i].text, r, status);
	}
	ASSERT_TRUE(REQ("GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n") < 0);
	ASSERT_TRUE(REQ("GET /\0 HTTP/1.1\r\n" H "\r\n") < 0);
}

TEST(in_pieces)
{
	static const char text[] =
		"POST http://a.example/p HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\nabc";
	size_t head = sizeof(text) - 1 - 3;

	for (size_t n = 0; n < head; n++)
		ASSERT_EQ(req(text, n), 0);
	for (size_t n = head; n < sizeof(text); n++) {
		ASSERT_EQ(req(text, n), 1);
		ASSERT_EQ(rq.head_len, head);
	}
}

TEST(sizes)
{
	static char big[BAWN_HTTP_HEAD_MAX + 100];
	size_t n;

	memset(big, 'a', sizeof(big));
	memcpy(big, "GET /", 5);
	ASSERT_EQ(req(big, BAWN_HTTP_HEAD_MAX - 1), 0);
	ASSERT_TRUE(req(big, BAWN_HTTP_HEAD_MAX) < 0);
	ASSERT_EQ(status, 414);
	memcpy(big, "GET / HTTP/1.1\r\nX: ", 19);
	ASSERT_TRUE(req(big, BAWN_HTTP_HEAD_MAX) < 0);
	ASSERT_EQ(status, 431);
	/* An end behind the maximum comes too late. */
	memcpy(big + BAWN_HTTP_HEAD_MAX + 4, "\r\n\r\n", 4);
	ASSERT_TRUE(req(big, sizeof(big)) < 0);

	n = (size_t)snprintf(big, sizeof(big), "GET / HTTP/1.1\r\n" H);
	for (size_t i = 1; i < BAWN_HTTP_HEADERS_MAX; i++)
		n += (size_t)snprintf(big + n, sizeof(big) - n, "X: y\r\n");
	memcpy(big + n, "\r\n", 2);
	ASSERT_EQ(req(big, n + 2), 1);
	ASSERT_EQ(rq.n_headers, BAWN_HTTP_HEADERS_MAX);
	memcpy(big + n, "X: y\r\n\r\n", 8);
	ASSERT_TRUE(req(big, n + 8) < 0);
	ASSERT_EQ(status, 431);
}

TEST(responses)
{
	ASSERT_EQ(RES("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 1);
	ASSERT_EQ(rs.status, 200);
	ASSERT_EQ(rs.body, BAWN_BODY_LENGTH);
	ASSERT_EQ(rs.length, 5);
	ASSERT_TRUE(rs.keep_alive);
	ASSERT_EQ(RES("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n"), 1);
	ASSERT_EQ(rs.body, BAWN_BODY_CHUNKED);
	ASSERT_EQ(RES("HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\n"), 1);
	ASSERT_EQ(rs.body, BAWN_BODY_UNTIL_CLOSE);
	ASSERT_TRUE(!rs.keep_alive);
	ASSERT_EQ(RES("HTTP/1.1 200 OK\r\n\r\n"), 1);
	ASSERT_TRUE(!rs.keep_alive);
	ASSERT_EQ(RES("HTTP/1.1 100 Continue\r\n\r\n"), 1);
	ASSERT_EQ(rs.body, BAWN_BODY_NONE);
	ASSERT_EQ(RES("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), 1);
	ASSERT_EQ(rs.body, BAWN_BODY_NONE);
	ASSERT_EQ(RES("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"), 1);
	ASSERT_EQ(rs.body, BAWN_BODY_NONE);
	ASSERT_EQ(RES("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n"), 1);
	ASSERT_TRUE(!rs.keep_alive);
	ASSERT_EQ(RES("HTTP/1.1 200 \xc3\xbc\r\n"), 0);
}

TEST(refused_responses)
{
	static const char *const t[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 101 x\r\nContent-Length: 3\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 5\n\n",
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
		"HTTP/1.1 20 OK\r\n\r\n",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\n\r\n",
		"HTTP/1.1 600 OK\r\n\r\n",
		"HTTP/1.1 abc OK\r\n\r\n",
		"HTTP/1.1  200 OK\r\n\r\n",
		"HTTP/2 200\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n",
		"ICY 200 OK\r\n\r\n",
		"<html>\r\n\r\n",
		"SSH-2.0-x\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (res(t[i], strlen(t[i])) >= 0)
			FAIL("'%s' was accepted", t[i]);
}

/* All at once, and byte by byte: the same. */
static int64_t chunks(const char *s, size_t len, bool *done)
{
	struct bawn_http_chunks a = {0}, b = {0};
	int64_t all = bawn_http_chunks_feed(&a, s, len, done), sum = 0, k = 1;
	bool end = false;

	for (size_t i = 0; i < len && !end && k >= 0; i++) {
		k = bawn_http_chunks_feed(&b, s + i, 1, &end);
		sum += k;
	}
	ASSERT_EQ(k < 0, all < 0);
	if (all >= 0)
		ASSERT_EQ(sum, all);
	ASSERT_EQ(end, *done);
	return all;
}
#define CHUNKS(s) chunks("" s, sizeof(s) - 1, &done)

TEST(chunked)
{
	bool done;

	ASSERT_EQ(CHUNKS("0\r\n\r\n"), 5);
	ASSERT_TRUE(done);
	ASSERT_EQ(CHUNKS("5\r\nhello\r\n0\r\n\r\nGET /"), 15);
	ASSERT_TRUE(done);
	ASSERT_EQ(CHUNKS("A\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"), 20);
	ASSERT_TRUE(done);
	ASSERT_EQ(CHUNKS("00f\r\n123456789012345\r\n000\r\nX-Sum: 1:2\r\nY:\r\n\r\n"), 45);
	ASSERT_TRUE(done);
	ASSERT_EQ(CHUNKS("5\r\nhel"), 6);
	ASSERT_TRUE(!done);
	ASSERT_EQ(CHUNKS("5\r\nhello\r\n"), 10);
	ASSERT_TRUE(!done);
	ASSERT_EQ(CHUNKS("fffffffffffffff\r\nx"), 18);
	ASSERT_TRUE(!done);
}

TEST(refused_chunks)
{
	static const char *const t[] = {"\r\n", "5;x=y\r\n", "5 \r\n", " 5\r\n", "5\n", "5\rx",
		"g\r\n", "-5\r\n", "+5\r\n", "0x5\r\n", "5\r\nhelloX", "5\r\nhello\n",
		"5\r\nhello\rX", "0\r\nX\r\n", "0\r\n X: y\r\n", "0\r\nX : y\r\n", "0\r\nX: y\n",
		"0\r\n:\r\n", "0\n", "0\r\n\n", "1234567890123456\r\n", "00000000000000001\r\n",
		"0\r\nX: \x01\r\n"};
	static char trailer[8192];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		bool done;

		if (chunks(t[i], strlen(t[i]), &done) >= 0 || done)
			FAIL("'%s' was accepted", t[i]);
	}
	memset(trailer, 'x', sizeof(trailer));
	memcpy(trailer, "0\r\n", 3);
	for (size_t i = 7; i + 2 < sizeof(trailer); i += 8) {
		bool done;

		memcpy(trailer + i - 2, ":\r\n", 3);
		if (i > 5000)
			ASSERT_TRUE(chunks(trailer, i, &done) < 0);
	}
}

TEST(refused_stays_refused)
{
	struct bawn_http_chunks c = {0};
	bool done;

	ASSERT_TRUE(bawn_http_chunks_feed(&c, "x", 1, &done) < 0);
	ASSERT_TRUE(bawn_http_chunks_feed(&c, "0\r\n\r\n", 5, &done) < 0);
	ASSERT_TRUE(!done);
}
