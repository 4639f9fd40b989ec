/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the sandbox's init, see init.h. The wall is a table of steps: each adds the controls
 * that are in force once it has succeeded; the first failure ends everything before any untrusted
 * code has run.
 */
#include "backend/native/init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/inside/parcel.h"
#include "backend/native/broker.h"
#include "backend/native/hole.h"
#include "backend/native/meter.h"
#include "backend/native/scratch.h"
#include "backend/native/seccomp.h"
#include "backend/native/wall.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/sys.h"

#define SOCK_FD 3 /* where the socket to the host is moved; everything above is closed */

struct state {
	struct bawn_init *in;
	const struct bawn_plan *plan; /* NULL as long as it has not come */
	uint32_t enforced;
	uint32_t by_cgroup;
	uint32_t todo; /* limits for the meter */
	bool alone;    /* a pid namespace ends with us; else we are a subreaper */
	bool power;    /* NEAR: the tool's mounts can be finished */
	int sock;
	int pty;
	int relays[BAWN_PORTS_MAX];
	size_t n_relays;
	struct bawn_wall_listeners listeners;
	int listener;
	int exec_errno;
	bool dismissed; /* the word was not to start */
	pid_t pid;
	const char **sh_argv;
	const char *const *exes; /* paths to try, NULL-terminated */
	struct bawn_meter *meter;
	struct bawn_broker *broker;
	unsigned reports;
	int64_t next_usage;
};

static void tell(const struct state *s, const struct bawn_init_msg *msg)
{
	(void)send(s->sock, msg, sizeof(*msg), MSG_NOSIGNAL);
}

/* ---- the steps ---- */

static bool follows_parent(const struct state *s)
{
	return s->in->tier == BAWN_TIER_NEAR ? s->in->outer.follow_parent : s->alone;
}

static int step_settle(struct state *s, struct bawn_error *err)
{
	sigset_t all;
	int r;

	(void)prctl(PR_SET_NAME, "bawn-init");
	for (int sig = 1; s->in->reset_signals && sig < NSIG; sig++)
		(void)sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	/* a process that moves itself is not made to wait for every processor, as one that is moved
	 */
	r = s->in->cgroup ? bawn_cgroup_enter(s->in->cgroup, s->in->born_inside) : 0;
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot enter the control group: %m");
	}
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	if (!HOLE("setsid") && bawn_setsid() < 0 && getsid(0) != getpid()) /* a tool's doing */
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a session: %m");
	/* the kernel ends the whole pid namespace with us, whatever else is going on */
	if (follows_parent(s) && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot follow the parent: %m");
	if (!s->alone && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot become a subreaper: %m");
	/* so that the id maps are ours to write; taken back before the command runs */
	(void)prctl(PR_SET_DUMPABLE, 1);
	return 0;
}

/* Nothing of the host process but its end of the socket; the command's own come with the plan. */
static int step_socket(struct state *s, struct bawn_error *err)
{
	if (s->in->sock != SOCK_FD && dup3(s->in->sock, SOCK_FD, O_CLOEXEC) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot move descriptors: %m");
	s->sock = SOCK_FD;
	if (!HOLE("closefds") && close_range(SOCK_FD + 1, INT_MAX, 0) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot close descriptors: %m");
	return 0;
}

static int step_descriptors(struct state *s, struct bawn_error *err)
{
	int fds[3];

	/* out of the way of 0-3 first */
	for (int i = 0; i < 3; i++) {
		fds[i] = s->in->stdio[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
					     : fcntl(s->in->stdio[i], F_DUPFD_CLOEXEC, 10);
		if (fds[i] < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot take descriptor %d: %m", i);
	}
	if (s->in->sock != SOCK_FD && dup3(s->in->sock, SOCK_FD, O_CLOEXEC) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot move descriptors: %m");
	s->sock = SOCK_FD;
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot move descriptors: %m");
	if (!HOLE("closefds") && close_range(SOCK_FD + 1, INT_MAX, 0) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot close descriptors: %m");
	return 0;
}

static int step_identity(struct state *s, struct bawn_error *err)
{
	return bawn_wall_identity(s->in->uid, s->in->gid, err);
}

/* Without a map of ids the groups of the caller would go along. */
static int step_groups(struct state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_no_groups(err);
}

static int step_network(struct state *s, struct bawn_error *err)
{
	(void)s;
	return HOLE("netns") ? 0 : bawn_wall_network_begin(err);
}

static int step_begin(struct state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_root_begin(err);
}

/* What the host has made meanwhile. */
static int step_plan(struct state *s, struct bawn_error *err)
{
	struct bawn_arena *a = bawn_arena_new(); /* lives as long as we do */
	int r;

	if (!a)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = bawn_parcel_take(a, s->sock, s->in, err);
	if (r == -EPIPE) /* nobody waits for an answer */
		_exit(1);
	if (r < 0)
		return r;
	s->plan = s->in->plan;
	s->by_cgroup = s->in->by_cgroup;
	for (int i = 0; i < 3; i++) {
		if (dup2(s->in->stdio[i], i) < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot move descriptors: %m");
		(void)close(s->in->stdio[i]);
	}
	return 0;
}

static int step_fill(struct state *s, struct bawn_error *err)
{
	if (sethostname(s->plan->hostname, strlen(s->plan->hostname)) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot set the host name: %m");
	return HOLE("netns") ? 0 : bawn_wall_network_fill(s->plan, err);
}

static int step_join(struct state *s, struct bawn_error *err)
{
	int r = HOLE("netns") ? 0 : bawn_wall_network_join(s->plan, &s->listeners, err);

	if (r < 0 || s->plan->net_closed)
		return r;
	s->n_relays = s->plan->n_loopback_ports;
	return bawn_wall_listen(s->plan, s->relays, err);
}

static int step_root(struct state *s, struct bawn_error *err)
{
	return bawn_wall_root(s->plan, err);
}

static int step_terminal(struct state *s, struct bawn_error *err)
{
	char name[64];
	unsigned n = 0;
	int unlock = 0;

	if (!s->plan->pty)
		return 0;
	s->pty = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (s->pty < 0 || ioctl(s->pty, TIOCSPTLCK, &unlock) < 0 || ioctl(s->pty, TIOCGPTN, &n) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a terminal: %m");
	(void)snprintf(name, sizeof(name), "/dev/pts/%u", n);
	_cleanup_close_ int tty = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (tty < 0 || dup2(tty, 0) < 0 || dup2(tty, 1) < 0 || dup2(tty, 2) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot open the terminal: %m");
	return 0;
}

static int step_limits(struct state *s, struct bawn_error *err)
{
	int r = s->in->groups_follow ? bawn_cgroup_join(s->sock, &s->by_cgroup) : 0;

	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot enter the control group: %m");
	}
	s->todo = s->plan->demanded & ~s->by_cgroup & ~s->in->outer.limits &
		  (BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_CPU | BAWN_CTL_LIMIT_PROCESSES |
			  BAWN_CTL_LIMIT_FILES | BAWN_CTL_LIMIT_DISK);
	r = bawn_meter_rlimits(s->plan, s->todo);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot set resource limits: %m");
	}
	return 0;
}

static int step_privilege(struct state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_no_privilege(err);
}

static int step_landlock(struct state *s, struct bawn_error *err)
{
	int r = bawn_wall_landlock(s->plan, err);

	return r < 0 ? r : 0;
}

static int step_directory(struct state *s, struct bawn_error *err)
{
	if (chdir(s->plan->cwd) < 0)
		return bawn_fail(err, BAWN_ERR_CALL, -errno, "cannot enter '%s': %m", s->plan->cwd);
	return 0;
}

static int step_left(struct state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_root_left(err);
}

static int step_syscalls(struct state *s, struct bawn_error *err)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (HOLE("seccomp"))
		return 0;
	return bawn_seccomp_load(&s->in->base, false, err);
}

/* ---- the steps behind somebody else's wall ---- */

static int step_outer(struct state *s, struct bawn_error *err)
{
	return bawn_wall_outer_check(s->in->outer.host_ns, s->in->outer.shared, err);
}

static int step_power(struct state *s, struct bawn_error *err)
{
	int r = bawn_wall_outer_power(geteuid(), getegid(), &s->power, err);

	/* new rights undo it */
	return r == 0 && follows_parent(s) && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : r;
}

static int step_outer_network(struct state *s, struct bawn_error *err)
{
	int r = bawn_wall_outer_network(s->in->outer.host_ns, err);

	if (r == 0)
		r = bawn_wall_network_here(s->plan, &s->listeners, err);
	if (r < 0 || s->plan->net_closed)
		return r;
	s->n_relays = s->plan->n_loopback_ports;
	return bawn_wall_listen(s->plan, s->relays, err);
}

static int step_outer_mounts(struct state *s, struct bawn_error *err)
{
	uint32_t claims = 0;
	int r = bawn_wall_outer_mounts(s->plan, s->in->outer.places, s->power, &claims, err);

	s->enforced |= claims;
	return r;
}

static int step_hidden(struct state *s, struct bawn_error *err)
{
	return bawn_wall_outer_hidden(s->plan, err);
}

/* Another kernel may have been built without it; what it would hold is held outside. */
static int step_landlock_if(struct state *s, struct bawn_error *err)
{
	return bawn_landlock_abi() < 1 ? 0 : step_landlock(s, err);
}

static int step_syscalls_if(struct state *s, struct bawn_error *err)
{
	if (step_syscalls(s, err) == 0)
		s->enforced |= BAWN_CTL_SYSCALLS | BAWN_CTL_NESTED;
	return 0;
}

/* ---- all steps ---- */

#define T(tier) (1u << BAWN_TIER_##tier)
#define OURS    (T(FULL) | T(CHROOT)) /* we make the namespaces */
#define HERE    (OURS | T(LANDLOCK))  /* a child of the host process */
#define THIS    (HERE | T(NEAR))      /* on this kernel */
#define EACH    (THIS | T(FAR))

static const struct step {
	const char *name;
	unsigned tiers;
	int (*run)(struct state *s, struct bawn_error *err);
	uint32_t claims; /* what is in force once it has succeeded */
} steps[] = {
	{"settle", EACH, step_settle, 0},
	{"descriptors", HERE, step_socket, 0},
	{"descriptors", T(NEAR) | T(FAR), step_descriptors, 0},
	{"outer wall", T(NEAR), step_outer, BAWN_CTL_PROC | BAWN_CTL_IPC},
	{"namespaces", T(NEAR), step_power, 0},
	{"network", T(NEAR), step_outer_network, BAWN_CTL_NET_NONE},
	{"mounts", T(NEAR), step_outer_mounts, 0},
	{"network", OURS, step_network, 0},
	{"identity", T(FULL), step_identity, BAWN_CTL_PROC | BAWN_CTL_IPC},
	{"identity", T(CHROOT), step_groups, BAWN_CTL_PROC | BAWN_CTL_IPC},
	{"root", OURS, step_begin, 0},
	{"plan", HERE, step_plan, 0}, /* what stands above is the same for all */
	{"network", OURS, step_fill, 0},
	{"root", OURS, step_root, BAWN_CTL_FS_DENY | BAWN_CTL_FS_EXEC | BAWN_CTL_LIMIT_DISK},
	{"network", OURS, step_join, BAWN_CTL_NET_NONE},
	{"terminal", EACH, step_terminal, 0},
	{"limits", EACH, step_limits, BAWN_CTL_LIMIT_FILES},
	{"privilege", EACH, step_privilege, BAWN_CTL_PRIVILEGE},
	{"hidden", T(NEAR), step_hidden, BAWN_CTL_FS_DENY},
	{"root", T(FULL), step_left, 0}, /* before any name of the plan is looked up */
	{"landlock", THIS, step_landlock, BAWN_CTL_FS_READ | BAWN_CTL_FS_WRITE},
	{"landlock", T(FAR), step_landlock_if, 0},
	{"directory", EACH, step_directory, BAWN_CTL_ENV},
	{"syscalls", THIS, step_syscalls, BAWN_CTL_SYSCALLS | BAWN_CTL_NESTED},
	{"syscalls", T(FAR), step_syscalls_if, 0},
};

/* What the Landlock tier can claim depends on the kernel's ABI and on what the plan asks of it. */
static uint32_t landlock_claims(const struct state *s)
{
	const struct bawn_plan *p = s->plan;
	uint32_t c = BAWN_CTL_FS_DENY | BAWN_CTL_LIMIT_DISK | BAWN_CTL_NET_NONE;
	int abi = bawn_landlock_abi();

	if (abi >= 6)
		c |= BAWN_CTL_PROC;
	if (abi >= 6 && !p->unix_open)
		c |= BAWN_CTL_IPC;
	if (!p->n_no_exec)
		c |= BAWN_CTL_FS_EXEC;
	return c;
}

/*
 * With the door, the network is what the door lets through: whatever its rules, internal addresses
 * are its decision as nothing else leads out. The host starts nothing before the door is ready.
 */
static uint32_t network_claims(const struct state *s)
{
	uint32_t c = s->enforced & ~(uint32_t)BAWN_CTL_NET_NONE;

	if (!s->plan->egress)
		return s->enforced;
	return c | BAWN_CTL_NET_SSRF | (s->listeners.redirect_error < 0 ? 0 : BAWN_CTL_NET_EGRESS);
}

static uint32_t last_claims(const struct state *s)
{
	uint32_t c = s->enforced;

	switch (s->plan->tier) {
	case BAWN_TIER_LANDLOCK:
		c |= landlock_claims(s);
		if (bawn_landlock_abi() <
			3) /* a file could be cut without being opened for writing */
			c &= ~(uint32_t)BAWN_CTL_FS_WRITE;
		break;
	case BAWN_TIER_FAR: /* files and network are held by the host, which says so */
		return c;
	case BAWN_TIER_FULL:
	case BAWN_TIER_CHROOT:
	case BAWN_TIER_NEAR:
		c = network_claims(s);
		if (s->in->outer.shared && bawn_landlock_abi() < 6)
			c &= ~(uint32_t)BAWN_CTL_PROC; /* neighbours could be signalled */
		break;
	}
	/* mounts keep what exists; what does not exist yet is the broker's, which is loaded with
	 * the command or not at all: a failure there ends the run before exec */
	return c | BAWN_CTL_FS_PROTECT;
}

static int build_wall(struct state *s, struct bawn_error *err)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!(steps[i].tiers & 1u << s->in->tier))
			continue;
		if (steps[i].run(s, err) < 0)
			return bawn_error_wrap(err, "%s", steps[i].name);
		s->enforced |= steps[i].claims;
	}
	s->enforced = last_claims(s) | s->by_cgroup | s->in->outer.limits | s->todo;
	return 0;
}

/* ---- the command ---- */

/* Without a pid namespace the command gets a domain of its own, so that it cannot signal us. */
static int own_domain(const struct state *s)
{
	struct bawn_landlock_ruleset_attr attr = {.scoped = 3};
	_cleanup_close_ int fd = -1;

	if (s->alone || bawn_landlock_abi() < 6)
		return 0;
	fd = bawn_landlock_create_ruleset(&attr, sizeof(attr), 0);
	return fd < 0 || bawn_landlock_restrict_self(fd, 0) < 0 ? -errno : 0;
}

/* The host's word. False: not to start, or there is no host any more. */
static bool await_word(void)
{
	struct bawn_init_order order = {0};
	ssize_t n;

	do
		n = recv(SOCK_FD, &order, sizeof(order), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(order) && order.signo == 0;
}

/*
 * Shares memory and descriptors with init until exec: what it stores in `s` is seen there. It is
 * made ready while the host writes its record, and init stands still until it has been told to go.
 */
static int command_main(void *arg)
{
	struct state *s = arg;
	const struct bawn_plan *p = s->plan;
	sigset_t none;
	int r;

	if (!HOLE("setsid"))
		(void)bawn_setsid();
	if (p->pty)
		(void)ioctl(0, TIOCSCTTY, 0);
	r = own_domain(s);
	if (r == 0 && s->in->notify.len) {
		s->listener = bawn_seccomp_load(&s->in->notify, true, NULL);
		/* what it would guard is guarded outside where another kernel has no such thing */
		r = s->listener < 0 && p->tier != BAWN_TIER_FAR ? s->listener : 0;
	}
	s->dismissed = !await_word();
	if (s->dismissed)
		_exit(1);
	if (r < 0) {
		s->exec_errno = -r;
		_exit(127);
	}
	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	if (HOLE("env"))
		bawn_exec(p->exe, p->argv, (const char *const *)environ);
	errno = ENOENT;
	for (const char *const *exe = s->exes; *exe && errno == ENOENT; exe++)
		bawn_exec(*exe, p->argv, p->envp);
	s->exec_errno = errno; /* not before: we share memory with who reads it */
	if (errno ==
		ENOEXEC) { /* a script without an interpreter line: the shell's, as for execvp(3) */
		s->exec_errno = 0;
		bawn_exec("/bin/sh", s->sh_argv, p->envp);
		s->exec_errno = errno;
	}
	_exit(127);
}

static int prepare_sh(struct state *s)
{
	size_t n = 0;

	while (s->plan->argv[n])
		n++;
	s->sh_argv = calloc(n + 2, sizeof(*s->sh_argv));
	if (!s->sh_argv)
		return -ENOMEM;
	s->sh_argv[0] = "sh";
	s->sh_argv[1] = s->plan->exe;
	for (size_t i = 1; i < n; i++)
		s->sh_argv[i + 1] = s->plan->argv[i];
	return 0;
}

/* The command's path or, for a bare name in an image, the places along PATH. */
static int prepare_exes(struct state *s)
{
	static const char *one[2];
	const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	struct bawn_arena *a;
	struct bawn_strlist list = {0};
	int r = 0;

	one[0] = s->plan->exe;
	s->exes = one;
	if (strchr(s->plan->exe, '/'))
		return 0;
	a = bawn_arena_new(); /* lives as long as we do */
	for (const char *const *e = s->plan->envp; *e; e++)
		if (!strncmp(*e, "PATH=", 5))
			path = *e + 5;
	for (; a && r == 0 && path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL)
		if (*path == '/')
			r = bawn_strlist_add(a, &list,
				bawn_arena_printf(
					a, "%.*s/%s", (int)strcspn(path, ":"), path, s->plan->exe));
	if (!a || r < 0)
		return -ENOMEM;
	if (list.n)
		s->exes = list.v;
	return 0;
}

static void report(void *data, uint32_t control, const char *text)
{
	struct state *s = data;
	struct bawn_init_msg msg = {.kind = BAWN_EV_DENIED, .control = control};

	if (s->reports++ > 1000) /* a flood says nothing new */
		return;
	(void)snprintf(msg.text, sizeof(msg.text), "%s", text);
	(void)send(SOCK_FD, &msg, sizeof(msg), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int start_command(struct state *s)
{
	static char stack[65536] __attribute__((aligned(64)));
	struct bawn_init_msg failed = {.kind = BAWN_EV_FAILED};
	int r = prepare_sh(s);

	if (r == 0)
		r = prepare_exes(s);
	if (r == 0) {
		s->pid = clone(command_main, stack + sizeof(stack),
			CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, s);
		r = s->pid < 0 ? -errno : -s->exec_errno;
	}
	if (s->pid > 0 ? s->dismissed : !await_word())
		_exit(1);
	if (r == 0 && s->listener >= 0)
		r = bawn_broker_new(s->plan, s->listener, report, s, &s->broker, NULL);
	if (r < 0) {
		failed.status = -r;
		tell(s, &failed);
		return r;
	}
	/* the command has its own copies; an end of file must not wait for us */
	for (int i = 0; i < 3; i++)
		(void)close(i);
	return 0;
}

/* ---- afterwards ---- */

static void finish(struct state *s) __attribute__((noreturn));
static void finish(struct state *s)
{
	/* orphans come to us: who has no child has no descendant, and need not look for any */
	if (!s->alone && s->meter && (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno != ECHILD))
		bawn_meter_kill_all(s->meter);
	/* else the kernel kills what is left in the pid namespace before anybody can wait for us */
	_exit(0);
}

/* Nobody would watch over the command: end everything. */
static void give_up(struct state *s) __attribute__((noreturn));
static void give_up(struct state *s)
{
	struct bawn_init_msg msg = {.kind = BAWN_EV_FAILED, .status = ENOMEM};

	tell(s, &msg);
	finish(s);
}

/* What no mount limits as a whole. */
static uint64_t scratch_usage(const struct state *s)
{
	const char *dir = bawn_scratch_of(s->plan);

	if (dir)
		return bawn_scratch_usage(dir, s->plan->limits.disk);
	return s->plan->tier == BAWN_TIER_NEAR || s->plan->tier == BAWN_TIER_FAR
		       ? bawn_wall_outer_scratch(s->plan)
		       : 0;
}

static int look(struct state *s)
{
	struct bawn_init_msg msg = {.kind = BAWN_EV_LIMIT};
	int next = -1;

	if (!s->meter)
		return -1;
	msg.control = bawn_meter_look(s->meter, &next);
	if (!msg.control && bawn_now_ms() >= s->next_usage) {
		if (scratch_usage(s) > s->plan->limits.disk)
			msg.control = BAWN_CTL_LIMIT_DISK;
		s->next_usage = bawn_now_ms() + 250;
	}
	if (!msg.control)
		return next;
	tell(s, &msg);
	finish(s);
}

static void tell_exit(struct state *s, int status)
{
	struct bawn_init_msg msg = {.kind = BAWN_EV_EXITED, .status = status};
	siginfo_t left = {0};

	/* who could not fork any more has left the others behind, and that is why it ended */
	if (s->todo & BAWN_CTL_LIMIT_PROCESSES &&
		waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) == 0)
		(void)look(s);
	if (s->meter)
		bawn_meter_usage(s->meter, &msg.usage.cpu_us, &msg.usage.memory_peak);
	tell(s, &msg);
	finish(s);
}

static void reap(struct state *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == s->pid)
			tell_exit(s, status);
	if (pid < 0 && errno == ECHILD)
		finish(s);
}

static void obey(struct state *s)
{
	struct bawn_init_order order = {0};
	ssize_t n = recv(SOCK_FD, &order, sizeof(order), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(order) ||
		order.signo == SIGKILL) /* the host is gone, or wants it all gone */
		finish(s);
	if (order.signo > 0)
		(void)kill(-s->pid, order.signo);
}

static void stay(struct state *s) __attribute__((noreturn));
static void stay(struct state *s)
{
	struct pollfd fds[3] = {{.fd = SOCK_FD, .events = POLLIN}, {.fd = -1, .events = POLLIN},
		{.fd = s->broker ? bawn_broker_fd(s->broker) : -1, .events = POLLIN}};
	int64_t next = bawn_now_ms() + 20;
	sigset_t chld;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	fds[1].fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fds[1].fd < 0)
		finish(s);
	for (;;) {
		struct signalfd_siginfo si;
		int64_t now = bawn_now_ms();

		if (s->meter && now >= next)
			next = now + look(s);
		if (poll(fds, 3, s->meter ? (int)(next > now ? next - now : 0) : -1) < 0 &&
			errno != EINTR)
			finish(s);
		if (fds[0].revents)
			obey(s);
		if (fds[1].revents) {
			while (read(fds[1].fd, &si, sizeof(si)) > 0)
				;
			reap(s);
		}
		if (fds[2].revents && bawn_broker_serve(s->broker) == -ENOENT)
			fds[2].fd = -1;
	}
}

/* ---- the beginning ---- */

static void send_ready(const struct state *s)
{
	struct bawn_init_msg msg = {.kind = BAWN_INIT_READY, .enforced = s->enforced};
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int) * BAWN_INIT_FDS_MAX)];
	} c = {.buf = {0}};
	struct iovec iov = {.iov_base = &msg, .iov_len = sizeof(msg)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[BAWN_INIT_FDS_MAX];
	size_t n = 0;

	if (s->pty >= 0)
		fds[n++] = s->pty;
	for (size_t i = 0; i < s->n_relays; i++)
		fds[n++] = s->relays[i];
	for (size_t i = 0; i < BAWN_LISTENERS_MAX; i++)
		if (s->listeners.fds[i] >= 0) {
			msg.listeners |= 1u << i;
			fds[n++] = s->listeners.fds[i];
		}
	if (s->listeners.redirect_error < 0)
		(void)snprintf(msg.text, sizeof(msg.text), "%s: %s", s->listeners.redirect_what,
			strerrordesc_np(-s->listeners.redirect_error));
	if (n) {
		mh.msg_control = c.buf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		c.hdr.cmsg_level = SOL_SOCKET;
		c.hdr.cmsg_type = SCM_RIGHTS;
		c.hdr.cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(&c.hdr), fds, sizeof(int) * n);
	}
	if (sendmsg(SOCK_FD, &mh, MSG_NOSIGNAL) < 0)
		_exit(1);
	for (size_t i = 0; i < n; i++)
		(void)close(fds[i]);
}

void bawn_init_main(const struct bawn_init *in)
{
	struct bawn_init mine = *in;
	struct state s = {.in = &mine,
		.plan = in->plan,
		.by_cgroup = in->by_cgroup,
		.sock = in->sock,
		.pty = -1,
		.listener = -1};
	struct bawn_init_msg msg = {.kind = BAWN_INIT_ERROR};

	s.alone = in->tier != BAWN_TIER_LANDLOCK && !in->outer.shared &&
		  (in->tier != BAWN_TIER_FAR || getpid() == 1);
	for (size_t i = 0; i < BAWN_LISTENERS_MAX; i++)
		s.listeners.fds[i] = -1;
	if (build_wall(&s, &msg.error) < 0) {
		tell(&s, &msg);
		_exit(1);
	}
	send_ready(&s);
	/* if the kernel ends everything with us anyway only after the start, for it takes a while;
	 * rlimits hold already */
	if (!s.alone)
		s.meter = bawn_meter_new(s.plan, s.todo, false);
	if (!s.alone && !s.meter) {
		(void)await_word();
		give_up(&s);
	}
	if (start_command(&s) < 0)
		finish(&s);
	if (!s.meter)
		s.meter = bawn_meter_new(s.plan, s.todo, true);
	if (!s.meter)
		give_up(&s);
	stay(&s);
}
