/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled modules, kept below bawn's own state. Loading a file of these is running it, so nobody
 * but this code may have written it: the directory is private, each file is ours, and a plan that
 * would let its command write there is refused. What is cut short or damaged is made anew.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "backend/wasm/wasm.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/sys.h"

#define ENTRIES_MAX  64
#define BYTES_MAX    (UINT64_C(1) << 30)
#define TEMP         ".new-"
#define TEMP_SECONDS 3600

/* In front of every entry. Against accidents only: it proves nothing about who wrote it. */
struct header {
	char magic[8];
	uint64_t len;
	uint64_t sum;
	uint64_t zero;
};
_Static_assert(sizeof(struct header) == BAWN_WASM_HEADER, "as bawn-wasm skips it");

static const char magic[8] = {'b', 'a', 'w', 'n', 'w', 'a', 's', '1'};

static uint64_t checksum(const char *data, size_t len)
{
	uint64_t sum = len;

	for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t), data += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, data, sizeof(word));
		sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 29;
	}
	for (; len; len--)
		sum = (sum ^ (unsigned char)*data++) * UINT64_C(0x9e3779b97f4a7c15);
	return sum;
}

/* Machine code is for a processor. */
static void describe_cpu(char *dst, size_t size)
{
#ifdef __x86_64__
	unsigned v[8] = {0}, x, y;

	if (__get_cpuid(1, &v[0], &x, &v[1], &v[2]))
		(void)__get_cpuid_count(7, 0, &v[3], &v[4], &v[5], &v[6]);
	(void)__get_cpuid(0x80000001, &x, &y, &v[7], &x);
	(void)snprintf(dst, size, "%x %x %x %x %x %x %x", v[0], v[1], v[2], v[4], v[5], v[6], v[7]);
#else
	(void)snprintf(dst, size, "%lx %lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#endif
}

/* A file as it is now: another version is another file. */
static int describe_file(struct bawn_arena *a, const char *path, const char **ret)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	*ret = bawn_arena_printf(a, "%llu %llu %lld %lld.%ld", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		st.st_mtim.tv_nsec);
	return *ret ? 0 : -ENOMEM;
}

/* The name of an entry: the module; the library, the program with its settings, the processor. */
static int name_of(struct bawn_arena *a, const struct bawn_plan *base,
	const struct bawn_wasm_tools *tools, const struct bawn_buf *module, const char **ret)
{
	char module_sum[BAWN_HEX_LEN + 1], rest_sum[BAWN_HEX_LEN + 1], cpu[96];
	const char *library, *runner, *rest;
	int r = describe_file(a, tools->library, &library);

	if (r == 0)
		r = describe_file(a, tools->runner, &runner);
	if (r < 0)
		return r;
	describe_cpu(cpu, sizeof(cpu));
	rest = bawn_arena_printf(a, "%s %s %s %s", library, runner, cpu,
		base->backend.wasm_fuel == BAWN_UNLIMITED ? "free" : "fuel");
	if (!rest)
		return -ENOMEM;
	bawn_sha256_hex(module->data, module->len, module_sum);
	bawn_sha256_hex(rest, strlen(rest), rest_sum);
	*ret = bawn_arena_printf(a, "%s-%.16s", module_sum, rest_sum);
	return *ret ? 0 : -ENOMEM;
}

/* ---- the directory ---- */

/* True if the command could change what is at `path`. */
static bool is_writable(const struct bawn_plan *p, const char *path)
{
	bool rw = false;

	for (size_t i = 0; i < p->n_mounts; i++) {
		const struct bawn_mount *m = &p->mounts[i];

		if (m->kind != BAWN_MNT_SYMLINK && !m->pin && bawn_path_under(path, m->dst))
			rw = m->kind == BAWN_MNT_RW;
	}
	return rw;
}

/* Open the directory, made if missing: ours, private, reached through no link of strangers. */
static int open_dir(const char *path, struct bawn_error *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r = bawn_path_make_state_dirs(path, strlen(path));

	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r,
			"cannot make '%s' for compiled modules: %m", path);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno,
			"cannot open '%s' for compiled modules: %m", path);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EPERM,
			"'%s' can be changed by others: what it holds would be run; remove it",
			path);
	return TAKE_FD(fd);
}

/* ---- entries ---- */

static bool is_whole(int fd, const struct stat *st)
{
	struct header h;
	char *map;
	bool ok;

	if (st->st_size <= (off_t)sizeof(h) || pread(fd, &h, sizeof(h), 0) != sizeof(h) ||
		memcmp(h.magic, magic, sizeof(magic)) != 0 ||
		h.len != (uint64_t)st->st_size - sizeof(h))
		return false;
	map = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	ok = checksum(map + sizeof(h), h.len) == h.sum;
	(void)munmap(map, (size_t)st->st_size);
	return ok;
}

/* 1 if there is an entry that may be used. Another's file is an error, not a reason to replace it.
 */
static int look_up(int dir, const char *name, struct bawn_error *err)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno,
			"cannot read the compiled module '%s': %m", name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077 || st.st_nlink != 1)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EPERM,
			"the compiled module '%s' was not made by us (owner, mode or links); remove it",
			name);
	if (!is_whole(fd, &st))
		return 0;
	(void)futimens(fd, NULL); /* when it was used last, for thin_out() */
	return 1;
}

/* What one look at the directory finds. */
struct stock {
	char oldest[NAME_MAX + 1];
	time_t when;
	size_t n;
	uint64_t bytes;
};

static void count(struct stock *s, int dir, const char *name)
{
	struct stat st;

	if (name[0] == '.') { /* half an entry, of somebody who was killed while writing */
		if (!strncmp(name, TEMP, sizeof(TEMP) - 1) &&
			fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			st.st_mtime < time(NULL) - TEMP_SECONDS)
			(void)unlinkat(dir, name, 0);
		return;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	s->n++;
	s->bytes += (uint64_t)st.st_size;
	if (*s->oldest && st.st_mtime >= s->when)
		return;
	s->when = st.st_mtime;
	(void)snprintf(s->oldest, sizeof(s->oldest), "%s", name);
}

static int take_stock(int dir, struct stock *ret)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	*ret = (struct stock){.n = 0};
	if (!d) {
		if (fd >= 0)
			(void)close(fd);
		return -errno;
	}
	while ((e = readdir(d))) /* NOLINT(concurrency-mt-unsafe): no threads */
		count(ret, dir, e->d_name);
	(void)closedir(d);
	return 0;
}

/* The least recently used ones make room. */
static void thin_out(int dir)
{
	struct stock s;

	while (take_stock(dir, &s) == 0 && (s.n > ENTRIES_MAX || (s.n > 1 && s.bytes > BYTES_MAX)))
		if (unlinkat(dir, s.oldest, 0) < 0)
			return;
}

/* Written under another name and moved into place: nobody sees half of it. */
static int store(int dir, const char *name, const struct bawn_buf *code, struct bawn_error *err)
{
	struct header h = {.len = code->len, .sum = checksum(code->data, code->len)};
	_cleanup_close_ int fd = -1;
	char temp[64];
	int r;

	memcpy(h.magic, magic, sizeof(magic));
	(void)snprintf(temp, sizeof(temp), TEMP "%d-%lld", (int)getpid(), (long long)bawn_now_ms());
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot keep the compiled module: %m");
	r = bawn_write_all(fd, &h, sizeof(h));
	if (r >= 0)
		r = bawn_write_all(fd, code->data, code->len);
	if (r >= 0 && renameat(dir, temp, dir, name) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dir, temp, 0);
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot keep the compiled module: %m");
	}
	thin_out(dir);
	return 0;
}

static int compile(struct bawn_arena *a, const struct bawn_plan *base,
	const struct bawn_wasm_tools *tools, const struct bawn_buf *module, const char *name,
	struct bawn_buf *code, struct bawn_error *err)
{
	const char *const args[] = {"bawn-wasm", "compile", "/dev/shm/bawn-wasm/libwasmtime.so",
		name, base->backend.wasm_fuel == BAWN_UNLIMITED ? "free" : "fuel", NULL};
	struct bawn_plan plan;
	int r = bawn_wasm_tool_plan(a, base, tools, args, &plan, err);

	return r < 0 ? r : bawn_wasm_tool(&plan, module, code, err);
}

int bawn_wasm_cache_get(struct bawn_arena *a, const struct bawn_plan *base,
	const struct bawn_wasm_tools *tools, const struct bawn_buf *module, const char *name,
	const char **ret, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf code = {0};
	_cleanup_close_ int dir = -1;
	const char *path = bawn_path_state(a, "wasm"), *real = NULL, *entry = NULL;
	int r;

	if (!path)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOENT,
			"there is no home directory for compiled modules (set HOME or XDG_STATE_HOME)");
	dir = open_dir(path, err);
	if (dir < 0)
		return dir;
	if (bawn_path_resolve(a, path, &real) < 0 || name_of(a, base, tools, module, &entry) < 0 ||
		!entry)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "cannot name the compiled module");
	if (is_writable(base, real))
		return bawn_fail(err, BAWN_ERR_PLAN, -EPERM,
			"compiled modules are kept in '%s', which the command could write; deny it (--deny) or set XDG_STATE_HOME",
			real);
	*ret = bawn_path_join(a, real, entry);
	if (!*ret)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = look_up(dir, entry, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = compile(a, base, tools, module, name, &code, err);
	return r < 0 ? r : store(dir, entry, &code, err);
}
