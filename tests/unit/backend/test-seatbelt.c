/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for macOS's sandbox, tested as text: a small reader of SBPL answers what a profile
 * allows, by its own rule that the last match decides, and golden files hold whole profiles. No
 * profile has been run: there is no macOS here. BAWN_GOLDEN=write writes the golden files anew.
 */
#include <fcntl.h>
#include <fnmatch.h>

#include "backend/backend.h"
#include "backend/seatbelt/profile.h"
#include "base/io.h"
#include "base/path.h"
#include "harness.h"

/* ---- the reader ---- */

/* An expression: an atom, or a list of them. `next` is the one behind it. */
struct expr {
	char *atom; /* NULL for a list */
	struct expr *first, *next;
};

static struct bawn_arena *arena;

static char *read_string(const char **p)
{
	char *out = bawn_arena_alloc(arena, strlen(*p) + 1);
	size_t n = 0;

	ASSERT_TRUE(out);
	for ((*p)++; **p && **p != '"'; (*p)++) {
		if (**p == '\\' && (*p)[1])
			(*p)++;
		out[n++] = **p;
	}
	if (**p != '"')
		FAIL("a string does not end");
	(*p)++;
	return out;
}

static void skip_space(const char **p)
{
	for (;; (*p)++) {
		if (**p == ';')
			*p += strcspn(*p, "\n");
		if (!**p || !strchr(" \t\n", **p))
			return;
	}
}

static struct expr *read_atom(const char **p)
{
	struct expr *e = bawn_new(arena, struct expr, 1);
	size_t n = strcspn(*p, " \t\n()\";");

	ASSERT_TRUE(e);
	if (**p == '"') {
		e->atom = read_string(p);
	} else if (**p != '(') {
		e->atom = bawn_arena_strndup(arena, *p, n);
		*p += n;
	} else {
		(*p)++;
	}
	return e;
}

static size_t one_up(size_t depth, const char *p)
{
	if (depth == 0)
		FAIL("a parenthesis too many before '%.40s'", p);
	return depth - 1;
}

static size_t one_down(size_t depth)
{
	ASSERT_TRUE(depth + 1 < 32);
	return depth + 1;
}

/* The whole text as a list of expressions; parentheses must match. */
static struct expr *read_sbpl(const char *text)
{
	struct expr *first = NULL;
	struct expr **tail[32] = {&first};
	size_t depth = 0;

	for (const char *p = text; skip_space(&p), *p;) {
		struct expr *e;

		if (*p == ')') {
			depth = one_up(depth, p++);
			continue;
		}
		e = read_atom(&p);
		*tail[depth] = e;
		tail[depth] = &e->next;
		if (!e->atom) {
			depth = one_down(depth);
			tail[depth] = &e->first;
		}
	}
	ASSERT_EQ(depth, 0);
	return first;
}

static bool is(const struct expr *e, const char *word)
{
	return e && e->atom && !strcmp(e->atom, word);
}

/* "file-read*" covers "file-read-data". */
static bool covers(const char *pattern, const char *op)
{
	return !strcmp(pattern, "default") || fnmatch(pattern, op, FNM_NOESCAPE) == 0;
}

static bool filter_matches(const struct expr *f, const char *what)
{
	const struct expr *arg = f->first ? f->first->next : NULL;

	if (is(f->first, "subpath"))
		return bawn_path_under(what, arg->atom);
	if (is(f->first, "literal") || is(f->first, "sysctl-name") || is(f->first, "global-name"))
		return !strcmp(what, arg->atom);
	if (is(f->first, "remote")) {
		if (is(arg, "ip"))
			return !strcmp(what, arg->next->atom);
		return is(arg, "unix-socket") && !strcmp(what, arg->next->first->next->atom);
	}
	if (is(f->first, "target"))
		return !strcmp(what, arg->atom);
	FAIL("an unknown filter '%s'", f->first && f->first->atom ? f->first->atom : "()");
}

/* Whether `rule` is about `op` on `what`: one of its operations, and one of its filters if it has
 * any. */
static bool matches(const struct expr *rule, const char *op, const char *what)
{
	bool named = false, filtered = false, hit = false;

	for (const struct expr *e = rule->first->next; e; e = e->next) {
		if (e->atom) {
			named |= covers(e->atom, op);
			continue;
		}
		filtered = true;
		hit |= filter_matches(e, what);
	}
	return named && (!filtered || hit);
}

static bool allows(const struct expr *profile, const char *op, const char *what)
{
	bool answer = true;
	bool any = false;

	for (const struct expr *e = profile; e; e = e->next) {
		if (!is(e->first, "allow") && !is(e->first, "deny"))
			continue;
		if (!matches(e, op, what))
			continue;
		answer = is(e->first, "allow");
		any = true;
	}
	ASSERT_TRUE(any); /* there is a default */
	return answer;
}

/* ---- plans ---- */

static const char *const no_words[] = {NULL};
static const char *const words[] = {"/usr/bin/make", "-j2", "--", "a b", NULL};
static const char *const env[] = {"HOME=/Users/me", "TMPDIR=/tmp/bawn-1", NULL};
static const char *const protected_paths[] = {"/Users/me/repo/.git/config", NULL};
static const char *const denied[] = {"/Users/me/repo/secret", "/Users/me/shared/key.pem", NULL};
static const char *const no_exec[] = {"/Users/me/repo/downloads", NULL};
static const uint16_t ports[] = {8080};

static struct bawn_mount mounts[] = {
	{.kind = BAWN_MNT_RO, .src = "/usr", .dst = "/usr", .rule = "filesystem.system"},
	{.kind = BAWN_MNT_RO, .src = "/etc", .dst = "/etc", .rule = "filesystem.system"},
	{.kind = BAWN_MNT_SCRATCH, .dst = "/tmp/bawn-1", .rule = "limits.disk"},
	{.kind = BAWN_MNT_RW,
		.src = "/Users/me/repo",
		.dst = "/Users/me/repo",
		.rule = "workspace"},
	{.kind = BAWN_MNT_RO,
		.src = "/Users/me/shared",
		.dst = "/Users/me/shared",
		.rule = "filesystem.read"},
	{.kind = BAWN_MNT_RW,
		.src = "/Users/me/repo/.git",
		.dst = "/Users/me/repo/.git",
		.pin = true,
		.rule = "p"},
	{.kind = BAWN_MNT_RO,
		.src = "/Users/me/repo/vendor",
		.dst = "/Users/me/repo/vendor",
		.rule = "filesystem.read"},
	{.kind = BAWN_MNT_RW,
		.src = "/Users/me/shared/cache",
		.dst = "/Users/me/shared/cache",
		.rule = "filesystem.write"},
	{.kind = BAWN_MNT_RO,
		.protect = true,
		.src = "/Users/me/repo/.git/config",
		.dst = "/Users/me/repo/.git/config",
		.rule = "p"},
	{.kind = BAWN_MNT_HIDE, .dst = "/Users/me/repo/secret", .rule = "filesystem.deny"},
	{.kind = BAWN_MNT_HIDE, .dst = "/Users/me/shared/key.pem", .rule = "filesystem.deny"},
	{.kind = BAWN_MNT_RW,
		.no_exec = true,
		.src = "/Users/me/repo/downloads",
		.dst = "/Users/me/repo/downloads",
		.rule = "filesystem.deny_exec"},
	{.kind = BAWN_MNT_SOCKET,
		.src = "/var/run/x.sock",
		.dst = "/var/run/x.sock",
		.rule = "network.unix_sockets"},
	{.kind = BAWN_MNT_DEVICE, .src = "/dev/ttys9", .dst = "/dev/ttys9", .rule = "devices"},
};
static struct bawn_guard guards[] = {
	{.dir = "/Users/me/repo", .name = ".mcp.json", .rule = ".mcp.json"}};

static struct bawn_plan make_plan(const char *profile)
{
	return (struct bawn_plan){.tier = BAWN_TIER_LANDLOCK,
		.exe = "/usr/bin/make",
		.argv = words,
		.envp = env,
		.cwd = "/Users/me/repo/sub",
		.workspace = "/Users/me/repo",
		.mounts = mounts,
		.n_mounts = sizeof(mounts) / sizeof(mounts[0]),
		.guards = guards,
		.n_guards = 1,
		.protect = protected_paths,
		.n_protect = 1,
		.deny = denied,
		.n_deny = 2,
		.no_exec = no_exec,
		.n_no_exec = 1,
		.loopback_ports = ports,
		.n_loopback_ports = 1,
		.sys_allow = no_words,
		.sys_deny = no_words,
		.backend = {.seatbelt_profile = profile}};
}

static const char *text_of(const struct bawn_plan *plan)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct bawn_error err = {0};
	const char *text;

	if (!arena)
		arena = bawn_arena_new();
	ASSERT_TRUE(arena);
	if (bawn_seatbelt_profile(plan, &b, &err) < 0)
		FAIL("%s", err.msg);
	text = bawn_arena_strndup(arena, b.data, b.len);
	ASSERT_TRUE(text);
	return text;
}

static const struct expr *profile_of(const char *name)
{
	struct bawn_plan plan = make_plan(name);

	return read_sbpl(text_of(&plan));
}

/* ---- the tests ---- */

TEST(the_reader_takes_the_last_match)
{
	const struct expr *p;

	arena = bawn_arena_new();
	ASSERT_TRUE(arena);
	p = read_sbpl(
		"(version 1) (deny default) ; a comment (allow default)\n"
		"(allow file-read* (subpath \"/a\"))(deny file-read-data (literal \"/a/b\\\"c\"))");
	ASSERT_TRUE(allows(p, "file-read-data", "/a/x"));
	ASSERT_TRUE(!allows(p, "file-read-data", "/a/b\"c"));
	ASSERT_TRUE(allows(p, "file-read-metadata", "/a/b\"c"));
	ASSERT_TRUE(!allows(p, "file-read-data", "/ab"));
	ASSERT_TRUE(!allows(p, "file-write-data", "/a/x"));
}

struct question {
	const char *path;
	bool read, write, exec;
};

static void ask(const struct expr *p, const struct question *q, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (allows(p, "file-read-data", q[i].path) != q[i].read)
			FAIL("reading '%s' should %sbe allowed", q[i].path,
				q[i].read ? "" : "not ");
		if (allows(p, "file-write-create", q[i].path) != q[i].write)
			FAIL("writing '%s' should %sbe allowed", q[i].path,
				q[i].write ? "" : "not ");
		if (allows(p, "process-exec", q[i].path) != q[i].exec)
			FAIL("executing '%s' should %sbe allowed", q[i].path,
				q[i].exec ? "" : "not ");
	}
}

TEST(strict_allows_what_the_plan_grants)
{
	static const struct question q[] = {{"/usr/bin/make", true, false, true},
		{"/etc/hosts", true, false, true}, {"/private/etc/hosts", true, false, true},
		{"/Users/me/repo/a.c", true, true, true},
		{"/Users/me/repo/sub/b", true, true, true},
		{"/Users/me/repository/a", false, false, false},
		{"/Users/me/.ssh/id_rsa", false, false, false}, {"/Users/me", false, false, false},
		{"/Users/other/x", false, false, false}, {"/tmp/bawn-1/x", true, true, true},
		{"/private/tmp/bawn-1/x", true, true, true}, {"/tmp/x", false, false, false},
		{"/private/var/folders/x", false, false, false},
		{"/Library/Keychains/System.keychain", false, false, false},
		/* one inside the other, both ways */
		{"/Users/me/repo/vendor/x", true, false, true},
		{"/Users/me/shared/x", true, false, true},
		{"/Users/me/shared/cache/x", true, true, true},
		/* denied, protected, guarded, not executed */
		{"/Users/me/repo/secret", false, false, false},
		{"/Users/me/repo/secret/deep/x", false, false, false},
		{"/Users/me/shared/key.pem", false, false, false},
		{"/Users/me/repo/.git/config", true, false, true},
		{"/Users/me/repo/.git/index", true, true, true},
		{"/Users/me/repo/.mcp.json", true, false, true},
		{"/Users/me/repo/downloads/x", true, true, false}};
	const struct expr *p = profile_of("strict");

	ask(p, q, sizeof(q) / sizeof(q[0]));
	ASSERT_TRUE(allows(p, "file-read-metadata", "/Users/me"));
	ASSERT_TRUE(!allows(p, "file-write-unlink", "/Users/me/repo/.git"));
	ASSERT_TRUE(allows(p, "file-write-unlink", "/Users/me/repo/.git/index"));
	ASSERT_TRUE(allows(p, "file-write-data", "/dev/null"));
	ASSERT_TRUE(allows(p, "file-ioctl", "/dev/ttys9"));
	ASSERT_TRUE(!allows(p, "file-read-data", "/dev/disk0"));
}

TEST(strict_allows_nothing_else)
{
	static const char *const ops[] = {"network-outbound", "network-inbound", "network-bind",
		"mach-lookup", "mach-register", "sysctl-write", "sysctl-read", "iokit-open",
		"ipc-posix-shm-read-data", "system-socket", "job-creation", "process-info-pidinfo",
		"signal", "nvram-set", "system-fsctl", "file-link", "user-preference-write"};
	const struct expr *p = profile_of("strict");

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (allows(p, ops[i], "something"))
			FAIL("'%s' is allowed", ops[i]);
	ASSERT_TRUE(allows(p, "process-fork", ""));
	ASSERT_TRUE(allows(p, "signal", "same-sandbox"));
	ASSERT_TRUE(allows(p, "sysctl-read", "hw.ncpu"));
	ASSERT_TRUE(!allows(p, "sysctl-read", "kern.procargs2"));
	ASSERT_TRUE(allows(p, "mach-lookup", "com.apple.system.logger"));
	ASSERT_TRUE(!allows(p, "mach-lookup", "com.apple.SecurityServer"));
	ASSERT_TRUE(!allows(p, "mach-lookup", "com.apple.pasteboard.1"));
	ASSERT_TRUE(allows(p, "network-outbound", "localhost:8080"));
	ASSERT_TRUE(!allows(p, "network-outbound", "localhost:8081"));
	ASSERT_TRUE(!allows(p, "network-inbound", "localhost:8080"));
	ASSERT_TRUE(allows(p, "network-outbound", "/var/run/x.sock"));
	ASSERT_TRUE(!allows(p, "network-outbound", "/var/run/mDNSResponder"));
}

TEST(moderate_reads_all_but_what_is_denied)
{
	static const struct question q[] = {{"/Users/other/x", true, false, false},
		{"/Users/me/repo/a", true, true, true}, {"/etc/hosts", true, false, true},
		{"/Users/me/repo/secret/x", false, false, false},
		{"/Users/me/shared/key.pem", false, false, false},
		{"/Users/me/repo/.mcp.json", true, false, true},
		{"/Users/me/repo/.git/config", true, false, true}};
	const struct expr *p = profile_of("moderate");

	ask(p, q, sizeof(q) / sizeof(q[0]));
	ASSERT_TRUE(allows(p, "mach-lookup", "com.apple.anything"));
	ASSERT_TRUE(allows(p, "sysctl-read", "kern.anything"));
	ASSERT_TRUE(!allows(p, "network-outbound", "localhost:8081"));
	ASSERT_TRUE(!allows(p, "sysctl-write", "kern.anything"));
}

TEST(paths_cannot_break_out_of_their_string)
{
	static const char *const evil[] = {"/w/\")(allow default)(literal \"",
		"/w/\\\")(allow default)(x \"", "/w/\\", "/w/a\\\"b", "/w/;comment", "/w/(x)",
		"/w/#\"re\"", "/w/ä ö"};

	for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++) {
		struct bawn_mount m = {
			.kind = BAWN_MNT_RW, .src = evil[i], .dst = evil[i], .rule = "w"};
		struct bawn_plan plan = make_plan("strict");
		const struct expr *p;

		plan.mounts = &m;
		plan.n_mounts = 1;
		p = read_sbpl(text_of(&plan));
		ASSERT_TRUE(allows(p, "file-write-data", evil[i]));
		ASSERT_TRUE(!allows(p, "file-write-data", "/elsewhere"));
		ASSERT_TRUE(!allows(p, "network-outbound", "x"));
		for (const struct expr *e = p; e; e = e->next)
			ASSERT_TRUE(!(is(e->first, "allow") && is(e->first->next, "default")));
	}
}

TEST(what_cannot_be_said_is_refused)
{
	static const struct bawn_egress_plan egress = {.mode = BAWN_NET_ALLOWLIST};
	struct bawn_mount m = {
		.kind = BAWN_MNT_RW, .src = "/w/a\nb", .dst = "/w/a\nb", .rule = "w"};
	struct bawn_plan plan = make_plan("strict");
	_cleanup_buf_ struct bawn_buf b = {0};
	struct bawn_error err = {0};

	plan.egress = &egress;
	ASSERT_TRUE(bawn_seatbelt_profile(&plan, &b, &err) < 0);
	ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
	ASSERT_TRUE(strstr(err.msg, "net.egress"));
	plan.egress = NULL;
	plan.mounts = &m;
	plan.n_mounts = 1;
	ASSERT_TRUE(bawn_seatbelt_profile(&plan, &b, &err) < 0);
	ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
	ASSERT_TRUE(strstr(err.msg, "control characters"));
}

TEST(the_command_line_of_sandbox_exec)
{
	struct bawn_plan plan = make_plan("strict");
	const char *const *argv;

	arena = bawn_arena_new();
	ASSERT_TRUE(arena);
	ASSERT_EQ(bawn_seatbelt_argv(arena, &plan, &argv, NULL), 0);
	ASSERT_STREQ(argv[0], "/usr/bin/sandbox-exec");
	ASSERT_STREQ(argv[1], "-p");
	ASSERT_TRUE(strstr(argv[2], "(deny default)"));
	ASSERT_STREQ(argv[3], "/usr/bin/make");
	ASSERT_STREQ(argv[4], "-j2");
	ASSERT_STREQ(argv[6], "a b");
	ASSERT_TRUE(!argv[7]);

	plan.backend.seatbelt_profile = "/etc/bawn/own.sb";
	ASSERT_EQ(bawn_seatbelt_argv(arena, &plan, &argv, NULL), 0);
	ASSERT_STREQ(argv[1], "-f");
	ASSERT_STREQ(argv[2], "/etc/bawn/own.sb");
	ASSERT_STREQ(argv[3], "-D");
	ASSERT_STREQ(argv[4], "WORKSPACE=/Users/me/repo");
	ASSERT_STREQ(argv[6], "CWD=/Users/me/repo/sub");
	ASSERT_STREQ(argv[8], "HOME=/Users/me");
	ASSERT_STREQ(argv[10], "TMPDIR=/tmp/bawn-1");
	ASSERT_STREQ(argv[11], "/usr/bin/make");
}

TEST(claims_are_those_of_the_text)
{
	struct bawn_plan plan = make_plan("strict");
	uint32_t never = BAWN_CTL_SYSCALLS | BAWN_CTL_NESTED | BAWN_CTL_PRIVILEGE |
			 BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES | BAWN_CTL_NET_EGRESS;

	ASSERT_TRUE(bawn_seatbelt_claims(&plan) & BAWN_CTL_FS_READ);
	ASSERT_TRUE(!(bawn_seatbelt_claims(&plan) & never));
	plan.backend.seatbelt_profile = "moderate";
	ASSERT_TRUE(!(bawn_seatbelt_claims(&plan) & (BAWN_CTL_FS_READ | BAWN_CTL_IPC | never)));
	ASSERT_TRUE(bawn_seatbelt_claims(&plan) & BAWN_CTL_FS_WRITE);
	plan.backend.seatbelt_profile = "/own.sb";
	ASSERT_EQ(bawn_seatbelt_claims(&plan), BAWN_CTL_ENV);
}

TEST(elsewhere_it_says_so_and_refuses)
{
	const struct bawn_backend *be = bawn_backend_find("sandbox-exec");
	struct bawn_plan plan = make_plan("strict");
	const int stdio[3] = {-1, -1, -1};
	struct bawn_instance *in = NULL;
	struct bawn_error err = {0};
	struct bawn_probe p = {0};

	ASSERT_TRUE(be && be == bawn_backend_find("macos") && be == bawn_backend_find("seatbelt"));
	ASSERT_EQ(be->probe(&p, NULL), 0);
	ASSERT_EQ(p.offers, 0);
	ASSERT_TRUE(strstr(p.reason, "macOS"));
	ASSERT_TRUE(bawn_instance_new(be, &plan, stdio, &in, &err) < 0);
	ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
	ASSERT_TRUE(strstr(err.msg, "macOS"));
}

static void compare_golden(const char *name)
{
	_cleanup_buf_ struct bawn_buf want = {0};
	struct bawn_plan plan = make_plan(name);
	const char *text = text_of(&plan);
	const char *slash = strrchr(__FILE__, '/');
	char path[4096];

	(void)snprintf(path, sizeof(path), "%.*s/golden/seatbelt-%s.sb", (int)(slash - __FILE__),
		__FILE__, name);
	if (getenv("BAWN_GOLDEN")) { /* NOLINT(concurrency-mt-unsafe) */
		FILE *f = fopen(path, "we");

		ASSERT_TRUE(f && fputs(text, f) >= 0 && fclose(f) == 0);
	}
	if (bawn_read_file(AT_FDCWD, path, 1 << 20, &want) < 0)
		FAIL("there is no golden file '%s'", path);
	if (want.len != strlen(text) || memcmp(want.data, text, want.len) != 0)
		FAIL("the %s profile differs from '%s' (BAWN_GOLDEN=write accepts it):\n%s", name,
			path, text);
}

TEST(strict_is_as_before)
{
	compare_golden("strict");
}

TEST(moderate_is_as_before)
{
	compare_golden("moderate");
}
