/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A plain child process behind the vtable, for the backends that build no wall. */

#include "backend/backend.h"

struct bawn_process {
	struct bawn_instance in;
	const struct bawn_plan *plan;
	int stdio[3];
	pid_t pid;
	int pidfd;
	int exec_errno;
	bool told, ended;
};

int bawn_process_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err);
int bawn_process_await(struct bawn_instance *in, struct bawn_error *err);
int bawn_process_start(struct bawn_instance *in, struct bawn_error *err);
int bawn_process_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err);
int bawn_process_signal(struct bawn_instance *in, int signo, struct bawn_error *err);
void bawn_process_destroy(struct bawn_instance *in);
