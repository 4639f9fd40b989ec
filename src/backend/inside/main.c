/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bawn-inside: our stage behind somebody else's wall. Small and static, for it starts in places
 * that have no libraries, and with every call.
 */
#include <stdio.h>
#include <string.h>

#include "backend/inside/mode.h"

static const struct bawn_inside_mode modes[] = {
	{"near", "fd:N | unix:PATH", bawn_inside_near},
	{"far", "[gvisor] [pids]", bawn_inside_far},
	{"wait", "", bawn_inside_wait},
	{"reap", "PROGRAM ARGUMENT...", bawn_inside_reap},
	{"exec", "SOCKET CONTAINER USER COMMAND...", bawn_inside_exec},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run(argv + 2);
	(void)fprintf(stderr, "bawn-inside is started by bawn:\n");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		(void)fprintf(stderr, "  bawn-inside %s %s\n", modes[i].name, modes[i].usage);
	return 2;
}
