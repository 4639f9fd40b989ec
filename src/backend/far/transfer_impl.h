/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Between transfer.c (out and bookkeeping) and apply.c (back). */

#include "backend/far/transfer.h"
#include "backend/far/tree.h"

/* The file that is being received. */
struct incoming {
	bool open;   /* a FILE entry came; DATA may follow */
	bool refuse; /* and is thrown away */
	bool named;  /* the unfinished file has a name of ours */
	int dir;     /* where it will be */
	int fd;
	uint64_t next; /* lowest offset that may come */
	struct bawn_entry e;
	char path[BAWN_FRAME_PATH + 1]; /* below the root; e.path points here */
	char temp[40];
};

struct bawn_transfer {
	const struct bawn_plan *plan;
	bool have;
	bawn_transfer_report_fn *report;
	void *data;
	struct bawn_tree tree; /* what was sent, and what was applied since */
	bool begun, sent, received;
	size_t at; /* the node to send next */
	int file;  /* its content, if that is being sent; else -1 */
	off_t offset;
	char *chunk;
	struct incoming in;
	size_t entries, applied, refused;
};

/* apply.c */
int bawn_apply_entry(struct bawn_transfer *t, const struct bawn_entry *e, struct bawn_error *err);
int bawn_apply_data(struct bawn_transfer *t, uint64_t offset, const uint8_t *bytes, size_t len);
void bawn_apply_finish(struct bawn_transfer *t); /* the file is complete: give it its name */
void bawn_apply_drop(struct bawn_transfer *t);   /* it will never be */

/* rules.c: the control that forbids it, or 0; *ret_rule is the setting behind it. */
uint32_t bawn_apply_refused(
	const struct bawn_transfer *t, const struct bawn_entry *e, const char **ret_rule);
