/* SPDX-License-Identifier: Apache-2.0 */
/* The archive that a guest starts with, the kernels that are taken, and what a console said last.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <time.h>

#include <sys/stat.h>

#include "backend/vm/console.h"
#include "backend/vm/initrd.h"
#include "base/io.h"
#include "harness.h"

static char dir[] = "/tmp/bawn-initrd.XXXXXX";

static const char *put(const char *name, const void *data, size_t len)
{
	static char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	ASSERT_TRUE(fd >= 0);
	ASSERT_TRUE(bawn_write_all(fd, data, len) >= 0);
	(void)close(fd);
	return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_all(void)
{
	ASSERT_EQ(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

TEST(entries_are_those_of_newc)
{
	struct bawn_buf b = {0};

	bawn_cpio_add(&b, "ab", S_IFREG | 0755, "xyz", 3);
	ASSERT_EQ(b.len, 116 + 4); /* header and name, data: each padded to four bytes */
	ASSERT_TRUE(!memcmp(b.data,
		"070701"
		"00000000"
		"000081ED"
		"00000000"
		"00000000"
		"00000001"
		"00000000"
		"00000003"
		"00000000"
		"00000000"
		"00000000"
		"00000000"
		"00000003"
		"00000000"
		"ab\0\0\0\0"
		"xyz\0",
		b.len));
	bawn_buf_done(&b);
}

TEST(a_device_has_numbers_and_no_content)
{
	struct bawn_buf b = {0};

	bawn_cpio_device(&b, "dev/console", 5, 1);
	ASSERT_TRUE(!memcmp(b.data + 14, "00002180", 8));
	ASSERT_TRUE(!memcmp(b.data + 78, "0000000500000001", 16));
	ASSERT_EQ(b.len % 4, 0);
	bawn_buf_done(&b);
}

/* What cpio(1) makes of it, field by field: the next entry is where this one says. */
static size_t find(const struct bawn_buf *b, const char *name, const char **ret)
{
	for (size_t at = 0; at + 110 < b->len;) {
		char field[9] = "";
		size_t size, len;

		ASSERT_TRUE(!memcmp(b->data + at, "070701", 6));
		memcpy(field, b->data + at + 54, 8);
		size = strtoul(field, NULL, 16);
		memcpy(field, b->data + at + 94, 8);
		len = strtoul(field, NULL, 16);
		*ret = b->data + at + (110 + len + 3) / 4 * 4;
		if (!strcmp(b->data + at + 110, name))
			return size;
		at += (110 + len + 3) / 4 * 4 + (size + 3) / 4 * 4;
	}
	return SIZE_MAX;
}

TEST(init_and_modules_in_order)
{
	struct bawn_vm_kernel k = {.flat = true};
	struct bawn_buf b = {0};
	char init[PATH_MAX];
	const char *data;

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	(void)snprintf(k.modules, sizeof(k.modules), "%s", dir);
	(void)put("fuse.ko", "FUSE", 4);
	(void)put("virtio.ko", "VIRTIO", 6);
	(void)put("other.ko", "OTHER", 5);
	(void)snprintf(init, sizeof(init), "%s", put("inside", "INIT", 4));
	ASSERT_EQ(bawn_initrd_make(&k, init, &b, NULL), 0);
	ASSERT_EQ(find(&b, "init", &data), 4);
	ASSERT_TRUE(!memcmp(data, "INIT", 4));
	ASSERT_EQ(find(&b, "modules/00.ko", &data), 6);
	ASSERT_TRUE(!memcmp(data, "VIRTIO", 6));
	ASSERT_EQ(find(&b, "modules/01.ko", &data), 4);
	ASSERT_EQ(find(&b, "modules/02.ko", &data), SIZE_MAX);
	ASSERT_EQ(find(&b, "TRAILER!!!", &data), 0);
	bawn_buf_done(&b);
	remove_all();
}

TEST(the_file_is_made_anew_when_a_part_changes)
{
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_vm_kernel k = {.flat = true};
	const char *first, *second, *third;
	char init[PATH_MAX];
	struct stat st;

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	ASSERT_EQ(setenv("XDG_STATE_HOME", dir, 1), 0);
	(void)snprintf(init, sizeof(init), "%s", put("inside", "INIT", 4));
	ASSERT_EQ(bawn_initrd_file(a, &k, init, &first, NULL), 0);
	ASSERT_EQ(stat(first, &st), 0);
	ASSERT_EQ(st.st_mode & 0777, 0600);
	ASSERT_EQ(bawn_initrd_file(a, &k, init, &second, NULL), 0);
	ASSERT_STREQ(first, second);
	(void)put("inside", "another", 7);
	ASSERT_EQ(bawn_initrd_file(a, &k, init, &third, NULL), 0);
	ASSERT_TRUE(strcmp(first, third) != 0);
	ASSERT_EQ(access(first, F_OK), 0); /* somebody may be booting it */
	remove_all();
	a = bawn_arena_free(a);
}

/* Used some minutes ago, the first one last. */
static void make_old(const char *state, unsigned n, time_t age)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
	char path[PATH_MAX];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "bawn/vm/initrd-%s-%u", state, i);
		(void)put(path, "x", 1);
		(void)snprintf(path, sizeof(path), "%s/bawn/vm/initrd-%s-%u", dir, state, i);
		times[0].tv_sec++;
		times[1].tv_sec++;
		ASSERT_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
	}
}

static bool is_there(const char *state, unsigned i)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/bawn/vm/initrd-%s-%u", dir, state, i);
	return access(path, F_OK) == 0;
}

TEST(few_old_files_are_kept)
{
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_vm_kernel k = {.flat = true};
	const char *path;

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	ASSERT_EQ(setenv("XDG_STATE_HOME", dir, 1), 0);
	ASSERT_EQ(bawn_initrd_file(a, &k, put("inside", "INIT", 4), &path, NULL), 0);
	make_old("minutes", 6, 600);
	make_old("days", 2, 200000);
	make_old("now", 1, 5);
	ASSERT_EQ(bawn_initrd_file(a, &k, put("inside", "another", 7), &path, NULL), 0);
	ASSERT_EQ(access(path, F_OK), 0);
	ASSERT_TRUE(is_there("now", 0));
	ASSERT_TRUE(is_there("minutes", 5));
	ASSERT_TRUE(!is_there("minutes", 0) && !is_there("minutes", 1) && !is_there("minutes", 2));
	ASSERT_TRUE(!is_there("days", 0) && !is_there("days", 1));
	remove_all();
	a = bawn_arena_free(a);
}

TEST(a_full_disk_leaves_nothing)
{
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_vm_kernel k = {.flat = true};
	struct bawn_error err = {0};
	const char *path = NULL;

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	ASSERT_EQ(setenv("XDG_STATE_HOME", "/proc/nothing", 1), 0);
	ASSERT_TRUE(bawn_initrd_file(a, &k, put("inside", "INIT", 4), &path, &err) < 0);
	ASSERT_TRUE(strstr(err.msg, "'/proc/nothing/bawn/vm/") != NULL);
	ASSERT_TRUE(path == NULL);
	remove_all();
	a = bawn_arena_free(a);
}

TEST(kernels_are_told_by_their_beginning)
{
	char head[0x300] = "\177ELF";
	struct bawn_vm_kernel k;
	struct bawn_error err = {0};

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	ASSERT_EQ(bawn_vm_kernel_find(put("k", head, sizeof(head)), &k, &err), 0);
	ASSERT_TRUE(k.elf);
	ASSERT_STREQ(k.modules, "");
	memset(head, 0, sizeof(head));
	memcpy(head + 0x202, "HdrS", 4);
	ASSERT_EQ(bawn_vm_kernel_find(put("k", head, sizeof(head)), &k, &err), 0);
	ASSERT_TRUE(!k.elf);
	ASSERT_EQ(bawn_vm_kernel_find(put("k", "short", 5), &k, &err), -ENOEXEC);
	ASSERT_TRUE(strstr(err.msg, "is no kernel") != NULL);
	ASSERT_EQ(bawn_vm_kernel_find("/nonexistent/kernel", &k, &err), -ENOENT);
	ASSERT_EQ(err.kind, BAWN_ERR_BACKEND);
	remove_all();
}

TEST(the_last_line_that_says_something)
{
	static const struct {
		const char *said, *last;
	} rows[] = {
		{"", ""},
		{"\n\r\n", ""},
		{"one\ntwo\r\n", "two"},
		{"[    1.234567] Kernel panic - not syncing: no init\n",
			"Kernel panic - not syncing: no init"},
		{"[    1.2] Kernel panic: x\n[    1.3] ---[ end Kernel panic: x ]---\n",
			"Kernel panic: x"},
		{"bawn: cannot mount: No such device\n[    2.0] reboot: Restarting system\n",
			"bawn: cannot mount: No such device"},
		{"[ 1] reboot: Restarting system", ""},
		{"\033[31mred\n", "\\x1b[31mred"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static struct bawn_console c;
		char last[100];

		c.len = strlen(rows[i].said);
		memcpy(c.text, rows[i].said, c.len);
		bawn_console_last(&c, last, sizeof(last));
		ASSERT_STREQ(last, rows[i].last);
	}
}
