/* SPDX-License-Identifier: Apache-2.0 */
/* The splitter against one that looks at one byte after the other. */
#include "harness.h"
#include "inject-lexicon.h"
#include "inspect/inject/marks.h"

#define ROUNDS 4000

static unsigned seed = 1;

static unsigned pick(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Bytes that matter to words and sentences more often than they do in text. */
static size_t make(char *text, size_t max)
{
	static const char bytes[] = "abcs teIZ09_.@'\n\"-,:;(>?!|*=[]{})/+<\xc3\xa9";
	size_t n = pick((unsigned)max);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(pick(3) ? 'a' + (char)pick(26) : bytes[pick(sizeof(bytes) - 1)]);
	for (size_t i = 0; i < n; i++)
		text[i] = (char)(pick(6) ? text[i] : ' ');
	return n;
}

static bool has(const char *set, char c)
{
	return c && strchr(set, c);
}

static bool capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Whether the byte at `i`, which is in no word, ends a sentence. */
static bool stops(const char *text, size_t i, size_t len)
{
	char c = text[i], next = (char)(i + 1 < len ? text[i + 1] : '\n');
	size_t k = i;

	if (c == '\n')
		return i + 1 == len || capital(next) || has("\n-*\"'|:+<{}[]=0123456789", next);
	if (has(".!?", c))
		return capital(next) || has(" \n*\"')}]", next);
	if (c != '"' && c != '\'')
		return c == '|';
	while (k && text[k - 1] == ' ')
		k--;
	return has(":,}]", next) || (k && has(":,({[=", text[k - 1]));
}

struct place {
	uint32_t start, end;
};

/* Words of a text as inject_words() finds them, which goes byte by byte. */
static size_t all_words(const struct inject_text *t, struct inject_word *w)
{
	struct inject_sentence s = {.end = (uint32_t)t->len};

	return inject_words(t->text, &s, w);
}

/* Sentences by those words. */
static size_t reference(const struct inject_text *t, struct place *v)
{
	static struct inject_word w[INJECT_WORDS_MAX];
	size_t words = all_words(t, w), n = 0, in = 0;

	for (size_t k = 0; k < words; k++) {
		size_t until = k + 1 < words ? w[k + 1].start : t->len;
		bool ended = false;

		if (!in++)
			v[n].start = w[k].start;
		v[n].end = w[k].end;
		for (size_t i = w[k].end; i < until && !ended; i++)
			if (stops(t->text, i, t->len)) {
				v[n].end = (uint32_t)i + 1;
				ended = true;
			}
		if (ended || k + 1 == words) {
			n++;
			in = 0;
		}
	}
	return n;
}

static void check(const struct inject_text *t, const struct inject_sentences *s)
{
	static struct place wanted[4096];
	static struct inject_word w[INJECT_WORDS_MAX];
	uint64_t after = (uint64_t)1 << LEX_IDENT | (uint64_t)1 << LEX_TARGET;
	size_t n = reference(t, wanted);

	ASSERT_EQ(s->n, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t classes = 0;
		size_t words = inject_words(t->text, &s->v[i], w), upper = 0;

		ASSERT_EQ(s->v[i].start, wanted[i].start);
		ASSERT_EQ(s->v[i].end, wanted[i].end);
		ASSERT_EQ(s->v[i].n_words, words);
		for (size_t k = 0; k < words; k++) {
			classes |= w[k].classes;
			upper += w[k].upper;
		}
		/* what follows the last word is seen by the splitter alone */
		ASSERT_TRUE((classes & ~s->v[i].classes) == 0);
		ASSERT_TRUE((s->v[i].classes & ~classes & ~after) == 0);
		ASSERT_EQ(s->v[i].n_upper, upper);
	}
}

TEST(sentences_are_those_of_single_bytes)
{
	char text[400];

	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
		struct inject_text t;
		struct inject_sentences s;
		size_t len = make(text, sizeof(text));

		ASSERT_TRUE(a != NULL);
		ASSERT_EQ(inject_normalise(a, text, len, &t), 0);
		ASSERT_EQ(inject_split(a, &t, &s), 0);
		/* longer sentences are cut */
		if (s.words < 90)
			check(&t, &s);
	}
}

TEST(kinds_of_bytes)
{
	char text[128] = "";

	for (int i = 0; i < ROUNDS; i++) {
		size_t len = make(text, 64);
		unsigned all = 0;

		for (size_t k = 0; k < len; k++)
			all |= inject_kind[(unsigned char)text[k]];
		ASSERT_EQ(inject_kinds(text, len), all);
	}
}

/* Whatever stands behind the end of the text does not count. */
TEST(words_at_the_end)
{
	for (size_t len = 1; len < 200; len++) {
		_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
		struct inject_text t;
		struct inject_sentences s;
		char *text = malloc(len);

		ASSERT_TRUE(a && text);
		memset(text, 'w', len);
		ASSERT_EQ(inject_normalise(a, text, len, &t), 0);
		ASSERT_EQ(inject_split(a, &t, &s), 0);
		ASSERT_EQ(s.n, 1);
		ASSERT_EQ(s.v[0].start, 0);
		ASSERT_EQ(s.v[0].end, len);
		ASSERT_EQ(s.v[0].n_words, 1);
		free(text);
	}
}
