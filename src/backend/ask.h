/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asking a backend what it can do here, without being hurt by the answer: its probe runs in a child
 * in a process group of its own, which is killed with all that it started when time is up.
 */

#include "backend/backend.h"

struct bawn_asking {
	const struct bawn_backend *be;
	struct bawn_probe probe; /* the answer once `done`; offers is 0 if there was none */
	bool done;
	int64_t took_ms;
	pid_t pid; /* 0: not begun. The rest is private */
	int fd;
	int64_t since, stop;
};

/*
 * Ask those of `v` that are not `done`, some at a time. `tick` is called now and then meanwhile; it
 * may be NULL.
 */
void bawn_ask_all(struct bawn_asking *v, size_t n, int64_t timeout_ms, void (*tick)(void *userdata),
	void *userdata);

/* One question, answered or given up. */
void bawn_ask(const struct bawn_backend *be, int64_t timeout_ms, struct bawn_probe *ret);
