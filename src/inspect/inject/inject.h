/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect/inject: instructions aimed at an agent, found in content.
 *
 *   normalise → sentences → rules and structural features → a small network → findings
 *
 * Nothing here keeps state between windows; everything is taken from the arena of the scan.
 */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

/* Where a piece of text stands. A mask. */
#define PLACE_HTML_COMMENT (1u << 0)
#define PLACE_HIDDEN       (1u << 1) /* an element that a browser does not show */
#define PLACE_ATTRIBUTE    (1u << 2) /* title, alt, content, … of an element */
#define PLACE_MD_COMMENT   (1u << 3) /* [//]: # (…) */
#define PLACE_INVISIBLE    (1u << 4) /* zero-width, tag or variation characters, bidi controls */
#define PLACE_CONCEALED    (1u << 5) /* hidden by terminal escapes */
#define PLACE_DECODED      (1u << 6) /* was base64, hex, rot13, reversed or spaced out */
#define PLACE_COMMENT      (1u << 7) /* a line that starts like a comment of some language */
#define PLACE_QUOTE        (1u << 8) /* a Markdown or mail quotation */
#define PLACE_FENCE        (1u << 9) /* between ``` fences */
#define PLACE_COUNT        10
#define PLACE_UNSEEN                                                              \
	(PLACE_HTML_COMMENT | PLACE_HIDDEN | PLACE_MD_COMMENT | PLACE_INVISIBLE | \
		PLACE_CONCEALED | PLACE_DECODED)

struct inject_map {
	uint32_t at, from; /* normalised text from `at` on comes from the original at `from` on */
};

struct inject_span {
	uint32_t start, end; /* in the normalised text */
	uint32_t place;
	uint32_t first; /* the smallest start of this span and all behind it */
};

/* So many bytes behind a text can be read. */
#define INJECT_PAD 128

/* Normalised text: never longer than the original, with the way back. */
struct inject_text {
	char *text; /* INJECT_PAD NUL behind len */
	size_t len;
	struct inject_map *map;
	size_t n_map, cap_map;
	struct inject_span *spans; /* ordered by end */
	size_t n_spans, cap_spans;
	size_t from_len; /* of the original */
};

/* 0 or -ENOMEM. Any bytes; len at most INJECT_MAX. */
#define INJECT_MAX ((size_t)1 << 28)
int inject_normalise(struct bawn_arena *a, const char *text, size_t len, struct inject_text *ret);
/* The offset in the original of one in the normalised text. */
size_t inject_origin(const struct inject_text *t, size_t at);
/* Every PLACE_* that touches [start, end). */
unsigned inject_place(const struct inject_text *t, size_t start, size_t end);

/* What a code point is for reading. */
enum inject_fold_kind {
	FOLD_KEEP,
	FOLD_TO,        /* to one or two ASCII letters or another sign */
	FOLD_LOOKALIKE, /* to an ASCII letter when it stands among ASCII letters */
	FOLD_LOWER,     /* to the code point in `to`'s place */
	FOLD_DROP,      /* marks that change how a letter looks */
	FOLD_INVISIBLE, /* nobody sees it */
	FOLD_SMUGGLED,  /* nobody sees it, and it carries an ASCII character */
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
	size_t len;     /* of the whole tag with < and >, 0 when it is none that HTML knows */
	size_t inside;  /* bytes behind the tag that the element covers, when `place` is set */
	unsigned place; /* PLACE_HIDDEN when the element is not shown */
	bool block;     /* separates words */
	bool has_text;  /* an attribute holds text for people or machines */
};
struct inject_tag inject_html_tag(const char *p, size_t n);
/* &name; or &#…; at p: its length and code point, or 0. */
size_t inject_html_entity(const char *p, size_t n, uint32_t *cp);

/* Places that may hold encoded text, found while splitting. */
enum inject_hint_kind {
	HINT_LONG,     /* a word too long to be one */
	HINT_SPACED,   /* single letters one after the other */
	HINT_TURNED,   /* a sentence that makes sense by rot13 */
	HINT_REVERSED, /* or backwards */
	HINT_REVERSED_WORDS,
	HINT_LEET,    /* or with letters for its digits */
	HINT_NUMBERS, /* numbers that stand for letters */
	HINT_SHIFTED, /* words that make sense with letters moved along the alphabet */
	HINT_COUNT,
};

struct inject_hint {
	uint32_t start, end;
	enum inject_hint_kind kind;
};

/* Decoded text of a hint; len 0 when it is nothing that can be read. start and end get the extent.
 */
struct inject_block {
	size_t start, end; /* in the normalised text */
	char *text;
	size_t len;
};
#define INJECT_BLOCK_MAX ((size_t)16 << 10)
/* 0 or -ENOMEM. */
int inject_decode(struct bawn_arena *a, const struct inject_text *t, const struct inject_hint *h,
	struct inject_block *ret);

/* cipher.c: the text that numbers at p spell, and how many bytes they take; 0 when they spell none.
 * out has room for n bytes. */
size_t inject_numbers(const char *p, size_t n, char *out, size_t *used);
/* The same with letters moved along the alphabet. */
size_t inject_shifted(const char *p, size_t n, char *out);
struct inject_sentences;
/* Adds hints for both. 0 or -ENOMEM. */
int inject_ciphers(struct bawn_arena *a, const struct inject_text *t, struct inject_sentences *all);

/* Word classes of rules/data/inject-lexicon.txt; the generated header numbers them (LEX_*). */
#define LEX_MAX 64
uint64_t inject_lexicon(uint32_t hash); /* of a word or of a phrase */
/* Of a word, letters in any case. Reads whole groups of eight bytes: up to seven bytes behind the
 * word have to be there. tools/gen-lexicon.py has the same. */
static inline uint32_t inject_hash(const char *p, size_t n)
{
	uint64_t h = n, x;

	for (;; p += 8, n -= 8) {
		memcpy(&x, p, 8);
		x = htole64(x);
		if (n < 8)
			x &= ((uint64_t)1 << 8 * n) - 1;
		x |= (x & 0x4040404040404040u) >> 1;
		h = (h ^ x) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
		if (n <= 8)
			break;
	}
	return (uint32_t)(h ^ h >> 15);
}
static inline uint32_t inject_hash_join(uint32_t a, uint32_t b)
{
	return a * 31u + b;
}

struct inject_word {
	uint32_t start, end;
	uint32_t hash;
	uint64_t classes;
	uint64_t means; /* set by inject_meaning() */
	bool clause;    /* the first word of a clause */
	bool upper;     /* all capitals */
	bool title;     /* starts with a capital */
	bool foreign;   /* of another script */
};

/* What an order is good for. A mask. */
#define HARM_ASIDE   (1u << 0) /* what the user wanted or what the reader was told is set aside */
#define HARM_LEAK    (1u << 1) /* something that is not for others goes to them */
#define HARM_ACCESS  (1u << 2) /* protection is weakened, access given */
#define HARM_HIDE    (1u << 3) /* the user is not to know */
#define HARM_FALSE   (1u << 4) /* a verdict or a report is dictated */
#define HARM_LAST    (1u << 5) /* it is to outlive the session */
#define HARM_FORGE   (1u << 6) /* the frame of the conversation is forged */
#define HARM_DESTROY (1u << 7)
#define HARM_RUN     (1u << 8) /* something from an address is to be opened or run */
#define HARM_PAY     (1u << 9)
#define HARM_COUNT   10

struct inject_harm {
	uint16_t done; /* what is to be done */
	uint16_t held; /* what is forbidden */
};

#define INJECT_FAMILY_AGENT 2 /* number of the rules that find an agent addressed */

struct inject_sentence {
	uint32_t start, end;
	uint64_t classes; /* of all its words */
	uint16_t n_words;
	uint16_t hits; /* families of rules that matched in it, a bit each */
	uint16_t n_upper;
	float rules;                  /* what they add to the log-odds */
	float score;                  /* log-odds; INJECT_UNSCORED when it is no candidate */
	uint8_t n_turned, n_reversed; /* words that make sense by rot13 or read backwards */
	uint8_t n_leet;               /* … with letters for their digits */
	bool bullet;                  /* a list item or a table row */
	bool command;                 /* starts with a verb that tells somebody to act */
	bool foreign;                 /* has words of another script */
	bool strong;                  /* a rule matched that leaves little doubt */
	bool cited;                   /* and in a quotation within the sentence */
	bool open;                    /* past the gate: rules look at it and it may be scored */
	bool candidate;
	bool quoted, unseen; /* of a candidate that is scored, as are the next two */
	bool reported;       /* quoted, listed or announced: it may be an example */
	bool sampled;        /* one of several that are labelled: it is an example */
	struct inject_harm harm;
	uint64_t means; /* of a candidate and of those next to it, see meaning.c */
};

struct inject_sentences {
	struct inject_sentence *v;
	size_t n, cap;
	size_t words, about, commands, you, agent, dev, bullets; /* over the whole text */
	struct inject_hint *hints;
	size_t n_hints, cap_hints;
};
#define INJECT_HINTS_MAX 4096

#define INJECT_WORDS_MAX 128 /* of one sentence; longer ones are cut */
/* For large arrays that are written before they are read: zeroing them is what costs most else. */
#ifdef __has_attribute
#if __has_attribute(uninitialized)
#define INJECT_RAW __attribute__((uninitialized))
#endif
#endif
#ifndef INJECT_RAW
#define INJECT_RAW
#endif
int inject_split(struct bawn_arena *a, const struct inject_text *t, struct inject_sentences *out);
/* The words of one sentence; returns how many. */
size_t inject_words(const char *text, const struct inject_sentence *s,
	struct inject_word words[static INJECT_WORDS_MAX]);
/* Their hashes alone. */
size_t inject_hashes(const char *text, const struct inject_sentence *s,
	uint32_t hashes[static INJECT_WORDS_MAX]);

/* What the sentence with these words wants. */
struct inject_harm inject_harm(
	const char *text, const struct inject_sentence *s, const struct inject_word *w, size_t n);

/* What the sentence with these words is about, as a mask of meanings. */
uint64_t inject_meaning(struct inject_word *w, size_t n);

/* Binary features of a sentence among its neighbours, as indexes into the weights. */
#define FEATURE_CLASS      0u                        /* the sentence has a word of the class */
#define FEATURE_NEAR       (FEATURE_CLASS + LEX_MAX) /* one of its neighbours does */
#define FEATURE_SHAPE      (FEATURE_NEAR + LEX_MAX)  /* see features.c */
#define FEATURE_SHAPES     256u
#define FEATURE_MIX        (FEATURE_SHAPE + FEATURE_SHAPES) /* two roles in the sentence */
#define FEATURE_MIXES      864u
#define FEATURE_WIDE       (FEATURE_MIX + FEATURE_MIXES)  /* in it and its neighbours */
#define FEATURE_MEANS      (FEATURE_WIDE + FEATURE_MIXES) /* see meaning.c; of the sentence */
#define FEATURE_MEANS_NEAR (FEATURE_MEANS + 64u)          /* … and of those next to it */
#define FEATURE_DEEP       (FEATURE_MEANS_NEAR + 64u)     /* what follows has no hidden layer */
#define FEATURE_PAIR       FEATURE_DEEP                   /* one meaning before another */
#define FEATURE_PAIRS      2304u
#define FEATURE_WORD       (FEATURE_PAIR + FEATURE_PAIRS) /* a word or two in a row, by their hash */
#define FEATURE_WORDS      32768u
#define FEATURE_COUNT      (FEATURE_WORD + FEATURE_WORDS)
#define FEATURES_MAX       3072u /* of one sentence; more are left out */

struct inject_features {
	uint16_t v[FEATURES_MAX];
	size_t n;
};
/* Whether it is worth a closer look, by its words and the classes of its neighbours'. */
bool inject_gate(const struct inject_text *t, const struct inject_sentences *all, size_t i);
/* Needs less to come as far as its words. */
bool inject_outright(const struct inject_sentence *s);
/* The classes of the sentences next to it. */
uint64_t inject_near(const struct inject_sentences *all, size_t i);
/* Whether a rule could match in or around the sentence. */
bool inject_trigger(const struct inject_sentence *s);
/* Whether the sentence has anything that can make it an instruction to an agent. */
bool inject_candidate(const struct inject_sentence *s);
/* Those of sentence i with its words, which inject_meaning() has seen, but for what its neighbours
 * mean. */
void inject_features(const struct inject_text *t, const struct inject_sentences *all, size_t i,
	const struct inject_word *w, size_t n, unsigned place, struct inject_features *out);
/* Adds those that meanings make: its own, and those of the sentences next to it. */
void inject_meanings(const struct inject_sentences *all, size_t i, const struct inject_word *w,
	size_t n, struct inject_features *out);
void inject_meanings_near(
	const struct inject_sentences *all, size_t i, struct inject_features *out);
/* quote.c: the mark that a sentence stands in (0: in none), and what is before that. */
char inject_quote(const struct inject_text *t, const struct inject_sentence *s, char *before);
#define INJECT_VALUE ":[{(,=-\n" /* what stands before a value, and not before a quotation */
/* Whether the sentence stands in quotation marks that belong to prose, or in backquotes. */
bool inject_quoted(const struct inject_text *t, const struct inject_sentence *s);
/* Whether a line behind it labels it, and others in the text are labelled likewise. */
bool inject_sampled(const struct inject_text *t, const struct inject_sentence *s);
/* Whether what starts at `at` in the sentence does. */
bool inject_cited(const struct inject_text *t, const struct inject_sentence *s, size_t at);
#define INJECT_REACH 3 /* sentences on each side whose rules, harm and meanings count */
/* Log-odds by the learned weights, and what they mean as a confidence. */
double inject_score(const struct inject_features *f);
/* What rules that matched in and around the sentence add to it. */
double inject_rules_score(const struct inject_sentences *all, size_t i);
double inject_combine(const struct inject_sentences *all, size_t i, double model, double rules);
/* How much of it is meant, and not only talked about: 0..1. */
double inject_meant(const struct inject_sentences *all, size_t i);
double inject_confidence(double score);

/* The text, or a block that was decoded from it. */
struct inject_part {
	struct inject_text t;
	struct inject_sentences s;
	uint64_t *worth; /* a bit for each sentence that may be a candidate; few are */
	unsigned place, depth;
	size_t start, end; /* of a block in the subject */
};

struct bawn_rule;
/* A rule that matched in a part. */
struct inject_found {
	const struct bawn_rule *rule;
	size_t start, end; /* in the normalised text */
	size_t sentence;
};
#define INJECT_UNSCORED (-1e6f)

/* Called for every sentence that is scored (may be NULL), and for each part when it is done. A
 * negative return ends the scan and is returned. */
struct inject_visitor {
	int (*sentence)(
		void *data, const struct inject_part *p, size_t i, const struct inject_features *f);
	int (*part)(void *data, const struct inject_part *p, const struct inject_found *found,
		size_t n);
	void *data;
	bool all; /* the gate lets everything pass, for those who train it */
};

struct bawn_scan;
struct bawn_subject;
struct bawn_error;
/* The span of [start, end) of a part in the subject. */
void inject_part_span(
	const struct inject_part *p, size_t start, size_t end, size_t *ret_start, size_t *ret_end);
/* All of it but the reporting. */
int inject_run(struct bawn_scan *s, const struct bawn_subject *sub, const struct inject_visitor *v,
	struct bawn_error *err);
