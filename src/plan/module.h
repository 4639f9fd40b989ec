/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* True if the file at `path` begins as a WebAssembly module does. Never blocks. */
bool bawn_is_module(const char *path);
