/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sched.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/syscall.h>

#include "base/io.h"

static bool busy;

void bawn_sched_look(void)
{
	char text[128];
	cpu_set_t all;
	const char *p;

	/* "0.83 1.63 1.54 2/96 30978": two run now, one of them reads this */
	busy = false;
	if (bawn_read_small(AT_FDCWD, "/proc/loadavg", text, sizeof(text)) < 0 ||
		sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	p = strchr(text, '/');
	while (p && p > text && p[-1] != ' ')
		p--;
	busy = p && strtol(p, NULL, 10) >= CPU_COUNT(&all);
}

bool bawn_sched_busy(void)
{
	return busy;
}

/* Not the C library's: that reads what the kernel keeps up to date for one thread, and a child that
 * shares our memory is another. */
int bawn_sched_cpu(void)
{
	unsigned cpu = 0;

	return syscall(SYS_getcpu, &cpu, NULL, NULL) < 0 ? -1 : (int)cpu;
}

bool bawn_sched_waits(int cpu)
{
	return !busy && cpu != bawn_sched_cpu();
}

/* Our processor, if there is a choice: in *ret_all. */
static int choose(cpu_set_t *ret_all)
{
	int here = busy ? -1 : bawn_sched_cpu();

	return here < 0 || sched_getaffinity(0, sizeof(*ret_all), ret_all) < 0 ||
			       CPU_COUNT(ret_all) < 2
		       ? -1
		       : here;
}

bool bawn_sched_here(cpu_set_t *ret_all)
{
	int here = choose(ret_all);
	cpu_set_t one;

	if (here < 0)
		return false;
	CPU_ZERO(&one);
	CPU_SET((size_t)here, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

bool bawn_sched_elsewhere(pid_t pid, cpu_set_t *ret_all)
{
	int here = choose(ret_all);
	cpu_set_t others;

	if (here < 0)
		return false;
	others = *ret_all;
	CPU_CLR((size_t)here, &others);
	return sched_setaffinity(pid, sizeof(others), &others) == 0;
}

void bawn_sched_beside(pid_t child)
{
	cpu_set_t all;

	if (bawn_sched_elsewhere(child, &all))
		(void)sched_setaffinity(child, sizeof(all), &all);
}
