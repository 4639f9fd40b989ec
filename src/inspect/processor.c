/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hyperscan's runtime is there once per kind of processor. Its own dispatcher asks the processor
 * at the start of every program, for each function anew, and in a virtual machine every question
 * leaves the guest. Here it is asked when the first text is matched: most starts have none.
 *
 * Stands in for that dispatcher, and only where the build has found that it can: the two functions
 * are the only ones of it that are used.
 */
#include <cpuid.h>
#include <hs_runtime.h>
#include <stddef.h>
#include <stdint.h>

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

#define SSSE3        (1u << 9) /* leaf 1, ecx */
#define SSE42_POPCNT (1u << 20 | 1u << 23)
#define XSAVE        (1u << 27)
#define AVX          (1u << 28)
#define AVX2_BIT     (1u << 5) /* leaf 7, ebx */
#define AVX512_F_BW  (1u << 16 | 1u << 30)
#define AVX512_VBMI  (1u << 1) /* leaf 7, ecx */
#define STATE_YMM    0x06u
#define STATE_AVX512 0xe0u

/* What the kernel keeps for a process: registers that it does not are not to be used. */
static uint32_t kept_state(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static enum kind ask(void)
{
	uint32_t a, b, c, d, one;

	__cpuid(1, a, b, one, d);
	if ((one & (XSAVE | AVX)) == (XSAVE | AVX)) {
		uint32_t kept = kept_state();

		__cpuid_count(7, 0, a, b, c, d);
		if ((kept & STATE_AVX512) == STATE_AVX512 && (b & AVX512_F_BW) == AVX512_F_BW)
			return c & AVX512_VBMI ? AVX512VBMI : AVX512;
		if ((kept & STATE_YMM) == STATE_YMM && b & AVX2_BIT)
			return AVX2;
	}
	if ((one & SSE42_POPCNT) == SSE42_POPCNT)
		return COREI7;
	return one & SSSE3 ? CORE2 : TOO_OLD;
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
