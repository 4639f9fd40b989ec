/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command confined and says how it went: cc embed.c $(pkg-config --cflags --libs bawn) */
#include <stdio.h>

#include <bawn/bawn.h>

int main(int argc, char *argv[])
{
	static const char *const settings[] = {"limits.memory=256m", "limits.time=10s", NULL};
	const char *const demo[] = {"sh", "-c", "echo hello from $PWD; cat ~/.ssh/id_rsa", NULL};
	struct bawn_options o = {.size = sizeof(o), .settings = settings, .flags = BAWN_CAPTURE};
	struct bawn_report *r = NULL;

	o.argv = argc > 1 ? (const char *const *)&argv[1] : demo;
	if (bawn_run(&o, &r) < 0) {
		(void)fprintf(stderr, "refused: %s\n", r ? bawn_report_error(r) : "out of memory");
		bawn_report_free(r);
		return 1;
	}
	(void)printf("stdout: %sstderr: %s", bawn_report_output(r, 1, NULL),
		bawn_report_output(r, 2, NULL));
	(void)printf("exit status %d, limit '%s'\n", bawn_report_exit(r), bawn_report_limit(r));
	(void)printf("%s\n", bawn_report_json(r));
	bawn_report_free(r);
	return 0;
}
