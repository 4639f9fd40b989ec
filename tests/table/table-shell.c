/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads shell.txt and vets one command per line. A line is a letter, a blank and a command:
 *
 *   B  benign: SAFE
 *   S  SUSPICIOUS or MALICIOUS
 *   M  MALICIOUS
 *
 * \n, \r, \0 and \uXXXX stand for what they stand for, \\ for one backslash. Lines that start with
 * # say what follows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "verdict/verdict.h"

static size_t utf8(char *out, unsigned long c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	out[0] = (char)(0xe0 | (c >> 12 & 0xf));
	out[1] = (char)(0x80 | (c >> 6 & 0x3f));
	out[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

/* In place; returns the length. */
static size_t unescape(char *t)
{
	size_t k = 0;

	for (const char *p = t; *p; p++) {
		char hex[5] = {0};

		if (*p != '\\' || !p[1]) {
			t[k++] = *p;
			continue;
		}
		p++;
		switch (*p) {
		case 'n':
			t[k++] = '\n';
			break;
		case 'r':
			t[k++] = '\r';
			break;
		case '0':
			t[k++] = '\0';
			break;
		case 'u':
			for (size_t i = 0; i < 4 && p[1 + i]; i++)
				hex[i] = p[1 + i];
			k += utf8(t + k, strtoul(hex, NULL, 16));
			p += strlen(hex);
			break;
		default:
			t[k++] = *p;
			break;
		}
	}
	t[k] = 0;
	return k;
}

static bool vet(const char *text, size_t len, struct bawn_arena *a, struct bawn_verdict *v)
{
	static const struct bawn_policy p = {.thr_suspicious = 0.30, .thr_malicious = 0.70};
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_subject sub = {
		.kind = BAWN_KIND_COMMAND,
		.lang = BAWN_LANG_BASH,
		.detect = BAWN_DETECT_COMMAND | BAWN_DETECT_CODE,
		.text = text,
		.len = len,
		.last = true,
	};

	return bawn_scan_subject(a, NULL, &sub, &f, &err) == 0 &&
	       bawn_verdict_make(&p, NULL, &f, v, &err) == 0;
}

static bool right(char want, const struct bawn_verdict *v)
{
	if (want == 'B')
		return v->kind == BAWN_SAFE;
	return want == 'M' ? v->kind == BAWN_MALICIOUS : v->kind != BAWN_SAFE;
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "re") : NULL;
	char *line = NULL;
	size_t cap = 0, n = 0, bad = 0;
	ssize_t got;

	if (!f)
		return 1;
	while ((got = getline(&line, &cap, f)) > 0) {
		_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
		struct bawn_verdict v = {0};
		size_t len;
		bool ok;

		line[strcspn(line, "\n")] = 0;
		if (got < 3 || line[0] == '#' || line[1] != ' ')
			continue;
		(void)printf("# %s\n", line);
		len = unescape(line + 2);
		ok = a && vet(line + 2, len, a, &v) && right(line[0], &v);
		bad += !ok;
		(void)printf("%s %zu - %c %s %.2f\n", ok ? "ok" : "not ok", ++n, line[0],
			bawn_verdict_name(v.kind), v.confidence);
	}
	free(line);
	(void)fclose(f);
	(void)printf("1..%zu\n", n);
	return bad || !n;
}
