/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a sandbox may send: frames, entries, events, and what is applied of them, in an empty
 * directory. The first byte says in which pieces it arrives. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "backend/far/frame.h"
#include "backend/far/transfer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void report(void *data, uint32_t control, const char *text)
{
	(void)data;
	if (!control || !text || strchr(text, '\n'))
		abort();
}

static struct bawn_plan *make_plan(void)
{
	static char dir[64];
	static struct bawn_mount mounts[2];
	static struct bawn_guard guard = {.name = ".mcp.json", .rule = "test"};
	static struct bawn_plan plan = {
		.mounts = mounts, .n_mounts = 1, .guards = &guard, .n_guards = 1};

	(void)snprintf(dir, sizeof(dir), "/tmp/fuzz-frames-%d", (int)getpid());
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		abort();
	guard.dir = dir;
	mounts[0] = (struct bawn_mount){
		.kind = BAWN_MNT_RW, .src = dir, .dst = dir, .rule = "filesystem.write"};
	return &plan;
}

/* Each input finds the directory empty; what an input makes there goes with it. */
static void sweep(const char *dir)
{
	char copy[64];
	char *roots[] = {copy, NULL};
	FTS *fts;

	(void)snprintf(copy, sizeof(copy), "%s", dir);
	fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *e; fts && (e = fts_read(fts));)
		if (e->fts_info == FTS_D)
			(void)chmod(e->fts_accpath, 0700);
		else
			(void)remove(e->fts_accpath);
	(void)fts_close(fts);
}

static void look(const struct bawn_frame *f)
{
	struct bawn_usage usage;
	struct bawn_event ev;
	struct bawn_error err;

	if (f->len > BAWN_FRAME_MAX)
		abort();
	if (f->type == BAWN_FRAME_EVENT || f->type == BAWN_FRAME_READY)
		(void)bawn_frame_get_event(f, &ev, &usage);
	if (f->type == BAWN_FRAME_ERROR)
		(void)bawn_frame_get_error(f, &err);
	if (f->type == BAWN_FRAME_CREDIT || f->type == BAWN_FRAME_HELLO)
		(void)bawn_frame_u32(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bawn_frame_reader r;
	struct bawn_transfer *t = NULL;
	struct bawn_buf sent = {0};
	struct bawn_frame f;
	size_t step = size ? data[0] % 97u + 1 : 1;
	int state = 0;

	if (bawn_frame_reader_init(&r, false) < 0 ||
		bawn_transfer_new(make_plan(), false, report, NULL, &t, NULL) < 0)
		abort();
	while (bawn_transfer_send(t, &sent, 1 << 20, NULL) > 0)
		sent.len = 0;
	for (size_t at = 1; at < size && state >= 0;) {
		at += bawn_frame_feed(&r, data + at, size - at < step ? size - at : step);
		while (state >= 0 && (state = bawn_frame_next(&r, &f)) > 0) {
			look(&f);
			state = bawn_transfer_take(t, &f, NULL);
		}
	}
	(void)bawn_transfer_free(t);
	sweep(make_plan()->mounts[0].src);
	bawn_frame_reader_done(&r);
	bawn_buf_done(&sent);
	return 0;
}
