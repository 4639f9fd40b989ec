/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for files, one after the other as their lengths say: no answer is longer than it may be.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/fuse.h>

#include "backend/vm/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char in[BAWN_FILES_REQUEST_MAX], out[BAWN_FILES_REPLY_MAX];
	static int root = -1;
	struct bawn_files *f;

	if (root < 0)
		root = open("/usr/share/doc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	f = bawn_files_new(root);
	while (f && size >= sizeof(struct fuse_in_header)) {
		struct fuse_in_header h;
		size_t len;
		ssize_t n;

		/* one byte is the length, so that the fuzzer gets through */
		memcpy(&h, data, sizeof(h));
		len = sizeof(h) + data[0];
		if (len > size)
			len = size;
		memcpy(in, data, len);
		h.len = (uint32_t)len;
		h.opcode %= 64;
		memcpy(in, &h, sizeof(h));
		in[len] = '\0';
		n = bawn_files_answer(f, in, len, out);
		if (n > (ssize_t)BAWN_FILES_REPLY_MAX ||
			(n > 0 && n < (ssize_t)sizeof(struct fuse_out_header)))
			abort();
		data += len;
		size -= len;
	}
	f = bawn_files_free(f);
	return 0;
}
