/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The vault: one file with what must not enter a sandbox. All cryptography happens in a process of
 * its own (bawn-vault, beside bawn or in libexec), which gets the file's bytes and a key over a
 * socket, can reach no file and no network, and answers with values or with the bytes of a new
 * file. This side finds, checks, locks and replaces the file and asks people for passphrases.
 *
 * The data key that seals the entries is wrapped by a passphrase (Argon2id) or by a key file. It
 * may also lie in the kernel's user keyring for a while (bawn_vault_hold), so that nobody is asked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "secrets/locked.h"

#define BAWN_SECRETS_MAX        256  /* in a vault */
#define BAWN_SECRET_NAME_MAX    64   /* bytes of a name */
#define BAWN_SECRET_VALUE_MAX   8192 /* bytes of a value */
#define BAWN_SECRET_LIST_MAX    32   /* hosts, headers, skills, triggers: of each */
#define BAWN_SECRET_TEXT_MAX    300  /* bytes of a host, header, skill, trigger or note */
#define BAWN_PASSPHRASE_MAX     1024
#define BAWN_KEY_FILE_MIN       32 /* bytes */
#define BAWN_KEY_FILE_MAX       4096
#define BAWN_VAULT_HOLD_DEFAULT 28800 /* seconds */
#define BAWN_VAULT_HOLD_MAX     604800

/* When a run may use a secret. */
enum bawn_secret_access {
	BAWN_ACCESS_ALWAYS,
	BAWN_ACCESS_APPROVAL,     /* somebody says yes, for this run */
	BAWN_ACCESS_AUTH,         /* and proves who he is, whether or not the vault is unlocked */
	BAWN_ACCESS_SKILL_ONLY,   /* the call names a skill that the secret lists */
	BAWN_ACCESS_TRIGGER_ONLY, /* the same for a trigger */
	BAWN_ACCESS_COUNT,
};

/* How it gets there, loosest first. */
enum bawn_secret_injection {
	BAWN_INJECT_ENVIRONMENT, /* the value in a variable */
	BAWN_INJECT_FILE_MOUNT,  /* the value in a file */
	BAWN_INJECT_BOUNDARY,    /* a placeholder; the door puts the value into requests */
	BAWN_INJECT_COUNT,
};

/* All that the vault knows of a secret but its value. No pointer is NULL, lists end with NULL. */
struct bawn_secret {
	const char *name;            /* [A-Za-z_][A-Za-z0-9_]{0,63} */
	const char *env;             /* the variable inside */
	const char *note;            /* for people; may be "" */
	const char *const *hosts;    /* HOST[:PORT] as in base/netrule.h, default port 443 */
	const char *const *headers;  /* lower case */
	const char *const *skills;   /* BAWN_ACCESS_SKILL_ONLY */
	const char *const *triggers; /* BAWN_ACCESS_TRIGGER_ONLY */
	enum bawn_secret_access access;
	enum bawn_secret_injection injection; /* never anything looser, whatever a policy says */
	uint64_t created, changed;            /* microseconds since 1970 */
};

const char *bawn_secret_access_name(enum bawn_secret_access access);
const char *bawn_secret_injection_name(enum bawn_secret_injection injection);
/* 0, or -EINVAL if there is no such word. */
int bawn_secret_access_find(const char *word, enum bawn_secret_access *ret);
int bawn_secret_injection_find(const char *word, enum bawn_secret_injection *ret);

/* True for the name of a secret or of a variable. */
bool bawn_secret_name_ok(const char *name);
/* 0, or -EINVAL with a line about the first thing that is wrong with it. */
int bawn_secret_check(const struct bawn_secret *s, struct bawn_error *err);
/* The same for a value: its length, and what a header can carry if `s` has hosts. */
int bawn_secret_check_value(
	const struct bawn_secret *s, const char *value, size_t len, struct bawn_error *err);

/* Where the vault is; -ENOENT without a home directory. The others lie beside it. */
struct bawn_vault_paths {
	const char *dir;   /* 0700, ours */
	const char *file;  /* 0600 */
	const char *fresh; /* while it is being written */
	const char *lock;  /* locked by who changes the vault */
	const char *tries; /* how often a passphrase was wrong */
};
int bawn_vault_paths(struct bawn_arena *a, struct bawn_vault_paths *ret);

/* How a vault is opened: by key file if one is named, else from the keyring, else by passphrase. */
struct bawn_vault_key {
	const char *key_file; /* NULL or "" for none */
	bool anew;            /* not from the keyring: somebody is to prove who he is */
	int passphrase_fd;    /* a line is read from it; -1 for none */
	/* Ask a person; NULL if there is nobody. `dst` is locked memory of BAWN_PASSPHRASE_MAX + 1
	 * bytes, filled with a string. -ENOTTY: there is nobody; negative: no answer. */
	int (*ask)(void *data, const char *prompt, char *dst, size_t size, struct bawn_error *err);
	void *data;
};

#define BAWN_VAULT_KEY              \
	{                           \
		.passphrase_fd = -1 \
	}

struct bawn_vault; /* an open one: its process, and the lock if it is to be changed */

/* Is there a vault? True also for one that would be refused. */
bool bawn_vault_exists(void);
/* A new, empty vault. `repeat`: a passphrase is asked for twice. A key file that is not there is
 * made. -EEXIST if there is a vault. */
int bawn_vault_create(const struct bawn_vault_key *key, bool repeat, struct bawn_error *err);
/*
 * -ENOENT: there is none. -ENOKEY: locked and nobody to ask. -EKEYREJECTED: wrong passphrase or
 * key. -EBUSY: too many wrong ones just now. -EPERM: file or directory of another owner or open to
 * others. -EBADMSG: damaged. BAWN_ERR_VAULT for all of them. `change` waits for other writers.
 */
int bawn_vault_open(const struct bawn_vault_key *key, bool change, struct bawn_vault **ret,
	struct bawn_error *err);
/* Did somebody prove who he is, or was the key in the keyring? */
bool bawn_vault_proven(const struct bawn_vault *v);
struct bawn_vault *bawn_vault_free(struct bawn_vault *v); /* what was not committed is lost */

/* All of it but the values, by name. */
int bawn_vault_list(struct bawn_vault *v, struct bawn_arena *a, const struct bawn_secret **ret,
	size_t *ret_n, struct bawn_error *err);
/* One value as a string. -ENOENT if there is no such secret. */
int bawn_vault_get(
	struct bawn_vault *v, const char *name, struct bawn_locked **ret, struct bawn_error *err);
/* Add or replace; `value` NULL keeps the one that is there. `created` and `changed` are set here.
 */
int bawn_vault_put(struct bawn_vault *v, const struct bawn_secret *s, const char *value, size_t len,
	struct bawn_error *err);
int bawn_vault_remove(struct bawn_vault *v, const char *name, struct bawn_error *err);
int bawn_vault_rename(
	struct bawn_vault *v, const char *name, const char *to, struct bawn_error *err);
/* A new data key, wrapped anew. */
int bawn_vault_rekey(struct bawn_vault *v, const struct bawn_vault_key *key, bool repeat,
	struct bawn_error *err);
/* Make it so: the file is replaced as a whole, on disk when this returns. */
int bawn_vault_commit(struct bawn_vault *v, uint64_t *ret_generation, struct bawn_error *err);
/* The data key goes into the user keyring for so many seconds. -EOPNOTSUPP where the kernel or a
 * container forbids it. */
int bawn_vault_hold(struct bawn_vault *v, uint64_t seconds, struct bawn_error *err);
/* And out again. 1 if there was one, 0 if there was none. Needs no key. */
int bawn_vault_drop(struct bawn_error *err);

BAWN_DEFINE_CLEANUP(struct bawn_vault, vault, bawn_vault_free)
#define _cleanup_vault_ _cleanup_(cleanup_vault_p)

/*
 * The placeholder that stands for a secret in one run: "bawn-secret-<name>-<32 hex digits>", the
 * name in lower case with - for _; random, so that it means nothing elsewhere.
 */
#define BAWN_PLACEHOLDER_MAX (12 + BAWN_SECRET_NAME_MAX + 1 + 32)
int bawn_secret_placeholder(const char *name, char dst[BAWN_PLACEHOLDER_MAX + 1]);
