/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See initrd.h. A file's name says what it was made from (path, size, time and inode of each part):
 * reading three megabytes for each run to find that nothing has changed would be a waste.
 */
#include "backend/vm/initrd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sha256.h"

#define PART_MAX  ((size_t)32 << 20)
#define STALE_S   3600
#define YOUNG_S   60 /* one that may be just about to be booted */
#define KEEP      3u /* besides the one in use */
#define LIST_MAX  256u
#define PREFIX    "initrd-"
#define ALIGN     4u
#define FIELD_MAX UINT32_MAX

/* ---- the archive ---- */

static void pad(struct bawn_buf *b)
{
	static const char zero[ALIGN];

	bawn_buf_add(b, zero, (ALIGN - b->len % ALIGN) % ALIGN);
}

static void header(
	struct bawn_buf *b, const char *name, unsigned mode, size_t len, const unsigned dev[2])
{
	/* inode, mode, uid, gid, links, time, size, device, represented device, name, checksum */
	bawn_buf_printf(b, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", 0u, mode,
		0u, 0u, 1u, 0u, (unsigned)len, 0u, 0u, dev[0], dev[1], (unsigned)strlen(name) + 1u,
		0u);
	bawn_buf_add(b, name, strlen(name) + 1);
	pad(b);
}

void bawn_cpio_add(
	struct bawn_buf *b, const char *name, unsigned mode, const void *data, size_t len)
{
	static const unsigned no_device[2];

	if (len > FIELD_MAX) {
		b->failed = -E2BIG;
		return;
	}
	header(b, name, mode, len, no_device);
	bawn_buf_add(b, data, len);
	pad(b);
}

void bawn_cpio_device(struct bawn_buf *b, const char *name, unsigned major, unsigned minor)
{
	header(b, name, S_IFCHR | 0600, 0, (const unsigned[2]){major, minor});
}

void bawn_cpio_end(struct bawn_buf *b)
{
	bawn_cpio_add(b, "TRAILER!!!", 0, NULL, 0);
}

static int add_file(struct bawn_buf *b, const char *name, unsigned mode, const char *path)
{
	_cleanup_buf_ struct bawn_buf data = {.max = PART_MAX};
	int r = bawn_read_file(AT_FDCWD, path, PART_MAX, &data);

	if (r >= 0)
		bawn_cpio_add(b, name, mode, data.data, data.len);
	return r;
}

/* Where module `m` is, if the kernel has it as a file. */
static bool module_path(const struct bawn_vm_kernel *k, const struct bawn_vm_module *m, char *dst)
{
	int n = k->flat ? snprintf(dst, PATH_MAX, "%s/%s.ko", k->modules, m->name)
			: snprintf(dst, PATH_MAX, "%s/%s/%s.ko", k->modules, m->dir, m->name);

	return *k->modules && n > 0 && n < PATH_MAX && access(dst, R_OK) == 0;
}

static int add_modules(const struct bawn_vm_kernel *k, struct bawn_buf *b, struct bawn_error *err)
{
	const struct bawn_vm_module *m;
	unsigned n = 0;

	bawn_cpio_add(b, "modules", S_IFDIR | 0755, NULL, 0);
	for (size_t i = 0; (m = bawn_vm_module_at(i)); i++) {
		char path[PATH_MAX], name[32];
		int r;

		if (!module_path(k, m, path))
			continue;
		(void)snprintf(name, sizeof(name), "modules/%02u.ko", n++);
		r = add_file(b, name, S_IFREG | 0400, path);
		if (r < 0) {
			errno = -r;
			return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot read '%s': %m", path);
		}
	}
	return 0;
}

int bawn_initrd_make(const struct bawn_vm_kernel *k, const char *init, struct bawn_buf *out,
	struct bawn_error *err)
{
	int r;

	bawn_cpio_add(out, "dev", S_IFDIR | 0755, NULL, 0);
	bawn_cpio_device(out, "dev/console", 5, 1);
	r = add_file(out, "init", S_IFREG | 0755, init);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot read '%s': %m", init);
	}
	r = add_modules(k, out, err);
	if (r < 0)
		return r;
	bawn_cpio_end(out);
	if (out->failed)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, out->failed, "the guest's first files are too many");
	return 0;
}

/* ---- the file ---- */

static int name_of(const struct bawn_vm_kernel *k, const char *init, char ret[BAWN_HEX_LEN + 1])
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const struct bawn_vm_module *m;
	char path[PATH_MAX];

	bawn_vm_identity(&b, init);
	for (size_t i = 0; (m = bawn_vm_module_at(i)); i++)
		if (module_path(k, m, path))
			bawn_vm_identity(&b, path);
	if (b.failed)
		return b.failed;
	bawn_sha256_hex(b.data, b.len, ret);
	return 0;
}

struct old {
	char name[NAME_MAX + 1];
	time_t used;
};

static time_t last_use(const struct stat *st)
{
	return st->st_atim.tv_sec > st->st_mtim.tv_sec ? st->st_atim.tv_sec : st->st_mtim.tv_sec;
}

static size_t list_old(int dir, const char *keep, struct old *ret)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct stat st;
	size_t n = 0;

	if (!d) {
		if (copy >= 0)
			(void)close(copy);
		return 0;
	}
	for (const struct dirent *e;
		n < LIST_MAX && (e = readdir(d));) /* NOLINT(concurrency-mt-unsafe) */
		if (!strncmp(e->d_name, PREFIX, strlen(PREFIX)) && strcmp(e->d_name, keep) != 0 &&
			fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			(void)snprintf(ret[n].name, sizeof(ret[n].name), "%s", e->d_name);
			ret[n++].used = last_use(&st);
		}
	(void)closedir(d);
	return n;
}

static int by_use(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	return x->used < y->used ? 1 : x->used > y->used ? -1 : 0;
}

/* Those of kernels and programs that were replaced: what has not been used for long, and all but a
 * few of the rest. */
static void remove_stale(int dir, const char *keep)
{
	_cleanup_free_ struct old *old = calloc(LIST_MAX, sizeof(*old));
	const time_t now = time(NULL);
	size_t n = old ? list_old(dir, keep, old) : 0;

	if (n)
		qsort(old, n, sizeof(*old), by_use);
	for (size_t i = 0; i < n; i++)
		if (old[i].used + (i < KEEP ? STALE_S : YOUNG_S) < now)
			(void)unlinkat(dir, old[i].name, 0);
}

static int write_whole(int dir, const char *name, const struct bawn_buf *b)
{
	char temp[NAME_MAX];
	int r;

	(void)snprintf(temp, sizeof(temp), PREFIX "%ld.new", (long)getpid());
	(void)unlinkat(dir, temp, 0);
	_cleanup_close_ int fd =
		openat(dir, temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = bawn_write_all(fd, b->data, b->len);
	if (r >= 0 && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir, temp, 0);
	return r < 0 ? r : 0;
}

static int make_file(const struct bawn_vm_kernel *k, const char *init, const char *dir,
	const char *name, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	_cleanup_close_ int fd = -1;
	int r = bawn_initrd_make(k, init, &b, err);

	if (r < 0)
		return r;
	r = bawn_path_make_state_dirs(dir, strlen(dir));
	if (r >= 0) {
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		r = fd < 0 ? -errno : write_whole(fd, name, &b);
	}
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot write '%s/%s': %m", dir, name);
	}
	remove_stale(fd, name);
	return 0;
}

int bawn_initrd_file(struct bawn_arena *a, const struct bawn_vm_kernel *k, const char *init,
	const char **ret, struct bawn_error *err)
{
	const char *dir = bawn_path_state(a, "vm");
	char hex[BAWN_HEX_LEN + 1];
	const char *name, *path;
	int r = dir ? name_of(k, init, hex) : -ENOENT;

	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r,
			"there is no place for the guest's first files: set HOME");
	name = bawn_arena_printf(a, PREFIX "%.32s", hex);
	path = name ? bawn_path_join(a, dir, name) : NULL;
	if (!path)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	if (access(path, R_OK) < 0)
		r = make_file(k, init, dir, name, err);
	if (r >= 0)
		*ret = path;
	return r;
}
