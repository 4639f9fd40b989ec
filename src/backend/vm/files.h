/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The host's files for a guest: a read-only FUSE server on a byte stream. The guest's kernel asks;
 * a relay in the guest (inside/relay.c) passes its requests on as they are, for they carry their
 * own length. Served is what this process can see, so that it holds no rules itself: it runs behind
 * the native wall with nothing but the plan's read-only mounts. Whoever takes over the guest, and
 * then this process, has gained nothing.
 *
 * Runs in: bawn-inside, mode "files".
 */

#include <stddef.h>

#include <sys/types.h>

#include "base/cleanup.h"

#define BAWN_FILES_REQUEST_MAX 65536
#define BAWN_FILES_REPLY_MAX   ((size_t)132 << 10) /* 128 KiB of a file and a header */

struct bawn_files;

/* Serve the directory `root`, which stays the caller's. NULL if out of memory. */
struct bawn_files *bawn_files_new(int root);
struct bawn_files *bawn_files_free(struct bawn_files *f);

/*
 * Answer one whole request into `out` (BAWN_FILES_REPLY_MAX bytes). Returns the length of the
 * answer, 0 if none is wanted, -EPROTO if it is no request at all: then nothing more can be said.
 */
ssize_t bawn_files_answer(struct bawn_files *f, const void *request, size_t len, char *out);

/* Answer what comes from the stream `fd` until it ends. 0 at its end, or a negative errno. */
int bawn_files_serve(int fd, int root);

BAWN_DEFINE_CLEANUP(struct bawn_files, files, bawn_files_free)
