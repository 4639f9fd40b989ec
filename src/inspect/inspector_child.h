/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect: the far side of inspector.c. */

#include "inspect/inspect.h"

/*
 * The life of the child: give up everything but `fd` and memory, then answer requests until the
 * other side is closed. Never returns; the exit status is INSPECTOR_UNCONFINED if it could not
 * confine itself.
 */
#define INSPECTOR_UNCONFINED 3
__attribute__((noreturn)) void inspector_child(const struct bawn_policy *p, int fd, pid_t parent);
