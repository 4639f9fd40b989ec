/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is to be done, as data: policy × host × verdict. Built once before anything is created, then
 * const. Backends carry it out; they decide nothing and never read the policy.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/control.h"
#include "base/error.h"
#include "base/path.h"
#include "call/call.h"
#include "policy/policy.h"
#include "verdict/verdict.h"

enum bawn_mount_kind {
	BAWN_MNT_RO,      /* bind src to dst, read-only, recursive */
	BAWN_MNT_RW,      /* bind src to dst, writable */
	BAWN_MNT_SCRATCH, /* a directory of the private temporary space at dst */
	BAWN_MNT_SYMLINK, /* dst is a symlink to src */
	BAWN_MNT_HIDE, /* what is at dst (file or directory) is replaced by an unreadable empty one
			*/
	BAWN_MNT_SOCKET, /* a Unix socket of the host, connectable */
	BAWN_MNT_DEVICE, /* a device node of the host */
	BAWN_MNT_FILE,   /* a small read-only file at dst with the text in src */
};

struct bawn_mount {
	enum bawn_mount_kind kind;
	bool no_exec;
	bool optional; /* skip if src does not exist */
	bool protect;  /* BAWN_MNT_RO that keeps a protected path as it is */
	bool pin;      /* BAWN_MNT_RW over itself only so that it cannot be renamed away */
	const char *src;
	const char *dst;
	const char *rule;    /* the setting behind it, for people */
	const char *release; /* of a protected path: the option that would allow it, or NULL */
};

/*
 * A name that must not come into being: `name` in directory `dir` (which exists). When a protected
 * path is missing, the first missing component is guarded. `dir` is a path inside the sandbox.
 */
struct bawn_guard {
	const char *dir;
	const char *name;
	const char *rule;    /* the protected path, for messages */
	const char *release; /* the option that would allow it; NULL if none does */
};

struct bawn_limits {
	uint64_t memory, cpus_milli, cpu_shares, processes, files, disk, disk_reserve, time_ms,
		output;
};

#define BAWN_DNS_PORT 53

/* The network through the door: a process outside that accepts on listeners inside. */
struct bawn_egress_plan {
	enum bawn_netmode mode;   /* open, blocklist or allowlist */
	const char *const *allow; /* rules of base/netrule.h, NULL-terminated */
	const char *const *block;
	bool development;         /* package registries and source hosts are allowed as well */
	bool ssrf, block_private; /* which addresses are refused whatever name leads there */
	uint64_t host_bytes, host_rate_milli; /* per host; BAWN_UNLIMITED for none */
	uint16_t proxy_port, capture_port;    /* of the loopback inside */
};

/* Who builds what. The mounts of a plan are the same for all but the Landlock tier. */
enum bawn_tier {
	BAWN_TIER_FULL,     /* we: namespaces + Landlock + seccomp */
	BAWN_TIER_LANDLOCK, /* we: Landlock + seccomp + rlimits, no user namespaces here */
	BAWN_TIER_CHROOT,   /* we, as root: namespaces without a user namespace, chroot, Landlock,
			       seccomp */
	BAWN_TIER_NEAR,     /* another program: mounts and namespaces of this kernel. bawn-inside
			       adds Landlock, seccomp, limits, network */
	BAWN_TIER_FAR, /* another kernel. bawn-inside is there; files are brought in and changes
			  are brought back */
};

/* Where the system directories come from. */
enum bawn_image_kind {
	BAWN_IMAGE_NONE,      /* always this host's */
	BAWN_IMAGE_CONTAINER, /* an image of the engine, if the policy names one */
	BAWN_IMAGE_DISK,      /* a file system in a file, if the policy names one */
};

/* What concerns some backends only. No member is NULL but `image` and `box`. */
struct bawn_backend_options {
	const char *image;   /* NULL: this host's system directories, as in plan->mounts. Else they
				are not among the mounts, and plan->exe may be a bare name that is
				looked for inside, along PATH */
	bool image_writable; /* changes to it stay possible, and are lost with the run */
	const char *box;     /* NULL, or the container of a box: the run takes place in it */
	const char *box_dir; /* then: the box's private directory, bound in there */
	const char *engine_runtime; /* "": the engine's own choice */
	const char *gvisor_engine;  /* "auto", "direct", "docker" */
	const char *vm_kernel;      /* "": the one that was set up */
	const char *wasm_library;   /* "": look in the usual places */
	uint64_t wasm_fuel;
	const char *seatbelt_profile; /* "strict", "moderate" or a path */
};

/* A secret that this run gets, by one of three ways. */
enum bawn_secret_way {
	BAWN_SECRET_BOUNDARY, /* a variable with a placeholder; the door knows the value */
	BAWN_SECRET_VARIABLE, /* a variable with the value */
	BAWN_SECRET_FILE,     /* a file with the value; <variable>_FILE says where */
};

struct bawn_plan_secret {
	const char *name, *env;
	enum bawn_secret_way way;
	const char *text;         /* placeholder or value: never printed */
	const char *const *hosts; /* NULL-terminated; whom it is bound to */
};

#define BAWN_SECRET_DIR "/run/bawn/secrets"
#define BAWN_CA_FILE    "/run/bawn/ca.pem"

struct bawn_plan {
	const struct bawn_policy *policy; /* for the record only */
	const struct bawn_call *call;
	uint32_t demanded; /* controls without which the call must not start */
	uint32_t may_miss; /* of those, the ones that the policy lets go missing */
	enum bawn_tier tier;

	const char *exe;         /* absolute path as the command sees it */
	const char *const *argv; /* NULL-terminated */
	const char *const *envp; /* NULL-terminated, complete */
	const char *cwd;         /* inside */
	const char *workspace;   /* canonical, same path inside and outside */
	const char *hostname;

	struct bawn_mount *mounts; /* in the order to be made: parents first */
	size_t n_mounts;
	struct bawn_guard *guards;
	size_t n_guards;
	const char *const *protect; /* canonical paths that exist and must not change */
	size_t n_protect;
	const char *const *deny; /* canonical paths that exist and must not be read */
	size_t n_deny;
	const char *const *no_exec; /* canonical directories */
	size_t n_no_exec;
	const char *const *writable; /* canonical roots that can be written, for disk_reserve */
	size_t n_writable;

	const uint16_t *loopback_ports;
	size_t n_loopback_ports;
	const struct bawn_egress_plan *egress; /* NULL: no network beyond the sandbox */
	const struct bawn_plan_secret *secrets;
	size_t n_secrets;
	bool net_closed; /* not even a loopback of its own */
	bool unix_open;  /* some host sockets are granted */
	const char *const
		*sys_allow; /* NULL-terminated syscall names, beyond the default profile */
	const char *const *sys_deny;
	struct bawn_limits limits;
	bool pty;
	struct bawn_backend_options backend;
	const char *note;    /* a remark for the user, or NULL */
	const char *instead; /* said only if the command fails: what it may have missed; or NULL */
};

/* A file of ours that the command must not change, and what it is. */
struct bawn_plan_own {
	const char *path, *what;
};

struct bawn_plan_options {
	const char *backend; /* its name, which the command finds in BAWN_SANDBOX */
	enum bawn_tier tier;
	enum bawn_image_kind image;
	const char *box, *box_dir; /* as in bawn_backend_options */
	bool pty;
	const struct bawn_plan_own *own; /* up to one without a path, or NULL */
	const char *const *vault;        /* and those that it must not even read: the same */
	const struct bawn_plan_secret *secrets;
	size_t n_secrets;
	const char *authorities; /* PEM: who vouches for hosts, the door's among them. NULL without
				    BAWN_SECRET_BOUNDARY */
};

/* The network part of a plan alone, for a door that must start before the rest is known. NULL in
 * *ret if there is to be no network. */
int bawn_plan_egress(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_egress_plan **ret, struct bawn_error *err);

int bawn_plan_make(struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_call *c,
	const struct bawn_verdict *v, const struct bawn_plan_options *o,
	const struct bawn_plan **ret, struct bawn_error *err);
/* Whether a program of this name that is not there is a whole line in one word, or what only shells
 * have. */
bool bawn_is_for_shells(const char *cmd);

/* The mount that a path inside lies on: the last one made over it; NULL if none is. */
static inline const struct bawn_mount *bawn_plan_mount_of(
	const struct bawn_plan *plan, const char *path)
{
	const struct bawn_mount *top = NULL;

	for (size_t i = 0; i < plan->n_mounts; i++)
		if (bawn_path_under(path, plan->mounts[i].dst))
			top = &plan->mounts[i];
	return top;
}
/* The kernel's own files: /proc, /sys and /dev. */
static inline bool bawn_plan_is_kernels(const char *path)
{
	return bawn_path_under(path, "/proc") || bawn_path_under(path, "/sys") ||
	       bawn_path_under(path, "/dev");
}
/* SHA-256 of the printed plan, for the audit log. */
void bawn_plan_digest(const struct bawn_plan *plan, char ret[BAWN_HEX_LEN + 1]);
