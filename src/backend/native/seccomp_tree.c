/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/native/seccomp_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/audit.h>
#include <linux/seccomp.h>

#define X32_BIT    0x40000000u
#define HEAD       4 /* instructions before the tree */
#define RUNS_MAX   250
#define LEAVES_MAX 64
#define REACH      255 /* instructions that a conditional jump can skip */

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

/* The decisions, each once: loading takes the kernel a time per instruction, most for returns. */
struct leaves {
	uint32_t v[LEAVES_MAX];
	size_t n;
};

static size_t leaf_of(const struct leaves *l, uint32_t decision)
{
	size_t i = 0;

	while (i < l->n && l->v[i] != decision)
		i++;
	return i; /* what depends on arguments is none of them: the instruction after the last */
}

static bool find_leaves(const struct run *runs, size_t n, struct leaves *l)
{
	for (size_t i = 0; i < n; i++) {
		if (runs[i].decision == BAWN_SECCOMP_ARGS || leaf_of(l, runs[i].decision) < l->n)
			continue;
		if (l->n == LEAVES_MAX)
			return false;
		l->v[l->n++] = runs[i].decision;
	}
	return true;
}

/*
 * n - 1 comparisons, parents before children, left before right, so that a subtree of c runs takes
 * c - 1 instructions; then the leaves; what comes after them looks at arguments.
 */
static bool write_tree(
	const struct run *runs, size_t n, const struct leaves *l, struct sock_filter *at)
{
	struct {
		size_t lo, hi;
	} todo[32] = {{0, n}};

	for (size_t i = 0, depth = n > 1 ? 1 : 0; depth; i++) {
		size_t lo = todo[depth - 1].lo, hi = todo[depth - 1].hi;
		size_t mid = lo + (hi - lo) / 2;
		size_t left = mid - lo > 1 ? i + 1 : n - 1 + leaf_of(l, runs[lo].decision);
		size_t right = hi - mid > 1 ? i + mid - lo : n - 1 + leaf_of(l, runs[mid].decision);

		if (left - i - 1 > REACH || right - i - 1 > REACH)
			return false;
		at[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, runs[mid].start,
			(uint8_t)(right - i - 1), (uint8_t)(left - i - 1));
		depth--;
		if (hi - mid > 1) {
			todo[depth].lo = mid;
			todo[depth++].hi = hi;
		}
		if (mid - lo > 1) {
			todo[depth].lo = lo;
			todo[depth++].hi = mid;
		}
	}
	for (size_t i = 0; i < l->n; i++)
		at[n - 1 + i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, l->v[i]);
	return true;
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
	struct leaves leaves = {.n = 0};
	size_t n_runs = find_runs(arch, decisions, runs);
	struct sock_filter *prog;
	size_t n_tree;

	if (n_runs >= RUNS_MAX || !find_leaves(runs, n_runs, &leaves))
		return -E2BIG;
	n_tree = n_runs - 1 + leaves.n;
	if (HEAD + n_tree + n_args > BPF_MAXINSNS)
		return -E2BIG;
	prog = calloc(HEAD + n_tree + n_args, sizeof(*prog));
	if (!prog)
		return -ENOMEM;
	memcpy(prog, head, sizeof(head));
	if (!write_tree(runs, n_runs, &leaves, prog + HEAD)) {
		free(prog);
		return -E2BIG;
	}
	if (n_args)
		memcpy(prog + HEAD + n_tree, args, n_args * sizeof(*prog));
	*ret = prog;
	*ret_n = HEAD + n_tree + n_args;
	return 0;
}
