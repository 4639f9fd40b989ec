/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A data key in the kernel's keyring of this user, for a while. Named by the vault's key id. */

#include "secrets/vault/format.h"

/* -EOPNOTSUPP where the kernel has no keyrings or a container's filter refuses them. */
int keyring_put(const struct format *f, uint32_t seconds);
/* -ENOKEY if there is none (any more). */
int keyring_get(const struct format *f, uint8_t dst[KEY_LEN]);
/* 1 if there was one. */
int keyring_drop(const struct format *f);
