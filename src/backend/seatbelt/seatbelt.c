/* SPDX-License-Identifier: Apache-2.0 */
/*
 * macOS's own sandbox, through sandbox-exec: a plain child process whose command line starts with
 * it. What SBPL cannot say (system calls, capabilities, limits of the whole tree) is not in the
 * receipt. On another system it refuses; its text has been tested, itself it has never run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/utsname.h>

#include "backend/backends.h"
#include "backend/native/scratch.h"
#include "backend/process.h"
#include "backend/seatbelt/profile.h"

struct seatbelt {
	struct bawn_process process;
	struct bawn_plan plan;
	struct bawn_arena *arena;
	struct bawn_scratch scratch;
};

static struct seatbelt *seatbelt_of(struct bawn_instance *in)
{
	return (struct seatbelt *)(void *)in;
}

/* NULL if it can be used. */
static const char *why_not(void)
{
	struct utsname un;

	if (uname(&un) < 0 || strcmp(un.sysname, "Darwin") != 0)
		return "seatbelt is the sandbox of macOS, and this is another system";
	if (access(BAWN_SEATBELT_PROGRAM, X_OK) < 0)
		return "there is no " BAWN_SEATBELT_PROGRAM;
	return NULL;
}

static int seatbelt_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	static const struct bawn_plan strict = {.backend = {.seatbelt_profile = "strict"}};
	const char *why = why_not();

	(void)err;
	*ret = (struct bawn_probe){0};
	if (why)
		(void)snprintf(ret->reason, sizeof(ret->reason), "%s", why);
	else
		ret->offers =
			bawn_seatbelt_claims(&strict) | BAWN_CTL_LIMIT_TIME | BAWN_CTL_LIMIT_OUTPUT;
	return 0;
}

/* The plan with sandbox-exec in front, and the private directory that it grants. */
static int make_parts(struct seatbelt *s, const struct bawn_plan *plan, struct bawn_error *err)
{
	int r;

	s->plan = *plan;
	s->plan.exe = BAWN_SEATBELT_PROGRAM;
	s->plan.n_loopback_ports = 0; /* in the profile: nothing has to be relayed */
	r = bawn_seatbelt_argv(s->arena, plan, &s->plan.argv, err);
	for (size_t i = 0; r >= 0 && i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_SCRATCH)
			return bawn_scratch_make(plan->mounts[i].dst, &s->scratch, err);
	return r;
}

static int seatbelt_prepare(struct bawn_instance *in, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_error *err)
{
	struct seatbelt *s = seatbelt_of(in);
	const char *why = why_not();
	int r;

	s->scratch = BAWN_SCRATCH_NONE;
	in->event_fd = in->pty_fd = -1;
	if (why)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP, "%s", why);
	s->arena = bawn_arena_new();
	if (!s->arena)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = make_parts(s, plan, err);
	if (r < 0)
		return r;
	(void)snprintf(in->walls, sizeof(in->walls), "sandbox-exec, %.200s profile",
		plan->backend.seatbelt_profile);
	return bawn_process_prepare(in, &s->plan, stdio, err);
}

static int seatbelt_await(struct bawn_instance *in, struct bawn_error *err)
{
	int r = bawn_process_await(in, err);

	if (r >= 0)
		in->enforced |= bawn_seatbelt_claims(&seatbelt_of(in)->plan);
	return r;
}

static void seatbelt_destroy(struct bawn_instance *in)
{
	struct seatbelt *s = seatbelt_of(in);

	bawn_process_destroy(in);
	if (!s->arena) /* nothing was begun */
		return;
	bawn_scratch_done(&s->scratch);
	s->arena = bawn_arena_free(s->arena);
}

static const char *const by[BAWN_CTL_COUNT] = {
	[BAWN_CTLI_FS_READ] = "profile: file-read*",
	[BAWN_CTLI_FS_WRITE] = "profile: file-write*",
	[BAWN_CTLI_FS_DENY] = "profile: file-read*, file-write*",
	[BAWN_CTLI_FS_EXEC] = "profile: process-exec*",
	[BAWN_CTLI_FS_PROTECT] = "profile: file-write*",
	[BAWN_CTLI_NET_NONE] = "profile: network*",
	[BAWN_CTLI_IPC] = "profile: mach-lookup, network*",
	[BAWN_CTLI_PROC] = "profile: signal, process-info*",
};

const struct bawn_backend bawn_backend_seatbelt = {
	.abi = BAWN_BACKEND_ABI,
	.name = "seatbelt",
	.aliases = "macos,sandbox-exec",
	.summary = "macOS's sandbox with a profile made from the policy",
	.level = BAWN_LEVEL_PROCESS,
	.strength = 40,
	.tier = BAWN_TIER_LANDLOCK,
	.foreign = true,
	.by = by,
	.instance_size = sizeof(struct seatbelt),
	.probe = seatbelt_probe,
	.prepare = seatbelt_prepare,
	.await = seatbelt_await,
	.start = bawn_process_start,
	.event = bawn_process_event,
	.signal = bawn_process_signal,
	.destroy = seatbelt_destroy,
};
