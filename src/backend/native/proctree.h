/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes of the sandbox as /proc shows them, and signals to them that never hit another.
 *
 * Runs in: the sandbox's init.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

struct bawn_proc {
	pid_t pid, ppid;
	char state;
	uint8_t ours;   /* used while the tree is worked out */
	bool stopped;   /* by us */
	uint64_t start; /* in ticks since boot: with the id, names a process for good */
	uint64_t ticks; /* processor time, with children that were waited for */
	uint64_t pages; /* resident, files included */
	uint64_t threads;
};

struct bawn_proctree {
	DIR *proc;
	bool whole; /* every process but ourselves is ours */
	bool mine;  /* only those of our own user are looked at */
	pid_t self;
	struct bawn_proc *v; /* ascending by pid */
	size_t n, cap;
};

/* 0 or negative errno. */
int bawn_proctree_init(struct bawn_proctree *t, bool whole);
void bawn_proctree_done(struct bawn_proctree *t);
/* Read all anew; what was `stopped` stays so. 0, or a negative errno with what could be read. */
int bawn_proctree_scan(struct bawn_proctree *t);
/* 0 or negative errno; -ESRCH if this very process is gone. */
int bawn_proctree_signal(const struct bawn_proctree *t, const struct bawn_proc *p, int signo);
/* Kill all of it, for at most `ms`. Returns how many were left but zombies. */
size_t bawn_proctree_kill(struct bawn_proctree *t, int ms);
