/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detector: a command as text or words, or a source file in bash, is made plain, walked and
 * vetted. What could not be followed to its end is said, so that it never passes for harmless.
 */
#include "inspect/shell/shell.h"

#include <errno.h>
#include <string.h>

#include "inspect/detectors.h"

#define TOO_LONG  131072 /* no shell can be given more in one word */
#define PARTS_MAX 50     /* commands in one line; more than this no person reads */
#define RAW_MAX   8192   /* of a text that is no shell's */

static int say(struct sh *s, const char *rule, const char *means, double confidence)
{
	struct sh_command whole = {.end = s->sub->len, .line = ""};
	struct sh_found f = {
		.rule = rule,
		.category = "obfuscation",
		.means = means,
		.level = BAWN_SEV_MEDIUM,
		.confidence = confidence,
	};

	return sh_report(s, &whole, &f);
}

/* Words that make a broken text worth a look. */
static bool dangerous_words(const char *t)
{
	static const char *const words[] = {"rm -", "curl ", "wget ", "sudo ", "/etc/", "base64",
		"eval ", "nc ", "/dev/tcp", "chmod ", "mkfs", "dd if", ".ssh", "bash -c", "sh -c",
		"| sh", "|sh", "| bash", "|bash", "/dev/sd"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(t, words[i]))
			return true;
	}
	return false;
}

static int aftermath(struct sh *s, const struct sh_norm *n)
{
	static const struct sh_command none;
	bool strict = s->sub->mode == BAWN_MODE_STRICT;
	int rc = 0;

	/* scripts colour what they print */
	if (n->odd)
		rc = say(s, "command.odd-bytes", n->odd,
			s->script && strstr(n->odd, "escape") ? 0.2 : 0.4);
	if (rc == 0 && s->separator && !s->script)
		rc = say(s, "command.hidden-blank",
			"uses $IFS where a blank would do; write the command plainly", 0.45);
	if (rc == 0 && s->deep)
		rc = say(s, "command.too-deep",
			"nested too deeply to be followed; split it into smaller steps", 0.45);
	if (rc == 0 && !s->script && n->len > TOO_LONG)
		rc = say(s, "command.too-long", "longer than a command can be; put it into a file",
			0.35);
	if (rc == 0 && !s->script && s->most > PARTS_MAX)
		rc = say(s, "command.too-many",
			"more commands in one line than anybody reads; split it into smaller steps",
			0.35);
	if (rc == 0 && !s->script &&
		(s->broken || !strncmp(n->text, "import ", 7) || !strncmp(n->text, "from ", 5)))
		rc = sh_vet_fact(s, &none, "@raw",
			n->len > RAW_MAX ? bawn_arena_strndup(s->a, n->text, RAW_MAX) : n->text);
	if (rc == 0 && (s->broken || (s->refused && strict)) && (!s->script || strict))
		rc = say(s, "command.unparsable",
			"quotes or brackets do not end, so readers may disagree about what runs; "
			"close them",
			strict || dangerous_words(n->text) ? 0.35 : 0.15);
	return rc;
}

static int inspect_text(struct sh *s, const char *text, size_t len)
{
	struct sh_norm n;
	int rc = sh_normalise(s, text, len, &n);

	if (rc == 0)
		rc = sh_run(s, n.text, n.len);
	s->second = true;
	if (rc == 0)
		rc = sh_second_reading(s, n.text, n.len);
	if (rc == 0 && n.folded) {
		s->top = NULL;
		rc = sh_run(s, n.folded, strlen(n.folded));
	}
	return rc < 0 ? rc : aftermath(s, &n);
}

/* Words that were never read by a shell are handed over so that a shell reads the same words. */
static int inspect_words(struct sh *s, const char *const *argv)
{
	struct sh_words w = {0};
	const char *t;

	for (size_t i = 0; argv[i]; i++) {
		struct sh_word *x = bawn_grow(s->a, &w.v, &w.n, &w.cap);

		if (!x)
			return sh_no_memory(s);
		*x = (struct sh_word){.text = argv[i], .known = true};
	}
	t = sh_quote_words(s, &w, 0);
	return t ? inspect_text(s, t, strlen(t)) : sh_no_memory(s);
}

static int inspect(struct bawn_scan *scan, const struct bawn_subject *sub, struct bawn_error *err)
{
	struct sh *s;

	if (sub->kind == BAWN_KIND_CODE && sub->lang != BAWN_LANG_BASH)
		return 0;
	s = bawn_new(bawn_scan_arena(scan), struct sh, 1);
	if (!s)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	s->scan = scan;
	s->sub = sub;
	s->a = bawn_scan_arena(scan);
	s->err = err;
	s->script = sub->kind == BAWN_KIND_CODE;
	if (sub->argv)
		return inspect_words(s, sub->argv);
	return inspect_text(s, sub->text, sub->len);
}

const struct bawn_detector bawn_detector_shell = {
	.name = "shell",
	.kinds = 1u << BAWN_KIND_COMMAND | 1u << BAWN_KIND_CODE,
	.detect = BAWN_DETECT_COMMAND | BAWN_DETECT_CODE,
	.inspect = inspect,
};
