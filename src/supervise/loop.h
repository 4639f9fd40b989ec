/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of one run, shared by the files of this folder and by nobody else. */

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "supervise/supervise.h"

#define PUMP_SIZE       ((size_t)64 << 10)
#define INPUT_SIZE      ((size_t)4096)
#define STOP_GRACE_MS   2000  /* between a forwarded signal and SIGKILL */
#define READER_GRACE_MS 500   /* how long a stuck reader is waited for after a kill */
#define KILL_AGAIN_MS   500   /* SIGKILL is repeated while something is left inside */
#define PAUSE_MS        100   /* before something that cannot be polled for is tried again */
#define FILTER_IDLE_MS  50    /* silence after which a filter lets go of what it can */
#define WAKE_MAX_MS     10000 /* poll's clock stops during suspend, ours does not */
#define RELAY_CONNS_MAX 64

/* Fixed places in the poll set; fd is -1 where there is nothing to wait for. */
enum slot {
	SLOT_EVENT,
	SLOT_SIGNAL,
	SLOT_WATCH,
	SLOT_FROM,                /* + stream */
	SLOT_TO = SLOT_FROM + 2,  /* + stream */
	SLOT_INPUT = SLOT_TO + 2, /* the caller's stdin */
	SLOT_INPUT_TO,            /* the command's */
	SLOT_RELAY,               /* listeners, then two per connection */
};

/* How bytes are written to a descriptor of the caller without ever blocking for long. */
enum outlet_kind {
	OUTLET_NONE,
	OUTLET_UNKNOWN, /* not looked at yet */
	OUTLET_FILE,    /* write(2) does not wait for anybody */
	OUTLET_SOCKET,
	OUTLET_PIPE,   /* RWF_NOWAIT */
	OUTLET_OWN,    /* reopened: a description of our own, non-blocking */
	OUTLET_PIECES, /* PIPE_BUF at a time, when poll says so */
};

/* One direction of output: from the command to the caller. */
struct stream {
	unsigned index; /* 0 stdout, 1 stderr */
	int from;       /* -1 when there is no more to read */
	bool pty;       /* `from` is the terminal's master and belongs to the instance */
	int to;
	int own; /* reopened `to`, or -1 */
	enum outlet_kind kind;
	struct bawn_buf *keep;
	uint64_t *count;
	char *buf;       /* PUMP_SIZE, made when first needed */
	const char *out; /* what is to be passed on: `buf`, or what the filter made of it */
	size_t off, len;
	struct bawn_buf filtered;
	int64_t flush_at; /* the filter may hold something back: ask for it then */
	bool fed;         /* the filter has seen something and not its end */
	size_t budget;    /* how much may still be read */
	int64_t retry_at;
};

struct input {
	int from; /* the caller's; -1 when over */
	int to;   /* ours or, with `pty`, the master */
	bool pty;
	bool line_open; /* the last byte to the terminal was not a newline */
	char buf[INPUT_SIZE];
	size_t off, len;
	int64_t retry_at;
};

struct way {
	char buf[16384];
	size_t off, len;
	bool eof, shut;
};

struct conn {
	int inside, outside;
	uint16_t port;
	bool connecting, v6;
	struct way up, down;
};

struct relay {
	const int *listeners;
	const uint16_t *ports;
	size_t n;
	struct conn *conns[RELAY_CONNS_MAX];
	size_t n_conns;
	int64_t retry_at;
};

struct signals {
	int fd;
	bool masked;  /* `before` is to be restored */
	bool no_pipe; /* SIGPIPE is blocked by us */
	bool piped;   /* a write of ours may have raised it */
	sigset_t before;
};

struct terminal {
	int fd; /* the user's, or -1 */
	bool raw;
	struct termios before;
};

struct loop {
	struct bawn_arena *arena;
	struct bawn_instance *in;
	const struct bawn_plan *plan;
	struct bawn_stdio *stdio;
	const struct bawn_outlets *o;
	struct bawn_outcome *ret;
	struct stream streams[2];
	struct input input;
	struct relay relay;
	struct signals signals;
	struct terminal terminal;
	struct pollfd *p;
	nfds_t n_p;
	int64_t now, started, deadline;
	int64_t stop_at;    /* SIGKILL after a forwarded signal */
	int64_t kill_again; /* SIGKILL once more */
	int64_t flush_until;
	bool watching; /* the other source of events has not ended */
	bool gone;     /* the command itself is: exited or never executed */
	bool cut;      /* ended against its will: nobody waits for stuck readers any more */
	bool ended;    /* nothing is left inside */
};

#define NEVER INT64_MAX

/* Wait for `fd` in this round, or not if events is 0. */
static inline void loop_want(struct loop *l, size_t slot, int fd, short events)
{
	l->p[slot] = (struct pollfd){.fd = events ? fd : -1, .events = events};
}

static inline void loop_sooner(int64_t *at, int64_t other)
{
	if (other < *at)
		*at = other;
}

/* loop.c */
int loop_kill(struct loop *l, struct bawn_error *err);
int loop_limit(struct loop *l, uint32_t control, struct bawn_error *err);
/* Pass a signal on to the command; SIGKILL follows after a while. */
int loop_stop(struct loop *l, int signo, struct bawn_error *err);

/* pump.c */
void stream_open(struct loop *l, unsigned index);
void stream_close(struct loop *l, struct stream *st);
void stream_arm(struct loop *l, struct stream *st, int64_t *wake);
int stream_step(struct loop *l, struct stream *st, struct bawn_error *err);
void stream_last(struct loop *l, struct stream *st); /* nothing is left inside */
void stream_drop(struct loop *l, struct stream *st); /* nobody reads it any more */
void stream_done(struct stream *st);
void input_open(struct loop *l);
void input_arm(struct loop *l, int64_t *wake);
void input_step(struct loop *l);
void input_close(struct loop *l);

/* signals.c */
int signals_open(struct loop *l, struct bawn_error *err);
int signals_step(struct loop *l, struct bawn_error *err);
void signals_no_pipe(struct loop *l);
void signals_done(struct loop *l);

/* terminal.c */
bool terminal_foreground(int fd);
void terminal_enter(struct loop *l);
void terminal_size(struct loop *l);
void terminal_leave(struct loop *l);

/* relay.c */
size_t relay_slots(const struct bawn_plan *plan);
int relay_open(struct loop *l, struct bawn_error *err);
void relay_arm(struct loop *l, int64_t *wake);
void relay_step(struct loop *l);
void relay_done(struct loop *l);
