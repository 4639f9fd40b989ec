/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * System calls that Debian 12's libc has no wrapper for, and the constants of kernels newer than
 * its headers. All wrappers return -1 with errno, as libc would.
 */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/types.h>

static inline int bawn_openat2(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags, .resolve = resolve};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static inline int bawn_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

static inline int bawn_pidfd_send_signal(int pidfd, int signo)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
}

/* execve without the casts that its prototype asks for. */
static inline void bawn_exec(const char *path, const char *const *argv, const char *const *envp)
{
	(void)syscall(SYS_execve, path, argv, envp);
}

/* Keep a process that sleeps off our processor. True if so: then `ret_all` is what to undo it with.
 */
static inline bool bawn_sched_elsewhere(pid_t pid, cpu_set_t *ret_all)
{
	int here = sched_getcpu();
	cpu_set_t others;

	if (here < 0 || sched_getaffinity(0, sizeof(*ret_all), ret_all) < 0 ||
		CPU_COUNT(ret_all) < 2)
		return false;
	others = *ret_all;
	CPU_CLR((size_t)here, &others);
	return sched_setaffinity(pid, sizeof(others), &others) == 0;
}

/*
 * Let a new child start on another processor than ours, if there is one: there are kernels (virtual
 * machines that pack their processors) where it would wait until we sleep. It may go anywhere
 * afterwards.
 */
static inline void bawn_sched_beside(pid_t child)
{
	cpu_set_t all;

	if (bawn_sched_elsewhere(child, &all))
		(void)sched_setaffinity(child, sizeof(all), &all);
}

static inline int bawn_setsid(void)
{
	return (int)syscall(SYS_setsid);
}

struct bawn_landlock_ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct bawn_landlock_path_beneath {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

static inline int bawn_landlock_create_ruleset(
	const struct bawn_landlock_ruleset_attr *attr, size_t size, uint32_t flags)
{
	return (int)syscall(SYS_landlock_create_ruleset, attr, size, flags);
}

static inline int bawn_landlock_add_path(int ruleset, const struct bawn_landlock_path_beneath *rule)
{
	return (int)syscall(SYS_landlock_add_rule, ruleset, 1 /* PATH_BENEATH */, rule, 0);
}

static inline int bawn_landlock_restrict_self(int ruleset, uint32_t flags)
{
	return (int)syscall(SYS_landlock_restrict_self, ruleset, flags);
}
