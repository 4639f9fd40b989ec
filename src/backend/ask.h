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
	/* private */
	pid_t pid;
	int fd;
	int64_t since, stop;
};

int bawn_asking_begin(struct bawn_asking *q, const struct bawn_backend *be, int64_t timeout_ms);
/* Wait at most `ms` for any of `v` that has begun and is not done, and take what there is. */
void bawn_asking_wait(struct bawn_asking *v, size_t n, int64_t ms);

/* One question, answered or given up. */
int bawn_ask(const struct bawn_backend *be, int64_t timeout_ms, struct bawn_probe *ret);
