/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes, namespaces, execution by odd ways, what is left after the parent has gone. */

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "probe.h"

static const struct probe_word spaces[] = {{"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS},
	{"pid", CLONE_NEWPID}, {"net", CLONE_NEWNET}, {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
	{"cgroup", CLONE_NEWCGROUP}, {"time", CLONE_NEWTIME}, {0}};

static pid_t pid_of(const char *s)
{
	return strcmp(s, "parent") ? (pid_t)probe_num(s) : getppid();
}

static long traced(pid_t pid, long r)
{
	if (r < 0)
		return -errno;
	(void)waitpid(pid, NULL, __WALL);
	return rc(ptrace(PTRACE_DETACH, pid, NULL, NULL));
}

static long do_attach(char **a)
{
	pid_t pid = pid_of(a[0]);

	return traced(pid, ptrace(PTRACE_ATTACH, pid, NULL, NULL));
}

static long do_seize(char **a)
{
	pid_t pid = pid_of(a[0]);

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
		return -errno;
	return traced(pid, ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
}

/* PID ADDRESS: the host side prints where its canary lies. */
static long do_vm(char **a, int nr)
{
	char text[] = "PWNED";
	struct iovec here = {text, sizeof(text)}, there = {NULL, sizeof(text)};
	uintptr_t at = (uintptr_t)strtoull(a[1], NULL, 0);

	memcpy(&there.iov_base, &at, sizeof(at));
	return rc(syscall(nr, pid_of(a[0]), &here, 1, &there, 1, 0));
}

static long do_vmwrite(char **a)
{
	return do_vm(a, SYS_process_vm_writev);
}

static long do_vmread(char **a)
{
	return do_vm(a, SYS_process_vm_readv);
}

/* The other side of the two above: says its number and an address, then waits. */
static long do_victim(char **a)
{
	static char canary[32] = "canary";

	(void)printf("%d %p\n", (int)getpid(), (void *)canary);
	(void)fflush(stdout);
	for (long t = probe_num(a[0]) * 10; t > 0 && !strcmp(canary, "canary"); t--)
		probe_nap(100);
	return strcmp(canary, "canary") ? -EIO : 0;
}

static long do_pidfd_getfd(char **a)
{
	_cleanup_close_ int pfd = (int)syscall(SYS_pidfd_open, pid_of(a[0]), 0);
	_cleanup_close_ int fd = -1;

	if (pfd < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_getfd, pfd, probe_num(a[1]), 0);
	return rc(fd);
}

static long do_kill(char **a)
{
	return rc(kill(pid_of(a[0]), (int)probe_num(a[1])));
}

static long do_tgkill(char **a)
{
	pid_t pid = pid_of(a[0]);

	return rc(syscall(SYS_tgkill, pid, pid, probe_num(a[1])));
}

static long do_sigqueue(char **a)
{
	return rc(sigqueue(pid_of(a[0]), (int)probe_num(a[1]), (union sigval){0}));
}

static long do_pidfd_signal(char **a)
{
	_cleanup_close_ int pfd = (int)syscall(SYS_pidfd_open, pid_of(a[0]), 0);

	if (pfd < 0)
		return -errno;
	return rc(syscall(SYS_pidfd_send_signal, pfd, probe_num(a[1]), NULL, 0));
}

/* A descriptor made to signal its owner: PID SIG, by F_SETOWN and SIGIO on a pipe. */
static long do_sigio(char **a)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return -errno;
	if (fcntl(p[0], F_SETOWN, pid_of(a[0])) || fcntl(p[0], F_SETSIG, (int)probe_num(a[1])) ||
		fcntl(p[0], F_SETFL, O_ASYNC))
		return -errno;
	return rc(write(p[1], "x", 1));
}

static long do_tiocsti(char **a)
{
	(void)a;
	return rc(ioctl(STDIN_FILENO, TIOCSTI, "x"));
}

/* The number's upper half is ignored by the kernel, and by a careless filter not. */
static long do_tiocsti_wide(char **a)
{
	(void)a;
	return rc(syscall(SYS_ioctl, STDIN_FILENO, 0x100000000UL | TIOCSTI, "x"));
}

static long do_tioclinux(char **a)
{
	char what = 2;

	(void)a;
	return rc(ioctl(STDIN_FILENO, TIOCLINUX, &what));
}

static long do_tty(char **a)
{
	_cleanup_close_ int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	(void)a;
	return rc(fd);
}

static long do_unshare(char **a)
{
	return rc(unshare((int)probe_word(spaces, a[0])));
}

static long reap(long pid)
{
	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(0);
	return rc(waitpid((pid_t)pid, NULL, __WALL));
}

static long do_clone(char **a)
{
	return reap(syscall(SYS_clone, probe_word(spaces, a[0]) | SIGCHLD, 0, 0, 0, 0));
}

static long do_clone3(char **a)
{
	struct clone_args ca = {
		.flags = (uint64_t)probe_word(spaces, a[0]), .exit_signal = SIGCHLD};

	return reap(syscall(SYS_clone3, &ca, sizeof(ca)));
}

/* PATH KIND */
static long do_setns(char **a)
{
	_cleanup_close_ int fd = open(a[0], O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return rc(setns(fd, (int)probe_word(spaces, a[1])));
}

/* PID RESOURCE-VALUE: raise or lower another process's limit on open files. */
static long do_prlimit(char **a)
{
	struct rlimit old = {0};

	if (prlimit(pid_of(a[0]), RLIMIT_NOFILE, NULL, &old))
		return -errno;
	return rc(prlimit(pid_of(a[0]), RLIMIT_NOFILE, &old, NULL));
}

/* NAME-NUMBER VALUE: raise an own limit to VALUE (-1 for infinity). */
static long do_raise(char **a)
{
	rlim_t v = (rlim_t)probe_num(a[1]);
	struct rlimit want = {v, v};

	return rc(setrlimit((__rlimit_resource_t)probe_num(a[0]), &want));
}

static long do_fdlist(char **a)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e = NULL;
	char path[300], to[256];

	(void)a;
	if (!d)
		return -errno;
	while ((e = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): no threads here */
		ssize_t n = 0;

		if (e->d_name[0] == '.' || probe_num(e->d_name) == dirfd(d))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		(void)printf("fd %s %.*s\n", e->d_name, (int)(n < 0 ? 0 : n), to);
	}
	return rc(closedir(d));
}

/* Any descriptor that works, whatever /proc shows. */
static long do_fdscan(char **a)
{
	(void)a;
	for (int i = 3; i < 4096; i++)
		if (fcntl(i, F_GETFD) >= 0)
			(void)printf("fd %d\n", i);
	return 0;
}

static long run(int fd, const char *name, int flags)
{
	/* What is executed is a copy of this program. */
	char *argv[] = {strdup("x"), strdup("ids"), NULL};
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		(void)syscall(SYS_execveat, fd, name, argv, environ, flags);
		_exit(errno);
	}
	free(argv[0]);
	free(argv[1]);
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static long do_memfd_exec(char **a)
{
	char buf[8192];
	ssize_t n = 0;
	int in = open(a[0], O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("x", MFD_CLOEXEC);

	if (in < 0 || fd < 0)
		return -errno;
	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			return -EIO;
	return run(fd, "", AT_EMPTY_PATH);
}

static long do_execveat(char **a)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : run(fd, "", AT_EMPTY_PATH);
}

static long do_exec_procfd(char **a)
{
	char path[40];
	int fd = open(a[0], O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return run(AT_FDCWD, path, 0);
}

static long do_exec(char **a)
{
	return run(AT_FDCWD, a[0], 0);
}

/* Map a program's bytes executable, as the dynamic linker does. */
static long do_mmap_exec(char **a)
{
	int fd = open(a[0], O_RDONLY | O_CLOEXEC);
	const void *p = NULL;

	if (fd < 0)
		return -errno;
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return p == MAP_FAILED ? -errno : 0;
}

/* SECONDS MARKER: two forks, own session, deaf; the first process ends at once. */
static long do_survive(char **a)
{
	pid_t pid = fork();

	if (pid)
		return rc(pid);
	(void)setsid();
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	if (fork())
		_exit(0);
	probe_nap(probe_num(a[0]) * 1000);
	_exit(0);
}

static long load(unsigned flags)
{
	struct sock_filter ins[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog prog = {1, ins};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return rc(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog));
}

static long do_listener(char **a)
{
	(void)a;
	return load(SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

/* A filter of one's own that allows all must not weaken the one that stands. */
static long do_weaken(char **a)
{
	long r = load(SECCOMP_FILTER_FLAG_TSYNC);

	if (r < 0)
		return r;
	return do_unshare(a);
}

static long do_dumpable(char **a)
{
	struct rlimit core = {0};

	(void)a;
	if (getrlimit(RLIMIT_CORE, &core))
		return -errno;
	(void)printf("core %llu\n", (unsigned long long)core.rlim_max);
	return core.rlim_max ? 0 : -EPERM;
}

static long do_setuid(char **a)
{
	return rc(setuid((uid_t)probe_num(a[0])));
}

/* Only the effective user that a setuid file would give. */
static long do_ids(char **a)
{
	(void)a;
	return rc(printf("uid %u euid %u\n", getuid(), geteuid()));
}

const struct probe probes_proc[] = {
	{"attach", 1, do_attach},
	{"seize", 1, do_seize},
	{"vmwrite", 2, do_vmwrite},
	{"vmread", 2, do_vmread},
	{"victim", 1, do_victim},
	{"pidfd-getfd", 2, do_pidfd_getfd},
	{"kill", 2, do_kill},
	{"tgkill", 2, do_tgkill},
	{"sigqueue", 2, do_sigqueue},
	{"pidfd-signal", 2, do_pidfd_signal},
	{"sigio", 2, do_sigio},
	{"tiocsti", 0, do_tiocsti},
	{"tiocsti-wide", 0, do_tiocsti_wide},
	{"tioclinux", 0, do_tioclinux},
	{"tty", 0, do_tty},
	{"unshare", 1, do_unshare},
	{"clone", 1, do_clone},
	{"clone3", 1, do_clone3},
	{"setns", 2, do_setns},
	{"prlimit", 1, do_prlimit},
	{"raise", 2, do_raise},
	{"fdlist", 0, do_fdlist},
	{"fdscan", 0, do_fdscan},
	{"memfd-exec", 1, do_memfd_exec},
	{"execveat", 1, do_execveat},
	{"exec-procfd", 1, do_exec_procfd},
	{"exec", 1, do_exec},
	{"mmap-exec", 1, do_mmap_exec},
	{"survive", 2, do_survive},
	{"listener", 0, do_listener},
	{"weaken", 1, do_weaken},
	{"dumpable", 0, do_dumpable},
	{"setuid", 1, do_setuid},
	{"ids", 0, do_ids},
	{0},
};
