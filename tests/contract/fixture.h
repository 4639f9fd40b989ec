/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the contract tests share: identities, plans by hand, what is there before and after, running
 * to the end. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "harness.h"

#define WAIT_MS 60000

static struct bawn_arena *arena;
static char workspace[64];
static int seen_fd = -1;

#define BACKENDS_MAX 32

/* What the probes said, as root and as a user: they are asked once for all tests. */
static struct known {
	bool asked;
	struct bawn_probe probe;
} (*known)[BACKENDS_MAX];

__attribute__((constructor)) static void make_known(void)
{
	known = mmap(NULL, 2 * sizeof(*known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (known == MAP_FAILED)
		abort();
}

static const char *variable(const char *name)
{
	return getenv(name); /* NOLINT(concurrency-mt-unsafe) there is one thread */
}

/* The one backend that $BAWN_CONTRACT names, or all. */
static const struct bawn_backend *selected(size_t i)
{
	const char *name = variable("BAWN_CONTRACT");

	if (!name)
		return bawn_backend_at(i);
	return i ? NULL : bawn_backend_find(name);
}

#define EACH(be) for (size_t i_ = 0; ((be) = selected(i_)); i_++)

static bool is_kernel(const struct bawn_backend *be)
{
	return be->level != BAWN_LEVEL_NONE;
}

/* Starting one takes seconds: it goes through the tests that say most. */
static bool is_slow(const struct bawn_backend *be)
{
	return be->level == BAWN_LEVEL_VM && !variable("CONTRACT_ALL");
}

static const struct bawn_probe *probe_of(const struct bawn_backend *be)
{
	struct known *k = NULL;

	for (size_t i = 0; i < BACKENDS_MAX && bawn_backend_at(i); i++)
		if (bawn_backend_at(i) == be)
			k = &known[geteuid() ? 1 : 0][i];
	ASSERT_TRUE(k);
	if (!k->asked)
		ASSERT_EQ(be->probe(&k->probe, NULL), 0);
	k->asked = true;
	return &k->probe;
}

/* Why it cannot be tested here; NULL if it can. */
static const char *unusable(const struct bawn_backend *be)
{
	static char why[300];

	if (be->suits) { /* those that do not run every program have tests of their own */
		(void)snprintf(why, sizeof(why),
			"%s does not run programs of the host: see contract/modules", be->name);
		return why;
	}
	if (probe_of(be)->offers)
		return NULL;
	(void)snprintf(
		why, sizeof(why), "%s cannot be used here: %s", be->name, probe_of(be)->reason);
	return why;
}

/* Said on the way, so that nobody mistakes silence for success. */
static bool usable(const struct bawn_backend *be)
{
	const char *why = unusable(be);

	if (why)
		(void)printf("# %s\n", why);
	return !why;
}

enum need {
	NEED_NOTHING, /* also for those that cannot be used here */
	NEED_ALL,     /* everywhere, for both identities */
	NEED_USABLE,  /* those that take seconds to start: for one identity only */
	NEED_QUICK,   /* not for those */
};

static void check_need(bool as_user, enum need need)
{
	const struct bawn_backend *be = variable("BAWN_CONTRACT") ? selected(0) : NULL;

	if (!be || need == NEED_NOTHING)
		return;
	if (unusable(be))
		SKIP(unusable(be));
	if (need == NEED_QUICK && is_slow(be))
		SKIP("virtual machines take too long to start for this one (CONTRACT_ALL=1 does it)");
	if (need == NEED_USABLE && is_slow(be) && as_user)
		SKIP("virtual machines take too long to start for doing this twice (CONTRACT_ALL=1 does it)");
}

/* The user's: engines keep their storage in it. Made and removed by the parent of all tests. */
static char user_home[] = "/tmp/contract-home-XXXXXX";

__attribute__((constructor)) static void make_home(void)
{
	if (geteuid() == 0 && (!mkdtemp(user_home) || chown(user_home, 54321, 54321) < 0))
		user_home[0] = '\0';
}

static int remove_from_home(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	(void)remove(path);
	return 0;
}

__attribute__((destructor)) static void remove_home(void)
{
	if (geteuid() == 0 && user_home[0])
		(void)nftw(user_home, remove_from_home, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void become_user(void)
{
	if (geteuid() != 0)
		SKIP("not started as root: the first half is the user's already");
	if (setgroups(0, NULL) < 0 || setresgid(54321, 54321, 54321) < 0 ||
		setresuid(54321, 54321, 54321) < 0)
		FAIL("cannot become a user: %m");
	/* as after exec: our own /proc files are ours */
	ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) there is one thread */
	ASSERT_EQ(setenv("HOME", user_home, 1), 0);
}

static void begin(bool as_user, enum need need)
{
	const char *seen = variable("BAWN_SEEN");

	/* while we may */
	if (seen)
		seen_fd = open(seen, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (as_user)
		become_user();
	ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	check_need(as_user, need);
	(void)snprintf(workspace, sizeof(workspace), "/tmp/contract-XXXXXX");
	ASSERT_TRUE(mkdtemp(workspace));
	ASSERT_EQ(chdir(workspace), 0);
	arena = bawn_arena_new();
	ASSERT_TRUE(arena);
}

static void end(void)
{
	ASSERT_EQ(chdir("/"), 0);
	if (rmdir(workspace) < 0)
		FAIL("something was left in the workspace %s: %m", workspace);
	arena = bawn_arena_free(arena);
}

/* A test for both identities. */
#define BOTH_WITH(id, need)          \
	static void both_##id(void); \
	TEST(id)                     \
	{                            \
		begin(false, need);  \
		both_##id();         \
		end();               \
	}                            \
	TEST(id##_as_user)           \
	{                            \
		begin(true, need);   \
		both_##id();         \
		end();               \
	}                            \
	static void both_##id(void)

#define BOTH(id)       BOTH_WITH(id, NEED_USABLE)
#define BOTH_ALL(id)   BOTH_WITH(id, NEED_ALL)
#define BOTH_ANY(id)   BOTH_WITH(id, NEED_NOTHING)
#define BOTH_QUICK(id) BOTH_WITH(id, NEED_QUICK)

static const struct bawn_plan *plan_with(
	const struct bawn_backend *be, const char *const *argv, const char *key, const char *value)
{
	/* a machine of the usual size takes longer to boot */
	bool small = is_slow(be) && (!key || strcmp(key, "limits.memory") != 0);
	const struct bawn_setting settings[] = {
		{.key = "level", .text = is_kernel(be) ? "process" : "none", .flag = "test"},
		{.key = small ? "limits.memory" : key,
			.text = small ? "512m" : value,
			.flag = "test"},
		{.key = key, .text = value, .flag = "test"}};
	struct bawn_policy_source src = {.workspace = workspace,
		.settings = settings,
		.n_settings = 1u + (small ? 1u : 0u) + (key ? 1u : 0u),
		.no_admin = true,
		.no_user = true,
		.no_workspace = true};
	struct bawn_call_input in = {.argv = argv,
		.envp = (const char *const[]){"PATH=/usr/bin:/bin", NULL},
		.workspace = workspace};
	struct bawn_plan_options o = {.backend = be->name, .tier = be->tier, .image = be->image};
	struct bawn_verdict v = {0};
	struct bawn_error err = {0};
	const struct bawn_policy *policy;
	const struct bawn_call *call;
	const struct bawn_plan *plan;

	if (bawn_call_make(arena, &in, &call, &err) < 0 ||
		bawn_policy_load(arena, &src, &policy, &err) < 0 ||
		bawn_plan_make(arena, policy, call, &v, &o, &plan, &err) < 0)
		FAIL("%s: %s", be->name, err.msg);
	return plan;
}

static const struct bawn_plan *plan_of(const struct bawn_backend *be, const char *script)
{
	const char **argv = bawn_new(arena, const char *, 4);

	ASSERT_TRUE(argv);
	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = script;
	return plan_with(be, argv, NULL, NULL);
}

/* ---- what is there ---- */

/* Mounts that other tests make meanwhile are not ours to find. */
__attribute__((constructor)) static void own_mounts(void)
{
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
		(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

struct state {
	char fds[2048];
	char *mounts;
};

static void note_fds(char *dst, size_t size)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	size_t n = 0;

	ASSERT_TRUE(d);
	dst[0] = '\0';
	/* the names come in the order of the numbers */
	while ((e = readdir(d)) && n < size) { /* NOLINT(concurrency-mt-unsafe) */
		char to[128];
		ssize_t len;

		if (e->d_name[0] == '.' || strtol(e->d_name, NULL, 10) == dirfd(d))
			continue;

		len = readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = '\0';
		n += (size_t)snprintf(dst + n, size - n, "%s=%s ", e->d_name, to);
	}
	(void)closedir(d);
}

static struct state look(void)
{
	struct state s;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t cap = 0;

	s.mounts = NULL;
	ASSERT_TRUE(f && getdelim(&s.mounts, &cap, '\0', f) > 0);
	(void)fclose(f);
	note_fds(s.fds, sizeof(s.fds));
	return s;
}

/* Orphans come to us; they are no fault as long as they are dead. */
static void expect_all_dead(const char *what)
{
	const struct timespec nap = {.tv_nsec = 5000000};
	int64_t stop = bawn_now_ms() + WAIT_MS;

	while (waitpid(-1, NULL, WNOHANG | __WALL) >= 0) {
		if (bawn_now_ms() > stop)
			FAIL("%s: a process lives on", what);
		(void)nanosleep(&nap, NULL);
	}
}

/* The same, and what the backend forked itself it has reaped. A helper without exit signal does not
 * show in anybody's wait(); without a pid namespace, dead orphans come to a reaper like us. */
static void expect_no_child(const struct bawn_backend *be)
{
	const char *what = be ? be->name : "no backend";
	pid_t pid = waitpid(-1, NULL, WNOHANG);

	/* engines have helpers that leave their parents; dead ones come to us as well */
	if (pid > 0 &&
		(!be || (be->tier != BAWN_TIER_LANDLOCK && be->level != BAWN_LEVEL_CONTAINER)))
		FAIL("%s: process %d was left to be reaped", what, (int)pid);
	expect_all_dead(what);
}

/* A mount of ours that was not there before; other programs mount things, too. */
static bool new_mount(const struct state *before, char *now)
{
	char *rest = now;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (strstr(line, "bawn") && !strstr(before->mounts, line))
			return true;
	return false;
}

static void expect_same(const struct state *before, const char *what)
{
	struct state now = look();

	if (strcmp(before->fds, now.fds) != 0)
		FAIL("%s: descriptors were %s\n# and are %s", what, before->fds, now.fds);
	if (new_mount(before, now.mounts))
		FAIL("%s: a mount is left", what);
	free(now.mounts);
}

/* ---- running ---- */

struct run {
	struct bawn_instance *in;
	const struct bawn_backend *be;
	int out; /* read end of its standard output */
};

/* Prepared, awaited and accepted, or nothing. */
static int make(const struct bawn_backend *be, const struct bawn_plan *plan, int out,
	struct bawn_instance **ret, uint32_t *missing, struct bawn_error *err)
{
	const int stdio[3] = {-1, out, -1};
	int r = bawn_instance_new(be, plan, stdio, ret, err);

	if (r < 0)
		return r;
	r = bawn_instance_await(*ret, plan, missing, err);
	if (r < 0)
		*ret = bawn_instance_free(*ret);
	return r;
}

static struct run prepare(const struct bawn_backend *be, const struct bawn_plan *plan)
{
	struct bawn_error err = {0};
	struct run r = {.be = be, .out = -1};
	uint32_t missing = 0;
	int p[2];

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	if (make(be, plan, p[1], &r.in, &missing, &err) < 0)
		FAIL("%s: %s", be->name, err.msg);
	ASSERT_EQ(missing, 0);
	(void)close(p[1]);
	r.out = p[0];
	return r;
}

static struct run start(const struct bawn_backend *be, const struct bawn_plan *plan)
{
	struct run r = prepare(be, plan);
	struct bawn_error err = {0};

	if (be->start(r.in, &err) < 0)
		FAIL("%s: %s", be->name, err.msg);
	return r;
}

static void drop(struct run *r)
{
	r->in = bawn_instance_free(r->in);
	(void)close(r->out);
}

/* The next event, waiting for it. */
static struct bawn_event next(const struct run *r)
{
	int64_t stop = bawn_now_ms() + WAIT_MS;
	struct bawn_error err = {0};
	struct bawn_event ev;

	for (;;) {
		struct pollfd p = {.fd = r->in->event_fd, .events = POLLIN};

		if (r->be->event(r->in, &ev, &err) < 0)
			FAIL("%s: %s", r->be->name, err.msg);
		if (ev.kind != BAWN_EV_NONE)
			return ev;
		if (bawn_now_ms() > stop)
			FAIL("%s: no event came", r->be->name);
		ASSERT_TRUE(poll(&p, 1, 1000) >= 0);
	}
}

/* Everything until the end; the first event that says how the command ended. Checks the order. */
static struct bawn_event outcome(const struct run *r)
{
	struct bawn_event end_of_it = {.kind = BAWN_EV_NONE};
	struct bawn_event ev;

	while ((ev = next(r)).kind != BAWN_EV_ENDED) {
		bool last = ev.kind == BAWN_EV_EXITED || ev.kind == BAWN_EV_FAILED;

		if (last && end_of_it.kind != BAWN_EV_NONE)
			FAIL("%s: the command ended twice", r->be->name);
		if (last)
			end_of_it = ev;
	}
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(r->be->event(r->in, &ev, NULL), 0);
		if (ev.kind != BAWN_EV_NONE)
			FAIL("%s: event %d after the last one", r->be->name, (int)ev.kind);
	}
	return end_of_it;
}

/* What it wrote until end of file, at most `size` - 1. */
static void read_all(int fd, char *dst, size_t size)
{
	size_t n = 0;

	while (n + 1 < size) {
		ssize_t got = read(fd, dst + n, size - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	dst[n] = '\0';
}

/* One line, so that we know where it is. */
static void await_line(const struct run *r, const char *line)
{
	char c[2] = "", got[64] = "";
	size_t n = 0;

	while (n + 1 < sizeof(got) && read(r->out, c, 1) == 1 && c[0] != '\n')
		got[n++] = c[0];
	got[n] = '\0';
	ASSERT_STREQ(got, line);
}
