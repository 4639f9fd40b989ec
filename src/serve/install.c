/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claude Code's settings: {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command",
 * "command": …}]}]}}. Whatever else stands in the file is kept, in its order.
 */
#include "serve/install.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

#define SETTINGS_MAX ((size_t)8 << 20)
#define OUR_VERB     " hook claude-code"

static const char *const events[] = {"PreToolUse", "PostToolUse"};

struct file {
	struct bawn_arena *a;
	const char *path; /* links resolved, so that a link stays a link */
	json_t *root;
	mode_t mode;
	bool existed;
};

static int bad_shape(const struct file *f, const char *what, struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_CALL, -EINVAL,
		"settings file '%s': %s; it was left as it is", f->path, what);
}

static int load(struct file *f, const char *path, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf text = {.max = SETTINGS_MAX};
	json_error_t why = {.text = "out of memory"};
	struct stat st;
	int r = bawn_path_resolve(f->a, path, &f->path);

	f->mode = 0600;
	if (r == -ENOENT) {
		f->path = path;
		/* to replace it would cut the link */
		if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
			return bad_shape(f, "a link to a file that is not there", err);
		f->root = json_object();
		return f->root ? 0 : bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	}
	if (r >= 0)
		r = bawn_read_file(AT_FDCWD, f->path, SETTINGS_MAX, &text);
	if (r == -E2BIG)
		return bad_shape(f, "larger than 8 MiB", err);
	if (r == -EINVAL)
		return bad_shape(f, "not a regular file", err);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_CALL, r, "settings file '%s': %m", path);
	}
	if (stat(f->path, &st) == 0)
		f->mode = st.st_mode & 07777;
	f->existed = true;
	f->root = text.len ? json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, &why)
			   : json_object();
	if (!f->root)
		return bawn_fail(err, BAWN_ERR_CALL, -EINVAL,
			"settings file '%s':%d:%d: %s; it was left as it is", f->path, why.line,
			why.column, why.text);
	return json_is_object(f->root) ? 0 : bad_shape(f, "not a JSON object", err);
}

/* Is this handler one of ours: `…bawn hook claude-code…`? */
static bool is_ours(const json_t *handler)
{
	const char *command = json_string_value(json_object_get(handler, "command"));
	const char *verb = command ? strstr(command, OUR_VERB) : NULL;
	const char *word;

	if (!verb)
		return false;
	word = memrchr(command, '/', (size_t)(verb - command));
	word = word ? word + 1 : command + (*command == '\'');
	return !strncmp(word, "bawn", 4) && (word + 4 == verb || word[4] == '\'');
}

/* Take our handlers out of one event's list; groups and lists that become empty go, too. */
static int remove_ours(
	struct file *f, json_t *hooks, const char *event, bool *changed, struct bawn_error *err)
{
	json_t *groups = json_object_get(hooks, event);

	if (!groups)
		return 0;
	if (!json_is_array(groups))
		return bad_shape(f, "the hooks of an event are not a list", err);
	for (size_t i = json_array_size(groups); i-- > 0;) {
		json_t *list = json_object_get(json_array_get(groups, i), "hooks");
		size_t before = json_array_size(list);

		for (size_t k = before; k-- > 0;)
			if (is_ours(json_array_get(list, k)) && json_array_remove(list, k) == 0)
				*changed = true;
		if (before && !json_array_size(list))
			(void)json_array_remove(groups, i);
	}
	if (!json_array_size(groups) && *changed)
		(void)json_object_del(hooks, event);
	return 0;
}

static int add_ours(struct file *f, json_t *hooks, const char *event, const char *command,
	struct bawn_error *err)
{
	json_t *groups = json_object_get(hooks, event);
	json_t *ours = json_pack("{s:s, s:[{s:s, s:s}]}", "matcher", "*", "hooks", "type",
		"command", "command", command);

	if (!groups) {
		groups = json_array();
		if (!groups || json_object_set_new(hooks, event, groups) < 0)
			groups = NULL;
	}
	if (groups && !json_is_array(groups)) {
		json_decref(ours);
		return bad_shape(f, "the hooks of an event are not a list", err);
	}
	if (!groups || !ours || json_array_append_new(groups, ours) < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return 0;
}

/* Directories above the file, 0700: `.claude` may not exist yet. */
static int make_parent(struct file *f, struct bawn_error *err)
{
	const char *slash = strrchr(f->path, '/');
	const char *dir = slash && slash != f->path
				  ? bawn_arena_strndup(f->a, f->path, (size_t)(slash - f->path))
				  : NULL;

	if (dir && mkdir(dir, 0700) < 0 && errno != EEXIST)
		return bawn_fail(err, BAWN_ERR_CALL, -errno, "cannot make directory '%s': %m", dir);
	return 0;
}

static int write_new(
	const char *path, mode_t mode, const char *text, size_t len, struct bawn_error *err)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	int r;

	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_CALL, -errno, "cannot create '%s': %m", path);
	r = bawn_write_all(fd, text, len);
	if (r >= 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		r = -errno;
	if (r < 0) {
		errno = -r;
		(void)bawn_fail(err, BAWN_ERR_CALL, r, "cannot write '%s': %m", path);
		(void)unlink(path);
	}
	return r;
}

static int keep_backup(struct file *f, const char **ret, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf old = {.max = SETTINGS_MAX};
	struct timespec now = {0};
	struct tm tm;
	char stamp[32];
	int r;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (!gmtime_r(&now.tv_sec, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -EOVERFLOW, "cannot tell the time");
	*ret = bawn_arena_printf(f->a, "%s.%s.%03ld.bak", f->path, stamp, now.tv_nsec / 1000000);
	if (!*ret)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	r = bawn_read_file(AT_FDCWD, f->path, SETTINGS_MAX, &old);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_CALL, r, "settings file '%s': %m", f->path);
	}
	return write_new(*ret, f->mode, old.data ? old.data : "", old.len, err);
}

static int store(struct file *f, struct bawn_hook_change *ret, struct bawn_error *err)
{
	char *text = json_dumps(f->root, JSON_INDENT(2));
	const char *tmp = bawn_arena_printf(f->a, "%s.%ld.tmp", f->path, (long)getpid());
	const char *with_newline = text ? bawn_arena_printf(f->a, "%s\n", text) : NULL;
	int r;

	free(text); /* NOLINT: from json_dumps */
	if (!tmp || !with_newline)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	r = make_parent(f, err);
	if (r >= 0 && f->existed)
		r = keep_backup(f, &ret->backup, err);
	if (r >= 0)
		r = write_new(tmp, f->mode, with_newline, strlen(with_newline), err);
	if (r < 0)
		return r;
	if (rename(tmp, f->path) < 0) {
		r = bawn_fail(err, BAWN_ERR_CALL, -errno, "cannot replace '%s': %m", f->path);
		(void)unlink(tmp);
		return r;
	}
	ret->changed = true;
	return 0;
}

/* The "hooks" object; made if `make` and missing. */
static int hooks_of(struct file *f, bool make, json_t **ret, struct bawn_error *err)
{
	*ret = json_object_get(f->root, "hooks");
	if (!*ret && make) {
		*ret = json_object();
		if (!*ret || json_object_set_new(f->root, "hooks", *ret) < 0)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	}
	return *ret && !json_is_object(*ret) ? bad_shape(f, "'hooks' is not an object", err) : 0;
}

/* With a command: ours and nothing older of ours stands there afterwards. Without: nothing of ours.
 */
static int change(
	struct file *f, const char *command, struct bawn_hook_change *ret, struct bawn_error *err)
{
	json_t *was = json_deep_copy(f->root);
	json_t *hooks;
	bool removed = false, same;
	int r = hooks_of(f, command != NULL, &hooks, err);

	for (size_t i = 0; r >= 0 && hooks && i < sizeof(events) / sizeof(events[0]); i++) {
		r = remove_ours(f, hooks, events[i], &removed, err);
		if (r >= 0 && command)
			r = add_ours(f, hooks, events[i], command, err);
	}
	if (r >= 0 && !command && removed && !json_object_size(hooks))
		(void)json_object_del(f->root, "hooks");
	same = was && json_equal(was, f->root);
	json_decref(was);
	ret->path = f->path;
	return r < 0 || same ? r : store(f, ret, err);
}

static int run(struct bawn_arena *a, const char *path, const char *command,
	struct bawn_hook_change *ret, struct bawn_error *err)
{
	struct file f = {.a = a};
	int r = load(&f, path, err);

	*ret = (struct bawn_hook_change){0};
	if (r >= 0)
		r = change(&f, command, ret, err);
	json_decref(f.root);
	return r;
}

int bawn_hook_install(struct bawn_arena *a, const char *path, const char *command,
	struct bawn_hook_change *ret, struct bawn_error *err)
{
	return run(a, path, command, ret, err);
}

int bawn_hook_uninstall(struct bawn_arena *a, const char *path, struct bawn_hook_change *ret,
	struct bawn_error *err)
{
	return run(a, path, NULL, ret, err);
}
