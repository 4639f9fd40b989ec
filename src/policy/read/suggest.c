/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance with neighbours swapped counting as one: most typing errors are that. */
#include "policy/read/suggest.h"

#include <string.h>
#include <strings.h>

#define WORD_MAX 64

static size_t least(size_t x, size_t y)
{
	return x < y ? x : y;
}

static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][WORD_MAX + 1];

	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = rows[i % 3];
		const size_t *up = rows[(i - 1) % 3], *up2 = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = least(
				up[j - 1] + (a[i - 1] != b[j - 1]), least(up[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], up2[j - 2] + 1);
		}
	}
	return rows[n % 3][m];
}

void bawn_suggest_offer(struct bawn_suggest *s, const char *name, size_t len)
{
	size_t n = strlen(s->word), d, near;

	if (!n || n > WORD_MAX || !len || len > WORD_MAX || name[0] == '*')
		return;
	near = n < 6 ? 1 + (n > 3) : n / 3;
	d = distance(s->word, n, name, len);
	/* the whole key of a section's last word: not near, but right */
	if (len > n && name[len - n - 1] == '.' && !strncmp(name + len - n, s->word, n))
		d = 0;
	if (len == n && !strncasecmp(name, s->word, n))
		d = least(d, 1);
	if (d > near || (s->best_len && d >= s->distance))
		return;
	s->best = name;
	s->best_len = len;
	s->distance = d;
}
