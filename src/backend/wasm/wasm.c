/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebAssembly modules: run by bawn-wasm, which sees of the file system what WASI is told to open
 * and has no sockets, and which itself is the command of a native instance. So there are two walls,
 * and the receipt is that of the outer one.
 */
#include "backend/wasm/wasm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sys/wait.h>

#include "backend/backends.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "plan/module.h"

struct wasm {
	struct bawn_instance in;
	struct bawn_instance *outer; /* the native one */
	struct bawn_arena *arena;
	struct bawn_plan plan;
	struct bawn_event later; /* to be told next */
};

static struct wasm *wasm_of(struct bawn_instance *in)
{
	return (struct wasm *)(void *)in;
}

static bool wasm_suits(const struct bawn_plan *plan)
{
	return bawn_is_module(plan->exe);
}

/* ---- probe ---- */

/* As on the host: a directory, or a link into /usr. */
static struct bawn_mount system_dir(struct bawn_arena *a, const char *path)
{
	struct bawn_mount m = {.kind = BAWN_MNT_RO,
		.src = path,
		.dst = path,
		.optional = true,
		.rule = "filesystem.system"};
	char target[256];
	ssize_t n = readlink(path, target, sizeof(target));

	if (n > 0) {
		m.kind = BAWN_MNT_SYMLINK;
		m.src = bawn_arena_strndup(a, target, (size_t)n);
	}
	return m;
}

/* `offers` of the native wall, once a module that does nothing has run behind it. */
static int try_module(struct bawn_arena *a, const struct bawn_wasm_tools *tools,
	struct bawn_probe *ret, struct bawn_error *err)
{
	static const char *const none[] = {NULL};
	static const char *const args[] = {
		"bawn-wasm", "probe", "/dev/shm/bawn-wasm/libwasmtime.so", NULL};
	static const struct bawn_call call = {.run_id = "probe-wasm"};
	struct bawn_mount mounts[] = {system_dir(a, "/usr"), system_dir(a, "/lib"),
		system_dir(a, "/lib64"), system_dir(a, "/etc/ld.so.cache"),
		{.kind = BAWN_MNT_SCRATCH, .dst = "/dev/shm", .rule = "limits.disk"}};
	struct bawn_plan base = {.call = &call,
		.tier = BAWN_TIER_FULL,
		.envp = none,
		.argv = none,
		.workspace = "/",
		.hostname = "bawn",
		.mounts = mounts,
		.n_mounts = sizeof(mounts) / sizeof(mounts[0]),
		.sys_allow = none,
		.sys_deny = none,
		.limits = {.memory = UINT64_C(1) << 30,
			.cpus_milli = BAWN_UNLIMITED,
			.cpu_shares = BAWN_UNLIMITED,
			.processes = 64,
			.files = 256,
			.disk = 1 << 20,
			.time_ms = 20000,
			.output = 1000}};
	_cleanup_buf_ struct bawn_buf out = {0};
	struct bawn_plan plan;
	int r;

	r = bawn_wasm_tool_plan(a, &base, tools, args, &plan, err);
	if (r >= 0)
		r = bawn_wasm_tool(&plan, NULL, &out, err);
	if (r >= 0)
		(void)snprintf(ret->version, sizeof(ret->version), "wasmtime %.40s", out.data);
	return r;
}

static int wasm_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_wasm_tools tools;
	struct bawn_probe wall = {0};
	struct bawn_error e = {0};
	int r;

	*ret = (struct bawn_probe){0};
	if (!a)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = bawn_wasm_find("", &tools, &e);
	if (r < 0) {
		(void)snprintf(ret->remedy, sizeof(ret->remedy),
			"pip download --no-deps wasmtime, and unpack its _libwasmtime.so as /usr/local/lib/libwasmtime.so");
		(void)snprintf(ret->reason, sizeof(ret->reason), "%.199s", e.msg);
		return 0;
	}
	r = bawn_backend_native.probe(&wall, err);
	if (r < 0)
		return r;
	if (wall.offers)
		r = try_module(a, &tools, ret, &e);
	if (!wall.offers || r < 0) {
		(void)snprintf(ret->reason, sizeof(ret->reason), "%.199s",
			wall.offers ? e.msg : wall.reason);
		(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", wall.remedy);
		return 0;
	}
	ret->offers = wall.offers;
	return 0;
}

/* ---- life ---- */

static int read_module(const struct bawn_plan *plan, struct bawn_buf *ret, struct bawn_error *err)
{
	static const char core[] = "\0asm\1\0\0\0";
	int r;

	ret->max = BAWN_WASM_MODULE_MAX;
	r = bawn_read_file(AT_FDCWD, plan->exe, BAWN_WASM_MODULE_MAX, ret);
	if (r == -E2BIG)
		return bawn_fail(err, BAWN_ERR_NOTFOUND, -EFBIG,
			"'%s' is larger than %zu MiB, the most that is compiled", plan->exe,
			BAWN_WASM_MODULE_MAX >> 20);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_NOTFOUND, r, "cannot read '%s': %m", plan->exe);
	}
	if (ret->len < 8 || memcmp(ret->data, core, 4) != 0)
		return bawn_fail(err, BAWN_ERR_NOTFOUND, -ENOEXEC,
			"'%s' is not a WebAssembly module, and nothing else can be run here",
			plan->exe);
	if (memcmp(ret->data, core, 8) != 0)
		return bawn_fail(err, BAWN_ERR_NOTFOUND, -ENOEXEC,
			"'%s' is a WebAssembly component or of an unknown version; core modules with WASI preview 1 can be run",
			plan->exe);
	return 0;
}

static int wasm_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	struct wasm *w = wasm_of(in);
	_cleanup_buf_ struct bawn_buf module = {0};
	struct bawn_wasm_tools tools;
	const char *compiled;
	int r;

	in->event_fd = in->pty_fd = -1;
	w->arena = bawn_arena_new();
	if (!w->arena)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = bawn_wasm_find(plan->backend.wasm_library, &tools, err);
	if (r >= 0)
		r = read_module(plan, &module, err);
	if (r >= 0)
		r = bawn_wasm_cache_get(
			w->arena, plan, &tools, &module, plan->argv[0], &compiled, err);
	if (r >= 0)
		r = bawn_wasm_run_plan(w->arena, plan, &tools, compiled, &w->plan, err);
	return r < 0 ? r : bawn_instance_new(&bawn_backend_native, &w->plan, stdio, &w->outer, err);
}

static int wasm_await(struct bawn_instance *in, struct bawn_error *err)
{
	struct bawn_instance *o = wasm_of(in)->outer;
	int r = o->be->await(o, err);

	if (r < 0)
		return r;
	in->enforced = o->enforced;
	in->by_cgroup = o->by_cgroup;
	in->event_fd = o->event_fd;
	in->pty_fd = o->pty_fd;
	in->relay_fds = o->relay_fds;
	in->listeners = o->listeners;
	in->n_listeners = o->n_listeners;
	o->n_listeners = 0; /* ours to close now */
	(void)snprintf(
		in->walls, sizeof(in->walls), "wasmtime (memory, fuel, epoch), %.200s", o->walls);
	return 0;
}

static int wasm_start(struct bawn_instance *in, struct bawn_error *err)
{
	struct bawn_instance *o = wasm_of(in)->outer;

	return o->be->start(o, err);
}

/* Only the run time itself can end by these signals, see wasm.h. */
static void explain(const struct wasm *w, const struct bawn_event *ev, struct bawn_event *ret)
{
	int signo =
		ev->kind == BAWN_EV_EXITED && WIFSIGNALED(ev->status) ? WTERMSIG(ev->status) : 0;

	*ret = (struct bawn_event){.kind = BAWN_EV_NONE};
	if (signo == SIGXCPU) {
		ret->kind = BAWN_EV_DENIED;
		ret->control = BAWN_CTL_LIMIT_CPU;
		(void)snprintf(ret->text, sizeof(ret->text),
			"more than %llu units of fuel (enforcement.wasm.fuel_limit; raise it there)",
			(unsigned long long)w->plan.backend.wasm_fuel);
	} else if (signo == SIGALRM) {
		ret->kind = BAWN_EV_LIMIT;
		ret->control = BAWN_CTL_LIMIT_TIME;
	}
}

static int wasm_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err)
{
	struct wasm *w = wasm_of(in);
	struct bawn_event first;
	int r;

	if (w->later.kind != BAWN_EV_NONE) {
		*ret = w->later;
		w->later.kind = BAWN_EV_NONE;
		return 0;
	}
	r = w->outer->be->event(w->outer, ret, err);
	if (r < 0)
		return r;
	explain(w, ret, &first);
	if (first.kind != BAWN_EV_NONE) {
		w->later = *ret;
		*ret = first;
	}
	return 0;
}

static int wasm_signal(struct bawn_instance *in, int signo, struct bawn_error *err)
{
	struct bawn_instance *o = wasm_of(in)->outer;

	return o->be->signal(o, signo, err);
}

static void wasm_usage(struct bawn_instance *in, struct bawn_usage *ret)
{
	struct bawn_instance *o = wasm_of(in)->outer;

	o->be->usage(o, ret);
}

static void wasm_destroy(struct bawn_instance *in)
{
	struct wasm *w = wasm_of(in);

	bawn_instance_drop_listeners(in);
	w->outer = bawn_instance_free(w->outer);
	w->arena = bawn_arena_free(w->arena);
}

static const char *const by[BAWN_CTL_COUNT] = {
	[BAWN_CTLI_FS_READ] = "WASI directories, mount namespace, Landlock",
	[BAWN_CTLI_FS_WRITE] = "WASI directories, read-only mounts, Landlock",
	[BAWN_CTLI_NET_NONE] = "no sockets, network namespace",
	[BAWN_CTLI_IPC] = "no sockets, ipc, network and mount namespaces",
	[BAWN_CTLI_SYSCALLS] = "WASI only, seccomp",
	[BAWN_CTLI_NESTED] = "WASI only, seccomp",
};

const struct bawn_backend bawn_backend_wasm = {
	.abi = BAWN_BACKEND_ABI,
	.name = "wasm",
	.aliases = "wasmtime",
	.summary = "WebAssembly modules in wasmtime, behind the native wall",
	.level = BAWN_LEVEL_WASM,
	.strength = 80,
	.tier = BAWN_TIER_FULL,
	.by = by,
	.instance_size = sizeof(struct wasm),
	.probe = wasm_probe,
	.suits = wasm_suits,
	.prepare = wasm_prepare,
	.await = wasm_await,
	.start = wasm_start,
	.event = wasm_event,
	.signal = wasm_signal,
	.usage = wasm_usage,
	.destroy = wasm_destroy,
};
