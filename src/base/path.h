/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Paths as text. Nothing here trusts a path afterwards: what is opened is opened through openat2.
 */

#include <stdbool.h>

#include "base/arena.h"

/* Lexical clean-up of an absolute path: no //, /./, /../ or trailing slash. NULL if out of memory.
 */
char *bawn_path_clean(struct bawn_arena *a, const char *path);
/* dir + "/" + rest, cleaned; `rest` alone if it is absolute. */
char *bawn_path_join(struct bawn_arena *a, const char *dir, const char *rest);
/* True if `path` is `dir` or lies below it, by whole components. Both cleaned. */
bool bawn_path_under(const char *path, const char *dir);
/* The canonical path (symlinks followed) in *ret; a negative errno if it does not resolve. */
int bawn_path_resolve(struct bawn_arena *a, const char *path, const char **ret);
/* True if the text has one of * ? [ and so is a pattern. */
bool bawn_path_is_glob(const char *text);
/*
 * Match a cleaned path against a pattern: `*` and `?` stay within a component, `**` spans any
 * number of them, [a-z] and [!a-z] classes. Linear in path × pattern: cannot explode.
 */
bool bawn_glob_match(const char *pattern, const char *path);
/* The home directory: $HOME if absolute, else from /etc/passwd; NULL if there is none. */
const char *bawn_path_home(struct bawn_arena *a);
/*
 * Where short-lived private directories are made: $XDG_RUNTIME_DIR, else /tmp. `in_memory`: it is
 * small and had better not be on a disk, which takes long to remove one: /run/user/UID, /run or
 * /dev/shm come before /tmp, as far as they are in memory and safe for this user. Valid until the
 * next call.
 */
const char *bawn_path_runtime(bool in_memory);
/* `rest` below bawn's place for lasting state: $XDG_STATE_HOME/bawn or ~/.local/state/bawn. NULL if
 * there is no home directory or no memory. */
char *bawn_path_state(struct bawn_arena *a, const char *rest);
/* Create the directory of the first `len` bytes of `path` and those above it that are missing,
 * 0700. */
int bawn_path_make_dirs(const char *path, size_t len);
/* The same for what bawn keeps: -ENOENT instead of a home that does not exist. */
int bawn_path_make_state_dirs(const char *path, size_t len);
