/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One decision per system call number as a search tree over runs of equal decisions. The kernel
 * converts and compiles a filter for every command that is started, and runs it once per number to
 * learn which calls it may pass without asking: a tree of runs is a third of what a rule per call
 * makes, and each path is short.
 */

#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

#define BAWN_SECCOMP_NUMBERS \
	512 /* more than any kernel has; what lies above gets the last one's decision */
#define BAWN_SECCOMP_ARGS 1u /* a decision: look at the arguments */

/*
 * decisions[BAWN_SECCOMP_NUMBERS]: SECCOMP_RET_* values or BAWN_SECCOMP_ARGS, for which the program
 * goes on to `args`. Another architecture, and x32 where there is one, kill the process. *ret is
 * from malloc.
 */
int bawn_seccomp_tree(uint32_t arch, const uint32_t *decisions, const struct sock_filter *args,
	size_t n_args, struct sock_filter **ret, size_t *ret_n);
