/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn explain`: the wall is really put up, so that the table says what is, and taken down. */
#include "pipeline/stages.h"

/* "at most 4 GiB" for a limit, else what the control means. */
static const char *detail_of(struct bawn_arena *a, const struct bawn_result *r, unsigned i)
{
	char value[64];

	if (!r->plan || bawn_result_limit(r, 1u << i, value, sizeof(value)) < 0)
		return bawn_control_help(i);
	return bawn_arena_printf(a, "%s: at most %s", bawn_control_help(i), value);
}

static const char *by_of(const struct bawn_run *x, unsigned i)
{
	if (i == BAWN_CTLI_SECRETS)
		return x->authorities ? "egress proxy, inspection of output"
				      : "inspection of output";
	return x->instance ? bawn_instance_by(x->instance, i) : "";
}

static void fill_rows(const struct bawn_run *x, struct bawn_explanation *ret)
{
	const struct bawn_result *r = x->r;

	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++) {
		uint32_t bit = 1u << i;
		bool on = r->enforced & bit;

		ret->rows[ret->n_rows++] = (struct bawn_explain_row){
			.control = bawn_control_name(i),
			.demanded = r->demanded & bit,
			.enforced = on,
			.by = on ? by_of(x, i) : "",
			.detail = r->demanded & bit ? detail_of(x->a, r, i) : bawn_control_help(i),
		};
	}
}

int bawn_pipeline_explain(
	struct bawn_arena *a, const struct bawn_run_input *in, struct bawn_explanation *ret)
{
	struct bawn_run x = BAWN_RUN(a, in, &ret->result);
	int e;

	*ret = (struct bawn_explanation){0};
	e = bawn_run_understand(&x);
	if (e >= 0)
		e = bawn_run_grant(&x, false);
	if (e >= 0)
		e = bawn_run_judge(&x, bawn_run_wall(&x));
	fill_rows(&x, ret);
	x.vetting = bawn_vetting_drop(x.vetting);
	x.instance = bawn_instance_free(x.instance);
	x.door = bawn_door_free(x.door);
	x.granted = bawn_granted_free(x.granted);
	bawn_stdio_done(&x.stdio);
	if (ret->result.plan)
		bawn_run_note(&ret->result, ret->result.plan->note);
	return e;
}
