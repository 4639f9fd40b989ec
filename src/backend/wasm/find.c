/* SPDX-License-Identifier: Apache-2.0 */
/* Where bawn-wasm and libwasmtime.so are. The host never loads the library: it is bound inside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "backend/wasm/wasm.h"
#include "base/libexec.h"

#define RUNNER  "bawn-wasm"
#define LIBRARY "libwasmtime.so"

/* Who can change it decides what runs inside: root or ourselves, nobody else. */
static int check_library(const char *path, struct bawn_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return bawn_fail(
			err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP, "cannot look at '%s': %m", path);
	if (!S_ISREG(st.st_mode))
		return bawn_fail(
			err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP, "'%s' is not a library", path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 022)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'%s' can be changed by others; it must belong to root or to you and be writable for nobody else",
			path);
	return 0;
}

/* Relative to the directory of bawn-wasm: installed beside it; or it is ROOT/build, and what
 * tools/wasmtime.sh fetched is in ROOT/build-deps. */
static bool is_near_runner(struct bawn_wasm_tools *t, const char *rest)
{
	const char *slash = strrchr(t->runner, '/');

	(void)snprintf(t->library, sizeof(t->library), "%.*s%s",
		(int)(slash ? slash - t->runner : 0), t->runner, rest);
	return access(t->library, F_OK) == 0;
}

static int find_library(const char *setting, struct bawn_wasm_tools *t, struct bawn_error *err)
{
	static const char *const places[] = {"/usr/lib/" LIBRARY,
		"/usr/lib/x86_64-linux-gnu/" LIBRARY, "/usr/lib/aarch64-linux-gnu/" LIBRARY,
		"/usr/local/lib/" LIBRARY};

	if (*setting) {
		if ((size_t)snprintf(t->library, sizeof(t->library), "%s", setting) >=
			sizeof(t->library))
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"enforcement.wasm.library is too long");
		return check_library(t->library, err);
	}
	if (is_near_runner(t, "/" LIBRARY))
		return check_library(t->library, err);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(t->library, sizeof(t->library), "%s", places[i]);
		if (access(t->library, F_OK) == 0)
			return check_library(t->library, err);
	}
	if (is_near_runner(t, "/../build-deps/wasmtime/" LIBRARY))
		return check_library(t->library, err);
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"there is no " LIBRARY
		" (wasmtime's C library, version 49 or newer): install it in '%s' or /usr/local/lib, or name it in enforcement.wasm.library",
		BAWN_LIBEXECDIR);
}

int bawn_wasm_find(const char *setting, struct bawn_wasm_tools *ret, struct bawn_error *err)
{
	int r = bawn_libexec_find(RUNNER, ret->runner, sizeof(ret->runner));

	if (r < 0)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'" RUNNER
			"' is neither beside this program nor in '%s'; install bawn completely",
			BAWN_LIBEXECDIR);
	return find_library(setting, ret, err);
}
