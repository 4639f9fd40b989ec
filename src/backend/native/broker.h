/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The path broker. Mounts protect what exists; nothing in the kernel lets us forbid a name that
 * does not exist yet without putting a placeholder on the host. So system calls that could make
 * such a name are suspended (seccomp user notification) and carried out by the broker, which is the
 * sandbox's own init: same root, same Landlock domain, same identity, no privilege of its own. It
 * copies the arguments once, resolves the parent with openat2, checks, acts on (parent descriptor,
 * name) and injects the result: nothing the command changes in its memory later matters, and the
 * kernel is never told to CONTINUE a call whose refusal is policy.
 *
 * bind() and connect() are carried out on the caller's own socket: a bound name is guarded like
 * any other, and of the sockets in the file system only those that the plan lists and those bound
 * in this sandbox can be connected to.
 *
 * In the Landlock tier (no mounts of our own) the broker also guards existing protected and denied
 * paths, for every call that opens or changes a path.
 *
 * Not covered: execve (it cannot be done on behalf of another; Landlock decides about it), and
 * O_PATH opens, which give no access. Needs pidfd_getfd. A caller that is not dumpable cannot be
 * read and gets EACCES.
 *
 * Runs in: the sandbox's init, which must be able to read /proc. Opening a FIFO, or a file with a
 * lease, or connecting to a listener that is busy, forks a child that answers later: the init reaps
 * it like any other. Single-threaded: renames cannot race with checks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backend/native/broker_mode.h"
#include "base/error.h"
#include "plan/plan.h"

struct bawn_broker;

enum bawn_broker_mode bawn_broker_mode(const struct bawn_plan *plan);

/* Told of each refusal; `control` is BAWN_CTL_FS_PROTECT, _FS_DENY, _FS_WRITE, _IPC or
 * _NET_NONE. */
typedef void bawn_broker_report_fn(void *data, uint32_t control, const char *text);

/* `listener` is the notification descriptor; the broker owns it from here. */
int bawn_broker_new(const struct bawn_plan *plan, int listener, bawn_broker_report_fn *report,
	void *data, struct bawn_broker **ret, struct bawn_error *err);
/* Serve one request if one is waiting; never blocks. Call when the listener polls readable. Returns
 * 0, or -ENOENT when no process uses the filter any more. */
int bawn_broker_serve(struct bawn_broker *b);
int bawn_broker_fd(const struct bawn_broker *b);
struct bawn_broker *bawn_broker_free(struct bawn_broker *b);
