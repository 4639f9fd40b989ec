/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled into the test program bawn-holes only: which control the meta-test takes away. */
#include "backend/native/hole.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

bool bawn_hole(const char *name)
{
	const char *list = getenv("BAWN_HOLE"); /* NOLINT(concurrency-mt-unsafe): no threads */
	size_t n = strlen(name);

	for (const char *p = list; p && *p; p = strchr(p, '+') ? strchr(p, '+') + 1 : NULL)
		if (!strncmp(p, name, n) && (p[n] == '+' || p[n] == '\0'))
			return true;
	return false;
}

const struct bawn_plan *bawn_holes_in(const struct bawn_plan *plan)
{
	static struct bawn_plan copy;

	copy = *plan;
	if (bawn_hole("memory"))
		copy.limits.memory = BAWN_UNLIMITED;
	if (bawn_hole("processes"))
		copy.limits.processes = BAWN_UNLIMITED;
	if (bawn_hole("files"))
		copy.limits.files = BAWN_UNLIMITED;
	if (bawn_hole("disk"))
		copy.limits.disk = BAWN_UNLIMITED;
	return &copy;
}
