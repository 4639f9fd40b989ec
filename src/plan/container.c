/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only containers have: enforcement.docker.mounts, which put something of the host at another
 * place. There no rule about paths of the host would find it, so what such a rule is about cannot
 * be put elsewhere.
 */
#include <errno.h>
#include <string.h>

#include "plan/build.h"
#include "plan/scan.h"

static int overlap(const struct bawn_mount_entry *m, const char *path, const char *what,
	struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
		"enforcement.docker.mounts: '%s' and %s '%s' overlap; it can be mounted at its own place only",
		m->source, what, path);
}

/* Patterns of denied paths that match something below `root`. */
static int check_patterns(struct plan_builder *b, const struct bawn_mount_entry *m,
	const char *root, struct bawn_error *err)
{
	struct bawn_strlist globs = {0}, found = {0};
	struct bawn_scan_options o = {.root = root};
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->p->fs_deny.n; i++)
		if (bawn_path_is_glob(b->p->fs_deny.v[i].text))
			r = bawn_strlist_add(b->a, &globs, b->p->fs_deny.v[i].text);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory");
	if (!globs.n)
		return 0;
	o.patterns = globs.v;
	r = bawn_scan(b->a, &o, &found, NULL, err);
	if (r < 0)
		return r;
	return found.n ? overlap(m, found.v[0], "the denied path", err) : 0;
}

static int check_elsewhere(struct plan_builder *b, const struct bawn_mount_entry *m,
	const char *src, struct bawn_error *err)
{
	if (bawn_path_under(src, b->c->workspace) || bawn_path_under(b->c->workspace, src))
		return overlap(m, b->c->workspace, "the workspace", err);
	for (size_t i = 0; i < b->p->fs_deny.n; i++) {
		const char *deny = b->p->fs_deny.v[i].text;

		if (!bawn_path_is_glob(deny) &&
			(bawn_path_under(src, deny) || bawn_path_under(deny, src)))
			return overlap(m, deny, "the denied path", err);
	}
	for (const char *const *v = b->vault; v && *v; v++)
		if (bawn_path_under(*v, src))
			return overlap(m, *v, "the vault's", err);
	return check_patterns(b, m, src, err);
}

static int add_mount(
	struct plan_builder *b, const struct bawn_mount_entry *m, struct bawn_error *err)
{
	bool writes = b->p->fs_mode == BAWN_FS_FULL || b->p->fs_mode == BAWN_FS_SCOPED;
	const char *dst = m->target[0] == '/' ? bawn_path_clean(b->a, m->target) : NULL;
	const char *src;
	int r = bawn_path_resolve(b->a, m->source, &src);

	if (r < 0) {
		errno = -r;
		return bawn_fail(
			err, BAWN_ERR_PLAN, r, "enforcement.docker.mounts: '%s': %m", m->source);
	}
	if (!dst || !dst[1] || bawn_path_under(dst, "/proc") || bawn_path_under(dst, "/sys") ||
		bawn_path_under(dst, "/dev") || !src[1])
		return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
			"enforcement.docker.mounts: nothing can be mounted from '%s' at '%s'",
			m->source, m->target);
	r = strcmp(src, dst) != 0 ? check_elsewhere(b, m, src, err) : 0;
	if (r < 0)
		return r;
	return plan_add_mount(b,
		(struct bawn_mount){.kind = writes && !m->read_only ? BAWN_MNT_RW : BAWN_MNT_RO,
			.src = src,
			.dst = dst,
			.rule = "enforcement.docker.mounts"},
		err);
}

int plan_make_container(struct plan_builder *b, struct bawn_error *err)
{
	int r = 0;

	if (!b->container)
		return 0;
	for (size_t i = 0; r >= 0 && i < b->p->n_mounts; i++)
		r = add_mount(b, &b->p->mounts[i], err);
	return r;
}
