/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files of init share: init.c, its life, and steps.c, how it builds the wall. */

#include <sched.h>

#include "backend/native/broker.h"
#include "backend/native/init.h"
#include "backend/native/meter.h"

#define SOCK_FD 3 /* where the socket to the host is moved; everything above is closed */

struct init_state {
	struct bawn_init *in;
	const struct bawn_plan *plan; /* NULL as long as it has not come */
	uint32_t enforced;
	uint32_t by_cgroup;
	uint32_t todo; /* limits for the meter */
	bool alone;    /* a pid namespace ends with us; else we are a subreaper */
	bool power;    /* NEAR: the tool's mounts can be finished */
	pid_t self;
	int sock;
	int pty;
	int relays[BAWN_PORTS_MAX];
	size_t n_relays;
	struct bawn_wall_listeners listeners;
	int listener;
	int exec_errno;
	bool dismissed; /* the word was not to start */
	bool here;      /* the command began where we were, … */
	bool elsewhere; /* … or we were kept off its processor: `cpus` undoes it */
	cpu_set_t cpus;
	pid_t pid;
	const char **sh_argv;
	const char *const *exes; /* paths to try, NULL-terminated */
	struct bawn_meter *meter;
	struct bawn_broker *broker;
	unsigned reports;
	int64_t next_usage;
};

/* Build the wall around ourselves, step by step; the plan is there afterwards. */
int init_build_wall(struct init_state *s, struct bawn_error *err);
