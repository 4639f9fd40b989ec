/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the system call filter of bawn-vault as a C header, while building. */

#include <sys/mman.h>

#include "gen-filter.h"

/* The socket it was started with, memory, time, random numbers, keyrings. */
static const char *const plain[] = {
	"recvfrom",
	"sendto",
	"poll",
	"ppoll",
	"close",
	"clock_gettime",
	"nanosleep",
	"clock_nanosleep",
	"getrandom",
	"getpid",
	"brk",
	"munmap",
	"madvise",
	"mlock",
	"munlock",
	"futex",
	"add_key",
	"keyctl",
	"restart_syscall",
	"rt_sigreturn",
	"rt_sigprocmask",
	"exit",
	"exit_group",
};

static const struct checked checked[] = {
	{"mmap", 2, PROT_EXEC, 0},
	{"mprotect", 2, PROT_EXEC, 0},
	{"mremap", 3, 0, 0},
};

int main(int argc, char *argv[])
{
	static const struct filter f = {
		.program = "gen-vault-seccomp",
		.name = "bawn_prog_vault",
		.plain = plain,
		.n_plain = sizeof(plain) / sizeof(plain[0]),
		.checked = checked,
		.n_checked = sizeof(checked) / sizeof(checked[0]),
	};

	return filter_main(argc, argv, &f);
}
