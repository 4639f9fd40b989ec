/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bracket ends. A stack of what is open instead of recursion; its height is bounded. */
#include <string.h>

#include "inspect/shell/read.h"

#define OPEN_MAX 256

struct open {
	char stack[OPEN_MAX]; /* ) } " ` */
	size_t n;
	bool deep;
};

static void push(struct open *o, char c)
{
	if (o->n == OPEN_MAX) {
		o->deep = true;
		return;
	}
	o->stack[o->n++] = c;
}

bool sh_substitutes(const char *t, size_t n)
{
	return memmem(t, n, "$(", 2) || memchr(t, '`', n);
}

bool sh_name_char(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

/* '…' and $'…' from the quote at i: index of the closing quote. */
static size_t skip_single(const char *t, size_t n, size_t i)
{
	bool ansi = i && t[i - 1] == '$';

	for (i++; i < n && t[i] != '\''; i++) {
		if (ansi && t[i] == '\\')
			i++;
	}
	return i;
}

static bool starts_comment(const char *t, size_t i)
{
	return t[i] == '#' && i && strchr(" \t\n;&|(", t[i - 1]);
}

/* One character outside double quotes. */
static size_t step_plain(struct open *o, const char *t, size_t n, size_t i)
{
	char top = o->stack[o->n - 1];

	if (t[i] == '\'')
		return skip_single(t, n, i);
	if (t[i] == '"' || (t[i] == '`' && top != '`')) {
		push(o, t[i]);
	} else if (t[i] == '(' && top != '}') {
		push(o, ')');
	} else if (t[i] == '$' && i + 1 < n && (t[i + 1] == '(' || t[i + 1] == '{')) {
		push(o, t[i + 1] == '(' ? ')' : '}');
		return i + 1;
	} else if (starts_comment(t, i) && top == ')') {
		while (i + 1 < n && t[i + 1] != '\n')
			i++;
	} else if (t[i] == top) {
		o->n--;
	}
	return i;
}

static size_t step_quoted(struct open *o, const char *t, size_t n, size_t i)
{
	if (t[i] == '"' || t[i] == '`') {
		if (t[i] == '"')
			o->n--;
		else
			push(o, '`');
	} else if (t[i] == '$' && i + 1 < n && (t[i + 1] == '(' || t[i + 1] == '{')) {
		push(o, t[i + 1] == '(' ? ')' : '}');
		return i + 1;
	}
	return i;
}

static size_t skip(const char *t, size_t n, size_t i, char end)
{
	struct open o = {.n = 1};

	o.stack[0] = end;
	for (; i < n; i++) {
		if (t[i] == '\\') {
			i++;
			continue;
		}
		if (o.stack[o.n - 1] == '"')
			i = step_quoted(&o, t, n, i);
		else
			i = step_plain(&o, t, n, i);
		if (!o.n)
			return i;
		if (o.deep)
			return n;
	}
	return n;
}

size_t sh_skip_paren(const char *t, size_t n, size_t i)
{
	return skip(t, n, i, ')');
}

size_t sh_skip_brace(const char *t, size_t n, size_t i)
{
	return skip(t, n, i, '}');
}

size_t sh_skip_backtick(const char *t, size_t n, size_t i)
{
	for (; i < n && t[i] != '`'; i++) {
		if (t[i] == '\\')
			i++;
	}
	return i < n ? i : n;
}
