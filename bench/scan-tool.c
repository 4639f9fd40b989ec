/* SPDX-License-Identifier: Apache-2.0 */
/* bench/scan.sh: one search for deny patterns below a directory, timed by itself. */
#include <time.h>

#include "base/path.h"
#include "plan/scan.h"

static double now_ms(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

int main(int argc, char *argv[])
{
	static const char *const names[] = {
		".env", ".env.*", "*.pem", "*.key", "id_rsa", "id_ed25519", ".npmrc", ".netrc"};
	const char *patterns[sizeof(names) / sizeof(names[0]) + 1] = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_scan_stats stats = {0};
	struct bawn_strlist found = {0};
	struct bawn_error err = {0};
	double start;
	int r;

	if (argc != 3 || !a) {
		(void)fprintf(stderr, "usage: scan-tool DIRECTORY CACHE\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		patterns[i] = bawn_arena_printf(a, "%s/**/%s", argv[1], names[i]);
	start = now_ms();
	r = bawn_scan(a,
		&(struct bawn_scan_options){
			.root = argv[1], .patterns = patterns, .cache_dir = argv[2]},
		&found, &stats, &err);
	if (r < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	(void)printf("%.2f ms  directories %zu  entries %zu  reread %zu  matches %zu\n",
		now_ms() - start, stats.directories, stats.files, stats.reread, found.n);
	return 0;
}
