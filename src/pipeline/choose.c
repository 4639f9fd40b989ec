/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/choose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *bawn_level_name(enum bawn_level level)
{
	return bawn_enum_name("level", level);
}

static bool is_auto(const struct bawn_policy *p)
{
	return !strcmp(p->backend, "auto");
}

/*
 * The level that the policy asks for, by `level` and by `isolation`, whichever is stronger. Who
 * names an image wants a container, unless he names a backend: then it is for him to know.
 */
static enum bawn_level wanted_level(const struct bawn_policy *p)
{
	static const enum bawn_level of[] = {
		[BAWN_ISO_OFF] = BAWN_LEVEL_NONE,
		[BAWN_ISO_DEFAULT] = BAWN_LEVEL_PROCESS,
		[BAWN_ISO_ENHANCED] = BAWN_LEVEL_PROCESS,
		[BAWN_ISO_CONTAINER] = BAWN_LEVEL_CONTAINER,
		[BAWN_ISO_MAXIMUM] = BAWN_LEVEL_VM,
	};
	enum bawn_level level = of[p->isolation];

	if (p->level == BAWN_LEVEL_NONE || p->isolation == BAWN_ISO_OFF)
		return BAWN_LEVEL_NONE;
	if (p->level > level)
		level = p->level;
	if (is_auto(p) && *p->docker_image && level < BAWN_LEVEL_CONTAINER)
		level = BAWN_LEVEL_CONTAINER;
	return level;
}

/* Asked for with this very command. In a file it is a setting for the backends that have images. */
static bool wants_image(const struct bawn_policy *p)
{
	return bawn_policy_by_flag(p, "--image");
}

static bool too_weak(const struct bawn_policy *p, const struct bawn_backend *be)
{
	return p->isolation == BAWN_ISO_ENHANCED && be->tier == BAWN_TIER_LANDLOCK;
}

static int unknown(
	const struct bawn_backend *(*at)(size_t), const char *name, struct bawn_error *err)
{
	const struct bawn_backend *be;
	char known[240] = "";
	size_t n = 0;

	for (size_t i = 0; (be = at(i)) && n < sizeof(known); i++)
		n += (size_t)snprintf(
			known + n, sizeof(known) - n, "%s%s", n ? ", " : "", be->name);
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"backend '%s' is not part of this build (it has %s)", name, known);
}

static int add_named(const struct bawn_backend *(*at)(size_t), const struct bawn_policy *p,
	const char *name, struct bawn_choices *ret, struct bawn_error *err)
{
	const struct bawn_backend *be = NULL;

	for (size_t i = 0; (be = at(i)) && !bawn_backend_is(be, name); i++)
		;
	if (!be)
		return unknown(at, name, err);
	/* at level process the receipt decides; above it, only a backend of that level will do */
	if (ret->level > BAWN_LEVEL_PROCESS && be->level < ret->level)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"backend '%s' is of level '%s', but the policy asks for '%s'; nothing was run",
			be->name, bawn_level_name(be->level), bawn_level_name(ret->level));
	if (too_weak(p, be))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"backend '%s' has no namespaces, but the policy asks for isolation 'enhanced'; nothing was run",
			be->name);
	if (wants_image(p) && be->image != BAWN_IMAGE_CONTAINER)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"backend '%s' has no use for the image '%s' (--image); docker, podman and gvisor have; nothing was run",
			be->name, p->docker_image);
	for (size_t i = 0; i < ret->n; i++)
		if (ret->v[i] == be)
			return 0;
	if (ret->n < BAWN_CHOICES_MAX)
		ret->v[ret->n++] = be;
	return 0;
}

/*
 * The one that is named, and after it those that may stand in for it, as far as they are of the
 * level that is asked for and part of this build.
 */
static int choose_named(const struct bawn_backend *(*at)(size_t), const struct bawn_policy *p,
	struct bawn_choices *ret, struct bawn_error *err)
{
	const char *next = bawn_policy_fallback(p);
	int r = add_named(at, p, p->backend, ret, err);

	if (r < 0)
		return r;
	while (*next) {
		char name[32];
		size_t n = strcspn(next, "\n");

		if (n < sizeof(name)) {
			memcpy(name, next, n);
			name[n] = '\0';
			(void)add_named(at, p, name, ret, NULL);
		}
		next += n + (next[n] == '\n');
	}
	ret->named = true;
	ret->reason = ret->n > 1 ? "named by the policy, with others to fall back to"
				 : "named by the policy";
	return 0;
}

/* Those of the levels from `low` to `high`, strongest first. */
static void add_levels(const struct bawn_backend *(*at)(size_t), const struct bawn_policy *p,
	enum bawn_level low, enum bawn_level high, struct bawn_choices *ret)
{
	const struct bawn_backend *be;

	for (size_t i = 0; (be = at(i)) && ret->n < BAWN_CHOICES_MAX; i++)
		if (be->level >= low && be->level <= high && !be->foreign && !too_weak(p, be) &&
			(!wants_image(p) || be->image == BAWN_IMAGE_CONTAINER))
			ret->v[ret->n++] = be;
}

static void choose_none(const struct bawn_backend *(*at)(size_t), struct bawn_choices *ret)
{
	const struct bawn_backend *be;

	ret->reason = "the policy asks for no isolation";
	for (size_t i = 0; (be = at(i)) && !ret->n; i++)
		if (be->strength == 0)
			ret->v[ret->n++] = be;
}

int bawn_choose_among(const struct bawn_backend *(*at)(size_t), const struct bawn_policy *p,
	struct bawn_choices *ret, struct bawn_error *err)
{
	*ret = (struct bawn_choices){.level = wanted_level(p)};
	if (wants_image(p) && !*p->docker_image)
		return bawn_fail(err, BAWN_ERR_CALL, -EINVAL, "--image names no image");
	if (!is_auto(p))
		return choose_named(at, p, ret, err);
	if (ret->level == BAWN_LEVEL_NONE) {
		choose_none(at, ret);
		ret->n = wants_image(p) ? 0 : ret->n;
	} else if (p->prefer == BAWN_PREFER_STRONGEST) {
		ret->reason = "strongest here that meets every demanded control";
		add_levels(at, p, ret->level, BAWN_LEVEL_VM, ret);
	} else {
		ret->reason = "strongest of its level here that meets every demanded control";
		for (enum bawn_level l = ret->level; l <= BAWN_LEVEL_VM; l++)
			add_levels(at, p, l, l, ret);
	}
	if (!ret->n && wants_image(p))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"no backend of level '%s' has a use for the image '%s' (--image); nothing was run",
			bawn_level_name(ret->level), p->docker_image);
	if (!ret->n)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"no backend of level '%s' is part of this build; nothing was run",
			bawn_level_name(ret->level));
	return 0;
}

const struct bawn_backend *bawn_choose_guess(const struct bawn_policy_source *src)
{
	static const char *const telling[] = {
		"level", "isolation", "prefer", "enforcement.docker.image"};
	const struct bawn_backend *be = NULL;
	const char *named = NULL;
	size_t i = 0;

	for (size_t k = 0; k < src->n_settings; k++) {
		if (!strcmp(src->settings[k].key, "backend"))
			named = src->settings[k].text;
		for (size_t t = 0; t < sizeof(telling) / sizeof(telling[0]); t++)
			if (!strcmp(src->settings[k].key, telling[t]))
				return NULL;
	}
	if (named)
		be = bawn_backend_find(named);
	while (!named && (be = bawn_backend_at(i)) &&
		(be->level != BAWN_LEVEL_PROCESS || be->foreign))
		i++;
	return be && be->begin ? be : NULL;
}

int bawn_choose(const struct bawn_policy *p, struct bawn_choices *ret, struct bawn_error *err)
{
	return bawn_choose_among(bawn_backend_at, p, ret, err);
}

bool bawn_choices_put_back(struct bawn_choices *c, size_t i)
{
	const struct bawn_backend *be = c->v[i];
	size_t last = i;

	for (size_t k = i + 1; k < c->n; k++)
		if (c->v[k]->level == be->level)
			last = k;
	for (size_t k = i; k < last; k++)
		c->v[k] = c->v[k + 1];
	c->v[last] = be;
	return last > i;
}
