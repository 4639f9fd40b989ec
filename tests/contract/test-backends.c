/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The promises of backend/backend.h, kept by every backend of this build. Each test runs as it was
 * started and, when that is as root, once more as an ordinary user. What is left behind shows in
 * three places: this process is the reaper of all that descends from it, and its descriptors and
 * mounts are compared.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include <sys/prctl.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "harness.h"

#define WAIT_MS 20000

static struct bawn_arena *arena;
static char workspace[64];

static void begin(bool as_user)
{
	if (as_user && geteuid() == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(54321, 54321, 54321) < 0 ||
			setresuid(54321, 54321, 54321) < 0)
			FAIL("cannot become a user: %m");
		/* as after exec: our own /proc files are ours */
		ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	} else if (as_user) {
		SKIP("not started as root: the first half is the user's already");
	}
	ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
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
#define BOTH(id)                     \
	static void both_##id(void); \
	TEST(id)                     \
	{                            \
		begin(false);        \
		both_##id();         \
		end();               \
	}                            \
	TEST(id##_as_user)           \
	{                            \
		begin(true);         \
		both_##id();         \
		end();               \
	}                            \
	static void both_##id(void)

#define EACH(be) for (size_t i_ = 0; ((be) = bawn_backend_at(i_)); i_++)

static bool is_kernel(const struct bawn_backend *be)
{
	return be->level != BAWN_LEVEL_NONE;
}

/* Whether it can be used here, said on the way so that nobody mistakes silence for success. */
static bool usable(const struct bawn_backend *be)
{
	struct bawn_probe p = {0};

	ASSERT_EQ(be->probe(&p, NULL), 0);
	if (!p.offers)
		(void)printf("# %s cannot be used here: %s\n", be->name, p.reason);
	return p.offers != 0;
}

static const struct bawn_plan *plan_with(
	const struct bawn_backend *be, const char *const *argv, const char *key, const char *value)
{
	const struct bawn_setting settings[] = {
		{.key = "level", .text = is_kernel(be) ? "process" : "none", .flag = "test"},
		{.key = key, .text = value, .flag = "test"}};
	struct bawn_policy_source src = {.workspace = workspace,
		.settings = settings,
		.n_settings = key ? 2 : 1,
		.no_admin = true,
		.no_user = true,
		.no_workspace = true};
	struct bawn_call_input in = {.argv = argv,
		.envp = (const char *const[]){"PATH=/usr/bin:/bin", NULL},
		.workspace = workspace};
	struct bawn_plan_options o = {
		.tier = !strcmp(be->name, "landlock") ? BAWN_TIER_LANDLOCK : BAWN_TIER_FULL};
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
static void expect_no_child(const char *what)
{
	pid_t pid = waitpid(-1, NULL, WNOHANG);

	if (pid > 0 && strcmp(what, "landlock") != 0)
		FAIL("%s: process %d was left to be reaped", what, (int)pid);
	expect_all_dead(what);
}

static void expect_same(const struct state *before, const char *what)
{
	struct state now = look();

	if (strcmp(before->fds, now.fds) != 0)
		FAIL("%s: descriptors were %s\n# and are %s", what, before->fds, now.fds);
	/* other programs mount things too: only what mentions us counts */
	if (strcmp(before->mounts, now.mounts) != 0 && strstr(now.mounts, "bawn"))
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

/* ---- the tests ---- */

TEST(table_is_filled_and_sorted)
{
	const struct bawn_backend *be, *before = NULL;
	size_t n = 0;

	EACH(be)
	{
		ASSERT_EQ(be->abi, BAWN_BACKEND_ABI);
		ASSERT_TRUE(be->name && *be->name && be->aliases && be->summary && *be->summary);
		ASSERT_TRUE(!strchr(be->summary, '\n'));
		ASSERT_TRUE(be->probe && be->prepare && be->await && be->start && be->event &&
			    be->signal && be->destroy);
		ASSERT_TRUE(be->instance_size >= sizeof(struct bawn_instance));
		ASSERT_TRUE(be->level <= BAWN_LEVEL_VM);
		if (before)
			ASSERT_TRUE(before->strength > be->strength);
		before = be;
		n++;
	}
	ASSERT_TRUE(n >= 4);
	ASSERT_TRUE(!bawn_backend_at(n) && !bawn_backend_at(n + 1000));
}

static void check_aliases(const struct bawn_backend *be)
{
	char word[64];

	for (const char *p = be->aliases; *p;) {
		size_t len = strcspn(p, ",");

		ASSERT_TRUE(len > 0 && len < sizeof(word));
		memcpy(word, p, len);
		word[len] = '\0';
		if (bawn_backend_find(word) != be)
			FAIL("'%s' of %s belongs to another as well", word, be->name);
		p += len + (p[len] == ',');
	}
}

TEST(names_and_aliases_are_unique)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		ASSERT_TRUE(bawn_backend_find(be->name) == be);
		check_aliases(be);
	}
	ASSERT_TRUE(!bawn_backend_find("") && !bawn_backend_find(",") && !bawn_backend_find("nat"));
	ASSERT_TRUE(!bawn_backend_find("kernel,namespace"));
}

BOTH(probe_leaves_nothing)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	for (int twice = 0; twice < 2; twice++) {
		struct bawn_probe p = {0};

		ASSERT_EQ(be->probe(&p, NULL), 0);
		ASSERT_TRUE(p.offers || p.reason[0]);
		ASSERT_TRUE(p.offers < 1u << BAWN_CTL_COUNT);
		expect_same(&before, be->name);
		expect_no_child(be->name);
	}
	free(before.mounts);
}

BOTH(receipt_is_what_the_probe_offers)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct bawn_probe p = {0};
		struct run r;

		ASSERT_EQ(be->probe(&p, NULL), 0);
		if (!p.offers)
			continue;
		r = prepare(be, plan_of(be, "exit 0"));
		if (r.in->enforced & ~p.offers)
			FAIL("%s claims %x, the probe offers %x", be->name, r.in->enforced,
				p.offers);
		ASSERT_TRUE(r.in->event_fd >= 0 || !is_kernel(be));
		ASSERT_EQ(r.in->pty_fd, -1);
		ASSERT_TRUE(r.in->walls[0]);
		drop(&r);
	}
}

BOTH(prepared_but_not_started_runs_nothing)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		char out[64];
		struct run r;

		if (!usable(be))
			continue;
		r = prepare(be, plan_of(be, "echo ran; touch ran"));
		r.in = bawn_instance_free(r.in);
		read_all(r.out, out, sizeof(out));
		ASSERT_STREQ(out, "");
		ASSERT_TRUE(access("ran", F_OK) < 0);
		(void)close(r.out);
		expect_same(&before, be->name);
		expect_no_child(be->name);
	}
	free(before.mounts);
}

BOTH(destroy_between_prepare_and_await)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		const int stdio[3] = {-1, -1, -1};
		struct bawn_instance *in = NULL;
		struct bawn_error err = {0};

		if (!usable(be))
			continue;
		if (bawn_instance_new(be, plan_of(be, "touch ran"), stdio, &in, &err) < 0)
			FAIL("%s: %s", be->name, err.msg);
		in = bawn_instance_free(in);
		ASSERT_TRUE(access("ran", F_OK) < 0);
		expect_same(&before, be->name);
		expect_no_child(be->name);
	}
	free(before.mounts);
}

BOTH(destroy_without_prepare)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct bawn_instance *in = calloc(1, be->instance_size);

		ASSERT_TRUE(in);
		in->be = be;
		(void)bawn_instance_free(in);
		expect_same(&before, be->name);
	}
	expect_no_child("no backend");
	free(before.mounts);
}

/* A plan that no backend can carry out: a bind of what does not exist, descriptors that are not
 * open. */
BOTH(destroy_after_failed_prepare)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct bawn_plan plan = *plan_of(be, "touch ran");
		struct bawn_error err = {0};
		struct bawn_instance *in = NULL;
		uint32_t missing = 0;

		plan.n_loopback_ports = 1000;
		ASSERT_TRUE(make(be, &plan, -1, &in, &missing, &err) < 0);
		ASSERT_TRUE(err.kind && err.msg[0] && !in);
		plan.n_loopback_ports = 0;
		err = (struct bawn_error){0};
		ASSERT_TRUE(make(be, &plan, 999, &in, &missing, &err) < 0);
		ASSERT_TRUE(err.kind && err.msg[0] && !in);
		ASSERT_TRUE(!strchr(err.msg, '\n'));
		ASSERT_TRUE(access("ran", F_OK) < 0);
		expect_same(&before, be->name);
		expect_no_child(be->name);
	}
	free(before.mounts);
}

BOTH(refuses_a_plan_that_demands_more)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct bawn_plan plan = *plan_of(be, "touch ran");
		struct bawn_error err = {0};
		struct bawn_instance *in = NULL;
		uint32_t missing = 0;

		if (!usable(be))
			continue;
		plan.demanded |= BAWN_CTL_SNAPSHOT;
		ASSERT_EQ(make(be, &plan, -1, &in, &missing, &err), -EOPNOTSUPP);
		ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
		ASSERT_TRUE(strstr(err.msg, "snapshot") && strstr(err.msg, be->name));
		ASSERT_TRUE(!in);
		/* another one that may go missing does not help */
		plan.may_miss = BAWN_CTL_NET_EGRESS;
		ASSERT_TRUE(make(be, &plan, -1, &in, &missing, &err) < 0);
		plan.may_miss = BAWN_CTL_SNAPSHOT;
		ASSERT_EQ(make(be, &plan, -1, &in, &missing, &err), 0);
		ASSERT_EQ(missing, BAWN_CTL_SNAPSHOT);
		in = bawn_instance_free(in);
		ASSERT_TRUE(access("ran", F_OK) < 0);
		expect_same(&before, be->name);
		expect_no_child(be->name);
	}
	free(before.mounts);
}

BOTH(kernel_backends_enforce_the_default_plan)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct run r;

		if (!is_kernel(be) || !usable(be))
			continue;
		r = prepare(be, plan_of(be, "exit 0"));
		ASSERT_TRUE(r.in->enforced & BAWN_CTL_FS_WRITE);
		ASSERT_TRUE(r.in->enforced & BAWN_CTL_NET_NONE);
		ASSERT_TRUE(!(r.in->enforced & (BAWN_CTL_NET_EGRESS | BAWN_CTL_SECRETS)));
		drop(&r);
	}
}

static void expect_exit(const struct bawn_backend *be, int code)
{
	struct run r = start(be, plan_of(be, bawn_arena_printf(arena, "exit %d", code)));
	struct bawn_event ev = outcome(&r);

	ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
	ASSERT_TRUE(WIFEXITED(ev.status));
	ASSERT_EQ(WEXITSTATUS(ev.status), code);
	drop(&r);
}

BOTH(exit_and_signal_status_are_faithful)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct bawn_event ev;
		struct run r;

		if (!usable(be))
			continue;
		for (int code = 0; code < 256; code += 85)
			expect_exit(be, code);
		r = start(be, plan_of(be, "kill -TERM $$"));
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
		ASSERT_TRUE(WIFSIGNALED(ev.status));
		ASSERT_EQ(WTERMSIG(ev.status), SIGTERM);
		drop(&r);
		expect_same(&before, be->name);
		expect_no_child(be->name);
	}
	free(before.mounts);
}

BOTH(output_arrives_and_ends)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		char out[64];
		struct run r;

		if (!usable(be))
			continue;
		r = start(be, plan_of(be, "echo hello; echo \"$BAWN_SECRET_OF_HOST\""));
		read_all(r.out, out, sizeof(out));
		ASSERT_STREQ(out, "hello\n\n");
		ASSERT_EQ(outcome(&r).status, 0);
		drop(&r);
	}
}

BOTH(missing_and_unusable_programs_fail_with_their_errno)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct bawn_plan plan = *plan_of(be, "exit 0");
		struct bawn_event ev;
		struct run r;

		if (!usable(be))
			continue;
		plan.exe = "/usr/bin/there is no such program";
		r = start(be, &plan);
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_FAILED);
		ASSERT_EQ(ev.status, ENOENT);
		drop(&r);
		plan.exe = "/usr/bin";
		r = start(be, &plan);
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_FAILED);
		ASSERT_EQ(ev.status, EACCES);
		drop(&r);
		expect_no_child(be->name);
	}
}

BOTH(sigterm_reaches_the_command)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct bawn_event ev;
		struct run r;

		if (!usable(be))
			continue;
		r = start(be,
			plan_of(be, "trap 'exit 43' TERM; echo up; while :; do sleep 0.1; done"));
		await_line(&r, "up");
		ASSERT_EQ(be->signal(r.in, SIGTERM, NULL), 0);
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
		ASSERT_TRUE(WIFEXITED(ev.status));
		ASSERT_EQ(WEXITSTATUS(ev.status), 43);
		/* one that is gone can be signalled without harm */
		ASSERT_EQ(be->signal(r.in, SIGTERM, NULL), 0);
		ASSERT_EQ(be->signal(r.in, SIGKILL, NULL), 0);
		drop(&r);
		expect_no_child(be->name);
	}
}

/* The pipe ends only when the last of them has gone. */
static const char family[] = "setsid sh -c 'setsid sleep 1000 & exec sleep 1000' & "
			     "(trap '' TERM HUP INT; exec sleep 1000) & echo up; exec sleep 1000";

BOTH(sigkill_ends_everything_inside)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		char rest[16];
		struct run r;

		if (!is_kernel(be) || !usable(be))
			continue;
		r = start(be, plan_of(be, family));
		await_line(&r, "up");
		ASSERT_EQ(be->signal(r.in, SIGKILL, NULL), 0);
		(void)outcome(&r);
		read_all(r.out, rest, sizeof(rest));
		ASSERT_STREQ(rest, "");
		drop(&r);
		expect_all_dead(be->name);
	}
}

BOTH(nothing_survives_the_command)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		char rest[16];
		struct run r;

		if (!is_kernel(be) || !usable(be))
			continue;
		r = start(be,
			plan_of(be, "setsid sh -c 'setsid sleep 1000 & exec sleep 1000' & exit 7"));
		ASSERT_EQ(WEXITSTATUS(outcome(&r).status), 7);
		read_all(r.out, rest, sizeof(rest));
		ASSERT_STREQ(rest, "");
		drop(&r);
		expect_all_dead(be->name);
	}
}

BOTH(destroy_while_running_kills_all)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		char rest[16];
		struct run r;

		if (!usable(be))
			continue;
		r = start(be,
			plan_of(be, is_kernel(be) ? family : "echo up; sleep 1000 & sleep 1000"));
		await_line(&r, "up");
		r.in = bawn_instance_free(r.in);
		read_all(r.out, rest, sizeof(rest));
		ASSERT_STREQ(rest, "");
		(void)close(r.out);
		expect_same(&before, be->name);
		expect_all_dead(be->name);
	}
	free(before.mounts);
}

BOTH(two_at_once_do_not_know_each_other)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct run a, b;

		if (!usable(be))
			continue;
		a = start(be, plan_of(be, "echo up; read x; exec sleep 1000"));
		b = start(be,
			plan_of(be, "trap 'exit 3' TERM; echo up; while :; do sleep 0.1; done"));
		await_line(&b, "up");
		await_line(&a, "up");
		a.in = bawn_instance_free(a.in);
		ASSERT_EQ(be->signal(b.in, SIGTERM, NULL), 0);
		ASSERT_EQ(WEXITSTATUS(outcome(&b).status), 3);
		drop(&b);
		(void)close(a.out);
		expect_same(&before, be->name);
		expect_all_dead(be->name);
	}
	free(before.mounts);
}

/* How often the limit was told until the end. */
static int count_limits(const struct run *r, uint32_t control)
{
	struct bawn_event ev;
	int n = 0;

	while ((ev = next(r)).kind != BAWN_EV_ENDED) {
		if (ev.kind == BAWN_EV_LIMIT)
			ASSERT_EQ(ev.control, control);
		n += ev.kind == BAWN_EV_LIMIT;
	}
	return n;
}

BOTH(a_hit_limit_is_an_event_and_the_end)
{
	const struct bawn_backend *be;
	const char *argv[] = {
		"/bin/sh", "-c", "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo $x", NULL};

	EACH(be)
	{
		struct run r;

		if (!is_kernel(be) || !usable(be))
			continue;
		r = start(be, plan_with(be, argv, "limits.memory", "64m"));
		ASSERT_EQ(count_limits(&r, BAWN_CTL_LIMIT_MEMORY), 1);
		drop(&r);
		expect_all_dead(be->name);
	}
}

BOTH(usage_is_known_after_the_end)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct bawn_usage u = {0};
		struct run r;

		if (!be->usage || !usable(be))
			continue;
		r = start(be, plan_of(be, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
		ASSERT_EQ(outcome(&r).status, 0);
		be->usage(r.in, &u);
		ASSERT_TRUE(u.cpu_us > 0 && u.cpu_us < 600000000);
		drop(&r);
	}
}
