/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bubblewrap. Its options are a list of set-up operations, as the plan's mounts are: one for one.
 * All capabilities over its own namespaces go to bawn-inside, which finishes the wall and gives
 * them up. /dev is not bubblewrap's own (--dev), for which it would put us into yet another user
 * namespace, without power over the mounts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/backends.h"
#include "backend/native/seccomp.h"
#include "backend/near/near.h"
#include "base/path.h"

static const char *const nodes[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"},
	{"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
	{"/proc/self/fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"}};

static void add_dev(const struct bawn_plan *plan, bool whole, struct bawn_near_args *args)
{
	/* the host's own must not be touched */
	bawn_near_add(args, "--perms", "0755", whole ? "--tmpfs" : "--dir", "/dev", NULL);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		bawn_near_add(args, "--dev-bind", nodes[i], nodes[i], NULL);
	if (plan->pty)
		bawn_near_add(args, "--dev-bind", "/dev/tty", "/dev/tty", NULL);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		bawn_near_add(args, "--symlink", links[i][0], links[i][1], NULL);
	bawn_near_add(args, "--perms", "0755", "--dir", "/dev/pts", NULL);
}

static void add_scratch(
	const struct bawn_plan *plan, const struct bawn_mount *m, struct bawn_near_args *args)
{
	bawn_near_add(args, "--perms", m->src ? "0700" : "1777", NULL);
	if (plan->limits.disk != BAWN_UNLIMITED) {
		bawn_near_add(args, "--size", NULL);
		bawn_near_addf(args, "%llu", (unsigned long long)plan->limits.disk);
	}
	bawn_near_add(args, "--tmpfs", m->dst, NULL);
}

/* In a private directory, where a file can be made without writing to the host's. */
static bool is_private(const struct bawn_plan *plan, size_t i)
{
	const struct bawn_mount *m = &plan->mounts[i], *above = NULL;

	while (i--)
		if (plan->mounts[i].kind != BAWN_MNT_SYMLINK &&
			bawn_path_under(m->dst, plan->mounts[i].dst) &&
			(!above || strlen(plan->mounts[i].dst) > strlen(above->dst)))
			above = &plan->mounts[i];
	return above && above->kind == BAWN_MNT_SCRATCH;
}

static void add_file(const struct bawn_plan *plan, size_t i, struct bawn_near_args *args)
{
	const struct bawn_mount *m = &plan->mounts[i];
	int fd = bawn_near_data(args, m->src, strlen(m->src));

	bawn_near_add(
		args, "--perms", "0644", is_private(plan, i) ? "--file" : "--ro-bind-data", NULL);
	bawn_near_addf(args, "%d", fd);
	bawn_near_add(args, m->dst, NULL);
}

static int add_bind(const char *option, const struct bawn_mount *m, struct bawn_near_args *args,
	struct bawn_error *err)
{
	int fd = bawn_near_open(args, m, err);

	if (fd == -ENOENT && m->optional)
		return 0;
	if (fd < 0)
		return fd;
	bawn_near_add(args, option, NULL);
	bawn_near_addf(args, "%d", fd);
	bawn_near_add(args, m->dst, NULL);
	return 0;
}

static int add_mount(
	const struct bawn_plan *plan, size_t i, struct bawn_near_args *args, struct bawn_error *err)
{
	const struct bawn_mount *m = &plan->mounts[i];

	switch (m->kind) {
	case BAWN_MNT_RO:
		return add_bind("--ro-bind-fd", m, args, err);
	case BAWN_MNT_RW:
	case BAWN_MNT_SOCKET:
		return add_bind("--bind-fd", m, args, err);
	case BAWN_MNT_DEVICE:
		bawn_near_add(
			args, m->optional ? "--dev-bind-try" : "--dev-bind", m->src, m->dst, NULL);
		break;
	case BAWN_MNT_SCRATCH:
		add_scratch(plan, m, args);
		break;
	case BAWN_MNT_SYMLINK:
		bawn_near_add(args, "--symlink", m->src, m->dst, NULL);
		break;
	case BAWN_MNT_HIDE: /* bawn-inside's: where nothing is, a place would be made on the host */
		break;
	case BAWN_MNT_FILE:
		add_file(plan, i, args);
		break;
	}
	return 0;
}

/* A first filter, so that not even bawn-inside can do what nothing inside ever does. */
static int add_filter(
	const struct bawn_plan *plan, struct bawn_near_args *args, struct bawn_error *err)
{
	struct sock_fprog prog = {0};
	int r = bawn_seccomp_stage(args->a, plan, &prog, err);

	if (r < 0)
		return r;
	r = bawn_near_data(args, prog.filter, prog.len * sizeof(*prog.filter));
	bawn_near_add(args, "--seccomp", NULL);
	bawn_near_addf(args, "%d", r);
	return 0;
}

static int bwrap_build(
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	const struct bawn_plan *plan = job->plan;
	bool whole = plan->n_mounts && !strcmp(plan->mounts[0].dst, "/");
	int r = add_filter(plan, args, err);

	if (r < 0)
		return r;
	bawn_near_add(args, "--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1",
		"--new-session", "--clearenv", "--cap-add", "ALL", "--hostname", plan->hostname,
		NULL);
	if (whole)
		r = add_mount(plan, 0, args, err);
	add_dev(plan, whole, args);
	for (size_t i = whole ? 1 : 0; r >= 0 && i < plan->n_mounts; i++)
		r = add_mount(plan, i, args, err);
	if (r < 0)
		return r;
	/* its own root is bawn-inside's to make read-only: each mount that bubblewrap changes costs
	 * it a look at the list of all */
	bawn_near_add(args, "--proc", "/proc", "--chdir", "/", "--", NULL);
	bawn_near_addf(args, "/proc/self/fd/%d", job->inside_fd);
	bawn_near_add(args, "near", job->socket, NULL);
	return 0;
}

const struct bawn_tool bawn_tool_bwrap = {
	.program = "bwrap",
	.remedy = "apt-get install bubblewrap",
	.walls = "bubblewrap: namespaces (user mount pid net ipc uts cgroup)",
	.follow_parent = true,
	.cgroups = true,
	.build = bwrap_build,
};

static int bwrap_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	return bawn_near_probe(&bawn_backend_bwrap, &bawn_tool_bwrap, NULL, ret, err);
}

static int bwrap_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	return bawn_near_prepare(in, &bawn_tool_bwrap, plan, stdio, err);
}

const struct bawn_backend bawn_backend_bwrap = {
	BAWN_NEAR_BACKEND,
	.name = "bwrap",
	.aliases = "bubblewrap",
	.summary = "bubblewrap's namespaces, our Landlock and seccomp inside",
	.strength = 50,
	.program = "bwrap",
	.probe = bwrap_probe,
	.prepare = bwrap_prepare,
};
