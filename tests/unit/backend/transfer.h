/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the tests of the transfer share: a workspace, a plan for it, entries from inside. */

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <signal.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "backend/far/transfer.h"
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

static inline void report(void *data, uint32_t control, const char *text)
{
	(void)data;
	reports++;
	last_control = control;
	(void)snprintf(last, sizeof(last), "%s", text);
}

static inline const char *at(const char *dir, const char *name)
{
	static char paths[4][PATH_MAX];
	static int i;

	i = (i + 1) % 4;
	(void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, name);
	return paths[i];
}

static inline void put(const char *name, const char *text)
{
	_cleanup_close_ int fd = open(at(ws, name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(bawn_write_all(fd, text, strlen(text)), 0);
}

static inline const char *text_at(const char *dir, const char *name)
{
	static char text[256];
	_cleanup_close_ int fd = open(at(dir, name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? "(none)" : text;
}

static inline const char *text_of(const char *name)
{
	return text_at(ws, name);
}

static inline void begin(void)
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

static inline void end(void)
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
static inline void send_all(void)
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

static inline int take(struct bawn_buf *out)
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

static inline struct bawn_entry entry(enum bawn_entry_kind kind, const char *path)
{
	return (struct bawn_entry){
		.kind = kind, .mode = 0644, .path = path, .path_len = strlen(path)};
}

/* One change from inside, and the end of all changes. */
static inline int change(struct bawn_entry e, const char *text)
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

static inline mode_t mode_of(const char *name)
{
	struct stat st;

	return lstat(at(ws, name), &st) < 0 ? 0 : st.st_mode;
}

/* No file of ours with a name of its own. */
static inline void expect_no_temp(const char *dir)
{
	char *roots[] = {(char *)(uintptr_t)dir, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	for (FTSENT *e; fts && (e = fts_read(fts));)
		if (!strncmp(e->fts_name, ".bawn-", 6))
			FAIL("'%s' is left", e->fts_path);
	(void)fts_close(fts);
}

static inline void expect_refused(uint32_t control, const char *says)
{
	ASSERT_EQ(reports, 1);
	ASSERT_EQ(last_control, control);
	if (!strstr(last, says))
		FAIL("'%s' does not say '%s'", last, says);
	expect_no_temp(ws);
}
