/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What every front format compiles to. Built by bawn_policy_load() from layers that can only
 * tighten, immutable afterwards. Everything it points to lives in the arena it was loaded into.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/sha256.h"

#define BAWN_UNLIMITED UINT64_MAX

/* Enums: loosest first, so that HIGHER is tighter. */
enum bawn_level {
	BAWN_LEVEL_NONE,
	BAWN_LEVEL_PROCESS,
	BAWN_LEVEL_WASM,
	BAWN_LEVEL_CONTAINER,
	BAWN_LEVEL_VM
};
enum bawn_isolation {
	BAWN_ISO_OFF,
	BAWN_ISO_DEFAULT,
	BAWN_ISO_ENHANCED,
	BAWN_ISO_CONTAINER,
	BAWN_ISO_MAXIMUM
};
enum bawn_prefer {
	BAWN_PREFER_FASTEST,
	BAWN_PREFER_STRONGEST
};
enum bawn_fsmode {
	BAWN_FS_FULL,
	BAWN_FS_SCOPED,
	BAWN_FS_READ_ONLY,
	BAWN_FS_DENY
};
enum bawn_netmode {
	BAWN_NET_OPEN,
	BAWN_NET_BLOCKLIST,
	BAWN_NET_ALLOWLIST,
	BAWN_NET_DENY,
	BAWN_NET_CLOSED
};
enum bawn_escapemode {
	BAWN_ESC_KEEP,
	BAWN_ESC_AUTO,
	BAWN_ESC_TAME
};
/* What is done about a secret that would leave. */
enum bawn_leak_action {
	BAWN_LEAK_WARN,
	BAWN_LEAK_REDACT,
	BAWN_LEAK_BLOCK
};
enum bawn_shellmode {
	BAWN_SHELL_FULL,
	BAWN_SHELL_RESTRICTED,
	BAWN_SHELL_DENY
};

#define BAWN_DEFAULT_SYSTEM "/usr,/bin,/sbin,/lib,/lib32,/lib64,/libx32,/etc,/opt,/nix/store"
#define BAWN_DEFAULT_DENY                                                                                                                             \
	"~/.ssh,~/.aws,~/.gnupg,~/.kube,~/.docker,~/.azure,~/.config/gcloud,~/.config/gh,~/.netrc,"                                                   \
	"~/.npmrc,~/.pypirc,~/.git-credentials,~/.local/share/keyrings,~/.password-store,~/.config/bawn,"                                             \
	"~/.local/state/bawn,~/.local/share/bawn,~/.cache/bawn,/etc/shadow,/etc/shadow-,/etc/gshadow,/etc/gshadow-,"                                  \
	"/etc/sudoers,/etc/sudoers.d,/etc/ssl/private,/etc/ssh/ssh_host_rsa_key,/etc/ssh/ssh_host_ecdsa_key,/etc/ssh/ssh_host_ed25519_key,/etc/bawn," \
	"/etc/security/opasswd,/etc/krb5.keytab"
#define BAWN_DEFAULT_PROTECT                                                                    \
	".git/hooks,.git/config,.git/config.worktree,.claude,.codex,.cursor,.gemini,.mcp.json," \
	".vscode,.idea,.envrc,.bawn.yaml,.cursorrules,.windsurfrules,.devcontainer"
#define BAWN_DEFAULT_ENV \
	"PATH,HOME,USER,LOGNAME,SHELL,LANG,LANGUAGE,LC_*,TZ,TERM,COLORTERM,NO_COLOR,FORCE_COLOR,COLUMNS,LINES,CI,DEBIAN_FRONTEND"

enum bawn_layer {
	BAWN_LAYER_DEFAULT,
	BAWN_LAYER_ADMIN,     /* /etc/bawn/policy.yaml */
	BAWN_LAYER_USER,      /* $XDG_CONFIG_HOME/bawn/policy.yaml */
	BAWN_LAYER_OPERATOR,  /* --policy and flags */
	BAWN_LAYER_WORKSPACE, /* .bawn.yaml in the workspace: can never widen anything */
	BAWN_LAYER_COUNT,
};

/* Where a value came from. file is NULL for defaults; "--memory" for a flag (line 0). */
struct bawn_origin {
	enum bawn_layer layer;
	const char *file;
	unsigned line, column; /* from 1 */
};

struct bawn_item {
	const char *text; /* as the field's element type says, expanded and cleaned */
	const char *raw;  /* as written */
	struct bawn_origin from;
};

struct bawn_items {
	struct bawn_item *v;
	size_t n, cap;
};

struct bawn_pair {
	const char *key;
	const char *value;
	struct bawn_origin from;
};

struct bawn_pairs {
	struct bawn_pair *v;
	size_t n, cap;
};

/* Settings addressed by a free name (tools.<Tool>.suspicious_threshold, scan_modes.<glob>, …): the
 * key with its name, the value as text, checked when read. */
struct bawn_mount_entry {
	const char *source, *target;
	bool read_only;
	struct bawn_origin from;
};

struct bawn_policy {
#define BAWN_BOOL(member, key, def, tighter, help)       bool member;
#define BAWN_U64(member, key, unit, def, tighter, help)  uint64_t member;
#define BAWN_REAL(member, key, def, tighter, help)       double member;
#define BAWN_ENUM(member, key, type, def, tighter, help) enum bawn_##type member;
#define BAWN_STR(member, key, def, tighter, help)        const char *member;
#define BAWN_LIST(member, key, elem, def, tighter, help) struct bawn_items member;
#define BAWN_MAP(member, key, tighter, help)             struct bawn_pairs member;
#include "policy/fields.def"
#undef BAWN_BOOL
#undef BAWN_U64
#undef BAWN_REAL
#undef BAWN_ENUM
#undef BAWN_STR
#undef BAWN_LIST
#undef BAWN_MAP
	struct bawn_pairs named;         /* tools.*, actions.*, sequences.*, scan_modes.*, … */
	struct bawn_mount_entry *mounts; /* enforcement.docker.mounts */
	size_t n_mounts;
	const char *const *files; /* policy files that were read, canonical */
	size_t n_files;
	const char *workspace;         /* canonical */
	const char *home;              /* canonical, or NULL */
	const char *name;              /* metadata.name of a manifest, or NULL */
	char digest[BAWN_HEX_LEN + 1]; /* SHA-256 of the effective policy */
	struct bawn_origin *origins;   /* one per line of fields.def, in its order */
};

/* A setting from a flag: key of fields.def, text as a file would have it, flag for messages. A list
 * setting may be given many times. */
struct bawn_setting {
	const char *key;
	const char *text;
	const char *flag;
};

struct bawn_policy_source {
	const char *workspace;               /* canonical absolute path */
	const char *const *files;            /* --policy, NULL-terminated; NULL for none */
	const struct bawn_setting *settings; /* flags */
	size_t n_settings;
	bool no_admin, no_user, no_workspace; /* tests and the library leave layers out */
	const char *admin_file;               /* NULL for /etc/bawn/policy.yaml */
	const char *user_file;                /* NULL for the XDG place */
};

/*
 * Read every layer, check and merge. A file may be policy.yaml or a claw manifest (told apart by
 * its `kind`). Errors carry file:line:column first: "policy.yaml:3:9: unknown key 'memroy', did you
 * mean 'memory'?". -EPERM with BAWN_ERR_POLICY when a layer would widen what stands above it.
 */
int bawn_policy_load(struct bawn_arena *a, const struct bawn_policy_source *src,
	const struct bawn_policy **ret, struct bawn_error *err);

/* The effective policy: a YAML document with the layer behind each value as a comment, or JSON. */
int bawn_policy_show(const struct bawn_policy *p, bool json, struct bawn_buf *out);
/* A commented policy.yaml with every setting at its default. */
int bawn_policy_template(struct bawn_buf *out);

/* Whether the value of a setting comes from this flag ("--image"). */
bool bawn_policy_by_flag(const struct bawn_policy *p, const char *flag);

/* Backends that may stand in for a named one (`sandbox.fallback`), one per line in their order. ""
 * for none, and where a flag names the backend: that means this one. */
const char *bawn_policy_fallback(const struct bawn_policy *p);

/* The value of a setting with a free name ("tools.Bash.suspicious_threshold"), NULL if nobody set
 * it. */
const char *bawn_policy_named(const struct bawn_policy *p, const char *key);

/*
 * `p` with what it says about suspicious calls of `tool` laid over it
 * (tools.<Tool>.enforcement.adapter, enforcement.suspicious.<Tool>.*). It only narrows, but for the
 * network where nobody has said anything about it.
 */
int bawn_policy_for_tool(struct bawn_arena *a, const struct bawn_policy *p, const char *tool,
	const struct bawn_policy **ret, struct bawn_error *err);

const char *bawn_layer_name(enum bawn_layer layer);
const char *bawn_enum_name(const char *type, unsigned value); /* ("netmode", 3) -> "deny" */

/* One line of fields.def, for help texts and tests. NULL past the end. */
struct bawn_field_info {
	const char *key, *type, *unit, *tighter, *def, *help;
};
const struct bawn_field_info *bawn_field_at(size_t i);
