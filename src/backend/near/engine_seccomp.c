/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter that the engine loads before our stage starts. It is the default profile's table as an
 * allow-list, and on top what the stage needs to build its own wall; the stage then loads the real
 * one, with the arguments looked at. Never "unconfined": what the stage does not need stays refused
 * even to the stage.
 */
#include <errno.h>
#include <stdbool.h>

#include "backend/near/engine.h"
#include "base/buf.h"

static const struct {
	const char *name;
	int action;
} table[] = {
#define SYS(group, act, sys)      {#sys, act},
#define NEW(group, act, sys, num) {#sys, act},
#include "backend/native/syscalls.def"
#undef SYS
#undef NEW
};

/* Namespaces, their mounts and name, what the broker does to its callers, and calls whose arguments
 * only the real filter can look at. */
static const char *const stage[] = {"clone3", "fsconfig", "fsmount", "fsopen", "mount",
	"mount_setattr", "move_mount", "open_tree", "pidfd_getfd", "personality", "pivot_root",
	"prlimit64", "process_vm_readv", "sethostname", "setns", "socket", "socketpair", "umount2",
	"unshare", NULL};

static void add(struct bawn_buf *b, bool *first, const char *name)
{
	bawn_buf_puts(b, *first ? "" : ",");
	*first = false;
	(void)bawn_buf_json(b, name, strlen(name));
}

static bool listed(const char *const *list, const char *name)
{
	for (; list && *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

void bawn_engine_seccomp(const struct bawn_plan *plan, struct bawn_buf *ret)
{
	bool first = true;

	bawn_buf_puts(ret, "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"archMap\":["
			   "{\"architecture\":\"SCMP_ARCH_X86_64\",\"subArchitectures\":[]},"
			   "{\"architecture\":\"SCMP_ARCH_AARCH64\",\"subArchitectures\":[]}],"
			   "\"syscalls\":[{\"names\":[");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].action == 0 && !listed(stage, table[i].name))
			add(ret, &first, table[i].name);
	for (size_t i = 0; stage[i]; i++)
		add(ret, &first, stage[i]);
	for (const char *const *p = plan->sys_allow; p && *p; p++)
		if (!listed(stage, *p))
			add(ret, &first, *p);
	bawn_buf_puts(ret, "],\"action\":\"SCMP_ACT_ALLOW\"}]}\n");
}
