/* SPDX-License-Identifier: Apache-2.0 */
/*
 * without SYSCALL[=ERRNO]… -- COMMAND…: run COMMAND on a kernel that lacks these system calls: they
 * fail with ENOSYS, or with the errno given as a number.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int i = 1;

	if (!ctx)
		return 99;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *eq = strchr(argv[i], '=');
		unsigned e = eq ? (unsigned)strtoul(eq + 1, NULL, 10) : ENOSYS;
		int nr;

		if (eq)
			*eq = '\0';
		nr = seccomp_syscall_resolve_name(argv[i]);
		if (nr < 0 || seccomp_rule_add(ctx, SCMP_ACT_ERRNO(e), nr, 0) < 0) {
			(void)fprintf(stderr, "without: no system call '%s'\n", argv[i]);
			return 98;
		}
	}
	if (i + 1 >= argc || seccomp_load(ctx) < 0) {
		(void)fprintf(stderr, "usage: without SYSCALL[=ERRNO]… -- COMMAND…\n");
		return 98;
	}
	seccomp_release(ctx);
	(void)execv(argv[i + 1], argv + i + 1);
	return 97;
}
