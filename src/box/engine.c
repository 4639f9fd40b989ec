/* SPDX-License-Identifier: Apache-2.0 */
/* The few questions that boxes put to an engine, and the removal of directories of ours. */
#include "backend/near/engine.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>

#include "box/internal.h"

#define WORDS_MAX 12

int box_engine(const char *engine, const char *const *words, struct bawn_buf *ret_out,
	struct bawn_error *err)
{
	const char *argv[WORDS_MAX + 2] = {engine};
	_cleanup_call_ struct bawn_engine_call c = {.argv = argv, .timeout_ms = BOX_CALL_MS};
	int r;

	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		argv[i + 1] = words[i];
	r = bawn_engine_call(&c, err);
	if (r >= 0 && ret_out)
		bawn_buf_add(ret_out, c.out.data ? c.out.data : "", c.out.len);
	return r;
}

int box_image_id(struct bawn_arena *a, const char *engine, const char *image, const char **ret,
	struct bawn_error *err)
{
	const char *argv[] = {engine, "image", "inspect", "--format", "{{.Id}}", image, NULL};
	_cleanup_call_ struct bawn_engine_call c = {.argv = argv, .timeout_ms = BOX_CALL_MS};
	int r = bawn_engine_call(&c, err);

	if (r < 0 && c.err.data &&
		(strcasestr(c.err.data, "no such") || strcasestr(c.err.data, "not known"))) {
		*ret = "";
		return 0;
	}
	if (r < 0)
		return r;
	*ret = bawn_arena_strndup(
		a, c.out.data ? c.out.data : "", strcspn(c.out.data ? c.out.data : "", "\n"));
	return *ret ? 0 : bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

void box_remove_tree(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	char *roots[] = {copy, NULL};
	FTS *fts = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL) : NULL;

	if (!fts)
		return;
	for (FTSENT *e; (e = fts_read(fts));)
		if (e->fts_info == FTS_DP || e->fts_info == FTS_DNR)
			(void)rmdir(e->fts_accpath);
		else if (e->fts_info != FTS_D)
			(void)unlink(e->fts_accpath);
	(void)fts_close(fts);
}
