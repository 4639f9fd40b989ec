/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of the search for denied files. The sum is made right, so that what it guards is read.
 */
#include <fcntl.h>
#include <stdint.h>

#include "plan/scan_tree.h"

#define SUM_AT 72 /* behind magic and key */
#define HEAD   112

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1), key[BAWN_HEX_LEN + 1] = "";
	_cleanup_scan_tree_ struct scan_tree t = {0};
	_cleanup_close_ int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint8_t *state;
	uint64_t sum;

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	if (size >= HEAD) {
		memcpy(key, copy + 8, BAWN_HEX_LEN);
		sum = scan_cache_sum(copy + HEAD, size - HEAD);
		memcpy(copy + SUM_AT, &sum, sizeof(sum));
	}
	if (scan_cache_parse(copy, size, key, &t) < 0) {
		free(copy);
		return 0;
	}
	state = calloc(t.n_nodes + 1, 1);
	if (state && root >= 0)
		(void)scan_check(&t, "/", root, state);
	free(state);
	return 0;
}
