/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sandbox's init: the one child of the host process. It builds the wall around itself, reports
 * what is in force, waits for the word, starts the command and stays with it as reaper, path broker
 * and meter. When it ends, everything inside has ended.
 *
 *   host process ── SOCK_SEQPACKET ── init ──┬── command (+ notify filter)
 *   (supervise)      both see EOF            └── orphans of the command
 */

#include <stdint.h>

#include <linux/filter.h>

#include "backend/backend.h"
#include "backend/native/cgroup.h"
#include "backend/native/wall.h"

#define BAWN_PORTS_MAX    16
#define BAWN_INIT_FDS_MAX (1 + BAWN_PORTS_MAX + BAWN_LISTENERS_MAX)

enum bawn_init_kind {
	BAWN_INIT_READY = 100, /* the wall stands: enforced, listeners, text if connections cannot
				  be redirected; descriptors attached: terminal, loopback ports,
				  listeners */
	BAWN_INIT_ERROR,       /* it does not: error */
	BAWN_INIT_PROGRESS,    /* before either: it takes long, but it goes on */
	BAWN_INIT_SOON,        /* before either: it is all but done; cpu */
			       /* else: enum bawn_event_kind */
};

/* init → host. One datagram each. */
struct bawn_init_msg {
	uint32_t kind;
	int32_t status;
	uint32_t control;
	uint32_t enforced;
	uint32_t listeners; /* bit N: bawn_listener_kinds[N] is there */
	int32_t cpu; /* SOON, EXITED: where init runs; who runs elsewhere need not sleep until it is
			done */
	struct bawn_usage usage;
	union {
		char text[BAWN_EVENT_TEXT_MAX];
		struct bawn_error error;
	};
};

/* host → init. */
struct bawn_init_order {
	int32_t signo; /* 0: start the command; else: send this signal to it */
};

/* What somebody else's wall is checked against; NEAR only. */
struct bawn_outer {
	bool follow_parent; /* our parent is the tool: die with it */
	bool shared;     /* a box: others run in the same pid namespace, and we are not its first */
	uint32_t limits; /* BAWN_CTL_LIMIT_* that it enforces itself */
	uint64_t host_ns[BAWN_NS_COUNT]; /* the host process's namespaces, by inode */
	const struct bawn_place *places; /* one for each mount of the plan, or NULL */
};

/* What init needs besides the plan; made by the host before the clone. */
struct bawn_init {
	const struct bawn_plan *plan; /* NULL: it comes through the socket (inside/parcel.h), with
					 all that the handover holds, while the wall is begun */
	enum bawn_tier tier;          /* the plan's */
	int sock;
	int stdio[3];
	uid_t uid;
	gid_t gid;
	const struct bawn_cgroup *cgroup; /* to enter, or NULL */
	bool reset_signals;               /* handlers of the host process are still set */
	bool born_inside;                 /* CLONE_INTO_CGROUP was used */
	bool groups_follow;               /* they come through the socket: bawn_cgroup_join() */
	int namespaces;                   /* CLONE_NEW* that it was not born into, but makes */
	uint32_t by_cgroup; /* limits that a control group enforces: not the meter's business */
	struct bawn_outer outer;
	struct sock_fprog base;
	struct sock_fprog notify;
};

/* Never returns. */
void bawn_init_main(const struct bawn_init *in) __attribute__((noreturn));
