/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Inside the broker: one suspended call, the places its paths name, and who may do what there. */

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/seccomp.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "backend/native/broker.h"

struct bawn_folded {
	dev_t dev; /* of the guarded directory when the broker was made; 0, 0: unknown */
	ino_t ino;
	char *name; /* folded */
};

/* A socket node that was bound in this sandbox; the time of its birth tells it from a later one
 * with the same number. */
struct bawn_own {
	uint64_t dev, ino;
	int64_t sec;
	uint32_t nsec;
};

struct bawn_broker {
	const struct bawn_plan *plan;
	enum bawn_broker_mode mode;
	int listener;
	pid_t self;
	bawn_broker_report_fn *report;
	void *data;
	struct bawn_folded *guards; /* plan->n_guards of them */
	mode_t umask;               /* ours, and the command's until one of them changes it */
	bool umask_changed;         /* by any process in the sandbox */
	struct bawn_own *own;
	size_t n_own, max_own, next_own;
	unsigned int failures_told;
	uint64_t last_told; /* hash of the last text, so that a loop is told once */
};

/* Descriptors that only some calls need; -1 until they do. */
struct bawn_lazy {
	int proc; /* the caller's /proc/TID */
	int mem;  /* its memory, where it cannot be read in a cheaper way */
};

/* A suspended call. What is found by the caller's number is only believed while the call is still
 * suspended afterwards: then the number was the caller's all the time. */
struct bawn_susp {
	struct bawn_broker *b;
	uint64_t id;
	pid_t tid;
	const uint64_t *args;
	struct bawn_lazy *lazy;
};

/* Where a path leads: a name in a directory, or (whole >= 0) one of the caller's descriptors. */
struct bawn_place {
	int dir;
	int whole;
	bool slash; /* slashes behind the name */
	char name[NAME_MAX + 2];
};

#define BAWN_PLACE_NONE                \
	{                              \
		.dir = -1, .whole = -1 \
	}
void bawn_place_done(struct bawn_place *p);
#define _cleanup_place_ _cleanup_(bawn_place_done)

enum bawn_change {
	BAWN_CHANGE_MAKE,    /* an empty file or directory comes into being */
	BAWN_CHANGE_PUT,     /* something that may bring other names along does: link, rename */
	BAWN_CHANGE_CONTENT, /* what is there is changed */
	BAWN_CHANGE_AWAY,    /* the name goes away */
	BAWN_CHANGE_READ,
};

/* broker_path.c */
int bawn_susp_string(struct bawn_susp *s, uint64_t addr, char *dst, size_t size);
int bawn_susp_bytes(struct bawn_susp *s, uint64_t addr, void *dst, size_t size);
/* The caller's /proc/TID, or a negative errno; stays ours. */
int bawn_susp_proc(const struct bawn_susp *s);
/* The caller's directory descriptor as one of ours (O_PATH). */
int bawn_susp_base(const struct bawn_susp *s, int dirfd);
/* A number from a line of the caller's /proc/TID/status, in that base; -1 if it is not there. */
long bawn_susp_status(const struct bawn_susp *s, const char *key, int radix);
/* Work under the caller's umask; returns ours. */
mode_t bawn_susp_umask(const struct bawn_susp *s);
/* Find where `path` leads from `base` (consumed), last component not followed. With `whole`, a path
 * that is one of the caller's descriptors yields it. */
int bawn_susp_locate(
	const struct bawn_susp *s, int base, const char *path, bool whole, struct bawn_place *ret);
/* Argument number `arg` is a path relative to `dirfd`. */
int bawn_susp_locate_arg(
	struct bawn_susp *s, int dirfd, unsigned int arg, bool whole, struct bawn_place *ret);
/* Canonical path of a descriptor / a place; 0 or a negative errno. */
int bawn_fd_path(int fd, char dst[PATH_MAX]);
int bawn_place_path(const struct bawn_place *p, char dst[PATH_MAX + NAME_MAX + 2]);
/* Follow the symlink `link` (O_PATH) found at *p: *ret_base and `text` are where to go on. */
int bawn_susp_follow(const struct bawn_susp *s, struct bawn_place *p, int link, int *ret_base,
	char text[PATH_MAX]);

/* True if the text leads through the caller's own /proc directory: it means another for us. */
bool bawn_susp_own_proc(const struct bawn_susp *s, const char *path);

/* Follow final symlinks until *p is the thing itself. */
int bawn_susp_follow_all(const struct bawn_susp *s, struct bawn_place *p);

/* broker_guard.c */
int bawn_guard_init(struct bawn_broker *b);
void bawn_guard_done(struct bawn_broker *b);
/* 0, or the negative errno to answer; tells the operator. */
int bawn_guard_check(const struct bawn_susp *s, const struct bawn_place *p, enum bawn_change what);
void bawn_guard_failed(const struct bawn_susp *s, const struct bawn_place *p, int error);
/* For the record only: the network namespace is the wall. */
void bawn_guard_connect(
	const struct bawn_susp *s, const struct sockaddr_storage *addr, socklen_t len);
void bawn_guard_host_socket(const struct bawn_susp *s, const char *path);
/* Lower case, without code points that some file systems ignore. */
void bawn_guard_fold(const char *name, char *dst, size_t size);

/* broker_open.c: answer the call themselves. */
void bawn_broker_open(
	struct bawn_susp *s, int dirfd, unsigned int path_arg, int flags, mode_t mode);
/* broker_ops.c: return the result or a negative errno. */
struct bawn_op {
	int nr;
	long (*act)(struct bawn_susp *s, const struct bawn_op *op);
	signed char dir1, path1; /* argument numbers; without dir1 the working directory, without
				    path1 the descriptor dir1 itself */
	signed char dir2, path2;
	signed char flags; /* -1: `fixed` instead */
	signed char data;  /* the first argument that says what to do: mode, owner, times … */
	int fixed;
};
int bawn_op_int(const struct bawn_susp *s, int arg, int none);
int bawn_op_dir(const struct bawn_susp *s, int arg);
extern const struct bawn_op bawn_broker_ops[];
extern const size_t bawn_broker_n_ops;

/* broker_attr.c */
long bawn_act_truncate(struct bawn_susp *s, const struct bawn_op *op);
long bawn_act_chmod(struct bawn_susp *s, const struct bawn_op *op);
long bawn_act_chown(struct bawn_susp *s, const struct bawn_op *op);
long bawn_act_utimensat(struct bawn_susp *s, const struct bawn_op *op);
long bawn_act_utimes(struct bawn_susp *s, const struct bawn_op *op);
long bawn_act_utime(struct bawn_susp *s, const struct bawn_op *op);
long bawn_act_setxattr(struct bawn_susp *s, const struct bawn_op *op);
long bawn_act_removexattr(struct bawn_susp *s, const struct bawn_op *op);

/* broker_sock.c */
long bawn_act_connect(struct bawn_susp *s, const struct bawn_op *op);
long bawn_act_bind(struct bawn_susp *s, const struct bawn_op *op);

/* broker.c */
/* Between the two a call that waits is interrupted (EINTR) every so often, even if the first tick
 * came before it began. Returns 0 or a negative errno. */
int bawn_tick_on(suseconds_t us, sigset_t *ret_old);
void bawn_tick_off(const sigset_t *old);
/* A child that carries out what may block: it ends with the broker; with `tick` it can look now and
 * then whether the caller still waits. */
void bawn_child_begin(bool tick);
#define BAWN_ANSWERED LONG_MAX       /* the function has answered, or a child of ours will */
#define BAWN_CONTINUE (LONG_MAX - 1) /* let the kernel do it: never where a refusal is policy */
void bawn_susp_answer(const struct bawn_susp *s, long result);
/* Gives `fd` to the caller and closes it; with `late`, a little after the caller goes on. */
void bawn_susp_answer_fd(const struct bawn_susp *s, int fd, bool cloexec, bool late);
bool bawn_susp_alive(const struct bawn_susp *s);
