/* SPDX-License-Identifier: Apache-2.0 */
/* What opens a vault: a file that only its owner can read, or a passphrase, which comes from a
 * descriptor or a person, never from an argument or the environment. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <sys/random.h>
#include <sys/stat.h>

#include "base/io.h"
#include "secrets/store.h"

#define PHRASE_MIN 8

static int make_file(const char *path, struct bawn_error *err)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	unsigned char random[BAWN_KEY_FILE_MIN];
	char text[2 * sizeof(random) + 2];
	size_t at = 0;
	int r = 0;

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0 || getrandom(random, sizeof(random), 0) != sizeof(random))
		return bawn_fail(err, BAWN_ERR_VAULT, -errno, "making the key file '%s': %m", path);
	for (size_t i = 0; i < sizeof(random); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%02x", random[i]);
	text[at++] = '\n';
	r = bawn_write_all(fd, text, at);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	explicit_bzero(random, sizeof(random));
	explicit_bzero(text, sizeof(text));
	if (r < 0) {
		errno = -r;
		(void)unlink(path);
		return bawn_fail(err, BAWN_ERR_VAULT, r, "writing the key file '%s': %m", path);
	}
	return 0;
}

static int check_file(int fd, const char *path, struct bawn_error *err)
{
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPERM,
			"key file '%s' is a symbolic link; name the file itself", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -errno, "key file '%s': %m", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPERM,
			"key file '%s' must be a file of yours that nobody else can read (chmod 600)",
			path);
	if (st.st_size < BAWN_KEY_FILE_MIN || st.st_size > BAWN_KEY_FILE_MAX)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"key file '%s' has %lld bytes; %d to %d are possible", path,
			(long long)st.st_size, BAWN_KEY_FILE_MIN, BAWN_KEY_FILE_MAX);
	return 0;
}

int key_from_file(const char *path, bool make, struct pack *p, struct bawn_error *err)
{
	_cleanup_locked_ struct bawn_locked *l = bawn_locked_new(BAWN_KEY_FILE_MAX);
	_cleanup_close_ int fd = -1;
	ssize_t n;
	int r = make ? make_file(path, err) : 0;

	if (!l)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOMEM, "out of memory");
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	r = check_file(fd, path, err);
	if (r < 0)
		return r;
	n = read(fd, l->data, l->size);
	if (n < BAWN_KEY_FILE_MIN)
		return bawn_fail(err, BAWN_ERR_VAULT, -EIO, "key file '%s' cannot be read", path);
	pack_u32(p, TALK_KEY_FILE);
	pack_text(p, l->data, (size_t)n);
	return 0;
}

/* One line, byte by byte: what follows is somebody else's. */
static int read_line(int fd, struct bawn_locked *l, struct bawn_error *err)
{
	for (l->len = 0;;) {
		char c;
		ssize_t n = read(fd, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bawn_fail(err, BAWN_ERR_VAULT, -errno,
				"reading the passphrase from descriptor %d: %m", fd);
		if (n == 0 || c == '\n')
			break;
		if (l->len == BAWN_PASSPHRASE_MAX)
			return bawn_fail(err, BAWN_ERR_VAULT, -E2BIG,
				"the passphrase is longer than %d bytes", BAWN_PASSPHRASE_MAX);
		l->data[l->len++] = c;
	}
	l->data[l->len] = '\0';
	return 0;
}

static int ask(const struct bawn_vault_key *key, const char *prompt, struct bawn_locked *l,
	struct bawn_error *err)
{
	int r = key->ask(key->data, prompt, l->data, l->size + 1, err);

	l->len = r < 0 ? 0 : strlen(l->data);
	return r;
}

/* A second time, for a typing mistake would lock its author out. */
static int ask_again(
	const struct bawn_vault_key *key, const struct bawn_locked *first, struct bawn_error *err)
{
	_cleanup_locked_ struct bawn_locked *l = bawn_locked_new(BAWN_PASSPHRASE_MAX);
	int r;

	if (!l)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOMEM, "out of memory");
	r = ask(key, "The same again: ", l, err);
	if (r < 0)
		return r;
	if (strcmp(l->data, first->data) != 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"the two passphrases differ; nothing was changed");
	return 0;
}

int key_from_phrase(const struct bawn_vault_key *key, const char *prompt, bool repeat,
	struct pack *p, struct bawn_error *err)
{
	_cleanup_locked_ struct bawn_locked *l = bawn_locked_new(BAWN_PASSPHRASE_MAX);
	int r;

	if (!l)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOMEM, "out of memory");
	if (key->passphrase_fd >= 0)
		r = read_line(key->passphrase_fd, l, err);
	else
		r = key->ask ? ask(key, prompt, l, err) : -ENOTTY;
	if (r == -ENOTTY && repeat)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOKEY,
			"there is no terminal to ask for a new passphrase; say where it comes from (bawn help secret)");
	if (r == -ENOTTY)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOKEY,
			"the vault is locked and there is no terminal to ask for its passphrase; unlock it with 'bawn secret unlock', or say --passphrase-fd or --key-file");
	if (r < 0)
		return r;
	if (!l->len || (repeat && l->len < PHRASE_MIN))
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			l->len ? "the passphrase is shorter than %d bytes"
			       : "the passphrase is empty",
			PHRASE_MIN);
	if (repeat && key->passphrase_fd < 0)
		r = ask_again(key, l, err);
	if (r < 0)
		return r;
	pack_u32(p, TALK_KEY_PASSPHRASE);
	pack_text(p, l->data, l->len);
	return 0;
}
