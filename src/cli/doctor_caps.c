/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bawn doctor capabilities`: every backend is asked what it can do here, several at a time, each
 * in a child with a deadline. What another program answered is remembered for a while, as starting
 * containers and virtual machines takes long; nothing but this table relies on that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/utsname.h>

#include "backend/ask.h"
#include "base/cleanup.h"
#include "base/control.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sha256.h"
#include "cli/cli.h"

#define BACKENDS_MAX 32
#define TIMEOUT_MS   45000
#define LIFE_S       600 /* of an answer */
#define LIFE_NO_S    60  /* of a no: daemons are started, packages installed */

struct caps {
	struct cli *cli;
	struct bawn_asking v[BACKENDS_MAX];
	int64_t age[BACKENDS_MAX]; /* seconds since it was asked, -1: now */
	size_t n;
	bool told; /* there is progress on the terminal to be wiped */
};

/* ---- remembering ---- */

/* Where the shell would find `program`, with its size and age; "" if nowhere. */
static const char *identity_of(struct cli *cli, const char *program)
{
	const char *p = cli_env(cli, "PATH");

	for (; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		size_t len = strcspn(p, ":");
		const char *path = bawn_arena_printf(cli->arena, "%.*s/%s", (int)len, p, program);
		struct stat st;

		if (len && path && stat(path, &st) == 0 && S_ISREG(st.st_mode))
			return bawn_arena_printf(cli->arena, "%s %lld %lld.%09ld", path,
				(long long)st.st_size, (long long)st.st_mtim.tv_sec,
				st.st_mtim.tv_nsec);
	}
	return "";
}

/* Everything that an answer hangs on, in one word. False if it is not to be remembered. */
static bool key_of(struct cli *cli, const struct bawn_backend *be, char ret[BAWN_HEX_LEN + 1])
{
	char boot[64] = "";
	struct utsname u;
	const char *all;

	if (!be->program || uname(&u) < 0)
		return false;
	(void)bawn_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	all = bawn_arena_printf(cli->arena, "%s|%s|%s|%s|%u|%s", BAWN_VERSION, be->name, boot,
		u.release, geteuid(), identity_of(cli, be->program));
	if (!all)
		return false;
	bawn_sha256_hex(all, strlen(all), ret);
	return true;
}

static const char *place_of(struct cli *cli, const struct bawn_backend *be)
{
	const char *dir = bawn_path_state(cli->arena, "probes");

	return dir ? bawn_arena_printf(cli->arena, "%s/%s", dir, be->name) : NULL;
}

static int64_t now_s(void)
{
	return (int64_t)(bawn_wall_us() / 1000000u);
}

/* One line of `*p` into `dst`. */
static bool take_line(char **p, char *dst, size_t size)
{
	char *end = *p ? strchr(*p, '\n') : NULL;
	size_t len = end ? (size_t)(end - *p) : 0;

	if (!end || len >= size)
		return false;
	memcpy(dst, *p, len);
	dst[len] = '\0';
	*p = end + 1;
	return true;
}

/* The answer of a while ago: its age in seconds, or -1 if there is none that still counts. */
static int64_t recall(struct cli *cli, const struct bawn_backend *be, struct bawn_probe *ret)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	char key[BAWN_HEX_LEN + 1], line[BAWN_HEX_LEN + 1], number[32], offers[32];
	const char *path = place_of(cli, be);
	struct bawn_probe p = {0};
	int64_t age;
	char *at;

	if (!path || !key_of(cli, be, key) || bawn_read_file(AT_FDCWD, path, 4096, &b) < 0)
		return -1;
	at = b.data;
	if (!take_line(&at, line, sizeof(line)) || strcmp(line, key) != 0 ||
		!take_line(&at, number, sizeof(number)) ||
		!take_line(&at, offers, sizeof(offers)) ||
		!take_line(&at, p.version, sizeof(p.version)) ||
		!take_line(&at, p.reason, sizeof(p.reason)) ||
		!take_line(&at, p.remedy, sizeof(p.remedy)))
		return -1;
	p.offers = (uint32_t)strtoul(offers, NULL, 16) & ((1u << BAWN_CTL_COUNT) - 1);
	age = now_s() - strtoll(number, NULL, 10);
	if (age < 0 || age > (p.offers ? LIFE_S : LIFE_NO_S))
		return -1;
	*ret = p;
	return age;
}

/* As good as it can be: who cannot remember asks again. */
static void remember(struct cli *cli, const struct bawn_backend *be, const struct bawn_probe *p)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	_cleanup_close_ int fd = -1;
	const char *path = place_of(cli, be), *temp;
	char key[BAWN_HEX_LEN + 1];

	temp = path ? bawn_arena_printf(cli->arena, "%s.%d", path, (int)getpid()) : NULL;
	if (!temp || !key_of(cli, be, key) ||
		bawn_path_make_state_dirs(path, (size_t)(strrchr(path, '/') - path)) < 0)
		return;
	bawn_buf_printf(&b, "%s\n%lld\n%x\n%s\n%s\n%s\n", key, (long long)now_s(), p->offers,
		p->version, p->reason, p->remedy);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (b.failed || fd < 0)
		return;
	if (bawn_write_all(fd, b.data, b.len) < 0 || rename(temp, path) < 0)
		(void)unlink(temp);
}

/* ---- asking ---- */

static void progress(void *userdata)
{
	struct caps *c = userdata;
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *comma = "";

	bawn_buf_puts(&b, "\r\033[Ktrying");
	for (size_t i = 0; i < c->n; i++)
		if (!c->v[i].done && c->v[i].pid > 0) {
			bawn_buf_printf(&b, "%s %s", comma, c->v[i].be->name);
			comma = ",";
		}
	bawn_buf_puts(&b, " …");
	cli_progress(c->cli, &b);
	c->told = true;
}

static void ask(struct caps *c)
{
	_cleanup_buf_ struct bawn_buf wipe = {0};
	const struct bawn_backend *be;

	for (size_t i = 0; (be = bawn_backend_at(i)) && c->n < BACKENDS_MAX; i++) {
		struct bawn_asking *q = &c->v[c->n];

		q->be = be;
		c->age[c->n] = c->cli->fresh ? -1 : recall(c->cli, be, &q->probe);
		q->done = c->age[c->n++] >= 0;
	}
	bawn_ask_all(c->v, c->n, TIMEOUT_MS, cli_shows_progress(c->cli) ? progress : NULL, c);
	for (size_t i = 0; i < c->n; i++)
		if (c->age[i] < 0)
			remember(c->cli, c->v[i].be, &c->v[i].probe);
	bawn_buf_puts(&wipe, "\r\033[K");
	if (c->told)
		cli_progress(c->cli, &wipe);
}

/* ---- telling ---- */

static void detail(struct bawn_buf *b, const char *title, const char *text)
{
	if (!*text)
		return;
	bawn_buf_puts(b, "    ");
	cli_pad(b, title, 10);
	cli_puts_safe(b, text);
	bawn_buf_puts(b, "\n");
}

static void show(struct cli *cli, const struct bawn_asking *q, int64_t age)
{
	const struct bawn_backend *be = q->be;
	const struct bawn_probe *p = &q->probe;
	struct bawn_buf *b = &cli->out;
	enum cli_colour colour = p->reason[0] ? CLI_YELLOW : CLI_GREEN;

	bawn_buf_puts(b, cli_colour(cli->colour_out, p->offers ? colour : CLI_RED));
	bawn_buf_puts(b, p->offers ? "✓ " : "✗ ");
	bawn_buf_puts(b, cli_colour(cli->colour_out, CLI_PLAIN));
	cli_pad(b, be->name, 17);
	cli_pad(b, bawn_enum_name("level", be->level), 11);
	bawn_buf_printf(b, "%s\n", be->summary);
	detail(b, "version", p->version);
	if (p->offers) {
		bawn_buf_puts(b, "    controls ");
		for (unsigned i = 0; i < BAWN_CTL_COUNT; i++)
			if (p->offers & 1u << i)
				bawn_buf_printf(b, " %s", bawn_control_name(i));
		bawn_buf_puts(b, "\n");
	}
	detail(b, p->offers ? "but" : "why", p->reason);
	detail(b, "remedy", p->remedy);
	if (age >= 0)
		bawn_buf_printf(
			b, "    tried     %lld s ago; --fresh tries again\n", (long long)age);
}

static void json(struct bawn_buf *b, const struct bawn_asking *q, int64_t age)
{
	const struct bawn_backend *be = q->be;
	const struct bawn_probe *p = &q->probe;
	const struct {
		const char *name, *text;
	} facts[] = {
		{"name", be->name},
		{"level", bawn_enum_name("level", be->level)},
		{"summary", be->summary},
		{"version", p->version},
		{"reason", p->reason},
		{"remedy", p->remedy},
	};

	cli_json_next(b);
	bawn_buf_puts(b, "{");
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		cli_json_key(b, facts[i].name);
		cli_json_str(b, facts[i].text && *facts[i].text ? facts[i].text : NULL);
	}
	cli_json_key(b, "strength");
	bawn_buf_printf(b, "%d", be->strength);
	cli_json_key(b, "available");
	bawn_buf_puts(b, p->offers ? "true" : "false");
	cli_json_key(b, "age_seconds");
	bawn_buf_printf(b, "%lld", (long long)(age < 0 ? 0 : age));
	cli_json_key(b, "controls");
	cli_json_controls(b, p->offers);
	bawn_buf_puts(b, "}");
}

void cli_doctor_capabilities(struct cli *cli)
{
	struct caps *c = bawn_new(cli->arena, struct caps, 1);

	if (!c) {
		cli->out.failed = -ENOMEM;
		return;
	}
	c->cli = cli;
	ask(c);
	if (cli->json) {
		cli_json_key(&cli->out, "backends");
		bawn_buf_puts(&cli->out, "[");
	}
	for (size_t i = 0; i < c->n; i++) {
		if (cli->json)
			json(&cli->out, &c->v[i], c->age[i]);
		else
			show(cli, &c->v[i], c->age[i]);
	}
	if (cli->json)
		bawn_buf_puts(&cli->out, "]");
}
