/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that a program puts together are put together here as well: concatenation, join, format,
 * character lists, base64, hex, reversal. What is not known becomes "_".
 */
#include <string.h>

#include "inspect/code/code.h"

#define TEXT_MAX   ((size_t)256 << 10)
#define CONCAT_MAX ((size_t)16 << 10) /* each step copies: keep the sum of all steps small */

static char *room(struct code_walk *w, size_t len)
{
	char *s;

	if (len > TEXT_MAX || !bawn_scan_spend(w->scan, len + 1)) {
		w->spent = w->spent || len <= TEXT_MAX;
		return NULL;
	}
	s = bawn_arena_alloc(w->a, len + 1);
	if (!s)
		w->failed = true;
	return s;
}

static struct code_val made(char *s, size_t len, uint32_t taint, bool exact)
{
	struct code_val v = {.name = "", .taint = taint};

	v.str = s;
	v.len = s ? (uint32_t)len : 0;
	v.flags = s && exact ? CODE_V_EXACT : 0;
	return v;
}

struct code_val code_str(struct code_walk *w, const char *s, size_t len, uint32_t taint)
{
	char *x = room(w, len);

	if (x)
		memcpy(x, s, len);
	return made(x, len, taint, true);
}

struct code_val code_concat(struct code_walk *w, const struct code_val *a, const struct code_val *b)
{
	const char *x = a->str ? a->str : "_", *y = b->str ? b->str : "_";
	size_t n = a->str ? a->len : 1, m = b->str ? b->len : 1;
	struct code_val v = {.name = "", .taint = a->taint | b->taint};
	char *s;

	if (!a->str && !b->str)
		return v;
	if (n + m > CONCAT_MAX) { /* long enough: it does not grow any more */
		v.str = a->str;
		v.len = a->len;
		return v;
	}
	s = room(w, n + m);
	if (!s)
		return v;
	memcpy(s, x, n);
	memcpy(s + n, y, m);
	v = made(s, n + m, v.taint, a->flags & b->flags & CODE_V_EXACT);
	if (n < 64 && m < 64) /* "~/.s" + "sh" */
		v.taint |= code_taint_of_text(s, n + m);
	return v;
}

struct code_val code_reverse(struct code_walk *w, const struct code_val *v)
{
	struct code_val out = *v;
	char *s;

	out.var = 0;
	if (!v->str) { /* numbers and lists are turned round every day */
		if (!v->n)
			out.name = "reversed()";
		return out;
	}
	out.taint |= CODE_T_HIDDEN;
	s = room(w, v->len);
	for (uint32_t i = 0; s && i < v->len; i++)
		s[i] = v->str[v->len - 1 - i];
	return made(s, v->len, out.taint, v->flags & CODE_V_EXACT);
}

static void put(struct bawn_buf *b, const struct code_val *v)
{
	if (v->str)
		bawn_buf_add(b, v->str, v->len);
	else if (v->flags & CODE_V_NUMBER)
		bawn_buf_printf(b, "%lld", (long long)v->num);
	else
		bawn_buf_add(b, "_", 1);
}

static struct code_val from_buf(struct code_walk *w, struct bawn_buf *b, uint32_t taint)
{
	struct code_val v = {.name = "", .taint = taint};

	if (!b->failed)
		v = code_str(w, b->data ? b->data : "", b->len, taint);
	bawn_buf_done(b);
	return v;
}

/* "%s" % x and printf(f, …): `args` is one value or a list of them. */
struct code_val code_percent(
	struct code_walk *w, const struct code_val *f, const struct code_val *args)
{
	struct bawn_buf b = {.max = TEXT_MAX};
	const struct code_val *items = args->n ? args->items : args;
	uint32_t n = args->n ? args->n : 1, k = 0;
	struct code_val v;

	for (uint32_t i = 0; i < f->len; i++) {
		if (f->str[i] != '%' || i + 1 >= f->len) {
			bawn_buf_add(&b, f->str + i, 1);
			continue;
		}
		i++;
		while (i < f->len && strchr("0123456789.+-# (", f->str[i]) && f->str[i])
			i += f->str[i] == '(' ? (uint32_t)strcspn(f->str + i, ")") + 1 : 1;
		if (i >= f->len)
			break;
		if (f->str[i] == '%')
			bawn_buf_add(&b, "%", 1);
		else if (k < n)
			put(&b, &items[k++]);
		else
			bawn_buf_add(&b, "_", 1);
	}
	v = from_buf(w, &b, f->taint | args->taint);
	v.flags &= (uint8_t)~CODE_V_EXACT;
	return v;
}

static struct code_val format(
	struct code_walk *w, const struct code_val *f, const struct code_val *args, size_t n)
{
	struct bawn_buf b = {.max = TEXT_MAX};
	uint32_t taint = f->taint;
	size_t k = 0;
	struct code_val v;

	for (uint32_t i = 0; i < f->len; i++) {
		const char *end = f->str[i] == '{' ? memchr(f->str + i, '}', f->len - i) : NULL;

		if (!end) {
			bawn_buf_add(&b, f->str + i, 1);
			continue;
		}
		size_t at = f->str[i + 1] >= '0' && f->str[i + 1] <= '9'
				    ? (size_t)(f->str[i + 1] - '0')
				    : k++;
		if (at < n)
			put(&b, &args[at]);
		else
			bawn_buf_add(&b, "_", 1);
		i = (uint32_t)(end - f->str);
	}
	for (size_t i = 0; i < n; i++)
		taint |= args[i].taint;
	v = from_buf(w, &b, taint);
	v.taint |= code_taint_of_text(v.str, v.len);
	return v;
}

static struct code_val join(
	struct code_walk *w, const char *sep, size_t len, const struct code_val *list, bool chars)
{
	struct bawn_buf b = {.max = TEXT_MAX};
	bool exact = true;
	struct code_val v;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct code_val *x = &list->items[i];

		if (i)
			bawn_buf_add(&b, sep, len);
		if (chars && (x->flags & CODE_V_NUMBER)) {
			char c = (char)x->num;

			bawn_buf_add(&b, &c, 1);
			continue;
		}
		put(&b, x);
		exact = exact && (x->flags & (CODE_V_EXACT | CODE_V_NUMBER));
	}
	v = from_buf(w, &b, list->taint);
	if (!exact)
		v.flags &= (uint8_t)~CODE_V_EXACT;
	v.taint |= code_taint_of_text(v.str, v.len);
	return v;
}

static struct code_val decode(
	struct code_walk *w, const struct code_val *v, int (*digit)(char), unsigned bits)
{
	struct code_val out = {.name = "", .taint = v->taint | CODE_T_DECODED};
	uint32_t acc = 0, n = 0;
	unsigned have = 0;
	char *s;

	if (!v->str || !(v->flags & CODE_V_EXACT))
		return out;
	s = room(w, v->len);
	for (uint32_t i = 0; s && i < v->len; i++) {
		int d = digit(v->str[i]);

		if (d < 0)
			continue;
		acc = (acc << bits) | (uint32_t)d;
		have += bits;
		if (have >= 8) {
			have -= 8;
			s[n++] = (char)(acc >> have);
		}
	}
	out = made(s, n, out.taint, true);
	out.taint |= code_taint_of_text(s, n);
	return out;
}

static struct code_val rot13(struct code_walk *w, const struct code_val *v)
{
	char *s = room(w, v->len);

	for (uint32_t i = 0; s && i < v->len; i++) {
		char c = (char)(v->str[i] | 32);

		s[i] = v->str[i];
		if (c >= 'a' && c <= 'z')
			s[i] = (char)(s[i] + (c < 'n' ? 13 : -13));
	}
	return made(s, v->len, v->taint | CODE_T_DECODED, v->flags & CODE_V_EXACT);
}

static struct code_val percent(struct code_walk *w, const struct code_val *v)
{
	struct code_val out = *v;
	uint32_t n = 0;
	char *s;

	if (!v->str && !v->n) {
		out.name = "unquoted()";
		out.var = 0;
	}
	if (!v->str || !memchr(v->str, '%', v->len))
		return out;
	s = room(w, v->len);
	for (uint32_t i = 0; s && i < v->len; i++) {
		if (v->str[i] == '%' && i + 2 < v->len + 0u && bawn_digit16(v->str[i + 1]) >= 0 &&
			bawn_digit16(v->str[i + 2]) >= 0) {
			s[n++] = (char)(bawn_digit16(v->str[i + 1]) * 16 +
					bawn_digit16(v->str[i + 2]));
			i += 2;
		} else {
			s[n++] = v->str[i];
		}
	}
	return made(s, n, v->taint | CODE_T_DECODED, v->flags & CODE_V_EXACT);
}

static struct code_val chars(struct code_walk *w, const struct code_val *args, size_t n)
{
	struct code_val list = {.name = "", .items = args, .n = (uint32_t)n};
	struct code_val v;

	if (n == 1 && (args[0].flags & CODE_V_ANYOF)) /* the body of a comprehension */
		return (struct code_val){.name = "chr()", .taint = args[0].taint | CODE_T_HIDDEN};
	if (n == 1 && args[0].n)
		list = args[0];
	for (uint32_t i = 0; i < list.n; i++)
		if (!(list.items[i].flags & CODE_V_NUMBER))
			return (struct code_val){.name = "chr()",
				.taint = list.taint | args[0].taint | CODE_T_HIDDEN};
	v = join(w, "", 0, &list, true);
	v.taint |= CODE_T_HIDDEN;
	return v;
}

static struct code_val codec(
	struct code_walk *w, const struct code_val *v, const struct code_val *how)
{
	struct code_val out = *v;

	out.var = 0;
	if (!how || !how->str)
		return out;
	if (strstr(how->str, "64"))
		return decode(w, v, bawn_digit64, 6);
	if (strstr(how->str, "hex"))
		return decode(w, v, bawn_digit16, 4);
	if (strstr(how->str, "rot") && v->str)
		return rot13(w, v);
	if (strstr(how->str, "rot"))
		out.taint |= CODE_T_DECODED;
	if (strncmp(how->str, "cp1026", 6) == 0 || strncmp(how->str, "cp037", 5) == 0)
		out.taint |= CODE_T_HIDDEN | CODE_T_DECODED;
	return out;
}

static struct code_val replace(
	struct code_walk *w, const struct code_val *v, const struct code_val *args, size_t n)
{
	struct bawn_buf b = {.max = TEXT_MAX};
	struct code_val out = {.name = "", .taint = v->taint};

	if (!v->str || n < 2 || !args[0].str || !args[1].str || !args[0].len) {
		out.str = v->str;
		out.len = v->len;
		return out;
	}
	for (uint32_t i = 0; i < v->len;) {
		if (v->len - i >= args[0].len &&
			memcmp(v->str + i, args[0].str, args[0].len) == 0) {
			bawn_buf_add(&b, args[1].str, args[1].len);
			i += args[0].len;
		} else {
			bawn_buf_add(&b, v->str + i++, 1);
		}
	}
	out = from_buf(w, &b, v->taint);
	out.taint |= code_taint_of_text(out.str, out.len);
	return out;
}

static bool fold_decode(struct code_walk *w, uint8_t op, const struct code_val *x,
	const struct code_val *args, size_t n, struct code_val *out)
{
	switch (op) {
	case CODE_OP_BASE64:
		*out = decode(w, x, bawn_digit64, 6);
		return true;
	case CODE_OP_BASE32:
		*out = decode(w, x, bawn_digit32, 5);
		return true;
	case CODE_OP_HEX:
		*out = decode(w, x, bawn_digit16, 4);
		return true;
	case CODE_OP_ROT13:
		*out = x->str ? rot13(w, x) : *x;
		return true;
	case CODE_OP_CODEC: /* codecs.decode(x, how), x.decode(how) */
	case CODE_OP_BUFFER:
		*out = codec(w, x, n && x != &args[0] ? &args[0] : (n > 1 ? &args[1] : NULL));
		return true;
	case CODE_OP_PERCENT:
		*out = percent(w, x);
		return true;
	case CODE_OP_REVERSE:
		*out = code_reverse(w, x);
		return true;
	case CODE_OP_CHARS:
		*out = chars(w, args, n);
		return true;
	default:
		return false;
	}
}

static bool fold_join(struct code_walk *w, const struct code_val *receiver,
	const struct code_val *args, size_t n, struct code_val *out)
{
	bool sep = n && args[0].str;

	if (receiver && receiver->n) { /* list.join(separator) */
		*out = join(w, sep ? args[0].str : ",", sep ? args[0].len : 1, receiver, false);
		return true;
	}
	if (n < 2 || !args[0].n || !args[1].str)
		return false;
	*out = join(w, args[1].str, args[1].len, &args[0], false);
	return true;
}

static struct code_val list_of(const struct code_val *args, size_t n)
{
	struct code_val list = {.name = "", .items = args, .n = (uint32_t)n};

	for (size_t i = 0; i < n; i++)
		list.taint |= args[i].taint;
	return list;
}

/* Operations that need what they work on. */
static bool fold_build(struct code_walk *w, uint8_t op, const struct code_val *receiver,
	const struct code_val *args, size_t n, struct code_val *out)
{
	bool text = receiver && receiver->str;
	struct code_val list;

	switch (op) {
	case CODE_OP_JOIN:
		if (!text || !n || !args[0].n)
			return false;
		*out = join(
			w, receiver->str, receiver->len, &args[0], args[0].taint & CODE_T_HIDDEN);
		return true;
	case CODE_OP_JOIN_SEP:
		return fold_join(w, receiver, args, n, out);
	case CODE_OP_PATH:
		list = list_of(args, n);
		*out = join(w, "/", 1, &list, false);
		out->taint = code_taint_of_path(out);
		return true;
	case CODE_OP_FORMAT:
		if (text)
			*out = format(w, receiver, args, n);
		return text;
	case CODE_OP_PRINTF:
		if (!n || !args[0].str)
			return false;
		list = list_of(args + 1, n - 1);
		*out = code_percent(w, &args[0], &list);
		return true;
	case CODE_OP_REPLACE:
		if (receiver)
			*out = replace(w, receiver, args, n);
		return receiver != NULL;
	default:
		return false;
	}
}

bool code_fold(struct code_walk *w, uint8_t op, const struct code_val *receiver,
	const struct code_val *args, size_t n, struct code_val *out)
{
	const struct code_val *x =
		receiver && (receiver->str || receiver->n) ? receiver : (n ? &args[0] : receiver);

	if (fold_build(w, op, receiver, args, n, out))
		return true;
	if (!x)
		return false;
	return fold_decode(w, op, x, args, n, out);
}
