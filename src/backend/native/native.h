/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between native.c, probe.c and the other walls of this kernel. */

#include "backend/backend.h"

int bawn_native_probe(struct bawn_probe *ret, struct bawn_error *err);
int bawn_chroot_probe(struct bawn_probe *ret, struct bawn_error *err);
int bawn_landlock_probe(struct bawn_probe *ret, struct bawn_error *err);
/* What this host can do with `be`: its wall is built around nothing (in `image`, if not NULL) and
 * taken down again. Sets offers, version (if still empty) and reason. */
int bawn_probe_by_doing(const struct bawn_backend *be, const char *image, struct bawn_probe *ret);

/* BAWN_ERR_UNSUPPORTED with the reason for which user namespaces do not work here and the exact
 * remedy. */
int bawn_native_no_namespaces(int error, struct bawn_error *err);
/* A sandbox of ours stands around us, in which no other can be built. */
bool bawn_native_inside(void);
