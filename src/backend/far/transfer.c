/* SPDX-License-Identifier: Apache-2.0 */
/* The way in: walk the writable trees and send them piece by piece, as fast as the stream takes it.
 */
#include "backend/far/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/far/transfer_impl.h"
#include "base/cleanup.h"
#include "base/path.h"

#define CHUNK 61440u /* whole pages, and with its offset below BAWN_FRAME_MAX */

int bawn_transfer_new(const struct bawn_plan *plan, bool have, bawn_transfer_report_fn *report,
	void *data, struct bawn_transfer **ret, struct bawn_error *err)
{
	_cleanup_(cleanup_transfer_p) struct bawn_transfer *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	*t = (struct bawn_transfer){.plan = plan,
		.have = have,
		.report = report,
		.data = data,
		.file = -1,
		.in = {.dir = -1, .fd = -1}};
	t->chunk = malloc(CHUNK + 8);
	if (!t->chunk)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = bawn_tree_init(&t->tree, plan, true, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

struct bawn_transfer *bawn_transfer_free(struct bawn_transfer *t)
{
	if (!t)
		return NULL;
	if (t->file >= 0)
		(void)close(t->file);
	bawn_apply_drop(t);
	bawn_tree_done(&t->tree);
	free(t->chunk);
	free(t);
	return NULL;
}

void bawn_transfer_count(const struct bawn_transfer *t, size_t *ret_applied, size_t *ret_refused)
{
	*ret_applied = t->applied;
	*ret_refused = t->refused;
}

static bool is_denied(const struct bawn_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_deny; i++)
		if (bawn_path_under(path, plan->deny[i]))
			return true;
	return false;
}

/* What the root itself shows there: also what is bound over itself to stay as it is. */
static bool is_shown(const struct bawn_plan *plan, uint16_t root, const char *inside)
{
	const struct bawn_mount *top = bawn_root_at(plan, root);

	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];

		if (!m->pin && bawn_path_under(inside, m->dst) && m > top &&
			!(m->kind == BAWN_MNT_RO && !strcmp(m->src, m->dst)))
			top = m;
	}
	return top == bawn_root_at(plan, root) && !is_denied(plan, inside);
}

/* ---- one node ---- */

static void put_node(struct bawn_transfer *t, const struct bawn_node *n, struct bawn_buf *out,
	const char *target, size_t target_len)
{
	struct bawn_entry e = {.kind = n->kind,
		.flags = t->have ? BAWN_ENTRY_HAVE : 0,
		.root = n->root,
		.mode = n->mode,
		.size = n->kind == BAWN_ENTRY_FILE ? n->size : 0,
		.mtime = n->mtime,
		.ctime = n->ctime,
		.path = n->path,
		.path_len = strlen(n->path),
		.target = target,
		.target_len = target_len};

	bawn_entry_put(out, &e);
}

/* A link that cannot be read any more is gone. */
static void send_link(struct bawn_transfer *t, struct bawn_node *n, struct bawn_buf *out)
{
	char target[BAWN_FRAME_PATH + 1];
	const char *name;
	_cleanup_close_ int dir = bawn_tree_parent(&t->tree, n->root, n->path, &name);
	ssize_t len = dir < 0 ? -1 : readlinkat(dir, name, target, sizeof(target));

	if (len <= 0 || len > (ssize_t)BAWN_FRAME_PATH)
		n->kind = 0;
	else
		put_node(t, n, out, target, (size_t)len);
}

/*
 * What we cannot read, the command (same user) could not either: it gets the name, without content
 * and without permissions.
 */
static void send_file(struct bawn_transfer *t, struct bawn_node *n, struct bawn_buf *out)
{
	struct bawn_node shown;
	struct stat st;

	t->file = bawn_tree_open(&t->tree, n->root, n->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (t->file == -ENOENT || t->file == -ELOOP) {
		t->file = -1;
		n->kind = 0;
		return;
	}
	if (t->file >= 0 && (fstat(t->file, &st) < 0 || !S_ISREG(st.st_mode))) {
		(void)close(TAKE_FD(t->file));
		n->kind = 0;
		return;
	}
	if (t->file >= 0)
		(void)bawn_node_set(n, &st); /* of what is read, not of what was listed */
	shown = *n;
	if (t->file < 0) {
		t->file = -1;
		shown.mode = 0;
	}
	put_node(t, &shown, out, NULL, 0);
	t->offset = 0;
}

static int send_node(struct bawn_transfer *t, struct bawn_buf *out, struct bawn_error *err)
{
	size_t i = t->at++;
	struct bawn_node *n = &t->tree.v[i];

	if (n->kind == BAWN_ENTRY_DIR) {
		put_node(t, n, out, NULL, 0);
		return bawn_tree_expand(&t->tree, i, is_shown, err);
	}
	if (n->kind == BAWN_ENTRY_LINK && !t->have)
		send_link(t, n, out);
	else if (n->kind == BAWN_ENTRY_LINK)
		put_node(t, n, out, "?", 1);
	else if (t->have)
		put_node(t, n, out, NULL, 0);
	else
		send_file(t, n, out);
	return 0;
}

/* As much as was announced: a file that somebody goes on writing would never end. */
static void send_chunk(struct bawn_transfer *t, struct bawn_buf *out)
{
	off_t size = (off_t)t->tree.v[t->at - 1].size;
	off_t data = lseek(t->file, t->offset, SEEK_DATA);
	uint64_t at;
	ssize_t n = -1;

	if (data < 0 && errno != ENXIO) /* a file system without holes */
		data = t->offset;
	if (data >= 0 && data < size) {
		t->offset = data;
		n = pread(t->file, t->chunk + 8,
			size - data < (off_t)CHUNK ? (size_t)(size - data) : CHUNK, data);
	}
	if (n <= 0) {
		(void)close(TAKE_FD(t->file));
		return;
	}
	at = (uint64_t)t->offset;
	for (size_t i = 0; i < 8; i++)
		t->chunk[i] = (char)(at >> 8 * i & 0xff);
	bawn_frame_put(out, BAWN_FRAME_DATA, 0, t->chunk, (size_t)n + 8);
	t->offset += n;
}

int bawn_transfer_send(
	struct bawn_transfer *t, struct bawn_buf *out, size_t enough, struct bawn_error *err)
{
	int r = 0;

	if (!t->begun)
		r = bawn_tree_begin(&t->tree, err);
	t->begun = true;
	while (r == 0 && !t->sent && out->len < enough) {
		if (t->file >= 0) {
			send_chunk(t, out);
		} else if (t->at < t->tree.n) {
			r = send_node(t, out, err);
		} else {
			bawn_frame_put(out, BAWN_FRAME_TREE_END, 0, NULL, 0);
			t->sent = true;
		}
	}
	if (r == 0 && out->failed)
		return bawn_fail(err, BAWN_ERR_BACKEND, out->failed, "out of memory");
	return r < 0 ? r : !t->sent;
}

/* ---- and back ---- */

static int take_data(struct bawn_transfer *t, const struct bawn_frame *f)
{
	const uint8_t *bytes;
	uint64_t offset;
	size_t len;
	int r = bawn_frame_data(f, &offset, &bytes, &len);

	return r < 0 ? r : bawn_apply_data(t, offset, bytes, len);
}

int bawn_transfer_take(struct bawn_transfer *t, const struct bawn_frame *f, struct bawn_error *err)
{
	struct bawn_entry e;
	int r = -EPROTO;

	if (!t->sent || t->received)
		r = -EPROTO;
	else if (f->type == BAWN_FRAME_DATA)
		r = take_data(t, f);
	else if (f->type == BAWN_FRAME_TREE_END || f->type == BAWN_FRAME_ENTRY)
		r = 0;
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r,
			"the sandbox sent changes that make no sense; the rest is not applied");
	if (f->type == BAWN_FRAME_DATA)
		return 0;
	bawn_apply_finish(t);
	if (f->type == BAWN_FRAME_TREE_END) {
		t->received = true;
		return 0;
	}
	if (bawn_entry_get(f, &e) < 0 || e.root >= t->tree.n_roots ||
		t->entries++ > BAWN_TREE_NODES * (size_t)2)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EPROTO,
			"the sandbox sent changes that make no sense; the rest is not applied");
	return bawn_apply_entry(t, &e, err);
}
