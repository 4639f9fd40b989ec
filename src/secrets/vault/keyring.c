/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By system call: the library would be one more thing to link for four calls. The user keyring and
 * not the session's, so that it serves every terminal; the key is readable for its owner whether or
 * not his session holds the user keyring, which some do not. Sandboxed commands cannot make these
 * calls.
 */
#include "secrets/vault/keyring.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <linux/keyctl.h>
#include <sys/syscall.h>

#define OWNER_ALL                                                                       \
	0x3f3f0000U /* possessor and owner: view, read, write, search, link, attributes \
		     */

static void name_of(const struct format *f, char dst[64])
{
	const uint8_t *id = f->head + FORMAT_ID;
	int at = snprintf(dst, 64, "bawn-vault:");

	for (size_t i = 0; i < FORMAT_ID_LEN; i++)
		at += snprintf(dst + at, 64 - (size_t)at, "%02x", id[i]);
}

static int failure(void)
{
	if (errno == ENOSYS || errno == EPERM || errno == EACCES || errno == EOPNOTSUPP)
		return -EOPNOTSUPP;
	return -errno;
}

static long find(const struct format *f)
{
	char name[64];

	name_of(f, name);
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, 0);
}

int keyring_put(const struct format *f, uint32_t seconds)
{
	char name[64];
	long key;

	name_of(f, name);
	/* first where it is ours without doubt, so that its permissions can be set */
	key = syscall(
		SYS_add_key, "user", name, f->key->data, (size_t)KEY_LEN, KEY_SPEC_PROCESS_KEYRING);
	if (key < 0 || syscall(SYS_keyctl, KEYCTL_SETPERM, key, OWNER_ALL) < 0 ||
		syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds) < 0 ||
		syscall(SYS_keyctl, KEYCTL_LINK, key, KEY_SPEC_USER_KEYRING) < 0)
		return failure();
	return 0;
}

int keyring_get(const struct format *f, uint8_t dst[KEY_LEN])
{
	long key = find(f);

	if (key < 0 || syscall(SYS_keyctl, KEYCTL_READ, key, dst, (size_t)KEY_LEN) != KEY_LEN)
		return -ENOKEY;
	return 0;
}

int keyring_drop(const struct format *f)
{
	long key = find(f);

	if (key < 0)
		return 0;
	if (syscall(SYS_keyctl, KEYCTL_INVALIDATE, key) < 0)
		return failure();
	return 1;
}
