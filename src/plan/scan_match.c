/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns made ready for hundreds of thousands of names. Nearly every name is turned down by its
 * first and last byte; what passes is compared by its last component, and only then does the
 * general matcher look at the whole path.
 */
#include <errno.h>
#include <limits.h>

#include "base/path.h"
#include "plan/scan_tree.h"

static void classify(struct scan_pattern *p)
{
	const char *slash = strrchr(p->text, '/');
	const char *last = slash ? slash + 1 : p->text;
	size_t len = strlen(last);

	if (strstr(last, "**")) {
		p->kind = SCAN_GLOB;
		return;
	}
	p->last = last;
	p->word = last;
	p->word_len = len;
	if (!bawn_path_is_glob(last)) {
		p->kind = SCAN_EXACT;
	} else if (len > 1 && last[0] == '*' && !bawn_path_is_glob(last + 1)) {
		p->kind = SCAN_SUFFIX;
		p->word++;
		p->word_len--;
	} else if (len > 1 && strcspn(last, "*?[") == len - 1 && last[len - 1] == '*') {
		p->kind = SCAN_PREFIX;
		p->word_len--;
	} else {
		p->kind = SCAN_GLOB;
	}
}

/* A top that lies below another is covered by it. */
static int add_top(struct bawn_arena *a, struct bawn_strlist *tops, const char *rel)
{
	size_t kept = 0;

	for (size_t i = 0; i < tops->n; i++)
		if (!*tops->v[i] || bawn_path_under(rel, tops->v[i]))
			return 0;
	for (size_t i = 0; i < tops->n; i++)
		if (*rel && !bawn_path_under(tops->v[i], rel))
			tops->v[kept++] = tops->v[i];
	tops->n = kept;
	return bawn_strlist_add(a, tops, rel);
}

static int add_glob(struct bawn_arena *a, struct scan_matcher *m, const char *text)
{
	struct scan_pattern *p = bawn_grow(a, &m->v, &m->n, &m->cap);

	if (!p)
		return -ENOMEM;
	p->text = text;
	classify(p);
	if (p->kind == SCAN_GLOB || !p->word_len)
		m->any = true;
	else if (p->kind == SCAN_SUFFIX)
		m->last[(unsigned char)p->word[p->word_len - 1]] = true;
	else
		m->first[(unsigned char)p->word[0]] = true;
	return 0;
}

/* The canonical directory in front of the first component with a wildcard; NULL: there is none. */
static int glob_base(struct bawn_arena *a, const char *pattern, const char **ret, const char **rest)
{
	const char *end = pattern + strcspn(pattern, "*?[");
	const char *dir;
	int r;

	while (end > pattern && *end != '/')
		end--;
	*rest = end;
	dir = end == pattern ? "/" : bawn_arena_strndup(a, pattern, (size_t)(end - pattern));
	if (!dir)
		return -ENOMEM;
	r = bawn_path_resolve(a, dir, ret);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		*ret = NULL;
	return 0;
}

static int add_pattern(
	struct bawn_arena *a, struct scan_matcher *m, const char *root, const char *pattern)
{
	const char *base = NULL, *rest = NULL, *text;
	int r;

	if (!bawn_path_is_glob(pattern))
		return bawn_strlist_add(a, &m->literal, pattern);
	r = glob_base(a, pattern, &base, &rest);
	if (r < 0 || !base)
		return r;
	text = bawn_arena_printf(a, "%s%s", strcmp(base, "/") != 0 ? base : "", rest);
	if (!text)
		return -ENOMEM;
	if (bawn_path_under(root, base)) {
		r = add_top(a, &m->tops, "");
	} else if (bawn_path_under(base, root)) {
		size_t skip = strcmp(root, "/") != 0 ? strlen(root) : 0;

		r = add_top(a, &m->tops, base + skip + 1);
	} else {
		return 0;
	}
	return r < 0 ? r : add_glob(a, m, text);
}

int scan_matcher_make(struct bawn_arena *a, const char *root, const char *const *patterns,
	struct scan_matcher *ret)
{
	*ret = (struct scan_matcher){0};
	for (size_t i = 0; patterns && patterns[i]; i++) {
		int r = add_pattern(a, ret, root, patterns[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool last_matches(const struct scan_pattern *p, const char *name, size_t len)
{
	if (!p->last)
		return true;
	switch (p->kind) {
	case SCAN_EXACT:
		return len == p->word_len && !memcmp(name, p->word, len);
	case SCAN_SUFFIX:
		return len >= p->word_len &&
		       !memcmp(name + len - p->word_len, p->word, p->word_len);
	case SCAN_PREFIX:
		return len >= p->word_len && !memcmp(name, p->word, p->word_len);
	case SCAN_GLOB:
	default:
		return bawn_glob_match(p->last, name);
	}
}

bool scan_matcher_name(const struct scan_matcher *m, const char *name, size_t len)
{
	if (!m->any && !m->first[(unsigned char)name[0]] && !m->last[(unsigned char)name[len - 1]])
		return false;
	for (size_t i = 0; i < m->n; i++)
		if (last_matches(&m->v[i], name, len))
			return true;
	return false;
}

bool scan_matcher_path(const struct scan_matcher *m, const char *path, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < m->n; i++)
		if (last_matches(&m->v[i], name, len) && bawn_glob_match(m->v[i].text, path))
			return true;
	return false;
}
