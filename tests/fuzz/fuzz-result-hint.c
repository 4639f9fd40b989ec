/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a command's last words: few remarks, each about a path of the plan's making. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy.h"
#include "result/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bawn_mount mounts[] = {
		{.kind = BAWN_MNT_SCRATCH, .dst = "/tmp"}, {.kind = BAWN_MNT_RW, .dst = "/w"}};
	static struct bawn_item denied[] = {{.text = "/w/d"}};
	static const char *const argv[] = {"cat", "x", "a b", NULL};
	static struct bawn_call call = {.argv = argv};
	static struct bawn_plan plan = {.mounts = mounts, .n_mounts = 2, .cwd = "/w"};
	static struct bawn_policy policy = {.fs_deny = {.v = denied, .n = 1}};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_result r = {.plan = &plan,
		.policy = &policy,
		.call = &call,
		.enforced = BAWN_CTL_FS_READ,
		.outcome = {.exited = true, .wait_status = 1 << 8}};
	const char *hints[BAWN_HINTS_MAX];
	size_t n;

	r.outcome.n_last_words = size < BAWN_WORDS_MAX ? size : BAWN_WORDS_MAX;
	memcpy(r.outcome.last_words, data, r.outcome.n_last_words);
	n = a ? bawn_result_hints(a, &r, hints) : 0;
	for (size_t i = 0; i < n; i++)
		if (!hints[i] || hints[i][0] != '\'' || hints[i][1] != '/')
			abort();
	return n > BAWN_HINTS_MAX ? abort(), 0 : 0;
}
