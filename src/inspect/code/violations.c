/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the six types of violation a finding is. */
#include "inspect/code/violations.h"

#include <string.h>

static const struct {
	const char *category, *type;
} types[] = {
	{"credential-access", "file_access"},
	{"destruction", "file_access"},
	{"exfiltration", "network_access"},
	{"command-and-control", "network_access"},
	{"obfuscation", "dangerous_pattern"},
	{"injection", "dangerous_pattern"},
	{"secret", "dangerous_pattern"},
	{"policy", "dangerous_pattern"},
	{"budget", "dangerous_pattern"},
};

static const char *const names[] = {"blocked_module", "blocked_function", "dangerous_pattern",
	"file_access", "network_access", "system_call"};

const char *bawn_violation_type(const struct bawn_finding *f)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(f->category, names[i]) == 0)
			return names[i];
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(f->category, types[i].category) == 0)
			return types[i].type;
	return "system_call";
}
