#!/usr/bin/env python3
"""Print bawn-policy(5): the template with the settings of fields.def in the place of @SETTINGS@."""
import re
import sys

TIGHTER = {
    "LOWER": "may only be made smaller",
    "HIGHER": "may only be made larger",
    "UNION": "entries are only added",
    "WITHIN": "only entries that lie inside one that stands",
    "FIXED": "may not be changed",
}
TIGHTER_OF = {  # where numbers are not what is meant
    ("BOOL", "LOWER"): "may only be made false",
    ("BOOL", "HIGHER"): "may only be made true",
    ("ENUM", "HIGHER"): "may only be moved to the right in this list",
}
UNITS = {
    "SIZE": "size", "MSEC": "time", "COUNT": "number", "MILLI": "decimal number",
    "PATH": "paths", "GLOB": "paths and patterns", "NAME": "names in the workspace", "WORD": "words",
    "HOST": "hosts", "PORT": "ports", "REGEX": "regular expressions", "CONTROL": "controls",
    "SYSCALL": "system calls",
}


def split_args(text):
    """The arguments of a macro; commas inside quotes and parentheses do not separate."""
    args, depth, quoted, word = [], 0, False, ""
    for c in text:
        quoted ^= c == '"'
        if not quoted:
            depth += (c == "(") - (c == ")")
        if c == "," and not quoted and not depth:
            args.append(word.strip())
            word = ""
        else:
            word += c
    return args + [word.strip()]


def strings(text):
    return "".join(re.findall(r'"([^"]*)"', text))


def enums(header):
    """{type: [words]}: BAWN_FS_READ_ONLY is `read-only`."""
    found = {}
    for name, body in re.findall(r"enum bawn_(\w+) \{([^}]*)\}", header):
        words = re.findall(r"BAWN_[A-Z]+_([A-Z_]+)", body)
        found[name] = [w.lower().replace("_", "-") for w in words]
    return found


def size(number):
    for unit, factor in (("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)):
        if number >= factor and number % factor == 0:
            return f"{number // factor}{unit}"
    return str(number)


def number_default(text, unit):
    if text == "BAWN_UNLIMITED":
        return "unlimited"
    m = re.fullmatch(r"\(uint64_t\)(\d+) << (\d+)", text)
    value = int(m[1]) << int(m[2]) if m else int(text)
    if unit == "SIZE":
        return size(value)
    if unit == "MSEC":
        return f"{value // 1000}s"
    return str(value)


def describe(kind, args, words, lists):
    """(type in words, default, tighter, help)"""
    if kind == "BOOL":
        return "true or false", args[2], args[3], args[4]
    if kind == "U64":
        return UNITS[args[2]], number_default(args[3], args[2]), args[4], args[5]
    if kind == "REAL":
        return "number from 0 to 1", args[2], args[3], args[4]
    if kind == "ENUM":
        word = re.fullmatch(r"BAWN_[A-Z]+_([A-Z_]+)", args[3])[1].lower().replace("_", "-")
        return ", ".join(words[args[2]]), word, args[4], args[5]
    if kind == "STR":
        return "text", strings(args[2]), args[3], args[4]
    if kind == "LIST":
        default = lists.get(args[3]) or strings(args[3])
        return "list of " + UNITS[args[2]], default.replace(",", ", "), args[4], args[5]
    return "map of names to text", "", args[2], args[3]


def escape(text):
    text = text.replace("\\", "\\e").replace("…", "...").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def settings(fields, header):
    words = enums(header)
    joined = header.replace("\\\n", " ")
    lists = {n: strings(t) for n, t in re.findall(r"#define (BAWN_DEFAULT_\w+)\s+(.*)", joined)}
    out = [".Bl -tag -width Ds"]
    for kind, text in re.findall(r"^BAWN_(\w+)\s*\((.*)\)\s*$", fields, re.M):
        args = split_args(text)
        typ, default, tighter, help_text = describe(kind, args, words, lists)
        out += [f".It Cm {strings(args[1])}", escape(strings(help_text)) + "."]
        out += [f"Takes: {escape(typ)}."]
        out += [f"Default: {escape(default)}." if default else "Empty by default."]
        rule = TIGHTER_OF.get((kind, tighter), TIGHTER[tighter])
        out += [f"Below a layer that set it: {rule}."]
    return "\n".join(out + [".El"])


def main():
    template, fields, header = (open(p, encoding="utf-8").read() for p in sys.argv[1:4])
    sys.stdout.write(template.replace("@SETTINGS@", settings(fields, header)))


main()
