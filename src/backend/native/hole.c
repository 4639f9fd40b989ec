/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled into the test program bawn-holes only: which control the meta-test takes away. */
#include "backend/native/hole.h"

#include <stdlib.h>
#include <string.h>

bool bawn_hole(const char *name)
{
	const char *list = getenv("BAWN_HOLE"); /* NOLINT(concurrency-mt-unsafe): no threads */
	size_t n = strlen(name);

	for (const char *p = list; p && *p; p = strchr(p, '+') ? strchr(p, '+') + 1 : NULL)
		if (!strncmp(p, name, n) && (p[n] == '+' || p[n] == '\0'))
			return true;
	return false;
}
