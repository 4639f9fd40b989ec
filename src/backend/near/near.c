/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See near.h. The command's own descriptors never pass through the tool: they go to bawn-inside
 * over the socket, so that what the tool writes is its own and can be quoted when it fails.
 */
#include "backend/near/near.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "backend/inside/parcel.h"
#include "backend/native/hole.h"
#include "backend/native/native.h"
#include "backend/native/seccomp.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/libexec.h"
#include "base/path.h"
#include "base/sys.h"

#define INSIDE     "bawn-inside"
#define VERSION_MS 3000  /* for a tool to say its version */
#define FINISH_MS  10000 /* for a tool to end when nobody waits for it */
#define SAID_MAX   4096  /* of what a tool says is looked at */

static struct bawn_near *near_of(struct bawn_instance *in)
{
	return (struct bawn_near *)(void *)in;
}

/* ---- command lines ---- */

void bawn_near_add(struct bawn_near_args *args, ...)
{
	va_list ap;
	const char *s;

	va_start(ap, args);
	while ((s = va_arg(ap, const char *)))
		if (bawn_strlist_add(args->a, &args->argv, s) < 0)
			args->failed = -ENOMEM;
	va_end(ap);
}

void bawn_near_addf(struct bawn_near_args *args, const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	const char *copy = n < 0 ? NULL : bawn_arena_strdup(args->a, s);
	free(s);
	if (!copy || bawn_strlist_add(args->a, &args->argv, copy) < 0)
		args->failed = -ENOMEM;
}

static int memory_file(const void *data, size_t len)
{
	_cleanup_close_ int fd = memfd_create("bawn", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = len ? bawn_write_all(fd, data, len) : 0;
	if (r < 0)
		return r;
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : TAKE_FD(fd);
}

int bawn_near_data(struct bawn_near_args *args, const void *data, size_t len)
{
	int fd = args->n_fds < BAWN_NEAR_FDS_MAX ? memory_file(data, len) : -E2BIG;

	if (fd < 0) {
		args->failed = fd;
		return -1;
	}
	args->fds[args->n_fds++] = fd;
	return fd;
}

int bawn_near_open(struct bawn_near_args *args, const struct bawn_mount *m, struct bawn_error *err)
{
	/* the plan's paths have no symlink in them: one that is there now was put there since */
	int fd = bawn_openat2(AT_FDCWD, m->src, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

	if (fd < 0 && errno == ENOENT && m->optional)
		return -ENOENT;
	if (fd < 0 && errno == ELOOP)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -ELOOP, "'%s' turned into a symlink", m->src);
	if (fd < 0 && errno == ENOSYS)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -ENOSYS,
			"openat2 is refused here, as in a sandbox of bawn's");
	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot bind '%s': %m", m->src);
	if (args->n_fds == BAWN_NEAR_FDS_MAX) {
		(void)close(fd);
		return bawn_fail(err, BAWN_ERR_PLAN, -E2BIG,
			"more than %d paths to bind or to hide: name directories instead",
			BAWN_NEAR_FDS_MAX);
	}
	args->fds[args->n_fds++] = fd;
	return fd;
}

static void args_done(struct bawn_near_args *args)
{
	for (size_t i = 0; i < args->n_fds; i++)
		(void)close(args->fds[i]);
	args->n_fds = 0;
}

/* ---- finding things ---- */

/* Never along PATH: a workspace may well be on it, and what is found here runs unconfined. */
int bawn_near_find(const struct bawn_tool *tool, char *dst, size_t size, struct bawn_error *err)
{
	static const char *const places[] = {"/usr/local/bin", "/usr/bin", "/bin",
		"/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/podman/bin", "/snap/bin",
		"/run/current-system/sw/bin"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if ((size_t)snprintf(dst, size, "%s/%s", places[i], tool->program) < size &&
			access(dst, X_OK) == 0)
			return 0;
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP, "'%s' is not installed; %s",
		tool->program, tool->remedy);
}

static int find_inside(struct bawn_near *n, struct bawn_near_job *job, struct bawn_error *err)
{
	char path[4096];

	if (bawn_libexec_find(INSIDE, path, sizeof(path)) < 0)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'%s' is neither beside this program nor in '%s'", INSIDE, BAWN_LIBEXECDIR);
	job->inside = bawn_arena_strdup(n->arena, path);
	job->inside_fd = open(path, O_PATH | O_CLOEXEC);
	if (!job->inside || job->inside_fd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot open '%s': %m", path);
	return 0;
}

/* Where the private directory of a run is: in its box's, which is bound already, or by itself. */
static const char *place_of(struct bawn_near *n, const struct bawn_near_job *job)
{
	if (job->plan->backend.box)
		return bawn_arena_printf(
			n->arena, "%s/run/%s", job->plan->backend.box_dir, job->id);
	return bawn_arena_printf(n->arena, "%s/%s", bawn_path_runtime(true), job->id);
}

static int name_run(struct bawn_near *n, struct bawn_near_job *job, struct bawn_error *err)
{
	uint64_t r = 0;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "no random numbers: %m");
	job->id = bawn_arena_printf(
		n->arena, "bawn-%d-%012llx", getpid(), (unsigned long long)(r >> 16));
	if (n->tool->by_path && job->id)
		job->dir = place_of(n, job);
	if (!job->id || (n->tool->by_path && !job->dir))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return 0;
}

/* ---- the parcel ---- */

/* What the plan's binds show now; bawn-inside compares. Gone or not ours to see: the tool's matter.
 */
static int look_at_places(struct bawn_near *n, struct bawn_init *init, struct bawn_error *err)
{
	const struct bawn_plan *plan = init->plan;
	struct bawn_place *places = bawn_new(n->arena, struct bawn_place, plan->n_mounts + 1);

	if (!places)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];
		_cleanup_close_ int fd = -1;
		struct stat st;

		places[i] = (struct bawn_place){0};
		if (m->kind != BAWN_MNT_RO && m->kind != BAWN_MNT_RW)
			continue;
		fd = bawn_openat2(AT_FDCWD, m->src, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
		if (fd < 0 && errno == ELOOP)
			return bawn_fail(err, BAWN_ERR_BACKEND, -ELOOP,
				"'%s' turned into a symlink", m->src);
		if (fd >= 0 && fstat(fd, &st) == 0)
			places[i] = (struct bawn_place){.dev = st.st_dev, .ino = st.st_ino};
	}
	init->outer.places = places;
	return 0;
}

static int make_init(struct bawn_near *n, struct bawn_init *init, struct bawn_error *err)
{
	const struct bawn_plan *plan = init->plan;
	int r = bawn_seccomp_base(n->arena, plan, &init->base, err);

	if (r < 0)
		return r;
	if (!HOLE("guards"))
		bawn_seccomp_notify(bawn_broker_mode(plan), &init->notify);
	/* made while the tool starts, where bawn-inside can enter them later than the tool */
	init->groups_follow = n->tool->cgroups && !n->tool->by_path && bawn_cgroup_may_follow();
	if (n->tool->cgroups && !init->groups_follow)
		r = bawn_cgroup_new(plan, &n->link.cgroup, &init->by_cgroup, err);
	init->outer.follow_parent = n->tool->follow_parent;
	init->outer.shared = n->link.by_order = plan->backend.box != NULL;
	init->outer.limits = n->tool->limits ? n->tool->limits(plan) : 0;
	bawn_namespaces(init->outer.host_ns);
	return r < 0 ? r : look_at_places(n, init, err);
}

static int pack(struct bawn_near *n, const struct bawn_init *init, struct bawn_error *err)
{
	for (int i = 0; i < 3; i++) {
		n->parcel[i] = init->stdio[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
						  : fcntl(init->stdio[i], F_DUPFD_CLOEXEC, 3);
		if (n->parcel[i] < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot take descriptor %d: %m", i);
	}
	n->parcel[3] = bawn_parcel_pack(init, err);
	return n->parcel[3] < 0 ? n->parcel[3] : 0;
}

static void drop_parcel(struct bawn_near *n)
{
	for (int i = 0; i < BAWN_PARCEL_FDS; i++) {
		if (n->parcel[i] >= 0)
			(void)close(n->parcel[i]);
		n->parcel[i] = -1;
	}
}

static int send_parcel(struct bawn_near *n, struct bawn_error *err)
{
	int on = 1;
	int r = 0;

	/* its answer will say who it is */
	if (setsockopt(n->link.sock, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		r = -errno;
	if (r == 0)
		r = bawn_parcel_send(n->link.sock, n->parcel);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot hand the plan over: %s",
			strerrordesc_np(-r));
	drop_parcel(n);
	return 0;
}

/* ---- starting the tool ---- */

/* By way of the directory's descriptor: an address holds only a short path. */
static int listen_in(struct bawn_near *n, const char *dir, struct bawn_error *err)
{
	_cleanup_close_ int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/socket", at);
	n->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (at < 0 || n->listener < 0 ||
		bind(n->listener, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
		listen(n->listener, 1) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot listen in '%s': %m", dir);
	return 0;
}

struct start {
	const struct bawn_near *n;
	const struct bawn_near_args *args;
	int sock;
	pid_t host;
};

/* Shares our memory until exec. */
static int tool_main(void *arg)
{
	const struct start *s = arg;
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &dfl, NULL);
	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	(void)bawn_setsid(); /* a terminal's signals are for us to pass on */
	/* one that only speaks to a daemon must not go on asking when nobody is left to listen */
	if (s->n->tool->by_path && !s->n->tool->finishes &&
		(prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != s->host))
		_exit(126);
	if (s->n->link.cgroup && bawn_cgroup_enter(s->n->link.cgroup, false) < 0)
		_exit(126);
	if (dup2(s->n->said, 1) < 0 || dup2(s->n->said, 2) < 0)
		_exit(126);
	(void)close(0);
	if (open("/dev/null", O_RDONLY) != 0) /* NOLINT(android-cloexec-open): for exec */
		_exit(126);
	for (size_t i = 0; i < s->args->n_fds; i++)
		(void)fcntl(s->args->fds[i], F_SETFD, 0);
	if (s->sock >= 0)
		(void)fcntl(s->sock, F_SETFD, 0);
	bawn_exec(s->args->argv.v[0], s->args->argv.v, (const char *const *)environ);
	(void)dprintf(2, "cannot run '%s': %m\n", s->args->argv.v[0]);
	_exit(127);
}

/* Without a copy of our memory: it starts at once, and we wait for no more than its exec. */
static int spawn(
	struct bawn_near *n, const struct bawn_near_args *args, int sock, struct bawn_error *err)
{
	static char stack[65536] __attribute__((aligned(64)));
	struct start s = {.n = n, .args = args, .sock = sock, .host = getpid()};
	sigset_t all, old;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old); /* no handler of ours may run there */
	n->link.pid = clone(tool_main, stack + sizeof(stack),
		CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &s, &n->link.pidfd);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (n->link.pid < 0) {
		n->link.pidfd = -1;
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot start the tool: %m");
	}
	return 0;
}

static int keep(struct bawn_near *n, const struct bawn_near_job *job, struct bawn_error *err)
{
	struct bawn_near_args clean = {.a = n->arena};
	int r;

	if (!job->dir && !n->tool->clean)
		return 0;
	r = n->tool->clean ? n->tool->clean(job, &clean, err) : 0;
	if (r >= 0 && clean.failed)
		r = bawn_fail(err, BAWN_ERR_INTERNAL, clean.failed, "out of memory");
	if (r < 0)
		return r;
	return bawn_keeper_start(job->dir, clean.argv.v, &n->keeper, err);
}

/* The socket: bawn-inside's end in *ret, or -1 when it is to connect. */
static int make_socket(
	struct bawn_near *n, struct bawn_near_job *job, int *ret, struct bawn_error *err)
{
	int pair[2];

	*ret = -1;
	if (job->dir)
		return listen_in(n, job->dir, err);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	n->link.sock = pair[0];
	*ret = pair[1];
	job->socket = bawn_arena_printf(n->arena, "fd:%d", pair[1]);
	return job->socket ? send_parcel(n, err)
			   : bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

static int start_tool(struct bawn_near *n, struct bawn_near_job *job, struct bawn_error *err)
{
	_cleanup_(args_done) struct bawn_near_args args = {.a = n->arena};
	_cleanup_close_ int sock = -1;
	_cleanup_close_ int inside = job->inside_fd;
	int r = keep(n, job, err);

	if (r >= 0)
		r = make_socket(n, job, &sock, err);
	if (r < 0)
		return r;
	n->said = memfd_create("said", MFD_CLOEXEC);
	if (n->said < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a memory file: %m");
	args.fds[args.n_fds++] = TAKE_FD(inside);
	bawn_near_add(&args, job->program, NULL);
	r = n->tool->build(job, &args, err);
	if (r >= 0 && args.failed)
		r = bawn_fail(err, BAWN_ERR_PLAN, args.failed,
			"the command line for '%s' cannot be made", n->tool->program);
	return r < 0 ? r : spawn(n, &args, sock, err);
}

static int send_groups(struct bawn_near *n, const struct bawn_plan *plan, struct bawn_error *err)
{
	uint32_t enforced = 0;
	int r = bawn_cgroup_new(plan, &n->link.cgroup, &enforced, err);

	if (r < 0)
		return r;
	r = bawn_cgroup_hand(n->link.cgroup, enforced, n->link.sock);
	/* nobody is there any more: await says why */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return bawn_fail(err, BAWN_ERR_BACKEND, r,
			"cannot hand over the control groups: %s", strerrordesc_np(-r));
	return 0;
}

int bawn_near_prepare(struct bawn_instance *in, const struct bawn_tool *tool,
	const struct bawn_plan *plan, const int stdio[3], struct bawn_error *err)
{
	struct bawn_near *n = near_of(in);
	struct bawn_init init = {.plan = bawn_holes_in(plan),
		.stdio = {stdio[0], stdio[1], stdio[2]},
		.uid = geteuid(),
		.gid = getegid()};
	struct bawn_near_job job = {.plan = init.plan, .inside_fd = -1};
	char program[4096];
	int r;

	n->tool = tool;
	n->keeper = BAWN_SCRATCH_NONE;
	n->listener = n->said = -1;
	for (int i = 0; i < BAWN_PARCEL_FDS; i++)
		n->parcel[i] = -1;
	n->arena = bawn_arena_new();
	bawn_link_open(&n->link, in);
	r = bawn_link_plan(&n->link, init.plan, err);
	if (r < 0)
		return r;
	if (!n->arena)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	n->link.find_init = true;
	(void)snprintf(in->walls, sizeof(in->walls),
		"%s, Landlock ABI %d, seccomp, rlimits, metering", tool->walls,
		bawn_landlock_abi());
	r = bawn_near_find(tool, program, sizeof(program), err);
	job.program = program;
	if (r >= 0)
		r = name_run(n, &job, err);
	if (r >= 0)
		r = make_init(n, &init, err);
	if (r >= 0)
		r = pack(n, &init, err);
	if (r >= 0)
		r = find_inside(n, &job, err);
	if (r >= 0)
		r = start_tool(n, &job, err);
	return r < 0 || !init.groups_follow ? r : send_groups(n, init.plan, err);
}

/* ---- waiting for bawn-inside ---- */

static int explain(struct bawn_near *n, struct bawn_error *err)
{
	char said[SAID_MAX] = "";
	off_t end = lseek(n->said, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(said) - 1 ? end - (off_t)sizeof(said) + 1 : 0;
	ssize_t len = pread(n->said, said, sizeof(said) - 1, from);
	char *last;

	said[len > 0 ? len : 0] = '\0';
	while (len > 0 && said[len - 1] == '\n')
		said[--len] = '\0';
	if (n->tool->explain)
		return n->tool->explain(n->link.plan, said, err);
	last = strrchr(said, '\n');
	/* nothing of ours has run: whoever comes next may be able to */
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP, "%s failed: %.300s",
		n->tool->program, *said ? (last ? last + 1 : said) : "it said nothing");
}

/* In a box an engine only starts bawn-inside and does not wait for its end. */
static bool is_done(const struct bawn_near *n)
{
	siginfo_t si = {0};

	return n->link.plan->backend.box &&
	       waitid(P_PIDFD, (id_t)n->link.pidfd, &si, WEXITED | WNOWAIT | WNOHANG) == 0 &&
	       si.si_code == CLD_EXITED && si.si_status == 0;
}

/* bawn-inside connects, or the tool ends without it. */
static int await_connection(struct bawn_near *n, int timeout_ms, struct bawn_error *err)
{
	struct pollfd fds[2] = {
		{.fd = n->listener, .events = POLLIN}, {.fd = n->link.pidfd, .events = POLLIN}};
	int r;

	do {
		r = poll(fds, 2, timeout_ms);
		if (r > 0 && !fds[0].revents && is_done(n)) {
			fds[1].fd = -1;
			r = poll(fds, 2, BAWN_SETUP_MS);
		}
	} while (r < 0 && errno == EINTR);
	if (r == 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ETIMEDOUT,
			"%s did not start the sandbox in time", n->tool->program);
	if (!fds[0].revents)
		return explain(n, err);
	n->link.sock = accept4(n->listener, NULL, NULL, SOCK_CLOEXEC);
	if (n->link.sock < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot accept: %m");
	(void)close(n->listener);
	n->listener = -1;
	return send_parcel(n, err);
}

int bawn_near_await(struct bawn_instance *in, struct bawn_error *err)
{
	struct bawn_near *n = near_of(in);
	int timeout = n->tool->setup_ms ? n->tool->setup_ms : BAWN_SETUP_MS;
	int r = n->listener >= 0 ? await_connection(n, timeout, err) : 0;

	if (r < 0)
		return r;
	r = bawn_link_await(&n->link, timeout, err);
	if (r == -EPIPE) { /* gone without a word: what it had to say is with the tool's */
		(void)poll(&(struct pollfd){.fd = n->link.pidfd, .events = POLLIN}, 1, 1000);
		return explain(n, err);
	}
	if (r == 0)
		r = bawn_link_watch(&n->link, err);
	return r < 0 ? r : bawn_link_watch_limits(&n->link, err);
}

/* ---- the rest is the link's ---- */

int bawn_near_start(struct bawn_instance *in, struct bawn_error *err)
{
	return bawn_link_start(&near_of(in)->link, err);
}

int bawn_near_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err)
{
	struct bawn_near *n = near_of(in);
	int r = bawn_link_event(&n->link, ret, err);

	n->over |= ret->kind == BAWN_EV_ENDED;
	return r;
}

int bawn_near_signal(struct bawn_instance *in, int signo, struct bawn_error *err)
{
	return bawn_link_signal(&near_of(in)->link, signo, err);
}

void bawn_near_usage(struct bawn_instance *in, struct bawn_usage *ret)
{
	bawn_link_usage(&near_of(in)->link, ret);
}

/* See bawn_tool.finishes. */
static void let_finish(struct bawn_near *n)
{
	if (!n->tool->finishes || n->listener < 0 || n->link.pidfd < 0)
		return;
	(void)close(TAKE_FD(n->listener));
	(void)bawn_pidfd_await(n->link.pidfd, FINISH_MS);
}

void bawn_near_destroy(struct bawn_instance *in)
{
	struct bawn_near *n = near_of(in);

	if (!n->tool) /* prepare was never called */
		return;
	let_finish(n);
	bawn_link_close(&n->link);
	drop_parcel(n);
	if (n->listener >= 0)
		(void)close(n->listener);
	if (n->said >= 0)
		(void)close(n->said);
	if (n->over)
		bawn_keeper_dismiss(&n->keeper);
	else
		bawn_scratch_done(&n->keeper);
	n->arena = bawn_arena_free(n->arena);
}

/* ---- probing ---- */

static void await_or_kill(pid_t pid, int timeout_ms)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (bawn_pidfd_await(fd, timeout_ms) == 0)
		(void)bawn_pidfd_send_signal(fd, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void bawn_near_version(const char *program, char *dst, size_t size)
{
	char path[PATH_MAX], option[] = "--version";
	char *const argv[] = {path, option, NULL};
	_cleanup_close_ int out = memfd_create("version", MFD_CLOEXEC);
	posix_spawn_file_actions_t files;
	pid_t pid = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s", program);
	if (out < 0 || posix_spawn_file_actions_init(&files))
		return;
	if (posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0) == 0 &&
		posix_spawn_file_actions_adddup2(&files, out, 1) == 0 &&
		posix_spawn_file_actions_adddup2(&files, out, 2) == 0 &&
		posix_spawn(&pid, program, &files, NULL, argv, environ) == 0)
		await_or_kill(pid, VERSION_MS);
	(void)posix_spawn_file_actions_destroy(&files);
	n = pread(out, dst, size - 1, 0);
	dst[n > 0 ? n : 0] = '\0';
	dst[strcspn(dst, "\n")] = '\0';
}

int bawn_near_probe(const struct bawn_backend *be, const struct bawn_tool *tool, const char *image,
	struct bawn_probe *ret, struct bawn_error *err)
{
	struct bawn_error why = {0};
	char program[4096];

	(void)err;
	*ret = (struct bawn_probe){0};
	if (bawn_near_find(tool, program, sizeof(program), &why) < 0) {
		(void)snprintf(
			ret->reason, sizeof(ret->reason), "'%s' is not installed", tool->program);
		(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", tool->remedy);
		return 0;
	}
	bawn_near_version(program, ret->version, sizeof(ret->version));
	return bawn_probe_by_doing(be, image, ret);
}
