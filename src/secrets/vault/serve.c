/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question after the other. The file came through bawn and may be anything; so may be, for
 * all we know, the questions. A wrong key is answered no sooner than a second after it came,
 * however quickly it was found to be wrong.
 */
#include "secrets/vault/serve.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "secrets/talk.h"
#include "secrets/vault/keyring.h"

#define WRONG_MS 1000

struct vault {
	struct format f;
	struct talk t;
	const struct format_cost *cost;
	bool open;
};

static int answer(struct vault *v, const struct pack *p)
{
	int r = talk_packed(&v->t, p);

	return r < 0 ? r : talk_send(&v->t, -1);
}

static struct pack begin(struct vault *v)
{
	struct pack p = talk_pack(&v->t);

	pack_u32(&p, 0);
	return p;
}

static int done(struct vault *v)
{
	struct pack p = begin(v);

	return answer(v, &p);
}

static const char *why(int r)
{
	switch (r) {
	case -EKEYREJECTED:
		return "wrong passphrase or key, or the vault is damaged";
	case -EBADMSG:
		return "the vault is damaged: it is not as it was written";
	case -EPROTONOSUPPORT:
		return "the vault is of a later version of bawn";
	case -ENOKEY:
		return "the vault is locked";
	case -ENOENT:
		return "there is no such secret";
	case -EEXIST:
		return "there is a secret of that name";
	case -ENOSPC:
		return "the vault is full";
	case -E2BIG:
		return "that is too much for one secret";
	case -EINVAL:
		return "the vault's key is of another kind";
	case -ENOMEM:
		return "not enough memory";
	case -EOPNOTSUPP:
		return "this kernel or container has no keyring for us";
	default:
		return strerrordesc_np(-r);
	}
}

static int refuse(struct vault *v, int r)
{
	struct pack p = talk_pack(&v->t);
	const char *text = why(r);

	pack_u32(&p, (uint32_t)-r);
	pack_text(&p, text, strlen(text));
	return answer(v, &p);
}

static int finish(struct vault *v, int r)
{
	return r < 0 ? refuse(v, r) : done(v);
}

static void wait_until(int64_t ms)
{
	int64_t left = ms - bawn_now_ms();
	struct timespec ts = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};

	if (left > 0)
		(void)nanosleep(&ts, NULL);
}

/* The key is used where it lies, in the frame. */
static int take_key(struct unpack *u, struct format_key *ret)
{
	ret->kind = unpack_u32(u);
	ret->data = unpack_text(u, &ret->len);
	return u->failed || u->left || !ret->len ||
			       (ret->kind != TALK_KEY_PASSPHRASE && ret->kind != TALK_KEY_FILE)
		       ? -EPROTO
		       : 0;
}

static int do_create(struct vault *v, struct unpack *u)
{
	struct format_key key;
	int r = take_key(u, &key);

	if (r < 0)
		return r;
	r = format_new(&v->f, &key, v->cost);
	v->open = r == 0;
	return finish(v, r);
}

static int do_open(struct vault *v, struct unpack *u)
{
	int64_t begun = bawn_now_ms();
	struct format_key key;
	int r = take_key(u, &key);

	if (r < 0 || !v->t.blob)
		return -EPROTO;
	r = format_look(&v->f, v->t.blob, v->t.blob_len);
	if (r == 0)
		r = format_unwrap(&v->f, &key);
	if (r == 0)
		r = format_read(&v->f, v->t.blob, v->t.blob_len);
	if (r == -EKEYREJECTED)
		wait_until(begun + (v->cost ? v->cost->wrong_ms : WRONG_MS));
	v->open = r == 0;
	return finish(v, r);
}

static int do_held(struct vault *v, struct unpack *u)
{
	uint8_t key[KEY_LEN];
	int r;

	if (u->left || !v->t.blob)
		return -EPROTO;
	r = format_look(&v->f, v->t.blob, v->t.blob_len);
	if (r == 0)
		r = keyring_get(&v->f, key);
	if (r == 0)
		r = format_take_key(&v->f, key);
	explicit_bzero(key, sizeof(key));
	if (r == 0)
		r = format_read(&v->f, v->t.blob, v->t.blob_len);
	v->open = r == 0;
	return finish(v, r);
}

static int do_drop(struct vault *v, struct unpack *u)
{
	struct pack p;
	int r;

	if (u->left || !v->t.blob)
		return -EPROTO;
	r = format_look(&v->f, v->t.blob, v->t.blob_len);
	if (r == 0)
		r = keyring_drop(&v->f);
	if (r < 0)
		return refuse(v, r);
	p = begin(v);
	pack_u32(&p, (uint32_t)r);
	return answer(v, &p);
}

static int by_name(const void *va, const void *vb)
{
	const struct format_entry *a = va, *b = vb;

	return strcmp(a->about.name, b->about.name);
}

static int do_list(struct vault *v, struct unpack *u)
{
	struct pack p, out;
	char *blob;

	if (u->left)
		return -EPROTO;
	blob = malloc(TALK_BLOB_MAX);
	if (!blob)
		return refuse(v, -ENOMEM);
	qsort(v->f.v, v->f.n, sizeof(*v->f.v), by_name);
	out = (struct pack){blob, TALK_BLOB_MAX, false};
	for (size_t i = 0; i < v->f.n; i++)
		pack_secret(&out, &v->f.v[i].about);
	p = begin(v);
	pack_u32(&p, (uint32_t)v->f.n);
	v->t.blob = blob;
	v->t.blob_len = (size_t)(out.at - blob);
	return answer(v, &p);
}

static int do_get(struct vault *v, struct unpack *u)
{
	const char *name = unpack_string(u, v->f.a);
	const struct format_entry *e;
	struct pack p;

	if (!name || u->left)
		return -EPROTO;
	e = format_find(&v->f, name);
	if (!e)
		return refuse(v, -ENOENT);
	p = begin(v);
	pack_text(&p, e->value->data, e->value->len);
	return answer(v, &p);
}

static int do_put(struct vault *v, struct unpack *u)
{
	struct bawn_locked *value = NULL;
	struct bawn_secret s;
	const char *bytes;
	uint32_t keep;
	size_t len;
	int r = unpack_secret(u, v->f.a, &s);

	keep = unpack_u32(u);
	bytes = unpack_text(u, &len);
	if (r < 0 || u->failed || u->left || keep > 1 || (keep && len) ||
		(!keep && bawn_secret_check_value(&s, bytes, len, NULL) < 0))
		return -EPROTO;
	if (!keep) {
		value = bawn_locked_new(len);
		if (!value)
			return refuse(v, -ENOMEM);
		memcpy(value->data, bytes, len);
		value->len = len;
	}
	r = format_put(&v->f, &s, value);
	if (r < 0)
		(void)bawn_locked_free(value);
	return finish(v, r);
}

static int do_remove(struct vault *v, struct unpack *u)
{
	const char *name = unpack_string(u, v->f.a);

	return !name || u->left ? -EPROTO : finish(v, format_remove(&v->f, name));
}

static int do_rename(struct vault *v, struct unpack *u)
{
	const char *name = unpack_string(u, v->f.a);
	const char *to = unpack_string(u, v->f.a);
	struct format_entry *e;

	if (!name || !to || u->left || !bawn_secret_name_ok(to))
		return -EPROTO;
	e = format_find(&v->f, name);
	if (!e || format_find(&v->f, to))
		return refuse(v, e ? -EEXIST : -ENOENT);
	/* a variable that was called like the secret follows it */
	if (!strcmp(e->about.env, name))
		e->about.env = to;
	e->about.name = to;
	e->about.changed = bawn_wall_us();
	return done(v);
}

static int do_rekey(struct vault *v, struct unpack *u)
{
	struct format_key key;
	int r = take_key(u, &key);

	if (r < 0)
		return r;
	(void)keyring_drop(&v->f);
	return finish(v, format_rekey(&v->f, &key, v->cost));
}

static int do_seal(struct vault *v, struct unpack *u)
{
	char *file = NULL;
	size_t len = 0;
	struct pack p;
	int r;

	if (u->left)
		return -EPROTO;
	r = format_write(&v->f, &file, &len);
	if (r < 0)
		return refuse(v, r);
	p = begin(v);
	pack_u64(&p, v->f.generation);
	v->t.blob = file;
	v->t.blob_len = len;
	return answer(v, &p);
}

static int do_hold(struct vault *v, struct unpack *u)
{
	uint32_t seconds = unpack_u32(u);

	if (u->failed || u->left || !seconds || seconds > BAWN_VAULT_HOLD_MAX)
		return -EPROTO;
	return finish(v, keyring_put(&v->f, seconds));
}

static const struct {
	int (*act)(struct vault *, struct unpack *);
	bool open;
	bool blob; /* may come with the question */
} acts[] = {
	[TALK_CREATE] = {do_create, false, false},
	[TALK_OPEN] = {do_open, false, true},
	[TALK_HELD] = {do_held, false, true},
	[TALK_LIST] = {do_list, true, false},
	[TALK_GET] = {do_get, true, false},
	[TALK_PUT] = {do_put, true, false},
	[TALK_REMOVE] = {do_remove, true, false},
	[TALK_RENAME] = {do_rename, true, false},
	[TALK_REKEY] = {do_rekey, true, false},
	[TALK_SEAL] = {do_seal, true, false},
	[TALK_HOLD] = {do_hold, true, false},
	[TALK_DROP] = {do_drop, false, true},
};

static int serve_one(struct vault *v)
{
	struct unpack u;
	uint32_t what;
	int r = talk_receive(&v->t, -1);

	if (r < 0)
		return r;
	u = talk_unpack(&v->t);
	what = unpack_u32(&u);
	if (u.failed || !what || what >= sizeof(acts) / sizeof(acts[0]) ||
		acts[what].open != v->open || (v->t.blob && !acts[what].blob))
		return -EPROTO;
	r = acts[what].act(v, &u);
	return r;
}

int vault_serve(int fd, const struct format_cost *cost)
{
	struct vault v = {.cost = cost};
	int r = talk_init(&v.t, fd);

	if (r == 0)
		r = format_init(&v.f);
	while (r == 0)
		r = serve_one(&v);
	format_done(&v.f);
	talk_done(&v.t);
	return r == -EPIPE ? 0 : r;
}
