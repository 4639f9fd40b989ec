/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small programs that obfuscation is made of, run on constants: what `base64 -d`, `xxd -r`,
 * `rev`, `tr` or `printf` would print.
 */
#include <ctype.h>
#include <string.h>

#include "base/digit.h"
#include "inspect/shell/shell.h"

static const char *decode_bits(struct bawn_arena *a, const char *t, size_t n, unsigned width,
	int (*value)(char), size_t *ret_n)
{
	char *out = bawn_arena_alloc(a, n + 1);
	unsigned acc = 0, bits = 0;
	size_t k = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < n && t[i] != '='; i++) {
		int v = value(t[i]);

		if (v < 0) {
			if (isspace((unsigned char)t[i]))
				continue;
			return NULL;
		}
		acc = (acc << width) | (unsigned)v;
		bits += width;
		if (bits >= 8) {
			bits -= 8;
			out[k++] = (char)(acc >> bits & 0xff);
		}
	}
	out[k] = 0;
	*ret_n = k;
	return out;
}

const char *sh_decode_base64(struct bawn_arena *a, const char *t, size_t n, size_t *ret_n)
{
	return decode_bits(a, t, n, 6, bawn_digit64, ret_n);
}

const char *sh_decode_base32(struct bawn_arena *a, const char *t, size_t n, size_t *ret_n)
{
	return decode_bits(a, t, n, 5, bawn_digit32, ret_n);
}

static int digit(char c, int base)
{
	int v = bawn_digit16(c);

	return v < base ? v : -1;
}

const char *sh_decode_hex(struct bawn_arena *a, const char *t, size_t n, size_t *ret_n)
{
	char *out = bawn_arena_alloc(a, n / 2 + 1);
	int high = -1;
	size_t k = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		int v = digit(t[i], 16);

		if (v < 0) {
			if (isspace((unsigned char)t[i]))
				continue;
			return NULL;
		}
		if (high < 0) {
			high = v;
			continue;
		}
		out[k++] = (char)(high << 4 | v);
		high = -1;
	}
	out[k] = 0;
	*ret_n = k;
	return out;
}

static size_t put_utf8(char *out, unsigned c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | (c >> 12 & 0xf));
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

/* Digits of `base`, at most `max` of them, from t[*i]. */
static unsigned number(const char *t, size_t n, size_t *i, int base, unsigned max)
{
	unsigned v = 0;

	for (; max && *i < n && digit(t[*i], base) >= 0; max--, (*i)++)
		v = v * (unsigned)base + (unsigned)digit(t[*i], base);
	return v;
}

/* One escape whose letter is t[*i]; *i moves past it. Returns the bytes written. */
static size_t one_escape(const char *t, size_t n, size_t *i, char *out)
{
	static const char names[] = "abefnrtv\\'\"?E", values[] = "\a\b\033\f\n\r\t\v\\'\"?\033";
	const char *p = strchr(names, t[*i]);
	char c = t[*i];

	if (p && c) {
		(*i)++;
		out[0] = values[p - names];
		return 1;
	}
	if (c == 'x') {
		(*i)++;
		out[0] = (char)number(t, n, i, 16, 2);
		return 1;
	}
	if (c == 'u' || c == 'U') {
		(*i)++;
		return put_utf8(out, number(t, n, i, 16, c == 'u' ? 4 : 8) & 0xffff);
	}
	if (digit(c, 8) >= 0) {
		out[0] = (char)number(t, n, i, 8, c == '0' ? 4 : 3);
		return 1;
	}
	if (c == 'c' && *i + 1 < n) {
		out[0] = (char)(t[*i + 1] & 0x1f);
		*i += 2;
		return 1;
	}
	out[0] = '\\';
	out[1] = c;
	(*i)++;
	return 2;
}

const char *sh_decode_escapes(struct bawn_arena *a, const char *t, size_t n, size_t *ret_n)
{
	char *out = bawn_arena_alloc(a, n + 4);
	size_t k = 0, i = 0;

	if (!out)
		return NULL;
	while (i < n) {
		if (t[i] != '\\' || i + 1 >= n) {
			out[k++] = t[i++];
			continue;
		}
		i++;
		k += one_escape(t, n, &i, out + k);
	}
	out[k] = 0;
	*ret_n = k;
	return out;
}

const char *sh_decode_reverse(struct bawn_arena *a, const char *t, size_t n)
{
	char *out = bawn_arena_alloc(a, n + 1);
	size_t line = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && t[i] != '\n')
			continue;
		for (size_t k = line; k < i; k++)
			out[k] = t[i - 1 - (k - line)];
		if (i < n)
			out[i] = '\n';
		line = i + 1;
	}
	out[n] = 0;
	return out;
}

/* A set of tr as the bytes it stands for: ranges, escapes and a few classes. */
static size_t tr_set(const char *set, unsigned char out[256])
{
	size_t k = 0;

	if (!strcmp(set, "[:upper:]"))
		set = "A-Z";
	if (!strcmp(set, "[:lower:]"))
		set = "a-z";
	for (size_t i = 0, n = strlen(set); i < n && k < 256;) {
		unsigned char lo = (unsigned char)set[i++], hi;

		if (lo == '\\' && i < n) {
			char two[4];

			(void)one_escape(set, n, &i, two);
			lo = (unsigned char)two[0];
		}
		hi = lo;
		if (i + 1 < n && set[i] == '-') {
			hi = (unsigned char)set[i + 1];
			i += 2;
		}
		for (unsigned c = lo; c <= hi && k < 256; c++)
			out[k++] = (unsigned char)c;
	}
	return k;
}

const char *sh_decode_tr(
	struct bawn_arena *a, const char *t, size_t n, const char *from, const char *to, bool del)
{
	unsigned char f[256], g[256], map[256];
	bool drop[256] = {false};
	size_t nf = tr_set(from, f), ng = to ? tr_set(to, g) : 0, k = 0;
	char *out = bawn_arena_alloc(a, n + 1);

	if (!out || (!del && !ng))
		return NULL;
	for (unsigned i = 0; i < 256; i++)
		map[i] = (unsigned char)i;
	for (size_t i = 0; i < nf; i++) {
		drop[f[i]] = del;
		if (!del)
			map[f[i]] = g[i < ng ? i : ng - 1];
	}
	for (size_t i = 0; i < n; i++) {
		if (!drop[(unsigned char)t[i]])
			out[k++] = (char)map[(unsigned char)t[i]];
	}
	out[k] = 0;
	return out;
}

struct out {
	char *t;
	size_t n, cap;
};

static void put(struct out *o, const char *t, size_t n)
{
	if (o->n + n + 4 > o->cap)
		return;
	memcpy(o->t + o->n, t, n);
	o->n += n;
}

/* %b takes escapes, all others are put as they are. */
static void put_argument(struct bawn_arena *a, struct out *o, char how, const char *v)
{
	size_t k = strlen(v);

	if (how == 'b')
		v = sh_decode_escapes(a, v, k, &k);
	if (v)
		put(o, v, k);
}

/* One pass over the format; *arg moves over the words used. */
static bool printf_pass(
	struct bawn_arena *a, const struct sh_words *w, const char *f, size_t *arg, struct out *o)
{
	size_t n = strlen(f), i = 0;
	bool used = false;

	while (i < n) {
		const char *v = *arg < w->n ? w->v[*arg].text : "";

		if (f[i] == '\\' && i + 1 < n) {
			i++;
			if (o->n + 8 < o->cap)
				o->n += one_escape(f, n, &i, o->t + o->n);
			else
				i++;
			continue;
		}
		if (f[i] != '%' || i + 1 >= n) {
			put(o, f + i++, 1);
			continue;
		}
		i++;
		while (i < n && strchr("-+ #0123456789.*", f[i]))
			i++;
		if (f[i] == '%') {
			put(o, "%", 1);
		} else {
			put_argument(a, o, f[i], v);
			used = true;
			(*arg)++;
		}
		i += i < n;
	}
	return used;
}

const char *sh_decode_printf(
	struct bawn_arena *a, const struct sh_words *w, size_t first, size_t *ret_n)
{
	size_t arg = first + 1, total = 64;
	struct out o = {0};

	if (first >= w->n)
		return NULL;
	for (size_t i = first; i < w->n; i++)
		total += strlen(w->v[i].text) + strlen(w->v[first].text);
	o.cap = total;
	o.t = bawn_arena_alloc(a, total);
	if (!o.t)
		return NULL;
	while (printf_pass(a, w, w->v[first].text, &arg, &o) && arg < w->n)
		;
	o.t[o.n] = 0;
	*ret_n = o.n;
	return o.t;
}
