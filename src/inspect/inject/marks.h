/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect/inject: what single bytes are to the splitter. */

#include "inspect/inject/inject.h"

/* For functions that are compiled again for machines that have these; inject_marks.machine tells.
 */
#ifdef __SSE2__
#define INJECT_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#define INJECT_AVX512                                                                    \
	__attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl," \
			      "avx512vbmi,avx512vbmi2")))
#endif
enum inject_machine {
	INJECT_ANY,
	INJECT_HAS_AVX2,
	INJECT_HAS_AVX512,
};

/* What a byte can be in a word. */
#define C_LOWER  (1u << 0) /* and every byte of other scripts */
#define C_UPPER  (1u << 1)
#define C_DIGIT  (1u << 2)
#define C_UNDER  (1u << 3)
#define C_DOT    (1u << 4) /* these three only between two others */
#define C_AT     (1u << 5)
#define C_QUOTE  (1u << 6)
#define C_HIGH   (1u << 7)
#define C_INNER  (C_DOT | C_AT | C_QUOTE)
#define C_STARTS (C_LOWER | C_UPPER | C_DIGIT | C_UNDER)
extern const unsigned char inject_kind[256];
/* All C_* that occur in n bytes. Reads up to 15 bytes behind them. */
unsigned inject_kinds(const char *p, size_t n);

/* How many bytes from p on, up to sixteen, can be anywhere in a word. Reads all sixteen. */
size_t inject_word_part(const char *p);

/* Whether a clause may start behind such a byte between words. */
extern const bool inject_clause[256];

/* 64 bytes of a text, a bit for each. What a word has is marked where it has just ended. */
struct inject_mark {
	uint64_t edge;    /* a word starts here, or has just ended */
	uint64_t clause;  /* a word starts here, and something before it may start a clause */
	uint64_t begins;  /* a word starts here, and a sentence ended before it */
	uint64_t stop;    /* a sentence ends with this byte if there is one */
	uint64_t ident;   /* it is a name by its letters, or something is called by it */
	uint64_t upper;   /* all capitals, more than one */
	uint64_t foreign; /* has bytes of another script */
	uint64_t odd;     /* may be more by its letters: look at it */
	/* the same by words: a bit for each that starts here, and for each that ends */
	uint32_t begin_words, odd_words;
	uint32_t starts, ends; /* how many do */
};

/* Text is gone through by so many blocks at a time, which stay in the cache. */
#define INJECT_BLOCKS 16

#define INJECT_SPACED_RUN 7 /* single letters in a row that may spell a word */

/* What 64 bytes are, a bit for each. */
struct inject_bytes {
	uint64_t word;   /* can be anywhere in a word */
	uint64_t letter; /* of any script */
	uint64_t ascii;  /* letter of ours */
	uint64_t lower;  /* a to z */
	uint64_t digit;
	uint64_t dot;
	uint64_t inner; /* only between two of a word */
	uint64_t paren; /* opening */
	uint64_t colon, slash, plus;
	uint64_t clause, stop;
	/* what bytes do to a sentence that ends next to them; not asked for on every machine */
	uint64_t line, full, quote, bar, space;
	uint64_t apart, opens, value, after;
};

struct inject_marks {
	struct inject_mark v[INJECT_BLOCKS];
	/* Where words start and where they end, in turn; first the start of one that has begun in
	 * blocks before, if there is one. */
	uint32_t edges[64 * INJECT_BLOCKS + 64];
	size_t first, n; /* block of v[0], how many there are; 0 at the end */
	size_t n_edges;
	bool begun;    /* edges[0] is from before */
	unsigned runs; /* blocks by whose end there may be INJECT_SPACED_RUN words of one letter in
			  a row, a bit each */
	enum inject_machine machine;
	/* private */
	const char *text;
	size_t blocks;
	struct inject_bytes ahead;        /* of the block that comes next */
	uint64_t word, in, lower, single; /* of the last byte */
	uint64_t plus, opens;
	uint64_t clause, begins, foreign, opened; /* carried along */
	uint64_t has[7];
	uint64_t singles; /* which of the last words are of one letter, a bit each */
};
/* What this machine can do, but no more than this. */
extern enum inject_machine inject_machine_most;
enum inject_machine inject_marks_machine(void);
/* `machine` is what inject_marks_machine() says, or less: all come to the same. */
void inject_marks_begin(
	struct inject_marks *m, const struct inject_text *t, enum inject_machine machine);
/* The next blocks. False when there are none. */
bool inject_marks_next(struct inject_marks *m);
