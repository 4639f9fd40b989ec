/* SPDX-License-Identifier: Apache-2.0 */
/* Who the command is: the id maps of its user namespace, no capabilities, its own loopback. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>

#include <linux/capability.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/native/hole.h"
#include "backend/native/wall.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/sys.h"

int bawn_wall_identity(uid_t uid, gid_t gid, struct bawn_error *err)
{
	char map[64];
	int r;

	/* an unprivileged process may map its own ids only, and only once it has given up setgroups
	 */
	r = bawn_write_small(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (r == 0) {
		(void)snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
		r = bawn_write_small(AT_FDCWD, "/proc/self/uid_map", map);
	}
	if (r == 0) {
		(void)snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
		r = bawn_write_small(AT_FDCWD, "/proc/self/gid_map", map);
	}
	if (r < 0) {
		errno = -r;
		return bawn_fail(
			err, BAWN_ERR_BACKEND, r, "cannot map ids into the user namespace: %m");
	}
	return 0;
}

int bawn_wall_no_privilege(struct bawn_error *err)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};

	if (!HOLE("nnp") && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot set no_new_privs: %m");
	if (HOLE("caps"))
		return 0;
	/* EINVAL: past the last capability of this kernel. EPERM at the first: not ours to drop, so
	 * not ours to use: without CAP_SETPCAP the bounding set stays, but no_new_privs makes it
	 * meaningless.
	 */
	for (int cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL || (errno == EPERM && cap == 0))
			break;
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot drop capability %d: %m", cap);
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot clear ambient capabilities: %m");
	if (syscall(SYS_capset, &hdr, none) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot drop capabilities: %m");
	return 0;
}

/* What the helper and we share. It ends before join returns. */
static struct {
	bool loopback;
	pid_t pid;
	int fd; /* the namespace */
	int error;
} net;

static int network_main(void *arg)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd;

	(void)arg;
	net.error = EIO;
	if (unshare(CLONE_NEWNET) < 0) {
		net.error = errno;
		return 1;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || (net.loopback && ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)) {
		net.error = errno;
		return 1;
	}
	net.fd = ioctl(fd, SIOCGSKNS);
	net.error = net.fd < 0 ? errno : 0;
	(void)close(fd);
	return 0;
}

int bawn_wall_network_begin(bool loopback, struct bawn_error *err)
{
	static char stack[16384] __attribute__((aligned(64)));

	net.loopback = loopback;
	net.fd = -1;
	net.pid = clone(network_main, stack + sizeof(stack), CLONE_VM | CLONE_FILES, NULL);
	if (net.pid < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a helper: %m");
	return 0;
}

int bawn_wall_network_join(struct bawn_error *err)
{
	_cleanup_close_ int fd = -1;

	while (waitpid(net.pid, NULL, __WALL) < 0)
		if (errno != EINTR)
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "the helper is lost: %m");
	fd = net.fd;
	errno = net.error;
	if (net.error)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot make a network namespace: %m");
	if (setns(fd, CLONE_NEWNET) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot enter the network namespace: %m");
	return 0;
}

int bawn_wall_listen(const struct bawn_plan *plan, int *fds, struct bawn_error *err)
{
	for (size_t i = 0; i < plan->n_loopback_ports; i++) {
		struct sockaddr_in sa = {.sin_family = AF_INET,
			.sin_port = htons(plan->loopback_ports[i]),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fds[i] < 0 || bind(fds[i], (const struct sockaddr *)&sa, sizeof(sa)) < 0 ||
			listen(fds[i], 64) < 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno,
				"cannot listen on port %u inside: %m", plan->loopback_ports[i]);
	}
	return 0;
}
