/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose words a sentence has. What stands between quotation marks that belong to prose was said by
 * somebody else; what stands between those of a value (of JSON, CSV, code) is the text itself.
 */
#include <string.h>
#include <strings.h>

#include "inspect/inject/inject.h"

#define REACH 4096u /* of a quotation: text without full stops is one sentence, however long */

/* The mark that a sentence stands in, and what is before it. */
char inject_quote(const struct inject_text *t, const struct inject_sentence *s, char *before)
{
	const char *p = t->text;
	size_t from = s->start > 160 ? s->start - 160 : 0, left = t->len - s->end + 1;
	char q = 0;

	for (size_t i = s->start; i-- > from && p[i] != '\n';) {
		if (p[i] != '"' && p[i] != '`' && !(p[i] == '\'' && (!i || p[i - 1] == ' ')))
			continue;
		q = p[i];
		while (i && (p[i - 1] == ' ' || p[i - 1] == q))
			i--;
		*before = (char)(i ? p[i - 1] : '\n');
		break;
	}
	if (!q || !memchr(p + s->end - 1, q, left < 400 ? left : 400))
		return 0;
	return q;
}

bool inject_quoted(const struct inject_text *t, const struct inject_sentence *s)
{
	char before = 0, q = inject_quote(t, s, &before);

	return q == '`' || (q && !strchr(INJECT_VALUE, before));
}

/* What starts a line that judges the text above it, as in a list of samples. */
static size_t label(const char *p, size_t n)
{
	static const char words[][10] = {"score", "label", "rating", "expected", "verdict",
		"category", "injection", "flagged", "malicious", "blocked"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len;

		/* most are none by their first letter */
		if (!n || (*p | 0x20) != words[i][0])
			continue;
		len = strlen(words[i]);
		if (n > len && !strncasecmp(p, words[i], len))
			return len;
	}
	return 0;
}

bool inject_sampled(const struct inject_text *t, const struct inject_sentence *s)
{
	const char *p = t->text + s->end, *end = t->text + t->len, *next;
	size_t n;

	while (p < end && strchr(" \t\r\n\"',", *p))
		p++;
	n = label(p, (size_t)(end - p));
	for (next = p + n; n && next < end && strchr(" \"'", *next);)
		next++;
	if (!n || next >= end || !strchr(":=", *next))
		return false;
	/* one alone may stand anywhere; who has samples has several */
	for (const char *q = t->text; (q = memmem(q, (size_t)(end - q), p, n)); q += n)
		if (q != p && q[n] == p[n])
			return true;
	return false;
}

bool inject_cited(const struct inject_text *t, const struct inject_sentence *s, size_t at)
{
	size_t mark = 0, code = 0; /* behind the one that is open */
	size_t from = at > s->start + REACH ? at - REACH : s->start;
	const char *p = t->text;

	for (size_t i = from; i < at && i < s->end; i++) {
		if (p[i] == '"')
			mark = mark ? 0 : i + 1;
		else if (p[i] == '`')
			code = code ? 0 : i + 1;
	}
	if (code || !mark)
		return code;
	for (mark--; mark && p[mark - 1] == ' ';)
		mark--;
	return mark && !strchr(INJECT_VALUE, p[mark - 1]);
}
