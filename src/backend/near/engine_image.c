/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image for runs on this host's own system: nothing but the symbolic links that the plan has in
 * its root (/bin to usr/bin, …), for an engine can bind directories but make no links. Its name is
 * a digest of them, so that it is made once per host and found again.
 */
#include <errno.h>
#include <stdio.h>

#include "backend/near/engine.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/sha256.h"

#define BLOCK     512u
#define IMPORT_MS 60000

/* The classic tar header; everything that an import looks at. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
		magic[6], version[2], rest[247];
};
_Static_assert(sizeof(struct header) == BLOCK, "as the format has it");

/* True for a link in the root itself; one below a bind is the host's own. */
static bool is_own(const struct bawn_plan *plan, const struct bawn_mount *m)
{
	if (m->kind != BAWN_MNT_SYMLINK)
		return false;
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind != BAWN_MNT_SYMLINK &&
			bawn_path_under(m->dst, plan->mounts[i].dst))
			return false;
	return true;
}

const char *bawn_engine_base_name(struct bawn_arena *a, const struct bawn_plan *plan)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	char hex[BAWN_HEX_LEN + 1];

	for (size_t i = 0; i < plan->n_mounts; i++)
		if (is_own(plan, &plan->mounts[i]))
			bawn_buf_printf(&b, "%s -> %s\n", plan->mounts[i].dst, plan->mounts[i].src);
	if (b.failed)
		return NULL;
	bawn_sha256_hex(b.data ? b.data : "", b.len, hex);
	return bawn_arena_printf(a, "bawn-base:%.16s", hex);
}

static int add_entry(struct bawn_buf *b, char type, const char *name, const char *link)
{
	union {
		struct header h;
		unsigned char bytes[BLOCK];
	} u = {.bytes = {0}};
	unsigned sum = 0;

	if (strlen(name) >= sizeof(u.h.name) || strlen(link) >= sizeof(u.h.link))
		return -ENAMETOOLONG;
	memcpy(u.h.name, name, strlen(name));
	memcpy(u.h.link, link, strlen(link));
	memcpy(u.h.mode, type == '5' ? "0000755" : "0000777", 8);
	memcpy(u.h.uid, "0000000", 8);
	memcpy(u.h.gid, "0000000", 8);
	memcpy(u.h.size, "00000000000", 12);
	memcpy(u.h.mtime, "00000000000", 12);
	memcpy(u.h.magic, "ustar", 6);
	memcpy(u.h.version, "00", 2);
	u.h.type = type;
	memset(u.h.checksum, ' ', sizeof(u.h.checksum));
	for (size_t i = 0; i < BLOCK; i++)
		sum += u.bytes[i];
	(void)snprintf(u.h.checksum, sizeof(u.h.checksum), "%06o", sum);
	bawn_buf_add(b, u.bytes, BLOCK);
	return 0;
}

/* The directories above a link; a tar may name one twice. */
static int add_parents(struct bawn_buf *b, const char *path)
{
	int r = 0;

	for (const char *s = path; r == 0 && (s = strchr(s, '/')); s++) {
		char dir[100];

		if ((size_t)(s - path) >= sizeof(dir) - 1)
			return -ENAMETOOLONG;
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(s - path), path);
		r = add_entry(b, '5', dir, "");
	}
	return r;
}

int bawn_engine_base_tar(const struct bawn_plan *plan, struct bawn_buf *ret, struct bawn_error *err)
{
	static const char end[2 * BLOCK];

	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];
		int r;

		if (!is_own(plan, m))
			continue;
		r = add_parents(ret, m->dst + 1);
		if (r == 0)
			r = add_entry(ret, '2', m->dst + 1, m->src);
		if (r < 0)
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"the link '%s' is too long for an image", m->dst);
	}
	bawn_buf_add(ret, end, sizeof(end));
	return ret->failed ? bawn_fail(err, BAWN_ERR_BACKEND, ret->failed, "out of memory") : 0;
}

/* With a label, so that it can be told from what people made. */
int bawn_engine_make_base(const char *program, const struct bawn_plan *plan, struct bawn_error *err)
{
	static const char label[] = "LABEL " BAWN_ENGINE_LABEL "=base";
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_buf_ struct bawn_buf tar = {0};
	const char *name = a ? bawn_engine_base_name(a, plan) : NULL;
	const char *argv[] = {program, "import", "--change", label, "-", name, NULL};
	_cleanup_call_ struct bawn_engine_call c = {.argv = argv, .timeout_ms = IMPORT_MS};
	int r;

	if (!name)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = bawn_engine_base_tar(plan, &tar, err);
	if (r < 0)
		return r;
	c.input = tar.data;
	c.input_len = tar.len;
	r = bawn_engine_call(&c, err);
	return r < 0 ? bawn_error_wrap(err, "making the empty image") : 0;
}
