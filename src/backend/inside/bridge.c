/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See bridge.h. Writes to the stream block: the host always reads. What the command writes waits in
 * its pipe when the host has a window full of it.
 */
#include "backend/inside/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "backend/inside/handover.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/io.h"

#define FAILED   1
#define PIECE    32768u
#define PLAN_MAX ((size_t)32 << 20)

struct bridge {
	const struct bawn_bridge *b;
	struct bawn_frame_reader reader;
	struct bawn_buf out;
	struct bawn_arena *arena;
	struct bawn_init init;
	struct bawn_arrival files;
	uint8_t absent; /* bit N: the command has no descriptor N */
	int sock;       /* to init */
	pid_t pid;      /* init */
	int stdio[3];   /* our ends of the command's pipes */
	struct bawn_buf input;
	bool input_end;
	size_t under_way[2];
	char *piece;
};

/* ---- the stream ---- */

static int flush(void *data, struct bawn_buf *out)
{
	struct bridge *b = data;
	int r = out->failed;

	while (r == 0 && out->len) {
		r = bawn_frame_flush(out, b->b->out);
		if (r == -EAGAIN) {
			struct pollfd pfd = {.fd = b->b->out, .events = POLLOUT};

			r = poll(&pfd, 1, -1) < 0 && errno != EINTR ? -errno : 0;
		}
	}
	return r;
}

/* The next frame, waiting for it. */
static int next_frame(struct bridge *b, struct bawn_frame *f)
{
	int r;

	while ((r = bawn_frame_next(&b->reader, f)) == 0) {
		r = bawn_frame_fill(&b->reader, b->b->in);
		if (r == -EAGAIN) {
			struct pollfd pfd = {.fd = b->b->in, .events = POLLIN};

			(void)poll(&pfd, 1, -1);
			continue;
		}
		if (r <= 0)
			return r == 0 ? -EPIPE : r;
	}
	return r < 0 ? r : 0;
}

static int complain(struct bridge *b, const struct bawn_error *err)
{
	bawn_frame_put_error(&b->out, err);
	(void)flush(b, &b->out);
	return FAILED;
}

/* ---- what the host sends first ---- */

static int take_plan(struct bridge *b, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf plan = {.max = PLAN_MAX};
	struct bawn_frame f = {0};
	int r = 0;

	while (r == 0 && !(f.type == BAWN_FRAME_PLAN && f.arg & 1)) {
		r = next_frame(b, &f);
		if (r == 0 && f.type != BAWN_FRAME_PLAN)
			r = -EPROTO;
		if (r == 0)
			bawn_buf_add(&plan, f.data, f.len);
		if (r == 0)
			r = plan.failed;
	}
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "the plan did not come");
	b->absent = f.arg >> 1;
	return bawn_handover_decode(b->arena, plan.data, plan.len, &b->init, err);
}

static int take_files(struct bridge *b, struct bawn_error *err)
{
	struct bawn_frame f = {0};
	int r = 0;

	while (r == 0 && f.type != BAWN_FRAME_TREE_END) {
		r = next_frame(b, &f);
		if (r == 0 && f.type != BAWN_FRAME_ENTRY && f.type != BAWN_FRAME_DATA &&
			f.type != BAWN_FRAME_TREE_END)
			r = -EPROTO;
		if (r < 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, r, "the files did not come");
		r = bawn_arrival_take(&b->files, &f, err);
	}
	return r;
}

/* ---- init ---- */

static int become(const struct bawn_init *init)
{
	if (geteuid() != 0 || init->uid == 0)
		return 0;
	return setgroups(0, NULL) < 0 || setresgid(init->gid, init->gid, init->gid) < 0 ||
			       setresuid(init->uid, init->uid, init->uid) < 0
		       ? -errno
		       : 0;
}

static void init_main(struct bridge *b, const int ends[3], int sock) __attribute__((noreturn));
static void init_main(struct bridge *b, const int ends[3], int sock)
{
	struct bawn_init_msg msg = {.kind = BAWN_INIT_ERROR};
	int r = 0;

	b->init.sock = sock;
	/* the one that we changed; a system call is dear on some kernels */
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	for (int i = 0; i < 3; i++)
		b->init.stdio[i] = ends[i];
	if (b->b->flags & BAWN_BRIDGE_MOUNTS &&
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		r = -errno;
	if (r == 0 && b->b->flags & BAWN_BRIDGE_PIDS &&
		mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		r = -errno;
	if (r == 0 && b->b->cover)
		r = b->b->cover(b->init.plan, b->b->data);
	if (r == 0)
		r = become(&b->init);
	if (r < 0) {
		errno = -r;
		(void)bawn_fail(&msg.error, BAWN_ERR_BACKEND, r,
			"cannot separate the command from the bridge: %m");
		(void)send(sock, &msg, sizeof(msg), MSG_NOSIGNAL);
		_exit(FAILED);
	}
	bawn_init_main(&b->init);
}

static int make_pipes(struct bridge *b, int ends[3])
{
	for (int i = 0; i < 3; i++) {
		int p[2];

		ends[i] = b->stdio[i] = -1;
		if (b->absent & 1u << i)
			continue;
		if (pipe2(p, O_CLOEXEC) < 0)
			return -errno;
		ends[i] = p[i == 0 ? 0 : 1];
		b->stdio[i] = p[i == 0 ? 1 : 0];
		if (fcntl(b->stdio[i], F_SETFL, O_NONBLOCK) < 0)
			return -errno;
	}
	return 0;
}

static int start_init(struct bridge *b, struct bawn_error *err)
{
	unsigned long flags = SIGCHLD | (b->b->flags & BAWN_BRIDGE_PIDS ? CLONE_NEWPID : 0u) |
			      (b->b->flags & BAWN_BRIDGE_MOUNTS ? CLONE_NEWNS : 0u);
	int ends[3] = {-1, -1, -1}, pair[2];

	if (make_pipes(b, ends) < 0 ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make pipes: %m");
	b->pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0);
	if (b->pid == 0) {
		(void)close(pair[0]);
		init_main(b, ends, pair[1]);
	}
	(void)close(pair[1]);
	for (int i = 0; i < 3; i++)
		if (ends[i] >= 0)
			(void)close(ends[i]);
	b->sock = pair[0];
	if (b->pid < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a process: %m");
	return 0;
}

/*
 * What the commands of today need and this kernel does not know. Old gVisor refuses a flag that ls
 * and stat of coreutils give each time, and what they say then helps nobody.
 */
static void look_for_flaws(struct bawn_event *ready)
{
	struct statx st;

	if (statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0 && errno == EINVAL)
		(void)snprintf(ready->text, sizeof(ready->text),
			"its kernel is too old for ls, dir and stat, which fail with 'Invalid argument' "
			"(AT_NO_AUTOMOUNT)");
}

/* Init's word that the wall stands, passed on. */
static int await_init(struct bridge *b, struct bawn_error *err)
{
	struct bawn_init_msg msg = {0};
	struct bawn_event ev = {0};
	ssize_t n;

	look_for_flaws(&ev); /* while it is busy */
	do
		n = recv(b->sock, &msg, sizeof(msg), 0);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(msg))
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -EPROTO, "the sandbox's init died while setting up");
	if (msg.kind == BAWN_INIT_ERROR) {
		*err = msg.error;
		return msg.error.err;
	}
	ev.control = msg.enforced;
	bawn_frame_put_event(&b->out, BAWN_FRAME_READY, &ev, &msg.usage);
	return flush(b, &b->out);
}

/* ---- while the command runs ---- */

static void order(const struct bridge *b, int signo)
{
	struct bawn_init_order o = {.signo = signo};

	if (b->sock >= 0)
		(void)send(b->sock, &o, sizeof(o), MSG_NOSIGNAL);
}

static void close_stdio(struct bridge *b, int i)
{
	if (b->stdio[i] >= 0)
		(void)close(TAKE_FD(b->stdio[i]));
}

static void write_input(struct bridge *b)
{
	size_t before = b->input.len;
	int r = b->stdio[0] < 0 ? -EPIPE : bawn_frame_flush(&b->input, b->stdio[0]);
	bool gone = r < 0 && r != -EAGAIN;

	if (gone)
		b->input.len = 0;
	if (before && (gone || before > b->input.len))
		bawn_frame_put_u32(&b->out, BAWN_FRAME_CREDIT, 0,
			gone ? BAWN_FRAME_GONE : (uint32_t)(before - b->input.len));
	if (gone || (b->input_end && !b->input.len))
		close_stdio(b, 0);
}

static int take_credit(struct bridge *b, const struct bawn_frame *f)
{
	uint32_t n = bawn_frame_u32(f);

	if (f->arg != 1 && f->arg != 2)
		return -EPROTO;
	if (n == BAWN_FRAME_GONE)
		close_stdio(b, f->arg);
	else if (n > b->under_way[f->arg - 1])
		return -EPROTO;
	else
		b->under_way[f->arg - 1] -= n;
	return 0;
}

static int take_frame(struct bridge *b, const struct bawn_frame *f)
{
	switch ((int)f->type) {
	case BAWN_FRAME_GO:
		order(b, 0);
		return 0;
	case BAWN_FRAME_STDIN:
		if (b->stdio[0] < 0) /* the host knows, or will */
			return 0;
		bawn_buf_add(&b->input, f->data, f->len);
		write_input(b);
		return b->input.failed;
	case BAWN_FRAME_STDIN_END:
		b->input_end = true;
		write_input(b);
		return 0;
	case BAWN_FRAME_CREDIT:
		return take_credit(b, f);
	case BAWN_FRAME_SIGNAL:
		order(b, f->arg);
		return 0;
	default:
		return -EPROTO;
	}
}

static int read_stream(struct bridge *b)
{
	struct bawn_frame f;
	int r = bawn_frame_fill(&b->reader, b->b->in);

	if (r == -EAGAIN)
		return 0;
	if (r <= 0)
		return r == 0 ? -EPIPE : r;
	while ((r = bawn_frame_next(&b->reader, &f)) > 0) {
		r = take_frame(b, &f);
		if (r < 0)
			return r;
	}
	return r;
}

static void read_output(struct bridge *b, int i)
{
	size_t room = BAWN_FRAME_WINDOW - b->under_way[i - 1];
	ssize_t n = read(b->stdio[i], b->piece, room < PIECE ? room : PIECE);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_stdio(b, i);
		return;
	}
	bawn_frame_put(
		&b->out, i == 1 ? BAWN_FRAME_STDOUT : BAWN_FRAME_STDERR, 0, b->piece, (size_t)n);
	b->under_way[i - 1] += (size_t)n;
}

static void hear_init(struct bridge *b)
{
	struct bawn_init_msg msg = {0};
	struct bawn_event ev = {0};
	ssize_t n = recv(b->sock, &msg, sizeof(msg), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(msg)) {
		(void)close(TAKE_FD(b->sock));
		return;
	}
	ev.kind = (enum bawn_event_kind)msg.kind;
	ev.status = msg.status;
	ev.control = msg.control;
	if (msg.kind == BAWN_EV_DENIED)
		memcpy(ev.text, msg.text, sizeof(ev.text));
	bawn_frame_put_event(&b->out, BAWN_FRAME_EVENT, &ev, &msg.usage);
}

/* Init is gone, and with it everything it watched over. */
static void end_init(struct bridge *b)
{
	if (b->pid <= 0)
		return;
	(void)kill(b->pid, SIGKILL);
	while (waitpid(b->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	b->pid = 0;
	if (getpid() == 1) {
		(void)kill(-1, SIGKILL);
		while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
			;
	}
}

/* Wait for anything, and deal with it. */
static int round_trip(struct bridge *b)
{
	struct pollfd fds[5] = {{.fd = b->b->in, .events = POLLIN},
		{.fd = b->sock, .events = POLLIN},
		{.fd = b->input.len ? b->stdio[0] : -1, .events = POLLOUT}};
	int r = 0;

	for (int i = 1; i < 3; i++)
		fds[2 + i] = (struct pollfd){
			.fd = b->under_way[i - 1] < BAWN_FRAME_WINDOW ? b->stdio[i] : -1,
			.events = POLLIN};
	if (poll(fds, 5, -1) < 0 && errno != EINTR)
		return -errno;
	if (fds[0].revents)
		r = read_stream(b);
	for (int i = 1; i < 3; i++)
		if (fds[2 + i].revents)
			read_output(b, i);
	if (fds[2].revents)
		write_input(b);
	if (fds[1].revents)
		hear_init(b);
	if (b->sock < 0)
		end_init(b);
	if (r == 0)
		r = flush(b, &b->out);
	return r;
}

static int run(struct bridge *b)
{
	int r = 0;

	while (r == 0 && (b->sock >= 0 || b->stdio[1] >= 0 || b->stdio[2] >= 0))
		r = round_trip(b);
	return r;
}

/* ---- all of it ---- */

static int greet(struct bridge *b)
{
	uint8_t hello[128] = {BAWN_FRAME_VERSION};
	struct utsname un = {0};
	size_t n;

	(void)uname(&un);
	n = (size_t)snprintf(
		(char *)hello + 4, sizeof(hello) - 4, "%.50s %.60s", un.sysname, un.release);
	bawn_frame_put(&b->out, BAWN_FRAME_HELLO, 0, hello, 4 + n);
	return flush(b, &b->out);
}

static int prepare(struct bridge *b, struct bawn_error *err)
{
	int r = take_plan(b, err);

	if (r >= 0 && b->b->mount)
		r = b->b->mount(b->init.plan, b->b->data, err);
	if (r >= 0)
		r = bawn_arrival_init(&b->files, &b->init, err);
	if (r >= 0)
		r = take_files(b, err);
	if (r >= 0)
		r = start_init(b, err);
	return r < 0 ? r : await_init(b, err);
}

/* A machine that ends takes along what its devices still hold: the host closes the stream when it
 * has everything. */
static void await_close(struct bridge *b)
{
	struct bawn_frame f;

	while (next_frame(b, &f) == 0)
		;
}

int bawn_bridge_main(const struct bawn_bridge *b)
{
	struct bridge s = {.b = b, .sock = -1, .stdio = {-1, -1, -1}};
	struct bawn_error err = {0};

	(void)prctl(PR_SET_DUMPABLE, 0); /* the command may be the same user */
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	s.arena = bawn_arena_new(); /* lives as long as we do */
	s.piece = malloc(PIECE);
	if (!s.arena || !s.piece || bawn_frame_reader_init(&s.reader, true) < 0 || greet(&s) < 0)
		return FAILED;
	if (prepare(&s, &err) < 0) {
		end_init(&s);
		return complain(&s, &err);
	}
	if (run(&s) < 0) { /* the host is gone: so is everything */
		end_init(&s);
		return FAILED;
	}
	end_init(&s);
	if (bawn_arrival_return(&s.files, &s.out, flush, &s, &err) < 0)
		return FAILED;
	bawn_frame_put(&s.out, BAWN_FRAME_DONE, 0, NULL, 0);
	if (flush(&s, &s.out) < 0)
		return FAILED;
	await_close(&s);
	return 0;
}
