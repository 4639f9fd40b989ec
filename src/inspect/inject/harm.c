/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an order is good for. To speak to a model is harmless, and so is to tell it how to work; an
 * attack needs an act that harms: what the user wanted is set aside, something leaves the place it
 * belongs to, protection is weakened, the user is not to know, a verdict is dictated, and so on.
 * Each is an action and what it is done to, in this order; an action that is forbidden is held
 * back, which is what rules for agents are full of.
 */
#include <ctype.h>

#include "inspect/inject/classes.h"

#define BACK 9 /* words before an action that may forbid it */

struct clause {
	const char *text;
	const struct inject_sentence *s;
	const struct inject_word *w;
	size_t n;
};

/* Index + 1 of the first word behind i, at most `reach` on, that has one of the classes. */
static size_t after(const struct clause *c, size_t i, uint64_t classes, size_t reach)
{
	for (size_t k = i + 1; k < c->n && k <= i + reach; k++)
		if (c->w[k].classes & classes)
			return k + 1;
	return 0;
}

static bool is_word(const struct clause *c, size_t i, const char *word)
{
	size_t n = strlen(word);

	return c->w[i].end - c->w[i].start == n && !memcmp(c->text + c->w[i].start, word, n);
}

/* "print or send": the second is as forbidden as the first. */
static bool joined(const struct clause *c, size_t i)
{
	return i > 1 && (is_word(c, i - 1, "or") || is_word(c, i - 1, "nor"));
}

/*
 * Whether a word before i, in its clause, forbids it. "Do not forget to send" and "do not answer
 * before you have sent" forbid nothing.
 */
static bool forbidden(const struct clause *c, size_t i)
{
	uint64_t undo = BIT(LEX_OVERRIDE) | BIT(LEX_COND) | BIT(LEX_SEQ);

	for (size_t k = i, left = BACK; left--; k--) {
		if (k != i && c->w[k].classes & BIT(LEX_NEG))
			return true;
		if (k != i && (c->w[k].classes & undo || is_word(c, k, "hesitate") ||
				      is_word(c, k, "fail")))
			return false;
		if (!k)
			return false;
		if (c->w[k].clause && !joined(c, k))
			return false;
	}
	return false;
}

static bool number(const struct clause *c, size_t i)
{
	for (size_t k = i + 1; k < c->n && k <= i + 4; k++)
		if (isdigit((unsigned char)c->text[c->w[k].start]))
			return true;
	return false;
}

/* Something that is not for others, and where it goes. */
static bool leaks(const struct clause *c, size_t i)
{
	uint64_t does = c->w[i].classes, place = BIT(LEX_TARGET) | BIT(LEX_FORMAT) | BIT(LEX_PARAM);
	size_t what = after(c, i, OBJECTS | BIT(LEX_PROMPT), 10);

	if (does & BIT(LEX_REVEAL) && after(c, i, BIT(LEX_PROMPT) | BIT(LEX_SECRET), 6))
		return true;
	if (does & (BIT(LEX_EXFIL) | BIT(LEX_DOES)))
		return what ? c->s->classes & (place | BIT(LEX_URLISH))
			    : after(c, i, BIT(LEX_TARGET), 25) && c->s->classes & BIT(LEX_USER3);
	return what && after(c, what - 1, place, 10);
}

/* What the action at i does. */
static unsigned act(const struct clause *c, size_t i)
{
	uint64_t does = c->w[i].classes;
	unsigned h = leaks(c, i) ? HARM_LEAK : 0;

	if (after(c, i, BIT(LEX_RIGHTS), 8))
		h |= HARM_ACCESS;
	if (does & BIT(LEX_DESTROY) && after(c, i, BIT(LEX_PRIOR) | OBJECTS, 6))
		h |= HARM_DESTROY;
	if (does & (BIT(LEX_EXEC) | BIT(LEX_ACT)) && after(c, i, BIT(LEX_TARGET), 8))
		h |= HARM_RUN;
	if (does & BIT(LEX_PAY) && (number(c, i) || after(c, i, BIT(LEX_TARGET), 12)))
		h |= HARM_PAY;
	if (after(c, i, BIT(LEX_VERDICT), 8))
		h |= HARM_FALSE;
	if (does & BIT(LEX_OVERRIDE) &&
		after(c, i, BIT(LEX_INSTR) | BIT(LEX_TASK) | BIT(LEX_USER3) | BIT(LEX_PROMPT), 6))
		h |= HARM_ASIDE;
	if (after(c, i, BIT(LEX_MEMORY), 8) &&
		c->s->classes & (BIT(LEX_PERMIT) | BIT(LEX_SECRECY) | BIT(LEX_TARGET) |
					BIT(LEX_RIGHTS) | BIT(LEX_OVERRIDE)))
		h |= HARM_LAST;
	return h;
}

/* Silence towards the user. "Do not tell the user to …" is about what to say, not about what to
 * hide. */
static bool hides(const struct clause *c)
{
	uint64_t whom = BIT(LEX_USER3) | BIT(LEX_TASK) | BIT(LEX_THIS);

	for (size_t i = 0; i < c->n; i++) {
		size_t k;

		if (!(c->w[i].classes & BIT(LEX_SECRECY)))
			continue;
		k = after(c, i, whom, 5);
		if (k && k < c->n && (is_word(c, k, "to") || is_word(c, k, "which")))
			continue;
		if (k || i + 3 >= c->n)
			return true;
	}
	return false;
}

struct inject_harm inject_harm(
	const char *text, const struct inject_sentence *s, const struct inject_word *w, size_t n)
{
	uint64_t acts = ACTIONS | BIT(LEX_DOES);
	struct clause c = {.text = text, .s = s, .w = w, .n = n};
	struct inject_harm h = {0};

	for (size_t i = 0; i < n; i++) {
		unsigned what = w[i].classes & acts ? act(&c, i) : 0;

		if (what && forbidden(&c, i))
			h.held |= (uint16_t)what;
		else
			h.done |= (uint16_t)what;
	}
	if (s->classes & BIT(LEX_SECRECY) && hides(&c))
		h.done |= HARM_HIDE;
	if (s->classes & BIT(LEX_DELIM))
		h.done |= HARM_FORGE;
	return h;
}
