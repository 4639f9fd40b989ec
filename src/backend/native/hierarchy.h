/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where on this host a control group for a limit can be made: which mount, below which group.
 *
 * Runs in: the host process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/stat.h>

#include "backend/native/janitor.h"

#define BAWN_HIER_PATH_MAX 1024

/* The kernel as seen by this code. Tests put a made-up tree in its place. */
struct bawn_cgroup_host {
	const char *mountinfo; /* path of the table of mounts */
	const char *self;      /* path of the table of our own groups */
	const char *usual;     /* where hierarchies are usually mounted, looked at first; or NULL */
	bool any_fs;           /* the tree need not be a real cgroup file system */
	int (*make)(int parent, const char *name);
	int (*remove)(int parent, const char *name);
};

extern const struct bawn_cgroup_host bawn_cgroup_real;

/* One mounted hierarchy that has a controller of interest. */
struct bawn_hier {
	bool v2;
	uint32_t controls; /* BAWN_CTL_LIMIT_* whose controller is here */
	bool acct;         /* v1: also counts processor time */
	char mount[BAWN_HIER_PATH_MAX];
	char own[BAWN_HIER_PATH_MAX]; /* our group's directory, below or equal to `mount` */
};

struct bawn_hiers {
	struct bawn_hier v[BAWN_GROUPS_MAX];
	size_t n;
};

/* Find the hierarchies. Zero of them is not an error. Fails only with -errno from the two tables.
 */
int bawn_hier_find(const struct bawn_cgroup_host *host, struct bawn_hiers *ret);

/* BAWN_CTL_LIMIT_* whose controllers a line of the table of our own groups names: those of v1. */
uint32_t bawn_hier_v1_controls(const char *line);
/* True if v1 has the controller of each limit at its usual place; false says nothing. */
bool bawn_hier_all_v1(const struct bawn_cgroup_host *host);

/* Limits that groups between the old place of a process and its new one held; BAWN_UNLIMITED where
 * there were none. */
struct bawn_hier_caps {
	uint64_t memory, processes, cpus_milli;
};

/*
 * Open the directory below which a group can be made that has the controllers for `want`. *ret_got
 * is what of `want` it has. With v2 it may be a directory above our own, then *caps is lowered to
 * what the skipped groups held, so that a run does not escape the limits of its caller. Returns a
 * descriptor, or a negative errno.
 */
int bawn_hier_open(const struct bawn_cgroup_host *host, const struct bawn_hier *h, uint32_t want,
	uint32_t *ret_got, struct bawn_hier_caps *caps);
