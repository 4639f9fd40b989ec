/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * System call filters. The tables are data (syscalls.def, groups); the default programs are
 * compiled by libseccomp at build time (tools/gen-seccomp.c → seccomp-programs.h), so that a run
 * only loads them. libseccomp is called at run time only when the policy changes the profile.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

#include "backend/native/broker.h"
#include "base/error.h"
#include "plan/plan.h"

/*
 * The base filter: an allow-list (unknown calls: ENOSYS), EPERM for the dangerous ones, arguments
 * checked (clone flags, clone3 → ENOSYS, socket families and types: no Unix datagrams, ioctl
 * TIOCSTI/TIOCLINUX, personality, mknod, prlimit64 of others), any other architecture and x32 kill
 * the process. `tier` and the plan decide about sockets: in the Landlock tier AF_INET/AF_INET6 are
 * refused, and AF_UNIX socket() too (socketpair stays) unless plan->unix_open. plan->sys_allow /
 * sys_deny / net_closed / n_no_exec (memfd_create only with MFD_NOEXEC_SEAL) are honoured; only
 * sys_allow and sys_deny make a program at run time (some milliseconds). sys_allow does not open
 * sockets: that is the network's setting; nor, in the Landlock tier, System V ipc and message
 * queues, which are the host's there. Where a broker runs, pidfd_getfd and process_vm_readv are
 * allowed for its sake; load the notification filter, which refuses them, before the command runs.
 * *ret points to static memory or to memory from the arena.
 */
int bawn_seccomp_base(struct bawn_arena *a, const struct bawn_plan *plan, struct sock_fprog *ret,
	struct bawn_error *err);
/*
 * For a tool that loads a filter before it starts bawn-inside: the widest base filter, with the
 * plan's sys_allow and what bawn-inside still has to do (mounts, a user namespace, netlink). It
 * stays below the filter proper, which bawn-inside loads itself.
 */
int bawn_seccomp_stage(struct bawn_arena *a, const struct bawn_plan *plan, struct sock_fprog *ret,
	struct bawn_error *err);
/* The notification filter for a broker mode; also refuses seccomp(NEW_LISTENER) and the two calls
 * above. Static memory. */
void bawn_seccomp_notify(enum bawn_broker_mode mode, struct sock_fprog *ret);

/* Load into this thread (no_new_privs must be set). With `listener`, returns the descriptor. */
int bawn_seccomp_load(const struct sock_fprog *prog, bool listener, struct bawn_error *err);

/* True if `name` is a system call that libseccomp or our table knows: policy checks use a copy of
 * the names generated into base. */
bool bawn_seccomp_known(const char *name);
/* Write the default base program as raw struct sock_filter[] to `fd` (HK-4). */
int bawn_seccomp_export(int fd, struct bawn_error *err);
