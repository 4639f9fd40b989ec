/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "policy/model.h"

/* Fill p->digest from every effective value, not from where the values came. 0 or -ENOMEM. */
int bawn_policy_digest(struct bawn_policy *p);
