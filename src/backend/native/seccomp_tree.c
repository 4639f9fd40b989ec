/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/seccomp_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/audit.h>
#include <linux/seccomp.h>

#define X32_BIT 0x40000000u
#define HEAD    4 /* instructions before the tree */
#define RUNS_MAX \
	250 /* a conditional jump reaches 255 instructions, half of a tree of that many runs */

struct run {
	uint32_t start;
	uint32_t decision;
};

static size_t find_runs(uint32_t arch, const uint32_t *decisions, struct run *runs)
{
	size_t n = 0;

	for (uint32_t nr = 0; nr < BAWN_SECCOMP_NUMBERS && n < RUNS_MAX; nr++)
		if (!nr || decisions[nr] != decisions[nr - 1])
			runs[n++] = (struct run){nr, decisions[nr]};
	if (arch == AUDIT_ARCH_X86_64 && n < RUNS_MAX)
		runs[n++] = (struct run){X32_BIT, SECCOMP_RET_KILL_PROCESS};
	return n;
}

/* Parents before children, left before right: a subtree of c runs takes 2c - 1 instructions. */
static void write_tree(const struct run *runs, size_t n, struct sock_filter *at, size_t n_tree)
{
	struct {
		size_t lo, hi;
	} todo[32] = {{0, n}};
	size_t depth = 1;

	for (size_t i = 0; depth; i++) {
		size_t lo = todo[depth - 1].lo, hi = todo[depth - 1].hi;
		size_t mid = lo + (hi - lo) / 2;

		depth--;
		if (hi - lo == 1) {
			at[i] = runs[lo].decision == BAWN_SECCOMP_ARGS
					? (struct sock_filter)BPF_STMT(
						  BPF_JMP | BPF_JA, (uint32_t)(n_tree - i - 1))
					: (struct sock_filter)BPF_STMT(
						  BPF_RET | BPF_K, runs[lo].decision);
			continue;
		}
		at[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, runs[mid].start,
			(uint8_t)(2 * (mid - lo) - 1), 0);
		todo[depth].lo = mid;
		todo[depth++].hi = hi;
		todo[depth].lo = lo;
		todo[depth++].hi = mid;
	}
}

int bawn_seccomp_tree(uint32_t arch, const uint32_t *decisions, const struct sock_filter *args,
	size_t n_args, struct sock_filter **ret, size_t *ret_n)
{
	const struct sock_filter head[HEAD] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct run runs[RUNS_MAX];
	size_t n_runs = find_runs(arch, decisions, runs);
	size_t n_tree = 2 * n_runs - 1;
	struct sock_filter *prog;

	if (n_runs >= RUNS_MAX || HEAD + n_tree + n_args > BPF_MAXINSNS)
		return -E2BIG;
	prog = calloc(HEAD + n_tree + n_args, sizeof(*prog));
	if (!prog)
		return -ENOMEM;
	memcpy(prog, head, sizeof(head));
	write_tree(runs, n_runs, prog + HEAD, n_tree);
	if (n_args)
		memcpy(prog + HEAD + n_tree, args, n_args * sizeof(*prog));
	*ret = prog;
	*ret_n = HEAD + n_tree + n_args;
	return 0;
}
