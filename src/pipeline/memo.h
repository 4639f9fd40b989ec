/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Commands that the inspector found nothing in, so that `run` need not have them looked at again. A
 * file of fixed size that only we can write; what stands in it are keyed hashes of everything that
 * an inspection depends on. Whatever is wrong with it, the command is inspected as if there were
 * none.
 */

#include "inspect/inspect.h"
#include "policy/policy.h"

#define BAWN_MEMO_HASH 32

struct bawn_memo {
	int fd;           /* -1: not open */
	const char *path; /* NULL: it is not to be used */
	bool keyed;       /* the file's head is as it should be */
	unsigned char key[BAWN_MEMO_HASH];
	const struct bawn_policy *policy;
	const struct bawn_subject *subject;
};

/* The usual place, NULL if there is none (no home) or no memory. */
const char *bawn_memo_path(struct bawn_arena *a);

/*
 * See to it that the file exists, if it can. To be called before every plan, used or not: what
 * exists is kept by a mount, what does not is guarded against being made, but another run could
 * make it then.
 */
void bawn_memo_make(const char *path);
/*
 * True if this very subject under this very policy was inspected by this very program before, and
 * nothing was found. `path`, `p` and `sub` must stay until bawn_memo_done.
 */
bool bawn_memo_ask(struct bawn_memo *m, const char *path, const struct bawn_policy *p,
	const struct bawn_subject *sub);
/* Nothing was found. Never makes the file. Says nothing when it cannot be kept: it will be
 * inspected again. */
void bawn_memo_note(struct bawn_memo *m);
void bawn_memo_done(struct bawn_memo *m);
