/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What goes into the audit log at each point of a run. */

#include "audit/audit.h"
#include "egress/control.h"
#include "result/result.h"

/* Before the command starts: who, what (hashed), under which policy and plan, what is in force. */
int bawn_record_start(struct bawn_audit *au, const struct bawn_result *r, struct bawn_error *err);
/* What the door decided, one record per decision. */
int bawn_record_network(struct bawn_audit *au, const struct bawn_result *r,
	const struct bawn_egress_event *ev, struct bawn_error *err);
/* After it has ended: how, what was refused, what was used. */
int bawn_record_end(struct bawn_audit *au, const struct bawn_result *r, struct bawn_error *err);
/* It did not run: refused or blocked, and why. */
int bawn_record_refusal(struct bawn_audit *au, const struct bawn_result *r, struct bawn_error *err);
/* One more member of a record's object: "key":"value", after a comma where one is needed. */
void bawn_record_text(struct bawn_buf *b, const char *key, const char *value);
