/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What enforces a control, for `bawn explain`. Backends of one tier are built alike, so a table per
 * tier says it for all of them; what one does differently it says itself.
 */
#include "backend/backend.h"

#define GENERIC                                                                         \
	[BAWN_CTLI_ENV] = "fresh environment", [BAWN_CTLI_LIMIT_TIME] = "supervisor",   \
	[BAWN_CTLI_LIMIT_OUTPUT] = "supervisor", [BAWN_CTLI_NET_SSRF] = "egress proxy", \
	[BAWN_CTLI_SECRETS] = "inspection of output"

/* What init does once a root and namespaces are there, whoever made them. */
#define INIT                                                                       \
	[BAWN_CTLI_PRIVILEGE] = "no capabilities, no_new_privs, nosuid",           \
	[BAWN_CTLI_NET_EGRESS] = "network namespace, egress proxy",                \
	[BAWN_CTLI_LIMIT_MEMORY] = "metering", [BAWN_CTLI_LIMIT_CPU] = "metering", \
	[BAWN_CTLI_LIMIT_PROCESSES] = "rlimit, metering",                          \
	[BAWN_CTLI_LIMIT_FILES] = "rlimit, metering",                              \
	[BAWN_CTLI_LIMIT_DISK] = "tmpfs size, metering"

#define NAMESPACES                                                                                \
	[BAWN_CTLI_FS_READ] = "mount namespace, Landlock",                                        \
	[BAWN_CTLI_FS_WRITE] = "read-only mounts, Landlock",                                      \
	[BAWN_CTLI_FS_DENY] = "covering mounts", [BAWN_CTLI_FS_EXEC] = "noexec mounts, Landlock", \
	[BAWN_CTLI_FS_PROTECT] = "read-only mounts, path broker",                                 \
	[BAWN_CTLI_NET_NONE] = "network namespace", [BAWN_CTLI_SYSCALLS] = "seccomp",             \
	[BAWN_CTLI_NESTED] = "seccomp", [BAWN_CTLI_IPC] = "ipc, network and mount namespaces",    \
	[BAWN_CTLI_PROC] = "pid namespace, Landlock scopes"

static const char *const tiers[][BAWN_CTL_COUNT] = {
	[BAWN_TIER_FULL] = {GENERIC, INIT, NAMESPACES},
	[BAWN_TIER_CHROOT] = {GENERIC, INIT, NAMESPACES},
	[BAWN_TIER_NEAR] = {GENERIC, INIT, NAMESPACES},
	[BAWN_TIER_LANDLOCK] =
		{
			GENERIC,
			[BAWN_CTLI_FS_READ] = "Landlock",
			[BAWN_CTLI_FS_WRITE] = "Landlock",
			[BAWN_CTLI_FS_DENY] = "Landlock, path broker",
			[BAWN_CTLI_FS_EXEC] = "Landlock",
			[BAWN_CTLI_FS_PROTECT] = "path broker",
			[BAWN_CTLI_NET_NONE] = "seccomp, Landlock",
			[BAWN_CTLI_IPC] = "seccomp, Landlock scopes",
			[BAWN_CTLI_PROC] = "Landlock scopes, seccomp",
			[BAWN_CTLI_SYSCALLS] = "seccomp",
			[BAWN_CTLI_NESTED] = "seccomp",
			[BAWN_CTLI_PRIVILEGE] = "no capabilities, no_new_privs",
			[BAWN_CTLI_LIMIT_MEMORY] = "metering",
			[BAWN_CTLI_LIMIT_CPU] = "metering",
			[BAWN_CTLI_LIMIT_PROCESSES] = "metering",
			[BAWN_CTLI_LIMIT_FILES] = "rlimit, metering",
			[BAWN_CTLI_LIMIT_DISK] = "metering",
		},
	[BAWN_TIER_FAR] =
		{
			GENERIC,
			INIT,
			[BAWN_CTLI_FS_READ] = "files are brought in, another kernel",
			[BAWN_CTLI_FS_WRITE] = "changes are checked on the way back",
			[BAWN_CTLI_FS_DENY] = "not brought in",
			[BAWN_CTLI_FS_EXEC] = "noexec mounts",
			[BAWN_CTLI_FS_PROTECT] = "changes are checked on the way back",
			[BAWN_CTLI_NET_NONE] = "no network device",
			[BAWN_CTLI_IPC] = "another kernel",
			[BAWN_CTLI_PROC] = "another kernel",
			[BAWN_CTLI_SYSCALLS] = "another kernel, seccomp",
			[BAWN_CTLI_NESTED] = "another kernel, seccomp",
		},
};

const char *bawn_instance_by(const struct bawn_instance *in, unsigned i)
{
	const char *const *own = in->be->by;
	const char *text;

	if (i >= BAWN_CTL_COUNT || !(in->enforced & 1u << i))
		return "";
	if (in->by_cgroup & 1u << i)
		return "control group";
	text = own && own[i] ? own[i] : tiers[in->be->tier][i];
	return text ? text : "";
}
