/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bawn-wasm as the command of a native instance. The tools are bound into the private space, where
 * mount points can always be made and which no module is granted.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/backends.h"
#include "backend/wasm/wasm.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

#define PLACE    "/dev/shm/bawn-wasm"
#define RUNNER   PLACE "/bawn-wasm"
#define LIBRARY  PLACE "/libwasmtime.so"
#define COMPILED PLACE "/module"

#define TOOL_MEMORY   (UINT64_C(1) << 30) /* for the compiler, if the plan gives less */
#define TOOL_TIME_MS  60000               /* once per module; limits.time is for the command */
#define TOOL_SAID_MAX 400
#define OUTPUT_MAX    ((size_t)1 << 30)
/* The run time's own threads; a module has none. */
#define OWN_THREADS 64
/* The run time's own memory, at most; the plan's limit holds for both together. */
#define OWN_MEMORY (UINT64_C(32) << 20)

static struct bawn_mount bound(const char *src, const char *dst)
{
	return (struct bawn_mount){.kind = BAWN_MNT_RO, .src = src, .dst = dst, .rule = "wasm"};
}

static int bind_tools(struct bawn_arena *a, const struct bawn_wasm_tools *tools,
	const char *compiled, struct bawn_plan *p)
{
	const char *runner, *library;

	/* binds do not follow links */
	if (bawn_path_resolve(a, tools->runner, &runner) < 0 ||
		bawn_path_resolve(a, tools->library, &library) < 0)
		return -ENOENT;
	p->mounts[p->n_mounts++] = bound(runner, RUNNER);
	p->mounts[p->n_mounts++] = bound(library, LIBRARY);
	if (compiled)
		p->mounts[p->n_mounts++] = bound(compiled, COMPILED);
	p->exe = RUNNER;
	return 0;
}

static bool is_system(const struct bawn_mount *m)
{
	if (m->kind == BAWN_MNT_RO)
		return !strcmp(m->rule, "filesystem.system") || !strcmp(m->dst, "/");
	return m->kind == BAWN_MNT_SYMLINK || m->kind == BAWN_MNT_SCRATCH ||
	       m->kind == BAWN_MNT_HIDE || !strcmp(m->dst, "/");
}

static uint64_t at_least(uint64_t value, uint64_t floor)
{
	return value < floor ? floor : value;
}

int bawn_wasm_tool_plan(struct bawn_arena *a, const struct bawn_plan *base,
	const struct bawn_wasm_tools *tools, const char *const *args, struct bawn_plan *ret,
	struct bawn_error *err)
{
	static const char *const none[] = {NULL};
	const uint32_t network = BAWN_CTL_NET_EGRESS | BAWN_CTL_NET_SSRF;
	struct bawn_strlist argv = {0};

	*ret = *base;
	ret->mounts = bawn_new(a, struct bawn_mount, base->n_mounts + 3);
	if (!ret->mounts)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	ret->n_mounts = 0;
	for (size_t i = 0; i < base->n_mounts; i++)
		if (is_system(&base->mounts[i])) {
			ret->mounts[ret->n_mounts] = base->mounts[i];
			if (base->mounts[i].kind ==
				BAWN_MNT_RW) /* the whole root: to be seen only */
				ret->mounts[ret->n_mounts].kind = BAWN_MNT_RO;
			ret->n_mounts++;
		}
	ret->n_guards = ret->n_protect = ret->n_deny = ret->n_writable = 0;
	ret->n_loopback_ports = 0;
	ret->egress = NULL;
	ret->net_closed = true;
	ret->unix_open = false;
	ret->pty = false;
	ret->demanded = (base->demanded & ~network) | BAWN_CTL_NET_NONE;
	ret->demanded &= ~(uint32_t)(BAWN_CTL_SECRETS | BAWN_CTL_SNAPSHOT);
	ret->envp = none;
	ret->cwd = "/";
	ret->limits.memory = at_least(base->limits.memory, TOOL_MEMORY);
	ret->limits.processes = at_least(base->limits.processes, OWN_THREADS);
	ret->limits.files = at_least(base->limits.files, 64);
	for (; *args; args++)
		if (bawn_strlist_add(a, &argv, *args) < 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	ret->argv = argv.v;
	if (bind_tools(a, tools, NULL, ret) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOENT, "'%s' is gone", tools->library);
	return 0;
}

/* ---- what a module is granted ---- */

struct grants {
	struct bawn_arena *a;
	struct bawn_strlist rw, ro;
	int failed;
};

static void grant(struct grants *g, const char *path, bool rw)
{
	struct bawn_strlist *l = rw ? &g->rw : &g->ro;

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], path))
			return;
	if (bawn_strlist_add(g->a, l, path) < 0)
		g->failed = -ENOMEM;
}

/* The whole file system. WASI's libc cannot tell "/" from the current directory, so what is in it
 * is granted by name, less what belongs to the kernel. */
static void grant_all(struct grants *g, bool rw)
{
	static const char *const kernel[] = {".", "..", "dev", "proc", "sys", NULL};
	DIR *d = opendir("/");
	struct dirent *e;

	while (d && (e = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): no threads */
		const char *path = bawn_arena_printf(g->a, "/%s", e->d_name);
		bool skip = e->d_type != DT_DIR;

		for (size_t i = 0; kernel[i]; i++)
			skip |= !strcmp(e->d_name, kernel[i]);
		if (!path)
			g->failed = -ENOMEM;
		else if (!skip)
			grant(g, path, rw);
	}
	if (d)
		(void)closedir(d);
}

/* WASI knows directories only. The directory of a single file holds what the plan grants in it. */
static void grant_mount(struct grants *g, const struct bawn_mount *m)
{
	bool rw = m->kind == BAWN_MNT_RW || m->kind == BAWN_MNT_SCRATCH;
	const char *slash = strrchr(m->dst, '/');
	struct stat st;

	if (!strcmp(m->dst, "/")) {
		grant_all(g, rw);
		return;
	}
	if (m->kind == BAWN_MNT_SCRATCH || (stat(m->src, &st) == 0 && S_ISDIR(st.st_mode))) {
		grant(g, m->dst, rw);
		return;
	}
	if (slash && slash != m->dst && stat(m->src, &st) == 0) {
		const char *dir = bawn_arena_strndup(g->a, m->dst, (size_t)(slash - m->dst));

		if (dir)
			grant(g, dir, rw);
		else
			g->failed = -ENOMEM;
	}
}

/* The nearest mount at or above `path`; NULL if there is none. */
static const struct bawn_mount *cover(const struct bawn_plan *p, const char *path, size_t before)
{
	const struct bawn_mount *best = NULL;

	for (size_t i = 0; i < before; i++) {
		const struct bawn_mount *m = &p->mounts[i];

		if (m->kind != BAWN_MNT_SYMLINK && !m->pin && bawn_path_under(path, m->dst))
			best = m;
	}
	return best;
}

static bool is_granted(const struct bawn_plan *p, size_t i)
{
	const struct bawn_mount *m = &p->mounts[i];
	const struct bawn_mount *above = cover(p, m->dst, i);
	bool files =
		m->kind == BAWN_MNT_RO || m->kind == BAWN_MNT_RW || m->kind == BAWN_MNT_SCRATCH;

	if (!files || m->pin || m->protect || bawn_path_under(m->dst, "/dev") ||
		bawn_path_under(m->dst, "/sys"))
		return false;
	/* what lies in a granted directory is reached through it, by the rights of the mount; only
	 * something writable in something that is not needs a grant of its own */
	return !above || above->kind == BAWN_MNT_HIDE ||
	       (above->kind == BAWN_MNT_RO && m->kind != BAWN_MNT_RO);
}

static int collect(struct bawn_arena *a, const struct bawn_plan *p, struct grants *g)
{
	*g = (struct grants){.a = a};
	for (size_t i = 0; i < p->n_mounts; i++)
		if (is_granted(p, i))
			grant_mount(g, &p->mounts[i]);
	return g->failed;
}

/* ---- the command line ---- */

struct words {
	struct bawn_arena *a;
	struct bawn_strlist l;
	int failed;
};

static void add(struct words *w, const char *text)
{
	if (!text || bawn_strlist_add(w->a, &w->l, text) < 0)
		w->failed = -ENOMEM;
}

static void add_number(struct words *w, const char *key, uint64_t value)
{
	add(w, value == BAWN_UNLIMITED
			? bawn_arena_printf(w->a, "%s=none", key)
			: bawn_arena_printf(w->a, "%s=%llu", key, (unsigned long long)value));
}

static void add_grants(struct words *w, const struct bawn_plan *p, const struct grants *g)
{
	const struct bawn_mount *here = cover(p, p->cwd, p->n_mounts);
	bool rw = here && (here->kind == BAWN_MNT_RW || here->kind == BAWN_MNT_SCRATCH);

	for (size_t i = 0; i < g->rw.n; i++)
		add(w, bawn_arena_printf(w->a, "rw=%s", g->rw.v[i]));
	for (size_t i = 0; i < g->ro.n; i++)
		add(w, bawn_arena_printf(w->a, "ro=%s", g->ro.v[i]));
	if (here && here->kind != BAWN_MNT_HIDE && strcmp(p->cwd, "/") != 0)
		add(w, bawn_arena_printf(w->a, "here-%s=%s", rw ? "rw" : "ro", p->cwd));
}

/* The limit is for the module and what runs it together: the run time's own part is set aside. */
static uint64_t module_memory(uint64_t limit)
{
	if (limit == BAWN_UNLIMITED)
		return limit;
	return limit > 2 * OWN_MEMORY ? limit - OWN_MEMORY : limit / 2;
}

int bawn_wasm_run_plan(struct bawn_arena *a, const struct bawn_plan *base,
	const struct bawn_wasm_tools *tools, const char *compiled, struct bawn_plan *ret,
	struct bawn_error *err)
{
	struct words w = {.a = a};
	struct grants g;

	*ret = *base;
	ret->mounts = bawn_new(a, struct bawn_mount, base->n_mounts + 3);
	if (!ret->mounts || collect(a, base, &g) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	memcpy(ret->mounts, base->mounts, base->n_mounts * sizeof(*base->mounts));
	if (base->limits.processes != BAWN_UNLIMITED)
		ret->limits.processes += OWN_THREADS;
	add(&w, "bawn-wasm");
	add(&w, "run");
	add(&w, LIBRARY);
	add(&w, COMPILED);
	add_number(&w, "fuel", base->backend.wasm_fuel);
	add_number(&w, "memory", module_memory(base->limits.memory));
	add_number(&w, "time", base->limits.time_ms);
	add(&w, bawn_arena_printf(a, "name=%s", base->argv[0]));
	add_grants(&w, base, &g);
	add(&w, "--");
	for (const char *const *v = base->argv; *v; v++)
		add(&w, *v);
	if (w.failed)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	ret->argv = w.l.v;
	if (bind_tools(a, tools, compiled, ret) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOENT, "'%s' is gone", tools->library);
	return 0;
}

/* ---- running a tool to its end ---- */

struct job {
	struct bawn_instance *in;
	int out, said; /* our ends */
	struct bawn_buf *ret;
	struct bawn_buf words;
	int status;
	bool ended, limited;
};

/* A memory file with the input: whatever happens to the original, this is what is compiled. */
static int make_input(const struct bawn_buf *input)
{
	_cleanup_close_ int fd = memfd_create("module", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = bawn_write_all(fd, input->data, input->len);
	if (r >= 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? r : TAKE_FD(fd);
}

/* 0 at the end of file. */
static int drain(int fd, struct bawn_buf *b)
{
	char chunk[8192];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n > 0)
		bawn_buf_add(b, chunk, (size_t)n);
	return n > 0 || (n < 0 && errno == EINTR);
}

static int take_events(struct job *j, struct bawn_error *err)
{
	struct bawn_event ev;

	do {
		int r = j->in->be->event(j->in, &ev, err);

		if (r < 0)
			return r;
		if (ev.kind == BAWN_EV_EXITED)
			j->status = ev.status;
		if (ev.kind == BAWN_EV_FAILED) {
			errno = ev.status;
			return bawn_fail(err, BAWN_ERR_BACKEND, -ev.status,
				"cannot start bawn-wasm behind the wall: %m");
		}
		j->limited |= ev.kind == BAWN_EV_LIMIT;
		j->ended |= ev.kind == BAWN_EV_ENDED;
	} while (ev.kind != BAWN_EV_NONE && !j->ended);
	return 0;
}

static int follow(struct job *j, int64_t stop, struct bawn_error *err)
{
	assert(j->in);
	struct pollfd p[3] = {{.fd = j->in->event_fd, .events = POLLIN},
		{.fd = j->out, .events = POLLIN}, {.fd = j->said, .events = POLLIN}};
	int r = 0;

	while (r >= 0 && (!j->ended || p[1].fd >= 0)) {
		int64_t left = stop - bawn_now_ms();

		if (left <= 0)
			return bawn_fail(err, BAWN_ERR_NOTFOUND, -ETIMEDOUT,
				"the module takes more than %d s to compile", TOOL_TIME_MS / 1000);
		if (poll(p, 3, (int)left) < 0 && errno != EINTR)
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot wait: %m");
		if (p[1].revents && !drain(j->out, j->ret))
			p[1].fd = -1;
		if (p[2].revents && !drain(j->said, &j->words))
			p[2].fd = -1;
		if (p[0].revents)
			r = take_events(j, err);
		if (j->ended)
			p[0].fd = -1;
	}
	return r;
}

/* What it said is the fault of a module of strangers: one line, escaped. */
static int refuse(struct job *j, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	size_t len = j->words.data ? strcspn(j->words.data, "\n") : 0;

	if (j->limited)
		return bawn_fail(err, BAWN_ERR_NOTFOUND, -ENOMEM,
			"the module needs more memory to compile than there is for it");
	bawn_buf_escape(&b, j->words.data ? j->words.data : "", len);
	if (WIFEXITED(j->status) && WEXITSTATUS(j->status) == BAWN_WASM_EXIT_LIBRARY)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"libwasmtime.so cannot be used: %.300s", b.len ? b.data : "it died");
	return bawn_fail(
		err, BAWN_ERR_NOTFOUND, -ENOEXEC, "%.400s", b.len ? b.data : "the compiler died");
}

static int start_tool(struct job *j, const struct bawn_plan *plan, const struct bawn_buf *input,
	struct bawn_error *err)
{
	_cleanup_close_ int in = input ? make_input(input) : -1;
	int out[2], said[2];
	uint32_t missing;
	int r;

	if ((input && in < 0) || pipe2(out, O_CLOEXEC) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a pipe: %m");
	j->out = out[0];
	if (pipe2(said, O_CLOEXEC) < 0) {
		(void)close(out[1]);
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a pipe: %m");
	}
	j->said = said[0];
	r = bawn_instance_new(
		&bawn_backend_native, plan, (const int[3]){in, out[1], said[1]}, &j->in, err);
	(void)close(out[1]);
	(void)close(said[1]);
	if (r >= 0)
		r = bawn_instance_await(j->in, plan, &missing, err);
	return r < 0 ? r : j->in->be->start(j->in, err);
}

int bawn_wasm_tool(const struct bawn_plan *plan, const struct bawn_buf *input, struct bawn_buf *out,
	struct bawn_error *err)
{
	struct job j = {
		.out = -1, .said = -1, .status = -1, .ret = out, .words = {.max = TOOL_SAID_MAX}};
	int r;

	out->max = OUTPUT_MAX;
	r = start_tool(&j, plan, input, err);
	if (r >= 0)
		r = follow(&j, bawn_now_ms() + TOOL_TIME_MS, err);
	j.in = bawn_instance_free(j.in);
	if (j.out >= 0)
		(void)close(j.out);
	if (j.said >= 0)
		(void)close(j.said);
	if (r >= 0 && j.status != 0)
		r = refuse(&j, err);
	bawn_buf_done(&j.words);
	if (r >= 0 && (out->failed || !out->len))
		r = bawn_fail(err, BAWN_ERR_BACKEND, out->failed ? out->failed : -EPROTO,
			"cannot take the compiled module");
	return r;
}
