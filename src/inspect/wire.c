/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between parent and inspector child, as bytes. Numbers are written in the machine's own
 * order: both ends are the same program on the same machine.
 */
#include "inspect/wire.h"

#include <errno.h>
#include <string.h>

#define STRING_MAX   65536u
#define FINDINGS_MAX 8192u

struct reader {
	const char *p;
	size_t len;
	bool bad;
};

static void put_u32(struct bawn_buf *b, uint32_t v)
{
	bawn_buf_add(b, &v, sizeof(v));
}

static void put_u64(struct bawn_buf *b, uint64_t v)
{
	bawn_buf_add(b, &v, sizeof(v));
}

/* NULL and "" are told apart. */
static void put_string(struct bawn_buf *b, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	if (n > STRING_MAX)
		n = STRING_MAX;
	put_u32(b, s ? (uint32_t)n : UINT32_MAX);
	bawn_buf_add(b, s ? s : "", n);
}

static void put_strings(struct bawn_buf *b, const char *const *v)
{
	uint32_t n = 0;

	while (v && v[n])
		n++;
	put_u32(b, v ? n : UINT32_MAX);
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strlen(v[i]);

		put_u64(b, len);
		bawn_buf_add(b, v[i], len);
	}
}

static size_t begin(struct bawn_buf *b, enum wire_type type, unsigned flags)
{
	struct wire_head h = {.type = type, .flags = flags};

	bawn_buf_add(b, &h, sizeof(h));
	return b->len;
}

static void end(struct bawn_buf *b, size_t start)
{
	uint64_t len = b->len - start;

	if (!b->failed)
		memcpy(b->data + start - sizeof(len), &len, sizeof(len));
}

static void get_bytes(struct reader *r, void *dst, size_t n)
{
	if (r->bad || r->len < n) {
		r->bad = true;
		memset(dst, 0, n);
		return;
	}
	memcpy(dst, r->p, n);
	r->p += n;
	r->len -= n;
}

static uint32_t get_u32(struct reader *r)
{
	uint32_t v;

	get_bytes(r, &v, sizeof(v));
	return v;
}

static uint64_t get_u64(struct reader *r)
{
	uint64_t v;

	get_bytes(r, &v, sizeof(v));
	return v;
}

/* A number that must be below `limit`. */
static uint32_t get_below(struct reader *r, uint32_t limit)
{
	uint32_t v = get_u32(r);

	if (v >= limit)
		r->bad = true;
	return r->bad ? 0 : v;
}

static const char *take(struct reader *r, uint64_t n)
{
	const char *p = r->p;

	if (r->bad || n > r->len) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	r->len -= (size_t)n;
	return p;
}

static const char *copy(struct reader *r, struct bawn_arena *a, uint64_t n)
{
	const char *p = take(r, n);
	char *s;

	if (!p)
		return NULL;
	if (memchr(p, 0, (size_t)n)) {
		r->bad = true;
		return NULL;
	}
	s = bawn_arena_strndup(a, p, (size_t)n);
	if (!s)
		r->bad = true;
	return s;
}

static const char *get_string(struct reader *r, struct bawn_arena *a)
{
	uint32_t n = get_u32(r);

	if (n == UINT32_MAX)
		return NULL;
	if (n > STRING_MAX)
		r->bad = true;
	return copy(r, a, n);
}

static const char *const *get_strings(struct reader *r, struct bawn_arena *a)
{
	uint32_t n = get_u32(r);
	struct bawn_strlist l = {0};

	if (n == UINT32_MAX)
		return NULL;
	for (uint32_t i = 0; i < n && !r->bad; i++) {
		const char *s = copy(r, a, get_u64(r));

		if (!s || bawn_strlist_add(a, &l, s) < 0)
			r->bad = true;
	}
	if (!l.v && !r->bad) {
		l.v = bawn_new(a, const char *, 1);
		r->bad = !l.v;
	}
	return l.v;
}

static void put_like(struct bawn_buf *b, const struct bawn_subject *sub)
{
	put_u32(b, sub->kind);
	put_u32(b, sub->lang);
	put_u32(b, sub->mode);
	put_u32(b, sub->detect);
	put_u32(b, sub->last);
	put_u64(b, sub->base);
	put_u64(b, sub->fresh);
	put_string(b, sub->name);
}

static void get_like(struct reader *r, struct bawn_arena *a, struct bawn_subject *ret)
{
	ret->kind = get_below(r, BAWN_KIND_TEXT + 1);
	ret->lang = get_below(r, BAWN_LANG_COUNT);
	ret->mode = get_below(r, BAWN_MODE_LENIENT + 1);
	ret->detect = get_u32(r);
	ret->last = get_below(r, 2);
	ret->base = get_u64(r);
	ret->fresh = get_u64(r);
	ret->name = get_string(r, a);
}

void wire_put_subject(struct bawn_buf *b, const struct bawn_subject *sub)
{
	size_t start = begin(b, WIRE_SUBJECT, 0);

	put_like(b, sub);
	put_strings(b, sub->argv);
	put_u64(b, sub->len);
	bawn_buf_add(b, sub->text ? sub->text : "", sub->text ? sub->len : 0);
	end(b, start);
}

void bawn_subject_bytes(struct bawn_buf *b, const struct bawn_subject *sub)
{
	wire_put_subject(b, sub);
}

int wire_get_subject(struct bawn_arena *a, const char *body, size_t len, struct bawn_subject *ret)
{
	struct reader r = {.p = body, .len = len};

	*ret = (struct bawn_subject){0};
	get_like(&r, a, ret);
	ret->argv = get_strings(&r, a);
	ret->len = get_u64(&r);
	ret->text = take(&r, ret->len);
	return r.bad || r.len || ret->fresh > ret->len ? -EBADMSG : 0;
}

void wire_put_stream(struct bawn_buf *b, const struct bawn_stream_options *o)
{
	size_t start = begin(b, WIRE_STREAM, 0);

	put_like(b, &o->like);
	put_u32(b, o->leaks);
	put_u32(b, o->leaks_by_policy);
	put_u32(b, o->show_hidden);
	put_u32(b, o->tame_escapes);
	put_u32(b, o->findings_only);
	put_strings(b, o->secrets);
	end(b, start);
}

int wire_get_stream(
	struct bawn_arena *a, const char *body, size_t len, struct bawn_stream_options *ret)
{
	struct reader r = {.p = body, .len = len};

	*ret = (struct bawn_stream_options){0};
	get_like(&r, a, &ret->like);
	ret->leaks = get_below(&r, BAWN_LEAK_BLOCK + 1);
	ret->leaks_by_policy = get_below(&r, 2);
	ret->show_hidden = get_below(&r, 2);
	ret->tame_escapes = get_below(&r, 2);
	ret->findings_only = get_below(&r, 2);
	ret->secrets = get_strings(&r, a);
	return r.bad || r.len ? -EBADMSG : 0;
}

void wire_put_data(struct bawn_buf *b, const char *bytes, size_t n, unsigned flags)
{
	size_t start = begin(b, WIRE_DATA, flags);

	bawn_buf_add(b, bytes, n);
	end(b, start);
}

static void put_finding(struct bawn_buf *b, const struct bawn_finding *f)
{
	put_string(b, f->detector);
	put_string(b, f->rule);
	put_string(b, f->category);
	put_u32(b, f->level);
	put_u32(b, f->signal);
	bawn_buf_add(b, &f->confidence, sizeof(f->confidence));
	put_u64(b, f->start);
	put_u64(b, f->end);
	put_string(b, f->message ? f->message : "");
}

static void get_finding(struct reader *r, struct bawn_arena *a, struct bawn_finding *f)
{
	f->detector = get_string(r, a);
	f->rule = get_string(r, a);
	f->category = get_string(r, a);
	f->level = get_below(r, BAWN_SEV_CRITICAL + 1);
	f->signal = get_below(r, BAWN_SIGNAL_SEQUENCE + 1);
	get_bytes(r, &f->confidence, sizeof(f->confidence));
	f->start = get_u64(r);
	f->end = get_u64(r);
	f->message = get_string(r, a);
	/* written so that a NaN is bad as well */
	if (!f->detector || !f->rule || !f->category || !f->message || f->start > f->end ||
		!(f->confidence >= 0.0 && f->confidence <= 1.0))
		r->bad = true;
}

void wire_put_answer(struct bawn_buf *b, const struct wire_answer *w)
{
	size_t start = begin(b, WIRE_ANSWER, 0);

	put_u32(b, (uint32_t)-w->status);
	if (w->status < 0) {
		put_u32(b, w->error.kind);
		put_string(b, w->error.msg);
	}
	put_u32(b, (uint32_t)w->found.n);
	for (size_t i = 0; i < w->found.n; i++)
		put_finding(b, &w->found.v[i]);
	put_u64(b, w->n_bytes);
	bawn_buf_add(b, w->bytes ? w->bytes : "", w->n_bytes);
	end(b, start);
}

int wire_get_answer(struct bawn_arena *a, const char *body, size_t len, struct wire_answer *ret)
{
	struct reader r = {.p = body, .len = len};
	uint32_t n;

	*ret = (struct wire_answer){0};
	ret->status = -(int)get_below(&r, 4096);
	if (ret->status < 0) {
		enum bawn_errkind kind = get_below(&r, _BAWN_ERR_MAX);
		const char *msg = get_string(&r, a);

		if (msg)
			(void)bawn_fail(&ret->error, kind, ret->status, "%s", msg);
	}
	n = get_below(&r, FINDINGS_MAX);
	for (uint32_t i = 0; i < n && !r.bad; i++) {
		struct bawn_finding *f =
			bawn_grow(a, &ret->found.v, &ret->found.n, &ret->found.cap);

		if (!f)
			return -ENOMEM;
		get_finding(&r, a, f);
	}
	ret->n_bytes = get_u64(&r);
	ret->bytes = take(&r, ret->n_bytes);
	return r.bad || r.len ? -EBADMSG : 0;
}
