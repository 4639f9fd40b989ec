/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of files that one command finds and another one takes: find and ls print them, xargs,
 * `while read` and `for f in $(…)` hand them on. What is done to each of them is then done to the
 * whole tree: deleting, or encrypting and deleting what was encrypted.
 */
#include <string.h>

#include "inspect/shell/model.h"

#define NAMES      (SH_TREE | SH_SOME)
#define SEALED_MAX 256 /* words that are remembered; each deletion is compared with them */

bool sh_narrowed(const struct sh_command *c, bool depth)
{
	for (size_t i = 1; i < c->args.n; i++) {
		/* all names, or all but some */
		if (sh_is(c->args.v[i].text, "|-name|-iname|-path|-ipath|") && i + 1 < c->args.n &&
			(sh_is(c->args.v[i + 1].text, "|*|?*|") ||
				sh_is(c->args.v[i - 1].text, "|-not|!|")))
			continue;
		if (sh_is(c->args.v[i].text,
			    "|-name|-iname|-path|-ipath|-regex|-iregex|-mtime|-mmin|-atime|-amin|"
			    "-ctime|-cmin|-newer|-size|-empty|-user|-perm|-inum|-wholename|"
			    "-lname|-group|-nouser|-uid|-samefile|-links|") ||
			!strncmp(c->args.v[i].text, "-newer", 6) ||
			sh_is(c->args.v[i].text, "|-anewer|-cnewer|-nogroup|-gid|-fstype|-used|") ||
			(depth && !strcmp(c->args.v[i].text, "-maxdepth")))
			return true;
	}
	return false;
}

static bool of_others(enum sh_place p)
{
	return p == SH_ROOT_DIR || p == SH_HOME_DIR || p == SH_SYSTEM_DIR;
}

/* -name '*.docx': what people write, send and keep in databases. */
static bool seeks_papers(const struct sh_command *c)
{
	for (size_t i = 2; i < c->args.n; i++) {
		const char *dot = strrchr(c->args.v[i].text, '.');
		char ext[8] = {0};
		size_t n =
			dot ? strspn(dot + 1, "abcdefghijklmnopqrstuvwxyzDOCXLSPF0123456789") : 0;

		if (!n || n >= sizeof(ext) ||
			!sh_is(c->args.v[i - 1].text, "|-name|-iname|-path|-ipath|"))
			continue;
		memcpy(ext, dot + 1, n);
		if (sh_is(ext, "|doc|docx|xls|xlsx|ppt|pptx|pdf|PDF|odt|ods|rtf|pst|ost|mbox|eml|"
			       "kdb|kdbx|sqlite|sqlite3|mdb|wallet|pem|p12|pfx|ppk|ovpn|DOC|DOCX|"))
			return true;
	}
	return false;
}

bool sh_lists_names(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	if (sh_is(p, "|find|gfind|ls|inotifywait|fswatch|fd|fdfind|locate|plocate|mlocate|"))
		return true;
	return (!strcmp(p, "rg") && sh_has(c, "|--files|")) ||
	       (!strcmp(p, "du") && sh_has(c, "|-a|--all|")) ||
	       (!strcmp(p, "tree") && sh_has(c, "|-f|-fi|-if|-fia|-afi|-fai|")) ||
	       (!strcmp(p, "git") && sh_has(c, "|ls-files|"));
}

/* Word i is what names must look like, and no place. */
static bool is_pattern(const struct sh_command *c, size_t i)
{
	const char *p = c->args.v[0].text;

	if (sh_is(p, "|fd|fdfind|")) {
		for (size_t k = 1; k < i; k++) {
			if (c->args.v[k].text[0] != '-' &&
				!sh_is(c->args.v[k - 1].text, "|-e|-t|-d|-E|-S|-c|-j|"))
				return false;
		}
		return true;
	}
	if (sh_is(p, "|rg|tree|"))
		return sh_is(c->args.v[i - 1].text, "|-g|--glob|--iglob|-t|--type|-L|-I|-P|");
	return !strcmp(p, "git") && !strcmp(c->args.v[i].text, "ls-files");
}

/* Not all names below a place. */
static bool narrows(const struct sh_command *c, enum sh_place p, bool find)
{
	const char *prog = c->args.v[0].text;

	if (find)
		return sh_narrowed(c, p != SH_ROOT_DIR);
	if (sh_is(prog, "|fd|fdfind|"))
		return sh_has(c, "|-e|--extension|-S|--size|--changed-within|--changed-before|") ||
		       !sh_has(c, "|.||.*|*|");
	return sh_is(prog, "|rg|tree|") && sh_has(c, "|-g|--glob|--iglob|-t|--type|-P|-I|");
}

/* What the names below t are. */
static void name_place(struct sh_command *c, const char *t, enum sh_place p, bool find)
{
	bool some = narrows(c, p, find);

	if (of_others(p))
		c->out.taint |= some ? SH_SOME : SH_TREE;
	else if ((p == SH_ABSOLUTE || p == SH_IN_SYSTEM || p == SH_IN_HOME) && !some)
		c->out.taint |= SH_SOME;
	c->out.from = of_others(p) && find && seeks_papers(c) ? SH_PAPERS : t;
}

int sh_tree_names(struct sh *s, struct sh_command *c)
{
	bool find = sh_is(c->args.v[0].text, "|find|gfind|"), self = false;

	c->out = sh_unknown(0, NULL);
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		enum sh_place p;

		if (t[0] == '-' && find)
			break;
		if (t[0] == '-') {
			self = self || (t[1] != '-' && strchr(t, 'd'));
			continue;
		}
		if (is_pattern(c, i))
			continue;
		if (c->args.v[i].known && (self || (!find && sh_secret_of(s, t)))) {
			c->out = sh_text(t);
			return 0;
		}
		p = sh_place(s, t);
		if (p == SH_DEVICE && !find) {
			c->out = sh_text(t);
			return 0;
		}
		name_place(c, t, p, find);
	}
	return 0;
}

/* The name itself, and not something below it. */
static bool ends_unknown(const char *t)
{
	const char *slash = strrchr(t, '/');

	return !slash || strchr(slash, '$') || !slash[1];
}

/* The names that its words or the input of xargs stand for. */
static unsigned all_names(const struct sh_command *c)
{
	unsigned t = c->how & SH_ARGSIN ? c->in.taint & NAMES : 0;

	for (size_t i = 1; i < c->args.n; i++) {
		if (c->args.v[i].text[0] != '-' && ends_unknown(c->args.v[i].text))
			t |= c->args.v[i].taint & NAMES;
	}
	return t;
}

static int found(
	struct sh *s, const struct sh_command *c, const char *rule, const char *means, double conf)
{
	struct sh_found f = {
		.rule = rule,
		.category = "destruction",
		.means = means,
		.level = BAWN_SEV_CRITICAL,
		.confidence = s->script && conf < 0.6 ? conf * 0.4 : conf,
	};

	if (c->how & SH_REMOTE)
		f.confidence *= 0.8;
	return sh_report(s, c, &f);
}

static bool option_starts(const struct sh_command *c, const char *start)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (!strncmp(c->args.v[i].text, start, strlen(start)))
			return true;
	}
	return false;
}

bool sh_encrypts(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	if (sh_has(c, "|-d|--decrypt|-decrypt|-verify|-sign|"))
		return false;
	if (!strcmp(p, "openssl"))
		return sh_has(c, "|enc|smime|cms|rsautl|pkeyutl|-encrypt|") ||
		       (c->args.n > 1 && sh_is(c->args.v[1].text,
						 "|aes-256-cbc|aes-128-cbc|aes256|des3|chacha20|"));
	if (sh_is(p, "|gpg|gpg2|"))
		return sh_has(c, "|-c|-e|--symmetric|--encrypt|-ac|-ca|-ae|-ea|-r|--recipient|");
	if (!strcmp(p, "zip"))
		return sh_has(c, "|-e|-P|--encrypt|--password|-em|-me|-re|-er|") ||
		       option_starts(c, "-P");
	if (sh_is(p, "|7z|7za|7zr|rar|"))
		return option_starts(c, "-p") || option_starts(c, "-hp");
	return sh_is(p, "|age|rage|ccrypt|ccencrypt|mcrypt|");
}

/* Puts its result in the place of what it reads. */
static bool replaces(const struct sh_command *c)
{
	return sh_is(c->args.v[0].text, "|ccrypt|ccencrypt|") ||
	       sh_has(c, "|-sdel|-df|-dw|-m|-em|-me|-mP|--move|");
}

/* How much is lost when every file that the word stands for is locked away. */
static double bulk(struct sh *s, const struct sh_command *c, const struct sh_word *w)
{
	enum sh_place p = sh_place(s, w->text);

	if ((w->taint & NAMES) || (c->how & SH_ARGSIN && c->in.taint & NAMES))
		return 0.86;
	if (of_others(p))
		return 0.82;
	if (strpbrk(w->text, "*?") && p == SH_IN_HOME)
		return 0.75;
	if (p == SH_IN_HOME && (strstr(w->text, "/Documents") || strstr(w->text, "/Desktop") ||
				       strstr(w->text, "/Pictures")))
		return 0.6;
	return strpbrk(w->text, "*?$") || !w->known ? 0.5 : 0;
}

static int note_encrypted(struct sh *s, const struct sh_command *c)
{
	const char *means = "encrypts files of others in bulk";
	double worst = all_names(c) & NAMES ? 0.55 : 0;

	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		double x = w->text[0] != '-' && replaces(c) ? bulk(s, c, w) : 0;

		if (s->encrypted.n < SEALED_MAX &&
			bawn_strlist_add(s->a, &s->encrypted, w->text) < 0)
			return sh_no_memory(s);
		worst = x > worst ? x : worst;
	}
	return found(s, c, "command.encrypt-in-place", means, worst);
}

static int vet_lost(struct sh *s, const struct sh_command *c)
{
	bool shred = !sh_is(c->args.v[0].text, "|rm|grm|unlink|");
	unsigned t = all_names(c);
	double worst = 0;
	int rc;

	rc = found(s, c, "command.remove-found", "deletes the files that another command found",
		t & SH_TREE            ? 0.85
		: t & SH_SOME && shred ? 0.45
		: t & SH_SOME          ? 0.15
				       : 0);
	for (size_t i = 1; rc == 0 && i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];

		for (size_t k = 0; w->text[0] != '-' && k < s->encrypted.n; k++) {
			double x = strcmp(s->encrypted.v[k], w->text) != 0 ? 0 : bulk(s, c, w);

			worst = x > worst ? x : worst;
		}
	}
	return rc < 0 || worst <= 0 ? rc
				    : found(s, c, "command.encrypt-in-place",
					      "deletes files behind their encrypted copies", worst);
}

/* Programs that everybody runs; who replaces one is run by everybody. */
static bool trusted_name(const char *name)
{
	return name[0] == '[' || !strncmp(name, "systemd-", 8) || !strncmp(name, "pam_", 4) ||
	       !strncmp(name, "libc.so", 7) || !strncmp(name, "ld-linux", 8) ||
	       sh_is(name,
		       "|sshd|ssh|ls|ps|top|htop|netstat|ss|login|su|sudo|bash|sh|cron|crond|systemd|"
		       "init|passwd|find|lsof|lsmod|who|w|last|cat|id|df|du|kworker|kthreadd|"
		       "systemd-logind|systemd-journald|dbus-daemon|agetty|udevd|rsyslogd|");
}

/* cp /tmp/x /usr/sbin/sshd */
static int vet_planted(struct sh *s, const struct sh_command *c)
{
	const char *to = c->args.n > 2 ? c->args.v[c->args.n - 1].text : "", *name;
	bool temp = false, hidden = false;
	double x;

	if (strncmp(to, "/bin", 4) != 0 && strncmp(to, "/sbin", 5) != 0 &&
		strncmp(to, "/usr/bin", 8) != 0 && strncmp(to, "/usr/sbin", 9) != 0 &&
		strncmp(to, "/lib/", 5) != 0 && strncmp(to, "/usr/lib/", 9) != 0)
		return 0;
	name = sh_base(to);
	for (size_t i = 1; i + 1 < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		hidden = hidden || (t[0] == '/' && strstr(t, "/."));
		temp = temp || !strncmp(t, "/tmp/", 5) || !strncmp(t, "/var/tmp/", 9) ||
		       !strncmp(t, "/dev/shm/", 9);
		if (t[0] != '-' && (!*name || sh_is(name, "|bin|sbin|")))
			name = sh_base(t);
	}
	x = temp && trusted_name(name) ? 0.75
	    : name[0] == '['           ? 0.7
	    : temp && hidden           ? 0.5
	    : temp                     ? 0.2
				       : 0;
	return found(s, c, "command.planted-program",
		"puts a program from a place of anybody among those of the system", x);
}

int sh_vet_trees(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.n ? c->args.v[0].text : "";

	if (sh_is(p, "|rm|grm|srm|unlink|shred|wipe|truncate|"))
		return vet_lost(s, c);
	if (sh_is(p, "|cp|mv|install|ln|"))
		return vet_planted(s, c);
	if (c->args.n && sh_encrypts(c))
		return note_encrypted(s, c);
	return 0;
}
