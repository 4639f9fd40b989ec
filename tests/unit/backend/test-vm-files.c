/* SPDX-License-Identifier: Apache-2.0 */
/* The file server as a guest's kernel sees it, and as a hostile one would. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>

#include <linux/fuse.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backend/vm/files.h"
#include "backend/vm/files_nodes.h"
#include "harness.h"

static char dir[] = "/tmp/bawn-files.XXXXXX";
static struct bawn_files *files;
static char out[BAWN_FILES_REPLY_MAX];
static const char *body = out + sizeof(struct fuse_out_header);

static void make(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	ASSERT_TRUE(f != NULL);
	ASSERT_TRUE(fputs(text, f) >= 0);
	ASSERT_EQ(fclose(f), 0);
}

static void open_tree(void)
{
	char path[PATH_MAX];

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	make("a", "hello");
	make("b", "");
	(void)snprintf(path, sizeof(path), "%s/d", dir);
	ASSERT_EQ(mkdir(path, 0755), 0);
	make("d/deep", "down here");
	(void)snprintf(path, sizeof(path), "%s/link", dir);
	ASSERT_EQ(symlink("/etc/passwd", path), 0);
	(void)snprintf(path, sizeof(path), "%s/proc", dir);
	ASSERT_EQ(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/fifo", dir);
	ASSERT_EQ(mkfifo(path, 0644), 0);
	files = bawn_files_new(open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC));
	ASSERT_TRUE(files != NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void close_tree(void)
{
	files = bawn_files_free(files);
	ASSERT_EQ(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Ask; the errno of the answer (0: none), with its length in *len. */
static int ask(uint32_t opcode, uint64_t node, const void *data, size_t size, size_t *len)
{
	char in[4096] = "";
	struct fuse_in_header h = {
		.len = (uint32_t)(sizeof(h) + size), .opcode = opcode, .unique = 7, .nodeid = node};
	struct fuse_out_header o;
	ssize_t n;

	memcpy(in, &h, sizeof(h));
	if (size)
		memcpy(in + sizeof(h), data, size);
	n = bawn_files_answer(files, in, sizeof(h) + size, out);
	ASSERT_TRUE(n >= (ssize_t)sizeof(o));
	memcpy(&o, out, sizeof(o));
	ASSERT_EQ(o.unique, 7);
	ASSERT_EQ(o.len, n);
	if (len)
		*len = (size_t)n - sizeof(o);
	return -o.error;
}

static uint64_t look(uint64_t parent, const char *name)
{
	struct fuse_entry_out e;

	ASSERT_EQ(ask(FUSE_LOOKUP, parent, name, strlen(name) + 1, NULL), 0);
	memcpy(&e, body, sizeof(e));
	return e.nodeid;
}

static int read_at(uint64_t node, uint64_t offset, uint32_t size, size_t *len)
{
	struct fuse_read_in r = {.offset = offset, .size = size};

	return ask(FUSE_READ, node, &r, sizeof(r), len);
}

TEST(files_are_found_and_read)
{
	uint64_t deep;
	size_t len;

	open_tree();
	ASSERT_EQ(read_at(look(1, "a"), 1, 100, &len), 0);
	ASSERT_EQ(len, 4);
	ASSERT_TRUE(!memcmp(body, "ello", 4));
	deep = look(look(1, "d"), "deep");
	ASSERT_EQ(read_at(deep, 0, 4, &len), 0);
	ASSERT_TRUE(len == 4 && !memcmp(body, "down", 4));
	ASSERT_EQ(read_at(deep, 100, 4, &len), 0);
	ASSERT_EQ(len, 0);
	ASSERT_EQ(look(1, "nothing"), 0); /* that it is not there is an answer as well */
	close_tree();
}

TEST(a_name_has_one_number)
{
	open_tree();
	ASSERT_EQ(look(1, "a"), look(1, "a"));
	ASSERT_TRUE(look(1, "a") != look(1, "b"));
	close_tree();
}

TEST(links_are_told_and_not_followed)
{
	uint64_t link;
	size_t len;

	open_tree();
	link = look(1, "link");
	ASSERT_EQ(ask(FUSE_READLINK, link, NULL, 0, &len), 0);
	ASSERT_TRUE(len == 11 && !memcmp(body, "/etc/passwd", 11));
	ASSERT_EQ(read_at(link, 0, 100, NULL), ELOOP);
	close_tree();
}

TEST(only_regular_files_are_read)
{
	open_tree();
	ASSERT_EQ(read_at(look(1, "fifo"), 0, 10, NULL), EINVAL);
	ASSERT_EQ(read_at(look(1, "d"), 0, 10, NULL), EINVAL);
	close_tree();
}

TEST(directories_are_listed_piece_by_piece)
{
	struct fuse_read_in r = {.size = 64};
	unsigned seen = 0;
	size_t len = 1;

	open_tree();
	for (unsigned rounds = 0; len && rounds < 100; rounds++) {
		ASSERT_EQ(ask(FUSE_READDIR, 1, &r, sizeof(r), &len), 0);
		for (size_t at = 0; at < len;) {
			struct fuse_dirent e;

			memcpy(&e, body + at, FUSE_NAME_OFFSET);
			ASSERT_TRUE(strncmp(body + at + FUSE_NAME_OFFSET, "proc", 4) != 0);
			r.offset = e.off;
			at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + e.namelen);
			seen++;
		}
	}
	ASSERT_EQ(seen, 7); /* . .. a b d link fifo */
	close_tree();
}

TEST(nothing_can_be_changed)
{
	static const uint32_t changes[] = {FUSE_WRITE, FUSE_CREATE, FUSE_UNLINK, FUSE_RENAME,
		FUSE_RENAME2, FUSE_MKDIR, FUSE_RMDIR, FUSE_SYMLINK, FUSE_LINK, FUSE_SETATTR,
		FUSE_MKNOD, FUSE_SETXATTR, FUSE_REMOVEXATTR, FUSE_FALLOCATE, FUSE_IOCTL,
		FUSE_COPY_FILE_RANGE, 4711};
	struct fuse_access_in w = {.mask = W_OK};
	char zero[64] = "";

	open_tree();
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		ASSERT_EQ(ask(changes[i], look(1, "a"), zero, sizeof(zero), NULL), ENOSYS);
	ASSERT_EQ(ask(FUSE_ACCESS, look(1, "a"), &w, sizeof(w), NULL), EROFS);
	close_tree();
}

TEST(names_cannot_lead_out)
{
	static const char *const names[] = {"..", ".", "", "a/b", "/etc/passwd", "../etc"};
	char name[300];

	open_tree();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ASSERT_EQ(ask(FUSE_LOOKUP, 1, names[i], strlen(names[i]) + 1, NULL), EINVAL);
	ASSERT_EQ(ask(FUSE_LOOKUP, 1, "a", 1, NULL), EINVAL); /* not terminated */
	memset(name, 'x', sizeof(name));
	name[299] = '\0';
	ASSERT_EQ(ask(FUSE_LOOKUP, 1, name, sizeof(name), NULL), EINVAL);
	ASSERT_EQ(look(1, "proc"), 0);
	close_tree();
}

TEST(numbers_that_were_not_given_are_stale)
{
	static const uint64_t nodes[] = {0, 99, UINT32_MAX, UINT64_MAX, (UINT64_C(1) << 32) + 1};

	open_tree();
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		ASSERT_EQ(ask(FUSE_GETATTR, nodes[i], NULL, 0, NULL), ESTALE);
		ASSERT_EQ(ask(FUSE_LOOKUP, nodes[i], "a", 2, NULL), ESTALE);
		ASSERT_EQ(read_at(nodes[i], 0, 1, NULL), ESTALE);
	}
	close_tree();
}

TEST(forgotten_names_are_gone_and_their_descriptors_too)
{
	struct fuse_forget_in f = {.nlookup = 1};
	struct fuse_in_header h = {
		.len = sizeof(h) + sizeof(f), .opcode = FUSE_FORGET, .nodeid = 0};
	char in[sizeof(h) + sizeof(f)];
	uint64_t d, deep, again;
	size_t len;

	open_tree();
	d = look(1, "d");
	deep = look(d, "deep");
	ASSERT_EQ(read_at(deep, 0, 4, NULL), 0);
	for (int i = 0; i < 2; i++) { /* the parent first: it waits for its child */
		h.nodeid = i ? deep : d;
		memcpy(in, &h, sizeof(h));
		memcpy(in + sizeof(h), &f, sizeof(f));
		ASSERT_EQ(bawn_files_answer(files, in, sizeof(in), out), 0);
	}
	ASSERT_EQ(read_at(deep, 0, 4, NULL), ESTALE);
	again = look(1, "a"); /* takes a number that was free */
	ASSERT_TRUE(again == d || again == deep);
	ASSERT_EQ(read_at(again, 0, 5, &len), 0);
	ASSERT_TRUE(len == 5 && !memcmp(body, "hello", 5));
	close_tree();
}

TEST(requests_that_are_none_end_it)
{
	char in[64] = "";
	uint32_t len = 40;

	open_tree();
	ASSERT_EQ(bawn_files_answer(files, in, 3, out), -EPROTO);
	memcpy(in, &len, sizeof(len));
	ASSERT_EQ(bawn_files_answer(files, in, 41, out), -EPROTO);
	ASSERT_EQ(bawn_files_answer(files, in, 40, out), (ssize_t)sizeof(struct fuse_out_header));
	close_tree();
}

TEST(a_stream_is_served_until_it_ends)
{
	struct fuse_in_header h = {.len = sizeof(h), .opcode = FUSE_GETATTR, .nodeid = 1};
	struct fuse_out_header o;
	int pair[2], status;
	pid_t pid;

	open_tree();
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(pair[0]);
		_exit(bawn_files_serve(pair[1], open(dir, O_PATH | O_CLOEXEC)) == 0 ? 0 : 1);
	}
	(void)close(pair[1]);
	ASSERT_EQ(write(pair[0], &h, 10), 10); /* in pieces */
	ASSERT_EQ(write(pair[0], (char *)&h + 10, sizeof(h) - 10), (ssize_t)sizeof(h) - 10);
	ASSERT_EQ(recv(pair[0], &o, sizeof(o), MSG_WAITALL), (ssize_t)sizeof(o));
	ASSERT_EQ(o.error, 0);
	ASSERT_EQ(o.len, sizeof(o) + sizeof(struct fuse_attr_out));
	(void)close(pair[0]);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	(void)status; /* answers that nobody took may have ended it */
	close_tree();
}

TEST(there_is_an_end_to_what_is_kept)
{
	struct bawn_nodes *t = bawn_nodes_new();
	uint64_t id, generation;
	char name[16], path[PATH_MAX];
	int r = 0;

	for (unsigned i = 0; r == 0 && i <= BAWN_NODES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		r = bawn_nodes_enter(t, 1, name, &id, &generation);
	}
	ASSERT_EQ(r, -ENFILE);
	bawn_nodes_forget(t, 2, 1);
	ASSERT_EQ(bawn_nodes_enter(t, 1, "more", &id, &generation), 0);
	ASSERT_EQ(id, 2);
	t = bawn_nodes_free(t);
	/* a path that is too long is no path */
	t = bawn_nodes_new();
	id = 1;
	for (unsigned i = 0; i < 300; i++)
		ASSERT_EQ(bawn_nodes_enter(t, id, "a-name-of-some-length", &id, &generation), 0);
	ASSERT_EQ(bawn_nodes_path(t, id, path, sizeof(path)), -ENAMETOOLONG);
	t = bawn_nodes_free(t);
}
