/* SPDX-License-Identifier: Apache-2.0 */
/* The file: what was sealed comes back, and nothing else does. */
#include <errno.h>
#include <fcntl.h>

#include "harness.h"
#include "secrets/vault/format.h"

static const char *const none[] = {NULL};
static const char *const hosts[] = {"api.example.org", "*.example.com:8443", NULL};
static const char *const headers[] = {"authorization", "x-api-key", NULL};
static const struct format_cost cheap = {.passes = 1, .kib = 8};
static const struct format_key file_key = {
	FORMAT_KIND_FILE, "0123456789abcdef0123456789abcdef", 32};
static const struct format_key phrase = {FORMAT_KIND_PHRASE, "correct horse", 13};

static void put(struct format *f, const char *name, const char *value)
{
	struct bawn_secret s = {.name = name,
		.env = name,
		.note = "for tests",
		.hosts = hosts,
		.headers = headers,
		.skills = none,
		.triggers = none,
		.access = BAWN_ACCESS_ALWAYS,
		.created = 1,
		.changed = 2};
	struct bawn_locked *l = bawn_locked_new(strlen(value));

	ASSERT_TRUE(l);
	memcpy(l->data, value, strlen(value));
	l->len = strlen(value);
	ASSERT_EQ(format_put(f, &s, l), 0);
}

/* A vault of three under `key`, as bytes. */
static size_t sealed(const struct format_key *key, char **ret)
{
	struct format f;
	size_t len = 0;

	ASSERT_EQ(crypt_start(), 0);
	ASSERT_EQ(format_init(&f), 0);
	ASSERT_EQ(format_new(&f, key, &cheap), 0);
	put(&f, "ALPHA", "the first value");
	put(&f, "BETA", "the second one!");
	put(&f, "GAMMA", "and the third..");
	ASSERT_EQ(format_write(&f, ret, &len), 0);
	format_done(&f);
	return len;
}

static int open_file(struct format *f, const struct format_key *key, const char *file, size_t len)
{
	int r = format_look(f, file, len);

	if (r == 0)
		r = format_unwrap(f, key);
	return r == 0 ? format_read(f, file, len) : r;
}

/* 0 if it opens. */
static int opens(const struct format_key *key, const char *file, size_t len)
{
	struct format f;
	int r;

	ASSERT_EQ(format_init(&f), 0);
	r = open_file(&f, key, file, len);
	if (r < 0)
		ASSERT_EQ(f.n, 0);
	format_done(&f);
	return r;
}

TEST(comes_back)
{
	const struct format_key *const keys[] = {&file_key, &phrase};

	for (size_t i = 0; i < 2; i++) {
		char *file = NULL;
		size_t len = sealed(keys[i], &file);
		struct format f;
		struct format_entry *e;

		ASSERT_EQ(format_init(&f), 0);
		ASSERT_EQ(open_file(&f, keys[i], file, len), 0);
		ASSERT_EQ(f.n, 3);
		ASSERT_EQ(f.generation, 1);
		e = format_find(&f, "BETA");
		ASSERT_TRUE(e);
		ASSERT_STREQ(e->value->data, "the second one!");
		ASSERT_STREQ(e->about.hosts[1], "*.example.com:8443");
		ASSERT_STREQ(e->about.headers[1], "x-api-key");
		ASSERT_STREQ(e->about.note, "for tests");
		ASSERT_EQ(e->about.access, BAWN_ACCESS_ALWAYS);
		ASSERT_EQ(e->about.changed, 2);
		format_done(&f);
		free(file);
	}
}

TEST(an_empty_one_comes_back)
{
	struct format f;
	char *file = NULL;
	size_t len = 0;

	ASSERT_EQ(crypt_start(), 0);
	ASSERT_EQ(format_init(&f), 0);
	ASSERT_EQ(format_new(&f, &file_key, NULL), 0);
	ASSERT_EQ(format_write(&f, &file, &len), 0);
	ASSERT_EQ(len, FORMAT_HEAD);
	ASSERT_EQ(opens(&file_key, file, len), 0);
	for (size_t i = 0; i < len; i++) {
		file[i] ^= 1;
		ASSERT_TRUE(opens(&file_key, file, len) < 0);
		file[i] ^= 1;
	}
}

TEST(nothing_is_in_the_clear)
{
	static const char *const words[] = {
		"ALPHA", "first value", "example", "authorization", "x-api-key", "for tests"};
	char *file = NULL;
	size_t len = sealed(&file_key, &file);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		ASSERT_TRUE(!memmem(file, len, words[i], strlen(words[i])));
}

TEST(every_byte_counts)
{
	char *file = NULL;
	size_t len = sealed(&file_key, &file);

	ASSERT_EQ(opens(&file_key, file, len), 0);
	for (size_t i = 0; i < len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			file[i] ^= (char)(1u << bit);
			if (opens(&file_key, file, len) == 0)
				FAIL("bit %u of byte %zu of %zu makes no difference", bit, i, len);
			file[i] ^= (char)(1u << bit);
		}
	ASSERT_EQ(opens(&file_key, file, len), 0);
}

TEST(every_byte_counts_with_a_passphrase)
{
	char *file = NULL;
	size_t len = sealed(&phrase, &file);

	/* but for what it costs: that is read before anything can be checked, and bounded */
	for (size_t i = 0; i < len; i++) {
		if (i >= 16 && i < 24)
			continue;
		file[i] ^= 1;
		ASSERT_TRUE(opens(&phrase, file, len) < 0);
		file[i] ^= 1;
	}
	file[16] = 2; /* another number of passes: another key */
	ASSERT_EQ(opens(&phrase, file, len), -EKEYREJECTED);
}

TEST(costs_are_bounded)
{
	static const unsigned char much[] = {0xff, 0xff, 0xff, 0x7f};
	char *file = NULL;
	size_t len = sealed(&phrase, &file);

	memcpy(file + 20, much, 4); /* 2 TiB of memory */
	ASSERT_EQ(opens(&phrase, file, len), -EBADMSG);
	memset(file + 20, 0, 4);
	ASSERT_EQ(opens(&phrase, file, len), -EBADMSG);
}

TEST(every_length_counts)
{
	char *file = NULL;
	size_t len = sealed(&file_key, &file);
	char *more = calloc(1, len + 64);

	for (size_t n = 0; n < len; n++)
		ASSERT_TRUE(opens(&file_key, file, n) < 0);
	memcpy(more, file, len);
	for (size_t n = 1; n <= 64; n++)
		ASSERT_TRUE(opens(&file_key, more, len + n) < 0);
}

/* Where entry `i` begins and how long it is, with its length. */
static size_t entry(const char *file, size_t i, size_t *ret_len)
{
	size_t at = FORMAT_HEAD;

	for (;; i--) {
		struct unpack u = {file + at, 4, false};

		*ret_len = unpack_u32(&u) + 4;
		if (!i)
			return at;
		at += *ret_len;
	}
}

TEST(entries_cannot_change_places)
{
	char *file = NULL;
	size_t len = sealed(&file_key, &file);
	size_t a_len = 0, b_len = 0;
	size_t a = entry(file, 1, &a_len), b = entry(file, 2, &b_len);
	char keep[1024];

	/* swap() of two that follow each other */
	ASSERT_TRUE(a_len < sizeof(keep));
	memcpy(keep, file + a, a_len);
	memmove(file + a, file + b, b_len);
	memcpy(file + a + b_len, keep, a_len);
	ASSERT_EQ(opens(&file_key, file, len), -EBADMSG);
}

TEST(an_entry_of_an_older_writing_is_refused)
{
	struct format f;
	char *old = NULL, *new = NULL;
	size_t old_len, new_len = 0, n_old = 0, n_new = 0, at;

	old_len = sealed(&file_key, &old);
	ASSERT_EQ(format_init(&f), 0);
	ASSERT_EQ(open_file(&f, &file_key, old, old_len), 0);
	put(&f, "BETA", "the second now!"); /* as long as it was */
	ASSERT_EQ(format_write(&f, &new, &new_len), 0);
	ASSERT_EQ(new_len, old_len);
	ASSERT_EQ(opens(&file_key, new, new_len), 0);
	at = entry(new, 1, &n_new);
	ASSERT_EQ(entry(old, 1, &n_old), at);
	ASSERT_EQ(n_old, n_new);
	memcpy(new + at, old + at, n_old);
	ASSERT_EQ(opens(&file_key, new, new_len), -EBADMSG);
	/* and so is the old head before the new entries */
	memcpy(new, old, FORMAT_HEAD);
	ASSERT_TRUE(opens(&file_key, new, new_len) < 0);
}

TEST(entries_cannot_be_left_out)
{
	char *file = NULL;
	size_t len = sealed(&file_key, &file), n = 0;
	size_t last = entry(file, 2, &n);

	ASSERT_EQ(last + n, len);
	file[124] = 2; /* the count agrees */
	ASSERT_TRUE(opens(&file_key, file, last) < 0);
}

TEST(keys_are_told_apart)
{
	const struct format_key other = {FORMAT_KIND_FILE, "0123456789abcdef0123456789abcdeF", 32};
	const struct format_key wrong = {FORMAT_KIND_PHRASE, "correct horsf", 13};
	char *file = NULL;
	size_t len = sealed(&file_key, &file);

	ASSERT_EQ(opens(&other, file, len), -EKEYREJECTED);
	ASSERT_EQ(opens(&phrase, file, len), -EINVAL);
	len = sealed(&phrase, &file);
	ASSERT_EQ(opens(&wrong, file, len), -EKEYREJECTED);
	ASSERT_EQ(opens(&file_key, file, len), -EINVAL);
	file[8] = 2;
	ASSERT_EQ(opens(&phrase, file, len), -EPROTONOSUPPORT);
}

TEST(a_new_key_makes_the_old_one_useless)
{
	struct format f;
	char *file = NULL, *new = NULL;
	size_t len = sealed(&file_key, &file), new_len = 0;
	uint8_t data_key[KEY_LEN];

	ASSERT_EQ(format_init(&f), 0);
	ASSERT_EQ(open_file(&f, &file_key, file, len), 0);
	memcpy(data_key, f.key->data, KEY_LEN);
	ASSERT_EQ(format_rekey(&f, &phrase, &cheap), 0);
	ASSERT_EQ(format_write(&f, &new, &new_len), 0);
	format_done(&f);
	ASSERT_TRUE(opens(&file_key, new, new_len) < 0);
	ASSERT_EQ(opens(&phrase, new, new_len), 0);
	/* neither does the old data key itself open it: it was not only wrapped anew */
	ASSERT_EQ(format_init(&f), 0);
	ASSERT_EQ(format_look(&f, new, new_len), 0);
	ASSERT_EQ(format_take_key(&f, data_key), 0);
	ASSERT_EQ(format_read(&f, new, new_len), -EKEYREJECTED);
}

TEST(two_writings_have_nothing_in_common)
{
	struct format f;
	char *a = NULL, *b = NULL;
	size_t a_len = sealed(&file_key, &a), b_len = 0;

	ASSERT_EQ(format_init(&f), 0);
	ASSERT_EQ(open_file(&f, &file_key, a, a_len), 0);
	ASSERT_EQ(format_write(&f, &b, &b_len), 0);
	ASSERT_EQ(a_len, b_len);
	ASSERT_EQ(f.generation, 2);
	for (size_t i = 0; i < 3; i++) {
		size_t n = 0, at = entry(a, i, &n);

		ASSERT_TRUE(memcmp(a + at + 4, b + at + 4, n - 4) != 0);
	}
}

TEST(it_can_be_full)
{
	struct format f;
	char *file = NULL;
	size_t len = 0;
	char name[32];

	ASSERT_EQ(crypt_start(), 0);
	ASSERT_EQ(format_init(&f), 0);
	ASSERT_EQ(format_new(&f, &file_key, NULL), 0);
	for (int i = 0; i < BAWN_SECRETS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "NAME_%d", i);
		put(&f, bawn_arena_strdup(f.a, name), "some value");
	}
	ASSERT_EQ(format_write(&f, &file, &len), 0);
	ASSERT_EQ(opens(&file_key, file, len), 0);
	struct bawn_secret s = f.v[0].about;
	s.name = "ONE_MORE";
	struct bawn_locked *l = bawn_locked_new(8);
	ASSERT_EQ(format_put(&f, &s, l), -ENOSPC);
}

TEST(secrets_are_not_in_children)
{
	struct bawn_locked *l = bawn_locked_new(64);
	int status = 0;
	pid_t pid;

	memcpy(l->data, "a value", 8);
	pid = fork();
	if (pid == 0)
		_exit(l->data[0] == '\0' ? 0 : 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	ASSERT_STREQ(l->data, "a value");
}
