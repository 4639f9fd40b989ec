/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the system call filter of bawn-egress as a C header, while building. */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "gen-filter.h"

/* Whatever the arguments. */
static const char *const plain[] = {
	"epoll_wait",
	"epoll_pwait",
	"epoll_ctl",
	"poll",
	"ppoll",
	"read",
	"readv",
	"write",
	"writev",
	"recvfrom",
	"recvmsg",
	"sendto",
	"sendmsg",
	"accept4",
	"connect",
	"getsockopt",
	"setsockopt",
	"getsockname",
	"getpeername",
	"shutdown",
	"splice",
	"pipe2",
	"close",
	"fcntl",
	"clock_gettime",
	"gettimeofday",
	"time",
	"getrandom",
	"brk",
	"munmap",
	"madvise",
	"futex",
	"restart_syscall",
	"rt_sigreturn",
	"rt_sigprocmask",
	"exit",
	"exit_group",
	"getpid", /* OpenSSL's random numbers look for a fork */
	"getrlimit",
	"prlimit64",
};
static const struct checked checked[] = {
	{"socket", 0, 0xffffffff, AF_INET},
	{"socket", 0, 0xffffffff, AF_INET6},
	{"socketpair", 0, 0xffffffff, AF_UNIX},
	{"mmap", 2, PROT_EXEC, 0},
	{"mprotect", 2, PROT_EXEC, 0},
	{"mremap", 3, 0, 0},
	{"ioctl", 1, 0xffffffff, FIONREAD},
};

int main(int argc, char *argv[])
{
	static const struct filter f = {
		.program = "gen-door-seccomp",
		.name = "bawn_prog_door",
		.plain = plain,
		.n_plain = sizeof(plain) / sizeof(plain[0]),
		.checked = checked,
		.n_checked = sizeof(checked) / sizeof(checked[0]),
	};

	return filter_main(argc, argv, &f);
}
