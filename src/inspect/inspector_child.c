/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child that looks at hostile bytes. Before it reads the first of them it closes every
 * descriptor but its socket and gives up every system call but those to read and write it and to
 * manage memory that is not executable. If one of the detectors has a hole, this is what is on the
 * other side of it.
 */
#include "inspect/inspector_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "inspect/wire.h"

#define SOCKET      0                 /* the only descriptor */
#define MEMORY      ((rlim_t)1 << 30) /* on top of what the program has mapped already */
#define CPU_SECONDS 300               /* the parent replaces a child long before */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this architecture yet"
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define ALLOW        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
/* Allow a call as it is. */
#define CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ALLOW
/* Allow a call with this value of the low word of an argument; the number is loaded again after. */
#define CALL_WITH(name, arg, value)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), LOAD(args[arg]), \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1), ALLOW, KILL
/* Allow a call that does not ask for executable memory. */
#define CALL_NOEXEC(name, arg)                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), LOAD(args[arg]), \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0), ALLOW, KILL

/* Little-endian machines alone, as everywhere: the low word of an argument comes first. */
static struct sock_filter program[] = {
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	KILL,
	LOAD(nr),
	CALL_WITH(read, 0, SOCKET),
	CALL_WITH(write, 0, SOCKET),
	CALL(brk),
	CALL(munmap),
	CALL(madvise),
	CALL(clock_gettime),
	CALL(sysinfo), /* qsort() asks how much memory there is */
	CALL(mremap),
	CALL_NOEXEC(mprotect, 2),
	CALL(exit_group),
	CALL(rt_sigreturn),
	/* mmap: anonymous, not executable */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
	LOAD(args[3]),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 3),
	LOAD(args[2]),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
	ALLOW,
	KILL,
};

/* At most `value`; a limit that is lower already stays. */
static int limit(int what, rlim_t value)
{
	struct rlimit l;

	if (getrlimit((__rlimit_resource_t)what, &l) < 0)
		return -1;
	if (l.rlim_max > value)
		l.rlim_max = value;
	l.rlim_cur = l.rlim_max;
	return setrlimit((__rlimit_resource_t)what, &l);
}

/* What is mapped already, so that the limit means the same in a large process. */
static rlim_t mapped(void)
{
	char text[64];
	unsigned long long pages = 0;
	int r = bawn_read_small(AT_FDCWD, "/proc/self/statm", text, sizeof(text));

	for (const char *p = text; r > 0 && *p >= '0' && *p <= '9'; p++)
		pages = pages * 10 + (unsigned long long)(*p - '0');
	return (rlim_t)pages * (rlim_t)getauxval(AT_PAGESZ);
}

static int confine(int fd, pid_t parent)
{
	const struct sock_fprog filter = {
		.len = sizeof(program) / sizeof(program[0]),
		.filter = program,
	};
	sigset_t all;

	/* A key pressed at the terminal is for the parent. */
	if (sigfillset(&all) < 0 || pthread_sigmask(SIG_SETMASK, &all, NULL) != 0)
		return -errno;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return -ESRCH;
	if (limit(RLIMIT_CORE, 0) < 0 || limit(RLIMIT_CPU, CPU_SECONDS) < 0)
		return -errno;
#ifdef BAWN_SANITIZED
	/* the sanitizers need memory, system calls and standard error of their own */
	(void)filter;
	(void)mapped;
	if (dup2(fd, SOCKET) < 0 || close_range(STDERR_FILENO + 1, ~0U, 0) < 0)
		return -errno;
	return 0;
#else
	if (limit(RLIMIT_AS, mapped() + MEMORY) < 0)
		return -errno;
	if (dup2(fd, SOCKET) < 0 || close_range(SOCKET + 1, ~0U, 0) < 0)
		return -errno;
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		return -errno;
	return 0;
#endif
}

/* True when all of it came. */
static bool read_whole(void *dst, size_t n)
{
	char *p = dst;

	while (n) {
		ssize_t r = read(SOCKET, p, n);

		if (r <= 0)
			return false;
		p += r;
		n -= (size_t)r;
	}
	return true;
}

struct child {
	const struct bawn_policy *policy;
	struct bawn_stream *stream;
	char *body;
	size_t cap;
	struct bawn_buf passed, answer;
};

static void on_stream(struct child *c, struct bawn_arena *a, size_t len, struct wire_answer *w)
{
	struct bawn_stream_options o;

	c->stream = bawn_stream_free(c->stream);
	w->status = wire_get_stream(a, c->body, len, &o);
	if (w->status < 0)
		(void)bawn_fail(&w->error, BAWN_ERR_INTERNAL, w->status, "a broken request");
	else
		w->status = bawn_stream_new(c->policy, &o, &c->stream, &w->error);
	/* it knows them by now in a form of its own */
	for (const char *const *v = o.secrets; v && *v; v++) {
		char *own; /* in the arena of this request */

		memcpy(&own, v, sizeof(own));
		explicit_bzero(own, strlen(own));
	}
	explicit_bzero(c->body, len);
}

static void on_data(
	struct child *c, struct bawn_arena *a, size_t len, unsigned flags, struct wire_answer *w)
{
	struct bawn_stream_chunk chunk = {
		.bytes = c->body,
		.n = len,
		.flush = flags & WIRE_FLUSH,
		.last = flags & WIRE_LAST,
	};

	if (!c->stream) {
		w->status = bawn_fail(&w->error, BAWN_ERR_INTERNAL, -EBADMSG, "no stream is open");
		return;
	}
	w->status = bawn_stream_feed(c->stream, &chunk, a, &c->passed, &w->found, &w->error);
	w->bytes = c->passed.data;
	w->n_bytes = c->passed.len;
	if (w->status >= 0 && c->passed.failed)
		w->status = bawn_fail(
			&w->error, BAWN_ERR_INTERNAL, c->passed.failed, "too much to pass on");
}

static void on_subject(struct child *c, struct bawn_arena *a, size_t len, struct wire_answer *w)
{
	struct bawn_subject sub;

	w->status = wire_get_subject(a, c->body, len, &sub);
	if (w->status < 0)
		(void)bawn_fail(&w->error, BAWN_ERR_INTERNAL, w->status, "a broken request");
	else
		w->status = bawn_scan_subject(a, c->policy, &sub, &w->found, &w->error);
}

/* One request. False when there is no next one. */
static bool serve(struct child *c)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct wire_head h;
	struct wire_answer w = {0};

	if (!a || !read_whole(&h, sizeof(h)) || h.len > WIRE_REQUEST_MAX)
		return false;
	if (h.len > c->cap || !c->body) {
		free(c->body);
		c->cap = (size_t)h.len;
		c->body = malloc(c->cap + 1);
		if (!c->body)
			return false;
	}
	if (!read_whole(c->body, (size_t)h.len))
		return false;
	c->passed.len = 0;
	c->answer.len = 0;
	if (h.type == WIRE_SUBJECT)
		on_subject(c, a, (size_t)h.len, &w);
	else if (h.type == WIRE_STREAM)
		on_stream(c, a, (size_t)h.len, &w);
	else if (h.type == WIRE_DATA)
		on_data(c, a, (size_t)h.len, h.flags, &w);
	else
		return false;
	wire_put_answer(&c->answer, &w);
	return !c->answer.failed && bawn_write_all(SOCKET, c->answer.data, c->answer.len) == 0;
}

void inspector_child(const struct bawn_policy *p, int fd, pid_t parent)
{
	struct child c = {
		.policy = p,
		.passed = {.max = WIRE_ANSWER_MAX / 2},
		.answer = {.max = WIRE_ANSWER_MAX},
	};

	if (confine(fd, parent) < 0)
		_exit(INSPECTOR_UNCONFINED);
	while (serve(&c))
		;
	_exit(0); /* all memory goes with the process */
}
