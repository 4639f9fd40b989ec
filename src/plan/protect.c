/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protected paths: agent and git configuration that a call must not change. What exists is bound
 * read-only over itself, and its parents up to the workspace are pinned so that they cannot be
 * renamed away. What does not exist is guarded: the first missing name in a directory that exists.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/libexec.h"
#include "plan/build.h"

#define LINKS_MAX 40 /* as the kernel */

/* May somebody of this layer release what is being protected? */
static bool may_release(const struct plan_builder *b, const struct bawn_item *it)
{
	return b->by == BAWN_LAYER_DEFAULT || it->from.layer <= b->by;
}

static bool is_released(const struct plan_builder *b, const char *path)
{
	for (size_t i = 0; i < b->p->fs_unprotect.n; i++) {
		const char *p = bawn_path_join(b->a, b->c->workspace, b->p->fs_unprotect.v[i].text);

		if (p && bawn_path_under(path, p) && may_release(b, &b->p->fs_unprotect.v[i]))
			return true;
	}
	/* an explicit grant by somebody who may give it; a repository's own file may not */
	for (size_t i = 0; i < b->p->fs_write.n; i++) {
		const struct bawn_item *it = &b->p->fs_write.v[i];

		if (it->from.layer != BAWN_LAYER_WORKSPACE && may_release(b, it) &&
			strcmp(it->text, b->c->workspace) != 0 &&
			bawn_path_under(it->text, b->c->workspace) &&
			bawn_path_under(path, it->text))
			return true;
	}
	return false;
}

/*
 * The option that would release `path`, NULL if none does: what a weaker layer, as an option is,
 * may not release, and what lies outside the workspace.
 */
static const char *release_of(const struct plan_builder *b, const char *path, bool exists)
{
	const char *ws = b->c->workspace;
	size_t n = strcmp(ws, "/") != 0 ? strlen(ws) : 0;

	if (b->ours || !bawn_path_under(path, ws) || !path[n] ||
		(b->by != BAWN_LAYER_DEFAULT && b->by < BAWN_LAYER_OPERATOR))
		return NULL;
	return bawn_arena_printf(b->a, "%s %s", exists ? "--rw" : "--unprotect", path + n + 1);
}

static bool has_mount(const struct plan_builder *b, const char *dst)
{
	for (size_t i = 0; i < b->plan->n_mounts; i++)
		if (!strcmp(b->plan->mounts[i].dst, dst))
			return true;
	return false;
}

static int pin(struct plan_builder *b, const char *dir, const char *rule, struct bawn_error *err)
{
	const struct bawn_mount *cover = plan_cover(b, dir);

	/* where nothing can be written it stays, and must not become writable */
	if (has_mount(b, dir) || !cover || cover->kind != BAWN_MNT_RW)
		return 0;
	return plan_add_mount(b,
		(struct bawn_mount){
			.kind = BAWN_MNT_RW, .pin = true, .src = dir, .dst = dir, .rule = rule},
		err);
}

static int guard(struct plan_builder *b, const char *dir, const char *name, const char *rule,
	struct bawn_error *err)
{
	struct bawn_guard *g;
	const char *path;

	for (size_t i = 0; i < b->plan->n_guards; i++)
		if (!strcmp(b->plan->guards[i].dir, dir) && !strcmp(b->plan->guards[i].name, name))
			return 0;
	g = bawn_grow(b->a, &b->plan->guards, &b->plan->n_guards, &b->guards_cap);
	if (!g)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	path = bawn_path_join(b->a, dir, name);
	if (!path)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	*g = (struct bawn_guard){
		.dir = dir, .name = name, .rule = rule, .release = release_of(b, path, false)};
	return 0;
}

/* A grant that cannot release what is being protected: it is read-only after all. */
static bool is_void(const struct plan_builder *b, const struct bawn_mount *m)
{
	bool is = b->ours || b->by != BAWN_LAYER_DEFAULT;

	for (size_t i = 0; is && !b->ours && i < b->p->fs_write.n; i++)
		if (!strcmp(b->p->fs_write.v[i].text, m->dst) &&
			may_release(b, &b->p->fs_write.v[i]))
			is = false;
	return is && m->kind == BAWN_MNT_RW && !m->pin;
}

static int keep(struct plan_builder *b, const char *path, const char *rule, struct bawn_error *err)
{
	if (bawn_strlist_add(b->a, &b->protect, path) < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	for (size_t i = 0; i < b->plan->n_mounts; i++) {
		struct bawn_mount *m = &b->plan->mounts[i];

		if (!bawn_path_under(m->dst, path) || !is_void(b, m))
			continue;
		m->kind = BAWN_MNT_RO;
		m->protect = true;
		m->rule = rule;
	}
	if (has_mount(b, path))
		return 0;
	return plan_add_mount(b,
		(struct bawn_mount){.kind = BAWN_MNT_RO,
			.protect = true,
			.src = path,
			.dst = path,
			.rule = rule,
			.release = release_of(b, path, true)},
		err);
}

/* Where the symlink `at` leads, with `rest` behind it; NULL and errno if that cannot be told. */
static const char *follow(struct plan_builder *b, const char *dir, const char *at, const char *rest)
{
	char target[PATH_MAX];
	ssize_t n = readlink(at, target, sizeof(target) - 1);
	const char *to;

	if (n < 0)
		return NULL;
	target[n] = '\0';
	to = bawn_path_join(b->a, dir, target);
	to = to && *rest ? bawn_path_join(b->a, to, rest) : to;
	if (!to)
		errno = ENOMEM;
	return to;
}

/* Walk from `root` (writable, exists) towards `path`, component by component. 1 if a symlink is on
 * the way: *ret_next is where it leads, existing or not, and has to be protected as well. */
static int protect_path(struct plan_builder *b, const char *root, const char *path,
	const char *rule, const char **ret_next, struct bawn_error *err)
{
	const char *dir = root;
	const char *rest = path + strlen(root);

	while (*rest == '/')
		rest++;
	while (*rest) {
		size_t len = strcspn(rest, "/");
		const char *name = bawn_arena_strndup(b->a, rest, len);
		const char *at = name ? bawn_path_join(b->a, dir, name) : NULL;
		struct stat st;
		int r;

		if (!at)
			return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
		rest += len + strspn(rest + len, "/");
		if (lstat(at, &st) < 0)
			return errno == ENOENT || errno == ENOTDIR
				       ? guard(b, dir, name, rule, err)
				       : bawn_fail(err, BAWN_ERR_PLAN, -errno,
						 "cannot look at '%s': %m", at);
		if (S_ISLNK(st.st_mode)) { /* may vanish, but cannot be made anew */
			const char *next = follow(b, dir, at, rest);
			if (!next)
				return bawn_fail(
					err, BAWN_ERR_PLAN, -errno, "cannot look at '%s': %m", at);
			*ret_next = next;
			r = guard(b, dir, name, rule, err);
			return r < 0 ? r : 1;
		}
		if (!*rest)
			return keep(b, at, rule, err);
		if (!S_ISDIR(st.st_mode))
			return keep(b, at, rule,
				err); /* a file where a directory would be: stays a file */
		r = pin(b, at, rule, err);
		if (r < 0)
			return r;
		dir = at;
	}
	return 0;
}

/* The writable root that `path` lies in, NULL if it is not writable inside. A directory that was
 * pinned belongs to the root it lies in: others in it have to be protected as well. */
static const char *writable_root(const struct plan_builder *b, const char *path)
{
	const struct bawn_mount *m = plan_cover(b, path);

	while (m && m->kind == BAWN_MNT_RW && m->pin && strcmp(m->dst, "/") != 0) {
		size_t up = (size_t)(strrchr(m->dst, '/') - m->dst);
		const char *dir = bawn_arena_strndup(b->a, m->dst, up ? up : 1);

		m = dir ? plan_cover(b, dir) : NULL;
	}
	return m && m->kind == BAWN_MNT_RW ? m->dst : NULL;
}

static const char *root_of(const struct plan_builder *b, const char *path)
{
	return b->workspace_writable && bawn_path_under(path, b->c->workspace)
		       ? b->c->workspace
		       : writable_root(b, path);
}

int plan_pin_above(
	struct plan_builder *b, const char *path, const char *rule, struct bawn_error *err)
{
	const char *root = root_of(b, path);
	const char *slash;
	int r = 0;

	if (!root || !strcmp(root, path))
		return 0;
	slash = path + (strcmp(root, "/") != 0 ? strlen(root) : 0);
	while (r == 0 && (slash = strchr(slash + 1, '/'))) {
		const char *dir = bawn_arena_strndup(b->a, path, (size_t)(slash - path));
		struct stat st;

		if (!dir)
			return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
		if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
			break;
		r = pin(b, dir, rule, err);
	}
	return r;
}

/* As protect_path(), from the right root; *path becomes what comes next. */
static int protect_step(
	struct plan_builder *b, const char **path, const char *rule, struct bawn_error *err)
{
	const char *root = root_of(b, *path);

	if ((!b->ours && is_released(b, *path)) || !root)
		return 0;
	if (!strcmp(root, *path)) /* granted by name: what is ours is not there to be granted */
		return b->ours ? keep(b, *path, rule, err) : 0;
	return protect_path(b, root, *path, rule, path, err);
}

/* Follows symlinks one by one: what they lead to must stay as well, if it is writable at all. */
static int protect_one(
	struct plan_builder *b, const char *path, const char *rule, struct bawn_error *err)
{
	const char *next = path, *real = NULL;
	int r = protect_step(b, &next, rule, err);
	int end = 0;

	/* where it ends, as the kernel sees it; and every step on the way, for it may end nowhere
	 */
	if (r > 0 && bawn_path_resolve(b->a, path, &real) == 0)
		end = protect_step(b, &real, rule, err);
	if (end < 0)
		return end;
	for (int hops = 0; r > 0 && hops < LINKS_MAX; hops++)
		r = protect_step(b, &next, rule, err);
	return r < 0 ? r : 0;
}

/* `name` in `dir`, or `dir` itself. */
static int protect_copy(struct plan_builder *b, const char *dir, const char *name, const char *rule,
	struct bawn_error *err)
{
	const char *path = *name ? bawn_path_join(b->a, dir, name) : bawn_arena_strdup(b->a, dir);

	return path ? protect_one(b, path, rule, err)
		    : bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
}

/* This program, and those that it would start because they lie beside it, whether they do or not.
 */
static int protect_programs(struct plan_builder *b, struct bawn_error *err)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *name;
	int r;

	if (n <= 0)
		return 0;
	exe[n] = '\0';
	name = strrchr(exe, '/');
	if (!name || access(exe, F_OK) < 0)
		return 0;
	r = protect_copy(b, exe, "", "bawn itself", err);
	*name = '\0';
	for (const char *const *v = bawn_libexec_names; r == 0 && *v; v++) {
		r = protect_copy(b, exe, *v, "bawn itself", err);
		if (r == 0)
			r = protect_copy(b, BAWN_LIBEXECDIR, *v, "bawn itself", err);
	}
	return r;
}

/* What no grant releases, should it lie where the command can write: our programs, the audit log,
 * and that nobody puts a vault of his own there; what is there is hidden. */
static int protect_ours(struct plan_builder *b, struct bawn_error *err)
{
	int r = 0;

	b->ours = true;
	for (const char *const *v = b->vault; r == 0 && v && *v; v++)
		r = protect_one(b, *v, "vault", err);
	for (const struct bawn_plan_own *o = b->own; r == 0 && o && o->path; o++)
		r = protect_one(b, o->path, o->what, err);
	if (r == 0)
		r = protect_programs(b, err);
	b->ours = false;
	return r;
}

static int protect_policies(struct plan_builder *b, struct bawn_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->p->n_files; i++)
		r = protect_one(b, b->p->files[i], "policy file", err);
	return r;
}

/* A workspace that is the home: what a shell runs at its next start is configuration, too. */
static int protect_home(struct plan_builder *b, struct bawn_error *err)
{
	static const char *const names[] = {".bashrc", ".bash_profile", ".bash_login",
		".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile",
		".zlogin", ".config/fish", ".config/autostart", ".config/systemd", ".config/git",
		".gitconfig", ".local/bin", "bin", ".pam_environment", ".xprofile", ".xinitrc",
		".ssh", ".vimrc", ".config/nvim", ".npmrc", ".cargo/bin", ".cargo/config.toml"};
	int r = 0;

	if (!b->p->home || !bawn_path_under(b->p->home, b->c->workspace))
		return 0;
	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path = bawn_path_join(b->a, b->p->home, names[i]);

		r = path ? protect_one(b, path, names[i], err)
			 : bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	}
	return r;
}

int plan_make_protect(struct plan_builder *b, struct bawn_error *err)
{
	int r = protect_ours(b, err);

	if (r < 0 || !b->workspace_writable)
		return r < 0 ? r : protect_policies(b, err);
	for (size_t i = 0; r == 0 && i < b->p->fs_protect.n; i++) {
		const char *name = b->p->fs_protect.v[i].text;
		const char *path = bawn_path_join(b->a, b->c->workspace, name);

		b->by = b->p->fs_protect.v[i].from.layer;
		r = path ? protect_one(b, path, name, err)
			 : bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	}
	b->by = BAWN_LAYER_DEFAULT;
	for (size_t i = 0; r == 0 && i < b->git.protect.n; i++)
		r = protect_one(b, b->git.protect.v[i], "git configuration", err);
	if (r == 0)
		r = protect_home(b, err);
	return r == 0 ? protect_policies(b, err) : r;
}
