/* SPDX-License-Identifier: Apache-2.0 */
/* Paths out of reach inside granted ones, and directories that nothing is executed from. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "plan/build.h"
#include "plan/scan.h"

static bool is_visible(const struct plan_builder *b, const char *path)
{
	const struct bawn_mount *m = plan_cover(b, path);

	return m && m->kind != BAWN_MNT_SCRATCH && m->kind != BAWN_MNT_HIDE;
}

/* 1 if it is there. What cannot be looked at is not taken for absent. */
static int look_at(const char *path, struct stat *st, struct bawn_error *err)
{
	if (lstat(path, st) == 0)
		return 1;
	if (errno == ENOENT || errno == ENOTDIR ||
		errno == EACCES) /* EACCES: nor can the command */
		return 0;
	return bawn_fail(
		err, BAWN_ERR_PLAN, -errno, "cannot look at the denied path '%s': %m", path);
}

/* A symlink's name leads to something: that must not be read either. 0 if it leads nowhere. */
static int follow(
	struct plan_builder *b, const char **path, struct stat *st, struct bawn_error *err)
{
	int r = bawn_path_resolve(b->a, *path, path);

	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ELOOP)
		return 0;
	if (r < 0)
		return bawn_fail(
			err, BAWN_ERR_PLAN, r, "cannot follow the denied path '%s'", *path);
	return is_visible(b, *path) ? look_at(*path, st, err) : 0;
}

/* Something that is there. */
static int cover(
	struct plan_builder *b, const char *path, const struct stat *st, struct bawn_error *err)
{
	/* what we neither own nor can read, the command (same user, fewer rights) cannot read
	 * either */
	if (geteuid() != 0 && st->st_uid != geteuid() &&
		faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0)
		return 0;
	if (bawn_strlist_add(b->a, &b->deny, path) < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	return plan_add_mount(b,
		(struct bawn_mount){.kind = BAWN_MNT_HIDE, .dst = path, .rule = "filesystem.deny"},
		err);
}

/*
 * A denied path that is not here by its name. It may be here by another, if there are links in it;
 * and of a directory there may be some parts, each by a grant of its own: the grants lose. Paths of
 * grants have no links in them.
 */
static int hide_granted(struct plan_builder *b, const char *path, struct bawn_error *err)
{
	const char *real = path;
	size_t n = b->plan->n_mounts;
	struct stat seen;
	int r = look_at(path, &seen, err);

	if (r <= 0)
		return r;
	r = bawn_path_resolve(b->a, path, &real);
	if (r == -ENOMEM)
		return bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory");
	if (r < 0)
		real = path;
	if (bawn_path_under(b->c->workspace, real))
		return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
			"the workspace '%s' lies in the denied path '%s'", b->c->workspace, path);
	if (r >= 0 && is_visible(b, real)) {
		r = look_at(real, &seen, err);
		return r > 0 ? cover(b, real, &seen, err) : r;
	}
	r = 0;
	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct bawn_mount m = b->plan->mounts[i];
		struct stat st;

		if ((m.kind != BAWN_MNT_RO && m.kind != BAWN_MNT_RW) ||
			!bawn_path_under(m.dst, real))
			continue;
		r = look_at(m.dst, &st, err);
		if (r > 0)
			r = cover(b, m.dst, &st, err);
	}
	return r;
}

static int hide(struct plan_builder *b, const char *path, struct bawn_error *err)
{
	struct stat st;
	bool visible = is_visible(b, path);
	int r = visible ? look_at(path, &st, err) : 0;

	if (r > 0 && S_ISLNK(st.st_mode))
		r = follow(b, &path, &st, err);
	if (bawn_path_under(b->c->workspace, path))
		return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
			"the workspace '%s' lies in the denied path '%s'", b->c->workspace, path);
	if (!visible || (r == 0 && !is_visible(b, path)))
		return hide_granted(b, path, err);
	return r <= 0 ? r : cover(b, path, &st, err);
}

/* The part of a pattern before its first wildcard component. */
static const char *literal_prefix(struct bawn_arena *a, const char *pattern)
{
	size_t n = strcspn(pattern, "*?[");

	while (n > 1 && pattern[n - 1] != '/')
		n--;
	while (n > 1 && pattern[n - 1] == '/')
		n--;
	return bawn_arena_strndup(a, pattern, n ? n : 1);
}

static int hide_globs(
	struct plan_builder *b, const struct bawn_strlist *globs, struct bawn_error *err)
{
	for (size_t i = 0; i < globs->n; i++) {
		const char *root = literal_prefix(b->a, globs->v[i]);
		struct bawn_strlist patterns = {0}, found = {0};
		bool first = true;
		int r = 0;

		if (!root)
			return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
		/* one walk per root, with all its patterns */
		for (size_t j = 0; r == 0 && j < globs->n; j++) {
			const char *other = literal_prefix(b->a, globs->v[j]);

			if (!other || strcmp(other, root) != 0)
				continue;
			first &= j >= i;
			r = bawn_strlist_add(b->a, &patterns, globs->v[j]);
		}
		if (r < 0)
			return bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory");
		if (!first || access(root, F_OK) < 0)
			continue;
		struct bawn_scan_options o = {.root = root, .patterns = patterns.v};
		r = bawn_scan(b->a, &o, &found, NULL, err);
		for (size_t j = 0; r >= 0 && j < found.n; j++)
			r = hide(b, found.v[j], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Brackets stand in names of files as well (app/[id]/page): one that is called like the pattern is
 * meant by it. */
static int hide_literal(struct plan_builder *b, const struct bawn_item *it, struct bawn_error *err)
{
	const char *path = it->raw ? bawn_path_join(b->a, b->c->workspace, it->raw) : it->text;
	struct stat st;

	if (!path)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	return lstat(path, &st) == 0 ? hide(b, path, err) : 0;
}

int plan_make_deny(struct plan_builder *b, struct bawn_error *err)
{
	struct bawn_strlist globs = {0};

	for (size_t i = 0; i < b->p->fs_deny.n; i++) {
		const char *text = b->p->fs_deny.v[i].text;
		bool glob = bawn_path_is_glob(text);
		size_t before = b->deny.n;
		int r;

		if (!strcmp(text, "/proc") || !strcmp(text, "/dev"))
			return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
				"filesystem.deny: '%s' cannot be denied: every sandbox has its own, without what is the host's",
				text);
		/* moved with what it lies in, it would not be denied the next time */
		if (glob) {
			r = bawn_strlist_add(b->a, &globs, text);
			if (r >= 0)
				r = hide_literal(b, &b->p->fs_deny.v[i], err);
		} else
			r = hide(b, text, err);
		if (r >= 0 && (glob || b->deny.n > before))
			r = plan_pin_above(b, text, "filesystem.deny", err);
		if (r < 0)
			return err && err->kind ? r
						: bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory");
	}
	for (const char *const *v = b->vault; v && *v; v++) {
		int r = hide(b, *v, err);

		if (r < 0)
			return r;
	}
	return hide_globs(b, &globs, err);
}

int plan_make_no_exec(struct plan_builder *b, struct bawn_error *err)
{
	struct bawn_plan *plan = b->plan;

	for (size_t i = 0; i < b->p->fs_deny_exec.n; i++) {
		const char *dir = b->p->fs_deny_exec.v[i].text;
		const struct bawn_mount *cover = plan_cover(b, dir);

		if (bawn_strlist_add(b->a, &b->no_exec, dir) < 0)
			return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
		for (size_t j = 0; j < plan->n_mounts; j++)
			plan->mounts[j].no_exec |= bawn_path_under(plan->mounts[j].dst, dir);
		if (!cover || cover->kind == BAWN_MNT_HIDE || !strcmp(cover->dst, dir))
			continue;
		int r = plan_add_mount(b,
			(struct bawn_mount){.kind = cover->kind,
				.pin = true,
				.no_exec = true,
				.src = dir,
				.dst = dir,
				.rule = "filesystem.deny_exec"},
			err);
		if (r < 0)
			return r;
	}
	/* a copy in the private space would run otherwise */
	for (size_t j = 0; b->no_exec.n && j < plan->n_mounts; j++)
		plan->mounts[j].no_exec |= plan->mounts[j].kind == BAWN_MNT_SCRATCH;
	return 0;
}
