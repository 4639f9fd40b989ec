/* SPDX-License-Identifier: Apache-2.0 */
/* How secrets are shown: everything but the value. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/secret.h"

static void put_time(struct bawn_buf *b, uint64_t us)
{
	time_t t = (time_t)(us / 1000000);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		bawn_buf_puts(b, text);
}

static void put_joined(struct bawn_buf *b, const char *const *v, const char *none)
{
	if (!v[0])
		bawn_buf_puts(b, none);
	for (size_t i = 0; v[i]; i++) {
		bawn_buf_puts(b, i ? "," : "");
		cli_puts_safe(b, v[i]);
	}
}

static void json_list(struct bawn_buf *b, const char *key, const char *const *v)
{
	size_t n = 0;

	while (v[n])
		n++;
	cli_json_key(b, key);
	cli_json_list(b, v, n);
}

static void json_time(struct bawn_buf *b, const char *key, uint64_t us)
{
	cli_json_key(b, key);
	bawn_buf_puts(b, "\"");
	put_time(b, us);
	bawn_buf_puts(b, "\"");
}

static void put_json(struct bawn_buf *b, const struct bawn_secret *s)
{
	cli_json_text(b, "name", s->name);
	cli_json_text(b, "access", bawn_secret_access_name(s->access));
	cli_json_text(b, "injection",
		s->injection == BAWN_INJECT_ENVIRONMENT ? NULL
							: bawn_secret_injection_name(s->injection));
	cli_json_text(b, "env", s->env);
	json_list(b, "hosts", s->hosts);
	json_list(b, "headers", s->headers);
	json_list(b, "skills", s->skills);
	json_list(b, "triggers", s->triggers);
	cli_json_text(b, "note", s->note);
	json_time(b, "created", s->created);
	json_time(b, "changed", s->changed);
}

static size_t width_of(const struct bawn_secret *v, size_t n)
{
	size_t width = 12;

	for (size_t i = 0; i < n; i++)
		width = strlen(v[i].name) > width ? strlen(v[i].name) : width;
	return width + 2;
}

static void put_row(struct cli *cli, const struct bawn_secret *s, size_t width)
{
	struct bawn_buf *b = &cli->out;

	bawn_buf_puts(b, cli_colour(cli->colour_out, CLI_BOLD));
	cli_pad(b, s->name, width);
	bawn_buf_puts(b, cli_colour(cli->colour_out, CLI_PLAIN));
	cli_pad(b, bawn_secret_access_name(s->access), 14);
	put_joined(b, s->hosts, "-");
	bawn_buf_puts(b, "  ");
	put_joined(b, s->headers, "-");
	if (*s->note) {
		bawn_buf_printf(b, "  %s", cli_colour(cli->colour_out, CLI_DIM));
		cli_puts_safe(b, s->note);
		bawn_buf_puts(b, cli_colour(cli->colour_out, CLI_PLAIN));
	}
	bawn_buf_puts(b, "\n");
}

void cli_secret_list(struct cli *cli, const struct bawn_secret *v, size_t n)
{
	struct bawn_buf *b = &cli->out;

	if (cli->json) {
		bawn_buf_puts(b, "{");
		cli_json_text(b, "schema", "bawn/secrets/v1");
		cli_json_key(b, "secrets");
		bawn_buf_puts(b, "[");
	}
	for (size_t i = 0; i < n; i++) {
		if (!cli->json) {
			put_row(cli, &v[i], width_of(v, n));
			continue;
		}
		cli_json_next(b);
		bawn_buf_puts(b, "{");
		put_json(b, &v[i]);
		bawn_buf_puts(b, "}");
	}
	if (cli->json)
		bawn_buf_puts(b, "]}\n");
}

static void line(struct bawn_buf *b, const char *key, const char *value)
{
	cli_pad(b, key, 11);
	cli_puts_safe(b, value);
	bawn_buf_puts(b, "\n");
}

static void list_line(struct bawn_buf *b, const char *key, const char *const *v)
{
	if (!v[0])
		return;
	cli_pad(b, key, 11);
	put_joined(b, v, "");
	bawn_buf_puts(b, "\n");
}

void cli_secret_show(struct cli *cli, const struct bawn_secret *s, const char *value)
{
	struct bawn_buf *b = &cli->out;

	if (cli->json) {
		bawn_buf_puts(b, "{");
		cli_json_text(b, "schema", "bawn/secret/v1");
		put_json(b, s);
		bawn_buf_puts(b, "}\n");
		return;
	}
	line(b, "name", s->name);
	line(b, "access", bawn_secret_access_name(s->access));
	line(b, "injection",
		s->injection == BAWN_INJECT_ENVIRONMENT ? "as the policy says"
							: bawn_secret_injection_name(s->injection));
	line(b, "variable", s->env);
	list_line(b, "hosts", s->hosts);
	list_line(b, "headers", s->headers);
	list_line(b, "skills", s->skills);
	list_line(b, "triggers", s->triggers);
	if (*s->note)
		line(b, "note", s->note);
	cli_pad(b, "created", 11);
	put_time(b, s->created);
	bawn_buf_puts(b, "\n");
	cli_pad(b, "changed", 11);
	put_time(b, s->changed);
	bawn_buf_puts(b, "\n");
	if (value)
		line(b, "value", value);
}
