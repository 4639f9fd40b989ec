/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whole reads and writes that survive EINTR. All return 0 or more, or a negative errno. */

#include <poll.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/buf.h"

/* Read `fd` to its end into `b`; -E2BIG if it is longer than the buffer's maximum. */
int bawn_read_all(int fd, struct bawn_buf *b);
/* Read a file; refuses what is not a regular file (-EINVAL), never blocks on a FIFO. */
int bawn_read_file(int dirfd, const char *path, size_t max, struct bawn_buf *b);
/* Read a small kernel file (procfs, sysfs, cgroupfs) into `dst` as a string. */
int bawn_read_small(int dirfd, const char *path, char *dst, size_t size);
int bawn_write_all(int fd, const void *data, size_t len);
/* Write one string into an existing kernel file with a single write(2). */
int bawn_write_small(int dirfd, const char *path, const char *text);
/* On a file system of a known kind that no other machine writes, and that changes a directory's
 * times whenever an entry comes or goes. */
bool bawn_fd_is_local(int fd);
int64_t bawn_now_ms(void);   /* CLOCK_BOOTTIME: goes on during suspend, cannot be set */
uint64_t bawn_wall_us(void); /* CLOCK_REALTIME, for records only */
/* Wait until the process behind a pidfd has ended: 1, 0 if it has not in time (-1: for ever), or -1
 * with errno. */
int bawn_pidfd_await(int pidfd, int timeout_ms);

/* poll(2) for what is expected at once. For as long as `*left_us` lasts, which it is taken from,
 * the processor is only given to whoever wants it: to wake one that sleeps takes longer. */
int bawn_poll_soon(struct pollfd *fds, nfds_t n, int timeout_ms, int64_t *left_us);

/* One message with `n` descriptors (at most BAWN_SEND_FDS_MAX, may be 0). -errno if it was not sent
 * whole. */
#define BAWN_SEND_FDS_MAX 64
int bawn_send_fds(int sock, const void *data, size_t len, const int *fds, size_t n);

struct bawn_received {
	int fds[BAWN_SEND_FDS_MAX + 8]; /* close-on-exec, the caller's */
	size_t n;
	pid_t from; /* who sent it, if the socket asks (SO_PASSCRED); else 0 */
};

/* One message into `data` and what came with it. How many bytes, 0 at the end, or -errno; then no
 * descriptor is left open. -EPROTO if it was longer than `len` or had too many descriptors. */
ssize_t bawn_receive_fds(int sock, void *data, size_t len, int flags, struct bawn_received *ret);
void bawn_received_close(struct bawn_received *r);
