/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gVisor: a kernel in a process, between the command and ours. `runsc` is run on a bundle of our
 * own making (gvisor_bundle.c), without an engine, or by docker as its runtime; the frames are its
 * standard input and output. Run directly, the writable trees are seen through an overlay in the
 * sandbox's memory, so that nothing needs to be sent in, and what changed comes back to be applied
 * by the host.
 */
#include "backend/far/gvisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "backend/backends.h"
#include "backend/far/far.h"
#include "backend/far/frame.h"
#include "backend/near/engine.h"
#include "base/cleanup.h"
#include "base/path.h"

#ifdef __x86_64__
#define OUR_ARCH AUDIT_ARCH_X86_64
#else
#define OUR_ARCH AUDIT_ARCH_AARCH64 /* runsc knows these two */
#endif

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

static int common_args(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	const char *state = bawn_arena_printf(job->arena, "--root=%s/state", job->dir);
	int r = !state || bawn_strlist_add(job->arena, argv, state) < 0 ? -ENOMEM : 0;

	if (r == 0 && geteuid() != 0)
		r = bawn_strlist_add(job->arena, argv, "--rootless");
	return r < 0 ? no_memory(err) : 0;
}

/* gVisor has a /dev, a /proc and a /sys of its own, and nothing of the host shows in them. */
static int check_places(const struct bawn_plan *plan, struct bawn_error *err)
{
	const struct bawn_mount *m;

	for (size_t i = 0; (m = bawn_root_at(plan, i)); i++)
		if (bawn_gvisor_owns(m))
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"'%s' cannot be had in gVisor, which makes /dev, /proc and /sys "
				"itself; move it elsewhere, such as below /tmp, or take another backend",
				m->dst);
	return 0;
}

static int gvisor_build(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	static const char *const options[] = {"--network=none", "--overlay2=all:memory",
		"--file-access-mounts=exclusive", "--ignore-cgroups", "run", "--bundle"};
	int r;

	if (job->plan->backend.image)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"an image ('%s') needs an engine: enforcement.gvisor.engine must be docker or "
			"auto",
			job->plan->backend.image);
	r = check_places(job->plan, err);
	if (r >= 0)
		r = bawn_gvisor_bundle(job, err);
	if (r >= 0)
		r = common_args(job, argv, err);
	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < sizeof(options) / sizeof(options[0]); i++)
		r = bawn_strlist_add(job->arena, argv, options[i]);
	if (r < 0 || bawn_strlist_add(job->arena, argv, job->dir) < 0 ||
		bawn_strlist_add(job->arena, argv, job->id) < 0)
		return no_memory(err);
	return 0;
}

/*
 * Each of the five programs that runsc is registers for membarrier(2) when it starts, which with
 * several threads takes the kernel 10 ms. To runsc this is a kernel that does not have the call; in
 * the sandbox there is none either, then. It is no part of the wall: where it cannot be had, runsc
 * takes longer.
 */
static void without_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int gvisor_enter(const struct bawn_far_job *job, struct bawn_error *err)
{
	int r = bawn_gvisor_enter(job, err);

	without_membarrier();
	return r;
}

static int gvisor_clean(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	int r = bawn_strlist_add(job->arena, argv, job->program);

	if (r >= 0)
		r = common_args(job, argv, err);
	if (r < 0 || bawn_strlist_add(job->arena, argv, "delete") < 0 ||
		bawn_strlist_add(job->arena, argv, "--force") < 0 ||
		bawn_strlist_add(job->arena, argv, job->id) < 0)
		return no_memory(err);
	return 0;
}

/*
 * Files, network and processes are held by gVisor's kernel and its mounts, and what comes back by
 * the host. What init says of its own doing counts as it says. That nothing is executed from a
 * listed directory cannot be had: gVisor maps a file as code from where execve is refused, so that
 * the loader (`ld.so FILE`) runs it.
 */
static uint32_t gvisor_claims(const struct bawn_plan *plan, uint32_t inside)
{
	uint32_t exec = plan->n_no_exec ? 0 : BAWN_CTL_FS_EXEC;

	return (inside & ~(uint32_t)BAWN_CTL_FS_EXEC) | exec | BAWN_CTL_FS_READ |
	       BAWN_CTL_FS_WRITE | BAWN_CTL_FS_DENY | BAWN_CTL_FS_PROTECT | BAWN_CTL_NET_NONE |
	       BAWN_CTL_IPC | BAWN_CTL_PROC;
}

static const struct bawn_far_tool direct = {.program = "runsc",
	.remedy = "apt-get install runsc",
	.walls = "gVisor (runsc)",
	.copy_on_write = true,
	.stream_is_stdio = true,
	.eager = true,
	.as_user = true,
	.in_memory = true,
	.build = gvisor_build,
	.enter = gvisor_enter,
	.clean = gvisor_clean,
	.claims = gvisor_claims};

/* ---- through docker ---- */

/*
 * The plan as docker carries it out: it cannot be told to make copies on write, so that the
 * writable trees are empty directories in the sandbox's memory, which files are sent into. What is
 * bound or hidden below them is for the transfer to see to.
 */
static const struct bawn_plan *docker_plan(const struct bawn_plan *plan, struct bawn_arena *a)
{
	struct bawn_plan *p = bawn_new(a, struct bawn_plan, 1);
	struct bawn_mount *m = bawn_new(a, struct bawn_mount, plan->n_mounts + 1);

	if (!p || !m)
		return NULL;
	*p = *plan;
	p->mounts = m;
	p->n_mounts = 0;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *from = &plan->mounts[i];
		bool root = from->kind == BAWN_MNT_RW && !from->pin, below = false;

		for (size_t k = 0; k < i; k++)
			below |= plan->mounts[k].kind == BAWN_MNT_RW && !plan->mounts[k].pin &&
				 bawn_path_under(from->dst, plan->mounts[k].dst);
		if ((below && !root) || from->pin || bawn_gvisor_owns(from))
			continue;
		m[p->n_mounts] = *from;
		if (root)
			m[p->n_mounts].kind = BAWN_MNT_SCRATCH;
		p->n_mounts++;
	}
	return p;
}

static int docker_check(const struct bawn_plan *plan, struct bawn_error *err)
{
	const struct bawn_mount *m;
	struct stat st;
	int r = check_places(plan, err);

	if (r < 0)
		return r;
	for (size_t i = 0; (m = bawn_root_at(plan, i)); i++)
		if (stat(m->src, &st) == 0 && !S_ISDIR(st.st_mode))
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"a single writable file ('%s') cannot be had in gVisor through docker; "
				"enforcement.gvisor.engine 'direct' can",
				m->src);
	return 0;
}

static const char *docker_runtime(const struct bawn_plan *plan)
{
	const char *asked = plan->backend.engine_runtime;

	return asked && *asked ? asked : "runsc";
}

static int docker_build(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	const struct bawn_near_job near = {.plan = docker_plan(job->plan, job->arena),
		.program = job->program,
		.inside = job->inside,
		.dir = job->dir,
		.id = job->id};
	struct bawn_near_args args = {.a = job->arena};
	struct bawn_engine_host host;
	int r = docker_check(job->plan, err);

	if (r < 0)
		return r;
	if (!near.plan)
		return no_memory(err);
	bawn_engine_look(BAWN_ENGINE_DOCKER, &host);
	host.runtime =
		*job->plan->backend.engine_runtime ? job->plan->backend.engine_runtime : "runsc";
	r = bawn_engine_far_args(&host, &near, &args, err);
	if (r < 0)
		return r;
	bawn_near_add(&args, "far", "gvisor", "pids", NULL);
	for (size_t i = 0; !args.failed && i < args.argv.n; i++)
		args.failed = bawn_strlist_add(job->arena, argv, args.argv.v[i]);
	return args.failed ? no_memory(err) : 0;
}

static int docker_clean(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	struct bawn_near_args args = {.a = job->arena};

	bawn_near_add(&args, job->program, NULL);
	bawn_engine_remove_args(BAWN_ENGINE_DOCKER, job->id, &args);
	*argv = args.argv;
	return args.failed ? no_memory(err) : 0;
}

static int docker_explain(const struct bawn_plan *plan, const char *said, struct bawn_error *err)
{
	if (strstr(said, "in root network namespace"))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"this runsc does not understand the network of this kernel; in "
			"/etc/docker/daemon.json give its runtime the argument --network=none: "
			"\"runtimes\": {\"runsc\": {\"path\": \"runsc\", \"runtimeArgs\": "
			"[\"--network=none\"]}}");
	if (strstr(said, "unknown or invalid runtime") || strstr(said, "Unknown runtime"))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"docker has no runtime '%s'; 'runsc install' and restart docker, or start "
			"dockerd with --add-runtime runsc=/usr/bin/runsc",
			docker_runtime(plan));
	return bawn_engine_explain("docker", plan, said, err);
}

static const struct bawn_far_tool through_docker = {.program = "docker",
	.remedy = "apt-get install docker.io",
	.walls = "gVisor (docker --runtime=runsc)",
	.stream_is_stdio = true,
	.setup_ms = 60000,
	.build = docker_build,
	.clean = docker_clean,
	.claims = gvisor_claims,
	.explain = docker_explain};

/* ---- the backend ---- */

/* The generic instance comes first; what follows is for a second try, with an image made for it. */
struct gvisor {
	struct bawn_far far;
	const struct bawn_plan *plan;
	const struct bawn_far_tool *tool;
	int stdio[3];
};

static struct gvisor *of(struct bawn_instance *in)
{
	return (struct gvisor *)(void *)in;
}

static const struct bawn_far_tool *choose(const struct bawn_plan *plan)
{
	const char *engine = plan->backend.gvisor_engine ? plan->backend.gvisor_engine : "auto";
	char path[4096];

	if (!strcmp(engine, "direct"))
		return &direct;
	if (!strcmp(engine, "docker") || plan->backend.image)
		return &through_docker;
	return bawn_far_find(direct.program, "", path, sizeof(path), NULL) == 0 ||
			       bawn_far_find(through_docker.program, "", path, sizeof(path), NULL) <
				       0
		       ? &direct
		       : &through_docker;
}

static int gvisor_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	return bawn_far_probe(&bawn_backend_gvisor, &direct, ret, err);
}

static void drop_stdio(struct gvisor *g)
{
	for (int i = 0; i < 3; i++) {
		if (g->stdio[i] >= 0)
			(void)close(g->stdio[i]);
		g->stdio[i] = -1;
	}
}

static int gvisor_prepare(struct bawn_instance *in, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_error *err)
{
	struct gvisor *g = of(in);

	g->plan = plan;
	g->tool = choose(plan);
	for (int i = 0; i < 3; i++) {
		g->stdio[i] = -1;
		if (g->tool == &through_docker && stdio[i] >= 0)
			g->stdio[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
	}
	return bawn_far_prepare(in, g->tool, plan, stdio, err);
}

static int try_again(struct bawn_instance *in, struct bawn_error *err)
{
	const struct bawn_backend *be = in->be;
	struct gvisor *g = of(in);
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	const struct bawn_plan *plan = a ? docker_plan(g->plan, a) : NULL;
	int r = plan ? bawn_engine_make_base(through_docker.program, plan, err) : no_memory(err);

	if (r < 0)
		return r;
	bawn_far_destroy(in);
	g->far = (struct bawn_far){.in = {.be = be}};
	r = bawn_far_prepare(in, g->tool, g->plan, g->stdio, err);
	return r < 0 ? r : bawn_far_await(in, err);
}

static int gvisor_await(struct bawn_instance *in, struct bawn_error *err)
{
	int r = bawn_far_await(in, err);

	if (r == BAWN_ENGINE_NO_IMAGE && of(in)->tool == &through_docker)
		r = try_again(in, err);
	drop_stdio(of(in));
	return r;
}

static void gvisor_destroy(struct bawn_instance *in)
{
	if (!of(in)->plan) /* prepare was never called */
		return;
	drop_stdio(of(in));
	bawn_far_destroy(in);
}

const struct bawn_backend bawn_backend_gvisor = {
	.abi = BAWN_BACKEND_ABI,
	.name = "gvisor",
	.aliases = "runsc",
	.summary = "gVisor's kernel in a process (runsc), changes to files applied by the host",
	.level = BAWN_LEVEL_CONTAINER,
	.strength = 120,
	.tier = BAWN_TIER_FAR,
	.image = BAWN_IMAGE_CONTAINER,
	.program = "runsc",
	.instance_size = sizeof(struct gvisor),
	.probe = gvisor_probe,
	.prepare = gvisor_prepare,
	.await = gvisor_await,
	.start = bawn_far_start,
	.event = bawn_far_event,
	.signal = bawn_far_signal,
	.usage = bawn_far_usage,
	.destroy = gvisor_destroy,
};
