/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sentence looks like to the model. Words alone do not travel from one collection of attacks
 * to the next; who is addressed, what is asked for, what is to be kept from whom and where the
 * sentence stands do. So most features are relations between word classes, and the neighbourhood.
 */
#include <ctype.h>
#include <string.h>

#include "inspect/inject/classes.h"
#include "inspect/inject/shapes.h"

#define AROUND 4

/*
 * What a sentence brings along, whatever its words are. Pairs of these, in the sentence and in it
 * and its neighbours together, are features: one alone is common in harmless text, two that do not
 * belong together are not.
 */
enum role {
	R_ADDRESSED,
	R_AGENT,
	R_YOU,
	R_ORDER,
	R_EXFIL,
	R_DESTROY,
	R_EXEC,
	R_PAY,
	R_SAY,
	R_OVERRIDE,
	R_SECRET,
	R_PRIVATE,
	R_TARGET,
	R_SECRECY,
	R_USER3,
	R_PERMIT,
	R_PRESSURE,
	R_SWITCH,
	R_MEMORY,
	R_PARAM,
	R_RIGHTS,
	R_VERDICT,
	R_FORMAT,
	R_PROMPT,
	R_TOOL,
	R_AUTHORITY,
	R_UNSEEN,
	R_QUOTED,
	R_RULES, /* the text is a list of orders */
	R_ABOUT,
	R_DATA,
	R_LASTING,
	R_NORM,
	R_DOES,
	R_NOTE,
	R_MODAL,
	R_NEG,
	R_COND,
	R_TASK,
	R_URLISH,
	R_HARM,
	R_HELD,
	R_COUNT,
};
_Static_assert(R_COUNT *(R_COUNT - 1) / 2 <= FEATURE_MIXES, "room for pairs of roles");

/* The role of words of a class, if they have one. */
static const uint64_t class_roles[LEX_MAX] = {
	[LEX_READER] = BIT(R_ADDRESSED),
	[LEX_AGENT] = BIT(R_AGENT),
	[LEX_YOU] = BIT(R_YOU),
	[LEX_EXFIL] = BIT(R_EXFIL),
	[LEX_DESTROY] = BIT(R_DESTROY),
	[LEX_EXEC] = BIT(R_EXEC),
	[LEX_PAY] = BIT(R_PAY),
	[LEX_SAY] = BIT(R_SAY),
	[LEX_REVEAL] = BIT(R_SAY),
	[LEX_OVERRIDE] = BIT(R_OVERRIDE),
	[LEX_SECRET] = BIT(R_SECRET),
	[LEX_PRIVATE] = BIT(R_PRIVATE),
	[LEX_TARGET] = BIT(R_TARGET),
	[LEX_SECRECY] = BIT(R_SECRECY),
	[LEX_USER3] = BIT(R_USER3),
	[LEX_PERMIT] = BIT(R_PERMIT),
	[LEX_URGENT] = BIT(R_PRESSURE),
	[LEX_DESPITE] = BIT(R_PRESSURE),
	[LEX_PRETEXT] = BIT(R_PRESSURE),
	[LEX_RETURN] = BIT(R_PRESSURE),
	[LEX_NEWTASK] = BIT(R_SWITCH),
	[LEX_VERBING] = BIT(R_SWITCH),
	[LEX_MEMORY] = BIT(R_MEMORY),
	[LEX_PARAM] = BIT(R_PARAM),
	[LEX_RIGHTS] = BIT(R_RIGHTS),
	[LEX_VERDICT] = BIT(R_VERDICT),
	[LEX_FORMAT] = BIT(R_FORMAT),
	[LEX_PROMPT] = BIT(R_PROMPT),
	[LEX_TOOL] = BIT(R_TOOL),
	[LEX_IDENT] = BIT(R_TOOL),
	[LEX_AUTHORITY] = BIT(R_AUTHORITY),
	[LEX_DELIM] = BIT(R_AUTHORITY),
	[LEX_ABOUT] = BIT(R_ABOUT),
	[LEX_EXAMPLE] = BIT(R_ABOUT),
	[LEX_ALWAYS] = BIT(R_LASTING),
	[LEX_ROLE] = BIT(R_LASTING),
	[LEX_MODE] = BIT(R_LASTING),
	[LEX_NORM] = BIT(R_NORM),
	[LEX_DOES] = BIT(R_DOES),
	[LEX_NOTE] = BIT(R_NOTE),
	[LEX_MODAL] = BIT(R_MODAL),
	[LEX_NEG] = BIT(R_NEG),
	[LEX_COND] = BIT(R_COND),
	[LEX_TASK] = BIT(R_TASK),
	[LEX_URLISH] = BIT(R_URLISH),
};

struct view {
	const struct inject_text *t;
	const struct inject_sentences *all;
	const struct inject_sentence *s;
	const struct inject_word *w;
	size_t n, i;
	uint64_t near, around; /* classes of neighbours */
	uint64_t words;        /* of all words of it */
	struct inject_harm near_harm;
	bool order, near_order, around_order, near_hit;
	bool addressed, quoted, data;
	unsigned place;
	struct inject_features *out;
};

static void put(struct view *v, unsigned feature)
{
	if (v->out->n < FEATURES_MAX)
		v->out->v[v->out->n++] = (uint16_t)feature;
}

_Static_assert(FEATURES_MAX > 2 * LEX_MAX + FEATURE_SHAPES, "room for classes and shapes");

/* Comes before all that there are many of, so there is room. No guessing: there are hundreds. */
static inline void shape(struct view *v, unsigned which, bool is)
{
	v->out->v[v->out->n] = (uint16_t)(FEATURE_SHAPE + which);
	v->out->n += is;
}

static bool has(const struct view *v, uint64_t classes)
{
	return v->s->classes & classes;
}

/* Index + 1 of the first word behind i, at most `reach` on, that has one of the classes. */
static size_t after(const struct view *v, size_t i, uint64_t classes, size_t reach)
{
	for (size_t k = i + 1; k < v->n && k <= i + reach; k++)
		if (v->w[k].classes & classes)
			return k + 1;
	return 0;
}

/* Whether word i tells somebody to do it (or not to). */
static bool ordered(const struct view *v, size_t i)
{
	if (v->w[i].clause)
		return true;
	if (i && v->w[i - 1].classes & BIT(LEX_NEG))
		return i == 1 || v->w[i - 1].clause || v->w[i - 2].clause;
	return false;
}

/* a, then b within `reach`; with `order`, a has to be an order. */
static bool then(const struct view *v, uint64_t a, uint64_t b, size_t reach, bool order)
{
	if (!(v->words & a) || !(v->words & b))
		return false;
	for (size_t i = 0; i < v->n; i++)
		if ((v->w[i].classes & a) && (!order || ordered(v, i)) && after(v, i, b, reach))
			return true;
	return false;
}

static bool then3(const struct view *v, const uint64_t *c, size_t reach, bool order)
{
	if (!(v->words & c[0]) || !(v->words & c[1]) || !(v->words & c[2]))
		return false;
	for (size_t i = 0; i < v->n; i++) {
		size_t k;

		if (!(v->w[i].classes & c[0]) || (order && !ordered(v, i)))
			continue;
		k = after(v, i, c[1], reach);
		if (k && (v->w[k - 1].classes & c[2] || after(v, k - 1, c[2], reach)))
			return true;
	}
	return false;
}

/* The character behind word i, spaces left out. */
static char behind(const struct view *v, size_t i)
{
	const char *p = v->t->text;
	size_t at = v->w[i].end;

	while (at < v->t->len && (p[at] == ' ' || p[at] == '*' || p[at] == ']' || p[at] == ')'))
		at++;
	return (char)(at < v->t->len ? p[at] : 0);
}

static void orders(struct view *v)
{
	static const uint8_t verbs[10] = {LEX_EXFIL, LEX_DESTROY, LEX_EXEC, LEX_REVEAL, LEX_SAY,
		LEX_PAY, LEX_ACT, LEX_OVERRIDE, LEX_OBEY, LEX_TELL};
	unsigned seen = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (!(v->w[i].classes & ACTIONS) || !ordered(v, i))
			continue;
		for (unsigned k = 0; k < 10; k++)
			seen |= v->w[i].classes & BIT(verbs[k]) ? 1u << k : 0;
	}
	v->order = seen;
	for (unsigned k = 0; k < 10; k++)
		shape(v, S_ORDER + k, seen >> k & 1);
}

static unsigned pressure(uint64_t c)
{
	const uint64_t kinds = BIT(LEX_OVERRIDE) | BIT(LEX_SECRECY) | BIT(LEX_TARGET) |
			       BIT(LEX_READER) | BIT(LEX_NEWTASK) | BIT(LEX_URGENT) |
			       BIT(LEX_AUTHORITY) | BIT(LEX_PROMPT) | BIT(LEX_SECRET) |
			       BIT(LEX_MODE) | BIT(LEX_PERMIT) | BIT(LEX_DESPITE) | BIT(LEX_TOOL) |
			       BIT(LEX_AGENT) | BIT(LEX_PRIVATE) | BIT(LEX_EXFIL) | BIT(LEX_USER3);
	unsigned n = 0;

	for (c &= kinds; c; c &= c - 1)
		n++;
	return n;
}

/* How a sentence stands in quotation marks. */
static void quotes(struct view *v)
{
	char before = 0, q = inject_quote(v->t, v->s, &before);

	v->quoted = q == '`' || (q && !strchr(INJECT_VALUE, before));
	v->data = q && !v->quoted;
	shape(v, S_DATA, v->data);
	shape(v, S_QUOTED_BACK, q == '`');
	shape(v, S_QUOTED_COLON, q && q != '`' && strchr(INJECT_VALUE, before));
	shape(v, S_QUOTED_WORD, q && q != '`' && !strchr(INJECT_VALUE, before));
	shape(v, S_HIT_QUOTED, q && v->s->hits);
	shape(v, S_ABOUT_QUOTED, q && ((v->s->classes | v->near) & BIT(LEX_ABOUT)));
}

static unsigned step(size_t part, size_t whole, const unsigned *limits, unsigned n)
{
	unsigned k = 0;

	while (k < n && part * 1000 > limits[k] * whole)
		k++;
	return k;
}

/* The text around: what kind of document is this? */
static void surroundings(struct view *v)
{
	static const unsigned about[] = {0, 5, 15}, order[] = {50, 150, 300}, you[] = {5, 20},
			      agent[] = {0, 10}, dev[] = {15, 50}, bullet[] = {100, 400};
	const struct inject_sentences *a = v->all;
	bool isolated = !v->around_order && !(v->around & (BIT(LEX_YOU) | BIT(LEX_AGENT)));
	unsigned press = pressure(v->s->classes);
	unsigned dense = step(a->about, a->words, about, 3);

	shape(v, S_ABOUT + dense, true);
	shape(v, S_ORDERS + step(a->commands, a->n, order, 3), true);
	shape(v, S_YOUS + step(a->you, a->words, you, 2), true);
	shape(v, S_AGENTS + step(a->agent, a->words, agent, 2), true);
	shape(v, S_DEVS + step(a->dev, a->words, dev, 2), true);
	shape(v, S_BULLETS + step(a->bullets, a->n, bullet, 2), true);
	shape(v, S_ISOLATED, isolated);
	shape(v, S_ISOLATED_ORDER, isolated && v->order);
	shape(v, S_ISOLATED_YOU_ORDER, isolated && v->order && has(v, BIT(LEX_YOU)));
	shape(v, S_ISOLATED_AGENT, isolated && has(v, BIT(LEX_AGENT) | BIT(LEX_READER)));
	shape(v, S_ISOLATED_PRESSED, isolated && press >= 3);
	shape(v, S_HIT_ISOLATED, isolated && v->s->hits);
	shape(v, S_HIT_ABOUT, dense >= 2 && v->s->hits);
	shape(v, S_NEAR_HIT, v->near_hit);
	shape(v, S_NEAR_ORDER, v->near_order);
	press = pressure(v->s->classes | v->near);
	for (unsigned k = 0; k < 5; k++)
		shape(v, S_MANY + k, press >= k + 2);
}

static void places(struct view *v)
{
	bool unseen = v->place & PLACE_UNSEEN;

	for (unsigned k = 0; k < PLACE_COUNT; k++)
		shape(v, S_PLACE + k, v->place >> k & 1);
	shape(v, S_UNSEEN, unseen);
	shape(v, S_UNSEEN_ORDER, unseen && v->order);
	shape(v, S_UNSEEN_YOU, unseen && has(v, BIT(LEX_YOU)));
	shape(v, S_UNSEEN_AGENT, unseen && has(v, BIT(LEX_AGENT) | BIT(LEX_READER)));
	shape(v, S_HIT_UNSEEN, unseen && v->s->hits);
	for (unsigned k = 0; k < 16; k++)
		shape(v, S_HIT + k, v->s->hits >> k & 1);
	shape(v, S_HITS_TWO, v->s->hits & (v->s->hits - 1u));
}

/* A line of signs: ###, ===, >>> or ---. */
static bool ruled(const char *p, size_t n)
{
	for (size_t i = 2; i < n; i++)
		if (p[i] == p[i - 1] && p[i] == p[i - 2] &&
			(p[i] == '#' || p[i] == '=' || p[i] == '>' || p[i] == '-'))
			return true;
	return false;
}

static void looks(struct view *v)
{
	const char *p = v->t->text;
	size_t start = v->s->start, end = v->s->end;
	size_t from = start > 24 ? start - 24 : 0, to = end + 24 < v->t->len ? end + 24 : v->t->len;

	shape(v, S_QUESTION, end && p[end - 1] == '?');
	shape(v, S_BULLET, v->s->bullet);
	shape(v, S_CAPITALS, v->s->n_words > 3 && v->s->n_upper * 2 > v->s->n_words);
	shape(v, S_EXCLAIMS,
		memchr(p + from, '!', to - from) && memmem(p + from, to - from, "!!", 2));
	shape(v, S_FRAMED,
		ruled(p + from, start - from) ||
			(memchr(p + from, '<', start - from) &&
				memchr(p + from, '>', start - from)) ||
			(memchr(p + from, '[', start - from) &&
				memchr(p + from, ']', start - from)));
}

static bool mentioned(const struct view *v)
{
	uint64_t talk = BIT(LEX_EXAMPLE) | BIT(LEX_ABOUT);

	if (v->i && v->all->v[v->i - 1].classes & talk)
		return true;
	for (size_t k = 0; k < v->n; k++) {
		if (v->w[k].classes & talk)
			return true;
		if (v->w[k].classes & BIT(LEX_OVERRIDE))
			return false;
	}
	return false;
}

/* Who is told to do what. */
static void relations(struct view *v)
{
	static const uint64_t all3[] = {BIT(LEX_OVERRIDE), BIT(LEX_PRIOR), BIT(LEX_INSTR)};
	static const uint64_t tell3[] = {BIT(LEX_NEG), BIT(LEX_TELL) | BIT(LEX_REVEAL),
		BIT(LEX_USER3) | BIT(LEX_PRIOR) | BIT(LEX_THIS)};
	static const uint64_t agent3[] = {BIT(LEX_COND), BIT(LEX_YOU), BIT(LEX_AGENT)};
	static const uint64_t leak3[] = {
		BIT(LEX_EXFIL), OBJECTS, BIT(LEX_TARGET) | BIT(LEX_URLISH)};
	static const uint64_t must3[] = {BIT(LEX_YOU), BIT(LEX_MODAL), ACTIONS};
	static const uint64_t agent_must3[] = {BIT(LEX_AGENT), BIT(LEX_MODAL), ACTIONS};
	uint64_t verbs = BIT(LEX_EXFIL) | BIT(LEX_EXEC) | BIT(LEX_ACT) | BIT(LEX_PAY);

	shape(v, S_OVERRIDE_INSTR, then(v, all3[0], BIT(LEX_INSTR), 6, false));
	shape(v, S_OVERRIDE_INSTR_ORDER, then(v, all3[0], BIT(LEX_INSTR), 6, true));
	shape(v, S_OVERRIDE_PRIOR, then(v, all3[0], BIT(LEX_PRIOR), 4, false));
	shape(v, S_OVERRIDE_PRIOR_ORDER, then(v, all3[0], BIT(LEX_PRIOR), 4, true));
	shape(v, S_OVERRIDE_ALL, then3(v, all3, 5, false));
	shape(v, S_OVERRIDE_ALL_ORDER, then3(v, all3, 5, true));
	shape(v, S_SECRECY_USER, then(v, BIT(LEX_SECRECY), BIT(LEX_USER3), 5, false));
	shape(v, S_NOT_TELL_USER, then3(v, tell3, 4, false));
	shape(v, S_IF_AGENT, then3(v, agent3, 4, false));
	shape(v, S_NOTE_AGENT, then(v, BIT(LEX_NOTE) | BIT(LEX_URGENT), BIT(LEX_AGENT), 4, false));
	shape(v, S_EXFIL_TARGET, then(v, BIT(LEX_EXFIL), BIT(LEX_TARGET), 25, true));
	shape(v, S_EXFIL_OBJECT, then(v, BIT(LEX_EXFIL), OBJECTS, 10, true));
	shape(v, S_EXFIL_OBJECT_TARGET, then3(v, leak3, 12, false));
	shape(v, S_REVEAL_PROMPT,
		then(v, BIT(LEX_REVEAL) | BIT(LEX_SAY), BIT(LEX_PROMPT), 8, false));
	shape(v, S_REVEAL_SECRET, then(v, BIT(LEX_REVEAL), BIT(LEX_SECRET), 6, true));
	shape(v, S_EXEC_TOOL, then(v, BIT(LEX_EXEC) | BIT(LEX_ACT), BIT(LEX_TOOL), 5, true));
	shape(v, S_EXEC_IDENT, then(v, BIT(LEX_EXEC) | BIT(LEX_ACT), BIT(LEX_IDENT), 4, true));
	shape(v, S_BEFORE_TASK,
		then(v, BIT(LEX_SEQ), BIT(LEX_VERBING) | BIT(LEX_TASK), 5, false) &&
			(v->order || v->near_order));
	shape(v, S_ORDER_USER, v->order && has(v, BIT(LEX_USER3)));
	shape(v, S_USER_OBJECT, then(v, BIT(LEX_USER3), OBJECTS, 3, false) && v->order);
	shape(v, S_YOU_MUST, then3(v, must3, 3, false));
	shape(v, S_AGENT_MUST, then3(v, agent_must3, 3, false));
	shape(v, S_MY_OBJECT_ORDER,
		then(v, BIT(LEX_ME), OBJECTS | BIT(LEX_TARGET), 3, false) && v->order);
	shape(v, S_INSTEAD_ORDER,
		has(v, BIT(LEX_OVERRIDE)) && then(v, verbs, BIT(LEX_SEQ), 30, true));
	shape(v, S_AUTHORITY_PERMIT,
		then(v, BIT(LEX_AUTHORITY) | BIT(LEX_USER3), BIT(LEX_PERMIT), 5, false));
}

static void pressures(struct view *v)
{
	uint64_t c = v->s->classes;
	bool called = false, claimed = false, role = false;

	shape(v, S_YOU_MODE, has(v, BIT(LEX_YOU)) && has(v, BIT(LEX_MODE)));
	shape(v, S_URGENT_ORDER, has(v, BIT(LEX_URGENT)) && v->order);
	shape(v, S_DESPITE_ORDER, has(v, BIT(LEX_DESPITE)) && v->order);
	shape(v, S_ALWAYS_ORDER, has(v, BIT(LEX_ALWAYS)) && v->order);
	shape(v, S_READER_ORDER, has(v, BIT(LEX_READER)) && (v->order || v->near_order));
	shape(v, S_FAKE_ERROR,
		(c & BIT(LEX_RETURN)) && (c & (BIT(LEX_AGENT) | BIT(LEX_READER))) &&
			(v->order || v->near_order || (c & BIT(LEX_MODAL))));
	shape(v, S_NEW_POLICY,
		(c & BIT(LEX_PRETEXT)) && v->order && (c & (OBJECTS | BIT(LEX_TARGET))));
	shape(v, S_MENTIONED, mentioned(v));
	for (size_t i = 0; i < v->n && i < 8; i++) {
		char next = behind(v, i);

		called |= (v->w[i].classes & BIT(LEX_AGENT)) && (next == ',' || next == ':');
		claimed |= (v->w[i].classes & (BIT(LEX_AUTHORITY) | BIT(LEX_DELIM))) && next == ':';
		role |= (v->w[i].classes & BIT(LEX_ROLE)) != 0;
	}
	v->addressed = called || has(v, BIT(LEX_READER)) ||
		       then(v, BIT(LEX_AGENT), BIT(LEX_MODAL), 5, false) ||
		       then(v, BIT(LEX_NOTE) | BIT(LEX_COND), BIT(LEX_AGENT), 5, false);
	shape(v, S_VOCATIVE, called);
	shape(v, S_AUTHORITY_COLON, claimed);
	shape(v, S_ROLE_FIRST, role);
	for (size_t i = 0; i < v->n; i++)
		if ((v->w[i].classes & (BIT(LEX_NEWTASK) | BIT(LEX_THIS))) && behind(v, i) == ':') {
			shape(v, S_TASK_COLON, true);
			break;
		}
}

/* An address with a blank for what is to be put in: {x}, [x], <x>, ____, =X. */
static bool placeholder(const struct view *v)
{
	const char *p = v->t->text + v->s->start, *end = v->t->text + v->s->end;

	for (p = memchr(p, '=', (size_t)(end - p)); p; p = memchr(p, '=', (size_t)(end - p))) {
		if (++p == end)
			return false;
		if (strchr("{[<_$", *p) || (*p >= 'A' && *p <= 'Z' && end - p > 2 && p[1] >= 'A'))
			return true;
	}
	return false;
}

static bool piped(const struct view *v)
{
	static const char shells[][8] = {"| sh", "|sh", "| bash", "|bash", "| sudo", "| zsh"};
	const char *p = v->t->text + v->s->start;
	size_t len = v->s->end - v->s->start, left = v->t->len - v->s->start;

	len = len + 8 < left ? len + 8 : left;
	for (const char *q = p; (q = memchr(q, '|', len - (size_t)(q - p))); q++)
		for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
			if (len - (size_t)(q - p) >= strlen(shells[i]) &&
				!memcmp(q, shells[i], strlen(shells[i])))
				return true;
	return false;
}

/* What is asked for, beyond words: an action, what it is done to and where that goes. */
static void purposes(struct view *v)
{
	uint64_t acts = BIT(LEX_EXFIL) | BIT(LEX_DESTROY) | BIT(LEX_PAY) | BIT(LEX_ACT) |
			BIT(LEX_SAY) | BIT(LEX_EXEC);
	uint64_t says =
		BIT(LEX_SAY) | BIT(LEX_REVEAL) | BIT(LEX_TELL) | BIT(LEX_ACT) | BIT(LEX_DESTROY);
	uint64_t objects = OBJECTS | BIT(LEX_PROMPT);
	uint64_t lasts = BIT(LEX_PERMIT) | BIT(LEX_SECRECY) | BIT(LEX_TARGET) | BIT(LEX_RIGHTS) |
			 BIT(LEX_NEG) | BIT(LEX_OVERRIDE);
	uint64_t out = BIT(LEX_FORMAT) | BIT(LEX_TASK) | BIT(LEX_PARAM) | BIT(LEX_URLISH);
	bool any = v->order || v->near_order;

	shape(v, S_ADDRESSED, v->addressed);
	shape(v, S_RIGHTS_ORDER, then(v, acts, BIT(LEX_RIGHTS), 8, true));
	shape(v, S_VERDICT_ORDER, then(v, says, BIT(LEX_VERDICT), 8, true));
	shape(v, S_MEMORY_LASTING, then(v, BIT(LEX_MEMORY), lasts, 12, false));
	shape(v, S_MEMORY_ORDER, then(v, ACTIONS, BIT(LEX_MEMORY), 6, true));
	shape(v, S_PARAM_OBJECT, then(v, BIT(LEX_PARAM), objects, 10, false));
	shape(v, S_FORMAT_OBJECT, has(v, BIT(LEX_FORMAT)) && has(v, objects));
	shape(v, S_FORMAT_TARGET, has(v, BIT(LEX_FORMAT)) && has(v, BIT(LEX_TARGET)));
	shape(v, S_EXEC_TARGET, then(v, BIT(LEX_EXEC) | BIT(LEX_ACT), BIT(LEX_TARGET), 8, true));
	shape(v, S_PIPED_SHELL, piped(v));
	shape(v, S_PLACEHOLDER, placeholder(v));
	shape(v, S_OBJECT_OUT, then(v, objects, out, 6, false) && v->order);
	shape(v, S_SWITCH_ORDER,
		then(v, BIT(LEX_SEQ), BIT(LEX_VERBING) | BIT(LEX_TASK), 4, false) && v->order);
	shape(v, S_OVERRIDE_TASK,
		then(v, BIT(LEX_OVERRIDE), BIT(LEX_TASK) | BIT(LEX_PRIOR) | BIT(LEX_USER3), 6,
			false));
	shape(v, S_HIDE_ORDER, has(v, BIT(LEX_SECRECY)) && any);
	shape(v, S_CONSENT_ORDER, has(v, BIT(LEX_PERMIT)) && any);
	shape(v, S_CARES,
		has(v, BIT(LEX_CARE)) && !has(v, BIT(LEX_TARGET)) && !has(v, BIT(LEX_OVERRIDE)));
	shape(v, S_FOR_PEOPLE, (v->s->classes | v->near) & BIT(LEX_PERSON));
}

/* "Assistants, open …", "AI agents: if …", "to the bot – remove …" */
static bool called_order(const struct view *v)
{
	uint64_t what = ACTIONS | BIT(LEX_YOU) | BIT(LEX_COND) | BIT(LEX_SEQ) | BIT(LEX_NEG) |
			BIT(LEX_MODAL);

	for (size_t i = 0; i < v->n && i < 8; i++) {
		char next = (char)(v->w[i].classes & BIT(LEX_AGENT) ? behind(v, i) : 0);

		if ((next == ',' || next == ':' || next == '-') && after(v, i, what, 2) &&
			after(v, i, ACTIONS, 12))
			return true;
	}
	return false;
}

/* Orders that do not look like one: by custom, in the third person, by what a tool needs. */
static void customs(struct view *v)
{
	static const uint64_t tool3[] = {
		BIT(LEX_COND) | BIT(LEX_SEQ), BIT(LEX_TOOL) | BIT(LEX_IDENT), BIT(LEX_MODAL)};
	uint64_t agent = BIT(LEX_AGENT) | BIT(LEX_READER), c = v->s->classes;
	static const uint64_t bound3[] = {
		BIT(LEX_AGENT), BIT(LEX_MODAL) | BIT(LEX_NORM), ACTIONS | BIT(LEX_NEG)};
	bool acts = v->order || c & (BIT(LEX_DOES) | BIT(LEX_EXFIL));

	shape(v, S_AGENT_DOES, then(v, agent, BIT(LEX_DOES), 8, false));
	shape(v, S_AGENT_NORM, then(v, agent, BIT(LEX_NORM), 8, false));
	shape(v, S_NORM_ACTION, then(v, BIT(LEX_NORM), ACTIONS | BIT(LEX_DOES), 5, false));
	shape(v, S_NORM_OBJECT, c & BIT(LEX_NORM) && c & OBJECTS);
	shape(v, S_DOES_OBJECT, then(v, BIT(LEX_DOES), OBJECTS | BIT(LEX_PROMPT), 8, false));
	shape(v, S_DOES_TARGET, then(v, BIT(LEX_DOES), BIT(LEX_TARGET), 15, false));
	shape(v, S_AGENT_OBJECT, c & BIT(LEX_AGENT) && c & (OBJECTS | BIT(LEX_PROMPT)));
	shape(v, S_PUT_PARAM, then(v, BIT(LEX_EXFIL) | BIT(LEX_SAY), BIT(LEX_PARAM), 12, false));
	shape(v, S_TOOL_MUST, then3(v, tool3, 8, false));
	shape(v, S_CALLED_ORDER, called_order(v));
	shape(v, S_MODEL_ORDER, then3(v, bound3, 4, false));
	shape(v, S_HUSHED_AFTER, acts && v->near & BIT(LEX_SECRECY));
	shape(v, S_HUSHED_HERE,
		c & BIT(LEX_SECRECY) &&
			(v->near_order || v->near & (agent | BIT(LEX_EXFIL) | OBJECTS)));
}

/* What stands out from the rest of the text. */
static void odd_ones(struct view *v)
{
	const struct inject_sentences *a = v->all;
	const char *p = v->t->text;
	size_t start = v->s->start;
	bool many = a->n > 5 && a->words > 50;

	shape(v, S_ASIDE, start && (p[start - 1] == '(' || p[start - 1] == '['));
	shape(v, S_NOTE_FIRST, v->n && v->w[0].classes & (BIT(LEX_NOTE) | BIT(LEX_URGENT)));
	shape(v, S_ONLY_AGENT, many && has(v, BIT(LEX_AGENT)) && a->agent <= 2);
	shape(v, S_ONLY_YOU, many && has(v, BIT(LEX_YOU)) && a->you <= 2);
	shape(v, S_ONLY_ORDER, many && v->s->command && a->commands <= 2);
}

/* What is wanted, with whom it is wanted and how it is made to look. */
static void harms(struct view *v)
{
	unsigned own = v->s->harm.done, all = own | v->near_harm.done;
	unsigned acts = all & ~(HARM_HIDE | HARM_FORGE), kinds = (unsigned)__builtin_popcount(all);
	uint64_t c = v->s->classes | v->near;
	bool called = v->addressed || v->near & BIT(LEX_READER);

	for (unsigned k = 0; k < HARM_COUNT; k++)
		shape(v, S_HARM + k, own >> k & 1);
	shape(v, S_HARM_KINDS + (kinds < 3 ? kinds : 3), true);
	shape(v, S_HELD, v->s->harm.held && !own);
	shape(v, S_HELD_NEAR, v->near_harm.held && !own);
	shape(v, S_HARM_NEAR, !own && all);
	shape(v, S_CALLED_ONLY, called && !all);
	shape(v, S_CALLED_HARM, called && acts);
	if (!acts)
		return;
	shape(v, S_HUSHED_HARM, all & HARM_HIDE);
	shape(v, S_CONSENT_HARM, c & BIT(LEX_PERMIT));
	shape(v, S_CLAIMED_HARM, c & (BIT(LEX_AUTHORITY) | BIT(LEX_DELIM)));
	shape(v, S_PRESSED_HARM, c & (BIT(LEX_URGENT) | BIT(LEX_DESPITE) | BIT(LEX_RETURN)));
	shape(v, S_SWITCHED_HARM, c & (BIT(LEX_NEWTASK) | BIT(LEX_VERBING)));
	shape(v, S_CAREFUL_HARM, c & BIT(LEX_CARE));
	shape(v, S_DEV_HARM, c & BIT(LEX_DEV) && !(c & (BIT(LEX_TARGET) | BIT(LEX_SECRET))));
	shape(v, S_UNSEEN_HARM, v->place & PLACE_UNSEEN);
	shape(v, S_USER_HARM, c & BIT(LEX_USER3));
	shape(v, S_STRANGE_HARM, c & BIT(LEX_TARGET));
}

static uint64_t structure(const struct view *v)
{
	const struct inject_sentences *a = v->all;
	uint64_t r = v->addressed ? BIT(R_ADDRESSED) : 0;

	r |= v->place & PLACE_UNSEEN ? BIT(R_UNSEEN) : 0;
	r |= v->quoted ? BIT(R_QUOTED) : 0;
	r |= v->data ? BIT(R_DATA) : 0;
	r |= a->n > 6 && a->commands * 4 > a->n ? BIT(R_RULES) : 0;
	r |= a->about * 200 > a->words ? BIT(R_ABOUT) : 0;
	return r;
}

static uint64_t roles(uint64_t classes, bool order)
{
	uint64_t r = order ? BIT(R_ORDER) : 0;

	for (; classes; classes &= classes - 1)
		r |= class_roles[__builtin_ctzll(classes)];
	return r;
}

static void mixes(struct view *v)
{
	uint64_t s = structure(v), own = roles(v->s->classes, v->order) | s;
	uint64_t wide = roles(v->s->classes | v->near, v->order || v->near_order) | s;

	own |= v->s->harm.done ? BIT(R_HARM) : 0;
	own |= v->s->harm.held && !v->s->harm.done ? BIT(R_HELD) : 0;
	wide |= own | (v->near_harm.done ? BIT(R_HARM) : 0);

	for (uint64_t left = wide; left; left &= left - 1) {
		unsigned b = (unsigned)__builtin_ctzll(left), first = b * (b - 1) / 2;

		for (uint64_t low = wide & (BIT(b) - 1); low; low &= low - 1) {
			unsigned a = (unsigned)__builtin_ctzll(low);
			bool both = own & BIT(a) && own & BIT(b);

			put(v, (both ? FEATURE_MIX : FEATURE_WIDE) + first + a);
		}
	}
}

static uint32_t word_feature(uint32_t hash)
{
	return (hash * 0x9e3779b1u) >> 17;
}

/*
 * The words themselves. They tell less of texts from elsewhere than all the above does, but what
 * the classes leave out is in them. Names, addresses and numbers are no words.
 */
static void own_words(struct view *v)
{
	INJECT_RAW uint64_t seen[FEATURE_WORDS / 64];
	INJECT_RAW uint32_t hashes[2 * INJECT_WORDS_MAX];
	uint32_t before = 0;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct inject_word *w = &v->w[i];
		bool plain = !(w->classes & (BIT(LEX_TARGET) | BIT(LEX_IDENT))) &&
			     w->end - w->start < 18 &&
			     !isdigit((unsigned char)v->t->text[w->start]);

		hashes[n] = w->hash;
		hashes[n + 1] = before ? inject_hash_join(before, w->hash) : 0;
		n += plain ? 2 : 0;
		before = plain ? w->hash : 0;
	}
	/* there is room for many, of which few are looked at */
	for (size_t i = 0; i < n; i++)
		seen[word_feature(hashes[i]) / 64] = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t f = word_feature(hashes[i]);

		if (hashes[i] && !(seen[f / 64] >> f % 64 & 1))
			put(v, FEATURE_WORD + f);
		seen[f / 64] |= BIT(f % 64);
	}
}

static void neighbours(struct view *v)
{
	for (size_t d = 1; d <= AROUND; d++)
		for (unsigned side = 0; side < 2; side++) {
			size_t k = side ? v->i + d : v->i - d;
			const struct inject_sentence *s;

			if (side ? k >= v->all->n : d > v->i)
				continue;
			s = &v->all->v[k];
			if (d <= NEAR) {
				v->near |= s->classes;
				v->near_order |= s->command;
				v->near_hit |= s->hits != 0;
				v->near_harm.done |= s->harm.done;
				v->near_harm.held |= s->harm.held;
			} else {
				v->around |= s->classes;
				v->around_order |= s->command;
			}
		}
}

void inject_features(const struct inject_text *t, const struct inject_sentences *all, size_t i,
	const struct inject_word *w, size_t n, unsigned place, struct inject_features *out)
{
	struct view v = {.t = t, .all = all, .s = &all->v[i], .w = w, .n = n, .i = i, .out = out};

	out->n = 0;
	v.place = place | inject_place(t, v.s->start, v.s->end);
	for (size_t k = 0; k < n; k++)
		v.words |= w[k].classes;
	neighbours(&v);
	for (uint64_t left = v.s->classes | v.near; left; left &= left - 1) {
		unsigned k = (unsigned)__builtin_ctzll(left);

		if (v.s->classes >> k & 1)
			put(&v, FEATURE_CLASS + k);
		if (v.near >> k & 1)
			put(&v, FEATURE_NEAR + k);
	}
	orders(&v);
	places(&v);
	surroundings(&v);
	quotes(&v);
	looks(&v);
	relations(&v);
	pressures(&v);
	purposes(&v);
	customs(&v);
	odd_ones(&v);
	harms(&v);
	mixes(&v);
	inject_meanings(all, i, w, n, out);
	own_words(&v);
}
