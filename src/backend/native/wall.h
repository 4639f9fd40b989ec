/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pieces of the native wall. All of this runs in the sandbox's init, between clone and the
 * start of the command, in the order of the steps in init.c. Nothing here allocates memory.
 */

#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

/* Which file a bind of the plan shows on the host; all zero where there is none. */
struct bawn_place {
	uint64_t dev, ino;
};

/*
 * root.c: the fresh root. Everything that the plan binds, private /tmp and /dev, own /proc. What is
 * the same for every plan can be begun before it is known. When bawn_wall_root() returns, the new
 * root is "/" and the old one is gone; bawn_wall_root_left() makes sure of it.
 */
int bawn_wall_root_begin(struct bawn_error *err);
int bawn_wall_root(const struct bawn_plan *plan, struct bawn_error *err);
int bawn_wall_root_left(struct bawn_error *err);

/* landlock.c: the second wall. Returns the ABI in force (> 0). */
int bawn_wall_landlock(const struct bawn_plan *plan, struct bawn_error *err);
/* The newest Landlock ABI of this kernel, 0 if there is none. */
int bawn_landlock_abi(void);

/* privilege.c */
int bawn_wall_identity(
	uid_t uid, gid_t gid, struct bawn_error *err); /* id maps of the user namespace */
int bawn_wall_no_groups(struct bawn_error *err);       /* no supplementary groups; checked */
int bawn_wall_no_bounding(struct bawn_error *err);     /* what exec could give */
int bawn_wall_no_privilege(struct bawn_error *err);    /* capabilities, no_new_privs */

/* network.c */
#define BAWN_LISTENERS_MAX 6
/* What the door listens on inside, in the order of bawn_wall_listeners.fds. */
struct bawn_listener_kind {
	const char *name; /* as the door calls it */
	int family, type;
};
extern const struct bawn_listener_kind bawn_listener_kinds[BAWN_LISTENERS_MAX];
uint16_t bawn_listener_port(const struct bawn_egress_plan *e, size_t i);

struct bawn_wall_listeners {
	int fds[BAWN_LISTENERS_MAX]; /* -1: none, there is no IPv6 here */
	int redirect_error;          /* negative: connections are not redirected, … */
	const char *redirect_what;   /* … for this could not be had */
};
/*
 * The network namespace, made by helpers that share our memory and descriptors while we go on:
 * making one costs as much as all mounts together. Begin after descriptors were closed: it is made
 * when something can be read from `sock`, where the plan will come, and a message of kind PROGRESS
 * is sent there when it is done; with `lean`, before the loopback is up, for whoever waits for its
 * processor: join does that then. On a busy machine there are no helpers, and fill makes it all.
 * Fill once the plan is taken from it: with plan->egress, listeners and a redirect to them; join
 * before capabilities are dropped. A helper that failed fails the join or, where nothing in the
 * plan waits for the loopback, done, after which no helper is left. Unless plan->net_closed, the
 * namespace has a loopback of its own.
 */
int bawn_wall_network_begin(int sock, bool lean, struct bawn_error *err);
int bawn_wall_network_fill(const struct bawn_plan *plan, struct bawn_error *err);
int bawn_wall_network_join(
	const struct bawn_plan *plan, struct bawn_wall_listeners *ret, struct bawn_error *err);
int bawn_wall_network_done(struct bawn_error *err);
/* The same in the namespace that we are in already, which is ours alone. */
int bawn_wall_network_here(
	const struct bawn_plan *plan, struct bawn_wall_listeners *ret, struct bawn_error *err);
/* Listeners for plan->loopback_ports inside the network namespace. */
int bawn_wall_listen(const struct bawn_plan *plan, int *fds, struct bawn_error *err);

/* outer.c: the wall of BAWN_TIER_NEAR, which somebody else has begun. */
/* Where an engine binds the run's or box's private directory; out of sight before the command runs.
 */
#define BAWN_OUTER_DIR "/.bawn"
enum bawn_ns {
	BAWN_NS_PID,
	BAWN_NS_MNT,
	BAWN_NS_NET,
	BAWN_NS_IPC,
	BAWN_NS_COUNT
};
/* The inodes of our own namespaces; 0 where it cannot be told. */
void bawn_namespaces(uint64_t ret[BAWN_NS_COUNT]);
/* Refuses unless pid, mount and ipc namespaces are not those of the host process and we are the
 * first in ours, or `shared` says that we are one of several. */
int bawn_wall_outer_check(const uint64_t host[BAWN_NS_COUNT], bool shared, struct bawn_error *err);
/*
 * Get the right to finish the wall: that of the tool's own namespaces, or else new user, mount and
 * network namespaces. *ret_power is false when neither can be had; that is no error.
 */
int bawn_wall_outer_power(uid_t uid, gid_t gid, bool *ret_power, struct bawn_error *err);
/* Refuses unless the network namespace is not the host's and nothing but its loopback is up. */
int bawn_wall_outer_network(const uint64_t host[BAWN_NS_COUNT], struct bawn_error *err);
/*
 * Finish what is mounted as far as `power` goes (no-exec, masks in /proc, terminals; what came into
 * being after a box was made is protected and hidden), then look at all of it: what the plan wants
 * read-only is, and binds show what the host has there (`places`, one for each mount, or NULL).
 * *ret_claims are the controls that hold by it.
 */
int bawn_wall_outer_mounts(const struct bawn_plan *plan, const struct bawn_place *places,
	bool power, uint32_t *ret_claims, struct bawn_error *err);
/* Bytes in the private directories, which are file systems of their own each. */
uint64_t bawn_wall_outer_scratch(const struct bawn_plan *plan);
/* What is hidden cannot be opened; call without capabilities. */
int bawn_wall_outer_hidden(const struct bawn_plan *plan, struct bawn_error *err);
