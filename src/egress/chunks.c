/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunked bodies, one byte class and one state at a time. Only the form that every parser reads the
 * same passes: hexadecimal size, CRLF, data, CRLF; no extensions, no blanks, no bare line ends.
 */
#include <errno.h>

#include "egress/http.h"
#include "egress/http_bytes.h"

const uint8_t bawn_http_bytes[256] = {
	['0' ... '9'] = BAWN_BYTE_HEX,
	['A' ... 'F'] = BAWN_BYTE_HEX,
	['a' ... 'f'] = BAWN_BYTE_HEX,
	['G' ... 'Z'] = BAWN_BYTE_TOKEN,
	['g' ... 'z'] = BAWN_BYTE_TOKEN,
	['!'] = BAWN_BYTE_TOKEN,
	['#'] = BAWN_BYTE_TOKEN,
	['$'] = BAWN_BYTE_TOKEN,
	['%'] = BAWN_BYTE_TOKEN,
	['&'] = BAWN_BYTE_TOKEN,
	['\''] = BAWN_BYTE_TOKEN,
	['*'] = BAWN_BYTE_TOKEN,
	['+'] = BAWN_BYTE_TOKEN,
	['-'] = BAWN_BYTE_TOKEN,
	['.'] = BAWN_BYTE_TOKEN,
	['^'] = BAWN_BYTE_TOKEN,
	['_'] = BAWN_BYTE_TOKEN,
	['`'] = BAWN_BYTE_TOKEN,
	['|'] = BAWN_BYTE_TOKEN,
	['~'] = BAWN_BYTE_TOKEN,
	[':'] = BAWN_BYTE_COLON,
	['\t'] = BAWN_BYTE_TEXT,
	[' '] = BAWN_BYTE_TEXT,
	['"'] = BAWN_BYTE_TEXT,
	['('] = BAWN_BYTE_TEXT,
	[')'] = BAWN_BYTE_TEXT,
	[','] = BAWN_BYTE_TEXT,
	['/'] = BAWN_BYTE_TEXT,
	[';'] = BAWN_BYTE_TEXT,
	['<'] = BAWN_BYTE_TEXT,
	['='] = BAWN_BYTE_TEXT,
	['>'] = BAWN_BYTE_TEXT,
	['?'] = BAWN_BYTE_TEXT,
	['@'] = BAWN_BYTE_TEXT,
	['['] = BAWN_BYTE_TEXT,
	['\\'] = BAWN_BYTE_TEXT,
	[']'] = BAWN_BYTE_TEXT,
	['{'] = BAWN_BYTE_TEXT,
	['}'] = BAWN_BYTE_TEXT,
	[0x80 ... 0xff] = BAWN_BYTE_TEXT,
	['\r'] = BAWN_BYTE_CR,
	['\n'] = BAWN_BYTE_LF,
};

#define DIGITS_MAX  15
#define TRAILER_MAX 4096

enum {
	SIZE_FIRST, /* a new body starts here: state 0 */
	SIZE,
	SIZE_LF,
	DATA_CR,
	DATA_LF,
	TRAILER, /* start of a trailer line, or of the empty one */
	NAME,
	VALUE,
	VALUE_LF,
	END_LF,
	DONE,
	DATA,
	BAD,
	STATES = DATA,
};

/* What is not listed is refused. Entries are one more than the state, because 0 means that. */
#define TO(s) ((s) + 1)
static const uint8_t next_state[STATES][_BAWN_BYTE_MAX] = {
	[SIZE_FIRST] = {[BAWN_BYTE_HEX] = TO(SIZE)},
	[SIZE] = {[BAWN_BYTE_HEX] = TO(SIZE), [BAWN_BYTE_CR] = TO(SIZE_LF)},
	[SIZE_LF] = {[BAWN_BYTE_LF] = TO(DATA)},
	[DATA_CR] = {[BAWN_BYTE_CR] = TO(DATA_LF)},
	[DATA_LF] = {[BAWN_BYTE_LF] = TO(SIZE_FIRST)},
	[TRAILER] = {[BAWN_BYTE_HEX] = TO(NAME),
		[BAWN_BYTE_TOKEN] = TO(NAME),
		[BAWN_BYTE_CR] = TO(END_LF)},
	[NAME] = {[BAWN_BYTE_HEX] = TO(NAME),
		[BAWN_BYTE_TOKEN] = TO(NAME),
		[BAWN_BYTE_COLON] = TO(VALUE)},
	[VALUE] = {[BAWN_BYTE_HEX] = TO(VALUE),
		[BAWN_BYTE_TOKEN] = TO(VALUE),
		[BAWN_BYTE_COLON] = TO(VALUE),
		[BAWN_BYTE_TEXT] = TO(VALUE),
		[BAWN_BYTE_CR] = TO(VALUE_LF)},
	[VALUE_LF] = {[BAWN_BYTE_LF] = TO(TRAILER)},
	[END_LF] = {[BAWN_BYTE_LF] = TO(DONE)},
};

static unsigned hex_value(uint8_t b)
{
	return b <= '9' ? (unsigned)(b - '0') : (unsigned)((b | 0x20) - 'a' + 10);
}

/* One byte of framing. False: refused. `trailer` counts digits of a size, then trailer bytes. */
static bool step(struct bawn_http_chunks *c, uint8_t b)
{
	unsigned to = next_state[c->state][bawn_http_bytes[b]];

	if (!to)
		return false;
	if (c->state == DATA_LF)
		c->trailer = 0;
	c->state = to - 1;
	if (c->state == SIZE) {
		c->left = c->left << 4 | hex_value(b);
		return ++c->trailer <= DIGITS_MAX;
	}
	if (c->state == DATA) {
		c->trailer = 0;
		if (!c->left)
			c->state = TRAILER;
		return true;
	}
	if (c->state >= TRAILER && c->state <= VALUE_LF)
		return ++c->trailer <= TRAILER_MAX;
	return true;
}

int64_t bawn_http_chunks_next(struct bawn_http_chunks *c, const char *p, size_t len,
	struct bawn_slice *ret_data, bool *ret_done)
{
	size_t i = 0;

	*ret_data = (struct bawn_slice){p, 0};
	while (i < len && c->state != DONE && c->state != BAD && c->state != DATA)
		if (!step(c, (uint8_t)p[i++]))
			c->state = BAD;
	if (c->state == BAD)
		return -EBADMSG;
	if (c->state == DATA) {
		size_t take = len - i < c->left ? len - i : (size_t)c->left;

		*ret_data = (struct bawn_slice){p + i, take};
		c->left -= take;
		i += take;
		if (!c->left)
			c->state = DATA_CR;
	}
	*ret_done = c->state == DONE;
	return (int64_t)i;
}

int64_t bawn_http_chunks_feed(struct bawn_http_chunks *c, const char *p, size_t len, bool *ret_done)
{
	size_t i = 0;

	*ret_done = false;
	while (i < len && c->state != DONE) {
		struct bawn_slice data;
		int64_t n = bawn_http_chunks_next(c, p + i, len - i, &data, ret_done);

		if (n < 0)
			return n;
		i += (size_t)n;
	}
	*ret_done = c->state == DONE;
	return (int64_t)i;
}
