/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a virtual machine: /init of the archive that vm/initrd.c makes. It brings up
 * what the bridge needs — modules, the stream to the host, the host's read-only files — and lets a
 * child be the bridge. Whatever happens to either, the machine ends: nothing is left to wait for.
 */
#include "backend/vm/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/vm_sockets.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/inside/bridge.h"
#include "backend/inside/mode.h"
#include "backend/inside/relay.h"
#include "backend/native/wall.h"
#include "base/arena.h"
#include "base/io.h"
#include "base/path.h"
#include "plan/plan.h"

#define WAIT_MS   10000 /* for a device that is there to show up */
#define HOST      "/host"
#define ROOT      "/root"
#define DISK      "/disk"
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
	for (const struct dirent *e;
		fd < 0 && (e = readdir(d));) { /* NOLINT(concurrency-mt-unsafe) */
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

/* Wait for the host on a port; nobody else is let in. */
static int await_host(unsigned port)
{
	const struct sockaddr_vm sa = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = port};
	struct sockaddr_vm peer = {0};
	socklen_t len = sizeof(peer);
	_cleanup_close_ int s = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_close_ int fd = -1;

	if (s < 0 || bind(s, (const struct sockaddr *)(const void *)&sa, sizeof(sa)) < 0 ||
		listen(s, 1) < 0)
		return -errno;
	fd = accept4(s, (struct sockaddr *)(void *)&peer, &len, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	return peer.svm_cid == VMADDR_CID_HOST ? TAKE_FD(fd) : -EPERM;
}

static int connect_host(unsigned port)
{
	const struct sockaddr_vm sa = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = port};
	_cleanup_close_ int s = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s < 0 || connect(s, (const struct sockaddr *)(const void *)&sa, sizeof(sa)) < 0)
		return -errno;
	return TAKE_FD(s);
}

/* ---- the root directory ---- */

static int mount_disk(void)
{
	static const char *const types[] = {"ext4", "squashfs", "erofs"};
	const int64_t stop = bawn_now_ms() + WAIT_MS;
	int r = -ENODEV;

	while (access("/dev/vda", F_OK) < 0 && bawn_now_ms() < stop)
		pause_ms(2);
	if (mkdir(DISK, 0755) < 0 && errno != EEXIST)
		return -errno;
	for (size_t i = 0; r < 0 && i < sizeof(types) / sizeof(types[0]); i++)
		r = mount("/dev/vda", DISK, types[i], MS_RDONLY | MS_NODEV | MS_NOSUID, NULL) < 0
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

/*
 * True if it only changes what can be done to a part of a writable root. Such a part comes with the
 * root's files, and is covered when they are there.
 */
static bool is_part(const struct bawn_plan *plan, const struct bawn_mount *m)
{
	if (m->kind != BAWN_MNT_HIDE && !(m->kind == BAWN_MNT_RW && m->pin) &&
		!(m->kind == BAWN_MNT_RO && !strcmp(m->src, m->dst)))
		return false;
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_RW && !plan->mounts[i].pin &&
			bawn_path_under(m->dst, plan->mounts[i].dst))
			return true;
	return false;
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

/* A writable root is an empty place; its files are brought by the bridge. */
static int make_writable(const char *path)
{
	char like[PATH_MAX], dst[PATH_MAX];
	int r;

	if ((size_t)snprintf(like, sizeof(like), HOST "%s", path) >= sizeof(like))
		return -ENAMETOOLONG;
	r = make_place(path, like, dst, sizeof(dst));
	return r < 0 ? r : 0;
}

static int bring_mount(const struct bawn_plan *plan, size_t i)
{
	const struct bawn_mount *m = &plan->mounts[i];
	int r = 0;

	if (is_part(plan, m))
		return 0;
	if (m->kind == BAWN_MNT_RW)
		return make_writable(m->src);
	/* processors and memory are this machine's */
	if (m->kind == BAWN_MNT_RO && bawn_path_under(m->src, "/sys"))
		r = 0;
	else if (m->kind == BAWN_MNT_RO && !is_brought(plan, i))
		r = bring(HOST, m->src);
	return r == -ENOENT && m->optional ? 0 : r;
}

static int bring_all(const struct bawn_plan *plan, struct bawn_error *err)
{
	static const char *const own[] = {"/dev", "/proc", "/sys"};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(own) / sizeof(own[0]); i++)
		r = bring("", own[i]);
	if (r >= 0 && plan->backend.image)
		r = bring("", DISK);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot bring the system in");
	for (size_t i = 0; i < plan->n_mounts; i++) {
		r = bring_mount(plan, i);
		if (r < 0) {
			errno = -r;
			return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot bring '%s' in: %m",
				plan->mounts[i].src);
		}
	}
	return 0;
}

/* True if the plan has something at or below `top` that the image has no place for. */
static bool is_ours(const struct bawn_plan *plan, const char *top)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];

		(void)snprintf(path, sizeof(path), DISK "%s", m->dst);
		if (m->kind != BAWN_MNT_HIDE && bawn_path_under(m->dst, top) &&
			(!strcmp(m->dst, top) || access(path, F_OK) < 0))
			return true;
	}
	return false;
}

/* A directory or a link at the top of the image, as a mount of the command's root. */
static int add_top(struct bawn_arena *a, struct bawn_strlist *names, const char *name)
{
	const char *path = bawn_arena_printf(a, DISK "/%s", name);

	return path ? bawn_strlist_add(a, names, path) : -ENOMEM;
}

static int list_disk(struct bawn_arena *a, struct bawn_strlist *ret)
{
	DIR *d = opendir(DISK);
	int r = 0;

	if (!d)
		return -errno;

	for (const struct dirent *e;
		r >= 0 && (e = readdir(d));) /* NOLINT(concurrency-mt-unsafe) */
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = add_top(a, ret, e->d_name);
	(void)closedir(d);
	return r;
}

static int make_mount(struct bawn_arena *a, const char *src, struct bawn_mount *ret)
{
	char target[PATH_MAX];
	ssize_t n = readlink(src, target, sizeof(target) - 1);

	*ret = (struct bawn_mount){.kind = n < 0 ? BAWN_MNT_RO : BAWN_MNT_SYMLINK,
		.src = n < 0 ? src : bawn_arena_strndup(a, target, (size_t)n),
		.dst = src + strlen(DISK),
		.rule = "vm.rootfs"};
	return ret->src ? 0 : -ENOMEM;
}

/* The image's directories first: what the plan has goes over them. */
static int add_image(struct bawn_arena *a, const struct bawn_plan *plan, struct bawn_plan *now)
{
	static const char *const own[] = {"/dev", "/proc", "/sys", "/lost+found"};
	struct bawn_strlist tops = {0};
	int r = list_disk(a, &tops);

	now->mounts = r < 0 ? NULL : bawn_new(a, struct bawn_mount, tops.n + plan->n_mounts + 1);
	if (!now->mounts)
		return r < 0 ? r : -ENOMEM;
	for (size_t i = 0; r >= 0 && i < tops.n; i++) {
		const char *top = tops.v[i] + strlen(DISK);
		bool skip = is_ours(plan, top);

		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			skip |= !strcmp(top, own[k]);
		if (!skip)
			r = make_mount(a, tops.v[i], &now->mounts[now->n_mounts++]);
	}
	return r;
}

/* The command's root, as native makes it, without the parts that come later. */
static int build_root(const struct bawn_plan *plan, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_plan now = *plan;
	int r = a ? 0 : -ENOMEM;

	now.n_mounts = 0;
	if (r >= 0 && plan->backend.image)
		r = add_image(a, plan, &now);
	else if (r >= 0)
		now.mounts = bawn_new(a, struct bawn_mount, plan->n_mounts + 1);
	if (r < 0 || !now.mounts)
		return bawn_fail(err, BAWN_ERR_BACKEND, r < 0 ? r : -ENOMEM,
			"cannot read the image's directories");
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (!is_part(plan, &plan->mounts[i]))
			now.mounts[now.n_mounts++] = plan->mounts[i];
	return bawn_wall_root(&now, err);
}

/* What must not change or not be moved is bound over itself. */
static int cover(const struct bawn_plan *plan, void *data)
{
	(void)data;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];
		unsigned long ro = m->kind == BAWN_MNT_RO ? MS_RDONLY : 0;

		if (m->kind == BAWN_MNT_HIDE || !is_part(plan, m))
			continue;
		if (mount(m->dst, m->dst, NULL, MS_BIND, NULL) < 0) {
			if (errno == ENOENT) /* gone from the host since the plan was made */
				continue;
			return -errno;
		}
		if (mount(NULL, m->dst, NULL,
			    MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV | ro |
				    (m->no_exec ? MS_NOEXEC : 0u),
			    NULL) < 0)
			return -errno;
	}
	return 0;
}

static int loopback_up(void)
{
	_cleanup_close_ int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP};

	return s < 0 || ioctl(s, SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

/* Nothing that is started from here on can ever have them. */
static void drop_bounding(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
}

/* For the bridge, when it knows the plan: a root with everything at the host's paths, and from that
 * the command's root, as native makes it. */
static int make_root(const struct bawn_plan *plan, void *data, struct bawn_error *err)
{
	int r = bring_all(plan, err);

	(void)data;
	if (r < 0)
		return r;
	if (!plan->net_closed && loopback_up() < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot bring the loopback up: %m");
	if (sethostname(plan->hostname, strlen(plan->hostname)) < 0 || chdir(ROOT) < 0 ||
		mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot change the root: %m");
	drop_bounding();
	return build_root(plan, err);
}

/* ---- drivers ---- */

/* What a kernel may lack shows at once; waiting for its devices would take long and tell little. */
static void need_drivers(bool vsock, bool disk)
{
	const struct {
		const char *name, *sign;
		bool needed;
	} drivers[] = {
		{"virtio_mmio", "/sys/bus/platform/drivers/virtio-mmio", true},
		{"virtio_console", "/sys/bus/virtio/drivers/virtio_console", !vsock},
		{"virtio_blk", "/sys/bus/virtio/drivers/virtio_blk", disk},
		{"fuse", "/sys/fs/fuse", true},
	};
	char line[160];

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (!drivers[i].needed || access(drivers[i].sign, F_OK) == 0)
			continue;
		(void)snprintf(line, sizeof(line),
			"bawn: this kernel has no %s, neither built in nor as a module beside it\n",
			drivers[i].name);
		(void)!write(2, line, strlen(line));
		end_machine();
	}
}

/* ---- life and death ---- */

/* Who runs out of memory is the command, never we. */
static void stay_alive(void)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "-1000", 5);
}

static void await_end(pid_t bridge)
{
	int status = 0;
	pid_t pid;

	do
		pid = waitpid(-1, &status, 0);
	while (pid != bridge && (pid > 0 || errno == EINTR));
	if (pid == bridge && status)
		say("the bridge failed", ECHILD);
}

static void run(bool vsock, bool disk) __attribute__((noreturn));
static void run(bool vsock, bool disk)
{
	int files = vsock ? connect_host(BAWN_GUEST_FILES_PORT) : await_port(BAWN_GUEST_FILES);
	int stream = vsock ? await_host(BAWN_GUEST_STREAM_PORT) : await_port(BAWN_GUEST_STREAM);
	const struct bawn_bridge bridge = {.in = stream,
		.out = stream,
		.flags = BAWN_BRIDGE_PIDS | BAWN_BRIDGE_MOUNTS,
		.mount = make_root,
		.cover = cover};
	pid_t pid;
	int r;

	if (stream < 0 || files < 0)
		give_up("no stream to the host", stream < 0 ? stream : files);
	r = bawn_relay_mount(files, HOST);
	if (r < 0)
		give_up("cannot mount the host's files", r);
	(void)close(files);
	r = disk ? mount_disk() : 0;
	if (r < 0)
		give_up("cannot mount the disk", r);
	pid = fork();
	if (pid == 0)
		_exit(bawn_bridge_main(&bridge));
	if (pid < 0)
		give_up("cannot make a process", -errno);
	(void)close(stream);
	await_end(pid);
	end_machine();
}

int bawn_inside_guest(char *const *argv)
{
	int r;

	if (getpid() != 1 || !argv[0] || !argv[1]) /* it would end the host */
		return 2;
	r = mount_kernel();
	if (r < 0)
		give_up("cannot mount a file system", r);
	stay_alive();
	if (!strcmp(argv[0], "trial")) {
		(void)!write(2, BAWN_GUEST_ALIVE "\n", sizeof(BAWN_GUEST_ALIVE));
		end_machine();
	}
	r = load_modules();
	if (r < 0)
		give_up("cannot load modules", r);
	need_drivers(!strcmp(argv[0], "vsock"), !strcmp(argv[1], "disk"));
	run(!strcmp(argv[0], "vsock"), !strcmp(argv[1], "disk"));
}
