/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detector of secrets: the set "secret" over the text as it is, then for each match the tests
 * that every value has to pass (it stands free, it is no placeholder, it is random enough), the
 * rule's own check, and at the end only the best of several readings of one place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/detectors.h"
#include "inspect/secret/check.h"
#include "inspect/secret/secret.h"

#define NEAR_BEFORE 200
#define NEAR_AFTER  120
#define NAME_BEFORE 32
#define CHECK_COST  1024 /* of the budget, for a match that has to be vetted */

struct reading {
	size_t start, end;
	double confidence;
	const struct bawn_rule *rule;
};

struct search {
	struct bawn_scan *scan;
	const struct bawn_subject *sub;
	struct reading *v;
	size_t n, cap;
};

static const char *arg(const struct candidate *c, const char *key)
{
	return bawn_rule_arg(&bawn_rules_secret, c->rule, key);
}

static bool near(const struct candidate *c, const char *words)
{
	size_t from = c->start > NEAR_BEFORE ? c->start - NEAR_BEFORE : 0;
	size_t to = c->len - c->end > NEAR_AFTER ? c->end + NEAR_AFTER : c->len;

	return value_has_word((struct value){c->text + from, c->start - from}, words) ||
	       value_has_word((struct value){c->text + c->end, to - c->end}, words);
}

/* The name in front of the value, also what stands a little before the word that the rule found. */
static bool name_has(const struct candidate *c, const char *words)
{
	size_t reach = c->start - c->whole_start + NAME_BEFORE;

	return value_has_word(candidate_before(c, c->start, reach), words);
}

static enum mask_rule mask_of(const struct candidate *c)
{
	const char *mask = arg(c, "mask");

	if (!mask)
		return MASK_STRICT;
	return !strcmp(mask, "weak") ? MASK_WEAK : MASK_NONE;
}

static bool mixed(struct value v)
{
	bool upper = false, low = false;

	for (size_t i = 0; i < v.len; i++) {
		upper |= v.p[i] >= 'A' && v.p[i] <= 'Z';
		low |= v.p[i] >= 'a' && v.p[i] <= 'z';
	}
	return upper && low && value_has_digit(v);
}

static bool random_enough(const struct candidate *c)
{
	struct value v = candidate_value(c);
	const char *entropy = arg(c, "entropy");
	double least = v.len < 16 ? 2.0 : 2.6;

	if (entropy)
		least = strtod(entropy, NULL);
	if (mask_of(c) != MASK_WEAK && value_entropy(v) < least)
		return false;
	if (arg(c, "digit") && !value_has_digit(v))
		return false;
	if (arg(c, "mixed") && !mixed(v))
		return false;
	return !arg(c, "random") || !value_wordlike(v);
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The word that gives the context is one: "okta" is none in "rookTable". */
static bool word_starts(const struct candidate *c)
{
	const char *first = c->text + c->whole_start;

	if (!c->whole_start || c->whole_start == c->start || !letter(first[-1]) || !letter(*first))
		return true;
	return first[-1] >= 'a' && *first <= 'Z';
}

/* A digest says of which kind it is. */
static bool is_digest(const struct candidate *c)
{
	return value_has_word(candidate_before(c, c->start, 7),
		"h1:|sha1-|sha1:|sha256-|sha256:|sha384-|sha384:|sha512-|sha512:|md5:|md5-|base64,");
}

static bool plausible(struct candidate *c)
{
	const char *check = bawn_rule_str(&bawn_rules_secret, c->rule->check);
	const char *words;

	/* these find the value themselves or know better what may stand in it */
	if (!strcmp(check, "assigned") || !strcmp(check, "pem"))
		return check_named(check, c) && !is_digest(c);
	if (!word_starts(c) || is_digest(c))
		return false;
	if (!candidate_stands_free(c, arg(c, "bound")))
		return false;
	if (value_masked(candidate_value(c), mask_of(c)) || !random_enough(c))
		return false;
	words = arg(c, "near");
	if (words && !near(c, words))
		return false;
	words = arg(c, "name");
	if (words && !name_has(c, words))
		return false;
	words = arg(c, "stop");
	if (words && name_has(c, words))
		return false;
	return !*check || check_named(check, c);
}

static int on_match(void *data, const struct bawn_match *m)
{
	struct search *s = data;
	struct candidate c = {
		.text = s->sub->text,
		.len = s->sub->len,
		.rule = m->rule,
		.whole_start = m->whole_start,
		.whole_end = m->whole_end,
		.start = m->start,
		.end = m->end,
		.confidence = (double)m->rule->confidence,
	};
	struct reading *r;

	if (m->start >= m->end || !bawn_scan_spend(s->scan, CHECK_COST + (m->end - m->start)) ||
		!plausible(&c))
		return 0;
	r = bawn_grow(bawn_scan_arena(s->scan), &s->v, &s->n, &s->cap);
	if (!r)
		return -ENOMEM;
	*r = (struct reading){c.start, c.end, c.confidence, c.rule};
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int by_confidence(const void *a, const void *b)
{
	const struct reading *x = a, *y = b;

	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

static bool covered(const struct reading *v, size_t upto)
{
	for (size_t i = 0; i < upto; i++)
		if (v[upto].start < v[i].end && v[i].start < v[upto].end)
			return true;
	return false;
}

static int report(struct search *s, const struct reading *r)
{
	const struct bawn_ruleset *set = &bawn_rules_secret;
	const char *means = bawn_rule_str(set, r->rule->means);
	const char *id = bawn_rule_str(set, r->rule->id);
	struct bawn_finding f = {
		.detector = "secret",
		.rule = id,
		.category = bawn_rule_str(set, r->rule->category),
		.level = (enum bawn_severity)r->rule->level,
		.signal = BAWN_SIGNAL_PATTERN,
		.confidence = r->confidence,
		.start = r->start,
		.end = r->end,
	};

	f.message = bawn_arena_printf(bawn_scan_arena(s->scan),
		"%s (rule %s): take it out, or allow it with secrets.leak_detection.actions", means,
		id);
	if (!f.message)
		return -ENOMEM;
	return bawn_scan_report(s->scan, s->sub, &f);
}

/* Of readings that overlap, the surest are reported. */
static int report_group(struct search *s, struct reading *v, size_t n)
{
	int r = 0;

	qsort(v, n, sizeof(*v), by_confidence);
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (!bawn_scan_spend(s->scan, i + 1))
			return 0;
		if (!covered(v, i))
			r = report(s, &v[i]);
	}
	return r;
}

static int inspect(struct bawn_scan *scan, const struct bawn_subject *sub, struct bawn_error *err)
{
	struct search s = {.scan = scan, .sub = sub};
	int r = bawn_rules_match(scan, &bawn_rules_secret, sub->text, sub->len, on_match, &s, err);

	if (r < 0)
		return r;
	if (s.n)
		qsort(s.v, s.n, sizeof(*s.v), by_place);
	for (size_t i = 0, n; i < s.n && r >= 0; i += n) {
		size_t end = s.v[i].end;

		for (n = 1; i + n < s.n && s.v[i + n].start < end; n++)
			end = s.v[i + n].end > end ? s.v[i + n].end : end;
		r = report_group(&s, s.v + i, n);
	}
	return r < 0 ? bawn_fail(err, BAWN_ERR_INSPECT, r, "out of memory") : 0;
}

const struct bawn_detector bawn_detector_secret = {
	.name = "secret",
	.kinds = 1u << BAWN_KIND_TEXT,
	.detect = BAWN_DETECT_SECRETS,
	.inspect = inspect,
};
