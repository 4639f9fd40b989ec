/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching a set of rules. Hyperscan runs over the text once and says where a match of which rule
 * may end; PCRE2 then confirms near that place and gives the exact span. Each rule tries each start
 * at most once, so the work is linear in the text whatever it holds. Patterns are compiled for
 * PCRE2 when they first come near a match: most never do.
 */
#include <errno.h>
#include <hs.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include "inspect/rules.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define AHEAD       16384u /* bytes behind a hit that PCRE2 may look at */
#define MATCH_LIMIT 100000u
#define HEAP_KIB    8192u
#define SETS_MAX    8
#define TEXT_MAX    ((size_t)1 << 30)
#define HIT_COST    64 /* of the budget, for a hit that has to be confirmed */

struct compiled {
	pcre2_code *code;
};

/* What this process made of a set. */
struct state {
	const struct bawn_ruleset *set;
	struct compiled *codes; /* per rule, made when needed */
	uint32_t *next;    /* per rule: the first start that was not tried yet in this search */
	uint32_t *touched; /* rules with next != 0 */
	uint32_t n_touched;
};

struct search {
	struct bawn_scan *scan;
	struct state *st;
	const char *text;
	size_t len;
	struct bawn_match *v;
	size_t n, cap;
	bool unordered; /* some were not found by their ends */
	int r;
};

static struct {
	struct state sets[SETS_MAX];
	size_t n;
	hs_scratch_t *scratch; /* fits every set that was used */
	pcre2_match_context *context;
	pcre2_match_data *data;
} cache;

#define SCRATCH_HEAD  64   /* where the size is kept; what follows stays aligned */
#define SCRATCH_SMALL 8192 /* hyperscan takes a little first, to find out how much it needs */

/* Hyperscan writes all of its scratch at once: one call for its pages instead of a fault for each,
 * which is most of what looking at a short command costs. */
static void *scratch_alloc(size_t size)
{
	bool small = size <= SCRATCH_SMALL;
	char *p;

	size += SCRATCH_HEAD;
	if (small)
		p = aligned_alloc(
			SCRATCH_HEAD, (size + SCRATCH_HEAD - 1) / SCRATCH_HEAD * SCRATCH_HEAD);
	else
		p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!p || p == MAP_FAILED)
		return NULL;
	memcpy(p, &size, sizeof(size));
	return p + SCRATCH_HEAD;
}

static void scratch_free(void *data)
{
	char *p = data;
	size_t size;

	if (!p)
		return;
	p -= SCRATCH_HEAD;
	memcpy(&size, p, sizeof(size));
	if (size <= SCRATCH_SMALL + SCRATCH_HEAD)
		free(p);
	else
		(void)munmap(p, size);
}

/* When something has to be confirmed for the first time: most commands have nothing. */
static int start_pcre(void)
{
	if (cache.data)
		return 0;
	if (!cache.context)
		cache.context = pcre2_match_context_create(NULL);
	cache.data = pcre2_match_data_create(100, NULL);
	if (!cache.context || !cache.data)
		return -ENOMEM;
	(void)pcre2_set_match_limit(cache.context, MATCH_LIMIT);
	(void)pcre2_set_heap_limit(cache.context, HEAP_KIB);
	return 0;
}

static int state_for(const struct bawn_ruleset *set, struct state **ret, struct bawn_error *err)
{
	struct state *st = cache.sets;
	const hs_database_t *db = (const hs_database_t *)(const void *)set->head;

	for (size_t i = 0; i < cache.n; i++, st++)
		if (st->set == set) {
			*ret = st;
			return 0;
		}
	if (cache.n == SETS_MAX)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOBUFS, "too many sets of rules");
	if (hs_set_scratch_allocator(scratch_alloc, scratch_free) != HS_SUCCESS ||
		hs_alloc_scratch(db, &cache.scratch) != HS_SUCCESS)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM,
			"rules '%s': no memory for hyperscan", set->name);
	*st = (struct state){
		.set = set,
		.codes = calloc(set->n, sizeof(*st->codes)),
		.next = calloc(set->n, sizeof(*st->next)),
		.touched = calloc(set->n, sizeof(*st->touched)),
	};
	if (!st->codes || !st->next || !st->touched) {
		free(st->codes);
		free(st->next);
		free(st->touched);
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	}
	cache.n++;
	*ret = st;
	return 0;
}

static const pcre2_code *code_for(struct state *st, uint32_t i)
{
	const struct bawn_rule *r = &st->set->rules[i];
	uint32_t flags = PCRE2_USE_OFFSET_LIMIT | (r->caseless ? PCRE2_CASELESS : 0);
	PCRE2_SIZE where = 0;
	int number = 0;

	if (!st->codes[i].code)
		st->codes[i].code = pcre2_compile((PCRE2_SPTR)bawn_rule_str(st->set, r->pattern),
			PCRE2_ZERO_TERMINATED, flags, &number, &where, NULL);
	return st->codes[i].code;
}

static int add_match(struct search *s, uint32_t i, const struct bawn_match *m)
{
	struct bawn_match *x = bawn_grow(bawn_scan_arena(s->scan), &s->v, &s->n, &s->cap);

	if (!x)
		return -ENOMEM;
	*x = *m;
	x->rule = &s->st->set->rules[i];
	return 0;
}

/*
 * Look for one match that starts in [from, to]. 1 with the span, 0 if there is none; a search that
 * exceeds its limits counts as a match of what it looked at.
 */
static int confirm(struct search *s, uint32_t i, size_t from, size_t to, struct bawn_match *m)
{
	const pcre2_code *code = start_pcre() < 0 ? NULL : code_for(s->st, i);
	size_t end = s->len - to > AHEAD ? to + AHEAD : s->len;
	size_t group = s->st->set->rules[i].group;
	const PCRE2_SIZE *v;
	int r;

	if (!code)
		return -ENOMEM;
	v = pcre2_get_ovector_pointer(cache.data);
	(void)pcre2_set_offset_limit(cache.context, to);
	r = pcre2_match(code, (PCRE2_SPTR)s->text, end, from, end < s->len ? PCRE2_NOTEOL : 0,
		cache.data, cache.context);
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r == PCRE2_ERROR_NOMEMORY)
		return -ENOMEM;
	*m = (struct bawn_match){.start = from, .end = to, .whole_start = from, .whole_end = to};
	/* \K in a lookahead can put the start behind the end */
	if (r > 0 && v[0] <= v[1]) {
		m->whole_start = m->start = v[0];
		m->whole_end = m->end = v[1];
	}
	if (r > (int)group && v[2 * group] != PCRE2_UNSET) {
		m->start = v[2 * group];
		m->end = v[2 * group + 1];
	}
	return 1;
}

/* Where to start looking for a match of rule i for which something was found that ends there:
 * behind what was tried. */
static size_t start_for(const struct search *s, uint32_t i, size_t end)
{
	const struct bawn_rule *r = &s->st->set->rules[i];
	size_t tried = s->st->next[i], start = end > r->width ? end - r->width : 0;

	if (r->inner == BAWN_RULE_LINE && end > tried) {
		const char *line = memrchr(s->text + tried, '\n', end - 1 - tried);

		start = line ? (size_t)(line - s->text) + 1 : tried;
	}
	return start > tried ? start : tried;
}

static int on_hit(
	unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *data)
{
	struct search *s = data;
	struct state *st = s->st;
	const struct bawn_rule *rule = &st->set->rules[id];
	size_t end = (size_t)to;
	struct bawn_match m;

	(void)from;
	(void)flags;
	while (st->next[id] < end || !end) {
		size_t start = start_for(s, id, end);

		if (!bawn_scan_spend(s->scan, HIT_COST))
			return 1;
		s->r = confirm(s, id, start, end, &m);
		if (!st->next[id])
			st->touched[st->n_touched++] = id;
		/* a start that failed once fails always, so go on behind this place */
		st->next[id] = (uint32_t)(end + 1);
		if (s->r <= 0)
			return s->r < 0;
		m.found = rule->inner == BAWN_RULE_NEEDS ? m.whole_end : end;
		s->unordered |= rule->inner == BAWN_RULE_NEEDS;
		s->r = add_match(s, id, &m);
		if (s->r < 0)
			return 1;
		st->next[id] = (uint32_t)(m.whole_end > m.whole_start ? m.whole_end : end + 1);
	}
	return 0;
}

/*
 * As they end. Hyperscan tells so, but for rules that it finds by what they need: these come when
 * that ends.
 */
static int by_end(const void *a, const void *b)
{
	const struct bawn_match *x = a, *y = b;

	if (x->found != y->found)
		return x->found < y->found ? -1 : 1;
	if (x->rule->inner != y->rule->inner)
		return x->rule->inner - y->rule->inner;
	if (x->whole_start != y->whole_start)
		return x->whole_start < y->whole_start ? -1 : 1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

int bawn_rules_match(struct bawn_scan *s, const struct bawn_ruleset *set, const char *text,
	size_t len, int (*hit)(void *data, const struct bawn_match *m), void *data,
	struct bawn_error *err)
{
	struct search x = {.scan = s, .text = text, .len = len};
	hs_error_t e;
	int r;

	if (!set->n || !len)
		return 0;
	if (len > TEXT_MAX) {
		(void)bawn_scan_spend(s, UINT64_MAX);
		return 0;
	}
	if (!bawn_scan_spend(s, len))
		return 0;
	r = state_for(set, &x.st, err);
	if (r < 0)
		return r;
	e = hs_scan((const hs_database_t *)(const void *)set->db, text, (unsigned)len, 0,
		cache.scratch, on_hit, &x);
	for (uint32_t i = 0; i < x.st->n_touched; i++)
		x.st->next[x.st->touched[i]] = 0;
	x.st->n_touched = 0;
	if (x.r < 0)
		return bawn_fail(err, BAWN_ERR_INSPECT, x.r, "out of memory");
	if (e != HS_SUCCESS && e != HS_SCAN_TERMINATED)
		return bawn_fail(err, BAWN_ERR_INSPECT, -EIO, "rules '%s': hyperscan error %d",
			set->name, e);
	if (x.n > 1 && x.unordered)
		qsort(x.v, x.n, sizeof(*x.v), by_end);
	for (size_t i = 0; i < x.n; i++) {
		r = hit(data, &x.v[i]);
		if (r < 0)
			return r;
	}
	return 0;
}
