/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much HTML as is needed to know what a reader of the page does not see. Tags are read one by
 * one, without a tree: a hidden element reaches to the next end tag of its name. Tags that HTML
 * does not know (<system>, <IMPORTANT>) are left alone: they are part of what is said.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "inspect/inject/inject.h"

#define TAG_MAX     2048
#define ELEMENT_MAX ((size_t)16 << 10)

/* Inline elements vanish without a trace, the others separate words. */
static const char inline_names[][8] = {"a", "abbr", "b", "bdi", "bdo", "big", "cite", "del", "em",
	"font", "i", "ins", "kbd", "mark", "q", "s", "small", "span", "strike", "strong", "sub",
	"sup", "tt", "u", "wbr"};
static const char block_names[][12] = {"article", "aside", "blockquote", "body", "br", "button",
	"caption", "center", "dd", "details", "div", "dl", "dt", "footer", "form", "h1", "h2", "h3",
	"h4", "h5", "h6", "head", "header", "hr", "html", "iframe", "img", "input", "label", "li",
	"link", "main", "meta", "nav", "noscript", "object", "ol", "option", "p", "pre", "section",
	"select", "style", "summary", "svg", "table", "tbody", "td", "template", "textarea",
	"tfoot", "th", "thead", "title", "tr", "ul", "video"};

/* In a style attribute without its spaces. */
static const char *const hiding[] = {"display:none", "visibility:hidden", "opacity:0;",
	"opacity:0\"", "opacity:0'", "opacity:0.0", "font-size:0", "font-size:1px", "height:0",
	"width:0", "left:-9", "top:-9", "text-indent:-9", "color:white", "color:#fff",
	"color:transparent", "color:rgba(0,0,0,0", "color:rgb(255,255,255", "clip:rect(",
	"transform:scale(0"};
static const char *const hiding_attributes[] = {" hidden", "aria-hidden=\"true",
	"aria-hidden='true", "sr-only", "visually-hidden", "d-none", "class=\"hidden",
	"class='hidden", "type=\"hidden"};
static const char *const speaking[] = {"title=", "alt=", "aria-label=", "content=", "placeholder=",
	"data-", "value=", "summary=", "description="};

static bool known(const char *name, bool *block)
{
	for (size_t i = 0; i < sizeof(inline_names) / sizeof(inline_names[0]); i++)
		if (!strcmp(name, inline_names[i])) {
			*block = false;
			return true;
		}
	for (size_t i = 0; i < sizeof(block_names) / sizeof(block_names[0]); i++)
		if (!strcmp(name, block_names[i])) {
			*block = true;
			return true;
		}
	return false;
}

/* Behind the `>` that ends the tag, quotes respected; 0 when there is none near. */
static size_t tag_end(const char *p, size_t n)
{
	char quote = 0;

	if (n > TAG_MAX)
		n = TAG_MAX;
	for (size_t i = 1; i < n; i++) {
		if (quote)
			quote = (char)(p[i] == quote ? 0 : quote);
		else if ((p[i] == '"' || p[i] == '\'') && p[i - 1] == '=')
			quote = p[i];
		else if (p[i] == '>')
			return i + 1;
		else if (p[i] == '<')
			return 0;
	}
	return 0;
}

/* The tag in lower case, in `flat` without spaces. */
static void flatten(const char *p, size_t n, char *plain, char *flat)
{
	size_t f = 0;

	for (size_t i = 0; i < n; i++) {
		char c = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] | 0x20 : p[i]);

		plain[i] = (char)(c >= 0 && c < ' ' ? ' ' : c);
		flat[f] = plain[i];
		f += plain[i] != ' ';
	}
	plain[n] = 0;
	flat[f] = 0;
}

static bool has_any(const char *s, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(s, v[i]))
			return true;
	return false;
}

/* A word and a space behind one of the attributes that hold text. */
static bool speaks(const char *plain)
{
	for (size_t i = 0; i < sizeof(speaking) / sizeof(speaking[0]); i++) {
		const char *at = strstr(plain, speaking[i]);
		const char *q = at ? strpbrk(at, "\"'") : NULL;

		if (q && strcspn(q + 1, " ") < strcspn(q + 1, "\"'"))
			return true;
	}
	return false;
}

/* How far the element reaches behind its start tag. */
static size_t element_len(const char *p, size_t n, const char *name)
{
	size_t len = strlen(name);
	const char *end = p + (n < ELEMENT_MAX ? n : ELEMENT_MAX);

	for (const char *q = p; (q = memchr(q, '<', (size_t)(end - q))); q++)
		if ((size_t)(end - q) > len + 2 && q[1] == '/' && !strncasecmp(q + 2, name, len))
			return (size_t)(q - p);
	return 0;
}

struct inject_tag inject_html_tag(const char *p, size_t n)
{
	struct inject_tag t = {0};
	INJECT_RAW char plain[TAG_MAX + 1], flat[TAG_MAX + 1];
	char name[12] = "";
	size_t at = n > 1 && p[1] == '/' ? 2 : 1, len = 0;

	while (at < n && len + 1 < sizeof(name) && isalnum((unsigned char)p[at]))
		name[len++] = (char)tolower((unsigned char)p[at++]);
	name[len] = 0;
	if (!len || at >= n || !strchr(" \t\r\n/>", p[at]) || !known(name, &t.block))
		return t;
	while (at < n && isspace((unsigned char)p[at]))
		at++;
	if (at < n && !isalpha((unsigned char)p[at]) && p[at] != '/' && p[at] != '>')
		return t;
	t.len = tag_end(p, n);
	if (!t.len || p[1] == '/' || t.len < len + 8)
		return t;
	flatten(p, t.len, plain, flat);
	t.has_text = speaks(plain);
	if (strstr(plain, "style=") && has_any(flat, hiding, sizeof(hiding) / sizeof(hiding[0])))
		t.place = PLACE_HIDDEN;
	if (has_any(plain, hiding_attributes,
		    sizeof(hiding_attributes) / sizeof(hiding_attributes[0])))
		t.place = PLACE_HIDDEN;
	if (t.place)
		t.inside = element_len(p + t.len, n - t.len, name);
	return t;
}

static const struct {
	char name[8];
	uint32_t cp;
} entities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''},
	{"nbsp", ' '}, {"shy", 0xad}, {"zwnj", 0x200c}, {"zwj", 0x200d}, {"lrm", 0x200e},
	{"rlm", 0x200f}, {"colon", ':'}, {"comma", ','}, {"period", '.'}, {"excl", '!'},
	{"sol", '/'}, {"NewLine", '\n'}, {"Tab", '\t'}, {"num", '#'}, {"lpar", '('}, {"rpar", ')'},
	{"rsquo", '\''}, {"lsquo", '\''}, {"rdquo", '"'}, {"ldquo", '"'}};

static size_t number_entity(const char *p, size_t n, uint32_t *cp)
{
	unsigned base = n > 2 && (p[2] | 0x20) == 'x' ? 16 : 10;
	size_t i = base == 16 ? 3 : 2, first = i;
	uint32_t v = 0;

	for (; i < n && i < 12 && isxdigit((unsigned char)p[i]); i++) {
		unsigned d = (unsigned char)p[i] <= '9' ? (unsigned)(p[i] - '0')
							: (unsigned)((p[i] | 0x20) - 'a' + 10);

		if (d >= base)
			return 0;
		v = v * base + d;
	}
	if (i == first || v == 0 || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	*cp = v;
	return i < n && p[i] == ';' ? i + 1 : i;
}

size_t inject_html_entity(const char *p, size_t n, uint32_t *cp)
{
	size_t end = 1;

	if (n < 4)
		return 0;
	if (p[1] == '#')
		return number_entity(p, n, cp);
	/* most are none: no name is longer, and each ends with this */
	while (end < n && end <= sizeof(entities[0].name) && isalnum((unsigned char)p[end]))
		end++;
	if (end == n || p[end] != ';')
		return 0;
	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
		size_t len;

		if (p[1] != entities[i].name[0])
			continue;
		len = strlen(entities[i].name);
		if (n > len + 1 && p[len + 1] == ';' && !strncmp(p + 1, entities[i].name, len)) {
			*cp = entities[i].cp;
			return len + 2;
		}
	}
	return 0;
}
