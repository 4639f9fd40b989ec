/* SPDX-License-Identifier: Apache-2.0 */
/* Files: every way to open, make, move or copy a path that the suite needs. */

#include <fcntl.h>
#include <stdint.h>

#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "probe.h"

static const char mark[] = "PWNED\n";

static long put(int fd)
{
	return rc(write(fd, mark, sizeof(mark) - 1));
}

static long do_read(char **a)
{
	_cleanup_close_ int fd = open(a[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : probe_cat(fd);
}

static long do_open(char **a)
{
	_cleanup_close_ int fd = open(a[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return rc(fd);
}

static long do_openw(char **a)
{
	_cleanup_close_ int fd = open(a[0], O_WRONLY | O_CLOEXEC | O_NONBLOCK);

	return rc(fd);
}

static long do_write(char **a)
{
	_cleanup_close_ int fd = open(a[0], O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : put(fd);
}

static long do_trunc(char **a)
{
	return rc(truncate(a[0], 0));
}

static long do_create(char **a)
{
	_cleanup_close_ int fd = open(a[0], O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);

	return fd < 0 ? -errno : put(fd);
}

static long do_creat(char **a)
{
	_cleanup_close_ int fd = (int)syscall(SYS_creat, a[0], 0644);

	return fd < 0 ? -errno : put(fd);
}

static long do_openat2(char **a)
{
	struct open_how how = {.flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 0644};
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof(how));

	return fd < 0 ? -errno : put(fd);
}

static long do_tmpfile_link(char **a)
{
	char proc[40];
	_cleanup_close_ int fd = open(a[0], O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0 || put(fd) < 0)
		return -errno;
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	return rc(linkat(AT_FDCWD, proc, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW));
}

static long do_mkdir(char **a)
{
	return rc(mkdir(a[0], 0755));
}

static long do_unlink(char **a)
{
	return rc(unlink(a[0]));
}

static long do_rmdir(char **a)
{
	return rc(rmdir(a[0]));
}

static long do_rename(char **a)
{
	return rc(rename(a[0], a[1]));
}

static long do_exchange(char **a)
{
	return rc(renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE));
}

static long do_link(char **a)
{
	return rc(link(a[0], a[1]));
}

static long do_link_fd(char **a)
{
	char proc[40];
	_cleanup_close_ int fd = open(a[0], O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	return rc(linkat(AT_FDCWD, proc, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW));
}

static long do_symlink(char **a)
{
	return rc(symlink(a[0], a[1]));
}

static long do_chmod(char **a)
{
	return rc(chmod(a[0], (mode_t)probe_num(a[1])));
}

static long do_mknod(char **a)
{
	static const struct probe_word kinds[] = {
		{"fifo", S_IFIFO}, {"sock", S_IFSOCK}, {"chr", S_IFCHR}, {"blk", S_IFBLK}, {0}};
	mode_t kind = (mode_t)probe_word(kinds, a[0]);

	return rc(mknod(a[1], kind | 0600, kind == S_IFBLK ? makedev(7, 0) : makedev(1, 3)));
}

/* Write through a shared mapping. */
static long do_mmap_write(char **a)
{
	_cleanup_close_ int fd = open(a[0], O_RDWR | O_CLOEXEC);
	char *p = NULL;

	if (fd < 0)
		return -errno;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	p[0] = 'P';
	return rc(msync(p, 4096, MS_SYNC));
}

static long copy(char **a, int how)
{
	_cleanup_close_ int in = open(a[0], O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = -1;

	if (in < 0)
		return -errno;
	out = open(a[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (out < 0)
		return -errno;
	if (how == 0)
		return rc(ioctl(out, FICLONE, in));
	if (how == 1)
		return rc(copy_file_range(in, NULL, out, NULL, 4096, 0));
	return rc(sendfile(out, in, NULL, 4096));
}

static long do_ficlone(char **a)
{
	return copy(a, 0);
}

static long do_copyrange(char **a)
{
	return copy(a, 1);
}

static long do_sendfile(char **a)
{
	return copy(a, 2);
}

/* With "own" the handle is the directory's; with "root" it is made up: inode 2 of the same disk. */
static long do_handle(char **a)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h.handle_bytes = MAX_HANDLE_SZ};
	int id = 0;
	_cleanup_close_ int dir = open(a[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;

	if (dir < 0)
		return -errno;
	if (name_to_handle_at(AT_FDCWD, a[0], &u.h, &id, 0)) {
		/* Refused already: a guess needs no template. */
		u.h.handle_type = 1;
		u.h.handle_bytes = 8;
	}
	if (!strcmp(a[1], "root")) {
		uint32_t guess[2] = {2, 0};

		memcpy(u.h.f_handle, guess, sizeof(guess));
	}
	fd = open_by_handle_at(dir, &u.h, O_RDONLY | O_CLOEXEC);
	return rc(fd);
}

/* A path with a NUL in it ends there for the kernel; `a[0]` NUL `a[1]`. */
static long do_read_nul(char **a)
{
	char path[8192];
	_cleanup_close_ int fd = -1;

	(void)snprintf(path, sizeof(path), "%s%c%s", a[0], 0, a[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : probe_cat(fd);
}

static long do_read_long(char **a)
{
	char path[4096];
	size_t want = sizeof(path) - strlen(a[0]) - 1;
	_cleanup_close_ int fd = -1;

	memset(path, '/', want);
	memcpy(path + want, a[0], strlen(a[0]) + 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : probe_cat(fd);
}

const struct probe probes_fs[] = {
	{"read", 1, do_read},
	{"read-nul", 2, do_read_nul},
	{"read-long", 1, do_read_long},
	{"open", 1, do_open},
	{"openw", 1, do_openw},
	{"write", 1, do_write},
	{"trunc", 1, do_trunc},
	{"create", 1, do_create},
	{"creat", 1, do_creat},
	{"openat2", 1, do_openat2},
	{"tmpfile-link", 2, do_tmpfile_link},
	{"mkdir", 1, do_mkdir},
	{"unlink", 1, do_unlink},
	{"rmdir", 1, do_rmdir},
	{"rename", 2, do_rename},
	{"exchange", 2, do_exchange},
	{"link", 2, do_link},
	{"link-fd", 2, do_link_fd},
	{"symlink", 2, do_symlink},
	{"chmod", 2, do_chmod},
	{"mknod", 2, do_mknod},
	{"mmap-write", 1, do_mmap_write},
	{"ficlone", 2, do_ficlone},
	{"copyrange", 2, do_copyrange},
	{"sendfile", 2, do_sendfile},
	{"handle", 2, do_handle},
	{0},
};
