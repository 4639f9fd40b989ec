/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The secrets of one run: which it asks for, whether it may have them, and how each gets there.
 * Values are here only as long as the run, in locked memory that children do not see.
 */

#include "audit/audit.h"
#include "egress/control.h"
#include "pipeline/pipeline.h"
#include "plan/plan.h"

struct bawn_granted; /* NULL: this run uses none */

/*
 * `values` false: for `explain`, which asks for no approval and takes no value. Fails with
 * BAWN_ERR_BLOCKED if one may not be used, BAWN_ERR_VAULT if it cannot be had.
 */
int bawn_granted_make(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_secrets_input *in, bool values, struct bawn_granted **ret,
	struct bawn_error *err);
struct bawn_granted *bawn_granted_free(struct bawn_granted *g); /* wipes; NULL is fine */
/* Wipe the values in the environment of a plan that nobody will use any more. */
void bawn_granted_forget(const struct bawn_granted *g, const struct bawn_plan *plan);

/* For the plan. */
const struct bawn_plan_secret *bawn_granted_plan(const struct bawn_granted *g, size_t *ret_n);
/* For the door; NULL and 0 if none goes that way. */
const struct bawn_egress_secret *bawn_granted_door(const struct bawn_granted *g, size_t *ret_n);
/* For the output: values to be masked, NULL-terminated, or NULL. */
const char *const *bawn_granted_values(const struct bawn_granted *g);
/* Values that enter the sandbox, in words, or NULL. */
const char *bawn_granted_warning(struct bawn_arena *a, const struct bawn_granted *g);
/* One that cannot be masked, in words, or NULL. */
const char *bawn_granted_short(struct bawn_arena *a, const struct bawn_granted *g);
/* One record per secret, before the run starts. */
int bawn_granted_record(const struct bawn_granted *g, struct bawn_audit *au, const char *run_id,
	struct bawn_error *err);

/* The vault's files and the key file, which no run can read. NULL-terminated; NULL: no memory. */
const char *const *bawn_vault_files(
	struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_secrets_input *in);
/* Refuses authorities ($SSL_CERT_FILE) that a command in `workspace` could have put there. */
int bawn_authorities_check(struct bawn_arena *a, const char *workspace, struct bawn_error *err);
/* The host's certificate authorities and `ca` behind them. */
int bawn_authorities(
	struct bawn_arena *a, const char *ca, const char **ret, struct bawn_error *err);
