/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <sys/stat.h>

#include "base/path.h"
#include "harness.h"
#include "plan/git.h"
#include "plan/git_config.h"

static char top[64];
static char path_buf[PATH_MAX];
static struct bawn_arena *arena;
static struct bawn_git git;

/* A scratch directory with a home, and git kept away from the configuration of this host. */
static void begin(void)
{
	char home[96];

	(void)snprintf(top, sizeof(top), "/tmp/bawn-git-XXXXXX");
	ASSERT_TRUE(mkdtemp(top));
	ASSERT_EQ(chdir(top), 0);
	ASSERT_EQ(mkdir("home", 0700), 0);
	(void)snprintf(home, sizeof(home), "%s/home", top);
	ASSERT_EQ(setenv("HOME", home, 1), 0);               /* NOLINT(concurrency-mt-unsafe) */
	ASSERT_EQ(setenv("GIT_CONFIG_NOSYSTEM", "1", 1), 0); /* NOLINT(concurrency-mt-unsafe) */
	ASSERT_EQ(unsetenv("XDG_CONFIG_HOME"), 0);           /* NOLINT(concurrency-mt-unsafe) */
	arena = bawn_arena_new();
	ASSERT_TRUE(arena);
}

static int shell(const char *text)
{
	int st = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-ec", text, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &st, 0) == pid && WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

#define GIT \
	"git -c user.name=a -c user.email=b -c protocol.file.allow=always -c init.defaultBranch=m "

static void need_git(void)
{
	if (shell("git --version >/dev/null 2>&1") != 0)
		SKIP("git is not installed (apt-get install git)");
}

static void end(void)
{
	ASSERT_EQ(chdir("/"), 0);
	arena = bawn_arena_free(arena);
	(void)snprintf(path_buf, sizeof(path_buf), "rm -rf '%s'", top);
	ASSERT_EQ(shell(path_buf), 0);
}

static const char *at(const char *rel)
{
	return bawn_arena_printf(arena, "%s/%s", top, rel);
}

static void find(const char *ws)
{
	struct bawn_error err = {0};

	git = (struct bawn_git){0};
	if (bawn_git_find(arena, at(ws), at("home"), &git, &err) < 0)
		FAIL("%s", err.msg);
}

static bool protects(const char *rel)
{
	for (size_t i = 0; i < git.protect.n; i++)
		if (!strcmp(git.protect.v[i], at(rel)))
			return true;
	return false;
}

static void write_text(const char *rel, const char *text)
{
	int fd = open(rel, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ASSERT_EQ(close(fd), 0);
}

TEST(plain_repository)
{
	need_git();
	begin();
	ASSERT_EQ(shell(GIT "init -q ws"), 0);
	find("ws");
	ASSERT_STREQ(git.git_dir, at("ws/.git"));
	ASSERT_STREQ(git.common_dir, at("ws/.git"));
	ASSERT_TRUE(!git.outside && !git.refused && !git.writable.n);
	ASSERT_TRUE(protects("ws/.git/hooks") && protects("ws/.git/config"));
	ASSERT_TRUE(protects("ws/.git/config.worktree") && protects("ws/.git/commondir"));
	ASSERT_TRUE(!protects("ws/.git") && !protects("ws"));
	end();
}

TEST(no_repository)
{
	begin();
	ASSERT_EQ(mkdir("ws", 0700), 0);
	find("ws");
	ASSERT_TRUE(!git.git_dir && !git.refused);
	ASSERT_TRUE(protects("ws/.git/hooks") && protects("ws/.git/config"));
	end();
}

TEST(below_a_repository)
{
	begin();
	ASSERT_EQ(shell("mkdir -p up/.git up/ws"), 0);
	find("up/ws");
	ASSERT_TRUE(!git.git_dir && git.refused && !git.writable.n);
	ASSERT_TRUE(strstr(git.refused, "--rw"));
	end();
}

TEST(git_directory_without_head)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/.git"), 0);
	find("ws");
	ASSERT_STREQ(git.git_dir, at("ws/.git"));
	ASSERT_TRUE(protects("ws/.git/hooks"));
	end();
}

TEST(bare_repository)
{
	need_git();
	begin();
	ASSERT_EQ(shell(GIT "init -q --bare ws"), 0);
	find("ws");
	ASSERT_STREQ(git.git_dir, at("ws"));
	ASSERT_TRUE(protects("ws/hooks") && protects("ws/config") && !protects("ws"));
	end();
}

TEST(worktree)
{
	need_git();
	begin();
	ASSERT_EQ(shell(GIT "init -q main; cd main; " GIT "commit -q --allow-empty -m x; " GIT
			    "worktree add -q ../ws; " GIT "worktree add -q ../other"),
		0);
	find("ws");
	ASSERT_TRUE(!git.refused && git.outside);
	ASSERT_STREQ(git.git_dir, at("main/.git/worktrees/ws"));
	ASSERT_STREQ(git.common_dir, at("main/.git"));
	ASSERT_EQ(git.writable.n, 1);
	ASSERT_STREQ(git.writable.v[0], at("main/.git"));
	ASSERT_TRUE(protects("ws/.git") && protects("main/.git/hooks"));
	ASSERT_TRUE(protects("main/.git/config") && protects("main/.git/worktrees/ws/commondir"));
	ASSERT_TRUE(protects("main/.git/worktrees/other/config.worktree"));
	ASSERT_TRUE(protects("main/.git/worktrees/other/commondir"));
	end();
}

TEST(worktree_claimed_by_another)
{
	need_git();
	begin();
	ASSERT_EQ(shell(GIT "init -q main; cd main; " GIT "commit -q --allow-empty -m x; " GIT
			    "worktree add -q ../real; mkdir ../ws; cp ../real/.git ../ws/.git"),
		0);
	find("ws");
	ASSERT_TRUE(git.refused && !git.git_dir && !git.outside && !git.writable.n);
	ASSERT_TRUE(protects("ws/.git"));
	end();
}

TEST(submodule)
{
	need_git();
	begin();
	ASSERT_EQ(shell(GIT "init -q lib; cd lib; " GIT "commit -q --allow-empty -m x; cd ..; " GIT
			    "init -q super; cd super; " GIT
			    "submodule --quiet add ../lib deep/lib 2>/dev/null"),
		0);
	find("super");
	ASSERT_TRUE(!git.refused && !git.outside);
	ASSERT_TRUE(protects("super/.git/modules/deep/lib/hooks"));
	ASSERT_TRUE(protects("super/.git/modules/deep/lib/config"));
	find("super/deep/lib");
	ASSERT_TRUE(!git.refused && git.outside);
	ASSERT_STREQ(git.git_dir, at("super/.git/modules/deep/lib"));
	ASSERT_EQ(git.writable.n, 1);
	ASSERT_STREQ(git.writable.v[0], git.git_dir);
	ASSERT_TRUE(protects("super/.git/modules/deep/lib/hooks"));
	ASSERT_TRUE(protects("super/deep/lib/.git"));
	end();
}

TEST(hooks_path_and_includes)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/.git ws/conf"), 0);
	write_text("ws/.git/config",
		"[Core]\n\tHooksPath = \".git\\\\ho oks\" ; x\n\tattributesfile = attrs\n"
		"[include]path=../conf/a.inc # here\n"
		"[includeIf \"gitdir:/x\\\"]/\"]\n path = ../conf/missing\n path = /elsewhere/x\n");
	write_text("ws/conf/a.inc", "[include]\npath = a.inc\npath = b.inc\n");
	write_text("ws/conf/b.inc", "[core]\n hooksPath = tools/\\\nhooks\n");
	find("ws");
	ASSERT_TRUE(protects("ws/.git\\ho oks") && protects("ws/attrs"));
	ASSERT_TRUE(protects("ws/conf/a.inc") && protects("ws/conf/missing"));
	ASSERT_TRUE(protects("ws/conf/b.inc") && protects("ws/tools/hooks"));
	for (size_t i = 0; i < git.protect.n; i++)
		ASSERT_TRUE(bawn_path_under(git.protect.v[i], at("ws")));
	end();
}

TEST(hooks_path_that_is_everything)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/.git; ln -s .. ws/.git/hooks"), 0);
	write_text("ws/.git/config", "[core]\nhooksPath = .\n");
	find("ws");
	ASSERT_TRUE(!protects("ws") && !protects("ws/.git"));
	ASSERT_TRUE(protects("ws/pre-commit") && protects("ws/.git/hooks"));
	end();
}

TEST(hooks_path_of_the_user)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/.git"), 0);
	write_text("home/.gitconfig", "[core]\nhooksPath = .githooks\n");
	find("ws");
	ASSERT_TRUE(protects("ws/.githooks"));
	end();
}

TEST(include_through_symlink)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/.git ws/real; ln -s ../ws/real home/link"), 0);
	write_text("ws/.git/config", "[include]\npath = ~/link/new\n");
	find("ws");
	ASSERT_TRUE(protects("ws/real/new"));
	end();
}

TEST(user)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws home/.config/git"), 0);
	write_text("home/.config/git/config", "[user]\nname = Old\nemail = a@example.org\n");
	write_text("home/.gitconfig", "[user] name = Ann \"O'X\"\n");
	find("ws");
	ASSERT_STREQ(git.user_name, "Ann O'X");
	ASSERT_STREQ(git.user_email, "a@example.org");
	write_text("home/.gitconfig", "[user]\nname = \"a\\nb\"\n");
	find("ws");
	ASSERT_STREQ(git.user_name, "Old");
	end();
}

static void expect_refused(const char *text)
{
	write_text("ws/.git", text);
	find("ws");
	if (!git.refused || git.git_dir || git.outside || git.writable.n)
		FAIL("'%.60s' was followed", text);
	ASSERT_TRUE(protects("ws/.git"));
}

TEST(hostile_git_files)
{
	static char big[1 << 20];

	begin();
	ASSERT_EQ(shell("mkdir -p ws victim/.git/objects victim/.git/refs; touch victim/.git/HEAD"),
		0);
	expect_refused("gitdir: ../victim/.git\n");
	expect_refused("gitdir: /\n");
	expect_refused("gitdir: /etc\n");
	expect_refused("gitdir: ..\n");
	expect_refused("gitdir: ../../../../../../..\n");
	expect_refused("gitdir: \n");
	expect_refused("gitdir: ./missing/x\n");
	ASSERT_TRUE(protects("ws/missing/x"));
	expect_refused("gitdir:\n");
	expect_refused("");
	expect_refused("\x7f"
		       "ELF\1\2\3");
	expect_refused("gitdir: a\nb\n");
	memset(big, 'a', sizeof(big) - 1);
	(void)snprintf(big, sizeof(big), "gitdir: ");
	big[strlen(big)] = '/';
	expect_refused(big);
	write_text("victim/.git/config", "[core]\nworktree = ../../other\n");
	expect_refused("gitdir: ../victim/.git\n");
	write_text("victim/.git/commondir", "../../victim/.git\n");
	expect_refused("gitdir: ../victim/.git\n");
	end();
}

TEST(forged_worktree_of_a_foreign_common_directory)
{
	begin();
	ASSERT_EQ(
		shell("mkdir -p ws v/.git/objects v/.git/refs evil/worktrees/x; touch v/.git/HEAD "
		      "evil/worktrees/x/HEAD; echo ../../../v/.git >evil/worktrees/x/commondir"),
		0);
	write_text("evil/worktrees/x/gitdir", at("ws/.git"));
	expect_refused("gitdir: ../evil/worktrees/x\n");
	end();
}

TEST(git_file_into_the_workspace)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/real"), 0);
	write_text("ws/.git", "gitdir: real");
	find("ws");
	ASSERT_STREQ(git.git_dir, at("ws/real"));
	ASSERT_TRUE(!git.outside && protects("ws/.git") && protects("ws/real/hooks"));
	ASSERT_TRUE(!protects("ws/real"));
	end();
}

TEST(fifo_and_symlinks)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws out/objects out/refs; touch out/HEAD"), 0);
	ASSERT_EQ(mkfifo("ws/.git", 0600), 0);
	find("ws");
	ASSERT_TRUE(git.refused && !git.git_dir && protects("ws/.git"));
	ASSERT_EQ(unlink("ws/.git"), 0);
	ASSERT_EQ(symlink("../out", "ws/.git"), 0);
	find("ws");
	ASSERT_TRUE(git.refused && !git.git_dir && !git.writable.n && protects("ws/.git"));
	ASSERT_EQ(unlink("ws/.git"), 0);
	ASSERT_EQ(symlink("inner", "ws/.git"), 0);
	find("ws");
	ASSERT_TRUE(git.refused && protects("ws/inner"));
	ASSERT_EQ(shell("mkdir ws/inner; mkfifo ws/inner/config ws/inner/commondir"), 0);
	find("ws");
	ASSERT_STREQ(git.git_dir, at("ws/inner"));
	ASSERT_TRUE(protects("ws/.git") && protects("ws/inner/hooks"));
	end();
}

TEST(too_large_configuration_is_an_error)
{
	struct bawn_error err = {0};

	begin();
	ASSERT_EQ(
		shell("mkdir -p ws/.git; head -c 2000000 /dev/zero | tr '\\0' '#' >ws/.git/config"),
		0);
	ASSERT_EQ(bawn_git_find(arena, at("ws"), NULL, &git, &err), -E2BIG);
	ASSERT_TRUE(strstr(err.msg, "ws/.git/config"));
	end();
}

TEST(too_many_modules_are_protected_whole)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/.git/modules; cd ws/.git/modules; seq 3000 | xargs mkdir"), 0);
	find("ws");
	ASSERT_TRUE(protects("ws/.git/modules"));
	end();
}

static char seen[512];

static int note(void *ctx, const char *section, bool sub, const char *key, const char *value)
{
	size_t n = strlen(seen);

	(void)ctx;
	(void)snprintf(seen + n, sizeof(seen) - n, "%s%s.%s=%s|", section, sub ? "*" : "", key,
		value ? value : "(none)");
	return 0;
}

static const char *parse(const char *text)
{
	seen[0] = '\0';
	if (git_config_parse(text, strlen(text), note, NULL) < 0)
		(void)snprintf(seen + strlen(seen), 8, "error");
	return seen;
}

TEST(config_format)
{
	ASSERT_STREQ(parse("[A]b\n[C \"D\"]\ne=f"), "a.b=(none)|c*.e=f|");
	ASSERT_STREQ(parse("[a.B]x = 1"), "a*.x=1|");
	ASSERT_STREQ(parse("[a]\r\nx = 1 \r\ny=2"), "a.x=1|a.y=2|");
	ASSERT_STREQ(parse("[a]x = \" p \"q  r ;c\n"), "a.x= p q  r|");
	ASSERT_STREQ(parse("[a]x = 1#c"), "a.x=1|");
	ASSERT_STREQ(parse("[a]x = 1 #c\r\ny=2 ;d\r\n#e\r\nz=3"), "a.x=1|a.y=2|a.z=3|");
	ASSERT_STREQ(parse("[a]x = \"1#c\"\n#[b]\n;y\ny=\n"), "a.x=1#c|a.y=|");
	ASSERT_STREQ(parse("[a]x = a\\\nb\\tc"), "a.x=ab\tc|");
	ASSERT_STREQ(parse("\xef\xbb\xbf[a]x=1"), "a.x=1|");
	ASSERT_STREQ(parse("[a]x = \"1\n"), "error");
	ASSERT_STREQ(parse("[a]x = \\q\n"), "error");
	ASSERT_STREQ(parse("[a\nx = 1\n"), "error");
	ASSERT_STREQ(parse("[a]x ? 1\n"), "error");
}
