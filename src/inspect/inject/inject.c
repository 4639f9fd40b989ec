/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions aimed at an agent. Rules know the forms that are beyond doubt; the model judges each
 * sentence by its structure and by which rules matched in it. Neither decides alone: a rule that
 * matched in what reads like a quotation counts little, and so does a sentence that merely sounds
 * like an order. Blocks that were encoded are looked at like the text itself, one level after the
 * other.
 */
#include "inspect/inject/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject-lexicon.h"
#include "inspect/detectors.h"
#include "inspect/rules.h"

#define MARK_WORDS    3     /* a sentence that short may be a mark that belongs to the next */
#define STRONG        0.88f /* confidence of a rule that the model may doubt only so far */
#define DEPTH_MAX     2
#define SENTENCE_COST 256 /* of the budget, for one that is scored */
#define FINDINGS_MAX  16  /* of the model, for each FINDINGS_PER bytes that were begun */
#define FINDINGS_PER  65536
#define REPORT_FROM   0.30

/* Families of rules, by the word behind "inject." in their ids; a bit each in `hits`. */
static const char families[][10] = {"override", "role", [INJECT_FAMILY_AGENT] = "agent", "tool",
	"secrecy", "exfil", "hijack", "leak", "delimiter", "image", "lang", "glued", "persona",
	"permit", "poison", "fake"};

/* The words of a sentence. */
struct reading {
	struct inject_word w[INJECT_WORDS_MAX];
	size_t n;
};
#define READINGS (INJECT_REACH + 1) /* that are kept */

struct run {
	struct bawn_scan *scan;
	const struct bawn_subject *sub;
	const struct inject_visitor *visitor;
	struct bawn_error *err;
	struct inject_part *parts;
	size_t n, cap, at;
	size_t island;              /* where the text is that rules run over */
	struct inject_found *found; /* of the part at hand */
	size_t n_found, cap_found;
	struct reading *readings; /* of the sentences that were read last */
};

/* The sentence that byte `at` stands in, or the one before it. */
static size_t sentence_at(const struct inject_sentences *s, size_t at)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->v[mid].start <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

static unsigned family(const char *id)
{
	const char *p = strchr(id, '.');

	for (unsigned k = 0; p && k < sizeof(families) / sizeof(families[0]); k++)
		if (p[1] == families[k][0] && !strncmp(p + 1, families[k], strlen(families[k])))
			return 1u << k;
	return 0;
}

/* "order": what matched starts like an order, not like a statement about sending and reading. */
static bool is_order(const struct inject_part *p, size_t at)
{
	INJECT_RAW struct inject_word w[INJECT_WORDS_MAX];
	size_t n;

	if (!p->s.n)
		return true;
	n = inject_words(p->t.text, &p->s.v[sentence_at(&p->s, at)], w);
	for (size_t i = 0; i < n; i++)
		if (w[i].end > at)
			return w[i].clause;
	return true;
}

/* How much a rule adds to the log-odds of the sentence. */
static float strength(const struct bawn_rule *r)
{
	return 16.0f * (r->confidence - 0.45f);
}

static bool is_worth(const struct inject_part *p, size_t i)
{
	return p->worth[i / 64] >> i % 64 & 1;
}

static void set_worth(const struct inject_part *p, size_t i)
{
	p->worth[i / 64] |= (uint64_t)1 << i % 64;
}

/* The first sentence from i on that may be a candidate; how many there are if there is none. */
static size_t next_worth(const struct inject_part *p, size_t i)
{
	while (i < p->s.n) {
		uint64_t left = p->worth[i / 64] >> i % 64;

		if (left)
			return i + (size_t)__builtin_ctzll(left);
		i = (i / 64 + 1) * 64;
	}
	return p->s.n;
}

/* The surest first; in which order they were found depends on how rules are looked for. */
static int by_strength(const void *a, const void *b)
{
	const struct inject_found *x = a, *y = b;

	if (x->rule->confidence != y->rule->confidence)
		return x->rule->confidence > y->rule->confidence ? -1 : 1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

static void weigh(const struct inject_part *p, const struct inject_found *f)
{
	unsigned fam = family(bawn_rule_str(&bawn_rules_inject, f->rule->id));

	for (size_t i = f->sentence; i < p->s.n && p->s.v[i].start < f->end; i++) {
		struct inject_sentence *s = &p->s.v[i];

		if (!(s->hits & fam))
			s->rules += strength(f->rule);
		s->hits |= (uint16_t)fam;
		s->strong |= f->rule->confidence >= STRONG;
	}
}

/* What rules say of each sentence: of each family the surest that matched. */
static int weigh_all(const struct run *r)
{
	struct inject_found *v;

	if (!r->n_found)
		return 0;
	v = bawn_new(bawn_scan_arena(r->scan), struct inject_found, r->n_found);
	if (!v)
		return -ENOMEM;
	memcpy(v, r->found, r->n_found * sizeof(*v));
	qsort(v, r->n_found, sizeof(*v), by_strength);
	for (size_t i = 0; i < r->n_found; i++)
		weigh(&r->parts[r->at], &v[i]);
	return 0;
}

static int on_match(void *data, const struct bawn_match *m)
{
	struct run *r = data;
	struct inject_part *p = &r->parts[r->at];
	struct inject_found *f;

	if (!strcmp(bawn_rule_str(&bawn_rules_inject, m->rule->check), "order") &&
		!is_order(p, m->start + r->island))
		return 0;
	f = bawn_grow(bawn_scan_arena(r->scan), &r->found, &r->n_found, &r->cap_found);
	if (!f)
		return -ENOMEM;
	*f = (struct inject_found){
		.rule = m->rule, .start = m->start + r->island, .end = m->end + r->island};
	if (!p->s.n)
		return 0;
	f->sentence = sentence_at(&p->s, f->start);
	p->s.v[f->sentence].cited |= inject_cited(&p->t, &p->s.v[f->sentence], f->start);
	for (size_t i = f->sentence; i < p->s.n && p->s.v[i].start < f->end; i++)
		set_worth(p, i);
	return 0;
}

void inject_part_span(
	const struct inject_part *p, size_t start, size_t end, size_t *ret_start, size_t *ret_end)
{
	*ret_start = p->depth ? p->start : inject_origin(&p->t, start);
	*ret_end = p->depth ? p->end : inject_origin(&p->t, end ? end - 1 : 0) + 1;
	if (!p->depth && *ret_end > p->t.from_len)
		*ret_end = p->t.from_len;
}

static int add_part(struct run *r, const char *text, size_t len, const struct inject_part *like)
{
	struct inject_part *p = bawn_grow(bawn_scan_arena(r->scan), &r->parts, &r->n, &r->cap);
	int e;

	if (!p)
		return -ENOMEM;
	*p = *like;
	e = inject_normalise(bawn_scan_arena(r->scan), text, len, &p->t);
	if (e >= 0)
		e = inject_split(bawn_scan_arena(r->scan), &p->t, &p->s);
	if (e >= 0)
		p->worth = bawn_new(bawn_scan_arena(r->scan), uint64_t, p->s.n / 64 + 1);
	if (e >= 0 && !p->worth)
		return -ENOMEM;
	return e < 0 ? e : inject_ciphers(bawn_scan_arena(r->scan), &p->t, &p->s);
}

/* Decode what looks encoded in the part at hand and line it up. */
static int nested(struct run *r)
{
	size_t last[HINT_COUNT] = {0}, n = r->parts[r->at].s.n_hints;

	if (r->parts[r->at].depth >= DEPTH_MAX)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct inject_part *p = &r->parts[r->at];
		const struct inject_hint *h = &p->s.hints[i];
		struct inject_part like = {.depth = p->depth + 1, .place = PLACE_DECODED};
		struct inject_block b;
		int e;

		if (h->start < last[h->kind]) /* was decoded with the one before */
			continue;
		e = inject_decode(bawn_scan_arena(r->scan), &p->t, h, &b);
		if (e < 0)
			return e;
		last[h->kind] = b.end;
		if (!bawn_scan_spend(r->scan, 32 + b.len))
			return 0;
		if (!b.len)
			continue;
		inject_part_span(p, b.start, b.end, &like.start, &like.end);
		e = add_part(r, b.text, b.len, &like);
		if (e < 0)
			return e;
	}
	return 0;
}

/*
 * Whether somebody else's words are given here: between quotation marks or fences, in a list,
 * behind a colon, or in a sentence that itself speaks of attacks or examples. Talk elsewhere in the
 * text does not make an order an example.
 */
static bool reported(const struct inject_part *p, size_t i, unsigned place)
{
	const struct inject_sentence *s = &p->s.v[i];
	uint64_t talk = (uint64_t)1 << LEX_ABOUT | (uint64_t)1 << LEX_EXAMPLE;
	size_t from;
	char before;

	if (s->quoted || s->bullet || s->foreign || s->classes & talk)
		return true;
	if (place & (PLACE_FENCE | PLACE_QUOTE) || inject_quote(&p->t, s, &before))
		return true;
	if (!i || !(p->s.v[i - 1].classes & talk))
		return false;
	for (from = s->start; from > p->s.v[i - 1].start; from--)
		if (!strchr(" \t\r\n\"'`>*-", p->t.text[from - 1]))
			return p->t.text[from - 1] == ':';
	return false;
}

/* What the sentences on both sides of a candidate are about, whatever they are themselves. */
static void beside(const struct inject_part *p, size_t i)
{
	INJECT_RAW struct inject_word w[INJECT_WORDS_MAX];

	for (size_t k = i ? i - 1 : 0; k < p->s.n && k <= i + 1; k++) {
		struct inject_sentence *s = &p->s.v[k];

		if (!s->candidate && !s->means)
			s->means = inject_meaning(w, inject_words(p->t.text, s, w));
	}
}

/* Whether nobody looks there. What a page does not show is shown where code is. */
static bool unseen(unsigned place)
{
	if (place & PLACE_FENCE)
		place &= ~(PLACE_HTML_COMMENT | PLACE_MD_COMMENT | PLACE_HIDDEN);
	return place & PLACE_UNSEEN;
}

/* How it stands there: whether it is meant, or only talked about. */
static void circumstances(const struct inject_part *p, size_t i)
{
	struct inject_sentence *s = &p->s.v[i];
	unsigned place = p->place | inject_place(&p->t, s->start, s->end);

	s->quoted = s->cited || inject_quoted(&p->t, s);
	s->unseen = unseen(place);
	s->sampled = inject_sampled(&p->t, s);
	s->reported = s->sampled || reported(p, i, place);
}

/* Whether a sentence is a candidate, and then all of it that its neighbours' scores need. */
static int read_sentence(struct run *r, size_t i)
{
	const struct inject_part *p = &r->parts[r->at];
	struct inject_sentence *s = &p->s.v[i];
	struct reading *k;

	s->candidate = inject_candidate(s);
	if (!s->candidate)
		return 0;
	if (!r->readings)
		r->readings = bawn_new(bawn_scan_arena(r->scan), struct reading, READINGS);
	if (!r->readings)
		return -ENOMEM;
	k = &r->readings[i % READINGS];
	k->n = inject_words(p->t.text, s, k->w);
	s->harm = inject_harm(p->t.text, s, k->w, k->n);
	s->means = inject_meaning(k->w, k->n);
	if (s->hits)
		circumstances(p, i);
	return 0;
}

/* Score a sentence that was read, as were those in reach. */
static int score_sentence(struct run *r, size_t i)
{
	const struct inject_part *p = &r->parts[r->at];
	const struct inject_visitor *v = r->visitor;
	const struct reading *k = &r->readings[i % READINGS];
	INJECT_RAW struct inject_features f;

	if (!bawn_scan_spend(r->scan, SENTENCE_COST))
		return 0;
	inject_features(&p->t, &p->s, i, k->w, k->n, p->place, &f);
	beside(p, i);
	inject_meanings_near(&p->s, i, &f);
	if (!p->s.v[i].hits)
		circumstances(p, i);
	p->s.v[i].score =
		(float)inject_combine(&p->s, i, inject_score(&f), inject_rules_score(&p->s, i));
	return v->sentence ? v->sentence(v->data, p, i, &f) : 0;
}

/* A sentence is scored when those behind it that count have been read, while its words are still
 * at hand. */
static int sentences(struct run *r)
{
	const struct inject_part *p = &r->parts[r->at];
	const struct inject_visitor *v = r->visitor;
	size_t read = 0; /* up to here */
	int e = 0;

	for (size_t i = next_worth(p, 0); e >= 0 && i < p->s.n; i = next_worth(p, i + 1)) {
		for (; e >= 0 && read < p->s.n && read <= i + INJECT_REACH; read++)
			if (is_worth(p, read))
				e = read_sentence(r, read);
		if (e >= 0 && p->s.v[i].candidate)
			e = score_sentence(r, i);
	}
	if (e < 0)
		return e;
	return v->part ? v->part(v->data, p, r->found, r->n_found) : 0;
}

static int out_of_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
}

static int rules_over(struct run *r, size_t start, size_t end)
{
	const struct inject_part *p = &r->parts[r->at];

	r->island = start;
	return bawn_rules_match(
		r->scan, &bawn_rules_inject, p->t.text + start, end - start, on_match, r, r->err);
}

/* Where rules start to look at sentence i: behind the one before it, unless that is only a mark. */
static size_t island_start(const struct inject_sentences *s, size_t i)
{
	if (i && s->v[i - 1].n_words <= MARK_WORDS)
		i--;
	return i ? s->v[i - 1].end : 0;
}

static size_t island_end(const struct inject_part *p, size_t i)
{
	if (i + 1 < p->s.n && p->s.v[i + 1].n_words <= MARK_WORDS)
		i++;
	return i + 1 < p->s.n ? p->s.v[i + 1].start : p->t.len;
}

/* Run the rules where they can match: around sentences that have a word for it. Most text has none.
 */
static int rules(struct run *r)
{
	const struct inject_part *p = &r->parts[r->at];
	const struct inject_sentence *v = p->s.v;
	size_t start = 0, end = 0;
	int e = 0;

	if (p->depth)
		return rules_over(r, 0, p->t.len);
	for (size_t i = next_worth(p, 0); !e && i < p->s.n; i = next_worth(p, i + 1)) {
		size_t first, last;
		const char *line;

		if (!v[i].open) /* a rule matched in it just now */
			continue;
		first = island_start(&p->s, i);
		last = island_end(p, i);
		if (first <= end) {
			end = last;
			continue;
		}
		e = end > start ? rules_over(r, start, end) : 0;
		line = memrchr(p->t.text + end, '\n', first - end);
		start = line ? (size_t)(line - p->t.text) : end;
		end = last;
	}
	return e || end <= start ? e : rules_over(r, start, end);
}

/* Most sentences are no order to anybody: find those that may be, before anything costs time. */
static void gate(const struct run *r)
{
	const struct inject_part *p = &r->parts[r->at];

	for (size_t i = 0; i < p->s.n; i++) {
		struct inject_sentence *s = &p->s.v[i];

		s->score = INJECT_UNSCORED;
		s->open = inject_trigger(s) &&
			  (r->visitor->all || s->foreign || inject_gate(&p->t, &p->s, i));
		if (s->open)
			set_worth(p, i);
	}
}

/* Rules over the part at hand, then its sentences. */
static int part(struct run *r)
{
	int e;

	r->n_found = 0;
	gate(r);
	e = rules(r);
	if (!e)
		e = weigh_all(r);
	if (!e)
		e = nested(r);
	return e ? e : sentences(r);
}

static int begin(struct run *r)
{
	if (r->sub->len > INJECT_MAX) {
		(void)bawn_scan_spend(r->scan, UINT64_MAX);
		return 1;
	}
	if (!bawn_scan_spend(r->scan, r->sub->len))
		return 1;
	return add_part(r, r->sub->text, r->sub->len, &(struct inject_part){0});
}

int inject_run(struct bawn_scan *s, const struct bawn_subject *sub, const struct inject_visitor *v,
	struct bawn_error *err)
{
	struct run r = {.scan = s, .sub = sub, .visitor = v, .err = err};
	int e = begin(&r);

	if (e > 0)
		return 0;
	for (; e >= 0 && r.at < r.n; r.at++)
		e = part(&r);
	return e == -ENOMEM ? out_of_memory(err) : e < 0 ? e : 0;
}

struct report {
	struct bawn_scan *scan;
	const struct bawn_subject *sub;
	size_t reported; /* of the model */
};

static int report(const struct report *r, const struct inject_part *p, size_t start, size_t end,
	struct bawn_finding *f)
{
	f->detector = "inject";
	inject_part_span(p, start, end, &f->start, &f->end);
	return bawn_scan_report(r->scan, r->sub, f);
}

/* A rule counts as much as the sentence that it matched in allows. */
static int report_match(
	const struct report *r, const struct inject_part *p, const struct inject_found *m)
{
	const struct bawn_ruleset *set = &bawn_rules_inject;
	double own = (double)m->rule->confidence, there;
	struct bawn_finding f = {
		.rule = bawn_rule_str(set, m->rule->id),
		.category = bawn_rule_str(set, m->rule->category),
		.level = (enum bawn_severity)m->rule->level,
		.signal = BAWN_SIGNAL_PATTERN,
		.message = bawn_rule_str(set, m->rule->means),
	};

	there = p->s.n ? inject_confidence((double)p->s.v[m->sentence].score) : own;
	f.confidence = there < own ? there : own;
	return report(r, p, m->start, m->end, &f);
}

static int report_sentence(
	const struct report *r, const struct inject_part *p, size_t i, double confidence)
{
	const struct inject_sentence *s = &p->s.v[i];
	struct bawn_finding f = {
		.rule = "inject.semantic",
		.category = "injection",
		.level = confidence >= 0.7 ? BAWN_SEV_HIGH : BAWN_SEV_MEDIUM,
		.signal = BAWN_SIGNAL_SEMANTIC,
		.confidence = confidence,
		.message = "reads like an order to the agent that comes from the content",
	};

	return report(r, p, s->start, s->end, &f);
}

static int on_part(
	void *data, const struct inject_part *p, const struct inject_found *found, size_t n)
{
	struct report *r = data;
	size_t most = FINDINGS_MAX * (r->sub->len / FINDINGS_PER + 1);
	int e = 0;

	for (size_t i = 0; !e && i < n; i++)
		e = report_match(r, p, &found[i]);
	for (size_t i = next_worth(p, 0); !e && i < p->s.n && r->reported < most;
		i = next_worth(p, i + 1)) {
		double c;

		if (!p->s.v[i].candidate)
			continue;
		c = inject_confidence((double)p->s.v[i].score);
		if (c < REPORT_FROM)
			continue;
		e = report_sentence(r, p, i, c);
		r->reported++;
	}
	return e;
}

static int inspect(struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err)
{
	struct report r = {.scan = s, .sub = sub};
	struct inject_visitor v = {.part = on_part, .data = &r};

	return inject_run(s, sub, &v, err);
}

const struct bawn_detector bawn_detector_inject = {
	.name = "inject",
	.kinds = 1u << BAWN_KIND_TEXT,
	.detect = BAWN_DETECT_INJECTION,
	.inspect = inspect,
};
