/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who runs on which processor while a wall goes up: what goes on at the same time is to be on
 * different ones. There are kernels (virtual machines that pack their processors) where a child
 * would wait until its parent sleeps.
 */

#include <sched.h>
#include <stdbool.h>

#include <sys/types.h>

/*
 * See whether a processor has nothing to do. If none has, nothing below sends anybody anywhere from
 * here on, in this process and those it forks: who is sent to a busy one waits for its turn there.
 */
void bawn_sched_look(void);
/* What it saw; false if it never looked. */
bool bawn_sched_busy(void);
/* The processor that we run on, or -1. */
int bawn_sched_cpu(void);
/* Whether another one that waits for us does so for nothing: it is not ours, and has nothing to do.
 */
bool bawn_sched_waits(int cpu);
/* Keep a process that sleeps off our processor. True if so: then `ret_all` is what to undo it with.
 */
bool bawn_sched_elsewhere(pid_t pid, cpu_set_t *ret_all);
/* Stay where we are, and let a child that is made now begin here. The same. */
bool bawn_sched_here(cpu_set_t *ret_all);
/* Let a new child start on another processor than ours, if there is one. It may go anywhere
 * afterwards. */
void bawn_sched_beside(pid_t child);
