/* SPDX-License-Identifier: Apache-2.0 */
/* git's configuration format, the `.git` file, and all that follows from a configuration. */
#include <fcntl.h>
#include <stdint.h>

#include <sys/stat.h>

#include "plan/git_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char ws[64];

static void remove_all(void)
{
	char path[96];
	static const char *const parts[] = {"/.git/config", "/.git", ""};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", ws, parts[i]);
		(void)remove(path);
	}
}

static int fd_for_config(void)
{
	char path[96];

	if (!ws[0]) {
		(void)snprintf(ws, sizeof(ws), "/tmp/bawn-fuzz-XXXXXX");
		if (!mkdtemp(ws))
			abort();
		(void)atexit(remove_all);
	}
	(void)snprintf(path, sizeof(path), "%s/.git", ws);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof(path), "%s/.git/config", ws);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static int note(void *ctx, const char *section, bool sub, const char *key, const char *value)
{
	size_t *sum = ctx;

	*sum += strlen(section) + strlen(key) + (value ? strlen(value) : 0) + sub;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_close_ int fd = fd_for_config();
	const char *text = (const char *)data, *target = NULL;
	struct bawn_git git = {0};
	size_t sum = 0;

	if (!a || fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	(void)git_config_parse(text, size, note, &sum);
	if (git_file_parse(a, text, size, &target) == 0 && (!target || !*target))
		abort();
	if (bawn_git_find(a, ws, "/nowhere", &git, NULL) == 0)
		for (size_t i = 0; i < git.protect.n; i++)
			if (strncmp(git.protect.v[i], ws, strlen(ws)) != 0 || git.writable.n)
				abort();
	return 0;
}
