/* SPDX-License-Identifier: Apache-2.0 */
/* A hook's input is whatever the agent, and so a model, wrote. */
#include <stdint.h>
#include <string.h>

#include "serve/agents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_session_event steps[BAWN_STEPS_PER_CALL];
	struct bawn_tool_call c;
	struct bawn_error err = {0};

	if (!a)
		return 0;
	if (bawn_hook_claude_code.parse(a, (const char *)data, size, &c, &err) < 0) {
		if (!err.msg[0])
			__builtin_trap();
		return 0;
	}
	if (c.when == BAWN_HOOK_OTHER)
		return 0;
	if (!c.use.tool || !*c.use.tool || !c.session || !c.agent)
		__builtin_trap();
	if (bawn_sequence_steps(&c.use, NULL, 1, steps) > BAWN_STEPS_PER_CALL)
		__builtin_trap();
	for (size_t i = 0; i < c.n_subjects; i++)
		if (!c.subjects[i].text || memchr(c.subjects[i].text, 1, c.subjects[i].len) == data)
			__builtin_trap();
	if (c.use.command) {
		const char *out = bawn_hook_claude_code.rewrite(
			a, (const char *)data, size, &c, "bawn run -- x", "why");

		if (!out || !strstr(out, "updatedInput"))
			__builtin_trap();
	}
	return 0;
}
