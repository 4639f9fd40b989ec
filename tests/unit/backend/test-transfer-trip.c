/* SPDX-License-Identifier: Apache-2.0 */
/* Files that go in and changes that come back, with both ends as they are (inside: bridge_files.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <sys/stat.h>

#include "backend/inside/bridge.h"
#include "transfer.h"

/* ---- in and back, both ends ---- */

struct inside {
	struct bawn_arrival a;
	struct bawn_buf back;
};

static int keep(void *data, struct bawn_buf *out)
{
	struct inside *i = data;

	bawn_buf_add(&i->back, out->data, out->len);
	out->len = 0;
	return i->back.failed;
}

static void go_in(struct inside *i)
{
	struct bawn_init init = {.plan = &plan, .uid = geteuid(), .gid = getegid()};
	struct bawn_frame_reader r;
	struct bawn_error err = {0};
	struct bawn_buf out = {0};
	struct bawn_frame f;
	int more = 1;

	ASSERT_EQ(bawn_transfer_new(&plan, false, report, NULL, &t, &err), 0);
	ASSERT_EQ(bawn_frame_reader_init(&r, true), 0);
	if (bawn_arrival_init(&i->a, &init, &err) < 0)
		FAIL("%s", err.msg);
	while (more > 0) {
		more = bawn_transfer_send(t, &out, 20000, &err);
		for (size_t fed = 0; fed < out.len;) {
			fed += bawn_frame_feed(&r, out.data + fed, out.len - fed);
			while (bawn_frame_next(&r, &f) > 0)
				if (bawn_arrival_take(&i->a, &f, &err) < 0)
					FAIL("%s", err.msg);
		}
		out.len = 0;
	}
	ASSERT_EQ(more, 0);
}

static void come_back(struct inside *i)
{
	struct bawn_error err = {0};
	struct bawn_buf out = {0};

	if (bawn_arrival_return(&i->a, &out, keep, i, &err) < 0)
		FAIL("%s", err.msg);
	ASSERT_EQ(keep(i, &out), 0);
	ASSERT_EQ(take(&i->back), 0);
}

TEST(there_and_nothing_changed)
{
	struct inside i = {0};
	size_t applied, refused;

	begin();
	mounts[0].dst = copy;
	ASSERT_EQ(symlink("file", at(ws, "l")), 0);
	ASSERT_EQ(chmod(at(ws, "dir"), 0500), 0);
	go_in(&i);
	ASSERT_STREQ(text_at(copy, "dir/in"), "deep");
	come_back(&i);
	bawn_transfer_count(t, &applied, &refused);
	ASSERT_TRUE(applied == 0 && refused == 0);
	end();
}

TEST(there_and_back_with_all_kinds_of_changes)
{
	struct inside i = {0};
	struct stat st;

	begin();
	mounts[0].dst = copy;
	put("gone", "x");
	put("becomes", "a directory");
	ASSERT_EQ(mkdir(at(ws, "turns"), 0755), 0);
	put("turns/in", "x");
	go_in(&i);
	ASSERT_EQ(unlink(at(copy, "gone")), 0);
	ASSERT_EQ(unlink(at(copy, "becomes")), 0);
	ASSERT_EQ(mkdir(at(copy, "becomes"), 0755), 0);
	ASSERT_EQ(symlink("nowhere", at(copy, "becomes/link")), 0);
	ASSERT_EQ(unlink(at(copy, "turns/in")), 0);
	ASSERT_EQ(rmdir(at(copy, "turns")), 0);
	ASSERT_EQ(symlink("file", at(copy, "turns")), 0);
	ASSERT_EQ(chmod(at(copy, "file"), 0400), 0);
	ASSERT_EQ(mkdir(at(copy, "locked"), 0755), 0);
	ASSERT_EQ(symlink("x", at(copy, "locked/x")), 0);
	ASSERT_EQ(chmod(at(copy, "locked"), 0500), 0);
	come_back(&i);
	if (reports)
		FAIL("%s", last);
	ASSERT_EQ(mode_of("gone"), 0);
	ASSERT_TRUE(S_ISDIR(mode_of("becomes")) && S_ISLNK(mode_of("becomes/link")));
	ASSERT_TRUE(S_ISLNK(mode_of("turns")));
	ASSERT_EQ(mode_of("file") & 07777, 0400);
	ASSERT_STREQ(text_of("file"), "old");
	ASSERT_EQ(lstat(at(ws, "locked"), &st), 0);
	ASSERT_EQ(st.st_mode & 07777, 0500);
	end();
}

/* Should the stream break, what was moved is there under one name at least. */
TEST(what_was_moved_arrives_before_it_goes)
{
	struct inside i = {0};
	struct bawn_error err = {0};
	struct bawn_buf out = {0};
	struct bawn_frame_reader r;
	struct bawn_frame f;
	struct bawn_entry e;
	size_t fed, n = 0, arrived = 0, gone = 0;

	begin();
	mounts[0].dst = copy;
	go_in(&i);
	ASSERT_EQ(rename(at(copy, "dir"), at(copy, "moved")), 0);
	ASSERT_EQ(bawn_arrival_return(&i.a, &out, keep, &i, &err), 0);
	ASSERT_EQ(keep(&i, &out), 0);
	ASSERT_EQ(bawn_frame_reader_init(&r, false), 0);
	fed = bawn_frame_feed(&r, i.back.data, i.back.len);
	ASSERT_EQ(fed, i.back.len);
	while (bawn_frame_next(&r, &f) > 0) {
		n++;
		if (bawn_entry_get(&f, &e) < 0)
			continue;
		if (e.kind == BAWN_ENTRY_FILE && e.path_len == strlen("moved/in"))
			arrived = n;
		if (e.kind == BAWN_ENTRY_DELETE && !gone)
			gone = n;
	}
	ASSERT_TRUE(arrived && gone);
	ASSERT_TRUE(arrived < gone);
	bawn_frame_reader_done(&r);
	bawn_buf_done(&i.back);
	end();
}

TEST(special_files_are_passed_over_and_reported)
{
	struct inside i = {0};

	begin();
	mounts[0].dst = copy;
	ASSERT_EQ(mkfifo(at(ws, "fifo"), 0644), 0);
	go_in(&i);
	ASSERT_EQ(mkfifo(at(copy, "fifo"), 0644), 0); /* as one that is seen by copy on write */
	ASSERT_EQ(mkfifo(at(copy, "other"), 0644), 0);
	ASSERT_EQ(unlink(at(copy, "file")), 0);
	ASSERT_EQ(mkfifo(at(copy, "file"), 0644), 0);
	come_back(&i);
	ASSERT_EQ(reports, 2);
	ASSERT_TRUE(S_ISFIFO(mode_of("fifo")));
	ASSERT_EQ(mode_of("other"), 0);
	ASSERT_EQ(mode_of("file"), 0);
	end();
}

TEST(denied_paths_do_not_go_in)
{
	struct inside i = {0};

	begin();
	mounts[0].dst = copy;
	deny[0] = at(copy, "dir");
	mounts[1] =
		(struct bawn_mount){.kind = BAWN_MNT_HIDE, .dst = at(copy, "file"), .rule = "d"};
	plan.n_mounts = 2;
	plan.n_deny = 1;
	go_in(&i);
	ASSERT_STREQ(text_at(copy, "file"), "(none)");
	ASSERT_STREQ(text_at(copy, "dir/in"), "(none)");
	come_back(&i);
	ASSERT_STREQ(text_of("file"), "old"); /* and are not taken for deleted */
	ASSERT_STREQ(text_of("dir/in"), "deep");
	ASSERT_EQ(reports, 0);
	end();
}

TEST(long_names_and_large_files)
{
	struct inside i = {0};
	char name[NAME_MAX + 1];
	struct stat st;

	begin();
	mounts[0].dst = copy;
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	put(name, "long");
	put("large", "start");
	ASSERT_EQ(truncate(at(ws, "large"), 3000000), 0);
	go_in(&i);
	ASSERT_STREQ(text_at(copy, name), "long");
	ASSERT_EQ(lstat(at(copy, "large"), &st), 0);
	ASSERT_EQ(st.st_size, 3000000);
	_cleanup_close_ int fd = open(at(copy, "large"), O_WRONLY | O_CLOEXEC);
	for (int k = 0; k < 100; k++)
		ASSERT_EQ(pwrite(fd, "dddddddd", 8, k * 20000), 8);
	come_back(&i);
	ASSERT_EQ(reports, 0);
	ASSERT_STREQ(text_of("large"), "dddddddd"); /* then zeros */
	ASSERT_EQ(lstat(at(ws, "large"), &st), 0);
	ASSERT_EQ(st.st_size, 3000000);
	end();
}

TEST(a_file_that_grows_is_sent_as_long_as_it_was)
{
	static char block[100000] = {1};
	struct bawn_buf out = {0};
	struct bawn_error err = {0};
	size_t sent = 0;
	int more = 1;

	begin();
	ASSERT_EQ(truncate(at(ws, "file"), 0), 0);
	_cleanup_close_ int fd = open(at(ws, "file"), O_WRONLY | O_APPEND | O_CLOEXEC);
	ASSERT_EQ(bawn_write_all(fd, block, sizeof(block)), 0);
	ASSERT_EQ(bawn_transfer_new(&plan, false, report, NULL, &t, &err), 0);
	for (int i = 0; i < 100 && more > 0; i++) {
		more = bawn_transfer_send(t, &out, 1, &err);
		if (out.len > 50000)
			ASSERT_EQ(bawn_write_all(fd, block, sizeof(block)), 0);
		sent += out.len;
		out.len = 0;
	}
	ASSERT_EQ(more, 0);
	ASSERT_TRUE(sent > sizeof(block) && sent < sizeof(block) * 2);
	bawn_buf_done(&out);
	end();
}
