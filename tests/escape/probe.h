/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One sub-command tries one thing. It returns 0 or more when the thing worked and a negative errno
 * when it did not; main() prints "ok" or "errno NAME" and exits 0 or 1.
 */

#include <errno.h>
#include <stddef.h>

typedef long probe_fn(char **arg);

struct probe {
	const char *name;
	int args; /* how many it needs */
	probe_fn *fn;
};

extern const struct probe probes_fs[], probes_proc[], probes_sys[], probes_net[], probes_bomb[],
	probes_race[];

/* A system call's -1 as a negative errno. */
static inline long rc(long r)
{
	return r < 0 ? -errno : r;
}

long probe_num(const char *s);
/* The value of a name in a table that ends with a NULL name; ends the program if unknown. */
struct probe_word {
	const char *name;
	long value;
};
long probe_word(const struct probe_word *w, const char *name);
/* Run `fn` in a child: its result, or -EINTR after printing "killed N" if a signal ended it. */
long probe_forked(probe_fn *fn, char **arg);
/* Copy what can be read from `fd` to standard output. */
long probe_cat(int fd);
void probe_nap(long ms);
