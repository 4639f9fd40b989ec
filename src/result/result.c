/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run ended, in one number, and the words for its limits: one table, so that the JSON, the
 * lines for stderr and the policy call a limit by the same name.
 */
#include "result/result.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include <sys/wait.h>

#include "result/text.h"

/* clang-format off */
static const struct limit_info limits[] = {
	{BAWN_CTL_LIMIT_MEMORY, "memory", "limits.memory", "--memory", UNIT_BYTES,
		"the tree used more than %s of memory"},
	{BAWN_CTL_LIMIT_CPU, "cpu", "limits.cpus", "--cpus", UNIT_MILLI,
		"the tree used more than %s processors"},
	{BAWN_CTL_LIMIT_PROCESSES, "processes", "limits.processes", "--pids", UNIT_COUNT,
		"the tree had more than %s processes and threads"},
	{BAWN_CTL_LIMIT_FILES, "files", "limits.files", "--files", UNIT_COUNT,
		"a process had more than %s files open"},
	{BAWN_CTL_LIMIT_DISK, "disk", "limits.disk", "--disk", UNIT_BYTES,
		"the command filled its private space of %s or left too little room on the disk"},
	{BAWN_CTL_LIMIT_TIME, "time", "limits.time", "--timeout", UNIT_MSEC,
		"the command ran longer than %s"},
	{BAWN_CTL_LIMIT_OUTPUT, "output", "limits.output", "--output-limit", UNIT_BYTES,
		"the command wrote more than %s to standard output and error"},
};
/* clang-format on */

const struct limit_info *limit_find(uint32_t control)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].control == control)
			return &limits[i];
	return NULL;
}

uint64_t limit_value(const struct bawn_result *r, uint32_t control)
{
	const struct bawn_limits *l = r->plan ? &r->plan->limits : NULL;

	if (!l)
		return BAWN_UNLIMITED;
	switch (control) {
	case BAWN_CTL_LIMIT_MEMORY:
		return l->memory;
	case BAWN_CTL_LIMIT_CPU:
		return l->cpus_milli;
	case BAWN_CTL_LIMIT_PROCESSES:
		return l->processes;
	case BAWN_CTL_LIMIT_FILES:
		return l->files;
	case BAWN_CTL_LIMIT_DISK:
		return l->disk;
	case BAWN_CTL_LIMIT_TIME:
		return l->time_ms;
	case BAWN_CTL_LIMIT_OUTPUT:
		return l->output;
	default:
		return BAWN_UNLIMITED;
	}
}

struct scale {
	uint64_t one;
	const char *name;
};

/* The largest unit that fits; without a remainder a whole number, else rounded down to a tenth. */
static void print_scaled(const struct scale *s, uint64_t v, char *dst, size_t size)
{
	while (s->one > 1 && v < s->one)
		s++;
	uint64_t whole = v / s->one;
	uint64_t tenth = v % s->one / (s->one >= 10 ? s->one / 10 : 1);

	if (tenth > 9)
		tenth = 9;
	if (v % s->one == 0 || tenth == 0)
		(void)snprintf(dst, size, "%" PRIu64 " %s", whole, s->name);
	else
		(void)snprintf(dst, size, "%" PRIu64 ".%" PRIu64 " %s", whole, tenth, s->name);
}

void limit_print(enum limit_unit unit, uint64_t v, char *dst, size_t size)
{
	static const struct scale bytes[] = {{(uint64_t)1 << 40, "TiB"}, {1u << 30, "GiB"},
		{1u << 20, "MiB"}, {1u << 10, "KiB"}, {1, "bytes"}};
	/* Minutes and hours only from where people use them: "90 s", but "10 min". */
	static const struct scale msec[] = {{3600000, "h"}, {60000, "min"}, {1000, "s"}, {1, "ms"}};

	if (v == BAWN_UNLIMITED) {
		(void)snprintf(dst, size, "unlimited");
		return;
	}
	switch (unit) {
	case UNIT_BYTES:
		print_scaled(bytes, v, dst, size);
		break;
	case UNIT_MSEC:
		print_scaled(v % 3600000 == 0 && v ? msec
			     : v % 60000 == 0 && v ? msec + 1
						   : msec + 2,
			v, dst, size);
		break;
	case UNIT_MILLI:
		(void)snprintf(dst, size, "%g", (double)v / 1000);
		break;
	case UNIT_COUNT:
		(void)snprintf(dst, size, "%" PRIu64, v);
		break;
	}
}

static int exit_of_error(const struct bawn_error *e)
{
	if (e->kind == BAWN_ERR_BLOCKED)
		return BAWN_EXIT_BLOCKED;
	if (e->kind == BAWN_ERR_NOTFOUND)
		return e->err == -ENOENT || e->err == -ENOTDIR ? BAWN_EXIT_NOT_FOUND
							       : BAWN_EXIT_BLOCKED;
	return BAWN_EXIT_REFUSED;
}

int bawn_result_exit(const struct bawn_result *r)
{
	const struct bawn_outcome *o = &r->outcome;

	if (r->error.kind != BAWN_ERR_NONE)
		return exit_of_error(&r->error);
	if (!r->started)
		return BAWN_EXIT_REFUSED;
	if (o->exec_errno)
		return o->exec_errno == ENOENT || o->exec_errno == ENOTDIR ? BAWN_EXIT_NOT_FOUND
									   : BAWN_EXIT_BLOCKED;
	if (o->limit == BAWN_CTL_LIMIT_TIME)
		return BAWN_EXIT_TIMEOUT;
	/* also if it had ended by itself by then: what it wrote is not all there */
	if (o->limit)
		return BAWN_EXIT_SIGNAL + SIGKILL;
	if (o->exited && WIFEXITED(o->wait_status))
		return WEXITSTATUS(o->wait_status);
	if (o->exited && WIFSIGNALED(o->wait_status))
		return BAWN_EXIT_SIGNAL + WTERMSIG(o->wait_status);
	/* It was killed before it could be seen to end. */
	return BAWN_EXIT_SIGNAL + (o->got_signal ? o->got_signal : SIGKILL);
}

int bawn_result_limit(const struct bawn_result *r, uint32_t control, char *dst, size_t size)
{
	const struct limit_info *info = limit_find(control);
	uint64_t value = info ? limit_value(r, control) : BAWN_UNLIMITED;

	if (value == BAWN_UNLIMITED)
		return -ENOENT;
	limit_print(info->unit, value, dst, size);
	return 0;
}
