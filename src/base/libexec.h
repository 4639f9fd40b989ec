/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The programs of ours that are no commands: bawn-egress, bawn-inside, … */

#include <stddef.h>

#include <sys/types.h>

#ifndef BAWN_LIBEXECDIR
#define BAWN_LIBEXECDIR "/usr/libexec/bawn"
#endif

/* The programs that are looked for below, NULL at the end. */
extern const char *const bawn_libexec_names[];

/* The path of `name`: beside this program, as in a build directory; else where it is installed. 0
 * or a negative errno. */
int bawn_libexec_find(const char *name, char *dst, size_t size);
/* The same for a file that is no program. */
int bawn_libexec_data(const char *name, char *dst, size_t size);

/*
 * Start such a program with one end of a socket pair of type `kind` as its descriptor 3 and nothing
 * else of ours: no environment, no terminal, no signal dispositions. *ret_fd is the other end. Each
 * end buffers `room` bytes; 0: as many as is usual.
 */
int bawn_libexec_start(
	const char *path, const char *name, int kind, int room, pid_t *ret_pid, int *ret_fd);
