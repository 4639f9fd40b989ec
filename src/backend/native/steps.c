/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall is a table of steps: each adds the controls that are in force once it has succeeded; the
 * first failure ends everything before any untrusted code has run. What is the same for every plan
 * comes first, so that it is done while the plan is made.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "backend/inside/parcel.h"
#include "backend/native/hole.h"
#include "backend/native/init_impl.h"
#include "backend/native/seccomp.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/sched.h"
#include "base/sys.h"

static bool follows_parent(const struct init_state *s)
{
	return s->in->tier == BAWN_TIER_NEAR ? s->in->outer.follow_parent : s->alone;
}

static int step_settle(struct init_state *s, struct bawn_error *err)
{
	sigset_t all;
	int r;

	(void)prctl(PR_SET_NAME, "bawn-init");
	for (int sig = 1; s->in->reset_signals && sig < NSIG; sig++)
		(void)sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	/* ignored, as the host process may have it, no child would be seen to end */
	(void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	/* ignored by main() for ourselves */
	(void)sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
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

static int step_namespaces(struct init_state *s, struct bawn_error *err)
{
	if (s->in->namespaces && unshare(s->in->namespaces) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make them: %m");
	return 0;
}

/* Nothing of the host process but its end of the socket; the command's own come with the plan. */
static int step_socket(struct init_state *s, struct bawn_error *err)
{
	if (s->in->sock != SOCK_FD && dup3(s->in->sock, SOCK_FD, O_CLOEXEC) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot move descriptors: %m");
	s->sock = SOCK_FD;
	if (!HOLE("closefds") && close_range(SOCK_FD + 1, INT_MAX, 0) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot close descriptors: %m");
	return 0;
}

static int step_descriptors(struct init_state *s, struct bawn_error *err)
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

static int step_identity(struct init_state *s, struct bawn_error *err)
{
	return bawn_wall_identity(s->in->uid, s->in->gid, err);
}

/* Without a map of ids the groups of the caller would go along. */
static int step_groups(struct init_state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_no_groups(err);
}

/* The host process wakes up while the filter is compiled; not where it would push us aside. */
static int step_soon(struct init_state *s, struct bawn_error *err)
{
	struct bawn_init_msg msg = {.kind = BAWN_INIT_SOON, .cpu = bawn_sched_cpu()};

	(void)err;
	if (bawn_sched_busy())
		return 0;
	(void)send(s->sock, &msg, sizeof(msg), MSG_NOSIGNAL);
	return 0;
}

static int step_network(struct init_state *s, struct bawn_error *err)
{
	if (HOLE("netns")) /* nobody else would say so */
		return step_soon(s, err);
	/* the host process waits for the processor to make control groups, and we will for those */
	return bawn_wall_network_begin(s->sock, s->in->groups_follow && !s->in->uid, err);
}

/* It takes longer than all the rest where there are many processes. */
static int step_count(struct init_state *s, struct bawn_error *err)
{
	(void)s;
	(void)err;
	bawn_meter_count_others();
	return 0;
}

static int step_begin(struct init_state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_root_begin(err);
}

/* What the host has made meanwhile. */
static int step_plan(struct init_state *s, struct bawn_error *err)
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

static int step_fill(struct init_state *s, struct bawn_error *err)
{
	if (sethostname(s->plan->hostname, strlen(s->plan->hostname)) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot set the host name: %m");
	return HOLE("netns") ? 0 : bawn_wall_network_fill(s->plan, err);
}

static int step_join(struct init_state *s, struct bawn_error *err)
{
	int r = HOLE("netns") ? 0 : bawn_wall_network_join(s->plan, &s->listeners, err);

	if (r < 0 || s->plan->net_closed)
		return r;
	s->n_relays = s->plan->n_loopback_ports;
	return bawn_wall_listen(s->plan, s->relays, err);
}

static int step_joined(struct init_state *s, struct bawn_error *err)
{
	(void)s;
	return HOLE("netns") ? 0 : bawn_wall_network_done(err);
}

static int step_root(struct init_state *s, struct bawn_error *err)
{
	return bawn_wall_root(s->plan, err);
}

static int step_terminal(struct init_state *s, struct bawn_error *err)
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

static int step_limits(struct init_state *s, struct bawn_error *err)
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

/*
 * What others do meanwhile comes last, the loopback that is brought up and the groups that are
 * made: even after the filter, unless the policy takes system calls away with it that would be
 * needed here.
 */
static bool comes_last(const struct init_state *s)
{
	return !*s->plan->sys_deny;
}

static int step_joined_sooner(struct init_state *s, struct bawn_error *err)
{
	return comes_last(s) ? 0 : step_joined(s, err);
}

static int step_joined_last(struct init_state *s, struct bawn_error *err)
{
	return comes_last(s) ? step_joined(s, err) : 0;
}

static int step_limits_sooner(struct init_state *s, struct bawn_error *err)
{
	return comes_last(s) ? 0 : step_limits(s, err);
}

static int step_limits_last(struct init_state *s, struct bawn_error *err)
{
	return comes_last(s) ? step_limits(s, err) : 0;
}

/* What exec could give back. It takes nothing of what we have. */
static int step_bounding(struct init_state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_no_bounding(err);
}

static int step_privilege(struct init_state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_no_privilege(err);
}

static int step_landlock(struct init_state *s, struct bawn_error *err)
{
	int r = bawn_wall_landlock(s->plan, err);

	return r < 0 ? r : 0;
}

static int step_directory(struct init_state *s, struct bawn_error *err)
{
	if (chdir(s->plan->cwd) < 0)
		return bawn_fail(err, BAWN_ERR_CALL, -errno, "cannot enter '%s': %m", s->plan->cwd);
	return 0;
}

static int step_left(struct init_state *s, struct bawn_error *err)
{
	(void)s;
	return bawn_wall_root_left(err);
}

static int step_syscalls(struct init_state *s, struct bawn_error *err)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (HOLE("seccomp"))
		return 0;
	return bawn_seccomp_load(&s->in->base, false, err);
}

/* ---- the steps behind somebody else's wall ---- */

static int step_outer(struct init_state *s, struct bawn_error *err)
{
	return bawn_wall_outer_check(s->in->outer.host_ns, s->in->outer.shared, err);
}

static int step_power(struct init_state *s, struct bawn_error *err)
{
	int r = bawn_wall_outer_power(geteuid(), getegid(), &s->power, err);

	/* new rights undo it */
	return r == 0 && follows_parent(s) && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : r;
}

static int step_outer_network(struct init_state *s, struct bawn_error *err)
{
	int r = bawn_wall_outer_network(s->in->outer.host_ns, err);

	if (r == 0)
		r = bawn_wall_network_here(s->plan, &s->listeners, err);
	if (r < 0 || s->plan->net_closed)
		return r;
	s->n_relays = s->plan->n_loopback_ports;
	return bawn_wall_listen(s->plan, s->relays, err);
}

static int step_outer_mounts(struct init_state *s, struct bawn_error *err)
{
	uint32_t claims = 0;
	int r = bawn_wall_outer_mounts(s->plan, s->in->outer.places, s->power, &claims, err);

	s->enforced |= claims;
	return r;
}

static int step_hidden(struct init_state *s, struct bawn_error *err)
{
	return bawn_wall_outer_hidden(s->plan, err);
}

/* Another kernel may have been built without it; what it would hold is held outside. */
static int step_landlock_if(struct init_state *s, struct bawn_error *err)
{
	return bawn_landlock_abi() < 1 ? 0 : step_landlock(s, err);
}

static int step_syscalls_if(struct init_state *s, struct bawn_error *err)
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
	int (*run)(struct init_state *s, struct bawn_error *err);
	uint32_t claims; /* what is in force once it has succeeded */
} steps[] = {
	{"settle", EACH, step_settle, 0},
	{"namespaces", OURS, step_namespaces, 0},
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
	{"privilege", OURS, step_bounding, 0},
	{"limits", T(LANDLOCK), step_count, 0},
	{"plan", HERE, step_plan, 0}, /* what stands above is the same for all */
	{"network", OURS, step_fill, 0},
	{"root", OURS, step_root, BAWN_CTL_FS_DENY | BAWN_CTL_FS_EXEC | BAWN_CTL_LIMIT_DISK},
	{"terminal", EACH, step_terminal, 0},
	{"limits", EACH & ~OURS, step_limits, BAWN_CTL_LIMIT_FILES},
	{"privilege", EACH & ~OURS, step_bounding, 0},
	{"privilege", EACH & ~OURS, step_privilege, BAWN_CTL_PRIVILEGE},
	{"hidden", T(NEAR), step_hidden, BAWN_CTL_FS_DENY},
	{"root", T(FULL), step_left, 0}, /* before any name of the plan is looked up */
	{"landlock", THIS, step_landlock, BAWN_CTL_FS_READ | BAWN_CTL_FS_WRITE},
	{"landlock", T(FAR), step_landlock_if, 0},
	{"network", OURS, step_join, 0}, /* late, for making it takes longest */
	{"privilege", OURS, step_privilege, BAWN_CTL_PRIVILEGE},
	{"directory", EACH, step_directory, BAWN_CTL_ENV},
	{"limits", OURS, step_limits_sooner, 0},
	{"network", OURS, step_joined_sooner, 0},
	{"receipt", HERE, step_soon, 0},
	{"syscalls", THIS, step_syscalls, BAWN_CTL_SYSCALLS | BAWN_CTL_NESTED},
	{"syscalls", T(FAR), step_syscalls_if, 0},
	{"network", OURS, step_joined_last, BAWN_CTL_NET_NONE},
	{"limits", OURS, step_limits_last, BAWN_CTL_LIMIT_FILES},
};

/* What the Landlock tier can claim depends on the kernel's ABI and on what the plan asks of it. */
static uint32_t landlock_claims(const struct init_state *s)
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
static uint32_t network_claims(const struct init_state *s)
{
	uint32_t c = s->enforced & ~(uint32_t)BAWN_CTL_NET_NONE;

	if (!s->plan->egress)
		return s->enforced;
	return c | BAWN_CTL_NET_SSRF | (s->listeners.redirect_error < 0 ? 0 : BAWN_CTL_NET_EGRESS);
}

static uint32_t last_claims(const struct init_state *s)
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

int init_build_wall(struct init_state *s, struct bawn_error *err)
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
