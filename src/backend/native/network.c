/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of the sandbox: a namespace with a loopback of its own and nothing else, listeners in
 * it for whoever serves the command from outside, and a redirect to them. Helpers that share our
 * memory and descriptors make it while we mount: one the namespace, before the plan is known, the
 * other what the plan wants in it. Where no processor is free for them we make it ourselves: each
 * would have to wait for its turn, and we for both.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>

#include <linux/futex.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/native/hole.h"
#include "backend/native/init.h"
#include "backend/native/redirect.h"
#include "backend/native/wall.h"
#include "base/cleanup.h"
#include "base/sched.h"
#include "base/sys.h"

#define BACKLOG 1024

/* What the helpers and we share. They end before join returns. */
static struct {
	const struct bawn_egress_plan *egress;
	pid_t maker, filler; /* 0: none */
	int sock;            /* where the plan comes from */
	int plan_fd;         /* says that it was taken from there */
	int begun;           /* 1, the first one waits for it; 2, no more */
	bool lean;           /* it makes the namespace and nothing in it */
	bool elsewhere;      /* it was kept off our processor: `cpus` undoes it */
	cpu_set_t cpus;
	uint32_t made; /* how far the first one is: 1, the namespace is there; 2, it is done */
	int fd;        /* the namespace */
	int error;
	const char *what; /* could not be done */
	struct bawn_wall_listeners listeners;
} net;

const struct bawn_listener_kind bawn_listener_kinds[BAWN_LISTENERS_MAX] = {
	{"proxy", AF_INET, SOCK_STREAM},
	{"capture", AF_INET, SOCK_STREAM},
	{"dns-udp", AF_INET, SOCK_DGRAM},
	{"dns-tcp", AF_INET, SOCK_STREAM},
	{"proxy", AF_INET6, SOCK_STREAM},
	{"capture", AF_INET6, SOCK_STREAM},
};

uint16_t bawn_listener_port(const struct bawn_egress_plan *e, size_t i)
{
	switch (bawn_listener_kinds[i].name[0]) {
	case 'p':
		return e->proxy_port;
	case 'c':
		return e->capture_port;
	default:
		return BAWN_DNS_PORT;
	}
}

static int listen_at(int family, int type, uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	bool is_v6 = family == AF_INET6;
	_cleanup_close_ int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
		bind(fd, is_v6 ? (const void *)&v6 : (const void *)&v4,
			is_v6 ? sizeof(v6) : sizeof(v4)) < 0 ||
		(type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return -errno;
	return TAKE_FD(fd);
}

/* Without IPv6 on this host there is none inside, and nothing of it to listen for. */
static bool is_absent(int family, int error)
{
	return family == AF_INET6 && (error == -EAFNOSUPPORT || error == -EADDRNOTAVAIL);
}

static int make_listeners(void)
{
	struct bawn_wall_listeners *l = &net.listeners;
	bool v6 = true;
	int r;

	for (size_t i = 0; i < BAWN_LISTENERS_MAX; i++) {
		const struct bawn_listener_kind *k = &bawn_listener_kinds[i];

		r = listen_at(k->family, k->type, bawn_listener_port(net.egress, i));
		if (r < 0 && !is_absent(k->family, r)) {
			net.what = "listen inside";
			return r;
		}
		l->fds[i] = r < 0 ? -1 : r;
		v6 &= r >= 0;
	}
	/* what cannot be redirected is said, not hidden: the receipt lacks net.egress then */
	l->redirect_error =
		HOLE("redirect") ? 0
				 : bawn_redirect(net.egress->capture_port, v6, &l->redirect_what);
	return 0;
}

static int set_loopback(int fd, bool up)
{
	struct ifreq ifr = {.ifr_name = "lo"};

	net.what = "set up the loopback";
	if (ioctl(fd, SIOCGIFFLAGS, &ifr) < 0)
		return -errno;
	if (up == !!(ifr.ifr_flags & IFF_UP))
		return 0;
	ifr.ifr_flags = up ? IFF_UP | IFF_RUNNING : 0;
	return ioctl(fd, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

static void say_made(uint32_t how_far)
{
	__atomic_store_n(&net.made, how_far, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &net.made, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Until the first one is so far, or is no more: looked at now and then, for whoever is killed says
 * nothing. */
static void await_made(uint32_t how_far)
{
	const struct timespec period = {.tv_nsec = 100000000};
	uint32_t now;

	while ((now = __atomic_load_n(&net.made, __ATOMIC_ACQUIRE)) < how_far) {
		siginfo_t si = {0};

		if (syscall(SYS_futex, &net.made, FUTEX_WAIT, now, &period, NULL, 0) < 0 &&
			errno == ETIMEDOUT &&
			waitid(P_PID, (id_t)net.maker, &si, WEXITED | WNOHANG | WNOWAIT | __WALL) ==
				0 &&
			si.si_pid)
			return;
	}
}

static int make_network(void)
{
	_cleanup_close_ int fd = -1;

	net.what = "make a network namespace";
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	net.fd = fd < 0 ? -1 : ioctl(fd, SIOCGSKNS);
	if (net.fd < 0)
		return -errno;
	say_made(1);
	return net.lean ? 0 : set_loopback(fd, true);
}

/*
 * It takes as long as all mounts, and with two processors there is none for it at first: init
 * begins the root, the host process makes the plan. So it is the plan that we wait for. Who sends
 * it has less to do from then on, and we wake up where he is and not where init is.
 */
static void await_plan(void)
{
	struct pollfd fds[] = {
		{.fd = net.sock, .events = POLLIN}, {.fd = net.plan_fd, .events = POLLIN}};

	__atomic_store_n(&net.begun, 1, __ATOMIC_RELEASE);
	(void)poll(fds, 2, -1);
	__atomic_store_n(&net.begun, 2, __ATOMIC_RELEASE);
	if (net.elsewhere)
		(void)sched_setaffinity(0, sizeof(net.cpus), &net.cpus);
}

static int make_main(void *arg)
{
	const struct bawn_init_msg msg = {.kind = BAWN_INIT_PROGRESS};

	(void)arg;
	await_plan();
	net.error = -make_network();
	say_made(2);
	/* the processor is free for what the host process has kept back */
	(void)send(net.sock, &msg, sizeof(msg), MSG_NOSIGNAL);
	return 0;
}

static int loopback_here(bool up)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	net.what = "set up the loopback";
	return fd < 0 ? -errno : set_loopback(fd, up);
}

static int fill_network(void)
{
	int r;

	net.what = "enter the network namespace";
	r = setns(net.fd, CLONE_NEWNET) < 0 ? -errno : 0;
	if (r == 0 && net.lean)
		r = loopback_here(true);
	return r < 0 ? r : make_listeners();
}

static int fill_main(void *arg)
{
	(void)arg;
	await_made(2);
	if (!net.error)
		net.error = -fill_network();
	return 0;
}

static void forget(const struct bawn_egress_plan *egress)
{
	net.egress = egress;
	net.maker = net.filler = 0;
	net.begun = 0;
	net.lean = net.elsewhere = false;
	net.plan_fd = -1;
	net.made = 0;
	net.error = 0;
	net.fd = -1;
	for (size_t i = 0; i < BAWN_LISTENERS_MAX; i++)
		net.listeners.fds[i] = -1;
}

static int help(int (*what)(void *), char *stack_end, pid_t *ret, struct bawn_error *err)
{
	*ret = clone(what, stack_end, CLONE_VM | CLONE_FILES, NULL);
	if (*ret < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a helper: %m");
	return 0;
}

int bawn_wall_network_begin(int sock, bool lean, struct bawn_error *err)
{
	static char stack[65536] __attribute__((aligned(64)));
	int r;

	forget(NULL);
	net.sock = sock;
	if (bawn_sched_busy())
		return 0;
	net.lean = lean;
	net.plan_fd = eventfd(0, EFD_CLOEXEC);
	if (net.plan_fd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make an eventfd: %m");
	r = help(make_main, stack + sizeof(stack), &net.maker, err);
	if (r < 0)
		return r;
	(void)sched_yield(); /* to let it begin to wait */
	net.elsewhere = bawn_sched_elsewhere(net.maker, &net.cpus);
	return 0;
}

int bawn_wall_network_fill(const struct bawn_plan *plan, struct bawn_error *err)
{
	static char stack[65536] __attribute__((aligned(64)));
	int begun;

	net.egress = plan->egress;
	if (!net.maker) {
		net.error = -make_network();
		if (!net.error && net.egress)
			net.error = -make_listeners();
		say_made(2);
		return 0;
	}
	/* the plan was taken before it was seen, or it has not come to run at all: then to where
	 * the host process is, which mostly waits now */
	begun = __atomic_load_n(&net.begun, __ATOMIC_ACQUIRE);
	if (begun < 2)
		(void)eventfd_write(net.plan_fd, 1);
	if (begun < 1)
		bawn_sched_beside(net.maker);
	return net.egress ? help(fill_main, stack + sizeof(stack), &net.filler, err) : 0;
}

static int await(pid_t *pid, struct bawn_error *err)
{
	while (*pid && waitpid(*pid, NULL, __WALL) < 0)
		if (errno != EINTR)
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "the helper is lost: %m");
	*pid = 0;
	return 0;
}

static int failed(struct bawn_error *err)
{
	errno = net.error;
	return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot %s: %m", net.what);
}

int bawn_wall_network_done(struct bawn_error *err)
{
	int r = await(&net.maker, err);

	if (r == 0 && __atomic_load_n(&net.made, __ATOMIC_ACQUIRE) < 2) { /* it was killed */
		net.error = EIO;
		say_made(2); /* the other one waits for it */
	}
	if (r == 0)
		r = await(&net.filler, err);
	if (net.plan_fd >= 0)
		(void)close(TAKE_FD(net.plan_fd));
	return r == 0 && net.error ? failed(err) : r;
}

int bawn_wall_network_join(
	const struct bawn_plan *plan, struct bawn_wall_listeners *ret, struct bawn_error *err)
{
	bool whole = plan->net_closed || plan->egress || plan->n_loopback_ports;
	_cleanup_close_ int fd = -1;
	int r = 0;

	if (whole)
		r = bawn_wall_network_done(err);
	else
		await_made(1);
	if (r < 0)
		return r;
	fd = net.fd;
	if (fd < 0) /* the helper knows why */
		return bawn_wall_network_done(err);
	if (setns(fd, CLONE_NEWNET) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot enter the network namespace: %m");
	if (plan->net_closed || net.lean) {
		net.error = -loopback_here(!plan->net_closed);
		if (net.error)
			return failed(err);
	}
	*ret = net.listeners;
	return 0;
}

static int fill_here(const struct bawn_plan *plan)
{
	int r = plan->net_closed ? 0 : loopback_here(true);

	return r == 0 && net.egress ? make_listeners() : r;
}

int bawn_wall_network_here(
	const struct bawn_plan *plan, struct bawn_wall_listeners *ret, struct bawn_error *err)
{
	forget(plan->egress);
	net.error = -fill_here(plan);
	if (net.error)
		return failed(err);
	*ret = net.listeners;
	return 0;
}

int bawn_wall_listen(const struct bawn_plan *plan, int *fds, struct bawn_error *err)
{
	for (size_t i = 0; i < plan->n_loopback_ports; i++) {
		fds[i] = listen_at(AF_INET, SOCK_STREAM, plan->loopback_ports[i]);
		if (fds[i] < 0) {
			errno = -fds[i];
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno,
				"cannot listen on port %u inside: %m", plan->loopback_ports[i]);
		}
	}
	return 0;
}
