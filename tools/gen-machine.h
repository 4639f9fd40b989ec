/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kind of machine that a generated filter is for, as the compiler calls it. */

#if defined(__x86_64__)
#define MACHINE "__x86_64__"
#elif defined(__aarch64__)
#define MACHINE "__aarch64__"
#else
#error "no system call profile for this architecture yet"
#endif
