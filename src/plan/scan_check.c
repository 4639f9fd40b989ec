/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One statx per known directory is all that a later run costs. On big trees a second process takes
 * half of the work: both draw portions from a counter in shared memory, so that a slow or dead
 * helper costs time and never a result.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "plan/scan_tree.h"

#define PORTION    1024u
#define HELP_ABOVE 8192u
#define LONG_PATH  ((size_t)3800)
#define BROAD      8u /* so many subdirectories are worth opening their parent */

struct shared {
	uint32_t next;
	uint8_t state[];
};

struct checker {
	const struct scan_tree *t;
	const char *root;
	int root_fd;
	struct scan_path path; /* of the parent */
	uint32_t parent;
	int dir_fd; /* the parent, if it was opened; else -1 */
	bool parent_gone;
};

static bool is_same(int fd, const char *path, const struct scan_node *n)
{
	struct statx x;

	if (statx(fd, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*path ? 0 : AT_EMPTY_PATH),
		    STATX_TYPE | STATX_INO | STATX_MTIME | STATX_CTIME, &x) < 0)
		return false;
	return S_ISDIR(x.stx_mode) && x.stx_ino == n->ino &&
	       makedev(x.stx_dev_major, x.stx_dev_minor) == n->dev &&
	       x.stx_ctime.tv_sec * 1000000000 + x.stx_ctime.tv_nsec == n->ctime &&
	       x.stx_mtime.tv_sec * 1000000000 + x.stx_mtime.tv_nsec == n->mtime;
}

static int enter_parent(struct checker *c, uint32_t parent)
{
	int r;

	if (c->dir_fd >= 0)
		(void)close(TAKE_FD(c->dir_fd));
	c->parent = parent;
	c->parent_gone = false;
	r = scan_path_set(&c->path, c->root, c->t, parent);
	if (r < 0)
		return r;
	if (parent == SCAN_NONE ||
		(c->t->nodes[parent].n_children < BROAD && c->path.len < LONG_PATH))
		return 0;
	c->dir_fd = scan_open(c->root_fd, &c->path, O_PATH);
	c->parent_gone = c->dir_fd < 0;
	return 0;
}

static bool check_one(struct checker *c, uint32_t i)
{
	const struct scan_node *n = &c->t->nodes[i];
	size_t keep;
	bool same;

	if (n->flags & SCAN_VOLATILE)
		return false;
	if ((i == 0 || n->parent != c->parent) && enter_parent(c, n->parent) < 0)
		return false;
	if (c->parent_gone)
		return false;
	keep = c->path.len;
	if (!n->name_len)
		return is_same(c->root_fd, "", n);
	if (scan_path_add(&c->path, c->t->names + n->name, n->name_len) < 0)
		return false;
	if (c->dir_fd >= 0)
		same = is_same(c->dir_fd, c->path.s + keep + 1, n);
	else
		same = is_same(c->root_fd, c->path.s + c->path.rel, n);
	c->path.len = keep;
	return same;
}

static void check_portions(
	const struct scan_tree *t, const char *root, int root_fd, struct shared *s)
{
	struct checker c = {
		.t = t, .root = root, .root_fd = root_fd, .parent = SCAN_NONE, .dir_fd = -1};
	uint32_t n = (uint32_t)t->n_nodes;

	if (enter_parent(&c, SCAN_NONE) < 0)
		return;
	for (;;) {
		uint32_t from = __atomic_fetch_add(&s->next, PORTION, __ATOMIC_RELAXED);

		if (from >= n)
			break;
		for (uint32_t i = from; i < n && i < from + PORTION; i++)
			s->state[i] = check_one(&c, i) ? SCAN_SAME : SCAN_CHANGED;
	}
	if (c.dir_fd >= 0)
		(void)close(c.dir_fd);
	scan_path_done(&c.path);
}

/* A helper that dies leaves SCAN_UNKNOWN behind, which counts as changed. */
static pid_t start_helper(
	const struct scan_tree *t, const char *root, int root_fd, struct shared *s)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
		check_portions(t, root, root_fd, s);
	_exit(0);
}

int scan_check(const struct scan_tree *t, const char *root, int root_fd, uint8_t *state)
{
	size_t size = sizeof(struct shared) + t->n_nodes;
	struct shared *s;
	pid_t helper = -1;

	if (!t->n_nodes)
		return 0;
	s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return -errno;
	if (t->n_nodes > HELP_ABOVE)
		helper = start_helper(t, root, root_fd, s);
	check_portions(t, root, root_fd, s);
	if (helper > 0)
		while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
			;
	memcpy(state, s->state, t->n_nodes);
	(void)munmap(s, size);
	return 0;
}
