/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as a model would read it: escapes, entities and look-alike letters resolved, what nobody
 * sees made visible, comment marks at line starts taken away so that a sentence that runs over
 * several comment lines is one sentence. Plain runs are copied as they are; a map of the places
 * where the distance to the original changes leads back. What was hidden, and how, is kept as
 * spans.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "inspect/inject/marks.h"

#define REGIONS_MAX     8
#define COMMENT_REACH   ((size_t)8 << 10) /* of a comment or escape that is not closed */
#define INVISIBLE_REACH 48                /* two invisible characters that belong together */

struct region {
	size_t end;   /* in the original */
	size_t start; /* in the output */
	unsigned place;
};

/* What was looked for from here on: it is at `to`, or nowhere before. */
struct sought {
	size_t from, to;
	bool found;
};

struct norm {
	struct bawn_arena *a;
	struct inject_text *t;
	const char *in;
	size_t len, i, o;
	size_t shift; /* i - o of the last entry of the map */
	struct region regions[REGIONS_MAX];
	size_t n_regions;
	size_t stop;        /* the nearest end of a region */
	size_t fence, seen; /* start of an open fence; where the last invisible character was */
	bool fenced, any_seen;
	struct sought comment_end, escape;
	enum inject_machine machine;
	int failed;
};

/* 1: bytes that need a look; all others are copied. 2: those that the mark of a comment or a
 * quotation may start with. */
static const unsigned char special[256] = {
	[0] = 1,
	['\b'] = 1,
	['\n'] = 1,
	['\r'] = 1,
	[0x1b] = 1,
	['%'] = 3,
	['&'] = 1,
	['<'] = 1,
	['\\'] = 1,
	[0x80 ... 0xff] = 1,
	['['] = 2,
	['/'] = 2,
	['*'] = 2,
	['-'] = 2,
	[';'] = 2,
	['>'] = 2,
	['#'] = 2,
	['R'] = 2,
	['d'] = 2,
	['"'] = 2,
};

static void mark(struct norm *n, size_t start, size_t end, unsigned place)
{
	struct inject_text *t = n->t;
	struct inject_span *last = t->n_spans ? &t->spans[t->n_spans - 1] : NULL, *s;

	if (start >= end)
		return;
	if (last && last->place == place && start <= last->end + 2u) {
		if (end > last->end)
			last->end = (uint32_t)end;
		return;
	}
	s = bawn_grow(n->a, &t->spans, &t->n_spans, &t->cap_spans);
	if (!s) {
		n->failed = -ENOMEM;
		return;
	}
	*s = (struct inject_span){(uint32_t)start, (uint32_t)end, place, 0};
}

static struct inject_map *more_map(struct norm *n)
{
	struct inject_map *m = bawn_grow(n->a, &n->t->map, &n->t->n_map, &n->t->cap_map);

	if (!m)
		n->failed = -ENOMEM;
	return m;
}

/* What follows in the output comes from n->i on. */
static inline void here(struct norm *n)
{
	struct inject_map *m;

	if (n->i - n->o == n->shift && n->t->n_map)
		return;
	/* every line that is indented comes by here */
	m = n->t->n_map < n->t->cap_map ? &n->t->map[n->t->n_map++] : more_map(n);
	if (!m)
		return;
	*m = (struct inject_map){(uint32_t)n->o, (uint32_t)n->i};
	n->shift = n->i - n->o;
}

/* Write c for `eaten` bytes of the original. */
static inline void put(struct norm *n, char c, size_t eaten)
{
	here(n);
	n->t->text[n->o++] = c;
	n->i += eaten;
}

static void region_open(struct norm *n, size_t end, unsigned place)
{
	if (end > n->len)
		end = n->len;
	if (n->n_regions == REGIONS_MAX || end <= n->i)
		return;
	n->regions[n->n_regions++] = (struct region){end, n->o, place};
	if (end < n->stop)
		n->stop = end;
}

/* An empty line, where what was hidden ends: two bytes of the mark that hid it make room. */
static void gap(struct norm *n)
{
	put(n, '\n', 0);
	put(n, '\n', 0);
	if (n->len - n->i >= 3 && !memcmp(n->in + n->i, "-->", 3))
		n->i += 3;
}

static void regions_close(struct norm *n)
{
	size_t kept = 0;
	bool apart = false;

	n->stop = n->len;
	for (size_t k = 0; k < n->n_regions; k++) {
		struct region *r = &n->regions[k];

		if (r->end <= n->i) {
			mark(n, r->start, n->o, r->place);
			apart |= r->place & (PLACE_HTML_COMMENT | PLACE_HIDDEN);
			continue;
		}
		n->regions[kept++] = *r;
		if (r->end < n->stop)
			n->stop = r->end;
	}
	n->n_regions = kept;
	if (apart && n->i < n->len)
		gap(n);
}

static size_t line_end(const struct norm *n, size_t from)
{
	const char *p = from < n->len ? memchr(n->in + from, '\n', n->len - from) : NULL;

	return p ? (size_t)(p - n->in) : n->len;
}

static size_t find(const struct norm *n, const char *what, size_t from, size_t reach)
{
	size_t left = from < n->len ? n->len - from : 0;
	const char *p = memmem(n->in + from, left < reach ? left : reach, what, strlen(what));

	return p ? (size_t)(p - n->in) : from + (left < reach ? left : reach);
}

/* As find(), for what may be looked for from many places: nothing is gone through twice. */
static size_t find_on(
	const struct norm *n, struct sought *s, const char *what, size_t from, size_t reach)
{
	size_t left = from < n->len ? n->len - from : 0, len = strlen(what), at = from;
	size_t to = from + (left < reach ? left : reach);
	const char *p;

	if (from >= s->from && from <= s->to && s->to) {
		if (s->found)
			return s->to;
		at = s->to - from >= len ? s->to - len + 1 : from;
	} else {
		s->from = from;
	}
	p = at < to ? memmem(n->in + at, to - at, what, len) : NULL;
	s->found = p;
	s->to = p ? (size_t)(p - n->in) : to;
	return s->to;
}

static bool starts(const struct norm *n, size_t at, const char *what)
{
	size_t len = strlen(what);

	return n->len - at >= len && !memcmp(n->in + at, what, len);
}

/* How long the mark is that makes the line at `at` a comment or a quotation, and which. */
static size_t line_mark(const struct norm *n, size_t at, unsigned *place)
{
	/* by their first characters */
	static const struct {
		char mark[11];
		uint8_t len;
		unsigned place;
	} marks[] = {
		{"[//]:", 5, PLACE_MD_COMMENT},
		{"[comment]:", 10, PLACE_MD_COMMENT},
		{"//", 2, PLACE_COMMENT},
		{"/*", 2, PLACE_COMMENT},
		{"*/", 2, 0},
		{"* ", 2, 0},
		{"-- ", 3, PLACE_COMMENT},
		{";; ", 3, PLACE_COMMENT},
		{"; ", 2, PLACE_COMMENT},
		{">", 1, PLACE_QUOTE},
		{"#", 1, PLACE_COMMENT},
		{"REM ", 4, PLACE_COMMENT},
		{"dnl ", 4, PLACE_COMMENT},
		{"% ", 2, PLACE_COMMENT},
		{"\"\"\"", 3, 0},
	};
	static const uint8_t first[256] = {['['] = 0,
		['/'] = 2,
		['*'] = 4,
		['-'] = 6,
		[';'] = 7,
		['>'] = 9,
		['#'] = 10,
		['R'] = 11,
		['d'] = 12,
		['%'] = 13,
		['"'] = 14};
	char c;

	if (at >= n->len || !(special[(unsigned char)n->in[at]] & 2) || starts(n, at, "##"))
		return 0;
	c = n->in[at];
	for (size_t k = first[(unsigned char)c];
		k < sizeof(marks) / sizeof(marks[0]) && marks[k].mark[0] == c; k++) {
		size_t len = marks[k].len;

		if (n->len - at < len || memcmp(n->in + at, marks[k].mark, len) != 0)
			continue;
		*place |= marks[k].place;
		for (; at + len < n->len; len++) {
			c = n->in[at + len];
			if (c != '/' && c != '*' && c != '>' && c != '!')
				break;
		}
		return len;
	}
	return 0;
}

static inline size_t blank(const struct norm *n, size_t at)
{
#ifdef __SSE2__
	if (n->len - at >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(n->in + at));
		__m128i yes = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')),
			_mm_cmpeq_epi8(v, _mm_set1_epi8('\t')));
		unsigned other = ~(unsigned)_mm_movemask_epi8(yes);

		at += (size_t)__builtin_ctz(other);
		if (other & 0xffff)
			return at;
	}
#endif
	while (at < n->len && (n->in[at] == ' ' || n->in[at] == '\t'))
		at++;
	return at;
}

static void fence(struct norm *n)
{
	if (n->fenced)
		mark(n, n->fence, n->o, PLACE_FENCE);
	n->fenced = !n->fenced;
	n->fence = n->o;
}

/* At the first byte of a line: leave out indentation and marks. */
static void line_start(struct norm *n)
{
	size_t at = blank(n, n->i);
	unsigned place = 0;

	for (unsigned k = 0; k < 4 && !(place & PLACE_MD_COMMENT); k++) {
		size_t len = line_mark(n, at, &place);

		if (!len)
			break;
		at = blank(n, at + len);
	}
	if (at < n->len && (n->in[at] == '`' || n->in[at] == '~') &&
		(starts(n, at, "```") || starts(n, at, "~~~")))
		fence(n);
	n->i = at;
	if (place)
		region_open(n, line_end(n, at), place);
}

static void newline(struct norm *n, size_t eaten)
{
	put(n, '\n', eaten);
	if (n->i >= n->stop)
		regions_close(n);
	line_start(n);
}

/* A character that nobody sees. Joiners have their place in other scripts and in emoji. */
static void unseen(struct norm *n)
{
	unsigned char before = n->o ? (unsigned char)n->t->text[n->o - 1] : ' ';

	if (before >= 0x80)
		return;
	if (n->any_seen && n->o - n->seen <= INVISIBLE_REACH)
		mark(n, n->seen, n->o, PLACE_INVISIBLE);
	n->any_seen = true;
	n->seen = n->o;
}

/* Whether the word around byte `at` has ASCII letters too. */
static bool among_ascii(const struct norm *n, size_t at)
{
	for (size_t k = at; k && k + 32 > at; k--) {
		unsigned char c = (unsigned char)n->in[k - 1];

		if (isalpha(c))
			return true;
		if (c < 0x80)
			break;
	}
	for (size_t k = at; k < n->len && k < at + 32; k++) {
		unsigned char c = (unsigned char)n->in[k];

		if (isalpha(c))
			return true;
		if (c < 0x80)
			break;
	}
	return false;
}

static void keep(struct norm *n, uint32_t cp, size_t eaten)
{
	here(n);
	n->o += inject_utf8_put(n->t->text + n->o, cp);
	n->i += eaten;
}

/* One code point that stands for `eaten` bytes of the original, at least as many as it takes. */
static void code_point(struct norm *n, uint32_t cp, size_t eaten)
{
	struct inject_fold f = inject_fold(cp);
	enum inject_fold_kind kind = f.kind;

	if (kind == FOLD_LOOKALIKE && !among_ascii(n, n->i))
		kind = FOLD_LOWER;
	switch (kind) {
	case FOLD_TO:
	case FOLD_LOOKALIKE:
		put(n, f.to[0], f.to[1] ? 1 : eaten);
		if (f.to[1])
			put(n, f.to[1], eaten - 1);
		break;
	case FOLD_SMUGGLED:
		mark(n, n->o, n->o + 1, PLACE_INVISIBLE);
		put(n, f.to[0], eaten);
		break;
	case FOLD_INVISIBLE:
		unseen(n);
		n->i += eaten;
		break;
	case FOLD_DROP:
		n->i += eaten;
		break;
	case FOLD_LOWER:
		keep(n, f.lower, eaten);
		break;
	case FOLD_KEEP:
	default:
		keep(n, cp, eaten);
		break;
	}
}

static bool hex(const struct norm *n, size_t at, size_t digits, uint32_t *ret)
{
	uint32_t v = 0;

	if (n->len - at < digits || at > n->len)
		return false;
	for (size_t k = at; k < at + digits; k++) {
		char c = n->in[k];

		if (!isxdigit((unsigned char)c))
			return false;
		v = v * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	*ret = v;
	return true;
}

static void unicode_escape(struct norm *n, uint32_t v)
{
	uint32_t low = 0;

	if (v >= 0xd800 && v < 0xdc00 && starts(n, n->i + 6, "\\u") && hex(n, n->i + 8, 4, &low) &&
		low >= 0xdc00 && low < 0xe000) {
		code_point(n, 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00), 12);
		return;
	}
	if (v < ' ' || (v >= 0xd800 && v < 0xe000))
		put(n, v == '\n' ? '\n' : ' ', 6);
	else
		code_point(n, v, 6);
}

/* A backslash: the escapes of JSON and of most languages. */
static void escape(struct norm *n)
{
	char c = (char)(n->i + 1 < n->len ? n->in[n->i + 1] : 0);
	uint32_t v = 0;

	if (c == 'n' || c == 'r')
		newline(n, 2);
	else if (c == 't')
		put(n, ' ', 2);
	else if (c == '"' || c == '\'' || c == '/')
		put(n, c, 2);
	else if (c == '\\')
		n->i++;
	else if (c == 'u' && hex(n, n->i + 2, 4, &v))
		unicode_escape(n, v);
	else if (c == 'x' && hex(n, n->i + 2, 2, &v) && v >= ' ' && v < 0x7f)
		put(n, (char)v, 4);
	else
		put(n, '\\', 1);
}

/* Text that a terminal does not show: concealed, or in the colour of its ground. */
static bool conceals(const char *p, size_t n)
{
	bool fg[8] = {false}, bg[8] = {false};

	for (size_t k = 0; k < n;) {
		unsigned v = 0;

		for (; k < n && isdigit((unsigned char)p[k]); k++)
			v = v < 1000 ? v * 10 + (unsigned)(p[k] - '0') : v;
		k++;
		if (v == 8)
			return true;
		if (v >= 30 && v < 38)
			fg[v - 30] = true;
		if (v >= 40 && v < 48)
			bg[v - 40] = true;
	}
	for (unsigned k = 0; k < 8; k++)
		if (fg[k] && bg[k])
			return true;
	return false;
}

static void terminal(struct norm *n)
{
	size_t at = n->i + 2, end;

	if (starts(n, n->i, "\x1b]")) {
		size_t bel = find(n, "\a", at, 512), st = find(n, "\x1b\\", at, 512);

		n->i = (bel < st ? bel + 1 : st + 2) < n->len ? (bel < st ? bel + 1 : st + 2)
							      : n->len;
		return;
	}
	if (!starts(n, n->i, "\x1b[")) {
		n->i = n->len - n->i > 2 ? n->i + 2 : n->len;
		return;
	}
	for (end = at; end < n->len && end < at + 64 && (unsigned char)n->in[end] < 0x40; end++)
		;
	n->i = end < n->len ? end + 1 : n->len;
	if (end < n->len && n->in[end] == 'm' && conceals(n->in + at, end - at))
		region_open(
			n, find_on(n, &n->escape, "\x1b[", n->i, COMMENT_REACH), PLACE_CONCEALED);
}

static void angle(struct norm *n)
{
	struct inject_tag t;

	if (starts(n, n->i, "<!--")) {
		size_t end = find_on(n, &n->comment_end, "-->", n->i + 4, COMMENT_REACH);

		put(n, '\n', 1);
		put(n, '\n', 3);
		n->i = blank(n, n->i);
		region_open(n, end, PLACE_HTML_COMMENT);
		return;
	}
	t = inject_html_tag(n->in + n->i, n->len - n->i);
	if (!t.len) {
		put(n, '<', 1);
		return;
	}
	if (t.has_text) {
		region_open(n, n->i + t.len, PLACE_ATTRIBUTE);
		put(n, '<', 1);
		return;
	}
	if (t.block)
		put(n, '\n', 1);
	else
		n->i++;
	n->i += t.len - 1;
	if (t.place && t.inside) {
		put(n, '\n', 0);
		put(n, '\n', 0);
		region_open(n, n->i + t.inside, t.place);
	}
}

static void other(struct norm *n)
{
	const char *p = n->in + n->i;
	uint32_t cp = 0;
	size_t len;

	if (*p == '%') {
		bool ok = hex(n, n->i + 1, 2, &cp) && ((cp >= ' ' && cp < 0x7f) || cp == '\n');

		put(n, (char)(ok ? cp : '%'), ok ? 3 : 1);
	} else if (*p == '&') {
		len = inject_html_entity(p, n->len - n->i, &cp);
		if (len && (cp >= ' ' || cp == '\n'))
			code_point(n, cp, len);
		else
			put(n, '&', 1);
	} else if ((unsigned char)*p >= 0x80) {
		len = inject_utf8(p, n->len - n->i, &cp);
		if (len)
			code_point(n, cp, len);
		else
			put(n, '?', 1);
	} else if (*p == '\b' || (*p == '\r' && n->len - n->i > 1 && p[1] == '\n')) {
		n->i++;
	} else {
		put(n, *p == '\r' ? '\n' : ' ', 1);
	}
}

static void step(struct norm *n)
{
	switch (n->in[n->i]) {
	case '\n':
		newline(n, 1);
		break;
	case '<':
		angle(n);
		break;
	case '\\':
		escape(n);
		break;
	case 0x1b:
		terminal(n);
		break;
	default:
		other(n);
		break;
	}
}

#ifdef INJECT_AVX512
/* copy_plain() as long as there are whole groups of 64 to be read, which is most often one. Returns
 * how many bytes were copied; *done tells that it is over. */
INJECT_AVX512 static size_t copy64(const char *in, char *out, size_t stop, size_t there, bool *done)
{
	__m512i low = _mm512_loadu_si512(special), high = _mm512_loadu_si512(special + 64);
	size_t i = 0;

	for (; i + 64 <= there; i += 64) {
		__m512i v = _mm512_loadu_si512(in + i);
		uint64_t which = _mm512_movepi8_mask(v) |
				 _mm512_test_epi8_mask(_mm512_permutex2var_epi8(low, v, high),
					 _mm512_set1_epi8(1));

		which |= stop - i < 64 ? ~(uint64_t)0 << (stop - i) : 0;
		_mm512_storeu_si512(out + i, v);
		if (which) {
			*done = true;
			return i + (size_t)__builtin_ctzll(which);
		}
	}
	return i;
}
#else
static size_t copy64(const char *in, char *out, size_t stop, size_t there, bool *done)
{
	(void)in, (void)out, (void)stop, (void)there, (void)done;
	return 0;
}
#endif

#ifdef __SSE2__
/* copy64() with groups of sixteen, from i on. */
static size_t copy16(const char *in, char *out, size_t i, size_t stop)
{
	while (i + 16 <= stop) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(in + i));
		__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
		/* % and & */
		__m128i pair = _mm_cmpeq_epi8(
			_mm_and_si128(_mm_sub_epi8(v, _mm_set1_epi8('%')), _mm_set1_epi8(~1)),
			_mm_setzero_si128());
		__m128i other = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('<')),
			_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
		/* those of other scripts have the highest bit themselves */
		unsigned found = (unsigned)_mm_movemask_epi8(
			_mm_or_si128(_mm_or_si128(v, control), _mm_or_si128(pair, other)));

		_mm_storeu_si128((__m128i *)(void *)(out + i), v);
		i += found ? (unsigned)__builtin_ctz(found) : 16;
		if (!found)
			continue;
		if (special[(unsigned char)in[i]] & 1)
			break;
		i++; /* a tab and the like, which was copied */
	}
	return i;
}
#else
static size_t copy16(const char *in, char *out, size_t i, size_t stop)
{
	(void)in, (void)out, (void)stop;
	return i;
}
#endif

/* Copy what needs no look. Whole groups are written: the output has room for more than the input.
 */
static void copy_plain(struct norm *n)
{
	const char *in = n->in + n->i;
	char *out = n->t->text + n->o;
	size_t i = 0, stop = n->stop - n->i;
	bool done = false;

	if (n->machine == INJECT_HAS_AVX512)
		i = copy64(in, out, stop, n->len - n->i, &done);
	if (!done)
		i = copy16(in, out, i, stop);
	for (; i < stop && !(special[(unsigned char)in[i]] & 1); i++)
		out[i] = in[i];
	n->o += i;
	n->i += i;
}

static void finish(struct norm *n)
{
	struct inject_text *t = n->t;
	uint32_t first = UINT32_MAX;

	n->i = n->len;
	regions_close(n);
	if (n->fenced)
		mark(n, n->fence, n->o, PLACE_FENCE);
	t->len = n->o;
	memset(t->text + n->o, 0, INJECT_PAD);
	for (size_t k = t->n_spans; k--;) {
		if (t->spans[k].start < first)
			first = t->spans[k].start;
		t->spans[k].first = first;
	}
}

int inject_normalise(struct bawn_arena *a, const char *text, size_t len, struct inject_text *ret)
{
	struct norm n = {.a = a,
		.t = ret,
		.in = text,
		.len = len,
		.stop = len,
		.machine = inject_marks_machine()};

	*ret = (struct inject_text){.from_len = len};
	if (len > INJECT_MAX)
		return -E2BIG;
	ret->text = bawn_arena_raw(a, len + 8 + INJECT_PAD);
	if (!ret->text)
		return -ENOMEM;
	line_start(&n);
	while (n.i < n.len && !n.failed) {
		if (n.i < n.stop && !(special[(unsigned char)text[n.i]] & 1)) {
			here(&n);
			copy_plain(&n);
		}
		if (n.i >= n.stop)
			regions_close(&n);
		if (n.i < n.len && special[(unsigned char)text[n.i]] & 1)
			step(&n);
	}
	finish(&n);
	return n.failed;
}

size_t inject_origin(const struct inject_text *t, size_t at)
{
	size_t lo = 0, hi = t->n_map, from;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->map[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return at < t->from_len ? at : t->from_len;
	from = t->map[lo - 1].from + (at - t->map[lo - 1].at);
	return from < t->from_len ? from : t->from_len;
}

unsigned inject_place(const struct inject_text *t, size_t start, size_t end)
{
	size_t lo = 0, hi = t->n_spans;
	unsigned place = 0;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->spans[mid].end <= start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < t->n_spans && t->spans[lo].first < end; lo++)
		if (t->spans[lo].start < end)
			place |= t->spans[lo].place;
	return place;
}
