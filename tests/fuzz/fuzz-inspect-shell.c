/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a command and as a script: no crash, spans inside the text, confidences in 0..1. */
#include <stdint.h>
#include <stdlib.h>

#include "inspect/detectors.h"
#include "inspect/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void vet(const uint8_t *data, size_t size, enum bawn_kind kind)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_scan s = {.a = a, .out = &f, .budget = (uint64_t)4 << 20};
	struct bawn_subject sub = {
		.kind = kind,
		.lang = BAWN_LANG_BASH,
		.mode = size % 2 ? BAWN_MODE_STRICT : BAWN_MODE_STANDARD,
		.detect = BAWN_DETECT_COMMAND,
		.text = (const char *)data,
		.len = size,
		.last = true,
	};

	if (!a || bawn_detector_shell.inspect(&s, &sub, &err) < 0)
		abort();
	for (size_t i = 0; i < f.n; i++) {
		if (f.v[i].start > f.v[i].end || f.v[i].end > size || !f.v[i].message ||
			!(f.v[i].confidence > 0 && f.v[i].confidence <= 1))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	vet(data, size, BAWN_KIND_COMMAND);
	vet(data, size, BAWN_KIND_CODE);
	return 0;
}
