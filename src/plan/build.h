/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The plan while it is being made; private to this folder. Each maker adds its part, in this order.
 */

#include "base/path.h"
#include "plan/git.h"
#include "plan/plan.h"

struct plan_builder {
	struct bawn_arena *a;
	const struct bawn_policy *p;
	const struct bawn_call *c;
	struct bawn_plan *plan;
	size_t mounts_cap, guards_cap;
	struct bawn_strlist protect, deny, no_exec, writable;
	struct bawn_git git;
	const struct bawn_plan_own *own; /* further files that must not change */
	const char *const *vault;        /* nor be read */
	const char *authorities;         /* PEM or NULL */
	const char *ca_file;             /* where it is inside; NULL without */
	const char *backend;             /* its name */
	const char *home;                /* as the command sees it */
	bool workspace_writable;
	bool ours;          /* what is being protected is released by no grant */
	enum bawn_layer by; /* who protects it: no weaker layer's grant releases it */
	bool container;     /* for a container engine */
};

/* mounts.c */
int plan_add_mount(struct plan_builder *b, struct bawn_mount m, struct bawn_error *err);
/* The last mount that covers `path`, NULL if it is not visible inside. */
const struct bawn_mount *plan_cover(const struct plan_builder *b, const char *path);
int plan_make_mounts(struct plan_builder *b, struct bawn_error *err);
int plan_sort_mounts(struct plan_builder *b, struct bawn_error *err);
int plan_make_nodes(struct plan_builder *b, struct bawn_error *err); /* sockets and devices */

/* container.c: what only containers have. */
int plan_make_container(struct plan_builder *b, struct bawn_error *err);

/* protect.c: what must not change, existing or not. */
int plan_make_protect(struct plan_builder *b, struct bawn_error *err);
/* The directories above `path`, up to the writable one it lies in, stay where they are. */
int plan_pin_above(
	struct plan_builder *b, const char *path, const char *rule, struct bawn_error *err);
/* deny.c: what must not be read; and directories nothing is executed from. */
int plan_make_deny(struct plan_builder *b, struct bawn_error *err);
int plan_make_no_exec(struct plan_builder *b, struct bawn_error *err);

/* egress.c: the network through the door, or nothing. */
bool plan_needs_door(const struct bawn_policy *p);
int plan_make_egress(struct plan_builder *b, struct bawn_error *err);
/* Calls `put` with each variable that leads programs to the door. 0 or -ENOMEM. */
int plan_proxy_env(
	const struct plan_builder *b, void (*put)(void *, const char *, const char *), void *data);

/* secrets.c: what of the vault's secrets enters, and who vouches for bound hosts. */
int plan_make_secrets(struct plan_builder *b, struct bawn_error *err);
/* Calls `put` with each variable that belongs to them. 0 or -ENOMEM. */
int plan_secret_env(
	const struct plan_builder *b, void (*put)(void *, const char *, const char *), void *data);
/* Is this variable one that holds a secret or stands for one? */
bool plan_is_secret_env(const struct bawn_plan *plan, const char *assignment);

/* command.c: environment and program. */
int plan_make_env(struct plan_builder *b, struct bawn_error *err);
int plan_make_exe(struct plan_builder *b, struct bawn_error *err);
