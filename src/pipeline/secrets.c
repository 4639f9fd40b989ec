/* SPDX-License-Identifier: Apache-2.0 */
/* See secrets.h. A secret that cannot be had or may not be used means that nothing runs. */
#include "pipeline/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "backend/native/hole.h"
#include "base/io.h"
#include "base/path.h"
#include "inspect/secret/secret.h"
#include "pipeline/record.h"

#define BUNDLE_MAX ((size_t)4 << 20)

struct granted_one {
	const struct bawn_secret *about;
	const char *env;
	enum bawn_secret_injection injection;
	char placeholder[BAWN_PLACEHOLDER_MAX + 1];
	struct bawn_locked *value; /* NULL for `explain` */
};

struct bawn_granted {
	struct granted_one *v;
	size_t n;
	struct bawn_plan_secret *plan;
	struct bawn_egress_secret *door;
	size_t n_door;
	const char **values;
};

/* Copies for what enters the sandbox lie in the arena, which outlives the run. */
static void forget_copy(const char *text)
{
	char *own;

	memcpy(&own, &text, sizeof(own));
	explicit_bzero(own, strlen(own));
}

struct bawn_granted *bawn_granted_free(struct bawn_granted *g)
{
	for (size_t i = 0; g && i < g->n; i++) {
		if (g->plan && g->plan[i].text && g->v[i].value)
			forget_copy(g->plan[i].text);
		g->v[i].value = bawn_locked_free(g->v[i].value);
	}
	return NULL;
}

void bawn_granted_forget(const struct bawn_granted *g, const struct bawn_plan *plan)
{
	for (size_t i = 0; g && plan && i < g->n; i++) {
		const char *env = g->v[i].env;
		size_t n = strlen(env);

		for (const char *const *e = plan->envp; e && *e; e++)
			if (!strncmp(*e, env, n) && (*e)[n] == '=')
				forget_copy(*e + n + 1);
	}
}

static int out_of_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

static bool is_in(const char *const *v, const char *word)
{
	for (size_t i = 0; v && word && v[i]; i++)
		if (!strcmp(v[i], word))
			return true;
	return false;
}

/* "api.github.com and 2 more", or that it is bound to none. */
static const char *hosts_of(struct bawn_arena *a, const struct bawn_secret *s)
{
	size_t n = 0;

	while (s->hosts[n])
		n++;
	if (!n)
		return "no host";
	return n == 1 ? s->hosts[0] : bawn_arena_printf(a, "%s and %zu more", s->hosts[0], n - 1);
}

/* Somebody says yes, here and now or with the call itself. */
static int approve(struct bawn_arena *a, const struct granted_one *o,
	const struct bawn_secrets_input *in, struct bawn_error *err)
{
	const char *name = o->about->name;
	const char *question = bawn_arena_printf(a, "bawn: let this run use %s for %s%s?", name,
		hosts_of(a, o->about),
		o->injection == BAWN_INJECT_BOUNDARY ? "" : ", inside the sandbox");
	struct bawn_error nobody = {0};
	int r;

	if (is_in(in->approved, name))
		return 0;
	r = in->approve && question ? in->approve(in->data, question, &nobody) : -ENOTTY;
	if (r > 0)
		return 0;
	if (r == 0)
		return bawn_fail(err, BAWN_ERR_BLOCKED, -EACCES,
			"the use of secret '%s' was refused; nothing was run", name);
	return bawn_fail(err, BAWN_ERR_BLOCKED, -EACCES,
		"secret '%s' needs somebody's approval, and there is no terminal to ask at; to give it beforehand: --approve-secret %s",
		name, name);
}

static int check_caller(
	const struct granted_one *o, const struct bawn_secrets_input *in, struct bawn_error *err)
{
	bool skill = o->about->access == BAWN_ACCESS_SKILL_ONLY;
	const char *given = skill ? in->skill : in->trigger;

	if (is_in(skill ? o->about->skills : o->about->triggers, given))
		return 0;
	return bawn_fail(err, BAWN_ERR_BLOCKED, -EACCES,
		"secret '%s' is for certain %s only (--%s), and this call %s%s%s; nothing was run",
		o->about->name, skill ? "skills" : "triggers", skill ? "skill" : "trigger",
		given ? "names '" : "names none", given ? given : "", given ? "'" : "");
}

/* `auth` is seen to when the vault is opened. */
static int check_access(struct bawn_arena *a, const struct granted_one *o,
	const struct bawn_secrets_input *in, struct bawn_error *err)
{
	switch (o->about->access) {
	case BAWN_ACCESS_APPROVAL:
		return approve(a, o, in, err);
	case BAWN_ACCESS_SKILL_ONLY:
	case BAWN_ACCESS_TRIGGER_ONLY:
		return check_caller(o, in, err);
	case BAWN_ACCESS_ALWAYS:
	case BAWN_ACCESS_AUTH:
	case BAWN_ACCESS_COUNT:
	default:
		return 0;
	}
}

static enum bawn_secret_injection by_policy(const struct bawn_policy *p)
{
	enum bawn_secret_injection i = BAWN_INJECT_BOUNDARY;

	if (*p->sec_injection)
		(void)bawn_secret_injection_find(p->sec_injection, &i);
	return i;
}

/* The entry of secrets.use: NAME or NAME=VARIABLE. */
static int look_up(struct bawn_arena *a, const char *text, const struct bawn_secret *list, size_t n,
	struct granted_one *o, struct bawn_error *err)
{
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < n; i++)
		if (strlen(list[i].name) == len && !strncmp(list[i].name, text, len))
			o->about = &list[i];
	if (!o->about)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOENT,
			"there is no secret '%.*s' in the vault; set it with 'bawn secret set %.*s'",
			(int)len, text, (int)len, text);
	o->env = text[len] ? bawn_arena_strdup(a, text + len + 1) : o->about->env;
	return o->env ? 0 : out_of_memory(err);
}

static int choose_way(const struct bawn_policy *p, struct granted_one *o, struct bawn_error *err)
{
	enum bawn_secret_injection wanted = by_policy(p);

	o->injection = o->about->injection > wanted ? o->about->injection : wanted;
	if (o->injection != BAWN_INJECT_BOUNDARY)
		return 0;
	if (!o->about->hosts[0])
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"secret '%s' is bound to no host; bind it with 'bawn secret set --keep-value --host HOST %s', or say secrets.injection in the policy",
			o->about->name, o->about->name);
	if (p->net_mode >= BAWN_NET_DENY || p->level == BAWN_LEVEL_NONE ||
		p->isolation == BAWN_ISO_OFF)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENETDOWN,
			"secret '%s' is put into requests by the egress proxy, and this run has none; say --net allowlist --allow-host %s",
			o->about->name, o->about->hosts[0]);
	return 0;
}

/* Two in one variable: one of them would be lost. */
static int check_names(const struct bawn_granted *g, struct bawn_error *err)
{
	for (size_t i = 0; i < g->n; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(g->v[i].env, g->v[j].env))
				return bawn_fail(err, BAWN_ERR_VAULT, -EEXIST,
					"secrets '%s' and '%s' would be in one variable, '%s'; say NAME=VARIABLE for one",
					g->v[j].about->name, g->v[i].about->name, g->v[i].env);
	return 0;
}

static bool needs_proof(const struct bawn_granted *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].about->access == BAWN_ACCESS_AUTH)
			return true;
	return false;
}

/* What the policy names as key file serves to open, not to prove who is there. */
static struct bawn_vault_key key_of(
	const struct bawn_policy *p, const struct bawn_secrets_input *in, bool anew)
{
	struct bawn_vault_key key = BAWN_VAULT_KEY;

	if (in->has_key)
		key = in->key;
	if (!key.key_file && !anew && key.passphrase_fd < 0)
		key.key_file = p->sec_key_file;
	key.anew = anew;
	return key;
}

/* Open the vault once more, if one of them wants proof and there was none. */
static int prove(const struct bawn_policy *p, const struct bawn_secrets_input *in,
	const struct bawn_granted *g, struct bawn_vault **vault, struct bawn_error *err)
{
	struct bawn_vault_key key = key_of(p, in, true);
	bool proven = bawn_vault_proven(*vault) && key_of(p, in, false).key_file == key.key_file;

	if (!needs_proof(g) || proven)
		return 0;
	*vault = bawn_vault_free(*vault);
	return bawn_vault_open(&key, false, vault, err);
}

/* Everything but the values. */
static int describe(struct bawn_arena *a, const struct bawn_policy *p, struct bawn_vault *vault,
	struct bawn_granted *g, struct bawn_error *err)
{
	const struct bawn_secret *list = NULL;
	size_t n = 0;
	int r = bawn_vault_list(vault, a, &list, &n, err);

	for (size_t i = 0; r >= 0 && i < p->sec_use.n; i++) {
		struct granted_one *o = &g->v[g->n];

		r = look_up(a, p->sec_use.v[i].text, list, n, o, err);
		if (r >= 0)
			r = choose_way(p, o, err);
		if (r >= 0 && bawn_secret_placeholder(o->about->name, o->placeholder) < 0)
			r = bawn_fail(err, BAWN_ERR_INTERNAL, -EIO, "no random numbers");
		g->n += r >= 0;
	}
	return r < 0 ? r : check_names(g, err);
}

static int take_values(struct bawn_vault *vault, struct bawn_granted *g, struct bawn_error *err)
{
	size_t total = 0;

	for (size_t i = 0; i < g->n; i++) {
		struct granted_one *o = &g->v[i];
		int r = bawn_vault_get(vault, o->about->name, &o->value, err);

		if (r >= 0 && o->injection == BAWN_INJECT_BOUNDARY)
			r = bawn_secret_check_value(o->about, o->value->data, o->value->len, err);
		if (r < 0)
			return r;
		total += o->value->len;
	}
	if (g->n > BAWN_EGRESS_SECRETS_MAX || total > BAWN_EGRESS_SECRET_BYTES_MAX)
		return bawn_fail(err, BAWN_ERR_VAULT, -E2BIG,
			"a run can use at most %d secrets of %d bytes together",
			BAWN_EGRESS_SECRETS_MAX, BAWN_EGRESS_SECRET_BYTES_MAX);
	return 0;
}

/* The lists that the stages want. */
static int arrange(struct bawn_arena *a, struct bawn_granted *g, struct bawn_error *err)
{
	static const enum bawn_secret_way ways[] = {
		[BAWN_INJECT_ENVIRONMENT] = BAWN_SECRET_VARIABLE,
		[BAWN_INJECT_FILE_MOUNT] = BAWN_SECRET_FILE,
		[BAWN_INJECT_BOUNDARY] = BAWN_SECRET_BOUNDARY,
	};
	static const char *const other_headers[] = {"authorization", "cookie", "user-agent", NULL};
	size_t n_values = 0;

	g->plan = bawn_new(a, struct bawn_plan_secret, g->n);
	g->door = bawn_new(a, struct bawn_egress_secret, g->n);
	g->values = bawn_new(a, const char *, g->n + 1);
	if (!g->plan || !g->door || !g->values)
		return out_of_memory(err);
	for (size_t i = 0; i < g->n; i++) {
		struct granted_one *o = &g->v[i];
		const char *value = o->value ? o->value->data : "not taken out";
		bool outside = o->injection == BAWN_INJECT_BOUNDARY;

		g->plan[i] = (struct bawn_plan_secret){.name = o->about->name,
			.env = o->env,
			.way = ways[o->injection],
			/* what enters is read by children, who do not see locked memory */
			.text = outside && !HOLE("placeholder") ? o->placeholder
								: bawn_arena_strdup(a, value),
			.hosts = o->about->hosts};
		if (outside)
			g->door[g->n_door++] = (struct bawn_egress_secret){.name = o->about->name,
				.placeholder = o->placeholder,
				.value = value,
				.hosts = o->about->hosts,
				.headers = HOLE("binding") ? other_headers : o->about->headers};
		if (!g->plan[i].text)
			return out_of_memory(err);
		if (o->value && o->value->len >= BAWN_REGISTERED_MIN)
			g->values[n_values++] = value;
	}
	return 0;
}

static int grant(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_secrets_input *in, bool values, struct bawn_granted *g,
	struct bawn_error *err)
{
	_cleanup_vault_ struct bawn_vault *vault = NULL;
	struct bawn_vault_key key = key_of(p, in, false);
	int r = bawn_vault_open(&key, false, &vault, err);

	if (r >= 0)
		r = describe(a, p, vault, g, err);
	for (size_t i = 0; r >= 0 && values && i < g->n; i++)
		r = check_access(a, &g->v[i], in, err);
	if (r >= 0 && values)
		r = prove(p, in, g, &vault, err);
	if (r >= 0 && values)
		r = take_values(vault, g, err);
	return r < 0 ? r : arrange(a, g, err);
}

int bawn_granted_make(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_secrets_input *in, bool values, struct bawn_granted **ret,
	struct bawn_error *err)
{
	struct bawn_granted *g;
	int r;

	*ret = NULL;
	if (!p->sec_use.n)
		return 0;
	g = bawn_new(a, struct bawn_granted, 1);
	if (g)
		g->v = bawn_new(a, struct granted_one, p->sec_use.n);
	if (!g || !g->v)
		return out_of_memory(err);
	r = grant(a, p, in, values, g, err);
	if (r < 0) {
		(void)bawn_granted_free(g);
		return r;
	}
	*ret = g;
	return 0;
}

const struct bawn_plan_secret *bawn_granted_plan(const struct bawn_granted *g, size_t *ret_n)
{
	*ret_n = g ? g->n : 0;
	return g ? g->plan : NULL;
}

const struct bawn_egress_secret *bawn_granted_door(const struct bawn_granted *g, size_t *ret_n)
{
	*ret_n = g ? g->n_door : 0;
	return g && g->n_door ? g->door : NULL;
}

const char *const *bawn_granted_values(const struct bawn_granted *g)
{
	return g && g->values[0] && !HOLE("leaks") ? g->values : NULL;
}

const char *bawn_granted_short(struct bawn_arena *a, const struct bawn_granted *g)
{
	for (size_t i = 0; g && i < g->n; i++)
		if (g->v[i].value && g->v[i].value->len < BAWN_REGISTERED_MIN)
			return bawn_arena_printf(a,
				"secret '%s' is shorter than %d bytes, too short to be looked for in output",
				g->v[i].about->name, BAWN_REGISTERED_MIN);
	return NULL;
}

const char *bawn_granted_warning(struct bawn_arena *a, const struct bawn_granted *g)
{
	const char *text = NULL;

	for (size_t i = 0; g && i < g->n; i++)
		if (g->v[i].injection != BAWN_INJECT_BOUNDARY)
			text = bawn_arena_printf(a, "%s%s%s", text ? text : "", text ? ", " : "",
				g->v[i].about->name);
	return text ? bawn_arena_printf(a,
			      "the VALUE of %s was inside the sandbox (secrets.injection), where the command could do with it what it liked",
			      text)
		    : NULL;
}

static int record_one(const struct granted_one *o, struct bawn_audit *au, const char *run_id,
	struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	bawn_record_text(&b, "event", "secret");
	bawn_record_text(&b, "action", "use");
	bawn_record_text(&b, "run", run_id);
	bawn_record_text(&b, "name", o->about->name);
	bawn_record_text(&b, "access", bawn_secret_access_name(o->about->access));
	bawn_record_text(&b, "injection", bawn_secret_injection_name(o->injection));
	bawn_buf_puts(&b, ",\"hosts\":[");
	for (size_t i = 0; o->about->hosts[i]; i++) {
		bawn_buf_puts(&b, i ? "," : "");
		(void)bawn_buf_json(&b, o->about->hosts[i], strlen(o->about->hosts[i]));
	}
	bawn_buf_puts(&b, "]");
	return b.failed ? out_of_memory(err) : bawn_audit_append(au, b.data, err);
}

int bawn_granted_record(const struct bawn_granted *g, struct bawn_audit *au, const char *run_id,
	struct bawn_error *err)
{
	int r = 0;

	for (size_t i = 0; g && r >= 0 && i < g->n; i++)
		r = record_one(&g->v[i], au, run_id, err);
	return r;
}

const char *const *bawn_vault_files(
	struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_secrets_input *in)
{
	const char *key = in->has_key && in->key.key_file ? in->key.key_file : p->sec_key_file;
	struct bawn_vault_paths at;
	struct bawn_strlist l = {0};
	const char *real = NULL;
	const char *const *names;
	int r = 0;

	if (bawn_vault_paths(a, &at) == 0) {
		const char *const files[] = {at.file, at.fresh, at.lock, at.tries};
		size_t cut = strlen(at.dir);

		/* as the plan sees it: by its true name */
		if (bawn_path_resolve(a, at.dir, &real) < 0)
			real = at.dir;
		for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
			const char *path = bawn_path_join(a, real, files[i] + cut + 1);

			r = path ? bawn_strlist_add(a, &l, path) : -ENOMEM;
		}
	}
	if (r == 0 && key && *key)
		r = bawn_strlist_add(a, &l, bawn_path_resolve(a, key, &real) == 0 ? real : key);
	names = l.v ? l.v : bawn_new(a, const char *, 1);
	return r == 0 ? names : NULL;
}

int bawn_authorities_check(struct bawn_arena *a, const char *workspace, struct bawn_error *err)
{
	const char *own = secure_getenv("SSL_CERT_FILE");
	const char *real = NULL;

	if (!own || !*own)
		return 0;
	if (*own == '/' && bawn_path_resolve(a, own, &real) == 0 &&
		!bawn_path_under(real, workspace))
		return 0;
	return bawn_fail(err, BAWN_ERR_PLAN, -EACCES,
		"SSL_CERT_FILE '%.200s' says who may vouch for hosts that get secrets: it must be an absolute "
		"path of a file outside the workspace",
		own);
}

int bawn_authorities(struct bawn_arena *a, const char *ca, const char **ret, struct bawn_error *err)
{
	static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
	const char *own = secure_getenv("SSL_CERT_FILE");
	_cleanup_buf_ struct bawn_buf b = {0};
	int r = own && *own ? bawn_read_file(AT_FDCWD, own, BUNDLE_MAX, &b) : -ENOENT;

	for (size_t i = 0; r < 0 && i < sizeof(bundles) / sizeof(bundles[0]); i++) {
		bawn_buf_done(&b);
		b = (struct bawn_buf){0};
		r = bawn_read_file(AT_FDCWD, bundles[i], BUNDLE_MAX, &b);
	}
	/* a host without authorities: bound hosts still work, the door vouches for them */
	b.max = BUNDLE_MAX + 65536;
	bawn_buf_puts(&b, "\n");
	bawn_buf_puts(&b, ca);
	*ret = b.failed || memchr(b.data, '\0', b.len) ? NULL
						       : bawn_arena_strndup(a, b.data, b.len);
	return *ret ? 0 : out_of_memory(err);
}
