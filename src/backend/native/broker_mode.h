/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which calls are suspended. */
enum bawn_broker_mode {
	BAWN_BROKER_OFF,    /* nothing to guard */
	BAWN_BROKER_CREATE, /* calls that can make a name, bind(), connect() and umask() */
	BAWN_BROKER_WRITE,  /* + calls that change a path (Landlock tier, protected paths exist) */
	BAWN_BROKER_ALL,    /* + every open, stat-free (Landlock tier, denied paths inside granted
			       ones) */
};
