/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a virtual machine: /init of the archive that vm/initrd.c makes. It brings up
 * what the bridge needs — modules, the stream to the host, the host's read-only files — and lets a
 * child be the bridge. Whatever happens to either, the machine ends: nothing is left to wait for.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/vm_sockets.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/inside/mode.h"
#include "backend/inside/relay.h"
#include "backend/vm/guest.h"
#include "base/io.h"
#include "base/path.h"
#include "plan/plan.h"

#define WAIT_MS   10000 /* for a device that is there to show up */
#define HOST      "/host"
#define ROOT      "/root"
#define PORTS_DIR "/sys/class/virtio-ports"

/* One line on the console, which the host process keeps for its error message. */
static void say(const char *what, int error)
{
	char line[160];
	int n = snprintf(line, sizeof(line), "bawn: %.80s: %s\n", what, strerrordesc_np(error));

	(void)!write(2, line, (size_t)n);
}

static void end_machine(void) __attribute__((noreturn));
static void end_machine(void)
{
	(void)reboot(RB_AUTOBOOT); /* which the monitor takes for the end */
	for (;;)
		(void)pause();
}

static void give_up(const char *what, int r) __attribute__((noreturn));
static void give_up(const char *what, int r)
{
	say(what, -r);
	end_machine();
}

static int mount_kernel(void)
{
	static const struct {
		const char *type, *at;
	} mounts[] = {{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", ROOT}};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		if (mkdir(mounts[i].at, 0755) < 0 && errno != EEXIST)
			return -errno;
		/* a kernel may have put its devices there already */
		if (mount(mounts[i].type, mounts[i].at, mounts[i].type, MS_NOSUID, NULL) < 0 &&
			errno != EBUSY)
			return -errno;
	}
	return mkdir(HOST, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int load_modules(void)
{
	char path[32];

	for (unsigned i = 0;; i++) {
		(void)snprintf(path, sizeof(path), "/modules/%02u.ko", i);
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return errno == ENOENT ? 0 : -errno;
		if (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST)
			say(path, errno); /* what needed it will be missed below */
	}
}

/* ---- streams ---- */

static void pause_ms(long ms)
{
	const struct timespec t = {.tv_nsec = ms * 1000000};

	(void)nanosleep(&t, NULL);
}

/* The port of the virtual serial line that the monitor calls `name`. */
static int open_port(const char *name)
{
	DIR *d = opendir(PORTS_DIR);
	char path[PATH_MAX], is[64] = "";
	int fd = -ENOENT;

	if (!d)
		return -errno;
	for (const struct dirent *e; fd < 0 && (e = readdir(d));) { /* NOLINT(concurrency-mt-unsafe) */
		(void)snprintf(path, sizeof(path), PORTS_DIR "/%s/name", e->d_name);
		if (*e->d_name == '.' || bawn_read_small(AT_FDCWD, path, is, sizeof(is)) < 0)
			continue;
		is[strcspn(is, "\n")] = '\0';
		if (strcmp(is, name) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "/dev/%s", e->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	(void)closedir(d);
	return fd;
}

static int await_port(const char *name)
{
	int64_t stop = bawn_now_ms() + WAIT_MS;
	int fd;

	while ((fd = open_port(name)) < 0 && bawn_now_ms() < stop)
		pause_ms(2);
	return fd;
}

/* Wait for the host on a port; nobody but the host (CID 2) is let in. */
static int await_vsock(unsigned port)
{
	const struct sockaddr_vm sa = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = port};
	struct sockaddr_vm peer = {0};
	socklen_t len = sizeof(peer);
	_cleanup_close_ int s = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd;

	if (s < 0 || bind(s, (const struct sockaddr *)(const void *)&sa, sizeof(sa)) < 0 ||
		listen(s, 1) < 0)
		return -errno;
	fd = accept4(s, (struct sockaddr *)(void *)&peer, &len, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (peer.svm_cid != VMADDR_CID_HOST) {
		(void)close(fd);
		return -EPERM;
	}
	return fd;
}

static int open_stream(bool vsock, const char *name, unsigned port)
{
	return vsock ? await_vsock(port) : await_port(name);
}

/* ---- the root directory ---- */

/* Everything at the top of the disk shows up in our root. */
static int bring_disk(void)
{
	static const char *const types[] = {"ext4", "squashfs", "erofs"};
	const int64_t stop = bawn_now_ms() + WAIT_MS;
	int r = -ENODEV;

	while (access("/dev/vda", F_OK) < 0 && bawn_now_ms() < stop)
		pause_ms(2);
	if (mkdir("/disk", 0755) < 0 && errno != EEXIST)
		return -errno;
	for (size_t i = 0; r < 0 && i < sizeof(types) / sizeof(types[0]); i++)
		r = mount("/dev/vda", "/disk", types[i], MS_RDONLY | MS_NODEV | MS_NOSUID, NULL) < 0
			    ? -errno
			    : 0;
	return r;
}

/* A place for `path` in our root, of the same type as `like`. */
static int make_place(const char *path, const char *like, char *dst, size_t size)
{
	struct stat st;
	char *slash;
	int r;

	if ((size_t)snprintf(dst, size, ROOT "%s", path) >= size)
		return -ENAMETOOLONG;
	if (lstat(like, &st) < 0)
		return -errno;
	slash = strrchr(dst, '/');
	r = bawn_path_make_dirs(dst, (size_t)(slash - dst));
	if (r < 0)
		return r;
	if (S_ISDIR(st.st_mode))
		return mkdir(dst, 0755) < 0 && errno != EEXIST ? -errno : 0;
	_cleanup_close_ int fd = open(dst, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 ? -errno : 0;
}

static int bring(const char *from, const char *path)
{
	char src[PATH_MAX], dst[PATH_MAX];
	int r;

	if ((size_t)snprintf(src, sizeof(src), "%s%s", from, path) >= sizeof(src))
		return -ENAMETOOLONG;
	r = make_place(path, src, dst, sizeof(dst));
	if (r < 0)
		return r;
	return mount(src, dst, NULL, MS_BIND | MS_REC, NULL) < 0 ? -errno : 0;
}

/* True if another mount of the plan brings it already. */
static bool is_brought(const struct bawn_plan *plan, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (plan->mounts[k].kind == BAWN_MNT_RO &&
			bawn_path_under(plan->mounts[i].src, plan->mounts[k].src))
			return true;
	return false;
}

int bawn_guest_root(const struct bawn_plan *plan, struct bawn_error *err)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];
		int r;

		if (m->kind != BAWN_MNT_RO || is_brought(plan, i))
			continue;
		r = bring(HOST, m->src);
		if (r == -ENOENT && m->optional)
			continue;
		if (r < 0) {
			errno = -r;
			return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot bring '%s' in: %m", m->src);
		}
	}
	if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
		chdir("/") < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot change the root: %m");
	return 0;
}
