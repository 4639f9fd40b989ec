/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside end of the frames (far/frame.h): takes the plan and the files, starts the sandbox's
 * init, moves the command's bytes, and sends back what changed. Whoever opened the stream calls it.
 *
 *   stream ── bridge ──┬── SOCK_SEQPACKET ── init ── command
 *                      └── pipes (stdin, stdout, stderr) ──┘
 *
 * When the stream ends, everything here does.
 */

#include "backend/far/tree.h"
#include "backend/native/init.h"
#include "base/buf.h"

#define BAWN_BRIDGE_PIDS   1u /* give the command a pid namespace, and mount /proc anew for it */
#define BAWN_BRIDGE_MOUNTS 2u /* with PIDS: and a mount namespace for that */

struct bawn_bridge {
	int in, out; /* the stream, read and written; may be the same */
	unsigned flags;
	/* Optional. The plan is known, its files are not there yet: mount what it says. */
	int (*mount)(const struct bawn_plan *plan, void *data, struct bawn_error *err);
	/* Optional. The files are there, in init's process: mount what covers some of them. 0 or a
	 * negative errno. */
	int (*cover)(const struct bawn_plan *plan, void *data);
	void *data;
};

/* Returns when everything is over, with an exit status: 0 if the host knows all about it. */
int bawn_bridge_main(const struct bawn_bridge *b);

/* ---- bridge_files.c ---- */

struct bawn_arrival {
	struct bawn_tree was; /* what the host has, and how it looked when it was here */
	uid_t uid;
	gid_t gid;
	int file;            /* the one that is being received, or -1 */
	struct bawn_entry e; /* and what is to become of it */
	size_t node;
};

int bawn_arrival_init(struct bawn_arrival *a, const struct bawn_init *init, struct bawn_error *err);
/* An ENTRY, DATA or TREE_END frame. */
int bawn_arrival_take(struct bawn_arrival *a, const struct bawn_frame *f, struct bawn_error *err);
/* Nothing else runs any more: send what differs. `flush` is called when `out` holds a lot; the rest
 * is left in it. */
int bawn_arrival_return(struct bawn_arrival *a, struct bawn_buf *out,
	int (*flush)(void *data, struct bawn_buf *out), void *data, struct bawn_error *err);
