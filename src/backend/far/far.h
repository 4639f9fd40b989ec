/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Walls with a kernel of their own: gVisor and virtual machines. A tool is started with one end of
 * a byte stream; at the other end of it, inside, bawn-inside is a bridge (inside/bridge.h) to the
 * same init as native's. On the host a pump, a child of the host process, speaks frames with the
 * bridge, moves the command's bytes, sends files in and applies what comes back. To the host
 * process it speaks init's protocol (native/init.h), so that native's link is the rest of the
 * backend.
 *
 *   host process ── SOCK_SEQPACKET ── pump ── frames ── tool ~~ bridge ── init ── command
 *
 * When the host process dies the pump ends the tool, and a keeper cleans up. What comes out of the
 * stream is hostile from the moment the command runs; the worst it can do is to end its own run.
 *
 * A tool is a `struct bawn_far_tool` and a backend whose prepare() calls bawn_far_prepare() with
 * it; all other callbacks of that backend are the ones below.
 */

#include "backend/backend.h"
#include "backend/native/link.h"
#include "backend/native/scratch.h"
#include "base/arena.h"

/* What a tool's callbacks are told. Everything belongs to the caller. */
struct bawn_far_job {
	struct bawn_instance *in; /* in the host process only */
	const struct bawn_plan *plan;
	struct bawn_arena *arena;
	const char *program; /* the tool, absolute */
	const char *inside;  /* bawn-inside on the host, absolute */
	const char *dir;     /* private directory of this run (0700), removed at its end */
	const char *id;      /* a name that nobody else has: [a-z0-9-]+ */
	int stream;          /* the tool's end of the stream. See `stream_is_stdio` */
};

struct bawn_far_tool {
	const char *program;  /* looked for along PATH, then in the usual system directories */
	const char *remedy;   /* what to do when it is not there */
	const char *walls;    /* what it is, for people: "gVisor (ptrace)" */
	bool copy_on_write;   /* the writable roots are visible inside, changes do not get out: only
				 changes are transferred, and they come from inside */
	bool stream_is_stdio; /* `stream` becomes the tool's descriptors 0 and 1; else it is
				 inherited under its number */
	bool hosted;          /* build() has started it, on `stream`; whoever embeds struct
				 bawn_far ends it after bawn_far_destroy() */
	bool as_user;         /* the bridge is started as the user that the command is to be */
	bool no_inside;       /* it needs no bawn-inside: job->inside is NULL */
	bool eager;     /* what is sent waits in `stream` until the bridge is there to read it:
			   its greeting need not be awaited */
	bool devices;   /* job->dir is to be where programs and devices work */
	bool in_memory; /* job->dir is better not on a disk; it is small */
	int setup_ms;   /* how long it may take until the bridge is there, and then each time until
			   more of the files goes in or the wall stands; 0: the usual */

	/*
	 * In the host process: refuse what cannot be done (BAWN_ERR_UNSUPPORTED), write what is
	 * needed into job->dir, append the command line to argv (argv[0] is the program's path).
	 */
	int (*build)(
		const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err);
	/* Optional. In the tool's process, before the program is executed. */
	int (*enter)(const struct bawn_far_job *job, struct bawn_error *err);
	/* Optional. In the pump, after the tool was started: the stream, if it is another one than
	 * job->stream's (a descriptor that blocks or not). Must not take longer than setup_ms. */
	int (*connect)(const struct bawn_far_job *job, int *ret_stream, struct bawn_error *err);
	/* Optional. The command that removes what is left of a run that did not end by itself. */
	int (*clean)(
		const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err);
	/* The receipt: `inside` is what init found to be in force; add what the tool and the
	 * transfer hold, take away what does not count here. */
	uint32_t (*claims)(const struct bawn_plan *plan, uint32_t inside);
	/* Optional. What the tool wrote to its stderr, as an error for people, when the bridge
	 * never answered. Without it the last line of `said` is quoted. */
	int (*explain)(const struct bawn_plan *plan, const char *said, struct bawn_error *err);
};

struct bawn_far {
	struct bawn_instance in;
	struct bawn_link link; /* its child is the pump */
	const struct bawn_far_tool *tool;
	struct bawn_arena *arena;
	struct bawn_scratch keeper;
	bool over;
};

/* Callbacks of a backend that is a tool. */
int bawn_far_prepare(struct bawn_instance *in, const struct bawn_far_tool *tool,
	const struct bawn_plan *plan, const int stdio[3], struct bawn_error *err);
int bawn_far_await(struct bawn_instance *in, struct bawn_error *err);
int bawn_far_setup_ms(const struct bawn_far_tool *tool);
int bawn_far_start(struct bawn_instance *in, struct bawn_error *err);
int bawn_far_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err);
int bawn_far_signal(struct bawn_instance *in, int signo, struct bawn_error *err);
void bawn_far_usage(struct bawn_instance *in, struct bawn_usage *ret);
void bawn_far_destroy(struct bawn_instance *in);

/* Find a program: its absolute path in `dst`, or BAWN_ERR_UNSUPPORTED with the remedy. */
int bawn_far_find(
	const char *program, const char *remedy, char *dst, size_t size, struct bawn_error *err);

/* Probe by doing: the version from "PROGRAM --version", then a wall around nothing with `be`. */
int bawn_far_probe(const struct bawn_backend *be, const struct bawn_far_tool *tool,
	struct bawn_probe *ret, struct bawn_error *err);

/* ---- the pump (pump.c) ---- */

struct bawn_pump_start {
	const struct bawn_far_tool *tool;
	struct bawn_far_job job;
	const char *const *argv;     /* of the tool */
	const struct bawn_buf *plan; /* the handover */
	int ctl;                     /* to the host process */
	int stream;                  /* our end */
	int stdio[3];                /* the command's; -1: none */
};

/* Never returns. Every other descriptor of the process is closed. */
void bawn_pump_main(const struct bawn_pump_start *start) __attribute__((noreturn));
