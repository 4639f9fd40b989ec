/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which changes from inside are refused whatever the inside thinks of them. The same rules that
 * mounts and the broker enforce in the native wall, applied to the paths of the host.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "backend/far/transfer_impl.h"
#include "backend/native/broker_impl.h"
#include "base/path.h"

static bool folded_equal(const char *a, size_t len, const char *b)
{
	char name[NAME_MAX + 1], fa[NAME_MAX + 8], fb[NAME_MAX + 8];

	if (len > NAME_MAX)
		return false;
	memcpy(name, a, len);
	name[len] = '\0';
	bawn_guard_fold(name, fa, sizeof(fa));
	bawn_guard_fold(b, fb, sizeof(fb));
	return !strcmp(fa, fb);
}

/* A guard's name somewhere in the path; what is only deleted was there before. */
static const char *guard_of(const struct bawn_plan *plan, const char *inside, bool gone)
{
	for (size_t i = 0; !gone && i < plan->n_guards; i++) {
		const struct bawn_guard *g = &plan->guards[i];
		size_t n = strlen(g->dir);

		if (!bawn_path_under(inside, g->dir) || !inside[n])
			continue;
		n += inside[n] == '/';
		if (folded_equal(inside + n, strcspn(inside + n, "/"), g->name))
			return g->rule;
	}
	return NULL;
}

/* The mount that decides about `inside`, pins included. */
static const struct bawn_mount *cover(const struct bawn_plan *plan, const char *inside, bool pins)
{
	const struct bawn_mount *top = NULL;

	for (size_t i = 0; i < plan->n_mounts; i++)
		if ((pins || !plan->mounts[i].pin) && bawn_path_under(inside, plan->mounts[i].dst))
			top = &plan->mounts[i];
	return top;
}

static bool under_one(const char *path, const char *const *list, size_t n, const char **ret_rule)
{
	for (size_t i = 0; i < n; i++)
		if (bawn_path_under(path, list[i])) {
			*ret_rule = list[i];
			return true;
		}
	return false;
}

static bool full_path(const char *root, const char *path, char dst[PATH_MAX])
{
	return snprintf(dst, PATH_MAX, "%s%s%s", root, *path ? "/" : "", path) < PATH_MAX;
}

uint32_t bawn_apply_refused(
	const struct bawn_transfer *t, const struct bawn_entry *e, const char **ret_rule)
{
	const struct bawn_plan *plan = t->plan;
	const struct bawn_mount *root = bawn_root_at(plan, e->root);
	bool gone = e->kind == BAWN_ENTRY_DELETE;
	char inside[PATH_MAX], host[PATH_MAX];
	const struct bawn_mount *m;

	*ret_rule = root->rule;
	if (!full_path(root->dst, e->path, inside) || !full_path(root->src, e->path, host))
		return BAWN_CTL_FS_WRITE;
	if (under_one(host, plan->deny, plan->n_deny, ret_rule))
		return BAWN_CTL_FS_DENY;
	if (under_one(host, plan->protect, plan->n_protect, ret_rule))
		return BAWN_CTL_FS_PROTECT;
	m = cover(plan, inside, false);
	if (m != root) {
		*ret_rule = m && m->rule ? m->rule : "filesystem.write";
		return m && m->protect                 ? BAWN_CTL_FS_PROTECT
		       : m && m->kind == BAWN_MNT_HIDE ? BAWN_CTL_FS_DENY
						       : BAWN_CTL_FS_WRITE;
	}
	*ret_rule = guard_of(plan, inside, gone);
	if (*ret_rule)
		return BAWN_CTL_FS_PROTECT;
	m = cover(plan, inside, true);
	*ret_rule = m->rule;
	/* neither the root nor what is pinned in its place can go or become something else */
	if (!strcmp(m->dst, inside) && e->kind != BAWN_ENTRY_META &&
		!(e->kind == BAWN_ENTRY_DIR || (e->kind == BAWN_ENTRY_FILE && m == root)))
		return BAWN_CTL_FS_PROTECT;
	return 0;
}
