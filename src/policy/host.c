/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about hosts as the lists of a policy hold them: text in one form. */
#include <errno.h>

#include "base/netrule.h"
#include "policy/entry.h"

int bawn_host_clean(
	struct bawn_arena *a, const char *raw, bool block, const char **ret, const char **why)
{
	char text[BAWN_NETRULE_TEXT_MAX];
	struct bawn_netrule rule;
	int r = bawn_netrule_parse(raw, &rule, why);

	if (r < 0)
		return r;
	if (!block && bawn_netrule_is_wide(&rule)) {
		*why = "the wildcard covers a whole top-level domain";
		return -EINVAL;
	}
	bawn_netrule_format(&rule, text);
	*ret = bawn_arena_strdup(a, text);
	return *ret ? 0 : -ENOMEM;
}

bool bawn_host_within(const char *inner, const char *outer)
{
	struct bawn_netrule in, out;
	const char *why;

	return bawn_netrule_parse(inner, &in, &why) == 0 &&
	       bawn_netrule_parse(outer, &out, &why) == 0 && bawn_netrule_within(&in, &out);
}
