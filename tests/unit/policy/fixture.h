/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A scratch workspace and a policy loaded from texts, one per layer. */

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>

#include <sys/stat.h>

#include "harness.h"
#include "policy/policy.h"

struct layers {
	const char *admin, *user, *operator, * workspace; /* texts of files; NULL for none */
	const char *operator2;                            /* a second --policy */
	const struct bawn_setting *settings;
	size_t n_settings;
};

static char scratch[PATH_MAX]; /* holds ws/, home/, admin.yaml, … */
static char workspace[PATH_MAX];
static struct bawn_error error;
static struct bawn_arena *arena;

static inline void path_in(char dst[PATH_MAX], const char *name)
{
	if (snprintf(dst, PATH_MAX, "%s/%s", scratch, name) >= PATH_MAX)
		FAIL("path too long");
}

static inline void put_file(const char *name, const char *text)
{
	static char path[PATH_MAX];
	FILE *f;

	path_in(path, name);
	f = fopen(path, "we");
	ASSERT_TRUE(f != NULL);
	ASSERT_TRUE(fputs(text, f) >= 0);
	ASSERT_EQ(fclose(f), 0);
	ASSERT_EQ(chmod(path, 0644), 0);
}

static inline void make_dir(const char *name)
{
	static char path[PATH_MAX];

	path_in(path, name);
	ASSERT_EQ(mkdir(path, 0755), 0);
}

static char top[] = "/tmp/bawn-policy-XXXXXX";

__attribute__((constructor)) static void make_top(void)
{
	if (!mkdtemp(top) || chmod(top, 0755) < 0)
		_exit(1);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

/* Runs in the parent only: tests end with _exit(). */
__attribute__((destructor)) static void remove_top(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	(void)nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void setup(void)
{
	static char path[PATH_MAX];
	char name[64];

	if (arena)
		return;
	(void)snprintf(name, sizeof(name), "%s/XXXXXX", top);
	ASSERT_TRUE(mkdtemp(name) != NULL);
	ASSERT_TRUE(realpath(name, scratch) != NULL);
	ASSERT_EQ(chmod(scratch, 0755), 0);
	make_dir("ws");
	make_dir("ws/sub");
	make_dir("home");
	make_dir("extra");
	make_dir("extra/deep");
	path_in(workspace, "ws");
	path_in(path, "home");
	ASSERT_EQ(setenv("HOME", path, 1), 0);     /* NOLINT(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(unsetenv("XDG_CONFIG_HOME"), 0); /* NOLINT(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(unsetenv("XDG_STATE_HOME"), 0);  /* NOLINT(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(unsetenv("XDG_CACHE_HOME"), 0);  /* NOLINT(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(unsetenv("VIRTUAL_ENV"), 0);     /* NOLINT(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(chdir(scratch), 0);
	arena = bawn_arena_new();
	ASSERT_TRUE(arena != NULL);
}

static inline int load(const struct layers *l, const struct bawn_policy **p)
{
	const char *files[3] = {NULL};
	struct bawn_policy_source src = {.workspace = workspace,
		.admin_file = "admin.yaml",
		.user_file = "user.yaml",
		.no_admin = !l->admin,
		.no_user = !l->user,
		.no_workspace = !l->workspace,
		.files = files,
		.settings = l->settings,
		.n_settings = l->n_settings};

	setup();
	src.workspace = workspace;
	if (l->admin && getuid())
		SKIP("only root can make a file that counts as the administrator's: run the suite as root");
	if (l->admin)
		put_file("admin.yaml", l->admin);
	if (l->user)
		put_file("user.yaml", l->user);
	if (l->workspace)
		put_file("ws/.bawn.yaml", l->workspace);
	if (l->operator) {
		put_file("policy.yaml", l->operator);
		files[0] = "policy.yaml";
	}
	if (l->operator2) {
		put_file("second.yaml", l->operator2);
		files[1] = "second.yaml";
	}
	error = (struct bawn_error){0};
	return bawn_policy_load(arena, &src, p, &error);
}

static inline const struct bawn_policy *load_ok(const struct layers *l)
{
	const struct bawn_policy *p = NULL;
	int r = load(l, &p);

	if (r < 0)
		FAIL("load failed: %s", error.msg);
	return p;
}

#define OPERATOR(text) load_ok(&(struct layers){.operator=(text)})

/* The operator's text must be refused with exactly this message. */
static inline void refused(const char *text, const char *message)
{
	const struct bawn_policy *p = NULL;
	int r = load(&(struct layers){.operator= text}, &p);

	if (r >= 0)
		FAIL("'%s' was accepted, expected '%s'", text, message);
	ASSERT_EQ(error.kind, BAWN_ERR_POLICY);
	ASSERT_STREQ(error.msg, message);
}

static inline bool has(const struct bawn_items *l, const char *text)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].text, text))
			return true;
	return false;
}

/* A path below the scratch directory, in a few rotating buffers. */
static inline const char *below(const char *name)
{
	static char bufs[4][PATH_MAX];
	static unsigned turn;
	char *b = bufs[turn++ % 4];

	path_in(b, name);
	return b;
}
