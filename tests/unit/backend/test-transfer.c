/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that go in and changes that come back. The inside is played by the test itself: an honest
 * one through bridge_files.c, a hostile one by entries that no honest one would send.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <signal.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "backend/far/transfer.h"
#include "backend/inside/bridge.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "harness.h"

static char base[64], ws[80], copy[80];
static struct bawn_mount mounts[8];
static struct bawn_guard guards[2];
static const char *protect[2], *deny[2];
static struct bawn_plan plan;

static struct bawn_transfer *t;
static unsigned reports;
static uint32_t last_control;
static char last[1024];

static void report(void *data, uint32_t control, const char *text)
{
	(void)data;
	reports++;
	last_control = control;
	(void)snprintf(last, sizeof(last), "%s", text);
}

static const char *at(const char *dir, const char *name)
{
	static char paths[4][PATH_MAX];
	static int i;

	i = (i + 1) % 4;
	(void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, name);
	return paths[i];
}

static void put(const char *name, const char *text)
{
	_cleanup_close_ int fd = open(at(ws, name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(bawn_write_all(fd, text, strlen(text)), 0);
}

static const char *text_at(const char *dir, const char *name)
{
	static char text[256];
	_cleanup_close_ int fd = open(at(dir, name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? "(none)" : text;
}

static const char *text_of(const char *name)
{
	return text_at(ws, name);
}

static void begin(void)
{
	(void)snprintf(base, sizeof(base), "/tmp/transfer-XXXXXX");
	ASSERT_TRUE(mkdtemp(base));
	(void)snprintf(ws, sizeof(ws), "%s/ws", base);
	(void)snprintf(copy, sizeof(copy), "%s/copy", base);
	ASSERT_EQ(mkdir(ws, 0755), 0);
	put("file", "old");
	ASSERT_EQ(mkdir(at(ws, "dir"), 0755), 0);
	put("dir/in", "deep");
	mounts[0] = (struct bawn_mount){
		.kind = BAWN_MNT_RW, .src = ws, .dst = ws, .rule = "filesystem.write"};
	plan = (struct bawn_plan){.mounts = mounts,
		.n_mounts = 1,
		.guards = guards,
		.protect = protect,
		.deny = deny};
}

static void end(void)
{
	char *roots[] = {base, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	t = bawn_transfer_free(t);
	for (FTSENT *e; fts && (e = fts_read(fts));)
		if (e->fts_info == FTS_D)
			(void)chmod(e->fts_accpath, 0700);
		else
			(void)remove(e->fts_accpath);
	(void)fts_close(fts);
}

/* Everything goes in; nobody looks at it. */
static void send_all(void)
{
	struct bawn_buf out = {0};
	struct bawn_error err = {0};
	int r;

	ASSERT_EQ(bawn_transfer_new(&plan, false, report, NULL, &t, &err), 0);
	while ((r = bawn_transfer_send(t, &out, 1 << 16, &err)) > 0)
		out.len = 0;
	if (r < 0)
		FAIL("%s", err.msg);
	bawn_buf_done(&out);
}

static int take(struct bawn_buf *out)
{
	struct bawn_frame_reader r;
	struct bawn_frame f;
	int result = 0;
	size_t fed = 0;

	ASSERT_EQ(bawn_frame_reader_init(&r, false), 0);
	while (result == 0 && (fed < out->len || r.end > r.start)) {
		int n;

		fed += bawn_frame_feed(&r, out->data + fed, out->len - fed);
		while (result == 0 && (n = bawn_frame_next(&r, &f)) > 0)
			result = bawn_transfer_take(t, &f, NULL);
		ASSERT_TRUE(n >= 0 || result < 0);
		if (n == 0 && fed == out->len)
			break;
	}
	bawn_frame_reader_done(&r);
	bawn_buf_done(out);
	return result;
}

static struct bawn_entry entry(enum bawn_entry_kind kind, const char *path)
{
	return (struct bawn_entry){
		.kind = kind, .mode = 0644, .path = path, .path_len = strlen(path)};
}

/* One change from inside, and the end of all changes. */
static int change(struct bawn_entry e, const char *text)
{
	struct bawn_buf out = {0};
	char data[256] = {0};

	if (text && e.kind == BAWN_ENTRY_FILE)
		e.size = strlen(text);
	if (text && e.kind == BAWN_ENTRY_LINK) {
		e.target = text;
		e.target_len = strlen(text);
	}
	bawn_entry_put(&out, &e);
	if (text && *text && e.kind == BAWN_ENTRY_FILE) {
		memcpy(data + 8, text, strlen(text));
		bawn_frame_put(&out, BAWN_FRAME_DATA, 0, data, 8 + strlen(text));
	}
	bawn_frame_put(&out, BAWN_FRAME_TREE_END, 0, NULL, 0);
	return take(&out);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	return lstat(at(ws, name), &st) < 0 ? 0 : st.st_mode;
}

/* No file of ours with a name of its own. */
static void expect_no_temp(const char *dir)
{
	char *roots[] = {(char *)(uintptr_t)dir, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	for (FTSENT *e; fts && (e = fts_read(fts));)
		if (!strncmp(e->fts_name, ".bawn-", 6))
			FAIL("'%s' is left", e->fts_path);
	(void)fts_close(fts);
}

static void expect_refused(uint32_t control, const char *says)
{
	ASSERT_EQ(reports, 1);
	ASSERT_EQ(last_control, control);
	if (!strstr(last, says))
		FAIL("'%s' does not say '%s'", last, says);
	expect_no_temp(ws);
}

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

TEST(special_files_are_passed_over)
{
	struct inside i = {0};

	begin();
	mounts[0].dst = copy;
	ASSERT_EQ(mkfifo(at(ws, "fifo"), 0644), 0);
	go_in(&i);
	ASSERT_EQ(mkfifo(at(copy, "other"), 0644), 0);
	ASSERT_EQ(unlink(at(copy, "file")), 0);
	come_back(&i);
	ASSERT_EQ(reports, 0);
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
