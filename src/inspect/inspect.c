/* SPDX-License-Identifier: Apache-2.0 */
/* All detectors in order, and the names of things. */
#include "inspect/inspect.h"

#include "inspect/detectors.h"

static const struct bawn_detector *const detectors[] = {
	&bawn_detector_shell_rules,
	&bawn_detector_operator,
	&bawn_detector_secret,
	&bawn_detector_code,
	&bawn_detector_shell,
	&bawn_detector_inject,
};

const struct bawn_detector *bawn_detector_at(size_t i)
{
	return i < sizeof(detectors) / sizeof(detectors[0]) ? detectors[i] : NULL;
}

const char *bawn_severity_name(enum bawn_severity s)
{
	static const char *const names[] = {"none", "low", "medium", "high", "critical"};

	return (size_t)s < sizeof(names) / sizeof(names[0]) ? names[s] : "unknown";
}
