/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the system call filter of bawn-egress as a C header. Runs while building, on the target's
 * kind of machine: the header refuses to be compiled for another one. */

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>

#include <linux/filter.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#if defined(__x86_64__)
#define MACHINE "__x86_64__"
#elif defined(__aarch64__)
#define MACHINE "__aarch64__"
#else
#error "no system call profile for this architecture yet"
#endif

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
/* One argument must have (or must not have) one value. */
static const struct {
	const char *name;
	unsigned int arg;
	uint64_t mask, value;
} checked[] = {
	{"socket", 0, 0xffffffff, AF_INET},
	{"socket", 0, 0xffffffff, AF_INET6},
	{"socketpair", 0, 0xffffffff, AF_UNIX},
	{"mmap", 2, PROT_EXEC, 0},
	{"mprotect", 2, PROT_EXEC, 0},
	{"mremap", 3, 0, 0},
	{"ioctl", 1, 0xffffffff, FIONREAD},
};

static int add_all(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(plain) / sizeof(plain[0]); i++) {
		int nr = seccomp_syscall_resolve_name(plain[i]);

		if (nr != __NR_SCMP_ERROR) /* not every machine has all of them */
			r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
		if (r == -EDOM)
			r = 0;
	}
	for (size_t i = 0; r == 0 && i < sizeof(checked) / sizeof(checked[0]); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW,
			seccomp_syscall_resolve_name(checked[i].name), 1,
			SCMP_CMP(checked[i].arg, SCMP_CMP_MASKED_EQ, checked[i].mask,
				checked[i].value));
	return r;
}

static int put(FILE *f, scmp_filter_ctx ctx)
{
	FILE *tmp = tmpfile();
	struct sock_filter one;
	int r = tmp ? seccomp_export_bpf(ctx, fileno(tmp)) : -errno;

	if (r < 0 || fseek(tmp, 0, SEEK_SET) != 0)
		return r < 0 ? r : -EIO;
	(void)fprintf(f,
		"/* Made by tools/gen-door-seccomp.c. */\n#pragma once\n#if !defined(" MACHINE
		")\n#error \"generated for another architecture\"\n#endif\n"
		"#include <linux/filter.h>\n"
		"static struct sock_filter bawn_prog_door[] = {\n");
	while (fread(&one, sizeof(one), 1, tmp) == 1)
		(void)fprintf(f, "\t{0x%02x, %u, %u, 0x%08xu},\n", one.code, one.jt, one.jf, one.k);
	(void)fprintf(f, "};\n");
	(void)fclose(tmp);
	return 0;
}

int main(int argc, char *argv[])
{
	/* what is not listed ends the door: it is never a mistake of ours that should go on */
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	FILE *f = argc == 2 ? fopen(argv[1], "we") : NULL;
	int r;

	if (!f || !ctx) {
		(void)fprintf(stderr, "usage: gen-door-seccomp HEADER\n");
		return 2;
	}
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	r = add_all(ctx);
	if (r == 0)
		r = put(f, ctx);
	seccomp_release(ctx);
	if (fclose(f) != 0)
		r = -EIO;
	if (r < 0)
		(void)fprintf(stderr, "gen-door-seccomp: error %d\n", -r);
	return r < 0;
}
