/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dangerous system calls, each with arguments that do no harm: `sys NAME` says "ok" if the kernel
 * got as far as doing the work or finding fault with an argument, and the error if it was refused.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "probe.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

static const char none[] = "/bawn-no-such";
static char room[4096];

#define P(x) ((long)(intptr_t)(x))

struct call {
	const char *name;
	long nr;
	long arg[6];
};

static const struct call *calls(size_t *n)
{
	static struct timespec now;
	static struct call v[] = {
		{"bpf", SYS_bpf, {0, P(0), 0}},
		{"perf_event_open", SYS_perf_event_open, {0, 0, -1, -1, 0}},
		{"userfaultfd", SYS_userfaultfd, {1}},
		{"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1}},
		{"add_key", SYS_add_key, {0, 0, 0, 0, KEY_SPEC_PROCESS_KEYRING}},
		{"request_key", SYS_request_key, {0, 0, 0, 0}},
		{"personality", SYS_personality, {0x0400000}},
		{"kexec_load", SYS_kexec_load, {0, 17, 0, 0xffff}},
		{"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 0xffff}},
		{"init_module", SYS_init_module, {0, 0, 0}},
		{"finit_module", SYS_finit_module, {-1, 0, 0}},
		{"delete_module", SYS_delete_module, {0, 0}},
		{"swapon", SYS_swapon, {0, 0}},
		{"swapoff", SYS_swapoff, {0}},
		{"quotactl", SYS_quotactl, {0x800004 << 8, 0, 0, 0}},
		{"acct", SYS_acct, {1}},
		{"syslog", SYS_syslog, {10, 0, 0}},
		{"open_tree", SYS_open_tree, {AT_FDCWD, 0, 0}},
		{"open_tree_clone", SYS_open_tree, {AT_FDCWD, 1, 1}},
		{"move_mount", SYS_move_mount, {-1, 0, -1, 0, 0}},
		{"fsopen", SYS_fsopen, {0, 0}},
		{"fsmount", SYS_fsmount, {-1, 0, 0}},
		{"fspick", SYS_fspick, {AT_FDCWD, 0, 0}},
		{"mount_setattr", SYS_mount_setattr, {-1, 0, 0, 0, 0}},
		{"mount", SYS_mount, {0, 0, 0, 0, 0}},
		{"umount2", SYS_umount2, {0, 0}},
		{"pivot_root", SYS_pivot_root, {0, 0}},
		{"chroot", SYS_chroot, {1}},
#ifdef SYS_iopl
		{"iopl", SYS_iopl, {3}},
		{"ioperm", SYS_ioperm, {0x80, 1, 1}},
		{"modify_ldt", SYS_modify_ldt, {0, P(room), 16}},
#endif
		{"io_uring_setup", SYS_io_uring_setup, {4, P(room)}},
		{"io_uring_enter", SYS_io_uring_enter, {-1, 0, 0, 0, 0, 0}},
		{"io_uring_register", SYS_io_uring_register, {-1, 0, 0, 0}},
		{"clock_settime", SYS_clock_settime, {CLOCK_REALTIME, P(&now)}},
		{"settimeofday", SYS_settimeofday, {0, 0}},
		{"sethostname", SYS_sethostname, {0, 1}},
		{"setdomainname", SYS_setdomainname, {0, 1}},
		{"reboot", SYS_reboot, {0, 0, 0, 0}},
		{"fanotify_init", SYS_fanotify_init, {0, 0}},
		{"memfd_secret", SYS_memfd_secret, {0}},
		{"kcmp", SYS_kcmp, {1, 1, 1, 0, 0}},
		{"move_pages", SYS_move_pages, {1, 0, 0, 0, 0, 0}},
		{"migrate_pages", SYS_migrate_pages, {1, 0, 0, 0}},
		{"lookup_dcookie", SYS_lookup_dcookie, {0, 0, 0}},
		{"process_madvise", SYS_process_madvise, {-1, 0, 0, 0, 0}},
	};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	*n = sizeof(v) / sizeof(v[0]);
	return v;
}

/* Where a call wants a path, an address of nothing would hide the refusal behind EFAULT. */
static long text_arg(const char *name, int i, long arg)
{
	static const char *const paths[] = {"swapon", "swapoff", "umount2", "pivot_root",
		"open_tree", "fspick", "delete_module", "fsopen"};

	if (i == 1 && arg == 1 && !strcmp(name, "open_tree_clone"))
		return P("/");
	if (i == 0 && arg == 1 && !strcmp(name, "chroot"))
		return P("/");
	if (i == 0 && arg == 1 && !strcmp(name, "acct"))
		return P(none);
	for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++) {
		int at = paths[k][0] == 'o' || !strcmp(paths[k], "fspick") ? 1 : 0;

		if (!strcmp(name, paths[k]) && i == at && !arg)
			return P(none);
	}
	return arg;
}

static long do_sys(char **a)
{
	size_t n = 0;
	const struct call *v = calls(&n);
	long arg[6], r = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(v[i].name, a[0]) != 0)
			continue;
		for (int k = 0; k < 6; k++)
			arg[k] = text_arg(v[i].name, k, v[i].arg[k]);
		r = rc(syscall(v[i].nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]));
		if (r >= 0 || r == -EPERM || r == -ENOSYS || r == -EACCES)
			return r;
		(void)printf("reached %s\n", strerrorname_np((int)-r));
		return 0;
	}
	(void)fprintf(stderr, "escape-probe: no call '%s'\n", a[0]);
	_exit(2);
}

static long do_sys_forked(char **a)
{
	return probe_forked(do_sys, a);
}

static long do_list(char **a)
{
	size_t n = 0;
	const struct call *v = calls(&n);

	(void)a;
	for (size_t i = 0; i < n; i++)
		(void)printf("%s\n", v[i].name);
	return 0;
}

#ifdef __x86_64__
static long x32(char **a)
{
	return rc(syscall(0x40000000L | probe_num(a[0])));
}

static long int80(long nr, long b, long c)
{
	long r = 0;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(b), "c"(c), "d"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

static long int80_getpid(char **a)
{
	(void)a;
	return int80(20, 0, 0);
}

/* socketcall(SOCKET, {AF_INET, SOCK_STREAM, 0}) through the old door. */
static long int80_socket(char **a)
{
	int *args = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	(void)a;
	if (args == MAP_FAILED)
		return -errno;
	args[0] = 16; /* AF_NETLINK: refused everywhere inside */
	args[1] = 3;
	args[2] = 0;
	return int80(102, 1, P(args));
}
#else
static long x32(char **a)
{
	(void)a;
	return -ENOSYS;
}

static long int80_getpid(char **a)
{
	return x32(a);
}

static long int80_socket(char **a)
{
	return x32(a);
}
#endif

static long do_x32(char **a)
{
	return probe_forked(x32, a);
}

static long do_int80(char **a)
{
	return probe_forked(int80_getpid, a);
}

static long do_int80_socket(char **a)
{
	return probe_forked(int80_socket, a);
}

static long do_landlock(char **a)
{
	long abi = syscall(
		SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);

	(void)a;
	if (abi >= 0)
		(void)printf("abi %ld\n", abi);
	return rc(abi);
}

const struct probe probes_sys[] = {
	{"sys", 1, do_sys_forked},
	{"sys-list", 0, do_list},
	{"x32", 1, do_x32},
	{"int80", 0, do_int80},
	{"int80-socket", 0, do_int80_socket},
	{"landlock", 0, do_landlock},
	{0},
};
