/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Secrets in content: the detector (detectors.h: bawn_detector_secret) reports what looks like a
 * credential, registered.c what is known to be one. Findings have category "secret", a rule id
 * that starts with "secret." and the span of the value alone, so that masking [start, end) keeps
 * the words around it. No message contains any part of a value.
 */

#include "inspect/inspect.h"
#include "inspect/inspector.h"

/* A match of the detector is never longer than this; windows must overlap by as much. */
#define BAWN_SECRET_SPAN_MAX ((size_t)16 << 10)

/*
 * How many bytes at the end of `text` may belong to a secret that goes on in bytes to come: an
 * unfinished word, or a private key block that has begun. At most BAWN_SECRET_SPAN_MAX. A stream
 * holds these back.
 */
size_t bawn_secret_tail(const char *text, size_t len);

/* How many rules there are, for policies that ask for a number of patterns. */
size_t bawn_secret_patterns(void);

/* What the policy wants done about a finding (its rule, else the default of all). */
enum bawn_leak_action bawn_leak_action(const struct bawn_policy *p, const struct bawn_finding *f);
/* About a place that may hold any secret, since it was not looked at to its end. */
enum bawn_leak_action bawn_leak_action_unseen(const struct bawn_policy *p);

/*
 * Registered secrets: values the caller knows. Found as they are and also in base64 (any alignment
 * and alphabet), base32, hexadecimal, decimal or octal bytes, percent, backslash and HTML escapes,
 * in other letter case, as UTF-16, backwards, and with white space, quotes, punctuation or terminal
 * escapes between any of their characters. Rule ids: secret.registered, secret.registered-encoded.
 */
struct bawn_registered;

#define BAWN_REGISTERED_MIN 4 /* shorter values are refused */

/* `secrets` is NULL-terminated; the values are copied and wiped when freed. */
int bawn_registered_new(
	const char *const *secrets, struct bawn_registered **ret, struct bawn_error *err);
struct bawn_registered *bawn_registered_free(struct bawn_registered *r); /* wipes; NULL is fine */
/* The longest stretch of text a match can have: windows must overlap by as much. */
size_t bawn_registered_span(const struct bawn_registered *r);
/*
 * Add a finding for each occurrence in sub->text that ends behind sub->fresh; start and end are
 * absolute (sub->base is added). Does not need a scan. Looks at each byte once.
 */
int bawn_registered_find(const struct bawn_registered *r, const struct bawn_subject *sub,
	struct bawn_arena *a, struct bawn_findings *out, struct bawn_error *err);
/* Like bawn_secret_tail: bytes at the end that may be the beginning of an occurrence. */
size_t bawn_registered_tail(const struct bawn_registered *r, const char *text, size_t len);
