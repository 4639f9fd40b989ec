/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What is asked of Firecracker: its command line and the requests to its API, as data. */

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct bawn_firecracker {
	const char *program;
	const char *id;
	/* as Firecracker sees them: in a jail of its own under other names than here */
	const char *kernel, *initrd;
	const char *image;       /* a disk to be read, or NULL */
	const char *api, *vsock; /* sockets, by path */
	const char *guest;       /* the last words for the guest's kernel, see guest.h */
	/* as we see them */
	const char *our_api, *files;
	uint64_t memory_mib;
	unsigned cpus;
};

struct bawn_firecracker_request {
	const char *path;
	const char *json;
};

#define BAWN_FIRECRACKER_REQUESTS 6

/* NULL if out of memory. */
const char *const *bawn_firecracker_argv(struct bawn_arena *a, const struct bawn_firecracker *f);
/* The requests that configure and start the machine, in order. How many, or -ENOMEM. */
int bawn_firecracker_requests(struct bawn_arena *a, const struct bawn_firecracker *f,
	struct bawn_firecracker_request ret[BAWN_FIRECRACKER_REQUESTS]);
/* A connection to the Unix socket `path`, or a negative errno. */
int bawn_firecracker_dial(const char *path);
/*
 * Reach the guest's `port` through the machine's vsock: "CONNECT port" on the Unix socket `path`,
 * answered with "OK …" once somebody in the guest listens. Tried again until `stop`
 * (bawn_now_ms()). The stream.
 */
int bawn_firecracker_connect(const char *path, unsigned port, int64_t stop, struct bawn_error *err);
