/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a pattern hyperscan is given; a part of compile-rules. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "compile-rules.h"

/* Behind a class like [^/ ] that starts at p. */
static const char *class_end(const char *p)
{
	p += p[1] == '^' ? 2 : 1;
	p += *p == ']';
	while (*p && *p != ']')
		p += *p == '\\' && p[1] ? 2 : 1;
	return *p ? p + 1 : p;
}

/* Letters behind the program's name that hyperscan needs so that few commands get to PCRE2. */
#define TELLING 6
/* Open ends, .*, on one way through the pattern that PCRE2 tries out quickly whatever the text. */
#define OPEN_MAX  1
#define DEPTH_MAX 16

/* How many open ends a way through the pattern has at most. */
struct ways {
	size_t now[DEPTH_MAX], most[DEPTH_MAX]; /* of this branch, of those before it */
	size_t depth;
};

static void count_open(struct ways *w, const char *p)
{
	size_t d = w->depth;

	if (*p == '(' && d + 1 < DEPTH_MAX) {
		w->depth = ++d;
		w->now[d] = w->most[d] = 0;
	} else if (*p == '|' || (*p == ')' && d)) {
		w->most[d] = w->now[d] > w->most[d] ? w->now[d] : w->most[d];
		w->now[d] = 0;
		if (*p == ')') {
			w->depth = d - 1;
			w->now[d - 1] += w->most[d];
		}
	} else if (*p == '.' && p[1] == '*') {
		w->now[d]++;
	}
}

size_t rules_beginning(const char *pattern)
{
	const char *p = pattern, *word = NULL;
	struct ways w = {0};
	size_t letters = 0, cut = 0;

	if (*p++ != '^' || *p == '@')
		return 0;
	while (*p) {
		bool open = *p == '(' || (*p == '.' && p[1] == '*');

		if (*p == '[') {
			p = class_end(p);
			continue;
		}
		if ((*p == '|' && !w.depth) || (*p == '(' && p[1] == '?' && !word))
			return 0;
		if (open && !w.depth && letters >= TELLING && !cut)
			cut = (size_t)(p - pattern);
		count_open(&w, p);
		if (*p == ' ' && !w.depth && !word)
			word = p;
		letters += word && (*p == '-' || (*p >= 'a' && *p <= 'z'));
		p += *p == '\\' && p[1] ? 2 : 1;
	}
	return w.now[0] <= OPEN_MAX ? cut : 0;
}

/* Behind the verb of an event, or several that it may be, and the space; NULL when there is none.
 */
static const char *verb_end(const char *p)
{
	bool group = !strncmp(p, "(?:", 3);

	p += group ? 3 : 0;
	while ((*p >= 'a' && *p <= 'z') || (group && *p == '|'))
		p++;
	if (group && *p++ != ')')
		return NULL;
	return *p == ' ' ? p + 1 : NULL;
}

/* Behind a group at p. */
static const char *group_end(const char *p)
{
	size_t depth = 0;

	do {
		if (*p == '[') {
			p = class_end(p);
			continue;
		}
		depth += *p == '(';
		depth -= *p == ')';
		p += *p == '\\' && p[1] ? 2 : 1;
	} while (*p && depth);
	return p;
}

/* Behind what may be anything, whatever the event is about, and what it must not be. Names that it
 * may have tell enough. */
static const char *anything_end(const char *p)
{
	static const char *const any[] = {"[^\\n]*\"[^\"\\n]*", "[^\\n]*\"[^\\n]*", "[^\\n]*\"",
		"[^\\n]*", "(?:\\S*\\.)?", "\\S*\\.?", "\\S*\\.", "\\S*"};

	while (!strncmp(p, "(?!", 3))
		p = group_end(p);
	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++)
		if (!strncmp(p, any[i], strlen(any[i])))
			return p + strlen(any[i]);
	return !strncmp(p, "(?:", 3) && (isalpha((unsigned char)p[3]) || p[3] == '_') ? p : NULL;
}

/* Whether a class or an escape at p may be the end of a line; so may be what is not known here. */
static bool leaves_line(const char *p)
{
	const char *end = *p == '[' ? class_end(p) : p + 2;
	bool negated = *p == '[' && p[1] == '^', excluded = false;

	for (; p < end; p++) {
		if (*p == '\n' || (*p == '[' && p[1] == ':'))
			return true;
		if (*p != '\\')
			continue;
		p++;
		excluded |= *p == 'n' || *p == 's';
		if (negated || !isalnum((unsigned char)*p) || strchr("SwdbBt", *p))
			continue;
		if (*p != 'x' || p[1] < '2')
			return true;
	}
	return negated && !excluded;
}

size_t rules_ending(const char *pattern, size_t *ret_flags)
{
	const char *p = strchr(pattern, '^'), *rest;
	size_t depth = 0;

	*ret_flags = p ? (size_t)(p - pattern) : 0;
	if (strncmp(pattern, "(?m)^", 5) != 0 && strncmp(pattern, "(?im)^", 6) != 0)
		return 0;
	p = verb_end(p + 1);
	rest = p ? anything_end(p) : NULL;
	/* not by what may not be there, nor by what may be there several times */
	if (!rest || !*rest || strchr("*+?{|)", *rest) || !strncmp(rest, "(?!", 3))
		return 0;
	for (p = rest; *p;) {
		if (*p == '[' || *p == '\\') {
			if (leaves_line(p))
				return 0;
			p = *p == '[' ? class_end(p) : p + 2;
			continue;
		}
		if (*p == '(' && p[1] == '?' && !strchr(":=!<", p[2]))
			return 0;
		depth += *p == '(';
		depth -= *p == ')';
		if (*p++ == '|' && !depth)
			return 0;
	}
	return (size_t)(rest - pattern);
}
