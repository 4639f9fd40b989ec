/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A command that was let through: it runs exactly as it would have without us, and we look on. */

#include "supervise/supervise.h"

/*
 * Same terminal, process group, descriptors, environment and limits as ours. SIGINT and SIGQUIT are
 * left to it, SIGTERM and SIGHUP are handed on. Nothing is killed at the end. Fills wait_status,
 * exited, exec_errno and wall_ms of `ret`. With o->out and o->err its output is kept there instead
 * of going where ours goes.
 */
int bawn_pass_through(const struct bawn_call *c, const struct bawn_outlets *o,
	struct bawn_outcome *ret, struct bawn_error *err);
