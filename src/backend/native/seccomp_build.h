/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes filter programs from the tables with libseccomp. Used at build time by tools/gen-seccomp.c
 * for the default programs and at run time when the policy changes the profile; needs nothing else
 * of ours.
 */

#include <stdbool.h>
#include <stddef.h>

#include <linux/filter.h>

struct bawn_seccomp_profile {
	bool inet;                /* AF_INET and AF_INET6, streams and datagrams */
	bool unix_sockets;        /* socket(AF_UNIX); socketpair is always there */
	bool ipc;                 /* System V and POSIX message queues, semaphores, memory */
	bool broker;              /* pidfd_getfd and process_vm_readv, which the notification
				     filter then refuses */
	bool stage;               /* + what bawn-inside needs until it loads the filter proper */
	bool memfd_noexec;        /* memfd_create makes only files that can never be executed */
	const char *const *allow; /* NULL-terminated names, or NULL */
	const char *const *deny;
};

/* Both return 0 or a negative errno; *ret is from malloc. -EINVAL: `allow` or `deny` has a name
 * that is not a system call. `notify` names a broker mode by its number. */
int bawn_seccomp_build_base(
	const struct bawn_seccomp_profile *p, struct sock_filter **ret, size_t *ret_n);
int bawn_seccomp_build_notify(int mode, struct sock_filter **ret, size_t *ret_n);
bool bawn_seccomp_name_known(const char *name);
