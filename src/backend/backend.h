/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A way to carry out a plan. Every wall, ours or somebody else's, stands behind this vtable. */

#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/error.h"
#include "plan/plan.h"

#define BAWN_BACKEND_ABI 1

struct bawn_backend;

enum bawn_event_kind {
	BAWN_EV_NONE,   /* nothing to read right now */
	BAWN_EV_EXITED, /* the command itself ended; `status` as from waitpid. Others may still run
			 */
	BAWN_EV_FAILED, /* exec failed; `status` is the errno (ENOENT, EACCES, …) */
	BAWN_EV_LIMIT,  /* a limit was hit and everything inside was killed; `control` names it */
	BAWN_EV_DENIED, /* something was refused; `text` says what, by which rule, how to allow it
			 */
	BAWN_EV_ENDED,  /* nothing is left inside. Always the last event */
};

#define BAWN_EVENT_TEXT_MAX 512

struct bawn_event {
	enum bawn_event_kind kind;
	int status;
	uint32_t control; /* BAWN_CTL_*: the limit hit, or the control that refused */
	char text[BAWN_EVENT_TEXT_MAX];
};

struct bawn_usage {
	uint64_t cpu_us;
	uint64_t memory_peak; /* 0 if not known */
};

/* A socket inside the sandbox's network on which somebody outside serves. */
struct bawn_listener {
	const char *kind; /* "proxy", "capture", "dns-udp", "dns-tcp" */
	uint16_t port;
	int fd;
};

/* Base of every backend's own state; a backend embeds it as its first member. */
struct bawn_instance {
	const struct bawn_backend *be;
	uint32_t enforced;  /* the receipt: controls in force, set by await() */
	uint32_t by_cgroup; /* of those, the limits that a control group holds */
	int event_fd;       /* readable when event() has something; owned by the instance */
	int pty_fd;     /* master of the command's terminal when plan->pty, else -1; same owner */
	int *relay_fds; /* listeners inside for plan->loopback_ports, same order; same owner */
	struct bawn_listener *listeners; /* inside, for the door, when plan->egress; same owner */
	size_t n_listeners;
	char walls[256]; /* what enforces it, for people: "user+mount+… namespaces, Landlock 7, …"
			  */
	char flaw[160]; /* "", or what does not work behind this wall although it is complete, for
			   people; set by await(). Another of the same level is preferred */
};

/* What this host can do right now, and why not. */
struct bawn_probe {
	uint32_t offers;  /* BAWN_CTL_*; 0 when it cannot be used at all */
	char version[64]; /* "Landlock ABI 7, Linux 6.18" */
	char reason[200]; /* set when offers is 0 or less than usual, or there is a flaw */
	char remedy[200]; /* the exact command that would change that, or "" */
};

/*
 * One static const object per backend. All members are required unless marked optional. No callback
 * may log, exit, or alter the plan. All are called in the host process, by the thread that runs the
 * call.
 */
struct bawn_backend {
	uint32_t abi;        /* BAWN_BACKEND_ABI */
	const char *name;    /* the word used in policies */
	const char *aliases; /* comma-separated further names, "" for none */
	const char *summary; /* one line for `doctor capabilities` */
	enum bawn_level level;
	int strength;               /* auto takes the largest that meets the plan */
	enum bawn_tier tier;        /* the plan that it carries out */
	enum bawn_image_kind image; /* which images it takes */
	const char *program; /* what its probe starts, looked for along PATH; NULL for nothing.
				An answer is remembered as long as this stays the same */
	bool foreign;        /* made for another operating system: thought of here only by name */
	size_t instance_size;

	/*
	 * Optional. What enforces control BAWN_CTLI_x, in a few words for `bawn explain`, where it
	 * is not what backend/by.c says of the tier: BAWN_CTL_COUNT texts, NULL for the tier's.
	 * Limits that a control group holds are not said here but in the instance's by_cgroup.
	 */
	const char *const *by;

	/* No lasting side effects; may be called at any time. Tries things, does not read versions.
	 */
	int (*probe)(struct bawn_probe *ret, struct bawn_error *err);

	/* Optional. Whether this is something it can run at all (wasm: modules only). */
	bool (*suits)(const struct bawn_plan *plan);

	/*
	 * Optional; called once, before prepare(), perhaps long before there is a plan. Begin with
	 * what is the same for every plan. The rules of prepare() hold.
	 */
	int (*begin)(struct bawn_instance *in, struct bawn_error *err);

	/*
	 * Take every resource and begin to put every control in force; `stdio` are the command's
	 * ends (the caller closes its copies afterwards). No untrusted code has run when it
	 * returns.
	 */
	int (*prepare)(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
		struct bawn_error *err);

	/*
	 * Optional; after prepare(). What this process has to make for the wall, which goes up
	 * meanwhile: control groups. Who has nothing to do before leaves it to await(). The rules
	 * of prepare() hold.
	 */
	int (*limit)(struct bawn_instance *in, struct bawn_error *err);

	/*
	 * Wait until every control is in force, or fail; sets `enforced`. Still nothing has run.
	 * -EOPNOTSUPP with BAWN_ERR_UNSUPPORTED (from here or prepare) when this host cannot do it:
	 * another may be tried.
	 */
	int (*await)(struct bawn_instance *in, struct bawn_error *err);

	/* Let the untrusted code go. */
	int (*start)(struct bawn_instance *in, struct bawn_error *err);

	/* The next event without blocking. */
	int (*event)(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err);

	/* Send a signal to the command (SIGTERM, SIGINT, …) or, with SIGKILL, to everything inside.
	 */
	int (*signal)(struct bawn_instance *in, int signo, struct bawn_error *err);

	/* Optional. What was used; valid after BAWN_EV_ENDED. */
	void (*usage)(struct bawn_instance *in, struct bawn_usage *ret);

	/* Kill all, free all. Never fails; works after a failed or missing begin() or prepare(). */
	void (*destroy)(struct bawn_instance *in);
};

bool bawn_backend_is(const struct bawn_backend *be, const char *name_or_alias);
const struct bawn_backend *bawn_backend_find(const char *name_or_alias);
const struct bawn_backend *bawn_backend_at(size_t i); /* strongest first; NULL past the end */

/* A sandbox of ours stands around this process, in which no other can be built. */
bool bawn_backend_inside(void);

/* Allocate an instance of `be` and let it begin, if it can, while the caller makes a plan. */
int bawn_instance_begin(
	const struct bawn_backend *be, struct bawn_instance **ret, struct bawn_error *err);
/*
 * Prepare *ret, which is an instance of `be` that was begun; any other is freed, and `be` begins
 * here. The caller may do something else before it goes on. *ret is NULL after an error.
 */
int bawn_instance_new(const struct bawn_backend *be, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_instance **ret, struct bawn_error *err);
/* The control groups, if they are not made yet. Else await does it. */
int bawn_instance_limit(struct bawn_instance *in, struct bawn_error *err);
/*
 * Wait for the receipt and compare it with what `plan` demands. Refuses with BAWN_ERR_UNSUPPORTED,
 * naming the missing controls, rather than start with less. What the policy lets go missing is in
 * *ret_missing.
 */
int bawn_instance_await(struct bawn_instance *in, const struct bawn_plan *plan,
	uint32_t *ret_missing, struct bawn_error *err);
/* What enforces control BAWN_CTLI_`i` in this instance, for people. "" for one that is not in the
 * receipt. */
const char *bawn_instance_by(const struct bawn_instance *in, unsigned i);
/* The listeners have been handed on: close our copies, so that nobody waits in a queue of ours. */
void bawn_instance_drop_listeners(struct bawn_instance *in);
struct bawn_instance *bawn_instance_free(struct bawn_instance *in);
