/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>

#include "fixture.h"

/* The profiles that come with bawn load, as they are. */
TEST(profiles_load)
{
	static char dir[PATH_MAX], path[PATH_MAX + 256];
	const char *files[] = {path, NULL};
	struct bawn_policy_source src = {.files = files, .no_admin = true, .no_user = true};
	const struct bawn_policy *p = NULL;
	char *tests;
	unsigned n = 0;
	DIR *d;

	ASSERT_TRUE(realpath(__FILE__, dir) != NULL);
	tests = strstr(dir, "/tests/unit/");
	ASSERT_TRUE(tests != NULL);
	(void)snprintf(tests, 16, "/profiles");
	setup();
	src.workspace = workspace;
	d = opendir(dir);
	ASSERT_TRUE(d != NULL);
	for (struct dirent *e; (e = readdir(d));) { /* NOLINT(concurrency-mt-unsafe) */
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (bawn_policy_load(arena, &src, &p, &error) < 0)
			FAIL("%s", error.msg);
		ASSERT_TRUE(p->net_mode >= BAWN_NET_DENY);
		n++;
	}
	(void)closedir(d);
	ASSERT_TRUE(n >= 3);
}
