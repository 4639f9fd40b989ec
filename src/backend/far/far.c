/* SPDX-License-Identifier: Apache-2.0 */
/* The host process's side: names the run, has the tool's command line built, forks the pump. */
#include "backend/far/far.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "backend/inside/handover.h"
#include "backend/native/hole.h"
#include "backend/native/seccomp.h"
#include "backend/near/near.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/libexec.h"
#include "base/path.h"
#include "base/sys.h"

#define END_MS \
	10000 /* for the pump to end what it started, when nothing of it is wanted any more */

static struct bawn_far *far_of(struct bawn_instance *in)
{
	return (struct bawn_far *)(void *)in;
}

int bawn_far_find(
	const char *program, const char *remedy, char *dst, size_t size, struct bawn_error *err)
{
	const struct bawn_tool like = {.program = program, .remedy = remedy};

	if (*program != '/' || access(program, X_OK) < 0)
		return bawn_near_find(&like, dst, size, err);
	(void)snprintf(dst, size, "%s", program);
	return 0;
}

int bawn_far_probe(const struct bawn_backend *be, const struct bawn_far_tool *tool,
	struct bawn_probe *ret, struct bawn_error *err)
{
	const struct bawn_tool like = {.program = tool->program, .remedy = tool->remedy};

	return bawn_near_probe(be, &like, NULL, ret, err);
}

/* ---- prepare ---- */

static const char *place_for_devices(void)
{
	static const char *const places[] = {"/tmp", "/var/tmp", "/srv", "/run"};
	struct statvfs fs;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], W_OK) == 0 && statvfs(places[i], &fs) == 0 &&
			!(fs.f_flag & (ST_NODEV | ST_NOEXEC)))
			return places[i];
	return "/tmp"; /* whoever needs them will say what it could not do */
}

static int name_run(struct bawn_far *f, struct bawn_far_job *job, struct bawn_error *err)
{
	const char *run =
		f->tool->devices ? place_for_devices() : bawn_path_runtime(f->tool->in_memory);
	char program[4096], inside[4096];
	uint64_t r = 0;
	int found = bawn_far_find(f->tool->program, f->tool->remedy, program, sizeof(program), err);

	if (found < 0)
		return found;
	if (!f->tool->no_inside && bawn_libexec_find("bawn-inside", inside, sizeof(inside)) < 0)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'bawn-inside' is neither beside this program nor in '%s'",
			BAWN_LIBEXECDIR);
	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "no random numbers: %m");
	job->program = bawn_arena_strdup(f->arena, program);
	job->inside = f->tool->no_inside ? NULL : bawn_arena_strdup(f->arena, inside);
	job->id = bawn_arena_printf(
		f->arena, "bawn-%d-%012llx", getpid(), (unsigned long long)(r >> 16));
	job->dir = job->id ? bawn_arena_printf(f->arena, "%s/%s", run, job->id) : NULL;
	if (!job->program || (!job->inside && !f->tool->no_inside) || !job->dir)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return 0;
}

static int refuse(const char *what, struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"%s cannot be had behind a kernel of its own", what);
}

/*
 * A protected name that is a FIFO, a socket or a device: who shows it to another kernel opens it,
 * and waits for a writer that never comes.
 */
static int check_kind(const struct bawn_mount *m, struct bawn_error *err)
{
	struct stat st;

	if (m->kind != BAWN_MNT_RO || !m->protect || lstat(m->src, &st) < 0 ||
		S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode))
		return 0;
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"'%s' is neither a file nor a directory and cannot be shown to a kernel of its own; "
		"move it away",
		m->src);
}

/* What no tool with a kernel of its own can do here. */
static int check_plan(const struct bawn_plan *plan, struct bawn_error *err)
{
	if (plan->pty)
		return refuse("a terminal (--pty)", err);
	if (plan->n_loopback_ports)
		return refuse("a port of the host's loopback (network.loopback_ports)", err);
	if (plan->egress)
		return refuse("net.egress: a network through the egress proxy", err);
	for (size_t i = 0; i < plan->n_mounts; i++) {
		int r = check_kind(&plan->mounts[i], err);

		if (r < 0)
			return r;
		if (plan->mounts[i].kind == BAWN_MNT_SOCKET)
			return refuse("a socket of the host (filesystem.sockets)", err);
	}
	return 0;
}

static int encode(struct bawn_far *f, struct bawn_buf *out, struct bawn_error *err)
{
	struct bawn_init init = {.plan = f->link.plan, .uid = geteuid(), .gid = getegid()};
	int r = bawn_seccomp_base(f->arena, f->link.plan, &init.base, err);

	if (r < 0)
		return r;
	if (f->tool->as_user) /* whatever its number is there */
		init.uid = init.gid = 0;
	if (!HOLE("guards"))
		bawn_seccomp_notify(bawn_broker_mode(f->link.plan), &init.notify);
	bawn_handover_encode(&init, out);
	return out->failed ? bawn_fail(err, BAWN_ERR_BACKEND, out->failed, "out of memory") : 0;
}

static int keep(struct bawn_far *f, const struct bawn_far_job *job, struct bawn_error *err)
{
	struct bawn_strlist clean = {0};
	int r = f->tool->clean ? f->tool->clean(job, &clean, err) : 0;

	return r < 0 ? r : bawn_keeper_start(job->dir, clean.v, &f->keeper, err);
}

static int fork_pump(struct bawn_far *f, struct bawn_pump_start *start, struct bawn_error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	f->link.sock = pair[0];
	start->ctl = pair[1];
	f->link.pid = fork();
	if (f->link.pid == 0)
		bawn_pump_main(start);
	(void)close(pair[1]);
	if (f->link.pid > 0)
		f->link.pidfd = (int)syscall(SYS_pidfd_open, f->link.pid, 0);
	if (f->link.pid < 0 || f->link.pidfd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a process: %m");
	return 0;
}

static int start_pump(struct bawn_far *f, const int stdio[3], struct bawn_error *err)
{
	struct bawn_pump_start start = {.tool = f->tool,
		.job = {.in = &f->in, .plan = f->link.plan, .arena = f->arena},
		.stdio = {stdio[0], stdio[1], stdio[2]}};
	_cleanup_close_ int ours = -1, theirs = -1;
	_cleanup_buf_ struct bawn_buf plan = {0};
	struct bawn_strlist argv = {0};
	int r = name_run(f, &start.job, err);
	int pair[2];

	if (r >= 0)
		r = encode(f, &plan, err);
	if (r >= 0)
		r = keep(f, &start.job, err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	ours = pair[0];
	theirs = pair[1];
	start.stream = ours;
	start.job.stream = theirs;
	start.plan = &plan;
	r = bawn_strlist_add(f->arena, &argv, start.job.program);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "out of memory");
	r = f->tool->build(&start.job, &argv, err);
	start.argv = argv.v;
	return r < 0 ? r : fork_pump(f, &start, err);
}

int bawn_far_prepare(struct bawn_instance *in, const struct bawn_far_tool *tool,
	const struct bawn_plan *plan, const int stdio[3], struct bawn_error *err)
{
	struct bawn_far *f = far_of(in);
	int r;

	f->tool = tool;
	f->keeper = BAWN_SCRATCH_NONE;
	bawn_link_open(&f->link, in);
	r = bawn_link_plan(&f->link, bawn_holes_in(plan), err);
	if (r >= 0)
		r = check_plan(plan, err);
	if (r < 0)
		return r;
	f->link.by_order = true;
	f->arena = bawn_arena_new();
	if (!f->arena)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	for (int i = 0; i < 3; i++)
		if (stdio[i] >= 0 && fcntl(stdio[i], F_GETFD) < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot take descriptor %d: %m", i);
	(void)snprintf(in->walls, sizeof(in->walls),
		"%s, changes applied by the host, rlimits, metering", tool->walls);
	return start_pump(f, stdio, err);
}

/* ---- the rest is the link's ---- */

int bawn_far_setup_ms(const struct bawn_far_tool *tool)
{
	return tool->setup_ms ? tool->setup_ms : BAWN_SETUP_MS;
}

int bawn_far_await(struct bawn_instance *in, struct bawn_error *err)
{
	struct bawn_far *f = far_of(in);
	/* the pump watches the clock, and knows why */
	int r = bawn_link_await(&f->link, bawn_far_setup_ms(f->tool) + END_MS, err);

	if (r < 0)
		return r;
	in->enforced = f->tool->claims(f->link.plan, in->enforced);
	return bawn_link_watch(&f->link, err);
}

int bawn_far_start(struct bawn_instance *in, struct bawn_error *err)
{
	return bawn_link_start(&far_of(in)->link, err);
}

int bawn_far_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err)
{
	struct bawn_far *f = far_of(in);
	int r = bawn_link_event(&f->link, ret, err);

	f->over |= ret->kind == BAWN_EV_ENDED;
	return r;
}

int bawn_far_signal(struct bawn_instance *in, int signo, struct bawn_error *err)
{
	return bawn_link_signal(&far_of(in)->link, signo, err);
}

void bawn_far_usage(struct bawn_instance *in, struct bawn_usage *ret)
{
	bawn_link_usage(&far_of(in)->link, ret);
}

/* The pump ends everything at once when it hears nothing any more; one that does not is ended. */
static void end_pump(struct bawn_far *f)
{
	if (f->link.pid <= 0 || f->link.reaped || f->link.pidfd < 0)
		return;
	(void)shutdown(f->link.sock, SHUT_RDWR);
	if (bawn_pidfd_await(f->link.pidfd, END_MS) == 0)
		(void)bawn_pidfd_send_signal(f->link.pidfd, SIGKILL);
}

void bawn_far_destroy(struct bawn_instance *in)
{
	struct bawn_far *f = far_of(in);

	if (!f->tool) /* prepare was never called */
		return;
	end_pump(f);
	bawn_link_close(&f->link);
	if (f->over)
		bawn_keeper_dismiss(&f->keeper);
	else
		bawn_scratch_done(&f->keeper);
	f->arena = bawn_arena_free(f->arena);
}
