/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hyperscan has its code several times, for kinds of processors, and chooses before main() with
 * questions to the processor that the host of a virtual machine has to answer: every run would wait
 * for that, and few match anything. Here the choice is made when it is needed, the same one, from
 * what the C library knows already. The library's own chooser is not linked: nothing of it is
 * missing.
 */
#include <hs.h>

#include <sys/platform/x86.h>

struct copy {
	hs_error_t (*valid)(const hs_database_t *db);
	hs_error_t (*scan)(const hs_database_t *db, const char *data, unsigned int length,
		unsigned int flags, hs_scratch_t *scratch, match_event_handler on_event,
		void *context);
};

#define COPY(kind)                                                                                \
	hs_error_t kind##_dbIsValid(const hs_database_t *db);                                     \
	hs_error_t kind##_hs_scan(const hs_database_t *db, const char *data, unsigned int length, \
		unsigned int flags, hs_scratch_t *scratch, match_event_handler on_event,          \
		void *context);                                                                   \
	static const struct copy kind = {kind##_dbIsValid, kind##_hs_scan};

COPY(avx512vbmi)
COPY(avx512)
COPY(avx2)
COPY(corei7)
COPY(core2)

static const struct copy *choose(void)
{
	if (CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW))
		return CPU_FEATURE_ACTIVE(AVX512_VBMI) ? &avx512vbmi : &avx512;
	if (CPU_FEATURE_ACTIVE(AVX2))
		return &avx2;
	if (CPU_FEATURE_ACTIVE(SSE4_2) && CPU_FEATURE_ACTIVE(POPCNT))
		return &corei7;
	return CPU_FEATURE_ACTIVE(SSSE3) ? &core2 : NULL;
}

hs_error_t dbIsValid(const hs_database_t *db);
hs_error_t dbIsValid(const hs_database_t *db)
{
	const struct copy *c = choose();

	return c ? c->valid(db) : HS_ARCH_ERROR;
}

hs_error_t hs_scan(const hs_database_t *db, const char *data, unsigned int length,
	unsigned int flags, hs_scratch_t *scratch, match_event_handler on_event, void *context)
{
	const struct copy *c = choose();

	return c ? c->scan(db, data, length, flags, scratch, on_event, context) : HS_ARCH_ERROR;
}
