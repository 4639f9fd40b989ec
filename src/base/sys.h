/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * System calls that Debian 12's libc has no wrapper for, and the constants of kernels newer than
 * its headers. All wrappers return -1 with errno, as libc would.
 */

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
