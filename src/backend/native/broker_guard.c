/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what where: names that must not come into being (guards), and in the Landlock tier
 * paths that must not change (protect) or be opened (deny). Names are compared as the most lenient
 * file system would: a project is also checked out on machines that ignore case and zero-width
 * characters. Directories are compared by path and by inode, as one may be mounted twice.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "backend/native/broker_impl.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/control.h"
#include "base/path.h"

#define FAILURES_MAX 32 /* refusals by the kernel are told this often per run */
#define PLACE_MAX    (PATH_MAX + NAME_MAX + 2)

/* Code points that HFS+ ignores, and the zero-width space. */
static bool ignorable(uint32_t c)
{
	return (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0xad;
}

/* One code point of UTF-8, or one byte if it is not that. Returns its length. */
static size_t decode(const unsigned char *s, uint32_t *ret)
{
	size_t n = 1;

	if (s[0] >= 0xc2)
		n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	*ret = s[0];
	if (n == 1)
		return 1;
	*ret &= 0x7fU >> n;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			*ret = s[0];
			return 1;
		}
		*ret = *ret << 6 | (s[i] & 0x3f);
	}
	return n;
}

/* What one code point becomes; returns how many bytes are in dst. */
static size_t fold_one(const unsigned char *s, size_t n, uint32_t c, char *dst)
{
	if (c == 0x17f || c == 0x212a) { /* long s and the Kelvin sign have ASCII lower case */
		dst[0] = c == 0x17f ? 's' : 'k';
		return 1;
	}
	if (n == 1) {
		dst[0] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
		return 1;
	}
	if (ignorable(c))
		return 0;
	memcpy(dst, s, n);
	return n;
}

void bawn_guard_fold(const char *name, char *dst, size_t size)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t out = 0;

	while (*s && out + 5 < size) {
		uint32_t c = 0;
		size_t n = decode(s, &c);

		out += fold_one(s, n, c, dst + out);
		s += n;
	}
	dst[out] = 0;
}

int bawn_guard_init(struct bawn_broker *b)
{
	const struct bawn_plan *plan = b->plan;

	b->guards = calloc(plan->n_guards + 1, sizeof(*b->guards));
	if (!b->guards)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_guards; i++) {
		char folded[NAME_MAX + 8];
		struct stat st;

		bawn_guard_fold(plan->guards[i].name, folded, sizeof(folded));
		b->guards[i].name = strdup(folded);
		if (!b->guards[i].name)
			return -ENOMEM;
		if (stat(plan->guards[i].dir, &st) == 0) {
			b->guards[i].dev = st.st_dev;
			b->guards[i].ino = st.st_ino;
		}
	}
	return 0;
}

void bawn_guard_done(struct bawn_broker *b)
{
	for (size_t i = 0; b->guards && i < b->plan->n_guards; i++)
		free(b->guards[i].name);
	free(b->guards);
	b->guards = NULL;
}

/* Paths come from the command: escape them. The same text twice in a row is told once. */
static void tell(struct bawn_broker *b, uint32_t control, const char *verb, const char *path,
	const char *why)
{
	_cleanup_buf_ struct bawn_buf text = {0};
	uint64_t hash = 14695981039346656037ULL;

	bawn_buf_puts(&text, verb);
	bawn_buf_puts(&text, " '");
	bawn_buf_escape(&text, path, strlen(path));
	bawn_buf_puts(&text, "' is refused: ");
	bawn_buf_puts(&text, why);
	if (text.failed)
		return;
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.data[i]) * 1099511628211ULL;
	if (hash == b->last_told)
		return;
	b->last_told = hash;
	b->report(b->data, control, text.data);
}

static const char *verb_of(enum bawn_change what)
{
	switch (what) {
	case BAWN_CHANGE_PUT:
	case BAWN_CHANGE_MAKE:
		return "creating";
	case BAWN_CHANGE_CONTENT:
		return "changing";
	case BAWN_CHANGE_AWAY:
		return "moving or removing";
	case BAWN_CHANGE_READ:
		return "opening";
	}
	return "using";
}

static int refuse_protect(const struct bawn_susp *s, enum bawn_change what, const char *path,
	const char *rule, const char *release)
{
	_cleanup_buf_ struct bawn_buf why = {0};

	bawn_buf_puts(&why, release ? "it is protected agent or git configuration (rule "
				      "filesystem.protect: "
				    : "it is protected (");
	bawn_buf_escape(&why, rule, strlen(rule));
	bawn_buf_puts(&why,
		release ? "); the operator can allow it with " : "), and no option allows it");
	if (release)
		bawn_buf_escape(&why, release, strlen(release));
	if (!why.failed)
		tell(s->b, BAWN_CTL_FS_PROTECT, verb_of(what), path, why.data);
	return -EPERM;
}

static bool same_dir(const struct bawn_broker *b, size_t i, const struct bawn_place *p)
{
	char dir[PATH_MAX];
	struct stat st;

	if (b->guards[i].ino && fstat(p->dir, &st) == 0 && st.st_dev == b->guards[i].dev &&
		st.st_ino == b->guards[i].ino)
		return true;
	return bawn_fd_path(p->dir, dir) == 0 && strcmp(dir, b->plan->guards[i].dir) == 0;
}

static int check_name(const struct bawn_susp *s, const struct bawn_place *p, enum bawn_change what)
{
	const struct bawn_broker *b = s->b;
	char folded[NAME_MAX + 8], path[PLACE_MAX] = "";

	bawn_guard_fold(p->name, folded, sizeof(folded));
	for (size_t i = 0; i < b->plan->n_guards; i++) {
		if (strcmp(folded, b->guards[i].name) != 0 || !same_dir(b, i, p))
			continue;
		(void)bawn_place_path(p, path);
		return refuse_protect(
			s, what, path, b->plan->guards[i].rule, b->plan->guards[i].release);
	}
	return 0;
}

/* A guarded directory must stay where it is: what is moved or linked into its place could bring the
 * guarded name with it. */
static int check_cover(const struct bawn_susp *s, const char *path, enum bawn_change what)
{
	const struct bawn_plan *plan = s->b->plan;

	for (size_t i = 0; i < plan->n_guards; i++) {
		if (bawn_path_under(plan->guards[i].dir, path))
			return refuse_protect(
				s, what, path, plan->guards[i].rule, plan->guards[i].release);
	}
	return 0;
}

static const char *covering(const char *const *list, size_t n, const char *path, bool above)
{
	for (size_t i = 0; i < n; i++) {
		if (bawn_path_under(path, list[i]) || (above && bawn_path_under(list[i], path)))
			return list[i];
	}
	return NULL;
}

/* Of a protected path that exists, the mount that keeps it knows what it is. */
static int refuse_kept(
	const struct bawn_susp *s, enum bawn_change what, const char *path, const char *kept)
{
	const struct bawn_plan *plan = s->b->plan;

	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].protect && !strcmp(plan->mounts[i].dst, kept))
			return refuse_protect(
				s, what, path, plan->mounts[i].rule, plan->mounts[i].release);
	return refuse_protect(s, what, path, kept, NULL);
}

static int refuse_denied(
	const struct bawn_susp *s, enum bawn_change what, const char *path, const char *rule)
{
	_cleanup_buf_ struct bawn_buf why = {0};

	bawn_buf_puts(&why, "it is denied (rule filesystem.deny: ");
	bawn_buf_escape(&why, rule, strlen(rule));
	bawn_buf_puts(&why, ")");
	if (!why.failed)
		tell(s->b, BAWN_CTL_FS_DENY, verb_of(what), path, why.data);
	return -EACCES;
}

/* Protected and denied paths that exist; in the full tier mounts see to them. */
static int check_paths(const struct bawn_susp *s, const char *path, enum bawn_change what)
{
	const struct bawn_plan *plan = s->b->plan;
	bool above = what == BAWN_CHANGE_AWAY || what == BAWN_CHANGE_PUT;
	const char *rule = NULL;

	if (what != BAWN_CHANGE_READ)
		rule = covering(plan->protect, plan->n_protect, path, above);
	if (rule)
		return refuse_kept(s, what, path, rule);
	rule = covering(plan->deny, plan->n_deny, path, above);
	return rule ? refuse_denied(s, what, path, rule) : 0;
}

static bool is_dots(const struct bawn_place *p)
{
	return p->whole < 0 &&
	       (strcmp(p->name, ".") == 0 || strcmp(p->name, "..") == 0 || p->name[0] == '/');
}

/* "." and ".." name a directory by another path: check that one. */
static int place_of(const struct bawn_place *p, char path[PLACE_MAX])
{
	_cleanup_close_ int fd = -1;

	if (!is_dots(p))
		return bawn_place_path(p, path);
	fd = openat(p->dir, p->name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : bawn_fd_path(fd, path);
}

int bawn_guard_check(const struct bawn_susp *s, const struct bawn_place *p, enum bawn_change what)
{
	bool creates = what == BAWN_CHANGE_PUT || what == BAWN_CHANGE_MAKE;
	bool names = creates || what == BAWN_CHANGE_AWAY;
	char path[PLACE_MAX];
	int r = 0;

	if (names && is_dots(p))
		return 0; /* the kernel refuses that, with an errno of its own */
	if (creates && p->whole < 0)
		r = check_name(s, p, what);
	if (r < 0 || (s->b->mode == BAWN_BROKER_CREATE && what == BAWN_CHANGE_MAKE))
		return r;
	if (s->b->mode == BAWN_BROKER_CREATE && what != BAWN_CHANGE_PUT && what != BAWN_CHANGE_AWAY)
		return 0;
	r = place_of(p, path);
	if (r < 0)
		return r;
	if (what == BAWN_CHANGE_PUT || what == BAWN_CHANGE_AWAY)
		r = check_cover(s, path, what);
	if (r == 0 && s->b->mode >= BAWN_BROKER_WRITE)
		r = check_paths(s, path, what);
	return r;
}

/* What no grant opens, and why; "" for everything else. */
static const char *why_closed(const struct bawn_plan *plan, const char *path, int error)
{
	const struct bawn_mount *top = bawn_plan_mount_of(plan, path);

	if (top && top->kind == BAWN_MNT_RW && !top->protect)
		return error == -EROFS
			       ? "its file system is read-only on the host, too"
			       : "it is granted, but its owner or its permissions do not allow it; not even root has power over the files of others in a sandbox";

	if (!strcmp(path, "/dev/tty"))
		return "there is no terminal; the operator can give it one with --pty";
	if (bawn_plan_is_kernels(path) && !bawn_path_under(path, "/dev/shm"))
		return "it is the kernel's, and no grant makes it writable in a sandbox";
	if (!top && plan->backend.image)
		return "it belongs to the image, which is read-only";
	/* a container has its system in one piece */
	if (plan->tier == BAWN_TIER_NEAR && top && top->rule &&
		!strcmp(top->rule, "filesystem.system"))
		return "it belongs to the system, which is read-only in a sandbox";
	return "";
}

/* The kernel refused: mostly a place that is not writable. Tell what would help. */
void bawn_guard_failed(const struct bawn_susp *s, const struct bawn_place *p, int error)
{
	_cleanup_buf_ struct bawn_buf why = {0};
	char path[PLACE_MAX], dir[PLACE_MAX], *slash;
	const char *rule, *denied;

	if ((error != -EROFS && error != -EACCES && error != -EBUSY && error != -EXDEV) ||
		s->b->failures_told >= FAILURES_MAX || place_of(p, path) < 0)
		return;
	/* a mount over what is protected: say so, and what would release just that */
	rule = covering(s->b->plan->protect, s->b->plan->n_protect, path, false);
	denied = rule ? NULL : covering(s->b->plan->deny, s->b->plan->n_deny, path, false);
	if (!rule && !denied && (error == -EBUSY || error == -EXDEV))
		return; /* another mount: not a matter of being writable */
	s->b->failures_told++;
	if (rule) {
		(void)refuse_kept(s, BAWN_CHANGE_CONTENT, path, rule);
		return;
	}
	if (denied) {
		(void)refuse_denied(s, BAWN_CHANGE_CONTENT, path, denied);
		return;
	}
	(void)snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash && slash > dir)
		*slash = 0;
	bawn_buf_puts(&why, why_closed(s->b->plan, path, error));
	if (!why.len) {
		/* nothing but what exists can be granted, and the root cannot */
		bawn_buf_puts(&why, "it is outside the writable directories; ");
		if (slash == dir)
			bawn_buf_puts(&why, "if it is made on the host before, ");
		bawn_buf_puts(&why, "the operator can allow it with --rw ");
		bawn_buf_escape(&why, dir, strlen(dir));
	}
	if (!why.failed)
		tell(s->b, BAWN_CTL_FS_WRITE, "writing", path, why.data);
}

static bool beyond(const struct sockaddr_storage *a, char *dst, size_t size)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;
	char ip[INET6_ADDRSTRLEN] = "";

	if (a->ss_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 != 127) {
		(void)inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
		(void)snprintf(dst, size, "%s:%u", ip, ntohs(v4->sin_port));
		return true;
	}
	if (a->ss_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)) {
		(void)inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
		(void)snprintf(dst, size, "[%s]:%u", ip, ntohs(v6->sin6_port));
		return true;
	}
	return false;
}

void bawn_guard_host_socket(const struct bawn_susp *s, const char *path)
{
	_cleanup_buf_ struct bawn_buf why = {0};

	bawn_buf_puts(&why, "it belongs to the host; the operator can allow it with "
			    "--unix-socket ");
	bawn_buf_escape(&why, path, strlen(path));
	if (!why.failed)
		tell(s->b, BAWN_CTL_IPC, "connecting to the socket", path, why.data);
}

void bawn_guard_connect(
	const struct bawn_susp *s, const struct sockaddr_storage *addr, socklen_t len)
{
	char text[80];

	/* the door decides and says so itself */
	if (s->b->plan->egress)
		return;
	if (len < sizeof(struct sockaddr_in) || s->b->failures_told >= FAILURES_MAX ||
		!beyond(addr, text, sizeof(text)))
		return;
	s->b->failures_told++;
	tell(s->b, BAWN_CTL_NET_NONE, "connecting to", text,
		"this sandbox has no network but a loopback of its own; the operator can allow hosts "
		"with --net allowlist --allow-host HOST and open a port of the host's loopback with "
		"--loopback-port");
}
