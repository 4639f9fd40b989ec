/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a record and of the head file, read as bytes. Hashes cover bytes, so nothing here
 * parses JSON: two texts that mean the same JSON are still two records.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "audit/store.h"

#define START  "{\"schema\":\"bawn/audit/v1\",\"seq\":"
#define TIME   ",\"time\":\""
#define LOST   "\",\"head_lost\":true"
#define PREV   ",\"prev\":\""
#define HASH   ",\"hash\":\""
#define FINISH "\"}"

#define LEN(literal) (sizeof(literal) - 1)

static bool is_hex(const char *s)
{
	for (size_t i = 0; i < BAWN_HEX_LEN; i++) {
		if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	}
	return true;
}

/* Decimal digits from *p on; false if there are none or they do not fit. */
static bool take_number(const char **p, const char *end, uint64_t *ret)
{
	const char *s = *p;
	uint64_t v = 0;

	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = v;
	return true;
}

static bool take_text(const char **p, const char *end, const char *text, size_t len)
{
	if ((size_t)(end - *p) < len || memcmp(*p, text, len) != 0)
		return false;
	*p += len;
	return true;
}

bool audit_record_parse(const char *line, size_t len, struct audit_record *ret)
{
	const size_t tail = LEN(HASH) + BAWN_HEX_LEN + LEN(FINISH);
	const size_t prev = LEN(PREV) + BAWN_HEX_LEN + 1;
	const char *p = line, *end, *q;

	if (len < tail + prev)
		return false;
	end = line + len - tail - prev;
	q = end;
	if (!take_text(&p, end, START, LEN(START)) || !take_number(&p, end, &ret->seq) ||
		!take_text(&p, end, TIME, LEN(TIME)) || end - p < AUDIT_TIME_LEN + 1)
		return false;
	ret->time = p;
	p += AUDIT_TIME_LEN;
	ret->head_lost = take_text(&p, end, LOST, LEN(LOST));
	if (!ret->head_lost && *p != '"')
		return false;

	if (!take_text(&q, line + len, PREV, LEN(PREV)))
		return false;
	ret->prev = q;
	q += BAWN_HEX_LEN;
	if (!take_text(&q, line + len, "\"", 1))
		return false;
	ret->body_len = (size_t)(q - line);
	if (!take_text(&q, line + len, HASH, LEN(HASH)))
		return false;
	ret->hash = q;
	q += BAWN_HEX_LEN;
	return take_text(&q, line + len, FINISH, LEN(FINISH)) && is_hex(ret->prev) &&
	       is_hex(ret->hash);
}

bool audit_record_authentic(const char *line, const struct audit_record *r)
{
	char hash[BAWN_HEX_LEN + 1];

	bawn_sha256_hex(line, r->body_len, hash);
	return !memcmp(hash, r->hash, BAWN_HEX_LEN);
}

void audit_head_format(const struct audit_head *h, char ret[AUDIT_HEAD_LEN + 1])
{
	(void)snprintf(ret, AUDIT_HEAD_LEN + 1, "%020" PRIu64 " %.64s %020" PRIu64 "\n", h->seq,
		h->hash, h->size);
}

bool audit_head_parse(const char *text, size_t len, struct audit_head *ret)
{
	const char *p = text, *end = text + len;
	char again[AUDIT_HEAD_LEN + 1];

	if (len != AUDIT_HEAD_LEN || !take_number(&p, end, &ret->seq) ||
		!take_text(&p, end, " ", 1) || end - p < BAWN_HEX_LEN || !is_hex(p))
		return false;
	memcpy(ret->hash, p, BAWN_HEX_LEN);
	ret->hash[BAWN_HEX_LEN] = '\0';
	p += BAWN_HEX_LEN;
	if (!take_text(&p, end, " ", 1) || !take_number(&p, end, &ret->size))
		return false;
	audit_head_format(ret, again);
	return ret->seq && ret->size && !memcmp(again, text, len);
}

int audit_head_read(int fd, struct audit_head *ret)
{
	char text[AUDIT_HEAD_LEN + 1];
	ssize_t n;

	do
		n = pread(fd, text, sizeof(text), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ENODATA;
	return audit_head_parse(text, (size_t)n, ret) ? 0 : -EBADMSG;
}

#define CHUNK ((size_t)64 << 10)

void audit_lines_init(struct audit_lines *l, int fd, off_t start, off_t limit)
{
	*l = (struct audit_lines){.fd = fd, .next = start, .start = start, .limit = limit};
}

void audit_lines_done(struct audit_lines *l)
{
	free(l->buf);
	l->buf = NULL;
}

/* Read more behind what is there. 1 if something came, 0 at the end. */
static int fill(struct audit_lines *l)
{
	size_t room;
	ssize_t n;

	if (l->used && l->buf) {
		memmove(l->buf, l->buf + l->used, l->len - l->used);
		l->len -= l->used;
		l->used = 0;
	}
	if (l->cap - l->len < CHUNK) {
		size_t cap = l->cap + (l->cap ? l->cap : 2 * CHUNK);
		char *p = realloc(l->buf, cap);

		if (!p)
			return -ENOMEM;
		l->buf = p;
		l->cap = cap;
	}
	room = l->cap - l->len;
	if (l->next >= l->limit)
		return 0;
	if ((uintmax_t)(l->limit - l->next) < room)
		room = (size_t)(l->limit - l->next);
	do
		n = pread(l->fd, l->buf + l->len, room, l->next);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	l->len += (size_t)n;
	l->next += n;
	return n > 0;
}

int audit_lines_next(struct audit_lines *l, const char **line, size_t *len)
{
	size_t seen = 0;
	bool too_long = false;

	l->start = l->next - (off_t)(l->len - l->used);
	for (;;) {
		size_t have = l->len - l->used;
		char *from = l->buf ? l->buf + l->used : NULL;
		char *nl = from && have > seen ? memchr(from + seen, '\n', have - seen) : NULL;
		int r;

		if (nl) {
			*line = from;
			*len = (size_t)(nl - from);
			l->used += *len + 1;
			return too_long || *len >= AUDIT_LINE_MAX ? AUDIT_LINE_LONG
								  : AUDIT_LINE_FULL;
		}
		if (have >= AUDIT_LINE_MAX) {
			too_long = true;
			l->used = l->len;
			have = 0;
		}
		seen = have;
		r = fill(l);
		if (r < 0)
			return r;
		if (r == 0) {
			*line = l->buf;
			*len = have;
			l->used = l->len;
			return have || too_long ? AUDIT_LINE_TORN : AUDIT_LINE_END;
		}
	}
}
