/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile-rules SET RULES-DIR OUT.c EXAMPLES.c DEPFILE
 *
 * Runs while building. Reads RULES-DIR/SET/(name).yaml (format: src/inspect/rules.h), refuses what
 * is incomplete, and writes the set as C source: a pool of strings, a table without pointers and a
 * hyperscan database for any x86-64 or aarch64 machine, laid out as hyperscan has it in memory, so
 * that the program maps it and pays nothing at start. The examples go into a file of their own that
 * only a test links.
 */
#include <dirent.h>
#include <errno.h>
#include <hs.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "compile-rules.h"
#include "inspect/rules.h"

#define PATTERNS_MAX 65535

struct pool {
	char *data;
	size_t len, cap;
};

struct example {
	char *id, *lang, *text;
	size_t len;
	bool match;
	const char *file;
	size_t line;
};

/* What several patterns of one rule share. */
struct draft {
	struct bawn_rule rule;
	const char *id;
	uint32_t scan; /* 0: the pattern itself */
	bool has_category, has_level, has_confidence, has_means;
	size_t n_patterns, n_match, n_no_match;
};

struct compiler {
	const char *set;
	char *file; /* the one being read */
	yaml_document_t doc;
	struct pool strings;
	struct bawn_rule *rules;
	unsigned *flags; /* hyperscan's, per rule */
	uint32_t *scans; /* what hyperscan looks for, per rule */
	uint32_t *needs; /* 0, or what it looks for because every match has it in it */
	size_t n;
	struct example *examples;
	size_t n_examples;
	char **files;
	size_t n_files;
};

__attribute__((noreturn, format(printf, 3, 4))) static void die(
	const struct compiler *c, size_t line, const char *fmt, ...)
{
	va_list ap;

	(void)fprintf(stderr, "%s:%zu: ", c->file ? c->file : c->set, line);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "\n");
	exit(1);
}

static void *grow(void *p, size_t n, size_t size)
{
	/* doubles at powers of two */
	if (n & (n - 1))
		return p;
	p = reallocarray(p, n ? n * 2 : 1, size);
	if (!p)
		exit(1);
	return p;
}

static uint32_t pool_bytes(struct compiler *c, const char *s, size_t len)
{
	struct pool *p = &c->strings;
	size_t at = p->len;

	if (p->len + len + 1 > p->cap) {
		p->cap = (p->cap + len + 1) * 2;
		p->data = realloc(p->data, p->cap);
		if (!p->data)
			exit(1);
	}
	memcpy(p->data + at, s, len);
	p->data[at + len] = '\0';
	p->len += len + 1;
	return (uint32_t)at;
}

static uint32_t pool_add(struct compiler *c, const char *s)
{
	return pool_bytes(c, s, strlen(s));
}

static const char *at(const struct compiler *c, uint32_t offset)
{
	return c->strings.data + offset;
}

static const yaml_node_t *node(struct compiler *c, int index)
{
	return yaml_document_get_node(&c->doc, index);
}

static size_t line_of(const yaml_node_t *n)
{
	return n->start_mark.line + 1;
}

static const char *text_of(const struct compiler *c, const yaml_node_t *n)
{
	const char *s;

	if (n->type != YAML_SCALAR_NODE)
		die(c, line_of(n), "a string is expected here");
	s = (const char *)n->data.scalar.value;
	if (!*s || strlen(s) != n->data.scalar.length)
		die(c, line_of(n), "an empty string, or one with a NUL");
	return s;
}

static bool flag_of(const struct compiler *c, const yaml_node_t *n)
{
	const char *s = text_of(c, n);

	if (strcmp(s, "true") != 0 && strcmp(s, "false") != 0)
		die(c, line_of(n), "'%s' is neither true nor false", s);
	return !strcmp(s, "true");
}

static uint8_t level_of(const struct compiler *c, const yaml_node_t *n)
{
	static const char *const names[] = {"none", "low", "medium", "high", "critical"};
	const char *s = text_of(c, n);

	for (uint8_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(s, names[i]))
			return i;
	die(c, line_of(n), "'%s' is no level", s);
}

static double number_of(const struct compiler *c, const yaml_node_t *n, double max)
{
	const char *s = text_of(c, n);
	char *end = NULL;
	double v = strtod(s, &end);

	if (*end || !(v >= 0.0 && v <= max))
		die(c, line_of(n), "'%s' is no number in 0..%g", s, max);
	return v;
}

static pcre2_code *compile_pcre(
	const struct compiler *c, const struct bawn_rule *r, const char *pattern, size_t line)
{
	PCRE2_UCHAR why[128] = "";
	PCRE2_SIZE where = 0;
	int number = 0;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
		r->caseless ? PCRE2_CASELESS : 0, &number, &where, NULL);

	if (!code) {
		(void)pcre2_get_error_message(number, why, sizeof(why));
		die(c, line, "PCRE2 refuses '%s' at %zu: %s", pattern, where, (const char *)why);
	}
	return code;
}

static void check_pcre(const struct compiler *c, const struct bawn_rule *r, size_t line)
{
	const char *pattern = at(c, r->pattern);
	pcre2_code *code = compile_pcre(c, r, pattern, line);
	uint32_t groups = 0;

	(void)pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (r->group > groups)
		die(c, line, "'%s' has no group %u", pattern, r->group);
	pcre2_code_free(code);
}

/*
 * Sets the width and returns the flags that hyperscan takes what it looks for with. Only read, not
 * compiled: that is done once, of all together, and tells which one is too large.
 */
static unsigned check_hyperscan(
	const struct compiler *c, struct bawn_rule *r, const char *pattern, size_t line)
{
	unsigned flags = r->caseless ? HS_FLAG_CASELESS : 0;
	hs_expr_info_t *info = NULL;
	hs_compile_error_t *e = NULL;

	r->width = BAWN_RULE_WIDTH_MAX;
	if (hs_expression_info(pattern, flags, &info, &e) == HS_SUCCESS) {
		if (info->max_width < BAWN_RULE_WIDTH_MAX)
			r->width = info->max_width;
		free(info);
		return flags;
	}
	(void)hs_free_compile_error(e);
	e = NULL;
	flags |= HS_FLAG_PREFILTER;
	if (hs_expression_info(pattern, flags, &info, &e) != HS_SUCCESS)
		die(c, line, "hyperscan refuses '%s': %s", pattern, e->message);
	free(info);
	return flags;
}

/* Adds a pattern; `needs` may be NULL. */
static void add_pattern(
	struct compiler *c, struct draft *d, const yaml_node_t *n, const yaml_node_t *needs)
{
	const char *text = text_of(c, n);

	if (c->n >= PATTERNS_MAX)
		die(c, line_of(n), "too many patterns");
	c->rules = grow(c->rules, c->n, sizeof(*c->rules));
	c->flags = grow(c->flags, c->n, sizeof(*c->flags));
	c->scans = grow(c->scans, c->n, sizeof(*c->scans));
	c->needs = grow(c->needs, c->n, sizeof(*c->needs));
	c->needs[c->n] = needs ? pool_add(c, text_of(c, needs)) : 0;
	c->rules[c->n] = (struct bawn_rule){
		.pattern = pool_add(c, text),
		.line = (uint32_t)line_of(n),
	};
	c->n++;
	d->n_patterns++;
}

static void add_example(struct compiler *c, const yaml_node_t *n, const char *lang, bool match)
{
	const char *text = text_of(c, n);
	struct example *e;

	c->examples = grow(c->examples, c->n_examples, sizeof(*c->examples));
	e = &c->examples[c->n_examples++];
	*e = (struct example){
		.lang = strdup(lang),
		.text = strdup(text),
		.len = strlen(text),
		.match = match,
		.file = c->file,
		.line = line_of(n),
	};
	if (!e->lang || !e->text)
		exit(1);
}

/* A string, or {LANG: string}. */
static void read_example(struct compiler *c, const yaml_node_t *n, bool match)
{
	if (n->type == YAML_MAPPING_NODE) {
		yaml_node_pair_t *p = n->data.mapping.pairs.start;

		if (n->data.mapping.pairs.top - p != 1)
			die(c, line_of(n), "an example is a string or {language: string}");
		add_example(c, node(c, p->value), text_of(c, node(c, p->key)), match);
		return;
	}
	add_example(c, n, "auto", match);
}

static size_t read_examples(struct compiler *c, const yaml_node_t *n, bool match)
{
	if (n->type != YAML_SEQUENCE_NODE)
		die(c, line_of(n), "a list of examples is expected here");
	for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
		i++)
		read_example(c, node(c, *i), match);
	return (size_t)(n->data.sequence.items.top - n->data.sequence.items.start);
}

/* A string, or {pattern: string, needs: string}. */
static void read_pattern(struct compiler *c, struct draft *d, const yaml_node_t *n)
{
	const yaml_node_t *pattern = NULL, *needs = NULL;

	if (n->type != YAML_MAPPING_NODE) {
		add_pattern(c, d, n, NULL);
		return;
	}
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
		p++) {
		const char *key = text_of(c, node(c, p->key));

		if (!strcmp(key, "pattern"))
			pattern = node(c, p->value);
		else if (!strcmp(key, "needs"))
			needs = node(c, p->value);
		else
			die(c, line_of(n), "unknown key '%s'", key);
	}
	if (!pattern)
		die(c, line_of(n), "this has no 'pattern'");
	add_pattern(c, d, pattern, needs);
}

static void read_patterns(struct compiler *c, struct draft *d, const yaml_node_t *n)
{
	if (n->type != YAML_SEQUENCE_NODE)
		die(c, line_of(n), "a list of patterns is expected here");
	for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
		i++)
		read_pattern(c, d, node(c, *i));
}

static uint32_t read_args(struct compiler *c, const yaml_node_t *n)
{
	uint32_t start = (uint32_t)c->strings.len;

	if (n->type != YAML_MAPPING_NODE)
		die(c, line_of(n), "'args' is a mapping");
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
		p++) {
		(void)pool_add(c, text_of(c, node(c, p->key)));
		(void)pool_add(c, text_of(c, node(c, p->value)));
	}
	(void)pool_bytes(c, "", 0);
	return start;
}

static const char *read_id(struct compiler *c, const yaml_node_t *n)
{
	const char *id = text_of(c, n);
	size_t len = strlen(c->set);

	if (strncmp(id, c->set, len) != 0 || id[len] != '.' || !id[len + 1] ||
		strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-.") != strlen(id))
		die(c, line_of(n), "'%s' is no rule of the set: '%s.some-words'", id, c->set);
	for (size_t i = 0; i < c->n; i++)
		if (c->rules[i].id && !strcmp(at(c, c->rules[i].id), id))
			die(c, line_of(n), "'%s' exists already", id);
	return id;
}

static void read_key(struct compiler *c, struct draft *d, const char *key, const yaml_node_t *v)
{
	struct bawn_rule *r = &d->rule;

	if (!strcmp(key, "id")) {
		d->id = read_id(c, v);
	} else if (!strcmp(key, "category")) {
		r->category = pool_add(c, text_of(c, v));
		d->has_category = true;
	} else if (!strcmp(key, "level")) {
		r->level = level_of(c, v);
		d->has_level = true;
	} else if (!strcmp(key, "confidence")) {
		r->confidence = (float)number_of(c, v, 1.0);
		d->has_confidence = true;
	} else if (!strcmp(key, "means")) {
		r->means = pool_add(c, text_of(c, v));
		d->has_means = true;
	} else if (!strcmp(key, "pattern")) {
		add_pattern(c, d, v, NULL);
	} else if (!strcmp(key, "patterns")) {
		read_patterns(c, d, v);
	} else if (!strcmp(key, "scan")) {
		d->scan = pool_add(c, text_of(c, v));
	} else if (!strcmp(key, "caseless")) {
		r->caseless = flag_of(c, v);
	} else if (!strcmp(key, "group")) {
		r->group = (uint8_t)number_of(c, v, 99.0);
	} else if (!strcmp(key, "check")) {
		r->check = pool_add(c, text_of(c, v));
	} else if (!strcmp(key, "args")) {
		r->args = read_args(c, v);
	} else if (!strcmp(key, "match")) {
		d->n_match += read_examples(c, v, true);
	} else if (!strcmp(key, "no-match")) {
		d->n_no_match += read_examples(c, v, false);
	} else {
		die(c, line_of(v), "unknown key '%s'", key);
	}
}

static void check_whole(const struct compiler *c, const struct draft *d, size_t line)
{
	const struct {
		bool there;
		const char *name;
	} parts[] = {
		{d->id, "id"},
		{d->has_category, "category"},
		{d->has_level, "level"},
		{d->has_confidence, "confidence"},
		{d->has_means, "means"},
		{d->n_patterns, "pattern"},
		{d->n_match, "match"},
		{d->n_no_match, "no-match"},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!parts[i].there)
			die(c, line, "this rule has no '%s'", parts[i].name);
	if (d->scan && d->n_patterns > 1)
		die(c, line, "'scan' goes with one pattern");
}

static uint32_t scan_of(struct compiler *c, uint32_t pattern)
{
	size_t n = rules_beginning(at(c, pattern));
	char *start = n ? strndup(at(c, pattern), n) : NULL;
	uint32_t r = pattern;

	if (start)
		r = pool_add(c, start);
	free(start);
	return r;
}

/* Whether the pattern is in the text; *ret_at gets where it starts. */
static bool occurs(const struct compiler *c, const struct bawn_rule *r, uint32_t pattern,
	const char *text, size_t *ret_at)
{
	pcre2_code *code = compile_pcre(c, r, at(c, pattern), r->line);
	pcre2_match_data *m = pcre2_match_data_create(1, NULL);
	bool yes;

	if (!m)
		exit(1);
	yes = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, m, NULL) >= 0;
	if (yes)
		*ret_at = pcre2_get_ovector_pointer(m)[0];
	pcre2_match_data_free(m);
	pcre2_code_free(code);
	return yes;
}

/* Rule i is looked for by what it needs: its own examples, from the first on, must agree. */
static void check_needs(struct compiler *c, size_t i, size_t first_example)
{
	struct bawn_rule *r = &c->rules[i];
	uint32_t width = 0;

	for (size_t k = first_example; k < c->n_examples; k++) {
		const char *text = c->examples[k].text;
		size_t start = 0, there = 0;

		if (occurs(c, r, r->pattern, text, &start) &&
			!occurs(c, r, c->needs[i], text + start, &there))
			die(c, r->line, "'%s' matches without what it needs", text);
	}
	/* a match may have started as long before as it can be long */
	(void)check_hyperscan(c, r, at(c, r->pattern), r->line);
	width = r->width;
	c->flags[i] = check_hyperscan(c, r, at(c, c->needs[i]), r->line);
	r->width = width;
	r->inner = BAWN_RULE_NEEDS;
}

/* Rule i is about an event, and looked for by the end of its line. */
static void check_line(struct compiler *c, size_t i)
{
	struct bawn_rule *r = &c->rules[i];
	size_t flags = 0, n = rules_ending(at(c, r->pattern), &flags);
	char *rest = NULL;

	if (!n)
		return;
	if (asprintf(&rest, "%.*s%s", (int)flags, at(c, r->pattern), at(c, r->pattern) + n) < 0)
		exit(1);
	c->scans[i] = pool_add(c, rest);
	free(rest);
	r->inner = BAWN_RULE_LINE;
	c->flags[i] = check_hyperscan(c, r, at(c, c->scans[i]), r->line);
}

static void read_rule(struct compiler *c, const yaml_node_t *n)
{
	struct draft d = {0};
	size_t first = c->n;
	size_t first_example = c->n_examples;

	if (n->type != YAML_MAPPING_NODE)
		die(c, line_of(n), "a rule is a mapping");
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++)
		read_key(c, &d, text_of(c, node(c, p->key)), node(c, p->value));
	check_whole(c, &d, line_of(n));
	d.rule.id = pool_add(c, d.id);
	for (size_t i = first; i < c->n; i++) {
		struct bawn_rule r = d.rule;

		r.pattern = c->rules[i].pattern;
		r.line = c->rules[i].line;
		c->rules[i] = r;
		check_pcre(c, &c->rules[i], r.line);
		c->scans[i] = d.scan ? d.scan : scan_of(c, r.pattern);
		c->flags[i] = check_hyperscan(c, &c->rules[i], at(c, c->scans[i]), r.line);
		if (!c->needs[i] && !d.scan)
			check_line(c, i);
		if (!c->needs[i])
			continue;
		c->scans[i] = c->needs[i];
		check_needs(c, i, first_example);
	}
	for (size_t i = first_example; i < c->n_examples; i++) {
		c->examples[i].id = strdup(d.id);
		if (!c->examples[i].id)
			exit(1);
	}
}

static void read_file(struct compiler *c)
{
	yaml_parser_t parser;
	FILE *f = fopen(c->file, "re");
	yaml_node_t *root;

	if (!f)
		die(c, 0, "%m");
	if (!yaml_parser_initialize(&parser))
		exit(1);
	yaml_parser_set_input_file(&parser, f);
	if (!yaml_parser_load(&parser, &c->doc))
		die(c, parser.problem_mark.line + 1, "%s", parser.problem);
	root = yaml_document_get_root_node(&c->doc);
	if (root && root->type != YAML_SEQUENCE_NODE)
		die(c, line_of(root), "a file is a list of rules");
	for (yaml_node_item_t *i = root ? root->data.sequence.items.start : NULL;
		root && i < root->data.sequence.items.top; i++)
		read_rule(c, node(c, *i));
	yaml_document_delete(&c->doc);
	yaml_parser_delete(&parser);
	(void)fclose(f);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_files(struct compiler *c, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d && errno != ENOENT)
		die(c, 0, "%s: %m", dir);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len < 6 || strcmp(e->d_name + len - 5, ".yaml") != 0 || e->d_name[0] == '.')
			continue;
		c->files = grow(c->files, c->n_files, sizeof(*c->files));
		if (asprintf(&c->files[c->n_files++], "%s/%s", dir, e->d_name) < 0)
			exit(1);
	}
	if (d)
		(void)closedir(d);
	if (c->n_files)
		qsort(c->files, c->n_files, sizeof(*c->files), by_name);
}

static void put_bytes(FILE *f, const char *bytes, size_t len)
{
	static const size_t row = 64;

	for (size_t i = 0; i < len; i++) {
		unsigned char b = (unsigned char)bytes[i];

		if (i % row == 0)
			(void)fprintf(f, "\t\"");
		if (b >= ' ' && b < 0x7f && b != '"' && b != '\\' && b != '?')
			(void)fputc(b, f);
		else
			(void)fprintf(f, "\\%03o", b);
		if (i % row == row - 1 || i + 1 == len)
			(void)fprintf(f, "\"\n");
	}
	if (!len)
		(void)fprintf(f, "\t\"\"\n");
}

/* The database as it lies in memory when it is aligned to 64. */
static size_t build_database(struct compiler *c, char **ret)
{
	const char **patterns = calloc(c->n + 1, sizeof(*patterns));
	unsigned *ids = calloc(c->n + 1, sizeof(*ids));
	static const hs_platform_info_t generic = {0};
	hs_compile_error_t *e = NULL;
	hs_database_t *db = NULL;
	char *bytes = NULL;
	size_t len = 0, size = 0;

	if (!patterns || !ids)
		exit(1);
	for (size_t i = 0; i < c->n; i++) {
		patterns[i] = at(c, c->scans[i]);
		ids[i] = (unsigned)i;
	}
	while (hs_compile_multi(patterns, c->flags, ids, (unsigned)c->n, HS_MODE_BLOCK, &generic,
		       &db, &e) != HS_SUCCESS) {
		size_t i = e->expression < 0 ? c->n : (size_t)e->expression;

		/* too large as it is: PCRE2 makes sure of what is found with less */
		if (i >= c->n || c->flags[i] & HS_FLAG_PREFILTER)
			die(c, i < c->n ? c->rules[i].line : 0, "hyperscan: %s", e->message);
		c->flags[i] |= HS_FLAG_PREFILTER;
		(void)hs_free_compile_error(e);
		e = NULL;
	}
	if (hs_serialize_database(db, &bytes, &len) != HS_SUCCESS ||
		hs_serialized_database_size(bytes, len, &size) != HS_SUCCESS)
		die(c, 0, "the database cannot be serialised");
	*ret = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!*ret || hs_deserialize_database_at(bytes, len, (hs_database_t *)*ret) != HS_SUCCESS)
		die(c, 0, "the database cannot be laid out");
	free(bytes);
	free(patterns);
	free(ids);
	(void)hs_free_database(db);
	return size;
}

static void put_rules(FILE *f, const struct compiler *c)
{
	(void)fprintf(f, "static const struct bawn_rule rules[] = {\n");
	for (size_t i = 0; i < c->n; i++) {
		const struct bawn_rule *r = &c->rules[i];

		(void)fprintf(f,
			"\t{%uu, %uu, %uu, %uu, %uu, %uu, %uu, %uu, %.4ff, %u, %u, %u, %u},\n",
			r->id, r->category, r->means, r->pattern, r->check, r->args, r->line,
			r->width, (double)r->confidence, r->level, r->group, r->caseless, r->inner);
	}
	(void)fprintf(f, "};\n");
}

static FILE *create(const struct compiler *c, const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		die(c, 0, "%s: %m", path);
	return f;
}

static void finish(const struct compiler *c, FILE *f, const char *path)
{
	if (ferror(f) || fclose(f) != 0)
		die(c, 0, "writing '%s' failed", path);
}

static void write_set(struct compiler *c, const char *path)
{
	FILE *f = create(c, path);
	char *db = NULL, *head = NULL;
	size_t size = c->n ? build_database(c, &db) : 0;
	size_t head_size = c->n ? rules_head(db, size, &head) : 0;

	(void)fprintf(f, "/* Made by compile-rules. */\n#include \"inspect/rules.h\"\n\n"
			 "static const char strings[] =\n");
	put_bytes(f, c->strings.data, c->strings.len);
	(void)fprintf(f, ";\n");
	if (c->n) {
		put_rules(f, c);
		(void)fprintf(f, "static const _Alignas(64) char db[] =\n");
		put_bytes(f, db, size);
		(void)fprintf(f, ";\n");
	}
	if (head_size) {
		(void)fprintf(f, "static const _Alignas(64) char head[] =\n");
		put_bytes(f, head, head_size);
		(void)fprintf(f, ";\n");
	}
	(void)fprintf(f,
		"const struct bawn_ruleset bawn_rules_%s = {\n"
		"\t.name = \"%s\", .strings = strings, .rules = %s, .n = %zu,\n"
		"\t.db = (const unsigned char *)%s, .db_len = %zu,\n"
		"\t.head = (const unsigned char *)%s,\n};\n",
		c->set, c->set, c->n ? "rules" : "NULL", c->n, c->n ? "db" : "NULL", size,
		head_size ? "head"
		: c->n    ? "db"
			  : "NULL");
	free(db);
	free(head);
	finish(c, f, path);
}

static void write_examples(const struct compiler *c, const char *path)
{
	FILE *f = create(c, path);

	(void)fprintf(f,
		"/* Made by compile-rules. */\n#include \"inspect/rules.h\"\n\n"
		"const struct bawn_rule_example bawn_examples_%s[] = {\n",
		c->set);
	for (size_t i = 0; i < c->n_examples; i++) {
		const struct example *e = &c->examples[i];
		const char *name = strrchr(e->file, '/');

		(void)fprintf(f, "\t{\"%s\", \"%s\", \"%s/%s\", %zuu, %d, %zuu,\n", e->id, e->lang,
			c->set, name ? name + 1 : e->file, e->line, e->match, e->len);
		put_bytes(f, e->text, e->len);
		(void)fprintf(f, "\t},\n");
	}
	(void)fprintf(f, "\t{0},\n};\n");
	finish(c, f, path);
}

static void write_deps(const struct compiler *c, const char *path, const char *out, const char *dir)
{
	FILE *f = create(c, path);

	(void)fprintf(f, "%s: %s", out, dir);
	for (size_t i = 0; i < c->n_files; i++)
		(void)fprintf(f, " %s", c->files[i]);
	(void)fprintf(f, "\n");
	finish(c, f, path);
}

static void done(struct compiler *c)
{
	for (size_t i = 0; i < c->n_examples; i++) {
		free(c->examples[i].id);
		free(c->examples[i].lang);
		free(c->examples[i].text);
	}
	for (size_t i = 0; i < c->n_files; i++)
		free(c->files[i]);
	free(c->examples);
	free(c->files);
	free(c->rules);
	free(c->flags);
	free(c->scans);
	free(c->needs);
	free(c->strings.data);
}

int main(int argc, char **argv)
{
	struct compiler c = {.set = "compile-rules"};
	char *dir = NULL;

	if (argc != 6)
		die(&c, 0, "usage: compile-rules SET RULES-DIR OUT.c EXAMPLES.c DEPFILE");
	c.set = argv[1];
	if (asprintf(&dir, "%s/%s", argv[2], c.set) < 0)
		return 1;
	(void)pool_bytes(&c, "", 0);
	list_files(&c, dir);
	for (size_t i = 0; i < c.n_files; i++) {
		c.file = c.files[i];
		read_file(&c);
	}
	c.file = NULL;
	write_set(&c, argv[3]);
	write_examples(&c, argv[4]);
	write_deps(&c, argv[5], argv[3], dir);
	done(&c);
	free(dir);
	return 0;
}
