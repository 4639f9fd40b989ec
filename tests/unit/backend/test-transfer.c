/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that come back, from an inside that is honest, unlucky or hostile: entry by entry. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "transfer.h"

/* ---- changes that are fine ---- */

TEST(a_new_file)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "new");
	struct stat st;

	begin();
	send_all();
	e.mode = 0600;
	e.mtime = 1234567890123456789;
	ASSERT_EQ(change(e, "text"), 0);
	ASSERT_STREQ(text_of("new"), "text");
	ASSERT_EQ(lstat(at(ws, "new"), &st), 0);
	ASSERT_EQ(st.st_mode & 07777, 0600);
	ASSERT_TRUE(st.st_mtim.tv_sec == 1234567890 && st.st_mtim.tv_nsec == 123456789);
	ASSERT_EQ(reports, 0);
	expect_no_temp(ws);
	end();
}

TEST(times_before_the_epoch)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "new");
	struct stat st;

	begin();
	send_all();
	e.mtime = -1500000000;
	ASSERT_EQ(change(e, "text"), 0);
	ASSERT_EQ(lstat(at(ws, "new"), &st), 0);
	ASSERT_TRUE(st.st_mtim.tv_sec == -2 && st.st_mtim.tv_nsec == 500000000);
	end();
}

TEST(a_changed_file_keeps_what_the_inside_does_not_know)
{
	struct stat before, after;
	char value[8] = "";
	bool xattr;

	begin();
	xattr = setxattr(at(ws, "file"), "user.test", "kept", 4, 0) == 0;
	ASSERT_TRUE(geteuid() != 0 || chown(at(ws, "file"), 1234, 4321) == 0);
	ASSERT_EQ(lstat(at(ws, "file"), &before), 0);
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "file"), "new"), 0);
	ASSERT_STREQ(text_of("file"), "new");
	ASSERT_EQ(lstat(at(ws, "file"), &after), 0);
	ASSERT_TRUE(before.st_uid == after.st_uid && before.st_gid == after.st_gid);
	if (xattr)
		ASSERT_EQ(getxattr(at(ws, "file"), "user.test", value, sizeof(value)), 4);
	ASSERT_EQ(reports, 0);
	end();
}

TEST(directories_links_modes_deletions)
{
	struct bawn_entry e;

	begin();
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_DIR, "d2"), NULL), 0);
	ASSERT_TRUE(S_ISDIR(mode_of("d2")));
	t = bawn_transfer_free(t);
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_LINK, "l"), "../../etc/passwd"), 0);
	ASSERT_TRUE(S_ISLNK(mode_of("l"))); /* a link is only text */
	t = bawn_transfer_free(t);
	send_all();
	e = entry(BAWN_ENTRY_META, "dir");
	e.mode = 0700;
	ASSERT_EQ(change(e, NULL), 0);
	ASSERT_EQ(mode_of("dir") & 07777, 0700);
	t = bawn_transfer_free(t);
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_DELETE, "dir/in"), NULL), 0);
	ASSERT_EQ(mode_of("dir/in"), 0);
	t = bawn_transfer_free(t);
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_DELETE, "dir"), NULL), 0);
	ASSERT_EQ(mode_of("dir"), 0);
	ASSERT_EQ(reports, 0);
	end();
}

TEST(a_file_becomes_a_link_and_a_link_a_file)
{
	begin();
	ASSERT_EQ(symlink("file", at(ws, "l")), 0);
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_LINK, "file"), "dir"), 0);
	ASSERT_TRUE(S_ISLNK(mode_of("file")));
	t = bawn_transfer_free(t);
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "l"), "plain"), 0);
	ASSERT_TRUE(S_ISREG(mode_of("l")));
	ASSERT_STREQ(text_of("l"), "plain");
	ASSERT_EQ(reports, 0);
	end();
}

TEST(a_file_root_is_written_in_place)
{
	struct stat before, after;

	begin();
	mounts[0].src = mounts[0].dst = at(ws, "file");
	ASSERT_EQ(lstat(mounts[0].src, &before), 0);
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, ""), "in place"), 0);
	ASSERT_STREQ(text_of("file"), "in place");
	ASSERT_EQ(lstat(at(ws, "file"), &after), 0);
	ASSERT_EQ(before.st_ino, after.st_ino);
	ASSERT_EQ(reports, 0);
	end();
}

TEST(holes_stay_holes)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "sparse");
	struct bawn_buf out = {0};
	char data[16] = {0};
	struct stat st;

	begin();
	send_all();
	e.size = (uint64_t)1 << 33;
	bawn_entry_put(&out, &e);
	data[3] = 16; /* offset 2^28 */
	data[8] = 'x';
	bawn_frame_put(&out, BAWN_FRAME_DATA, 0, data, 9);
	bawn_frame_put(&out, BAWN_FRAME_TREE_END, 0, NULL, 0);
	ASSERT_EQ(take(&out), 0);
	ASSERT_EQ(lstat(at(ws, "sparse"), &st), 0);
	ASSERT_EQ(st.st_size, (off_t)1 << 33);
	ASSERT_TRUE(st.st_blocks < 1024);
	end();
}

/* ---- changes that are refused ---- */

static void refuse_one(struct bawn_entry e, const char *text, uint32_t control, const char *says)
{
	begin();
	put("keep", "kept");
	protect[0] = at(ws, "keep");
	plan.n_protect = 1;
	deny[0] = at(ws, "dir");
	plan.n_deny = 1;
	guards[0] = (struct bawn_guard){.dir = ws, .name = ".mcp.json", .rule = ".mcp.json"};
	plan.n_guards = 1;
	send_all();
	ASSERT_EQ(change(e, text), 0);
	expect_refused(control, says);
	ASSERT_STREQ(text_of("keep"), "kept");
	ASSERT_STREQ(text_of("dir/in"), "deep");
	ASSERT_EQ(mode_of(".mcp.json"), 0);
	end();
}

TEST(protected_files_stay)
{
	refuse_one(entry(BAWN_ENTRY_FILE, "keep"), "x", BAWN_CTL_FS_PROTECT, "protected");
}

TEST(protected_files_cannot_go)
{
	refuse_one(entry(BAWN_ENTRY_DELETE, "keep"), NULL, BAWN_CTL_FS_PROTECT, "protected");
}

TEST(protected_files_keep_their_mode)
{
	refuse_one(entry(BAWN_ENTRY_META, "keep"), NULL, BAWN_CTL_FS_PROTECT, "protected");
}

TEST(protected_files_become_no_link)
{
	refuse_one(entry(BAWN_ENTRY_LINK, "keep"), "file", BAWN_CTL_FS_PROTECT, "protected");
}

TEST(denied_paths_cannot_be_written)
{
	refuse_one(entry(BAWN_ENTRY_FILE, "dir/in"), "x", BAWN_CTL_FS_DENY, "denied");
}

TEST(denied_paths_cannot_be_deleted)
{
	refuse_one(entry(BAWN_ENTRY_DELETE, "dir"), NULL, BAWN_CTL_FS_DENY, "denied");
}

TEST(guarded_names_do_not_come_into_being)
{
	refuse_one(entry(BAWN_ENTRY_FILE, ".mcp.json"), "x", BAWN_CTL_FS_PROTECT, ".mcp.json");
}

TEST(guarded_names_in_other_letters)
{
	refuse_one(entry(BAWN_ENTRY_FILE, ".MCP.Json"), "x", BAWN_CTL_FS_PROTECT, ".mcp.json");
}

TEST(guarded_names_as_directories)
{
	refuse_one(entry(BAWN_ENTRY_DIR, ".mcp.json"), NULL, BAWN_CTL_FS_PROTECT, ".mcp.json");
}

TEST(guarded_names_as_links)
{
	refuse_one(entry(BAWN_ENTRY_LINK, ".mcp.json"), "file", BAWN_CTL_FS_PROTECT, ".mcp.json");
}

TEST(below_guarded_names)
{
	refuse_one(entry(BAWN_ENTRY_FILE, ".mcp.json/x"), "x", BAWN_CTL_FS_PROTECT, ".mcp.json");
}

TEST(the_root_cannot_go)
{
	refuse_one(entry(BAWN_ENTRY_DELETE, ""), NULL, BAWN_CTL_FS_PROTECT, "refused");
}

TEST(the_root_cannot_become_a_link)
{
	refuse_one(entry(BAWN_ENTRY_LINK, ""), "/etc", BAWN_CTL_FS_PROTECT, "refused");
}

TEST(what_is_read_only_or_hidden_inside)
{
	begin();
	mounts[1] = (struct bawn_mount){
		.kind = BAWN_MNT_RO, .src = at(ws, "dir"), .dst = at(ws, "dir"), .rule = "r"};
	plan.n_mounts = 2;
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "dir/in"), "x"), 0);
	expect_refused(BAWN_CTL_FS_WRITE, "not writable");
	ASSERT_STREQ(text_of("dir/in"), "deep");
	t = bawn_transfer_free(t);
	mounts[1].kind = BAWN_MNT_HIDE;
	reports = 0;
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "dir/new"), "x"), 0);
	expect_refused(BAWN_CTL_FS_DENY, "denied");
	end();
}

TEST(pinned_directories_stay_directories)
{
	begin();
	mounts[1] = (struct bawn_mount){.kind = BAWN_MNT_RW,
		.pin = true,
		.src = at(ws, "dir"),
		.dst = at(ws, "dir"),
		.rule = "pin"};
	plan.n_mounts = 2;
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_DELETE, "dir"), NULL), 0);
	expect_refused(BAWN_CTL_FS_PROTECT, "pin");
	t = bawn_transfer_free(t);
	reports = 0;
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "dir/in"), "fine"), 0);
	ASSERT_EQ(reports, 0);
	ASSERT_STREQ(text_of("dir/in"), "fine");
	end();
}

TEST(no_set_user_id)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "tool");

	begin();
	send_all();
	e.mode = 06755;
	ASSERT_EQ(change(e, "x"), 0);
	ASSERT_EQ(mode_of("tool") & 07777, 0755);
	t = bawn_transfer_free(t);
	send_all();
	e = entry(BAWN_ENTRY_META, "file");
	e.mode = 04755;
	ASSERT_EQ(change(e, NULL), 0);
	ASSERT_EQ(mode_of("file") & 07777, 0755);
	end();
}

TEST(new_content_is_not_set_user_id)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "file");

	begin();
	ASSERT_EQ(chmod(at(ws, "file"), 06755), 0);
	send_all();
	e.mode = 06755;
	ASSERT_EQ(change(e, "x"), 0);
	ASSERT_STREQ(text_of("file"), "x");
	ASSERT_EQ(mode_of("file") & 07777, 0755);
	end();
}

TEST(a_parent_that_became_a_link)
{
	struct bawn_error err = {0};
	char real[96];

	begin();
	(void)snprintf(real, sizeof(real), "%s/dir", ws);
	mounts[0].src = mounts[0].dst = real;
	ASSERT_EQ(rename(ws, copy), 0);
	ASSERT_EQ(symlink(copy, ws), 0);
	ASSERT_EQ(bawn_transfer_new(&plan, false, report, NULL, &t, &err), -ELOOP);
	ASSERT_TRUE(strstr(err.msg, "symlink"));
	end();
}

/* ---- a host that moves on ---- */

TEST(a_file_changed_meanwhile_is_kept)
{
	begin();
	send_all();
	put("file", "the host's");
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "file"), "x"), 0);
	expect_refused(BAWN_CTL_FS_WRITE, "changed on the host meanwhile");
	ASSERT_STREQ(text_of("file"), "the host's");
	end();
}

TEST(a_file_changed_while_it_comes_back_is_kept)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "file");
	struct bawn_buf out = {0};

	begin();
	send_all();
	e.size = 0;
	bawn_entry_put(&out, &e);
	ASSERT_EQ(take(&out), 0);
	put("file", "the host's");
	bawn_frame_put(&out, BAWN_FRAME_TREE_END, 0, NULL, 0);
	ASSERT_EQ(take(&out), 0);
	expect_refused(BAWN_CTL_FS_WRITE, "changed on the host meanwhile");
	ASSERT_STREQ(text_of("file"), "the host's");
	end();
}

TEST(a_name_taken_meanwhile_is_kept)
{
	begin();
	send_all();
	put("new", "the host's");
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "new"), "x"), 0);
	expect_refused(BAWN_CTL_FS_WRITE, "changed on the host meanwhile");
	ASSERT_STREQ(text_of("new"), "the host's");
	end();
}

TEST(a_deletion_of_what_changed_meanwhile)
{
	begin();
	send_all();
	put("file", "the host's");
	ASSERT_EQ(change(entry(BAWN_ENTRY_DELETE, "file"), NULL), 0);
	expect_refused(BAWN_CTL_FS_WRITE, "changed on the host meanwhile");
	ASSERT_STREQ(text_of("file"), "the host's");
	end();
}

TEST(what_was_never_sent_is_not_deleted)
{
	begin();
	send_all();
	put("late", "the host's");
	ASSERT_EQ(change(entry(BAWN_ENTRY_DELETE, "late"), NULL), 0);
	ASSERT_EQ(reports, 1);
	ASSERT_STREQ(text_of("late"), "the host's");
	end();
}

TEST(the_same_deleted_on_both_sides)
{
	begin();
	send_all();
	ASSERT_EQ(unlink(at(ws, "file")), 0);
	ASSERT_EQ(change(entry(BAWN_ENTRY_DELETE, "file"), NULL), 0);
	ASSERT_EQ(reports, 0);
	end();
}

TEST(a_directory_that_is_not_empty_is_not_deleted)
{
	begin();
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_DELETE, "dir"), NULL), 0);
	expect_refused(BAWN_CTL_FS_WRITE, "not applied");
	ASSERT_STREQ(text_of("dir/in"), "deep");
	end();
}

/* A directory that becomes a symbolic link between the walk and the change leads nowhere. */
TEST(a_link_on_the_way_is_not_followed)
{
	begin();
	ASSERT_EQ(mkdir(at(base, "outside"), 0755), 0);
	send_all();
	ASSERT_EQ(rename(at(ws, "dir"), at(ws, "moved")), 0);
	ASSERT_EQ(symlink("../outside", at(ws, "dir")), 0);
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "dir/evil"), "x"), 0);
	ASSERT_EQ(reports, 1);
	ASSERT_STREQ(text_at(base, "outside/evil"), "(none)");
	t = bawn_transfer_free(t);
	reports = 0;
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_META, "dir"), NULL), 0); /* nor is the last one */
	ASSERT_EQ(reports, 1);
	end();
}

/* The inside makes the link itself, then writes through it. */
TEST(a_link_from_inside_is_not_followed)
{
	struct bawn_entry link = entry(BAWN_ENTRY_LINK, "way"),
			  file = entry(BAWN_ENTRY_FILE, "way/x");
	struct bawn_buf out = {0};

	begin();
	ASSERT_EQ(mkdir(at(base, "outside"), 0755), 0);
	send_all();
	link.target = "../outside";
	link.target_len = 10;
	bawn_entry_put(&out, &link);
	bawn_entry_put(&out, &file);
	bawn_frame_put(&out, BAWN_FRAME_TREE_END, 0, NULL, 0);
	ASSERT_EQ(take(&out), 0);
	ASSERT_EQ(reports, 1);
	ASSERT_STREQ(text_at(base, "outside/x"), "(none)");
	end();
}

/* ---- an inside that breaks the protocol ---- */

static int raw(const struct bawn_entry *e, uint64_t offset, size_t len)
{
	static char data[BAWN_FRAME_MAX];
	struct bawn_buf out = {0};

	if (e)
		bawn_entry_put(&out, e);
	for (size_t i = 0; i < 8; i++)
		data[i] = (char)(offset >> 8 * i & 0xff);
	if (len)
		bawn_frame_put(&out, BAWN_FRAME_DATA, 0, data, len + 8);
	return take(&out);
}

TEST(data_out_of_order_or_too_much)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "new"), d = entry(BAWN_ENTRY_DIR, "d");

	begin();
	send_all();
	e.size = 10;
	ASSERT_EQ(raw(NULL, 0, 1), -EPROTO); /* of no file */
	ASSERT_EQ(raw(&e, 0, 11), -EPROTO);
	ASSERT_EQ(raw(&e, 10, 1), -EPROTO);
	ASSERT_EQ(raw(&e, UINT64_MAX, 1), -EPROTO);
	ASSERT_EQ(raw(&e, 5, 2), 0);
	ASSERT_EQ(raw(NULL, 4, 1), -EPROTO);
	ASSERT_EQ(raw(&d, 0, 1), -EPROTO);
	t = bawn_transfer_free(t);
	ASSERT_EQ(
		mode_of("new") & S_IFMT, S_IFREG); /* the one that was finished by the next entry */
	expect_no_temp(ws);
	end();
}

TEST(a_root_that_there_is_not)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "new");

	begin();
	send_all();
	e.root = 1;
	ASSERT_EQ(change(e, "x"), -EPROTO);
	end();
}

TEST(nothing_after_the_end)
{
	begin();
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "a"), "x"), 0);
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "b"), "x"), -EPROTO);
	ASSERT_EQ(mode_of("b"), 0);
	end();
}

TEST(an_unfinished_file_leaves_nothing)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "file");

	begin();
	send_all();
	e.size = 100;
	ASSERT_EQ(raw(&e, 0, 50), 0);
	t = bawn_transfer_free(t);
	ASSERT_STREQ(text_of("file"), "old");
	expect_no_temp(ws);
	end();
}

TEST(room_that_is_to_stay_free)
{
	begin();
	plan.limits.disk_reserve = UINT64_MAX / 2;
	send_all();
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "file"), "x"), 0);
	expect_refused(BAWN_CTL_LIMIT_DISK, "No space left");
	ASSERT_STREQ(text_of("file"), "old");
	end();
}

TEST(a_full_disk)
{
	struct bawn_entry e = entry(BAWN_ENTRY_FILE, "big");
	static const struct rlimit small = {.rlim_cur = 4096, .rlim_max = 4096};

	begin();
	send_all();
	(void)signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	e.size = 8192;
	ASSERT_EQ(raw(&e, 0, 8192), 0);
	ASSERT_EQ(change(entry(BAWN_ENTRY_FILE, "small"), "fits"), 0);
	ASSERT_EQ(reports, 1);
	ASSERT_EQ(mode_of("big"), 0);
	ASSERT_STREQ(text_of("small"), "fits");
	end();
}
