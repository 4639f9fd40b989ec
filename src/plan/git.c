/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the git directory of a workspace. A `.git` file is a claim made by the workspace about a
 * directory elsewhere; it is believed only if that directory makes the same claim about the
 * workspace, for otherwise a file could have any repository of the user opened for writing.
 */
#include "plan/git.h"

#include <errno.h>
#include <fcntl.h>

#include <sys/stat.h>

#include "base/io.h"
#include "base/path.h"
#include "plan/git_config.h"

#define GIT_FILE_MAX ((size_t)16 << 10)

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
}

static int refuse(struct git_repo *g, const char *path, const char *why, struct bawn_error *err)
{
	g->git->refused = bawn_arena_printf(g->a, "'%s' was not followed: %s", path, why);
	return g->git->refused ? 0 : no_memory(err);
}

static bool is_kind(struct bawn_arena *a, const char *dir, const char *name, mode_t kind)
{
	const char *path = bawn_path_join(a, dir, name);
	struct stat st;

	return path && lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

static bool has_head(struct bawn_arena *a, const char *dir)
{
	return is_kind(a, dir, "HEAD", S_IFREG) || is_kind(a, dir, "HEAD", S_IFLNK);
}

static bool looks_like_repository(struct bawn_arena *a, const char *dir)
{
	return has_head(a, dir) && is_kind(a, dir, "objects", S_IFDIR) &&
	       is_kind(a, dir, "refs", S_IFDIR);
}

/* Somebody else's repository is not opened, whatever it says; git itself would refuse it. */
static bool is_ours(const char *dir, const char *workspace)
{
	struct stat st, ws;

	return stat(dir, &st) == 0 && stat(workspace, &ws) == 0 &&
	       (st.st_uid == geteuid() || st.st_uid == ws.st_uid);
}

/* A one-line file in a git directory that names a path, made canonical. NULL if there is none. */
static int read_link_file(struct git_repo *g, const char *dir, const char *name, const char **ret)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *file = bawn_path_join(g->a, dir, name), *path;
	int r;

	*ret = NULL;
	if (!file)
		return -ENOMEM;
	r = bawn_read_file(AT_FDCWD, file, GIT_FILE_MAX, &b);
	if (r < 0 || !b.len)
		return r == -ENOMEM ? r : 0;
	while (b.len && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r'))
		b.data[--b.len] = '\0';
	if (!b.len || memchr(b.data, '\0', b.len) || memchr(b.data, '\n', b.len))
		return 0;
	path = bawn_path_join(g->a, dir, b.data);
	if (!path)
		return -ENOMEM;
	r = bawn_path_resolve(g->a, path, ret);
	return r == -ENOMEM ? r : 0;
}

/* Protect all that decides in the git directory that was found. */
static int protect_all(struct git_repo *g, struct bawn_error *err)
{
	const struct bawn_git *git = g->git;
	int r = git_protect_dir(g, git->git_dir, g->workspace, err);

	if (r < 0)
		return r;
	if (strcmp(git->common_dir, git->git_dir) != 0) {
		r = git_protect_dir(g, git->common_dir, g->workspace, err);
		if (r < 0)
			return r;
	}
	return git_protect_nested(g, git->common_dir, err);
}

/* A git directory inside the workspace: git uses it whatever we think of it. */
static int take_inside(struct git_repo *g, const char *dir, struct bawn_error *err)
{
	const char *common = NULL;
	int r = read_link_file(g, dir, "commondir", &common);

	if (r < 0)
		return no_memory(err);
	g->git->git_dir = dir;
	g->git->common_dir = dir;
	if (common && bawn_path_under(common, g->workspace)) {
		g->git->common_dir = common;
	} else if (common) {
		r = refuse(g, dir, "its commondir lies outside the workspace", err);
		if (r < 0)
			return r;
	}
	return protect_all(g, err);
}

/* Linked worktree: <common>/worktrees/<id>, whose `gitdir` names our .git file. */
static int is_our_worktree(struct git_repo *g, const char *dir, const char *common)
{
	const char *own = bawn_path_join(g->a, g->workspace, ".git"), *back = NULL, *parent;
	const char *slash = strrchr(dir, '/');
	int r;

	parent = bawn_path_join(g->a, common, "worktrees");
	if (!own || !parent)
		return -ENOMEM;
	if ((size_t)(slash - dir) != strlen(parent) || strncmp(dir, parent, strlen(parent)) != 0)
		return 0;
	r = read_link_file(g, dir, "gitdir", &back);
	if (r < 0)
		return r;
	return back && !strcmp(back, own) && has_head(g->a, dir) &&
	       looks_like_repository(g->a, common) && is_ours(common, g->workspace);
}

static int take_outside(struct git_repo *g, const char *dir, struct bawn_error *err)
{
	const char *common = NULL, *worktree = NULL, *grant = dir;
	int r = read_link_file(g, dir, "commondir", &common);
	bool ours;

	if (r < 0)
		return no_memory(err);
	if (common) {
		r = is_our_worktree(g, dir, common);
		if (r < 0)
			return no_memory(err);
		ours = r > 0;
		grant = common;
	} else {
		r = looks_like_repository(g->a, dir) ? git_read_worktree(g, dir, &worktree, err)
						     : 0;
		if (r < 0)
			return r;
		ours = worktree && !strcmp(worktree, g->workspace) && is_ours(dir, g->workspace);
	}
	/* never a directory that holds the workspace: that would grant more than git needs */
	if (!ours || !is_ours(dir, g->workspace) || bawn_path_under(g->workspace, grant))
		return refuse(g, dir,
			"it does not point back at this workspace; run from the repository's own directory",
			err);
	g->git->git_dir = dir;
	g->git->common_dir = grant;
	g->git->outside = true;
	if (!bawn_path_under(grant, g->workspace) &&
		bawn_strlist_add(g->a, &g->git->writable, grant) < 0)
		return no_memory(err);
	return protect_all(g, err);
}

static int take_dir(struct git_repo *g, const char *dir, struct bawn_error *err)
{
	return bawn_path_under(dir, g->workspace) ? take_inside(g, dir, err)
						  : take_outside(g, dir, err);
}

static int take_file(struct git_repo *g, const char *dot_git, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *target = NULL, *path, *dir = NULL;
	int r = bawn_read_file(AT_FDCWD, dot_git, GIT_FILE_MAX, &b);

	if (r >= 0)
		r = b.len ? git_file_parse(g->a, b.data, b.len, &target) : -EBADMSG;
	if (r == -ENOMEM)
		return no_memory(err);
	if (r < 0)
		return refuse(g, dot_git, "it is not a file that git wrote", err);
	path = bawn_path_join(g->a, g->workspace, target);
	if (!path)
		return no_memory(err);
	r = bawn_path_resolve(g->a, path, &dir);
	/* a target that is missing may be created later */
	if (r == -ENOMEM || (r < 0 && git_protect(g, path) < 0))
		return no_memory(err);
	if (r < 0)
		return refuse(g, path, strerrordesc_np(-r), err);
	return take_dir(g, dir, err);
}

/* No .git here: those of a new one, and a word about a repository further up. */
static int take_none(struct git_repo *g, const char *dot_git, struct bawn_error *err)
{
	char *up = bawn_arena_strdup(g->a, g->workspace);
	const char *path;
	struct stat st;
	int r = git_protect_dir(g, dot_git, g->workspace, err);

	if (r < 0)
		return r;
	if (looks_like_repository(g->a, g->workspace))
		return take_inside(g, g->workspace, err);
	if (!up)
		return no_memory(err);
	for (char *slash; (slash = strrchr(up, '/'));) {
		*slash = '\0';
		path = bawn_path_join(g->a, *up ? up : "/", ".git");
		if (!path)
			return no_memory(err);
		if (lstat(path, &st) == 0)
			return refuse(g, path,
				"the repository lies outside the workspace; run from the repository's root or add it with --rw",
				err);
	}
	return 0;
}

static int take_symlink(struct git_repo *g, const char *dot_git, struct bawn_error *err)
{
	const char *real = NULL;
	struct stat st;
	int r = bawn_path_resolve(g->a, dot_git, &real);

	if (r == -ENOMEM)
		return no_memory(err);
	if (r < 0 || stat(real, &st) < 0)
		return refuse(g, dot_git, "it is a symlink to nothing", err);
	if (!bawn_path_under(real, g->workspace))
		return refuse(g, dot_git, "it is a symlink that leaves the workspace", err);
	if (S_ISDIR(st.st_mode))
		return take_inside(g, real, err);
	return take_file(g, real, err);
}

static int find(struct git_repo *g, struct bawn_error *err)
{
	const char *dot_git = bawn_path_join(g->a, g->workspace, ".git");
	struct stat st;

	if (!dot_git)
		return no_memory(err);
	if (lstat(dot_git, &st) < 0) {
		if (errno == ENOENT) {
			g->plain = dot_git;
			return take_none(g, dot_git, err);
		}
		return bawn_fail(err, BAWN_ERR_PLAN, -errno, "cannot look at '%s': %s", dot_git,
			strerrordesc_np(errno));
	}
	if (S_ISDIR(st.st_mode)) {
		g->plain = dot_git;
		return take_inside(g, dot_git, err);
	}
	if (git_protect(g, dot_git) < 0)
		return no_memory(err);
	if (S_ISLNK(st.st_mode))
		return take_symlink(g, dot_git, err);
	if (S_ISREG(st.st_mode))
		return take_file(g, dot_git, err);
	return refuse(g, dot_git, "it is neither a directory nor a file", err);
}

int bawn_git_find(struct bawn_arena *a, const char *workspace, const char *home,
	struct bawn_git *ret, struct bawn_error *err)
{
	struct bawn_git git = {0};
	struct git_repo g = {.a = a, .workspace = workspace, .home = home, .git = &git};
	int r = find(&g, err);

	if (r < 0)
		return r;
	r = git_read_user(&g, err);
	if (r < 0)
		return r;
	*ret = git;
	return 0;
}
