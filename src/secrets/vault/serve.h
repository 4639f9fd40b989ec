/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The vault's process: answers questions on a socket until the other side has gone. */

#include "secrets/vault/format.h"

/* 0 when it has, negative when it sent nonsense. `cost` NULL for the real one. */
int vault_serve(int fd, const struct format_cost *cost);
/* sandbox.c: nothing but memory, the socket and the keyring from here on. */
int vault_sandbox(void);
