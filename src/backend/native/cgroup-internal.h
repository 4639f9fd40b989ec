/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The same as in cgroup.h on a host of the caller's making. For cgroup.c and its tests. */

#include "backend/native/cgroup.h"
#include "backend/native/hierarchy.h"

uint32_t bawn_cgroup_probe_at(const struct bawn_cgroup_host *host, char detail[80], char why[160]);
int bawn_cgroup_new_at(const struct bawn_cgroup_host *host, const struct bawn_limits *limits,
	struct bawn_cgroup **ret, uint32_t *ret_enforced, struct bawn_error *err);
