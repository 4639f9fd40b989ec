/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of boxes: NAME.json, written to a temporary name and renamed, and NAME.lock, which is
 * locked and never removed while its box exists. One more lock guards their number.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/path.h"
#include "base/sha256.h"
#include "box/internal.h"

#define RECORD_MAX ((size_t)1 << 20)
#define SCHEMA     "bawn/box-record/v1"

static inline void cleanup_json_p(json_t **j)
{
	json_decref(*j);
}
#define _cleanup_json_ _cleanup_(cleanup_json_p)

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

const char *box_path(struct bawn_arena *a, const char *rest, struct bawn_error *err)
{
	const char *dir = bawn_path_state(a, "boxes");
	const char *path = dir ? bawn_arena_printf(a, "%s/%s", dir, rest) : NULL;
	int r;

	if (!path) {
		(void)bawn_fail(err, BAWN_ERR_INTERNAL, -ENOENT,
			"there is no home directory to keep boxes in; set XDG_STATE_HOME");
		return NULL;
	}
	r = bawn_path_make_state_dirs(dir, strlen(dir));
	if (r < 0) {
		errno = -r;
		(void)bawn_fail(err, BAWN_ERR_INTERNAL, r, "cannot make '%s': %m", dir);
		return NULL;
	}
	return path;
}

const char *box_owner(struct bawn_arena *a)
{
	const char *dir = bawn_path_state(a, "boxes");
	char hex[BAWN_HEX_LEN + 1];

	if (!dir)
		return NULL;
	bawn_sha256_hex(dir, strlen(dir), hex);
	return bawn_arena_strndup(a, hex, 8);
}

int box_check_name(const char *name, struct bawn_error *err)
{
	size_t n = strlen(name);

	if (!n || n > BAWN_BOX_NAME_MAX ||
		strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != n || name[0] == '-' ||
		name[0] == '_')
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'%s' is no name for a box: up to %d of a-z, 0-9, '-' and '_', beginning with a "
			"letter or a digit",
			name, BAWN_BOX_NAME_MAX);
	return 0;
}

int box_write(const char *path, const char *text, size_t len, struct bawn_error *err)
{
	char temp[4096];
	_cleanup_close_ int fd = -1;
	int r;

	(void)snprintf(temp, sizeof(temp), "%s.XXXXXX", path);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "cannot write '%s': %m", path);
	r = bawn_write_all(fd, text, len);
	if (r >= 0 && (fdatasync(fd) < 0 || rename(temp, path) < 0))
		r = -errno;
	if (r < 0) {
		(void)unlink(temp);
		errno = -r;
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "cannot write '%s': %m", path);
	}
	return 0;
}

/* ---- to and from JSON ---- */

static json_t *settings_json(const struct bawn_box *b)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < b->n_settings; i++)
		(void)json_array_append_new(
			list, json_pack("{s:s,s:s,s:s}", "key", b->settings[i].key, "text",
				      b->settings[i].text, "flag", b->settings[i].flag));
	return list;
}

static json_t *policies_json(const struct bawn_box *b)
{
	json_t *list = json_array();

	for (const char *const *p = b->policies; list && p && *p; p++)
		(void)json_array_append_new(list, json_string(*p));
	return list;
}

static char *record_text(const struct bawn_box *b)
{
	_cleanup_json_ json_t *j =
		json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:b,s:o,s:o}", "schema",
			SCHEMA, "name", b->name, "engine", b->engine, "container", b->container,
			"image", b->image, "image_id", b->image_id, "dockerfile", b->dockerfile,
			"project", b->project, "dir", b->dir, "stage", b->stage, "created",
			(json_int_t)b->created, "changed", (json_int_t)b->changed, "ready",
			b->ready, "policies", policies_json(b), "settings", settings_json(b));

	return j ? json_dumps(j, JSON_INDENT(1)) : NULL;
}

static int take_settings(
	struct bawn_arena *a, json_t *list, struct bawn_box *b, struct bawn_error *err)
{
	struct bawn_setting *v = bawn_new(a, struct bawn_setting, json_array_size(list) + 1);

	if (!v)
		return no_memory(err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *key = NULL, *text = NULL, *flag = NULL;

		if (json_unpack(json_array_get(list, i), "{s:s,s:s,s:s}", "key", &key, "text",
			    &text, "flag", &flag) < 0)
			return -EBADMSG;
		v[i] = (struct bawn_setting){.key = bawn_arena_strdup(a, key),
			.text = bawn_arena_strdup(a, text),
			.flag = bawn_arena_strdup(a, flag)};
		if (!v[i].key || !v[i].text || !v[i].flag)
			return no_memory(err);
	}
	b->settings = v;
	b->n_settings = json_array_size(list);
	return 0;
}

static int take_policies(
	struct bawn_arena *a, json_t *list, struct bawn_box *b, struct bawn_error *err)
{
	struct bawn_strlist v = {0};

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));
		const char *own = s ? bawn_arena_strdup(a, s) : NULL;

		if (!s)
			return -EBADMSG;
		if (!own || bawn_strlist_add(a, &v, own) < 0)
			return no_memory(err);
	}
	b->policies = v.v;
	return 0;
}

static int parse(struct bawn_arena *a, const struct bawn_buf *text, struct bawn_box *b,
	struct bawn_error *err)
{
	_cleanup_json_ json_t *j = json_loadb(text->data, text->len, JSON_REJECT_DUPLICATES, NULL);
	const char *schema = "", *s[9] = {NULL};
	const char **dst[] = {&b->name, &b->engine, &b->container, &b->image, &b->image_id,
		&b->dockerfile, &b->project, &b->dir, &b->stage};
	json_int_t created = 0, changed = 0;
	json_t *policies = NULL, *settings = NULL;
	int ready = 0, r;

	if (!j ||
		json_unpack(j, "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:b,s:o,s:o}",
			"schema", &schema, "name", &s[0], "engine", &s[1], "container", &s[2],
			"image", &s[3], "image_id", &s[4], "dockerfile", &s[5], "project", &s[6],
			"dir", &s[7], "stage", &s[8], "created", &created, "changed", &changed,
			"ready", &ready, "policies", &policies, "settings", &settings) < 0 ||
		strcmp(schema, SCHEMA) != 0)
		return -EBADMSG;
	for (size_t i = 0; i < 9; i++) {
		*dst[i] = bawn_arena_strdup(a, s[i]);
		if (!*dst[i])
			return no_memory(err);
	}
	b->created = (uint64_t)created;
	b->changed = (uint64_t)changed;
	b->ready = ready;
	r = take_policies(a, policies, b, err);
	return r < 0 ? r : take_settings(a, settings, b, err);
}

static int load(struct bawn_arena *a, const char *path, struct bawn_box *b, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf text = {.max = RECORD_MAX};
	int r = bawn_read_file(AT_FDCWD, path, RECORD_MAX, &text);

	if (r == -ENOENT)
		return r;
	if (r >= 0)
		r = parse(a, &text, b, err);
	if (r == -EBADMSG)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r,
			"'%s' is damaged; remove it and run 'bawn box cleanup'", path);
	if (r < 0 && r != -ENOMEM) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "cannot read '%s': %m", path);
	}
	return r;
}

int box_save(const struct bawn_box *b, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	const char *file = a ? bawn_arena_printf(a, "%s.json", b->name) : NULL;
	const char *path = file ? box_path(a, file, err) : NULL;
	_cleanup_free_ char *text = record_text(b);

	if (!path)
		return file ? -ENOENT : no_memory(err);
	return text ? box_write(path, text, strlen(text), err) : no_memory(err);
}

/* ---- locks ---- */

static int lock_file(const char *path, int op, struct bawn_error *err)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "cannot open '%s': %m", path);
	do
		r = flock(fd, op);
	while (r < 0 && errno == EINTR);
	if (r < 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "cannot lock '%s': %m", path);
	return TAKE_FD(fd);
}

/* The box's lock, or -EBUSY without a message. */
static int lock_box(struct bawn_arena *a, const char *name, int op, struct bawn_error *err)
{
	const char *file = bawn_arena_printf(a, "%s.lock", name);
	const char *path = file ? box_path(a, file, err) : NULL;

	if (!path)
		return file ? -ENOENT : no_memory(err);
	return lock_file(path, op, err);
}

int bawn_box_open(struct bawn_arena *a, const char *name, enum bawn_box_lock how,
	struct bawn_box **ret, struct bawn_error *err)
{
	struct bawn_box *b = bawn_new(a, struct bawn_box, 1);
	const char *file, *path;
	int r = box_check_name(name, err);

	if (r < 0)
		return r;
	file = bawn_arena_printf(a, "%s.json", name);
	path = file ? box_path(a, file, err) : NULL;
	if (!b || !path)
		return file ? -ENOENT : no_memory(err);
	if (access(path, F_OK) < 0)
		return bawn_fail(err, BAWN_ERR_USAGE, -ENOENT,
			"there is no box '%s', see 'bawn box list'", name);
	b->lock =
		lock_box(a, name, how == BAWN_BOX_USE ? LOCK_SH | LOCK_NB : LOCK_EX | LOCK_NB, err);
	if (b->lock == -EBUSY)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EBUSY,
			how == BAWN_BOX_USE
				? "box '%s' is being changed by another bawn"
				: "box '%s' is in use by a run; wait for it, or say --force",
			name);
	if (b->lock < 0)
		return b->lock;
	r = load(a, path, b, err);
	if (r < 0) {
		(void)bawn_box_close(b);
		return r == -ENOENT
			       ? bawn_fail(err, BAWN_ERR_USAGE, r, "box '%s' is just gone", name)
			       : r;
	}
	*ret = b;
	return 0;
}

struct bawn_box *bawn_box_close(struct bawn_box *b)
{
	if (b && b->lock >= 0)
		(void)close(b->lock);
	if (b)
		b->lock = -1;
	return NULL;
}

/* ---- all of them ---- */

static int newest_first(const void *va, const void *vb)
{
	const struct bawn_box *const *a = va, *const *b = vb;

	if ((*a)->created != (*b)->created)
		return (*a)->created > (*b)->created ? -1 : 1;
	return strcmp((*a)->name, (*b)->name);
}

static bool is_record(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".json") && name[0] != '.';
}

static int read_all(struct bawn_arena *a, DIR *d, const char *dir, struct bawn_box ***list,
	size_t *n, struct bawn_error *err)
{
	struct dirent *e;
	size_t cap = 0;

	while ((e = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours alone */
		struct bawn_box *b, **slot;
		const char *path;
		int r;

		if (!is_record(e->d_name))
			continue;
		b = bawn_new(a, struct bawn_box, 1);
		path = bawn_arena_printf(a, "%s/%s", dir, e->d_name);
		if (!b || !path)
			return no_memory(err);
		b->lock = -1;
		r = load(a, path, b, err);
		if (r == -ENOENT) /* just removed */
			continue;
		if (r < 0)
			return r;
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
		slot = bawn_grow(a, list, n, &cap);
		if (!slot)
			return no_memory(err);
		*slot = b;
	}
	return 0;
}

int bawn_box_list(
	struct bawn_arena *a, struct bawn_box ***ret, size_t *ret_n, struct bawn_error *err)
{
	const char *dir = box_path(a, ".", err);
	struct bawn_box **list = NULL;
	size_t n = 0;
	DIR *d = dir ? opendir(dir) : NULL;
	int r;

	if (!d)
		return dir ? bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "cannot read '%s': %m", dir)
			   : -ENOENT;
	r = read_all(a, d, dir, &list, &n, err);
	(void)closedir(d);
	if (r < 0)
		return r;
	if (n)
		qsort(list, n, sizeof(*list), /* NOLINT(bugprone-sizeof-expression): as above */
			newest_first);
	*ret = list;
	*ret_n = n;
	return 0;
}

int box_register(struct bawn_arena *a, struct bawn_box *b, struct bawn_error *err)
{
	const char *all = box_path(a, ".lock", err);
	struct bawn_box **list;
	_cleanup_close_ int guard = all ? lock_file(all, LOCK_EX, err) : -1;
	size_t n = 0;
	int r;

	if (guard < 0)
		return all ? guard : -ENOENT;
	r = bawn_box_list(a, &list, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i]->name, b->name))
			return bawn_fail(err, BAWN_ERR_USAGE, -EEXIST,
				"there is a box '%s' already (%s); remove it with 'bawn box rm %s'",
				b->name, list[i]->project, b->name);
	if (n >= BAWN_BOXES_MAX)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EDQUOT,
			"there are %d boxes already; remove one with 'bawn box rm'",
			BAWN_BOXES_MAX);
	b->lock = lock_box(a, b->name, LOCK_EX | LOCK_NB, err);
	if (b->lock == -EBUSY)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EBUSY,
			"box '%s' is being changed by another bawn", b->name);
	return b->lock < 0 ? b->lock : box_save(b, err);
}

int box_unregister(const struct bawn_box *b, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	const char *all = a ? box_path(a, ".lock", err) : NULL;
	const char *record =
		all ? box_path(a, bawn_arena_printf(a, "%s.json", b->name), err) : NULL;
	const char *lock = all ? box_path(a, bawn_arena_printf(a, "%s.lock", b->name), err) : NULL;
	_cleanup_close_ int guard = all ? lock_file(all, LOCK_EX, err) : -1;

	if (guard < 0 || !record || !lock)
		return -EIO;
	if (unlink(record) < 0 && errno != ENOENT)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "cannot remove '%s': %m", record);
	/* whoever waits for it finds no record behind it */
	(void)unlink(lock);
	return 0;
}
