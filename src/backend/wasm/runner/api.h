/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of wasmtime's C interface that we use, as its documentation describes it, found in
 * libwasmtime.so at run time. Versions from 49 on: before, wasi_config_preopen_dir took other
 * arguments.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_config;
struct wt_engine;
struct wt_error;
struct wt_linker;
struct wt_module;
struct wt_pre;
struct wt_store;
struct wt_context;
struct wt_trap;
struct wt_wasi;

struct wt_bytes {
	size_t size;
	char *data;
};

struct wt_func {
	uint64_t store;
	void *inner;
};

enum {
	WT_TRAP_INTERRUPT = 10,
	WT_TRAP_OUT_OF_FUEL = 11
};

#define WT_API(X)                                                                                  \
	X(struct wt_config *, wasm_config_new, (void))                                             \
	X(void, wasmtime_config_epoch_interruption_set, (struct wt_config *, bool))                \
	X(void, wasmtime_config_consume_fuel_set, (struct wt_config *, bool))                      \
	X(void, wasmtime_config_parallel_compilation_set, (struct wt_config *, bool))              \
	X(void, wasmtime_config_wasm_threads_set, (struct wt_config *, bool))                      \
	X(void, wasmtime_config_wasm_multi_memory_set, (struct wt_config *, bool))                 \
	X(void, wasmtime_config_memory_init_cow_set, (struct wt_config *, bool))                   \
	X(struct wt_engine *, wasm_engine_new_with_config, (struct wt_config *))                   \
	X(void, wasmtime_engine_increment_epoch, (struct wt_engine *))                             \
	X(struct wt_error *, wasmtime_module_new,                                                  \
		(struct wt_engine *, const uint8_t *, size_t, struct wt_module **))                \
	X(struct wt_error *, wasmtime_module_serialize, (struct wt_module *, struct wt_bytes *))   \
	X(struct wt_error *, wasmtime_module_deserialize,                                          \
		(struct wt_engine *, const uint8_t *, size_t, struct wt_module **))                \
	X(struct wt_store *, wasmtime_store_new, (struct wt_engine *, void *, void (*)(void *)))   \
	X(struct wt_context *, wasmtime_store_context, (struct wt_store *))                        \
	X(void, wasmtime_store_limiter,                                                            \
		(struct wt_store *, int64_t, int64_t, int64_t, int64_t, int64_t))                  \
	X(struct wt_error *, wasmtime_context_set_fuel, (struct wt_context *, uint64_t))           \
	X(void, wasmtime_context_set_epoch_deadline, (struct wt_context *, uint64_t))              \
	X(struct wt_error *, wasmtime_context_set_wasi, (struct wt_context *, struct wt_wasi *))   \
	X(struct wt_wasi *, wasi_config_new, (void))                                               \
	X(bool, wasi_config_set_argv, (struct wt_wasi *, size_t, const char **))                   \
	X(bool, wasi_config_set_env, (struct wt_wasi *, size_t, const char **, const char **))     \
	X(void, wasi_config_inherit_stdin, (struct wt_wasi *))                                     \
	X(void, wasi_config_inherit_stdout, (struct wt_wasi *))                                    \
	X(void, wasi_config_inherit_stderr, (struct wt_wasi *))                                    \
	X(bool, wasi_config_preopen_dir, (struct wt_wasi *, const char *, const char *, bool))     \
	X(struct wt_linker *, wasmtime_linker_new, (struct wt_engine *))                           \
	X(struct wt_error *, wasmtime_linker_define_wasi, (struct wt_linker *))                    \
	X(struct wt_error *, wasmtime_linker_instantiate_pre,                                      \
		(struct wt_linker *, struct wt_module *, struct wt_pre **))                        \
	X(struct wt_error *, wasmtime_linker_module,                                               \
		(struct wt_linker *, struct wt_context *, const char *, size_t,                    \
			struct wt_module *))                                                       \
	X(struct wt_error *, wasmtime_linker_get_default,                                          \
		(struct wt_linker *, struct wt_context *, const char *, size_t, struct wt_func *)) \
	X(struct wt_error *, wasmtime_func_call,                                                   \
		(struct wt_context *, struct wt_func *, const void *, size_t, void *, size_t,      \
			struct wt_trap **))                                                        \
	X(void, wasmtime_error_message, (struct wt_error *, struct wt_bytes *))                    \
	X(bool, wasmtime_error_exit_status, (struct wt_error *, int *))                            \
	X(void, wasm_trap_message, (struct wt_trap *, struct wt_bytes *))                          \
	X(bool, wasmtime_trap_code, (struct wt_trap *, uint8_t *))                                 \
	/* not called; there since version 49 */                                                   \
	X(void, wasmtime_config_wasm_component_model_implements_set, (struct wt_config *, bool))

struct wt_api {
#define X(ret, name, args) ret(*name) args;
	WT_API(X)
#undef X
};

/* Load the library. Returns NULL, or why not as one line (static storage). */
const char *wt_load(const char *library, struct wt_api *ret);
