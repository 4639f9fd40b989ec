/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connections that know nothing of the door, led to it. Runs in a network namespace that has only a
 * loopback, by a process that is privileged in it. Nothing here allocates memory.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * From here on every TCP connection to an address other than the loopback's arrives at `port` of
 * 127.0.0.1 or, with `v6`, of ::1. Everything else that is no loopback address answers "network is
 * unreachable" at once. 0 or a negative errno with *ret_what set to what could not be done.
 */
int bawn_redirect(uint16_t port, bool v6, const char **ret_what);
