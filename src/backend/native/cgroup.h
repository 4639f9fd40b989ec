/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits by control group, v2 or v1 or a mix, whatever takes them on this host. Probed by doing it.
 * Groups are named bawn-<pid>-<random> below our own group (or, with v2's no-internal-process rule,
 * beside it). If this process is killed, a janitor (a child of ours in its own session) removes
 * them; groups that even the janitor left behind are swept by the
 * next run.
 *
 * Runs in: the host process.
 */

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/error.h"
#include "plan/plan.h"

struct bawn_cgroup;

/* What could be limited here: BAWN_CTL_LIMIT_MEMORY | _CPU | _PROCESSES, 0 if nothing. `detail` for
 * people, e.g. "cgroup v1: memory, pids, cpu". Cheap (no fork); `why` when 0. */
uint32_t bawn_cgroup_probe(char detail[80], char why[160]);

/* Make the groups for the limits of the plan that are not unlimited. *ret is NULL (and 0 returned)
 * when no group is possible: then *ret_enforced is 0 and the meter must do it. */
int bawn_cgroup_new(const struct bawn_plan *plan, struct bawn_cgroup **ret, uint32_t *ret_enforced,
	struct bawn_error *err);
/* Put a process in, before it runs untrusted code. The kernel may take milliseconds for it (it
 * waits for all processors); the next two do not. */
int bawn_cgroup_attach(struct bawn_cgroup *cg, pid_t pid, struct bawn_error *err);
/* For CLONE_INTO_CGROUP: the v2 group, or -1. Owned by `cg`. */
int bawn_cgroup_clone_fd(const struct bawn_cgroup *cg);
/* The calling process, a child of the host process with a single thread, puts itself in. Needs the
 * descriptors of the host process still open, no rights. `cloned_into`: was born in the v2 group.
 * 0 or negative errno. Only system calls. */
int bawn_cgroup_enter(const struct bawn_cgroup *cg, bool cloned_into);
/*
 * Groups that a process can enter at any time at little cost can be made while it does other
 * things: true where version 1 has every controller. Version 2 wants its processes to be born
 * inside. Then the host process makes the groups after the child, hands them over (`cg` may be
 * NULL) and the child, when it has done what needs no limits, waits for them and puts itself in.
 */
bool bawn_cgroup_may_follow(void);
int bawn_cgroup_hand(const struct bawn_cgroup *cg, uint32_t enforced, int sock);
int bawn_cgroup_join(int sock, uint32_t *ret_enforced);
/* Descriptors for epoll; events is EPOLLIN or EPOLLPRI. Those of version 2 must be there before
 * untrusted code runs; of version 1, what has happened already is told. After each event call
 * bawn_cgroup_breach(), which may well say 0: some of them only tell that it is time to look.
 * Returns how many (at most 4) were filled in. Also sweeps. */
int bawn_cgroup_fds(struct bawn_cgroup *cg, int fds[4], uint32_t events[4]);
/* After an event, or at the end: which limit was hit so far, 0 if none (BAWN_CTL_LIMIT_MEMORY,
 * _PROCESSES). */
uint32_t bawn_cgroup_breach(struct bawn_cgroup *cg);
void bawn_cgroup_usage(struct bawn_cgroup *cg, uint64_t *ret_cpu_us, uint64_t *ret_memory_peak);
/* Kill what is in it, remove it, dismiss the janitor. NULL is fine. */
struct bawn_cgroup *bawn_cgroup_free(struct bawn_cgroup *cg);
