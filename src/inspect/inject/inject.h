/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect/inject: instructions aimed at an agent, found in content.
 *
 *   normalise → sentences → rules and structural features → linear model → findings
 *
 * Nothing here keeps state between windows; everything is taken from the arena of the scan.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Where a piece of text stands. A mask. */
#define PLACE_HTML_COMMENT (1u << 0)
#define PLACE_HIDDEN	   (1u << 1) /* an element that a browser does not show */
#define PLACE_ATTRIBUTE	   (1u << 2) /* title, alt, content, … of an element */
#define PLACE_MD_COMMENT   (1u << 3) /* [//]: # (…) */
#define PLACE_INVISIBLE	   (1u << 4) /* zero-width, tag or variation characters, bidi controls */
#define PLACE_CONCEALED	   (1u << 5) /* hidden by terminal escapes */
#define PLACE_DECODED	   (1u << 6) /* was base64, hex, rot13, reversed or spaced out */
#define PLACE_COMMENT	   (1u << 7) /* a line that starts like a comment of some language */
#define PLACE_QUOTE	   (1u << 8) /* a Markdown or mail quotation */
#define PLACE_FENCE	   (1u << 9) /* between ``` fences */
#define PLACE_COUNT	   10
#define PLACE_UNSEEN                                                                        \
	(PLACE_HTML_COMMENT | PLACE_HIDDEN | PLACE_MD_COMMENT | PLACE_INVISIBLE | PLACE_CONCEALED | \
		PLACE_DECODED)

struct inject_map {
	uint32_t at, from; /* normalised text from `at` on comes from the original at `from` on */
};

struct inject_span {
	uint32_t start, end; /* in the normalised text */
	uint32_t place;
	uint32_t first; /* the smallest start of this span and all behind it */
};

/* Normalised text: never longer than the original, with the way back. */
struct inject_text {
	char *text; /* NUL-terminated behind len */
	size_t len;
	struct inject_map *map;
	size_t n_map, cap_map;
	struct inject_span *spans; /* ordered by end */
	size_t n_spans, cap_spans;
	size_t from_len; /* of the original */
};

/* 0 or -ENOMEM. Any bytes; len at most INJECT_MAX. */
#define INJECT_MAX ((size_t)1 << 28)
int inject_normalise(
	struct bawn_arena *a, const char *text, size_t len, struct inject_text *ret);
/* The offset in the original of one in the normalised text. */
size_t inject_origin(const struct inject_text *t, size_t at);
/* Every PLACE_* that touches [start, end). */
unsigned inject_place(const struct inject_text *t, size_t start, size_t end);

/* What a code point is for reading. */
enum inject_fold_kind {
	FOLD_KEEP,
	FOLD_TO,	/* to one or two ASCII letters or another sign */
	FOLD_LOOKALIKE, /* to an ASCII letter when it stands among ASCII letters */
	FOLD_LOWER,	/* to the code point in `to`'s place */
	FOLD_DROP,	/* marks that change how a letter looks */
	FOLD_INVISIBLE, /* nobody sees it */
	FOLD_SMUGGLED,	/* nobody sees it, and it carries an ASCII character */
};

struct inject_fold {
	enum inject_fold_kind kind;
	char to[3];
	uint32_t lower;
};
struct inject_fold inject_fold(uint32_t cp);
/* Length of the UTF-8 sequence at p (its code point in *cp), 0 when it is not one. */
size_t inject_utf8(const char *p, size_t n, uint32_t *cp);
/* Append cp as UTF-8 to out; returns the length. */
size_t inject_utf8_put(char *out, uint32_t cp);

/* html.c: what starts with `<`. */
struct inject_tag {
	size_t len;	   /* of the whole tag with < and >, 0 when it is none that HTML knows */
	size_t inside;	   /* bytes behind the tag that the element covers, when `place` is set */
	unsigned place;	   /* PLACE_HIDDEN when the element is not shown */
	bool block;	   /* separates words */
	bool has_text;	   /* an attribute holds text for people or machines */
};
struct inject_tag inject_html_tag(const char *p, size_t n);
/* &name; or &#…; at p: its length and code point, or 0. */
size_t inject_html_entity(const char *p, size_t n, uint32_t *cp);

/* Encoded text inside normalised text. */
struct inject_block {
	size_t start, end; /* in the normalised text */
	const char *text;
	size_t len;
};

struct inject_blocks {
	struct inject_block *v;
	size_t n, cap;
	size_t total; /* decoded bytes so far */
};
#define INJECT_DECODED_MAX ((size_t)256 << 10)
/* base64, hexadecimal and spaced-out letters anywhere. 0 or -ENOMEM. */
int inject_decode(struct bawn_arena *a, const char *text, size_t len, struct inject_blocks *out);
/* One piece that looks turned by rot13 or reversed. */
int inject_unturn(struct bawn_arena *a, const char *text, size_t start, size_t end, bool reversed,
	struct inject_blocks *out);

/* Word classes of rules/data/inject-lexicon.txt; the generated header numbers them (LEX_*). */
#define LEX_MAX 64
uint64_t inject_lexicon(uint32_t hash); /* of a word or of a phrase */
static inline uint32_t inject_hash(uint32_t h, unsigned char c)
{
	return (h ^ c) * 16777619u;
}
static inline uint32_t inject_hash_join(uint32_t a, uint32_t b)
{
	return a * 31u + b;
}
#define INJECT_HASH_INIT 2166136261u

struct inject_word {
	uint32_t start, end;
	uint32_t hash;
	uint64_t classes;
	bool clause; /* the first word of a clause */
	bool upper;  /* all capitals */
	bool title;  /* starts with a capital */
};

struct inject_sentence {
	uint32_t start, end;
	uint64_t classes; /* of all its words */
	uint16_t n_words;
	uint16_t hits; /* families of rules that matched in it */
	uint16_t n_upper;
	bool bullet;  /* a list item, a heading or a table row */
	bool command; /* starts with a verb that tells somebody to act */
	bool quoted;  /* stands between quotation marks or backquotes */
};

struct inject_sentences {
	struct inject_sentence *v;
	size_t n, cap;
	size_t words, about, commands, you, agent; /* over the whole text */
};

#define INJECT_WORDS_MAX 128 /* of one sentence; longer ones are cut */
int inject_split(
	struct bawn_arena *a, const struct inject_text *t, struct inject_sentences *out);
/* The words of one sentence; returns how many. */
size_t inject_words(const char *text, const struct inject_sentence *s,
	struct inject_word words[static INJECT_WORDS_MAX]);

/* Binary features of a sentence among its neighbours, as indexes into the weights. */
#define FEATURE_CLASS	 0u				/* the sentence has a word of the class */
#define FEATURE_NEAR	 (FEATURE_CLASS + LEX_MAX)	/* one of its neighbours does */
#define FEATURE_SHAPE	 (FEATURE_NEAR + LEX_MAX)	/* see features.c */
#define FEATURE_SHAPES	 160u
#define FEATURE_PAIR	 (FEATURE_SHAPE + FEATURE_SHAPES) /* class a before class b, close */
#define FEATURE_GRAM	 (FEATURE_PAIR + LEX_MAX * LEX_MAX)
#define FEATURE_GRAM_BITS 12
#define FEATURE_COUNT	 (FEATURE_GRAM + (1u << FEATURE_GRAM_BITS))
#define FEATURES_MAX	 768

struct inject_features {
	uint16_t v[FEATURES_MAX];
	size_t n;
};
/* Whether the sentence has anything that can make it an instruction to an agent. */
bool inject_candidate(const struct inject_sentence *s);
void inject_features(const struct inject_text *t, const struct inject_sentences *all, size_t i,
	unsigned place, struct inject_features *out);
/* Log-odds by the learned weights, and what they mean as a confidence. */
double inject_score(const struct inject_features *f);
double inject_confidence(double score);
