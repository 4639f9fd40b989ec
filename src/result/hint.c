/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel refuses to open a file without telling anybody but the command, so what is denied to
 * be read, or is not there at all, leaves no denial. But a command that fails for it mostly says
 * so: its last words are read against the plan. They are the command's and may be lies; a lie
 * yields a remark that is true of the plan all the same. The same goes for other ways in which
 * programs are known to fail in a sandbox.
 */
#include <ctype.h>
#include <strings.h>

#include <sys/wait.h>

#include "base/path.h"
#include "policy/policy.h"
#include "result/result.h"

#define WORDS_PER_LINE 64
#define PATH_LEN_MAX   512

struct reader {
	struct bawn_arena *a;
	const struct bawn_result *r;
	const char **ret;
	const char *paths[BAWN_HINTS_MAX]; /* what they are about */
	size_t n;
	bool absent;   /* this line says that something does not exist */
	uint32_t said; /* sayings that were met */
};

static bool says(const char *line, size_t len, const char *phrase)
{
	size_t n = strlen(phrase);

	for (size_t i = 0; i + n <= len; i++)
		if (strncasecmp(line + i, phrase, n) == 0)
			return true;
	return false;
}

/* The rule that denies it; NULL if none does. */
static const char *denied_by(const struct bawn_result *r, const char *path)
{
	for (size_t i = 0; i < r->policy->fs_deny.n; i++)
		if (bawn_path_under(path, r->policy->fs_deny.v[i].text))
			return r->policy->fs_deny.v[i].text;
	for (size_t i = 0; i < r->plan->n_deny; i++) /* what patterns found */
		if (bawn_path_under(path, r->plan->deny[i]))
			return r->plan->deny[i];
	return NULL;
}

/* Was it asked for? Programs look for many files that need not be there. */
static bool asked_for(const struct bawn_result *r, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (const char *const *v = r->call->argv; *v; v++)
		if (slash && slash[1] && strstr(*v, slash + 1))
			return true;
	return false;
}

static const char *hint_for(const struct reader *rd, const char *path, bool spelled)
{
	const struct bawn_plan *plan = rd->r->plan;
	const char *rule = denied_by(rd->r, path);
	const struct bawn_mount *m = bawn_plan_mount_of(plan, path);

	if (rule)
		return bawn_arena_printf(rd->a,
			"'%s' is denied to the command (rule filesystem.deny: %s)", path, rule);
	if (!spelled || bawn_plan_is_kernels(path) || plan->backend.image ||
		!asked_for(rd->r, path))
		return NULL;
	if (!m)
		return bawn_arena_printf(rd->a,
			"'%s' is not part of this sandbox; if it is needed, the operator can show it with --ro '%s'",
			path, path);
	if (m->kind == BAWN_MNT_SCRATCH && rd->absent && strcmp(path, m->dst) != 0)
		return bawn_arena_printf(rd->a,
			"'%s' is private to this run and began empty; the operator can show the host's '%s' with --ro",
			m->dst, path);
	return NULL;
}

static void consider(struct reader *rd, const char *word, size_t len)
{
	char *text, *path;
	const char *hint;

	while (len && strchr(":,;.)", word[len - 1]))
		len--;
	if (!len || len > PATH_LEN_MAX || rd->n == BAWN_HINTS_MAX)
		return;
	text = bawn_arena_strndup(rd->a, word, len);
	path = text ? bawn_path_join(rd->a, rd->r->plan->cwd, text) : NULL;
	for (size_t i = 0; path && i < rd->n; i++)
		if (rd->paths[i] && !strcmp(rd->paths[i], path))
			return;
	hint = path ? hint_for(rd, path, strchr(text, '/') != NULL) : NULL;
	if (!hint)
		return;
	rd->paths[rd->n] = path;
	rd->ret[rd->n++] = hint;
}

/* How long the word is, and how much stands around it. Quotes hold spaces together. */
static size_t next_word(const char *p, size_t len, size_t *skip)
{
	static const char *const quotes[][2] = {{"'", "'"}, {"\"", "\""}, {"`", "`"},
		{"\xe2\x80\x98", "\xe2\x80\x99"}, {"\xe2\x80\x9c", "\xe2\x80\x9d"}};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
		size_t open = strlen(quotes[i][0]);
		const char *end;

		if (len <= open || memcmp(p, quotes[i][0], open) != 0)
			continue;
		end = memmem(p + open, len - open, quotes[i][1], strlen(quotes[i][1]));
		if (!end)
			continue;
		*skip = open;
		return (size_t)(end - p) - open;
	}
	*skip = 0;
	while (n < len && !isspace((unsigned char)p[n]))
		n++;
	return n;
}

/* ---- what else a sandbox is known to be met by ---- */

struct saying {
	const char *a, *b; /* both in one line; b may be NULL */
	uint32_t control;  /* that must be in force */
	const char *hint;  /* %s: the limit */
};

static const struct saying sayings[] = {
	{"LeakSanitizer has encountered a fatal error", NULL, BAWN_CTL_SYSCALLS,
		"LeakSanitizer traces its own process, which is refused in a sandbox; set ASAN_OPTIONS=detect_leaks=0, or the operator can allow it with --allow-syscall ptrace"},
	{"ptrace", "not permitted", BAWN_CTL_SYSCALLS,
		"tracing is refused in a sandbox; the operator can allow it with --allow-syscall ptrace"},
	{"ReserveShadowMemoryRange failed", NULL, BAWN_CTL_LIMIT_MEMORY,
		"sanitizers reserve more than a limit of %s of memory leaves here; the operator can raise it to 1 GiB or more (limits.memory, flag --memory)"},
	{"no space left on device", NULL, BAWN_CTL_LIMIT_DISK,
		"what is private to the run, as /tmp is, holds at most %s (limits.disk, flag --disk)"},
	{"too many open files", NULL, BAWN_CTL_LIMIT_FILES,
		"each process may have at most %s files open (limits.files, flag --files)"},
	{"connect to the docker daemon", "unix://", BAWN_CTL_IPC,
		"sockets of the host cannot be reached; the operator can open one with --unix-socket, and who gets that of a container engine is root"},
};

static void read_saying(struct reader *rd, const char *line, size_t len)
{
	for (size_t i = 0; i < sizeof(sayings) / sizeof(sayings[0]); i++) {
		const struct saying *s = &sayings[i];
		char value[64] = "its limit";
		const char *mark = strstr(s->hint, "%s");

		if (!says(line, len, s->a) || (s->b && !says(line, len, s->b)) ||
			!(rd->r->enforced & s->control) || rd->said & 1u << i ||
			rd->n == BAWN_HINTS_MAX)
			continue;
		rd->said |= 1u << i;
		if (mark && bawn_result_limit(rd->r, s->control, value, sizeof(value)) < 0)
			continue;
		rd->ret[rd->n] = mark ? bawn_arena_printf(rd->a, "%.*s%s%s", (int)(mark - s->hint),
						s->hint, value, mark + 2)
				      : s->hint;
		rd->n += rd->ret[rd->n] != NULL;
	}
}

static void read_line(struct reader *rd, const char *line, size_t len)
{
	read_saying(rd, line, len);
	if (!(rd->r->enforced & BAWN_CTL_FS_READ))
		return;
	rd->absent = says(line, len, "no such file") || says(line, len, "enoent");
	if (!rd->absent && !says(line, len, "permission denied") && !says(line, len, "eacces"))
		return;
	for (size_t i = 0, words = 0; i < len && words < WORDS_PER_LINE; words++) {
		size_t skip, n = next_word(line + i, len - i, &skip);

		if (n)
			consider(rd, line + i + skip, n);
		i += n + skip + 1;
	}
}

size_t bawn_result_hints(
	struct bawn_arena *a, const struct bawn_result *r, const char *ret[BAWN_HINTS_MAX])
{
	const struct bawn_outcome *o = &r->outcome;
	struct reader rd = {.a = a, .r = r, .ret = ret};
	const char *p = o->last_words, *end = p + o->n_last_words;

	if (!r->plan || !r->policy || !r->call || !r->enforced)
		return 0;
	if (!o->exited || (WIFEXITED(o->wait_status) && WEXITSTATUS(o->wait_status) == 0))
		return 0;
	if (r->plan->instead)
		rd.ret[rd.n++] = r->plan->instead;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl ? nl : end) - p);

		read_line(&rd, p, len);
		p += len + 1;
	}
	return rd.n;
}
