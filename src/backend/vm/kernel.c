/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel.h. The files are opened later by whoever boots them, behind a wall of its own. */
#include "backend/vm/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/libexec.h"

const char bawn_vm_kernel_remedy[] = "as root: " BAWN_LIBEXECDIR "/vm-kernel.sh";

static const struct bawn_vm_module modules[] = {
	{"virtio", "drivers/virtio"},
	{"virtio_ring", "drivers/virtio"},
	{"virtio_mmio", "drivers/virtio"},
	{"virtio_console", "drivers/char"},
	{"virtio_blk", "drivers/block"},
	{"virtio-rng", "drivers/char/hw_random"},
	{"fuse", "fs/fuse"},
	{"vsock", "net/vmw_vsock"},
	{"vmw_vsock_virtio_transport_common", "net/vmw_vsock"},
	{"vmw_vsock_virtio_transport", "net/vmw_vsock"},
};

const struct bawn_vm_module *bawn_vm_module_at(size_t i)
{
	return i < sizeof(modules) / sizeof(modules[0]) ? &modules[i] : NULL;
}

/* 1: an ELF file, 0: a bzImage, -ENOEXEC: neither. */
static int kind_of(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[0x206] = "";

	if (fd < 0)
		return -errno;
	if (read(fd, head, sizeof(head)) != (ssize_t)sizeof(head))
		return -ENOEXEC;
	if (!memcmp(head, "\177ELF", 4))
		return 1;
	return memcmp(head + 0x202, "HdrS", 4) != 0 ? -ENOEXEC : 0;
}

/* What belongs to the kernel `path`, by the places of Debian and of vm-kernel.sh. */
static int describe(const char *path, int kind, struct bawn_vm_kernel *ret)
{
	const char *base = strrchr(path, '/');
	int dir;

	if (!base || strlen(path) >= sizeof(ret->image) - 64)
		return -ENAMETOOLONG;
	dir = (int)(base++ - path);
	(void)snprintf(ret->image, sizeof(ret->image), "%s", path);
	ret->elf = kind == 1;
	(void)snprintf(ret->modules, sizeof(ret->modules), "%.*s/modules", dir, path);
	ret->flat = access(ret->modules, X_OK) == 0;
	if (!ret->flat && !strncmp(base, "vmlinuz-", 8))
		(void)snprintf(
			ret->modules, sizeof(ret->modules), "/lib/modules/%s/kernel", base + 8);
	if (access(ret->modules, X_OK) < 0)
		*ret->modules = '\0';
	return 0;
}

void bawn_vm_identity(struct bawn_buf *b, const char *path)
{
	struct stat st = {0};

	(void)stat(path, &st);
	bawn_buf_printf(b, "%s %lld %lld.%09ld %llu\n", path, (long long)st.st_size,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
}

static int use(const char *path, struct bawn_vm_kernel *ret, struct bawn_error *err)
{
	int kind = kind_of(path);

	if (kind == -ENOEXEC)
		return bawn_fail(err, BAWN_ERR_BACKEND, kind, "'%s' is no kernel for x86", path);
	if (kind >= 0)
		kind = describe(path, kind, ret);
	if (kind < 0) {
		errno = -kind;
		return bawn_fail(
			err, BAWN_ERR_BACKEND, kind, "cannot use the kernel '%s': %m", path);
	}
	return 0;
}

/* A kernel of the package that vm-kernel.sh takes, if somebody has installed it. */
static int find_installed(char *dst, size_t size)
{
	glob_t g = {0};
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	int r = glob("/boot/vmlinuz-*cloud*", 0, NULL, &g) ? -ENOENT : 0;

	if (r == 0)
		(void)snprintf(dst, size, "%s", g.gl_pathv[g.gl_pathc - 1]);
	globfree(&g);
	return r;
}

int bawn_vm_kernel_find(const char *setting, struct bawn_vm_kernel *ret, struct bawn_error *err)
{
	/* the ELF image is no work to unpack, which an emulated processor is slow at */
	static const char *const names[] = {"vm/vmlinux", "vm/vmlinuz"};
	char path[PATH_MAX];

	if (*setting)
		return use(setting, ret, err);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bawn_libexec_data(names[i], path, sizeof(path)) == 0)
			return use(path, ret, err);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "/usr/lib/bawn/%s", names[i]);
		if (access(path, R_OK) == 0)
			return use(path, ret, err);
	}
	if (find_installed(path, sizeof(path)) == 0)
		return use(path, ret, err);
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -ENOENT,
		"there is no kernel for virtual machines; %s, or name one in enforcement.vm.kernel",
		bawn_vm_kernel_remedy);
}
