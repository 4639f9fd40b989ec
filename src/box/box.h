/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Boxes: containers that stay, with a project in them. A box is a record on disk and a container of
 * an engine; runs take place in it through the docker or podman backend (plan->backend.box). Every
 * change is made under the box's lock and so that a reader sees the box before or after it; what a
 * killed bawn leaves is removed by the next one that looks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "policy/policy.h"

#define BAWN_BOXES_MAX    32
#define BAWN_BOX_NAME_MAX 40

struct bawn_box {
	const char *name;
	const char *engine;          /* "docker" or "podman" */
	const char *container;       /* its name in the engine */
	const char *image;           /* as asked for; "": this host's system */
	const char *image_id;        /* what the engine made of it */
	const char *dockerfile;      /* where the image came from, canonical; "" if it did not */
	const char *project;         /* the workspace, canonical */
	const char *dir;             /* the private directory that is bound inside */
	const char *stage;           /* which bawn-inside is in it */
	uint64_t created, changed;   /* microseconds since 1970 */
	bool ready;                  /* false: whoever made it did not come to the end */
	const char *const *policies; /* --policy files; NULL-terminated or NULL */
	const struct bawn_setting *settings;
	size_t n_settings;
	int lock; /* held until bawn_box_close(); -1 in lists */
};

enum bawn_box_lock {
	BAWN_BOX_USE,    /* others may use it as well */
	BAWN_BOX_CHANGE, /* nobody else; -EBUSY if somebody uses it */
};

/* How a long step is watched: each line that the engine writes, and the steps by name. */
struct bawn_box_watch {
	void (*line)(void *data, const char *text, size_t len);
	void *data;
};

/* record.c */
int bawn_box_open(struct bawn_arena *a, const char *name, enum bawn_box_lock how,
	struct bawn_box **ret, struct bawn_error *err);
struct bawn_box *bawn_box_close(struct bawn_box *b); /* NULL is fine; returns NULL */
BAWN_DEFINE_CLEANUP(struct bawn_box, box, bawn_box_close)
#define _cleanup_box_ _cleanup_(cleanup_box_p)
/* All of them, newest first, without locks. */
int bawn_box_list(
	struct bawn_arena *a, struct bawn_box ***ret, size_t *ret_n, struct bawn_error *err);

/* box.c. The engine, the image and the limits are what the policy of `want` says. */
/* Takes name, project, policies, settings, dockerfile and image of `want`. */
int bawn_box_create(struct bawn_arena *a, const struct bawn_box *want,
	const struct bawn_box_watch *watch, struct bawn_box **ret, struct bawn_error *err);
/* "running", "stopped", "paused", "gone", "unfinished", or "unknown" if the engine does not answer.
 */
void bawn_box_states(struct bawn_box *const *boxes, size_t n, const char **ret);
int bawn_box_start(struct bawn_arena *a, struct bawn_box *b, struct bawn_error *err);
int bawn_box_stop(struct bawn_box *b, struct bawn_error *err);
/* Container, directory and record. */
int bawn_box_remove(struct bawn_box *b, struct bawn_error *err);
/* Put another image under the box: the new container runs before the old one goes. The workspace
 * stays; private temporary space does not. `image` NULL: the same again, as it is now. */
int bawn_box_swap(struct bawn_arena *a, struct bawn_box *b, const char *image,
	const char *dockerfile, const struct bawn_box_watch *watch, struct bawn_error *err);
/* Whether runs can take place in it: its stage is this bawn's. */
int bawn_box_usable(struct bawn_arena *a, const struct bawn_box *b, struct bawn_error *err);
/* Containers of ours that no record knows, and directories that nobody uses. Returns how many. */
int bawn_box_sweep(struct bawn_arena *a, struct bawn_error *err);

/* image.c: one image per Dockerfile, named by what it says. */
struct bawn_image {
	const char *dockerfile; /* canonical */
	const char *context;    /* the directory it is built in, canonical */
	const char *name;       /* "bawn-env:KEY" */
	const char *key;        /* SHA-256 of the Dockerfile and of what its context leaves out */
	const char *built_key;  /* of the image that was built last; "" if there is none */
	bool present;           /* the engine has it */
	bool stale;             /* one was built before, of another text */
	bool built;             /* just now */
};

struct bawn_image_options {
	const char *engine;     /* "docker" or "podman" */
	const char *dockerfile; /* NULL: "Dockerfile" in the context */
	const char *context;    /* NULL: the directory of the Dockerfile */
	const char *network;    /* for its steps; NULL: none */
	bool no_cache;          /* every step anew */
	bool always;            /* build even if it is there */
};

/* What there is; builds nothing. */
int bawn_image_look(struct bawn_arena *a, const struct bawn_image_options *o,
	struct bawn_image *ret, struct bawn_error *err);
/* Get or build. */
int bawn_image_make(struct bawn_arena *a, const struct bawn_image_options *o,
	const struct bawn_box_watch *watch, struct bawn_image *ret, struct bawn_error *err);
/* Remove the one that was built of an earlier text, unless a box still uses it. */
void bawn_image_tidy(
	struct bawn_arena *a, const struct bawn_image_options *o, const struct bawn_image *im);
/* Forget and remove it, and the one that was built before; the next one asked for is built. */
int bawn_image_forget(struct bawn_arena *a, const struct bawn_image_options *o,
	struct bawn_image *ret, struct bawn_error *err);
