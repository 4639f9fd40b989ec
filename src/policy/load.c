/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers, strongest first: find each file, see that only its owner can have written it, read it
 * into a draft and merge. Runs before every call: without files it is a dozen system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <sys/stat.h>

#include "base/io.h"
#include "base/path.h"
#include "policy/digest.h"
#include "policy/draft.h"
#include "policy/entry.h"
#include "policy/merge.h"
#include "policy/named.h"
#include "policy/read/rules.h"

#define ADMIN_FILE     "/etc/bawn/policy.yaml"
#define WORKSPACE_FILE ".bawn.yaml"

static int default_list(
	const struct bawn_context *c, struct bawn_policy *p, const struct bawn_field *f)
{
	struct bawn_items *l = bawn_member_mut(p, f);
	const char *text = f->def_text;

	while (*text) {
		size_t n = strcspn(text, ",");
		struct bawn_item item = {.raw = bawn_arena_strndup(c->a, text, n)}, *slot;
		int r = item.raw ? bawn_entry_default(c, f, &item) : bawn_oom(c);

		if (r < 0)
			return r;
		if (!r) {
			slot = bawn_grow(c->a, &l->v, &l->n, &l->cap);
			if (!slot)
				return bawn_oom(c);
			*slot = item;
		}
		text += n + (text[n] == ',');
	}
	return 0;
}

static bool stands(const struct bawn_items *l, const char *text)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].text, text))
			return true;
	return false;
}

/* Our own places where the environment puts them: the built-in list has only the usual ones. */
static int deny_own_places(const struct bawn_context *c, struct bawn_policy *p)
{
	static const char *const names[] = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *top = getenv(names[i]); /* NOLINT(concurrency-mt-unsafe): no threads */
		struct bawn_item item = {0}, *slot;
		const char *real;

		if (!top || *top != '/')
			continue;
		if (bawn_path_resolve(c->a, top, &real) < 0)
			real = bawn_path_clean(c->a, top);
		if (real)
			real = bawn_entry_literal(c->a, real);
		item.raw = item.text = real ? bawn_path_join(c->a, real, "bawn") : NULL;
		if (!item.text)
			return bawn_oom(c);
		if (stands(&p->fs_deny, item.text))
			continue;
		slot = bawn_grow(c->a, &p->fs_deny.v, &p->fs_deny.n, &p->fs_deny.cap);
		if (!slot)
			return bawn_oom(c);
		*slot = item;
	}
	return 0;
}

static int set_defaults(const struct bawn_context *c, struct bawn_policy *p)
{
	bawn_defaults_scalar(p);
	p->workspace = c->workspace;
	p->home = c->home;
	p->origins = bawn_new(c->a, struct bawn_origin, BAWN_FIELD_COUNT);
	if (!p->origins)
		return bawn_oom(c);
	for (size_t i = 0; i < BAWN_FIELD_COUNT; i++) {
		int r = bawn_fields[i].kind == BAWN_KIND_LIST ? default_list(c, p, &bawn_fields[i])
							      : 0;

		if (r < 0)
			return r;
	}
	return deny_own_places(c, p);
}

/* Who may have written the file. */
static int check_owner(const struct bawn_context *c, const struct stat *st)
{
	const char *why = NULL;

	if (c->layer == BAWN_LAYER_ADMIN) {
		if (st->st_uid != 0)
			why = "must be owned by root";
		else if (st->st_mode & (S_IWGRP | S_IWOTH))
			why = "must not be writable by group or others";
	} else if (c->layer == BAWN_LAYER_USER) {
		if (st->st_uid != 0 && st->st_uid != geteuid())
			why = "must be owned by you or root";
		else if (st->st_mode & S_IWOTH)
			why = "must not be writable by others";
	}
	if (why)
		return bawn_fail(c->err, BAWN_ERR_POLICY, -EACCES, "%s: %s", c->file, why);
	return 0;
}

/* The bytes of c->file. 1 if it does not exist. */
static int read_bytes(const struct bawn_context *c, struct bawn_buf *b)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct stat st;
	int r;

	/* a repository must not point us at another file to read it through our messages */
	if (c->layer == BAWN_LAYER_WORKSPACE)
		flags |= O_NOFOLLOW;
	_cleanup_close_ int fd = open(c->file, flags);
	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0 || fstat(fd, &st) < 0) {
		r = -errno;
		return bawn_fail(c->err, BAWN_ERR_POLICY, r, "%s: %s", c->file,
			r == -ELOOP ? "must not be a symbolic link" : strerrordesc_np(-r));
	}
	if (!S_ISREG(st.st_mode))
		return bawn_fail(c->err, BAWN_ERR_POLICY, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
			"%s: not a regular file", c->file);
	r = check_owner(c, &st);
	if (r < 0)
		return r;
	b->max = BAWN_TREE_BYTES;
	r = st.st_size > (off_t)BAWN_TREE_BYTES ? -E2BIG : bawn_read_all(fd, b);
	if (r == -E2BIG)
		return bawn_fail(
			c->err, BAWN_ERR_POLICY, r, "%s: larger than 1 MiB, not a policy", c->file);
	if (r < 0)
		return bawn_fail(
			c->err, BAWN_ERR_POLICY, r, "%s: %s", c->file, strerrordesc_np(-r));
	return 0;
}

/* Read c->file into the draft, which is made on first use. 1 if it does not exist. */
static int read_layer_file(const struct bawn_context *c, struct bawn_draft **d)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	int r = read_bytes(c, &b);

	if (r)
		return r;
	if (!*d)
		*d = bawn_new(c->a, struct bawn_draft, 1);
	if (!*d)
		return bawn_oom(c);
	return bawn_read_text(c, *d, b.data ? b.data : "", b.len);
}

/* Remember which files decided: the plan sees to it that the command cannot change them. */
static int note_file(const struct bawn_context *c, struct bawn_policy *p)
{
	const char **files = bawn_new(c->a, const char *, p->n_files + 1);
	const char *real;

	if (!files)
		return bawn_oom(c);
	if (bawn_path_resolve(c->a, c->file, &real) < 0)
		return 0; /* gone again: nothing to protect */
	if (p->n_files)
		memcpy(files, p->files, p->n_files * sizeof(*files));
	files[p->n_files++] = real;
	p->files = files;
	return 0;
}

static int one_file_layer(
	struct bawn_context *c, struct bawn_policy *p, enum bawn_layer layer, const char *file)
{
	struct bawn_draft *d = NULL;
	int r;

	if (!file) /* a layer that cannot be named must not be skipped */
		return bawn_oom(c);
	c->layer = layer;
	c->file = file;
	c->source = 1;
	r = read_layer_file(c, &d);
	if (r)
		return r < 0 ? r : 0;
	r = note_file(c, p);
	return r < 0 ? r : bawn_merge(c, p, d);
}

static int operator_layer(
	struct bawn_context *c, struct bawn_policy *p, const struct bawn_policy_source *src)
{
	struct bawn_draft *d = NULL;
	int r = 0;

	c->layer = BAWN_LAYER_OPERATOR;
	c->source = 0;
	for (const char *const *f = src->files; f && *f; f++) {
		c->file = *f;
		c->source++;
		r = read_layer_file(c, &d);
		if (r > 0)
			return bawn_fail(c->err, BAWN_ERR_POLICY, -ENOENT, "%s: no such file", *f);
		if (r == 0)
			r = note_file(c, p);
		if (r < 0)
			return r;
	}
	if (src->n_settings && !d)
		d = bawn_new(c->a, struct bawn_draft, 1);
	if (src->n_settings && !d)
		return bawn_oom(c);
	c->source = 0;
	for (size_t i = 0; i < src->n_settings; i++) {
		c->file = src->settings[i].flag;
		r = bawn_draft_flag(c, d, &src->settings[i]);
		if (r < 0)
			return r;
	}
	return d ? bawn_merge(c, p, d) : 0;
}

/* The user's file, or none where there is no home. */
static int user_layer(
	struct bawn_context *c, struct bawn_policy *p, const struct bawn_policy_source *src)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"); /* NOLINT(concurrency-mt-unsafe): no threads */
	const char *file = src->user_file;

	if (!file && xdg && *xdg == '/')
		file = bawn_path_join(c->a, xdg, "bawn/policy.yaml");
	else if (!file && c->home)
		file = bawn_path_join(c->a, c->home, ".config/bawn/policy.yaml");
	else if (!file)
		return 0;
	return one_file_layer(c, p, BAWN_LAYER_USER, file);
}

static int load_layers(
	struct bawn_context *c, struct bawn_policy *p, const struct bawn_policy_source *src)
{
	int r = 0;

	if (!src->no_admin)
		r = one_file_layer(
			c, p, BAWN_LAYER_ADMIN, src->admin_file ? src->admin_file : ADMIN_FILE);
	if (r >= 0 && !src->no_user)
		r = user_layer(c, p, src);
	if (r >= 0)
		r = operator_layer(c, p, src);
	if (r >= 0 && !src->no_workspace)
		r = one_file_layer(c, p, BAWN_LAYER_WORKSPACE,
			bawn_path_join(c->a, c->workspace, WORKSPACE_FILE));
	return r;
}

int bawn_policy_load(struct bawn_arena *a, const struct bawn_policy_source *src,
	const struct bawn_policy **ret, struct bawn_error *err)
{
	struct bawn_error unwanted = {0};
	struct bawn_context c = {.a = a, .err = err ? err : &unwanted, .workspace = src->workspace};
	struct bawn_policy *p = bawn_new(a, struct bawn_policy, 1);
	const char *home = bawn_path_home(a);
	int r;

	if (!p)
		return bawn_oom(&c);
	if (!src->workspace || *src->workspace != '/')
		return bawn_fail(
			c.err, BAWN_ERR_POLICY, -EINVAL, "the workspace must be an absolute path");
	if (home && bawn_path_resolve(a, home, &c.home) < 0)
		c.home = home;
	r = set_defaults(&c, p);
	if (r >= 0)
		r = load_layers(&c, p, src);
	if (r >= 0)
		r = bawn_named_check(&c, p);
	if (r >= 0 && bawn_policy_digest(p) < 0)
		r = bawn_oom(&c);
	if (r < 0)
		return r;
	*ret = p;
	return 0;
}
