/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the filter program for a plan. The usual ones were made at build time; only
 * a policy that changes the profile pays for making one.
 */

#include "backend/native/seccomp.h"

#include <errno.h>

#include "backend/native/seccomp_build.h"
#include "base/io.h"
#include "seccomp-programs.h"

#define PROG(array) \
	((struct sock_fprog){.len = sizeof(array) / sizeof((array)[0]), .filter = (array)})

#define VARIANTS(name)                                                         \
	{                                                                      \
		PROG(bawn_prog_##name##_0), PROG(bawn_prog_##name##_1),        \
			PROG(bawn_prog_##name##_2), PROG(bawn_prog_##name##_3) \
	}

static bool any(const char *const *list)
{
	return list && *list;
}

static struct sock_fprog ready_program(const struct bawn_seccomp_profile *p)
{
	const struct sock_fprog full[] = VARIANTS(full), closed[] = VARIANTS(closed),
				shared[] = VARIANTS(shared), none[] = VARIANTS(none);
	unsigned int i = (p->memfd_noexec ? 1 : 0) | (p->broker ? 2 : 0);

	if (p->inet)
		return full[i];
	if (p->unix_sockets)
		return p->ipc ? closed[i] : shared[i];
	return none[i];
}

static int build(struct bawn_arena *a, const struct bawn_seccomp_profile *p, struct sock_fprog *ret,
	struct bawn_error *err)
{
	struct sock_filter *made = NULL, *copy;
	size_t n = 0;
	int r = bawn_seccomp_build_base(p, &made, &n);

	if (r == -EINVAL)
		return bawn_fail(err, BAWN_ERR_POLICY, r,
			"'syscalls.allow' or 'syscalls.deny' has a name that is not a system call");
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "making the system call filter failed");
	copy = bawn_new(a, struct sock_filter, n);
	if (copy)
		memcpy(copy, made, n * sizeof(*copy));
	free(made);
	if (!copy)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	*ret = (struct sock_fprog){.len = (unsigned short)n, .filter = copy};
	return 0;
}

int bawn_seccomp_base(struct bawn_arena *a, const struct bawn_plan *plan, struct sock_fprog *ret,
	struct bawn_error *err)
{
	bool full = plan->tier != BAWN_TIER_LANDLOCK;
	struct bawn_seccomp_profile p = {
		.inet = full && !plan->net_closed,
		.unix_sockets = full || plan->unix_open,
		.ipc = full,
		.broker = bawn_broker_mode(plan) != BAWN_BROKER_OFF,
		.memfd_noexec = plan->n_no_exec > 0,
		.allow = plan->sys_allow,
		.deny = plan->sys_deny,
	};

	if (any(p.allow) || any(p.deny))
		return build(a, &p, ret, err);
	*ret = ready_program(&p);
	return 0;
}

int bawn_seccomp_stage(struct bawn_arena *a, const struct bawn_plan *plan, struct sock_fprog *ret,
	struct bawn_error *err)
{
	struct bawn_seccomp_profile p = {.inet = true,
		.unix_sockets = true,
		.ipc = true,
		.broker = true,
		.stage = true,
		.allow = plan->sys_allow};

	if (any(p.allow))
		return build(a, &p, ret, err);
	*ret = PROG(bawn_prog_stage);
	return 0;
}

void bawn_seccomp_notify(enum bawn_broker_mode mode, struct sock_fprog *ret)
{
	switch (mode) {
	case BAWN_BROKER_OFF:
		*ret = (struct sock_fprog){0};
		break;
	case BAWN_BROKER_CREATE:
		*ret = PROG(bawn_prog_notify_create);
		break;
	case BAWN_BROKER_WRITE:
		*ret = PROG(bawn_prog_notify_write);
		break;
	case BAWN_BROKER_ALL:
		*ret = PROG(bawn_prog_notify_all);
		break;
	}
}

bool bawn_seccomp_known(const char *name)
{
	return bawn_seccomp_name_known(name);
}

int bawn_seccomp_export(int fd, struct bawn_error *err)
{
	int r = bawn_write_all(fd, bawn_prog_full_0, sizeof(bawn_prog_full_0));

	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "writing the filter program failed");
	return 0;
}
