/* SPDX-License-Identifier: Apache-2.0 */
/* Records of boxes on disk: names, locks, their number, what is damaged; and keys of images. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <sys/stat.h>

#include "base/io.h"
#include "box/internal.h"
#include "harness.h"

static char home[] = "/tmp/box-XXXXXX";
static struct bawn_arena *a;

static void begin(void)
{
	ASSERT_TRUE(mkdtemp(home));
	(void)setenv("XDG_STATE_HOME", home, 1); /* NOLINT(concurrency-mt-unsafe): no threads */
	a = bawn_arena_new();
	ASSERT_TRUE(a);
}

static void end(void)
{
	box_remove_tree(home);
	ASSERT_TRUE(access(home, F_OK) < 0);
	a = bawn_arena_free(a);
}

static struct bawn_box make(const char *name)
{
	static const struct bawn_setting settings[] = {
		{"limits.memory", "1g", "--memory"}, {"environment.set", "A=\"\n\\", "--env"}};
	static const char *const policies[] = {"/p one.yaml", NULL};

	return (struct bawn_box){.name = name,
		.engine = "docker",
		.container = "c",
		.image = "img:1",
		.image_id = "sha256:1",
		.dockerfile = "",
		.project = "/srv/\xc3\xa9 x",
		.dir = "/nowhere",
		.stage = "s",
		.created = 1800000000000000u,
		.changed = 2,
		.ready = true,
		.policies = policies,
		.settings = settings,
		.n_settings = 2,
		.lock = -1};
}

TEST(round_trip)
{
	struct bawn_box b = make("one");
	struct bawn_box *got = NULL;
	struct bawn_error err = {0};

	begin();
	ASSERT_EQ(box_register(a, &b, &err), 0);
	(void)bawn_box_close(&b);
	ASSERT_EQ(bawn_box_open(a, "one", BAWN_BOX_USE, &got, &err), 0);
	ASSERT_STREQ(got->project, b.project);
	ASSERT_STREQ(got->policies[0], "/p one.yaml");
	ASSERT_TRUE(!got->policies[1]);
	ASSERT_EQ(got->n_settings, 2);
	ASSERT_STREQ(got->settings[1].text, "A=\"\n\\");
	ASSERT_EQ(got->created, b.created);
	ASSERT_TRUE(got->ready);
	ASSERT_EQ(box_unregister(got, &err), 0);
	(void)bawn_box_close(got);
	ASSERT_EQ(bawn_box_open(a, "one", BAWN_BOX_USE, &got, &err), -ENOENT);
	end();
}

TEST(names)
{
	static const char *const bad[] = {"", "-a", "_a", "A", "a/b", "..", "a b", "\xc3\xa9",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	static const char *const good[] = {
		"a", "0", "a-b_c", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	struct bawn_error err = {0};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_EQ(box_check_name(bad[i], &err), -EINVAL);
		ASSERT_EQ(err.kind, BAWN_ERR_USAGE);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ASSERT_EQ(box_check_name(good[i], &err), 0);
}

TEST(locks)
{
	struct bawn_box b = make("one");
	struct bawn_box *x = NULL, *y = NULL, *z = NULL;
	struct bawn_error err = {0};

	begin();
	ASSERT_EQ(box_register(a, &b, &err), 0);
	ASSERT_EQ(bawn_box_open(a, "one", BAWN_BOX_USE, &x, &err), -EBUSY);
	(void)bawn_box_close(&b);
	ASSERT_EQ(bawn_box_open(a, "one", BAWN_BOX_USE, &x, &err), 0);
	ASSERT_EQ(bawn_box_open(a, "one", BAWN_BOX_USE, &y, &err), 0);
	ASSERT_EQ(bawn_box_open(a, "one", BAWN_BOX_CHANGE, &z, &err), -EBUSY);
	ASSERT_TRUE(strstr(err.msg, "in use"));
	(void)bawn_box_close(x);
	(void)bawn_box_close(y);
	ASSERT_EQ(bawn_box_open(a, "one", BAWN_BOX_CHANGE, &z, &err), 0);
	(void)bawn_box_close(z);
	end();
}

TEST(as_many_as_there_may_be)
{
	struct bawn_error err = {0};
	struct bawn_box **list;
	char name[8];
	size_t n;

	begin();
	for (unsigned i = 0; i < BAWN_BOXES_MAX; i++) {
		struct bawn_box b;

		(void)snprintf(name, sizeof(name), "n%u", i);
		b = make(name);
		b.created = i;
		ASSERT_EQ(box_register(a, &b, &err), 0);
		ASSERT_EQ(box_register(a, &b, &err), -EEXIST);
		(void)bawn_box_close(&b);
	}
	struct bawn_box more = make("more");
	ASSERT_EQ(box_register(a, &more, &err), -EDQUOT);
	ASSERT_EQ(bawn_box_list(a, &list, &n, &err), 0);
	ASSERT_EQ(n, BAWN_BOXES_MAX);
	ASSERT_STREQ(list[0]->name, "n31");
	ASSERT_STREQ(list[31]->name, "n0");
	end();
}

TEST(damaged_records)
{
	static const char *const texts[] = {"", "{", "[]", "{\"schema\":\"bawn/box-record/v1\"}",
		"{\"schema\":\"other\"}", "\xff\xfe"};
	struct bawn_error err = {0};
	struct bawn_box *b = NULL, **list;
	size_t n;

	begin();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *path = box_path(a, "bad.json", &err);

		ASSERT_EQ(box_write(path, texts[i], strlen(texts[i]), &err), 0);
		ASSERT_EQ(bawn_box_open(a, "bad", BAWN_BOX_USE, &b, &err), -EBADMSG);
		ASSERT_TRUE(strstr(err.msg, "damaged"));
		ASSERT_EQ(bawn_box_list(a, &list, &n, &err), -EBADMSG);
	}
	end();
}

/* No engine is asked for what the key is made of: one that answers "no such image" will do. */
static void put(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[128];
	_cleanup_close_ int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode);
	ASSERT_EQ(bawn_write_all(fd, text, strlen(text)), 0);
}

static const char *key_of(const struct bawn_image_options *o)
{
	struct bawn_error err = {0};
	struct bawn_image im;

	if (bawn_image_look(a, o, &im, &err) < 0)
		FAIL("%s", err.msg);
	ASSERT_TRUE(!im.present && !im.stale);
	return im.key;
}

TEST(keys_of_images)
{
	struct bawn_image_options o = {0};
	struct bawn_error err = {0};
	struct bawn_image im;
	char engine[64];

	begin();
	put(home, "engine", "#!/bin/sh\necho 'Error: No such image' >&2\nexit 1\n", 0755);
	(void)snprintf(engine, sizeof(engine), "%s/engine", home);
	o.engine = engine;
	o.context = home;
	ASSERT_EQ(bawn_image_look(a, &o, &im, &err), -ENOENT);
	put(home, "Dockerfile", "FROM a\n", 0644);
	const char *first = key_of(&o);
	ASSERT_EQ(strlen(first), 64);
	ASSERT_STREQ(key_of(&o), first);
	put(home, "Dockerfile", "FROM b\n", 0644);
	ASSERT_TRUE(strcmp(key_of(&o), first) != 0);
	put(home, "Dockerfile", "FROM a\n", 0644);
	ASSERT_STREQ(key_of(&o), first);
	put(home, ".dockerignore", "x\n", 0644);
	ASSERT_TRUE(strcmp(key_of(&o), first) != 0);
	put(home, ".dockerignore", "", 0644);
	ASSERT_STREQ(key_of(&o), first);
	/* the same text elsewhere is another image: its context differs */
	put(home, "Other", "FROM a\n", 0644);
	char other[64];
	(void)snprintf(other, sizeof(other), "%s/Other", home);
	o.dockerfile = other;
	ASSERT_TRUE(strcmp(key_of(&o), first) != 0);
	end();
}
