/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect/secret: what a value looks like, judged without knowing its vendor. */

#include <stdbool.h>
#include <stddef.h>

struct value {
	const char *p;
	size_t len;
};

/* How strictly placeholders are told from values. */
enum mask_rule {
	MASK_STRICT, /* runs, sequences, repetitions and words such as "example" */
	MASK_WEAK,   /* only what stands for "hidden": xxxx, ****, <…>, ${…} */
	MASK_NONE,
};

bool value_masked(struct value v, enum mask_rule rule);
/* Shannon entropy in bits per byte. */
double value_entropy(struct value v);
/* Made of words: letters follow each other as in English names. */
bool value_wordlike(struct value v);
/* Upper case, lower case, digits, others: how many of these four occur. */
unsigned value_classes(struct value v);
bool value_has_digit(struct value v);
bool value_is_hex(struct value v);
bool value_is_uuid(struct value v);
/* One of the passwords that stand in every manual. */
bool value_common_password(struct value v);

bool value_char_in(char c, const char *set);
/* Search without regard to letter case; `words` are separated by '|'. */
bool value_has_word(struct value v, const char *words);
bool value_equals(struct value v, const char *word); /* without regard to case */

/*
 * Decode base64 of either alphabet, padded or not, into `out` (at most `cap` bytes; the rest is
 * left). Returns the number of bytes, or -1 if it is no base64.
 */
long value_base64(struct value v, char *out, size_t cap);
