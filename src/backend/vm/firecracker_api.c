/* SPDX-License-Identifier: Apache-2.0 */
/* See firecracker.h. Names and shapes are those of the API's published schema (version 1). */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "backend/vm/firecracker.h"
#include "backend/vm/guest.h"
#include "base/cleanup.h"
#include "base/io.h"

#define GUEST_CID  3
#define ANSWER_MAX 32
#define RETRY_NS   10000000

const char *const *bawn_firecracker_argv(struct bawn_arena *a, const struct bawn_firecracker *f)
{
	const char *const words[] = {f->program, "--id", f->id, "--api-sock", f->api};
	const size_t n = sizeof(words) / sizeof(words[0]);
	const char **argv = bawn_new(a, const char *, n + 1);

	if (argv)
		memcpy(argv, words, sizeof(words));
	return argv;
}

/* ---- requests ---- */

static int put(
	struct bawn_arena *a, struct bawn_firecracker_request *ret, const char *path, json_t *body)
{
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	*ret = (struct bawn_firecracker_request){
		.path = path, .json = text ? bawn_arena_strdup(a, text) : NULL};
	free(text);
	json_decref(body);
	return ret->json ? 1 : -ENOMEM;
}

static json_t *boot_source(struct bawn_arena *a, const struct bawn_firecracker *f)
{
	/* words that the kernel does not know are its first process's */
	const char *args = bawn_arena_printf(a,
		"console=ttyS0 quiet panic=-1 reboot=k pci=off rdinit=/init " BAWN_GUEST_QUICK
		" %s",
		f->guest);

	return args ? json_pack("{s:s, s:s, s:s}", "kernel_image_path", f->kernel, "initrd_path",
			      f->initrd, "boot_args", args)
		    : NULL;
}

int bawn_firecracker_requests(struct bawn_arena *a, const struct bawn_firecracker *f,
	struct bawn_firecracker_request ret[BAWN_FIRECRACKER_REQUESTS])
{
	int n = 0, r;

	r = put(a, &ret[n++], "/machine-config",
		json_pack("{s:i, s:I, s:b}", "vcpu_count", (int)f->cpus, "mem_size_mib",
			(json_int_t)f->memory_mib, "smt", 0));
	if (r >= 0)
		r = put(a, &ret[n++], "/boot-source", boot_source(a, f));
	if (r >= 0 && f->image)
		r = put(a, &ret[n++], "/drives/rootfs",
			json_pack("{s:s, s:s, s:b, s:b}", "drive_id", "rootfs", "path_on_host",
				f->image, "is_root_device", 0, "is_read_only", 1));
	if (r >= 0)
		r = put(a, &ret[n++], "/vsock",
			json_pack("{s:i, s:s}", "guest_cid", GUEST_CID, "uds_path", f->vsock));
	if (r >= 0)
		r = put(a, &ret[n++], "/actions",
			json_pack("{s:s}", "action_type", "InstanceStart"));
	return r < 0 ? r : n;
}

/* ---- the vsock ---- */

int bawn_firecracker_dial(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if ((size_t)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	if (fd < 0 || connect(fd, (const struct sockaddr *)(const void *)&sa, sizeof(sa)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* One line and not a byte more, for the stream begins behind it. 0, -EAGAIN if nobody listens. */
static int await_ok(int fd, int64_t stop)
{
	char line[ANSWER_MAX] = "";

	for (size_t n = 0; n + 1 < sizeof(line);) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = stop - bawn_now_ms();
		ssize_t got;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		got = recv(fd, line + n, 1, 0);
		if (got <= 0)
			return got < 0 && errno != ECONNRESET ? -errno : -EAGAIN;
		if (line[n++] != '\n')
			continue;
		return strncmp(line, "OK ", 3) != 0 ? -EPROTO : 0;
	}
	return -EPROTO;
}

int bawn_firecracker_connect(const char *path, unsigned port, int64_t stop, struct bawn_error *err)
{
	const struct timespec nap = {.tv_nsec = RETRY_NS};
	char order[32];
	int r;

	(void)snprintf(order, sizeof(order), "CONNECT %u\n", port);
	do {
		_cleanup_close_ int fd = bawn_firecracker_dial(path);

		r = fd < 0 ? fd : 0;
		if (r == 0 && send(fd, order, strlen(order), MSG_NOSIGNAL) < 0)
			r = -EAGAIN;
		if (r == 0)
			r = await_ok(fd, stop);
		if (r == 0)
			return TAKE_FD(fd);
		(void)nanosleep(&nap, NULL);
		if (bawn_now_ms() >= stop)
			r = -ETIMEDOUT;
	} while (r == -EAGAIN);
	errno = -r;
	/* who does not listen any more has ended */
	return bawn_fail(err, BAWN_ERR_BACKEND, r == -ECONNREFUSED || r == -ENOENT ? -EPIPE : r,
		"cannot reach the guest: %m");
}
