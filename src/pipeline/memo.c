/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memo.h. A head with a random key, then slots of one hash each: the hash says which slot, so
 * that many processes can read and write without a lock. A slot that was torn, or belongs to
 * another program, policy or command, is only a hash that does not match. Nothing but "nothing
 * found" is kept, because everything else must be told with its reasons.
 */
#include "pipeline/memo.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sha256.h"
#include "inspect/inspector.h"

#define SLOTS     1024u
#define TEXT_MAX  ((size_t)64 << 10) /* longer commands are seldom repeated */
#define FILE_SIZE ((off_t)(sizeof(struct head) + (size_t)SLOTS * BAWN_MEMO_HASH))

struct head {
	char magic[8];
	char unused[24];
	unsigned char key[BAWN_MEMO_HASH];
	unsigned char sum[BAWN_MEMO_HASH]; /* of all before it */
};

static const char magic[8] = "bawnmm1\n";

/* Where this program, or the library it is part of, begins in memory: of the linker's making. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's name */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* The build id in the notes at `p`; 0 if there is none. */
static size_t id_in_notes(const char *p, size_t len, const char **ret)
{
	ElfW(Nhdr) n;

	while (len >= sizeof(n)) {
		size_t name, desc;

		memcpy(&n, p, sizeof(n));
		name = ((size_t)n.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)n.n_descsz + 3) & ~(size_t)3;
		if (name + desc > len - sizeof(n))
			return 0;
		p += sizeof(n);
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(p, "GNU", 4)) {
			*ret = p + name;
			return n.n_descsz;
		}
		p += name + desc;
		len -= sizeof(n) + name + desc;
	}
	return 0;
}

/* What the linker made of all that was compiled in, rules included. */
static size_t build_id(const char **ret)
{
	const ElfW(Ehdr) *e = &__ehdr_start;
	const char *start = (const char *)e;
	size_t mapped = 0, n = 0;

	/* the part that begins here stands first, and notes are in it */
	for (size_t i = 0; !n && i < e->e_phnum; i++) {
		ElfW(Phdr) ph;

		memcpy(&ph, start + e->e_phoff + i * e->e_phentsize, sizeof(ph));
		if (ph.p_type == PT_LOAD && !ph.p_offset)
			mapped = ph.p_filesz;
		if (ph.p_type == PT_NOTE && ph.p_offset < mapped &&
			ph.p_filesz <= mapped - ph.p_offset)
			n = id_in_notes(start + ph.p_offset, ph.p_filesz, ret);
	}
	return n >= 8 ? n : 0;
}

/* All that the inspector's child can know: it has no files, only the program, the policy and the
 * subject. */
static int make_hash(const struct bawn_memo *m, unsigned char ret[BAWN_MEMO_HASH])
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *id = NULL;
	size_t n = build_id(&id);
	const char *const of[] = {m->policy->digest, m->policy->workspace, m->policy->home};

	if (!n || !*m->policy->digest)
		return -ENOENT;
	bawn_buf_add(&b, m->key, sizeof(m->key));
	bawn_buf_add(&b, &n, sizeof(n));
	bawn_buf_add(&b, id, n);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		bawn_buf_add(&b, of[i] ? of[i] : "", of[i] ? strlen(of[i]) + 1 : 1);
	bawn_subject_bytes(&b, m->subject);
	if (b.failed)
		return b.failed;
	bawn_sha256(b.data, b.len, ret);
	return 0;
}

static off_t slot_of(const unsigned char hash[BAWN_MEMO_HASH])
{
	uint32_t n;

	memcpy(&n, hash, sizeof(n));
	return (off_t)(sizeof(struct head) + (size_t)(n % SLOTS) * BAWN_MEMO_HASH);
}

/* Ours alone, and nowhere that another machine writes. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077) && st.st_nlink == 1 && bawn_fd_is_local(fd);
}

static bool read_head(struct bawn_memo *m)
{
	unsigned char sum[BAWN_MEMO_HASH];
	struct head h;

	if (lseek(m->fd, 0, SEEK_END) != FILE_SIZE || pread(m->fd, &h, sizeof(h), 0) != sizeof(h) ||
		memcmp(h.magic, magic, sizeof(magic)) != 0)
		return false;
	bawn_sha256(&h, offsetof(struct head, sum), sum);
	memcpy(m->key, h.key, sizeof(m->key));
	return memcmp(sum, h.sum, sizeof(sum)) == 0;
}

/* A new key makes whatever stands in the slots worthless. Only one at a time may find that there is
 * none: else one that was late would undo what others have noted meanwhile. */
static bool write_head(struct bawn_memo *m)
{
	struct head h = {0};

	if (flock(m->fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	if (read_head(m))
		return true;
	memcpy(h.magic, magic, sizeof(magic));
	if (getrandom(h.key, sizeof(h.key), GRND_NONBLOCK) != sizeof(h.key))
		return false;
	bawn_sha256(&h, offsetof(struct head, sum), h.sum);
	memcpy(m->key, h.key, sizeof(m->key));
	return ftruncate(m->fd, 0) == 0 && ftruncate(m->fd, FILE_SIZE) == 0 &&
	       pwrite(m->fd, &h, sizeof(h), 0) == sizeof(h);
}

const char *bawn_memo_path(struct bawn_arena *a)
{
	return bawn_path_state(a, "judged");
}

static int open_memo(const char *path, int extra)
{
	return open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | extra, 0600);
}

void bawn_memo_make(const char *path)
{
	const int flags = O_CREAT | O_EXCL;
	int fd = open_memo(path, flags);

	if (fd < 0 && errno == ENOENT &&
		bawn_path_make_state_dirs(path, (size_t)(strrchr(path, '/') - path)) == 0)
		fd = open_memo(path, flags);
	if (fd >= 0)
		(void)close(fd);
}

bool bawn_memo_ask(struct bawn_memo *m, const char *path, const struct bawn_policy *p,
	const struct bawn_subject *sub)
{
	unsigned char hash[BAWN_MEMO_HASH], slot[BAWN_MEMO_HASH];

	*m = (struct bawn_memo){.fd = -1, .policy = p, .subject = sub};
	if (!path || sub->len > TEXT_MAX)
		return false;
	m->fd = open_memo(path, 0);
	if (m->fd < 0) {
		m->path = errno == ENOENT ? path : NULL;
		return false;
	}
	if (!is_ours(m->fd)) {
		bawn_memo_done(m);
		return false;
	}
	m->path = path;
	m->keyed = read_head(m);
	return m->keyed && make_hash(m, hash) == 0 &&
	       pread(m->fd, slot, sizeof(slot), slot_of(hash)) == sizeof(slot) &&
	       memcmp(slot, hash, sizeof(hash)) == 0;
}

/* It was not there when it was asked, and was made meanwhile. */
static bool open_late(struct bawn_memo *m)
{
	m->fd = open_memo(m->path, 0);
	if (m->fd < 0 || !is_ours(m->fd))
		return false;
	m->keyed = read_head(m);
	return true;
}

void bawn_memo_note(struct bawn_memo *m)
{
	unsigned char hash[BAWN_MEMO_HASH];
	struct rlimit most;

	/* what goes beyond this limit ends the process */
	if (!m->path || getrlimit(RLIMIT_FSIZE, &most) < 0 || most.rlim_cur < (rlim_t)FILE_SIZE)
		return;
	if (m->fd < 0 && !open_late(m))
		return;
	if (!m->keyed && !write_head(m))
		return;
	m->keyed = true;
	if (make_hash(m, hash) == 0)
		(void)!pwrite(m->fd, hash, sizeof(hash), slot_of(hash));
}

void bawn_memo_done(struct bawn_memo *m)
{
	if (m->fd >= 0)
		(void)close(m->fd);
	m->fd = -1;
	m->path = NULL;
}
