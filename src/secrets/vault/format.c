/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the file, see format.h. What is read was perhaps written by somebody else:
 * nothing of it is believed before its seal is checked, but for lengths, which are. */
#include "secrets/vault/format.h"

#include <errno.h>
#include <string.h>

/* Offsets into the head. */
enum {
	AT_VERSION = 8,
	AT_KIND = 12,
	AT_PASSES = 16,
	AT_KIB = 20,
	AT_SALT = 24,
	AT_NONCE = 56,
	AT_GENERATION = 116,
	AT_COUNT = 124,
	AT_WRITING_SALT = 128,
};

static const char purpose[] = "bawn vault entries";

static uint32_t number(const struct format *f, size_t at)
{
	struct unpack u = {(const char *)f->head + at, 4, false};

	return unpack_u32(&u);
}

static void set_number(struct format *f, size_t at, uint32_t v)
{
	struct pack p = {(char *)f->head + at, 4, false};

	pack_u32(&p, v);
}

int format_init(struct format *f)
{
	*f = (struct format){.a = bawn_arena_new()};
	if (f->a)
		f->v = bawn_new(f->a, struct format_entry, BAWN_SECRETS_MAX);
	return f->v ? 0 : -ENOMEM;
}

static void drop_entries(struct format *f)
{
	for (size_t i = 0; i < f->n; i++)
		f->v[i].value = bawn_locked_free(f->v[i].value);
	f->n = 0;
}

void format_done(struct format *f)
{
	drop_entries(f);
	f->key = bawn_locked_free(f->key);
	f->a = bawn_arena_free(f->a);
	f->v = NULL;
}

static struct crypt_span head_until(const struct format *f, size_t len)
{
	return (struct crypt_span){f->head, len};
}

/* The key that wraps the data key. */
static int wrapping_key(const struct format *f, const struct format_key *key, uint8_t dst[KEY_LEN])
{
	struct crypt_span k = {key->data, key->len};

	if (key->kind == FORMAT_KIND_PHRASE)
		return crypt_stretch(
			dst, k, f->head + AT_SALT, number(f, AT_PASSES), number(f, AT_KIB));
	crypt_derive(dst, k, (struct crypt_span){f->head + AT_SALT, SALT_LEN});
	return 0;
}

int format_rekey(struct format *f, const struct format_key *key, const struct format_cost *cost)
{
	bool phrase = key->kind == FORMAT_KIND_PHRASE;
	struct bawn_locked *fresh = bawn_locked_new(KEY_LEN);
	uint8_t wrap[KEY_LEN];
	int r;

	if (!fresh)
		return -ENOMEM;
	crypt_random(fresh->data, KEY_LEN);
	memset(f->head, 0, sizeof(f->head));
	memcpy(f->head, FORMAT_MAGIC, AT_VERSION);
	set_number(f, AT_VERSION, FORMAT_VERSION);
	set_number(f, AT_KIND, key->kind);
	set_number(f, AT_PASSES, !phrase ? 0 : cost ? cost->passes : FORMAT_PASSES);
	set_number(f, AT_KIB, !phrase ? 0 : cost ? cost->kib : FORMAT_KIB);
	crypt_random(f->head + AT_SALT, SALT_LEN);
	crypt_random(f->head + FORMAT_ID, FORMAT_ID_LEN);
	crypt_random(f->head + AT_NONCE, NONCE_LEN);
	r = wrapping_key(f, key, wrap);
	if (r == 0)
		r = crypt_seal(wrap, f->head + AT_NONCE, head_until(f, FORMAT_BOUND),
			(struct crypt_span){fresh->data, KEY_LEN}, f->head + FORMAT_WRAPPED);
	explicit_bzero(wrap, sizeof(wrap));
	if (r < 0) {
		(void)bawn_locked_free(fresh);
		return r;
	}
	(void)bawn_locked_free(f->key);
	f->key = fresh;
	return 0;
}

int format_new(struct format *f, const struct format_key *key, const struct format_cost *cost)
{
	drop_entries(f);
	f->generation = 0;
	return format_rekey(f, key, cost);
}

static bool kind_ok(const struct format *f)
{
	uint32_t passes = number(f, AT_PASSES);
	uint32_t kib = number(f, AT_KIB);

	if (number(f, AT_KIND) == FORMAT_KIND_FILE)
		return !passes && !kib;
	return number(f, AT_KIND) == FORMAT_KIND_PHRASE && passes && passes <= FORMAT_PASSES_MAX &&
	       kib >= FORMAT_KIB_MIN && kib <= FORMAT_KIB_MAX;
}

int format_look(struct format *f, const void *file, size_t len)
{
	f->key = bawn_locked_free(f->key);
	if (len < FORMAT_HEAD || memcmp(file, FORMAT_MAGIC, AT_VERSION) != 0)
		return -EBADMSG;
	memcpy(f->head, file, FORMAT_HEAD);
	if (number(f, AT_VERSION) != FORMAT_VERSION)
		return -EPROTONOSUPPORT;
	if (!kind_ok(f) || number(f, AT_COUNT) > BAWN_SECRETS_MAX)
		return -EBADMSG;
	return 0;
}

int format_unwrap(struct format *f, const struct format_key *key)
{
	struct bawn_locked *k;
	uint8_t wrap[KEY_LEN];
	int r;

	if (key->kind != number(f, AT_KIND))
		return -EINVAL;
	k = bawn_locked_new(KEY_LEN);
	if (!k)
		return -ENOMEM;
	r = wrapping_key(f, key, wrap);
	if (r == 0)
		r = crypt_open(wrap, f->head + AT_NONCE, head_until(f, FORMAT_BOUND),
			(struct crypt_span){f->head + FORMAT_WRAPPED, KEY_LEN + TAG_LEN},
			(uint8_t *)k->data);
	explicit_bzero(wrap, sizeof(wrap));
	if (r < 0) {
		(void)bawn_locked_free(k);
		return r == -EBADMSG ? -EKEYREJECTED : r;
	}
	f->key = k;
	return 0;
}

int format_take_key(struct format *f, const uint8_t key[KEY_LEN])
{
	f->key = bawn_locked_new(KEY_LEN);
	if (!f->key)
		return -ENOMEM;
	memcpy(f->key->data, key, KEY_LEN);
	return 0;
}

/* The key of one writing, and the nonce of one of its seals. */
static void writing_key(const struct format *f, uint8_t dst[KEY_LEN])
{
	uint8_t context[FORMAT_SALT_LEN + sizeof(purpose)];

	memcpy(context, f->head + AT_WRITING_SALT, FORMAT_SALT_LEN);
	memcpy(context + FORMAT_SALT_LEN, purpose, sizeof(purpose));
	crypt_derive(dst, (struct crypt_span){f->key->data, KEY_LEN},
		(struct crypt_span){context, sizeof(context)});
}

static void nonce_of(uint32_t index, uint8_t dst[NONCE_LEN])
{
	struct pack p = {(char *)dst, NONCE_LEN, false};

	pack_u32(&p, index);
	pack_u64(&p, 0);
}

/* Name, bindings and value from the plain bytes of one secret. */
static int take_entry(struct format *f, const struct bawn_locked *plain)
{
	struct unpack u = {plain->data, plain->len, false};
	struct bawn_secret about;
	struct bawn_locked *value;
	const char *bytes;
	size_t len;
	int r = unpack_secret(&u, f->a, &about);

	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	bytes = unpack_text(&u, &len);
	if (u.failed || u.left || bawn_secret_check_value(&about, bytes, len, NULL) < 0 ||
		format_find(f, about.name))
		return -EBADMSG;
	value = bawn_locked_new(len);
	if (!value)
		return -ENOMEM;
	memcpy(value->data, bytes, len);
	value->len = len;
	f->v[f->n++] = (struct format_entry){about, value};
	return 0;
}

static int read_entries(struct format *f, const uint8_t key[KEY_LEN], struct unpack *u)
{
	struct bawn_locked *plain = bawn_locked_new(PACK_MAX);
	uint32_t count = number(f, AT_COUNT);
	int r = plain ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		uint8_t nonce[NONCE_LEN];
		size_t len;
		const char *sealed = unpack_text(u, &len);

		if (u->failed || len < TAG_LEN || len - TAG_LEN > PACK_MAX) {
			r = -EBADMSG;
			break;
		}
		nonce_of(i, nonce);
		plain->len = len - TAG_LEN;
		r = crypt_open(key, nonce, head_until(f, FORMAT_HEAD),
			(struct crypt_span){sealed, len}, (uint8_t *)plain->data);
		if (r == 0)
			r = take_entry(f, plain);
	}
	(void)bawn_locked_free(plain);
	if (r == 0 && u->left)
		r = -EBADMSG;
	return r;
}

int format_read(struct format *f, const void *file, size_t len)
{
	struct unpack u = {(const char *)file + FORMAT_HEAD, len - FORMAT_HEAD, false};
	struct unpack g = {(const char *)f->head + AT_GENERATION, 8, false};
	uint8_t key[KEY_LEN];
	uint8_t nonce[NONCE_LEN];
	uint8_t nothing[1];
	int r;

	drop_entries(f);
	writing_key(f, key);
	nonce_of(UINT32_MAX, nonce);
	r = crypt_open(key, nonce, head_until(f, FORMAT_SEAL),
		(struct crypt_span){f->head + FORMAT_SEAL, TAG_LEN}, nothing);
	if (r == -EBADMSG)
		r = -EKEYREJECTED;
	if (r == 0)
		r = read_entries(f, key, &u);
	explicit_bzero(key, sizeof(key));
	if (r < 0) {
		drop_entries(f);
		return r;
	}
	f->generation = unpack_u64(&g);
	return 0;
}

static int write_entry(struct format *f, const uint8_t key[KEY_LEN], uint32_t i,
	struct bawn_locked *plain, struct pack *out)
{
	struct pack p = {plain->data, plain->size, false};
	const struct format_entry *e = &f->v[i];
	uint8_t nonce[NONCE_LEN];
	size_t len;
	int r;

	pack_secret(&p, &e->about);
	pack_text(&p, e->value->data, e->value->len);
	len = (size_t)(p.at - plain->data);
	if (p.failed)
		return -E2BIG;
	pack_u32(out, (uint32_t)(len + TAG_LEN));
	if (out->failed || out->left < len + TAG_LEN)
		return -E2BIG;
	nonce_of(i, nonce);
	r = crypt_seal(key, nonce, head_until(f, FORMAT_HEAD),
		(struct crypt_span){plain->data, len}, (uint8_t *)out->at);
	out->at += len + TAG_LEN;
	out->left -= len + TAG_LEN;
	return r;
}

/* What of the head belongs to this writing, and the seal over it. */
static int write_head(struct format *f, uint8_t key[KEY_LEN])
{
	struct pack g = {(char *)f->head + AT_GENERATION, 8, false};
	uint8_t nonce[NONCE_LEN];

	pack_u64(&g, f->generation);
	set_number(f, AT_COUNT, (uint32_t)f->n);
	crypt_random(f->head + AT_WRITING_SALT, FORMAT_SALT_LEN);
	writing_key(f, key);
	nonce_of(UINT32_MAX, nonce);
	return crypt_seal(key, nonce, head_until(f, FORMAT_SEAL), (struct crypt_span){"", 0},
		f->head + FORMAT_SEAL);
}

int format_write(struct format *f, char **ret, size_t *ret_len)
{
	size_t room = FORMAT_HEAD + f->n * (PACK_MAX + TAG_LEN + 4);
	struct bawn_locked *plain = bawn_locked_new(PACK_MAX);
	char *file = malloc(room);
	struct pack out = {file, room, false};
	uint8_t key[KEY_LEN] = {0};
	int r = plain && file ? 0 : -ENOMEM;

	if (r == 0) {
		f->generation++;
		r = write_head(f, key);
	}
	if (r == 0)
		pack_bytes(&out, f->head, FORMAT_HEAD);
	for (uint32_t i = 0; r == 0 && i < f->n; i++)
		r = write_entry(f, key, i, plain, &out);
	explicit_bzero(key, sizeof(key));
	(void)bawn_locked_free(plain);
	if (r < 0) {
		free(file);
		return r;
	}
	*ret = file;
	*ret_len = (size_t)(out.at - file);
	return 0;
}

struct format_entry *format_find(struct format *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].about.name, name))
			return &f->v[i];
	return NULL;
}

int format_put(struct format *f, const struct bawn_secret *s, struct bawn_locked *value)
{
	struct format_entry *e = format_find(f, s->name);

	if (!e && !value)
		return -ENOENT;
	if (!e && f->n == BAWN_SECRETS_MAX)
		return -ENOSPC;
	if (!e)
		e = &f->v[f->n++];
	e->about = *s;
	if (value) {
		(void)bawn_locked_free(e->value);
		e->value = value;
	}
	return 0;
}

int format_remove(struct format *f, const char *name)
{
	struct format_entry *e = format_find(f, name);
	size_t after;

	if (!e)
		return -ENOENT;
	after = f->n - 1 - (size_t)(e - f->v);
	(void)bawn_locked_free(e->value);
	memmove(e, e + 1, after * sizeof(*e));
	f->v[--f->n] = (struct format_entry){0};
	return 0;
}
