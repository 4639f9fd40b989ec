/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether KVM works here can only be found out by booting: the device may be there and yet belong
 * to a machine that is itself virtual and runs no ordinary guest. The answer is kept in a file
 * whose name says what it depends on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "backend/vm/console.h"
#include "backend/vm/guest.h"
#include "backend/vm/jail.h"
#include "backend/vm/qemu.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sha256.h"

#define TRIAL_MS 4000 /* a guest that works is there in a tenth of that */
#define DEVICE   "/dev/kvm"
#define TSC_US   4000

/* Where the answer is kept; NULL if nowhere. */
static const char *answer_path(struct bawn_arena *a, const struct bawn_qemu *q)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	char hex[BAWN_HEX_LEN + 1], boot[64] = "";
	const char *dir = bawn_path_state(a, "vm");
	struct utsname un = {0};

	(void)uname(&un);
	/* a host that was moved or changed has been started anew */
	(void)bawn_read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	bawn_buf_printf(&b, "%s %s %s\n", un.release, un.version, boot);
	bawn_vm_identity(&b, q->program);
	bawn_vm_identity(&b, q->kernel->image);
	if (!dir || b.failed)
		return NULL;
	bawn_sha256_hex(b.data, b.len, hex);
	return bawn_arena_printf(a, "%s/kvm-%.32s", dir, hex);
}

static void keep_answer(const char *path, bool works)
{
	const char *slash = strrchr(path, '/');

	if (bawn_path_make_state_dirs(path, (size_t)(slash - path)) < 0)
		return;
	/* one byte: there is no half of it */
	_cleanup_close_ int fd =
		open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		(void)bawn_write_all(fd, works ? "1" : "0", 1);
}

static bool await_alive(struct bawn_console *c)
{
	const int64_t stop = bawn_now_ms() + TRIAL_MS;
	bool more = true;

	while (more && bawn_now_ms() < stop) {
		struct pollfd p = {.fd = c->fd, .events = POLLIN};

		(void)poll(&p, 1, 50);
		more = bawn_console_read(c);
		if (bawn_console_has(c, BAWN_GUEST_ALIVE))
			return true;
	}
	return false;
}

static bool boots(struct bawn_arena *a, const struct bawn_qemu *q, const char *const *argv)
{
	static const struct bawn_plan no_limits = {0};
	struct bawn_console *c = bawn_new(a, struct bawn_console, 1);
	struct bawn_jail jail;
	bool works = false;
	int pairs[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < 3; i++)
		r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]);
	bawn_jail_init(&jail, a, &no_limits);
	if (c && r >= 0 && bawn_jail_system(&jail) >= 0 &&
		bawn_jail_mount(&jail, BAWN_MNT_RO, q->kernel->image) >= 0 &&
		bawn_jail_mount(&jail, BAWN_MNT_RO, q->initrd) >= 0 &&
		bawn_jail_mount(&jail, BAWN_MNT_DEVICE, DEVICE) >= 0) {
		const int stdio[3] = {pairs[0][1], pairs[1][1], pairs[2][1]};

		c->fd = pairs[2][0];
		r = bawn_jail_start(&jail, argv, stdio, NULL);
		(void)close(pairs[2][1]);
		pairs[2][1] = -1;
		works = r >= 0 && await_alive(c);
	}
	bawn_jail_end(&jail);
	for (size_t i = 0; i < 6; i++)
		if (pairs[i / 2][i % 2] >= 0)
			(void)close(pairs[i / 2][i % 2]);
	return works;
}

bool bawn_qemu_kvm_works(struct bawn_arena *a, const struct bawn_qemu *q)
{
	_cleanup_close_ int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	struct bawn_qemu trial = *q;
	const char *path, *const *argv;
	char was[8];
	bool works;

	if (fd < 0)
		return false;
	path = answer_path(a, q);
	if (path && bawn_read_small(AT_FDCWD, path, was, sizeof(was)) >= 0 &&
		(*was == '0' || *was == '1'))
		return *was == '1';
	trial.guest = "guest trial -";
	trial.kvm = true;
	argv = bawn_qemu_argv(a, &trial);
	works = argv && boots(a, &trial, argv);
	if (path)
		keep_answer(path, works);
	return works;
}

unsigned bawn_qemu_tsc_khz(void)
{
#if defined(__x86_64__)
	struct timespec t0, t1;
	int64_t us = 0;
	uint64_t c0, c1;

	(void)clock_gettime(CLOCK_MONOTONIC_RAW, &t0);
	c0 = __rdtsc();
	do {
		(void)clock_gettime(CLOCK_MONOTONIC_RAW, &t1);
		c1 = __rdtsc();
		us = (t1.tv_sec - t0.tv_sec) * 1000000 + (t1.tv_nsec - t0.tv_nsec) / 1000;
	} while (us < TSC_US);
	return (unsigned)((c1 - c0) * 1000 / (uint64_t)us);
#else
	return 0;
#endif
}
