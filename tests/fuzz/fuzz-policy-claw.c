/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as what stands below a Sandbox manifest's head: read or refused with a place, never worse.
 */
#include <stdint.h>

#include "policy/context.h"
#include "policy/read/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char head[] = "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: x}\n";
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_buf_ struct bawn_buf text = {0};
	struct bawn_error err = {0};
	struct bawn_context c = {.a = a,
		.err = &err,
		.workspace = "/usr",
		.home = "/",
		.layer = BAWN_LAYER_OPERATOR,
		.file = "f",
		.source = 1};
	struct bawn_draft *d = a ? bawn_new(a, struct bawn_draft, 1) : NULL;

	if (!d)
		abort();
	bawn_buf_puts(&text, head);
	bawn_buf_add(&text, data, size);
	if (bawn_read_text(&c, d, text.data, text.len) < 0) {
		if (err.kind != BAWN_ERR_POLICY || strncmp(err.msg, "f:", 2) != 0)
			abort();
		return 0;
	}
	/* a manifest that is accepted names a level, and one of the protocol's */
	if (!d->mark[BAWN_F_level].set || !bawn_enum_name("level", d->v.level))
		abort();
	return 0;
}
