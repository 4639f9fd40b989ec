/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Walls whose mounts and namespaces another program builds on this kernel: bubblewrap, nsjail, the
 * container engines. That program, the tool, starts our own stage inside, `bawn-inside`, which is
 * the same init as native's (native/init.h) with BAWN_TIER_NEAR: it checks what the tool was asked
 * for, adds what only we can (hidden paths, no-exec, the network's listeners, Landlock, system
 * call filter, broker, meter) and speaks init's protocol with the host process.
 *
 *   host process ── tool ── bawn-inside (pid 1 of its namespace) ── command
 *        └──── SOCK_SEQPACKET ────┘
 *
 * The first datagram is the handover (inside/handover.h). When the socket closes, everything inside
 * dies; when the host process dies, a keeper runs the tool's clean-up.
 *
 * A tool is a `struct bawn_tool` and a backend whose prepare() calls bawn_near_prepare() with it;
 * all other callbacks of that backend are the ones below.
 */

#include "backend/backend.h"
#include "backend/native/link.h"
#include "backend/native/scratch.h"
#include "base/arena.h"

#define BAWN_NEAR_FDS_MAX 512

/* What a tool's builders are told. Strings and descriptors belong to the caller. */
struct bawn_near_job {
	const struct bawn_plan *plan;
	const char *program; /* the tool, absolute */
	const char *inside;  /* bawn-inside on the host, absolute */
	int inside_fd;       /* the same, open: can be run as /proc/self/fd/N */
	const char
		*socket; /* bawn-inside's argument after "near": "fd:N". With by_path it is the
			    builder that says "unix:PATH", with the path inside of `dir`/socket */
	const char
		*dir; /* by_path: the private directory of the run (0700), to be bound; else NULL */
	const char *id; /* a name for this run that nobody else has: [a-z0-9-]+ */
};

/* A command line in the making. The first failure sticks (as in base/buf.h). */
struct bawn_near_args {
	struct bawn_arena *a;
	struct bawn_strlist argv;   /* argv[0] is the program's path; set by the caller */
	int fds[BAWN_NEAR_FDS_MAX]; /* inherited by the tool under the same number; owned here */
	size_t n_fds;
	int failed; /* 0 or a negative errno */
};

/* Append words; the list ends with NULL. They are not copied: literals, plan strings, arena. */
void bawn_near_add(struct bawn_near_args *args, ...) __attribute__((sentinel));
void bawn_near_addf(struct bawn_near_args *args, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A descriptor with these bytes in it, to be read from the start by the tool; its number, or -1. */
int bawn_near_data(struct bawn_near_args *args, const void *data, size_t len);

/*
 * What a bind of the plan shows, open: a name could lead elsewhere by the time that the tool gets
 * to it. Its number; -ENOENT if it is optional and not there; else a failure that is in `err` as
 * well.
 */
int bawn_near_open(struct bawn_near_args *args, const struct bawn_mount *m, struct bawn_error *err);
struct bawn_tool {
	const char *program; /* looked for in the system's directories, never along PATH */
	const char *remedy;  /* what to do when it is not there */
	const char *walls;   /* what it builds, for people: "bubblewrap: namespaces (…)" */
	bool by_path; /* bawn-inside connects to `dir`/socket; else it inherits a descriptor */
	bool follow_parent; /* it stays as bawn-inside's parent: who loses it may die */
	bool cgroups;       /* it runs in control groups of ours; else limits are its own matter */
	bool finishes;      /* killed halfway it leaves processes behind: it is let finish, and then
			       finds      nobody at the socket */
	int setup_ms;       /* how long it may take until bawn-inside answers; 0: the usual */

	/* The command line that ends with "bawn-inside near SOCKET". */
	int (*build)(const struct bawn_near_job *job, struct bawn_near_args *args,
		struct bawn_error *err);
	/* Optional. The command that removes what is left of a run (container `id`); args->argv is
	 * empty. Run by the keeper when the host process was killed, and at the end of a run that
	 * did not end by itself. Its output is dropped. */
	int (*clean)(const struct bawn_near_job *job, struct bawn_near_args *args,
		struct bawn_error *err);
	/* Optional. Limits (BAWN_CTL_LIMIT_MEMORY, _CPU, _PROCESSES, _DISK) that the tool's own
	 * options enforce for this plan: bawn-inside does not meter them. */
	uint32_t (*limits)(const struct bawn_plan *plan);
	/* Optional. What the tool wrote to its stderr, as an error for people, when bawn-inside
	 * never answered. Without it the last line of `said` is quoted. */
	int (*explain)(const struct bawn_plan *plan, const char *said, struct bawn_error *err);
};

/* The instance of such a backend. */
struct bawn_near {
	struct bawn_instance in;
	const struct bawn_tool *tool;
	struct bawn_link link;
	struct bawn_arena *arena;
	struct bawn_scratch keeper;
	int listener;  /* by_path: until bawn-inside has connected */
	int said;      /* what the tool writes to its stdout and stderr */
	int parcel[4]; /* for the handover: stdio and the memory file with the plan */
	bool over;     /* everything inside ended by itself */
};

/* What backends that are tools have in common; the callbacks follow. */
#define BAWN_NEAR_BACKEND                                                               \
	.abi = BAWN_BACKEND_ABI, .level = BAWN_LEVEL_PROCESS, .tier = BAWN_TIER_NEAR,   \
	.instance_size = sizeof(struct bawn_near), .await = bawn_near_await,            \
	.start = bawn_near_start, .event = bawn_near_event, .signal = bawn_near_signal, \
	.usage = bawn_near_usage, .destroy = bawn_near_destroy

int bawn_near_prepare(struct bawn_instance *in, const struct bawn_tool *tool,
	const struct bawn_plan *plan, const int stdio[3], struct bawn_error *err);
int bawn_near_await(struct bawn_instance *in, struct bawn_error *err);
int bawn_near_start(struct bawn_instance *in, struct bawn_error *err);
int bawn_near_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err);
int bawn_near_signal(struct bawn_instance *in, int signo, struct bawn_error *err);
void bawn_near_usage(struct bawn_instance *in, struct bawn_usage *ret);
void bawn_near_destroy(struct bawn_instance *in);

/* Find the tool: its absolute path in `dst`, or -ENOENT with BAWN_ERR_UNSUPPORTED and the remedy.
 */
int bawn_near_find(const struct bawn_tool *tool, char *dst, size_t size, struct bawn_error *err);
/* The first line that "PROGRAM --version" prints; "" if there is none. */
void bawn_near_version(const char *program, char *dst, size_t size);
/* Probe by doing: the version from "PROGRAM --version", then a wall around nothing with `be`. With
 * `image` (may be NULL) in the plan's options. */
int bawn_near_probe(const struct bawn_backend *be, const struct bawn_tool *tool, const char *image,
	struct bawn_probe *ret, struct bawn_error *err);

/* The tools; outside of their own files only for tests of their command lines. */
extern const struct bawn_tool bawn_tool_bwrap;
extern const struct bawn_tool bawn_tool_nsjail;
