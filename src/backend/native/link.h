/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The host's end of init's protocol (init.h), whoever started init: wait until the wall stands,
 * take its descriptors, pass on its events, end it and wait until nothing is left. Used by the
 * native backend, whose child is init itself, and by the near ones, whose child is a tool that
 * started it.
 *
 * Runs in: the host process.
 */

#include "backend/backend.h"
#include "backend/native/cgroup.h"
#include "backend/native/init.h"
#include "backend/native/wall.h"

#define BAWN_SETUP_MS 30000 /* a bind of a dead network file system must not hang us */

struct bawn_link {
	struct bawn_instance *in; /* NULL: never opened */
	const struct bawn_plan *plan;
	struct bawn_cgroup *cgroup; /* owned; or NULL */
	int sock;                   /* owned */
	pid_t pid;                  /* our child: init, or the tool that started it; 0: none yet */
	int pidfd;
	int init_fd;    /* pidfd of init, when it is not our child; else -1 */
	bool find_init; /* learn init_fd from its first message */
	bool by_order;  /* init must do the killing: no pid namespace ends with it */
	int relay_fds[BAWN_PORTS_MAX];
	struct bawn_listener listeners[BAWN_LISTENERS_MAX];
	bool reaped, limit_told, ended;
	int cpu; /* where init was when it spoke last */
	struct bawn_usage usage;
};

/* Empty, so that close works from here on. */
void bawn_link_open(struct bawn_link *l, struct bawn_instance *in);
/* What init was told, or will be. Refuses more loopback ports than there can be. */
int bawn_link_plan(struct bawn_link *l, const struct bawn_plan *plan, struct bawn_error *err);
/* Wait for init's word that the wall stands, or that it does not. Sets in->enforced, pty_fd,
 * relay_fds, listeners; -ETIMEDOUT and -EPIPE (init died without a word) are told apart.
 * `timeout_ms` is from one sign of progress to the next. */
int bawn_link_await(struct bawn_link *l, int timeout_ms, struct bawn_error *err);
/* Sleep until init has said anything at all, or is gone. Nothing is taken from it. */
void bawn_link_await_word(const struct bawn_link *l, int timeout_ms);
/* Make in->event_fd; then it tells of the control groups as well, also of what has happened in them
 * already. */
int bawn_link_watch(struct bawn_link *l, struct bawn_error *err);
int bawn_link_watch_limits(struct bawn_link *l, struct bawn_error *err);
/* From now on in->event_fd is readable when our child is dead, and not when its socket is closed on
 * the way there. Stays awake for a moment if it dies on another processor. */
void bawn_link_watch_death(struct bawn_link *l);
int bawn_link_start(struct bawn_link *l, struct bawn_error *err);
int bawn_link_event(struct bawn_link *l, struct bawn_event *ret, struct bawn_error *err);
int bawn_link_signal(struct bawn_link *l, int signo, struct bawn_error *err);
/* Kill everything inside. Does not wait. */
void bawn_link_kill(struct bawn_link *l);
void bawn_link_usage(struct bawn_link *l, struct bawn_usage *ret);
/* Kill, wait until nothing is left, free. Safe when never opened. */
void bawn_link_close(struct bawn_link *l);
