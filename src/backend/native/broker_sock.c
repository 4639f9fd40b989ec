/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect() and bind(). The kernel has no rule for who may connect to a socket in the file system,
 * so the broker decides: the sockets that the operator listed, and those that were bound in this
 * sandbox, which it remembers because it bound them. Both calls are carried out on the caller's own
 * socket (pidfd_getfd), whatever its family: a caller told to go on could exchange the descriptor
 * or the address after the check. The listener sees the broker's process id, and the right user.
 */

#include <errno.h>
#include <fcntl.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#include "backend/native/broker_impl.h"
#include "base/cleanup.h"

#define OWN_MAX    65536 /* sockets remembered; then the oldest are forgotten */
#define SOON_US    500
#define PATH_START offsetof(struct sockaddr_un, sun_path)

#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif

struct sock_call {
	struct bawn_susp *s;
	int fd; /* the caller's socket */
	socklen_t len;
	struct sockaddr_storage addr;
	char path[sizeof(struct sockaddr_un)]; /* empty: the address is not a path */
};

static void sock_call_done(struct sock_call *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
}
#define _cleanup_sock_call_ _cleanup_(sock_call_done)

/* Threads may have descriptors of their own; older kernels know only the process. */
static int caller_pidfd(const struct bawn_susp *s)
{
	long fd = syscall(SYS_pidfd_open, s->tid, PIDFD_THREAD);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_pidfd_open, bawn_susp_status(s, "\nTgid:", 10), 0);
	return fd < 0 ? -EACCES : (int)fd;
}

static int take_socket(const struct bawn_susp *s)
{
	_cleanup_close_ int pidfd = -1;
	int nr = (int)(uint32_t)s->args[0];
	long fd;

	if (nr < 0)
		return -EBADF;
	pidfd = caller_pidfd(s);
	if (pidfd < 0 || !bawn_susp_alive(s))
		return -EACCES;
	fd = syscall(SYS_pidfd_getfd, pidfd, nr, 0);
	if (fd < 0)
		return errno == EBADF ? -EBADF : -EACCES;
	return (int)fd;
}

/* The kernel's order: descriptor, address, and only then whether it is a socket. */
static int take_call(struct bawn_susp *s, struct sock_call *c)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&c->addr;
	int domain = 0, r, len = (int)(uint32_t)s->args[2];
	socklen_t size = sizeof(domain);

	c->s = s;
	c->fd = take_socket(s);
	if (c->fd < 0)
		return c->fd;
	if (len < 0 || (size_t)len > sizeof(c->addr))
		return -EINVAL;
	r = len ? bawn_susp_bytes(s, s->args[1], &c->addr, (size_t)len) : 0;
	if (r < 0)
		return r;
	c->len = (socklen_t)len;
	if (getsockopt(c->fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0)
		return -errno;
	if (domain != AF_UNIX || c->len <= PATH_START || un->sun_family != AF_UNIX ||
		un->sun_path[0] == 0)
		return 0;
	if (c->len > sizeof(*un))
		return -EINVAL;
	/* A path may fill all of it, without an end. */
	memcpy(c->path, un->sun_path, c->len - PATH_START);
	c->path[c->len - PATH_START] = 0;
	return 0;
}

static int identify(int dir, const char *name, struct bawn_own *ret)
{
	struct statx st;

	if (statx(dir, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
		    &st) < 0)
		return -errno;
	*ret = (struct bawn_own){.ino = st.stx_ino,
		.dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
		.sec = st.stx_mask & STATX_BTIME ? st.stx_btime.tv_sec : 0,
		.nsec = st.stx_mask & STATX_BTIME ? st.stx_btime.tv_nsec : 0};
	return S_ISSOCK(st.stx_mode) ? 0 : -ENOTSOCK;
}

static void remember(struct bawn_broker *b, const struct bawn_place *p)
{
	struct bawn_own own = {0};

	if (identify(p->dir, p->name, &own) < 0)
		return;
	if (b->n_own == b->max_own && b->max_own < OWN_MAX) {
		size_t max = b->max_own ? b->max_own * 2 : 16;
		struct bawn_own *more = reallocarray(b->own, max, sizeof(*more));

		if (!more)
			return;
		b->own = more;
		b->max_own = max;
	}
	b->own[b->n_own < b->max_own ? b->n_own++ : b->next_own++ % OWN_MAX] = own;
}

static bool is_own(const struct bawn_broker *b, const struct bawn_own *own)
{
	for (size_t i = 0; i < b->n_own; i++) {
		if (b->own[i].ino == own->ino && b->own[i].dev == own->dev &&
			b->own[i].sec == own->sec && b->own[i].nsec == own->nsec)
			return true;
	}
	return false;
}

static bool is_listed(const struct bawn_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		if (plan->mounts[i].kind == BAWN_MNT_SOCKET &&
			strcmp(plan->mounts[i].dst, path) == 0)
			return true;
	}
	return false;
}

/* May the caller connect to what `fd` (O_PATH) is? What is not a socket the kernel refuses. */
static int check_target(const struct bawn_susp *s, int fd)
{
	struct bawn_own own = {0};
	char path[PATH_MAX];
	int r = identify(fd, "", &own);

	if (r == -ENOTSOCK)
		return 0;
	if (r == 0)
		r = bawn_fd_path(fd, path);
	if (r < 0)
		return -EACCES;
	if (is_own(s->b, &own) || is_listed(s->b->plan, path))
		return 0;
	bawn_guard_host_socket(s, path);
	return -EACCES;
}

/* Base of a relative path; -1 for an absolute one. */
static int base_of(const struct sock_call *c)
{
	return c->path[0] == '/' ? -1 : bawn_susp_base(c->s, AT_FDCWD);
}

/* Find what the path means, and make the address mean that very thing. Returns its descriptor. */
static int take_target(struct sock_call *c)
{
	_cleanup_place_ struct bawn_place p = BAWN_PLACE_NONE;
	_cleanup_close_ int fd = -1;
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int r, base = base_of(c);

	if (base < -1)
		return base;
	r = bawn_susp_locate(c->s, base, c->path, true, &p);
	if (r == 0)
		r = bawn_susp_follow_all(c->s, &p);
	if (r < 0)
		return r;
	fd = p.whole >= 0 ? fcntl(p.whole, F_DUPFD_CLOEXEC, 3)
			  : openat(p.dir, p.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = check_target(c->s, fd);
	if (r < 0)
		return r;
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "/proc/self/fd/%d", fd);
	memcpy(&c->addr, &un, sizeof(un));
	c->len = sizeof(un);
	return TAKE_FD(fd);
}

static long do_connect(const struct sock_call *c)
{
	return connect(c->fd, (const struct sockaddr *)&c->addr, c->len) < 0 ? -errno : 0;
}

static bool may_block(const struct sock_call *c)
{
	int type = 0, flags = fcntl(c->fd, F_GETFL);
	socklen_t size = sizeof(type);

	(void)getsockopt(c->fd, SOL_SOCKET, SO_TYPE, &type, &size);
	return flags >= 0 && !(flags & O_NONBLOCK) && type != SOCK_DGRAM;
}

/* A socket with a time limit of its own ends by itself; a tick would begin it anew. */
static bool has_limit(const struct sock_call *c)
{
	struct timeval tv = {0};
	socklen_t size = sizeof(tv);

	return getsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &size) == 0 &&
	       (tv.tv_sec || tv.tv_usec);
}

/* Called again after a tick, connect() goes on waiting where it was. */
static long connect_in_child(const struct sock_call *c)
{
	pid_t pid = fork();
	long r;

	if (pid < 0)
		return -errno;
	if (pid > 0)
		return BAWN_ANSWERED;
	bawn_child_begin(!has_limit(c));
	do
		r = do_connect(c);
	while (r == -EINTR && bawn_susp_alive(c->s));
	bawn_susp_answer(c->s, r);
	_exit(0);
}

/* Nearly always it is done at once; only a full backlog makes it wait, and a child do that. */
static long connect_soon(const struct sock_call *c)
{
	sigset_t old;
	long r;

	if (!may_block(c))
		return do_connect(c);
	if (bawn_tick_on(SOON_US, &old) < 0)
		return connect_in_child(c);
	r = do_connect(c);
	bawn_tick_off(&old);
	return r == -EINTR ? connect_in_child(c) : r;
}

long bawn_act_connect(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_sock_call_ struct sock_call c = {.fd = -1};
	_cleanup_close_ int target = -1;
	int r = take_call(s, &c);

	(void)op;
	if (r < 0)
		return r;
	if (c.path[0]) {
		target = take_target(&c);
		if (target < 0)
			return target;
	} else {
		bawn_guard_connect(s, &c.addr, c.len);
	}
	return connect_soon(&c);
}

/*
 * The caller's own text is bound, as getsockname() gives it back and programs remove the node by
 * it. Nothing in the sandbox can change where it leads since it was checked: that takes a call that
 * waits for us. Only text that means the caller's /proc directory must be said in another way.
 */
static long do_bind(const struct sock_call *c, const struct bawn_place *p, int base)
{
	_cleanup_close_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	const struct sockaddr *addr = (const struct sockaddr *)&c->addr;
	socklen_t len = c->len;
	mode_t old;
	long r;

	if (bawn_susp_own_proc(c->s, c->path)) {
		len = (socklen_t)(PATH_START + strlen(p->name));
		if (p->whole >= 0 || len > sizeof(un))
			return -EACCES;
		memcpy(un.sun_path, p->name, strlen(p->name));
		addr = (const struct sockaddr *)&un;
		base = p->dir;
	}
	if (here < 0 || (base >= 0 && fchdir(base) < 0))
		return -errno;
	old = bawn_susp_umask(c->s);
	r = bind(c->fd, addr, len) < 0 ? -errno : 0;
	(void)umask(old);
	/* Nothing depends on our own directory: this is only not to hold the caller's. */
	if (base >= 0)
		(void)!fchdir(here);
	return r;
}

long bawn_act_bind(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_sock_call_ struct sock_call c = {.fd = -1};
	_cleanup_place_ struct bawn_place p = BAWN_PLACE_NONE;
	_cleanup_close_ int base = -1;
	long r = take_call(s, &c);

	(void)op;
	if (r < 0)
		return r;
	if (!c.path[0])
		return bind(c.fd, (const struct sockaddr *)&c.addr, c.len) < 0 ? -errno : 0;
	base = base_of(&c);
	if (base < -1)
		return base;
	r = bawn_susp_locate(s, base < 0 ? -1 : fcntl(base, F_DUPFD_CLOEXEC, 3), c.path, false, &p);
	if (r == 0)
		r = bawn_guard_check(s, &p, BAWN_CHANGE_MAKE);
	if (r < 0)
		return r;
	r = do_bind(&c, &p, base);
	if (r == 0)
		remember(s->b, &p);
	else
		bawn_guard_failed(s, &p, (int)r);
	return r;
}
