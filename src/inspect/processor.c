/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hyperscan's runtime is there once per kind of processor. Its own dispatcher asks the processor
 * at the start of every program, for each function anew, and in a virtual machine every question
 * leaves the guest. Here it is asked when the first text is matched: most starts have none.
 *
 * Stands in for that dispatcher, and only where the build has found that it can: the two functions
 * are the only ones of it that are used.
 */
#include <hs_runtime.h>
#include <stddef.h>

#include "cpu.h" /* beside this file: the build tries it alone */

typedef hs_error_t scan_fn(const hs_database_t *db, const char *data, unsigned length,
	unsigned flags, hs_scratch_t *scratch, match_event_handler onEvent, void *context);
typedef hs_error_t valid_fn(const hs_database_t *db);

/* Hyperscan's, without a header; the last is the newest. */
extern scan_fn core2_hs_scan, corei7_hs_scan, avx2_hs_scan, avx512_hs_scan, avx512vbmi_hs_scan;
extern valid_fn core2_dbIsValid, corei7_dbIsValid, avx2_dbIsValid, avx512_dbIsValid,
	avx512vbmi_dbIsValid;
valid_fn dbIsValid;

enum kind {
	UNASKED,
	TOO_OLD,
	CORE2,
	COREI7,
	AVX2,
	AVX512,
	AVX512VBMI
};

static enum kind ask(void)
{
	const unsigned sse42 = bit_SSE4_2 | bit_POPCNT, avx512 = bit_AVX512F | bit_AVX512BW;
	struct bawn_cpu x = bawn_cpu_ask();

	if (x.one & bit_AVX) {
		if ((x.state & BAWN_CPU_AVX512) == BAWN_CPU_AVX512 && (x.seven & avx512) == avx512)
			return x.seven_c & bit_AVX512VBMI ? AVX512VBMI : AVX512;
		if ((x.state & BAWN_CPU_AVX) == BAWN_CPU_AVX && x.seven & bit_AVX2)
			return AVX2;
	}
	if ((x.one & sse42) == sse42)
		return COREI7;
	return x.one & bit_SSSE3 ? CORE2 : TOO_OLD;
}

static enum kind kind(void)
{
	static enum kind known;

	if (known == UNASKED)
		known = ask();
	return known;
}

static const struct {
	valid_fn *valid;
	scan_fn *scan;
} of[] = {
	[TOO_OLD] = {NULL, NULL},
	[CORE2] = {core2_dbIsValid, core2_hs_scan},
	[COREI7] = {corei7_dbIsValid, corei7_hs_scan},
	[AVX2] = {avx2_dbIsValid, avx2_hs_scan},
	[AVX512] = {avx512_dbIsValid, avx512_hs_scan},
	[AVX512VBMI] = {avx512vbmi_dbIsValid, avx512vbmi_hs_scan},
};

hs_error_t dbIsValid(const hs_database_t *db)
{
	valid_fn *valid = of[kind()].valid;

	return valid ? valid(db) : HS_ARCH_ERROR;
}

hs_error_t hs_scan(const hs_database_t *db, const char *data, unsigned length, unsigned flags,
	hs_scratch_t *scratch, match_event_handler onEvent, void *context)
{
	scan_fn *scan = of[kind()].scan;

	return scan ? scan(db, data, length, flags, scratch, onEvent, context) : HS_ARCH_ERROR;
}
