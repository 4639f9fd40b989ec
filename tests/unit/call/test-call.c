/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <sys/stat.h>

#include "call/call.h"
#include "harness.h"
#include "tempdir.h"

static char dir[] = "/tmp/bawn-call-XXXXXX";
static const char *const argv_true[] = {"true", NULL};

/* dir/{ws/{sub,file,out -> ..,in -> sub},other}. */
static void make_tree(void)
{
	make_tempdir(dir);
	ASSERT_EQ(chdir(dir), 0);
	ASSERT_EQ(mkdir("ws", 0700) + mkdir("ws/sub", 0700) + mkdir("other", 0700), 0);
	ASSERT_EQ(mkdir("ws2", 0700), 0);
	ASSERT_EQ(symlink("..", "ws/out") + symlink("sub", "ws/in") + symlink("ws", "link"), 0);
	ASSERT_EQ(symlink("loop", "loop"), 0);
	ASSERT_TRUE(close(open("ws/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
}

static const struct {
	const char *workspace, *cwd; /* relative to dir unless absolute; cwd as given */
	int r;
	const char *result; /* cwd below dir, or text in the message */
} places[] = {
	{"ws", NULL, 0, "/ws"},
	{"ws", ".", 0, "/ws"},
	{"ws", "sub", 0, "/ws/sub"},
	{"ws", "in", 0, "/ws/sub"},
	{"ws/", "sub/../sub/", 0, "/ws/sub"},
	{"link", "sub", 0, "/ws/sub"},
	{"ws", "..", -EPERM, "outside the workspace"},
	{"ws", "out", -EPERM, "outside the workspace"},
	{"ws", "out/other", -EPERM, "outside the workspace"},
	{"ws", "in/../..", -EPERM, "outside the workspace"},
	{"ws", "/", -EPERM, "outside the workspace"},
	{"ws", "../ws2", -EPERM, "outside the workspace"},
	{"ws", "none", -ENOENT, "working directory"},
	{"ws", "file", -ENOTDIR, "is not a directory"},
	{"ws", "file/x", -ENOTDIR, "is not a directory"},
	{"ws", "", -EINVAL, "empty path"},
	{"none", NULL, -ENOENT, "does not exist"},
	{"ws/file", NULL, -ENOTDIR, "is not a directory"},
	{"loop", NULL, -ELOOP, "does not resolve"},
	{"/", NULL, -EPERM, "the workspace cannot be '/'"},
	{"/tmp/..", NULL, -EPERM, "the workspace cannot be '/'"},
};

static void check_place(size_t i)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_call_input in = {
		.argv = argv_true, .workspace = places[i].workspace, .cwd = places[i].cwd};
	struct bawn_error err = {0};
	const struct bawn_call *c = NULL;
	int r = bawn_call_make(a, &in, &c, &err);

	if (r != places[i].r)
		FAIL("'%s' '%s' gives %d: %s", in.workspace, in.cwd ? in.cwd : "(none)", r,
			err.msg);
	if (r == 0) {
		ASSERT_TRUE(!strncmp(c->cwd, dir, strlen(dir)));
		ASSERT_STREQ(c->cwd + strlen(dir), places[i].result);
		return;
	}
	ASSERT_EQ(err.kind, BAWN_ERR_CALL);
	if (!strstr(err.msg, places[i].result))
		FAIL("message is '%s', expected '%s'", err.msg, places[i].result);
}

TEST(places)
{
	make_tree();
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		check_place(i);
}

TEST(current_directory)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_call_input in = {.argv = argv_true};
	struct bawn_error err = {0};
	const struct bawn_call *c = NULL;

	make_tree();
	ASSERT_EQ(chdir("ws2"), 0);
	ASSERT_EQ(bawn_call_make(a, &in, &c, &err), 0);
	ASSERT_STREQ(c->workspace + strlen(dir), "/ws2");
	ASSERT_EQ(rmdir("../ws2"), 0);
	ASSERT_EQ(bawn_call_make(a, &in, &c, &err), -ENOENT);
	ASSERT_TRUE(strstr(err.msg, "was deleted") != NULL);
}

TEST(long_paths)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	static char path[PATH_MAX + 10];
	const char *const argv_long[] = {path, NULL};
	struct bawn_call_input in = {.argv = argv_true, .workspace = path};
	struct bawn_error err = {0};
	const struct bawn_call *c = NULL;

	memset(path, '/', PATH_MAX);
	ASSERT_EQ(bawn_call_make(a, &in, &c, &err), -ENAMETOOLONG);
	ASSERT_TRUE(strstr(err.msg, "longer than") != NULL);
	in = (struct bawn_call_input){.argv = argv_long, .workspace = "/tmp"};
	ASSERT_EQ(bawn_call_make(a, &in, &c, &err), -ENAMETOOLONG);
}

TEST(no_command)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	static const char *const none[] = {NULL}, *const empty[] = {"", "x", NULL};
	const char *const *const bad[] = {NULL, none, empty};
	struct bawn_error err = {0};
	const struct bawn_call *c = NULL;

	for (size_t i = 0; i < 3; i++) {
		struct bawn_call_input in = {.argv = bad[i], .workspace = "/tmp"};

		ASSERT_EQ(bawn_call_make(a, &in, &c, &err), -EINVAL);
		ASSERT_EQ(err.kind, BAWN_ERR_CALL);
	}
}

TEST(text_and_ids)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	static const char *const argv[] = {
		"echo", "a b", "", "it's", "$x", "-n", "x=1", "a\nb", "é", NULL};
	static const char *const joined[] = {"echo", "a b it's", NULL};
	struct bawn_call_input in = {.argv = argv, .workspace = "/tmp"};
	const struct bawn_call *c = NULL, *d = NULL;

	ASSERT_EQ(bawn_call_make(a, &in, &c, NULL), 0);
	ASSERT_STREQ(c->text, "echo 'a b' '' 'it'\\''s' '$x' -n x=1 'a\nb' 'é'");
	ASSERT_STREQ(c->tool, "run");
	ASSERT_STREQ(c->agent, "");
	ASSERT_EQ(strlen(c->run_id), 32);
	ASSERT_EQ(bawn_call_make(a, &in, &d, NULL), 0);
	ASSERT_TRUE(strcmp(c->run_id, d->run_id) != 0);
	ASSERT_STREQ(c->input_sha256, d->input_sha256);
	in.argv = joined;
	ASSERT_EQ(bawn_call_make(a, &in, &d, NULL), 0);
	ASSERT_TRUE(strcmp(c->input_sha256, d->input_sha256) != 0);
	/* printf 'true\0' | sha256sum */
	in.argv = argv_true;
	ASSERT_EQ(bawn_call_make(a, &in, &d, NULL), 0);
	ASSERT_STREQ(d->input_sha256,
		"debc2f07db78d52d2def07b7bc620d7042367501d9439a62ba09b559a98e0957");
}
