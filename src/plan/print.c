/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/print.h"

#include <inttypes.h>
#include <string.h>

#include "plan/build.h"

const char *bawn_mount_kind_name(enum bawn_mount_kind kind)
{
	static const char *const names[] = {
		[BAWN_MNT_RO] = "read-only",
		[BAWN_MNT_RW] = "writable",
		[BAWN_MNT_SCRATCH] = "private",
		[BAWN_MNT_SYMLINK] = "symlink",
		[BAWN_MNT_HIDE] = "hidden",
		[BAWN_MNT_SOCKET] = "socket",
		[BAWN_MNT_DEVICE] = "device",
		[BAWN_MNT_FILE] = "file",
	};

	return names[kind];
}

static void line(struct bawn_buf *out, const char *key, const char *value)
{
	bawn_buf_puts(out, key);
	bawn_buf_add(out, " ", 1);
	bawn_buf_escape(out, value, strlen(value));
	bawn_buf_add(out, "\n", 1);
}

static void print_mount(struct bawn_buf *out, const struct bawn_mount *m)
{
	bawn_buf_printf(out, "mount %s%s%s%s ", bawn_mount_kind_name(m->kind),
		m->no_exec ? ",noexec" : "", m->optional ? ",optional" : "", m->pin ? ",pin" : "");
	/* what a secret's file holds, and the authority of this run's door, are nobody's business
	 */
	if (m->src && (m->kind != BAWN_MNT_FILE || strcmp(m->rule, "secrets.use") != 0)) {
		bawn_buf_escape(out, m->src, strlen(m->src));
		bawn_buf_puts(out, " -> ");
	}
	bawn_buf_escape(out, m->dst, strlen(m->dst));
	bawn_buf_add(out, "\n", 1);
}

static void print_limits(struct bawn_buf *out, const struct bawn_limits *l)
{
	bawn_buf_printf(out,
		"limits memory=%" PRIu64 " cpus=%" PRIu64 " shares=%" PRIu64 " processes=%" PRIu64
		" files=%" PRIu64 " disk=%" PRIu64 " reserve=%" PRIu64 " time=%" PRIu64
		" output=%" PRIu64 "\n",
		l->memory, l->cpus_milli, l->cpu_shares, l->processes, l->files, l->disk,
		l->disk_reserve, l->time_ms, l->output);
}

static void print_egress(struct bawn_buf *out, const struct bawn_egress_plan *e)
{
	bawn_buf_printf(out,
		"egress %s proxy=%u capture=%u development=%d ssrf=%d private=%d bytes=%" PRIu64
		" rate=%" PRIu64 "\n",
		bawn_enum_name("netmode", e->mode), e->proxy_port, e->capture_port, e->development,
		e->ssrf, e->block_private, e->host_bytes, e->host_rate_milli);
	for (const char *const *v = e->allow; *v; v++)
		line(out, "allow-host", *v);
	for (const char *const *v = e->block; *v; v++)
		line(out, "block-host", *v);
}

void bawn_plan_print(const struct bawn_plan *plan, struct bawn_buf *out)
{
	bawn_buf_printf(out, "plan v1 tier=%d demanded=%x may_miss=%x pty=%d closed=%d\n",
		(int)plan->tier, plan->demanded, plan->may_miss, plan->pty, plan->net_closed);
	line(out, "exe", plan->exe);
	line(out, "cwd", plan->cwd);
	for (const char *const *v = plan->argv; *v; v++)
		line(out, "arg", *v);
	for (const char *const *v = plan->envp; *v; v++)
		if (!plan_is_secret_env(plan, *v))
			line(out, "env", *v);
	for (size_t i = 0; i < plan->n_secrets; i++) {
		bawn_buf_printf(
			out, "secret %d %s ", (int)plan->secrets[i].way, plan->secrets[i].name);
		line(out, "env", plan->secrets[i].env);
	}
	for (size_t i = 0; i < plan->n_mounts; i++)
		print_mount(out, &plan->mounts[i]);
	for (size_t i = 0; i < plan->n_guards; i++) {
		bawn_buf_printf(out, "guard %s: ", plan->guards[i].rule);
		line(out, plan->guards[i].dir, plan->guards[i].name);
	}
	for (size_t i = 0; i < plan->n_loopback_ports; i++)
		bawn_buf_printf(out, "loopback-port %u\n", plan->loopback_ports[i]);
	if (plan->egress)
		print_egress(out, plan->egress);
	for (const char *const *v = plan->sys_allow; *v; v++)
		line(out, "syscall-allow", *v);
	for (const char *const *v = plan->sys_deny; *v; v++)
		line(out, "syscall-deny", *v);
	print_limits(out, &plan->limits);
	if (plan->backend.image)
		line(out, plan->backend.image_writable ? "image-writable" : "image",
			plan->backend.image);
}
