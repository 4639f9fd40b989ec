/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of the tools, as text; and the handover, there and back. */
#include <errno.h>
#include <fcntl.h>

#include <sys/stat.h>

#include "backend/inside/handover.h"
#include "backend/near/near.h"
#include "base/io.h"
#include "harness.h"

static const char *const none[] = {NULL};

#define MOUNTS_MAX 16

static struct bawn_mount mounts[MOUNTS_MAX];
static struct bawn_plan plan = {.tier = BAWN_TIER_NEAR,
	.exe = "/bin/true",
	.argv = none,
	.envp = none,
	.cwd = "/",
	.workspace = "/w",
	.hostname = "bawn",
	.mounts = mounts,
	.sys_allow = none,
	.sys_deny = none,
	.limits = {.disk = 1 << 20}};

static void add(enum bawn_mount_kind kind, const char *src, const char *dst)
{
	mounts[plan.n_mounts++] = (struct bawn_mount){.kind = kind, .src = src, .dst = dst};
}

/* One of each kind. What is hidden is for bawn-inside. */
static void fill(void)
{
	add(BAWN_MNT_RO, "/usr", "/usr");
	add(BAWN_MNT_RO, "/there is none", "/opt");
	mounts[1].optional = true;
	add(BAWN_MNT_SYMLINK, "usr/bin", "/bin");
	add(BAWN_MNT_SCRATCH, NULL, "/tmp");
	add(BAWN_MNT_SCRATCH, "0700", "/home/u");
	add(BAWN_MNT_FILE, "[user]\n\tname = \"a\"\n", "/home/u/.gitconfig");
	add(BAWN_MNT_RW, "/usr", "/w");
	add(BAWN_MNT_HIDE, NULL, "/w/bin");
	add(BAWN_MNT_DEVICE, "/dev/zero", "/dev/kvm");
	add(BAWN_MNT_SOCKET, "/dev/null", "/run/s");
}

/* A number of a descriptor of ours at the end of `word` is "N". */
static void put_word(struct bawn_buf *b, const struct bawn_near_args *args, const char *word)
{
	for (size_t i = 0; i < args->n_fds; i++) {
		char number[16];
		size_t len = strlen(word);
		size_t n = (size_t)snprintf(number, sizeof(number), "%d", args->fds[i]);

		if (len < n || strcmp(word + len - n, number) != 0 ||
			(len > n && word[len - n - 1] != '/'))
			continue;
		bawn_buf_add(b, word, len - n);
		bawn_buf_puts(b, "N");
		return;
	}
	bawn_buf_puts(b, word);
}

static void build(const struct bawn_tool *tool, struct bawn_near_args *args)
{
	struct bawn_near_job job = {.plan = &plan, .inside_fd = 40, .socket = "fd:41"};
	struct bawn_error err = {0};

	args->a = bawn_arena_new();
	if (tool->build(&job, args, &err) < 0)
		FAIL("%s", err.msg);
	ASSERT_EQ(args->failed, 0);
}

/* Options begin a new line. */
static void expect_line(const struct bawn_near_args *args, const char *want)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	for (size_t i = 0; i < args->argv.n; i++) {
		if (i)
			bawn_buf_puts(&b, args->argv.v[i][0] == '-' ? "\n" : " ");
		put_word(&b, args, args->argv.v[i]);
	}
	ASSERT_TRUE(b.data);
	ASSERT_STREQ(b.data, want);
}

static void done(struct bawn_near_args *args)
{
	for (size_t i = 0; i < args->n_fds; i++)
		(void)close(args->fds[i]);
	args->a = bawn_arena_free(args->a);
}

#define BWRAP_HEAD            \
	"--seccomp N\n"       \
	"--unshare-all\n"     \
	"--unshare-user\n"    \
	"--die-with-parent\n" \
	"--as-pid-1\n"        \
	"--new-session\n"     \
	"--clearenv\n"        \
	"--cap-add ALL\n"     \
	"--hostname bawn\n"

#define BWRAP_NODES                            \
	"--dev-bind /dev/null /dev/null\n"     \
	"--dev-bind /dev/zero /dev/zero\n"     \
	"--dev-bind /dev/full /dev/full\n"     \
	"--dev-bind /dev/random /dev/random\n" \
	"--dev-bind /dev/urandom /dev/urandom\n"

#define BWRAP_LINKS                               \
	"--symlink /proc/self/fd /dev/fd\n"       \
	"--symlink /proc/self/fd/0 /dev/stdin\n"  \
	"--symlink /proc/self/fd/1 /dev/stdout\n" \
	"--symlink /proc/self/fd/2 /dev/stderr\n" \
	"--symlink pts/ptmx /dev/ptmx\n"          \
	"--perms 0755\n--dir /dev/pts\n"

TEST(bwrap_takes_every_kind_of_mount)
{
	struct bawn_near_args args = {0};

	fill();
	build(&bawn_tool_bwrap, &args);
	expect_line(&args, BWRAP_HEAD "--perms 0755\n--dir /dev\n" BWRAP_NODES BWRAP_LINKS
				      "--ro-bind-fd N /usr\n"
				      "--symlink usr/bin /bin\n"
				      "--perms 1777\n--size 1048576\n--tmpfs /tmp\n"
				      "--perms 0700\n--size 1048576\n--tmpfs /home/u\n"
				      "--perms 0644\n--file N /home/u/.gitconfig\n"
				      "--bind-fd N /w\n"
				      "--dev-bind /dev/zero /dev/kvm\n"
				      "--bind-fd N /run/s\n"
				      "--proc /proc\n"
				      "--chdir /\n"
				      "-- /proc/self/fd/40 near fd:41");
	ASSERT_EQ(args.n_fds, 5);
	done(&args);
}

/* The whole of the host's file system: its /dev is covered, its root stays what it is. */
TEST(bwrap_on_the_whole_root)
{
	struct bawn_near_args args = {0};

	add(BAWN_MNT_RW, "/", "/");
	plan.pty = true;
	plan.limits.disk = BAWN_UNLIMITED;
	add(BAWN_MNT_SCRATCH, NULL, "/tmp");
	add(BAWN_MNT_FILE, "text", "/etc/gitconfig"); /* the host's must not be written */
	build(&bawn_tool_bwrap, &args);
	expect_line(&args, BWRAP_HEAD "--bind-fd N /\n"
				      "--perms 0755\n--tmpfs /dev\n" BWRAP_NODES
				      "--dev-bind /dev/tty /dev/tty\n" BWRAP_LINKS
				      "--perms 1777\n--tmpfs /tmp\n"
				      "--perms 0644\n--ro-bind-data N /etc/gitconfig\n"
				      "--proc /proc\n"
				      "--chdir /\n"
				      "-- /proc/self/fd/40 near fd:41");
	done(&args);
}

/* The text that a file of the plan holds. */
TEST(bwrap_data_is_read_from_the_start)
{
	struct bawn_near_args args = {0};
	char text[64];

	fill();
	build(&bawn_tool_bwrap, &args);
	ASSERT_EQ(read(args.fds[2], text, sizeof(text)), (long)strlen(mounts[5].src));
	ASSERT_EQ(memcmp(text, mounts[5].src, strlen(mounts[5].src)), 0);
	done(&args);
}

TEST(more_files_than_descriptors_are_refused)
{
	struct bawn_near_args args = {.a = bawn_arena_new()};

	for (int i = 0; i < BAWN_NEAR_FDS_MAX; i++)
		ASSERT_TRUE(bawn_near_data(&args, "", 0) >= 0);
	ASSERT_EQ(bawn_near_data(&args, "", 0), -1);
	ASSERT_EQ(args.failed, -E2BIG);
	done(&args);
}

TEST(nsjail_command_line)
{
	struct bawn_near_args args = {0};

	add(BAWN_MNT_RO, "/usr", "/usr");
	build(&bawn_tool_nsjail, &args);
	expect_line(&args, "--config /proc/self/fd/N\n"
			   "--mode o\n"
			   "--quiet\n"
			   "--time_limit 0\n"
			   "--disable_rlimits\n"
			   "--nice_level 0\n"
			   "--keep_caps\n"
			   "--hostname bawn\n"
			   "--cwd /\n"
			   "--pass_fd 40\n"
			   "--pass_fd 41\n"
			   "-- /proc/self/fd/40 near fd:41");
	done(&args);
}

/* As expect_line: numbers of descriptors are "N". */
static void hide_numbers(const char *text, struct bawn_buf *out)
{
	static const char name[] = "\"/proc/self/fd/";

	while (*text) {
		size_t n = strlen(name);

		bawn_buf_add(out, text, 1);
		if (strncmp(text++, name, n) != 0)
			continue;
		bawn_buf_puts(out, name + 1);
		text += n - 1;
		bawn_buf_puts(out, "N");
		text += strspn(text, "0123456789");
	}
}

static void expect_config(const char *want)
{
	struct bawn_near_args args = {0};
	_cleanup_buf_ struct bawn_buf b = {0}, shown = {0};
	const char *at;

	build(&bawn_tool_nsjail, &args);
	ASSERT_TRUE(bawn_read_all(args.fds[args.n_fds - 1], &b) >= 0);
	at = strstr(b.data, "dst: \"/dev/pts\"");
	ASSERT_TRUE(at && strchr(at, '\n'));
	hide_numbers(strchr(at, '\n') + 1, &shown);
	ASSERT_TRUE(shown.data);
	ASSERT_STREQ(shown.data, want);
	done(&args);
}

TEST(nsjail_takes_every_kind_of_mount)
{
	fill();
	expect_config(
		"mount { src: \"/proc/self/fd/N\" dst: \"/usr\" is_bind: true rw: false }\n"
		"mount { src: \"usr/bin\" dst: \"/bin\" is_symlink: true }\n"
		"mount { dst: \"/tmp\" fstype: \"tmpfs\" options: \"mode=1777,size=1048576\" "
		"is_bind: false rw: true }\n"
		"mount { dst: \"/home/u\" fstype: \"tmpfs\" options: \"mode=0700,size=1048576\" "
		"is_bind: false rw: true }\n"
		"mount { src_content: \"[user]\\012\\011name = \\042a\\042\\012\" "
		"dst: \"/home/u/.gitconfig\" is_bind: true rw: false }\n"
		"mount { src: \"/proc/self/fd/N\" dst: \"/w\" is_bind: true rw: true }\n"
		"mount { src: \"/proc/self/fd/N\" dst: \"/dev/kvm\" is_bind: true rw: true }\n"
		"mount { src: \"/proc/self/fd/N\" dst: \"/run/s\" is_bind: true rw: true }\n");
}

/* What a name of the host could smuggle in. */
TEST(nsjail_quotes_strings)
{
	add(BAWN_MNT_RO, "/usr", "/b\" rw: true \\\n\xc3\xa4");
	expect_config("mount { src: \"/proc/self/fd/N\" "
		      "dst: \"/b\\042 rw: true \\134\\012\\303\\244\" is_bind: true rw: false }\n");
}

/* Whatever is a symlink now was none when the plan was made. */
TEST(a_path_that_turned_into_a_symlink_is_refused)
{
	struct bawn_near_job job = {.plan = &plan, .inside_fd = 40, .socket = "fd:41"};
	struct bawn_near_args args = {.a = bawn_arena_new()};
	struct bawn_error err = {0};
	char dir[] = "/tmp/near-XXXXXX", link[64], below[80];

	ASSERT_TRUE(mkdtemp(dir));
	(void)snprintf(link, sizeof(link), "%s/link", dir);
	(void)snprintf(below, sizeof(below), "%s/bin", link);
	ASSERT_EQ(symlink("/usr", link), 0);
	add(BAWN_MNT_RW, link, "/w");
	ASSERT_EQ(bawn_tool_bwrap.build(&job, &args, &err), -ELOOP);
	mounts[0].src = below;
	ASSERT_EQ(bawn_tool_nsjail.build(&job, &args, &err), -ELOOP);
	ASSERT_TRUE(strstr(err.msg, below));
	done(&args);
	ASSERT_EQ(unlink(link), 0);
	ASSERT_EQ(rmdir(dir), 0);
}

static struct sock_filter filter[] = {{0x06, 0, 0, 0x7fff0000}, {0x06, 0, 0, 0}};

static const struct bawn_init init = {.plan = &plan,
	.uid = 7,
	.gid = 8,
	.by_cgroup = BAWN_CTL_LIMIT_MEMORY,
	.groups_follow = true,
	.outer = {.follow_parent = true,
		.limits = BAWN_CTL_LIMIT_CPU,
		.host_ns = {1, 2, 3, UINT64_MAX}},
	.base = {.len = 2, .filter = filter},
	.notify = {.len = 1, .filter = filter}};

TEST(handover_comes_back_whole)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_buf_ struct bawn_buf b = {0};
	struct bawn_init got = {.sock = 99};
	struct bawn_error err = {0};

	bawn_handover_encode(&init, &b);
	ASSERT_EQ(b.failed, 0);
	if (bawn_handover_decode(a, b.data, b.len, &got, &err) < 0)
		FAIL("%s", err.msg);
	ASSERT_EQ(got.uid, 7);
	ASSERT_EQ(got.gid, 8);
	ASSERT_EQ(got.by_cgroup, BAWN_CTL_LIMIT_MEMORY);
	ASSERT_TRUE(got.groups_follow);
	ASSERT_EQ(got.outer.limits, BAWN_CTL_LIMIT_CPU);
	ASSERT_TRUE(got.outer.follow_parent && got.outer.host_ns[3] == UINT64_MAX);
	ASSERT_EQ(got.base.len, 2);
	ASSERT_EQ(memcmp(got.base.filter, filter, sizeof(filter)), 0);
	ASSERT_EQ(got.notify.len, 1);
	ASSERT_STREQ(got.plan->hostname, "bawn");
	ASSERT_EQ(got.sock, 99);
}

TEST(handover_cut_short)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	bawn_handover_encode(&init, &b);
	for (size_t n = 0; n < b.len; n++) {
		_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
		_cleanup_free_ char *copy = malloc(n + 1);
		struct bawn_init got = {0};

		ASSERT_TRUE(copy != NULL);
		memcpy(copy, b.data, n);
		ASSERT_EQ(bawn_handover_decode(a, copy, n, &got, NULL), -EPROTO);
	}
}

/* ---- tools that are no walls ---- */

static const struct bawn_call call = {.run_id = "test"};

static void add_inside(const struct bawn_near_job *job, struct bawn_near_args *args)
{
	bawn_near_addf(args, "/proc/self/fd/%d", job->inside_fd);
	bawn_near_add(args, "near", job->socket, NULL);
}

static int build_complaint(
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	(void)job;
	(void)err;
	bawn_near_add(args, "-c", "echo first; echo 'no luck today' >&2; exit 1", NULL);
	return 0;
}

static int build_sleep(
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	(void)err;
	bawn_near_add(args, "-c", "exec sleep 1000", job->socket, NULL);
	return 0;
}

static int build_nothing(
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	(void)err;
	bawn_near_add(args, "-c", "exec \"$0\" \"$@\"", NULL);
	add_inside(job, args);
	return 0;
}

static const struct bawn_backend backend = {.name = "test", .destroy = bawn_near_destroy};

/* How far it gets: the error of a wall that never stands. Nothing of it may be left. */
static struct bawn_error attempt(int (*build_line)(const struct bawn_near_job *,
					 struct bawn_near_args *, struct bawn_error *),
	int setup_ms)
{
	const struct bawn_tool tool = {.program = "sh",
		.remedy = "",
		.walls = "none",
		.setup_ms = setup_ms,
		.build = build_line};
	struct bawn_near *n = calloc(1, sizeof(*n));
	const int stdio[3] = {-1, -1, -1};
	struct bawn_error err = {0};

	ASSERT_TRUE(n);
	n->in.be = &backend;
	plan.call = &call;
	plan.limits = (struct bawn_limits){BAWN_UNLIMITED, BAWN_UNLIMITED, BAWN_UNLIMITED,
		BAWN_UNLIMITED, BAWN_UNLIMITED, BAWN_UNLIMITED, 0, BAWN_UNLIMITED, BAWN_UNLIMITED};
	if (bawn_near_prepare(&n->in, &tool, &plan, stdio, &err) < 0)
		FAIL("%s", err.msg);
	ASSERT_TRUE(bawn_near_await(&n->in, &err) < 0);
	bawn_near_destroy(&n->in);
	ASSERT_EQ(waitpid(-1, NULL, WNOHANG), -1);
	ASSERT_EQ(errno, ECHILD);
	free(n);
	return err;
}

TEST(what_a_tool_says_when_it_fails_is_passed_on)
{
	struct bawn_error err = attempt(build_complaint, 0);

	ASSERT_STREQ(err.msg, "sh failed: no luck today");
	ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED); /* another wall may do */
}

TEST(a_tool_that_never_starts_anything_is_ended)
{
	struct bawn_error err = attempt(build_sleep, 50);

	ASSERT_EQ(err.err, -ETIMEDOUT);
}

/* bawn-inside believes nobody: where there is no wall it says so, and nothing runs. */
TEST(a_tool_that_builds_no_wall_is_refused)
{
	struct bawn_error err = attempt(build_nothing, 0);

	ASSERT_TRUE(strstr(err.msg, "outer wall: 'ns/pid' is the host's"));
}
