/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Firecracker's own jailer, for root where it is installed: a chroot with nothing in it but the
 * program, the kernel, the guest's first files and two sockets, a user of this run's own, a control
 * group, limits. It is started as the second process of a new pid namespace, so that everything in
 * there ends with the host process.
 *
 *   host process ── [pid, mount, network namespaces] first process ── jailer ── Firecracker
 *
 * What the jailer makes on disk is below the run's private directory and goes with that; its
 * control groups are removed by bawn_jailer_end() or, should the host process be killed, by the
 * keeper.
 *
 * Runs in: the host process.
 */

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/plan.h"

#define BAWN_JAILER_GROUPS 4u

/* A control group's file and what is to be in it. */
struct bawn_jailer_group {
	const char *setting;      /* "pids.max=256" */
	const char *dir, *parent; /* what the jailer will make for it */
};

struct bawn_jailer {
	const char *program;   /* the jailer; NULL: there is none to be used */
	const char *exec_file; /* Firecracker, its real path */
	const char *id;
	const char *base; /* the private directory */
	const char *root; /* what becomes the root directory */
	uid_t user;       /* and group, of this run only */
	uint64_t file_max;
	int group_version; /* 1 or 2; 0: no control groups */
	struct bawn_jailer_group groups[BAWN_JAILER_GROUPS];
	size_t n_groups;
	pid_t pid; /* the first process; 0: none */
};

/* Whether there is one and it may be used. Its path in `dst`. */
bool bawn_jailer_find(char *dst, size_t size);
/*
 * Where things go and which control groups there will be. -EOPNOTSUPP (no message) if the limits of
 * `plan` on processors cannot be had this way.
 */
int bawn_jailer_init(struct bawn_jailer *j, struct bawn_arena *a, const struct bawn_plan *plan);
/* The control groups for `plan`, told by the text of /proc/mounts. */
int bawn_jailer_choose_groups(struct bawn_jailer *j, struct bawn_arena *a,
	const struct bawn_plan *plan, const char *mounts);
/* The command line; `api` is what Firecracker calls the socket of its API. NULL: out of memory. */
const char *const *bawn_jailer_argv(
	struct bawn_arena *a, const struct bawn_jailer *j, const char *api);
/* Make the root directory. */
int bawn_jailer_open(const struct bawn_jailer *j, struct bawn_error *err);
/* Show the file `src` in there as `name`, for reading: a link where that will do, else a copy. */
int bawn_jailer_place(
	const struct bawn_jailer *j, const char *src, const char *name, struct bawn_error *err);
/* Start it with these three descriptors. */
int bawn_jailer_start(
	struct bawn_jailer *j, const char *const *argv, const int stdio[3], struct bawn_error *err);
/* Kill everything in there, wait until it is gone, remove the control groups. Safe when it was
 * never started, and twice. */
void bawn_jailer_end(struct bawn_jailer *j);
