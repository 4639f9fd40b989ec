/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The first sentence of a text, as the injection detector sees it. */

#include "harness.h"
#include "inspect/inject/inject.h"

struct sentence {
	struct inject_word w[INJECT_WORDS_MAX];
	size_t n;
	struct inject_sentences s;
	struct inject_text t;
};

static inline void first_sentence(struct bawn_arena *a, const char *text, struct sentence *ret)
{
	ASSERT_TRUE(a != NULL);
	ASSERT_EQ(inject_normalise(a, text, strlen(text), &ret->t), 0);
	ASSERT_EQ(inject_split(a, &ret->t, &ret->s), 0);
	ASSERT_TRUE(ret->s.n > 0);
	ret->n = inject_words(ret->t.text, &ret->s.v[0], ret->w);
}
