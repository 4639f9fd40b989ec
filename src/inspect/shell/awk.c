/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of awk: the commands that system(), "cmd" | getline and print | "cmd" run, also where
 * variables hold them or they are put together.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "inspect/scan.h"
#include "inspect/shell/model.h"
#include "inspect/shell/read.h"

#define NAMES_MAX 16
#define VALUE_MAX ((size_t)4096)
#define CODE_MAX  ((size_t)8192)

struct awk {
	struct sh *s;
	struct {
		const char *name, *value;
	} names[NAMES_MAX];
	size_t n;
};

static const char *held(const struct awk *w, const char *name, size_t n)
{
	for (size_t i = 0; i < w->n; i++) {
		if (strlen(w->names[i].name) == n && !strncmp(w->names[i].name, name, n))
			return w->names[i].value;
	}
	return NULL;
}

/* "…" at *p, with its escapes read. */
static bool put_string(struct awk *w, struct bawn_buf *b, const char **p)
{
	const char *from = *p + 1, *end = sh_string_end(*p), *t;
	size_t n = 0;

	t = sh_decode_escapes(w->s->a, from, (size_t)(end - from), &n);
	if (!*end || !t)
		return false;
	bawn_buf_add(b, t, n);
	*p = end + 1;
	return true;
}

/* sprintf("%c%s", 114, "m") behind its bracket: numbers as letters, strings as they are. */
static bool put_formatted(struct awk *w, struct bawn_buf *b, const char **p)
{
	_cleanup_buf_ struct bawn_buf format = {0};

	*p += strspn(*p, " \t");
	if (**p != '"' || !put_string(w, &format, p))
		return false;
	for (size_t i = 0; i < format.len; i++) {
		const char *f = format.data + i;

		if (*f != '%' || i + 1 == format.len) {
			bawn_buf_add(b, f, 1);
			continue;
		}
		i++;
		if (*++f == '%') {
			bawn_buf_add(b, f, 1);
			continue;
		}
		*p += strspn(*p, " \t,");
		if (isdigit((unsigned char)**p)) {
			char letter = (char)strtol(*p, NULL, 10);

			if (*f == 'c')
				bawn_buf_add(b, &letter, 1);
			else
				bawn_buf_add(b, *p, strspn(*p, "0123456789"));
			*p += strspn(*p, "0123456789");
		} else if (**p != '"' || !put_string(w, b, p)) {
			return false;
		}
	}
	*p += strcspn(*p, ")");
	*p += **p == ')';
	return true;
}

/* Strings, names and calls of sprintf side by side, up to what ends the expression. NULL: some of
 * it only awk knows. */
static const char *expression(struct awk *w, const char **p)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	for (;;) {
		size_t n = 0;

		*p += strspn(*p, " \t");
		while (sh_name_char((*p)[n], n == 0))
			n++;
		if (b.failed || b.len > VALUE_MAX)
			return NULL;
		if (**p == '"') {
			if (!put_string(w, &b, p))
				return NULL;
		} else if (n == 7 && !strncmp(*p, "sprintf(", 8)) {
			*p += 8;
			if (!put_formatted(w, &b, p))
				return NULL;
		} else if (n) {
			const char *v = held(w, *p, n);

			if (!v || (*p)[n] == '(')
				return NULL;
			bawn_buf_puts(&b, v);
			*p += n;
		} else {
			break;
		}
	}
	return b.len && !b.failed ? bawn_arena_strndup(w->s->a, b.data, b.len) : NULL;
}

/* NAME = EXPRESSION, wherever it stands: what NAME holds from then on. */
static void collect(struct awk *w, const char *code)
{
	for (const char *p = code; *p && w->n < NAMES_MAX; p++) {
		const char *eq, *value;
		size_t n = 0;

		if (*p == '"') {
			p = sh_string_end(p);
			if (!*p)
				return;
			continue;
		}
		while (sh_name_char(p[n], n == 0))
			n++;
		if (!n)
			continue;
		eq = p + n + strspn(p + n, " \t");
		if (*eq == '=' && eq[1] != '=' && eq[1] != '~') {
			const char *from = eq + 1;

			value = expression(w, &from);
			if (value) {
				w->names[w->n].name = bawn_arena_strndup(w->s->a, p, n);
				w->names[w->n].value = value;
				w->n += w->names[w->n].name != NULL;
			}
		}
		p += n - 1;
	}
}

/* What system(…), … | getline and | … are given, when more than one string makes it. */
static void run_expressions(struct awk *w, const char *code, struct sh_inners *in)
{
	for (const char *p = code; (p = strstr(p, "system(")) && in->n < SH_INNER_MAX / 2;) {
		p += strlen("system(");
		(void)sh_inner_put(w->s, in, expression(w, &p), 0);
	}
	for (const char *p = code; (p = strchr(p, '|')) && in->n < SH_INNER_MAX / 2; p++) {
		const char *end = p, *q = p + 1 + strspn(p + 1, "& \t");

		while (end > code && strchr(" \t)", end[-1]))
			end--;
		for (size_t i = 0; i < w->n; i++) {
			size_t n = strlen(w->names[i].name);
			bool before = (size_t)(end - code) >= n &&
				      !strncmp(end - n, w->names[i].name, n) &&
				      !strncmp(q, "getline", 7);
			bool behind =
				!strncmp(q, w->names[i].name, n) && !sh_name_char(q[n], false);

			if (before || behind)
				(void)sh_inner_put(w->s, in, w->names[i].value, 0);
		}
	}
}

/* NAME=VALUE of -v. */
static void given(struct awk *w, const char *assign)
{
	size_t n = strcspn(assign, "=");

	if (!assign[n] || w->n == NAMES_MAX)
		return;
	w->names[w->n].name = bawn_arena_strndup(w->s->a, assign, n);
	w->names[w->n].value = assign + n + 1;
	w->n += w->names[w->n].name != NULL;
}

/* awk [-F x] [-v a=b] 'program' …, gawk -e 'program' */
static const char *program(const struct sh_command *c)
{
	const char *code = sh_option(c, "", "--source");

	for (size_t i = 1; !code && i < c->args.n; i++) {
		const char *t = c->args.v[i].text ? c->args.v[i].text : "";

		if (sh_is(t, "|-e|") && i + 1 < c->args.n)
			code = c->args.v[i + 1].text;
		else if (sh_is(t, "|-F|-v|-f|--assign|--field-separator|"))
			i++;
		else if (t[0] != '-')
			code = t;
	}
	return code;
}

int sh_awk(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	const char *code = program(c);
	struct awk w = {.s = s};

	if (!code)
		return 0;
	for (size_t i = 1; i + 1 < c->args.n; i++) {
		if (sh_is(c->args.v[i].text, "|-v|--assign|"))
			given(&w, c->args.v[i + 1].text);
	}
	if ((strstr(code, "system") || strchr(code, '|')) && strlen(code) < CODE_MAX &&
		bawn_scan_spend(s->scan, 4 * strlen(code))) {
		collect(&w, code);
		run_expressions(&w, code, in);
	}
	/* the lines that it reads are run */
	if (strstr(code, "system($0)") || strstr(code, "| \"sh\"") || strstr(code, "|\"sh\"") ||
		strstr(code, "$0 | getline")) {
		int rc = sh_vet_execution(s, c, &c->in);

		if (rc < 0)
			return rc;
		if (c->in.known && c->in.len)
			(void)sh_inner_put(s, in, c->in.text, 0);
	}
	return sh_code_inner(s, c, code, in);
}
