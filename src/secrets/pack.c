/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets/pack.h"

#include <errno.h>
#include <string.h>

void pack_bytes(struct pack *p, const void *data, size_t len)
{
	if (p->failed || len > p->left) {
		p->failed = true;
		return;
	}
	if (len)
		memcpy(p->at, data, len);
	p->at += len;
	p->left -= len;
}

static void pack_number(struct pack *p, uint64_t v, size_t bytes)
{
	unsigned char raw[8];

	for (size_t i = 0; i < bytes; i++)
		raw[i] = (unsigned char)(v >> (8 * i));
	pack_bytes(p, raw, bytes);
}

void pack_u32(struct pack *p, uint32_t v)
{
	pack_number(p, v, 4);
}

void pack_u64(struct pack *p, uint64_t v)
{
	pack_number(p, v, 8);
}

void pack_text(struct pack *p, const char *s, size_t len)
{
	if (len > UINT32_MAX)
		p->failed = true;
	pack_u32(p, (uint32_t)len);
	pack_bytes(p, s, len);
}

static void pack_list(struct pack *p, const char *const *v)
{
	uint32_t n = 0;

	while (v[n])
		n++;
	pack_u32(p, n);
	for (uint32_t i = 0; i < n; i++)
		pack_text(p, v[i], strlen(v[i]));
}

void pack_secret(struct pack *p, const struct bawn_secret *s)
{
	pack_text(p, s->name, strlen(s->name));
	pack_text(p, s->env, strlen(s->env));
	pack_text(p, s->note, strlen(s->note));
	pack_list(p, s->hosts);
	pack_list(p, s->headers);
	pack_list(p, s->skills);
	pack_list(p, s->triggers);
	pack_u32(p, (uint32_t)s->access);
	pack_u32(p, (uint32_t)s->injection);
	pack_u64(p, s->created);
	pack_u64(p, s->changed);
}

static uint64_t unpack_number(struct unpack *u, size_t bytes)
{
	uint64_t v = 0;

	if (u->failed || u->left < bytes) {
		u->failed = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)(unsigned char)u->at[i] << (8 * i);
	u->at += bytes;
	u->left -= bytes;
	return v;
}

uint32_t unpack_u32(struct unpack *u)
{
	return (uint32_t)unpack_number(u, 4);
}

uint64_t unpack_u64(struct unpack *u)
{
	return unpack_number(u, 8);
}

const char *unpack_text(struct unpack *u, size_t *ret_len)
{
	uint32_t len = unpack_u32(u);
	const char *s = u->at;

	if (u->failed || len > u->left) {
		u->failed = true;
		*ret_len = 0;
		return "";
	}
	u->at += len;
	u->left -= len;
	*ret_len = len;
	return s;
}

const char *unpack_string(struct unpack *u, struct bawn_arena *a)
{
	size_t len = 0;
	const char *s = unpack_text(u, &len);

	if (u->failed || (len && memchr(s, '\0', len))) {
		u->failed = true;
		return NULL;
	}
	return bawn_arena_strndup(a, s, len);
}

static const char *const *unpack_list(struct unpack *u, struct bawn_arena *a)
{
	uint32_t n = unpack_u32(u);
	const char **v;

	if (u->failed || n > BAWN_SECRET_LIST_MAX) {
		u->failed = true;
		return NULL;
	}
	v = bawn_new(a, const char *, n + 1);
	for (uint32_t i = 0; v && i < n; i++) {
		v[i] = unpack_string(u, a);
		if (!v[i])
			return NULL;
	}
	return v;
}

int unpack_secret(struct unpack *u, struct bawn_arena *a, struct bawn_secret *ret)
{
	struct bawn_secret s = {0};
	uint32_t access, injection;

	s.name = unpack_string(u, a);
	s.env = unpack_string(u, a);
	s.note = unpack_string(u, a);
	s.hosts = unpack_list(u, a);
	s.headers = unpack_list(u, a);
	s.skills = unpack_list(u, a);
	s.triggers = unpack_list(u, a);
	access = unpack_u32(u);
	injection = unpack_u32(u);
	s.created = unpack_u64(u);
	s.changed = unpack_u64(u);
	if (u->failed || access >= BAWN_ACCESS_COUNT || injection >= BAWN_INJECT_COUNT)
		return -EBADMSG;
	if (!s.name || !s.env || !s.note || !s.hosts || !s.headers || !s.skills || !s.triggers)
		return -ENOMEM;
	s.access = (enum bawn_secret_access)access;
	s.injection = (enum bawn_secret_injection)injection;
	*ret = s;
	return bawn_secret_check(&s, NULL);
}
