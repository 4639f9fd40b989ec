/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy for one suspicious call of one tool: `tools.<Tool>.enforcement.adapter` and
 * `enforcement.suspicious.<Tool>.*` laid over the policy. They narrow it; only the network may be
 * opened, and only where nobody has said anything about it.
 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "policy/entry.h"
#include "policy/model.h"
#include "policy/policy.h"

struct narrowing {
	struct bawn_arena *a;
	const struct bawn_policy *was;
	struct bawn_policy *p;
	const char *tool;
};

static const char *setting(const struct narrowing *n, const char *before, const char *after)
{
	const char *key = bawn_arena_printf(n->a, "%s.%s.%s", before, n->tool, after);

	return key ? bawn_policy_named(n->was, key) : NULL;
}

/* The lines of `text` as a list. */
static int items_of(struct narrowing *n, const char *text, struct bawn_items *ret)
{
	*ret = (struct bawn_items){0};
	while (*text) {
		size_t len = strcspn(text, "\n");
		struct bawn_item *i = bawn_grow(n->a, &ret->v, &ret->n, &ret->cap);

		if (!i)
			return -ENOMEM;
		i->text = i->raw = bawn_arena_strndup(n->a, text, len);
		if (!i->text)
			return -ENOMEM;
		text += len + (text[len] == '\n');
	}
	return 0;
}

static int add_item(struct narrowing *n, struct bawn_items *to, const char *text)
{
	struct bawn_items old = *to;
	struct bawn_item *i;

	/* the list of the policy itself stays as it is */
	*to = (struct bawn_items){0};
	for (size_t k = 0; k < old.n; k++) {
		i = bawn_grow(n->a, &to->v, &to->n, &to->cap);
		if (!i)
			return -ENOMEM;
		*i = old.v[k];
	}
	i = bawn_grow(n->a, &to->v, &to->n, &to->cap);
	if (!i)
		return -ENOMEM;
	*i = (struct bawn_item){.text = text, .raw = text};
	return 0;
}

static bool covered(const struct bawn_items *by, const char *path)
{
	for (size_t i = 0; i < by->n; i++)
		if (bawn_path_under(path, by->v[i].text))
			return true;
	return false;
}

/* Only what is listed can be written; the workspace, too, only if it is. */
static int narrow_writable(struct narrowing *n, const char *text)
{
	struct bawn_items list;
	int r = items_of(n, text, &list);

	if (r < 0)
		return r;
	if (!covered(&list, n->was->workspace))
		r = add_item(n, &n->p->fs_read, n->was->workspace);
	n->p->fs_write = (struct bawn_items){0};
	for (size_t i = 0; r >= 0 && i < list.n; i++) {
		const char *path = list.v[i].text;

		if (covered(&n->was->fs_write, path) || bawn_path_under(path, n->was->workspace))
			r = strcmp(path, n->was->workspace) ? add_item(n, &n->p->fs_write, path)
							    : 0;
	}
	return r;
}

/* Beyond the system and the workspace, only what is listed and was granted can be read. */
static int narrow_readable(struct narrowing *n, const char *text)
{
	struct bawn_items list, kept = n->p->fs_read;
	int r = items_of(n, text, &list);

	n->p->fs_read = (struct bawn_items){0};
	for (size_t i = 0; r >= 0 && i < kept.n; i++)
		if (covered(&list, kept.v[i].text) || !strcmp(kept.v[i].text, n->was->workspace))
			r = add_item(n, &n->p->fs_read, kept.v[i].text);
	return r;
}

static int narrow_hosts(struct narrowing *n, const char *text, bool open)
{
	struct bawn_items list, kept = n->was->net_allow_hosts;
	int r = items_of(n, text, &list);

	n->p->net_mode = BAWN_NET_ALLOWLIST;
	n->p->net_allow_hosts = (struct bawn_items){0};
	for (size_t i = 0; r >= 0 && i < list.n; i++) {
		bool within = open;

		for (size_t k = 0; !within && k < kept.n; k++)
			within = bawn_host_within(list.v[i].text, kept.v[k].text);
		if (within)
			r = add_item(n, &n->p->net_allow_hosts, list.v[i].text);
	}
	return r;
}

static int narrow_network(struct narrowing *n, const char *text)
{
	enum bawn_netmode mode = n->was->net_mode;
	bool unsaid =
		!n->was->origins || n->was->origins[BAWN_F_net_mode].layer == BAWN_LAYER_DEFAULT;

	if (!strcmp(text, "false")) {
		n->p->net_mode = mode > BAWN_NET_DENY ? mode : BAWN_NET_DENY;
		return 0;
	}
	if (!strcmp(text, "true")) {
		n->p->net_mode = unsaid ? BAWN_NET_OPEN : mode;
		return 0;
	}
	if (mode >= BAWN_NET_DENY && !unsaid)
		return 0;
	return narrow_hosts(n, text, mode != BAWN_NET_ALLOWLIST);
}

int bawn_policy_for_tool(struct bawn_arena *a, const struct bawn_policy *p, const char *tool,
	const struct bawn_policy **ret, struct bawn_error *err)
{
	static const struct {
		const char *name;
		int (*apply)(struct narrowing *, const char *);
	} parts[] = {
		{"filesystem_writable", narrow_writable},
		{"filesystem_readable", narrow_readable},
		{"network_allow", narrow_network},
	};
	struct narrowing n = {
		.a = a, .was = p, .tool = tool, .p = bawn_new(a, struct bawn_policy, 1)};
	const char *adapter;
	int r = 0;

	if (!n.p)
		return bawn_fail(err, BAWN_ERR_POLICY, -ENOMEM, "out of memory");
	*n.p = *p;
	adapter = setting(&n, "tools", "enforcement.adapter");
	if (adapter)
		n.p->backend = adapter;
	for (size_t i = 0; r >= 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *text = setting(&n, "enforcement.suspicious", parts[i].name);

		if (text)
			r = parts[i].apply(&n, text);
	}
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_POLICY, r, "out of memory");
	*ret = n.p;
	return 0;
}
