/* SPDX-License-Identifier: Apache-2.0 */
/* What the host sends as "config". A key that is not known is an error: it could be a wall. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/arena.h"
#include "egress/door.h"

/* Milliseconds. */
static const struct door_timeouts defaults = {
	.head = 15000, .idle = 600000, .dial = 15000, .resolve = 8000};

static const struct {
	const char *name;
	enum bawn_egress_mode mode;
} modes[] = {
	{"deny", BAWN_EGRESS_DENY},
	{"allowlist", BAWN_EGRESS_ALLOWLIST},
	{"blocklist", BAWN_EGRESS_BLOCKLIST},
	{"open", BAWN_EGRESS_OPEN},
	{"closed", BAWN_EGRESS_CLOSED},
};

struct reading {
	struct bawn_arena *arena;
	struct bawn_egress_source src;
	struct bawn_strlist allow, block;
	struct door_config *config;
	bool has_mode;
};

static int wrong(struct bawn_error *err, const char *key)
{
	return bawn_fail(
		err, BAWN_ERR_POLICY, -EINVAL, "config: '%s' is not what it should be", key);
}

static int read_mode(struct reading *r, const json_t *v, struct bawn_error *err)
{
	const char *name = json_string_value(v);

	for (size_t i = 0; name && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(name, modes[i].name)) {
			r->src.mode = r->config->mode = modes[i].mode;
			r->has_mode = true;
			return 0;
		}
	return wrong(err, "mode");
}

static int read_list(struct reading *r, const json_t *v, struct bawn_strlist *list)
{
	size_t i;
	const json_t *e;

	if (!json_is_array(v))
		return -EINVAL;
	json_array_foreach(v, i, e)
	{
		const char *s = json_string_value(e);

		if (!s || strlen(s) != json_string_length(e))
			return -EINVAL;
		if (bawn_strlist_add(r->arena, list, bawn_arena_strdup(r->arena, s)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int read_resolvers(struct reading *r, const json_t *v)
{
	struct bawn_strlist l = {0};
	int e = read_list(r, v, &l);

	for (size_t i = 0; !e && i < l.n; i++)
		bawn_buf_printf(&r->config->resolvers, "%s%s", i ? "," : "", l.v[i]);
	return e ? e : r->config->resolvers.failed;
}

static int read_timeouts(struct reading *r, const json_t *v)
{
	struct door_timeouts *t = &r->config->timeouts;
	const struct {
		const char *name;
		int64_t *at;
	} all[] = {{"head", &t->head}, {"idle", &t->idle}, {"dial", &t->dial},
		{"resolve", &t->resolve}};
	size_t known = 0;

	if (!json_is_object(v))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const json_t *e = json_object_get(v, all[i].name);

		if (!e)
			continue;
		if (!json_is_integer(e) || json_integer_value(e) <= 0)
			return -EINVAL;
		*all[i].at = json_integer_value(e);
		known++;
	}
	return known == json_object_size(v) ? 0 : -EINVAL;
}

static int read_token(struct reading *r, const json_t *v)
{
	const char *s = json_string_value(v);

	if (!s || !*s || strlen(s) != json_string_length(v) ||
		strlen(s) >= sizeof(r->config->token))
		return -EINVAL;
	(void)snprintf(r->config->token, sizeof(r->config->token), "%s", s);
	return 0;
}

static int read_bool(const json_t *v, bool *ret)
{
	*ret = json_is_true(v);
	return json_is_boolean(v) ? 0 : -EINVAL;
}

static int read_budget(struct reading *r, const char *key, const json_t *v)
{
	if (!json_is_number(v) || json_number_value(v) <= 0)
		return -EINVAL;
	if (!strcmp(key, "host_rate"))
		r->src.host_rate = json_number_value(v);
	else
		r->src.host_bytes = (uint64_t)json_integer_value(v);
	return json_is_integer(v) || !strcmp(key, "host_rate") ? 0 : -EINVAL;
}

/* The texts of a list, pointing into it; NULL-terminated. */
static int read_texts(struct reading *r, const json_t *v, const char *const **ret)
{
	size_t n = json_array_size(v);
	const char **list = bawn_arena_alloc(r->arena, (n + 1) * sizeof(*list));

	if (!list || !json_is_array(v))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const json_t *e = json_array_get(v, i);

		list[i] = json_string_value(e);
		if (!list[i] || strlen(list[i]) != json_string_length(e))
			return -EINVAL;
	}
	list[n] = NULL;
	*ret = list;
	return 0;
}

static int read_secret(struct reading *r, const json_t *v, struct bawn_egress_secret *ret)
{
	const struct {
		const char *name;
		const char **at;
	} texts[] = {
		{"name", &ret->name}, {"placeholder", &ret->placeholder}, {"value", &ret->value}};
	const json_t *headers = json_object_get(v, "headers");

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const json_t *e = json_object_get(v, texts[i].name);

		*texts[i].at = json_string_value(e);
		if (!*texts[i].at || strlen(*texts[i].at) != json_string_length(e))
			return -EINVAL;
	}
	if (read_texts(r, json_object_get(v, "hosts"), &ret->hosts) < 0 ||
		(headers && read_texts(r, headers, &ret->headers) < 0))
		return -EINVAL;
	return json_object_size(v) == (headers ? 5 : 4) ? 0 : -EINVAL;
}

/* The values are copied once, into memory of their own. */
static int read_secrets(struct reading *r, const json_t *v, struct bawn_error *err)
{
	struct bawn_egress_secret all[BAWN_EGRESS_SECRETS_MAX] = {0};
	size_t n = json_array_size(v);

	if (!json_is_array(v) || n > BAWN_EGRESS_SECRETS_MAX)
		return wrong(err, "secrets");
	for (size_t i = 0; i < n; i++)
		if (read_secret(r, json_array_get(v, i), &all[i]) < 0)
			return wrong(err, "secrets");
	return n ? bawn_secrets_new(all, n, &r->config->secrets, err) : 0;
}

static int read_roots(struct reading *r, const json_t *v)
{
	const char *s = json_string_value(v);

	if (!s || !*s || strlen(s) != json_string_length(v))
		return -EINVAL;
	bawn_buf_puts(&r->config->roots, s);
	return r->config->roots.failed;
}

static int read_key(struct reading *r, const char *key, const json_t *v, struct bawn_error *err)
{
	const struct {
		const char *name;
		bool *at;
	} bools[] = {{"ssrf", &r->src.ssrf}, {"block_private", &r->src.block_private},
		{"development", &r->src.development}};
	int e = -ENOENT;

	if (!strcmp(key, "mode"))
		return read_mode(r, v, err);
	if (!strcmp(key, "secrets"))
		return read_secrets(r, v, err);
	for (size_t i = 0; i < sizeof(bools) / sizeof(bools[0]); i++)
		if (!strcmp(key, bools[i].name))
			e = read_bool(v, bools[i].at);
	if (!strcmp(key, "allow"))
		e = read_list(r, v, &r->allow);
	else if (!strcmp(key, "block"))
		e = read_list(r, v, &r->block);
	else if (!strcmp(key, "host_bytes") || !strcmp(key, "host_rate"))
		e = read_budget(r, key, v);
	else if (!strcmp(key, "token"))
		e = read_token(r, v);
	else if (!strcmp(key, "resolver"))
		e = read_resolvers(r, v);
	else if (!strcmp(key, "timeouts"))
		e = read_timeouts(r, v);
	else if (!strcmp(key, "roots"))
		e = read_roots(r, v);
	return e < 0 ? wrong(err, key) : 0;
}

static int compile(struct reading *r, struct bawn_error *err)
{
	const char *const *more = bawn_egress_development_hosts();

	for (size_t i = 0; r->src.development && more && more[i]; i++)
		if (bawn_strlist_add(r->arena, &r->allow, more[i]) < 0)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	r->src.allow = r->allow.v;
	r->src.block = r->block.v;
	r->config->host_bytes = r->src.host_bytes;
	r->config->host_rate = r->src.host_rate;
	return bawn_egress_rules_compile(&r->src, &r->config->rules, err);
}

int door_config_parse(json_t *top, struct door_config *ret, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *arena = bawn_arena_new();
	struct door_config config = {.timeouts = defaults};
	/* what is not said is the strictest */
	struct reading r = {.arena = arena,
		.config = &config,
		.src = {.mode = BAWN_EGRESS_DENY,
			.ssrf = true,
			.block_private = true,
			.host_bytes = UINT64_MAX}};
	void *it;
	int e = 0;

	if (!arena)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	if (!json_is_object(top))
		return wrong(err, "config");
	for (it = json_object_iter(top); it && e >= 0; it = json_object_iter_next(top, it))
		e = read_key(&r, json_object_iter_key(it), json_object_iter_value(it), err);
	if (e >= 0)
		e = r.has_mode ? compile(&r, err) : wrong(err, "mode");
	if (e < 0) {
		door_config_done(&config);
		return e;
	}
	*ret = config;
	return 0;
}

void door_config_done(struct door_config *c)
{
	c->rules = bawn_egress_rules_free(c->rules);
	bawn_buf_done(&c->resolvers);
	bawn_buf_done(&c->roots);
	c->secrets = bawn_secrets_free(c->secrets);
	explicit_bzero(c->token, sizeof(c->token));
}
