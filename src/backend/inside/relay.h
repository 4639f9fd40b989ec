/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The guest's end of the file server (vm/files.h): requests of the guest's kernel go out on a
 * stream, answers come back.
 *
 * Runs in: bawn-inside as the first process of a virtual machine, and a child of it.
 */

/* Mount the host's files at `where`, served through `stream`, by a child. 0 or a negative errno. */
int bawn_relay_mount(int stream, const char *where);
