/* SPDX-License-Identifier: Apache-2.0 */
/* All detectors in order. */
#include "inspect/inspect.h"

#include "inspect/detectors.h"

static const struct bawn_detector *const detectors[] = {
	&bawn_detector_shell_rules,
};

const struct bawn_detector *bawn_detector_at(size_t i)
{
	return i < sizeof(detectors) / sizeof(detectors[0]) ? detectors[i] : NULL;
}

int bawn_inspect_call(struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_call *c,
	struct bawn_findings *out, struct bawn_error *err)
{
	const struct bawn_detector *d;

	for (size_t i = 0; (d = bawn_detector_at(i)); i++) {
		int r = d->inspect(a, p, c, out, err);

		if (r < 0) {
			(void)bawn_error_wrap(err, "detector '%s'", d->name);
			return r;
		}
	}
	return 0;
}

const char *bawn_severity_name(enum bawn_severity s)
{
	static const char *const names[] = {"none", "low", "medium", "high", "critical"};

	return (size_t)s < sizeof(names) / sizeof(names[0]) ? names[s] : "unknown";
}
