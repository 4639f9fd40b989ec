/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of git's configuration format: sections, subsections, quotes, escapes, comments and
 * continued lines. One pass over bytes in memory, no look-back, no state beyond one value.
 */
#include "plan/git_config.h"

#include <ctype.h>
#include <errno.h>

#include "base/buf.h"

#define WORD_MAX 64 /* longer sections and keys are none that we know */

struct reader {
	const char *p, *end;
	char section[WORD_MAX];
	bool has_subsection;
};

/* The next byte with CR LF as one newline; -1 at the end. */
static int next(struct reader *r)
{
	if (r->p == r->end)
		return -1;
	if (r->p[0] == '\r' && r->p + 1 < r->end && r->p[1] == '\n')
		r->p++;
	return (unsigned char)*r->p++;
}

static int peek(const struct reader *r)
{
	return r->p == r->end ? -1 : (unsigned char)*r->p;
}

static void skip_line(struct reader *r)
{
	int c;

	do
		c = next(r);
	while (c >= 0 && c != '\n');
}

static void put(char word[WORD_MAX], size_t *n, int c)
{
	if (*n < WORD_MAX - 1)
		word[(*n)++] = (char)tolower(c);
	word[*n] = '\0';
}

static int read_subsection(struct reader *r)
{
	int c;

	do
		c = next(r);
	while (c != '\n' && c >= 0 && isspace(c));
	if (c != '"')
		return -EBADMSG;
	while ((c = next(r)) != '"') {
		if (c == '\\')
			c = next(r);
		if (c < 0 || c == '\n')
			return -EBADMSG;
	}
	return next(r) == ']' ? 0 : -EBADMSG;
}

/* Behind "[". */
static int read_section(struct reader *r)
{
	size_t n = 0;

	r->has_subsection = false;
	r->section[0] = '\0';
	for (;;) {
		int c = next(r);

		if (c == ']')
			return n ? 0 : -EBADMSG;
		if (c != '\n' && c >= 0 && isspace(c)) {
			r->has_subsection = true;
			return read_subsection(r);
		}
		if (c == '.')
			r->has_subsection = true;
		else if (c < 0 || (!isalnum(c) && c != '-'))
			return -EBADMSG;
		if (!r->has_subsection)
			put(r->section, &n, c);
	}
}

static int read_escape(struct reader *r, struct bawn_buf *v)
{
	static const char from[] = "ntb\"\\", to[] = "\n\t\b\"\\";
	int c = next(r);
	const char *at;

	if (c == '\n')
		return 0;
	at = c > 0 ? strchr(from, c) : NULL;
	if (!at)
		return -EBADMSG;
	bawn_buf_add(v, &to[at - from], 1);
	return 0;
}

/* One byte of a value outside of quotes; false if it is to be treated like a quoted one. */
static bool take_unquoted(struct reader *r, int c, struct bawn_buf *v)
{
	char byte = (char)c;

	if (c == ' ' || c == '\t') {
		if (v->len)
			bawn_buf_add(v, &byte, 1);
		return true;
	}
	if (c != '#' && c != ';')
		return false;
	while (peek(r) >= 0 && peek(r) != '\n')
		r->p++;
	return true;
}

/* Behind "=": up to the end of the line, without the white space around it. */
static int read_value(struct reader *r, struct bawn_buf *v)
{
	bool quoted = false;
	size_t keep = 0; /* trailing space behind this is dropped */

	for (int c = next(r); c >= 0 && c != '\n'; c = next(r)) {
		char byte = (char)c;

		if (!quoted && take_unquoted(r, c, v))
			continue;
		if (c == '"')
			quoted = !quoted;
		else if (c != '\\')
			bawn_buf_add(v, &byte, 1);
		else if (read_escape(r, v) < 0)
			return -EBADMSG;
		keep = v->len;
	}
	v->len = keep;
	bawn_buf_add(v, "", 1);
	return quoted ? -EBADMSG : v->failed;
}

static int read_variable(struct reader *r, int first, git_config_fn fn, void *ctx)
{
	_cleanup_buf_ struct bawn_buf value = {.max = GIT_CONFIG_MAX + 1};
	char key[WORD_MAX] = "";
	size_t n = 0;
	int c = first, q;

	for (; c > 0 && (isalnum(c) || c == '-'); c = next(r))
		put(key, &n, c);
	while (c == ' ' || c == '\t')
		c = next(r);
	if (c < 0 || c == '\n')
		return fn(ctx, r->section, r->has_subsection, key, NULL);
	if (c == '#' || c == ';') {
		skip_line(r);
		return fn(ctx, r->section, r->has_subsection, key, NULL);
	}
	if (c != '=')
		return -EBADMSG;
	q = read_value(r, &value);
	if (q < 0)
		return q;
	return fn(ctx, r->section, r->has_subsection, key, value.data);
}

int git_config_parse(const char *data, size_t len, git_config_fn fn, void *ctx)
{
	struct reader r = {.p = data, .end = data + len};

	if (len >= 3 && !memcmp(data, "\xef\xbb\xbf", 3))
		r.p += 3;
	while (peek(&r) >= 0) {
		int c = next(&r), q = 0;

		if (c == '#' || c == ';')
			skip_line(&r);
		else if (c == '[')
			q = read_section(&r);
		else if (isalpha(c))
			q = read_variable(&r, c, fn, ctx);
		else if (!isspace(c))
			q = -EBADMSG;
		if (q < 0)
			return q;
	}
	return 0;
}

int git_file_parse(struct bawn_arena *a, const char *data, size_t len, const char **ret)
{
	static const char word[] = "gitdir: ";
	size_t n = sizeof(word) - 1;
	char *target;

	if (len < n || memcmp(data, word, n) != 0)
		return -EBADMSG;
	while (len > n && (data[len - 1] == '\n' || data[len - 1] == '\r'))
		len--;
	if (len == n || memchr(data, '\0', len) || memchr(data, '\n', len))
		return -EBADMSG;
	target = bawn_arena_strndup(a, data + n, len - n);
	if (!target)
		return -ENOMEM;
	*ret = target;
	return 0;
}
