/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One control is one thing that a wall does. A plan demands a set of them, a backend's receipt
 * names those in force, and the audit log names both. Append only: the names are stable.
 */

#include <stdint.h>

#define BAWN_CONTROLS(X)                                                                  \
	X(FS_READ, "fs.read", "only granted paths can be read")                           \
	X(FS_WRITE, "fs.write", "only granted paths can be written")                      \
	X(FS_DENY, "fs.deny", "denied paths inside granted ones are out of reach")        \
	X(FS_EXEC, "fs.exec", "nothing is executed from listed directories")              \
	X(FS_PROTECT, "fs.protect", "agent and git configuration cannot be changed")      \
	X(NET_NONE, "net.none", "no network beyond the sandbox")                          \
	X(NET_EGRESS, "net.egress", "network only through the egress proxy")              \
	X(NET_SSRF, "net.ssrf", "internal addresses cannot be reached")                   \
	X(IPC, "ipc", "no sockets, shared memory or queues of the host")                  \
	X(PROC, "proc", "processes outside cannot be signalled, traced or read")          \
	X(SYSCALLS, "syscalls", "dangerous system calls are refused")                     \
	X(NESTED, "nested", "no new namespaces")                                          \
	X(PRIVILEGE, "privilege", "no capabilities and none to be gained")                \
	X(ENV, "env", "the environment holds only what the policy passes")                \
	X(LIMIT_MEMORY, "limit.memory", "memory of the whole tree")                       \
	X(LIMIT_CPU, "limit.cpu", "processor share of the whole tree")                    \
	X(LIMIT_PROCESSES, "limit.processes", "processes and threads of the whole tree")  \
	X(LIMIT_FILES, "limit.files", "open files of each process")                       \
	X(LIMIT_DISK, "limit.disk", "private temporary space, and room left on the disk") \
	X(LIMIT_TIME, "limit.time", "wall-clock time")                                    \
	X(LIMIT_OUTPUT, "limit.output", "bytes written to standard output and error")     \
	X(SECRETS, "secrets", "secrets stay outside, leaks are found")                    \
	X(SNAPSHOT, "snapshot", "what the call changes can be undone")

enum bawn_control_index {
#define X(id, name, help) BAWN_CTLI_##id,
	BAWN_CONTROLS(X)
#undef X
	BAWN_CTL_COUNT
};

enum bawn_control {
#define X(id, name, help) BAWN_CTL_##id = 1u << BAWN_CTLI_##id,
	BAWN_CONTROLS(X)
#undef X
};

const char *bawn_control_name(unsigned index); /* NULL past the end */
const char *bawn_control_help(unsigned index);
/* "memory" for BAWN_CTL_LIMIT_MEMORY; the whole name for a control that is no limit. */
const char *bawn_limit_name(uint32_t bit);
/* The bit of a control by name, all bits for "all", 0 if there is none. */
uint32_t bawn_control_find(const char *name);
