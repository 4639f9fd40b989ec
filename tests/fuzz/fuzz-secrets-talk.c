/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the vault's process: the input is what comes over the socket, as a list of messages
 * (u16 length of the frame, u16 of the blob, bytes). Those that would touch this user's keyring are
 * left out.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include "secrets/talk.h"
#include "secrets/vault/serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t short_at(const uint8_t *p)
{
	return (size_t)p[0] | (size_t)p[1] << 8;
}

static int send_one(int fd, const uint8_t *frame, size_t n, size_t blob)
{
	const uint8_t head[8] = {
		(uint8_t)n, (uint8_t)(n >> 8), 0, 0, (uint8_t)blob, (uint8_t)(blob >> 8), 0, 0};

	if (n >= 4 && (frame[0] == TALK_HELD || frame[0] == TALK_HOLD || frame[0] == TALK_DROP ||
			      frame[0] == TALK_REKEY))
		return 0;
	if (send(fd, head, sizeof(head), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
		send(fd, frame, n + blob, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct format_cost cheap = {.passes = 1, .kib = 8};
	static int started;
	int sv[2];

	if (!started && crypt_start() < 0)
		abort();
	started = 1;
	if (size > 8000 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		return 0;
	for (int i = 0; i < 16 && size >= 4; i++) {
		size_t n = short_at(data), blob = short_at(data + 2);

		if (n + blob > size - 4 || send_one(sv[0], data + 4, n, blob) < 0)
			break;
		data += 4 + n + blob;
		size -= 4 + n + blob;
	}
	/* answers are not read: so few of so short questions fit into the socket */
	(void)shutdown(sv[0], SHUT_WR);
	(void)vault_serve(sv[1], &cheap);
	(void)close(sv[0]);
	return 0;
}
