/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads cases.txt and makes one plan per case. Lines of a case:
 *
 *   case NAME                 begins it
 *   do SHELL                  prepares the place; runs in $T, which has home/ and ws/
 *   set KEY=VALUE             a setting, as by a flag
 *   repo KEY: VALUE           a line of .bawn.yaml in the workspace
 *   env NAME=VALUE            the caller's environment
 *   argv WORD…                the command (default: true)
 *   workspace DIR             (default: $T/ws)
 *   tier landlock             (default: full)
 *   want LINE                 this line is in the plan
 *   never LINE                no line of the plan begins so
 *   first LINE, then LINE     both are there, in this order
 *   error KIND TEXT           it fails with this kind, and the message holds the text
 *
 * $T, $W and $H stand for the place, the workspace and the home. plan_lines() below says what the
 * lines of a plan are.
 */
#include <errno.h>
#include <limits.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "pipeline/choose.h"
#include "plan/print.h"

#define LINES_MAX 64

struct expectation {
	char how; /* w, n, f, t, e */
	const char *text;
};

struct tcase {
	char name[120];
	struct bawn_setting settings[LINES_MAX];
	size_t n_settings;
	const char *argv[LINES_MAX];
	size_t n_argv;
	const char *env[LINES_MAX];
	size_t n_env;
	struct expectation want[LINES_MAX];
	size_t n_want;
	const char *workspace;
	bool landlock, repo;
};

static struct bawn_arena *arena;
static char top[PATH_MAX];
static char home[PATH_MAX + 8];

static void die(const char *what)
{
	(void)printf("# %s: %s\n", what, strerror(errno)); /* NOLINT(concurrency-mt-unsafe) */
	(void)fflush(stdout);
	_exit(2);
}

/* $T, $W and $H replaced. */
static const char *expand(const struct tcase *t, const char *text)
{
	struct bawn_buf b = {0};

	for (const char *p = text; *p; p++) {
		if (p[0] == '$' && p[1] == 'T')
			bawn_buf_puts(&b, top);
		else if (p[0] == '$' && p[1] == 'W')
			bawn_buf_puts(&b, t->workspace);
		else if (p[0] == '$' && p[1] == 'H')
			bawn_buf_puts(&b, home);
		else
			bawn_buf_add(&b, p, 1);
		if (p[0] == '$' && strchr("TWH", p[1]) && p[1])
			p++;
	}
	const char *copy = bawn_arena_strdup(arena, b.data ? b.data : "");
	bawn_buf_done(&b);
	if (!copy)
		die("memory");
	return copy;
}

static void shell(const char *text)
{
	int st = 0;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-ec", text, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &st, 0) != pid || st != 0)
		die(text);
}

static void add_repo(struct tcase *t, const char *text)
{
	char path[PATH_MAX + 16];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/.bawn.yaml", t->workspace);
	f = fopen(path, "ae");
	if (!f || fprintf(f, "%s\n", text) < 0 || fclose(f) != 0)
		die(path);
	t->repo = true;
}

static void add_setting(struct tcase *t, const char *text)
{
	const char *eq = strchr(text, '=');

	if (!eq || t->n_settings == LINES_MAX)
		die(text);
	t->settings[t->n_settings++] =
		(struct bawn_setting){.key = bawn_arena_strndup(arena, text, (size_t)(eq - text)),
			.text = eq + 1,
			.flag = "test"};
}

static void add_words(struct tcase *t, const char *text)
{
	while (*text && t->n_argv + 1 < LINES_MAX) {
		size_t len = strcspn(text, " ");

		t->argv[t->n_argv++] = bawn_arena_strndup(arena, text, len);
		text += len + (text[len] == ' ');
	}
}

static const char *after(const char *line, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(line, word, n) && line[n] == ' ' ? line + n + 1 : NULL;
}

static bool expectation(struct tcase *t, const char *line)
{
	static const char *const words[] = {"want", "never", "first", "then", "error"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *rest = after(line, words[i]);

		if (!rest)
			continue;
		if (t->n_want == LINES_MAX)
			die("too many expectations");
		t->want[t->n_want++] = (struct expectation){words[i][0], expand(t, rest)};
		return true;
	}
	return false;
}

static void take(struct tcase *t, const char *line)
{
	const char *rest;

	if ((rest = after(line, "do")))
		shell(expand(t, rest));
	else if ((rest = after(line, "set")))
		add_setting(t, expand(t, rest));
	else if ((rest = after(line, "repo")))
		add_repo(t, rest);
	else if ((rest = after(line, "env")) && t->n_env + 1 < LINES_MAX)
		t->env[t->n_env++] = expand(t, rest);
	else if ((rest = after(line, "argv")))
		add_words(t, expand(t, rest));
	else if ((rest = after(line, "workspace")))
		t->workspace = expand(t, rest);
	else if (!strcmp(line, "tier landlock"))
		t->landlock = true;
	else if (!expectation(t, line))
		die(line);
}

/* ---- the plan as lines ---- */

static void add_list(struct bawn_buf *b, const char *word, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bawn_buf_printf(b, "%s %s\n", word, v[i]);
}

static void add_controls(struct bawn_buf *b, const char *word, uint32_t set)
{
	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++)
		if (set & 1u << i)
			bawn_buf_printf(b, "%s %s\n", word, bawn_control_name(i));
}

static void plan_lines(struct bawn_buf *b, const struct bawn_plan *p)
{
	for (size_t i = 0; i < p->n_mounts; i++) {
		const struct bawn_mount *m = &p->mounts[i];

		bawn_buf_printf(b, "mount %s%s%s %s\n", bawn_mount_kind_name(m->kind),
			m->pin ? ",pin" : "", m->no_exec ? ",noexec" : "", m->dst);
	}
	for (size_t i = 0; i < p->n_guards; i++)
		bawn_buf_printf(b, "guard %s %s\n", p->guards[i].dir, p->guards[i].name);
	add_list(b, "protect", p->protect, p->n_protect);
	add_list(b, "deny", p->deny, p->n_deny);
	add_list(b, "noexec", p->no_exec, p->n_no_exec);
	add_list(b, "writable", p->writable, p->n_writable);
	for (const char *const *v = p->envp; *v; v++)
		bawn_buf_printf(b, "env %s\n", *v);
	add_controls(b, "demand", p->demanded);
	add_controls(b, "may-miss", p->may_miss);
	bawn_buf_printf(b, "exe %s\ncwd %s\n", p->exe, p->cwd);
	for (size_t i = 0; i < p->n_loopback_ports; i++)
		bawn_buf_printf(b, "port %u\n", p->loopback_ports[i]);
	if (p->egress)
		bawn_plan_print(p, b);
	bawn_buf_printf(b, "closed %d\nunix %d\n", p->net_closed, p->unix_open);
	if (p->note)
		bawn_buf_printf(b, "note %s\n", p->note);
}

static int make(const struct tcase *t, struct bawn_buf *b, struct bawn_error *err)
{
	struct bawn_call_input in = {.argv = t->argv, .envp = t->env, .workspace = t->workspace};
	struct bawn_policy_source src = {.settings = t->settings,
		.n_settings = t->n_settings,
		.no_admin = true,
		.no_user = true,
		.no_workspace = !t->repo};
	struct bawn_plan_options o = {.backend = t->landlock ? "landlock" : "native",
		.tier = t->landlock ? BAWN_TIER_LANDLOCK : BAWN_TIER_FULL};
	struct bawn_verdict v = {0};
	struct bawn_choices c = {0};
	const struct bawn_policy *policy;
	const struct bawn_call *call;
	const struct bawn_plan *plan;
	int r = bawn_call_make(arena, &in, &call, err);

	if (r < 0)
		return r;
	src.workspace = call->workspace;
	r = bawn_policy_load(arena, &src, &policy, err);
	if (r >= 0)
		r = bawn_choose(policy, &c, err);
	if (r >= 0)
		r = bawn_plan_make(arena, policy, call, &v, &o, &plan, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c.n; i++)
		bawn_buf_printf(b, "backend %s\n", c.v[i]->name);
	plan_lines(b, plan);
	return 0;
}

/* Where `line` stands in the text: as a whole line, or as the beginning of one. */
static const char *find(const char *text, const char *line, bool whole)
{
	size_t n = strlen(line);

	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, line, n) && (!whole || p[n] == '\n'))
			return p;
	return NULL;
}

static int complain(const char *what, const char *text)
{
	(void)printf("# %s: %s\n", what, text);
	return 1;
}

static int check_error(const struct tcase *t, const struct bawn_error *err)
{
	int bad = 0, expected = 0;

	for (size_t i = 0; i < t->n_want; i++) {
		const char *text = t->want[i].text;
		const char *kind = bawn_errkind_name(err->kind);
		size_t n = strcspn(text, " ");

		expected += t->want[i].how == 'e';
		if (t->want[i].how == 'e' &&
			(strlen(kind) != n || strncmp(kind, text, n) != 0 ||
				!strstr(err->msg, text + n + (text[n] == ' '))))
			bad += complain("expected the error", text);
	}
	if (bad || !expected)
		(void)printf("# got %s: %s\n", bawn_errkind_name(err->kind), err->msg);
	return bad + !expected;
}

static int check_plan(const struct tcase *t, const char *text)
{
	const char *first = NULL;
	int bad = 0;

	for (size_t i = 0; i < t->n_want; i++) {
		const char *line = t->want[i].text;
		const char *at = find(text, line, t->want[i].how != 'n');

		if (t->want[i].how == 'e')
			bad += complain("expected an error", line);
		else if (t->want[i].how == 'n' ? at != NULL : at == NULL)
			bad += complain(t->want[i].how == 'n' ? "not expected" : "missing", line);
		if (t->want[i].how == 't' && at && first && at < first)
			bad += complain("comes too early", line);
		if (t->want[i].how == 'f')
			first = at;
	}
	if (bad)
		for (const char *p = text; p && *p; p = strchr(p, '\n') + 1)
			(void)printf("#   %.*s\n", (int)strcspn(p, "\n"), p);
	return bad;
}

/* ---- one case, in a process and a place of its own ---- */

static struct tcase *begin(void)
{
	struct tcase *t;
	char ws[PATH_MAX + 8];

	arena = bawn_arena_new();
	t = arena ? bawn_new(arena, struct tcase, 1) : NULL;
	(void)snprintf(top, sizeof(top), "/tmp/table-XXXXXX");
	if (!t || !mkdtemp(top) || chdir(top) < 0)
		die("a place to work in");
	(void)snprintf(home, sizeof(home), "%s/home", top);
	(void)snprintf(ws, sizeof(ws), "%s/ws", top);
	if (mkdir(home, 0700) < 0 || mkdir(ws, 0755) < 0 ||
		setenv("HOME", home, 1) < 0 ||   /* NOLINT(concurrency-mt-unsafe) */
		unsetenv("XDG_CONFIG_HOME") < 0) /* NOLINT(concurrency-mt-unsafe) */
		die(top);
	t->workspace = bawn_arena_strdup(arena, ws);
	return t;
}

static int run_case(FILE *f, long from)
{
	_cleanup_buf_ struct bawn_buf plan = {0};
	struct bawn_error err = {0};
	struct tcase *t = begin();
	char line[1024];
	int bad;

	if (fseek(f, from, SEEK_SET) != 0)
		die("cases");
	while (fgets(line, sizeof(line), f) && strncmp(line, "case ", 5) != 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line && *line != '#')
			take(t, line);
	}
	if (!t->n_argv)
		add_words(t, "true");
	if (!t->n_want)
		die("a case without expectations");
	bad = make(t, &plan, &err) < 0 ? check_error(t, &err)
				       : check_plan(t, plan.data ? plan.data : "");
	(void)fflush(stdout);
	if (chdir("/") < 0)
		die("/");
	shell(bawn_arena_printf(arena, "chmod -R u+rwx '%s'; rm -rf '%s'", top, top));
	arena = bawn_arena_free(arena);
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "re") : NULL;
	char line[1024];
	int n = 0, failed = 0;

	if (!f)
		return 2;
	while (fgets(line, sizeof(line), f)) {
		long at = ftell(f);
		int st = 0;
		pid_t pid;

		if (strncmp(line, "case ", 5) != 0)
			continue;
		(void)fflush(stdout);
		pid = fork();
		if (pid == 0)
			_exit(run_case(f, at));
		if (pid < 0 || waitpid(pid, &st, 0) != pid)
			return 2;
		failed += st != 0;
		(void)printf("%s %d - %s", st ? "not ok" : "ok", ++n, line + 5);
		if (fseek(f, at, SEEK_SET) != 0) /* the child has moved it */
			return 2;
	}
	(void)fclose(f);
	(void)printf("1..%d\n", n);
	return failed ? 1 : 0;
}
