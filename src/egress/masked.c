/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of hosts that secrets are bound to. A server may send back what it was sent, so every
 * answer is searched for every value, whether one went into this request or an earlier one. The
 * body is taken out of its chunks and put into new ones, so that nothing can hide where they meet;
 * what comes behind the last one is left out. Bodies whose bytes are not what they look like
 * (compressed, a range of something, or in a character set that is not written in ASCII's bytes) do
 * not pass.
 *
 * When bytes pass on must not depend on what a value is: who has a server send guesses would see
 * from what waits whether one begins like a value, and find it byte by byte. So it is the position
 * that counts: as many bytes wait as a value can take, or those behind the last one that none has.
 */
#include <errno.h>
#include <strings.h>

#include "egress/door.h"

#define READ_MORE  ((size_t)16384) /* beyond what the longest secret needs */
#define CHUNK_ROOM ((size_t)32)    /* a size, two line ends, and the last chunk */

struct door_cover {
	struct bawn_mask mask;
	size_t ready, decided; /* bytes that may go, bytes that were looked at to the end */
	size_t len, size;      /* bytes that are there, bytes there can be */
	bool read;             /* the body was read to its end */
	char window[];
};

static bool is(struct bawn_slice s, const char *word)
{
	return s.n == strlen(word) && !strncasecmp(s.p, word, s.n);
}

/* Does the text of one `charset=` stand for a set in which ASCII is ASCII? */
static bool is_readable(struct bawn_slice s)
{
	static const char *const sets[] = {"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-",
		"iso8859-", "latin", "windows-12", "cp12", "koi8-", "gb2312", "gbk", "gb18030",
		"big5", "euc-", "shift_jis", "macintosh"};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (s.n >= strlen(sets[i]) && !strncasecmp(s.p, sets[i], strlen(sets[i])))
			return true;
	return false;
}

/* Every `charset=` of a Content-Type, wherever it stands: what is read differently is not hidden.
 */
static bool has_odd_charset(struct bawn_slice v)
{
	static const char word[] = "charset";
	const size_t n = sizeof(word) - 1;

	for (; v.n > n; v.p++, v.n--) {
		struct bawn_slice s = {v.p + n, v.n - n};

		if (strncasecmp(v.p, word, n) != 0)
			continue;
		while (s.n && strchr(" \t='\"", *s.p))
			s = (struct bawn_slice){s.p + 1, s.n - 1};
		if (!is_readable(s))
			return true;
	}
	return false;
}

const char *masked_objection(const struct door_conn *c, const struct bawn_http_response *r)
{
	if (c->x.head_only || r->status == 204 || r->status == 304 || r->status < 200)
		return NULL;
	if (r->status == 206)
		return "the server sent a part of something although it was asked for all of it, so "
		       "that secrets cannot be looked for in it";
	for (size_t i = 0; i < r->n_headers; i++) {
		const struct bawn_http_header *h = &r->headers[i];

		if (is(h->name, "Content-Encoding") && !is(h->value, "identity"))
			return "the server sent a compressed body although it was asked not to, so "
			       "that secrets cannot be looked for in it";
		if (is(h->name, "Content-Type") && has_odd_charset(h->value))
			return "the server sent a body in a character set (Content-Type) in which "
			       "secrets cannot be looked for";
	}
	return NULL;
}

bool masked_start(struct door_conn *c)
{
	size_t size = bawn_mask_window(c->door->secrets->mask) + READ_MORE;

	masked_done(c);
	c->cover = malloc(sizeof(*c->cover) + size);
	if (!c->cover)
		return false;
	*c->cover = (struct door_cover){.size = size};
	return true;
}

void masked_done(struct door_conn *c)
{
	if (c->cover)
		explicit_bzero(c->cover->window, c->cover->size);
	free(c->cover);
	c->cover = NULL;
}

/* More of the body into the window. False: it is not well-formed. */
static bool take(struct door_conn *c, struct door_cover *v)
{
	struct door_lane *l = &c->down;
	struct door_exchange *x = &c->x;

	while (!v->read && v->len < v->size) {
		size_t room = v->size - v->len;
		size_t have = l->len < room ? l->len : room;
		struct bawn_slice data = {l->in, have};
		int64_t used = (int64_t)have;

		if (x->down_body == BAWN_BODY_NONE)
			used = (int64_t)(data.n = 0);
		else if (x->down_body == BAWN_BODY_LENGTH && data.n > x->down_left)
			used = (int64_t)(data.n = (size_t)x->down_left);
		else if (x->down_body == BAWN_BODY_CHUNKED && have)
			used = bawn_http_chunks_next(&x->down_chunks, l->in, have, &data, &v->read);
		if (used < 0)
			return false;
		if (data.n)
			memcpy(v->window + v->len, data.p, data.n);
		v->len += data.n;
		x->down_left -= x->down_body == BAWN_BODY_LENGTH ? data.n : 0;
		if (used)
			lane_consume(l, (size_t)used);
		if (x->down_body == BAWN_BODY_NONE ||
			(x->down_body == BAWN_BODY_LENGTH && !x->down_left) ||
			(x->down_body == BAWN_BODY_UNTIL_CLOSE && l->eof && !l->len))
			v->read = true;
		if (!used)
			break;
	}
	return true;
}

/* What is decided goes to the client, as far as there is room. */
static bool give(struct door_conn *c, struct door_cover *v)
{
	struct door_lane *l = &c->down;
	bool chunked = c->x.down_body == BAWN_BODY_CHUNKED;
	size_t room = l->head ? DOOR_BLOCK - l->head_len : DOOR_BLOCK;
	size_t n = room > CHUNK_ROOM ? room - CHUNK_ROOM : 0;
	char size[24];

	if (n > v->ready)
		n = v->ready;
	if (!n)
		return true;
	(void)snprintf(size, sizeof(size), "%zx\r\n", n);
	if ((chunked && !lane_say(l, size, strlen(size))) || !lane_say(l, v->window, n) ||
		(chunked && !lane_say(l, "\r\n", 2)))
		return false;
	memmove(v->window, v->window + n, v->len - n);
	v->len -= n;
	v->decided -= n;
	v->ready -= n;
	return true;
}

/* How many bytes may go, whatever the values are. Values are printable, however they are written.
 */
static size_t may_go(const struct door_conn *c, const struct door_cover *v)
{
	size_t window = bawn_mask_window(c->door->secrets->mask);
	size_t least = v->len > window ? v->len - window : 0;
	size_t n = v->len;

	while (!v->read && n > least && v->window[n - 1] >= ' ' && v->window[n - 1] <= '~')
		n--;
	return n < v->decided ? n : v->decided;
}

bool masked_body(struct door_conn *c)
{
	struct door_cover *v = c->cover;
	struct door_lane *l = &c->down;

	if (!v || !take(c, v))
		return false;
	/* without a goodbye nobody knows whether this is all */
	if (c->x.down_body == BAWN_BODY_UNTIL_CLOSE && v->read && c->upstream.end &&
		door_tls->cut(c->upstream.end))
		return false;
	v->decided += bawn_mask_feed(c->door->secrets->mask, &v->mask, v->window + v->decided,
		v->len - v->decided, v->read);
	v->ready = may_go(c, v);
	if (!give(c, v))
		return false;
	if (!v->read || v->len || (l->head && DOOR_BLOCK - l->head_len < CHUNK_ROOM))
		return true;
	c->x.down_done = true;
	return c->x.down_body != BAWN_BODY_CHUNKED || lane_say(l, "0\r\n\r\n", 5);
}
