/* SPDX-License-Identifier: Apache-2.0 */
/* Replays saved inputs (files, or all files of directories) when no fuzzing engine is linked. */

#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static int replay(const char *path)
{
	static uint8_t buf[1 << 20];
	FILE *f = fopen(path, "rbe");

	if (!f) {
		perror(path);
		return 1;
	}
	size_t n = fread(buf, 1, sizeof(buf), f);
	(void)fclose(f);
	(void)LLVMFuzzerTestOneInput(buf, n);
	replayed++;
	return 0;
}

static int replay_dir(const char *path)
{
	char name[PATH_MAX];
	DIR *d = opendir(path);
	int bad = 0;

	if (!d) {
		perror(path);
		return 1;
	}
	for (struct dirent *e; (e = readdir(d));) { /* NOLINT(concurrency-mt-unsafe) */
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		bad |= replay(name);
	}
	(void)closedir(d);
	return bad;
}

int main(int argc, char *argv[])
{
	int bad = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;

		bad |= !stat(argv[i], &st) && S_ISDIR(st.st_mode) ? replay_dir(argv[i])
								  : replay(argv[i]);
	}
	(void)printf("%u inputs replayed\n", replayed);
	return bad || !replayed;
}
