/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered secrets: the first line is the value, the rest is text. Spans lie in the text, and the
 * value behind the text is found whatever stood before.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/secret/secret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void search(const struct bawn_registered *r, const char *text, size_t n,
	struct bawn_findings *f, struct bawn_arena *a)
{
	struct bawn_subject sub = {.kind = BAWN_KIND_TEXT, .text = text, .len = n, .base = 7};

	*f = (struct bawn_findings){0};
	if (bawn_registered_find(r, &sub, a, f, NULL) < 0)
		return;
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].start < 7 || f->v[i].start >= f->v[i].end || f->v[i].end > 7 + n)
			abort();
	if (bawn_registered_tail(r, text, n) > n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : 0, rest = end ? size - n - 1 : 0;
	char *value = a ? bawn_arena_strndup(a, (const char *)data, n) : NULL;
	const char *const list[] = {value, NULL};
	struct bawn_registered *r = NULL;
	struct bawn_findings f;
	char *text;

	if (!value || !end || strlen(value) != n || bawn_registered_new(list, &r, NULL) < 0)
		return 0;
	search(r, (const char *)end + 1, rest, &f, a);
	text = bawn_arena_alloc(a, rest + n + 2);
	if (text) {
		memcpy(text, end + 1, rest);
		text[rest] = ' ';
		memcpy(text + rest + 1, value, n);
		search(r, text, rest + n + 1, &f, a);
		/* an escape that reaches into the value is looked at both ways */
		if (!f.n && n <= 128 && !memchr(text, '\x1b', rest + n))
			abort();
	}
	(void)bawn_registered_free(r);
	return 0;
}
