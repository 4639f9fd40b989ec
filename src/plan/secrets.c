/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets in a plan. Most enter as placeholders only; then programs must believe the door, which
 * answers for the bound hosts: a bundle of authorities with the door's in it lies at a place of its
 * own and over those of the system, and the variables that programs look at lead there.
 */
#include <errno.h>
#include <string.h>

#include "plan/build.h"

/* Where systems keep their bundle. */
static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

static const char *const ca_variables[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
	"NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO",
	"DENO_CERT", "NIX_SSL_CERT_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "HTTPLIB2_CA_CERTS",
	"BUNDLE_SSL_CA_CERT", "PERL_LWP_SSL_CA_FILE", "npm_config_cafile",
	"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE"};

static int add_file(
	struct plan_builder *b, const char *dst, const char *text, struct bawn_error *err)
{
	return plan_add_mount(b,
		(struct bawn_mount){
			.kind = BAWN_MNT_FILE, .src = text, .dst = dst, .rule = "secrets.use"},
		err);
}

/* The bundle over those that are there, each once: they may be links to one another. */
static int cover_bundles(struct plan_builder *b, struct bawn_error *err)
{
	struct bawn_strlist done = {0};

	for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++) {
		const char *real = NULL;
		bool twice = false;
		int r;

		if (!plan_cover(b, bundles[i]) || bawn_path_resolve(b->a, bundles[i], &real) < 0 ||
			!plan_cover(b, real))
			continue;
		for (size_t j = 0; j < done.n; j++)
			twice |= !strcmp(done.v[j], real);
		if (twice)
			continue;
		r = bawn_strlist_add(b->a, &done, real);
		if (r < 0)
			return bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory");
		r = add_file(b, real, b->authorities, err);
		if (r < 0)
			return r;
	}
	if (b->p->fs_mode != BAWN_FS_FULL) {
		b->ca_file = BAWN_CA_FILE;
		return add_file(b, BAWN_CA_FILE, b->authorities, err);
	}
	/* nothing can be made in the host's own tree */
	b->ca_file = done.n ? done.v[0] : NULL;
	return b->ca_file
		       ? 0
		       : bawn_fail(err, BAWN_ERR_PLAN, -ENOENT,
				 "this system has no bundle of certificate authorities, and with filesystem.mode 'full' none can be put there");
}

static int add_secret_file(
	struct plan_builder *b, const struct bawn_plan_secret *s, struct bawn_error *err)
{
	const char *dst = bawn_arena_printf(b->a, BAWN_SECRET_DIR "/%s", s->name);

	if (b->plan->tier == BAWN_TIER_LANDLOCK || b->container || b->p->fs_mode == BAWN_FS_FULL)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"backend '%s' cannot show secret '%s' as a file (secrets.injection: file-mount)%s",
			b->backend, s->name,
			b->p->fs_mode == BAWN_FS_FULL ? " with filesystem.mode 'full'" : "");
	return dst ? add_file(b, dst, s->text, err)
		   : bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
}

int plan_make_secrets(struct plan_builder *b, struct bawn_error *err)
{
	int r = 0;

	if (b->plan->backend.box && b->authorities)
		return bawn_fail(err, BAWN_ERR_PLAN, -EOPNOTSUPP,
			"a box cannot be given the authority of the egress proxy, so secrets cannot be used in one; use 'bawn run'");
	for (size_t i = 0; r == 0 && i < b->plan->n_secrets; i++)
		if (b->plan->secrets[i].way == BAWN_SECRET_FILE)
			r = add_secret_file(b, &b->plan->secrets[i], err);
	return r == 0 && b->authorities ? cover_bundles(b, err) : r;
}

int plan_secret_env(
	const struct plan_builder *b, void (*put)(void *, const char *, const char *), void *data)
{
	for (size_t i = 0; b->ca_file && i < sizeof(ca_variables) / sizeof(ca_variables[0]); i++)
		put(data, ca_variables[i], b->ca_file);
	for (size_t i = 0; i < b->plan->n_secrets; i++) {
		const struct bawn_plan_secret *s = &b->plan->secrets[i];
		const char *name = s->env;
		const char *value = s->text;

		if (s->way == BAWN_SECRET_FILE) {
			name = bawn_arena_printf(b->a, "%s_FILE", s->env);
			value = bawn_arena_printf(b->a, BAWN_SECRET_DIR "/%s", s->name);
		}
		if (!name || !value)
			return -ENOMEM;
		put(data, name, value);
	}
	return 0;
}

bool plan_is_secret_env(const struct bawn_plan *plan, const char *assignment)
{
	size_t n = strcspn(assignment, "=");

	for (size_t i = 0; i < plan->n_secrets; i++)
		if (plan->secrets[i].way != BAWN_SECRET_FILE && strlen(plan->secrets[i].env) == n &&
			!strncmp(plan->secrets[i].env, assignment, n))
			return true;
	return false;
}
