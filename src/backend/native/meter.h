/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits without control groups: looks at the tree often enough that no limit can be overrun by
 * much, and says which was hit. Also what control groups do not see: room left on the disk, open
 * files.
 *
 * Runs in: the sandbox's init, which sees the whole tree in /proc (its pid namespace) or, in the
 * Landlock tier, finds its descendants (it is a subreaper).
 */

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct bawn_meter;

/* `todo`: the BAWN_CTL_LIMIT_* that nobody else enforces. `whole_proc`: every process in /proc is
 * ours. */
struct bawn_meter *bawn_meter_new(const struct bawn_plan *plan, uint32_t todo, bool whole_proc);
/* rlimits that go with it, set in the init before the command is started: NOFILE, CORE 0, NPROC
 * (counts per user namespace), DATA as a backstop for memory when no cgroup does it, MEMLOCK … 0 or
 * negative errno. */
int bawn_meter_rlimits(const struct bawn_plan *plan, uint32_t todo);
/* Where there is no user namespace NPROC counts all of this user's threads. Look how many there are
 * while there is time; else the rlimits do it. */
void bawn_meter_count_others(void);
/* Look once. Returns the control that was hit, or 0; *ret_next_ms is when to look again (adaptive:
 * soon when little is left). Also throttles the cpu (SIGSTOP/SIGCONT) when LIMIT_CPU is in `todo`.
 */
uint32_t bawn_meter_look(struct bawn_meter *m, int *ret_next_ms);
/* Kill every process of the tree but ourselves, surely, also against fork bombs: stop all, then
 * kill all, until none is left but zombies, which are reaped. */
void bawn_meter_kill_all(struct bawn_meter *m);
/* CPU microseconds and peak memory seen, for the result. */
void bawn_meter_usage(const struct bawn_meter *m, uint64_t *ret_cpu_us, uint64_t *ret_peak);
struct bawn_meter *bawn_meter_free(struct bawn_meter *m);
