/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: a fixed header, a bounded payload, one table that says who may send what and how long it
 * is. Both ends use this file; only the host has to distrust what it reads, but both check.
 */
#include "backend/far/frame.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

#define TO_HOST   1u
#define TO_INSIDE 2u

#define ENTRY_FIXED 38u /* all of an entry but its strings */
#define EVENT_FIXED 28u
#define ERROR_FIXED 8u

static const struct {
	unsigned way;
	uint32_t min, max;
} rules[_BAWN_FRAME_TYPES] = {
	[BAWN_FRAME_HELLO] = {TO_HOST, 4, 128},
	[BAWN_FRAME_PLAN] = {TO_INSIDE, 0, BAWN_FRAME_MAX},
	[BAWN_FRAME_ENTRY] = {TO_HOST | TO_INSIDE, ENTRY_FIXED, ENTRY_FIXED + 2 * BAWN_FRAME_PATH},
	[BAWN_FRAME_DATA] = {TO_HOST | TO_INSIDE, 9, BAWN_FRAME_MAX},
	[BAWN_FRAME_TREE_END] = {TO_HOST | TO_INSIDE, 0, 0},
	[BAWN_FRAME_READY] = {TO_HOST, EVENT_FIXED, EVENT_FIXED + BAWN_EVENT_TEXT_MAX - 1},
	[BAWN_FRAME_ERROR] = {TO_HOST, ERROR_FIXED, ERROR_FIXED + BAWN_ERROR_MSG_MAX - 1},
	[BAWN_FRAME_GO] = {TO_INSIDE, 0, 0},
	[BAWN_FRAME_STDIN] = {TO_INSIDE, 1, BAWN_FRAME_MAX},
	[BAWN_FRAME_STDIN_END] = {TO_INSIDE, 0, 0},
	[BAWN_FRAME_STDOUT] = {TO_HOST, 1, BAWN_FRAME_MAX},
	[BAWN_FRAME_STDERR] = {TO_HOST, 1, BAWN_FRAME_MAX},
	[BAWN_FRAME_CREDIT] = {TO_HOST | TO_INSIDE, 4, 4},
	[BAWN_FRAME_SIGNAL] = {TO_INSIDE, 0, 0},
	[BAWN_FRAME_EVENT] = {TO_HOST, EVENT_FIXED, EVENT_FIXED + BAWN_EVENT_TEXT_MAX - 1},
	[BAWN_FRAME_DONE] = {TO_HOST, 0, 0},
};

/* ---- numbers ---- */

static uint64_t get(const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static void set(uint8_t *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++, v >>= 8)
		p[i] = (uint8_t)(v & 0xff);
}

/* ---- reading ---- */

int bawn_frame_reader_init(struct bawn_frame_reader *r, bool inside)
{
	*r = (struct bawn_frame_reader){.inside = inside};
	r->buf = malloc(BAWN_FRAME_HEADER + BAWN_FRAME_MAX);
	return r->buf ? 0 : -ENOMEM;
}

void bawn_frame_reader_done(struct bawn_frame_reader *r)
{
	free(r->buf);
	*r = (struct bawn_frame_reader){.eof = true};
}

/* Bring what is left to the front. Returns the room behind it. */
static size_t make_room(struct bawn_frame_reader *r)
{
	if (r->start) {
		memmove(r->buf, r->buf + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	return BAWN_FRAME_HEADER + BAWN_FRAME_MAX - r->end;
}

int bawn_frame_fill(struct bawn_frame_reader *r, int fd)
{
	size_t room = make_room(r);
	ssize_t n;

	if (!room) /* the caller did not take a frame that was there */
		return -ENOBUFS;
	do
		n = read(fd, r->buf + r->end, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r->eof = n == 0;
	r->end += (size_t)n;
	return (int)n;
}

size_t bawn_frame_feed(struct bawn_frame_reader *r, const void *data, size_t len)
{
	size_t room = make_room(r);
	size_t n = len < room ? len : room;

	memcpy(r->buf + r->end, data, n);
	r->end += n;
	return n;
}

int bawn_frame_next(struct bawn_frame_reader *r, struct bawn_frame *ret)
{
	const uint8_t *p = r->buf + r->start;
	size_t there = r->end - r->start;
	uint32_t len;

	if (there < BAWN_FRAME_HEADER)
		return 0;
	len = (uint32_t)get(p + 4, 4);
	if (p[0] == 0 || p[0] >= _BAWN_FRAME_TYPES || p[2] || p[3])
		return -EPROTO;
	if (!(rules[p[0]].way & (r->inside ? TO_INSIDE : TO_HOST)))
		return -EPROTO;
	if (len < rules[p[0]].min || len > rules[p[0]].max)
		return -EPROTO;
	if (there < BAWN_FRAME_HEADER + len)
		return 0;
	*ret = (struct bawn_frame){.type = (enum bawn_frame_type)p[0],
		.arg = p[1],
		.data = p + BAWN_FRAME_HEADER,
		.len = len};
	r->start += BAWN_FRAME_HEADER + len;
	return 1;
}

/* ---- writing ---- */

static void put_head(struct bawn_buf *out, enum bawn_frame_type type, uint8_t arg, size_t len)
{
	uint8_t head[BAWN_FRAME_HEADER] = {(uint8_t)type, arg};

	set(head + 4, len, 4);
	bawn_buf_add(out, head, sizeof(head));
}

void bawn_frame_put(
	struct bawn_buf *out, enum bawn_frame_type type, uint8_t arg, const void *data, size_t len)
{
	put_head(out, type, arg, len);
	if (len)
		bawn_buf_add(out, data, len);
}

void bawn_frame_put_u32(struct bawn_buf *out, enum bawn_frame_type type, uint8_t arg, uint32_t v)
{
	uint8_t bytes[4];

	set(bytes, v, sizeof(bytes));
	bawn_frame_put(out, type, arg, bytes, sizeof(bytes));
}

uint32_t bawn_frame_u32(const struct bawn_frame *f)
{
	return (uint32_t)get(f->data, 4);
}

int bawn_frame_flush(struct bawn_buf *out, int fd)
{
	size_t at = 0;
	int r = 0;

	while (at < out->len && r == 0) {
		ssize_t n = write(fd, out->data + at, out->len - at);

		if (n >= 0)
			at += (size_t)n;
		else if (errno != EINTR)
			r = -errno;
	}
	if (at) {
		memmove(out->data, out->data + at, out->len - at);
		out->len -= at;
	}
	return r;
}

/* ---- entries ---- */

void bawn_entry_put(struct bawn_buf *out, const struct bawn_entry *e)
{
	uint8_t fixed[ENTRY_FIXED];

	fixed[0] = (uint8_t)e->kind;
	fixed[1] = e->flags;
	set(fixed + 2, e->root, 2);
	set(fixed + 4, e->mode, 4);
	set(fixed + 8, e->size, 8);
	set(fixed + 16, (uint64_t)e->mtime, 8);
	set(fixed + 24, (uint64_t)e->ctime, 8);
	set(fixed + 32, e->path_len, 4);
	set(fixed + 36, e->target_len, 2);
	put_head(out, BAWN_FRAME_ENTRY, 0, sizeof(fixed) + e->path_len + e->target_len);
	bawn_buf_add(out, fixed, sizeof(fixed));
	if (e->path_len)
		bawn_buf_add(out, e->path, e->path_len);
	if (e->target_len)
		bawn_buf_add(out, e->target, e->target_len);
}

/* Relative, by plain names only. The root itself is "". */
static bool is_plain(const char *path, size_t len)
{
	if (!len)
		return true;
	if (len > BAWN_FRAME_PATH || memchr(path, '\0', len))
		return false;
	for (size_t at = 0; at <= len;) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t n = slash ? (size_t)(slash - path) - at : len - at;

		if (n == 0 || n > NAME_MAX || (n == 1 && path[at] == '.') ||
			(n == 2 && path[at] == '.' && path[at + 1] == '.'))
			return false;
		at += n + 1;
	}
	return true;
}

static bool makes_sense(const struct bawn_entry *e)
{
	if (e->kind == 0 || e->kind >= _BAWN_ENTRY_KINDS || e->flags & ~BAWN_ENTRY_HAVE)
		return false;
	if (e->mode & ~07777u || e->size > INT64_MAX || !is_plain(e->path, e->path_len))
		return false;
	if ((e->kind == BAWN_ENTRY_LINK) != (e->target_len > 0))
		return false;
	return e->target_len <= BAWN_FRAME_PATH && !memchr(e->target, '\0', e->target_len);
}

int bawn_entry_get(const struct bawn_frame *f, struct bawn_entry *ret)
{
	const uint8_t *p = f->data;
	struct bawn_entry e;

	if (f->type != BAWN_FRAME_ENTRY || f->len < ENTRY_FIXED)
		return -EPROTO;
	e = (struct bawn_entry){.kind = (enum bawn_entry_kind)p[0],
		.flags = p[1],
		.root = (uint16_t)get(p + 2, 2),
		.mode = (uint32_t)get(p + 4, 4),
		.size = get(p + 8, 8),
		.mtime = (int64_t)get(p + 16, 8),
		.ctime = (int64_t)get(p + 24, 8),
		.path = (const char *)p + ENTRY_FIXED,
		.path_len = get(p + 32, 4),
		.target_len = get(p + 36, 2)};
	if (e.path_len > f->len - ENTRY_FIXED || e.target_len != f->len - ENTRY_FIXED - e.path_len)
		return -EPROTO;
	e.target = e.path + e.path_len;
	if (!makes_sense(&e))
		return -EPROTO;
	*ret = e;
	return 0;
}

int bawn_frame_data(const struct bawn_frame *f, uint64_t *ret_offset, const uint8_t **ret_bytes,
	size_t *ret_len)
{
	if (f->type != BAWN_FRAME_DATA || f->len < 9)
		return -EPROTO;
	*ret_offset = get(f->data, 8);
	*ret_bytes = f->data + 8;
	*ret_len = f->len - 8;
	return *ret_offset > INT64_MAX - BAWN_FRAME_MAX ? -EPROTO : 0;
}

/* ---- events and errors ---- */

void bawn_frame_put_event(struct bawn_buf *out, enum bawn_frame_type type,
	const struct bawn_event *ev, const struct bawn_usage *usage)
{
	size_t len = strnlen(ev->text, BAWN_EVENT_TEXT_MAX - 1);
	uint8_t fixed[EVENT_FIXED];

	set(fixed, (uint64_t)ev->kind, 4);
	set(fixed + 4, (uint32_t)ev->status, 4);
	set(fixed + 8, ev->control, 4);
	set(fixed + 12, usage->cpu_us, 8);
	set(fixed + 20, usage->memory_peak, 8);
	put_head(out, type, 0, sizeof(fixed) + len);
	bawn_buf_add(out, fixed, sizeof(fixed));
	if (len)
		bawn_buf_add(out, ev->text, len);
}

/* Text from inside goes to people and logs: one line, nothing that moves a terminal. */
static void get_text(char *dst, const uint8_t *src, size_t len)
{
	for (size_t i = 0; i < len; i++)
		dst[i] = (char)(src[i] < ' ' || src[i] == 0x7f ? '?' : src[i]);
	dst[len] = '\0';
}

int bawn_frame_get_event(
	const struct bawn_frame *f, struct bawn_event *ev, struct bawn_usage *usage)
{
	if (f->len < EVENT_FIXED || f->len - EVENT_FIXED >= BAWN_EVENT_TEXT_MAX)
		return -EPROTO;
	if (get(f->data, 4) > BAWN_EV_ENDED)
		return -EPROTO;
	*ev = (struct bawn_event){.kind = (enum bawn_event_kind)get(f->data, 4),
		.status = (int)(uint32_t)get(f->data + 4, 4),
		.control = (uint32_t)get(f->data + 8, 4)};
	get_text(ev->text, f->data + EVENT_FIXED, f->len - EVENT_FIXED);
	*usage = (struct bawn_usage){
		.cpu_us = get(f->data + 12, 8), .memory_peak = get(f->data + 20, 8)};
	return 0;
}

void bawn_frame_put_error(struct bawn_buf *out, const struct bawn_error *err)
{
	size_t len = strnlen(err->msg, BAWN_ERROR_MSG_MAX - 1);
	uint8_t fixed[ERROR_FIXED];

	set(fixed, (uint64_t)err->kind, 4);
	set(fixed + 4, (uint32_t)err->err, 4);
	put_head(out, BAWN_FRAME_ERROR, 0, sizeof(fixed) + len);
	bawn_buf_add(out, fixed, sizeof(fixed));
	if (len)
		bawn_buf_add(out, err->msg, len);
}

int bawn_frame_get_error(const struct bawn_frame *f, struct bawn_error *ret)
{
	uint64_t kind;
	int code;

	if (f->len < ERROR_FIXED || f->len - ERROR_FIXED >= BAWN_ERROR_MSG_MAX)
		return -EPROTO;
	kind = get(f->data, 4);
	code = (int)(uint32_t)get(f->data + 4, 4);
	if (kind == BAWN_ERR_NONE || kind >= _BAWN_ERR_MAX || code >= 0 || code < -4095)
		return -EPROTO;
	*ret = (struct bawn_error){.kind = (enum bawn_errkind)kind, .err = code};
	(void)snprintf(ret->where, sizeof(ret->where), "inside");
	get_text(ret->msg, f->data + ERROR_FIXED, f->len - ERROR_FIXED);
	return 0;
}

/* ---- roots ---- */

static bool is_root(const struct bawn_mount *m)
{
	return m->kind == BAWN_MNT_RW && !m->pin;
}

const struct bawn_mount *bawn_root_at(const struct bawn_plan *plan, size_t i)
{
	for (size_t k = 0; k < plan->n_mounts; k++)
		if (is_root(&plan->mounts[k]) && i-- == 0)
			return &plan->mounts[k];
	return NULL;
}

bool bawn_root_owns(const struct bawn_plan *plan, size_t i, const char *path)
{
	const struct bawn_mount *root = bawn_root_at(plan, i);
	const struct bawn_mount *top = NULL;

	for (size_t k = 0; k < plan->n_mounts; k++) {
		const struct bawn_mount *m = &plan->mounts[k];

		/* a later mount covers an earlier one; a pin changes nothing */
		if (!m->pin && bawn_path_under(path, m->dst))
			top = m;
	}
	return top && top == root;
}
