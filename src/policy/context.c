/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the policy stage: where something was written, and what, safe to print. */
#include "policy/context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define QUOTE_MAX 80

int bawn_at(struct bawn_error *err, const char *file, unsigned line, unsigned column, int neg_errno)
{
	if (line)
		(void)bawn_error_wrap(err, "%s:%u:%u", file, line, column);
	else if (file)
		(void)bawn_error_wrap(err, "%s", file);
	return neg_errno;
}

const char *bawn_quote(struct bawn_arena *a, const char *text)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	size_t len = strnlen(text, QUOTE_MAX + 1);
	bool cut = len > QUOTE_MAX;
	const char *copy;

	if (cut)
		for (len = QUOTE_MAX; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	bawn_buf_escape(&b, text, len);
	if (cut)
		bawn_buf_puts(&b, "...");
	if (!b.data || b.failed)
		return "";
	copy = bawn_arena_strdup(a, b.data);
	return copy ? copy : "";
}

int bawn_widens(const struct bawn_context *c, const struct bawn_origin *from, const char *key,
	const char *value, const struct bawn_origin *above_from, const char *above)
{
	const char *place = "the default", *verb = "", *shown;

	if (above_from->file) {
		place = above_from->line
				? bawn_arena_printf(c->a, "what %s:%u:%u", above_from->file,
					  above_from->line, above_from->column)
				: bawn_arena_printf(c->a, "what %s", above_from->file);
		verb = " allows";
	}
	if (!place)
		return bawn_oom(c);
	shown = above ? bawn_quote(c->a, above) : "";
	return bawn_bad(c, from, -EPERM, "'%s: %s' would widen %s%s%s%s%s", bawn_quote(c->a, key),
		bawn_quote(c->a, value), place, verb, *shown ? " (" : "", shown, *shown ? ")" : "");
}
