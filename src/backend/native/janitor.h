/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes the groups of a run whose host process was killed, with everything in them. A child of
 * the host process in a session of its own, which no signal but SIGKILL reaches, and which holds
 * nothing open but a handle on the host process and the directories that it needs.
 *
 * Runs in: the host process (start, dismiss) and the janitor itself.
 */

#include <stdbool.h>

#include <sys/types.h>

#define BAWN_GROUPS_MAX 3

/* One group to be emptied and removed: `name` in the directory `parent`. */
struct bawn_group_ref {
	int parent;
	const char *name;
	int (*remove)(int parent, const char *name); /* 0 or negative errno */
};

struct bawn_janitor {
	pid_t pid; /* 0: none */
};

/* Start it before the groups are made, so that there is no moment without one. The groups and what
 * they point to must not change until it returns. 0 or negative errno. */
int bawn_janitor_start(struct bawn_janitor *ret, const struct bawn_group_ref *groups, size_t n);
/* Send it away. The groups are the caller's again. */
void bawn_janitor_dismiss(struct bawn_janitor *j);

/*
 * Kill what is in the groups and remove them, for at most `ms` milliseconds. Safe against reuse of
 * process ids and, if one of the groups limits processes, against fork bombs. A group that does not
 * exist is fine. Returns 0, or -EBUSY if one is still there. Allocates nothing.
 */
int bawn_groups_clear(const struct bawn_group_ref *groups, size_t n, int ms);
