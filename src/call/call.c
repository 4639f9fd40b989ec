/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent wants, made into data that later stages can rely on: paths are canonical, the
 * working directory lies in the workspace, and there is a command at all.
 */
#include "call/call.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sys/random.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/path.h"

#define SHOWN 200 /* bytes of a path in a message */

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_CALL, -ENOMEM, "out of memory");
}

/* An existing directory as its canonical path. */
static int resolve_dir(struct bawn_arena *a, const char *what, const char *path, const char **ret,
	struct bawn_error *err)
{
	struct stat st;
	int r;

	if (!*path)
		return bawn_fail(err, BAWN_ERR_CALL, -EINVAL, "the %s is an empty path", what);
	if (strlen(path) >= PATH_MAX)
		return bawn_fail(err, BAWN_ERR_CALL, -ENAMETOOLONG,
			"the path of the %s is longer than %d bytes", what, PATH_MAX - 1);
	r = bawn_path_resolve(a, path, ret);
	if (r == -ENOENT)
		return bawn_fail(
			err, BAWN_ERR_CALL, r, "the %s '%.*s' does not exist", what, SHOWN, path);
	if (r < 0 && r != -ENOTDIR)
		return bawn_fail(err, BAWN_ERR_CALL, r, "the %s '%.*s' does not resolve: %s", what,
			SHOWN, path, strerrordesc_np(-r));
	if (r == -ENOTDIR || (stat(*ret, &st) == 0 && !S_ISDIR(st.st_mode)))
		return bawn_fail(err, BAWN_ERR_CALL, -ENOTDIR, "the %s '%.*s' is not a directory",
			what, SHOWN, path);
	return 0;
}

/* Directories of the system: a command that may write there owns the host. */
static bool is_system(const char *path)
{
	static const char *const whole[] = {
		"/", "/usr", "/var", "/home", "/run", "/opt", "/srv", "/mnt", "/media"};
	static const char *const below[] = {"/proc", "/sys", "/dev", "/etc", "/boot", "/bin",
		"/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib"};

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (!strcmp(path, whole[i]))
			return true;
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (bawn_path_under(path, below[i]) && !bawn_path_under(path, "/dev/shm"))
			return true;
	return false;
}

static int find_workspace(
	struct bawn_arena *a, const char *path, const char **ret, struct bawn_error *err)
{
	char here[PATH_MAX];
	int r;

	if (!path) {
		if (!getcwd(here, sizeof(here)))
			return bawn_fail(err, BAWN_ERR_CALL, -errno,
				errno == ENOENT ? "the current directory was deleted; change to "
						  "one that exists"
						: "cannot find the current directory: %m");
		path = here;
	}
	r = resolve_dir(a, "workspace", path, ret, err);
	if (r < 0)
		return r;
	if (is_system(*ret))
		return bawn_fail(err, BAWN_ERR_CALL, -EPERM,
			"the workspace cannot be '%.*s': files of the system would be writable; "
			"start in a project directory or name one with --workspace",
			SHOWN, *ret);
	return 0;
}

static int find_cwd(struct bawn_arena *a, const struct bawn_call_input *in, struct bawn_call *c,
	struct bawn_error *err)
{
	const char *path = in->cwd;
	int r;

	if (!path) {
		c->cwd = c->workspace;
		return 0;
	}
	/* Not cleaned as text: `link/..` is what the kernel makes of it. */
	if (*path && *path != '/')
		path = bawn_arena_printf(a, "%s/%s", c->workspace, path);
	if (!path)
		return no_memory(err);
	r = resolve_dir(a, "working directory", path, &c->cwd, err);
	if (r < 0)
		return r;
	if (!bawn_path_under(c->cwd, c->workspace))
		return bawn_fail(err, BAWN_ERR_CALL, -EPERM,
			"the working directory '%.*s' lies outside the workspace '%.*s'", SHOWN / 2,
			c->cwd, SHOWN / 2, c->workspace);
	return 0;
}

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_@%+=:,./-";

	return *word && !word[strspn(word, plain)];
}

static void add_quoted(struct bawn_buf *b, const char *word)
{
	if (is_plain(word))
		bawn_buf_puts(b, word);
	else
		bawn_buf_quote(b, word);
}

/* The text that rules and people see, and the hash that the audit keeps. */
static int describe(struct bawn_arena *a, struct bawn_call *c, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf text = {0};
	_cleanup_buf_ struct bawn_buf bytes = {0};

	for (size_t i = 0; c->argv[i]; i++) {
		if (i)
			bawn_buf_puts(&text, " ");
		add_quoted(&text, c->argv[i]);
		bawn_buf_add(&bytes, c->argv[i], strlen(c->argv[i]) + 1);
	}
	if (text.failed || bytes.failed)
		return bawn_fail(err, BAWN_ERR_CALL, text.failed ? text.failed : bytes.failed,
			"the command is too long");
	bawn_sha256_hex(bytes.data, bytes.len, c->input_sha256);
	c->text = bawn_arena_strndup(a, text.data, text.len);
	return c->text ? 0 : no_memory(err);
}

static int make_run_id(char *ret, size_t size, struct bawn_error *err)
{
	unsigned char raw[16];

	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return bawn_fail(
			err, BAWN_ERR_CALL, -errno, "cannot get random bytes for the run id: %m");
	for (size_t i = 0; i < sizeof(raw); i++)
		(void)snprintf(ret + 2 * i, size - 2 * i, "%02x", raw[i]);
	return 0;
}

int bawn_call_make(struct bawn_arena *a, const struct bawn_call_input *in,
	const struct bawn_call **ret, struct bawn_error *err)
{
	static const char *const none[] = {NULL};
	struct bawn_call *c;
	int r;

	if (!in->argv || !in->argv[0])
		return bawn_fail(
			err, BAWN_ERR_CALL, -EINVAL, "there is no command; give one after '--'");
	if (!*in->argv[0])
		return bawn_fail(err, BAWN_ERR_CALL, -EINVAL, "the command's name is empty");
	if (strlen(in->argv[0]) >= PATH_MAX)
		return bawn_fail(err, BAWN_ERR_CALL, -ENAMETOOLONG,
			"the command's name is longer than %d bytes", PATH_MAX - 1);
	c = bawn_new(a, struct bawn_call, 1);
	if (!c)
		return no_memory(err);
	c->argv = in->argv;
	c->envp = in->envp ? in->envp : none;
	c->tool = in->tool ? in->tool : "run";
	c->agent = in->agent ? in->agent : "";
	c->session = in->session ? in->session : "";
	r = find_workspace(a, in->workspace, &c->workspace, err);
	if (r == 0)
		r = find_cwd(a, in, c, err);
	if (r == 0)
		r = describe(a, c, err);
	if (r == 0)
		r = make_run_id(c->run_id, sizeof(c->run_id), err);
	if (r == 0)
		*ret = c;
	return r;
}
