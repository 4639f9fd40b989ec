/* SPDX-License-Identifier: Apache-2.0 */
/* DNS questions, and an answer to each that can be answered. */
#include <errno.h>
#include <stdint.h>

#include "egress/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t addr[16] = {198, 18, 0, 1};
	struct bawn_dns_question q, back;
	uint8_t dst[BAWN_DNS_MAX];
	struct bawn_error err;
	size_t len = 0;
	int r = bawn_dns_question_parse(data, size, &q, &err), n;

	if (r == -ENODATA)
		return 0;
	if (r == 0 && (q.name.kind != BAWN_HOST_NAME || q.question_len + 12 > size || q.klass != 1))
		abort();
	if (r == 0 && q.type == BAWN_DNS_A)
		len = 4;
	if (r == 0 && q.type == BAWN_DNS_AAAA)
		len = 16;
	n = bawn_dns_answer(data, size, &q, r ? BAWN_DNS_FORMERR : BAWN_DNS_OK, addr, len, 60, dst,
		sizeof(dst));
	if (n < 12 || dst[0] != data[0] || dst[1] != data[1])
		abort();
	/* Our own answers are never taken for questions. */
	if (bawn_dns_question_parse(dst, (size_t)n, &back, &err) != -ENODATA)
		abort();
	return 0;
}
