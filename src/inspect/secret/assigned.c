/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `name = "value"` where the name means a secret and nothing else is known about the value. The
 * rule finds a name and an assignment; whether the name really means a secret, where the value
 * ends and whether it looks random is decided here. Most names with "key" or "token" in them hold
 * no secret, so this errs towards silence.
 */
#include <string.h>

#include "inspect/secret/check.h"

#define NAME_MAX_LEN 64
#define VALUE_MAX    300
#define LINE_REACH   400
#define FENCE_REACH  ((size_t)64 << 10)
#define FENCED       0.25 /* confidence */

static bool name_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '-' || c == '.';
}

/* The whole identifier around the match, up to the assignment. */
static struct value name_of(const struct candidate *c)
{
	size_t from = c->whole_start, to = from;

	while (from && c->whole_start - from < NAME_MAX_LEN && name_char(c->text[from - 1]))
		from--;
	while (to < c->start && name_char(c->text[to]))
		to++;
	return (struct value){c->text + from, to - from};
}

/* Names with these words in them hold a place, a kind, a hash or a public thing. */
static bool name_harmless(struct value name)
{
	return value_has_word(name,
		"public|pub_key|pubkey|hash|digest|checksum|csrf|xsrf|authenticity|url|uri|path|file|"
		"dir|_name|type|expir|length|size|count|max|min_|limit|tokeniz|tokens|regex|pattern|"
		"format|prefix|suffix|placeholder|label|title|message|descr|hint|endpoint|version|"
		"field|column|param|page|next|cursor|contin|sync|integrity|example|author|algorithm|"
		"policy|provider|schema|primary|foreign|partition|sort|cache|site|recaptcha|index|"
		"state|nonce|verif|mask|input|selector|class|style|color|icon|image|_id|uuid|guid|"
		"arn|region|method|mode|status|error|invalid|test|fake|mock|dummy|sample|contract|"
		"address|mint|pool|symbol|currency|chain|coin|erc2|erc7|erc1|signature|design|lex|parse|syntax|node|"
		"kind|semantic|bos|eos|pad_|sep_|unk|cls|vocab|embed|lookup|cryptotoken|publishable|"
		"anon|locale|i18n|translation|ref");
}

static bool name_is_password(struct value name)
{
	return value_has_word(name, "passw|pwd|passphrase");
}

/* Where the value ends, or 0 when what stands there is no literal. */
static size_t value_end(const struct candidate *c, char open)
{
	size_t i = c->start;

	for (; i < c->len && i - c->start < VALUE_MAX; i++) {
		char x = c->text[i];

		if (open == '>' ? x == '<'
			: open  ? x == open
				: value_char_in(x, " \t\r\n,;&\"'`)<|"))
			break;
		if ((unsigned char)x <= ' ' || (unsigned char)x >= 0x7f ||
			value_char_in(x, "(){}[]<>$\\\"'`"))
			return x == '\\' && !open ? i : 0;
	}
	if (i - c->start >= VALUE_MAX || (open && i == c->len))
		return 0;
	return i;
}

static bool looks_like_mail(struct value v)
{
	const char *at = memchr(v.p, '@', v.len);

	return at && memchr(at, '.', (size_t)(v.p + v.len - at));
}

static bool looks_structural(struct value v)
{
	size_t slashes = 0, dots = 0, dashes = 0;

	for (size_t i = 0; i < v.len; i++) {
		slashes += v.p[i] == '/';
		dots += v.p[i] == '.';
		dashes += v.p[i] == '-' || v.p[i] == '_' || v.p[i] == ':';
	}
	return slashes > 3 || dots > 3 || dashes > 4 || looks_like_mail(v) ||
	       value_has_word(v,
		       "://|sha256|sha512|sha1-|sha384|arn:|data:|::|.com|.org|.net|"
		       ".io/|.json|.yaml|.yml|.xml|.pem|.key|.js|.py|.go|%s|%d|env.|"
		       "process.|config.|this.|self.|args.|req.|secret|token|passw|apikey|"
		       "api_key|api-key|example");
}

static bool strong_token(struct value name, struct value v)
{
	bool hexadecimal = value_is_hex(v);

	if (v.len < 20 || !value_has_digit(v) || value_classes(v) < 2 || value_is_uuid(v))
		return false;
	/* a digest is the more likely reading, unless the name says otherwise in full */
	if (hexadecimal)
		return (v.len == 32 || v.len == 40 || v.len == 48 || v.len == 64) &&
		       value_entropy(v) >= 3.0 &&
		       value_has_word(name, "api_key|apikey|api-key|secret|access_key|accesskey|"
					    "auth_token|authtoken|access_token|accesstoken|"
					    "api_token|apitoken|private_key");
	return value_entropy(v) >= (v.len < 32 ? 3.6 : 3.9);
}

static bool strong_password(struct value v)
{
	return v.len >= 10 && v.len <= 64 && value_has_digit(v) && value_classes(v) >= 3 &&
	       value_entropy(v) >= 3.1 && !value_common_password(v);
}

/* Base64 of words is no key. */
static bool hides_words(struct value v)
{
	char text[VALUE_MAX];
	long n = value_base64(v, text, sizeof(text));

	for (long i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] >= 0x7f)
			return false;
	return n > 0 && value_wordlike((struct value){text, (size_t)n});
}

/* The rule gives the first characters of the value; find its end. */
static bool find_value(struct candidate *c)
{
	char open = c->text[c->start - 1];
	size_t i = c->start;
	char op;

	if (!value_char_in(open, "\"'`"))
		open = 0;
	while (i > c->whole_start + 1 && value_char_in(c->text[i - 1], " \t\r\n\"'`"))
		i--;
	op = c->text[i - 1];
	if ((op == '(' || op == ',') && !open)
		return false;
	if (op == '>' && !open && c->text[i - 2] != '=')
		open = '>';
	c->end = value_end(c, open);
	return c->end > c->start;
}

/* Values that the standards themselves print. */
static bool from_standard(struct value v)
{
	return value_has_word(v, "2YotnFZFEjr1zCsicMWpAA|tGzv3JOkF0XG5Qx2TlKWIA|"
				 "7Fjfp0ZBr1KtDRbnfVdmIw|SplxlOBeZQQYbYS6WxSbIA|"
				 "kkk9d7dh3k39sjv7|137131200");
}

/* Keys that are made to be shown to everybody: those of a shop's pages, of maps, of forms. */
static bool made_public(struct value v)
{
	static const char *const starts[] = {
		"pk_live_", "pk_test_", "pk.eyJ", "phc_", "sb_publishable_"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (v.len > strlen(starts[i]) && !strncmp(v.p, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* Somebody looked at it and wrote that it is none. */
static bool marked_harmless(const struct candidate *c)
{
	size_t from = c->start, to = c->end;

	while (from && c->start - from < LINE_REACH && c->text[from - 1] != '\n')
		from--;
	while (to < c->len && to - c->end < LINE_REACH && c->text[to] != '\n')
		to++;
	return value_has_word((struct value){c->text + from, to - from},
		"allowlist secret|whitelist secret|gitleaks:allow|trufflehog:ignore|ggignore|"
		"nosec|nosemgrep|noqa: s10");
}

/* Between the fences of a text for people, where values are shown and not used. */
static bool in_fence(const struct candidate *c)
{
	const char *p = c->text, *end = c->text + c->start;
	bool open = false;

	if (c->start > FENCE_REACH)
		return false;
	while ((p = memmem(p, (size_t)(end - p), "```", 3))) {
		open ^= p == c->text || p[-1] == '\n';
		p += 3;
	}
	return open;
}

/* "next page token: …" */
static bool says_page(const struct candidate *c)
{
	return value_has_word(
		candidate_before(c, c->start, 40), "page token|page_token|next token");
}

bool check_assigned(struct candidate *c)
{
	struct value name, v;

	if (!find_value(c))
		return false;
	v = candidate_value(c);
	if (!value_has_digit(v) || value_wordlike(v))
		return false;
	name = name_of(c);
	if (!(name_is_password(name) ? strong_password(v) : strong_token(name, v)))
		return false;
	if (value_masked(v, MASK_STRICT) || looks_structural(v) || hides_words(v) ||
		name_harmless(name))
		return false;
	/* tokens of that form have a rule of their own */
	if (!strncmp(v.p, "eyJ", 3) || from_standard(v) || marked_harmless(c) || says_page(c))
		return false;
	if (made_public(v))
		return false;
	if (in_fence(c))
		c->confidence = FENCED;
	return true;
}
