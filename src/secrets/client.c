/* SPDX-License-Identifier: Apache-2.0 */
/* bawn's side of the vault: starts bawn-vault, asks it, and keeps the file. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/libexec.h"
#include "secrets/store.h"

#define PROGRAM   "bawn-vault"
#define ANSWER_MS 120000 /* Argon2id on a machine that has little memory left */
#define KIND_AT   12     /* in the file: 1 passphrase, 2 key file */

struct bawn_vault {
	struct store s;
	struct talk t;
	pid_t pid;
	struct bawn_buf file;
	bool proven, change;
};

struct bawn_vault *bawn_vault_free(struct bawn_vault *v)
{
	pid_t r;

	if (!v)
		return NULL;
	talk_done(&v->t); /* at the end of its input it ends */
	if (v->pid > 0) {
		(void)kill(v->pid, SIGKILL);
		do
			r = waitpid(v->pid, NULL, 0);
		while (r < 0 && errno == EINTR);
	}
	bawn_buf_done(&v->file);
	store_done(&v->s);
	free(v);
	return NULL;
}

static int start(struct bawn_vault *v, struct bawn_error *err)
{
	char path[4096];
	int fd = -1;
	int r = bawn_libexec_find(PROGRAM, path, sizeof(path));

	if (r < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, r,
			"'%s' is neither beside this program nor in '%s'; without it no secret can be had",
			PROGRAM, BAWN_LIBEXECDIR);
	r = bawn_libexec_start(path, PROGRAM, SOCK_STREAM, 0, &v->pid, &fd);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_VAULT, r, "starting '%s': %m", path);
	}
	return talk_init(&v->t, fd) < 0 ? bawn_fail(err, BAWN_ERR_VAULT, -ENOMEM, "out of memory")
					: 0;
}

static int vault_new(bool make, bool change, struct bawn_vault **ret, struct bawn_error *err)
{
	_cleanup_vault_ struct bawn_vault *v = calloc(1, sizeof(*v));
	int r;

	if (!v) {
		(void)bawn_fail(err, BAWN_ERR_VAULT, -ENOMEM, "out of memory");
		return -ENOMEM;
	}
	v->t.fd = -1;
	v->change = change;
	r = store_open(&v->s, make, err);
	if (r == 0 && change)
		r = store_lock(&v->s, err);
	if (r == 0)
		r = start(v, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(v);
	return 0;
}

static struct pack question(struct bawn_vault *v, enum talk_what what)
{
	struct pack p = talk_pack(&v->t);

	pack_u32(&p, (uint32_t)what);
	return p;
}

/* Send what was packed; *ret reads the answer behind its status. */
static int ask(
	struct bawn_vault *v, const struct pack *p, struct unpack *ret, struct bawn_error *err)
{
	int r = talk_packed(&v->t, p);
	const char *text;
	size_t len;
	uint32_t status;

	if (r < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, r, "that is too much for one secret");
	r = talk_send(&v->t, ANSWER_MS);
	if (r == 0)
		r = talk_receive(&v->t, ANSWER_MS);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, r == -EPIPE ? -EIO : r, "'%s' %s", PROGRAM,
			r == -EPIPE ? "ended without an answer" : "does not answer as it should");
	*ret = talk_unpack(&v->t);
	status = unpack_u32(ret);
	if (ret->failed || status > 4095)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPROTO, "'%s' sent nonsense", PROGRAM);
	if (!status)
		return 0;
	text = unpack_text(ret, &len);
	return bawn_fail(err, BAWN_ERR_VAULT, -(int)status, "%.*s", (int)len, text);
}

static int out_of_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_VAULT, -ENOMEM, "out of memory");
}

/* A question that carries the file. */
static int ask_file(
	struct bawn_vault *v, const struct pack *p, struct unpack *u, struct bawn_error *err)
{
	v->t.blob = malloc(v->file.len + 1);
	if (!v->t.blob)
		return out_of_memory(err);
	if (v->file.len)
		memcpy(v->t.blob, v->file.data, v->file.len);
	v->t.blob_len = v->file.len;
	return ask(v, p, u, err);
}

static int open_by_file(
	struct bawn_vault *v, const struct bawn_vault_key *key, struct bawn_error *err)
{
	struct pack p = question(v, TALK_OPEN);
	struct unpack u;
	int r = key_from_file(key->key_file, false, &p, err);

	if (r == 0)
		r = ask_file(v, &p, &u, err);
	if (r == -EINVAL)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"the vault opens with a passphrase, not with the key file '%s'",
			key->key_file);
	return r;
}

static int open_by_phrase(
	struct bawn_vault *v, const struct bawn_vault_key *key, struct bawn_error *err)
{
	int r;

	do {
		struct pack p = question(v, TALK_OPEN);
		struct unpack u;
		int tries = tries_begin(&v->s, err);

		if (tries < 0)
			return tries;
		r = key_from_phrase(key, "Passphrase of the vault: ", false, &p, err);
		if (r < 0) {
			(void)close(tries);
			return r;
		}
		r = ask_file(v, &p, &u, err);
		if (r == 0 || r == -EKEYREJECTED)
			tries_end(tries, r == 0);
		else
			(void)close(tries);
	} while (r == -EKEYREJECTED && key->passphrase_fd < 0);
	return r;
}

static bool is_by_file(const struct bawn_vault *v)
{
	return v->file.len > KIND_AT && v->file.data[KIND_AT] == TALK_KEY_FILE;
}

static int unlock(struct bawn_vault *v, const struct bawn_vault_key *key, struct bawn_error *err)
{
	struct bawn_error held = {0};
	struct pack p;
	struct unpack u;
	int r;

	v->proven = true;
	if (key->key_file && *key->key_file)
		return open_by_file(v, key, err);
	if (!key->anew) {
		p = question(v, TALK_HELD);
		r = ask_file(v, &p, &u, &held);
		if (r != -ENOKEY && r != -EKEYREJECTED) {
			v->proven = false;
			if (r < 0 && err)
				*err = held;
			return r;
		}
	}
	if (is_by_file(v))
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOKEY,
			"the vault opens with a key file: name it with --key-file or in the policy (secrets.key_file)");
	return open_by_phrase(v, key, err);
}

int bawn_vault_open(const struct bawn_vault_key *key, bool change, struct bawn_vault **ret,
	struct bawn_error *err)
{
	_cleanup_vault_ struct bawn_vault *v = NULL;
	int r = vault_new(false, change, &v, err);

	if (r == 0)
		r = store_read(&v->s, &v->file, err);
	if (r == 0)
		r = unlock(v, key, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(v);
	return 0;
}

bool bawn_vault_proven(const struct bawn_vault *v)
{
	return v->proven;
}

/* A key for a new vault or a new data key. */
static int pack_key(
	const struct bawn_vault_key *key, bool repeat, struct pack *p, struct bawn_error *err)
{
	if (key->key_file && *key->key_file)
		return key_from_file(key->key_file, true, p, err);
	return key_from_phrase(key, "New passphrase for the vault: ", repeat, p, err);
}

int bawn_vault_create(const struct bawn_vault_key *key, bool repeat, struct bawn_error *err)
{
	_cleanup_vault_ struct bawn_vault *v = NULL;
	struct unpack u;
	struct pack p;
	int r = vault_new(true, true, &v, err);

	if (r < 0)
		return r;
	if (bawn_vault_exists())
		return bawn_fail(err, BAWN_ERR_VAULT, -EEXIST, "there is a vault already, '%s'",
			v->s.at.file);
	p = question(v, TALK_CREATE);
	r = pack_key(key, repeat, &p, err);
	if (r == 0)
		r = ask(v, &p, &u, err);
	return r == 0 ? bawn_vault_commit(v, NULL, err) : r;
}

int bawn_vault_list(struct bawn_vault *v, struct bawn_arena *a, const struct bawn_secret **ret,
	size_t *ret_n, struct bawn_error *err)
{
	struct pack p = question(v, TALK_LIST);
	struct bawn_secret *list;
	struct unpack u, blob;
	uint32_t n;
	int r = ask(v, &p, &u, err);

	if (r < 0)
		return r;
	n = unpack_u32(&u);
	if (n > BAWN_SECRETS_MAX)
		u.failed = true;
	list = u.failed ? NULL : bawn_new(a, struct bawn_secret, n + 1);
	blob = (struct unpack){v->t.blob, v->t.blob_len, false};
	for (uint32_t i = 0; list && r == 0 && i < n; i++)
		r = unpack_secret(&blob, a, &list[i]);
	if (!list || r < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPROTO, "'%s' sent nonsense", PROGRAM);
	*ret = list;
	*ret_n = n;
	return 0;
}

static int about(const char *name, int r, struct bawn_error *err)
{
	if (r == -ENOENT)
		return bawn_fail(err, BAWN_ERR_VAULT, r,
			"there is no secret '%s' in the vault; set it with 'bawn secret set %s'",
			name, name);
	return r;
}

int bawn_vault_get(
	struct bawn_vault *v, const char *name, struct bawn_locked **ret, struct bawn_error *err)
{
	struct pack p = question(v, TALK_GET);
	struct bawn_locked *l;
	const char *value;
	struct unpack u;
	size_t len;
	int r;

	pack_text(&p, name, strlen(name));
	r = ask(v, &p, &u, err);
	if (r < 0)
		return about(name, r, err);
	value = unpack_text(&u, &len);
	if (u.failed || u.left || !len || len > BAWN_SECRET_VALUE_MAX)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPROTO, "'%s' sent nonsense", PROGRAM);
	l = bawn_locked_new(len);
	if (!l)
		return out_of_memory(err);
	memcpy(l->data, value, len);
	l->len = len;
	explicit_bzero(v->t.frame->data, v->t.frame->size);
	*ret = l;
	return 0;
}

/* When it was made, if it is there. */
static int created(struct bawn_vault *v, const char *name, uint64_t *ret, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	const struct bawn_secret *list;
	size_t n = 0;
	int r = a ? bawn_vault_list(v, a, &list, &n, err) : out_of_memory(err);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (!strcmp(list[i].name, name))
			*ret = list[i].created;
	return r;
}

int bawn_vault_put(struct bawn_vault *v, const struct bawn_secret *s, const char *value, size_t len,
	struct bawn_error *err)
{
	struct bawn_secret own = *s;
	struct unpack u;
	struct pack p;
	int r = bawn_secret_check(s, err);

	if (r == 0 && value)
		r = bawn_secret_check_value(s, value, len, err);
	if (r < 0)
		return r;
	own.created = own.changed = bawn_wall_us();
	r = created(v, s->name, &own.created, err);
	if (r < 0)
		return r;
	p = question(v, TALK_PUT);
	pack_secret(&p, &own);
	pack_u32(&p, value ? 0 : 1);
	pack_text(&p, value, value ? len : 0);
	/* what goes into the file must fit as well */
	if ((size_t)(p.at - v->t.frame->data) > PACK_MAX)
		return bawn_fail(err, BAWN_ERR_VAULT, -E2BIG,
			"'%s' has more hosts, headers and names than fit beside its value",
			s->name);
	r = ask(v, &p, &u, err);
	return r < 0 ? about(s->name, r, err) : 0;
}

int bawn_vault_remove(struct bawn_vault *v, const char *name, struct bawn_error *err)
{
	struct pack p = question(v, TALK_REMOVE);
	struct unpack u;

	pack_text(&p, name, strlen(name));
	return about(name, ask(v, &p, &u, err), err);
}

int bawn_vault_rename(
	struct bawn_vault *v, const char *name, const char *to, struct bawn_error *err)
{
	struct pack p = question(v, TALK_RENAME);
	struct unpack u;

	if (!bawn_secret_name_ok(to))
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"'%.100s' is no name for a secret: letters, digits and _, at most %d", to,
			BAWN_SECRET_NAME_MAX);
	pack_text(&p, name, strlen(name));
	pack_text(&p, to, strlen(to));
	return about(name, ask(v, &p, &u, err), err);
}

int bawn_vault_rekey(
	struct bawn_vault *v, const struct bawn_vault_key *key, bool repeat, struct bawn_error *err)
{
	struct pack p = question(v, TALK_REKEY);
	struct unpack u;
	int r = pack_key(key, repeat, &p, err);

	return r < 0 ? r : ask(v, &p, &u, err);
}

int bawn_vault_commit(struct bawn_vault *v, uint64_t *ret_generation, struct bawn_error *err)
{
	struct pack p = question(v, TALK_SEAL);
	uint64_t generation;
	struct unpack u;
	int r = ask(v, &p, &u, err);

	if (r < 0)
		return r;
	generation = unpack_u64(&u);
	if (u.failed || !v->t.blob || !v->change)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPROTO, "'%s' sent nonsense", PROGRAM);
	r = store_write(&v->s, v->t.blob, v->t.blob_len, err);
	if (r == 0 && ret_generation)
		*ret_generation = generation;
	return r;
}

int bawn_vault_hold(struct bawn_vault *v, uint64_t seconds, struct bawn_error *err)
{
	struct pack p = question(v, TALK_HOLD);
	struct unpack u;
	int r;

	if (!seconds || seconds > BAWN_VAULT_HOLD_MAX)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"the vault can be unlocked for 1 s to %d days",
			BAWN_VAULT_HOLD_MAX / 86400);
	pack_u32(&p, (uint32_t)seconds);
	r = ask(v, &p, &u, err);
	if (r == -EOPNOTSUPP)
		return bawn_fail(err, BAWN_ERR_VAULT, r,
			"the kernel's keyring cannot be used here (this kernel or a container forbids it); the vault asks each time");
	return r;
}

int bawn_vault_drop(struct bawn_error *err)
{
	_cleanup_vault_ struct bawn_vault *v = NULL;
	struct unpack u;
	struct pack p;
	int r = vault_new(false, false, &v, err);

	if (r == 0)
		r = store_read(&v->s, &v->file, err);
	if (r < 0)
		return r;
	p = question(v, TALK_DROP);
	r = ask_file(v, &p, &u, err);
	return r < 0 ? r : (int)unpack_u32(&u);
}
