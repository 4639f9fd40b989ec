/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which paths decide what git executes. What names a program or a further configuration file is
 * protected whether it exists or not: the command could create it. `commondir` is among them since
 * it moves hooks and configuration elsewhere.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <sys/stat.h>

#include "base/io.h"
#include "base/path.h"
#include "plan/git_config.h"

#define INCLUDE_DEPTH 10
#define FILES_MAX     64
#define DIRS_MAX      2048
#define NESTED_DEPTH  24
#define PERSON_MAX    256

static const char *const hook_names[] = {"applypatch-msg", "pre-applypatch", "post-applypatch",
	"pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit",
	"pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
	"proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout",
	"pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist",
	"p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change"};

struct file {
	const char *path;
	unsigned depth;
};

/* What one repository's configuration files say together. */
struct config {
	struct git_repo *g;
	struct file *files; /* queue; also what was seen */
	size_t n, cap;
	size_t at;
	struct bawn_strlist hooks;
	const char *worktree;
	const char *name, *email;
};

static bool can_write(const struct git_repo *g, const char *path)
{
	const struct bawn_git *git = g->git;

	return bawn_path_under(path, g->workspace) ||
	       (git->git_dir && bawn_path_under(path, git->git_dir)) ||
	       (git->common_dir && bawn_path_under(path, git->common_dir));
}

static int add_once(struct git_repo *g, const char *path)
{
	struct bawn_strlist *l = &g->git->protect;

	if (!can_write(g, path))
		return 0;
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], path))
			return 0;
	return bawn_strlist_add(g->a, l, path);
}

static const char *dir_of(struct bawn_arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash || slash == path ? "/" : bawn_arena_strndup(a, path, (size_t)(slash - path));
}

/* Canonical as far as it exists, the rest as text. */
static const char *resolve_front(struct bawn_arena *a, const char *clean)
{
	char *front = bawn_arena_strdup(a, clean);
	const char *real = NULL;

	if (!front)
		return NULL;
	for (size_t n = strlen(front); n > 1;) {
		if (bawn_path_resolve(a, front, &real) >= 0)
			return clean[n] ? bawn_path_join(a, real, clean + n + 1) : real;
		while (n > 1 && front[n - 1] != '/')
			n--;
		front[--n] = '\0';
	}
	return clean;
}

/* A directory with the whole tree in it cannot be made read-only. */
static bool holds_all(const struct git_repo *g, const char *dir)
{
	const struct bawn_git *git = g->git;

	return bawn_path_under(g->workspace, dir) ||
	       (git->git_dir && bawn_path_under(git->git_dir, dir)) ||
	       (git->common_dir && bawn_path_under(git->common_dir, dir));
}

/* Where a symlink leads, though there is nothing yet. */
static int add_link_target(struct git_repo *g, const char *link)
{
	const char *dir = dir_of(g->a, link), *path;
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n <= 0)
		return 0;
	target[n] = '\0';
	path = dir ? bawn_path_join(g->a, dir, target) : NULL;
	if (!path)
		return -ENOMEM;
	return holds_all(g, path) ? 0 : add_once(g, path);
}

/* True if `clean` is no symlink and none is on the way to it: the common case, told by one look. */
static bool is_plain(const struct git_repo *g, const char *clean)
{
	size_t n = g->plain ? strlen(g->plain) : 0;
	struct stat st;

	if (!n || strncmp(clean, g->plain, n) != 0 || clean[n] != '/' || strchr(clean + n + 1, '/'))
		return false;
	return lstat(clean, &st) < 0 ? errno == ENOENT : !S_ISLNK(st.st_mode);
}

int git_protect(struct git_repo *g, const char *path)
{
	const char *clean = bawn_path_clean(g->a, path), *real;
	int r;

	if (!clean)
		return -ENOMEM;
	if (is_plain(g, clean))
		return holds_all(g, clean) ? 0 : add_once(g, clean);
	real = resolve_front(g->a, clean);
	if (!real)
		return -ENOMEM;
	r = holds_all(g, clean) ? 0 : add_once(g, clean);
	if (r >= 0)
		r = add_link_target(g, clean);
	return r < 0 || holds_all(g, real) ? r : add_once(g, real);
}

static int protect_in(struct git_repo *g, const char *dir, const char *name)
{
	const char *path = bawn_path_join(g->a, dir, name);

	return path ? git_protect(g, path) : -ENOMEM;
}

/* A directory of hooks; where that is the whole tree, name by name. */
static int protect_hooks(struct git_repo *g, const char *dir)
{
	const char *real = is_plain(g, dir) ? dir : resolve_front(g->a, dir);
	int r = real ? git_protect(g, dir) : -ENOMEM;

	if (r < 0 || !holds_all(g, real))
		return r;
	for (size_t i = 0; i < sizeof(hook_names) / sizeof(hook_names[0]) && r >= 0; i++)
		r = protect_in(g, real, hook_names[i]);
	return r;
}

/* A path as git reads it: "~/" is the home, else relative to `base`. NULL in *ret: not for us. */
static int expand(struct git_repo *g, const char *base, const char *value, const char **ret)
{
	*ret = NULL;
	if (!*value || (value[0] == '~' && value[1] && value[1] != '/') || !strncmp(value, "%(", 2))
		return 0;
	if (value[0] == '~') {
		if (!g->home)
			return 0;
		base = g->home;
		value += value[1] ? 2 : 1;
	}
	*ret = bawn_path_join(g->a, base, value);
	return *ret ? 0 : -ENOMEM;
}

static int enqueue(struct config *c, const char *path, unsigned depth)
{
	struct file *f;

	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->files[i].path, path))
			return 0;
	if (depth > INCLUDE_DEPTH)
		return 0; /* git gives up there, too */
	if (c->n >= FILES_MAX)
		return -E2BIG;
	f = bawn_grow(c->g->a, &c->files, &c->n, &c->cap);
	if (!f)
		return -ENOMEM;
	*f = (struct file){path, depth};
	return 0;
}

static int on_include(struct config *c, const char *value)
{
	unsigned depth = c->files[c->at].depth;
	const char *dir = dir_of(c->g->a, c->files[c->at].path), *path = NULL;
	int r;

	if (!dir)
		return -ENOMEM;
	r = expand(c->g, dir, value, &path);
	if (r < 0 || !path)
		return r;
	r = git_protect(c->g, path);
	return r < 0 ? r : enqueue(c, path, depth + 1);
}

/* Names go into environment variables: short and without control characters, or not at all. */
static int on_person(struct config *c, const char *value, const char **ret)
{
	size_t n = strlen(value);
	const char *copy;

	if (!n || n > PERSON_MAX)
		return 0;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
			return 0;
	copy = bawn_arena_strdup(c->g->a, value);
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

static int on_core(struct config *c, const char *key, const char *value)
{
	const char *copy = bawn_arena_strdup(c->g->a, value), *path = NULL;
	int r;

	if (!copy)
		return -ENOMEM;
	if (!strcmp(key, "worktree")) {
		c->worktree = copy;
	} else if (!strcmp(key, "hookspath")) {
		return bawn_strlist_add(c->g->a, &c->hooks, copy);
	} else if (!strcmp(key, "attributesfile")) {
		r = expand(c->g, c->g->workspace, copy, &path);
		return r < 0 || !path ? r : git_protect(c->g, path);
	}
	return 0;
}

static int on_variable(
	void *ctx, const char *section, bool has_subsection, const char *key, const char *value)
{
	struct config *c = ctx;

	if (!value)
		return 0;
	if (!strcmp(section, "core") && !has_subsection)
		return on_core(c, key, value);
	if (!strcmp(key, "path") && !strcmp(section, has_subsection ? "includeif" : "include"))
		return on_include(c, value);
	if (strcmp(section, "user") != 0 || has_subsection)
		return 0;
	if (!strcmp(key, "name"))
		return on_person(c, value, &c->name);
	if (!strcmp(key, "email"))
		return on_person(c, value, &c->email);
	return 0;
}

static int read_one(struct config *c, const char *path)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct stat st;
	int r;

	/* opening a device can have effects of its own, and the path is not ours */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	r = bawn_read_file(AT_FDCWD, path, GIT_CONFIG_MAX, &b);
	if (r == -E2BIG || r == -ENOMEM)
		return r;
	if (r < 0 || !b.len)
		return 0; /* git cannot read it either, or there is nothing to read */
	r = git_config_parse(b.data, b.len, on_variable, c);
	return r == -EBADMSG ? 0 : r;
}

static int read_files(struct config *c, struct bawn_error *err)
{
	for (c->at = 0; c->at < c->n; c->at++) {
		int r = read_one(c, c->files[c->at].path);

		if (r == -E2BIG)
			return bawn_fail(err, BAWN_ERR_PLAN, r,
				"git configuration '%.300s' is too large or includes too many files; make it smaller",
				c->files[c->at].path);
		if (r < 0)
			return bawn_fail(err, BAWN_ERR_PLAN, r, "reading '%.300s': %s",
				c->files[c->at].path, strerrordesc_np(-r));
	}
	return 0;
}

/* git runs some hooks in the working tree and some in the git directory. */
static int protect_hook_paths(struct config *c, const char *worktree, const char *dir)
{
	const char *bases[] = {worktree, dir};

	for (size_t i = 0; i < c->hooks.n * 2; i++) {
		const char *path = NULL;
		int r;

		if (!bases[i % 2])
			continue;
		r = expand(c->g, bases[i % 2], c->hooks.v[i / 2], &path);
		if (r >= 0 && path)
			r = protect_hooks(c->g, path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_file(struct config *c, const char *dir, const char *name)
{
	const char *path = bawn_path_join(c->g->a, dir, name);

	return path ? enqueue(c, path, 0) : -ENOMEM;
}

/* The configuration in `dir`, and what it includes. */
static int read_configs(struct config *c, const char *dir, struct bawn_error *err)
{
	int r = add_file(c, dir, "config");

	if (r >= 0)
		r = add_file(c, dir, "config.worktree");
	return r < 0 ? bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory") : read_files(c, err);
}

int git_protect_dir(
	struct git_repo *g, const char *dir, const char *worktree, struct bawn_error *err)
{
	static const char *const names[] = {"config", "config.worktree", "commondir", "gitdir"};
	struct config c = {.g = g};
	const char *hooks = bawn_path_join(g->a, dir, "hooks");
	int r = hooks ? protect_hooks(g, hooks) : -ENOMEM;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && r >= 0; i++)
		r = protect_in(g, dir, names[i]);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory");
	r = read_configs(&c, dir, err);
	if (r < 0)
		return r;
	if (!worktree && c.worktree && expand(g, dir, c.worktree, &worktree) < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	r = protect_hook_paths(&c, worktree, dir);
	return r < 0 ? bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory") : 0;
}

int git_read_worktree(struct git_repo *g, const char *dir, const char **ret, struct bawn_error *err)
{
	struct config c = {.g = g};
	const char *path = NULL;
	int r = read_configs(&c, dir, err);

	if (r < 0)
		return r;
	*ret = NULL;
	if (c.worktree && expand(g, dir, c.worktree, &path) >= 0 && path)
		(void)bawn_path_resolve(g->a, path, ret);
	return 0;
}

int git_read_user(struct git_repo *g, struct bawn_error *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"); /* NOLINT(concurrency-mt-unsafe) */
	struct config c = {.g = g};
	int r = add_file(&c, "/etc", "gitconfig");

	if (r >= 0 && xdg && *xdg == '/')
		r = add_file(&c, xdg, "git/config");
	else if (r >= 0 && g->home)
		r = add_file(&c, g->home, ".config/git/config");
	if (r >= 0 && g->home)
		r = add_file(&c, g->home, ".gitconfig");
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory");
	r = read_files(&c, err);
	if (r < 0)
		return r;
	g->git->user_name = c.name;
	g->git->user_email = c.email;
	r = protect_hook_paths(&c, g->workspace, g->git->git_dir);
	return r < 0 ? bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory") : 0;
}

struct nested {
	struct git_repo *g;
	struct file *v; /* directories to look at; depth counts from the top */
	size_t n, cap;
};

static int push_dir(struct nested *q, const char *dir, const char *name, unsigned depth)
{
	const char *path = bawn_path_join(q->g->a, dir, name);
	struct file *f;

	if (!path)
		return -ENOMEM;
	if (q->n >= DIRS_MAX || depth > NESTED_DEPTH)
		return -E2BIG;
	f = bawn_grow(q->g->a, &q->v, &q->n, &q->cap);
	if (!f)
		return -ENOMEM;
	*f = (struct file){path, depth};
	return 0;
}

static int push_subdirs(struct nested *q, const struct file *at)
{
	int fd = open(at->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	int r = 0;

	if (!d) {
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	for (struct dirent *e; r >= 0 && (e = readdir(d));) { /* NOLINT(concurrency-mt-unsafe) */
		if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
			continue;
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = push_dir(q, at->path, e->d_name, at->depth + 1);
	}
	(void)closedir(d);
	return r;
}

/* A git directory is protected and searched for more of them; any other is a part of a name. */
static int visit(struct nested *q, struct file at, struct bawn_error *err)
{
	const char *head = bawn_path_join(q->g->a, at.path, "HEAD");
	struct stat st;
	int r;

	if (!head)
		return -ENOMEM;
	if (lstat(head, &st) < 0)
		return push_subdirs(q, &at);
	r = git_protect_dir(q->g, at.path, NULL, err);
	if (r < 0)
		return r;
	r = push_dir(q, at.path, "modules", at.depth + 1);
	return r < 0 ? r : push_dir(q, at.path, "worktrees", at.depth + 1);
}

int git_protect_nested(struct git_repo *g, const char *dir, struct bawn_error *err)
{
	struct nested q = {.g = g};
	int r = push_dir(&q, dir, "modules", 0);

	if (r >= 0)
		r = push_dir(&q, dir, "worktrees", 0);
	for (size_t i = 0; i < q.n && r >= 0; i++)
		r = visit(&q, q.v[i], err);
	/* too many to name one by one: all of them at once */
	if (r == -E2BIG) {
		r = protect_in(g, dir, "modules");
		if (r >= 0)
			r = protect_in(g, dir, "worktrees");
	}
	return r < 0 ? bawn_fail(err, BAWN_ERR_PLAN, r, "reading '%.300s': %s", dir,
			       strerrordesc_np(-r))
		     : 0;
}
