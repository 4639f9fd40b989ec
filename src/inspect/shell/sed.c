/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts of sed: `1e cmd` and `s/a/cmd/e` run what they say, `e` alone and `s/a/&/e` run the line
 * that was read, `w file` writes.
 */
#include <ctype.h>
#include <string.h>

#include "inspect/shell/model.h"

struct sed {
	struct sh *s;
	struct sh_command *c;
	struct sh_inners *in;
	const char *p;
};

/* Behind the delimiter that ends a regular expression or a replacement. */
static const char *past_part(const char *p, char end)
{
	const char *close = memrchr(p, ']', strcspn(p, "\n"));
	bool set = false;

	for (; *p && (*p != end || set) && *p != '\n'; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '[' && end != '[')
			set = set || (close && close > p);
		else if (*p == ']')
			set = false;
	}
	return *p ? p + 1 : p;
}

/* A replacement may go over lines, and [ means nothing in it. */
static const char *past_text(const char *p, char end)
{
	for (; *p && *p != end; p++) {
		if (*p == '\\' && p[1])
			p++;
	}
	return *p ? p + 1 : p;
}

static const char *past_addresses(const char *p)
{
	for (;;) {
		if (*p == '/')
			p = past_part(p + 1, '/');
		else if (*p == '\\' && p[1])
			p = past_part(p + 2, p[1]);
		else if (*p == '$' || isdigit((unsigned char)*p) || (*p && strchr(",+~!IM \t", *p)))
			p++;
		else
			return p;
	}
}

/* To the end of the line; a backslash before it takes the next one in. */
static const char *past_line(const char *p)
{
	while (*p && *p != '\n')
		p += *p == '\\' && p[1] ? 2 : 1;
	return p;
}

static const char *line_of(struct sed *x, const char *from)
{
	const char *end = past_line(from);

	x->p = end;
	from += strspn(from, " \t");
	return end > from ? bawn_arena_strndup(x->s->a, from, (size_t)(end - from)) : "";
}

/* What is read is run. */
static int runs_input(struct sed *x)
{
	int rc = sh_vet_execution(x->s, x->c, &x->c->in);

	if (rc == 0 && x->c->in.known && x->c->in.len)
		(void)sh_inner_put(x->s, x->in, x->c->in.text, 0);
	return rc;
}

/* The replacement without its backslashes. */
static const char *replacement(struct sed *x, const char *from, const char *end)
{
	char *t = bawn_arena_alloc(x->s->a, (size_t)(end - from) + 1);
	size_t k = 0;

	for (; t && from < end; from++) {
		if (*from == '\\' && from + 1 < end)
			from++;
		t[k++] = *from;
	}
	if (t)
		t[k] = 0;
	return t;
}

static int writes(struct sed *x, const char *file)
{
	if (!file)
		return sh_no_memory(x->s);
	if (!*file || sh_is(file, "|/dev/stdout|/dev/stderr|"))
		return 0;
	return bawn_strlist_add(x->s->a, &x->c->writes, file) < 0 ? sh_no_memory(x->s) : 0;
}

/* x->p stands behind the s. */
static int substitution(struct sed *x)
{
	char sep = *x->p;
	const char *from = sep ? past_part(x->p + 1, sep) : x->p;
	const char *end = sep ? past_text(from, sep) : from;
	bool runs = false;

	x->p = end;
	while (*x->p && strchr("gpiImMe0123456789", *x->p))
		runs = *x->p++ == 'e' || runs;
	if (runs) {
		const char *t = end > from ? replacement(x, from, end - 1) : "";

		if (!t)
			return sh_no_memory(x->s);
		if (!strcmp(t, "&"))
			return runs_input(x);
		(void)sh_inner_put(x->s, x->in, t, 0);
	}
	return *x->p == 'w' ? writes(x, line_of(x, x->p + 1)) : 0;
}

static int order(struct sed *x, char what)
{
	const char *t;

	switch (what) {
	case 's':
		return substitution(x);
	case 'y':
		x->p = *x->p ? past_text(past_text(x->p + 1, *x->p), *x->p) : x->p;
		return 0;
	case 'e':
		t = line_of(x, x->p);
		if (!t)
			return sh_no_memory(x->s);
		if (!*t)
			return runs_input(x);
		(void)sh_inner_put(x->s, x->in, t, 0);
		return 0;
	case 'w':
	case 'W':
		return writes(x, line_of(x, x->p));
	case 'a':
	case 'i':
	case 'c':
	case 'r':
	case 'R':
	case '#':
		x->p = past_line(x->p);
		return 0;
	case 'b':
	case 't':
	case 'T':
	case ':':
		x->p += strcspn(x->p, ";\n}");
		return 0;
	default:
		return 0;
	}
}

static int script(struct sed *x, const char *text)
{
	int rc = 0;

	if (!bawn_scan_spend(x->s->scan, strlen(text)))
		return 0;
	for (x->p = text; rc == 0 && *x->p;) {
		x->p = past_addresses(x->p + strspn(x->p, " \t\n;{}"));
		if (*x->p) {
			char what = *x->p++;

			rc = order(x, what);
		}
	}
	return rc;
}

/* -e SCRIPT, also behind flags (-ne), --expression=SCRIPT; otherwise the first word. */
int sh_sed(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	struct sed x = {.s = s, .c = c, .in = in};
	const char *first = NULL;
	bool told = false;
	int rc = 0;

	for (size_t i = 1; rc == 0 && i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		const char *next = i + 1 < c->args.n ? c->args.v[i + 1].text : "";
		size_t n = t[0] == '-' && t[1] != '-' ? 1 + strspn(t + 1, "nrEszbu") : 0;
		const char *text = NULL;

		if (!strncmp(t, "--expression=", 13))
			text = t + 13;
		else if (!strcmp(t, "--expression") || (n && !strcmp(t + n, "e")))
			text = next;
		else if (n && t[n] == 'e')
			text = t + n + 1;
		else if (t[0] != '-' && !first)
			first = t;
		if (text)
			rc = script(&x, text);
		told = told || text || (n && t[n] == 'f') || !strncmp(t, "--file", 6);
		i += !strcmp(t, "--expression") ||
		     (n && (!strcmp(t + n, "e") || !strcmp(t + n, "f") || !strcmp(t + n, "l")));
	}
	return rc == 0 && first && !told ? script(&x, first) : rc;
}
