/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Container engines: docker, podman and Apple's container. What they have in common is the command
 * line; an engine is a name and a few differences. The text of every command line is made here, and
 * nothing here runs anything but engine_tool.c.
 */

#include "backend/near/near.h"

enum bawn_engine_kind {
	BAWN_ENGINE_DOCKER,
	BAWN_ENGINE_PODMAN,
	BAWN_ENGINE_APPLE,
};

/* Where our files are inside: the run's private directory, and the stage in it. */
#define BAWN_ENGINE_DIR    BAWN_OUTER_DIR
#define BAWN_ENGINE_INSIDE BAWN_ENGINE_DIR "/inside"
/* What tells our containers and images from others: the label, with the run's or box's name. */
#define BAWN_ENGINE_LABEL "dev.bawn"

/* Facts about the caller and the host, so that the text depends on nothing else. */
struct bawn_engine_host {
	uid_t uid, gid;      /* of the process inside */
	unsigned processors; /* more cannot be asked for */
	uint64_t files,
		procs; /* our own hard limits: an engine without privilege cannot raise them */
	const char *runtime; /* "": the engine's own choice */
	const char *socket;  /* of the daemon, when it can be asked without the engine's program; or
				NULL */
	bool keep_id;        /* the engine runs in a user namespace of the caller (podman) */
};

/* engine_host.c */
void bawn_engine_look(enum bawn_engine_kind kind, struct bawn_engine_host *ret);

/* engine_argv.c. `args->argv` holds the program already. */
int bawn_engine_check(const struct bawn_plan *plan, struct bawn_error *err);
/* "run --rm …": the container's own process is the stage, which connects to `dir`/socket. */
int bawn_engine_run_args(enum bawn_engine_kind kind, const struct bawn_engine_host *host,
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err);
/* "run --runtime … --interactive …": docker with a runtime that is a kernel of its own. Ends with
 * the image; what the stage is to do is the caller's to append. */
int bawn_engine_far_args(const struct bawn_engine_host *host, const struct bawn_near_job *job,
	struct bawn_near_args *args, struct bawn_error *err);
/* "run --detach …": a box. The container's own process only waits. `id` names the container. */
int bawn_engine_box_args(enum bawn_engine_kind kind, const struct bawn_engine_host *host,
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err);
/* "exec …": the stage in a box that runs. */
int bawn_engine_exec_args(enum bawn_engine_kind kind, const struct bawn_engine_host *host,
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err);
/* "rm --force …" */
void bawn_engine_remove_args(
	enum bawn_engine_kind kind, const char *id, struct bawn_near_args *args);

/* engine_seccomp.c: the engine's filter, as text: what the stage needs to build its own, which is
 * stricter, and what the plan allows. */
void bawn_engine_seccomp(const struct bawn_plan *plan, struct bawn_buf *ret);

/* engine_image.c: an image without a system, for runs that use this host's. It holds the symbolic
 * links and mount points of the plan, and its name is made of them. */
const char *bawn_engine_base_name(struct bawn_arena *a, const struct bawn_plan *plan);
int bawn_engine_base_tar(
	const struct bawn_plan *plan, struct bawn_buf *ret, struct bawn_error *err);
/* Bring it into the engine. */
int bawn_engine_make_base(
	const char *program, const struct bawn_plan *plan, struct bawn_error *err);

/* engine.c: what an engine said, as an error for people. */
#define BAWN_ENGINE_NO_IMAGE (-ENODATA) /* our own image is to be made first */
int bawn_engine_explain(
	const char *engine, const struct bawn_plan *plan, const char *said, struct bawn_error *err);

/* engine_tool.c: one command of the engine, to its end. */
struct bawn_engine_call {
	const char *const *argv; /* argv[0] is looked for along PATH */
	const char *env;         /* NULL, or a variable that it gets besides ours */
	const void *input;       /* its standard input, or NULL */
	size_t input_len;
	int timeout_ms;
	int status;          /* as from waitpid; set when it ended */
	struct bawn_buf out; /* what it wrote, up to 1 MiB each; the caller's to free */
	struct bawn_buf err;
	/* NULL, or told of each whole line of either stream as it comes */
	void (*line)(void *data, const char *text, size_t len);
	void *data;
};
/* 0 when it ended with status 0; else an error with the last line that it wrote. */
int bawn_engine_call(struct bawn_engine_call *c, struct bawn_error *err);
void bawn_engine_call_done(struct bawn_engine_call *c);
#define _cleanup_call_ _cleanup_(bawn_engine_call_done)
