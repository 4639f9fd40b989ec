/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Between the wasm backend and its program bawn-wasm, which runs inside a native wall:
 *
 *   bawn-wasm probe LIBRARY                     run a module that does nothing; the version on
 * stdout bawn-wasm compile LIBRARY NAME fuel|free    a module on stdin, machine code on stdout
 *   bawn-wasm run LIBRARY FILE [KEY=VALUE]… -- [ARG]…
 *       fuel, memory, time (milliseconds): a number or "none"; name: of the module, for messages;
 *       ro, rw: directories to grant under their own names; here-ro, here-rw: one to grant as "."
 *
 * How `run` ends: the module's own status; killed by SIGABRT when the module trapped, by SIGXCPU
 * when its fuel was used up, by SIGALRM when its time was; BAWN_WASM_EXIT_FAILED when it could not
 * be started. Each but the first with one line on stderr.
 *
 * FILE is BAWN_WASM_HEADER bytes of the cache's own, then what wasmtime made. Loading one is
 * running it: FILE must come from the cache.
 */

#include "backend/backend.h"
#include "base/arena.h"
#include "base/buf.h"

#define BAWN_WASM_EXIT_FAILED  125
#define BAWN_WASM_EXIT_LIBRARY 126 /* the library cannot be used */
#define BAWN_WASM_HEADER       32
#define BAWN_WASM_MODULE_MAX   ((size_t)256 << 20)

/* find.c: what is needed on the host. */
struct bawn_wasm_tools {
	char runner[4096];
	char library[4096];
};
/* BAWN_ERR_UNSUPPORTED, with what to install, if one is missing. `setting` is the policy's or "".
 */
int bawn_wasm_find(const char *setting, struct bawn_wasm_tools *ret, struct bawn_error *err);

/* inside.c: plans for bawn-wasm behind the native wall. */
/* `base` less its command and its grants: the system directories, the tools, nothing else. */
int bawn_wasm_tool_plan(struct bawn_arena *a, const struct bawn_plan *base,
	const struct bawn_wasm_tools *tools, const char *const *args, struct bawn_plan *ret,
	struct bawn_error *err);
/* `base` with bawn-wasm as its command, which runs `compiled`. */
int bawn_wasm_run_plan(struct bawn_arena *a, const struct bawn_plan *base,
	const struct bawn_wasm_tools *tools, const char *compiled, struct bawn_plan *ret,
	struct bawn_error *err);
/* Carry out a tool plan, `input` (may be NULL) on its stdin, its output in `out`. 0, or what it
 * said. */
int bawn_wasm_tool(const struct bawn_plan *plan, const struct bawn_buf *input, struct bawn_buf *out,
	struct bawn_error *err);

/* cache.c: compiled modules of this user, this library and this processor. */
/* The path of the compiled `module` in *ret, made if need be. `name` is for messages. */
int bawn_wasm_cache_get(struct bawn_arena *a, const struct bawn_plan *base,
	const struct bawn_wasm_tools *tools, const struct bawn_buf *module, const char *name,
	const char **ret, struct bawn_error *err);
