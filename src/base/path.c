/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

char *bawn_path_clean(struct bawn_arena *a, const char *path)
{
	size_t len = strlen(path);
	char *out = bawn_arena_alloc(a, len + 2);
	size_t n = 0;

	if (!out)
		return NULL;
	for (const char *p = path; *p;) {
		const char *end;

		while (*p == '/')
			p++;
		end = p + strcspn(p, "/");
		if (end - p == 2 && p[0] == '.' && p[1] == '.') {
			while (n && out[n - 1] != '/')
				n--;
			n -= n ? 1 : 0;
		} else if (end > p && !(end - p == 1 && p[0] == '.')) {
			out[n++] = '/';
			memcpy(out + n, p, (size_t)(end - p));
			n += (size_t)(end - p);
		}
		p = end;
	}
	if (!n)
		out[n++] = '/';
	out[n] = '\0';
	return out;
}

char *bawn_path_join(struct bawn_arena *a, const char *dir, const char *rest)
{
	char *joined;

	if (*rest == '/')
		return bawn_path_clean(a, rest);
	joined = bawn_arena_alloc(a, strlen(dir) + strlen(rest) + 2);
	if (!joined)
		return NULL;
	(void)stpcpy(stpcpy(stpcpy(joined, dir), "/"), rest);
	return bawn_path_clean(a, joined);
}

bool bawn_path_under(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1 && dir[0] == '/')
		return path[0] == '/';
	return !strncmp(path, dir, n) && (path[n] == '\0' || path[n] == '/');
}

int bawn_path_resolve(struct bawn_arena *a, const char *path, const char **ret)
{
	char buf[PATH_MAX];
	char *copy;

	if (!realpath(path, buf))
		return -errno;
	copy = bawn_arena_strdup(a, buf);
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

bool bawn_path_is_glob(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

/* One [class] at *pat against `c`; moves *pat behind the class. A class that never ends is text. */
static bool match_class(const char **pat, char c)
{
	const char *p = *pat + 1;
	bool negate = *p == '!' || *p == '^';
	bool hit = false;

	if (negate)
		p++;
	for (bool first = true; *p && (*p != ']' || first); first = false) {
		if (p[1] == '-' && p[2] && p[2] != ']') {
			hit |= c >= p[0] && c <= p[2];
			p += 3;
		} else {
			hit |= c == *p++;
		}
	}
	if (*p != ']') {
		hit = c == '[';
		negate = false;
		p = *pat;
	}
	*pat = p + 1;
	return c != '/' && hit != negate;
}

/*
 * Where a match stands, and two points to go back to: the last `*` (within a component) and the
 * last `**` (anywhere). Only the latest of each is ever needed, so no recursion and no blow-up.
 */
struct glob {
	const char *path, *p, *s;
	const char *star, *star_at;
	const char *deep, *deep_at;
};

/* Take a wildcard that stands at g->p. */
static bool glob_wildcard(struct glob *g)
{
	if (g->p[0] != '*')
		return false;
	if (g->p[1] != '*') {
		g->star = ++g->p;
		g->star_at = g->s;
		return true;
	}
	g->p += 2;
	/* followed by "/" it also matches no component at all */
	if (*g->p == '/' && (g->s == g->path || g->s[-1] == '/'))
		g->p++;
	g->deep = g->p;
	g->deep_at = g->s;
	g->star = NULL;
	return true;
}

/* Take one character of both. */
static bool glob_char(struct glob *g)
{
	if (!*g->s)
		return false;
	if (*g->p == '[') {
		if (!match_class(&g->p, *g->s))
			return false;
	} else if (*g->p == *g->s || (*g->p == '?' && *g->s != '/')) {
		g->p++;
	} else {
		return false;
	}
	g->s++;
	return true;
}

/* Let a wildcard swallow one more character and try again from there. */
static bool glob_retry(struct glob *g)
{
	if (g->star && *g->star_at && *g->star_at != '/') {
		g->p = g->star;
		g->s = ++g->star_at;
		return true;
	}
	if (!g->deep || !*g->deep_at)
		return false;
	g->p = g->deep;
	g->s = ++g->deep_at;
	/* only where a component starts, if the pattern asks for one */
	while (g->deep[-1] == '/' && *g->s && g->s[-1] != '/')
		g->s = ++g->deep_at;
	g->star = NULL;
	return true;
}

bool bawn_glob_match(const char *pattern, const char *path)
{
	struct glob g = {.path = path, .p = pattern, .s = path};

	while (*g.s || *g.p)
		if (!glob_wildcard(&g) && !glob_char(&g) && !glob_retry(&g))
			return false;
	return true;
}

static const char *home_from_passwd(struct bawn_arena *a)
{
	FILE *f = fopen("/etc/passwd", "re");
	const char *home = NULL;
	struct passwd *pw;

	if (!f)
		return NULL;
	/* fgetpwent and not getpwuid: no name service in a static program */
	while ((pw = fgetpwent(f))) /* NOLINT(concurrency-mt-unsafe) */
		if (pw->pw_uid == getuid()) {
			home = bawn_path_clean(a, pw->pw_dir);
			break;
		}
	(void)fclose(f);
	return home;
}

const char *bawn_path_home(struct bawn_arena *a)
{
	const char *env = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe) */

	if (env && *env == '/')
		return bawn_path_clean(a, env);
	return home_from_passwd(a);
}

/* A directory in memory that is ours alone, or root's and open to all but with the sticky bit. */
static bool is_good_place(const char *dir)
{
	struct statfs fs;
	struct stat st;

	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || access(dir, W_OK | X_OK) < 0)
		return false;
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return false;
	if (st.st_mode & (S_IWGRP | S_IWOTH) && (st.st_uid != 0 || !(st.st_mode & S_ISVTX)))
		return false;
	return statfs(dir, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

const char *bawn_path_runtime(bool in_memory)
{
	static char own[64];
	const char *const places[] = {own, "/run", "/dev/shm"};
	const char *run = getenv("XDG_RUNTIME_DIR"); /* NOLINT(concurrency-mt-unsafe): as above */

	/* sockets are bound below it */
	if (run && *run == '/' && strlen(run) <= 60 && access(run, W_OK) == 0)
		return run;
	(void)snprintf(own, sizeof(own), "/run/user/%u", geteuid());
	for (size_t i = 0; in_memory && i < sizeof(places) / sizeof(places[0]); i++)
		if (is_good_place(places[i]))
			return places[i];
	return "/tmp";
}

char *bawn_path_state(struct bawn_arena *a, const char *rest)
{
	const char *state =
		getenv("XDG_STATE_HOME"); /* NOLINT(concurrency-mt-unsafe): no threads */
	bool set = state && *state == '/';
	const char *top = set ? state : bawn_path_home(a);
	char *dir = top ? bawn_path_join(a, top, set ? "bawn" : ".local/state/bawn") : NULL;

	return dir ? bawn_path_join(a, dir, rest) : NULL;
}

int bawn_path_make_dirs(const char *path, size_t len)
{
	_cleanup_free_ char *copy = strndup(path, len);

	if (!copy)
		return -ENOMEM;
	for (char *p = copy + 1; p <= copy + len; p++) {
		char was = *p;

		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = was;
	}
	return 0;
}

int bawn_path_make_state_dirs(const char *path, size_t len)
{
	const char *home = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe): no threads */

	/* a home that is missing is a mistake of somebody, or not mounted yet */
	if (home && *home == '/' && strlen(home) <= len && bawn_path_under(path, home) &&
		access(home, F_OK) < 0 && errno == ENOENT)
		return -ENOENT;
	return bawn_path_make_dirs(path, len);
}
