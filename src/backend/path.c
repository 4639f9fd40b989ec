/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last resort without kernel support: looks for paths in the words of the command and refuses
 * those the plan does not grant. Anything that computes a path gets around it, so its receipt
 * claims nothing: it runs only where the policy lets the controls go missing.
 */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "backend/backends.h"
#include "backend/process.h"

static int path_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)err;
	*ret = (struct bawn_probe){
		.offers = BAWN_CTL_ENV | BAWN_CTL_LIMIT_TIME | BAWN_CTL_LIMIT_OUTPUT,
		.reason = "looks at the command's words only; nothing is enforced by the kernel",
	};
	return 0;
}

static bool granted(const struct bawn_plan *plan, const char *path)
{
	bool ok = false;

	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];

		if (m->kind == BAWN_MNT_SYMLINK || !bawn_path_under(path, m->dst))
			continue;
		/* later mounts cover earlier ones; a private home is not there without a mount */
		ok = m->kind != BAWN_MNT_HIDE && !(m->kind == BAWN_MNT_SCRATCH && m->src);
	}
	return ok || bawn_path_under(path, "/dev") || bawn_path_under(path, "/proc");
}

/* The home as the command will know it. */
static const char *home_of(const struct bawn_plan *plan)
{
	for (const char *const *v = plan->envp; *v; v++)
		if (!strncmp(*v, "HOME=", 5))
			return *v + 5;
	return "/";
}

/* One candidate: absolute, ~/…, or relative with a slash or dots. */
static int check_word(struct bawn_arena *a, const struct bawn_plan *plan, const char *word,
	size_t len, struct bawn_error *err)
{
	const char *text = bawn_arena_strndup(a, word, len);
	const char *path;

	if (!text)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	if (text[0] == '~' && (text[1] == '/' || !text[1]))
		path = bawn_arena_printf(a, "%s%s", home_of(plan), text + 1);
	else if (text[0] == '/' || strchr(text, '/') || !strcmp(text, ".."))
		path = text;
	else
		return 0;
	path = path ? bawn_path_join(a, plan->cwd, path) : NULL;
	if (!path)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	(void)bawn_path_resolve(a, path, &path);
	if (granted(plan, path))
		return 0;
	return bawn_fail(err, BAWN_ERR_BLOCKED, -EACCES,
		"the command names '%s', which the policy does not grant; allow it with --ro or --rw",
		path);
}

static int path_check(const struct bawn_plan *plan, struct bawn_error *err)
{
	static const char stops[] = " \t\n'\"=;|&<>(){}$`:,";
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();

	if (!a)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	for (size_t i = 0; plan->argv[i]; i++)
		for (const char *p = plan->argv[i]; *p;) {
			size_t len = strcspn(p, stops);
			int r = len ? check_word(a, plan, p, len, err) : 0;

			if (r < 0)
				return r;
			p += len + (p[len] ? 1 : 0);
		}
	return 0;
}

static int path_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	int r = bawn_process_prepare(in, plan, stdio, err);

	if (r < 0)
		return r;
	(void)snprintf(in->walls, sizeof(in->walls),
		"none: paths in the command's words were checked, NOT ENFORCED");
	return path_check(plan, err);
}

const struct bawn_backend bawn_backend_path = {
	.abi = BAWN_BACKEND_ABI,
	.name = "path",
	.aliases = "soft",
	.summary = "checks paths in the command's words; enforces nothing",
	.level = BAWN_LEVEL_NONE,
	.strength = 10,
	.instance_size = sizeof(struct bawn_process),
	.probe = path_probe,
	.prepare = path_prepare,
	.await = bawn_process_await,
	.start = bawn_process_start,
	.event = bawn_process_event,
	.signal = bawn_process_signal,
	.destroy = bawn_process_destroy,
};
