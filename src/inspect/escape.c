/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter between untrusted output and a terminal. It follows the grammar of ECMA-48 closely
 * enough to know where a sequence ends, and lets through only the few that draw text; so what a
 * terminal invents tomorrow is inert as well. Where terminals differ (controls inside a sequence,
 * 8-bit controls) the introducer is taken away, which makes the rest plain text for all of them.
 *
 * A string sequence (OSC, DCS, …) that never ends could swallow all output behind it, so taking it
 * out stops at STRING_MAX bytes, for OSC at the end of the line.
 */
#include "inspect/escape.h"

#include <assert.h>
#include <string.h>

#define STRING_MAX 65536u
#define ESC        '\x1b'
#define BEL        '\a'

enum {
	GROUND,
	AFTER_ESC, /* ESC, perhaps with intermediates */
	IN_CSI,
	IN_LINK,    /* ESC ] so far as it may still be a hyperlink */
	IN_OSC,     /* being taken out */
	IN_STRING,  /* DCS, SOS, PM, APC: being taken out */
	STRING_ESC, /* ESC inside one of the two: its end, or a new sequence */
	IN_UTF8,
};

static bool showing(const struct bawn_escape *e)
{
	return e->flags & BAWN_ESCAPE_SHOW;
}

void bawn_escape_init(struct bawn_escape *e, unsigned flags)
{
	memset(e, 0, sizeof(*e));
	e->flags = flags;
}

/* U+2400.. has a picture for each control character. */
static void picture(struct bawn_buf *out, unsigned char c)
{
	char p[3] = {'\xe2', '\x90', (char)(c == 0x7f ? 0xa1 : 0x80 + c)};

	bawn_buf_add(out, p, sizeof(p));
}

static bool plain_control(unsigned char c)
{
	return c == '\n' || c == '\r' || c == '\t' || c == '\b';
}

static void control(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	e->prev = 0;
	if (plain_control(c) || !(e->flags & BAWN_ESCAPE_TAME)) {
		bawn_buf_add(out, &c, 1);
		return;
	}
	e->tamed++;
	if (showing(e))
		picture(out, c);
}

/* What was held turns out to be inert: show it as text, or forget it. */
static void release(struct bawn_escape *e, struct bawn_buf *out)
{
	e->tamed++;
	for (size_t i = 0; showing(e) && i < e->held_len; i++) {
		unsigned char c = (unsigned char)e->held[i];

		if ((c < ' ' && !plain_control(c)) || c == 0x7f)
			picture(out, c);
		else
			bawn_buf_add(out, &c, 1);
	}
	e->held_len = 0;
	e->state = GROUND;
}

static void keep(struct bawn_escape *e, struct bawn_buf *out)
{
	bawn_buf_add(out, e->held, e->held_len);
	e->held_len = 0;
	e->state = GROUND;
}

static bool hold(struct bawn_escape *e, unsigned char c)
{
	if (e->held_len == sizeof(e->held))
		return false;
	e->held[e->held_len++] = (char)c;
	return true;
}

/* The end of the parameter that starts at `i`. */
static size_t param_end(const struct bawn_escape *e, size_t i)
{
	while (i < e->held_len && e->held[i] != ';' && e->held[i] != 'm')
		i++;
	return i;
}

/* How many parameters behind 38, 48 or 58 belong to it. */
static unsigned colour_params(const struct bawn_escape *e, size_t at, size_t end)
{
	if (end - at != 2 || e->held[at + 1] != '8' || !strchr("345", e->held[at]) ||
		end + 2 >= e->held_len || e->held[end] != ';')
		return 0;
	if (param_end(e, end + 1) != end + 2)
		return 0;
	return e->held[end + 1] == '5' ? 2 : e->held[end + 1] == '2' ? 4 : 0;
}

static bool conceals(const char *p, size_t n)
{
	while (n > 1 && *p == '0') {
		p++;
		n--;
	}
	return n == 1 && *p == '8';
}

/* SGR without "conceal", which hides text from a person and from nobody else. */
static void keep_colours(struct bawn_escape *e, struct bawn_buf *out)
{
	bool any = false, dropped = false;
	unsigned skip = 0;

	for (size_t i = 2; i < e->held_len;) {
		size_t end = param_end(e, i);

		if (!skip && conceals(e->held + i, end - i)) {
			dropped = true;
		} else {
			if (skip)
				skip--;
			else
				skip = colour_params(e, i, end);
			bawn_buf_add(out, any ? ";" : "\x1b[", any ? 1 : 2);
			bawn_buf_add(out, e->held + i, end - i);
			any = true;
		}
		i = end + 1;
	}
	if (any)
		bawn_buf_add(out, "m", 1);
	e->tamed += dropped;
	e->held_len = 0;
	e->state = GROUND;
}

static bool all_in(const char *p, size_t n, const char *set)
{
	for (size_t i = 0; i < n; i++)
		if (!p[i] || !strchr(set, p[i]))
			return false;
	return true;
}

static void end_csi(struct bawn_escape *e, unsigned char final, struct bawn_buf *out)
{
	const char *params = e->held + 2;
	size_t n = e->held_len - 3u;
	bool moves = strchr("ABCDEFGK", final) && all_in(params, n, "0123456789");
	bool erases = final == 'J' && all_in(params, n, "0");

	if (final == 'm' && all_in(params, n, "0123456789;:"))
		keep_colours(e, out);
	else if (moves || erases)
		keep(e, out);
	else
		release(e, out);
}

/* ESC ] 8 ; parameters ; address: kept for the web, or when it ends a link. */
static bool good_link(const struct bawn_escape *e, size_t len)
{
	const char *p = e->held + 4, *stop = e->held + len;
	const char *sep = memchr(p, ';', (size_t)(stop - p));
	size_t n;

	if (!sep)
		return false;
	sep++;
	n = (size_t)(stop - sep);
	for (const char *x = p; x < stop; x++)
		if (*x <= ' ' || *x > '~')
			return false;
	return !n || (n > 7 && !memcmp(sep, "http://", 7)) ||
	       (n > 8 && !memcmp(sep, "https://", 8));
}

static void text_byte(struct bawn_escape *e, unsigned char c, struct bawn_buf *out);
static void string_esc(struct bawn_escape *e, unsigned char c, struct bawn_buf *out);

/* Not a hyperlink: show what was held and go on with `c` as text, or take out up to the end. */
static void no_link(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	release(e, out);
	if (showing(e)) {
		text_byte(e, c, out);
		return;
	}
	e->state = c == '\n' ? GROUND : IN_OSC;
	e->dropped = 0;
	if (c == '\n')
		control(e, c, out);
	else if (c == ESC)
		e->state = STRING_ESC;
	else if (c == BEL)
		e->state = GROUND;
}

static void in_link(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	static const char begin[] = "\x1b]8;";
	bool end = c == BEL || (c == '\\' && e->held[e->held_len - 1] == ESC);

	if (!hold(e, c)) {
		no_link(e, c, out);
		return;
	}
	if (end && e->held_len > 5) {
		if (good_link(e, e->held_len - (c == BEL ? 1u : 2u)))
			keep(e, out);
		else
			release(e, out);
	} else if (e->held_len > 5 && e->held[e->held_len - 2] == ESC) {
		/* any other ESC ends the string and begins something new */
		e->held_len = (uint16_t)(e->held_len - 2);
		release(e, out);
		string_esc(e, c, out);
	} else if (e->held_len <= 4 ? c != (unsigned char)begin[e->held_len - 1]
				    : (c < ' ' && c != ESC) || c >= 0x7f) {
		e->held_len--;
		no_link(e, c, out);
	}
}

static void after_esc(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	bool first = e->held_len == 1;

	if (c < ' ' || c >= 0x7f) {
		release(e, out);
		text_byte(e, c, out);
		return;
	}
	/* intermediates: charset switches and the like; the final byte ends it */
	if (hold(e, c) && c < '0')
		return;
	if (first && c == '[') {
		e->state = IN_CSI;
	} else if (first && c == ']') {
		e->state = IN_LINK;
	} else {
		release(e, out);
		if (first && strchr("PX^_", c) && !showing(e)) {
			e->state = IN_STRING;
			e->dropped = 0;
		}
	}
}

static void in_csi(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	if (c < ' ' || c >= 0x7f) {
		release(e, out);
		text_byte(e, c, out);
	} else if (!hold(e, c)) {
		release(e, out);
	} else if (c >= '@') {
		end_csi(e, c, out);
	}
}

/* Inside a string that is being taken out. */
static void in_string(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	bool osc = e->state == IN_OSC;

	e->dropped++;
	if (c == ESC) {
		e->state = STRING_ESC;
	} else if (c == '\n' && osc) {
		e->state = GROUND;
		control(e, c, out);
	} else if (c == 0x18 || c == 0x1a || (c == BEL && osc) || e->dropped >= STRING_MAX) {
		e->state = GROUND;
	}
}

static void string_esc(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	e->state = GROUND;
	if (c == '\\')
		return;
	/* any other ESC ends the string and begins something new */
	text_byte(e, ESC, out);
	if (c == ESC)
		e->state = AFTER_ESC;
	else
		after_esc(e, c, out);
}

struct range {
	uint32_t from, to;
};

static bool in_ranges(uint32_t c, const struct range *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].from && c <= r[i].to)
			return true;
	return false;
}

/* Characters without a shape of their own, and those that reorder what stands around them. */
static bool invisible(uint32_t c)
{
	static const struct range ranges[] = {{0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c},
		{0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
		{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff}};

	return in_ranges(c, ranges, sizeof(ranges) / sizeof(ranges[0]));
}

/* Joiners and selectors that belong where they stand: emoji, and scripts that need them. */
static bool belongs(const struct bawn_escape *e, uint32_t c)
{
	static const struct range pictures[] = {{0x2190, 0x2bff}, {0x3030, 0x303d},
		{0x3297, 0x3299}, {0x1f000, 0x1faff}, {0xa9, 0xae}};
	static const struct range joining[] = {{0x600, 0x8ff}, {0x900, 0xdff}, {0x1000, 0x109f}};
	uint32_t p = e->prev;
	bool emoji = in_ranges(p, pictures, sizeof(pictures) / sizeof(pictures[0]));

	switch (c) {
	case 0xfe0e:
	case 0xfe0f:
		return emoji || p == '#' || p == '*' || (p >= '0' && p <= '9');
	case 0x200d:
		return emoji || p == 0xfe0f ||
		       in_ranges(p, joining, sizeof(joining) / sizeof(joining[0]));
	case 0x200c:
		return in_ranges(p, joining, sizeof(joining) / sizeof(joining[0]));
	case 0xfeff:
		return !e->started;
	default:
		return false;
	}
}

static uint32_t decode(const char *held, size_t n)
{
	assert(n >= 2 && n <= 4);
	uint32_t c = (unsigned char)held[0] & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)held[i] & 0x3f);
	return c;
}

static void end_utf8(struct bawn_escape *e, struct bawn_buf *out)
{
	uint32_t c = decode(e->held, e->held_len);

	if (c >= 0x80 && c < 0xa0 && (e->flags & BAWN_ESCAPE_TAME)) {
		e->tamed++;
		if (showing(e))
			bawn_buf_printf(out, "<U+%04X>", c);
	} else if ((e->flags & BAWN_ESCAPE_HIDDEN) && invisible(c) && !belongs(e, c)) {
		e->hidden++;
		bawn_buf_printf(out, "<U+%04X>", c);
	} else {
		bawn_buf_add(out, e->held, e->held_len);
	}
	e->prev = c;
	e->started = true;
	e->held_len = 0;
	e->state = GROUND;
}

/* Bytes that are no UTF-8 pass, but for those that are controls to an 8-bit terminal. */
static void raw_bytes(struct bawn_escape *e, struct bawn_buf *out)
{
	for (size_t i = 0; i < e->held_len; i++) {
		unsigned char c = (unsigned char)e->held[i];

		if (c >= 0xa0 || !(e->flags & BAWN_ESCAPE_TAME)) {
			bawn_buf_add(out, &c, 1);
			continue;
		}
		e->tamed++;
		if (showing(e))
			bawn_buf_printf(out, "<%02X>", c);
	}
	e->prev = 0;
	e->held_len = 0;
	e->state = GROUND;
}

static void in_utf8(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	unsigned char first = (unsigned char)e->held[0];
	/* overlong forms, surrogates and what is beyond the last character */
	bool bad = e->held_len == 1 &&
		   ((first == 0xe0 && c < 0xa0) || (first == 0xed && c > 0x9f) ||
			   (first == 0xf0 && c < 0x90) || (first == 0xf4 && c > 0x8f));

	if (c < 0x80 || c > 0xbf || bad) {
		raw_bytes(e, out);
		text_byte(e, c, out);
		return;
	}
	(void)hold(e, c);
	if (!--e->need)
		end_utf8(e, out);
}

static void text_byte(struct bawn_escape *e, unsigned char c, struct bawn_buf *out)
{
	if (c == ESC && (e->flags & BAWN_ESCAPE_TAME)) {
		e->held_len = 0;
		(void)hold(e, c);
		e->state = AFTER_ESC;
	} else if (c < ' ' || c == 0x7f) {
		control(e, c, out);
	} else if (c < 0x80) {
		e->prev = c;
		e->started = true;
		bawn_buf_add(out, &c, 1);
	} else {
		e->held_len = 0;
		(void)hold(e, c);
		e->need = c >= 0xc2 && c <= 0xdf   ? 1
			  : c >= 0xe0 && c <= 0xef ? 2
			  : c >= 0xf0 && c <= 0xf4 ? 3
						   : 0;
		e->state = IN_UTF8;
		if (!e->need)
			raw_bytes(e, out);
	}
}

/* Printable ASCII and line ends, which are most of everything. */
static size_t plain_run(const char *bytes, size_t n)
{
	size_t i = 0;

	while (i < n && (((unsigned char)bytes[i] >= ' ' && (unsigned char)bytes[i] < 0x7f) ||
				bytes[i] == '\n' || bytes[i] == '\t'))
		i++;
	return i;
}

void bawn_escape_feed(struct bawn_escape *e, const char *bytes, size_t n, struct bawn_buf *out)
{
	static void (*const step[])(struct bawn_escape *, unsigned char, struct bawn_buf *) = {
		[GROUND] = text_byte,
		[AFTER_ESC] = after_esc,
		[IN_CSI] = in_csi,
		[IN_LINK] = in_link,
		[IN_OSC] = in_string,
		[IN_STRING] = in_string,
		[STRING_ESC] = string_esc,
		[IN_UTF8] = in_utf8,
	};

	for (size_t i = 0; i < n;) {
		size_t run = e->state == GROUND ? plain_run(bytes + i, n - i) : 0;

		if (run) {
			bawn_buf_add(out, bytes + i, run);
			i += run;
			e->prev = (unsigned char)bytes[i - 1];
			e->started = true;
			continue;
		}
		step[e->state](e, (unsigned char)bytes[i++], out);
	}
}

void bawn_escape_end(struct bawn_escape *e, struct bawn_buf *out)
{
	if (e->state == IN_UTF8)
		raw_bytes(e, out);
	else if (e->held_len)
		release(e, out);
	e->state = GROUND;
}
