/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bawn-egress: the door. Started by bawn with a socket as descriptor 3 and nothing else; not for
 * use by hand. Everything it needs of the file system is read before the first rule arrives.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>

#include "egress/door.h"

static void usage(void)
{
	static const char text[] =
		"bawn-egress: started by bawn, not by hand; see 'bawn help proxy'\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(3);
}

/* What the host sends goes through here once read: rules, and secrets with them. */
static void wipe_free(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

int main(void)
{
	struct bawn_error err = {0};
	struct door *d = NULL;
	int kind = 0;
	socklen_t len = sizeof(kind);
	int r;

	if (getsockopt(BAWN_EGRESS_CONTROL_FD, SOL_SOCKET, SO_TYPE, &kind, &len) < 0 ||
		kind != SOCK_SEQPACKET) {
		usage();
		return 2;
	}
	(void)fcntl(BAWN_EGRESS_CONTROL_FD, F_SETFD, FD_CLOEXEC);
	(void)signal(SIGPIPE, SIG_IGN);
	json_set_alloc_funcs(malloc, wipe_free);
	r = sandbox_before();
	if (r == 0)
		r = door_new(BAWN_EGRESS_CONTROL_FD, &d, &err);
	if (r < 0) {
		static struct door lone = {.control = BAWN_EGRESS_CONTROL_FD};

		report_error(&lone, err.msg[0] ? err.msg : "the door cannot be confined");
		report_drain(&lone);
		return 1;
	}
	r = door_run(d, &err);
	(void)door_free(d);
	return r < 0 ? 1 : 0;
}
