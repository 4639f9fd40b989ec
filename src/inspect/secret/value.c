/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures that tell a random value from a name, a placeholder or a sample. All are linear in the
 * value, which the rules bound.
 */
#include "inspect/secret/value.h"

#include <stdint.h>
#include <string.h>

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

bool value_char_in(char c, const char *set)
{
	return c && strchr(set, c);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool value_equals(struct value v, const char *word)
{
	if (strlen(word) != v.len)
		return false;
	for (size_t i = 0; i < v.len; i++)
		if (lower(v.p[i]) != lower(word[i]))
			return false;
	return true;
}

static bool has(struct value v, const char *word, size_t n)
{
	for (size_t i = 0; n && i + n <= v.len; i++) {
		size_t k = 0;

		while (k < n && lower(v.p[i + k]) == lower(word[k]))
			k++;
		if (k == n)
			return true;
	}
	return false;
}

bool value_has_word(struct value v, const char *words)
{
	while (*words) {
		size_t n = strcspn(words, "|");

		if (has(v, words, n))
			return true;
		words += n + (words[n] == '|');
	}
	return false;
}

/* Base-2 logarithm of n >= 1, good to a thousandth; spares the mathematical library. */
static double log2_of(size_t n)
{
	unsigned whole = 63u - (unsigned)__builtin_clzll((unsigned long long)n);
	double x = (double)n / (double)((uint64_t)1 << whole);
	double bits = (double)whole;
	double bit = 1.0;

	for (int i = 0; i < 10; i++) {
		bit /= 2.0;
		x *= x;
		if (x >= 2.0) {
			x /= 2.0;
			bits += bit;
		}
	}
	return bits;
}

double value_entropy(struct value v)
{
	size_t count[256] = {0};
	double sum = 0.0;

	if (!v.len)
		return 0.0;
	for (size_t i = 0; i < v.len; i++)
		count[(unsigned char)v.p[i]]++;
	for (size_t i = 0; i < 256; i++)
		if (count[i] > 1)
			sum += (double)count[i] * log2_of(count[i]);
	return log2_of(v.len) - sum / (double)v.len;
}

/* The pairs of letters that make up 87 % of English names; a quarter of all pairs. */
static const uint32_t common_pairs[26] = {0x00eb94e, 0x0104811, 0x01a4c91, 0x0004111, 0x18eb87d,
	0x0104921, 0x0020010, 0x0004111, 0x00e787f, 0x0000000, 0x0000010, 0x01c4939, 0x000c113,
	0x01c417d, 0x05eb90c, 0x01a4911, 0x0000800, 0x11e711d, 0x01dc194, 0x11e4191, 0x00eb810,
	0x0000011, 0x0004100, 0x0088010, 0x0008000, 0x0000010};

bool value_wordlike(struct value v)
{
	size_t pairs = 0, common = 0;

	for (size_t i = 0; i + 1 < v.len; i++) {
		unsigned a = lower(v.p[i]) - 'a', b = lower(v.p[i + 1]) - 'a';

		if (a > 25 || b > 25)
			continue;
		pairs++;
		common += common_pairs[a] >> b & 1;
	}
	return pairs >= 5 && pairs * 3 >= v.len && common * 20 > pairs * 11;
}

unsigned value_classes(struct value v)
{
	unsigned seen = 0;

	for (size_t i = 0; i < v.len; i++) {
		char c = v.p[i];

		if (is_digit(c))
			seen |= 1;
		else if (c >= 'a' && c <= 'z')
			seen |= 2;
		else if (c >= 'A' && c <= 'Z')
			seen |= 4;
		else
			seen |= 8;
	}
	return (unsigned)__builtin_popcount(seen);
}

bool value_has_digit(struct value v)
{
	for (size_t i = 0; i < v.len; i++)
		if (is_digit(v.p[i]))
			return true;
	return false;
}

static bool hex_digit(char c)
{
	return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}

bool value_is_hex(struct value v)
{
	for (size_t i = 0; i < v.len; i++)
		if (!hex_digit(v.p[i]))
			return false;
	return v.len > 0;
}

bool value_is_uuid(struct value v)
{
	if (v.len != 36)
		return false;
	for (size_t i = 0; i < v.len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? v.p[i] != '-' : !hex_digit(v.p[i]))
			return false;
	}
	return true;
}

/* The longest run of one character. */
static size_t longest_run(struct value v, char *which)
{
	size_t best = 0, run = 0;

	for (size_t i = 0; i < v.len; i++) {
		run = i && v.p[i] == v.p[i - 1] ? run + 1 : 1;
		if (run > best) {
			best = run;
			*which = v.p[i];
		}
	}
	return best;
}

/* How many characters belong to stretches that count up, as abcdef or 12345. */
static size_t counting(struct value v)
{
	size_t sum = 0, run = 0;

	for (size_t i = 0; i <= v.len; i++) {
		bool next = i && i < v.len &&
			    (lower(v.p[i]) == lower(v.p[i - 1]) + 1 ||
				    (v.p[i] == '0' && v.p[i - 1] == '9'));

		if (next) {
			run++;
			continue;
		}
		sum += run >= 4 ? run : 0;
		run = 1;
	}
	return sum;
}

/* The last two thirds repeat a short unit. */
static bool periodic(struct value v)
{
	size_t from = v.len / 3;

	if (v.len < 12)
		return false;
	for (size_t p = 1; p <= 10 && p * 2 < v.len - from; p++) {
		size_t i = from + p;

		while (i < v.len && v.p[i] == v.p[i - p])
			i++;
		if (i == v.len)
			return true;
	}
	return false;
}

static bool hidden(struct value v)
{
	char c = 0;
	size_t run = longest_run(v, &c);

	if (value_char_in(c, "xX*#?.") && run >= 5 && run * 8 >= v.len)
		return true;
	for (size_t i = 0; i < v.len; i++)
		if (value_char_in(v.p[i], "<>{}$") || (unsigned char)v.p[i] < ' ')
			return true;
	return has(v, "...", 3) || has(v, "***", 3);
}

bool value_masked(struct value v, enum mask_rule rule)
{
	char c = 0;
	size_t run;

	if (rule == MASK_NONE)
		return false;
	if (hidden(v))
		return true;
	if (rule == MASK_WEAK)
		return false;
	run = longest_run(v, &c);
	if (run >= 6 && run * (run >= 10 ? 4 : 3) >= v.len)
		return true;
	if (counting(v) * 2 >= v.len + 1)
		return true;
	if (periodic(v))
		return true;
	return value_has_word(v,
		"example|placeholder|your-|your_|yourtoken|yourkey|yoursecret|changeme|change-me|"
		"change_me|replaceme|replace_|replace-|redacted|insert_|insert-|dummy|goeshere|"
		"_here|-here|tokenhere|keyhere|xxxxx|notareal|not_a_real|not-a-real");
}

bool value_common_password(struct value v)
{
	static const char *const words[] = {"password", "passw0rd", "p@ssw0rd", "p@ssword", "pass",
		"passwd", "pwd", "secret", "changeme", "admin", "root", "test", "guest", "user",
		"username", "postgres", "mysql", "mongo", "redis", "rabbitmq", "example", "foo",
		"bar", "foobar", "foobarbaz", "hunter2", "letmein", "qwerty", "1234", "12345",
		"123456", "1234567", "12345678", "123456789", "1234567890", "token", "key",
		"default", "docker", "elastic", "mypassword", "mysecretpassword", "secretpassword",
		"my-secret-pw", "mypass", "yourpassword", "password1", "password123", "pass123",
		"test123", "testpass", "testpassword", "admin123", "root123", "dbpassword",
		"x-oauth-basic", "x-access-token", "none", "null", "nil", "true", "false", "empty",
		"anonymous", "minioadmin", "sa", "toor", "vagrant", "ubuntu", "alpine", "demo",
		"credential", "credentials", "oauth2", "some_password", "somepassword", "port"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (value_equals(v, words[i]))
			return true;
	return false;
}

static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (is_digit(c))
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

long value_base64(struct value v, char *out, size_t cap)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t n = 0;

	while (v.len && v.p[v.len - 1] == '=')
		v.len--;
	if (v.len % 4 == 1)
		return -1;
	for (size_t i = 0; i < v.len && n < cap; i++) {
		int s = sextet(v.p[i]);

		if (s < 0)
			return -1;
		bits = bits << 6 | (uint32_t)s;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		out[n++] = (char)(bits >> have & 0xff);
	}
	return (long)n;
}
