/* SPDX-License-Identifier: Apache-2.0 */
/* A rule about hosts: what is read is printed in one form, which is read as the same rule. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/netrule.h"

#define REQUIRE(e)               \
	do {                     \
		if (!(e))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char raw[512], text[BAWN_NETRULE_TEXT_MAX], again[BAWN_NETRULE_TEXT_MAX];
	struct bawn_netrule r, s;
	const char *why = NULL;

	if (size >= sizeof(raw))
		return 0;
	memcpy(raw, data, size);
	raw[size] = '\0';
	if (bawn_netrule_parse(raw, &r, &why) < 0) {
		REQUIRE(why != NULL);
		return 0;
	}
	bawn_netrule_format(&r, text);
	if (strlen(text) > BAWN_NETRULE_MAX) /* brackets may make it longer than may be written */
		return 0;
	REQUIRE(bawn_netrule_parse(text, &s, &why) == 0);
	bawn_netrule_format(&s, again);
	REQUIRE(!strcmp(text, again));
	REQUIRE(bawn_netrule_within(&r, &s) && bawn_netrule_within(&s, &r));
	return 0;
}
