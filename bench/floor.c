/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this kernel asks for at the least: the namespaces, binds, device nodes and private
 * directories of a run, a Landlock domain and a filter of four instructions, made in the cheapest
 * order known (the network namespace beside the mounts), around a command that is executed and
 * waited for. No policy, plan, record, inspection, limits, broker or supervision, nothing hidden.
 *
 * usage: floor OPTIONS... COMMAND, with those options of bwrap that bench/startup.py uses.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/sys.h"

static int root = -1;    /* the new root */
static int network = -1; /* the network namespace */
static char *const *command;

static long need(long r, const char *what)
{
	if (r < 0) {
		(void)dprintf(STDERR_FILENO, "floor: %s: %s\n", what, strerrordesc_np(errno));
		_exit(125);
	}
	return r;
}

static void write_file(const char *path, const char *text)
{
	int fd = (int)need(open(path, O_WRONLY | O_CLOEXEC), path);

	(void)need(write(fd, text, strlen(text)), path);
	(void)close(fd);
}

static void make_dirs(const char *path)
{
	char dir[PATH_MAX];

	for (const char *p = path + 1; p; p = strchr(p, '/')) {
		p += *p == '/';
		(void)snprintf(dir, sizeof(dir), "%.*s",
			(int)(p - path - 1 + (long)strcspn(p, "/")), path + 1);
		if (mkdirat(root, dir, 0755) < 0 && errno != EEXIST)
			(void)need(-1, path);
	}
}

static int new_fs(const char *type, const char *key, const char *value)
{
	int ctx = (int)need(fsopen(type, FSOPEN_CLOEXEC), type);
	int fd;

	if (key)
		(void)need(fsconfig(ctx, FSCONFIG_SET_STRING, key, value, 0), key);
	(void)need(fsconfig(ctx, FSCONFIG_CMD_CREATE, NULL, NULL, 0), type);
	fd = (int)need(fsmount(ctx, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID), type);
	(void)close(ctx);
	return fd;
}

static void attach(int tree, const char *path)
{
	(void)need(move_mount(tree, "", root, path + 1, MOVE_MOUNT_F_EMPTY_PATH), path);
	(void)close(tree);
}

static int clone_tree(const char *path, uint64_t attrs)
{
	struct mount_attr attr = {.attr_set = attrs};
	int fd = (int)need(
		open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE),
		path);

	if (attrs)
		(void)need(mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)),
			path);
	return fd;
}

static void make_dev(void)
{
	static const char *const nodes[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

	make_dirs("/dev/pts");
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		(void)need(mknodat(root, nodes[i] + 1, S_IFREG, 0), nodes[i]);
		attach(clone_tree(nodes[i], 0), nodes[i]);
	}
	attach(new_fs("devpts", "ptmxmode", "0666"), "/dev/pts");
}

/* One option of bwrap. Returns how many words it has, 0 if it is the command. */
static int build(char *const *v)
{
	const char *o = v[0];

	if (!strcmp(o, "--unshare-all"))
		return 1;
	if (strncmp(o, "--", 2) != 0 || !v[1])
		return 0;
	if (!strcmp(o, "--dev"))
		make_dev();
	if (!strcmp(o, "--proc")) {
		make_dirs(v[1]);
		attach(new_fs("proc", NULL, NULL), v[1]);
	}
	if (!strcmp(o, "--tmpfs")) {
		make_dirs(v[1]);
		attach(new_fs("tmpfs", "mode", "0755"), v[1]);
	}
	if (strstr(o, "bind")) {
		make_dirs(v[2]);
		attach(clone_tree(v[1], MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
						(strstr(o, "ro-") ? MOUNT_ATTR_RDONLY : 0)),
			v[2]);
	}
	if (!strcmp(o, "--symlink")) {
		char dir[PATH_MAX];

		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(v[2], '/') - v[2]), v[2]);
		if (*dir)
			make_dirs(dir);
		(void)need(symlinkat(v[1], root, v[2] + 1), v[2]);
	}
	return strstr(o, "bind") || !strcmp(o, "--symlink") ? 3 : 2;
}

static int network_main(void *arg)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	(void)arg;
	(void)need(unshare(CLONE_NEWNET), "network");
	fd = (int)need(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
	(void)need(ioctl(fd, SIOCSIFFLAGS, &ifr), "loopback");
	network = (int)need(ioctl(fd, SIOCGSKNS), "network");
	(void)close(fd);
	return 0;
}

static void restrict_self(void)
{
	const struct bawn_landlock_ruleset_attr attr = {.handled_access_fs = 0x1fff};
	struct bawn_landlock_path_beneath rule = {.allowed_access = 0x1fff};
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = 4, .filter = filter};
	int set = (int)need(bawn_landlock_create_ruleset(&attr, 8, 0), "landlock");

	rule.parent_fd = (int32_t)need(open("/", O_PATH | O_CLOEXEC), "/");
	(void)need(bawn_landlock_add_path(set, &rule), "landlock");
	(void)need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	(void)need(bawn_landlock_restrict_self(set, 0), "landlock");
	(void)need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

static int command_main(void *arg)
{
	(void)arg;
	(void)execv(command[0], command);
	_exit(127);
}

static int init_main(char *const *v, uid_t uid, gid_t gid)
{
	static char stacks[2][32768] __attribute__((aligned(64)));
	char map[64];
	int status = 0;
	pid_t pid =
		clone(network_main, stacks[0] + sizeof(stacks[0]), CLONE_VM | CLONE_FILES, NULL);

	(void)need(pid, "helper");
	write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	write_file("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	write_file("/proc/self/gid_map", map);
	(void)need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	root = new_fs("tmpfs", "mode", "0755");
	(void)need(move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH), "root");
	for (int n; (n = build(v)); v += n)
		;
	command = v;
	(void)need(fchdir(root), "root");
	(void)need(bawn_pivot_root(".", "."), "root");
	(void)need(umount2(".", MNT_DETACH), "old root");
	(void)need(chdir("/"), "/");
	(void)need(waitpid(pid, NULL, __WALL), "helper");
	(void)need(setns(network, CLONE_NEWNET), "network");
	restrict_self();
	pid = clone(command_main, stacks[1] + sizeof(stacks[1]), CLONE_VM | CLONE_VFORK | SIGCHLD,
		NULL);
	(void)need(pid, "command");
	(void)need(waitpid(pid, &status, 0), "command");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

int main(int argc, char *argv[])
{
	struct clone_args args = {.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
					   CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
		.exit_signal = SIGCHLD};
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int status = 0;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = (pid_t)need(syscall(SYS_clone3, &args, sizeof(args)), "clone3");
	if (pid == 0)
		_exit(init_main(argv + 1, uid, gid));
	(void)need(waitpid(pid, &status, 0), "init");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
