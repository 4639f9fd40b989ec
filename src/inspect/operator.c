/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that operators add in the policy (rules.ID.pattern, .level, .confidence, .message). They
 * are not known when the program is built, so PCRE2 runs them, with limits: a search that reaches
 * them counts as a match, because whoever can make it so could hide anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/detectors.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define PREFIX      "rules."
#define SUFFIX      ".pattern"
#define MATCH_LIMIT 200000
#define HEAP_KIB    16384
#define HITS_MAX    64 /* findings of one rule in one subject or window */
#define CONFIDENCE  0.8

struct op_rule {
	const char *id; /* "policy.ID" */
	const char *message;
	enum bawn_severity level;
	double confidence;
	pcre2_code *code;
};

/* Compiled once per policy. */
static struct {
	const struct bawn_policy *policy;
	char digest[BAWN_HEX_LEN + 1];
	struct bawn_arena *a;
	struct op_rule *v;
	size_t n, cap;
	pcre2_match_data *data;
	pcre2_match_context *ctx;
} cache;

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
}

static void forget(void)
{
	for (size_t i = 0; i < cache.n; i++)
		pcre2_code_free(cache.v[i].code);
	pcre2_match_data_free(cache.data);
	pcre2_match_context_free(cache.ctx);
	(void)bawn_arena_free(cache.a);
	memset(&cache, 0, sizeof(cache));
}

static const char *part_of(
	const struct bawn_policy *p, const char *id, size_t len, const char *part)
{
	for (size_t i = 0; i < p->named.n; i++) {
		const char *key = p->named.v[i].key;

		if (!strncmp(key, PREFIX, strlen(PREFIX)) &&
			!strncmp(key + strlen(PREFIX), id, len) &&
			key[strlen(PREFIX) + len] == '.' &&
			!strcmp(key + strlen(PREFIX) + len + 1, part))
			return p->named.v[i].value;
	}
	return NULL;
}

static enum bawn_severity level_of(const char *word)
{
	for (int i = 0; word && i <= (int)BAWN_SEV_CRITICAL; i++)
		if (!strcmp(word, bawn_severity_name((enum bawn_severity)i)))
			return (enum bawn_severity)i;
	return BAWN_SEV_HIGH;
}

static int add_rule(const struct bawn_policy *p, const char *id, size_t len, const char *pattern,
	struct bawn_error *err)
{
	const char *confidence = part_of(p, id, len, "confidence");
	const char *message = part_of(p, id, len, "message");
	struct op_rule *r = bawn_grow(cache.a, &cache.v, &cache.n, &cache.cap);
	PCRE2_SIZE where = 0;
	int number = 0;

	if (!r)
		return no_memory(err);
	r->level = level_of(part_of(p, id, len, "level"));
	r->confidence = confidence ? strtod(confidence, NULL) : CONFIDENCE;
	r->id = bawn_arena_printf(cache.a, "policy.%.*s", (int)len, id);
	r->message = message ? bawn_arena_strdup(cache.a, message)
			     : bawn_arena_printf(
				       cache.a, "matches rule '%.*s' of the policy", (int)len, id);
	r->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
		PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &number, &where, NULL);
	if (!r->id || !r->message)
		return no_memory(err);
	if (!r->code)
		return bawn_fail(err, BAWN_ERR_POLICY, -EINVAL,
			"rule '%.*s' of the policy: bad regular expression", (int)len, id);
	return 0;
}

static int prepare(const struct bawn_policy *p, struct bawn_error *err)
{
	int r = 0;

	if (cache.policy == p && !strcmp(cache.digest, p->digest))
		return 0;
	forget();
	cache.a = bawn_arena_new();
	cache.data = pcre2_match_data_create(1, NULL);
	cache.ctx = pcre2_match_context_create(NULL);
	if (!cache.a || !cache.data || !cache.ctx)
		r = no_memory(err);
	for (size_t i = 0; r >= 0 && i < p->named.n; i++) {
		const char *key = p->named.v[i].key;
		size_t len = strlen(key);
		size_t around = strlen(PREFIX) + strlen(SUFFIX);

		if (len > around && !strncmp(key, PREFIX, strlen(PREFIX)) &&
			!strcmp(key + len - strlen(SUFFIX), SUFFIX))
			r = add_rule(
				p, key + strlen(PREFIX), len - around, p->named.v[i].value, err);
	}
	if (r < 0) {
		forget();
		return r;
	}
	(void)pcre2_set_match_limit(cache.ctx, MATCH_LIMIT);
	(void)pcre2_set_heap_limit(cache.ctx, HEAP_KIB);
	cache.policy = p;
	memcpy(cache.digest, p->digest, sizeof(cache.digest));
	return 0;
}

/* Every match of one rule, up to HITS_MAX. */
static int run_rule(struct bawn_scan *s, const struct bawn_subject *sub, const struct op_rule *r)
{
	size_t at = 0;

	for (unsigned hits = 0; at <= sub->len && hits < HITS_MAX; hits++) {
		const PCRE2_SIZE *ov = pcre2_get_ovector_pointer(cache.data);
		struct bawn_finding f = {
			.detector = "operator",
			.rule = r->id,
			.category = "rule",
			.level = r->level,
			.confidence = r->confidence,
			.start = at,
			.end = sub->len,
			.message = r->message,
		};
		int rc = pcre2_match(
			r->code, (PCRE2_SPTR)sub->text, sub->len, at, 0, cache.data, cache.ctx);

		if (rc == PCRE2_ERROR_NOMATCH)
			return 0;
		if (rc >= 0 && ov[0] <= ov[1]) {
			f.start = ov[0];
			f.end = ov[1];
		}
		at = f.end > at ? f.end : at + 1;
		if (bawn_scan_report(s, sub, &f) < 0)
			return -ENOMEM;
		if (rc < 0)
			return 0;
	}
	return 0;
}

static int inspect(struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err)
{
	const struct bawn_policy *p = bawn_scan_policy(s);
	int r;

	if (!p || !p->named.n || !sub->len)
		return 0;
	r = prepare(p, err);
	for (size_t i = 0; r >= 0 && i < cache.n && bawn_scan_spend(s, sub->len); i++)
		if (run_rule(s, sub, &cache.v[i]) < 0)
			r = no_memory(err);
	return r;
}

const struct bawn_detector bawn_detector_operator = {
	.name = "operator",
	.kinds = 1u << BAWN_KIND_COMMAND | 1u << BAWN_KIND_CODE | 1u << BAWN_KIND_TEXT,
	.detect = BAWN_DETECT_POLICY,
	.inspect = inspect,
};
