/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/tool_policy.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"

static int add(struct bawn_arena *a, struct bawn_findings *out, const char *rule,
	const char *message, struct bawn_error *err)
{
	struct bawn_finding *f = bawn_grow(a, &out->v, &out->n, &out->cap);

	if (!f || !message)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	*f = (struct bawn_finding){
		.detector = "tool-policy",
		.rule = rule,
		.category = "policy",
		.level = BAWN_SEV_CRITICAL,
		.confidence = 1.0,
		.message = message,
	};
	return 0;
}

/* Where the path really leads; for one that does not exist, where its directory leads. */
static const char *real_path(struct bawn_arena *a, const char *cwd, const char *path)
{
	const char *full = bawn_path_join(a, cwd && *cwd == '/' ? cwd : "/", path);
	const char *real = NULL;
	char *slash, *dir;

	if (!full || bawn_path_resolve(a, full, &real) >= 0)
		return real;
	dir = bawn_arena_strdup(a, full);
	slash = dir ? strrchr(dir, '/') : NULL;
	if (!slash || slash == dir)
		return full;
	*slash = '\0';
	return bawn_path_resolve(a, dir, &real) >= 0 ? bawn_path_join(a, real, slash + 1) : full;
}

static bool covers(const char *denied, const char *path)
{
	return bawn_path_is_glob(denied) ? bawn_glob_match(denied, path)
					 : bawn_path_under(path, denied);
}

static int check_path(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_tool_call *c, const char *named, struct bawn_findings *out,
	struct bawn_error *err)
{
	const char *path = named;
	const char *home = p->home;
	const char *real;

	if (path[0] == '~' && path[1] == '/' && home)
		path = bawn_path_join(a, home, path + 2);
	real = path ? real_path(a, c->cwd, path) : NULL;
	if (!real)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->fs_deny.n; i++)
		if (covers(p->fs_deny.v[i].text, real))
			return add(a, out, "filesystem.deny",
				bawn_arena_printf(a,
					"'%s' is out of reach by filesystem.deny '%s'; remove that entry to "
					"allow it",
					named,
					p->fs_deny.v[i].raw ? p->fs_deny.v[i].raw
							    : p->fs_deny.v[i].text),
				err);
	return 0;
}

int bawn_tool_policy(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_tool_call *c, struct bawn_findings *out, struct bawn_error *err)
{
	int r = c->use.path ? check_path(a, p, c, c->use.path, out, err) : 0;

	for (size_t i = 0; r >= 0 && i < c->paths.n; i++)
		r = check_path(a, p, c, c->paths.v[i], out, err);
	return r;
}
