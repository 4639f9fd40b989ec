/* SPDX-License-Identifier: Apache-2.0 */
/* See parcel.h. */
#include "backend/inside/parcel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MAGIC UINT32_C(0x6277696e)

struct parcel {
	uint32_t magic;
	uint32_t size; /* of the handover in the memory file */
};

int bawn_parcel_pack(const struct bawn_init *in, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	_cleanup_close_ int fd = -1;
	int r;

	bawn_handover_encode(in, &b);
	fd = b.failed ? b.failed : memfd_create("bawn-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, b.failed ? b.failed : -errno,
			"cannot pack the plan: %s", strerrordesc_np(b.failed ? -b.failed : errno));
	r = bawn_write_all(fd, b.data, b.len);
	if (r >= 0 && fcntl(fd, F_ADD_SEALS,
			      F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, r, "cannot pack the plan: %s", strerrordesc_np(-r));
	return TAKE_FD(fd);
}

int bawn_parcel_send(int sock, const int fds[BAWN_PARCEL_FDS])
{
	off_t size = lseek(fds[3], 0, SEEK_END);
	struct parcel p = {.magic = MAGIC, .size = (uint32_t)size};

	if (size < 0 || size > UINT32_MAX)
		return -E2BIG;
	return bawn_send_fds(sock, &p, sizeof(p), fds, BAWN_PARCEL_FDS);
}

/* Read, not mapped: to unmap it would stop a helper that shares our memory on another processor. */
static int open_up(
	struct bawn_arena *a, int fd, size_t size, struct bawn_init *ret, struct bawn_error *err)
{
	char *data = malloc(size ? size : 1);
	size_t at = 0;
	ssize_t n = 1;
	int r;

	while (data && at < size && n > 0) {
		n = pread(fd, data + at, size - at, (off_t)at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (at < size)
		r = bawn_fail(err, BAWN_ERR_BACKEND, !data || n < 0 ? -errno : -EPROTO,
			"cannot read the plan: %s",
			!data || n < 0 ? strerrordesc_np(errno) : "cut off");
	else
		r = bawn_handover_decode(a, data, size, ret, err);
	free(data);
	return r;
}

int bawn_parcel_take(struct bawn_arena *a, int sock, struct bawn_init *ret, struct bawn_error *err)
{
	struct bawn_received got;
	struct parcel p = {0};
	ssize_t len = bawn_receive_fds(sock, &p, sizeof(p), 0, &got);
	int r = len < 0 ? (int)len : len < (ssize_t)sizeof(p) ? -EPIPE : 0;

	if (r == 0 && (p.magic != MAGIC || got.n != BAWN_PARCEL_FDS))
		r = -EPROTO;
	if (r < 0) {
		bawn_received_close(&got);
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot take what the host sends: %s",
			strerrordesc_np(-r));
	}
	r = open_up(a, got.fds[3], p.size, ret, err);
	(void)close(got.fds[3]);
	memcpy(ret->stdio, got.fds, sizeof(ret->stdio));
	return r;
}
