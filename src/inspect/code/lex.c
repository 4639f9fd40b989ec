/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the grammar gives up (TypeScript, templates, older dialects), calls are still found: a
 * dotted name, a parenthesis, literals. Calls that the tree showed are left out.
 */
#include <ctype.h>
#include <string.h>

#include "inspect/code/code.h"

#define ARGS_MAX 8
#define SPAN_MAX 4096

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

/* Behind the string that starts at i. */
static size_t skip_string(const char *s, size_t len, size_t i)
{
	char q = s[i];
	bool triple = i + 2 < len && s[i + 1] == q && s[i + 2] == q && q != '`';

	for (i += triple ? 3 : 1; i < len; i++) {
		if (s[i] == '\\')
			i++;
		else if (s[i] == q && (!triple || (i + 2 < len && s[i + 1] == q && s[i + 2] == q)))
			return i + (triple ? 3 : 1);
		else if (s[i] == '\n' && !triple && q != '`')
			return i;
	}
	return len;
}

static size_t skip_comment(const struct code_walk *w, size_t i)
{
	const char *s = w->text;
	const char *nl;

	if (s[i] == '/' && i + 1 < w->len && s[i + 1] == '*' && w->front != &code_python) {
		for (i += 2; i + 1 < w->len; i++)
			if (s[i] == '*' && s[i + 1] == '/')
				return i + 2;
		return w->len;
	}
	if ((s[i] == '#' && w->front == &code_python) ||
		(s[i] == '/' && i + 1 < w->len && s[i + 1] == '/' && w->front != &code_python)) {
		nl = memchr(s + i, '\n', w->len - i);
		return nl ? (size_t)(nl - s) : w->len;
	}
	return i;
}

static struct code_val resolve(struct code_walk *w, size_t start, size_t end)
{
	const char *s = w->text + start, *dot = memchr(s, '.', end - start);
	size_t head = dot ? (size_t)(dot - s) : end - start;
	const struct code_var *var = code_var_find(w, s, head);
	struct code_val v = {.name = "", .start = (uint32_t)start, .end = (uint32_t)end};

	if (end - start > 120)
		return v;
	v.name = code_text(w, (uint32_t)start, (uint32_t)end);
	if (var && *var->val.name)
		v.name = bawn_arena_printf(w->a, "%.80s%.*s", var->val.name,
				 (int)(end - start - head), s + head)
				 ?: "";
	return v;
}

static void literal(struct code_walk *w, struct code_val *v, size_t end)
{
	char q = w->text[v->start];

	v->end = (uint32_t)end;
	w->front->unquote(w, v);
	v->flags = (uint8_t)(q == '`' ? 0 : CODE_V_EXACT);
	v->taint = code_taint_of_text(v->str, v->len);
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* The arguments of a call: literals as they are, everything else unknown. */
static size_t arguments(struct code_walk *w, size_t i, struct code_val *args)
{
	size_t n = 0, depth = 0, from = i;
	bool fresh = true;

	for (; i < w->len && i - from < SPAN_MAX; i++) {
		char c = w->text[i];

		if (isspace((unsigned char)c))
			continue;
		if (c == ')' && !depth)
			break;
		if (fresh && n < ARGS_MAX)
			args[n++] = (struct code_val){
				.name = "", .start = (uint32_t)i, .end = (uint32_t)i + 1};
		if (is_quote(c)) {
			size_t end = skip_string(w->text, w->len, i);

			if (fresh && n && end > i + 1)
				literal(w, &args[n - 1], end);
			i = end - 1;
		}
		if (c && strchr("([{", c))
			depth++;
		else if (depth && c && strchr(")]}", c))
			depth--;
		fresh = c == ',' && !depth;
	}
	return n;
}

static bool seen(const struct code_walk *w, size_t i)
{
	return w->seen && (w->seen[i / 8] >> (i % 8)) & 1;
}

void code_lex(struct code_walk *w)
{
	struct code_val args[ARGS_MAX];

	w->scope = 0;
	for (size_t i = 0; i < w->len && !w->failed;) {
		size_t skip = skip_comment(w, i), start = i;
		char c = w->text[i];

		if (skip > i) {
			i = skip;
			continue;
		}
		if (is_quote(c)) {
			i = skip_string(w->text, w->len, i);
			continue;
		}
		if (!isalpha((unsigned char)c) && c != '_' && c != '$') {
			i++;
			continue;
		}
		while (i < w->len && name_char(w->text[i]))
			i++;
		if (i < w->len && w->text[i] == '(' && !seen(w, start)) {
			struct code_val callee = resolve(w, start, i);
			size_t n = arguments(w, i + 1, args);

			if (!bawn_scan_spend(w->scan, 64)) {
				w->spent = true;
				return;
			}
			(void)code_call(w, &callee, NULL, args, n, false);
		}
	}
}
