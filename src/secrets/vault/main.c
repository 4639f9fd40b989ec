/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bawn-vault: opens and seals the vault. Started by bawn with a socket as descriptor 3 and nothing
 * else, for as long as a secret is needed; not for use by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include <sys/socket.h>

#include "secrets/talk.h"
#include "secrets/vault/serve.h"

static void usage(void)
{
	static const char text[] =
		"bawn-vault: started by bawn, not by hand; see 'bawn help secret'\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(3);
}

int main(void)
{
	int kind = 0;
	socklen_t len = sizeof(kind);
	int r;

	if (getsockopt(TALK_FD, SOL_SOCKET, SO_TYPE, &kind, &len) < 0 || kind != SOCK_STREAM) {
		usage();
		return 2;
	}
	/* whatever else bawn's caller had open is none of our business */
	(void)close_range(TALK_FD + 1, ~0U, 0);
	(void)fcntl(TALK_FD, F_SETFD, FD_CLOEXEC);
	(void)signal(SIGPIPE, SIG_IGN);
	r = crypt_start();
	if (r == 0)
		r = vault_sandbox();
	if (r == 0)
		r = vault_serve(TALK_FD, NULL);
	return r < 0 ? 1 : 0;
}
