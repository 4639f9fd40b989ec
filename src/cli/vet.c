/* SPDX-License-Identifier: Apache-2.0 */
/* What `inspect` and `verify` share: policy, child, mode, what is looked for. */
#include "cli/vet.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *word;
	unsigned bit;
} kinds[] = {
	{"injection", BAWN_DETECT_INJECTION},
	{"secrets", BAWN_DETECT_SECRETS},
	{"code", BAWN_DETECT_CODE},
	{"command", BAWN_DETECT_COMMAND},
	{"policy", BAWN_DETECT_POLICY},
	{"all", BAWN_DETECT_ALL},
};

int vet_parse_detect(const char *text, unsigned *ret, struct bawn_error *err)
{
	*ret = 0;
	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ",");
		size_t i = 0;

		while (i < sizeof(kinds) / sizeof(kinds[0]) &&
			(strlen(kinds[i].word) != n || strncmp(kinds[i].word, p, n) != 0))
			i++;
		if (i == sizeof(kinds) / sizeof(kinds[0]))
			return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
				"option '--detect' takes injection, secrets, code, command, "
				"policy or all, not '%.*s'",
				(int)n, p);
		*ret |= kinds[i].bit;
		p += n;
		if (!*p)
			return 0;
	}
}

static int parse_mode(struct vet *v, const char *text, struct bawn_error *err)
{
	static const char *const names[] = {"standard", "strict", "lenient"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], text)) {
			v->mode = (enum bawn_mode)i;
			v->mode_given = true;
			return 0;
		}
	return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
		"option '--mode' takes strict, standard or lenient, not '%s'", text);
}

static int read_options(struct vet *v, struct bawn_error *err)
{
	struct cli *cli = v->cli;
	int r = 0;

	if (cli->json && cli->sarif)
		return bawn_fail(
			err, BAWN_ERR_USAGE, -EINVAL, "'--json' and '--sarif' exclude each other");
	v->format = cli->json ? VET_JSON : cli->sarif ? VET_SARIF : VET_TEXT;
	if (cli->mode)
		r = parse_mode(v, cli->mode, err);
	if (!r && cli->detect)
		r = vet_parse_detect(cli->detect, &v->detect, err);
	if (!r && cli->lang && bawn_lang_from_name(cli->lang, &v->lang) < 0)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--lang' takes bash, python, go, javascript or auto, not '%s'",
			cli->lang);
	return r;
}

int vet_start(struct vet *v, struct cli *cli, struct bawn_error *err)
{
	struct bawn_policy_source src;
	int r;

	v->cli = cli;
	r = read_options(v, err);
	if (!r)
		r = cli_policy_source(cli, &src, err);
	if (!r)
		r = bawn_policy_load(cli->arena, &src, &v->policy, err);
	if (!r)
		r = bawn_inspector_new(v->policy, &v->inspector, err);
	return r < 0 ? r : 0;
}

void vet_stop(struct vet *v)
{
	v->inspector = bawn_inspector_free(v->inspector);
	bawn_buf_done(&v->notices);
}

int vet_status(const struct vet *v)
{
	if (v->unreadable)
		return VET_FAILED;
	return v->flagged ? VET_FOUND : VET_CLEAN;
}

bool vet_serious(const struct vet *v, const struct bawn_finding *f)
{
	return f->confidence >= v->policy->thr_suspicious || !strcmp(f->category, "policy");
}
