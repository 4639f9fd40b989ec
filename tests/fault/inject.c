/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject ROLE SYSCALL N ACTION -- COMMAND…: let the Nth call of SYSCALL (a name or "any") in one
 * part of bawn fail with the errno ACTION (a number), or kill that process there (ACTION "kill").
 * ROLE is host, init (made by clone3), command (made by init, until it executes its program) or
 * helper (what else the host process forks). N = 0 only counts. $INJECT_REPORT gets "matched
 * host-pid matched-at-exec host-wait-status" and a line "role syscall count" for each call seen.
 * Exits as COMMAND did, once everything that it traced has ended; the executed program is left
 * alone. A call that has a name is stopped at by a filter, so that all others run at full speed;
 * the executed program stays with us then, for what such a filter stops fails without a tracer.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
/* after sys/ptrace.h, which has the same names */
#include <linux/ptrace.h>

/* NOLINTBEGIN(performance-no-int-to-ptr): ptrace(2) takes numbers as pointers */

#define TASKS_MAX 64
#define SEEN_MAX  512

static const char *const roles[] = {"host", "init", "command", "helper"};
enum {
	ROLE_HOST,
	ROLE_INIT,
	ROLE_COMMAND,
	ROLE_HELPER,
	ROLE_NONE
};

struct task {
	pid_t pid;
	int role;
	uint64_t nr;  /* the call it is in */
	bool spoiled; /* its result is to be replaced */
};

static struct task tasks[TASKS_MAX];
static size_t n_tasks;
static int want_role, want_nr, action; /* action < 0: kill */
static long want_n, matched, at_exec = -1;
static int host_status = -1;
static bool begun;
static long seen[ROLE_NONE][SEEN_MAX];

static struct task *find(pid_t pid)
{
	for (size_t i = 0; i < n_tasks; i++)
		if (tasks[i].pid == pid)
			return &tasks[i];
	return NULL;
}

static struct task *add(pid_t pid, int role)
{
	struct task *t = find(pid);

	if (!t)
		t = find(-1); /* of one that has ended */
	if (!t && n_tasks == TASKS_MAX)
		_exit(99);
	if (!t)
		t = &tasks[n_tasks++];
	*t = (struct task){.pid = pid, .role = role};
	return t;
}

/* Replace the call's number (on entry) or its result (on exit). */
static void put(pid_t pid, bool entry, long value)
{
	struct user_regs_struct regs;
	struct iovec iov = {.iov_base = &regs, .iov_len = sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov) < 0)
		return;
#if defined(__x86_64__)
	if (entry)
		regs.orig_rax = (unsigned long long)value;
	else
		regs.rax = (unsigned long long)value;
#elif defined(__aarch64__)
	if (entry) {
		int nr = (int)value;
		struct iovec number = {.iov_base = &nr, .iov_len = sizeof(nr)};

		(void)ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &number);
		return;
	}
	regs.regs[0] = (unsigned long long)value;
#else
#error "inject knows x86-64 and aarch64 only"
#endif
	(void)ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov);
}

/* The call that it is in the middle of. */
static uint64_t calling(pid_t pid)
{
	struct user_regs_struct regs = {0};
	struct iovec iov = {.iov_base = &regs, .iov_len = sizeof(regs)};

	(void)ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov);
#if defined(__x86_64__)
	return regs.orig_rax;
#else
	return regs.regs[8];
#endif
}

static void at_call(struct task *t)
{
	if (t->role != ROLE_NONE && t->nr < SEEN_MAX)
		seen[t->role][t->nr]++;
	if (t->role != want_role || (want_nr >= 0 && t->nr != (uint64_t)want_nr) ||
		++matched != want_n)
		return;
	if (action < 0) {
		(void)kill(t->pid, SIGKILL);
		return;
	}
	/* a call that does nothing and passes every filter takes its place */
	put(t->pid, true, SYS_getpid);
	t->spoiled = true;
}

static void at_syscall(struct task *t)
{
	struct ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, (void *)sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->spoiled) {
		put(t->pid, false, -(long)action);
		t->spoiled = false;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	t->nr = info.entry.nr;
	at_call(t);
}

static void at_birth(const struct task *parent)
{
	unsigned long pid = 0;
	int role = ROLE_NONE;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) < 0)
		return;
	if (parent->role == ROLE_HOST)
		role = calling(parent->pid) == SYS_clone3 ? ROLE_INIT : ROLE_HELPER;
	else if (parent->role == ROLE_INIT)
		role = ROLE_COMMAND;
	add((pid_t)pid, role);
}

/* One stop of one task. The signal to go on with, or -1 to let it go. */
static int at_stop(struct task *t, int status)
{
	int event = status >> 16;

	if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
		at_syscall(t);
		return 0;
	}
	if (event == PTRACE_EVENT_SECCOMP) {
		t->nr = calling(t->pid);
		at_call(t);
		return 0;
	}
	if (event == PTRACE_EVENT_EXEC && !begun) {
		t->role = ROLE_HOST; /* until then it was this program */
		begun = true;
	} else if (event == PTRACE_EVENT_EXEC && t->role == ROLE_COMMAND) {
		at_exec = matched;
		t->role = ROLE_NONE;
		return want_nr < 0 ? -1 : 0;
	}
	if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		event == PTRACE_EVENT_CLONE)
		at_birth(t);
	if (event)
		return 0;
	return WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
}

static enum __ptrace_request onwards(const struct task *t, int sig)
{
	if (sig < 0)
		return PTRACE_DETACH;
	return want_nr < 0 || t->spoiled ? PTRACE_SYSCALL : PTRACE_CONT;
}

static int follow(pid_t host)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		struct task *t = pid > 0 ? find(pid) : NULL;
		int sig;

		if (pid < 0)
			continue;
		if (!WIFSTOPPED(status)) {
			if (pid == host)
				host_status = status;
			if (t)
				t->pid = -1;
			continue;
		}
		/* a child may stop before its parent has told us of it */
		if (!t)
			t = add(pid, ROLE_NONE);
		sig = at_stop(t, status);
		(void)ptrace(onwards(t, sig), pid, NULL, (void *)(long)(sig < 0 ? 0 : sig));
	}
	if (host_status < 0)
		return 99;
	return WIFEXITED(host_status) ? WEXITSTATUS(host_status) : 128 + WTERMSIG(host_status);
}

static void tell(pid_t host)
{
	const char *path = getenv("INJECT_REPORT"); /* NOLINT(concurrency-mt-unsafe) */
	FILE *f = path ? fopen(path, "we") : NULL;

	if (!f)
		return;
	(void)fprintf(f, "%ld %d %ld %d\n", matched, (int)host, at_exec, host_status);
	for (int role = 0; role < ROLE_NONE; role++)
		for (int nr = 0; nr < SEEN_MAX; nr++) {
			char *name = seen[role][nr] ? seccomp_syscall_resolve_num_arch(
							      SCMP_ARCH_NATIVE, nr)
						    : NULL;

			if (name)
				(void)fprintf(f, "%s %s %ld\n", roles[role], name, seen[role][nr]);
			free(name);
		}
	(void)fclose(f);
}

static int parse(char **argv)
{
	want_role = -1;
	for (int i = 0; i < ROLE_NONE; i++)
		if (!strcmp(argv[1], roles[i]))
			want_role = i;
	want_nr = !strcmp(argv[2], "any") ? -1 : seccomp_syscall_resolve_name(argv[2]);
	want_n = strtol(argv[3], NULL, 10);
	action = !strcmp(argv[4], "kill") ? -1 : (int)strtol(argv[4], NULL, 10);
	return want_role < 0 || want_nr < -1 || strcmp(argv[5], "--") != 0 ? -1 : 0;
}

/* In every case, so that what a process can see of its filters is always the same. */
static int stop_at_call(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int r = f ? seccomp_attr_set(f, SCMP_FLTATR_CTL_NNP, geteuid() != 0) : -ENOMEM;

	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_TRACE(0), want_nr < 0 ? SYS_acct : want_nr, 0);
	if (r == 0)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
			     PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
			     PTRACE_O_TRACESECCOMP;
	int status, result;
	pid_t host;

	if (argc < 7 || parse(argv) < 0) {
		(void)fprintf(stderr,
			"usage: inject host|init|command|helper SYSCALL N ERRNO|kill -- COMMAND…\n");
		return 98;
	}
	host = fork();
	if (host == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		if (stop_at_call() < 0)
			_exit(95);
		(void)execv(argv[6], argv + 6);
		_exit(97);
	}
	if (host < 0 || waitpid(host, &status, 0) != host || !WIFSTOPPED(status) ||
		ptrace(PTRACE_SETOPTIONS, host, NULL, (void *)options) < 0)
		return 96;
	add(host, ROLE_NONE);
	(void)ptrace(want_nr < 0 ? PTRACE_SYSCALL : PTRACE_CONT, host, NULL, NULL);
	result = follow(host);
	tell(host);
	return result;
}
/* NOLINTEND(performance-no-int-to-ptr) */
