/* SPDX-License-Identifier: Apache-2.0 */
#include "base/control.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	const char *help;
} controls[] = {
#define X(id, name, help) {name, help},
	BAWN_CONTROLS(X)
#undef X
};

const char *bawn_control_name(unsigned index)
{
	return index < BAWN_CTL_COUNT ? controls[index].name : NULL;
}

const char *bawn_control_help(unsigned index)
{
	return index < BAWN_CTL_COUNT ? controls[index].help : NULL;
}

const char *bawn_limit_name(uint32_t bit)
{
	const char *name = bit ? bawn_control_name((unsigned)__builtin_ctz(bit)) : "";

	return !strncmp(name, "limit.", 6) ? name + 6 : name;
}

uint32_t bawn_control_find(const char *name)
{
	if (!strcmp(name, "all"))
		return (1u << BAWN_CTL_COUNT) - 1;
	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++)
		if (!strcmp(controls[i].name, name))
			return 1u << i;
	return 0;
}
