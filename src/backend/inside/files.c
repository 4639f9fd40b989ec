/* SPDX-License-Identifier: Apache-2.0 */
/* The program around vm/files.h. It holds nothing but the stream and its root directory. */
#include "backend/vm/files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/socket.h>

#include "backend/inside/mode.h"

/* Standard input is the stream, or a socket on which the one who has it will call. */
static int take_stream(void)
{
	socklen_t len = sizeof(int);
	int listens = 0;

	if (getsockopt(0, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || !listens)
		return 0;
	return accept4(0, NULL, NULL, SOCK_CLOEXEC);
}

int bawn_inside_files(char *const *argv)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int stream = take_stream();

	(void)argv;
	return root < 0 || stream < 0 || bawn_files_serve(stream, root) < 0 ? 1 : 0;
}
