/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The promises of backend/backend.h, kept by the wasm backend, which runs modules only: the same as
 * in test-backends.c with tests/wasm/probe.c as the command. $WASM_PROBE is that module.
 */
#include <ftw.h>

/* not all of the fixture is needed here */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "fixture.h"

static const struct bawn_backend *be;
static char state_dir[64];
static char module[128];

static void copy_module(const char *from)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	_cleanup_close_ int fd = -1;

	ASSERT_TRUE(bawn_read_file(AT_FDCWD, from, 1 << 24, &b) >= 0);
	fd = open(module, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ASSERT_TRUE(fd >= 0 && bawn_write_all(fd, b.data, b.len) >= 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_tree(const char *path)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* The backend, the module and a cache of this test's own; or the reason why not. */
static void set_up(void)
{
	const char *from = getenv("WASM_PROBE"); /* NOLINT(concurrency-mt-unsafe) */
	const struct bawn_probe *p;

	be = bawn_backend_find("wasmtime");
	ASSERT_TRUE(be && be == bawn_backend_find("wasm") && be->suits);
	p = probe_of(be);
	if (!from || !*from || !p->offers) {
		(void)printf("# %s\n", p->offers ? "there is no module" : p->reason);
		end();
		SKIP("no library (tools/wasmtime.sh) or no module (apt-get install clang lld wasi-libc)");
	}
	(void)snprintf(state_dir, sizeof(state_dir), "/tmp/contract-state-XXXXXX");
	ASSERT_TRUE(mkdtemp(state_dir));
	ASSERT_EQ(setenv("XDG_STATE_HOME", state_dir, 1), 0); /* NOLINT(concurrency-mt-unsafe) */
	(void)snprintf(module, sizeof(module), "%s/m.wasm", workspace);
	copy_module(from);
}

static void tear_down(void)
{
	(void)unlink(module);
	remove_tree(state_dir);
}

#define WASM(id)                     \
	static void wasm_##id(void); \
	BOTH(id)                     \
	{                            \
		set_up();            \
		wasm_##id();         \
		tear_down();         \
	}                            \
	static void wasm_##id(void)

static const struct bawn_plan *run_plan(
	const char *what, const char *arg, const char *key, const char *value)
{
	const char **argv = bawn_new(arena, const char *, 4);

	ASSERT_TRUE(argv);
	argv[0] = module;
	argv[1] = what;
	argv[2] = arg;
	return plan_with(be, argv, key, value);
}

WASM(probe_and_receipt_agree_and_leave_nothing)
{
	struct state before = look();
	struct bawn_probe p = {0};
	struct run r;

	ASSERT_EQ(be->probe(&p, NULL), 0);
	ASSERT_TRUE(!strncmp(p.version, "wasmtime ", 9));
	expect_same(&before, be->name);
	expect_no_child(be);
	r = prepare(be, run_plan("hello", NULL, NULL, NULL));
	ASSERT_TRUE(!(r.in->enforced & ~p.offers));
	ASSERT_TRUE(strstr(r.in->walls, "wasmtime") && strstr(r.in->walls, "namespaces"));
	drop(&r);
	expect_same(&before, be->name);
	expect_no_child(be);
	free(before.mounts);
}

WASM(suits_modules_only)
{
	struct bawn_plan plan = *run_plan("hello", NULL, NULL, NULL);
	struct bawn_error err = {0};
	struct bawn_instance *in = NULL;
	uint32_t missing = 0;

	ASSERT_TRUE(be->suits(&plan));
	plan.exe = "/bin/sh";
	ASSERT_TRUE(!be->suits(&plan));
	ASSERT_TRUE(make(be, &plan, -1, &in, &missing, &err) < 0);
	ASSERT_TRUE(strstr(err.msg, "/bin/sh") && !in);
	plan.exe = "/nonexistent";
	ASSERT_TRUE(!be->suits(&plan));
	ASSERT_TRUE(make(be, &plan, -1, &in, &missing, &err) < 0);
}

WASM(prepared_but_not_started_runs_nothing)
{
	struct state before = look();
	struct run r = prepare(be, run_plan("write", "ran", NULL, NULL));

	r.in = bawn_instance_free(r.in);
	(void)close(r.out);
	ASSERT_TRUE(access("ran", F_OK) < 0);
	expect_same(&before, be->name);
	expect_no_child(be);
	free(before.mounts);
}

WASM(destroy_between_prepare_and_await)
{
	const struct bawn_plan *plan = run_plan("write", "ran", NULL, NULL);
	struct state before = look();
	const int stdio[3] = {-1, -1, -1};
	struct bawn_instance *in = NULL;
	struct bawn_error err = {0};

	if (bawn_instance_new(be, plan, stdio, &in, &err) < 0)
		FAIL("%s", err.msg);
	in = bawn_instance_free(in);
	ASSERT_TRUE(access("ran", F_OK) < 0);
	expect_same(&before, be->name);
	expect_no_child(be);
	free(before.mounts);
}

WASM(refuses_a_plan_that_demands_more)
{
	struct bawn_plan plan = *run_plan("hello", NULL, NULL, NULL);
	struct bawn_error err = {0};
	struct bawn_instance *in = NULL;
	uint32_t missing = 0;

	plan.demanded |= BAWN_CTL_SNAPSHOT;
	ASSERT_EQ(make(be, &plan, -1, &in, &missing, &err), -EOPNOTSUPP);
	ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
	ASSERT_TRUE(strstr(err.msg, "snapshot") && strstr(err.msg, "wasm"));
	plan.may_miss = BAWN_CTL_SNAPSHOT;
	ASSERT_EQ(make(be, &plan, -1, &in, &missing, &err), 0);
	ASSERT_EQ(missing, BAWN_CTL_SNAPSHOT);
	in = bawn_instance_free(in);
	expect_no_child(be);
}

WASM(status_output_and_usage)
{
	struct bawn_usage u = {0};
	struct bawn_event ev;
	char out[64];
	struct run r = start(be, run_plan("hello", "there", NULL, NULL));

	read_all(r.out, out, sizeof(out));
	ASSERT_STREQ(out, "hello there\n");
	ASSERT_EQ(outcome(&r).status, 0);
	be->usage(r.in, &u);
	ASSERT_TRUE(u.cpu_us > 0);
	drop(&r);
	for (int code = 0; code < 126; code += 62) {
		char text[8];

		(void)snprintf(text, sizeof(text), "%d", code);
		r = start(be, run_plan("exit", text, NULL, NULL));
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
		ASSERT_TRUE(WIFEXITED(ev.status));
		ASSERT_EQ(WEXITSTATUS(ev.status), code);
		drop(&r);
	}
	expect_no_child(be);
}

static void expect_signal(const struct run *r, int signo)
{
	struct bawn_event ev = outcome(r);

	ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
	ASSERT_TRUE(WIFSIGNALED(ev.status));
	ASSERT_EQ(WTERMSIG(ev.status), signo);
}

WASM(signals_reach_it_and_kill_it)
{
	char rest[16];
	struct run r = start(be, run_plan("loop", NULL, NULL, NULL));

	await_line(&r, "up");
	ASSERT_EQ(be->signal(r.in, SIGTERM, NULL), 0);
	expect_signal(&r, SIGTERM);
	ASSERT_EQ(be->signal(r.in, SIGTERM, NULL), 0);
	drop(&r);
	r = start(be, run_plan("sleep", "1000", NULL, NULL));
	await_line(&r, "up");
	ASSERT_EQ(be->signal(r.in, SIGKILL, NULL), 0);
	(void)outcome(&r);
	read_all(r.out, rest, sizeof(rest));
	ASSERT_STREQ(rest, "");
	drop(&r);
	r = start(be, run_plan("loop", NULL, NULL, NULL));
	await_line(&r, "up");
	drop(&r);
	expect_all_dead(be->name);
}

WASM(a_trap_is_an_abort)
{
	struct run r = start(be, run_plan("trap", "memory", NULL, NULL));

	expect_signal(&r, SIGABRT);
	drop(&r);
}

WASM(used_up_fuel_is_a_denial_and_the_end)
{
	struct run r = start(be, run_plan("loop", NULL, "enforcement.wasm.fuel_limit", "1000000"));
	struct bawn_event ev = next(&r);

	ASSERT_EQ(ev.kind, BAWN_EV_DENIED);
	ASSERT_EQ(ev.control, BAWN_CTL_LIMIT_CPU);
	ASSERT_TRUE(strstr(ev.text, "fuel"));
	expect_signal(&r, SIGXCPU);
	drop(&r);
}

/* Nobody supervises here: it is the run time's own deadline that ends it. */
WASM(the_deadline_holds_without_a_supervisor)
{
	struct run r = start(be, run_plan("loop", NULL, "limits.time", "300ms"));
	struct bawn_event ev = next(&r);

	ASSERT_EQ(ev.kind, BAWN_EV_LIMIT);
	ASSERT_EQ(ev.control, BAWN_CTL_LIMIT_TIME);
	expect_signal(&r, SIGALRM);
	drop(&r);
}

WASM(two_at_once_and_an_empty_cache)
{
	struct run a = start(be, run_plan("sleep", "1000", NULL, NULL));
	struct run b = start(be, run_plan("hello", NULL, NULL, NULL));

	ASSERT_EQ(outcome(&b).status, 0);
	await_line(&a, "up");
	remove_tree(state_dir); /* what runs does not need it */
	drop(&b);
	b = start(be, run_plan("hello", NULL, NULL, NULL));
	ASSERT_EQ(outcome(&b).status, 0);
	drop(&b);
	drop(&a);
	expect_all_dead(be->name);
}
