/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/choose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *bawn_level_name(enum bawn_level level)
{
	return bawn_enum_name("level", level);
}

/* The level that the policy asks for, by `level` and by `isolation`, whichever is stronger. */
static enum bawn_level wanted_level(const struct bawn_policy *p)
{
	static const enum bawn_level of[] = {
		[BAWN_ISO_OFF] = BAWN_LEVEL_NONE,
		[BAWN_ISO_DEFAULT] = BAWN_LEVEL_PROCESS,
		[BAWN_ISO_ENHANCED] = BAWN_LEVEL_PROCESS,
		[BAWN_ISO_CONTAINER] = BAWN_LEVEL_CONTAINER,
		[BAWN_ISO_MAXIMUM] = BAWN_LEVEL_VM,
	};
	enum bawn_level by_iso = of[p->isolation];

	if (p->level == BAWN_LEVEL_NONE || p->isolation == BAWN_ISO_OFF)
		return BAWN_LEVEL_NONE;
	return p->level > by_iso ? p->level : by_iso;
}

static int choose_named(
	const struct bawn_policy *p, struct bawn_choices *ret, struct bawn_error *err)
{
	const struct bawn_backend *be = bawn_backend_find(p->backend);
	char known[160] = "";
	size_t n = 0;

	/* at level process the receipt decides; above it, only a backend of that level will do */
	if (be && wanted_level(p) > BAWN_LEVEL_PROCESS && be->level < wanted_level(p))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"backend '%s' is of level '%s', but the policy asks for '%s'; nothing was run",
			be->name, bawn_level_name(be->level), bawn_level_name(wanted_level(p)));
	if (be) {
		*ret = (struct bawn_choices){.v = {be}, .n = 1, .reason = "named by the policy"};
		return 0;
	}
	for (size_t i = 0; (be = bawn_backend_at(i)) && n < sizeof(known); i++)
		n += (size_t)snprintf(
			known + n, sizeof(known) - n, "%s%s", n ? ", " : "", be->name);
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"backend '%s' is not part of this build (it has %s)", p->backend, known);
}

int bawn_choose(const struct bawn_policy *p, struct bawn_choices *ret, struct bawn_error *err)
{
	enum bawn_level level = wanted_level(p);
	const struct bawn_backend *be;

	if (strcmp(p->backend, "auto") != 0)
		return choose_named(p, ret, err);
	*ret = (struct bawn_choices){.reason = "strongest here that meets every demanded control"};
	if (level == BAWN_LEVEL_NONE)
		ret->reason = "the policy asks for no isolation";
	for (size_t i = 0; (be = bawn_backend_at(i)) && ret->n < BAWN_CHOICES_MAX; i++) {
		if (be->level != level || (level == BAWN_LEVEL_NONE && be->strength > 0))
			continue;
		if (p->isolation == BAWN_ISO_ENHANCED && be->tier == BAWN_TIER_LANDLOCK)
			continue;
		ret->v[ret->n++] = be;
	}
	if (!ret->n)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"no backend of level '%s' is part of this build; nothing was run",
			bawn_level_name(level));
	return 0;
}
