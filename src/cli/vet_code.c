/* SPDX-License-Identifier: Apache-2.0 */
/* Source files: looked at whole, because a parser sees them. */
#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "cli/vet.h"

#define CODE_MAX  ((size_t)32 << 20)
#define SHOWN_MAX 160 /* bytes of a line that are shown */

static struct vet_place find_place(struct bawn_arena *a, const struct bawn_buf *text, size_t offset)
{
	struct vet_place at = {.offset = offset, .line = 1};
	const char *start = text->data ? text->data : "";
	const char *end = start + (offset < text->len ? offset : text->len);
	const char *line = start;
	const char *stop;
	size_t n;

	for (const char *p = start; (p = memchr(p, '\n', (size_t)(end - p))); p++) {
		at.line++;
		line = p + 1;
	}
	at.column = (size_t)(end - line) + 1;
	stop = memchr(line, '\n', text->len - (size_t)(line - start));
	n = stop ? (size_t)(stop - line) : text->len - (size_t)(line - start);
	while (n && (*line == ' ' || *line == '\t')) {
		line++;
		n--;
	}
	if (n > SHOWN_MAX)
		n = SHOWN_MAX;
	at.code = bawn_arena_strndup(a, line, strnlen(line, n));
	return at;
}

static int look(
	struct vet *v, struct vet_file *f, const struct bawn_buf *text, struct bawn_error *err)
{
	struct bawn_subject sub = {
		.kind = BAWN_KIND_CODE,
		.lang = f->lang,
		.mode = f->mode,
		.detect = v->detect,
		.name = f->path,
		.text = text->data ? text->data : "",
		.len = text->len,
		.last = true,
	};
	struct bawn_verdict_place place = {.mode = f->mode};
	int r = bawn_inspector_submit(v->inspector, &sub, err);

	if (!r)
		r = bawn_inspector_collect(v->inspector, f->a, &f->found, err);
	for (size_t i = 0; r >= 0 && i < f->found.n; i++) {
		struct vet_place *p = bawn_grow(f->a, &f->places, &f->n_places, &f->cap_places);

		if (!p)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
		*p = find_place(f->a, text, f->found.v[i].start);
	}
	return r < 0 ? r : bawn_verdict_make(v->policy, &place, &f->found, &f->verdict, err);
}

int vet_code(struct vet *v, const char *path, int fd, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_buf_ struct bawn_buf text = {.max = CODE_MAX};
	struct vet_file f = {.a = a, .path = path, .lang = v->lang};
	int r = a ? bawn_read_all(fd, &text) : -ENOMEM;

	if (r < 0 && r != -E2BIG)
		return vet_report_unreadable(v, path, r, err);
	f.bytes = text.len;
	f.mode = v->mode_given ? v->mode : bawn_mode_for(v->policy, path);
	if (f.lang == BAWN_LANG_AUTO)
		f.lang = bawn_lang_guess(path, text.data ? text.data : "", text.len);
	if (f.lang == BAWN_LANG_AUTO && v->in_tree)
		return 0; /* whatever its size */
	if (r < 0)
		return vet_report_unreadable(v, path, r, err);
	if (f.lang == BAWN_LANG_AUTO)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"the language of '%s' cannot be told; '--lang' names it", path);
	r = look(v, &f, &text, err);
	return r < 0 ? r : vet_report_file(v, &f, err);
}
