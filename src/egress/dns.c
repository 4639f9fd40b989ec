/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver's side of DNS, as little as clients need. A question is one name without compression
 * and at most an OPT record; answers carry one address of ours, so nothing of the query but the
 * question itself is sent back.
 */
#include "egress/dns.h"

#include <errno.h>

#define HEADER     12
#define NAME_LEN   255
#define CLASS_IN   1
#define TYPE_OPT   41
#define FLAG_QR    0x8000
#define FLAG_TC    0x0200
#define FLAG_RD    0x0100
#define FLAG_RA    0x0080
#define OPCODE(f)  ((f) >> 11 & 15)
#define OPT_LEN    11
#define ANSWER_LEN 12

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static uint8_t *put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

static int refuse(struct bawn_error *err, int neg_errno, const char *why)
{
	return bawn_fail(err, BAWN_ERR_CALL, neg_errno, "dns: %s", why);
}

/* The name at `at` with dots between labels; *at moves behind it. A dot inside a label would make
 * another name of it. */
static int read_name(
	const uint8_t *p, size_t n, size_t *at, char dst[static NAME_LEN + 1], size_t *ret_len)
{
	size_t len = 0;

	for (;;) {
		size_t label;

		if (*at >= n)
			return -EBADMSG;
		label = p[(*at)++];
		if (!label)
			break;
		if (label > 63 || label > n - *at || len + label + 1 > NAME_LEN)
			return -EBADMSG;
		if (len)
			dst[len++] = '.';
		for (size_t i = 0; i < label; i++) {
			uint8_t c = p[*at + i];

			if (c == '.' || c >= 0x80)
				return -EBADMSG;
			dst[len++] = (char)c;
		}
		*at += label;
	}
	dst[len] = '\0';
	*ret_len = len;
	return 0;
}

static int read_question(
	const uint8_t *p, size_t n, struct bawn_dns_question *q, struct bawn_error *err)
{
	char name[NAME_LEN + 1];
	size_t at = HEADER, len = 0;

	if (read_name(p, n, &at, name, &len) < 0 || n - at < 4)
		return refuse(err, -EBADMSG, "a malformed question");
	q->type = (uint16_t)get16(p + at);
	q->klass = (uint16_t)get16(p + at + 2);
	q->question_len = at + 4 - HEADER;
	if (q->klass != CLASS_IN)
		return refuse(err, -EBADMSG, "a class other than IN");
	if (bawn_host_parse(name, len, &q->name, err) < 0)
		return -EBADMSG;
	if (q->name.kind != BAWN_HOST_NAME)
		return refuse(err, -EBADMSG, "an address is no name");
	return 0;
}

/* OPT and nothing else: signatures and the like have no meaning here. */
static int read_additional(const uint8_t *p, size_t n, struct bawn_error *err)
{
	if (n < OPT_LEN || p[0] || get16(p + 1) != TYPE_OPT || n - OPT_LEN != get16(p + 9))
		return refuse(err, -EBADMSG, "something else than OPT behind the question");
	return 0;
}

int bawn_dns_question_parse(
	const uint8_t *p, size_t n, struct bawn_dns_question *ret, struct bawn_error *err)
{
	struct bawn_dns_question q = {0};
	unsigned flags, additional;
	size_t end;
	int r;

	if (n < HEADER)
		return refuse(err, -ENODATA, "too short");
	flags = get16(p + 2);
	if (flags & FLAG_QR)
		return refuse(err, -ENODATA, "an answer that nobody asked for");
	q.id = (uint16_t)get16(p);
	*ret = q;
	if (OPCODE(flags))
		return refuse(err, -ENOSYS, "an operation other than QUERY");
	additional = get16(p + 10);
	if (flags & FLAG_TC || get16(p + 4) != 1 || get16(p + 6) || get16(p + 8) || additional > 1)
		return refuse(err, -EBADMSG, "not exactly one question");
	r = read_question(p, n, &q, err);
	if (r < 0)
		return r;
	end = HEADER + q.question_len;
	if (additional) {
		r = read_additional(p + end, n - end, err);
		if (r < 0)
			return r;
		q.edns = true;
	} else if (end != n) {
		return refuse(err, -EBADMSG, "bytes behind the question");
	}
	*ret = q;
	return 0;
}

/* Whether an address of that length can be what was asked for. */
static bool answers(const struct bawn_dns_question *q, enum bawn_dns_code code, size_t addr_len)
{
	if (code != BAWN_DNS_OK || !q->question_len)
		return false;
	return q->type == BAWN_DNS_A ? addr_len == 4 : q->type == BAWN_DNS_AAAA && addr_len == 16;
}

/* NOLINTNEXTLINE(readability-function-size): so many parts has an answer */
int bawn_dns_answer(const uint8_t *query, size_t n, const struct bawn_dns_question *q,
	enum bawn_dns_code code, const uint8_t *addr, size_t addr_len, uint32_t ttl, uint8_t *dst,
	size_t size)
{
	size_t len = HEADER + q->question_len + (addr_len ? ANSWER_LEN + addr_len : 0) +
		     (q->edns ? OPT_LEN : 0);
	uint8_t *p = dst;

	if (n < HEADER + q->question_len || (addr_len && !answers(q, code, addr_len)))
		return -EINVAL;
	if (size < len)
		return -ENOBUFS;
	memset(dst, 0, len);
	p = put16(p, q->id);
	p = put16(p, FLAG_QR | (get16(query + 2) & (0x7800 | FLAG_RD)) | FLAG_RA | (unsigned)code);
	p = put16(p, q->question_len != 0);
	p = put16(p, addr_len != 0);
	p += 2;
	p = put16(p, q->edns);
	memcpy(p, query + HEADER, q->question_len);
	p += q->question_len;
	if (addr_len) {
		p = put16(p, 0xc000 | HEADER); /* the name of the question */
		p = put16(p, q->type);
		p = put16(p, CLASS_IN);
		p = put16(p, ttl >> 16);
		p = put16(p, ttl & 0xffff);
		p = put16(p, (unsigned)addr_len);
		memcpy(p, addr, addr_len);
		p += addr_len;
	}
	if (q->edns) {
		p = put16(p + 1, TYPE_OPT);
		(void)put16(p, BAWN_DNS_MAX);
	}
	return (int)len;
}
