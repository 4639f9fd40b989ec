/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The meta-test takes one control away and requires some escape test to go red. Only the test
 * program bawn-holes is compiled with BAWN_HOLES; in the product every HOLE() is a constant false.
 */

struct bawn_plan;

#ifdef BAWN_HOLES
#include <stdbool.h>
bool bawn_hole(const char *name);
/* The plan without the limits that are taken away. */
const struct bawn_plan *bawn_holes_in(const struct bawn_plan *plan);
#define HOLE(name) bawn_hole(name)
#else
#define bawn_holes_in(plan) (plan)
#define HOLE(name)          0
#endif
