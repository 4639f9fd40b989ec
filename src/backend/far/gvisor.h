/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What `runsc` is given when bawn runs it directly. Each bind mount of a bundle is a connection of
 * gVisor's to its file server, and dear; so what is read-only is put together on the host, in a
 * mount namespace of the tool's process, and given to gVisor as one root ("the tree"). Its own
 * mounts are what is left: what can be written, what nothing may be executed from, and whatever
 * lies below those.
 */

#include "backend/far/far.h"

#define BAWN_GVISOR_AGENT "/.bawn-inside"
#define BAWN_GVISOR_PLAIN "plain.json" /* the configuration without the tree */

/* ---- gvisor_bundle.c ---- */

/*
 * In the host process: write the bundle into job->dir, and a second configuration without the tree
 * for where no mount namespace can be had.
 */
int bawn_gvisor_bundle(const struct bawn_far_job *job, struct bawn_error *err);
/* True for what gVisor's kernel has of its own: /proc, /sys, /dev. */
bool bawn_gvisor_owns(const struct bawn_mount *m);

/* ---- gvisor_tree.c ---- */

/* For each mount of the plan, whether it is part of the tree. NULL: out of memory. */
const bool *bawn_gvisor_tree(const struct bawn_plan *plan, struct bawn_arena *a);
/* The callback enter() of a tool: put the tree together, in namespaces of our own. */
int bawn_gvisor_enter(const struct bawn_far_job *job, struct bawn_error *err);
/* Where the content of a BAWN_MNT_FILE is, or what hides a file or a directory, in job->dir. */
const char *bawn_gvisor_file(const struct bawn_far_job *job, const struct bawn_mount *m);
const char *bawn_gvisor_nothing(const struct bawn_far_job *job, bool dir);
