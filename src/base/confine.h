/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the processes of ours that hold or read dangerous things (the door, the vault) do to
 * themselves first. 0 or a negative errno, which is fatal to them. What sanitizers cannot live with
 * is left out under them.
 */

#include <stddef.h>

#include <linux/filter.h>

/* End with the parent, gain nothing by exec, be neither read nor dumped. */
int bawn_confine_begin(void);
int bawn_confine_capabilities(void);
int bawn_confine_filter(struct sock_filter *prog, size_t len);
