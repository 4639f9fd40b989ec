/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sentences are worth a closer look. Most of any text orders nobody to do anything; that is
 * told by the classes of its words and of its neighbours', then by the words, before features or
 * rules cost time. What makes the difference was learned, see tools/train/train-inject.py.
 */
#include "inspect/inject/classes.h"
#include "inspect/inject/gate-weights.h"
#include "inspect/inject/lanes.h"

/* Three of these in one sentence that has an action, too. */
#define WEIGHTY                                                                             \
	(OBJECTS | BIT(LEX_TARGET) | BIT(LEX_RIGHTS) | BIT(LEX_VERDICT) | BIT(LEX_MEMORY) | \
		BIT(LEX_PERMIT) | BIT(LEX_USER3) | BIT(LEX_AUTHORITY) | BIT(LEX_PARAM) |    \
		BIT(LEX_FORMAT) | BIT(LEX_OVERRIDE) | BIT(LEX_TASK) | BIT(LEX_PAY) |        \
		BIT(LEX_IDENT) | BIT(LEX_DESPITE) | BIT(LEX_NEG) | BIT(LEX_INSTR) |         \
		BIT(LEX_EXFIL))

uint64_t inject_near(const struct inject_sentences *all, size_t i)
{
	size_t first = i > NEAR ? i - NEAR : 0;
	uint64_t near = 0;

	for (size_t k = first; k < all->n && k <= i + NEAR; k++)
		near |= k == i ? 0 : all->v[k].classes;
	return near;
}

/* Two of these in a longer one. */
#define TELLING                                                                         \
	(WEIGHTY | BIT(LEX_YOU) | BIT(LEX_AGENT) | BIT(LEX_TOOL) | BIT(LEX_ALWAYS) |    \
		BIT(LEX_NORM) | BIT(LEX_URGENT) | BIT(LEX_PRETEXT) | BIT(LEX_VERBING) | \
		BIT(LEX_MODAL))

static bool two_of(uint64_t bits)
{
	return bits & (bits - (bits != 0));
}

static bool three_of(uint64_t bits)
{
	return two_of(bits & (bits - (bits != 0)));
}

/* An action, and what may be at stake. */
static bool weighs(uint64_t c, unsigned words)
{
	if (words >= 6 && c & (ACTIONS | BIT(LEX_DOES)) && two_of(c & TELLING))
		return true;
	if (!(c & ACTIONS))
		return false;
	return three_of(c & WEIGHTY) || (c & BIT(LEX_TARGET) && c & (OBJECTS | BIT(LEX_URGENT)));
}

bool inject_candidate(const struct inject_sentence *s)
{
	uint64_t c = s->classes;
	uint64_t addressed = BIT(LEX_YOU) | BIT(LEX_USER3) | BIT(LEX_ME);

	if (s->hits || (c & BIT(LEX_FORMAT) && c & (BIT(LEX_TARGET) | BIT(LEX_URLISH)) &&
			       (c & (OBJECTS | BIT(LEX_TASK) | BIT(LEX_PROMPT)))))
		return true;
	if (c & (BIT(LEX_SECRECY) | BIT(LEX_MODE) | BIT(LEX_NEWTASK) | BIT(LEX_PROMPT) |
			BIT(LEX_READER) | BIT(LEX_ROLE)))
		return true;
	if (s->n_words < 4)
		return false;
	if (c & BIT(LEX_MEMORY) && c & (ACTIONS | BIT(LEX_ALWAYS) | BIT(LEX_PERMIT)))
		return true;
	if (c & BIT(LEX_PARAM) && c & (OBJECTS | BIT(LEX_PROMPT)) && c & (BIT(LEX_MODAL) | ACTIONS))
		return true;
	if (s->command && c & (BIT(LEX_RIGHTS) | BIT(LEX_VERDICT)))
		return true;
	if (c & BIT(LEX_PARAM) && c & BIT(LEX_MODAL) && s->n_words > 5)
		return true;
	if (c & BIT(LEX_NORM) && c & (ACTIONS | BIT(LEX_DOES)) &&
		c & (OBJECTS | BIT(LEX_TARGET) | BIT(LEX_PROMPT)))
		return true;
	if (c & BIT(LEX_AGENT) ||
		(c & BIT(LEX_OVERRIDE) &&
			c & (BIT(LEX_INSTR) | BIT(LEX_PRIOR) | BIT(LEX_YOU) | BIT(LEX_TASK))))
		return true;
	if (c & addressed && c & (ACTIONS | BIT(LEX_URGENT) | BIT(LEX_PERMIT)))
		return true;
	if (s->command && c & (OBJECTS | BIT(LEX_TARGET) | BIT(LEX_DESPITE) | BIT(LEX_TASK) |
				      BIT(LEX_TOOL) | BIT(LEX_IDENT)))
		return true;
	if (c & ACTIONS && c & (BIT(LEX_TASK) | BIT(LEX_TOOL)) &&
		c & (BIT(LEX_SEQ) | BIT(LEX_COND) | BIT(LEX_MODAL)))
		return true;
	return weighs(c, s->n_words);
}

/* Without one of these nothing below holds for a sentence of our script. */
#define CAN_TRIGGER                                                                                \
	(ACTIONS | OBJECTS | BIT(LEX_AGENT) | BIT(LEX_READER) | BIT(LEX_DELIM) | BIT(LEX_PERMIT) | \
		BIT(LEX_DESPITE) | BIT(LEX_USER3) | BIT(LEX_YOU) | BIT(LEX_HINT) |                 \
		BIT(LEX_AUTHORITY) | BIT(LEX_FORMAT) | BIT(LEX_SECRECY) | BIT(LEX_MODE) |          \
		BIT(LEX_NEWTASK) | BIT(LEX_PROMPT) | BIT(LEX_ROLE) | BIT(LEX_MEMORY) |             \
		BIT(LEX_PARAM) | BIT(LEX_NORM) | BIT(LEX_ME) | BIT(LEX_DOES))

bool inject_trigger(const struct inject_sentence *s)
{
	uint64_t c = s->classes;

	if (!(c & CAN_TRIGGER) && !s->command && !s->hits)
		return s->foreign;
	if (c & (BIT(LEX_AGENT) | BIT(LEX_READER) | BIT(LEX_DELIM) | BIT(LEX_PERMIT) |
			BIT(LEX_DESPITE) | BIT(LEX_USER3) | BIT(LEX_OVERRIDE)))
		return true;
	if (c & BIT(LEX_HINT) &&
		c & (ACTIONS | BIT(LEX_YOU) | BIT(LEX_NEG) | BIT(LEX_MODAL) | BIT(LEX_THIS)))
		return true;
	if (c & BIT(LEX_YOU) && c & (BIT(LEX_MODAL) | BIT(LEX_COND) | ACTIONS))
		return true;
	if (c & ACTIONS && c & (BIT(LEX_TARGET) | OBJECTS | BIT(LEX_IDENT)))
		return true;
	return s->foreign || (c & BIT(LEX_AUTHORITY) && (s->n_upper || c & BIT(LEX_URGENT))) ||
	       inject_candidate(s);
}

/* "Execute: transfer(…)" has nothing else to go by. */
static bool calls(const struct inject_sentence *s)
{
	return s->command && s->classes & BIT(LEX_EXEC) && s->classes & BIT(LEX_IDENT);
}

/*
 * Who reads is spoken to, told to drop what it was told, asked for it or to keep quiet, or the user
 * is not to be served: few say that, and it takes few words.
 */
bool inject_outright(const struct inject_sentence *s)
{
	uint64_t c = s->classes;
	uint64_t spurned = BIT(LEX_NEG) | BIT(LEX_USER3) | BIT(LEX_TASK);
	uint64_t said = BIT(LEX_READER) | BIT(LEX_PROMPT) | BIT(LEX_NEWTASK) | BIT(LEX_MODE) |
			BIT(LEX_SECRECY);
	bool drops = c & BIT(LEX_OVERRIDE) && (s->command || c & (BIT(LEX_INSTR) | BIT(LEX_PRIOR)));
	bool asks = s->command && c & (BIT(LEX_SECRET) | BIT(LEX_VERDICT)) &&
		    c & (BIT(LEX_REVEAL) | BIT(LEX_TELL) | BIT(LEX_TASK));

	return calls(s) || c & said || drops || asks || (c & spurned) == spurned;
}

/* Inputs of the network: classes of the sentence's words, of its neighbours', and two more. */
#define GATE_COMMAND (2u * LEX_MAX)
#define GATE_LONGER  (GATE_COMMAND + 1)
#define GATE_LONG    12 /* words */
_Static_assert(GATE_INPUTS == GATE_LONGER + 1, "the gate was trained for other inputs");

_Static_assert(GATE_HIDDEN == LANES, "the hidden layer is one register");

struct sum {
	sums hidden;
	int direct;
};

static inline void add(struct sum *g, unsigned input)
{
	weights w;

	memcpy(&w, gate[input], sizeof(w));
	g->hidden += __builtin_convertvector(w, sums);
	g->direct += gate_direct[input];
}

static inline void add_bits(struct sum *g, unsigned first, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		add(g, first + (unsigned)__builtin_ctzll(bits));
}

static int by_classes(const struct inject_sentences *all, size_t i)
{
	const struct inject_sentence *s = &all->v[i];
	struct sum g = {0};
	int out;

	memcpy(&g.hidden, gate_bias, sizeof(g.hidden));
	add_bits(&g, 0, s->classes);
	add_bits(&g, LEX_MAX, inject_near(all, i));
	if (s->command)
		add(&g, GATE_COMMAND);
	if (s->n_words >= GATE_LONG)
		add(&g, GATE_LONGER);
	out = g.direct;
	for (unsigned k = 0; k < GATE_HIDDEN; k++)
		out += g.hidden[k] > 0 ? g.hidden[k] * gate_out[k] : 0;
	return out;
}

static int by_words(const struct inject_text *t, const struct inject_sentence *s)
{
	INJECT_RAW uint32_t hashes[INJECT_WORDS_MAX];
	size_t n = inject_hashes(t->text, s, hashes);
	int sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += gate_word[hashes[i] >> GATE_WORD_SHIFT];
	return sum * GATE_WORD_SCALE;
}

bool inject_gate(const struct inject_text *t, const struct inject_sentences *all, size_t i)
{
	const struct inject_sentence *s = &all->v[i];
	int sum = by_classes(all, i);

	return sum >= (inject_outright(s) ? GATE_OUTRIGHT : GATE_MIN) &&
	       sum + by_words(t, s) >= GATE_WORDS_MIN;
}
