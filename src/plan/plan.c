/* SPDX-License-Identifier: Apache-2.0 */
/* Policy × call × verdict → plan. See build.h for the parts and plan.h for what comes out. */
#include "plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/build.h"
#include "plan/print.h"

static uint32_t demanded_network(const struct bawn_policy *p)
{
	if (!plan_needs_door(p))
		return BAWN_CTL_NET_NONE;
	return BAWN_CTL_NET_EGRESS | (p->ssrf_enabled ? BAWN_CTL_NET_SSRF : 0);
}

static uint32_t demanded_limits(const struct bawn_policy *p)
{
	uint32_t d = BAWN_CTL_LIMIT_DISK;

	if (p->lim_memory != BAWN_UNLIMITED)
		d |= BAWN_CTL_LIMIT_MEMORY;
	if (p->lim_cpus != BAWN_UNLIMITED || p->lim_shares != BAWN_UNLIMITED)
		d |= BAWN_CTL_LIMIT_CPU;
	if (p->lim_processes != BAWN_UNLIMITED)
		d |= BAWN_CTL_LIMIT_PROCESSES;
	if (p->lim_files != BAWN_UNLIMITED)
		d |= BAWN_CTL_LIMIT_FILES;
	return d;
}

static uint32_t demanded(const struct plan_builder *b)
{
	const struct bawn_policy *p = b->p;
	uint32_t d = BAWN_CTL_ENV | BAWN_CTL_LIMIT_TIME | BAWN_CTL_LIMIT_OUTPUT;

	if (p->level == BAWN_LEVEL_NONE || p->isolation == BAWN_ISO_OFF)
		return d;
	d |= BAWN_CTL_FS_READ | BAWN_CTL_FS_WRITE | BAWN_CTL_IPC | BAWN_CTL_PROC |
	     BAWN_CTL_SYSCALLS | BAWN_CTL_NESTED | BAWN_CTL_PRIVILEGE | demanded_network(p) |
	     demanded_limits(p);
	if (p->fs_deny.n || b->deny.n)
		d |= BAWN_CTL_FS_DENY;
	if (p->fs_deny_exec.n)
		d |= BAWN_CTL_FS_EXEC;
	if (b->plan->n_guards || b->protect.n)
		d |= BAWN_CTL_FS_PROTECT;
	return d;
}

static uint32_t may_miss(const struct bawn_policy *p)
{
	uint32_t m = 0;

	for (size_t i = 0; i < p->allow_missing.n; i++)
		m |= bawn_control_find(p->allow_missing.v[i].text);
	return m;
}

static int take_ports(struct plan_builder *b, struct bawn_error *err)
{
	uint16_t *ports = bawn_new(b->a, uint16_t, b->p->net_loopback.n + 1);

	if (!ports)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	for (size_t i = 0; i < b->p->net_loopback.n; i++)
		ports[i] = (uint16_t)strtoul(b->p->net_loopback.v[i].text, NULL, 10);
	b->plan->loopback_ports = ports;
	b->plan->n_loopback_ports = b->p->net_loopback.n;
	return 0;
}

static int names_of(struct bawn_arena *a, const struct bawn_items *items, const char *const **ret)
{
	struct bawn_strlist l = {0};

	for (size_t i = 0; i < items->n; i++)
		if (bawn_strlist_add(a, &l, items->v[i].text) < 0)
			return -ENOMEM;
	if (!l.v) {
		l.v = bawn_new(a, const char *, 1);
		if (!l.v)
			return -ENOMEM;
	}
	*ret = l.v;
	return 0;
}

static int take_settings(struct plan_builder *b, struct bawn_error *err)
{
	const struct bawn_policy *p = b->p;
	struct bawn_plan *plan = b->plan;

	plan->limits = (struct bawn_limits){
		.memory = p->lim_memory,
		.cpus_milli = p->lim_cpus,
		.cpu_shares = p->lim_shares,
		.processes = p->lim_processes,
		.files = p->lim_files,
		.disk = p->lim_disk,
		.disk_reserve = p->lim_reserve,
		.time_ms = p->lim_time,
		.output = p->lim_output,
	};
	plan->net_closed = p->net_mode == BAWN_NET_CLOSED;
	plan->unix_open = p->net_unix.n > 0;
	if (names_of(b->a, &p->sys_allow, &plan->sys_allow) < 0 ||
		names_of(b->a, &p->sys_deny, &plan->sys_deny) < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	return take_ports(b, err);
}

static void close_lists(struct plan_builder *b)
{
	struct bawn_plan *plan = b->plan;

	plan->protect = b->protect.v;
	plan->n_protect = b->protect.n;
	plan->deny = b->deny.v;
	plan->n_deny = b->deny.n;
	plan->no_exec = b->no_exec.v;
	plan->n_no_exec = b->no_exec.n;
	plan->writable = b->writable.v;
	plan->n_writable = b->writable.n;
}

static int list_writable(struct plan_builder *b, struct bawn_error *err)
{
	for (size_t i = 0; i < b->plan->n_mounts; i++) {
		const struct bawn_mount *m = &b->plan->mounts[i];

		if (m->kind == BAWN_MNT_RW && !m->pin &&
			bawn_strlist_add(b->a, &b->writable, m->dst) < 0)
			return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	}
	/* an image that can be written fills the engine's disk */
	if (b->container && b->plan->backend.image && b->plan->backend.image_writable &&
		bawn_strlist_add(b->a, &b->writable, "/") < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	return 0;
}

/* Hosts that were named where nothing can be reached: somebody expects otherwise. */
static const char *unused_hosts(const struct bawn_policy *p)
{
	if (p->net_mode < BAWN_NET_DENY || (!p->net_allow_hosts.n && !p->net_development))
		return NULL;
	return "network.allow_hosts has no effect in this network.mode; for it to have one say --net allowlist";
}

static const char *denied_in(const struct plan_builder *b, const struct bawn_items *l)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < b->deny.n; k++)
			if (bawn_path_under(l->v[i].text, b->deny.v[k]))
				return l->v[i].text;
	return NULL;
}

/* The same for paths: what is denied is not granted by naming it. */
static const char *unused_grant(const struct plan_builder *b)
{
	const char *path = denied_in(b, &b->p->fs_write);

	if (!path)
		path = denied_in(b, &b->p->fs_read);
	return path ? bawn_arena_printf(b->a,
			      "'%s' is granted, but it is denied as well (filesystem.deny), which wins",
			      path)
		    : NULL;
}

static const char *image_of(const struct bawn_policy *p, enum bawn_image_kind kind)
{
	const char *image = kind == BAWN_IMAGE_CONTAINER ? p->docker_image
			    : kind == BAWN_IMAGE_DISK    ? p->vm_rootfs
							 : "";

	return *image ? image : NULL;
}

static struct bawn_backend_options backend_options(
	const struct bawn_policy *p, enum bawn_image_kind kind)
{
	return (struct bawn_backend_options){.image = image_of(p, kind),
		.image_writable = !p->docker_read_only,
		.engine_runtime = p->docker_runtime,
		.gvisor_engine = p->gvisor_engine,
		.vm_kernel = p->vm_kernel,
		.wasm_library = p->wasm_library,
		.wasm_fuel = p->wasm_fuel,
		.seatbelt_profile = p->seatbelt_profile};
}

int bawn_plan_make(struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_call *c,
	const struct bawn_verdict *v, const struct bawn_plan_options *o,
	const struct bawn_plan **ret, struct bawn_error *err)
{
	static int (*const parts[])(struct plan_builder *, struct bawn_error *) = {plan_make_mounts,
		plan_make_container, plan_make_protect, plan_make_deny, plan_make_no_exec,
		plan_make_nodes, plan_make_egress, plan_make_secrets, plan_sort_mounts,
		list_writable, take_settings, plan_make_env, plan_make_exe};
	struct plan_builder b = {.a = a,
		.p = p,
		.c = c,
		.own = o->own,
		.vault = o->vault,
		.authorities = o->authorities,
		.backend = o->backend,
		.container = o->image == BAWN_IMAGE_CONTAINER,
		.plan = bawn_new(a, struct bawn_plan, 1)};
	int r;

	(void)v; /* every call is confined; what a verdict adds comes with inspection */
	if (!b.plan)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	b.plan->policy = p;
	b.plan->call = c;
	b.plan->tier = o->tier;
	b.plan->backend = backend_options(p, o->image);
	b.plan->backend.box = o->box;
	b.plan->backend.box_dir = o->box_dir ? o->box_dir : "";
	b.plan->pty = o->pty;
	b.plan->secrets = o->secrets;
	b.plan->n_secrets = o->n_secrets;
	b.plan->hostname =
		"localhost"; /* a name that can be resolved: many programs look up their own */
	b.plan->workspace = c->workspace;
	b.plan->cwd = p->fs_mode == BAWN_FS_DENY ? "/" : c->cwd;
	r = bawn_git_find(a, c->workspace, p->home, &b.git, err);
	for (size_t i = 0; r >= 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		r = parts[i](&b, err);
	if (r < 0)
		return r;
	close_lists(&b);
	b.plan->demanded = demanded(&b);
	b.plan->may_miss = may_miss(p);
	b.plan->note = unused_hosts(p);
	if (!b.plan->note)
		b.plan->note = unused_grant(&b);
	/* most commands have no use for git */
	if (!b.plan->instead)
		b.plan->instead = b.git.refused;
	*ret = b.plan;
	return 0;
}

void bawn_plan_digest(const struct bawn_plan *plan, char ret[BAWN_HEX_LEN + 1])
{
	_cleanup_buf_ struct bawn_buf b = {0};

	bawn_plan_print(plan, &b);
	bawn_sha256_hex(b.data ? b.data : "", b.len, ret);
}
