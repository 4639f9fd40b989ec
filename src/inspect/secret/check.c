/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What single formats promise beyond their characters: checksums, encodings, structure. A checksum
 * that fails lowers the confidence but does not acquit, because vendors change formats without
 * notice; an encoding that must decode and does not acquits.
 */
#include "inspect/secret/check.h"

#include <stdint.h>
#include <string.h>

#define PEM_MAX ((size_t)15 << 10)
#define PEM_CUT 160 /* shorter bodies with dots in them are examples */

static bool alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

struct value candidate_before(const struct candidate *c, size_t at, size_t max)
{
	size_t from = at;

	while (from && at - from < max && c->text[from - 1] != '\n')
		from--;
	return (struct value){c->text + from, at - from};
}

/* The byte before `at` ends an escape: \n, %3D, \u003d, or a terminal colour. */
static bool behind_escape(const char *t, size_t at)
{
	size_t i = at;

	if (at >= 2 && t[at - 2] == '\\' && value_char_in(t[at - 1], "nrtbfv0"))
		return true;
	if (at >= 3 && t[at - 3] == '%' && hex(t[at - 2]) && hex(t[at - 1]))
		return true;
	if (at >= 6 && t[at - 6] == '\\' && t[at - 5] == 'u')
		return true;
	if (t[at - 1] != 'm')
		return false;
	i--;
	while (i && at - i < 20 && (t[i - 1] == ';' || (t[i - 1] >= '0' && t[i - 1] <= '9')))
		i--;
	return i && t[i - 1] == '[';
}

static bool in_blob(const char *t, size_t at)
{
	size_t run = 0;

	while (run < at && run < 40 &&
		(alnum(t[at - run - 1]) || value_char_in(t[at - run - 1], "+/")))
		run++;
	return run >= 40;
}

static bool free_on_left(const char *t, size_t at)
{
	char c;

	if (!at)
		return true;
	c = t[at - 1];
	if (alnum(c) || c == '_')
		return behind_escape(t, at);
	if (c == '-' || c == '.')
		return at < 2 || !alnum(t[at - 2]);
	return (c != '+' && c != '/') || !in_blob(t, at);
}

bool candidate_stands_free(const struct candidate *c, bool right_only)
{
	char next = candidate_next(c);

	if (alnum(next) || next == '_')
		return false;
	if ((next == '+' || next == '/') && c->len - c->end > 40) {
		size_t i = c->end;

		while (i < c->end + 40 && (alnum(c->text[i]) || value_char_in(c->text[i], "+/")))
			i++;
		if (i == c->end + 40)
			return false;
	}
	return right_only || free_on_left(c->text, c->start);
}

static bool check_aws_id(struct candidate *c)
{
	struct value v = candidate_value(c), rest = {v.p + 4, v.len - 4};

	/* ASIA, ABIA and ACCA also begin words in capitals */
	return !value_has_word(v, "EXAMPLE|TESTTEST|DUMMY|FAKE") &&
	       (!memcmp(v.p, "AKIA", 4) || value_has_digit(rest) || !value_wordlike(v));
}

static uint32_t crc32_of(const char *p, size_t n)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < n; i++) {
		crc ^= (unsigned char)p[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* GitHub and npm: the last six characters are the CRC-32 of the 30 before, in base 62. */
static bool check_crc62(struct candidate *c)
{
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	struct value v = candidate_value(c);
	uint32_t crc;

	if (v.len != 40)
		return true;
	crc = crc32_of(v.p + 4, 30);
	for (size_t i = 0; i < 6; i++, crc /= 62)
		if (v.p[v.len - 1 - i] != digits[crc % 62])
			return true;
	c->confidence = 0.98;
	return true;
}

/* The name of the owner and a signature make it long; a shorter one was cut off. */
static bool check_pypi(struct candidate *c)
{
	if (candidate_value(c).len < 100)
		c->confidence = 0.6;
	return true;
}

static bool check_gitlab(struct candidate *c)
{
	struct value v = candidate_value(c);
	char next = candidate_next(c);
	const char *dash = memchr(v.p, '-', v.len);

	/* a hyphen belongs to the alphabet, so one behind the end makes it another length */
	if (next == '-')
		return false;
	return !dash ||
	       value_classes((struct value){dash + 1, (size_t)(v.p + v.len - dash - 1)}) > 1;
}

static bool check_azure_secret(struct candidate *c)
{
	struct value v = candidate_value(c);
	char before = candidate_prev(c);
	char next = candidate_next(c);

	if (next == '~' || (next == '-' && c->len - c->end > 1 && alnum(c->text[c->end + 1])))
		return false;
	return before != '~' && before != ',' && value_classes(v) == 4 && value_entropy(v) > 3.6;
}

static bool check_slack_hook(struct candidate *c)
{
	struct value v = candidate_value(c);
	size_t tail = v.len;

	while (tail && v.p[tail - 1] != '/')
		tail--;
	v = (struct value){v.p + tail, v.len - tail};
	return v.len >= 12 && value_has_digit(v) && !value_masked(v, MASK_STRICT);
}

/* The first part is the base64 of a decimal number. */
static bool check_discord(struct candidate *c)
{
	struct value v = candidate_value(c);
	const char *dot = memchr(v.p, '.', v.len);
	char id[32];
	long n;

	if (!dot || value_classes(v) != 4)
		return false;
	n = value_base64((struct value){v.p, (size_t)(dot - v.p)}, id, sizeof(id));
	for (long i = 0; i < n; i++)
		if (id[i] < '0' || id[i] > '9')
			n = -1;
	if (n > 0)
		c->confidence = 0.95;
	return true;
}

static bool json_object(struct value part, const char *must)
{
	char text[2048];
	long n = value_base64(part, text, sizeof(text));
	size_t i = 0, end;

	if (n < 2)
		return false;
	end = (size_t)n;
	while (i < end && value_char_in(text[i], " \t\r\n"))
		i++;
	if (text[i] != '{')
		return false;
	while (end > i && value_char_in(text[end - 1], " \t\r\n"))
		end--;
	/* one that is longer than the buffer is cut off */
	if (end < sizeof(text) && text[end - 1] != '}')
		return false;
	return !must || value_has_word((struct value){text, end}, must);
}

static bool check_jwt(struct candidate *c)
{
	struct value v = candidate_value(c);
	const char *one = memchr(v.p, '.', v.len);
	const char *two = one ? memchr(one + 1, '.', (size_t)(v.p + v.len - one - 1)) : NULL;

	if (!two || !json_object((struct value){v.p, (size_t)(one - v.p)}, "\"alg\""))
		return false;
	one++;
	/* the token that everybody explains tokens with */
	if (json_object((struct value){one, (size_t)(two - one)}, "\"1234567890\"") &&
		json_object((struct value){one, (size_t)(two - one)}, "John Doe"))
		c->confidence = 0.32;
	return json_object((struct value){one, (size_t)(two - one)}, NULL);
}

static bool weak_password(struct value v)
{
	return value_common_password(v) || value_masked(v, MASK_STRICT) ||
	       (value_classes(v) < 3 &&
		       value_has_word(v, "password|passwd|secret|changeme|your|my_|token")) ||
	       v.p[0] == '$' || v.p[0] == '%' || v.p[0] == '[' || v.p[0] == '(' || v.p[0] == '&';
}

static bool check_password(struct candidate *c)
{
	struct value v = candidate_value(c);

	return !weak_password(v) && value_classes(v) >= 2 && !value_wordlike(v) &&
	       !value_has_word(v, "()|::|->|=>");
}

/* user:password, as it is or after decoding */
static bool strong_pair(struct value v)
{
	const char *colon = memchr(v.p, ':', v.len);
	struct value word;

	if (!colon)
		return false;
	word = (struct value){colon + 1, (size_t)(v.p + v.len - colon - 1)};
	if (!word.len)
		word = (struct value){v.p, (size_t)(colon - v.p)};
	return word.len >= 6 && !weak_password(word) && !value_wordlike(word) &&
	       value_classes(word) >= 2;
}

static bool check_pair(struct candidate *c)
{
	return strong_pair(candidate_value(c));
}

static bool check_basic(struct candidate *c)
{
	char text[1024];
	long n = value_base64(candidate_value(c), text, sizeof(text));

	if (n < 4)
		return false;
	for (long i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] >= 0x7f)
			return false;
	if (!memcmp(text, "Aladdin:", n < 8 ? (size_t)n : 8))
		return false;
	return strong_pair((struct value){text, (size_t)n});
}

static bool check_bearer(struct candidate *c)
{
	struct value v = candidate_value(c);

	if (value_masked(v, MASK_STRICT) || value_wordlike(v) || !value_has_digit(v))
		return false;
	if (c->end < c->len && c->text[c->end] == '<') /* eyJ….<payload> */
		return false;
	if (value_has_word(v, "token|secret|apikey|api_key|api-key|access_"))
		return false;
	if (value_is_uuid(v) && !bawn_rule_arg(&bawn_rules_secret, c->rule, "uuid"))
		return false;
	return value_entropy(v) >= (value_is_hex(v) ? 2.8 : 3.3);
}

static bool local_host(struct value v)
{
	size_t n = 0;

	while (n < v.len && (alnum(v.p[n]) || value_char_in(v.p[n], ".-_")))
		n++;
	v.len = n;
	return value_has_word(
		       v, "localhost|127.0.0.|0.0.0.0|example.|example-|yourdomain|myhost") ||
	       value_equals(v, "host") || value_equals(v, "hostname") ||
	       value_equals(v, "server") || !n;
}

static bool check_url(struct candidate *c)
{
	struct value v = candidate_value(c);
	struct value rest = {c->text + c->end + 1, c->end + 1 < c->len ? c->len - c->end - 1 : 0};

	if (weak_password(v) || value_has_word(v, "|#{|%s|\\|(|)|,"))
		return false;
	/* letters of both cases and digits are a password, whatever they spell */
	if (value_wordlike(v) && (value_classes(v) < 3 || v.len < 10))
		return false;
	if (local_host(rest))
		c->confidence = 0.25;
	return v.len >= 5 && value_classes(v) >= 2;
}

static bool pem_char(char c)
{
	return alnum(c) || c == '+' || c == '/' || c == '=';
}

/* The longest run of base64 in [from, to); written-out \n is no part of it. */
static size_t body_run(const char *t, size_t from, size_t to)
{
	size_t run = 0, best = 0;

	for (size_t i = from; i < to; i++) {
		bool escaped = t[i] == '\\' || (t[i - 1] == '\\' && value_char_in(t[i], "nrt"));

		run = pem_char(t[i]) && !escaped ? run + 1 : 0;
		if (run > best)
			best = run;
	}
	return best;
}

/* Where the body ends that starts at c->end: at the next row of hyphens, or where it cannot go on.
 */
static size_t body_end(const struct candidate *c)
{
	const char *t = c->text;
	size_t stop = c->len - c->end > PEM_MAX ? c->end + PEM_MAX : c->len;
	const char *dashes = memmem(t + c->end, stop - c->end, "----", 4);
	size_t i;

	if (dashes)
		return (size_t)(dashes - t);
	for (i = c->end; i < stop; i++)
		if (value_char_in(t[i], "<;("))
			break;
	return i;
}

/* MIIEowIBAAKC...fvY4+te: somebody cut the middle out, as manuals do. What is left of a long body
 * is still a key. */
static bool shortened(const char *t, size_t from, size_t to)
{
	return to - from < PEM_CUT && memmem(t + from, to - from, "...", 3);
}

/* A body follows the header: at least a line's worth of base64. */
static bool check_pem(struct candidate *c)
{
	const char *t = c->text;
	size_t end = body_end(c);
	size_t rest = c->len - end < 100 ? c->len - end : 100;
	const char *tail;

	if (body_run(t, c->end, end) < 24 || shortened(t, c->end, end))
		return false;
	c->end = end;
	/* -----END … KEY----- */
	tail = memmem(t + end, rest, "END ", 4);
	tail = tail ? memmem(tail, rest - (size_t)(tail - (t + end)), "----", 4) : NULL;
	if (tail) {
		c->end = (size_t)(tail - t) + 4;
		c->end += c->end < c->len && t[c->end] == '-';
	}
	return true;
}

/* The header of a PEM block in base64 says whether the key is private. */
static bool check_pem64(struct candidate *c)
{
	struct value v = candidate_value(c);
	char text[96];
	long n;

	v.len = v.len < 128 ? v.len / 4 * 4 : 128;
	n = value_base64(v, text, sizeof(text));
	return n > 0 && value_has_word((struct value){text, (size_t)n}, "PRIVATE KEY");
}

bool check_named(const char *name, struct candidate *c)
{
	static const struct {
		const char *name;
		bool (*fn)(struct candidate *c);
	} table[] = {
		{"assigned", check_assigned},
		{"aws-id", check_aws_id},
		{"azure-secret", check_azure_secret},
		{"basic", check_basic},
		{"bearer", check_bearer},
		{"crc62", check_crc62},
		{"discord", check_discord},
		{"gitlab", check_gitlab},
		{"jwt", check_jwt},
		{"pair", check_pair},
		{"password", check_password},
		{"pem", check_pem},
		{"pem64", check_pem64},
		{"pypi", check_pypi},
		{"slack-hook", check_slack_hook},
		{"url", check_url},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(name, table[i].name))
			return table[i].fn(c);
	return false;
}
