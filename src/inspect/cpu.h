/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What this processor can do, asked when there is something to match: the C library may not have
 * asked (base/start.c), and the compiler's own way would ask before main(), in every start of the
 * program. In a virtual machine each question is slow. For x86 alone.
 */

#include <cpuid.h>
#include <stddef.h>

#define BAWN_CPU_AVX    0x06u /* registers that the kernel keeps for everybody */
#define BAWN_CPU_AVX512 0xe6u

struct bawn_cpu {
	unsigned one;            /* bit_* of leaf 1, ecx */
	unsigned seven, seven_c; /* … of leaf 7, ebx and ecx; 0 without room for AVX */
	unsigned state;          /* BAWN_CPU_* */
};

static inline struct bawn_cpu bawn_cpu_ask(void)
{
	struct bawn_cpu x = {0};
	unsigned most = (unsigned)__get_cpuid_max(0, NULL), a, b, d, high;

	if (most < 1)
		return x;
	__cpuid(1, a, b, x.one, d);
	if (!(x.one & bit_OSXSAVE) || most < 7)
		return x;
	__asm__("xgetbv" : "=a"(x.state), "=d"(high) : "c"(0));
	__cpuid_count(7, 0, a, x.seven, x.seven_c, d);
	return x;
}
