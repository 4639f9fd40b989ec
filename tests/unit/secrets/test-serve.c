/* SPDX-License-Identifier: Apache-2.0 */
/* The vault's process: its answers, and that nonsense ends it. */
#include <errno.h>

#include <sys/socket.h>

#include "base/io.h"
#include "harness.h"
#include "secrets/talk.h"
#include "secrets/vault/serve.h"

static const struct format_cost cheap = {.passes = 1, .kib = 8};
static const char *const none[] = {NULL};
static const char *const hosts[] = {"x.org", NULL};
static const char *const headers[] = {"authorization", NULL};

static pid_t child;

static void begin(struct talk *t)
{
	int sv[2];

	ASSERT_EQ(crypt_start(), 0);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	child = fork();
	if (child == 0) {
		(void)close(sv[0]);
		_exit(vault_serve(sv[1], &cheap) < 0 ? 1 : 0);
	}
	(void)close(sv[1]);
	ASSERT_EQ(talk_init(t, sv[0]), 0);
}

static int end(struct talk *t)
{
	int st = 0;

	talk_done(t);
	ASSERT_EQ(waitpid(child, &st, 0), child);
	ASSERT_TRUE(WIFEXITED(st));
	return WEXITSTATUS(st);
}

static struct pack say(struct talk *t, uint32_t what)
{
	struct pack p = talk_pack(t);

	pack_u32(&p, what);
	return p;
}

/* The status, or -EPIPE. */
static int ask(struct talk *t, const struct pack *p, struct unpack *u)
{
	int r;

	ASSERT_EQ(talk_packed(t, p), 0);
	r = talk_send(t, 20000);
	if (r == 0)
		r = talk_receive(t, 20000);
	if (r < 0)
		return r;
	*u = talk_unpack(t);
	return (int)unpack_u32(u);
}

static void pack_phrase(struct pack *p, const char *text)
{
	pack_u32(p, TALK_KEY_PASSPHRASE);
	pack_text(p, text, strlen(text));
}

static void put(struct talk *t, const char *name, const char *value, int want)
{
	struct bawn_secret s = {.name = name,
		.env = name,
		.note = "",
		.hosts = hosts,
		.headers = headers,
		.skills = none,
		.triggers = none};
	struct pack p = say(t, TALK_PUT);
	struct unpack u;

	pack_secret(&p, &s);
	pack_u32(&p, value ? 0 : 1);
	pack_text(&p, value, value ? strlen(value) : 0);
	ASSERT_EQ(ask(t, &p, &u), want);
}

static void create(struct talk *t)
{
	struct pack p = say(t, TALK_CREATE);
	struct unpack u;

	pack_phrase(&p, "a passphrase");
	ASSERT_EQ(ask(t, &p, &u), 0);
}

static int ask_name(struct talk *t, uint32_t what, const char *name, struct unpack *u)
{
	struct pack p = say(t, what);

	pack_text(&p, name, strlen(name));
	return ask(t, &p, u);
}

TEST(a_life)
{
	struct talk t;
	struct unpack u;
	struct pack p;
	char *file;
	size_t len, n;
	const char *value;

	begin(&t);
	create(&t);
	put(&t, "ONE", "value one", 0);
	put(&t, "TWO", "value two", 0);
	put(&t, "NEW", NULL, ENOENT); /* whose value would be kept? */
	put(&t, "TWO", NULL, 0);
	ASSERT_EQ(ask_name(&t, TALK_GET, "TWO", &u), 0);
	value = unpack_text(&u, &n);
	ASSERT_EQ(n, 9);
	ASSERT_EQ(memcmp(value, "value two", 9), 0);
	ASSERT_EQ(ask_name(&t, TALK_GET, "THREE", &u), ENOENT);
	ASSERT_EQ(ask_name(&t, TALK_REMOVE, "ONE", &u), 0);
	ASSERT_EQ(ask_name(&t, TALK_REMOVE, "ONE", &u), ENOENT);
	p = say(&t, TALK_RENAME);
	pack_text(&p, "TWO", 3);
	pack_text(&p, "THREE", 5);
	ASSERT_EQ(ask(&t, &p, &u), 0);
	p = say(&t, TALK_SEAL);
	ASSERT_EQ(ask(&t, &p, &u), 0);
	ASSERT_EQ(unpack_u64(&u), 1);
	ASSERT_TRUE(t.blob_len > FORMAT_HEAD);
	len = t.blob_len;
	file = malloc(len);
	memcpy(file, t.blob, len);
	ASSERT_EQ(end(&t), 0);

	begin(&t); /* another process */
	p = say(&t, TALK_OPEN);
	pack_phrase(&p, "a passphrasf");
	t.blob = malloc(len);
	memcpy(t.blob, file, len);
	t.blob_len = len;
	ASSERT_EQ(ask(&t, &p, &u), EKEYREJECTED);
	p = say(&t, TALK_OPEN);
	pack_phrase(&p, "a passphrase");
	t.blob = file;
	t.blob_len = len;
	ASSERT_EQ(ask(&t, &p, &u), 0);
	ASSERT_EQ(ask_name(&t, TALK_GET, "THREE", &u), 0);
	p = say(&t, TALK_LIST);
	ASSERT_EQ(ask(&t, &p, &u), 0);
	ASSERT_EQ(unpack_u32(&u), 1);
	ASSERT_TRUE(!memmem(t.blob, t.blob_len, "value", 5));
	ASSERT_EQ(end(&t), 0);
}

static void each_ends_it(const uint32_t *what, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct talk t;
		struct unpack u;
		struct pack p;

		begin(&t);
		p = say(&t, what[i]);
		ASSERT_EQ(ask(&t, &p, &u), -EPIPE);
		ASSERT_EQ(end(&t), 1);
	}
}

TEST(nothing_before_it_is_open)
{
	static const uint32_t what[] = {TALK_LIST, TALK_GET, TALK_PUT, TALK_REMOVE, TALK_RENAME,
		TALK_REKEY, TALK_SEAL, TALK_HOLD};

	each_ends_it(what, sizeof(what) / sizeof(what[0]));
}

TEST(nor_is_it_opened_twice)
{
	struct talk t;
	struct unpack u;
	struct pack p;

	begin(&t);
	create(&t);
	p = say(&t, TALK_CREATE);
	pack_phrase(&p, "another one");
	ASSERT_EQ(ask(&t, &p, &u), -EPIPE);
	ASSERT_EQ(end(&t), 1);
}

TEST(unknown_questions_end_it)
{
	static const uint32_t what[] = {0, 99, UINT32_MAX};

	each_ends_it(what, sizeof(what) / sizeof(what[0]));
}

TEST(too_long_a_message_ends_it)
{
	static const unsigned char heads[][8] = {{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, {1, 0x80, 0, 0, 0, 0, 0, 0}};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct talk t;

		begin(&t);
		ASSERT_EQ(send(t.fd, heads[i], 8, MSG_NOSIGNAL), 8);
		ASSERT_EQ(talk_receive(&t, 20000), -EPIPE);
		ASSERT_EQ(end(&t), 1);
	}
}

TEST(a_wrong_key_is_answered_late)
{
	const struct format_cost slow = {.passes = 1, .kib = 8, .wrong_ms = 300};
	struct talk t;
	struct unpack u;
	struct pack p;
	int sv[2];
	int64_t start;
	char *file;
	size_t len;

	begin(&t);
	create(&t);
	p = say(&t, TALK_SEAL);
	ASSERT_EQ(ask(&t, &p, &u), 0);
	file = TAKE_PTR(t.blob);
	len = t.blob_len;
	ASSERT_EQ(end(&t), 0);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	child = fork();
	if (child == 0) {
		(void)close(sv[0]);
		_exit(vault_serve(sv[1], &slow) < 0 ? 1 : 0);
	}
	(void)close(sv[1]);
	ASSERT_EQ(talk_init(&t, sv[0]), 0);
	p = say(&t, TALK_OPEN);
	pack_phrase(&p, "wrong");
	t.blob = file;
	t.blob_len = len;
	start = bawn_now_ms();
	ASSERT_EQ(ask(&t, &p, &u), EKEYREJECTED);
	ASSERT_TRUE(bawn_now_ms() - start >= 300);
	ASSERT_EQ(end(&t), 0);
}
