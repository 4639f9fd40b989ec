/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a word as the reader left it to the words that a program gets: brace expansion and word
 * splitting. The reader marks with control bytes what was not quoted, so that quoted braces and
 * blanks stay what they are.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/shell/marks.h"

#define BRACE_MAX 256 /* words that braces may make */

const char *sh_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool sh_is(const char *word, const char *list)
{
	size_t n = strlen(word);

	if (!n || strchr(word, '|'))
		return false;
	for (const char *p = list; (p = strstr(p, word)); p++) {
		if (p > list && p[-1] == '|' && p[n] == '|')
			return true;
	}
	return false;
}

/* [abc] at *p: does it take c? *p moves to its end. */
static bool class_match(const char **p, char c)
{
	const char *q = *p + 1;
	bool negated = *q == '!' || *q == '^', hit = false;

	q += negated;
	for (bool first = true; *q && (first || *q != ']'); first = false) {
		if (q[1] == '-' && q[2] && q[2] != ']') {
			hit = hit || (c >= q[0] && c <= q[2]);
			q += 3;
		} else {
			hit = hit || *q == c;
			q++;
		}
	}
	*p = *q ? q : q - 1;
	return hit != negated;
}

/* One `*` to go back to is enough, so the time is bounded by length × length. */
bool sh_glob_match(const char *pat, const char *text)
{
	const char *star = NULL, *back = NULL;

	while (*text) {
		const char *p = pat;

		if (*p == '*') {
			star = pat++;
			back = text;
			continue;
		}
		if (*p && ((*p == '[' && class_match(&p, *text)) || (*p == '?') ||
				  (*p != '[' && *p == *text))) {
			pat = p + 1;
			text++;
			continue;
		}
		if (!star)
			return false;
		pat = star + 1;
		text = ++back;
	}
	while (*pat == '*')
		pat++;
	return !*pat;
}

/* The first group in braces that has a comma or a range: its ends, else false. */
static bool find_group(struct sh *s, const char *t, size_t *open, size_t *close)
{
	const char *last = strrchr(t, MARK_CLOSE);
	size_t n = last ? (size_t)(last - t) + 1 : 0;

	for (size_t i = 0; i < n; i++) {
		size_t depth = 0, k = i;
		bool comma = false, dots = false;

		if (t[i] != MARK_OPEN)
			continue;
		for (; k < n; k++) {
			if (t[k] == MARK_OPEN)
				depth++;
			comma = comma || (t[k] == MARK_COMMA && depth == 1);
			dots = dots || (t[k] == '.' && t[k + 1] == '.' && depth == 1);
			if (t[k] != MARK_CLOSE || --depth)
				continue;
			*open = i;
			*close = k;
			if (comma || dots)
				return true;
			break;
		}
		/* braces in braces are read again for each of them */
		if (!bawn_scan_spend(s->scan, k - i))
			return false;
	}
	return false;
}

static int add_piece(struct sh *s, struct bawn_strlist *l, const char *t, size_t open,
	const char *mid, size_t n_mid, size_t close)
{
	size_t tail = strlen(t + close + 1);
	char *x = bawn_arena_alloc(s->a, open + n_mid + tail + 1);

	if (!x)
		return sh_no_memory(s);
	memcpy(x, t, open);
	memcpy(x + open, mid, n_mid);
	memcpy(x + open + n_mid, t + close + 1, tail + 1);
	if (bawn_strlist_add(s->a, l, x) < 0)
		return sh_no_memory(s);
	return 0;
}

/* {1..5}, {a..e} */
static int add_range(struct sh *s, struct bawn_strlist *l, const char *t, size_t open, size_t close)
{
	const char *in = t + open + 1, *dots = strstr(in, "..");
	bool letters = dots == in + 1 && (in[0] < '0' || in[0] > '9');
	long lo, hi;

	if (!dots)
		return 0;
	lo = letters ? in[0] : strtol(in, NULL, 10);
	hi = letters ? dots[2] : strtol(dots + 2, NULL, 10);
	if (hi < lo || hi - lo > BRACE_MAX)
		hi = lo + 1;
	for (long v = lo; v <= hi; v++) {
		const char *x = letters ? bawn_arena_printf(s->a, "%c", (int)v)
					: bawn_arena_printf(s->a, "%ld", v);
		int r;

		if (!x)
			return sh_no_memory(s);
		r = add_piece(s, l, t, open, x, strlen(x), close);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_alternatives(
	struct sh *s, struct bawn_strlist *l, const char *t, size_t open, size_t close)
{
	size_t from = open + 1, depth = 0;
	bool comma = false;

	for (size_t k = from; k <= close; k++) {
		int r;

		if (t[k] == MARK_OPEN)
			depth++;
		if (k < close && t[k] == MARK_CLOSE)
			depth--;
		if (k < close && (t[k] != MARK_COMMA || depth))
			continue;
		comma = comma || k < close;
		if (k == close && !comma)
			return add_range(s, l, t, open, close);
		r = add_piece(s, l, t, open, t + from, k - from, close);
		if (r < 0)
			return r;
		from = k + 1;
	}
	return 0;
}

static int move(struct sh *s, struct bawn_strlist *to, const struct bawn_strlist *from, size_t i)
{
	for (; i < from->n; i++) {
		if (bawn_strlist_add(s->a, to, from->v[i]) < 0)
			return sh_no_memory(s);
	}
	return 0;
}

/* The alternatives of the group in work[i] stand behind it, before what stood there. */
static int open_group(struct sh *s, struct bawn_strlist *work, size_t i, size_t open, size_t close)
{
	struct bawn_strlist rest = {0};
	int r = move(s, &rest, work, i + 1);

	work->n = i + 1;
	if (r == 0)
		r = add_alternatives(s, work, work->v[i], open, close);
	return r < 0 ? r : move(s, work, &rest, 0);
}

/* All groups of all words, first groups first; a list that grows while it is walked. */
static int expand(struct sh *s, const char *text, struct bawn_strlist *done)
{
	struct bawn_strlist work = {0};
	size_t open, close, groups = 0;
	int r;

	for (const char *p = text; *p; p++)
		groups += *p == MARK_OPEN;

	if (bawn_strlist_add(s->a, &work, text) < 0)
		return sh_no_memory(s);
	for (size_t i = 0; i < work.n; i++) {
		const char *t = work.v[i];

		if (!bawn_scan_spend(s->scan, strlen(t)))
			return 0;
		if (work.n >= BRACE_MAX && groups > 3)
			s->deep = true;
		if (work.n < BRACE_MAX && find_group(s, t, &open, &close)) {
			r = open_group(s, &work, i, open, close);
			if (r < 0)
				return r;
			continue;
		}
		if (bawn_strlist_add(s->a, done, t) < 0)
			return sh_no_memory(s);
	}
	return 0;
}

static char plain(char c)
{
	switch (c) {
	case MARK_OPEN:
		return '{';
	case MARK_CLOSE:
		return '}';
	case MARK_COMMA:
		return ',';
	default:
		return c;
	}
}

static int split(struct sh *s, const char *t, const struct sh_word *w, struct sh_words *out)
{
	size_t n = strlen(t), from = 0;

	for (size_t i = 0; i <= n; i++) {
		struct sh_word *x;
		char *copy;

		if (i < n && t[i] != MARK_SPLIT)
			continue;
		if (i == from && !(w->quoted && n == 0)) {
			from = i + 1;
			continue;
		}
		x = bawn_grow(s->a, &out->v, &out->n, &out->cap);
		copy = bawn_arena_strndup(s->a, t + from, i - from);
		if (!x || !copy)
			return sh_no_memory(s);
		for (char *c = copy; *c; c++)
			*c = plain(*c);
		*x = *w;
		x->text = copy;
		from = i + 1;
	}
	return 0;
}

int sh_split_word(struct sh *s, const struct sh_word *w, struct sh_words *out)
{
	struct bawn_strlist l = {0};
	int r;

	if (!strchr(w->text, MARK_OPEN))
		return split(s, w->text, w, out);
	r = expand(s, w->text, &l);
	for (size_t i = 0; r == 0 && i < l.n; i++)
		r = split(s, l.v[i], w, out);
	return r;
}
