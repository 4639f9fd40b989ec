/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often in a row a passphrase was wrong, and when last: "N SECONDS" in a file beside the vault.
 * It slows down who tries by way of bawn; who has the file itself is slowed down by Argon2id. The
 * file is locked while one tries, so that many at once do not count as one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <sys/file.h>

#include "base/io.h"
#include "secrets/store.h"

#define LINE_LEN 32 /* always as long, so that one write replaces it */

static uint64_t now(void)
{
	return bawn_wall_us() / 1000000;
}

static void put(int fd, unsigned n, uint64_t when)
{
	char line[LINE_LEN + 1];

	(void)snprintf(line, sizeof(line), "%1u %-29llu\n", n % 10, (unsigned long long)when);
	/* a full disk: the next one finds what is there, or nothing it knows, which counts */
	(void)!pwrite(fd, line, LINE_LEN, 0);
}

/* What is in the file; something else than we wrote counts as three failures just now. */
static unsigned get(int fd, uint64_t *ret_when)
{
	char line[LINE_LEN + 1] = "";
	ssize_t n = pread(fd, line, LINE_LEN, 0);
	unsigned long long when;
	unsigned tries;
	char end;

	*ret_when = now();
	if (n == 0)
		return 0;
	/* NOLINTNEXTLINE(cert-err34-c): written by put(), and anything else counts as failures */
	if (n != LINE_LEN || sscanf(line, "%1u %29llu%c", &tries, &when, &end) != 3 ||
		tries > TRIES_MAX || when > *ret_when) {
		put(fd, TRIES_MAX, *ret_when);
		return TRIES_MAX;
	}
	*ret_when = when;
	return tries;
}

int tries_begin(const struct store *s, struct bawn_error *err)
{
	int fd = openat(s->dir, "vault.tries",
		O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	uint64_t when, left;
	int r;

	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -errno, "'%s': %m", s->at.tries);
	do
		r = flock(fd, LOCK_EX);
	while (r < 0 && errno == EINTR);
	if (r < 0 || get(fd, &when) < TRIES_MAX)
		return fd;
	left = when + TRIES_WAIT > now() ? when + TRIES_WAIT - now() : 0;
	if (!left) {
		put(fd, 0, when);
		return fd;
	}
	(void)close(fd);
	return bawn_fail(err, BAWN_ERR_VAULT, -EBUSY,
		"too many wrong passphrases; the vault can be tried again in %llu s",
		(unsigned long long)left);
}

void tries_end(int fd, bool right)
{
	uint64_t when;
	unsigned n = get(fd, &when);

	if (!right)
		put(fd, n < TRIES_MAX ? n + 1 : n, now());
	else if (n)
		put(fd, 0, when);
	(void)close(fd);
}
