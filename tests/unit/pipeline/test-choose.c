/* SPDX-License-Identifier: Apache-2.0 */
/* Level × isolation × preference × what is there → who is tried, in which order. */
#include "../../harness.h"
#include "pipeline/choose.h"

int bawn_backend_word(const char *word, const char **ret); /* of policy/draft.h */

/* The backends of a full build, in miniature. */
#define FAKE(name_, aliases_, level_, strength_, tier_, foreign_)                                 \
	{                                                                                         \
		.abi = BAWN_BACKEND_ABI, .name = (name_), .aliases = (aliases_),                  \
		.level = BAWN_LEVEL_##level_, .strength = (strength_), .tier = BAWN_TIER_##tier_, \
		.foreign = (foreign_)                                                             \
	}

static const struct bawn_backend fakes[] = {
	FAKE("firecracker", "", VM, 140, FAR, false),
	FAKE("qemu", "microvm", VM, 130, FAR, false),
	FAKE("gvisor", "runsc", CONTAINER, 120, FAR, false),
	FAKE("docker", "", CONTAINER, 110, NEAR, false),
	FAKE("podman", "", CONTAINER, 105, NEAR, false),
	FAKE("apple-container", "container", CONTAINER, 100, NEAR, true),
	FAKE("wasm", "wasmtime", WASM, 80, FULL, false),
	FAKE("native", "kernel,namespace,landlock+bwrap", PROCESS, 60, FULL, false),
	FAKE("bwrap", "bubblewrap", PROCESS, 50, NEAR, false),
	FAKE("nsjail", "", PROCESS, 45, NEAR, false),
	FAKE("seatbelt", "macos,sandbox-exec", PROCESS, 40, FULL, true),
	FAKE("chroot", "", PROCESS, 30, CHROOT, false),
	FAKE("landlock", "", PROCESS, 20, LANDLOCK, false),
	FAKE("path", "soft", NONE, 10, FULL, false),
	FAKE("noop", "none,off", NONE, 0, FULL, false),
};

/* The words that this build has; NULL for all of them. */
static const char *only;

static bool has(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; (p = strstr(p, name)); p++)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

static const struct bawn_backend *fake_at(size_t i)
{
	for (size_t k = 0; k < sizeof(fakes) / sizeof(fakes[0]); k++)
		if ((!only || has(only, fakes[k].name)) && i-- == 0)
			return &fakes[k];
	return NULL;
}

static struct bawn_policy with(const char *backend, enum bawn_level level,
	enum bawn_isolation isolation, enum bawn_prefer prefer)
{
	return (struct bawn_policy){.backend = backend,
		.level = level,
		.isolation = isolation,
		.prefer = prefer,
		.docker_image = ""};
}

/* "native bwrap …", or "!" and the message. */
static const char *chosen(const struct bawn_policy *p)
{
	static char text[600];
	struct bawn_choices c;
	struct bawn_error err = {0};
	size_t n = 0;

	if (bawn_choose_among(fake_at, p, &c, &err) < 0) {
		ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
		(void)snprintf(text, sizeof(text), "!%s", err.msg);
		return text;
	}
	ASSERT_TRUE(c.reason && *c.reason);
	for (size_t i = 0; i < c.n; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s%s", i ? " " : "", c.v[i]->name);
	return text;
}

#define PROCESSES  "native bwrap nsjail chroot landlock"
#define CONTAINERS "gvisor docker podman"
#define VMS        "firecracker qemu"
#define L(x)       BAWN_LEVEL_##x
#define I(x)       BAWN_ISO_##x
#define FAST       BAWN_PREFER_FASTEST
#define STRONG     BAWN_PREFER_STRONGEST

TEST(auto_by_level_isolation_and_preference)
{
	static const struct {
		enum bawn_level level;
		enum bawn_isolation isolation;
		enum bawn_prefer prefer;
		const char *want;
	} rows[] = {
		{L(NONE), I(DEFAULT), FAST, "noop"},
		{L(NONE), I(MAXIMUM), FAST, "noop"},
		{L(NONE), I(DEFAULT), STRONG, "noop"},
		{L(PROCESS), I(OFF), FAST, "noop"},
		{L(VM), I(OFF), STRONG, "noop"},
		{L(PROCESS), I(DEFAULT), FAST, PROCESSES " wasm " CONTAINERS " " VMS},
		{L(PROCESS), I(ENHANCED), FAST,
			"native bwrap nsjail chroot wasm " CONTAINERS " " VMS},
		{L(PROCESS), I(CONTAINER), FAST, CONTAINERS " " VMS},
		{L(PROCESS), I(MAXIMUM), FAST, VMS},
		{L(WASM), I(DEFAULT), FAST, "wasm " CONTAINERS " " VMS},
		{L(WASM), I(CONTAINER), FAST, CONTAINERS " " VMS},
		{L(CONTAINER), I(DEFAULT), FAST, CONTAINERS " " VMS},
		{L(CONTAINER), I(ENHANCED), FAST, CONTAINERS " " VMS},
		{L(CONTAINER), I(MAXIMUM), FAST, VMS},
		{L(VM), I(DEFAULT), FAST, VMS},
		{L(VM), I(CONTAINER), FAST, VMS},
		{L(PROCESS), I(DEFAULT), STRONG, VMS " " CONTAINERS " wasm " PROCESSES},
		{L(PROCESS), I(ENHANCED), STRONG,
			VMS " " CONTAINERS " wasm native bwrap nsjail chroot"},
		{L(WASM), I(DEFAULT), STRONG, VMS " " CONTAINERS " wasm"},
		{L(CONTAINER), I(DEFAULT), STRONG, VMS " " CONTAINERS},
		{L(PROCESS), I(CONTAINER), STRONG, VMS " " CONTAINERS},
		{L(VM), I(DEFAULT), STRONG, VMS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_policy p =
			with("auto", rows[i].level, rows[i].isolation, rows[i].prefer);

		if (strcmp(chosen(&p), rows[i].want) != 0)
			FAIL("row %zu: %s, not %s", i, chosen(&p), rows[i].want);
	}
}

TEST(auto_by_what_is_there)
{
	static const struct {
		const char *there;
		enum bawn_level level;
		enum bawn_prefer prefer;
		const char *want;
	} rows[] = {
		{"native landlock path noop", L(PROCESS), FAST, "native landlock"},
		{"native landlock path noop", L(PROCESS), STRONG, "native landlock"},
		{"native landlock path noop", L(WASM), FAST, "!no backend of level 'wasm'"},
		{"native landlock path noop", L(CONTAINER), FAST,
			"!no backend of level 'container'"},
		{"native landlock path noop", L(VM), STRONG, "!no backend of level 'vm'"},
		{"path noop", L(PROCESS), FAST, "!no backend of level 'process'"},
		{"path noop", L(NONE), FAST, "noop"},
		{"native path", L(NONE), FAST, "!no backend of level 'none'"},
		{"docker path noop", L(PROCESS), FAST, "docker"},
		{"qemu native noop", L(CONTAINER), FAST, "qemu"},
		{"seatbelt noop", L(PROCESS), FAST, "!no backend of level 'process'"},
		{"apple-container noop", L(CONTAINER), FAST, "!no backend of level 'container'"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_policy p = with("auto", rows[i].level, I(DEFAULT), rows[i].prefer);
		bool error = rows[i].want[0] == '!';

		only = rows[i].there;
		if (error ? strncmp(chosen(&p), rows[i].want, strlen(rows[i].want)) != 0
			  : strcmp(chosen(&p), rows[i].want) != 0)
			FAIL("row %zu: %s, not %s", i, chosen(&p), rows[i].want);
	}
}

/* Every name and alias, at every level: itself, or refused where the level is higher. */
TEST(named_at_every_level)
{
	for (size_t i = 0; i < sizeof(fakes) / sizeof(fakes[0]); i++)
		for (enum bawn_level l = L(NONE); l <= L(VM); l++) {
			struct bawn_policy p = with(fakes[i].name, l, I(DEFAULT), FAST);
			bool enough = l <= L(PROCESS) || fakes[i].level >= l;

			if (enough)
				ASSERT_STREQ(chosen(&p), fakes[i].name);
			else
				ASSERT_TRUE(strstr(chosen(&p), "but the policy asks for"));
		}
}

TEST(named_at_every_isolation)
{
	static const enum bawn_level needs[] = {
		L(NONE), L(PROCESS), L(PROCESS), L(CONTAINER), L(VM)};

	for (size_t i = 0; i < sizeof(fakes) / sizeof(fakes[0]); i++)
		for (enum bawn_isolation iso = I(OFF); iso <= I(MAXIMUM); iso++) {
			struct bawn_policy p = with(fakes[i].name, L(PROCESS), iso, STRONG);
			bool enough = needs[iso] <= L(PROCESS) || fakes[i].level >= needs[iso];

			if (iso == I(ENHANCED) && fakes[i].tier == BAWN_TIER_LANDLOCK)
				enough = false;
			if (enough)
				ASSERT_STREQ(chosen(&p), fakes[i].name);
			else
				ASSERT_TRUE(
					chosen(&p)[0] == '!' && strstr(chosen(&p), fakes[i].name));
		}
}

TEST(named_by_alias)
{
	static const struct {
		const char *word, *want;
	} rows[] = {{"kernel", "native"}, {"namespace", "native"}, {"landlock+bwrap", "native"},
		{"bubblewrap", "bwrap"}, {"macos", "seatbelt"}, {"sandbox-exec", "seatbelt"},
		{"soft", "path"}, {"none", "noop"}, {"off", "noop"}, {"wasmtime", "wasm"},
		{"runsc", "gvisor"}, {"container", "apple-container"}, {"microvm", "qemu"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_policy p = with(rows[i].word, L(PROCESS), I(DEFAULT), FAST);

		ASSERT_STREQ(chosen(&p), rows[i].want);
	}
}

/* Others after it, each once, in the order of the policy, and none below the level. */
TEST(named_with_others_to_fall_back_to)
{
	static const struct {
		enum bawn_level level;
		const char *there, *fallback, *want;
	} rows[] = {
		{L(PROCESS), NULL, "nsjail", "gvisor nsjail"},
		{L(PROCESS), NULL, "native\nnsjail\ngvisor\nnative", "gvisor native nsjail"},
		{L(CONTAINER), NULL, "native\npodman\nqemu", "gvisor podman qemu"},
		{L(PROCESS), "gvisor native", "docker\nnative", "gvisor native"},
		{L(VM), NULL, "qemu", "!backend 'gvisor' is of level 'container'"},
		{L(PROCESS), "native", "native", "!backend 'gvisor' is not part of this build"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_policy p = with("gvisor", rows[i].level, I(DEFAULT), FAST);
		struct bawn_pair pair = {.key = "sandbox.fallback", .value = rows[i].fallback};

		p.named = (struct bawn_pairs){.v = &pair, .n = 1};
		only = rows[i].there;
		if (strncmp(chosen(&p), rows[i].want, strlen(rows[i].want)) != 0 ||
			(rows[i].want[0] != '!' && strcmp(chosen(&p), rows[i].want) != 0))
			FAIL("row %zu: %s, not %s", i, chosen(&p), rows[i].want);
	}
}

TEST(named_and_not_there)
{
	struct bawn_policy p = with("docker", L(PROCESS), I(DEFAULT), FAST);

	only = "native bwrap noop";
	ASSERT_STREQ(chosen(&p),
		"!backend 'docker' is not part of this build (it has native, bwrap, noop)");
}

/* Who asks for an image asks for a container, and is not quietly given this host's system. */
TEST(an_image_asks_for_a_container)
{
	struct bawn_policy p = with("auto", L(PROCESS), I(DEFAULT), FAST);

	p.docker_image = "busybox";
	ASSERT_STREQ(chosen(&p), CONTAINERS " " VMS);
	p.level = L(VM);
	ASSERT_STREQ(chosen(&p), VMS);
	p.level = L(NONE);
	ASSERT_STREQ(chosen(&p), "noop");
	p = with("native", L(PROCESS), I(DEFAULT), FAST);
	p.docker_image = "busybox";
	ASSERT_STREQ(chosen(&p), "native");
}

/* Every word for a backend can be used in a policy. */
static void check_words(const struct bawn_backend *be)
{
	char word[64];
	const char *name = NULL;

	for (const char *p = be->aliases; *p;) {
		size_t len = strcspn(p, ",");

		ASSERT_TRUE(len < sizeof(word));
		memcpy(word, p, len);
		word[len] = '\0';
		if (bawn_backend_word(word, &name) < 0)
			FAIL("a policy does not know '%s'", word);
		ASSERT_STREQ(name, be->name);
		p += len + (p[len] == ',');
	}
	ASSERT_EQ(bawn_backend_word(be->name, &name), 0);
	ASSERT_STREQ(name, be->name);
}

/* Before the policy is read: what it mostly is, unless an option tells. */
TEST(guess_is_the_usual_one_unless_an_option_tells)
{
	static const char *const telling[] = {
		"level", "isolation", "prefer", "enforcement.docker.image"};
	struct bawn_setting s[2] = {{.key = "limits.memory", .text = "1G"}};
	struct bawn_policy_source src = {.settings = s, .n_settings = 1};
	struct bawn_policy p =
		with("auto", BAWN_LEVEL_PROCESS, BAWN_ISO_DEFAULT, BAWN_PREFER_FASTEST);
	struct bawn_choices c;

	ASSERT_EQ(bawn_choose(&p, &c, NULL), 0);
	ASSERT_TRUE(bawn_choose_guess(&src) == c.v[0]);
	src.n_settings = 2;
	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
		s[1].key = telling[i];
		ASSERT_TRUE(!bawn_choose_guess(&src));
	}
}

/* One that an option names can begin at once, if it is one that begins. */
TEST(guess_is_the_one_that_an_option_names)
{
	struct bawn_setting s[2] = {{.key = "backend", .text = "landlock"}};
	struct bawn_policy_source src = {.settings = s, .n_settings = 1};

	ASSERT_TRUE(bawn_choose_guess(&src) == bawn_backend_find("landlock"));
	s[0].text = "native,landlock";
	ASSERT_TRUE(!bawn_choose_guess(&src));
	s[0].text = "docker";
	ASSERT_TRUE(!bawn_choose_guess(&src));
	s[0].text = "auto";
	ASSERT_TRUE(!bawn_choose_guess(&src));
	s[0].text = "landlock";
	s[1] = (struct bawn_setting){.key = "level", .text = "vm"};
	src.n_settings = 2;
	ASSERT_TRUE(!bawn_choose_guess(&src));
}

/* One with a flaw stands behind the others of its level, and before those of the next. */
TEST(one_can_be_put_back_behind_its_level)
{
	struct bawn_policy p =
		with("auto", BAWN_LEVEL_CONTAINER, BAWN_ISO_DEFAULT, BAWN_PREFER_FASTEST);
	struct bawn_choices c;
	struct bawn_error err = {0};

	ASSERT_EQ(bawn_choose_among(fake_at, &p, &c, &err), 0);
	ASSERT_STREQ(c.v[0]->name, "gvisor");
	ASSERT_TRUE(bawn_choices_put_back(&c, 0));
	ASSERT_STREQ(c.v[0]->name, "docker");
	ASSERT_STREQ(c.v[1]->name, "podman");
	ASSERT_STREQ(c.v[2]->name, "gvisor");
	ASSERT_EQ(c.v[3]->level, BAWN_LEVEL_VM);
	ASSERT_TRUE(!bawn_choices_put_back(&c, 2));
	ASSERT_STREQ(c.v[2]->name, "gvisor");
}

/* The real list is what the fakes stand for, as far as this build has it. */
TEST(the_fakes_are_like_the_real_ones)
{
	const struct bawn_backend *be;

	for (size_t i = 0; (be = bawn_backend_at(i)); i++) {
		const struct bawn_backend *fake = NULL;

		for (size_t k = 0; k < sizeof(fakes) / sizeof(fakes[0]); k++)
			if (!strcmp(fakes[k].name, be->name))
				fake = &fakes[k];
		if (!fake)
			FAIL("no fake of '%s'", be->name);
		ASSERT_EQ(fake->level, be->level);
		ASSERT_EQ(fake->strength, be->strength);
		ASSERT_STREQ(fake->aliases, be->aliases);
		ASSERT_EQ(fake->foreign, be->foreign);
		check_words(be);
	}
}
