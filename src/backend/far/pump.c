/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pump: between the host process and what runs on another kernel. A process of its own, so that
 * what reads hostile bytes and writes files is not the host process, and so that a run ends when
 * that is killed. Never blocks on anything but the disk; holds at most a window per stream.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/far/far.h"
#include "backend/far/frame.h"
#include "backend/far/transfer.h"
#include "backend/native/proctree.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/sys.h"

#define ENOUGH     262144u    /* queued for the stream: more waits until some of it is gone */
#define QUEUE_MAX  (8u << 20) /* never reached by what we queue ourselves */
#define IDLE_MS    3000       /* after a kill: how long no change may come back … */
#define RETURN_MS  60000      /* … and how long all of them may take */
#define TELL_MS    500        /* how often the host process hears of progress, at most */
#define LEAVE_MS   5000       /* for the tool to end when everything inside has */
#define ORPHANS_MS 1000       /* for what follows the tool by itself when that is killed */
#define DENIED_MAX 2000u
#define SAID_MAX   4096
#define INPUT_MAX  8192u

enum phase {
	AWAIT_HELLO,
	SENDING,     /* plan and files go in */
	AWAIT_READY, /* the wall is being built */
	HELD,        /* it stands; nothing runs */
	RUNNING,
	LEAVING, /* everything came back; what it wrote is still being passed on */
};

struct outlet {
	struct bawn_buf buf;
	size_t at; /* written of it */
	int fd;
};

struct pump {
	const struct bawn_pump_start *start;
	enum phase phase;
	int ctl, stream, stdin_fd, said;
	pid_t tool;
	struct bawn_frame_reader reader;
	struct bawn_buf out; /* to the stream */
	struct bawn_transfer *files;
	struct outlet outlets[2];
	size_t in_flight; /* of stdin: sent, not yet taken */
	bool greeted, killed, returned;
	int64_t deadline, last; /* by `deadline` at the latest; `last` moves it on no further */
	int64_t told;           /* when the host process heard last that files go in */
	unsigned denials;
	struct bawn_init_msg ending; /* how the command ended, told when its files are here */
};

/* ---- to the host process ---- */

static void tell(const struct pump *p, const struct bawn_init_msg *msg, int flags)
{
	(void)send(p->ctl, msg, sizeof(*msg), MSG_NOSIGNAL | flags);
}

static void report(void *data, uint32_t control, const char *text)
{
	struct pump *p = data;
	struct bawn_init_msg msg = {.kind = BAWN_EV_DENIED, .control = control};

	if (p->denials++ > DENIED_MAX) /* a flood says nothing new */
		return;
	(void)snprintf(msg.text, sizeof(msg.text), "%s", text);
	tell(p, &msg, MSG_DONTWAIT);
}

/*
 * Starting has its time, and so has each step after it: what goes in may be much, and takes as long
 * as it takes while some of it goes.
 */
static void go_on(struct pump *p)
{
	const struct bawn_init_msg msg = {.kind = BAWN_INIT_PROGRESS};
	int64_t now = bawn_now_ms();

	if (p->phase > AWAIT_READY)
		return;
	p->deadline = now + bawn_far_setup_ms(p->start->tool);
	if (now - p->told < TELL_MS)
		return;
	p->told = now;
	tell(p, &msg, MSG_DONTWAIT);
}

/* ---- the end ---- */

/* Orphans of the tool come to us; 0 when neither it nor they are left. */
static int await_tool(struct pump *p, int ms)
{
	int64_t stop = bawn_now_ms() + ms;
	const struct timespec nap = {.tv_nsec = 1000000};

	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG | __WALL);

		if (pid > 0 && pid == p->tool)
			p->tool = 0;
		if (pid < 0 && errno == ECHILD)
			return 0;
		if (pid == 0 && bawn_now_ms() > stop)
			return -ETIMEDOUT;
		if (pid == 0)
			(void)nanosleep(&nap, NULL);
	}
}

/* The tool and whatever it has left behind. */
static void kill_tool(struct pump *p)
{
	struct bawn_proctree tree;

	if (p->tool > 0)
		(void)kill(p->tool, SIGKILL);
	if (await_tool(p, ORPHANS_MS) == 0 || bawn_proctree_init(&tree, false) < 0)
		return;
	(void)bawn_proctree_kill(&tree, LEAVE_MS);
	bawn_proctree_done(&tree);
	(void)await_tool(p, LEAVE_MS);
}

static void finish(struct pump *p, int leave_ms) __attribute__((noreturn));
static void finish(struct pump *p, int leave_ms)
{
	p->files = bawn_transfer_free(p->files); /* an unfinished file goes */
	if (p->stream >= 0)
		(void)close(p->stream);
	if (leave_ms == 0 || await_tool(p, leave_ms) < 0)
		kill_tool(p);
	_exit(0);
}

static void fail(struct pump *p, const struct bawn_error *err) __attribute__((noreturn));
static void fail(struct pump *p, const struct bawn_error *err)
{
	struct bawn_init_msg msg = {.kind = BAWN_INIT_ERROR, .error = *err};
	char text[BAWN_EVENT_TEXT_MAX];

	if (p->phase >= RUNNING) {
		(void)snprintf(text, sizeof(text), "%.400s: not all changes came back", err->msg);
		report(p, BAWN_CTL_FS_WRITE, text);
	} else {
		tell(p, &msg, 0);
	}
	finish(p, 0);
}

/* The tool went away, or what came is no frame. What it said may tell why. */
static void broken(struct pump *p, int error) __attribute__((noreturn));
static void broken(struct pump *p, int error)
{
	const struct bawn_far_tool *tool = p->start->tool;
	struct bawn_error err = {0};
	char said[SAID_MAX] = "";
	off_t end, from;
	ssize_t len;
	char *last;

	(void)await_tool(p, 500); /* its last words */
	end = lseek(p->said, 0, SEEK_END);
	from = end > (off_t)sizeof(said) - 1 ? end - (off_t)sizeof(said) + 1 : 0;
	len = pread(p->said, said, sizeof(said) - 1, from);
	said[len > 0 ? len : 0] = '\0';
	while (len > 0 && said[len - 1] == '\n')
		said[--len] = '\0';
	last = strrchr(said, '\n');
	if (error == -EPROTO)
		(void)bawn_fail(&err, BAWN_ERR_BACKEND, error,
			"the sandbox sent what is no frame of this protocol");
	else if (error == -ETIMEDOUT)
		(void)bawn_fail(&err, BAWN_ERR_BACKEND, error,
			"%s did not bring the sandbox up in time", tool->program);
	else if (p->phase >= RUNNING)
		(void)bawn_fail(&err, BAWN_ERR_BACKEND, -EPIPE, "%s ended before the command did",
			tool->program);
	else if (!tool->explain || tool->explain(p->start->job.plan, said, &err) == 0)
		(void)bawn_fail(&err, BAWN_ERR_BACKEND, -EIO, "%s failed: %.300s", tool->program,
			*said ? (last ? last + 1 : said) : "it said nothing");
	fail(p, &err);
}

/* ---- streams ---- */

/* Write what the reader takes: a pipe that polls writable takes PIPE_BUF bytes without blocking. */
static void flush_outlet(struct pump *p, int i)
{
	struct outlet *o = &p->outlets[i];
	struct pollfd pfd = {.fd = o->fd, .events = POLLOUT};
	uint32_t taken = 0;
	bool gone = false;

	while (!gone && o->at < o->buf.len && poll(&pfd, 1, 0) == 1) {
		size_t left = o->buf.len - o->at;
		ssize_t n = write(o->fd, o->buf.data + o->at, left < PIPE_BUF ? left : PIPE_BUF);

		if (n > 0) {
			o->at += (size_t)n;
			taken += (uint32_t)n;
		}
		if (n < 0 && errno == EAGAIN)
			break;
		gone = n < 0 && errno != EINTR;
	}
	if (gone) {
		o->at = o->buf.len;
		(void)close(o->fd);
		o->fd = -1;
	}
	if (o->at == o->buf.len)
		o->at = o->buf.len = 0;
	if (taken || gone)
		bawn_frame_put_u32(&p->out, BAWN_FRAME_CREDIT, (uint8_t)(i + 1),
			gone ? BAWN_FRAME_GONE : taken);
}

static int take_output(struct pump *p, const struct bawn_frame *f, int i)
{
	struct outlet *o = &p->outlets[i];

	if (p->phase != RUNNING)
		return -EPROTO;
	if (o->fd < 0) /* nobody wants it, and the inside was told */
		return 0;
	if (o->at) {
		memmove(o->buf.data, o->buf.data + o->at, o->buf.len - o->at);
		o->buf.len -= o->at;
		o->at = 0;
	}
	if (o->buf.len + f->len > BAWN_FRAME_WINDOW)
		return -EPROTO;
	bawn_buf_add(&o->buf, f->data, f->len);
	flush_outlet(p, i);
	return o->buf.failed;
}

static int take_credit(struct pump *p, const struct bawn_frame *f)
{
	uint32_t n = bawn_frame_u32(f);

	if (f->arg != 0 || p->phase != RUNNING)
		return -EPROTO;
	if (n == BAWN_FRAME_GONE) { /* the command reads no more: nor do we */
		if (p->stdin_fd >= 0)
			(void)close(TAKE_FD(p->stdin_fd));
		return 0;
	}
	if (n > p->in_flight)
		return -EPROTO;
	p->in_flight -= n;
	return 0;
}

static void read_input(struct pump *p)
{
	char bytes[INPUT_MAX];
	ssize_t n = read(p->stdin_fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		bawn_frame_put(&p->out, BAWN_FRAME_STDIN, 0, bytes, (size_t)n);
		p->in_flight += (size_t)n;
		return;
	}
	(void)close(TAKE_FD(p->stdin_fd));
	bawn_frame_put(&p->out, BAWN_FRAME_STDIN_END, 0, NULL, 0);
}

/* ---- frames ---- */

static void send_plan(struct pump *p)
{
	const struct bawn_buf *plan = p->start->plan;
	uint8_t absent = 0;

	for (int i = 0; i < 3; i++)
		if (p->start->stdio[i] < 0)
			absent |= (uint8_t)(2u << i);
	for (size_t at = 0; at < plan->len;) {
		size_t n = plan->len - at < BAWN_FRAME_MAX ? plan->len - at : BAWN_FRAME_MAX;

		bawn_frame_put(&p->out, BAWN_FRAME_PLAN, at + n == plan->len ? absent | 1 : absent,
			plan->data + at, n);
		at += n;
	}
	p->phase = SENDING;
}

static int take_ready(struct pump *p, const struct bawn_frame *f)
{
	struct bawn_init_msg msg = {.kind = BAWN_INIT_READY};
	struct bawn_event ev;

	if (p->phase != AWAIT_READY || !p->greeted || bawn_frame_get_event(f, &ev, &msg.usage) < 0)
		return -EPROTO;
	msg.enforced = ev.control;
	(void)snprintf(msg.text, sizeof(msg.text), "%s", ev.text);
	p->phase = HELD;
	p->deadline = 0;
	tell(p, &msg, 0);
	return 0;
}

static int take_error(struct pump *p, const struct bawn_frame *f)
{
	struct bawn_error err;

	if (p->phase >= HELD || bawn_frame_get_error(f, &err) < 0)
		return -EPROTO;
	fail(p, &err);
}

static int take_event(struct pump *p, const struct bawn_frame *f)
{
	struct bawn_init_msg msg = {0};
	struct bawn_event ev;

	if (p->phase != RUNNING || bawn_frame_get_event(f, &ev, &msg.usage) < 0 ||
		ev.control >= 1u << BAWN_CTL_COUNT)
		return -EPROTO;
	msg.kind = (uint32_t)ev.kind;
	msg.status = ev.status;
	msg.control = ev.control;
	(void)snprintf(msg.text, sizeof(msg.text), "%s", ev.text);
	switch (ev.kind) {
	case BAWN_EV_EXITED:
	case BAWN_EV_FAILED:
		if (p->ending.kind)
			return -EPROTO;
		p->ending = msg;
		return 0;
	case BAWN_EV_LIMIT:
		if (__builtin_popcount(ev.control) != 1)
			return -EPROTO;
		tell(p, &msg, 0);
		return 0;
	case BAWN_EV_DENIED:
		if (__builtin_popcount(ev.control) != 1)
			return -EPROTO;
		report(p, msg.control, msg.text);
		return 0;
	case BAWN_EV_NONE:
	case BAWN_EV_ENDED:
		break;
	}
	return -EPROTO;
}

static int take_change(struct pump *p, const struct bawn_frame *f)
{
	struct bawn_error err = {0};

	if (p->phase != RUNNING)
		return -EPROTO;
	if (bawn_transfer_take(p->files, f, &err) < 0)
		fail(p, &err);
	p->returned |= f->type == BAWN_FRAME_TREE_END;
	if (p->killed)
		p->deadline = bawn_now_ms() + IDLE_MS;
	return 0;
}

static int take_done(struct pump *p)
{
	if (p->phase != RUNNING || !p->returned)
		return -EPROTO;
	p->phase = LEAVING;
	if (p->ending.kind)
		tell(p, &p->ending, 0);
	return 0;
}

static int take_frame(struct pump *p, const struct bawn_frame *f)
{
	switch (f->type) {
	case BAWN_FRAME_HELLO:
		if (p->greeted || bawn_frame_u32(f) != BAWN_FRAME_VERSION)
			return -EPROTO;
		p->greeted = true;
		go_on(p);
		if (p->phase == AWAIT_HELLO)
			send_plan(p);
		return 0;
	case BAWN_FRAME_READY:
		return take_ready(p, f);
	case BAWN_FRAME_ERROR:
		return take_error(p, f);
	case BAWN_FRAME_STDOUT:
		return take_output(p, f, 0);
	case BAWN_FRAME_STDERR:
		return take_output(p, f, 1);
	case BAWN_FRAME_CREDIT:
		return take_credit(p, f);
	case BAWN_FRAME_EVENT:
		return take_event(p, f);
	case BAWN_FRAME_ENTRY:
	case BAWN_FRAME_DATA:
	case BAWN_FRAME_TREE_END:
		return take_change(p, f);
	case BAWN_FRAME_DONE:
		return take_done(p);
	case BAWN_FRAME_PLAN:
	case BAWN_FRAME_GO:
	case BAWN_FRAME_STDIN:
	case BAWN_FRAME_STDIN_END:
	case BAWN_FRAME_SIGNAL:
	case _BAWN_FRAME_TYPES:
		break;
	}
	return -EPROTO;
}

static void read_stream(struct pump *p)
{
	struct bawn_frame f;
	int n = bawn_frame_fill(&p->reader, p->stream);
	int r;

	if (n == -EAGAIN)
		return;
	if (n <= 0)
		broken(p, n == 0 ? -EPIPE : n);
	while ((r = bawn_frame_next(&p->reader, &f)) > 0 && p->phase != LEAVING) {
		r = take_frame(p, &f);
		if (r < 0)
			break;
	}
	if (r < 0)
		broken(p, r);
}

/* ---- orders ---- */

static void obey(struct pump *p)
{
	struct bawn_init_order order = {0};
	ssize_t n = recv(p->ctl, &order, sizeof(order), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(order)) /* the host process is gone or wants it all gone */
		finish(p, 0);
	if (order.signo == 0 && p->phase == HELD) {
		bawn_frame_put(&p->out, BAWN_FRAME_GO, 0, NULL, 0);
		p->phase = RUNNING;
	} else if (order.signo == SIGKILL && p->phase < RUNNING) {
		finish(p, 0);
	} else if (order.signo == SIGKILL && !p->killed) {
		/* what it did until now comes back all the same, if it comes soon */
		p->killed = true;
		p->deadline = bawn_now_ms() + IDLE_MS;
		p->last = bawn_now_ms() + RETURN_MS;
		bawn_frame_put(&p->out, BAWN_FRAME_SIGNAL, SIGKILL, NULL, 0);
	} else if (order.signo > 0 && order.signo < NSIG && p->phase == RUNNING) {
		bawn_frame_put(&p->out, BAWN_FRAME_SIGNAL, (uint8_t)order.signo, NULL, 0);
	}
}

/* ---- the loop ---- */

static void send_files(struct pump *p)
{
	struct bawn_error err = {0};
	int r = 1;

	while (p->phase == SENDING && p->out.len < ENOUGH && r > 0) {
		r = bawn_transfer_send(p->files, &p->out, ENOUGH, &err);
		if (r < 0)
			fail(p, &err);
		if (r == 0)
			p->phase = AWAIT_READY;
	}
}

static int time_left(const struct pump *p)
{
	int64_t by = p->deadline;
	int64_t left;

	if (p->last && p->last < by)
		by = p->last;
	if (!by)
		return -1;
	left = by - bawn_now_ms();
	return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static void round_trip(struct pump *p)
{
	/* also when all that was ready is on its way: there are more files to be read */
	bool more = p->out.len || p->phase == SENDING;
	struct pollfd fds[5] = {{.fd = p->ctl, .events = POLLIN},
		{.fd = p->stream, .events = (short)(more ? POLLIN | POLLOUT : POLLIN)},
		{.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLOUT},
		{.fd = -1, .events = POLLOUT}};

	if (p->phase == RUNNING && p->in_flight + INPUT_MAX <= BAWN_FRAME_WINDOW && !p->killed)
		fds[2].fd = p->stdin_fd;
	for (int i = 0; i < 2; i++)
		if (p->outlets[i].buf.len)
			fds[3 + i].fd = p->outlets[i].fd;
	if (p->phase == LEAVING)
		fds[1].fd = -1;
	if (poll(fds, 5, time_left(p)) < 0 && errno != EINTR)
		finish(p, 0);
	if (time_left(p) == 0)
		broken(p, -ETIMEDOUT);
	if (fds[0].revents)
		obey(p);
	for (int i = 0; i < 2; i++)
		if (fds[3 + i].revents)
			flush_outlet(p, i);
	if (fds[2].revents)
		read_input(p);
	if (fds[1].revents & (POLLIN | POLLHUP | POLLERR))
		read_stream(p);
	send_files(p);
	if (p->out.len && p->phase != LEAVING) {
		size_t before = p->out.len;
		int r = bawn_frame_flush(&p->out, p->stream);

		if (p->greeted && p->out.len < before)
			go_on(p);
		/* a closed stream shows when it is read: what it said last is there */
		if (r < 0 && r != -EAGAIN)
			p->out.len = 0;
	}
	if (p->out.failed)
		finish(p, 0);
}

/* ---- the beginning ---- */

static void tool_main(const struct pump *p) __attribute__((noreturn));
static void tool_main(const struct pump *p)
{
	const struct bawn_far_job *job = &p->start->job;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool stdio = p->start->tool->stream_is_stdio;
	struct bawn_error err = {0};
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigemptyset(&none);
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	if (null < 0 || dup2(stdio ? job->stream : null, 0) < 0 ||
		dup2(stdio ? job->stream : p->said, 1) < 0 || dup2(p->said, 2) < 0)
		_exit(126);
	if (!stdio)
		(void)fcntl(job->stream, F_SETFD, 0);
	if (p->start->tool->enter && p->start->tool->enter(job, &err) < 0) {
		(void)dprintf(2, "%s\n", err.msg);
		_exit(126);
	}
	bawn_exec(p->start->argv[0], p->start->argv, (const char *const *)environ);
	(void)dprintf(2, "cannot run '%s': %m\n", p->start->argv[0]);
	_exit(127);
}

/* All descriptors but the ones named go: the host process's are none of our business. */
static void close_others(const int *keep, size_t n)
{
	for (int from = 0;;) {
		int next = INT_MAX;

		for (size_t i = 0; i < n; i++)
			if (keep[i] >= from && keep[i] < next)
				next = keep[i];
		if (next > from)
			(void)close_range((unsigned)from, (unsigned)next - 1, 0);
		if (next == INT_MAX)
			return;
		from = next + 1;
	}
}

/* Out of the way of 0 to 2, which the tool gets its own in. */
static int lift(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);
}

static void settle(struct pump *p, struct bawn_pump_start *s)
{
	sigset_t all;

	(void)prctl(PR_SET_NAME, "bawn-far");
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	(void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)bawn_setsid(); /* a terminal's signals are for the host process to pass on */
	p->ctl = lift(s->ctl);
	p->stream = lift(s->stream);
	s->job.stream = lift(s->job.stream);
	p->stdin_fd = lift(s->stdio[0]);
	p->outlets[0].fd = lift(s->stdio[1]);
	p->outlets[1].fd = lift(s->stdio[2]);
	p->said = memfd_create("said", MFD_CLOEXEC);
	close_others((const int[]){p->ctl, p->stream, s->job.stream, p->stdin_fd, p->outlets[0].fd,
			     p->outlets[1].fd, p->said},
		7);
}

static int begin(struct pump *p, struct bawn_pump_start *s, struct bawn_error *err)
{
	int r;

	p->out.max = QUEUE_MAX;
	p->deadline = bawn_now_ms() + bawn_far_setup_ms(s->tool);
	if (p->said < 0 || bawn_frame_reader_init(&p->reader, false) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	if (!s->tool->hosted)
		p->tool = fork();
	if (!s->tool->hosted && p->tool == 0)
		tool_main(p);
	if (p->tool < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a process: %m");
	(void)close(TAKE_FD(s->job.stream));
	if (s->tool->connect) {
		(void)close(TAKE_FD(p->stream));
		r = s->tool->connect(&s->job, &p->stream, err);
		if (r < 0)
			return r;
	}
	if (fcntl(p->stream, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot use the stream: %m");
	/* while the tool is busy starting */
	r = bawn_transfer_new(s->job.plan, s->tool->copy_on_write, report, p, &p->files, err);
	if (r >= 0 && s->tool->eager) {
		send_plan(p);
		send_files(p);
	}
	return r;
}

void bawn_pump_main(const struct bawn_pump_start *start)
{
	struct bawn_pump_start s = *start;
	struct pump p = {.start = &s, .ctl = -1, .stream = -1};
	struct bawn_error err = {0};

	settle(&p, &s);
	if (begin(&p, &s, &err) < 0)
		fail(&p, &err);
	while (p.phase != LEAVING || p.outlets[0].buf.len || p.outlets[1].buf.len)
		round_trip(&p);
	finish(&p, LEAVE_MS);
}
