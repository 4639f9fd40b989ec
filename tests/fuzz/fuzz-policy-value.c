/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte picks a setting, the rest is a flag's text. Accepted numbers print and read back.
 */
#include <stdint.h>

#include "policy/draft.h"
#include "policy/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct bawn_field *f, const struct bawn_draft *d)
{
	char text[BAWN_VALUE_MAX];
	uint64_t back = 0;

	if (f->kind != BAWN_KIND_U64)
		return;
	bawn_value_format(f, &d->v, text);
	if (bawn_value_u64(f->unit, text, &back) < 0 ||
		back != *(const uint64_t *)bawn_member(&d->v, f))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_error err = {0};
	struct bawn_context c = {.a = a,
		.err = &err,
		.workspace = "/usr",
		.home = "/",
		.layer = BAWN_LAYER_OPERATOR,
		.file = "--flag"};
	struct bawn_draft *d = a ? bawn_new(a, struct bawn_draft, 1) : NULL;
	struct bawn_setting s = {.flag = "--flag"};

	if (!size)
		return 0;
	const struct bawn_field *f = &bawn_fields[data[0] % BAWN_FIELD_COUNT];

	s.key = f->key;
	s.text = a ? bawn_arena_strndup(a, (const char *)data + 1, size - 1) : NULL;
	if (!d || !s.text)
		abort();
	if (bawn_draft_flag(&c, d, &s) >= 0)
		check(f, d);
	else if (err.kind != BAWN_ERR_POLICY || strncmp(err.msg, "--flag: ", 8) != 0)
		abort();
	return 0;
}
