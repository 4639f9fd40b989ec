/* SPDX-License-Identifier: Apache-2.0 */
/* What gVisor gets as one tree and what as mounts of its own, and the bundle that says so. */
#include <ftw.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include "backend/far/gvisor.h"
#include "harness.h"

#define N 12

static struct bawn_mount mounts[N] = {
	{.kind = BAWN_MNT_RO, .src = "/usr", .dst = "/usr", .rule = "r"},
	{.kind = BAWN_MNT_SYMLINK, .src = "usr/bin", .dst = "/bin", .rule = "r"},
	{.kind = BAWN_MNT_RO, .src = "/etc", .dst = "/etc", .rule = "r"},
	{.kind = BAWN_MNT_HIDE, .dst = "/etc/passwd", .rule = "r"},
	{.kind = BAWN_MNT_SCRATCH, .dst = "/home", .rule = "r"},
	{.kind = BAWN_MNT_FILE, .src = "text", .dst = "/home/.gitconfig", .rule = "r"},
	{.kind = BAWN_MNT_RW, .src = "/var", .dst = "/ws", .rule = "r"},
	{.kind = BAWN_MNT_RO, .src = "/var/lib", .dst = "/ws/lib", .rule = "r", .protect = true},
	{.kind = BAWN_MNT_RO,
		.src = "/usr/share",
		.dst = "/usr/share",
		.rule = "r",
		.no_exec = true},
	{.kind = BAWN_MNT_RO, .src = "/usr/share/doc", .dst = "/usr/share/doc", .rule = "r"},
	{.kind = BAWN_MNT_RO, .src = "/proc/sys", .dst = "/proc/sys", .rule = "r"},
	{.kind = BAWN_MNT_FILE, .src = "text", .dst = "/note", .rule = "r"},
};
static const bool expected[N] = {
	true, false, true, true, false, false, false, false, false, false, false, true};

static struct bawn_plan plan = {
	.mounts = mounts, .n_mounts = N, .hostname = "bawn", .limits = {.disk = 1 << 20}};

TEST(what_is_read_only_and_not_below_anything_else_is_in_the_tree)
{
	struct bawn_arena *a = bawn_arena_new();
	const bool *in = bawn_gvisor_tree(&plan, a);

	ASSERT_TRUE(in != NULL);
	for (size_t i = 0; i < N; i++)
		if (in[i] != expected[i])
			FAIL("'%s' is %sin the tree", mounts[i].dst, in[i] ? "" : "not ");
	a = bawn_arena_free(a);
}

static void options_of(const json_t *mount, bool *ro, bool *no_exec)
{
	const json_t *options = json_object_get(mount, "options");

	*ro = *no_exec = false;
	for (size_t i = 0; i < json_array_size(options); i++) {
		const char *o = json_string_value(json_array_get(options, i));

		*ro |= !strcmp(o, "ro");
		*no_exec |= !strcmp(o, "noexec");
	}
}

/* The mount at `dst` in a configuration; NULL if there is none. */
static const json_t *at(const json_t *config, const char *dst, bool *ro, bool *no_exec)
{
	const json_t *list = json_object_get(config, "mounts");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *m = json_array_get(list, i);

		if (!strcmp(json_string_value(json_object_get(m, "destination")), dst)) {
			options_of(m, ro, no_exec);
			return m;
		}
	}
	return NULL;
}

static json_t *load(const char *dir, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return json_load_file(path, 0, NULL);
}

static void check_plain(const json_t *plain)
{
	bool ro, no_exec;

	ASSERT_TRUE(at(plain, "/usr", &ro, &no_exec) && ro);
	ASSERT_TRUE(at(plain, "/etc/passwd", &ro, &no_exec) && ro);
	ASSERT_TRUE(at(plain, "/note", &ro, &no_exec) && ro);
	ASSERT_TRUE(at(plain, "/ws", &ro, &no_exec) && !ro);
	ASSERT_TRUE(at(plain, BAWN_GVISOR_AGENT, &ro, &no_exec) && ro);
	ASSERT_TRUE(!at(plain, "/proc/sys", &ro, &no_exec));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

TEST(the_bundle_has_what_is_not_in_the_tree)
{
	char dir[] = "/tmp/bawn-gvisor-XXXXXX";
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_far_job job = {
		.plan = &plan, .arena = a, .inside = "/bin/true", .dir = dir, .id = "x"};
	struct bawn_error err = {0};
	json_t *config, *plain, *caps;
	bool ro, no_exec;

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	if (bawn_gvisor_bundle(&job, &err) < 0)
		FAIL("%s", err.msg);
	config = load(dir, "config.json");
	ASSERT_TRUE(config != NULL);
	for (size_t i = 0; i < N; i++)
		if (expected[i] && at(config, mounts[i].dst, &ro, &no_exec))
			FAIL("'%s' is mounted by gVisor as well", mounts[i].dst);
	ASSERT_TRUE(at(config, "/ws", &ro, &no_exec) && !ro);
	ASSERT_TRUE(at(config, "/ws/lib", &ro, &no_exec) && ro);
	ASSERT_TRUE(at(config, "/usr/share", &ro, &no_exec) && ro && no_exec);
	ASSERT_TRUE(at(config, "/usr/share/doc", &ro, &no_exec) && ro);
	ASSERT_TRUE(at(config, "/home/.gitconfig", &ro, &no_exec) && ro);
	ASSERT_TRUE(json_is_true(json_object_get(json_object_get(config, "root"), "readonly")));
	caps = json_object_get(json_object_get(config, "process"), "capabilities");
	ASSERT_EQ(json_array_size(json_object_get(caps, "bounding")), 0);
	plain = load(dir, BAWN_GVISOR_PLAIN);
	ASSERT_EQ(plain != NULL, geteuid() != 0);
	if (plain)
		check_plain(plain);
	json_decref(config);
	json_decref(plain);
	ASSERT_EQ(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	a = bawn_arena_free(a);
}
