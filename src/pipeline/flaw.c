/* SPDX-License-Identifier: Apache-2.0 */
/* See flaw.h. One small file per backend: what its program was, and the flaw. */
#include "pipeline/flaw.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "backend/near/near.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

#define FLAW_MAX 4096

static const char *place_of(struct bawn_arena *a, const struct bawn_backend *be)
{
	const char *dir = bawn_path_state(a, "flaws");

	return dir ? bawn_arena_printf(a, "%s/%s", dir, be->name) : NULL;
}

/* The program as it is now; NULL if there is none. */
static const char *identity_of(struct bawn_arena *a, const struct bawn_backend *be)
{
	const struct bawn_tool like = {.program = be->program, .remedy = ""};
	char path[4096];
	struct stat st;

	if (!be->program || bawn_near_find(&like, path, sizeof(path), NULL) < 0 ||
		stat(path, &st) < 0)
		return NULL;
	return bawn_arena_printf(a, "%s %llu %lld %lld.%09ld\n", path,
		(unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		st.st_mtim.tv_nsec);
}

const char *bawn_flaw_recall(struct bawn_arena *a, const struct bawn_backend *be)
{
	const char *path = be->program ? place_of(a, be) : NULL;
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *now;

	if (!path || bawn_read_file(AT_FDCWD, path, FLAW_MAX, &b) < 0 || !b.len)
		return NULL;
	now = identity_of(a, be);
	if (!now || strncmp(b.data, now, strlen(now)) != 0)
		return NULL;
	return bawn_arena_strdup(a, b.data + strlen(now));
}

void bawn_flaw_remember(struct bawn_arena *a, const struct bawn_backend *be, const char *flaw)
{
	const char *path = place_of(a, be);
	const char *now = identity_of(a, be);
	const char *temp = path ? bawn_arena_printf(a, "%s.%d", path, (int)getpid()) : NULL;
	_cleanup_close_ int fd = -1;

	if (!temp || !now ||
		bawn_path_make_state_dirs(path, (size_t)(strrchr(path, '/') - path)) < 0)
		return;
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (bawn_write_all(fd, now, strlen(now)) < 0 ||
		bawn_write_all(fd, flaw, strlen(flaw)) < 0 || rename(temp, path) < 0)
		(void)unlink(temp);
}
