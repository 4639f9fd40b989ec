/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between native.c and probe.c. */

#include "backend/backend.h"

int bawn_native_probe(struct bawn_probe *ret, struct bawn_error *err);
int bawn_landlock_probe(struct bawn_probe *ret, struct bawn_error *err);

/* BAWN_ERR_UNSUPPORTED with the reason for which user namespaces do not work here and the exact
 * remedy. */
int bawn_native_no_namespaces(int error, struct bawn_error *err);
