/* SPDX-License-Identifier: Apache-2.0 */
/* See libexec.h. Never by PATH or the environment: who controls those must not choose our wall. */
#include "base/libexec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include "base/cleanup.h"

#define CONTROL_FD 3

const char *const bawn_libexec_names[] = {"bawn-egress", "bawn-egress-tls", "bawn-vault",
	"bawn-inside", "bawn-wasm", "firecracker", "jailer", NULL};

static int find(const char *name, int mode, char *dst, size_t size)
{
	size_t need = strlen(name) + 2;
	ssize_t n = size > need ? readlink("/proc/self/exe", dst, size - need) : -1;
	char *slash;

	if (n > 0) {
		dst[n] = '\0';
		slash = strrchr(dst, '/');
		if (slash) {
			memcpy(slash + 1, name, need - 1);
			if (access(dst, mode) == 0)
				return 0;
		}
	}
	if ((size_t)snprintf(dst, size, "%s/%s", BAWN_LIBEXECDIR, name) >= size)
		return -ENAMETOOLONG;
	return access(dst, mode) == 0 ? 0 : -errno;
}

int bawn_libexec_find(const char *name, char *dst, size_t size)
{
	return find(name, X_OK, dst, size);
}

int bawn_libexec_data(const char *name, char *dst, size_t size)
{
	return find(name, R_OK, dst, size);
}

static int spawn_with(const char *path, const char *name, posix_spawn_file_actions_t *files,
	posix_spawnattr_t *attr, int control, pid_t *ret)
{
	_cleanup_free_ char *own = strdup(name);
	char *argv[] = {own, NULL};
	char *envp[] = {NULL};
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	/* first the pair: it may be one of the descriptors that follow */
	r = own ? posix_spawn_file_actions_adddup2(files, control, CONTROL_FD) : ENOMEM;
	for (int fd = 0; !r && fd < 3; fd++)
		r = posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0);
	if (!r)
		r = posix_spawnattr_setflags(attr,
			POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	if (!r)
		r = posix_spawnattr_setsigmask(attr, &none);
	if (!r)
		r = posix_spawnattr_setsigdefault(attr, &all);
	return r ? r : posix_spawn(ret, path, files, attr, argv, envp);
}

int bawn_libexec_start(
	const char *path, const char *name, int kind, int room, pid_t *ret_pid, int *ret_fd)
{
	_cleanup_close_ int ours = -1, theirs = -1, high = -1;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int sv[2];
	int r;

	if (socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, sv) < 0)
		return -errno;
	ours = sv[0];
	theirs = sv[1];
	for (int i = 0; room && i < 2; i++) {
		(void)setsockopt(sv[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
		(void)setsockopt(sv[i], SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	}
	/* theirs must not be a descriptor that the standard ones or the control one replace */
	high = fcntl(theirs, F_DUPFD_CLOEXEC, CONTROL_FD + 1);
	if (high < 0)
		return -errno;
	r = posix_spawn_file_actions_init(&files);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (!r) {
		r = spawn_with(path, name, &files, &attr, high, ret_pid);
		(void)posix_spawnattr_destroy(&attr);
	}
	(void)posix_spawn_file_actions_destroy(&files);
	if (r)
		return -r;
	*ret_fd = TAKE_FD(ours);
	return 0;
}
