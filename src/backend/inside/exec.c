/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On the host: ask Docker's daemon to start our stage in a box that runs, and end. It is what
 * "docker exec --detach" does, without a program of its own that takes as long to start as all the
 * rest; near.h wants a program, and this one is at hand. What the daemon objects to goes to stderr,
 * where bawn looks for it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "backend/inside/mode.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"

#define ANSWER_MAX ((size_t)64 << 10)

static int say(const char *what, int error)
{
	errno = -error;
	(void)fprintf(stderr, "Cannot connect to the Docker daemon: %s: %m\n", what);
	return 1;
}

/* One request over a connection of its own; the answer is all that comes. */
static int ask(const char *socket_path, const char *path, const char *body, struct bawn_buf *answer)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	_cleanup_buf_ struct bawn_buf request = {0};
	int r;

	if (strlen(socket_path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, socket_path, strlen(socket_path) + 1);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	bawn_buf_printf(&request,
		"POST %s HTTP/1.0\r\nHost: docker\r\nContent-Type: application/json\r\n"
		"Content-Length: %zu\r\n\r\n%s",
		path, strlen(body), body);
	if (request.failed)
		return request.failed;
	r = bawn_write_all(fd, request.data, request.len);
	return r < 0 ? r : bawn_read_all(fd, answer);
}

static bool is_good(const struct bawn_buf *answer)
{
	const char *status = answer->data ? strchr(answer->data, ' ') : NULL;

	return status && status[1] == '2';
}

/* The text behind "key":" up to the next quote; NULL if there is none. */
static char *text_of(struct bawn_buf *answer, const char *key)
{
	char *body = answer->data ? strstr(answer->data, "\r\n\r\n") : NULL;
	char *at = body ? strstr(body, key) : NULL;
	char *end = at ? strchr(at + strlen(key), '"') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	return at + strlen(key);
}

static int object(struct bawn_buf *answer)
{
	const char *message = text_of(answer, "\"message\":\"");

	(void)fprintf(stderr, "%s\n", message ? message : "the daemon answers nonsense");
	return 1;
}

/* SOCKET CONTAINER USER COMMAND... ; no word has anything in it that JSON would need to escape. */
int bawn_inside_exec(char *const *argv)
{
	_cleanup_buf_ struct bawn_buf body = {0}, made = {.max = ANSWER_MAX},
				      begun = {.max = ANSWER_MAX};
	char path[256];
	const char *id;
	int r;

	if (!argv[0] || !argv[1] || !argv[2] || !argv[3])
		return 2;
	bawn_buf_printf(&body, "{\"User\":\"%s\",\"WorkingDir\":\"/\",\"Cmd\":[", argv[2]);
	for (size_t i = 3; argv[i]; i++) {
		bawn_buf_puts(&body, i > 3 ? "," : "");
		(void)bawn_buf_json(&body, argv[i], strlen(argv[i]));
	}
	bawn_buf_puts(&body, "]}");
	if (body.failed || (size_t)snprintf(path, sizeof(path), "/containers/%s/exec", argv[1]) >=
				   sizeof(path))
		return 2;
	r = ask(argv[0], path, body.data, &made);
	if (r < 0)
		return say(argv[0], r);
	if (!is_good(&made))
		return object(&made);
	id = text_of(&made, "\"Id\":\"");
	if (!id || (size_t)snprintf(path, sizeof(path), "/exec/%s/start", id) >= sizeof(path))
		return object(&made);
	r = ask(argv[0], path, "{\"Detach\":true}", &begun);
	if (r < 0)
		return say(argv[0], r);
	return is_good(&begun) ? 0 : object(&begun);
}
