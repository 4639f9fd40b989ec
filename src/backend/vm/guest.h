/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a machine monitor and the first process in its guest have agreed on. */

/* Two streams: the frames of far/frame.h, and requests for files (vm/files.h). */
#define BAWN_GUEST_STREAM      "bawn.stream" /* ports of a virtual serial line … */
#define BAWN_GUEST_FILES       "bawn.files"
#define BAWN_GUEST_STREAM_PORT 1024u /* … or of a vsock: here the guest waits for the host … */
#define BAWN_GUEST_FILES_PORT  1025u /* … and here the host for the guest */

/*
 * The kernel's command line ends with these words, which are those of bawn-inside:
 *
 *   guest serial|vsock files|disk   be the first process; the root's system directories are the
 *                                   host's, or those of the first disk
 *   guest trial -                   say BAWN_GUEST_ALIVE on the console and end
 */
#define BAWN_GUEST_ALIVE "bawn: this machine works"

/* What a machine that lives for one command does not need, and what takes time at its start. */
#define BAWN_GUEST_QUICK \
	"audit=0 cryptomgr.notests 8250.nr_uarts=1 i8042.noaux i8042.nokbd lsm=landlock"
