/* SPDX-License-Identifier: Apache-2.0 */
/* The backend that enforces nothing, for `level: none`. Its receipt says so, and so does the
 * result. */
#include <stdio.h>

#include "backend/backends.h"
#include "backend/process.h"

static int noop_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)err;
	*ret = (struct bawn_probe){
		.offers = BAWN_CTL_ENV | BAWN_CTL_LIMIT_TIME | BAWN_CTL_LIMIT_OUTPUT,
		.reason = "confines nothing by design",
	};
	return 0;
}

static int noop_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	(void)snprintf(in->walls, sizeof(in->walls), "none: the command is NOT CONFINED");
	return bawn_process_prepare(in, plan, stdio, err);
}

const struct bawn_backend bawn_backend_noop = {
	.abi = BAWN_BACKEND_ABI,
	.name = "noop",
	.aliases = "none,off",
	.summary = "no wall at all; only where the policy says level: none",
	.level = BAWN_LEVEL_NONE,
	.strength = 0,
	.instance_size = sizeof(struct bawn_process),
	.probe = noop_probe,
	.prepare = noop_prepare,
	.await = bawn_process_await,
	.start = bawn_process_start,
	.event = bawn_process_event,
	.signal = bawn_process_signal,
	.destroy = bawn_process_destroy,
};
