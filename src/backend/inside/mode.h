/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What bawn-inside can be: one function per mode, one file each. `argv` are the words after the
 * mode's name, ended by NULL. A mode returns only when it could not begin, with the exit status; it
 * may say why on stderr, which the tool's host process keeps.
 */
struct bawn_inside_mode {
	const char *name;
	const char *usage;
	int (*run)(char *const *argv);
};

/* near.c: behind another program's wall on this kernel. "fd:N" or "unix:PATH": the socket. */
int bawn_inside_near(char *const *argv);
/* far.c: on another kernel; frames on standard input and output. "pids": the command gets a pid
 * namespace, and /proc is mounted anew for it. "gvisor": only on that kernel. */
int bawn_inside_far(char *const *argv);
/* wait.c: the first process of a box: reaps, until it is told to end. */
int bawn_inside_wait(char *const *argv);
/* reap.c: on the host, run an engine until the last of its helpers has ended. */
int bawn_inside_reap(char *const *argv);
/* exec.c: on the host, start a stage in a box. */
int bawn_inside_exec(char *const *argv);
