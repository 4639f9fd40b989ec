/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a pattern hyperscan is given; a part of compile-rules. */
#include <stdbool.h>

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
