/* SPDX-License-Identifier: Apache-2.0 */
/* See jail.h. The wall and its life are native's; here is only the plan for it. */
#include "backend/vm/jail.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backends.h"

#define PROCESSES 256 /* threads of a machine monitor */
#define FILES     1024
#define SPACE     ((uint64_t)16 << 20)

void bawn_jail_init(struct bawn_jail *j, struct bawn_arena *a, const struct bawn_plan *plan)
{
	static const char *const none[] = {NULL};
	const uint32_t cpu = plan->demanded & BAWN_CTL_LIMIT_CPU;

	*j = (struct bawn_jail){.a = a};
	(void)snprintf(j->call.run_id, sizeof(j->call.run_id), "%s",
		plan->call ? plan->call->run_id : "vm");
	j->plan = (struct bawn_plan){
		.demanded = cpu | BAWN_CTL_FS_READ | BAWN_CTL_FS_WRITE | BAWN_CTL_FS_DENY |
			    BAWN_CTL_NET_NONE | BAWN_CTL_IPC | BAWN_CTL_PROC | BAWN_CTL_SYSCALLS |
			    BAWN_CTL_NESTED | BAWN_CTL_PRIVILEGE | BAWN_CTL_ENV |
			    BAWN_CTL_LIMIT_PROCESSES | BAWN_CTL_LIMIT_FILES | BAWN_CTL_LIMIT_DISK,
		.may_miss = plan->may_miss & cpu,
		.tier = BAWN_TIER_FULL,
		.envp = none,
		.cwd = "/",
		.workspace = "/",
		.hostname = "bawn",
		.net_closed = true,
		.sys_allow = none,
		.sys_deny = none,
		.limits = {.memory = BAWN_UNLIMITED,
			.cpus_milli = cpu ? plan->limits.cpus_milli : BAWN_UNLIMITED,
			.cpu_shares = cpu ? plan->limits.cpu_shares : BAWN_UNLIMITED,
			.processes = PROCESSES,
			.files = FILES,
			.disk = SPACE,
			.time_ms = BAWN_UNLIMITED,
			.output = BAWN_UNLIMITED}};
}

int bawn_jail_add(struct bawn_jail *j, struct bawn_mount m)
{
	struct bawn_mount *slot = bawn_grow(j->a, &j->plan.mounts, &j->plan.n_mounts, &j->cap);

	if (!slot)
		return -ENOMEM;
	*slot = m;
	return 0;
}

int bawn_jail_mount(struct bawn_jail *j, enum bawn_mount_kind kind, const char *path)
{
	return bawn_jail_add(
		j, (struct bawn_mount){.kind = kind, .src = path, .dst = path, .rule = "vm"});
}

/* As on the host: a directory, or a link into /usr. */
static int add_top(struct bawn_jail *j, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *to;

	if (n < 0)
		return errno == ENOENT ? 0 : bawn_jail_mount(j, BAWN_MNT_RO, path);
	to = bawn_arena_strndup(j->a, target, (size_t)n);
	if (!to)
		return -ENOMEM;
	return bawn_jail_add(
		j, (struct bawn_mount){
			   .kind = BAWN_MNT_SYMLINK, .src = to, .dst = path, .rule = "vm"});
}

int bawn_jail_system(struct bawn_jail *j)
{
	static const char *const top[] = {"/bin", "/lib", "/lib64", "/sbin"};
	int r = bawn_jail_mount(j, BAWN_MNT_RO, "/usr");

	for (size_t i = 0; r >= 0 && i < sizeof(top) / sizeof(top[0]); i++)
		r = add_top(j, top[i]);
	if (r >= 0)
		r = bawn_jail_add(j, (struct bawn_mount){.kind = BAWN_MNT_RO,
					     .src = "/etc/ld.so.cache",
					     .dst = "/etc/ld.so.cache",
					     .optional = true,
					     .rule = "vm"});
	return r < 0 ? r
		     : bawn_jail_add(
			       j, (struct bawn_mount){
					  .kind = BAWN_MNT_SCRATCH, .dst = "/tmp", .rule = "vm"});
}

int bawn_jail_start(
	struct bawn_jail *j, const char *const *argv, const int stdio[3], struct bawn_error *err)
{
	uint32_t missing;
	int r;

	j->plan.call = &j->call;
	j->plan.exe = argv[0];
	j->plan.argv = argv;
	r = bawn_instance_new(&bawn_backend_native, &j->plan, stdio, &j->in, err);
	if (r >= 0)
		r = bawn_instance_await(j->in, &j->plan, &missing, err);
	if (r >= 0)
		r = j->in->be->start(j->in, err);
	if (r < 0)
		return bawn_error_wrap(err, "starting '%s'", argv[0]);
	return 0;
}

void bawn_jail_end(struct bawn_jail *j)
{
	j->in = bawn_instance_free(j->in);
}
